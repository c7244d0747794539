"""Blocks in this process: the plain placement, used unless something else is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, reduce
from typing import Any

import numpy as np

from isotherm import _nested
from isotherm._types import RowStates
from isotherm.data.base import Array, Block, blocks_of, row_bounds
from isotherm.data.counts import Counts
from isotherm.kernels.base import Kernels
from isotherm.placement.base import ALL, Here, New, Old, RowsHandle, Shared, Sums, Task
from isotherm.placement.batches import Batch, Layout, dealt, layout, spans


class Local:
    """Blocks held in memory, visited one after the other; each kernel call uses all threads.

    Parameters
    ----------
    blocks : sequence of Block or VectorBlock
    kernels : Kernels
        The backend that every task of a sweep is given.
    laid : Layout, optional
        Which rows of the counts the blocks have; by default all of them in order, and every block
        is a batch.
    """

    def __init__(self, blocks: Sequence[Any], kernels: Kernels, laid: Layout | None = None) -> None:
        self.kernels, self.laid = kernels, laid
        if len(blocks) == 1 and isinstance(blocks[0], Block):
            blocks = [replace(blocks[0], alone=True)]
        self.blocks = tuple(kernels.prepare(block) for block in blocks)

    @classmethod
    def place(
        cls,
        counts: Counts,
        kernels: Kernels,
        *,
        weight: Array | None = None,
        n_blocks: int = 1,
        batch: int | None = None,
    ) -> Local:
        """Counts (I, J) cut into `n_blocks` runs of rows, or into batches of so many rows.

        Row weights (I,) are ones by default.
        """
        if batch is None:
            return cls(blocks_of(counts, row_bounds(counts, n_blocks), weight), kernels)
        return cls._laid_out(counts, kernels, weight, layout(dealt(counts.n_rows, batch)))

    @classmethod
    def _laid_out(
        cls, counts: Counts, kernels: Kernels, weight: Array | None, laid: Layout
    ) -> Local:
        order = laid.order()
        bounds = np.cumsum([0, *laid.sizes])
        heavy = None if weight is None else np.asarray(weight)[order]
        return cls(blocks_of(counts.take_rows(order), bounds, heavy), kernels, laid)

    def beside(self, counts: Counts) -> Local:
        """Other counts of the same rows, cut in the same places (held-out tokens)."""
        weight = np.concatenate([block.weight for block in self.blocks])
        bounds = np.cumsum([0] + [block.n_rows for block in self.blocks])
        if self.laid is not None:
            counts = counts.take_rows(self.laid.order())
        pairs = zip(blocks_of(counts, bounds, weight), self.blocks, strict=True)
        blocks = [replace(block, given=given) for block, given in pairs]
        return Local(blocks, self.kernels, self.laid)

    @property
    def no_rows(self) -> RowsHandle:
        """One empty state per block."""
        return ((),) * len(self.blocks)

    @cached_property
    def summary(self) -> Any:
        """What is known of all blocks together."""
        return type(self.blocks[0]).summarize(self.blocks)

    @cached_property
    def batches(self) -> tuple[Batch, ...]:
        """Blocks that are swept together where not all are swept at once."""
        totals = [type(block).summarize([block]).total for block in self.blocks]
        firsts = range(len(totals) + 1) if self.laid is None else self.laid.batches
        return spans(firsts, totals)

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
        parts = [
            task(self.kernels, block, row, *shared)
            for block, row in zip(self.blocks[within], rows[within], strict=True)
        ]
        stats = parts[0].stats
        if len(parts) > 1:
            stats = reduce(_nested.add, (_nested.apply(_double, part.stats) for part in parts))
        found = [*rows]
        found[within] = [part.rows for part in parts]
        return tuple(found), stats, float(sum(part.energy for part in parts))

    def gather(self, rows: RowsHandle) -> RowStates:
        """Row states of all blocks as one named tuple of arrays (I, ...), in the order of rows."""
        whole = _nested.concatenate(rows)
        if self.laid is None:
            return whole
        back = np.argsort(self.laid.order())
        return _nested.apply(lambda field: field[back], whole)


def _double(sums: Array) -> Array:
    """Sums in float64, in which those of several blocks are added."""
    double: Array = sums.astype(np.float64, copy=False)
    return double
