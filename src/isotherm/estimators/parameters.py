"""Checks of single parameters, for the table that stands beside the signature of an estimator.

A class lists the checks of its own parameters in `_parameters`, by their names; those of the
classes above it hold as well. Rules over several parameters are in `_check`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from isotherm import _checks
from isotherm.errors import IsothermError
from isotherm.kernels.cpu.backend import MOST_THREADS

AUTO = "auto"

# Refuses the value of a parameter, by its name, or does nothing.
Check = Callable[[str, object], None]
Checks = Mapping[str, Check]


def number(least: float, most: float = np.inf) -> Check:
    """A number from least to most."""
    return lambda name, value: _checks.number(name, value, least, most)


def integer(least: int) -> Check:
    """An integer of at least so much."""
    return lambda name, value: _checks.integer(name, value, least)


def one_of(*allowed: object) -> Check:
    """One of the values."""
    return lambda name, value: _checks.one_of(name, value, allowed)


def provides(method: str, example: str) -> Check:
    """None, or an object with a method."""
    return lambda name, value: _checks.provides(name, value, method, example)


def optional(check: Check) -> Check:
    """None, or what passes the check."""
    return lambda name, value: None if value is None else check(name, value)


def flag(name: str, value: object) -> None:
    """True or False."""
    _checks.flag(name, value)


def above_zero(name: str, value: object) -> None:
    """A number above 0."""
    _checks.number(name, value, 0.0)
    if value == 0:
        raise IsothermError(f"{name}={value!r}; it must be a number above 0", parameter=name)


def share_above_zero(name: str, value: object) -> None:
    """A number above 0 and at most 1."""
    _checks.number(name, value, 0.0, 1.0)
    if not value:
        raise IsothermError(f"{name}={value!r}; it must be above 0 and at most 1", parameter=name)


def threads(name: str, value: object) -> None:
    """A number of threads; None and -1 are all cores."""
    if value is not None and not (isinstance(value, int) and value == -1):
        _checks.integer(name, value, 1, MOST_THREADS)


def number_or_auto(name: str, value: object) -> None:
    """A number of components, or "auto"."""
    if not isinstance(value, str):
        _checks.integer(name, value, 1)
    elif value != AUTO:
        raise IsothermError(
            f"{name}={value!r}; it must be an integer of at least 1 or {AUTO!r}", parameter=name
        )


def check(estimator: object) -> None:
    """Refuse an estimator one of whose parameters fails its check."""
    table: dict[str, Check] = {}
    for kind in reversed(type(estimator).__mro__):
        table |= vars(kind).get("_parameters", {})
    for name, one in table.items():
        one(name, getattr(estimator, name))
