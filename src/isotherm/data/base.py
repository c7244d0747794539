"""A block of rows: what every model and every kernel sees of a table of counts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from isotherm.data.counts import Counts

Array = NDArray[Any]

# Non-zeros to a slab; the sums of more slabs than this are not worth their extra additions.
SLAB = 200_000
MOST_SLABS = 32
# Non-zeros whose place among those of another block is looked up at a time.
LOOKED_UP = 1_000_000


class ColumnOrder(NamedTuple):
    """The non-zeros of a block once more, sorted by slab of rows and by column within a slab.

    A slab is a run of rows small enough for a row table to stay in a near cache while the columns
    are summed. `slabs` (S + 1,): first segment of each slab; `columns` (G,) and `indptr` (G + 1,):
    column and first non-zero of each segment; `rows` (nnz,); `entries` (nnz,): where each non-zero
    stands in the order of rows; `cumulative` (J + 1,): non-zeros before each column, all slabs.
    """

    slabs: Array
    columns: Array
    indptr: Array
    rows: Array
    entries: Array
    cumulative: Array


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of a count table in compressed row form.

    Parameters
    ----------
    indptr : (I + 1,) int64
    indices : (nnz,) int32, columns
    values : (nnz,) float32 or float64, counts
    weight : (I,) float64, how often each row counts
    n_columns : int
    alone : bool
        Whether there is no other block: then sums need not wait, in double precision, for those of
        others.
    given : Block, optional
        Counts of the same rows that these are beside: what tokens may repeat.
    """

    indptr: Array
    indices: Array
    values: Array
    weight: Array
    n_columns: int
    alone: bool = field(default=False, kw_only=True)
    given: Block | None = field(default=None, kw_only=True)

    @property
    def n_rows(self) -> int:
        """Number of rows I."""
        return len(self.indptr) - 1

    @property
    def nnz(self) -> int:
        """Number of stored counts."""
        return len(self.indices)

    @cached_property
    def row_totals(self) -> Array:
        """Unweighted row sums n(x), (I,) float64."""
        return _segment_sums(self.values, self.indptr)

    @cached_property
    def column_totals(self) -> Array:
        """Weighted column sums n(y), (J,) float64."""
        heavy = self.values * np.repeat(self.weight, np.diff(self.indptr))
        return np.bincount(self.indices, weights=heavy, minlength=self.n_columns)

    @property
    def row_of(self) -> Array:
        """Row of each non-zero, (nnz,) int32."""
        return np.repeat(np.arange(self.n_rows, dtype=np.int32), np.diff(self.indptr))

    @cached_property
    def by_column(self) -> ColumnOrder:
        """The non-zeros sorted by slab and column (made once, on first use)."""
        small = np.int32 if self.nnz < 2**31 else np.int64
        n_slabs = int(np.clip(self.nnz // SLAB, 1, MOST_SLABS))
        marks = np.searchsorted(self.indptr, np.linspace(0, self.nnz, n_slabs + 1)[1:-1])
        cuts = np.unique(np.concatenate([[0], marks, [self.n_rows]]))
        entries, rows = np.empty(self.nnz, small), np.empty(self.nnz, np.int32)
        columns, sizes, slabs = [], [], [0]
        for lo, hi in itertools.pairwise(cuts):
            first, last = self.indptr[lo], self.indptr[hi]
            turned = self._turned(lo, hi)
            np.add(turned.data, first, out=entries[first:last], casting="unsafe")
            np.add(turned.indices, lo, out=rows[first:last], casting="unsafe")
            counts = np.diff(turned.indptr)
            columns.append(np.flatnonzero(counts).astype(np.int32))
            sizes.append(counts[columns[-1]])
            slabs.append(slabs[-1] + len(columns[-1]))
        indptr = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)
        filled = np.bincount(self.indices, minlength=self.n_columns)
        cumulative = np.concatenate([[0], np.cumsum(filled)])
        return ColumnOrder(
            np.array(slabs), np.concatenate(columns), indptr, rows, entries, cumulative
        )

    def _turned(self, lo: int, hi: int) -> Any:
        """Rows lo..hi by column, each non-zero holding its number among them."""
        first, last = self.indptr[lo], self.indptr[hi]
        small = np.int32 if last - first < 2**31 else np.int64
        indptr = (self.indptr[lo : hi + 1] - first).astype(small)
        parts = (np.arange(last - first, dtype=small), self.indices[first:last], indptr)
        return sparse.csr_array(parts, shape=(hi - lo, self.n_columns)).tocsc()

    @cached_property
    def weighted(self) -> Array:
        """Counts times the weight of their row, (nnz,)."""
        if (self.weight == 1).all():
            return self.values
        heavy = np.repeat(self.weight.astype(self.values.dtype), np.diff(self.indptr))
        heavy *= self.values
        return heavy

    @property
    def again(self) -> Array:
        """Tokens of each count but the first, (nnz,): those that may repeat another of the row."""
        found: Array = np.maximum(self.values - 1.0, 0.0)
        return found

    @cached_property
    def repeats(self) -> Array:
        """Share of each column in the other tokens of the row, (nnz,): (n - 1) / (N - 1).

        That is what a token after the first may repeat. Of counts beside others it is the share in
        those, which are `given`, and what any token may repeat.
        """
        if self.given is not None:
            return _shares_in(self.given, self).astype(self.values.dtype)
        others = np.maximum(self.row_totals - 1.0, 0.0)
        inverse = np.divide(1.0, others, out=np.zeros_like(others), where=others > 0)
        share = self.again * np.repeat(inverse, np.diff(self.indptr))
        # Of numbers that are not whole, more than one may be left where the others are less.
        found: Array = np.minimum(share, 1.0).astype(self.values.dtype)
        return found

    @cached_property
    def repeating(self) -> Array:
        """Whether tokens of each row have others to repeat, (I,) bool."""
        others = self.row_totals - 1.0 if self.given is None else self.given.row_totals
        return np.asarray(others > 0)

    def beside(self, given: Block) -> Block:
        """The same with what its tokens repeat of a block of the same rows, without that block."""
        other, whole = replace(self), replace(self, given=given)
        other.__dict__.update(repeats=whole.repeats, repeating=whole.repeating)
        return other

    @staticmethod
    def summarize(blocks: Sequence[Block]) -> Summary:
        """Marginals of all blocks together."""
        columns, weight = np.zeros(blocks[0].n_columns), 0.0
        for block in blocks:
            columns = columns + block.column_totals
            weight += float(block.weight.sum())
            if len(blocks) > 1:  # kept for a block alone: many of them would outweigh the counts
                block.__dict__.pop("column_totals", None)
        return Summary(columns, weight, float(columns.sum()))

    def with_values(self, values: Array) -> Block:
        """The same pattern with other values (nnz,); the order of columns is shared, not redone."""
        other = replace(self, values=values.astype(self.values.dtype, copy=False))
        other.__dict__["by_column"] = self.by_column
        return other

    def take(self, rows: Array) -> Block:
        """Block of the given rows only, in that order."""
        sizes = np.diff(self.indptr)[rows]
        indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        entries = np.arange(indptr[-1]) + np.repeat(self.indptr[rows] - indptr[:-1], sizes)
        taken = Block(
            indptr, self.indices[entries], self.values[entries], self.weight[rows], self.n_columns
        )
        if self.given is not None or "repeats" in self.__dict__:
            more = {"repeats": self.repeats[entries], "repeating": self.repeating[rows]}
            taken.__dict__.update(more)
        return taken


def row_bounds(counts: Counts, n_blocks: int) -> Array:
    """First rows of contiguous blocks with about equal numbers of non-zeros, and the end."""
    indptr = counts.matrix.indptr
    marks = np.linspace(0, indptr[-1], n_blocks + 1)[1:-1]
    return np.unique(np.concatenate([[0], np.searchsorted(indptr, marks), [counts.n_rows]]))


def blocks_of(counts: Counts, bounds: Array, weight: Array | None = None) -> list[Block]:
    """Blocks of the rows between consecutive bounds.

    Parameters
    ----------
    counts : Counts, (I, J)
    bounds : (n_blocks + 1,) int array from 0 to I
    weight : (I,) array, optional
        Row weights; ones by default.
    """
    matrix = counts.matrix
    weight = np.ones(counts.n_rows) if weight is None else np.asarray(weight, np.float64)
    indptr = matrix.indptr.astype(np.int64, copy=False)
    return [
        Block(
            indptr[lo : hi + 1] - indptr[lo],
            matrix.indices[indptr[lo] : indptr[hi]].astype(np.int32, copy=False),
            matrix.data[indptr[lo] : indptr[hi]],
            weight[lo:hi],
            counts.n_columns,
        )
        for lo, hi in itertools.pairwise(bounds)
    ]


class Summary(NamedTuple):
    """What a model may know of the data before it starts.

    `column_totals` (J,) weighted, `row_weight` sum of the row weights (empty rows count),
    `total` weighted number of tokens.
    """

    column_totals: Array
    row_weight: float
    total: float


def _shares_in(given: Block, wanted: Block) -> Array:
    """Share that the column of each non-zero of a block has in the same row of another, (nnz,)."""
    shares = np.zeros(wanted.nnz)
    n_rows, width = given.n_rows, max(given.n_columns, wanted.n_columns)
    marks = np.searchsorted(np.asarray(given.indptr), np.arange(0, given.nnz, LOOKED_UP))
    for lo, hi in itertools.pairwise(np.unique([0, *marks, n_rows]).tolist()):
        here, there = _keys(given, lo, hi, width), _keys(wanted, lo, hi, width)
        span = slice(int(given.indptr[lo]), int(given.indptr[hi]))
        order = np.argsort(here, kind="stable")  # one pass over what is in order already
        if not len(here):
            continue
        at = np.minimum(np.searchsorted(here, there, sorter=order), len(here) - 1)
        found = np.where(here[order[at]] == there, np.asarray(given.values)[span][order[at]], 0.0)
        totals = np.asarray(given.row_totals)[there // width]
        span = slice(int(wanted.indptr[lo]), int(wanted.indptr[hi]))
        shares[span] = np.divide(found, totals, out=np.zeros(len(found)), where=totals > 0)
    return shares


def _keys(block: Block, lo: int, hi: int, width: int) -> Array:
    """A number for the row and column of each non-zero of rows lo to hi."""
    indptr = np.asarray(block.indptr)[lo : hi + 1].astype(np.int64)
    rows = np.repeat(np.arange(lo, hi, dtype=np.int64), np.diff(indptr))
    return np.asarray(rows * width + np.asarray(block.indices)[indptr[0] : indptr[-1]])


def _segment_sums(values: Array, indptr: Array) -> Array:
    sums = np.zeros(len(indptr) - 1)
    filled = np.flatnonzero(np.diff(indptr))
    if len(filled):
        sums[filled] = np.add.reduceat(values.astype(np.float64, copy=False), indptr[filled])
    return sums
