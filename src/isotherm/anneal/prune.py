"""What a growing run is worth when it has ended: cooled on, and with as few components as will do.

A growing run compares numbers of components at different temperatures: more of them come later, and
part of what they seem to gain is what cooling gains. It also doubles them where many are unstable
at once, and then some are two halves of one. So what was chosen cools on without splits, and at the
temperature it comes to, components that are most alike are joined for as long as held-out data do
not mind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from isotherm.anneal.branches import Branches
from isotherm.anneal.callbacks import Callback, HeldoutRule
from isotherm.anneal.engine import Annealer
from isotherm.anneal.grow import Growth, regrouped
from isotherm.anneal.heldout import Heldout
from isotherm.anneal.linkage import joins_by_columns
from isotherm.anneal.schedule import Exponential, Fixed, Schedule
from isotherm.anneal.start import state_of
from isotherm.anneal.stepwise import expect
from isotherm.anneal.trace import Fit, Outcome, State, Step, completed
from isotherm.data.base import Array, Data

# T - zero is multiplied by this as the chosen number cools on.
RATE = 0.95
# The number is found to this share of it; few components exactly.
FINE = 32
# Sweeps after which many components of which some were put together predict as they will.
BRIEF = 8


class _Found(NamedTuple):
    """A step, and its state with that of the rows."""

    step: Step
    state: State


class _Search(NamedTuple):
    """What a number of components is tried with."""

    annealer: Annealer
    growth: Growth
    data: Data
    heldout: Heldout

    def brief(self) -> _Search:
        """The same with few sweeps."""
        return self._replace(annealer=replace(self.annealer, max_sweeps=BRIEF))

    def run(self, model: Any, state: State, schedule: Schedule, *rules: Callback) -> Fit:
        """A run from this state, as closely settled as the run that grew; no splits."""
        annealer = replace(
            self.annealer,
            schedule=schedule,
            growth=None,
            callbacks=rules,
            tol=self.annealer.tol * self.growth.closeness(model.n_components),
        )
        rng = np.random.default_rng(0)
        return completed(annealer.run(model, self.data, rng, heldout=self.heldout, state=state))


def fewest(annealer: Annealer, fit: Fit, data: Data, heldout: Heldout) -> Fit:
    """The fit, cooled on, with the fewest components that more are not worth it.

    Parameters
    ----------
    annealer : Annealer
        That the fit was grown by.
    fit : Fit
    data : Data
    heldout : Heldout
        That the number of components was chosen by.
    """
    if fit.outcome is Outcome.INTERRUPTED:
        return fit
    search = _Search(annealer, annealer.growth or Growth(), data, heldout)
    step = next(step for step in fit.path if step.n_components == fit.model.n_components)
    chosen = _Found(step._replace(params=fit.state.params), fit.state)
    try:
        step, state = _joined(search, _cooled_on(search, chosen, fit))
    except KeyboardInterrupt:
        return replace(fit, outcome=Outcome.INTERRUPTED)
    others = [one for one in fit.path if one.n_components != step.n_components]
    path = tuple(sorted([*others, step], key=lambda one: one.n_components))
    changed = {"model": step.model, "state": state, "temperature": step.temperature}
    return replace(fit, tree=step.tree, path=path, **changed)


def _cooled_on(search: _Search, chosen: _Found, fit: Fit) -> _Found:
    """The chosen step at the lower temperature at which it predicts best, if there is one."""
    step = chosen.step
    zero, last = step.model.zero_temperature, step.temperature
    end = max(getattr(search.annealer.schedule, "end", zero), zero)
    start = max(zero + RATE * (last - zero), end)
    colder = [record for record in fit.trace if record.temperature < last]
    went_on = bool(colder) and colder[0].n_components == step.n_components
    if not zero < start < last or (went_on and colder[0].heldout >= step.heldout):
        return chosen  # in the second case the run itself tried that number there
    schedule = Exponential(RATE, start=start, end=end)
    # Rows begin anew: on planted topics that predicts better than to go on from settled ones.
    begin = state_of(step.model, search.data, step.params)
    cold = search.run(step.model, begin, schedule, HeldoutRule(1))
    score = min(record.heldout for record in cold.trace)
    if score >= step.heldout:
        return chosen
    step = step._replace(params=cold.state.params, temperature=cold.temperature, heldout=score)
    return _Found(step, cold.state)


def _joined(search: _Search, found: _Found) -> _Found:
    """The step with the fewest components whose held-out score is as good as any.

    Numbers are tried in larger and larger strides down, then halfway between the last that would
    do and the first that would not.
    """
    step, K = found.step, found.step.n_components
    merges, whole = _merges(*step.model.components(step.params)), _swept(search, found)
    enough, few, stride = K, 0, max(1, K // 8)
    needed, best = search.growth.needed(search.heldout.size), step.heldout
    while enough - few > max(1, K // FINE):
        n = (enough + few) // 2 if few else max(enough - stride, 1)
        tried = _settled(search, whole, merges[: K - n])
        best = min(best, tried.step.heldout)
        if best < tried.step.heldout * (1.0 - needed):
            few = n
        else:
            enough, found, stride = n, tried, 2 * stride
    return found


class _Whole(NamedTuple):
    """A step with the rows and statistics of a sweep, which add up over components."""

    step: Step
    state: State
    stats: Any


def _swept(search: _Search, found: _Found) -> _Whole:
    step, state = found
    rows, stats, _ = search.data.sweep(
        expect, state.rows, step.model, state.params, step.temperature
    )
    return _Whole(step, state._replace(rows=rows), stats)


def _settled(search: _Search, whole: _Whole, merges: Sequence[tuple[int, int]]) -> _Found:
    """The step with components put together, after it has settled at its temperature."""
    step, state, stats = whole
    into = {k: k for k in range(step.n_components)}
    for kept, gone in reversed(merges):
        into[gone] = into[kept]
    index = np.array([k for k, other in into.items() if k == other])
    summed = tuple((other, k) for k, other in into.items() if k != other)
    params, rows, stats = regrouped(search.data, state, stats, index, np.ones(len(index)), summed)
    model, tree = step.model.sized(len(index)), step.tree
    params, extra = model.maximize(stats, params, step.temperature, search.data.kernels)
    taken = [k for _, k in summed]
    tree = Branches(tree.parents, tree.temperatures, tree.leaves).without(taken).tree
    if model.n_components > search.growth.careful:
        search = search.brief()
    fit = search.run(model, State(params, rows, extra), Fixed(step.temperature))
    score = fit.trace[-1].heldout
    return _Found(Step(model, fit.state.params, step.temperature, score, tree), fit.state)


def _merges(weight: Array, table: Array) -> list[tuple[int, int]]:
    """Which component takes in which, most alike first: K - 1 pairs (kept, gone)."""
    return [(kept, gone) for kept, gone, _ in joins_by_columns(weight, table)]
