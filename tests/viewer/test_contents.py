"""What the page is told of topics, tree and annealing is what the model says."""

import copy
import math
from types import SimpleNamespace

import numpy as np
import pytest

from isotherm import Counts, evaluate
from isotherm.anneal.trace import way
from isotherm.estimators.fitted import branch_words, node_distributions
from isotherm.maps.corpus import Cooling
from isotherm.viewer.parts import contents
from viewer import corpora

NAMES = [str(name) for name in corpora.counts().column_names]


def test_words_of_topics_by_probability_and_by_lift() -> None:
    model = corpora.grown()
    told = contents.topics_of(model, NAMES, corpora.counts())
    by_p, by_lift = model.top_words(20), model.top_words(20, by="lift")
    column = {name: j for j, name in enumerate(NAMES)}
    assert len(told) == len(model.weights_)
    for k, topic in enumerate(told):
        assert [word for word, _ in topic["words"]] == by_p[k]
        assert topic["name"] == ", ".join(by_p[k][:3])
        for word, p in topic["words"]:
            assert p == pytest.approx(model.components_[k, column[word]], rel=1e-3)
        assert {word for word, _ in topic["lift"]} == set(by_lift[k])
        ratios = [ratio for _, ratio in topic["lift"]]
        assert ratios == sorted(ratios, reverse=True)
        for word, ratio in topic["lift"]:
            j = column[word]
            assert ratio == pytest.approx(model.components_[k, j] / model.unigram_[j], rel=1e-3)
        assert topic["size"] == model.weights_[k]
        assert topic["node"] == model.topic_tree_.leaves[k]


def test_coherence_is_that_of_evaluate() -> None:
    model, counts = corpora.grown(), corpora.counts()
    expected = evaluate.coherence(model, counts, "npmi", 10).per_topic
    told = contents.topics_of(model, NAMES, counts)
    for topic, value in zip(told, expected, strict=True):
        assert topic["coherence"] == pytest.approx(value, rel=1e-3)
    assert contents.topics_of(model, NAMES, None)[0]["coherence"] is None


def test_coherence_of_many_counts_looks_at_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    model, counts = corpora.grown(), corpora.counts()
    monkeypatch.setattr(contents, "COHERENCE_WORK", counts.nnz // 3)
    part = counts.take_rows(np.arange(0, counts.n_rows, 4))
    expected = evaluate.coherence(model, part, "npmi", 10).per_topic
    told = [topic["coherence"] for topic in contents.topics_of(model, NAMES, counts)]
    np.testing.assert_allclose(told, expected, rtol=1e-3)


def test_coherence_where_no_word_is_there() -> None:
    model = corpora.grown()
    table = np.zeros_like(model.components_)
    table[:, 0] = 1.0
    nowhere = SimpleNamespace(components_=table)
    matrix = np.zeros((2, len(NAMES)))
    matrix[:, 5] = 1.0
    assert contents._coherence(nowhere, Counts(matrix)) == [None] * len(table)


def test_similar_topics_are_nearest_first() -> None:
    model = corpora.grown()
    alike = evaluate.similarities(model.components_, model.components_, "hellinger")
    for k, topic in enumerate(contents.topics_of(model, NAMES, None)):
        others = [j for j in np.argsort(-alike[k]) if j != k][:5]
        assert [j for j, _ in topic["similar"]] == others
        assert topic["similar"][0][1] == pytest.approx(alike[k, others[0]], rel=1e-3)


def test_a_map_alone_has_words_without_probabilities() -> None:
    given = corpora.mapped(2).map
    told = contents.topics_of_map(given)
    assert [tuple(word for word, _ in topic["words"]) for topic in told] == list(given.top_words)
    assert all(p is None for topic in told for _, p in topic["words"])
    assert [topic["size"] for topic in told] == given.topic_sizes.tolist()


def test_words_without_any_probability_are_left_out() -> None:
    values = np.array([0.0, 0.7, 0.3, 0.0])
    assert contents.listed(values, list("abcd"), 3) == [("b", 0.7), ("c", 0.3)]
    assert contents.listed(np.full(4, 0.25), list("abcd"), 2) == [("a", 0.25), ("b", 0.25)]


# The tree ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("old", [False, True], ids=["of topics", "of an older file"])
def test_tree_of_topics_or_of_splits(old: bool) -> None:
    model = copy.copy(corpora.grown())
    splits = model.tree_
    if old:
        del model.topic_tree_
    told = contents.tree_meta(model, NAMES)
    weights, tables = node_distributions(model)
    tree = splits if old else model.topic_tree_
    assert told is not None
    assert told["kind"] == ("splits" if old else "topics")
    assert told["splits"] == sorted({t for t in splits.temperatures if t == t}, reverse=True)
    known = [None if math.isnan(one) else one for one in tree.similarities]
    assert told["similarities"] == known
    assert told["meaning"].startswith("how many times as often as by chance")
    assert told["parents"] == list(tree.parents)
    for node in range(tree.n_nodes):
        t = tree.temperatures[node]
        assert told["temperatures"][node] == (None if math.isnan(t) else t)
        assert told["components"][node] == tree.component(node)
        assert told["sizes"][node] == pytest.approx(weights[node])
        for word, p in told["words"][node]:
            assert p == pytest.approx(tables[node, NAMES.index(word)], rel=1e-3)
    # Those of the report, which tells nodes by what sets them apart as well.
    expected = branch_words(model, 10)
    for node in range(tree.n_nodes):
        shown = [word for word, _ in told["words"][node]]
        assert shown == expected[node][: len(shown)]
        assert shown


def test_tree_of_a_hierarchy_has_words_of_its_own() -> None:
    model = corpora.hierarchy()
    told = contents.tree_meta(model, NAMES)
    assert told is not None
    assert told["kind"] == "hierarchy"
    shown = [[word for word, _ in words] for words in told["words"]]
    assert shown == [
        [word for word in words if model.node_components_[node, NAMES.index(word)] > 0]
        for node, words in enumerate(model.node_words(10))
    ]
    assert told["sizes"][0] == pytest.approx(1.0)


def test_a_fixed_number_of_topics_has_a_tree_without_splits() -> None:
    model = corpora.fixed().model
    told = contents.tree_meta(model, NAMES)
    assert told is not None
    assert told["kind"] == "topics"
    assert told["splits"] == []
    nodes = [topic["node"] for topic in contents.topics_of(model, NAMES, None)]
    assert nodes == list(model.topic_tree_.leaves)
    # Subjects that share words and documents stand in one branch.
    subject = (model.components_ @ np.kron(np.eye(4), np.ones((12, 1)))).argmax(axis=1)
    for branch in model.topic_tree_.cut(2):
        assert len({int(subject[k]) // 2 for k in branch}) == 1


def test_no_tree_without_one() -> None:
    model = copy.copy(corpora.fixed().model)
    del model.topic_tree_
    assert contents.tree_meta(model, NAMES) is None
    assert contents.topics_of(model, NAMES, None)[0]["node"] is None


def test_telling_words() -> None:
    above = np.array([0.5, 0.3, 0.2, 0.0])
    table = np.array([0.5, 0.1, 0.4, 0.0])
    assert contents.telling_words(table, above, list("abcd")) == [("c", 0.4)]
    # All but the same: then what is frequent.
    assert [w for w, _ in contents.telling_words(above, above, list("abcd"))] == ["a", "b", "c"]
    assert [w for w, _ in contents.telling_words(table, None, list("abcd"))] == ["a", "c", "b"]


# The annealing -----------------------------------------------------------------------------------


def test_cooling_holds_the_trace() -> None:
    model = corpora.grown()
    cooling = Cooling(model.trace_, float("nan"), model.temperature_, "components")
    told = contents.cooling_meta("topics", cooling)
    assert told["name"] == "topics"
    assert told["parts"] == "components"
    assert told["first_critical"] is None
    assert told["temperature"] == model.temperature_
    for entry, record in zip(told["trace"], way(model.trace_), strict=True):
        for name in ("temperature", "free_energy", "log_likelihood", "n_effective", "sweeps"):
            assert entry[name] == getattr(record, name)
        held = record.heldout
        assert entry["heldout"] == (None if math.isnan(held) else held)
