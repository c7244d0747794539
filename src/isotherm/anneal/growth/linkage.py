"""Which components belong together, from below: by the rows that they share, or by their columns.

Where every token has its own component, rows mix components, and those that meet in the same rows
belong together. Where every row has one component hardly any row is shared, and components whose
columns are alike belong together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from isotherm import _nested
from isotherm._types import Params, RowStates
from isotherm.data.base import Array, Block
from isotherm.kernels.base import Kernels
from isotherm.models.base import CountModel
from isotherm.placement.base import Data, Expected, RowsHandle
from isotherm.tree import Tree

# Similarities are told to this, so that those that are equal but for rounding are equal.
GRAIN = 2.0**-30


class Join(NamedTuple):
    """Component `gone` and all that has joined it join `kept`, which is `apart` from it."""

    kept: int
    gone: int
    apart: float


class _Meetings(NamedTuple):
    together: Array


def met(model: CountModel, params: Params, rows: RowsHandle, data: Data) -> Array:
    """How many tokens of each two components meet in rows, C = W' diag(n) W, (K, K).

    W (I, K) are the weights of the components in the rows, n (I,) the tokens of the rows. Whatever
    blocks the rows are in, sums over them add up.
    """
    _, stats, _ = data.sweep(_meetings, rows, model, params)
    return np.asarray(stats.together)


def lift(together: Array) -> Array:
    """How many times as often as by chance components meet, (K, K): C_ab / (n_a n_b / N).

    A token of a row of a is in b C_ab / n_a of the time, and any token n_b / N of it. Components
    without tokens meet none.
    """
    mass = together.sum(axis=1)
    chance = np.outer(mass, mass) / max(float(mass.sum()), 1e-300)
    found = np.divide(together, chance, out=np.zeros_like(together), where=chance > 0)
    return np.asarray(np.rint(found / GRAIN) * GRAIN)


def joins_by_rows(together: Array) -> list[Join]:
    """K - 1 joins of components that meet most in rows; `apart` is minus the lift.

    The lift of two groups is the mean over pairs of their components, by tokens: that is what it
    would be if the components of each group were one.
    """

    def mean(a: Array, b: Array, _: float, share: tuple[float, float, Array]) -> Array:
        heavy = max(share[0] + share[1], 1e-300)
        return np.asarray((share[0] * a + share[1] * b) / heavy)

    return _joined(together.sum(axis=1), -lift(together), mean)


def joins_by_columns(weight: Array, table: Array) -> list[Join]:
    """K - 1 joins of components with the most similar columns (J, K).

    Ward's criterion on the roots of the distributions, whose squared distance is twice that of
    Hellinger: joining i and j costs w_i w_j / (w_i + w_j) |sqrt(p_i) - sqrt(p_j)|^2.
    """
    roots = np.sqrt(np.asarray(table, np.float64))
    mass = np.maximum(weight, 1e-300).astype(np.float64)  # what is dead joins at once, and no NaN
    near = roots.T @ roots
    square = np.diag(near)[:, None] + np.diag(near) - 2.0 * near
    cost = np.outer(mass, mass) / np.maximum(np.add.outer(mass, mass), 1e-300) * square

    def ward(a: Array, b: Array, between: float, share: tuple[float, float, Array]) -> Array:
        i, j, others = share
        new = (i + others) * a + (j + others) * b - others * between
        return np.asarray(new / np.maximum(i + j + others, 1e-300))

    return _joined(mass, cost, ward)


def _joined(mass: Array, apart: Array, update: Callable[..., Array]) -> list[Join]:
    """Nearest pairs first, lower indices on ties; `update` says how far others are from a pair."""
    mass, apart = np.array(mass, np.float64), np.array(apart, np.float64)
    np.fill_diagonal(apart, np.inf)
    alive = np.ones(len(mass), bool)
    # How far each is from the one nearest to it: most of these stay as they are.
    nearest = apart.min(axis=1)
    joins = []
    for _ in range(len(mass) - 1):
        i = int(np.argmin(nearest))
        i, j = sorted((i, int(np.argmin(apart[i]))))
        joins.append(Join(i, j, float(apart[i, j])))
        alive[[i, j]] = False
        others = np.flatnonzero(alive)
        to_i, to_j = apart[i, others], apart[j, others]
        lost = others[np.minimum(to_i, to_j) <= nearest[others]]
        new = update(to_i, to_j, joins[-1].apart, (float(mass[i]), float(mass[j]), mass[others]))
        apart[i, others] = apart[others, i] = new
        apart[j], apart[:, j] = np.inf, np.inf
        apart[i, j] = apart[j, i] = np.inf
        nearest[others] = np.minimum(nearest[others], new)
        nearest[lost] = apart[lost].min(axis=1)
        nearest[i], nearest[j] = apart[i].min(), np.inf
        mass[i] += mass[j]
        alive[i] = True
    return joins


def tree_by_rows(together: Array) -> Tree:
    """Tree of components by the rows they share; the similarity of a node is a lift."""
    joins = joins_by_rows(together)
    return tree_of(joins, [-one.apart for one in joins])


def tree_by_columns(weight: Array, table: Array) -> Tree:
    """Tree of components by their columns.

    The similarity of a node is the share of all differences between components that is left where
    its branches are one.
    """
    joins = joins_by_columns(weight, table)
    costs = [max(one.apart, 0.0) for one in joins]
    return tree_of(joins, [1.0 - cost / max(sum(costs), 1e-300) for cost in costs])


def tree_of(joins: list[Join], similarities: list[float]) -> Tree:
    """The tree of K - 1 joins, whose similarities never rise towards the root."""
    parents, leaves, known = [-1], {0: 0}, [np.nan]
    least = np.minimum.accumulate(np.maximum(similarities, 0.0))
    for one, value in zip(reversed(joins), reversed(least.tolist()), strict=True):
        node, first = leaves[one.kept], len(parents)
        known[node] = value
        parents += [node, node]
        known += [np.nan, np.nan]
        leaves[one.kept], leaves[one.gone] = first, first + 1
    return Tree(tuple(parents), tuple(leaves[k] for k in sorted(leaves)), (), tuple(known))


def _meetings(
    k: Kernels, block: Block, rows: RowStates, model: CountModel, params: Params
) -> Expected[tuple[()], _Meetings]:
    weights = np.asarray(_nested.on_host(model.mixture(params, rows)).weights, np.float64)
    heavy = np.asarray(block.row_totals * block.weight, np.float64)
    return Expected((), _Meetings(weights.T @ (weights * heavy[:, None])), 0.0)
