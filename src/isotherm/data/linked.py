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
        n = self.n_rows
        indptr, indices = self.indptr.tolist(), self.indices.tolist()
        colour = [-1] * n
        for i in np.argsort(-np.diff(self.indptr), kind="stable").tolist():
            taken = {colour[j] for j in indices[indptr[i] : indptr[i + 1]]}
            free = 0
            while free in taken:
                free += 1
            colour[i] = free
        order = np.argsort(colour, kind="stable")
        sizes = np.bincount(colour) if n else np.zeros(0, np.int64)
        return Colours(order, np.concatenate([[0], np.cumsum(sizes)]))


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
