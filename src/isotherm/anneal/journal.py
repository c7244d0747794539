"""What runs leave for a later process to go on from: the engine's side of checkpoints.

A journal gives every run a page, in the order in which runs begin. The engine notes on it where it
is before each sweep, and its outcome at the end; what becomes of the notes is the journal's
business. Without a journal pages are blank and notes are lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

import numpy as np

from isotherm.anneal.heldout import Heldout
from isotherm.anneal.run_state import RunState
from isotherm.anneal.trace import Fit, State
from isotherm.models.base import Model
from isotherm.placement.base import Data


class Page(Protocol):
    """The part of a journal that belongs to one run."""

    @property
    def fit(self) -> Fit | None:
        """Outcome of the run, where an earlier process finished it."""
        ...

    @property
    def state(self) -> RunState | None:
        """Where an earlier process was."""
        ...

    def note(self, run: RunState) -> None:
        """Note where the run is."""
        ...

    def end(self, fit: Fit | None) -> None:
        """Note the outcome; None if the run was interrupted before there was one."""
        ...


class Journal(Protocol):
    """Gives pages to runs."""

    def page(
        self,
        annealer: object,
        model: Model,
        data: Data,
        rng: np.random.Generator,
        heldout: Heldout | None,
        state: State | None,
    ) -> Page:
        """Page of the run that begins now; its random numbers are set to where they were."""
        ...


class Blank:
    """A page on which nothing is found and nothing stays."""

    fit = None
    state = None

    def note(self, run: RunState) -> None:
        """Forget where the run is."""

    def end(self, fit: Fit | None) -> None:
        """Forget the outcome."""


class NoJournal:
    """Blank pages for everybody."""

    def page(
        self,
        annealer: object,
        model: Model,
        data: Data,
        rng: np.random.Generator,
        heldout: Heldout | None,
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


_ROWS: ContextVar[bool] = ContextVar("isotherm rows of runs", default=True)


def rows_matter() -> bool:
    """Whether whoever began the run will ask for its rows once it has ended."""
    return _ROWS.get()


@contextmanager
def without_rows() -> Iterator[None]:
    """Let runs within the block leave no rows in a journal: nobody will ask for them."""
    before = _ROWS.set(False)
    try:
        yield
    finally:
        _ROWS.reset(before)
