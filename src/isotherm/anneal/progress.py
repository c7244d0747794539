"""How far a fit is: what it is doing, what share of it is done, and how long it will go on.

A fit is made of phases, and these of others; the engine makes a phase of every run. A `Track` knows
where among them it is, and a `Course` what share of a run is done. `Progress` says so in one line.
"""

from __future__ import annotations

import math
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NamedTuple, TextIO

from isotherm.anneal.callbacks import Callback, TimeLimit
from isotherm.anneal.schedule import Fixed, Grid, Schedule, Tempered, lowest
from isotherm.anneal.trace import Record

# Share of what is left of a phase that a run in it is taken to be: there may be more of them.
RUN = 0.97
# Sweeps that the first temperature takes, and those after it, before there are any to go by.
FIRST, LATER = 40.0, 15.0
# How far below the first critical temperature held-out data stop a run, in the logarithm of T: so
# many times the root of the distance to the last temperature, some sooner and some later. The
# further it has come, the less is left. Measured on news, abstracts and planted topics.
USUAL, FADING = 0.38, 2.0
# At so much of that most of a growing run is done, and how it comes about.
SOONER, STEEP = 0.5, 1.3
# The work of a sweep that does not depend on the number of components, as a number of these.
FIXED = 40.0
# Components that come of one if many do.
MANY = 30
# Shares by which something is to be seen of how long it will take.
EARLY = 0.02


class Course(NamedTuple):
    """What is known of a run before it begins.

    Attributes
    ----------
    what : str
        In a word.
    schedule : Schedule
    zero : float
        Temperature at which the posteriors of its model are hard.
    most : int
        Components that it may grow to; 0 if it does not grow.
    limits : sequence of TimeLimit
    """

    what: str
    schedule: Schedule
    zero: float
    most: int = 0
    limits: Sequence[TimeLimit] = ()

    @classmethod
    def of(
        cls, schedule: Schedule, zero: float, most: int = 0, limits: Sequence[TimeLimit] = ()
    ) -> Course:
        """The course of a run with a schedule."""
        what = "growing" if most else "cooling"
        if isinstance(schedule, Fixed):
            what = "settling"
        elif isinstance(schedule, Tempered):
            what = "heating"
        return cls(what, schedule, zero, most, limits)

    def share(self, trace: Sequence[Record], temperature: float, sweep: int) -> float:
        """The share that is probably done, after some sweeps at the temperature behind a trace.

        Nobody knows at which temperature held-out data will stop a run, nor how far it will grow:
        what is left is what is usual of runs that have come as far. So the share may also fall.
        """
        # The first temperature tells nothing of others: much is settled there, or nothing at all.
        few = [one.sweeps + one.passes for one in trace[1:][-5:]]
        usual = 0.5 * (LATER + sum(few) / len(few)) if few else LATER if trace else FIRST
        left = usual * usual / (usual + sweep)
        if isinstance(self.schedule, Fixed):
            return sweep / (sweep + left)
        if isinstance(self.schedule, Grid):
            return (len(trace) + sweep / (sweep + left)) / len(self.schedule.temperatures)
        number = trace[-1].n_components if trace else 1
        now, later = number + FIXED, self._expected(number) + FIXED
        done = sum((one.sweeps + one.passes) * (one.n_components + FIXED) for one in trace)
        done += sweep * now
        rest = (usual if trace else LATER) * self._steps_left(trace, temperature)
        share = done / (done + left * now + rest * later)
        return min(share, self._cooled(trace, temperature)) if self.most else share

    def _steps_left(self, trace: Sequence[Record], temperature: float) -> float:
        """How many temperatures will follow this one, as is usual."""
        last = trace[-1].temperature if trace else temperature
        first = trace[0].temperature if trace else temperature
        u, whole = (_distance(first, end, self.zero) for end in (temperature, self.end))
        usual = _usual(whole)
        left = min(usual * math.exp(-FADING * u / usual), max(whole - u, 0.0))
        step = _distance(last, temperature, self.zero) if last != temperature else 0.0
        rate = getattr(self.schedule, "rate", 0.95)
        return left / max(step, -math.log(rate))

    def _cooled(self, trace: Sequence[Record], temperature: float) -> float:
        """The share that a growing run has done at most: it begins with few and many sweeps."""
        first = trace[0].temperature if trace else temperature
        u, whole = (_distance(first, end, self.zero) for end in (temperature, self.end))
        return 1.0 - math.exp(-((u / _usual(whole) / SOONER) ** STEEP))

    def _expected(self, number: int) -> float:
        """Components on the way from here: where they grow, half of what may come of them."""
        return 0.5 * (number + max(min(self.most, 2 * number + MANY), number))

    @property
    def end(self) -> float:
        """The last temperature; infinity if the schedule does not say."""
        return lowest(self.schedule)


def _usual(whole: float) -> float:
    """How far below the first temperature a run is usually stopped that could go on so far."""
    return USUAL * math.sqrt(min(max(whole, 0.1), 6.0))


def _distance(first: float, last: float, zero: float) -> float:
    """How far apart two temperatures are, in the logarithm of T - zero; 1 if that is not known."""
    if not (first > zero and math.isfinite(last)):
        return 1.0
    return abs(math.log((first - zero) / max(last - zero, 1e-9)))


@dataclass
class _Span:
    """A phase: what it is called, where it lies in the whole, and how far in it we are.

    `at` never falls; `now` is what was said last.
    """

    name: str
    begin: float
    end: float
    at: float
    now: float


class Track:
    """Where in a fit we are, as a share from 0 to 1 that never falls.

    Phases lie within each other. Of those that have a name the outermost says what is being done.
    """

    def __init__(self) -> None:
        self._spans = [_Span("", 0.0, 1.0, 0.0, 0.0)]
        self.done = 0.0

    @property
    def name(self) -> str:
        """What is being done."""
        return next((span.name for span in self._spans if span.name), "fitting")

    @property
    def estimate(self) -> float:
        """What is done by what is known now, which may be less than what was said before."""
        return self._spans[-1].now

    def enter(self, name: str, share: float) -> None:
        """Begin a phase that is such a share of the one around it."""
        outer = self._spans[-1]
        end = min(outer.at + share * (outer.end - outer.begin), outer.end)
        self._spans.append(_Span(name, outer.at, end, outer.at, outer.at))

    def enter_run(self, name: str) -> None:
        """Begin a phase that is most of what is left of the one around it."""
        outer = self._spans[-1]
        end = outer.at + RUN * (outer.end - outer.at)
        self._spans.append(_Span(name, outer.at, end, outer.at, outer.at))

    def leave(self) -> None:
        """End the phase that was begun last."""
        inner = self._spans.pop()
        outer = self._spans[-1]
        outer.at = outer.now = max(outer.at, inner.end)
        self.done = max(self.done, outer.at)

    def advance(self, share: float) -> None:
        """Such a share of the phase that was begun last is done."""
        span = self._spans[-1]
        span.now = span.begin + min(share, 1.0) * (span.end - span.begin)
        span.at = max(span.at, span.now)
        self.done = max(self.done, span.at)


# The line -----------------------------------------------------------------------------------------


@dataclass
class Progress(Callback):
    """One line on a terminal that says what is done and how long it will take; cleared at the end.

    "cooling: 14 topics, 43 % done, about 8 s left", as much of it as there is room for. It appears
    after `delay` seconds. On anything but a terminal, a plain line after each temperature. The
    stream is stderr by default.

    Parameters
    ----------
    stream : file, optional
    delay : float
    clock : callable
        Seconds.
    noun : str
        What components are called; empty to leave their number out.
    """

    stream: TextIO | None = None
    delay: float = 2.0
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)
    noun: str = field(default="component", repr=False)
    track: Track = field(init=False, default_factory=Track, repr=False, compare=False)
    depth: int = field(init=False, default=0, repr=False, compare=False)
    course: Course | None = field(init=False, default=None, repr=False, compare=False)
    number: int = field(init=False, default=0, repr=False, compare=False)
    begin: float = field(init=False, default=0.0, repr=False, compare=False)
    drawn: float = field(init=False, default=-math.inf, repr=False, compare=False)
    shown: int = field(init=False, default=0, repr=False, compare=False)
    first: tuple[float, float] | None = field(init=False, default=None, repr=False, compare=False)

    # It is opened by the first of these, and by the engine's runs it is told how far they are.

    def on_fit_begin(self) -> None:
        """Begin the line, unless it is part of another one."""
        if not self.depth and _CURRENT.get() is None:
            _CURRENT.set(self)
            self.track, self.begin, self.first, self.number = Track(), self.clock(), None, 0
        self.depth += 1

    def on_fit_end(self) -> None:
        """Clear the line."""
        self.depth -= 1
        if not self.depth and _CURRENT.get() is self:
            _CURRENT.set(None)
            self._clear()

    def on_begin(self) -> None:
        """Begin the line where a run is all that there is."""
        self.on_fit_begin()

    def on_end(self) -> None:
        """Clear the line where a run is all that there is."""
        self.on_fit_end()

    def swept(
        self, course: Course, trace: Sequence[Record], temperature: float, sweep: int
    ) -> None:
        """After a sweep; the line is drawn at most ten times a second."""
        now = self.clock()
        if self.first is None:
            # What came before the first sweep says nothing of how long others take.
            self.first = now, self.track.done
        self.course = course
        self.track.advance(course.share(trace, temperature, sweep))
        if self._out.isatty() and now - self.begin > self.delay and now - self.drawn > 0.1:
            self.drawn = now
            self._draw()

    def recorded(self, course: Course, trace: Sequence[Record]) -> None:
        """After a temperature."""
        self.course, self.number = course, trace[-1].n_effective
        if not self._out.isatty() and self.clock() - self.begin > self.delay:
            self._out.write(f"{self.texts()[0]}\n")

    def texts(self) -> list[str]:
        """What there is to say, in fewer and fewer words."""
        doing, done = self.track.name, min(int(100 * self.track.done), 99)
        left = self._left()
        number = ""
        if self.noun and self.number:
            number = f"{self.number} {self.noun}" + ("" if self.number == 1 else "s")
        after = "" if left is None else f", about {left} left"
        short = "" if left is None else f", {left} left"
        parts = [f"{number}, " * bool(number) + f"{done} % done{after}"]
        parts += [f"{number}, {done} %{short}"] * bool(number)
        parts += [f"{done} % done{after}", f"{done} %{short}"]
        return [*(f"{doing}: {part}" for part in parts), f"{doing} {done} %", f"{done} %"]

    def _left(self) -> str | None:
        """Time that is left, in words; None where too little is done to know."""
        if self.first is None:
            return None
        begin, before = self.first
        done, now = self.track.estimate, self.clock()
        if done - before < EARLY or now <= begin:
            return None
        seconds = (now - begin) * (1.0 - done) / (done - before)
        limits = () if self.course is None else self.course.limits
        return duration(min([seconds, *(max(one.left, 0.0) for one in limits)]))

    @property
    def _out(self) -> TextIO:
        # Looked up when it is needed: an open file could not be copied with the estimator.
        return sys.stderr if self.stream is None else self.stream

    def _draw(self) -> None:
        # One column less than the terminal has, or the line would wrap and not be rewritten.
        width = max(shutil.get_terminal_size().columns - 1, 1)
        text = next((one for one in self.texts() if len(one) <= width), "")
        self._out.write("\r" + text.ljust(min(self.shown, width)))
        self._out.flush()
        self.shown = max(self.shown, len(text))

    def _clear(self) -> None:
        if self.shown:
            self._out.write("\r" + " " * self.shown + "\r")
            self._out.flush()
        self.shown, self.drawn = 0, -math.inf


def duration(seconds: float) -> str:
    """A time in words, no finer than a guess can be: "8 s", "40 s", "3 min", "1.5 h"."""
    if seconds < 9.5:
        return f"{max(round(seconds), 1)} s"
    if seconds < 57.5:
        return f"{5 * round(seconds / 5)} s"
    if seconds < 57.5 * 60:
        return f"{max(round(seconds / 60), 1)} min"
    return f"{round(seconds / 1800) / 2:g} h"


_CURRENT: ContextVar[Progress | None] = ContextVar("isotherm progress", default=None)


def current() -> Progress | None:
    """The line that this fit is shown by; None where nobody watches."""
    return _CURRENT.get()


@contextmanager
def shown(line: Progress) -> Iterator[None]:
    """All runs within the block are parts of one line."""
    line.on_fit_begin()
    try:
        yield
    finally:
        line.on_fit_end()


@contextmanager
def phase(name: str, share: float) -> Iterator[None]:
    """What is done within the block is one phase of the fit.

    Parameters
    ----------
    name : str
        What the line says meanwhile, such as "checking topics on halves"; phases within it are not
        named. With an empty name they are.
    share : float
        About what share it is of the phase around it, or of the whole fit, from 0 to 1.
    """
    line = current()
    if line is None:
        yield
        return
    line.track.enter(name, share)
    try:
        yield
    finally:
        line.track.leave()


@contextmanager
def running(course: Course) -> Iterator[None]:
    """A run of the engine as a phase."""
    line = current()
    if line is None:
        yield
        return
    line.track.enter_run(course.what)
    try:
        yield
    finally:
        line.track.leave()
