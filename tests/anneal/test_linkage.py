"""Trees of components from below: by the rows that they share, and by their columns."""

import itertools
from typing import Any

import numpy as np
import pytest

from isotherm.anneal.growth.linkage import (
    joins_by_columns,
    joins_by_rows,
    lift,
    met,
    tree_by_columns,
    tree_by_rows,
)
from isotherm.anneal.start import Noisy
from isotherm.data.counts import Counts
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.aspect import Aspect
from isotherm.placement.local import Local
from support.corpora import mixture_of_unigrams

RNG = np.random.default_rng(3)
WEIGHTS = RNG.dirichlet(np.full(7, 0.3), 60)
TOKENS = RNG.integers(1, 90, 60).astype(float)
TOGETHER = WEIGHTS.T @ (WEIGHTS * TOKENS[:, None])


def joined_by_hand(cost: Any, n: int) -> list[tuple[int, int]]:
    """Pairs that are joined one after the other, by a cost of two groups of components."""
    groups = {k: [k] for k in range(n)}
    found = []
    while len(groups) > 1:
        pairs = itertools.combinations(sorted(groups), 2)
        i, j = min(pairs, key=lambda pair: cost(groups[pair[0]], groups[pair[1]]))
        groups[i] += groups.pop(j)
        found.append((i, j))
    return found


def test_groups_meet_as_often_as_if_they_were_one() -> None:
    def apart(a: list[int], b: list[int]) -> float:
        tokens = TOGETHER.sum(axis=1)
        chance = tokens[a].sum() * tokens[b].sum() / tokens.sum()
        return -float(TOGETHER[np.ix_(a, b)].sum() / chance)

    joins = joins_by_rows(TOGETHER)
    assert [(kept, gone) for kept, gone, _ in joins] == joined_by_hand(apart, 7)
    tokens = TOGETHER.sum(axis=1)
    expected = TOGETHER * tokens.sum() / np.outer(tokens, tokens)
    np.testing.assert_allclose(lift(TOGETHER), expected, rtol=1e-6)


def test_sizes_count_where_columns_are_compared() -> None:
    table = RNG.dirichlet(np.full(12, 0.4), 9).T
    weight = np.array([0.4, 0.01, 0.2, 0.02, 0.15, 0.01, 0.01, 0.1, 0.1])
    roots = np.sqrt(table)

    def cost(a: list[int], b: list[int], size: Any = weight) -> float:
        one, two = (roots[:, g] @ size[g] / size[g].sum() for g in (a, b))
        both = size[a].sum() * size[b].sum() / (size[a].sum() + size[b].sum())
        return float(both * ((one - two) ** 2).sum())

    joins = joins_by_columns(weight, table)
    by_hand = joined_by_hand(cost, 9)
    assert [(kept, gone) for kept, gone, _ in joins] == by_hand
    assert by_hand != joined_by_hand(lambda a, b: cost(a, b, np.ones(9)), 9)
    apart = [one.apart for one in joins]
    assert apart == sorted(apart)


def test_similarities_fall_towards_the_root() -> None:
    for tree in (
        tree_by_rows(TOGETHER),
        tree_by_columns(np.full(5, 0.2), RNG.dirichlet(np.ones(8), 5).T),
    ):
        assert sorted(tree.leaves) == [n for n in range(tree.n_nodes) if not tree.children(n)]
        for node, parent in enumerate(tree.parents[1:], 1):
            if tree.children(node):
                assert tree.similarities[node] >= tree.similarities[parent] >= 0.0
        assert len(tree.cut(3)) == 3
    assert tree.similarities[0] < 1.0
    assert sum(1.0 - one for one in tree.similarities if one == one) == pytest.approx(1.0)


def test_cuts_of_the_tree_are_its_joins() -> None:
    tree, joins = tree_by_rows(TOGETHER), joins_by_rows(TOGETHER)
    groups = {k: {k} for k in range(7)}
    for n, (kept, gone, _) in zip(range(6, 0, -1), joins, strict=True):
        groups[kept] |= groups.pop(gone)
        assert {frozenset(group) for group in tree.cut(n)} == {
            frozenset(g) for g in groups.values()
        }


def test_one_component_and_one_without_tokens() -> None:
    assert tree_by_rows(np.ones((1, 1))).n_nodes == 1
    assert tree_by_columns(np.ones(1), np.ones((3, 1)) / 3).similarities != ()
    dead = np.zeros((3, 3))
    dead[:2, :2] = [[4.0, 1.0], [1.0, 4.0]]
    tree = tree_by_rows(dead)
    assert {frozenset(group) for group in tree.cut(2)} == {frozenset({0, 1}), frozenset({2})}


def test_meetings_do_not_depend_on_blocks() -> None:
    counts = Counts(mixture_of_unigrams((50, 30), 3, (20, 40), 0.1, seed=1).counts)
    model, found = Aspect(3), []
    weight = np.where(np.arange(50) % 2, 2.0, 1.0)
    for n_blocks in (1, 4):
        data = Local.place(counts, Cpu("float64"), n_blocks=n_blocks, weight=weight)
        state = Noisy().state(model, data, np.random.default_rng(0))
        rows, _, _ = data.sweep(_expect, state.rows, model, state.params)
        found.append(met(model, state.params, rows, data))
        mixed = np.concatenate([model.mixture(state.params, one).weights for one in rows])
        tokens = counts.row_totals * weight
        np.testing.assert_allclose(found[-1], mixed.T @ (mixed * tokens[:, None]))
    np.testing.assert_allclose(found[0], found[1])
    assert tree_by_rows(found[0]).parents == tree_by_rows(found[1]).parents


def _expect(k: Any, block: Any, rows: Any, model: Any, params: Any) -> Any:
    return model.expect(params, rows, block, 1.0, k)
