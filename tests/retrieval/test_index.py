"""The search index as users meet it."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import isotherm
from isotherm import AspectModel, Counts, OneSidedClustering, SearchIndex
from isotherm.errors import IsothermError
from isotherm.estimators.words import telling
from isotherm.retrieval import topics
from isotherm.retrieval.scoring import SearchSettings
from retrieval.corpus import WORDS, documents, fitted, queries

EVERY = [
    {},
    {"method": "words"},
    {"weights": "tf", "query": "raw"},
    {"method": "topics"},
    {"weights": "bm25"},
    {"weights": "bm25", "method": "topics"},
    {"weights": "bm25", "feedback": 5},
    {"method": "words", "feedback": 3, "feedback_weight": 0.7},
]


def index_with(models: object = None, **settings: object) -> SearchIndex:
    return SearchIndex.of(models or [fitted(4), fitted(6, 1.2, 1)], documents(), **settings)


@pytest.mark.parametrize("settings", EVERY)
def test_hits_are_the_ranking_and_their_parts_add_up(settings: dict[str, object]) -> None:
    index = index_with(**settings)
    scores = index.rank(queries())
    for row in range(3):
        found = index.query(queries()[[row]], n=60)
        order = np.argsort(-scores[row], kind="stable")
        order = order[scores[row, order] > 0]
        assert found.documents == order.tolist()
        np.testing.assert_allclose(found.scores, scores[row, order], rtol=1e-9)
        for hit in found:
            parts = sum(one.amount for one in hit.words)
            parts += hit.through_topics + hit.through_spectrum + hit.through_feedback
            assert parts == pytest.approx(hit.score)
            assert hit.name == f"d{hit.document}"
            amounts = [one.amount for one in hit.words]
            assert amounts == sorted(amounts, reverse=True)
            if settings and not settings.get("feedback"):
                assert hit.through_feedback == hit.through_spectrum == 0
            has = documents().matrix[[hit.document]].toarray()[0] > 0
            asked = queries()[[row]].toarray()[0] > 0
            assert {one.word for one in hit.words} <= {
                WORDS[j] for j in np.flatnonzero(has & asked)
            }
            assert hit.through_topics >= -1e-12 or not settings


def test_words_alone_explain_all_without_topics() -> None:
    for weights in ("tf", "tfidf", "bm25"):
        for hit in index_with(weights=weights, interpolation=0.0).query(queries()[[0]]):
            assert hit.through_topics == pytest.approx(0, abs=1e-12)
            assert hit.words


def test_shared_topics_have_their_words() -> None:
    models = [fitted(4), fitted(6, 1.2, 1)]
    best = index_with(models).query(["w0", "w1"], n=1, n_topics=10)[0]
    tables = [topics.table_of(model) for model in models]
    asked = Counts(np.bincount([0, 1], minlength=40)[None], column_names=WORDS)
    for one in best.topics:
        model = models[one.model]
        theirs = model.row_weights_[best.document, one.topic]
        mine = topics.fold(tables[one.model], asked)[0, one.topic]
        assert one.amount == pytest.approx(np.sqrt(mine * theirs))
        table, usual = model.components_, model.weights_ @ model.components_
        order = np.argsort(-telling(table, usual, table)[one.topic], kind="stable")[:5]
        assert one.words == tuple(WORDS[j] for j in order)
    amounts = [one.amount for one in best.topics]
    assert amounts == sorted(amounts, reverse=True)
    assert {one.model for one in best.topics} == {0, 1}
    fewer = index_with(models).query(["w0", "w1"], n=1, n_topics=1)[0]
    assert fewer.topics == best.topics[:1]


def test_topics_of_the_query_are_told() -> None:
    models = [fitted(4), fitted(6, 1.2, 1)]
    index = index_with(models)
    for row in (0, 1, 0):  # the weights of the last query are remembered, and no other's
        asked = Counts(queries()[[row]])
        found = index.query(asked).topics
        each = [topics.fold(topics.table_of(model), asked)[0] for model in models]
        assert np.array_equal(found, np.concatenate(each) / 2)
        assert sum(found) == pytest.approx(1)


def test_text_words_and_counts_ask_the_same() -> None:
    index = index_with()
    text = index.query("W0, w1 w0 -- whale of?")
    words = index.query(["w0", "w1", "w0", "whale", "of"])
    counts = index.query(np.bincount([0, 1, 0], minlength=40))
    assert text == words
    assert text.hits == counts.hits
    assert text.words == ("w0", "w1")
    assert text.unknown == ("whale",)
    assert text.stopped == ("of",)
    assert counts.unknown == ()
    shown = str(text)
    assert shown.startswith("query: w0 w1\nunknown words: whale\nstop words: of\n  1. d")
    assert len(text) == 10


def test_analyzer_makes_the_words() -> None:
    index = index_with()
    found = index.query("0 1", analyzer=lambda text: [f"w{part}" for part in text.split()])
    assert found == index.query(["w0", "w1"])


@pytest.mark.parametrize("settings", EVERY)
def test_nothing_is_found_by_nothing(settings: dict[str, object]) -> None:
    index = index_with(**settings)
    for query in ("", "nobody knows", []):
        assert len(index.query(query)) == 0
    scores = index.rank(queries())
    assert (scores[8] == 0).all()
    assert (scores[:, 7] == np.minimum(scores.min(axis=1), 0)).all()
    assert (scores[0] > 0).any()


@pytest.mark.parametrize("settings", EVERY[1:])
def test_scaling_a_query_changes_no_order(settings: dict[str, object]) -> None:
    index = index_with(**settings)
    one, two = index.rank(queries()), index.rank(queries() * 2)
    if settings.get("weights") == "bm25" and settings.get("method") != "topics":
        two /= 1 if settings.get("feedback") else 2
    np.testing.assert_allclose(one, two, atol=1e-12)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_document_is_most_like_itself(share: float) -> None:
    # documents themselves as queries have the weights of the fit up to how far folding in goes
    index = index_with(fitted(4), interpolation=share)
    scores = index.rank(documents())
    assert scores.max() <= 1
    full = np.arange(60) != 7
    np.testing.assert_allclose(np.diag(scores)[full], 1, atol=1e-4 if share else 1e-12)


@pytest.mark.parametrize("settings", EVERY)
def test_order_of_topics_does_not_matter(settings: dict[str, object]) -> None:
    index = index_with(fitted(6, 1.2, 1), **settings)
    order = np.random.default_rng(0).permutation(6)
    (table,) = index.tables
    turned = table._replace(word_topic=table.word_topic[:, order], weight=table.weight[order])
    other = SearchIndex(index.counts, (turned,), index.theta[:, order], index.settings)
    np.testing.assert_allclose(other.rank(queries()), index.rank(queries()), atol=1e-9)


def test_average_of_a_model_with_itself_is_the_model() -> None:
    for settings in EVERY:
        one = index_with(fitted(4), **settings)
        two = index_with([fitted(4), fitted(4)], **settings)
        np.testing.assert_allclose(one.rank(queries()), two.rank(queries()), atol=1e-12)


def test_new_documents_are_folded_in_and_found() -> None:
    index = index_with(fitted(4), method="words")
    new = Counts(documents().matrix[:3].toarray() * 2, ["x", "y", "z"], WORDS)
    more = index.add(new)
    assert len(more) == 63
    assert len(index) == 60
    expected = topics.fold(topics.table_of(fitted(4)), new)
    np.testing.assert_array_equal(more.theta[60:], expected)
    found = more.query(new.matrix[[1]].toarray(), n=2)
    assert {hit.name for hit in found} == {"d1", "y"}
    bare = more.add(np.zeros((1, 40)))
    assert (bare.rank(queries())[:, 63] == 0).all()
    assert len(bare.add(documents())) == 124
    # as if all had been there from the start, but for the weights of the fit
    whole = Counts(sparse.vstack([documents().matrix, new.matrix]), column_names=WORDS)
    built = SearchIndex.of(fitted(4), whole, interpolation=0.0)
    names = more.add(np.zeros((1, 40))).counts.row_names
    assert names is not None
    assert [*names[-2:]] == ["z", "63"]  # numbers only where others have names
    assert built.add(np.zeros((1, 40))).counts.row_names is None
    added = more.with_settings(more.settings._replace(interpolation=0.0))
    np.testing.assert_allclose(built.rank(queries()), added.rank(queries()), atol=1e-14)


def test_documents_of_the_fit_keep_its_weights_and_others_do_not() -> None:
    model = fitted(4)
    assert np.array_equal(index_with(model).theta, model.row_weights_)
    turned = documents().take_rows(np.arange(60)[::-1])
    index = SearchIndex.of(model, turned)
    assert not np.array_equal(index.theta, model.row_weights_)
    np.testing.assert_allclose(index.theta, model.row_weights_[::-1], atol=0.01)


def test_names_come_from_the_model_if_the_documents_have_none() -> None:
    index = SearchIndex.of(fitted(4), documents().matrix)
    assert index.query("w0").hits[0].words[0].word == "w0"
    assert index.query("w0").hits[0].name.isdigit()


def test_index_of_a_default_fit_and_of_leave_one_out() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [
            AspectModel(3, random_state=0).fit(documents()),
            AspectModel(3, leave_one_out=True, random_state=0).fit(documents()),
        ]
    index = SearchIndex.of(models, documents())
    assert len(index.query("w0 w1")) == 10
    assert repr(index) == "SearchIndex(60 documents, 40 words, 3, 3 topics, combined)"
    words = index.with_settings(SearchSettings())
    assert repr(words) == "SearchIndex(60 documents, 40 words, 3, 3 topics, tfidf, by words)"
    # weights P(a) of a default fit are tempered: rows fold in as its transform does
    folded = topics.fold(index.tables[0], documents())
    np.testing.assert_allclose(folded, models[0].transform(documents()), atol=0.01)


def test_file_holds_all(tmp_path: Path) -> None:
    index = index_with(weights="bm25", feedback=3)
    loaded = SearchIndex.load(index.save(tmp_path / "index.iso"))
    assert loaded.settings == index.settings
    assert isinstance(loaded.settings, SearchSettings)
    np.testing.assert_array_equal(loaded.rank(queries()), index.rank(queries()))
    assert loaded.query("w0 w1") == index.query("w0 w1")
    assert isinstance(isotherm.load(tmp_path / "index.iso"), SearchIndex)
    documents().save(tmp_path / "counts.iso")
    with pytest.raises(IsothermError, match="SearchIndex was asked for"):
        SearchIndex.load(tmp_path / "counts.iso")


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"method": "both"}, "method='both'"),
        ({"weights": "idf"}, "weights='idf'"),
        ({"interpolation": 1.5}, "interpolation=1.5"),
        ({"query": "none"}, "query='none'"),
        ({"k1": -1.0}, "k1=-1.0"),
        ({"b": 2.0}, "b=2.0"),
        ({"feedback": -1}, "feedback=-1"),
        ({"feedback_weight": float("nan")}, "feedback_weight=nan"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, object], match: str) -> None:
    with pytest.raises(IsothermError, match=match):
        index_with(**settings)


def test_bad_models_and_documents_are_refused() -> None:
    other = OneSidedClustering(2, random_state=0)
    with pytest.raises(IsothermError, match="not of OneSidedClustering"):
        SearchIndex.of(other, documents())
    with pytest.raises(IsothermError, match="not fitted"):
        SearchIndex.of(AspectModel(2), documents())
    with pytest.raises(IsothermError, match="no models"):
        SearchIndex.of([], documents())
    with pytest.raises(IsothermError, match="columns"):
        SearchIndex.of(fitted(4), np.ones((3, 39)))
    named = Counts(np.ones((3, 40)), column_names=[f"v{j}" for j in range(40)])
    with pytest.raises(IsothermError, match="names differ"):
        SearchIndex.of(fitted(4), named)
    index = index_with()
    with pytest.raises(IsothermError, match="39 columns"):
        index.rank(np.ones((2, 39)))
    with pytest.raises(IsothermError, match="names differ"):
        index.add(named)
    with pytest.raises(IsothermError, match="2 rows"):
        index.query(np.ones((2, 40)))
    with pytest.raises(IsothermError, match="n=0"):
        index.query("w0", n=0)
    wide, long = (np.concatenate([index.theta] * 2, axis=axis) for axis in (1, 0))
    for theta in (index.theta[:, 1:], index.theta[1:], wide, long):
        with pytest.raises(IsothermError, match="do not fit"):
            SearchIndex(index.counts, index.tables, theta, index.settings)
