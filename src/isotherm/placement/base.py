"""The contract of whatever places blocks of rows somewhere.

A model maps a block to sums; a `Data` runs that map over all blocks and adds the sums up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol


class Expected(NamedTuple):
    """What one task returns for one block: new row states, sums, share of the energy."""

    rows: Any
    stats: Any
    energy: float


RowsHandle = tuple[Any, ...]
# Blocks of a sweep, unless some are named.
ALL = slice(None)
Task = Callable[..., Expected]


class Data(Protocol):
    """Where blocks live. Rows stay with their block; statistics and energies come back."""

    @property
    def summary(self) -> Any:
        """What is known of all blocks together; its `total` is their weight, in tokens or rows."""
        ...

    @property
    def kernels(self) -> Any:
        """The backend that tasks are given."""
        ...

    @property
    def no_rows(self) -> RowsHandle:
        """Handle of a row state that holds nothing yet."""
        ...

    def sweep(self, task: Task, rows: RowsHandle, *shared: Any) -> tuple[RowsHandle, Any, float]:
        """Run `task(kernels, block, rows, *shared)` on every block; add statistics and energies."""
        ...
