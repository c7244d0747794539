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

from isotherm import _nested
from isotherm._types import RowStates
from isotherm.data.base import Array, Summary, blocks_of
from isotherm.data.counts import Counts
from isotherm.data.stored import MEGABYTE, StoredCounts
from isotherm.errors import IsothermError
from isotherm.kernels.base import Kernels
from isotherm.placement import memory
from isotherm.placement.base import ALL, Here, New, Old, RowsHandle, Shared, Sums, Task
from isotherm.placement.batches import Batch, Layout, Run, dealt, layout, rows_of, spans
from isotherm.placement.disk.cache import Held, Kept, Shelf

log = logging.getLogger("isotherm")

# Bytes at work for each non-zero, for each row and component, and for each column and component,
# in single precision; measured as the worst of all tasks of a fit, see docs/scale.md.
PER_NONZERO, PER_ROW, PER_COLUMN = 64, 48, 112
# Bytes for what does not grow: threads, buffers, and what the allocator does not give back.
ALWAYS = 10 * MEGABYTE
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
    given : Streamed, optional
        Data that these are beside: blocks of the same rows.
    """

    def __init__(
        self,
        pieces: Iterable[tuple[Counts, Array]],
        kernels: Kernels,
        folder: Path,
        room: int,
        given: Streamed | None = None,
    ) -> None:
        self.kernels, self.shelf = kernels, Shelf(folder, room)
        self.blocks: list[Kept | Held] = []
        self.largest, self.totals = 0, list[float]()
        # Blocks themselves are never held in memory: the room is for rows.
        self._files = Shelf(folder)
        columns, mass = np.zeros(0), 0.0
        for counts, weight in pieces:
            block = kernels.prepare(blocks_of(counts, np.array([0, len(weight)]), weight)[0])
            columns = columns + block.column_totals if self.blocks else block.column_totals
            mass += float(block.weight.sum())
            self.totals.append(float(block.column_totals.sum()))
            block.__dict__.pop("column_totals", None)
            if given is not None:
                # The few tokens that are held out, and not the others once more beside them.
                block = block.beside(given.blocks[len(self.blocks)].open())
            # What kernels derive from a block is derived once, and comes back with it.
            block.row_totals, block.by_column, block.weighted  # noqa: B018
            self.blocks.append(self._files.put(block))
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
        batch: int | None = None,
    ) -> Streamed:
        """Counts cut into as few blocks as the budget of the counts allows.

        Parameters
        ----------
        counts : StoredCounts, (I, J)
        kernels : Kernels
        weight : (I,) array, optional
        n_components : int
            How many components K to expect: they decide what a row takes.
        batch : int, optional
            Rows to a batch; by default every block is one.
        """
        laid = budgeted(counts, kernels, n_components, batch)
        data = cls._cut(counts, kernels, laid, weight)
        log.info(
            "streaming %d rows in %d blocks of at most %.1f MB, within %.0f MB",
            *(counts.n_rows, len(data.blocks), data.largest / MEGABYTE, counts.memory),
        )
        return data

    @classmethod
    def _cut(
        cls,
        counts: StoredCounts,
        kernels: Kernels,
        laid: Layout,
        weight: Array | None,
        given: Streamed | None = None,
    ) -> Streamed:
        def pieces() -> Iterator[tuple[Counts, Array]]:
            for runs in laid.blocks:
                found = counts.runs(runs)
                yield found, np.ones(len(found)) if weight is None else weight[rows_of(runs)]

        folder = counts.folder if counts.scratch is None else counts.scratch
        if not os.access(folder, os.W_OK):
            raise IsothermError(
                f"{folder} cannot be written to, and a fit of stored counts keeps files there; "
                "give another folder: StoredCounts(..., scratch=...)"
            )
        data = cls(pieces(), kernels, folder, int(ROOM * counts.memory * MEGABYTE), given)
        data._weight, data._laid = weight, laid
        return data

    _weight: Array | None = None
    _laid: Layout

    def beside(self, counts: StoredCounts) -> Streamed:
        """Other counts of the same rows, cut in the same places (held-out tokens)."""
        return self._cut(counts, self.kernels, self._laid, self._weight, self)

    @property
    def batches(self) -> tuple[Batch, ...]:
        """Blocks that are swept together where not all are swept at once."""
        return spans(self._laid.batches, self.totals)

    @property
    def no_rows(self) -> RowsHandle:
        """One empty state per block."""
        return (Held((), 0),) * len(self.blocks)

    def sweep(
        self,
        task: Task[Here, Old, *Shared, New, Sums],
        rows: RowsHandle,
        *shared: *Shared,
        within: slice = ALL,
    ) -> tuple[RowsHandle, Sums, float]:
        """Run the task on every block and add up statistics and energies, in block order.

        `within` is for some blocks alone: the others keep their rows.
        """
        found: list[object] = [*rows]
        last: Future[object] | None = None
        total: Sums | None = None
        energy, numbers = 0.0, range(len(self.blocks))[within]
        with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(1) as writer:
            ahead = reader.submit(self._opened, numbers[0], rows)
            for at, number in enumerate(numbers):
                block, row = ahead.result()
                if at + 1 < len(numbers):
                    ahead = reader.submit(self._opened, numbers[at + 1], rows)
                part = task(self.kernels, block, row, *shared)
                memory.look()
                del block, row
                if last is not None:
                    found[number - 1] = last.result()  # one state waits to be written, not more
                last = writer.submit(self.shelf.put, _nested.on_host(part.rows))
                energy += float(part.energy)
                total = _added(total, part.stats, len(numbers))
                del part
            found[numbers[-1]] = last.result() if last is not None else None
        if total is None:
            raise ValueError("a sweep over no blocks")
        return tuple(found), total, energy

    def _opened(self, number: int, rows: RowsHandle) -> tuple[Any, Any]:
        """A block and its row state, whose pages are in memory."""
        return self.blocks[number].open(), _open(rows[number])

    def gather(self, rows: RowsHandle) -> RowStates:
        """Row states of all blocks as one named tuple of arrays (I, ...), which lie in files."""
        first = rows[0].open()
        files = [self.shelf.file().open("w+b") for _ in first]
        shapes = [field.shape[1:] for field in first]
        types = [field.dtype for field in first]
        for kept, runs in zip(rows, self._laid.blocks, strict=True):
            for file, field in zip(files, kept.open(), strict=True):
                _put_rows(file, np.ascontiguousarray(field), runs)
        del first, kept, field
        arrays = []
        n_rows = sum(self._laid.sizes)
        for file, shape, dtype in zip(files, shapes, types, strict=True):
            file.flush()
            arrays.append(np.memmap(file, dtype, "c", shape=(n_rows, *shape)))
            file.close()
            if os.name == "posix":  # the arrays stay for as long as somebody looks at them
                Path(file.name).unlink()
        found = iter(arrays)
        return _nested.apply(lambda _: next(found).view(np.ndarray), rows[0].open())


def budgeted(
    counts: StoredCounts, kernels: Kernels, n_components: int, batch: int | None = None
) -> Layout:
    """Blocks whose share of the work fits the budget; a batch is one of them, or several."""
    rooms = _rooms(counts, kernels, n_components)
    batches = dealt(counts.n_rows, batch)
    wide = np.dtype(kernels.dtype).itemsize / 4
    indptr, cuts = counts.indptr, []
    for runs in batches:
        sizes = np.concatenate([np.diff(indptr[lo : hi + 1]) for lo, hi in runs])
        cost = np.cumsum(wide * (PER_NONZERO * sizes.astype(np.float64) + PER_ROW * n_components))
        n_blocks = int(np.ceil(cost[-1] / rooms))
        marks = np.linspace(0, cost[-1], n_blocks + 1)[1:-1]
        inner = np.unique(np.searchsorted(cost, marks) + 1)
        cuts.append(inner[inner < len(sizes)].tolist())
    laid = layout(batches, cuts)
    return laid if batch is not None else laid._replace(batches=tuple(range(len(laid.blocks) + 1)))


def _rooms(counts: StoredCounts, kernels: Kernels, n_components: int) -> float:
    """Bytes that a block may take; an error where the budget is too small for any."""
    wide = np.dtype(kernels.dtype).itemsize / 4
    tables = wide * PER_COLUMN * counts.n_columns * n_components
    always = min(ALWAYS, 0.4 * counts.memory * MEGABYTE)
    rooms = (1.0 - ROOM) * counts.memory * MEGABYTE - always - tables
    whole = wide * (PER_NONZERO * counts.nnz + PER_ROW * n_components * counts.n_rows)
    least = min(whole, whole * LEAST / max(1, counts.nnz))
    if rooms < least:
        needed = (tables + always + least) / (1.0 - ROOM) / MEGABYTE
        raise IsothermError(
            f"memory is {counts.memory:.0f} MB; {n_components} components over {counts.n_columns} "
            f"columns need at least {needed:.0f} MB: give more, or drop rare columns"
        )
    return rooms


def _put_rows(file: Any, field: Array, runs: tuple[Run, ...]) -> None:
    """Write the rows of a block to where they belong in a file of all rows."""
    width, at = field[:1].nbytes, 0
    for lo, hi in runs:
        file.seek(lo * width)
        file.write(field[at : at + hi - lo].data)
        at += hi - lo


def _open(kept: Any) -> Any:
    """A row state; of a tuple of them, a tuple (old and new rows, side by side)."""
    return tuple(_open(one) for one in kept) if isinstance(kept, tuple) else kept.open()


def _added(total: Sums | None, stats: Sums, n_blocks: int) -> Sums:
    """Statistics so far and those of one more block, in float64 if there are several."""
    if n_blocks == 1:
        return stats
    part = _nested.apply(partial(np.asarray, dtype=np.float64), _nested.on_host(stats))
    if total is None:
        return _nested.apply(np.array, part)
    for sums, more in zip(total, part, strict=True):
        sums += more
    return total
