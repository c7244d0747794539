"""Temperature schedules: given the trace so far, the next temperature or the end.

Cooling acts on T - zero, where zero is the temperature at which the model's posteriors become hard
(0, or 1 for the document mixture). `critical()` returns the first critical temperature while the
trace is empty, and one per distinct component later; it costs an eigen-solve, so only a schedule
that needs it calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, Protocol

import numpy as np

from isotherm.anneal.trace import Record
from isotherm.data.base import Array
from isotherm.errors import IsothermError

# Below this distance from zero nothing changes any more: the next step is the end itself.
HARD = 0.1


class Schedule(Protocol):
    """A cooling (or heating) plan."""

    @property
    def restarts(self) -> bool:
        """Whether every temperature begins from the same start instead of the last state."""
        ...

    def next(
        self, trace: Sequence[Record], critical: Callable[[], Array], zero: float
    ) -> float | None:
        """Next temperature; None ends the run."""
        ...


def _cooled(current: float, proposal: float, end: float, zero: float) -> float | None:
    """Proposal, or the end if that is reached, or None if the end is behind us."""
    if current <= end:
        return None
    hard = end <= zero and proposal - zero < HARD
    return end if proposal <= end or hard else proposal


@dataclass(frozen=True)
class Exponential:
    """T - zero is multiplied by `rate` at every step.

    Parameters
    ----------
    rate : float in (0, 1)
    end : float
        Last temperature.
    start : float, optional
        First temperature; by default just below the first critical one, `margin` times it.
    margin : float
    """

    restarts: ClassVar[bool] = False

    rate: float = 0.93
    end: float = 1.0
    start: float | None = None
    margin: float = 0.97

    def __post_init__(self) -> None:
        """Refuse a rate that does not cool."""
        _check_number("rate", self.rate)
        if not 0 < self.rate < 1:
            raise IsothermError(f"rate is {self.rate}; cooling needs a rate between 0 and 1")
        _check_margin(self.margin)
        _check_temperatures(self.end, self.start)

    def next(
        self, trace: Sequence[Record], critical: Callable[[], Array], zero: float
    ) -> float | None:
        """Next temperature."""
        if not trace:
            return _first(self.start, self.end, self.margin, critical, zero)
        last = trace[-1].temperature
        return _cooled(last, zero + self.rate * (last - zero), self.end, zero)


@dataclass(frozen=True)
class Splitting:
    """Small steps while components split, larger ones while many do not: for models that grow.

    T - zero is multiplied by `rate`; by `idle` after a temperature that left `many` components and
    not a tenth more than the one before.

    Parameters
    ----------
    rate, idle : float in (0, 1)
    many : int
        Fewer components than this cost little: they are cooled slowly in any case.
    end : float
        Last temperature.
    start : float, optional
        First temperature; by default the first critical one.
    """

    restarts: ClassVar[bool] = False

    rate: float = 0.99
    idle: float = 0.95
    many: int = 64
    end: float = 1.0
    start: float | None = None

    def __post_init__(self) -> None:
        """Refuse rates that do not cool."""
        for name, value in (("rate", self.rate), ("idle", self.idle)):
            _check_number(name, value)
            if not 0 < value < 1:
                raise IsothermError(f"{name} is {value}; cooling needs a rate between 0 and 1")
        _check_temperatures(self.end, self.start)

    def next(
        self, trace: Sequence[Record], critical: Callable[[], Array], zero: float
    ) -> float | None:
        """Next temperature."""
        if not trace:
            return _first(self.start, self.end, 1.0, critical, zero)
        sizes = [record.n_components for record in trace[-2:]]
        idle = sizes[-1] >= self.many and sizes[-1] < 1.1 * sizes[0]
        rate = self.idle if idle else self.rate
        last = trace[-1].temperature
        return _cooled(last, zero + rate * (last - zero), self.end, zero)


@dataclass(frozen=True)
class Linear:
    """T falls by `step` each time, from `start` (by default just below critical) to `end`."""

    restarts: ClassVar[bool] = False

    step: float
    end: float = 1.0
    start: float | None = None
    margin: float = 0.97

    def __post_init__(self) -> None:
        """Refuse a step that does not cool."""
        _check_number("step", self.step)
        if not self.step > 0:
            raise IsothermError(f"step is {self.step}; cooling needs a step above 0")
        _check_margin(self.margin)
        _check_temperatures(self.end, self.start)

    def next(
        self, trace: Sequence[Record], critical: Callable[[], Array], zero: float
    ) -> float | None:
        """Next temperature."""
        if not trace:
            return _first(self.start, self.end, self.margin, critical, zero)
        last = trace[-1].temperature
        return _cooled(last, last - self.step, self.end, zero)


@dataclass(frozen=True)
class Adaptive:
    """The next temperature is the next critical one, kept within [slowest, fastest] steps.

    Parameters
    ----------
    end : float
    start : float, optional
    smallest, largest : float
        The factor on T - zero is kept between these two.
    skip_near : bool
        Pass over critical temperatures that would need a factor above `largest`, instead of taking
        the smallest step: the modes of a map that have condensed stay near T for good.
    """

    restarts: ClassVar[bool] = False

    end: float = 1.0
    start: float | None = None
    smallest: float = 0.7
    largest: float = 0.97
    skip_near: bool = False

    def __post_init__(self) -> None:
        """Refuse bounds that do not cool."""
        _check_number("smallest", self.smallest)
        _check_number("largest", self.largest)
        if not 0 < self.smallest <= self.largest < 1:
            raise IsothermError(
                f"smallest is {self.smallest}, largest is {self.largest}; "
                "cooling needs 0 < smallest <= largest < 1"
            )
        _check_temperatures(self.end, self.start)

    def next(
        self, trace: Sequence[Record], critical: Callable[[], Array], zero: float
    ) -> float | None:
        """Next temperature."""
        if not trace:
            return _first(self.start, self.end, self.largest, critical, zero)
        last = trace[-1].temperature
        if last <= self.end:
            return None
        u = last - zero
        far = self.largest * u if self.skip_near else u
        below = [t - zero for t in critical().tolist() if t - zero < far]
        target = max(below, default=0.0)
        step = float(np.clip(target, self.smallest * u, self.largest * u))
        return _cooled(last, zero + step, self.end, zero)


@dataclass(frozen=True)
class Tempered:
    """Heating: T = `start`, then T / rate as long as the held-out score improves.

    Only for runs that hold something out, from a temperature at which posteriors are soft.
    """

    restarts: ClassVar[bool] = False

    rate: float = 0.95
    start: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a rate that does not heat."""
        _check_number("rate", self.rate)
        if not 0 < self.rate < 1:
            raise IsothermError(f"rate is {self.rate}; heating divides by a rate between 0 and 1")
        _check_temperatures(0.0, self.start)

    def next(
        self, trace: Sequence[Record], critical: Callable[[], Array], zero: float
    ) -> float | None:
        """Next temperature."""
        if not trace:
            if self.start <= zero:
                raise IsothermError(
                    f"start is {self.start}, where the posteriors of this model are hard; "
                    f"heating starts above {zero:g}"
                )
            return self.start
        scores = [record.heldout for record in trace]
        if np.isnan(scores[-1]):
            raise IsothermError(
                "nothing was held out, but heating goes on as long as the held-out score "
                "improves; hold something out or use another schedule"
            )
        if len(trace) > 1 and not scores[-1] < min(scores[:-1]):
            return None
        return zero + (trace[-1].temperature - zero) / self.rate


@dataclass(frozen=True)
class Fixed:
    """One temperature only; `Fixed(1.0)` is plain EM."""

    restarts: ClassVar[bool] = False

    temperature: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a negative temperature."""
        _check_temperatures(self.temperature, None)

    def next(
        self, trace: Sequence[Record], critical: Callable[[], Array], zero: float
    ) -> float | None:
        """The temperature, once."""
        return None if trace else self.temperature


@dataclass(frozen=True)
class Grid:
    """Given temperatures, each from the same start."""

    restarts: ClassVar[bool] = True

    temperatures: tuple[float, ...]

    def __post_init__(self) -> None:
        """Refuse an empty grid and negative temperatures."""
        if not self.temperatures:
            raise IsothermError("the grid of temperatures is empty; give at least one")
        for temperature in self.temperatures:
            _check_temperatures(temperature, None)

    def next(
        self, trace: Sequence[Record], critical: Callable[[], Array], zero: float
    ) -> float | None:
        """Next of the list."""
        return self.temperatures[len(trace)] if len(trace) < len(self.temperatures) else None


def lowest(schedule: Schedule) -> float:
    """Lowest temperature of a schedule of this module; infinity for any other."""
    match schedule:
        case Exponential() | Splitting() | Linear() | Adaptive():
            return schedule.end
        case Tempered():
            return schedule.start
        case Fixed():
            return schedule.temperature
        case Grid():
            return min(schedule.temperatures)
    return float("inf")


def _first(
    start: float | None, end: float, margin: float, critical: Callable[[], Array], zero: float
) -> float:
    if start is not None:
        return start
    return max(end, zero + margin * (float(critical().max()) - zero))


def _check_number(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise IsothermError(f"{name} is {value!r}; it must be a number")


def _check_margin(margin: float) -> None:
    _check_number("margin", margin)
    if not (margin > 0 and np.isfinite(margin)):
        raise IsothermError(
            f"margin is {margin}; the start is this many times the first critical temperature, "
            "so it must be above 0 and finite"
        )


def _check_temperatures(end: float, start: float | None) -> None:
    given = {"temperature": end} if start is None else {"temperature": end, "start": start}
    for name, value in given.items():
        _check_number(name, value)
        if not (value >= 0 and np.isfinite(value)):
            raise IsothermError(
                f"{name} is {value}; a temperature is a finite number of at least 0"
            )
    if start is not None and start < end:
        raise IsothermError(f"start is {start} and end is {end}; cooling goes downwards")
