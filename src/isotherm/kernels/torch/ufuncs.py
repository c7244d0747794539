"""Numpy's universal functions answered by torch: arithmetic of a `DeviceArray`.

Types of results are numpy's. What torch has no twin of, and what concerns few numbers only, is
answered by numpy on the host.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import torch
from numpy.typing import DTypeLike

from isotherm._types import DType
from isotherm.kernels.torch import array as arrays
from isotherm.kernels.torch.array import DTYPES, DeviceArray, Function, placed, plain, tensor_of

UFUNCS: dict[str, Function] = {
    "add": torch.add,
    "subtract": torch.sub,
    "multiply": torch.mul,
    "divide": torch.div,
    "true_divide": torch.div,
    "floor_divide": torch.floor_divide,
    "remainder": torch.remainder,
    "power": torch.pow,
    "float_power": torch.pow,
    "negative": torch.neg,
    "absolute": torch.abs,
    "sign": torch.sign,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "sqrt": torch.sqrt,
    "square": torch.square,
    "exp": torch.exp,
    "expm1": torch.expm1,
    "log": torch.log,
    "log1p": torch.log1p,
    "rint": torch.round,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "isfinite": torch.isfinite,
    "isnan": torch.isnan,
    "equal": torch.eq,
    "not_equal": torch.ne,
    "less": torch.lt,
    "less_equal": torch.le,
    "greater": torch.gt,
    "greater_equal": torch.ge,
    "logical_and": torch.logical_and,
    "logical_or": torch.logical_or,
    "logical_not": torch.logical_not,
    "logical_xor": torch.logical_xor,
    "bitwise_and": torch.bitwise_and,
    "bitwise_or": torch.bitwise_or,
    "bitwise_xor": torch.bitwise_xor,
    "invert": torch.bitwise_not,
    "matmul": torch.matmul,
    # Of scipy.special.
    "xlogy": torch.special.xlogy,
    "gammaln": torch.lgamma,
    "psi": torch.digamma,
}


def called(
    ufunc: np.ufunc,
    inputs: tuple[object, ...],
    out: object,
    where: object,
    dtype: DTypeLike | None,
    place: torch.device,
) -> object:
    """Outcome of `ufunc(*inputs, out=out, where=where, dtype=dtype)`."""
    target = out[0] if isinstance(out, tuple) else out
    if where is not True and target is None:
        raise TypeError(f"{ufunc.__name__} with `where` on a device needs `out`")
    whole = (*inputs, target, where)
    if not _many(ufunc, whole) or ufunc.__name__ not in UFUNCS:
        return _on_host(ufunc, inputs, target, where, dtype, place)
    found = _on_device(ufunc, inputs, dtype, place)
    if target is None:
        return placed(found, place)
    if isinstance(target, DeviceArray) and target.on_device:
        if where is True:
            target.value.copy_(found.expand(target.shape))
        else:
            mask = tensor_of(where, place)
            target.value.copy_(torch.where(mask, found.to(target.value.dtype), target.value))
        return target
    host = plain(target)
    fresh = DeviceArray(found, place).host()
    np.copyto(host, fresh, where=plain(where), casting="same_kind")
    return target


def _many(ufunc: np.ufunc, operands: tuple[object, ...]) -> bool:
    """Whether any operand is on the device, or the outcome would be large."""
    if any(isinstance(one, DeviceArray) and one.on_device for one in operands):
        return True
    shapes = [np.shape(one) for one in operands if isinstance(one, DeviceArray | np.ndarray)]
    few = ufunc.signature is not None or math.prod(np.broadcast_shapes(*shapes)) <= arrays.FEW
    return not few


def _on_host(
    ufunc: np.ufunc,
    inputs: tuple[object, ...],
    target: object,
    where: object,
    dtype: DTypeLike | None,
    place: object,
) -> object:
    if target is None:
        found = ufunc(*plain(inputs)) if dtype is None else ufunc(*plain(inputs), dtype=dtype)
        return placed(found, place)
    held = plain(target)
    found = ufunc(*plain(inputs), out=held, where=plain(where))
    if isinstance(target, DeviceArray) and target.on_device:
        target.value.copy_(tensor_of(found, place))
    return target


def _on_device(
    ufunc: np.ufunc, inputs: tuple[object, ...], dtype: DTypeLike | None, place: torch.device
) -> torch.Tensor:
    out = None if dtype is None else np.dtype(dtype)
    wanted = _resolved(ufunc, (*(kind_of(one) for one in inputs), out))
    tensors = [
        tensor_of(one, place, DTYPES[kind])
        if isinstance(one, DeviceArray | np.ndarray | np.generic | list)
        else one
        for one, kind in zip(inputs, wanted, strict=False)
    ]
    if not any(isinstance(one, torch.Tensor) for one in tensors[:1]) and ufunc.nin > 1:
        tensors[0] = torch.tensor(tensors[0], dtype=DTYPES[wanted[0]], device=place)
    if ufunc.__name__ in ("maximum", "minimum") and not isinstance(tensors[1], torch.Tensor):
        tensors[1] = torch.tensor(tensors[1], dtype=DTYPES[wanted[1]], device=place)
    found: torch.Tensor = UFUNCS[ufunc.__name__](*tensors)
    return found


@functools.lru_cache(maxsize=512)
def _resolved(ufunc: np.ufunc, kinds: tuple[Any, ...]) -> tuple[DType, ...]:
    """Types that numpy computes with, operands first."""
    return ufunc.resolve_dtypes(kinds)


def kind_of(one: object) -> Any:
    """Type of an operand as numpy's promotion sees it: Python's numbers are weak."""
    if isinstance(one, bool):
        return np.dtype(np.bool_)
    if isinstance(one, int | float) and not isinstance(one, np.generic):
        return type(one)
    return one.dtype if hasattr(one, "dtype") else np.asarray(one).dtype
