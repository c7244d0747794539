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
from isotherm.anneal.grow import Growth
from isotherm.anneal.heldout import Heldout
from isotherm.anneal.schedule import Exponential, Fixed, Schedule
from isotherm.anneal.start import state_of
from isotherm.anneal.trace import Fit, Outcome, State, Step, completed
from isotherm.data.base import Array, Data

# T - zero is multiplied by this as the chosen number cools on.
RATE = 0.95
# The number is found to this share of it; few components exactly.
FINE = 32


class _Found(NamedTuple):
    """A step, and its state with that of the rows; None for the one that the fit has."""

    step: Step
    state: State | None = None


class _Search(NamedTuple):
    """What a number of components is tried with."""

    annealer: Annealer
    growth: Growth
    data: Data
    heldout: Heldout

    def run(self, model: Any, params: Any, schedule: Schedule, *rules: Callback) -> Fit:
        """A run from these parameters, as closely settled as the run that grew; no splits."""
        annealer = replace(
            self.annealer,
            schedule=schedule,
            growth=None,
            callbacks=rules,
            tol=self.annealer.tol * self.growth.closeness(model.n_components),
        )
        state, rng = state_of(model, self.data, params), np.random.default_rng(0)
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
    chosen = next(step for step in fit.path if step.n_components == fit.model.n_components)
    try:
        step, state = _joined(search, _cooled_on(search, chosen))
    except KeyboardInterrupt:
        return replace(fit, outcome=Outcome.INTERRUPTED)
    if state is None:
        return fit
    others = [one for one in fit.path if one.n_components != step.n_components]
    path = tuple(sorted([*others, step], key=lambda one: one.n_components))
    changed = {"model": step.model, "state": state, "temperature": step.temperature}
    return replace(fit, tree=step.tree, path=path, **changed)


def _cooled_on(search: _Search, chosen: Step) -> _Found:
    """The chosen step at the lower temperature at which it predicts best, if there is one."""
    zero, last = chosen.model.zero_temperature, chosen.temperature
    end = max(getattr(search.annealer.schedule, "end", zero), zero)
    start = max(zero + RATE * (last - zero), end)
    if not zero < start < last:
        return _Found(chosen)
    schedule = Exponential(RATE, start=start, end=end)
    cold = search.run(chosen.model, chosen.params, schedule, HeldoutRule(1))
    score = min(record.heldout for record in cold.trace)
    if score >= chosen.heldout:
        return _Found(chosen)
    step = chosen._replace(params=cold.state.params, temperature=cold.temperature, heldout=score)
    return _Found(step, cold.state)


def _joined(search: _Search, found: _Found) -> _Found:
    """The step with the fewest components whose held-out score is as good.

    Numbers are tried in larger and larger strides down, then halfway between the last that would
    do and the first that would not.
    """
    step, K = found.step, found.step.n_components
    merges = _merges(*step.model.components(step.params))
    enough, few, stride = K, 0, max(1, K // 8)
    needed = search.growth.needed(search.heldout.size)
    while enough - few > max(1, K // FINE):
        n = (enough + few) // 2 if few else max(enough - stride, 1)
        tried = _settled(search, step, merges[: K - n])
        if step.heldout < tried.step.heldout * (1.0 - needed):
            few = n
        else:
            enough, found, stride = n, tried, 2 * stride
    return found


def _settled(search: _Search, step: Step, merges: Sequence[tuple[int, int]]) -> _Found:
    """The step with components put together, after it has settled at its temperature."""
    weight, table = step.model.components(step.params)
    groups = {k: [k] for k in range(step.n_components)}
    for kept, gone in merges:
        groups[kept] += groups.pop(gone)
    joined = np.stack([mean_of(table, weight, np.array(groups[k])) for k in sorted(groups)], axis=1)
    taken = [k for k in range(step.n_components) if k not in groups]
    tree = step.tree
    tree = Branches(tree.parents, tree.temperatures, tree.leaves).without(taken).tree
    model = step.model.sized(len(groups))
    begin = model.init(search.data.summary, joined)
    fit = search.run(model, begin, Fixed(step.temperature))
    score = fit.trace[-1].heldout
    return _Found(Step(model, fit.state.params, step.temperature, score, tree), fit.state)


def _merges(weight: Array, table: Array) -> list[tuple[int, int]]:
    """Which component takes in which, most alike first: K - 1 pairs (kept, gone).

    Ward's criterion on the roots of the distributions, whose squared distance is twice that of
    Hellinger: joining i and j costs w_i w_j / (w_i + w_j) |sqrt(p_i) - sqrt(p_j)|^2.
    """
    roots = np.sqrt(np.asarray(table, np.float64))
    mass = np.array(weight, np.float64)
    near = roots.T @ roots
    square = np.diag(near)[:, None] + np.diag(near) - 2.0 * near
    cost = np.outer(mass, mass) / np.maximum(np.add.outer(mass, mass), 1e-300) * square
    np.fill_diagonal(cost, np.inf)
    merges = []
    for _ in range(len(mass) - 1):
        i, j = sorted(divmod(int(np.argmin(cost)), len(mass)))
        both = mass[i] + mass[j]
        total = np.maximum(both + mass, 1e-300)
        new = (mass[i] + mass) * cost[i] + (mass[j] + mass) * cost[j] - mass * cost[i, j]
        cost[i], cost[:, i] = new / total, new / total
        cost[j], cost[:, j], cost[i, i] = np.inf, np.inf, np.inf
        mass[i] = both
        merges.append((i, j))
    return merges


def mean_of(table: Array, weight: Array, group: Array) -> Array:
    """Distribution (J,) of some components of a table (J, K) put together, by their weights."""
    share = weight[group] / max(weight[group].sum(), 1e-300)
    return np.asarray(table[:, group] @ share.astype(table.dtype))
