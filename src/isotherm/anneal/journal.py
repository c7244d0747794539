"""What runs leave for a later process to go on from: the engine's side of checkpoints.

A journal gives every run a page, in the order in which runs begin. The engine notes on it where it
is before each sweep, and its outcome at the end; what becomes of the notes is the journal's
business. Without a journal pages are blank and notes are lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol

import numpy as np

from isotherm.anneal.growth.grow import Grown
from isotherm.anneal.trace import Fit, State


class Sweeps(NamedTuple):
    """Where the sweeps at one temperature are: all that the next one needs.

    `state` is swept next, `proven` is the last EM point; `eta`, `last` and `relaxed` belong to
    over-relaxation, `sweep` is the number of sweeps done, `before` that of sweeps at the same
    temperature before components were merged. `step` is the number of batches done, of passes that
    come before the sweeps, and `stats` what they are mixed into.
    """

    state: State
    proven: State
    eta: float
    last: float
    relaxed: bool = False
    sweep: int = 0
    before: int = 0
    step: int = 0
    stats: Any = ()


class Point(NamedTuple):
    """Where a run is: all that the rest of it needs, except for its settings and random numbers.

    `begin` is its start, `now` what the temperature began with, `best` the best state by held-out
    score with its temperature and `score`, `seen` the last score.
    """

    begin: State
    now: Grown
    fit: Fit
    first_critical: float
    best: tuple[Grown, float] | None
    score: float
    seen: float
    temperature: float
    sweeps: Sweeps


class Page(Protocol):
    """The part of a journal that belongs to one run."""

    @property
    def fit(self) -> Fit | None:
        """Outcome of the run, where an earlier process finished it."""
        ...

    @property
    def point(self) -> Point | None:
        """Where an earlier process was."""
        ...

    def note(self, point: Point) -> None:
        """Note where the run is."""
        ...

    def end(self, fit: Fit | None) -> None:
        """Note the outcome; None if the run was interrupted before there was one."""
        ...


class Journal(Protocol):
    """Gives pages to runs."""

    def page(
        self,
        annealer: Any,
        model: Any,
        data: Any,
        rng: np.random.Generator,
        heldout: Any,
        state: State | None,
    ) -> Page:
        """Page of the run that begins now; its random numbers are set to where they were."""
        ...


class Blank:
    """A page on which nothing is found and nothing stays."""

    fit = None
    point = None

    def note(self, point: Point) -> None:
        """Forget where the run is."""

    def end(self, fit: Fit | None) -> None:
        """Forget the outcome."""


class NoJournal:
    """Blank pages for everybody."""

    def page(
        self,
        annealer: Any,
        model: Any,
        data: Any,
        rng: np.random.Generator,
        heldout: Any,
        state: State | None,
    ) -> Page:
        """A blank page."""
        return Blank()


NOTHING = NoJournal()
_CURRENT: ContextVar[Journal] = ContextVar("isotherm journal", default=NOTHING)


def current() -> Journal:
    """The journal that runs of this thread write to."""
    return _CURRENT.get()


@contextmanager
def writing_to(journal: Journal) -> Iterator[None]:
    """Let all runs within the block write to a journal."""
    before = _CURRENT.set(journal)
    try:
        yield
    finally:
        _CURRENT.reset(before)
