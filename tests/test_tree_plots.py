"""Figures of trees: what is drawn is what the model says."""

import numpy as np
import pytest

from isotherm import AspectModel, HierarchicalClustering, IsothermError, TwoSidedClustering
from isotherm.estimators.fitted import branch_words
from isotherm.plots.trees import _layout, tree_words, word_spread
from isotherm.tree import Tree

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def model() -> HierarchicalClustering:
    X = np.kron(np.eye(4, dtype=int), np.full((6, 3), 8)) + 1
    X[:12] += 2 * np.kron([1] * 6 + [0] * 6, [1])
    return HierarchicalClustering(tree=[[0, 1], [2, 3]], random_state=0, verbose=False).fit(X)


def texts(figure: object) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def test_every_node_shows_its_words(model: HierarchicalClustering) -> None:
    figure = tree_words(model, n_words=2)
    shown = texts(figure)
    assert len(shown) == model.tree_.n_nodes
    words = model.node_words(2)
    for node, text in enumerate(shown):
        assert text.startswith(" ".join(words[node]))
    leaf = model.tree_.leaves[1]
    assert shown[leaf].endswith(f"({(model.labels_ == 1).sum()})")
    assert "4 leaves" in figure.axes[0].get_title(loc="left")


def test_topics_show_what_sets_branches_apart_and_how_alike_they_are() -> None:
    X = np.kron(np.eye(3, dtype=int), np.full((6, 3), 8)) + 1
    topics = AspectModel(3, random_state=0, verbose=False).fit(X)
    figure = tree_words(topics, n_words=2)
    words, tree = branch_words(topics, 2), topics.topic_tree_
    said = texts(figure)
    for k, leaf in enumerate(tree.leaves):
        words[leaf] = [topics.names_[k]]
    assert [text.split("  (")[0] for text in said] == [" ".join(one) for one in words]
    assert said[0].endswith(f"({tree.similarities[0]:.2g})")
    assert [said[leaf].endswith("(6)") for leaf in tree.leaves] == [True] * 3


def test_marks_are_as_large_as_shares(model: HierarchicalClustering) -> None:
    figure = word_spread(model, 0)
    sizes = figure.axes[0].collections[0].get_sizes()
    share = model.word_spread(0)
    assert (sizes - 4) / (sizes - 4).sum() == pytest.approx(share, abs=1e-9)
    assert len(texts(figure)) == (share >= 0.04).sum() > 0
    assert texts(figure)[0].startswith(f"{share[share >= 0.04][0]:.0%}")
    assert figure.axes[0].get_title(loc="left") == "tokens of 0, by node"


def test_places_of_nodes() -> None:
    layout = _layout(Tree.from_nested([[2, 0], 1]))
    # Nodes in order: root, inner, leaf 2, leaf 0, leaf 1.
    assert layout.x.tolist() == [0, 1, 2, 2, 1]
    assert layout.y.tolist() == [-1.25, -0.5, 0, -1, -2]


def test_a_given_figure_is_drawn_into(model: HierarchicalClustering) -> None:
    figure = tree_words(model)
    figure.clear()
    assert tree_words(model, figure=figure) is figure
    figure.clear()
    assert word_spread(model, 1, figure=figure) is figure


def test_refusals(model: HierarchicalClustering) -> None:
    with pytest.raises(IsothermError, match="str has no tree of nodes; give a fitted Hierarchical"):
        word_spread("model", 0)
    two = TwoSidedClustering(2, 2, max_iter=3, random_state=0).fit(np.eye(6, dtype=int) + 1)
    with pytest.raises(IsothermError, match="TwoSidedClustering has no tree of topics; give an"):
        tree_words(two)
    with pytest.raises(IsothermError, match="this HierarchicalClustering is not fitted yet"):
        word_spread(HierarchicalClustering(), 0)
    with pytest.raises(IsothermError, match="word is 99; give the number of a column, 0 to 11"):
        word_spread(model, 99)
