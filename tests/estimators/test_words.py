"""Words that tell: prominent in the rows of a component, and not in others."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from isotherm import AspectModel, Counts, HierarchicalClustering, load
from isotherm.estimators.fitted import branch_words
from isotherm.estimators.words import DOUBT, scores, telling, told_by, told_of_nodes
from isotherm.tree import Tree
from support.estimators import ESTIMATORS, data_of

# Words of four themes, two of each of two kinds; "said" is everywhere, and one row says "um" often.
WORDS = [
    *("stock", "price", "market", "court", "judge", "jury"),
    *("law", "money", "said", "um"),
]
THEMES = ((0, 7), (1, 7), (3, 6), (4, 6))


def planted(n_rows: int = 80) -> np.ndarray:
    rng = np.random.default_rng(0)
    table = np.zeros((n_rows, len(WORDS)), int)
    for i in range(n_rows):
        own, kind = THEMES[i % 4]
        table[i, own], table[i, kind] = rng.poisson(6) + 1, rng.poisson(4) + 1
        table[i, 8] = rng.poisson(9)
    table[0, 9] = 60
    return table


def fitted() -> AspectModel:
    counts = Counts(planted(), column_names=WORDS)
    return AspectModel(4, random_state=0, n_jobs=1).fit(counts)


def test_prominence_is_the_mean_that_it_says() -> None:
    X, model = planted(), fitted()
    usual = X.sum(axis=0) / X.sum()
    expected = X.sum(axis=1, keepdims=True) * usual
    more = np.where(X > 0, X / np.where(X > 0, X + expected, 1.0), 0.0)
    pure = model.row_weights_**2
    np.testing.assert_allclose(model.prominence_, pure.T @ more, rtol=1e-5)
    np.testing.assert_allclose(model.prominence_rows_, pure.sum(axis=0), rtol=1e-6)
    np.testing.assert_allclose(model.prominence_overall_, more.mean(axis=0), rtol=1e-5)


def test_a_row_of_weight_two_is_two_rows() -> None:
    X = planted()
    weight = np.where(np.arange(len(X)) < 10, 2.0, 1.0)
    model = AspectModel(4, random_state=0, n_jobs=1)
    once = model.fit(X, sample_weight=weight).prominence_overall_
    twice = model.fit(np.vstack([X, X[:10]])).prominence_overall_
    np.testing.assert_allclose(once, twice, rtol=1e-5)


def test_a_word_that_one_row_repeats_tells_less_than_one_that_many_rows_have() -> None:
    model = fitted()
    k = int(model.row_weights_[2::4].sum(axis=0).argmax())
    assert model.top_words(1, by="probability")[k] == ["said"]
    assert set(model.top_words(2)[k]) == {"court", "law"}
    assert model.prominence_overall_[8] > model.prominence_overall_[9] > 0


def test_names_and_words_are_by_the_same_scores() -> None:
    model = fitted()
    for name, words in zip(model.names_, model.top_words(5), strict=True):
        assert set(name.split(", ")) <= set(words)


def test_scores_are_as_written() -> None:
    table, rows = np.array([[3.0, 1.0, 0.0]]), np.array([4.0])
    overall, shown = np.array([0.25, 0.5, 0.25]), np.zeros((1, 3))
    found = scores(table, rows, overall, shown)[0]
    assert found[0] == pytest.approx((0.75 - 0.25) / np.sqrt(0.25 + DOUBT / 4))
    assert found[1] < 0
    assert np.isneginf(found[2])
    less = scores(table, rows, overall, shown, np.array([0.7, 0.1, 0.0]))[0]
    assert less[0] == pytest.approx((0.75 - 0.7) / np.sqrt(0.7 + DOUBT / 4))
    assert less[1] == found[1]


def test_what_is_as_all_rows_are_is_shown_by_what_is_frequent() -> None:
    overall, shown = np.array([0.2, 0.4]), np.array([[0.9, 0.1]])
    found = scores(np.array([[0.4, 0.8]]), np.array([2.0]), overall, shown)
    np.testing.assert_array_equal(found, shown)
    one = AspectModel(1, random_state=0).fit(planted())
    assert one.top_words(3) == one.top_words(3, by="probability")


def test_words_of_a_node_tell_it_from_the_one_beside_it() -> None:
    model = fitted()
    leaves = [int(model.row_weights_[theme::4].sum(axis=0).argmax()) for theme in range(4)]
    tree = Tree.from_nested([leaves[:2], leaves[2:]])
    words = branch_words(model, 2, tree)
    (trade, law) = tree.children(0)
    assert words[0][0] == "said"
    assert words[trade][0] == "money"
    assert words[law][0] == "law"
    for leaf, word in zip(leaves, ("stock", "price", "court", "judge"), strict=True):
        node = tree.leaves[leaf]
        # What both have is said above them.
        assert words[node][0] == word


def test_nodes_of_a_hierarchy_are_told_from_each_other_by_default() -> None:
    counts = Counts(planted(), column_names=WORDS)
    model = HierarchicalClustering(tree=[[0, 1], [2, 3]], random_state=0, n_jobs=1).fit(counts)
    table = np.array(list(told_of_nodes(model, model.tree_)))
    words = model.node_words(1)
    assert [[WORDS[j]] for j in table.argmax(axis=1)] == words
    assert words[0] == model.node_words(1, by="probability")[0] == ["said"]
    assert {word for node in range(1, 7) for word in words[node]}.isdisjoint({"said", "um"})


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "map"])
def test_every_model_knows_what_is_prominent(name: str) -> None:
    model = clone(ESTIMATORS[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.set_params(random_state=0).fit(data_of(model))
    K, J = model.components_.shape
    assert model.prominence_.shape == (K, J)
    assert model.prominence_rows_.shape == (K,)
    assert told_by(model).shape == (K, J)
    mean = model.prominence_ / np.maximum(model.prominence_rows_[:, None], 1e-300)
    assert ((mean >= 0) & (mean <= 1)).all()


def test_models_of_older_files_tell_by_their_distributions() -> None:
    model = fitted()
    for name in ("prominence_", "prominence_rows_", "prominence_overall_"):
        delattr(model, name)
    expected = telling(model.components_, model.background_, model.components_)
    np.testing.assert_array_equal(told_by(model), expected)
    tree = model.topic_tree_
    assert len(list(told_of_nodes(model, tree))) == tree.n_nodes
    assert branch_words(model, 1)[0] == ["said"]


def test_a_file_keeps_what_is_prominent(tmp_path: Path) -> None:
    model = fitted()
    again = load(model.save(tmp_path / "a.iso"))
    assert again.top_words(5) == model.top_words(5)
    assert again.prominence_.dtype == np.float32


def test_sparse_counts_say_the_same() -> None:
    dense = AspectModel(4, random_state=0, n_jobs=1).fit(planted())
    thin = AspectModel(4, random_state=0, n_jobs=1).fit(sparse.csr_array(planted()))
    np.testing.assert_array_equal(dense.prominence_, thin.prominence_)
