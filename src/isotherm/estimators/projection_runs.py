"""Runs of clustering-projection: the better of two ways to T = 1, and clusters joined."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from isotherm._types import Rng
from isotherm.anneal.callbacks import time_is_up
from isotherm.anneal.engine import Annealer
from isotherm.anneal.schedule import Fixed
from isotherm.anneal.start import state_of
from isotherm.anneal.trace import Fit, Outcome
from isotherm.estimators.plan import Plan
from isotherm.estimators.recipe import Recipe, cool_plainly
from isotherm.models.base import Model
from isotherm.placement.base import Data

log = logging.getLogger("isotherm")


def best_of(
    recipe: Recipe, annealer: Annealer, plan: Plan, rng: Rng, *, n_init: int, both_ways: bool
) -> Fit:
    """The best of `n_init` runs by what they maximise, among those that came as far."""

    def one_run() -> Fit:
        model = recipe.models[-1]
        if both_ways:
            fit = better(annealer, model, plan.data, rng)
        else:
            fit = cool_plainly(recipe, annealer, plan, rng)
        return joined(annealer, plan.data, fit, rng)

    best = one_run()
    for _ in range(1, n_init):
        if best.outcome is Outcome.INTERRUPTED or time_is_up(annealer.callbacks):
            break
        try:
            fit = one_run()
        except KeyboardInterrupt:
            return replace(best, outcome=Outcome.INTERRUPTED)
        best, outcome = min(best, fit, key=reached), fit.outcome
        if outcome is Outcome.INTERRUPTED:
            best = replace(best, outcome=outcome)
    return best


def better(annealer: Annealer, model: Model, data: Data, rng: np.random.Generator) -> Fit:
    """The better of an annealed run and one at its last temperature alone, from the same start.

    Neither is the better one everywhere: a run that is cooled may pass a first-order transition
    without noticing. The second run adds a quarter to a third of the time of the first.
    """
    begin = annealer.start.state(model, data, rng)
    cooled = annealer.run(model, data, rng, state=begin)
    if cooled.outcome is not Outcome.FINISHED or len(cooled.trace) == 1:
        return cooled
    plain = replace(annealer, schedule=Fixed(cooled.temperature))
    try:
        fit = plain.run(model, data, rng, state=state_of(model, data, begin.params))
    except KeyboardInterrupt:
        return replace(cooled, outcome=Outcome.INTERRUPTED)
    best = min(cooled, fit, key=reached)
    log.info("free energy %.6g annealed, %.6g not", reached(cooled)[1], reached(fit)[1])
    return replace(best, first_critical=cooled.first_critical)


def joined(annealer: Annealer, data: Data, fit: Fit, rng: np.random.Generator) -> Fit:
    """The fit with clusters joined that are better one, settled again; never a worse one."""
    while fit.outcome is Outcome.FINISHED and fit.temperature <= 1.0:
        params = fit.model.joined(fit.state.params)
        if params is None:
            break
        settling = replace(annealer, schedule=Fixed(fit.temperature))
        try:
            again = settling.run(fit.model, data, rng, state=state_of(fit.model, data, params))
        except KeyboardInterrupt:
            return replace(fit, outcome=Outcome.INTERRUPTED)
        if reached(again) > reached(fit):
            break
        *before, last = fit.trace
        record = again.trace[-1]
        record = replace(
            record, sweeps=last.sweeps + record.sweeps, seconds=last.seconds + record.seconds
        )
        fit = replace(again, trace=(*before, record), first_critical=fit.first_critical)
    return fit


def reached(fit: Fit) -> tuple[float, float]:
    """Where a run ended: its last temperature, and what it had reached.

    Energies at different temperatures do not compare.
    """
    return fit.trace[-1].temperature, fit.trace[-1].free_energy
