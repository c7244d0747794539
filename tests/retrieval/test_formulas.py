"""Scores without a dense table equal those with one."""

import numpy as np
import pytest
from scipy import sparse

from isotherm import AspectModel, Counts, SearchIndex, as_counts
from isotherm.retrieval import formulas, topics
from isotherm.retrieval.topics import table_of
from retrieval.corpus import conditionals, cosine, documents, fitted, folded, queries

X = documents().matrix.toarray().astype(float)
Q = queries().toarray()
EMPTY = X.sum(axis=1) == 0
NO_QUERY = Q.sum(axis=1) == 0
IN_DOCUMENTS = (X > 0).sum(axis=0)
WEIGHTS = {
    "tf": np.ones(40),
    "tfidf": np.array([-np.log(n / 60) if n else 0.0 for n in IN_DOCUMENTS]),
}


def cleared(scores: np.ndarray) -> np.ndarray:
    return np.where(NO_QUERY[:, None] | EMPTY[None, :], 0.0, scores)


def dense_model(models: list[AspectModel]) -> tuple[np.ndarray, np.ndarray]:
    """Mean of m(y|x) over models for documents and queries."""
    mine = [topics.fold(table_of(model), queries_counts()) @ model.components_ for model in models]
    theirs = [model.row_weights_ @ model.components_ for model in models]
    return np.mean(theirs, axis=0), np.mean(mine, axis=0)


def queries_counts() -> Counts:
    return as_counts(queries(), allow_empty=True)


@pytest.mark.parametrize("weights", ["tf", "tfidf"])
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("query", ["raw", "smooth"])
@pytest.mark.parametrize("n_models", [1, 2])
def test_cosine_of_words_is_the_dense_one(
    weights: str, share: float, query: str, n_models: int
) -> None:
    models = [fitted(4), fitted(6, 1.2, 1)][:n_models]
    index = SearchIndex.of(models, documents(), weights=weights, interpolation=share, query=query)
    m, mq = dense_model(models)
    query_share = share if query == "smooth" else 0.0
    A = WEIGHTS[weights] * ((1 - share) * conditionals(X) + share * m)
    B = WEIGHTS[weights] * ((1 - query_share) * conditionals(Q) + query_share * mq)
    scores = index.rank(queries())
    np.testing.assert_allclose(scores, cleared(cosine(A, B)), atol=5e-15)
    assert scores.min() >= 0
    assert scores.max() <= 1


@pytest.mark.parametrize(("share", "query_share"), [(0.4, 0.9), (0.0, 0.7), (0.8, 0.1)])
def test_documents_and_queries_may_be_smoothed_by_different_shares(
    share: float, query_share: float
) -> None:
    rng = np.random.default_rng(0)
    table, idf = rng.dirichlet(np.ones(40), 4), WEIGHTS["tfidf"]
    theta, asked = rng.dirichlet(np.ones(4), len(X)), rng.dirichlet(np.ones(4), len(Q))
    space = formulas.Space.of(idf, table.T)
    mine, theirs = (
        formulas.vectors(
            formulas.Rows(formulas.distributions(sparse.csr_array(counts)), weights), space, part
        )
        for counts, weights, part in ((X, theta, share), (Q, asked, query_share))
    )
    A = idf * ((1 - share) * conditionals(X) + share * theta @ table)
    B = idf * ((1 - query_share) * conditionals(Q) + query_share * asked @ table)
    scores = formulas.cosines(mine, theirs, space, share, query_share)
    np.testing.assert_allclose(scores, cosine(A, B), atol=5e-15)


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_topics_add_their_cosine(share: float) -> None:
    models = [fitted(4), fitted(6, 1.2, 1)]
    index = SearchIndex.of(models, documents(), method="topics", interpolation=share)
    weight = WEIGHTS["tfidf"]
    words = cosine(weight * conditionals(X), weight * conditionals(Q))
    spaces = [
        cosine(model.row_weights_, topics.fold(table_of(model), queries_counts()))
        for model in models
    ]
    expected = (1 - share) * words + share * np.mean(spaces, axis=0)
    np.testing.assert_allclose(index.rank(queries()), cleared(expected), atol=1e-14)


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("method", ["words", "topics"])
def test_bm25_of_filled_up_counts(
    share: float, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formulas, "COLUMNS", 5)  # several runs of columns
    model = fitted(4)
    index = SearchIndex.of(
        model, documents(), method=method, weights="bm25", interpolation=share, k1=1.5, b=0.6
    )
    m, _ = dense_model([model])
    idf = np.where(
        IN_DOCUMENTS > 0, np.log(1 + (60 - IN_DOCUMENTS + 0.5) / (IN_DOCUMENTS + 0.5)), 0
    )
    length = X.sum(axis=1, keepdims=True)
    filled = (1 - share) * X + share * length * m if method == "words" else X
    damped = filled * 2.5 / (filled + 1.5 * (0.4 + 0.6 * length / length.mean()))
    expected = (Q * idf) @ damped.T
    if method == "topics":
        theta = topics.fold(table_of(model), queries_counts())
        bound = 2.5 * (Q * idf).sum(axis=1, keepdims=True)
        expected = (1 - share) * expected / np.where(bound > 0, bound, 1)
        expected += share * cosine(model.row_weights_, theta)
    np.testing.assert_allclose(index.rank(queries()), cleared(expected), atol=1e-13)


def test_bm25_is_that_of_bm25s() -> None:
    bm25s = pytest.importorskip("bm25s", reason="needs the extra ir")
    index = SearchIndex.of(fitted(), documents(), weights="bm25", interpolation=0.0, k1=1.5, b=0.75)
    texts = [[f"w{j}" for j in np.repeat(np.arange(40), row.astype(int))] for row in X]
    rival = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    rival.index(texts, show_progress=False)
    ours = index.rank(queries())
    for row, query in enumerate(Q[:-1]):
        words = [f"w{j}" for j in np.repeat(np.arange(40), query.astype(int)) if IN_DOCUMENTS[j]]
        # without the factor k1 + 1, as Lucene has it
        np.testing.assert_allclose(ours[row] / 2.5, rival.get_scores(words), rtol=1e-5)


def test_without_model_it_is_the_vector_space_whatever_the_topics() -> None:
    ranks = [
        SearchIndex.of(model, documents(), interpolation=0.0).rank(queries())
        for model in (fitted(4), fitted(6, 1.2, 1))
    ]
    np.testing.assert_array_equal(ranks[0], ranks[1])


def test_idf_of_a_word_in_every_document_is_nothing() -> None:
    np.testing.assert_array_equal(formulas.idf(np.array([10, 5, 0]), 10), [0, np.log(2), 0])
    assert formulas.bm25_idf(np.array([0, 10]), 10)[0] == 0


def test_feedback_adds_what_is_like_the_best() -> None:
    scores = np.array([[4.0, 2.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    spread = np.sqrt([[1.0, 0], [0.5, 0.5], [0.9, 0.1], [0, 1]])
    words = formulas.unit_words(sparse.csr_array([[3.0, 4, 0], [0, 2, 0], [0, 0, 1], [0, 0, 0]]))
    np.testing.assert_allclose(words.toarray()[:2], [[0.6, 0.8, 0], [0, 1, 0]])
    found = formulas.feedback(scores, spread, words, 2, 0.25)
    both = np.hstack([spread, words.toarray()])
    wish = (4 * both[0] + 2 * both[1]) / 6
    similar = both @ wish - (both @ wish).min()
    expected = 0.75 * scores[0] / scores[0].std() + 0.25 * similar / similar.std()
    np.testing.assert_allclose(found.scores[0], expected)
    np.testing.assert_array_equal(found.scores[1], 0)
    assert found.scores[0, 2] > found.scores[0, 3]
    np.testing.assert_allclose(found.scale[0], 0.75 / scores[0].std())


def test_fold_in_by_the_letter() -> None:
    for model in (fitted(4, 1.3), fitted(4, 1.0)):
        found = topics.fold(table_of(model), queries_counts())
        expected = folded(model, Q, model.weights_, 50)
        np.testing.assert_allclose(found, expected, atol=2e-5)
        np.testing.assert_allclose(found.sum(axis=1), 1)


def test_fold_in_does_not_depend_on_the_start() -> None:
    model = fitted(4, 1.3)
    rng = np.random.default_rng(0)
    one = folded(model, Q, model.weights_, 3000)
    other = folded(model, Q, rng.dirichlet(np.ones(4)), 3000)
    np.testing.assert_allclose(one, other, atol=1e-9)


def test_fold_in_of_training_rows_returns_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "FOLD_SWEEPS", 3000)
    monkeypatch.setattr(topics, "FOLD_TOL", 1e-12)
    model = fitted(4, 1.3)
    np.testing.assert_allclose(
        topics.fold(table_of(model), documents()), model.row_weights_, atol=1e-6
    )


def test_empty_and_unknown_queries_have_the_weights_of_the_topics() -> None:
    model = fitted(4)
    np.testing.assert_array_equal(
        topics.fold(table_of(model), queries_counts())[-1], model.weights_
    )
    lone = queries_counts().take_rows([8])
    np.testing.assert_array_equal(topics.fold(table_of(model), lone)[0], model.weights_)
