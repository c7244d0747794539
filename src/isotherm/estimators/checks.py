"""Checks of constructor parameters: what was given, what is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from isotherm.data.base import Array
from isotherm.errors import IsothermError


def integer(name: str, value: Any, least: int) -> None:
    """Refuse anything but an integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise IsothermError(f"{name}={value!r}; it must be an integer of at least {least}")


def number(
    name: str, value: Any, least: float, most: float = np.inf, *, open_below: bool = False
) -> None:
    """Refuse anything but a number in [least, most] (or (least, most])."""
    if (
        isinstance(value, bool)
        or not isinstance(value, Real)
        or not least <= float(value) <= most
        or (open_below and value == least)
    ):
        low = f"above {least:g}" if open_below else f"at least {least:g}"
        high = "" if most == np.inf else f" and at most {most:g}"
        raise IsothermError(f"{name}={value!r}; it must be a number {low}{high}")


def one_of(name: str, value: Any, allowed: Sequence[Any]) -> None:
    """Refuse anything but the listed values."""
    if not any(value is option or value == option for option in allowed):
        listed = ", ".join(repr(option) for option in allowed)
        raise IsothermError(f"{name}={value!r}; it must be one of {listed}")


def flag(name: str, value: Any) -> None:
    """Refuse anything but True or False."""
    if not isinstance(value, bool | np.bool_):
        raise IsothermError(f"{name}={value!r}; it must be True or False")


def provides(name: str, value: Any, method: str, example: str) -> None:
    """Refuse an object without the method that the engine will call."""
    if value is not None and not callable(getattr(value, method, None)):
        raise IsothermError(f"{name}={value!r}; it must be None or an object such as {example}")


def row_weights(sample_weight: Any, n_rows: int) -> Array | None:
    """Weights (I,) as float64, or None."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, np.float64)
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise IsothermError(
            f"sample_weight has shape {weight.shape} for {n_rows} rows; give one weight per row"
        )
    if not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise IsothermError(
            "sample_weight has negative, infinite, NaN or only zero values; weights say how often "
            "each row counts, and some row must count"
        )
    return weight
