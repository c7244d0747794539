"""The contract of whatever places blocks of rows somewhere.

A model maps a block to sums; a `Data` runs that map over all blocks and adds the sums up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, TypeVarTuple

from isotherm._types import BlockOut, RowsT, RowStates, StatsT, SummaryOut, TableIn
from isotherm.kernels.base import Kernels
from isotherm.placement.batches import Batch


class Expected(NamedTuple, Generic[RowsT, StatsT]):
    """What one task returns for one block: new row states, sums, share of the energy."""

    rows: RowsT
    stats: StatsT
    energy: float


# Row states of all blocks, wherever those are: in memory, in files, on workers.
RowsHandle = tuple[Any, ...]
# Blocks of a sweep, unless some are named.
ALL = slice(None)
Shared = TypeVarTuple("Shared")
Here = TypeVar("Here")
Old = TypeVar("Old")
New = TypeVar("New")
Sums = TypeVar("Sums", bound=tuple[Any, ...])
# Any task, where it is only passed on.
AnyTask = Callable[..., Expected]
# A task takes kernels, a block, its row states, and what is the same for all blocks.
Task = Callable[[Kernels, Here, Old, *Shared], Expected[New, Sums]]


class Data(Protocol[BlockOut, SummaryOut, TableIn]):
    """Where blocks live. Rows stay with their block; statistics and energies come back."""

    @property
    def summary(self) -> SummaryOut:
        """What is known of all blocks together; its `total` is their weight, in tokens or rows."""
        ...

    @property
    def kernels(self) -> Kernels:
        """The backend that tasks are given."""
        ...

    @property
    def no_rows(self) -> RowsHandle:
        """Handle of a row state that holds nothing yet."""
        ...

    @property
    def batches(self) -> tuple[Batch, ...]:
        """Blocks that are swept together where not all are; an error where that cannot be."""
        ...

    def sweep(
        self,
        task: Task[BlockOut, Old, *Shared, New, Sums],
        rows: RowsHandle,
        *shared: *Shared,
        within: slice = ALL,
    ) -> tuple[RowsHandle, Sums, float]:
        """Run `task(kernels, block, rows, *shared)` on every block; add statistics and energies.

        `within` is for some blocks alone: the others keep their rows.
        """
        ...

    def beside(self, counts: TableIn) -> Data[BlockOut, SummaryOut, TableIn]:
        """Other counts of the same rows, cut in the same places (held-out tokens)."""
        ...

    def gather(self, rows: RowsHandle) -> RowStates:
        """Row states of all blocks as one named tuple of arrays (I, ...), in the order of rows."""
        ...
