"""Which rows are in which block, and which blocks make a batch of rows.

A batch is made of many short runs of rows from all over the table: a table that is sorted, by date
or by group, gives batches that are alike. Batches depend on the number of rows alone, never on how
they are cut into blocks.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from isotherm._types import Array

# Rows from `first` to before `last`.
Run = tuple[int, int]
# Runs of rows to a batch, unless it has fewer rows.
RUNS = 64


class Batch(NamedTuple):
    """Some blocks, and their weight in tokens (or rows)."""

    blocks: slice
    total: float


class Layout(NamedTuple):
    """`blocks`: runs of rows of each block; `batches`: first block of each batch, and the end."""

    blocks: tuple[tuple[Run, ...], ...]
    batches: tuple[int, ...]

    @property
    def sizes(self) -> list[int]:
        """Number of rows of each block."""
        return [sum(hi - lo for lo, hi in runs) for runs in self.blocks]

    def order(self) -> Array:
        """Rows of all blocks, one after the other, (I,)."""
        return rows_of(itertools.chain.from_iterable(self.blocks))


def rows_of(runs: Any) -> Array:
    """Rows of some runs, (I,)."""
    return np.concatenate([np.arange(lo, hi) for lo, hi in runs])


def dealt(n_rows: int, size: int | None) -> list[tuple[Run, ...]]:
    """Runs of rows of each batch of about `size` rows; None is one batch of all rows."""
    n_batches = 1 if size is None else max(1, -(-n_rows // size))
    if n_batches == 1:
        return [((0, n_rows),)]
    n_runs = n_batches * max(1, min(RUNS, n_rows // n_batches))
    bounds = (np.arange(n_runs + 1) * n_rows // n_runs).tolist()
    runs = list(itertools.pairwise(bounds))
    return [tuple(runs[number::n_batches]) for number in range(n_batches)]


def layout(
    batches: Sequence[tuple[Run, ...]], cuts: Sequence[Sequence[int]] | None = None
) -> Layout:
    """Batches as blocks; a batch is one, or is cut after `cuts` of its rows."""
    blocks: list[tuple[Run, ...]] = []
    firsts = [0]
    for number, runs in enumerate(batches):
        blocks.extend(_cut(runs, cuts[number] if cuts else ()))
        firsts.append(len(blocks))
    return Layout(tuple(blocks), tuple(firsts))


def spans(firsts: Sequence[int], totals: Sequence[float]) -> tuple[Batch, ...]:
    """Batches of consecutive blocks, from the totals of all blocks."""
    return tuple(
        Batch(slice(lo, hi), float(sum(totals[lo:hi]))) for lo, hi in itertools.pairwise(firsts)
    )


def _cut(runs: tuple[Run, ...], cuts: Sequence[int]) -> list[tuple[Run, ...]]:
    """Runs dealt out to parts that end after so many rows."""
    parts: list[list[Run]] = [[]]
    marks, seen = list(cuts), 0
    for lo, hi in runs:
        while marks and marks[0] < seen + hi - lo:
            at = lo + marks.pop(0) - seen
            parts[-1].append((lo, at))
            parts.append([])
            lo, seen = at, seen + at - lo
        parts[-1].append((lo, hi))
        seen += hi - lo
    return [tuple((lo, hi) for lo, hi in part if hi > lo) for part in parts]
