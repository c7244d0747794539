"""Parts of a table of counts that share neither rows nor columns with the rest of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from isotherm.data.base import Array

if TYPE_CHECKING:
    from isotherm.data.counts import Counts
    from isotherm.data.stored import StoredCounts
    from isotherm.data.table import CountTable

# An island has less than this share of the tokens, and all of them together have less than that:
# where more of the table is in pieces, the pieces are what it is made of.
SMALL, IN_ALL = 0.03, 0.1
# Non-zeros that are looked at in one go.
CHUNK = 2_000_000


def island_columns(counts: CountTable) -> Array:
    """Which columns are those of islands, (J,).

    Rows and columns are the two sides of a graph, and every count is an edge. A few rows whose
    words no other row has are an island: whatever they are about, it is not a topic of the
    collection, and a solution with few components spends one on each of them.

    Parameters
    ----------
    counts : Counts or StoredCounts (I, J)
    """
    part = _parts(counts)
    tokens = np.bincount(part, counts.column_totals, minlength=int(part.max(initial=0)) + 1)
    share = tokens / max(tokens.sum(), 1e-300)
    order = np.argsort(share, kind="stable")[:-1]
    small = order[(share[order] < SMALL) & (np.cumsum(share[order]) < IN_ALL)]
    return np.isin(part, small) & (counts.column_totals > 0)


def pieces_of(counts: CountTable) -> Iterator[Counts]:
    """The rows of a table in memory, as they are, or of one on the disk, some at a time."""
    if counts.in_memory:
        return iter([cast("Counts", counts)])
    return cast("StoredCounts", counts).pieces()


def _parts(counts: CountTable) -> Array:
    """Number of the connected part of the graph that each column is in, (J,)."""
    part = np.arange(counts.n_columns)
    for rows in _chunks(counts):
        n_rows = rows.shape[0]
        n_nodes = n_rows + int(part.max(initial=-1)) + 1
        ends = (np.repeat(np.arange(n_rows), np.diff(rows.indptr)), n_rows + part[rows.indices])
        edges = sparse.coo_array((np.ones(len(ends[0]), np.int8), ends), shape=(n_nodes, n_nodes))
        _, joined = connected_components(edges.tocsr(), directed=False)
        part = np.unique(joined[n_rows + part], return_inverse=True)[1]
    return part


def _chunks(counts: CountTable) -> Iterator[sparse.csr_array]:
    """The rows of a table, some at a time."""
    for piece in pieces_of(counts):
        matrix = piece.matrix
        step = max(1, int(CHUNK * matrix.shape[0] / max(matrix.nnz, 1)))
        for first in range(0, matrix.shape[0], step):
            yield matrix[first : first + step]
