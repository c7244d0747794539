"""Numpy's functions answered by torch: what a `DeviceArray` does when numpy asks it.

Types of results are numpy's. A function that is not here, or is called in a way that is not, is
answered by numpy on the host.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, DTypeLike

from isotherm.kernels.torch import array as arrays
from isotherm.kernels.torch.array import (
    DTYPES,
    DeviceArray,
    Function,
    first_place,
    placed,
    plain,
    tensor_of,
)
from isotherm.kernels.torch.ufuncs import kind_of


class _NoAnswerError(Exception):
    """Raised by an answer below that does not know what it is asked."""


def answered(function: Function, args: tuple[object, ...], settings: dict[str, object]) -> object:
    """Outcome of `function(*args, **settings)`, one of numpy's."""
    place = first_place((args, tuple(settings.values())))
    assert place is not None  # numpy asked because there is one
    answer = FUNCTIONS.get(function)
    if answer is not None:
        try:
            return placed(answer(*args, **settings), place)
        except _NoAnswerError:
            pass  # numpy knows what this does not; arrays have not been touched
        except TypeError as error:
            # Settings that the answer does not have are numpy's to take. A mistake inside the
            # answer, whose frame then stands below this one, must not be hidden.
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise
    if settings.get("out") is not None:
        raise TypeError(f"{function.__name__} cannot write to arrays on a device")
    held = {name: plain(value) for name, value in settings.items()}
    return placed(function(*plain(args), **held), place)


# Functions --------------------------------------------------------------------------------------


def _tensors(values: Sequence[object]) -> tuple[list[torch.Tensor], torch.device]:
    """Tensors of arrays, all of the type that numpy would promote them to."""
    place = first_place(tuple(values))
    if place is None or not any(isinstance(one, DeviceArray) and one.on_device for one in values):
        raise _NoAnswerError
    kind = DTYPES[np.result_type(*[_weak(one) for one in values])]
    return [tensor_of(one, place, kind) for one in values], place


def _weak(one: object) -> Any:
    """What numpy's result_type promotes: the type of an array, or Python's number itself."""
    plain_number = isinstance(one, int | float) and not isinstance(one, np.generic)
    return one if plain_number else kind_of(one)


def _held(array: object) -> torch.Tensor:
    """The tensor of an array that is on the device."""
    if not (isinstance(array, DeviceArray) and array.on_device):
        raise _NoAnswerError
    found: torch.Tensor = array.value
    return found


def _worth(size: float) -> None:
    """Refuse what numpy does on the host in less time."""
    if size <= arrays.FEW:
        raise _NoAnswerError


def _where(condition: object, x: object, y: object) -> torch.Tensor:
    if not any(isinstance(one, DeviceArray) and one.on_device for one in (condition, x, y)):
        raise _NoAnswerError
    place = first_place((condition, x, y))
    assert place is not None
    kind = DTYPES[np.result_type(_weak(x), _weak(y))]
    parts = (tensor_of(one, place, kind) for one in (x, y))
    return torch.where(tensor_of(condition, place), *parts)


def _sum(
    a: object, axis: object = None, dtype: DTypeLike | None = None, keepdims: bool = False
) -> torch.Tensor:
    x = _held(a)
    kind = None if dtype is None else DTYPES[np.dtype(dtype)]
    if axis is None:
        return x.sum(dtype=kind)
    return x.sum(dim=_axes(axis, x), dtype=kind, keepdim=keepdims)


def _mean(
    a: object, axis: object = None, dtype: DTypeLike | None = None, keepdims: bool = False
) -> torch.Tensor:
    x = _held(a)
    count = x.numel() if axis is None else math.prod(x.shape[n] for n in _axes(axis, x))
    whole = np.float64 if dtype is None and not x.is_floating_point() else dtype
    return _sum(a, axis, whole, keepdims) / count


def _largest(x: torch.Tensor, axis: object, keepdims: bool, least: bool) -> torch.Tensor:
    dims = tuple(range(x.ndim)) if axis is None else _axes(axis, x)
    return (torch.amin if least else torch.amax)(x, dim=dims, keepdim=keepdims)


def _amax(a: object, axis: object = None, keepdims: bool = False) -> torch.Tensor:
    return _largest(_held(a), axis, keepdims, least=False)


def _amin(a: object, axis: object = None, keepdims: bool = False) -> torch.Tensor:
    return _largest(_held(a), axis, keepdims, least=True)


def _any(a: object, axis: object = None, keepdims: bool = False) -> torch.Tensor:
    x = _held(a) != 0
    return x.any() if axis is None else _largest(x.to(torch.uint8), axis, keepdims, False).bool()


def _all(a: object, axis: object = None, keepdims: bool = False) -> torch.Tensor:
    x = _held(a) != 0
    return x.all() if axis is None else _largest(x.to(torch.uint8), axis, keepdims, True).bool()


def _argmax(a: object, axis: object = None, keepdims: bool = False) -> torch.Tensor:
    x = _held(a)
    if axis is None:
        raise _NoAnswerError
    # Torch does not promise the first of several.
    top = x == x.amax(dim=axis, keepdim=True)
    return top.to(torch.uint8).cumsum(dim=axis).eq(0).sum(dim=axis, keepdim=keepdims)


def _axes(axis: object, x: torch.Tensor) -> tuple[int, ...]:
    given = axis if isinstance(axis, tuple) else (axis,)
    return tuple(int(n) % x.ndim for n in given)


def _like(value: float, a: object, dtype: DTypeLike | None = None) -> torch.Tensor:
    kind = None if dtype is None else DTYPES[np.dtype(dtype)]
    return torch.full_like(_held(a), value, dtype=kind, memory_format=torch.contiguous_format)


def _full_like(a: object, fill_value: float, dtype: DTypeLike | None = None) -> torch.Tensor:
    return _like(float(fill_value), a, dtype)


def _einsum(
    subscripts: str, *arrays: object, dtype: DTypeLike | None = None, optimize: object = None
) -> torch.Tensor:
    tensors, _ = _tensors(arrays)
    if dtype is not None:
        tensors = [one.to(DTYPES[np.dtype(dtype)]) for one in tensors]
    ins, _, answer = subscripts.partition("->")
    same = set(ins.split(","))
    if len(same) == 1 and "..." not in ins and len(answer) < len(ins.split(",")[0]):
        # Products of equal shapes and a sum: faster than what torch makes of it.
        product = functools.reduce(torch.mul, tensors)
        axes = ins.split(",")[0]
        left = [one for one in axes if one in answer]
        if left == list(answer):
            gone = [n for n, one in enumerate(axes) if one not in answer]
            return product.sum(dim=gone)
    return torch.einsum(subscripts, *tensors)


def _concatenate(arrays: Iterable[object], axis: int = 0) -> torch.Tensor:
    return torch.cat(_tensors(list(arrays))[0], dim=axis)


def _stack(arrays: Iterable[object], axis: int = 0) -> torch.Tensor:
    return torch.stack(_tensors(list(arrays))[0], dim=axis)


def _take(a: object, indices: object, axis: object = None) -> torch.Tensor:
    x = _held(a)
    if axis is None:
        raise _NoAnswerError
    return torch.index_select(x, axis % x.ndim, tensor_of(indices, x.device).long())


def _outer(a: ArrayLike, b: ArrayLike) -> torch.Tensor:
    place = first_place((a, b))
    assert place is not None
    _worth(np.size(a) * np.size(b))
    kind = DTYPES[np.result_type(kind_of(a), kind_of(b))]
    first, second = (tensor_of(one, place, kind).reshape(-1) for one in (a, b))
    return first[:, None] * second[None, :]


def _tile(a: ArrayLike, reps: object) -> torch.Tensor:
    place = first_place((a,))
    assert place is not None
    times = reps if isinstance(reps, tuple) else (reps,)
    _worth(np.size(a) * math.prod(times))
    return torch.tile(tensor_of(a, place), tuple(int(n) for n in times))


def _repeat(a: ArrayLike, repeats: ArrayLike, axis: object = None) -> torch.Tensor:
    place = first_place((a, repeats))
    assert place is not None
    _worth(max(np.size(a), np.size(repeats)) * (repeats if isinstance(repeats, int) else 1))
    x = tensor_of(a, place)
    if axis is None:
        x, axis = x.reshape(-1), 0
    times = repeats if isinstance(repeats, int) else tensor_of(repeats, place).long()
    return torch.repeat_interleave(x, times, dim=axis)


def _diff(a: object) -> torch.Tensor:
    return torch.diff(_held(a))


def _cumsum(a: object, axis: object = None) -> torch.Tensor:
    x = _held(a)
    return torch.cumsum(x.reshape(-1) if axis is None else x, dim=axis or 0)


def _copy(a: object) -> torch.Tensor:
    return _held(a).clone()


def _clip(a: object, a_min: object, a_max: object) -> torch.Tensor:
    if not all(isinstance(one, int | float) for one in (a_min, a_max)):
        raise _NoAnswerError
    return torch.clamp(_held(a), a_min, a_max)


def _unique(ar: object) -> torch.Tensor:
    found: torch.Tensor = torch.unique(_held(ar))
    return found


def _qr(a: object) -> tuple[torch.Tensor, torch.Tensor]:
    basis, triangle = torch.linalg.qr(_held(a))
    return basis, triangle


def _flatnonzero(a: object) -> torch.Tensor:
    return torch.nonzero(_held(a).reshape(-1)).reshape(-1)


FUNCTIONS: dict[Function, Function] = {
    np.where: _where,
    np.sum: _sum,
    np.mean: _mean,
    np.amax: _amax,
    np.amin: _amin,
    np.max: _amax,
    np.min: _amin,
    np.any: _any,
    np.all: _all,
    np.argmax: _argmax,
    np.zeros_like: functools.partial(_like, 0.0),
    np.ones_like: functools.partial(_like, 1.0),
    np.empty_like: functools.partial(_like, 0.0),
    np.full_like: _full_like,
    np.einsum: _einsum,
    np.concatenate: _concatenate,
    np.stack: _stack,
    np.take: _take,
    np.outer: _outer,
    np.tile: _tile,
    np.repeat: _repeat,
    np.diff: _diff,
    np.cumsum: _cumsum,
    np.copy: _copy,
    np.clip: _clip,
    np.unique: _unique,
    np.flatnonzero: _flatnonzero,
    np.linalg.qr: _qr,
}
REDUCTIONS: dict[np.ufunc, Function] = {
    np.add: np.sum,
    np.maximum: np.amax,
    np.minimum: np.amin,
    np.logical_or: np.any,
    np.logical_and: np.all,
}
