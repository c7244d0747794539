"""The annealing engine: the only loop over temperatures and the only loop over sweeps.

It knows models by their contract alone. Sharding, threads and devices are the data's business;
schedules, stopping and progress are values that it is given.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from isotherm.anneal import journal
from isotherm.anneal.callbacks import Callback
from isotherm.anneal.growth.grow import Grown, Growth, entropy, merge, split
from isotherm.anneal.heldout import Heldout
from isotherm.anneal.journal import Sweeps
from isotherm.anneal.relax import relax
from isotherm.anneal.run_state import NAN, Best, Run
from isotherm.anneal.schedule import Schedule
from isotherm.anneal.start import Noisy, Start
from isotherm.anneal.stepwise import Stepwise, batches_of, completed, expect, stepped
from isotherm.anneal.trace import Fit, Outcome, Record, State, Step
from isotherm.errors import IsothermError
from isotherm.kernels.base import Kernels
from isotherm.models.base import Model
from isotherm.placement.base import Data, Expected, RowsHandle

log = logging.getLogger("isotherm")


class Relaxation(NamedTuple):
    """Over-relaxation (Hofmann & Puzicha eq. 48): how far past the EM point a step goes.

    The factor starts at `first`, is multiplied by `growth` after each accepted step up to `cap`,
    and falls back to 1 after a step that raised the free energy, which is undone.
    """

    first: float = 1.0
    growth: float = 1.1
    cap: float = 8.0


NO_RELAXATION = Relaxation(1.0, 1.0, 1.0)
ADAPTIVE_RELAXATION = Relaxation()
TEXTBOOK_START = Noisy()


class _Settled(NamedTuple):
    state: State
    stats: Any
    free_energy: float
    sweeps: int
    converged: bool


@dataclass(frozen=True)
class Annealer:
    """Settings of an annealing run.

    Parameters
    ----------
    schedule : Schedule
    relaxation : Relaxation
    start : Start
        Where the components begin, e.g. `Noisy()` or `Spectral()`.
    noise : float
        Relative noise at each new temperature; breaks ties between coinciding components.
    tol : float
        A temperature is settled when a sweep lowers the free energy by no more than this many
        nats per token (or per vector).
    max_sweeps : int
        Most sweeps at one temperature.
    check_every : int
        Look at the held-out score every so many sweeps and leave the temperature when it rises
        (early stopping); 0 looks only at the end of each temperature.
    record_critical : bool
        Note the critical temperature of every distinct component at every temperature (one
        eigen-solve each); otherwise only when the schedule asks.
    growth : Growth, optional
        Let components split at their critical temperatures instead of keeping their number.
    stepwise : Stepwise, optional
        Begin every temperature with passes over batches of rows.
    callbacks : sequence of Callback
    """

    schedule: Schedule
    relaxation: Relaxation = ADAPTIVE_RELAXATION
    start: Start = TEXTBOOK_START
    noise: float = 0.01
    tol: float = 1e-5
    max_sweeps: int = 100
    check_every: int = 0
    record_critical: bool = False
    growth: Growth | None = None
    stepwise: Stepwise | None = None
    callbacks: Sequence[Callback] = ()

    def __post_init__(self) -> None:
        """Refuse settings with which no sweep makes sense."""
        if not all(factor > 0 for factor in self.relaxation):
            raise IsothermError(
                f"relaxation is {self.relaxation}; its factors must be above 0 (1 is plain EM)"
            )
        if not (self.max_sweeps >= 1 and self.check_every >= 0 and self.noise >= 0):
            raise IsothermError(
                f"max_sweeps is {self.max_sweeps}, check_every {self.check_every} and noise "
                f"{self.noise}; needed are at least 1, 0 and 0"
            )

    def run(
        self,
        model: Model,
        data: Data,
        rng: np.random.Generator,
        *,
        heldout: Heldout | None = None,
        state: State | None = None,
    ) -> Fit:
        """Fit of a model to data.

        Parameters
        ----------
        model : Model
        data : Data
        rng : numpy Generator
            All randomness: the start and the noise at each temperature.
        heldout : Heldout, optional
            The state with the best held-out score is returned instead of the last.
        state : State, optional
            Begin here instead of where `start` says.

        Returns
        -------
        Fit
        """
        page = journal.current().page(self, model, data, rng, heldout, state)
        if page.fit is not None:
            return page.fit
        gain = self.growth.needed(heldout.size) if self.growth and heldout else 0.0
        fit = None
        for callback in self.callbacks:
            callback.on_begin()
        try:
            begin = self._begin(model, data, rng, state) if page.point is None else page.point.begin
            watch, restarts = Best(data, heldout, gain), self.schedule.restarts
            fit = self._cool(Run(model, data, rng, begin, watch, page, restarts))
            return fit
        finally:
            page.end(fit)
            for callback in self.callbacks:
                callback.on_end()

    def _begin(
        self, model: Model, data: Data, rng: np.random.Generator, state: State | None
    ) -> State:
        return self.start.state(model, data, rng) if state is None else state

    def _cool(self, run: Run) -> Fit:
        data, watch = run.data, run.watch
        try:
            while True:
                clock = time.perf_counter()
                if run.within is None and not self._begin_temperature(run):
                    return run.fit
                temperature = run.temperature
                settled = self._settled(run)
                watch.see(run.now, temperature)
                record = self._record(run.now.model, data, settled, temperature, watch, clock)
                del settled  # its statistics are as large as the state
                best, at = watch.best or (run.now, temperature)
                trace = (*run.fit.trace, record)
                tree = best.branches.tree if self.growth else None
                path = self._path(run.fit.path, run.now, record)
                first = run.first_critical
                run.fit = Fit(best.model, best.state, at, trace, Outcome.STOPPED, first, tree, path)
                if self.record_critical:
                    run.critical()
                # Every callback hears of every temperature before any of them stops the run.
                answers = [callback.on_temperature(run.fit) for callback in self.callbacks]
                if any(answers):
                    return run.fit
                run.fit = replace(run.fit, outcome=Outcome.FINISHED)
        except KeyboardInterrupt:
            if not run.fit.trace:
                raise
            log.warning("interrupted: keeping the model of T = %g", run.fit.temperature)
            return replace(run.fit, outcome=Outcome.INTERRUPTED)

    def _begin_temperature(self, run: Run) -> bool:
        """Set the next temperature and what it begins with; false at the end of the schedule."""
        trace, zero = run.fit.trace, run.model.zero_temperature
        temperature = self.schedule.next(trace, run.critical, zero)
        if temperature is None:
            return False
        run.temperature = temperature
        if trace and self.schedule.restarts:
            run.restart()
        elif trace:
            run.now = self._next(run.now, run.data, run.rng, trace[-1].temperature, temperature)
        return True

    def _next(
        self, now: Grown, data: Data, rng: np.random.Generator, last: float, temperature: float
    ) -> Grown:
        """What the next temperature begins with: split where it grows, shaken where not."""
        if self.growth is not None:
            return split(self.growth, now, data, last, temperature)
        return now._replace(state=self._shaken(now.model, data, now.state, rng))

    def _settled(self, run: Run) -> _Settled:
        """The settled state; where pairs fell together again, settled once more without them."""
        before = 0 if run.within is None else run.within.before
        if not before:
            settled = self._settle(run, 0)
            stats = settled.stats if self.growth or self.stepwise else ()
            run.now = run.now._replace(state=settled.state, stats=stats)
            if self.growth is None:
                return settled
            run.now, again = merge(self.growth, run.now, run.data, run.temperature)
            if not again:
                return settled
            before = settled.sweeps
        settled = self._settle(run, before)
        run.now = run.now._replace(state=settled.state, stats=settled.stats)
        return settled._replace(sweeps=before + settled.sweeps)

    def _path(self, path: tuple[Step, ...], now: Grown, record: Record) -> tuple[Step, ...]:
        """The path with this temperature; of each number of components the best is kept."""
        if self.growth is None:
            return ()
        step = Step(
            now.model, now.state.params, record.temperature, record.heldout, now.branches.tree
        )
        same = [one for one in path if one.n_components == step.n_components]
        if same and same[0].heldout < step.heldout:
            return path
        others = [one for one in path if one.n_components != step.n_components]
        return tuple(sorted([*others, step], key=lambda one: one.n_components))

    def _settle(self, run: Run, before: int) -> _Settled:
        """Sweeps at one temperature until the free energy settles: the only EM loop there is."""
        now, data, temperature, watch = run.now, run.data, run.temperature, run.watch
        model, first = now.model, Sweeps(now.state, now.state, self.relaxation.first, np.inf)
        at = self._passed(run, run.within or first._replace(before=before))
        state, proven, eta, last, relaxed, done, _, step, _ = at
        run.within = None
        close = self.growth.closeness(model.n_components) if self.growth else 1.0
        least, most = close * self.tol * data.summary.total, self._most_sweeps(run, before)
        look = self._looks(run)
        for sweep in range(done + 1, most + 1):
            run.note(Sweeps(state, proven, eta, last, relaxed, sweep - 1, before, step))
            rows, stats, energy = self._swept(run, state, sweep)
            if relaxed and energy > last:
                # The relaxed point is worse than the EM point it overshot: go on from there.
                state, eta, relaxed = proven, 1.0, False
                continue
            params, extra = model.maximize(stats, state.params, temperature, data.kernels)
            proven = State(params, rows, extra)
            gain = last - energy if model.monotone else abs(last - energy)
            settled = gain <= least
            if settled and not relaxed:
                return _Settled(proven, stats, energy, sweep, True)
            if look and sweep % look == 0 and watch.worse(now._replace(state=proven), temperature):
                return _Settled(proven, stats, energy, sweep, False)
            if sweep == most and self.stepwise and self.stepwise.full_sweeps:
                # Not settled, so what was measured is kept, and not what an M-step makes of it.
                kept = state.rows if model.rows_are_parameters else rows
                return _Settled(state._replace(rows=kept), stats, energy, sweep, False)
            # A relaxed step magnifies what EM would damp at once, rounding errors included: the
            # last steps at a temperature are plain ones.
            relaxed, last = eta > 1.0 and not settled and model.monotone, energy
            state = relax(model, data, state, proven, eta) if relaxed else proven
            eta = 1.0 if settled else min(eta * self.relaxation.growth, self.relaxation.cap)
        return _Settled(proven, stats, last, most, False)

    def _looks(self, run: Run) -> int:
        """Every how many sweeps the held-out score is looked at; 0 for never."""
        if self.growth is None or run.watch.heldout is None or not run.fit.trace:
            return self.check_every
        full = run.now.model.n_components == run.fit.trace[-1].n_components >= self.growth.enough
        return self.growth.look if full else self.check_every

    def _most_sweeps(self, run: Run, before: int) -> int:
        """Most full sweeps at a temperature; that with which statistics begin comes on top."""
        if self.stepwise is None or before:
            return self.max_sweeps
        limit = self.stepwise.full_sweeps or self.max_sweeps
        return min(limit, self.max_sweeps) + _is_first(run)

    def _swept(self, run: Run, state: State, sweep: int) -> tuple[RowsHandle, Any, float]:
        """Rows, statistics and free energy of a full sweep, of which callbacks are told."""
        data, temperature = run.data, run.temperature
        rows, stats, energy = data.sweep(
            expect, state.rows, run.now.model, state.params, temperature
        )
        energy += state.extra
        if not np.isfinite(energy):
            raise IsothermError(
                f"the free energy became {energy} at T = {temperature}, sweep {sweep}; "
                "check the counts for extreme values, or use double precision"
            )
        for callback in self.callbacks:
            callback.on_sweep(temperature, sweep, energy)
        return rows, stats, energy

    def _passed(self, run: Run, at: Sweeps) -> Sweeps:
        """Where full sweeps begin: past the passes over batches, if there are any."""
        if self.stepwise is None or at.before:
            return at
        model, data, temperature = run.now.model, run.data, run.temperature
        batches = batches_of(data)
        steps = self.stepwise.passes * len(batches)
        if at.step == steps:
            return at
        state, done = at.state, at.sweep
        stats = at.stats if len(at.stats) or done else run.now.stats
        if not len(stats):
            # Nothing to mix into: begin with the statistics of all rows.
            run.note(at)
            rows, stats, _ = self._swept(run, state, 1)
            params, extra = model.maximize(stats, state.params, temperature, data.kernels)
            state, done = State(params, rows, extra), 1
        for step in range(at.step, steps):
            run.note(at._replace(state=state, proven=state, sweep=done, step=step, stats=stats))
            rate, batch = self.stepwise.rate(step), batches[step % len(batches)]
            state, stats = stepped(
                model, data, state, stats, temperature, rate, batch, self.stepwise.repeats
            )
            if (step + 1) % len(batches) == 0:
                self._tell_pass(temperature, (step + 1) // len(batches))
        state = completed(model, data, state)
        return at._replace(state=state, proven=state, sweep=done, step=steps, stats=())

    def _shaken(self, model: Model, data: Data, state: State, rng: np.random.Generator) -> State:
        if not self.noise:
            return state
        params = model.perturb(state.params, rng, self.noise)
        return State(params, state.rows, model.prior_energy(params, data.summary))

    def _tell_pass(self, temperature: float, number: int) -> None:
        for callback in self.callbacks:
            # Callbacks of one's own may be older than passes.
            getattr(callback, "on_pass", _nothing)(temperature, number)

    def _record(
        self,
        model: Any,
        data: Data,
        settled: _Settled,
        temperature: float,
        watch: Best,
        clock: float,
    ) -> Record:
        params, rows, _ = settled.state
        _, _, total = data.sweep(_likelihood, rows, model, params)
        n_components, n_distinct = model.sizes(params)
        return Record(
            temperature,
            settled.free_energy,
            total,
            watch.last,
            n_distinct,
            n_components,
            (),
            settled.sweeps,
            time.perf_counter() - clock,
            settled.converged,
            self.stepwise.passes if self.stepwise else 0,
            entropy(model.components(params)[0]) if self.growth else NAN,
        )


def _is_first(run: Run) -> bool:
    """Whether a temperature begins without the statistics of one before it."""
    return run.restarts or not run.fit.trace


def _nothing(temperature: float, number: int) -> None:
    """For callbacks that do not listen."""


def _likelihood(k: Kernels, block: Any, rows: Any, model: Model, params: Any) -> Expected:
    return Expected(rows, (), model.log_likelihood(params, rows, block, k))
