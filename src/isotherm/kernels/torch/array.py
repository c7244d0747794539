"""Arrays on a device that speak numpy: what lets models and the engine run where the tables are.

Models are written in numpy. A `DeviceArray` answers numpy's functions (by its protocols, NEP 13 and
18) with torch on the device, and what torch has no answer for with numpy on the host. Few numbers
stay on the host anyway: a call costs more than they do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import DTypeLike

from isotherm._types import Array, DType

# Up to so many numbers a result is kept on the host.
FEW = 1 << 16

DTYPES: dict[DType, torch.dtype] = {
    np.dtype(np.bool_): torch.bool,
    np.dtype(np.uint8): torch.uint8,
    np.dtype(np.int8): torch.int8,
    np.dtype(np.int16): torch.int16,
    np.dtype(np.int32): torch.int32,
    np.dtype(np.int64): torch.int64,
    np.dtype(np.float32): torch.float32,
    np.dtype(np.float64): torch.float64,
}
NUMPY = {kind: name for name, kind in DTYPES.items()}
# Methods of numpy's arrays that change them in place: a copy on the host would be changed instead.
IN_PLACE = ("byteswap", "fill", "itemset", "partition", "put", "resize", "setfield", "sort")

Function = Callable[..., object]


class DeviceArray(NDArrayOperatorsMixin):
    """Array of numbers on a device, or on the host where they are few; behaves as numpy's do.

    Parameters
    ----------
    value : torch.Tensor or numpy.ndarray
    place : torch.device
        Where results of many numbers go.
    """

    __slots__ = ("place", "value")
    __array_priority__ = 1000.0

    def __init__(self, value: Any, place: torch.device) -> None:
        self.value = value
        self.place = place

    # What numpy's arrays say of themselves -----------------------------------------------------

    @property
    def dtype(self) -> DType:
        """Type of the numbers, as numpy names it."""
        found: DType = NUMPY[self.value.dtype] if self.on_device else self.value.dtype
        return found

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return tuple(self.value.shape)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.value.shape)

    @property
    def size(self) -> int:
        """Number of numbers."""
        return math.prod(self.value.shape)

    @property
    def nbytes(self) -> int:
        """Bytes that the numbers take."""
        return self.size * self.dtype.itemsize

    @property
    def T(self) -> DeviceArray:  # noqa: N802
        """The array with its axes in reverse order."""
        return self.transpose()

    @property
    def on_device(self) -> bool:
        """Whether the numbers are on the device."""
        return isinstance(self.value, torch.Tensor)

    def __len__(self) -> int:
        return int(self.value.shape[0])

    def __iter__(self) -> Iterator[Any]:
        return (self[n] for n in range(len(self)))

    def __repr__(self) -> str:
        where = self.place if self.on_device else "host"
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype}, on {where})"

    def __bool__(self) -> bool:
        return bool(self.host())

    def __float__(self) -> float:
        return float(self.host())

    def __int__(self) -> int:
        return int(self.host())

    def __reduce__(self) -> tuple[object, ...]:
        return np.array, (self.host(),)

    def __copy__(self) -> DeviceArray:
        return self.copy()

    def __deepcopy__(self, memo: object) -> DeviceArray:
        return self.copy()

    def __getattr__(self, name: str) -> Any:
        """Whatever else numpy's arrays have, of a copy on the host."""
        if name.startswith("_") or name in IN_PLACE:
            raise AttributeError(f"DeviceArray has no attribute {name!r}")
        return getattr(self.host(), name)

    # To and fro --------------------------------------------------------------------------------

    def host(self) -> Array:
        """The numbers on the host; theirs own memory where they come from the device."""
        if not self.on_device:
            return np.asarray(self.value)
        if self.value.device.type == "cpu":
            return np.asarray(self.value.numpy())
        # Pinned memory comes at several times the speed, and from a pool.
        pinned = torch.empty(self.value.shape, dtype=self.value.dtype, pin_memory=True)
        pinned.copy_(self.value)
        return np.asarray(pinned.numpy())

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        found = self.host()
        if dtype is not None and found.dtype != dtype:
            return found.astype(dtype)
        return found.copy() if copy else found

    def tensor(self) -> torch.Tensor:
        """The numbers on the device."""
        return self.value if self.on_device else tensor_of(self.value, self.place)

    # Methods -----------------------------------------------------------------------------------

    def astype(self, dtype: DTypeLike, order: str = "K", copy: bool = True) -> DeviceArray:
        """The numbers in another type."""
        dtype = np.dtype(dtype)
        if self.dtype == dtype and not copy:
            return self
        if self.on_device:
            return DeviceArray(self.value.to(DTYPES[dtype], copy=copy), self.place)
        return DeviceArray(self.value.astype(dtype), self.place)

    def copy(self, order: str = "C") -> DeviceArray:
        """The same numbers, for themselves."""
        return DeviceArray(self.value.clone() if self.on_device else self.value.copy(), self.place)

    def transpose(self, *axes: object) -> DeviceArray:
        """The array with its axes in another order."""
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], tuple) else axes
        order = order or tuple(reversed(range(self.ndim)))
        turned = self.value.permute(order) if self.on_device else self.value.transpose(order)
        return DeviceArray(turned, self.place)

    def reshape(self, *shape: Any, order: str = "C") -> DeviceArray:
        """The same numbers in another shape."""
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        return DeviceArray(self.value.reshape(tuple(int(n) for n in wanted)), self.place)

    def sum(
        self,
        axis: int | tuple[int, ...] | None = None,
        dtype: DTypeLike | None = None,
        out: object = None,
        keepdims: bool = False,
    ) -> Any:
        """Sum along axes."""
        return np.sum(self, axis=axis, dtype=dtype, keepdims=keepdims)

    def mean(
        self,
        axis: int | tuple[int, ...] | None = None,
        dtype: DTypeLike | None = None,
        out: object = None,
        keepdims: bool = False,
    ) -> Any:
        """Mean along axes."""
        return np.mean(self, axis=axis, dtype=dtype, keepdims=keepdims)

    def max(
        self, axis: int | tuple[int, ...] | None = None, out: object = None, keepdims: bool = False
    ) -> Any:
        """Largest along axes."""
        return np.amax(self, axis=axis, keepdims=keepdims)

    def min(
        self, axis: int | tuple[int, ...] | None = None, out: object = None, keepdims: bool = False
    ) -> Any:
        """Smallest along axes."""
        return np.amin(self, axis=axis, keepdims=keepdims)

    def any(
        self, axis: int | tuple[int, ...] | None = None, out: object = None, keepdims: bool = False
    ) -> Any:
        """Whether any is true."""
        return np.any(self, axis=axis, keepdims=keepdims)

    def all(
        self, axis: int | tuple[int, ...] | None = None, out: object = None, keepdims: bool = False
    ) -> Any:
        """Whether all are true."""
        return np.all(self, axis=axis, keepdims=keepdims)

    def argmax(self, axis: int | None = None, out: object = None, keepdims: bool = False) -> Any:
        """Where the largest is, the first of them."""
        return np.argmax(self, axis=axis, keepdims=keepdims)

    def __matmul__(self, other: Any) -> Any:
        if hasattr(other, "tocsr"):  # scipy's sparse arrays know nothing of ours
            return self.host() @ other
        return np.matmul(self, other)

    def __getitem__(self, index: object) -> Any:
        if self.on_device:
            found = self.value[_index(index, self.place)]
            # Views stay where they are, whatever their size: to write to them is to write to this.
            return scalar(found) if found.ndim == 0 else DeviceArray(found, self.place)
        found = self.value[plain(index)]
        return DeviceArray(found, self.place) if isinstance(found, np.ndarray) else found

    def __setitem__(self, index: object, given: object) -> None:
        if not self.on_device:
            self.value[plain(index)] = plain(given)
            return
        if isinstance(given, DeviceArray | np.ndarray):
            given = tensor_of(given, self.place).to(self.value.dtype)
        self.value[_index(index, self.place)] = given

    # Numpy's protocols -------------------------------------------------------------------------

    def __array_ufunc__(
        self,
        ufunc: np.ufunc,
        method: str,
        *inputs: object,
        out: object = None,
        where: object = True,
        dtype: DTypeLike | None = None,
        casting: str = "same_kind",
        axis: object = 0,
        keepdims: bool = False,
        initial: object = None,
    ) -> object:
        from isotherm.kernels.torch import functions, ufuncs

        if method == "__call__":
            return ufuncs.called(ufunc, inputs, out, where, dtype, self.place)
        if method == "reduce" and ufunc in functions.REDUCTIONS and out in (None, (None,)):
            whole = functions.REDUCTIONS[ufunc]
            return functions.answered(whole, (inputs[0],), {"axis": axis, "keepdims": keepdims})
        if method == "at" or out is not None:
            raise TypeError(f"{ufunc.__name__}.{method} cannot change arrays on a device")
        return placed(getattr(ufunc, method)(*plain(inputs)), self.place)

    def __array_function__(
        self,
        function: Function,
        types: object,
        args: tuple[object, ...],
        settings: dict[str, object],
    ) -> object:
        from isotherm.kernels.torch import functions

        return functions.answered(function, args, settings)


def tensor_of(value: Any, place: torch.device, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Numbers of any kind as a tensor on a device."""
    if isinstance(value, DeviceArray):
        value = value.value
    if not isinstance(value, torch.Tensor):
        given = np.asarray(value)
        # Torch refuses what is turned around or not to be written to; it only reads it here.
        if not given.flags.writeable or any(step < 0 for step in given.strides):
            given = given.copy()
        value = (
            torch.from_numpy(given)
            if given.ndim
            else torch.tensor(given.item(), dtype=DTYPES[given.dtype])
        )
    moved: torch.Tensor = value.to(device=place, dtype=dtype or value.dtype)
    return moved


def placed(value: object, place: torch.device) -> Any:
    """A result where its size says: many numbers on the device, few on the host, one a scalar."""
    if isinstance(value, torch.Tensor):
        if value.ndim == 0:
            return scalar(value)
        if value.numel() <= FEW:
            return DeviceArray(DeviceArray(value, place).host(), place)
        return DeviceArray(value, place)
    if isinstance(value, np.ndarray) and value.ndim and value.dtype in DTYPES:
        return DeviceArray(value if value.size <= FEW else tensor_of(value, place), place)
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple(placed(one, place) for one in value)
    return value


def scalar(value: torch.Tensor) -> Any:
    """Numpy's scalar of a tensor without axes."""
    return NUMPY[value.dtype].type(value.item())


def plain(value: object) -> Any:
    """The same with arrays on the host in place of those of a device."""
    if isinstance(value, DeviceArray):
        return value.host()
    if isinstance(value, tuple | list) and type(value) in (tuple, list):
        return type(value)(plain(one) for one in value)
    return value


def first_place(value: object) -> torch.device | None:
    """Where the first device array among some arguments belongs."""
    if isinstance(value, DeviceArray):
        return value.place
    if isinstance(value, tuple | list):
        found = (first_place(one) for one in value)
        return next((place for place in found if place is not None), None)
    return None


def _index(index: object, place: torch.device) -> object:
    """An index as torch takes it."""
    if isinstance(index, tuple):
        return tuple(_index(one, place) for one in index)
    if isinstance(index, DeviceArray | np.ndarray | list):
        found = tensor_of(np.asarray(index) if isinstance(index, list) else index, place)
        return found if found.dtype == torch.bool else found.long()
    return int(index) if isinstance(index, np.integer) else index
