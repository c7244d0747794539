"""The tree of a growing run: splits, and components that fall together again."""

import math

import numpy as np
import pytest

from isotherm.anneal.growth.branches import Branches


def shape(branches: Branches, node: int = 0) -> object:
    """Nested sets of components: the tree without its numbering."""
    children = [n for n, parent in enumerate(branches.parents) if parent == node]
    if not children:
        return branches.leaves.index(node)
    return frozenset(shape(branches, child) for child in children)


def test_a_run_begins_with_one_component() -> None:
    assert shape(Branches()) == 0
    assert Branches().siblings() == {}


def test_new_halves_follow_the_last_component() -> None:
    grown = Branches().split([0], 9.0).split([1, 0], 4.0)
    assert shape(grown) == frozenset({frozenset({0, 3}), frozenset({1, 2})})
    assert grown.siblings() == {0: 3, 3: 0, 1: 2, 2: 1}
    tree = grown.tree
    assert [tree.temperatures[tree.parents[leaf]] for leaf in tree.leaves] == [4.0] * 4
    assert tree.temperatures[0] == 9.0


def test_half_of_an_inner_node_is_no_sibling() -> None:
    assert Branches().split([0], 9.0).split([0], 4.0).siblings() == {0: 2, 2: 0}


def test_a_pair_that_falls_together_is_what_it_was() -> None:
    before = Branches().split([0], 9.0).split([1], 4.0)
    after = before.split([0, 2], 2.0).without([3, 4])
    assert after.parents == before.parents
    assert after.leaves == before.leaves
    assert np.allclose(after.temperatures, before.temperatures, equal_nan=True)


def test_what_is_left_of_an_inner_node_takes_its_place() -> None:
    grown = Branches().split([0], 9.0).split([1], 4.0)  # {0, {1, 2}}
    left = grown.without([0])
    assert shape(left) == frozenset({0, 1})
    assert left.temperatures[0] == 4.0
    assert shape(grown.without([1])) == frozenset({0, 1})
    assert grown.without([1]).temperatures[0] == 9.0
    assert shape(grown.without([0, 2])) == 0


@pytest.mark.parametrize("seed", range(20))
def test_any_history_leaves_a_tree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    branches, temperature = Branches(), 64.0
    for _ in range(12):
        K = len(branches.leaves)
        temperature *= 0.9
        if rng.uniform() < 0.6 or K < 3:
            chosen = rng.choice(K, rng.integers(1, K + 1), replace=False).tolist()
            branches = branches.split(chosen, temperature)
            assert len(branches.leaves) == K + len(chosen)
        else:
            chosen = rng.choice(K, rng.integers(1, K), replace=False).tolist()
            branches = branches.without(chosen)
            assert len(branches.leaves) == K - len(chosen)
        tree = branches.tree
        assert tree.n_nodes == 2 * len(tree.leaves) - 1
        for node, parent in enumerate(tree.parents):
            inner = node in tree.parents
            assert inner != math.isnan(tree.temperatures[node])
            if inner and parent >= 0:
                assert tree.temperatures[node] < tree.temperatures[parent]
