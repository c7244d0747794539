"""Blocks in this process: the plain placement, used unless something else is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce
from typing import Any

import numpy as np

from isotherm import nested
from isotherm.data.base import Array, RowsHandle, Task, blocks_of, row_bounds
from isotherm.data.counts import Counts
from isotherm.kernels.base import Kernels


class Local:
    """Blocks held in memory, visited one after the other; each kernel call uses all threads.

    Parameters
    ----------
    blocks : sequence of Block or VectorBlock
    kernels : Kernels
        The backend that every task of a sweep is given.
    """

    def __init__(self, blocks: Sequence[Any], kernels: Kernels) -> None:
        self.kernels = kernels
        self.blocks = tuple(kernels.prepare(block) for block in blocks)

    @classmethod
    def place(
        cls, counts: Counts, kernels: Kernels, *, weight: Array | None = None, n_blocks: int = 1
    ) -> Local:
        """Counts cut into `n_blocks` runs of rows (I, J), with row weights (I,) if given."""
        return cls(blocks_of(counts, row_bounds(counts, n_blocks), weight), kernels)

    def beside(self, counts: Counts) -> Local:
        """Other counts of the same rows, cut in the same places (held-out tokens)."""
        bounds = np.cumsum([0] + [block.n_rows for block in self.blocks])
        weight = np.concatenate([block.weight for block in self.blocks])
        return Local(blocks_of(counts, bounds, weight), self.kernels)

    @property
    def no_rows(self) -> RowsHandle:
        """One empty state per block."""
        return ((),) * len(self.blocks)

    @cached_property
    def summary(self) -> Any:
        """What is known of all blocks together."""
        return type(self.blocks[0]).summarize(self.blocks)

    def sweep(self, task: Task, rows: RowsHandle, *shared: Any) -> tuple[RowsHandle, Any, float]:
        """Run the task on every block and add up statistics and energies, in block order."""
        parts = [
            task(self.kernels, block, row, *shared)
            for block, row in zip(self.blocks, rows, strict=True)
        ]
        stats = parts[0].stats
        if len(parts) > 1:
            stats = reduce(nested.add, (nested.apply(_double, part.stats) for part in parts))
        return tuple(part.rows for part in parts), stats, float(sum(part.energy for part in parts))

    def gather(self, rows: RowsHandle) -> Any:
        """Row states of all blocks as one named tuple of arrays (I, ...)."""
        return nested.concatenate(rows)


def _double(sums: Array) -> Array:
    """Sums in float64, in which those of several blocks are added."""
    double: Array = sums.astype(np.float64, copy=False)
    return double
