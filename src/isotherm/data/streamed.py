"""Blocks on the disk: visited one after the other, the next one read while one is worked on.

A block is put on a shelf as the kernels want it, its column order included, when the data are
placed; after that a sweep maps files into memory and never copies or sorts. Row states that do not
fit into memory are on the same shelf.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from isotherm import nested
from isotherm.data.base import Array, RowsHandle, Summary, Task, blocks_of
from isotherm.data.counts import Counts
from isotherm.data.shelf import Held, Kept, Shelf
from isotherm.data.stored import MEGABYTE, StoredCounts
from isotherm.errors import IsothermError
from isotherm.kernels.base import Kernels

log = logging.getLogger("isotherm")

# Bytes at work for each non-zero, for each row and component, and for each column and component,
# in single precision; measured as the worst of all tasks of a fit, see docs/scale.md.
PER_NONZERO, PER_ROW, PER_COLUMN = 96, 48, 96
# Bytes for what does not grow: threads, buffers, and what the allocator does not give back.
ALWAYS = 4 * MEGABYTE
# Share of the budget in which row states stay in memory.
ROOM = 0.2
# A block of fewer non-zeros than this costs more than it saves.
LEAST = 50_000


class Streamed:
    """Blocks in files, worked on one at a time within a budget of memory.

    Parameters
    ----------
    pieces : iterable of (Counts, Array)
        Rows of each block, and their weights (I,).
    kernels : Kernels
        The backend that every task of a sweep is given.
    folder : path
        Where the files go; they are removed with the data.
    room : int
        Bytes of row states that stay in memory.
    """

    def __init__(
        self, pieces: Iterable[tuple[Counts, Array]], kernels: Kernels, folder: Path, room: int
    ) -> None:
        self.kernels, self.shelf = kernels, Shelf(folder, room)
        self.blocks: list[Kept | Held] = []
        self.bounds, self.largest, self.peak = [0], 0, 0
        # Blocks themselves are never held in memory: the room is for rows.
        self._files = Shelf(folder)
        columns, mass = np.zeros(0), 0.0
        for counts, weight in pieces:
            block = kernels.prepare(blocks_of(counts, np.array([0, len(weight)]), weight)[0])
            columns = (
                block.column_totals if len(self.bounds) == 1 else columns + block.column_totals
            )
            mass += float(block.weight.sum())
            block.__dict__.pop("column_totals", None)
            # What kernels derive from a block is derived once, and comes back with it.
            block.row_totals, block.by_column, block.weighted  # noqa: B018
            self.blocks.append(self._files.put(block))
            self.bounds.append(self.bounds[-1] + block.n_rows)
            self.largest = max(self.largest, self.blocks[-1].size)
            del block
        self.summary = Summary(columns, mass, float(columns.sum()))

    @classmethod
    def place(
        cls,
        counts: StoredCounts,
        kernels: Kernels,
        *,
        weight: Array | None = None,
        n_components: int = 64,
    ) -> Streamed:
        """Counts cut into as few blocks as the budget of the counts allows.

        Parameters
        ----------
        counts : StoredCounts, (I, J)
        kernels : Kernels
        weight : (I,) array, optional
        n_components : int
            How many components K to expect: they decide what a row takes.
        """
        bounds = budget_bounds(counts, kernels, n_components)
        data = cls._cut(counts, kernels, bounds, weight)
        log.info(
            "streaming %d rows in %d blocks of at most %.1f MB, within %.0f MB",
            *(counts.n_rows, len(bounds) - 1, data.largest / MEGABYTE, counts.memory),
        )
        return data

    @classmethod
    def _cut(
        cls, counts: StoredCounts, kernels: Kernels, bounds: Array, weight: Array | None
    ) -> Streamed:
        def pieces() -> Iterator[tuple[Counts, Array]]:
            for lo, hi in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
                rows = np.ones(hi - lo) if weight is None else weight[lo:hi]
                yield counts.rows(lo, hi), rows

        folder = counts.folder if counts.scratch is None else counts.scratch
        if not os.access(folder, os.W_OK):
            raise IsothermError(
                f"{folder} cannot be written to, and a fit of stored counts keeps files there; "
                "give another folder: StoredCounts(..., scratch=...)"
            )
        data = cls(pieces(), kernels, folder, int(ROOM * counts.memory * MEGABYTE))
        data._weight = weight
        return data

    _weight: Array | None = None

    def beside(self, counts: StoredCounts) -> Streamed:
        """Other counts of the same rows, cut in the same places (held-out tokens)."""
        return self._cut(counts, self.kernels, np.array(self.bounds), self._weight)

    @property
    def no_rows(self) -> RowsHandle:
        """One empty state per block."""
        return (Held((), 0),) * len(self.blocks)

    def sweep(self, task: Task, rows: RowsHandle, *shared: Any) -> tuple[RowsHandle, Any, float]:
        """Run the task on every block and add up statistics and energies, in block order."""
        out: list[Future[Any]] = []
        total, energy = None, 0.0
        with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(1) as writer:
            ahead = reader.submit(self._opened, 0, rows)
            for number in range(len(self.blocks)):
                block, row = ahead.result()
                if number + 1 < len(self.blocks):
                    ahead = reader.submit(self._opened, number + 1, rows)
                part = task(self.kernels, block, row, *shared)
                del block, row
                if out:
                    out[-1].result()  # one state waits to be written, not more
                out.append(writer.submit(self.shelf.put, nested.on_host(part.rows)))
                energy += float(part.energy)
                total = _added(total, part.stats, len(self.blocks))
                del part
            handle = tuple(one.result() for one in out)
        return handle, total, energy

    def _opened(self, number: int, rows: RowsHandle) -> tuple[Any, Any]:
        """A block and its row state, whose pages are in memory."""
        return self.blocks[number].open(), _open(rows[number])

    def gather(self, rows: RowsHandle) -> Any:
        """Row states of all blocks as one named tuple of arrays (I, ...), which lie in files."""
        first = rows[0].open()
        files = [self.shelf.file().open("w+b") for _ in first]
        shapes = [field.shape[1:] for field in first]
        types = [field.dtype for field in first]
        for kept in rows:
            for file, field in zip(files, kept.open(), strict=True):
                file.write(np.ascontiguousarray(field).data)
        del first, kept, field
        arrays = []
        for file, shape, dtype in zip(files, shapes, types, strict=True):
            file.flush()
            arrays.append(np.memmap(file, dtype, "c", shape=(self.bounds[-1], *shape)))
            file.close()
            if os.name == "posix":  # the arrays stay for as long as somebody looks at them
                Path(file.name).unlink()
        found = iter(arrays)
        return nested.apply(lambda _: next(found).view(np.ndarray), rows[0].open())


def budget_bounds(counts: StoredCounts, kernels: Kernels, n_components: int) -> Array:
    """First rows of blocks whose share of the work fits the budget, and the end."""
    wide = np.dtype(kernels.dtype).itemsize / 4
    tables = wide * PER_COLUMN * counts.n_columns * n_components
    always = min(ALWAYS, 0.2 * counts.memory * MEGABYTE)
    rooms = (1.0 - ROOM) * counts.memory * MEGABYTE - always - tables
    indptr = counts.indptr
    cost = wide * PER_NONZERO * np.asarray(indptr, np.float64)
    cost += wide * PER_ROW * n_components * np.arange(len(indptr))
    least = min(cost[-1], cost[-1] * LEAST / max(1, counts.nnz))
    if rooms < least:
        needed = (tables + always + least) / (1.0 - ROOM) / MEGABYTE
        raise IsothermError(
            f"memory is {counts.memory:.0f} MB; {n_components} components over {counts.n_columns} "
            f"columns need at least {needed:.0f} MB: give more, or drop rare columns"
        )
    n_blocks = int(np.ceil(cost[-1] / rooms))
    marks = np.searchsorted(cost, np.linspace(0, cost[-1], n_blocks + 1)[1:-1])
    return np.unique(np.concatenate([[0], marks, [counts.n_rows]]))


def _open(kept: Any) -> Any:
    """A row state; of a tuple of them, a tuple (old and new rows, side by side)."""
    return tuple(_open(one) for one in kept) if isinstance(kept, tuple) else kept.open()


def _added(total: Any, stats: Any, n_blocks: int) -> Any:
    """Statistics so far and those of one more block, in float64 if there are several."""
    if n_blocks == 1:
        return stats
    part = nested.apply(partial(np.asarray, dtype=np.float64), nested.on_host(stats))
    if total is None:
        return nested.apply(np.array, part)
    for sums, more in zip(total, part, strict=True):
        sums += more
    return total
