"""How many components, and what each split is about: figures and the part of the page."""

import copy
import dataclasses
from typing import Any

import numpy as np
import pytest

from isotherm import (
    AspectModel,
    Counts,
    Exponential,
    IsothermError,
    TwoSidedClustering,
)
from isotherm.estimators.fitted import branch_words, node_distributions
from isotherm.plots.growth import how_many
from support.corpora import mixture_of_unigrams

PLANTED = mixture_of_unigrams((80, 60), 3, (40, 80), 0.1, seed=2)
NAMES = [f"w{j}" for j in range(60)]
NAMES[int(PLANTED.table[:, 0].argmax())] = "<img src=x onerror=alert(1)>"
COUNTS = Counts(PLANTED.counts, column_names=NAMES)


@pytest.fixture(scope="module")
def model() -> Any:
    return AspectModel("auto", random_state=0).fit(COUNTS)


def test_curve_shows_every_number_and_marks_the_chosen_one() -> None:
    model = AspectModel("predict", random_state=0).fit(COUNTS)
    figure = how_many(model)
    ax = figure.axes[0]
    line = ax.lines[0]
    assert line.get_xdata().tolist() == [step.n_components for step in model.path_]
    assert line.get_ydata().tolist() == [step.heldout for step in model.path_]
    assert [text.get_text() for text in ax.texts] == ["3 chosen"]
    assert list(ax.lines[1].get_xdata()) == [3, 3]
    assert ax.get_xlabel() == "number of components"
    assert ax.get_title(loc="left") == "held-out perplexity"


def test_levels_are_marked_with_what_is_found_again(model: Any) -> None:
    finer = copy.copy(model)
    rest = dataclasses.replace(
        model.levels_[0],
        n_components=7,
        heldout=20.0,
        reproducibility=np.array([0.9, 0.9, 0.9, 0.1, 0.1, 0.1, 0.1]),
    )
    finer.levels_ = (model.levels_[0], rest)
    ax: Any = how_many(finer).axes[0]
    said = [text.get_text() for text in ax.texts]
    assert said == ["3 chosen", "3 of 3", "3 of 7"]
    first = (3, model.levels_[0].heldout)
    assert [tuple(line.get_xydata()[0]) for line in ax.lines[2:]] == [first, first, (7, 20.0)]
    assert ax.get_title(loc="left").endswith("how many components are found again")


def test_curve_is_drawn_into_a_given_figure(model: Any) -> None:
    from matplotlib.figure import Figure

    given = Figure()
    assert how_many(model, figure=given) is given
    assert len(given.axes) == 1


def test_nodes_are_means_of_what_is_below_them(model: Any) -> None:
    weights, tables = node_distributions(model)
    tree = model.topic_tree_
    assert tables.shape == (tree.n_nodes, 60)
    assert tables[0] == pytest.approx(model.weights_ @ model.components_)
    assert weights[0] == pytest.approx(1.0)
    for k, leaf in enumerate(tree.leaves):
        assert tables[leaf] == pytest.approx(model.components_[k])
    for node in range(tree.n_nodes):
        children = list(tree.children(node))
        if children:
            assert weights[node] == pytest.approx(weights[children].sum())
    _, splits = node_distributions(model, model.tree_)
    for k, leaf in enumerate(model.tree_.leaves):
        assert splits[leaf] == pytest.approx(model.components_[k])


def test_words_of_a_split_set_it_apart_from_the_branch_above(model: Any) -> None:
    words = branch_words(model, 4)
    _, tables = node_distributions(model)
    assert [len(list_) for list_ in words] == [4] * model.topic_tree_.n_nodes
    assert words[0][0] == NAMES[int(np.argmax(tables[0]))]
    for node, parent in enumerate(model.topic_tree_.parents):
        if parent >= 0:
            j = NAMES.index(words[node][0])
            assert tables[node][j] > tables[parent][j]


def test_without_held_out_data_there_is_a_tree_and_no_figure() -> None:
    grown = AspectModel(
        "auto",
        max_components=2,
        schedule=Exponential(0.8, end=1.3, margin=1.0),
        validation_fraction=0.0,
    ).fit(COUNTS)
    with pytest.raises(IsothermError, match="nothing was held out"):
        how_many(grown)
    assert grown.topic_tree_.n_leaves == 2


def test_a_given_number_has_a_tree_and_no_path() -> None:
    fixed = AspectModel(2, max_iter=3, random_state=0).fit(COUNTS)
    with pytest.raises(IsothermError, match="only one that grew"):
        how_many(fixed)
    assert len(branch_words(fixed)) == fixed.topic_tree_.n_nodes == 3


def test_what_has_no_tree_says_what_has() -> None:
    two = TwoSidedClustering(2, 2, max_iter=3, random_state=0).fit(COUNTS)
    for function in (branch_words, node_distributions):
        with pytest.raises(IsothermError, match="TwoSidedClustering has no tree of topics; give"):
            function(two)


def test_model_of_an_older_file_has_the_words_of_its_splits(model: Any) -> None:
    old = copy.copy(model)
    del old.topic_tree_
    assert branch_words(old) == branch_words(model, tree=model.tree_)
