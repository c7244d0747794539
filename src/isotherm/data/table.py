"""The contract of a table of counts: `Counts` in memory, `StoredCounts` on the disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from isotherm._types import Array

if TYPE_CHECKING:
    from isotherm.data.counts import Counts


class CountTable(Protocol):
    """A table n(x, y) of I rows and J columns, with optional names for both."""

    @property
    def in_memory(self) -> bool:
        """Whether all of it is in memory, and not read some rows at a time."""
        ...

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns, (I, J)."""
        ...

    @property
    def n_rows(self) -> int:
        """Number of rows I."""
        ...

    @property
    def n_columns(self) -> int:
        """Number of columns J."""
        ...

    @property
    def nnz(self) -> int:
        """Number of cells with a positive count."""
        ...

    @property
    def total(self) -> float:
        """Sum N of all counts."""
        ...

    @property
    def is_integral(self) -> bool:
        """Whether every count is a whole number."""
        ...

    @property
    def row_totals(self) -> Array:
        """Sums n(x) of the rows, (I,)."""
        ...

    @property
    def column_totals(self) -> Array:
        """Sums n(y) of the columns, (J,)."""
        ...

    @property
    def indptr(self) -> Array:
        """Where each row begins among the non-zeros, (I + 1,)."""
        ...

    @property
    def row_names(self) -> NDArray[np.object_] | None:
        """Names of the rows, (I,)."""
        ...

    @property
    def column_names(self) -> NDArray[np.object_] | None:
        """Names of the columns, (J,)."""
        ...

    def rows(self, first: int, last: int) -> Counts:
        """Counts of the rows from `first` to before `last`, in memory, without names."""
        ...

    def changed(self, change: Callable[[Counts], Counts]) -> Self:
        """The same with a function of rows applied, now or when they are read."""
        ...

    def hold_out(self, fraction: float, seed: int) -> tuple[Self, Self]:
        """Counts to fit and counts to hold out, dealt by the content of each row."""
        ...
