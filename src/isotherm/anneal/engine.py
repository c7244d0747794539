"""The annealing engine: the only loop over temperatures and the only loop over sweeps.

It knows models by their contract alone. Sharding, threads and devices are the data's business;
schedules, stopping and progress are values that it is given. What changes as a run goes on is one
value, `RunState`, in which over-relaxation, growth and batches have places of their own.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from isotherm._types import Array, BlockIn, ParamsT, Rng, RowsT, Stats, StatsT
from isotherm.anneal import journal, progress
from isotherm.anneal.callbacks import Callback, limits
from isotherm.anneal.growth.grow import Growth
from isotherm.anneal.growth.steady import Components, Steady
from isotherm.anneal.heldout import Heldout
from isotherm.anneal.journal import Page
from isotherm.anneal.progress import Course
from isotherm.anneal.relax import (
    ADAPTIVE_RELAXATION,
    NO_RELAXATION,
    Relaxation,
    RelaxationState,
)
from isotherm.anneal.run_state import RunState
from isotherm.anneal.schedule import Schedule
from isotherm.anneal.start import Noisy, Start
from isotherm.anneal.stepwise import Stepwise, completed, stepped
from isotherm.anneal.trace import Fit, Outcome, Record, State
from isotherm.errors import IsothermError
from isotherm.kernels.base import Kernels
from isotherm.models.base import Model, expect
from isotherm.placement.base import Data, Expected, RowsHandle

__all__ = ["ADAPTIVE_RELAXATION", "NO_RELAXATION", "Annealer", "Relaxation"]

log = logging.getLogger("isotherm")

TEXTBOOK_START = Noisy()


class Problem(NamedTuple):
    """What a run is about, and where it notes how far it is; nothing of it changes.

    `gain` is the share by which more components must lower the held-out score, and `course` what is
    known of how long it takes.
    """

    model: Model
    data: Data
    rng: Rng
    heldout: Heldout | None
    gain: float
    page: Page
    course: Course

    def scored(self, run: RunState, state: State) -> RunState:
        """The run after a look at the held-out score of a state, if anything is held out."""
        if self.heldout is None:
            return run
        score = self.heldout.score(run.model, state, self.data, run.temperature)
        solution = run.solution._replace(state=state)
        return replace(run, best=run.best.observed(solution, run.temperature, score, self.gain))


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
        rng: Rng,
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
        gain = self._components.needed(heldout.size) if heldout else 0.0
        most = 0 if self.growth is None else self.growth.max_components
        course = Course.of(self.schedule, model.zero_temperature, most, limits(self.callbacks))
        problem = Problem(model, data, rng, heldout, gain, page, course)
        fit = None
        for callback in self.callbacks:
            callback.on_begin()
        try:
            with progress.running(problem.course):
                fit = self._cool(problem, page.state or self._starting(problem, state))
            return fit
        finally:
            page.end(fit)
            for callback in self.callbacks:
                callback.on_end()

    @property
    def _components(self) -> Components:
        """What becomes of the components between temperatures."""
        return Steady(self.noise) if self.growth is None else self.growth

    def _starting(self, problem: Problem, state: State | None) -> RunState:
        model = problem.model
        begin = self.start.state(model, problem.data, problem.rng) if state is None else state
        return RunState.starting(model, begin, self.schedule.restarts)

    # Temperatures -------------------------------------------------------------------------------

    def _cool(self, problem: Problem, run: RunState) -> Fit:
        """Temperatures one after the other: the only loop over them that there is."""
        try:
            while True:
                clock = time.perf_counter()
                if not run.within:
                    run = self._begun(problem, run)
                if not run.within:
                    return run.fit
                run = self._settled(problem, run)
                run = self._recorded(problem, run, clock)
                # Every callback hears of every temperature before any of them stops the run.
                answers = [callback.on_temperature(run.fit) for callback in self.callbacks]
                if any(answers):
                    return run.fit
                run = replace(run, fit=replace(run.fit, outcome=Outcome.FINISHED))
        except KeyboardInterrupt:
            if not run.fit.trace:
                raise
            log.warning("interrupted: keeping the model of T = %g", run.fit.temperature)
            return replace(run.fit, outcome=Outcome.INTERRUPTED)

    def _begun(self, problem: Problem, run: RunState) -> RunState:
        """The run at the next temperature; not within one if that was the end of the schedule."""
        asked = run

        def critical() -> Array:
            nonlocal asked
            asked, temperatures = asked.critical(problem.data)
            return temperatures

        zero = problem.model.zero_temperature
        temperature = self.schedule.next(run.fit.trace, critical, zero)
        run = asked
        if temperature is None:
            return run
        if run.fit.trace and self.schedule.restarts:
            run = run.restarted(problem.model)
        elif run.fit.trace:
            run = self._components.next(run, problem.data, problem.rng, temperature)
        if self.stepwise is None:
            run = replace(run, stats=())  # nobody asks for them before the next ones are there
        return run.at(temperature, self.relaxation.begin())

    def _settled(self, problem: Problem, run: RunState) -> RunState:
        """The run settled; where components fell together, settled once more without them."""
        if not run.before:
            run = self._settle(problem, run)
            joined = self._components.joined(run, problem.data)
            if joined is None:
                return run
            sweeps, run = run.sweep, joined.at(run.temperature, self.relaxation.begin())
            del joined  # its statistics are as large as the state
            run = replace(run, before=sweeps, stats=())
        return self._settle(problem, run)

    def _recorded(self, problem: Problem, run: RunState, clock: float) -> RunState:
        """The run with a settled temperature in the fit so far."""
        run = problem.scored(run, run.state)
        record = self._record(problem, run, clock)
        best, at = run.best.solution, run.best.temperature
        if best is None:
            best, at = run.solution, run.temperature
        fit = replace(
            run.fit,
            model=best.model,
            state=best.state,
            temperature=at,
            trace=(*run.fit.trace, record),
            outcome=Outcome.STOPPED,
            tree=self._components.tree(best),
            path=self._components.path(run, record),
        )
        line = progress.current()
        if line is not None:
            line.recorded(problem.course, fit.trace)
        run = replace(run, fit=fit, within=False)
        return run.critical(problem.data)[0] if self.record_critical else run

    def _record(self, problem: Problem, run: RunState, clock: float) -> Record:
        params, rows, _ = run.state
        _, _, total = problem.data.sweep(_likelihood, rows, run.model, params)
        n_components, n_distinct = run.model.sizes(params)
        return Record(
            run.temperature,
            run.energy,
            total,
            run.best.last,
            n_distinct,
            n_components,
            (),
            run.before + run.sweep,
            time.perf_counter() - clock,
            run.converged,
            self.stepwise.passes if self.stepwise else 0,
            self._components.entropy(run.solution),
        )

    # Sweeps -------------------------------------------------------------------------------------

    def _settle(self, problem: Problem, run: RunState) -> RunState:
        """Sweeps at one temperature until the free energy settles: the only EM loop there is."""
        run = self._passed(problem, run)
        model, data, temperature = run.model, problem.data, run.temperature
        least = self._components.closeness(model.n_components) * self.tol * data.summary.total
        most, look = self._most_sweeps(run), self._components.look_every(run, self.check_every)
        while run.sweep < most:
            run = replace(run, stats=())
            problem.page.note(run)
            rows, stats, energy = self._swept(problem, run)
            run = replace(run, sweep=run.sweep + 1, stats=stats if self._reads_stats else ())
            eta, overshot = run.relaxation.eta, run.relaxation.proven
            if overshot is not None and energy > run.energy:
                # The relaxed point is worse than the EM point it overshot: go on from there.
                run = replace(run, state=overshot, relaxation=RelaxationState(1.0))
                continue
            params, extra = model.maximize(stats, run.state.params, temperature, data.kernels)
            reached, gain = State(params, rows, extra), run.energy - energy
            settled, plain = (gain if model.monotone else abs(gain)) <= least, overshot is None
            del overshot  # as large as the state
            run = replace(run, energy=energy, relaxation=RelaxationState(eta))
            if settled and plain:
                return replace(run, state=reached, converged=True)
            if look and run.sweep % look == 0:
                before, run = run.best.last, problem.scored(run, reached)
                if run.best.last > before:
                    return replace(run, state=reached)
            if run.sweep == most and self.stepwise and self.stepwise.full_sweeps:
                # Not settled, so what was measured is kept, and not what an M-step makes of it.
                kept = run.state.rows if model.rows_are_parameters else rows
                return replace(run, state=run.state._replace(rows=kept))
            state, relaxation = self.relaxation.step(model, data, run.state, reached, eta, settled)
            run = replace(run, state=state, relaxation=relaxation)
        return run.back_on_em()

    @property
    def _reads_stats(self) -> bool:
        """Whether what comes after a temperature needs its statistics."""
        return self.stepwise is not None or self._components.reads_stats

    def _most_sweeps(self, run: RunState) -> int:
        """Most full sweeps at a temperature; that with which statistics begin comes on top."""
        if self.stepwise is None or run.before:
            return self.max_sweeps
        limit = self.stepwise.full_sweeps or self.max_sweeps
        first = self.schedule.restarts or not run.fit.trace
        return min(limit, self.max_sweeps) + first

    def _swept(self, problem: Problem, run: RunState) -> tuple[RowsHandle, Stats, float]:
        """Rows, statistics and free energy of a full sweep, of which callbacks are told."""
        state, temperature, sweep = run.state, run.temperature, run.sweep + 1
        rows, stats, energy = problem.data.sweep(
            expect, state.rows, run.model, state.params, temperature
        )
        energy += state.extra
        if not np.isfinite(energy):
            raise IsothermError(
                f"the free energy became {energy} at T = {temperature}, sweep {sweep}; "
                "check the counts for extreme values, or use double precision"
            )
        for callback in self.callbacks:
            callback.on_sweep(temperature, sweep, energy)
        line = progress.current()
        if line is not None:
            line.swept(problem.course, run.fit.trace, temperature, run.before + sweep)
        return rows, stats, energy

    def _passed(self, problem: Problem, run: RunState) -> RunState:
        """The run past the passes over batches that begin a temperature, if there are any."""
        if self.stepwise is None or run.before:
            return run
        model, data, temperature = run.model, problem.data, run.temperature
        batches = data.batches
        steps = self.stepwise.passes * len(batches)
        if run.step == steps:
            return run
        if not len(run.stats):
            # Nothing to mix into: begin with the statistics of all rows.
            problem.page.note(run)
            rows, stats, _ = self._swept(problem, run)
            params, extra = model.maximize(stats, run.state.params, temperature, data.kernels)
            run = replace(run, state=State(params, rows, extra), stats=stats, sweep=1)
        for step in range(run.step, steps):
            problem.page.note(run)
            rate, batch = self.stepwise.rate(step), batches[step % len(batches)]
            repeats = self.stepwise.repeats
            state, stats = stepped(
                model, data, run.state, run.stats, temperature, rate, batch, repeats
            )
            run = replace(run, state=state, stats=stats, step=step + 1)
            if run.step % len(batches) == 0:
                self._tell_pass(temperature, run.step // len(batches))
        return replace(run, state=completed(model, data, run.state), stats=())

    def _tell_pass(self, temperature: float, number: int) -> None:
        for callback in self.callbacks:
            # Callbacks of one's own may be older than passes.
            getattr(callback, "on_pass", _nothing)(temperature, number)


def _nothing(temperature: float, number: int) -> None:
    """For callbacks that do not listen."""


def _likelihood(
    k: Kernels,
    block: BlockIn,
    rows: RowsT,
    model: Model[ParamsT, RowsT, StatsT, BlockIn],
    params: ParamsT,
) -> Expected[RowsT, tuple[()]]:
    return Expected(rows, (), model.log_likelihood(params, rows, block, k))
