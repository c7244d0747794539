"""Arithmetic over named tuples of arrays.

Parameters, row states and statistics are all named tuples of arrays; these few functions let the
engine blend, add and index them without knowing any model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from isotherm._types import Array, IndexArray

T = TypeVar("T", bound=tuple[Any, ...])
V = TypeVar("V")


def apply(function: Callable[..., Array], first: T, *others: T) -> T:
    """Tuple of the same type with `function` applied field by field.

    Parameters
    ----------
    function : callable
        Takes one array per tuple given, returns an array.
    first, *others : named tuples of arrays of one type
    """
    return _rebuild(first, [function(*fields) for fields in zip(first, *others, strict=True)])


def add(first: T, second: T) -> T:
    """Field-wise sum: how the statistics of two blocks become one."""
    return apply(lambda a, b: a + b, first, second)


def lerp(old: T, new: T, eta: float) -> T:
    """Field-wise `(1 - eta) old + eta new`; `eta` above one extrapolates."""
    return apply(lambda a, b: a + np.asarray(eta, b.dtype) * (b - a), old, new)


def take(value: T, index: IndexArray) -> T:
    """Components `index` of every field; components are always the last axis."""
    return apply(lambda a: np.take(a, index, axis=-1), value)


def concatenate(parts: Sequence[T]) -> T:
    """Row states of several blocks put one below the other."""
    return apply(lambda *fields: np.concatenate(fields, axis=0), *parts)


def on_host(value: V) -> V:
    """The same with numpy's arrays in place of those of a device, in tuples of any depth."""
    here: Any = value
    if isinstance(value, tuple):
        parts = [on_host(one) for one in value]
        here = _rebuild(value, parts) if hasattr(value, "_fields") else tuple(parts)
    elif hasattr(value, "on_device"):
        here = np.asarray(value)
    return here  # type: ignore[no-any-return]  # arrays of a device pass for those of numpy


def _rebuild(like: T, fields: Iterable[Any]) -> T:
    return type(like)(*fields)
