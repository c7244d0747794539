"""A run under way: all that changes as it goes on, as one value that a file can hold."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from isotherm._types import Stats
from isotherm.anneal.critical import critical_temperatures, first_critical
from isotherm.anneal.growth.branches import Branches
from isotherm.anneal.relax import RelaxationState
from isotherm.anneal.trace import Fit, State
from isotherm.data.base import Array
from isotherm.placement.base import Data

NAN = float("nan")


class Solution(NamedTuple):
    """A model with its state, and how its components came about."""

    model: Any
    state: State
    branches: Branches = Branches()


class Best(NamedTuple):
    """The best solution so far by held-out score.

    `solution` and its `temperature` are those with the lowest `score`, None until one was scored;
    `last` is the last score.
    """

    solution: Solution | None = None
    temperature: float = NAN
    score: float = float("inf")
    last: float = NAN

    def observed(self, solution: Solution, temperature: float, score: float, gain: float) -> Best:
        """With one more score; more components must lower it by the share `gain`."""
        best = self.solution
        more = best is not None and solution.model.n_components > best.model.n_components
        if best is None or score < self.score * (1.0 - (gain if more else 0.0)):
            return Best(solution, temperature, score, score)
        return self._replace(last=score)


@dataclass(frozen=True)
class RunState:
    """All that the rest of a run needs, except for its settings, data and random numbers.

    Attributes
    ----------
    model : Model
        With as many components as there are now.
    state : State
        What is swept next.
    fit : Fit
        Up to the last temperature that has ended.
    begin : State, optional
        Where the run began, if it will go back there.
    stats : named tuple
        Statistics that the state was made from, as long as something is to be made of them: a
        split or a batch. () while full sweeps go on.
    branches : Branches
        The splits behind the components.
    best : Best
    temperature : float
        The present one; nan before the first.
    within : bool
        Whether sweeps at this temperature are under way.
    sweep, before : int
        Full sweeps done at this temperature, and those before components were merged.
    step : int
        Batches done at this temperature, of passes that come before the full sweeps.
    energy : float
        Free energy of the last sweep that was not undone.
    converged : bool
        Whether that settled.
    relaxation : RelaxationState
    """

    model: Any
    state: State
    fit: Fit
    begin: State | None = None
    stats: Stats = ()
    branches: Branches = field(default_factory=Branches)
    best: Best = field(default_factory=Best)
    temperature: float = NAN
    within: bool = False
    sweep: int = 0
    before: int = 0
    step: int = 0
    energy: float = float("inf")
    converged: bool = False
    relaxation: RelaxationState = field(default_factory=RelaxationState)

    @classmethod
    def starting(cls, model: object, begin: State, restarts: bool) -> RunState:
        """Before the first temperature."""
        fit = Fit(model, begin, NAN, ())
        return cls(model, begin, fit, begin=begin if restarts else None)

    @property
    def solution(self) -> Solution:
        """The model with its state as it is now."""
        return Solution(self.model, self.state, self.branches)

    def restarted(self, model: object) -> RunState:
        """Back where the run began, with nothing to compare scores with."""
        if self.begin is None:
            raise ValueError("a run that does not restart has no beginning to go back to")
        best = self.best._replace(last=NAN)
        return replace(
            self, model=model, state=self.begin, stats=(), branches=Branches(), best=best
        )

    def at(self, temperature: float, relaxation: RelaxationState) -> RunState:
        """With no sweep done yet at a temperature."""
        return replace(
            self,
            temperature=temperature,
            within=True,
            sweep=0,
            before=0,
            step=0,
            energy=float("inf"),
            converged=False,
            relaxation=relaxation,
        )

    def back_on_em(self) -> RunState:
        """At the last EM point, where the state lies beyond it."""
        proven = self.relaxation.proven
        state = self.state if proven is None else proven
        return replace(self, state=state, relaxation=RelaxationState())

    def critical(self, data: Data) -> tuple[RunState, Array]:
        """Critical temperatures here, noted: the first one, or one per distinct component."""
        fit = self.fit
        if not fit.trace:
            first = first_critical(self.model, data)
            return replace(self, fit=replace(fit, first_critical=first)), np.array([first])
        record = fit.trace[-1]
        if record.critical:
            return self, np.array(record.critical)
        temperatures = critical_temperatures(self.model, data, self.state, record.temperature)
        noted = replace(record, critical=tuple(temperatures.tolist()))
        fit = replace(fit, trace=(*fit.trace[:-1], noted))
        return replace(self, fit=fit), temperatures
