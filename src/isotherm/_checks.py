"""Checks of parameters: what was given, what is allowed."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from isotherm.errors import IsothermError

_REPR = reprlib.Repr()
_REPR.maxlist = _REPR.maxtuple = _REPR.maxdict = 20
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 400


def _shown(value: object) -> str:
    """The value in words that are not too many, whatever was given."""
    return _REPR.repr(value)


def integer(name: str, value: Any, least: int, most: float = np.inf) -> None:
    """Refuse anything but an integer in [least, most]."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not least <= value <= most:
        high = "" if most == np.inf else f" and at most {most}"
        raise IsothermError(
            f"{name}={_shown(value)}; it must be an integer of at least {least}{high}",
            parameter=name,
        )


def number(name: str, value: object, least: float, most: float = np.inf) -> None:
    """Refuse anything but a number in [least, most]."""
    if (
        isinstance(value, bool)
        or not isinstance(value, Real)
        or not np.isfinite(float(value))
        or not least <= float(value) <= most
    ):
        high = "" if most == np.inf else f" and at most {most:g}"
        raise IsothermError(
            f"{name}={_shown(value)}; it must be a number of at least {least:g}{high}",
            parameter=name,
        )


def one_of(name: str, value: object, allowed: Sequence[object]) -> None:
    """Refuse anything but the listed values."""
    # What an array is compared with gives an array.
    plain = not isinstance(value, np.ndarray)
    if not any(value is option or (plain and value == option) for option in allowed):
        listed = ", ".join(repr(option) for option in allowed)
        raise IsothermError(f"{name}={_shown(value)}; it must be one of {listed}", parameter=name)


def flag(name: str, value: object) -> None:
    """Refuse anything but True or False."""
    if not isinstance(value, bool | np.bool_):
        raise IsothermError(f"{name}={_shown(value)}; it must be True or False", parameter=name)


def provides(name: str, value: object, method: str, example: str) -> None:
    """Refuse an object without the method that the engine will call, and a bare class."""
    if value is not None and (
        isinstance(value, type) or not callable(getattr(value, method, None))
    ):
        raise IsothermError(
            f"{name}={_shown(value)}; it must be None or an object such as {example}",
            parameter=name,
        )


def callbacks(given: object) -> None:
    """Refuse anything but a sequence of callbacks."""
    methods = ("on_sweep", "on_temperature", "on_end")
    if not isinstance(given, Sequence) or any(
        isinstance(one, type) or not all(callable(getattr(one, m, None)) for m in methods)
        for one in given
    ):
        raise IsothermError(
            f"callbacks={given!r}; it must be a list of callbacks such as [TimeLimit(60)]",
            parameter="callbacks",
        )
