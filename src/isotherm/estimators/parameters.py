"""Checks of single parameters, for the table that stands beside the signature of an estimator.

A class lists the checks of its own parameters in `_parameters`, by their names; those of the
classes above it hold as well. Rules over several parameters are in `_check`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from isotherm import _checks
from isotherm.anneal.schedule import Schedule, lowest
from isotherm.errors import IsothermError
from isotherm.kernels.cpu.backend import MOST_THREADS

# As many components as are found again in other rows, or as many as predict best.
AUTO, PREDICT = "auto", "predict"
GIB = 1 << 30
# Posteriors that a leave-one-out fit holds: the first (zeros), the best, the last and the next.
HELD = 4

# Refuses the value of a parameter, by its name, or does nothing.
Check = Callable[[str, object], None]
Checks = Mapping[str, Check]


def number(least: float, most: float = np.inf) -> Check:
    """A number from least to most."""
    return lambda name, value: _checks.number(name, value, least, most)


def number_from_zero_or_auto(name: str, value: object) -> None:
    """A number of at least 0, or "auto": chosen by what is held out."""
    if not isinstance(value, str):
        _checks.number(name, value, 0.0)
    elif value != AUTO:
        raise IsothermError(
            f"{name}={value!r}; it must be a number of at least 0, or {AUTO!r} (chosen by what is "
            "held out)",
            parameter=name,
        )


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


def flag_or_share(name: str, value: object) -> None:
    """True or False, or a number of at least 0 and below 1."""
    if not isinstance(value, bool | np.bool_):
        _checks.number(name, value, 0.0, 1.0)
        if value == 1:
            raise IsothermError(
                f"{name}={value!r}; it must be True or False, or a number below 1", parameter=name
            )


def threads(name: str, value: object) -> None:
    """A number of threads; None and -1 are all cores."""
    if value is not None and not (isinstance(value, int) and value == -1):
        _checks.integer(name, value, 1, MOST_THREADS)


def number_or_auto(name: str, value: object) -> None:
    """A number of components, or how to find it: "auto" or "predict"."""
    if not isinstance(value, str):
        _checks.integer(name, value, 1)
    elif value not in (AUTO, PREDICT):
        raise IsothermError(
            f"{name}={value!r}; it must be an integer of at least 1, {AUTO!r} (as many as are "
            f"found again in other rows) or {PREDICT!r} (as many as predict best)",
            parameter=name,
        )


def check(estimator: object) -> None:
    """Refuse an estimator one of whose parameters fails its check."""
    table: dict[str, Check] = {}
    for kind in reversed(type(estimator).__mro__):
        table |= vars(kind).get("_parameters", {})
    for name, one in table.items():
        one(name, getattr(estimator, name))


# Rules over several parameters of more than one estimator ----------------------------------------


def check_leave_one_out(n_components: object, schedule: Schedule | None, batches: object) -> None:
    """Refuse a growing number of components, the hard limit and sweeps by batches."""
    if batches is not None:
        raise IsothermError(
            f"leave_one_out=True with batches={batches!r}; counts that are mixed over batches hold "
            "no token or row as it was last placed: leave one of them out",
            parameter="leave_one_out",
        )
    if isinstance(n_components, str):
        raise IsothermError(
            f"leave_one_out=True with n_components={n_components!r}; components that split have "
            "no last posterior to leave out: give a number, or use leave_one_out=False",
            parameter="leave_one_out",
            also=("n_components",),
        )
    if schedule is not None and lowest(schedule) <= 0:
        raise IsothermError(
            f"leave_one_out=True with schedule={schedule!r}, which goes down to T = 0; "
            "end above 0 (1 is plain EM), or use leave_one_out=False for the hard limit",
            parameter="leave_one_out",
        )


def check_posteriors_fit(nnz: int, n_components: int, precision: str, limit: float) -> None:
    """Refuse counts whose posteriors (nnz, K) would take more than `limit` GiB."""
    needed = HELD * nnz * n_components * np.dtype(precision).itemsize / GIB
    if needed > limit:
        raise IsothermError(
            f"leave_one_out=True holds {HELD} posteriors for {nnz} non-zeros x {n_components} "
            f"components, {needed:.3g} GiB in {precision}; memory_limit={limit:g} GiB. Use fewer "
            "components, precision='float32', a higher memory_limit, or leave_one_out=False",
            parameter="leave_one_out",
        )
