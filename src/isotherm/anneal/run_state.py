"""A run under way: what the engine's loops change as they go on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from isotherm.anneal.critical import critical_temperatures, first_critical
from isotherm.anneal.growth.grow import Grown
from isotherm.anneal.heldout import Heldout
from isotherm.anneal.journal import Page, Point, Sweeps
from isotherm.anneal.trace import Fit, State
from isotherm.data.base import Array
from isotherm.models.base import Model
from isotherm.placement.base import Data

NAN = float("nan")


class Best:
    """The best state so far by held-out score (the last state where nothing is held out)."""

    def __init__(self, data: Data, heldout: Heldout | None, gain: float) -> None:
        self.data, self.heldout, self.gain = data, heldout, gain
        self.best: tuple[Grown, float] | None = None
        self.score = float("inf")
        self.last = NAN

    def see(self, now: Grown, temperature: float) -> None:
        """Score a state and keep it if it is the best."""
        if self.heldout is None:
            return
        self.last = self.heldout.score(now.model, now.state, self.data, temperature)
        if self.best is None or self.last < self.score * (1.0 - self._needed(now)):
            # Statistics are needed to go on from a state only.
            self.best, self.score = (now._replace(stats=()), temperature), self.last

    def _needed(self, now: Grown) -> float:
        """How much better, relatively, a state must be: more components must be worth it."""
        more = self.best is not None and now.model.n_components > self.best[0].model.n_components
        return self.gain if more else 0.0

    def forget(self) -> None:
        """Nothing to compare with: what comes next begins anew."""
        self.last = NAN

    def worse(self, now: Grown, temperature: float) -> bool:
        """Score a state; whether it is worse than the one scored before it."""
        before = self.last
        self.see(now, temperature)
        return self.last > before


class Run:
    """A run under way: where it began, where it is, and the fit so far."""

    def __init__(
        self,
        model: Model,
        data: Data,
        rng: np.random.Generator,
        begin: State,
        watch: Best,
        page: Page,
        restarts: bool,
    ) -> None:
        self.model, self.data, self.rng = model, data, rng
        self.begin, self.watch, self.page, self.restarts = begin, watch, page, restarts
        self.now, self.fit = Grown(model, begin), Fit(model, begin, NAN, ())
        self.first_critical, self.temperature = NAN, NAN
        # Where a temperature that an earlier process began is to be gone on with.
        self.within: Sweeps | None = None
        if page.point is not None:
            self._go_to(page.point)

    def critical(self) -> Array:
        """Critical temperatures here: the first one, or one per distinct component."""
        if not self.fit.trace:
            self.first_critical = first_critical(self.model, self.data)
            return np.array([self.first_critical])
        record = self.fit.trace[-1]
        if record.critical:
            return np.array(record.critical)
        now = self.now
        found = critical_temperatures(now.model, self.data, now.state, record.temperature)
        noted = replace(record, critical=tuple(found.tolist()))
        self.fit = replace(self.fit, trace=(*self.fit.trace[:-1], noted))
        return found

    def restart(self) -> None:
        """Go back to where the run began."""
        self.now = Grown(self.model, self.begin)
        self.watch.forget()

    def note(self, sweeps: Sweeps) -> None:
        """Leave a note of where the run is."""
        watch = self.watch
        point = Point(
            # What nothing will look at again is not worth keeping.
            self.begin if self.restarts else sweeps.state,
            self.now._replace(state=sweeps.state, stats=()),
            self.fit,
            self.first_critical,
            watch.best,
            watch.score,
            watch.last,
            self.temperature,
            sweeps,
        )
        self.page.note(point)

    def _go_to(self, point: Point) -> None:
        self.now, self.fit, self.within = point.now, point.fit, point.sweeps
        self.first_critical, self.temperature = point.first_critical, point.temperature
        self.watch.best, self.watch.score = point.best, point.score
        self.watch.last = point.seen
