"""What there is to know of a fitted model, as tables and frames."""

import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

from isotherm import AspectModel, Counts, HierarchicalClustering, IsothermError, Tree
from isotherm.estimators.fitted import topic_tree
from isotherm.estimators.tables import WHAT, columns_of
from support.estimators import ESTIMATORS, X, fitted

COUNTED = {name: one for name, one in ESTIMATORS.items() if name != "map"}
WORDS = [f"w{j}" for j in range(15)]
DOCS = Counts(X, [f"d{i}" for i in range(40)], WORDS)


@pytest.fixture(scope="module", params=COUNTED)
def model(request: pytest.FixtureRequest) -> Any:
    return fitted(COUNTED[request.param], None)


@pytest.fixture(scope="module")
def aspects() -> AspectModel:
    return AspectModel(3, random_state=0).fit(DOCS)


def test_every_model_has_every_table(model: Any) -> None:
    n_topics, n_rows = len(model.components_), len(X)
    has_tree = hasattr(model, "topic_tree_") or hasattr(model, "tree_")
    lines = {"topics": n_topics, "words": 4 * n_topics, "documents": n_rows, "components": 15}
    if has_tree:
        lines["tree"] = topic_tree(model).n_nodes
    for what, number in lines.items():
        table = columns_of(model, what, n_words=4)
        assert {len(column) for column in table.values()} == {number}
    if not has_tree:
        with pytest.raises(IsothermError, match="no tree of topics"):
            model.to_frame("tree")


def test_topics(aspects: AspectModel) -> None:
    frame = aspects.to_frame(n_words=3)
    assert frame["topic"].tolist() == [0, 1, 2]
    assert frame["name"].tolist() == list(aspects.names_)
    assert frame["share"].sum() == pytest.approx(1)
    assert frame["words"].tolist() == [" ".join(row) for row in aspects.top_words(3)]
    other = aspects.to_frame(names=[f"v{j}" for j in range(15)])
    assert all(name.startswith("v") for name in other["name"])


def test_words(aspects: AspectModel) -> None:
    frame = aspects.to_frame("words", n_words=5)
    assert frame.columns.tolist() == ["topic", "rank", "word", "probability", "lift"]
    for k, own in frame.groupby("topic"):
        assert own["rank"].tolist() == [1, 2, 3, 4, 5]
        columns = [WORDS.index(word) for word in own["word"]]
        assert own["word"].tolist() == aspects.top_words(5)[k]
        assert own["probability"].tolist() == aspects.components_[k, columns].tolist()
        usual = X.sum(axis=0)[columns] / X.sum()
        assert own["lift"].tolist() == pytest.approx((own["probability"] / usual).tolist())


def test_documents_are_those_of_the_fit_or_others(aspects: AspectModel) -> None:
    own = aspects.to_frame("documents")
    assert own["document"].tolist() == list(range(40))
    weights = own[["topic 0", "topic 1", "topic 2"]].to_numpy()
    assert np.array_equal(weights, aspects.row_weights_)
    assert own["topic"].tolist() == weights.argmax(axis=1).tolist()
    assert own["tokens"].tolist() == X.sum(axis=1).tolist()
    named = aspects.to_frame("documents", row_names=[f"text {i}" for i in range(40)])
    assert named["document"].tolist()[-1] == "text 39"
    other = aspects.to_frame("documents", DOCS[7:9])
    assert other["document"].tolist() == ["d7", "d8"]
    assert np.array_equal(other["topic 1"], aspects.transform(DOCS[7:9])[:, 1])
    frame = pd.DataFrame(X[:2], columns=WORDS, index=["one", "two"])
    assert aspects.to_frame("documents", frame)["document"].tolist() == ["one", "two"]


def test_documents_of_clusters_over_topics_have_both() -> None:
    model = fitted(ESTIMATORS["themes"], None)
    frame = model.to_frame("documents")
    assert frame["cluster"].tolist() == model.labels_.tolist()
    assert frame["topic 2"].tolist() == (model.row_weights_ @ model.cluster_centers_)[:, 2].tolist()


def test_trees(aspects: AspectModel) -> None:
    frame = aspects.to_frame("tree", n_words=2)
    tree = aspects.topic_tree_
    assert frame["parent"].isna().tolist() == [True, *[False] * (tree.n_nodes - 1)]
    assert frame["parent"].dtype == "Int64"
    assert frame["component"].dropna().tolist() == [
        tree.component(node) for node in range(tree.n_nodes) if tree.component(node) is not None
    ]
    assert frame["share"][0] == pytest.approx(1)
    assert frame["similarity"][0] == tree.similarities[0]
    assert all(len(words.split()) == 2 for words in frame["words"])
    other = [f"v{j}" for j in range(15)]
    named = aspects.to_frame("tree", n_words=2, names=other)["words"]
    assert named.tolist() == [words.replace("w", "v") for words in frame["words"]]


def test_tree_of_a_hierarchy_has_its_own_words() -> None:
    model = HierarchicalClustering(tree=Tree.balanced(2), random_state=0).fit(DOCS)
    frame = model.to_frame("tree", n_words=3)
    assert frame["words"].tolist() == [" ".join(row) for row in model.node_words(3)]
    assert frame["share"].sum() == pytest.approx(1)
    assert "temperature" in frame


def test_components(aspects: AspectModel) -> None:
    frame = aspects.to_frame("components")
    assert frame["word"].tolist() == WORDS
    assert np.array_equal(frame.drop(columns="word").to_numpy().T, aspects.components_)


def test_what_there_is_not_is_refused(aspects: AspectModel) -> None:
    with pytest.raises(IsothermError, match="'topics', 'words', 'documents', 'tree'"):
        aspects.to_frame("topic")
    with pytest.raises(IsothermError, match="'documents' alone"):
        aspects.to_frame("topics", DOCS)
    with pytest.raises(IsothermError, match="row_names has 2 entries"):
        aspects.to_frame("documents", row_names=["a", "b"])
    with pytest.raises(IsothermError, match="n_words=0"):
        aspects.to_frame("words", n_words=0)


def test_frames_without_pandas(aspects: AspectModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(IsothermError, match="pip install pandas"):
        aspects.to_frame()
    assert all(columns_of(aspects, what) for what in WHAT)
