"""The report on a fit: each figure is that of its own function, in text and as plain data."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import NMF

from isotherm import PCP, AspectModel, Counts, OneSidedClustering, evaluate
from isotherm.errors import IsothermError
from isotherm.evaluate import EvaluationReport, evaluate_topics
from support.corpora import admixture

X, TABLE = admixture(60, 40)
WORDS = [f"word{j}" for j in range(X.shape[1])]
COUNTS, UNSEEN = Counts(X[:40], column_names=WORDS), Counts(X[40:], column_names=WORDS)
LABELS = (X[:40] @ np.log(TABLE.T)).argmax(axis=1)
TEXTS = [[w for w, n in zip(WORDS, row, strict=True) for _ in range(int(n))] for row in X]


@pytest.fixture(scope="module")
def model() -> AspectModel:
    return AspectModel(3, random_state=0).fit(COUNTS)


@pytest.fixture(scope="module")
def report(model: AspectModel) -> EvaluationReport:
    return evaluate_topics(
        model, COUNTS, heldout=UNSEEN, labels=LABELS, fits=[TABLE, TABLE[::-1]], n_words=5
    )


def test_every_figure_is_that_of_its_function(model: Any, report: EvaluationReport) -> None:
    own = model.transform(COUNTS).argmax(axis=1)
    assert report.perplexity == model.perplexity(UNSEEN)
    assert report.perplexity_of == "heldout"
    for measure in ("npmi", "c_v", "u_mass"):
        expected = evaluate.coherence(model, COUNTS, measure, 5)
        np.testing.assert_array_equal(report.coherence[measure].per_topic, expected.per_topic)
        assert report.coherence[measure].window is None
    assert report.diversity == evaluate.diversity(model, 5)
    np.testing.assert_array_equal(report.exclusivity, evaluate.exclusivity(model, 5))
    assert report.agreement == {
        "ami": evaluate.ami(LABELS, own),
        "homogeneity": evaluate.homogeneity(LABELS, own),
        "completeness": evaluate.completeness(LABELS, own),
        "nmi_max": evaluate.nmi(LABELS, own),
        "nmi_mean": evaluate.nmi(LABELS, own, "mean"),
        "ari": evaluate.ari(LABELS, own),
        "purity": evaluate.purity(LABELS, own),
        "accuracy": evaluate.accuracy(LABELS, own),
    }
    assert report.agreement["accuracy"] > 0.8
    assert report.stability is not None
    assert report.stability.mean == evaluate.stability([model, TABLE, TABLE[::-1]]).mean
    assert [list(words) for words in report.top_words] == model.top_words(5)
    assert (report.model, report.n_topics, report.n_words) == ("AspectModel", 3, 5)
    assert report.skipped == {}


def test_as_dict_goes_through_json(report: EvaluationReport) -> None:
    found = report.as_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["perplexity"] == report.perplexity
    assert found["coherence"]["npmi"]["per_topic"] == report.coherence["npmi"].per_topic.tolist()
    assert found["coherence"]["npmi"]["window"] is None
    assert found["exclusivity"]["mean"] == report.exclusivity.mean()
    assert found["stability"]["pairs"][0][0] == 1.0
    assert found["agreement"] == report.agreement


def test_text(report: EvaluationReport) -> None:
    lines = str(report).splitlines()
    assert lines[0] == "AspectModel: 3 topics, 5 top words of each"
    figures = {line.split()[0]: line.split()[1] for line in lines[2:16]}
    assert figures["perplexity"] == f"{report.perplexity:.1f}"
    assert figures["npmi"] == f"{report.coherence['npmi'].mean:.3f}"
    assert figures["nmi_max"] == f"{report.agreement['nmi_max']:.3f}"
    assert list(figures) == [
        *("perplexity", "npmi", "c_v", "u_mass", "diversity", "exclusivity", "ami", "ari"),
        *("homogeneity", "completeness", "nmi_max", "nmi_mean", "purity", "accuracy"),
    ]
    assert "of unseen rows" in lines[2]
    assert "coherence in 40 documents" in lines[3]
    assert lines[16].split()[:2] == ["stability", f"{report.stability.mean:.3f}"]
    assert lines[-4].split() == ["topic", "npmi", "c_v", "u_mass", "excl", "words"]
    first = [f"{found.per_topic[0]:.3f}" for found in report.coherence.values()]
    first += [f"{report.exclusivity[0]:.3f}", *report.top_words[0]]
    assert lines[-3].split() == ["0", *first]


def test_what_is_not_given_is_skipped_and_said(model: AspectModel) -> None:
    report = evaluate_topics(model, COUNTS, measures=["npmi"])
    assert report.perplexity == model.perplexity(COUNTS)
    assert report.perplexity_of == "X"
    assert list(report.coherence) == ["npmi"]
    assert list(report.skipped) == ["agreement", "stability"]
    assert "completion of the rows given" in str(report)
    assert "needs labels of the rows (labels=)" in str(report)
    assert report.as_dict()["stability"] is None


def test_tables_and_other_models() -> None:
    table = evaluate_topics(TABLE, X[:40], labels=LABELS)
    assert list(table.skipped) == ["perplexity", "agreement", "stability"]
    assert table.model == "table"
    assert table.as_dict()["perplexity"] is None
    assert table.top_words[0][0] == str(TABLE[0].argmax())
    other = evaluate_topics(NMF(3, random_state=0, max_iter=500).fit(X[:40]), X[:40], labels=LABELS)
    assert list(other.skipped) == ["perplexity", "stability"]
    assert other.agreement["accuracy"] > 0.8


def test_names_of_columns() -> None:
    named = type("Model", (), {"components_": TABLE, "feature_names_in_": WORDS})()
    best = int(TABLE[0].argmax())
    assert evaluate_topics(named, X[:40]).top_words[0][0] == WORDS[best]
    given = evaluate_topics(TABLE, COUNTS, words=WORDS[::-1])
    assert given.top_words[0][0] == WORDS[::-1][best]


def test_perplexity_is_always_completion() -> None:
    model = PCP(3, 3, random_state=0, max_iter=20).fit(COUNTS)
    found = evaluate_topics(model, COUNTS, heldout=UNSEEN, measures=())
    assert found.perplexity == model.perplexity(UNSEEN, definition="completion")
    assert found.perplexity != model.perplexity(UNSEEN)


def test_clusters_are_those_of_predict() -> None:
    model = OneSidedClustering(3, random_state=0).fit(COUNTS)
    found = evaluate_topics(model, COUNTS, labels=model.predict(COUNTS))
    assert set(found.agreement.values()) == {1.0}


def test_reference(model: AspectModel) -> None:
    texts = evaluate_topics(model, COUNTS, reference=(text for text in TEXTS), n_words=4)
    assert [found.window for found in texts.coherence.values()] == [10, 110, None]
    for measure, found in texts.coherence.items():
        expected = evaluate.coherence(model, TEXTS, measure, 4, words=WORDS)
        np.testing.assert_array_equal(found.per_topic, expected.per_topic)
    assert "windows of 10 tokens" in str(texts)
    series = evaluate_topics(model, COUNTS, reference=pd.Series(map(" ".join, TEXTS)), n_words=4)
    assert series.coherence["npmi"].mean == texts.coherence["npmi"].mean
    other = Counts(X[:, ::-1], column_names=WORDS[::-1])
    expected = evaluate.coherence(model, X, n_words=4).per_topic
    frame = pd.DataFrame(X[:, ::-1], columns=WORDS[::-1])
    for reference in (other, X, Counts(X), frame):
        found = evaluate_topics(model, COUNTS, reference=reference, n_words=4)
        np.testing.assert_array_equal(found.coherence["npmi"].per_topic, expected)
    fewer = Counts(X[:, 3:], column_names=WORDS[3:])
    missing = evaluate_topics(np.eye(3, X.shape[1]) + 1e-3 * TABLE, COUNTS, reference=fewer)
    gone = sum(word in WORDS[:3] for words in missing.top_words for word in words)
    assert gone >= 3
    assert f"{gone} top words are not there" in str(missing)
    assert np.isfinite(missing.coherence["npmi"].mean)


def test_what_is_no_number_is_none() -> None:
    table = np.zeros((2, X.shape[1]))
    table[0, :4], table[1, 0] = 1.0, 1.0  # the second topic has one word
    found = evaluate_topics(table, COUNTS).as_dict()
    assert found["coherence"]["npmi"]["per_topic"][1] is None
    assert found["coherence"]["npmi"]["per_topic"][0] is not None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_words": 1}, "n_words=1; it must be an integer of at least 2"),
        ({"measures": ["c_w"]}, "measures='c_w'; it must be one of 'npmi'"),
        ({"labels": [0, 1]}, r"labels have shape \(2,\); give one for each of 40 rows"),
        ({"words": ["a"]}, "1 words for .* columns; give as many"),
        ({"reference": "text"}, "reference='text'; give Counts, or a list"),
    ],
)
def test_bad_input(model: AspectModel, options: Any, message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        evaluate_topics(model, COUNTS, **options)


def test_columns_must_be_those_of_the_topics() -> None:
    with pytest.raises(IsothermError, match="X has 5 columns, the topics"):
        evaluate_topics(TABLE, X[:, :5])


def test_package_lists_what_it_has() -> None:
    assert dir(evaluate) == sorted(evaluate.__all__)
    for name in evaluate.__all__:
        assert getattr(evaluate, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'coherency'"):
        evaluate.coherency  # noqa: B018 (the access is the test)


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_rows_without_a_label_are_left_out(missing: Any) -> None:
    X = np.kron(np.eye(3, dtype=int), np.full((10, 4), 5))
    model = AspectModel(3, random_state=0).fit(X)
    labels: list[Any] = ["a"] * 10 + ["b"] * 10 + [missing] * 10
    found = evaluate_topics(model, X, labels=labels).agreement
    assert found == evaluate_topics(model, X[:20], labels=labels[:20]).agreement
    assert (found["accuracy"], found["nmi_max"]) == (1.0, 1.0)
    numbers = evaluate_topics(model, X, labels=[0.0] * 10 + [1.0] * 10 + [float("nan")] * 10)
    assert numbers.agreement == found
    mixed = evaluate_topics(model, X, labels=["a"] * 10 + [1] * 10 + [missing] * 10)
    assert mixed.agreement == found
    none = evaluate_topics(model, X, labels=[missing] * 30)
    assert none.agreement == {}
    assert none.skipped["agreement"] == "needs labels, and no row has one"
