"""Growing: components split where they lose their stability, and the splits make a tree.

A run begins with one component. Before each new temperature every component whose critical
temperature has been reached becomes two, pushed apart along its critical direction; those that do
not come apart are merged again. Statistics and rows add up over components as they do over blocks,
so a split is two halves of a column and a merge is the sum of two: no model is asked how.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from isotherm import _nested
from isotherm._nested import T
from isotherm._types import Params, RowStates, Stats
from isotherm.anneal.critical import component_splits
from isotherm.anneal.run_state import RunState, Solution
from isotherm.anneal.trace import Record, State, Step
from isotherm.data.base import Array, Block
from isotherm.errors import IsothermError
from isotherm.kernels.base import Kernels
from isotherm.models.base import GrowingModel, inverse, leaders
from isotherm.placement.base import Data, Expected, RowsHandle
from isotherm.tree import Tree

# Largest relative push of a probability, as a logarithm.
LARGEST = 3.0
# Few rows stay a component if they have the tokens of so many times as many.
LONG = 5.0
# Probabilities below this are as good as none.
NEVER = 1e-30


@dataclass(frozen=True)
class Growth:
    """How components split.

    Parameters
    ----------
    max_components : int
    push : float
        How far the halves of a component are pushed apart: root mean square, under the component,
        of the logarithmic move of its probabilities.
    resolved : float
        A component splits only if it differs from its sibling by this total variation.
    merged : float
        Components whose total variation is less are one again.
    min_size : float
        A component that holds less than this many rows joins its other half again, unless they
        are as long as five times as many: then it would be the same two halves for ever.
    gain : float
        More components are better only if they lower the held-out score by this share of it,
    nats : float
        and if that is worth this many nats over all held-out tokens: with few of them, chance is
        worth more than a component.
    careful : int
        Fewer components than this settle more closely, in proportion to their number: what comes
        later inherits from them, and they cost little. Twice as many settle half as closely.
    look : int
        Where there is no room for more components, a temperature is left as soon as the held-out
        score has risen; it is looked at every so many sweeps.
    """

    max_components: int = 256
    push: float = 0.5
    resolved: float = 0.2
    merged: float = 0.01
    min_size: float = 2.0
    gain: float = 3e-3
    nats: float = 8.0
    careful: int = 64
    look: int = 5

    def needed(self, n_tokens: float) -> float:
        """Share by which more components must lower a score over so many held-out tokens."""
        return max(self.gain, 1.0 - math.exp(-self.nats / max(n_tokens, 1.0)))

    @property
    def enough(self) -> int:
        """Number of components above which there is no room left that is worth probing for."""
        return self.max_components - self.max_components // 16

    def closeness(self, n_components: int) -> float:
        """Factor on the tolerance with so many components."""
        return min(2.0, n_components / self.careful)

    def __post_init__(self) -> None:
        """Refuse settings with which nothing would grow."""
        if not (self.max_components >= 1 and self.push > 0 and self.min_size >= 0):
            raise IsothermError(
                f"max_components is {self.max_components}, push {self.push} and min_size "
                f"{self.min_size}; needed are at least 1, above 0 and at least 0"
            )
        if not self.careful >= 1:
            raise IsothermError(
                f"careful is {self.careful}; it is a number of components, at least 1"
            )
        if not (0 <= self.merged <= 1 and 0 <= self.resolved <= 1):
            raise IsothermError(
                f"merged is {self.merged} and resolved {self.resolved}; both are total variations "
                "of distributions, between 0 and 1"
            )
        if not (0 <= self.gain < 1 and self.nats >= 0):
            raise IsothermError(
                f"gain is {self.gain} and nats {self.nats}; the first is a share of the held-out "
                "score, at least 0 and below 1, the second is at least 0"
            )

    # As `Components`: what the engine asks where components grow.

    @property
    def reads_stats(self) -> bool:
        """Splits and merges are made of statistics."""
        return True

    def next(
        self, run: RunState, data: Data, rng: np.random.Generator, temperature: float
    ) -> RunState:
        """Components that are unstable at the next temperature are split."""
        return split(self, run, data, temperature)

    def joined(self, run: RunState, data: Data) -> RunState | None:
        """Components that fell together are one again; None where there were none."""
        return merge(self, run, data)

    def look_every(self, run: RunState, otherwise: int) -> int:
        """Once there is no room left, a risen score ends a temperature."""
        trace = run.fit.trace
        full = bool(trace) and run.model.n_components == trace[-1].n_components >= self.enough
        return self.look if full else otherwise

    def tree(self, solution: Solution) -> Tree | None:
        """The splits that led to the components."""
        return solution.branches.tree

    def path(self, run: RunState, record: Record) -> tuple[Step, ...]:
        """The path with this temperature; of each number of components the best is kept."""
        path, tree = run.fit.path, run.branches.tree
        step = Step(run.model, run.state.params, record.temperature, record.heldout, tree)
        same = [one for one in path if one.n_components == step.n_components]
        if same and same[0].heldout < step.heldout:
            return path
        others = [one for one in path if one.n_components != step.n_components]
        return tuple(sorted([*others, step], key=lambda one: one.n_components))

    def entropy(self, solution: Solution) -> float:
        """Entropy of the weights of the components, in nats."""
        return entropy(solution.model.components(solution.state.params)[0])


def split(growth: Growth, run: RunState, data: Data, temperature: float) -> RunState:
    """The state of the last temperature with every component split that is unstable at the next."""
    model: GrowingModel = run.model
    state, stats = run.state, run.stats
    weight, table = model.components(state.params)
    K = len(weight)
    able = _able(growth, run, data) if growth.enough > K else []
    if not able:
        return run
    which = np.array(able)
    least = least_share(growth, weight[which] * data.summary.row_weight)
    splits = component_splits(model, data, state, run.temperature, which, temperature, least)
    order = np.argsort(-splits.temperatures, kind="stable")
    order = order[splits.temperatures[order] >= temperature][: growth.max_components - K]
    if not len(order):
        return run
    which = splits.components[order]
    index = np.concatenate([np.arange(K), which])
    share = np.ones(len(index))
    share[which], share[K:] = 0.5, 0.5
    model = model.sized(len(index))
    params, rows, stats = regrouped(data, state, stats, index, share)
    params, _ = model.maximize(stats, params, temperature, data.kernels)
    moves = np.zeros((len(table), len(index)), table.dtype)
    moves[:, which] = moves_along(splits.directions[:, order], table[:, which], growth.push)
    moves[:, K:] = -moves[:, which]
    params = model.pushed(params, moves)
    state = State(params, rows, model.prior_energy(params, data.summary))
    branches = run.branches.split(which.tolist(), temperature)
    return replace(run, model=model, state=state, stats=stats, branches=branches)


def least_share(growth: Growth, rows: Array) -> Array:
    """Least share of components of so many rows (C,) that may come apart from the rest of them.

    What is too small is merged with the rest again. A tempered prior keeps halves of equal size:
    less than half of `resolved` would make two that are nearly one and never split again.
    """
    return np.maximum(0.5 * growth.resolved, growth.min_size / np.maximum(rows, growth.min_size))


def _able(growth: Growth, run: RunState, data: Data) -> list[int]:
    """Components that are large enough to split, and clearly not their sibling."""
    weight, table = run.model.components(run.state.params)
    sibling = run.branches.siblings()
    large = np.flatnonzero(weight * data.summary.row_weight >= 2.0 * growth.min_size)
    return [
        int(c)
        for c in large
        if int(c) not in sibling or _variation(table, int(c), sibling[int(c)]) >= growth.resolved
    ]


def merge(growth: Growth, run: RunState, data: Data) -> RunState | None:
    """The settled state without components that are no more; None if all of them stay.

    A component that coincides with another joins it, and so does one that is too small its other
    half. A row that is as long as many stays: the others could not split for it, since whatever
    they are divided by, halves of one and of all others are better.
    """
    model: GrowingModel = run.model
    weight, table = model.components(run.state.params)
    joins = leaders(weight, table, 2.0 * growth.merged)
    small = weight * data.summary.row_weight < growth.min_size
    if small.any():
        small &= _lengths(run, data) < LONG * growth.min_size
    for c, other in run.branches.siblings().items():
        if small[c] and (c > other or not small[other]) and joins[other] == other:
            joins[c] = other
    while (joins != joins[joins]).any():
        joins = joins[joins]
    gone = [c for c in range(len(weight)) if joins[c] != c]
    if not gone:
        return None
    index = np.array([c for c in range(len(weight)) if joins[c] == c])
    summed = tuple((int(joins[c]), c) for c in gone)
    params, rows, stats = regrouped(data, run.state, run.stats, index, np.ones(len(index)), summed)
    model = model.sized(len(index))
    params, extra = model.maximize(stats, params, run.temperature, data.kernels)
    state, branches = State(params, rows, extra), run.branches.without(gone)
    return replace(run, model=model, state=state, stats=stats, branches=branches)


class _Tokens(NamedTuple):
    tokens: Array


def _lengths(run: RunState, data: Data) -> Array:
    """How many rows, as long as they are in the mean, have the tokens of each component, (K,)."""
    _, sums, _ = data.sweep(_count, run.state.rows, run.model, run.state.params)
    return np.asarray(sums.tokens * data.summary.row_weight / data.summary.total)


def _count(
    k: Kernels, block: Block, rows: RowStates, model: GrowingModel, params: Params
) -> Expected[tuple[()], _Tokens]:
    weights = np.asarray(_nested.on_host(model.mixture(params, rows)).weights, np.float64)
    return Expected((), _Tokens((block.row_totals * block.weight) @ weights), 0.0)


def entropy(weight: Array) -> float:
    """Entropy of weights (K,) in nats: what knowing the components is worth at most, per token."""
    share = weight[weight > 0] / weight.sum()
    return max(0.0, -float((share * np.log(share)).sum()))


def _variation(table: Array, a: int, b: int) -> float:
    """Total variation of two distributions of a table (J, K)."""
    return 0.5 * float(np.abs(table[:, a] - table[:, b]).sum(dtype=np.float64))


def moves_along(directions: Array, table: Array, push: float) -> Array:
    """Logarithmic moves (J, C) along critical directions: g = v / sqrt(p), of size `push`."""
    p = table.astype(np.float64)
    # Probabilities that have all but died out have no say in the size of the push.
    change = directions * inverse(np.sqrt(np.where(p > NEVER, p, 0.0)))
    size = np.sqrt((p * change**2).sum(axis=0))
    return np.clip(push * change / np.where(size > 0, size, 1.0), -LARGEST, LARGEST)


def regrouped(
    data: Data,
    state: State,
    stats: Stats,
    index: Array,
    share: Array,
    summed: tuple[tuple[int, int], ...] = (),
) -> tuple[Params, RowsHandle, Stats]:
    """Parameters, rows and statistics with components taken, shared out and added up."""
    rows, _, _ = data.sweep(_regroup_rows, state.rows, index, share, summed)
    return (
        _nested.take(state.params, index),
        rows,
        _regroup(stats, index, share, summed),
    )


def _regroup_rows(
    k: Kernels,
    block: Block,
    rows: RowStates,
    index: Array,
    share: Array,
    summed: tuple[tuple[int, int], ...],
) -> Expected[RowStates, tuple[()]]:
    return Expected(_regroup(rows, index, share, summed), (), 0.0)


def _regroup(value: T, index: Array, share: Array, summed: tuple[tuple[int, int], ...]) -> T:
    """Components `index` times `share`; before that the second of each pair joins the first."""

    def one(array: Array) -> Array:
        taken = np.take(array, index, axis=-1) * share.astype(array.dtype)
        place = {int(c): i for i, c in enumerate(index)}
        for old, new in summed:
            taken[..., place[old]] += array[..., new]
        return np.asarray(taken)

    return _nested.apply(one, value)
