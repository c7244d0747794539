"""Rows that are linked: a block of counts with the edges of a graph over its rows.

Linked rows are updated from each other, so all of them are in one block.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from isotherm.data.base import Array, Block
from isotherm.errors import IsothermError


class Colours(NamedTuple):
    """Rows by colour; rows of one colour are not linked.

    `order` (N,): rows, those of one colour together; `starts` (C + 1,): first of each colour.
    """

    order: Array
    starts: Array


@dataclass(frozen=True, eq=False)
class Links(Block):
    """Edges as a block: row i holds the rows that row i is linked to, with weights W_ij >= 0."""

    @classmethod
    def of(cls, graph: Any) -> Links:
        """Links of a sparse or dense matrix (I, N) of edge weights.

        The weights are float64 whatever the type of the counts.
        """
        matrix = sparse.csr_array(graph).astype(np.float64)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        rows, columns = matrix.shape
        indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
        return cls(indptr, indices, matrix.data, np.ones(rows), columns)

    @cached_property
    def matrix(self) -> Any:
        """The weights as a scipy matrix (I, N)."""
        parts = (self.values, self.indices, self.indptr)
        return sparse.csr_array(parts, shape=(self.n_rows, self.n_columns))

    @cached_property
    def colours(self) -> Colours:
        """Greedy colouring, rows with many links first (made once, on first use)."""
        colour, n_colours, indptr = np.full(self.n_rows, -1), 0, self.indptr.tolist()
        for i in np.argsort(-np.diff(self.indptr), kind="stable").tolist():
            # The last place but one is a new colour, the last one of rows that have none yet.
            taken = np.zeros(n_colours + 2, bool)
            taken[colour[self.indices[indptr[i] : indptr[i + 1]]]] = True
            colour[i] = taken[:-1].argmin()
            n_colours = max(n_colours, int(colour[i]) + 1)
        sizes = np.bincount(colour, minlength=n_colours)
        return Colours(np.argsort(colour, kind="stable"), np.concatenate([[0], np.cumsum(sizes)]))


@dataclass(frozen=True, eq=False)
class LinkedBlock(Block):
    """A block whose rows are linked. What `take` gives is a plain block: its links would be cut.

    Parameters
    ----------
    links : Links
        (I, I) between the rows themselves, or (I, N) to other rows, whose weights are `anchors`.
    anchors : (N, K) array, optional
        Fixed weights of the rows that new rows are linked to.
    """

    links: Links
    anchors: Array | None = None

    @classmethod
    def of(cls, block: Block, links: Links, anchors: Array | None = None) -> LinkedBlock:
        """A block with links of its rows; refuses links of other rows."""
        columns = block.n_rows if anchors is None else len(anchors)
        if links.n_rows != block.n_rows or links.n_columns != columns:
            raise IsothermError(
                f"links are {links.n_rows} x {links.n_columns} for a block of {block.n_rows} rows; "
                f"they must be {block.n_rows} x {columns}: all rows that are linked to each other "
                "belong in one block (n_blocks=1)"
            )
        if not (block.weight == 1).all():
            raise IsothermError(
                "rows have weights other than 1; linked rows count once each: repeat rows, and "
                "their links, instead"
            )
        fields = (block.indptr, block.indices, block.values, block.weight, block.n_columns)
        return cls(*fields, links, anchors)
