"""Checks of constructor parameters: what was given, what is allowed."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from isotherm.data import _convert
from isotherm.data.base import Array
from isotherm.errors import IsothermError

# Float64 tells units apart up to this total; counts below the second are next to nothing.
LARGEST_TOTAL, SMALLEST_COUNT = 2.0**53, 1e-20
_REPR = reprlib.Repr()
_REPR.maxlist = _REPR.maxtuple = _REPR.maxdict = 20
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 400


def _shown(value: Any) -> str:
    """The value in words that are not too many, whatever was given."""
    return _REPR.repr(value)


def integer(name: str, value: Any, least: int) -> None:
    """Refuse anything but an integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise IsothermError(f"{name}={_shown(value)}; it must be an integer of at least {least}")


def number(name: str, value: Any, least: float, most: float = np.inf) -> None:
    """Refuse anything but a number in [least, most]."""
    if (
        isinstance(value, bool)
        or not isinstance(value, Real)
        or not np.isfinite(float(value))
        or not least <= float(value) <= most
    ):
        high = "" if most == np.inf else f" and at most {most:g}"
        raise IsothermError(
            f"{name}={_shown(value)}; it must be a number of at least {least:g}{high}"
        )


def one_of(name: str, value: Any, allowed: Sequence[Any]) -> None:
    """Refuse anything but the listed values."""
    # What an array is compared with gives an array.
    plain = not isinstance(value, np.ndarray)
    if not any(value is option or (plain and value == option) for option in allowed):
        listed = ", ".join(repr(option) for option in allowed)
        raise IsothermError(f"{name}={_shown(value)}; it must be one of {listed}")


def flag(name: str, value: Any) -> None:
    """Refuse anything but True or False."""
    if not isinstance(value, bool | np.bool_):
        raise IsothermError(f"{name}={_shown(value)}; it must be True or False")


def provides(name: str, value: Any, method: str, example: str) -> None:
    """Refuse an object without the method that the engine will call, and a bare class."""
    if value is not None and (
        isinstance(value, type) or not callable(getattr(value, method, None))
    ):
        raise IsothermError(
            f"{name}={_shown(value)}; it must be None or an object such as {example}"
        )


def callbacks(given: Any) -> None:
    """Refuse anything but a sequence of callbacks."""
    methods = ("on_sweep", "on_temperature", "on_end")
    if not isinstance(given, Sequence) or any(
        isinstance(one, type) or not all(callable(getattr(one, m, None)) for m in methods)
        for one in given
    ):
        raise IsothermError(
            f"callbacks={given!r}; it must be a list of callbacks such as [TimeLimit(60)]"
        )


def row_weights(sample_weight: Any, row_totals: Array) -> Array | None:
    """Weights (I,) as float64, or None; rows with counts (I,) must have some weight."""
    if sample_weight is None:
        return None
    n_rows = len(row_totals)
    try:
        weight = np.asarray(sample_weight, np.float64)
    except (TypeError, ValueError) as error:
        raise IsothermError(
            f"sample_weight cannot be read as numbers ({error}); give one number per row"
        ) from error
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
    if not weight @ row_totals > 0:
        raise IsothermError(
            "sample_weight is zero for every row that has counts; some of them must count"
        )
    return weight


def column_names(names: Any, n_columns: int) -> Array:
    """Names of the columns (J,), as a user gave them."""
    if isinstance(names, dict | set | frozenset):
        raise IsothermError(
            f"names is a {type(names).__name__}, whose order is not that of the columns; give a "
            "sequence in their order, such as vectorizer.get_feature_names_out()"
        )
    found: Array | None = _convert.labels(names, n_columns, "names", "column")
    assert found is not None
    return found


def size_of_counts(counts: Any) -> None:
    """Refuse counts whose sums no model could work with: beyond exact units, or next to nothing.

    Cooling begins at about the counts of a row, so that enormous ones would take for ever; products
    of tiny ones are lost below the smallest number of single precision.
    """
    total = float(counts.total)
    if total > LARGEST_TOTAL:
        raise IsothermError(
            f"the counts add up to {total:.3g}; a total of at most {LARGEST_TOTAL:.3g} is allowed, "
            "beyond which units are no longer told apart: divide all counts by a constant, or "
            "correct the largest ones"
        )
    matrix = getattr(counts, "matrix", None)
    if matrix is None or not len(matrix.data):
        return
    least = float(matrix.data.min())
    if least < SMALLEST_COUNT:
        raise IsothermError(
            f"the smallest count above 0 is {least:.3g}; at least {SMALLEST_COUNT:g} is needed, "
            "or sums of it are lost in rounding: put 0, or multiply all counts by a constant"
        )
