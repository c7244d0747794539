"""Names of types that mean one thing everywhere, and type variables with a default.

A generic type without its parameters (`Model`, `Data`, `Expected`) is that of any of them, as where
the engine knows no model by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

# Numbers of any type: tables are float32 or float64, sums float64, indices integers.
Array = NDArray[Any]
FloatArray = NDArray[np.float64]
DType = np.dtype[Any]
IndexArray = NDArray[np.intp]
# A named tuple of arrays: parameters, rows or statistics of a model.
Arrays = tuple[Array, ...]
# Such a tuple where only the model knows which.
Params = Any
RowStates = Any
Stats = Any
Rng = np.random.Generator
# A value as JSON has it, before it is checked.
Json = Any
# What JSON holds under its names, once it is read and before it is checked.
Fields = dict[str, Any]

if TYPE_CHECKING:
    # `typing` has their defaults from Python 3.13 on; type checkers know them before.
    from typing_extensions import TypeVar

    ParamsT = TypeVar("ParamsT", default=Any)
    RowsT = TypeVar("RowsT", default=Any)
    StatsT = TypeVar("StatsT", default=Any)
    ParamsIn = TypeVar("ParamsIn", default=Any, contravariant=True)
    BlockIn = TypeVar("BlockIn", default=Any, contravariant=True)
    SummaryIn = TypeVar("SummaryIn", default=Any, contravariant=True)
    BlockOut = TypeVar("BlockOut", default=Any, covariant=True)
    SummaryOut = TypeVar("SummaryOut", default=Any, covariant=True)
    TableIn = TypeVar("TableIn", default=Any, contravariant=True)
else:
    from typing import TypeVar

    ParamsT, RowsT, StatsT = TypeVar("ParamsT"), TypeVar("RowsT"), TypeVar("StatsT")
    ParamsIn = TypeVar("ParamsIn", contravariant=True)
    BlockIn = TypeVar("BlockIn", contravariant=True)
    SummaryIn = TypeVar("SummaryIn", contravariant=True)
    BlockOut = TypeVar("BlockOut", covariant=True)
    SummaryOut = TypeVar("SummaryOut", covariant=True)
    TableIn = TypeVar("TableIn", contravariant=True)
