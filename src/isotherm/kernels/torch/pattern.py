"""Where the non-zeros of a block are, on a device: by rows, and once more by columns, in segments.

A segment is a run of non-zeros of one row or column, short enough for all of them to take about the
same time; the sums of its segments are those of a row or column. Columns are cut by slabs of rows,
so that the rows that the sums of columns gather stay in the cache of the device.
"""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import Any, NamedTuple

import torch

from isotherm.data.base import Block
from isotherm.kernels.torch.array import tensor_of

# Most non-zeros of a segment of a column, of a row, and of a slab. A lane of Triton's kernels adds
# up at least every fourth: at most 256 terms in single precision.
COLUMN_SEGMENT = 512
ROW_SEGMENT = 1 << 10
SLAB = 1 << 23


class Segments(NamedTuple):
    """Runs of non-zeros that belong to one owner each, a row or a column.

    `starts`, `ends` (S,): first non-zero of each, and the one behind the last; `owners` (S,).
    `many` (M,): owners whose sum is that of several segments, which are `order` between two of
    `lists` (M + 1,). Of rows the first N segments belong to rows 0 to N - 1.
    """

    starts: torch.Tensor
    ends: torch.Tensor
    owners: torch.Tensor
    many: torch.Tensor
    lists: torch.Tensor
    order: torch.Tensor


class ByColumn(NamedTuple):
    """Non-zeros by slab and column: `rows` (nnz,), `entries` (nnz,) in the order of rows."""

    rows: torch.Tensor
    entries: torch.Tensor
    segments: Segments


class Pattern:
    """Rows and columns of the non-zeros of a block.

    Parameters
    ----------
    indptr : (I + 1,) int64 tensor
    indices : (nnz,) int32 tensor
    n_columns : int
    """

    def __init__(self, indptr: torch.Tensor, indices: torch.Tensor, n_columns: int) -> None:
        self.indptr = indptr
        self.indices = indices
        self.n_columns = n_columns

    @property
    def n_rows(self) -> int:
        """Number of rows I."""
        return len(self.indptr) - 1

    @property
    def nnz(self) -> int:
        """Number of non-zeros."""
        return len(self.indices)

    @cached_property
    def row_of(self) -> torch.Tensor:
        """Row of each non-zero, (nnz,) int32."""
        rows = torch.arange(self.n_rows, dtype=torch.int32, device=self.indptr.device)
        return torch.repeat_interleave(rows, self.indptr.diff(), output_size=self.nnz)

    @cached_property
    def by_row(self) -> Segments:
        """Segments of the rows, the first ones of all rows first; few rows have more than one."""
        sizes = self.indptr.diff()
        pieces = _pieces(sizes, ROW_SEGMENT).clamp_(min=1)
        starts, ends, run, number = _cut(self.indptr[:-1], sizes, pieces, ROW_SEGMENT)
        front = torch.sort(number > 0, stable=True)[1]
        starts, ends, run = starts[front], ends[front], run[front]
        several = torch.nonzero(pieces[run] > 1).reshape(-1)
        order = several[torch.sort(run[several], stable=True)[1]]
        many = torch.nonzero(pieces > 1).reshape(-1)
        return Segments(starts, ends, run.int(), many, _heads(pieces[many]), order.int())

    @cached_property
    def by_column(self) -> ByColumn:
        """The non-zeros once more, sorted; slab by slab, to spare memory."""
        n_slabs, device = max(1, -(-self.nnz // SLAB)), self.indptr.device
        marks = torch.linspace(0, self.nnz, n_slabs + 1, device=device, dtype=torch.float64)
        cuts = torch.searchsorted(self.indptr, marks.long()[1:-1]).tolist()
        bounds = sorted({0, *cuts, self.n_rows})
        ends = self.indptr[torch.tensor(bounds, device=device)].tolist()
        small = torch.int32 if self.nnz < 2**31 else torch.int64
        columns, counts, parts = [], [], []
        for first, last in itertools.pairwise(ends):
            found, order = torch.sort(self.indices[first:last], stable=True)
            run, count = torch.unique_consecutive(found, return_counts=True)
            columns.append(run)
            counts.append(count)
            parts.append((order + first).to(small))
        entries = torch.cat(parts) if parts else torch.empty(0, dtype=small, device=device)
        owners, sizes = (
            torch.cat(x) if x else torch.empty(0, dtype=torch.int64, device=device)
            for x in (columns, counts)
        )
        pieces = _pieces(sizes, COLUMN_SEGMENT)
        begins = torch.cumsum(sizes, 0) - sizes
        first, last, run, _ = _cut(begins, sizes, pieces, COLUMN_SEGMENT)
        own = owners[run].long()
        order = torch.sort(own, stable=True)[1].int()
        lists = _heads(torch.bincount(own, minlength=self.n_columns))
        many = torch.arange(self.n_columns, device=device)
        segments = Segments(first, last, own.int(), many, lists, order)
        return ByColumn(self.row_of[entries.long()], entries, segments)

    def of_rows(self, first: int, last: int, start: int, end: int) -> Pattern:
        """The pattern of some rows, whose non-zeros are start..end."""
        indptr = self.indptr[first : last + 1] - start
        return Pattern(indptr, self.indices[start:end], self.n_columns)


def _pieces(sizes: torch.Tensor, longest: int) -> torch.Tensor:
    """How many segments runs of these sizes are cut to."""
    return torch.div(sizes + (longest - 1), longest, rounding_mode="floor")


def _cut(
    begins: torch.Tensor, sizes: torch.Tensor, pieces: torch.Tensor, longest: int
) -> tuple[torch.Tensor, ...]:
    """Starts, ends and runs of the segments (S,) of runs (R,), and their numbers within a run."""
    run = torch.repeat_interleave(torch.arange(len(sizes), device=sizes.device), pieces)
    before = torch.cumsum(pieces, 0) - pieces
    number = torch.arange(len(run), device=sizes.device) - before[run]
    starts = begins[run] + number * longest
    return starts, torch.minimum(starts + longest, (begins + sizes)[run]), run, number


def _heads(sizes: torch.Tensor) -> torch.Tensor:
    """Where lists of these sizes (M,) begin, and the end, (M + 1,)."""
    heads = torch.zeros(len(sizes) + 1, dtype=torch.int64, device=sizes.device)
    heads[1:] = torch.cumsum(sizes, 0)
    return heads


def pattern_of(block: Block, place: torch.device) -> Pattern:
    """The pattern of a block, made once.

    It stands where the block keeps its order of columns, which blocks with the same pattern share.
    """
    known: Any = block.__dict__.get("by_column")
    if isinstance(known, Pattern) and known.indptr.device == place:
        return known
    made = Pattern(
        tensor_of(block.indptr, place, torch.int64),
        tensor_of(block.indices, place, torch.int32),
        block.n_columns,
    )
    block.__dict__["by_column"] = made
    return made
