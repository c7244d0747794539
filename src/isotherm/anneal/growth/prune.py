"""What a growing run is worth when it has ended: cooled on, and with as few components as will do.

A growing run compares numbers of components at different temperatures: more of them come later, and
part of what they seem to gain is what cooling gains. It also doubles them where many are unstable
at once, and then some are two halves of one. So what was chosen cools on without splits, and at the
temperature it comes to, components that are most alike are joined for as long as held-out data do
not mind.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from isotherm._types import Stats
from isotherm.anneal.callbacks import Callback, HeldoutRule, limits, time_is_up
from isotherm.anneal.engine import Annealer
from isotherm.anneal.growth.branches import Branches
from isotherm.anneal.growth.grow import Growth, regrouped
from isotherm.anneal.growth.linkage import joins_by_columns
from isotherm.anneal.heldout import Heldout
from isotherm.anneal.schedule import Exponential, Fixed, Schedule
from isotherm.anneal.start import state_of
from isotherm.anneal.trace import (
    COOLING_ON,
    JOINED,
    JOINING,
    Fit,
    Outcome,
    Record,
    State,
    Step,
    Trace,
    completed,
)
from isotherm.data.base import Array
from isotherm.errors import warn
from isotherm.models.base import Model, expect, leaders
from isotherm.placement.base import Data

log = logging.getLogger("isotherm")

# T - zero is multiplied by this as the chosen number cools on.
RATE = 0.95
# The number is found to this share of it; few components exactly.
FINE = 32
# Where only one number would not do, fewer may do if it was as large, or hardly worse.
MANY, MUCH = 16, 0.02
# Sweeps after which many components of which some were put together predict as they will.
BRIEF = 8


class _Found(NamedTuple):
    """A step, and its state with that of the rows."""

    step: Step
    state: State


# What is best so far, and the records of the run that has ended.
_Tries = Iterator[tuple[_Found, Trace]]


class _Search(NamedTuple):
    """What a number of components is tried with."""

    annealer: Annealer
    growth: Growth
    data: Data
    heldout: Heldout

    def brief(self) -> _Search:
        """The same with few sweeps."""
        return self._replace(annealer=replace(self.annealer, max_sweeps=BRIEF))

    def run(self, model: Model, state: State, schedule: Schedule, *rules: Callback) -> Fit:
        """A run from this state, as closely settled as the run that grew; no splits."""
        annealer = replace(
            self.annealer,
            schedule=schedule,
            growth=None,
            callbacks=(*rules, *limits(self.annealer.callbacks)),
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

    Returns
    -------
    Fit
        Its trace goes on with what was tried. After an interrupt, or when time is up, it is what
        was best until then.
    """
    if fit.outcome is Outcome.INTERRUPTED:
        return fit
    search = _Search(annealer, annealer.growth or Growth(), data, heldout)
    found, trace = _chosen(fit), fit.trace
    outcome: Outcome = fit.outcome
    try:
        for best, records in _tries(search, found, fit):
            found, trace = best, (*trace, *records)
    except KeyboardInterrupt:
        outcome = Outcome.INTERRUPTED
    return replace(_with(fit, found), trace=_marked(trace, found.step), outcome=outcome)


def without_copies(annealer: Annealer, fit: Fit, data: Data) -> Fit:
    """The fit with components joined that have not come apart clearly: those of a run broken off.

    What splits is a pair of copies at first, and all of them may have split just before an
    interrupt, or before time was up, which a warning says.
    """
    growth, found = annealer.growth or Growth(), _chosen(fit)
    weight, table = fit.model.components(fit.state.params)
    joins = leaders(weight, table, 2.0 * growth.resolved)
    merges = [(int(joins[c]), c) for c in range(len(weight)) if joins[c] != c]
    if not merges:
        return fit
    step, state = _put_together(data, _swept(data, found), merges)
    if fit.outcome is Outcome.INTERRUPTED:
        log.warning("interrupted: %d components had not come apart and were joined", len(merges))
    else:
        warn(
            f"time was up while the model grew: {len(merges)} of {len(weight)} components had not "
            "come apart and were joined; a TimeLimit of more seconds would let them"
        )
    return _with(fit, _Found(step._replace(heldout=float("nan")), state))


def _chosen(fit: Fit) -> _Found:
    step = next(step for step in fit.path if step.n_components == fit.model.n_components)
    return _Found(step._replace(params=fit.state.params), fit.state)


def _with(fit: Fit, found: _Found) -> Fit:
    """The fit with another step as the one that was chosen."""
    step, state = found
    others = [one for one in fit.path if one.n_components != step.n_components]
    path = tuple(sorted([*others, step], key=lambda one: one.n_components))
    changed = {"model": step.model, "state": state, "temperature": step.temperature}
    return replace(fit, tree=step.tree, path=path, **changed)


def _marked(trace: Trace, step: Step) -> Trace:
    """Records that say which of what was tried, joining components, is what was chosen."""

    def phase(record: Record) -> str:
        chosen = (record.n_components, record.heldout) == (step.n_components, step.heldout)
        return JOINED if record.phase == JOINING and chosen else record.phase

    return tuple(replace(record, phase=phase(record)) for record in trace)


def _tries(search: _Search, found: _Found, fit: Fit) -> _Tries:
    """All that is tried, one run after the other, until time is up."""
    if time_is_up(search.annealer.callbacks):
        return
    for colder, records in _cooled_on(search, found, fit):
        found = colder
        yield colder, records
    if not time_is_up(search.annealer.callbacks):
        yield from _joined(search, found)


def _cooled_on(search: _Search, chosen: _Found, fit: Fit) -> _Tries:
    """The chosen step at the lower temperature at which it predicts best, if there is one."""
    step = chosen.step
    zero, last = step.model.zero_temperature, step.temperature
    end = max(getattr(search.annealer.schedule, "end", zero), zero)
    start = max(zero + RATE * (last - zero), end)
    colder = [record for record in fit.trace if record.temperature < last]
    went_on = bool(colder) and colder[0].n_components == step.n_components
    if not zero < start < last or (went_on and colder[0].heldout >= step.heldout):
        return  # in the second case the run itself tried that number there
    schedule = Exponential(RATE, start=start, end=end)
    # Rows begin anew: on planted topics that predicts better than to go on from settled ones.
    begin = state_of(step.model, search.data, step.params)
    cold = search.run(step.model, begin, schedule, HeldoutRule(1))
    score = min(record.heldout for record in cold.trace)
    better = step._replace(params=cold.state.params, temperature=cold.temperature, heldout=score)
    found = _Found(better, cold.state) if score < step.heldout else chosen
    yield found, tuple(replace(record, phase=COOLING_ON) for record in cold.trace)


def _joined(search: _Search, found: _Found) -> _Tries:
    """The step with the fewest components whose held-out score is as good as any."""
    step, K = found.step, found.step.n_components
    merges, whole = _merges(*step.model.components(step.params)), _swept(search.data, found)
    numbers = Numbers(K, step.heldout, search.growth.needed(search.heldout.size))
    while not time_is_up(search.annealer.callbacks):
        n = numbers.next()
        if n is None:
            return
        tried, records = _settled(search, whole, merges[: K - n])
        if numbers.will_do(n, tried.step.heldout):
            found = tried
        yield found, records


class Numbers:
    """Which numbers of components to try, one after the other.

    In larger and larger strides down, then halfway between the last that would do and the first
    that would not. Scores need not get worse on the way: with a few components less than far too
    many, those that are left settle further than before and fit every chance, and with as many as
    there are they do not. Where fewer components predicted better than more of them, or where
    that is not known, half of the fewest are tried, and half of these, while that helps; from the
    first that will do it goes on as from the beginning.

    Parameters
    ----------
    n_components : int
        Number of components at the beginning.
    score : float
        Held-out score of these, lower is better.
    needed : float
        Share by which more components must lower it.
    """

    def __init__(self, n_components: int, score: float, needed: float) -> None:
        self.best, self.needed = score, needed
        self._begin(n_components)

    def _begin(self, n_components: int) -> None:
        self.enough, self.few, self.stride = n_components, 0, max(1, n_components // 8)
        self.fine, self.worse, self.halving = (
            max(1, n_components // FINE),
            dict[int, float](),
            False,
        )

    def next(self) -> int | None:
        """The number to try; None where the number is found."""
        if self.enough - self.few > self.fine:
            midway = (self.enough + self.few) // 2
            return midway if self.few else max(self.enough - self.stride, 1)
        numbers = sorted(self.worse)
        if not numbers or numbers[0] == 1 or not self._is_open(numbers):
            return None
        self.halving = True
        return numbers[0] // 2

    def will_do(self, n_components: int, score: float) -> bool:
        """Note the score of a number; whether no other is better by what more must be worth."""
        self.best = min(self.best, score)
        if self.best < score * (1.0 - self.needed):
            self.worse[n_components] = score
            self.few = max(self.few, n_components)
            return False
        if n_components < self.few:
            self._begin(n_components)
        else:
            self.enough, self.stride = n_components, 2 * self.stride
        return True

    def _is_open(self, numbers: Sequence[int]) -> bool:
        """Whether these numbers, which would not do, leave it open if far fewer would."""
        scores = [self.worse[n] for n in numbers]
        if len(scores) == 1:
            return numbers[0] >= MANY or scores[0] < self.best * (1.0 + MUCH)
        pairs = list(itertools.pairwise(scores))
        return any(fewer < more for fewer, more in (pairs[:1] if self.halving else pairs))


class _Whole(NamedTuple):
    """A step with the rows and statistics of a sweep, which add up over components."""

    step: Step
    state: State
    stats: Stats


def _swept(data: Data, found: _Found) -> _Whole:
    step, state = found
    rows, stats, _ = data.sweep(expect, state.rows, step.model, state.params, step.temperature)
    return _Whole(step, state._replace(rows=rows), stats)


def _settled(
    search: _Search, whole: _Whole, merges: Sequence[tuple[int, int]]
) -> tuple[_Found, Trace]:
    """The step with components put together, after it has settled at its temperature."""
    step, state = _put_together(search.data, whole, merges)
    if step.model.n_components > search.growth.careful:
        search = search.brief()
    fit = search.run(step.model, state, Fixed(step.temperature))
    score = fit.trace[-1].heldout
    found = _Found(step._replace(params=fit.state.params, heldout=score), fit.state)
    return found, tuple(replace(record, phase=JOINING) for record in fit.trace)


def _put_together(data: Data, whole: _Whole, merges: Sequence[tuple[int, int]]) -> _Found:
    """The step with the second of each pair of components put to the first."""
    step, state, stats = whole
    into = {k: k for k in range(step.n_components)}
    for kept, gone in reversed(merges):
        into[gone] = into[kept]
    index = np.array([k for k, other in into.items() if k == other])
    summed = tuple((other, k) for k, other in into.items() if k != other)
    params, rows, stats = regrouped(data, state, stats, index, np.ones(len(index)), summed)
    model, tree = step.model.sized(len(index)), step.tree
    params, extra = model.maximize(stats, params, step.temperature, data.kernels)
    taken = [k for _, k in summed]
    tree = Branches(tree.parents, tree.temperatures, tree.leaves).without(taken).tree
    joined = Step(model, params, step.temperature, step.heldout, tree)
    return _Found(joined, State(params, rows, extra))


def _merges(weight: Array, table: Array) -> list[tuple[int, int]]:
    """Which component takes in which, most alike first: K - 1 pairs (kept, gone)."""
    return [(kept, gone) for kept, gone, _ in joins_by_columns(weight, table)]
