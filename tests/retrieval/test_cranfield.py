"""Search in a real collection with judgements."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from isotherm import AspectModel, Counts, Engine, Fixed, Noisy, SearchIndex
from isotherm.retrieval.evaluate import evaluate
from isotherm.retrieval.trec import read_qrels, relevance

QUERIES, DOCUMENTS = range(1, 226), range(1, 1401)


@pytest.fixture(scope="module")
def folder(shared_data: Path) -> Path:
    return shared_data / "cranfield"


@pytest.fixture(scope="module")
def queries(folder: Path) -> sparse.csr_array:
    return sparse.csr_array(sparse.load_npz(folder / "query-counts.npz"))


@pytest.fixture(scope="module")
def index(folder: Path) -> SearchIndex:
    documents = Counts(sparse.load_npz(folder / "counts.npz"))
    model = AspectModel(
        64,
        schedule=Fixed(1 / 0.8),
        start=Noisy(1.0),
        validation_fraction=0,
        temper_prior=False,
        tol=0.0,
        max_iter=100,
        engine=Engine(over_relax=False),
        random_state=0,
    ).fit(documents)
    return SearchIndex.of(model, documents, method="words")


def percent(
    index: SearchIndex, queries: sparse.csr_array, relevant: sparse.csr_array, **changes: object
) -> np.ndarray:
    found = evaluate(
        index.with_settings(index.settings._replace(**changes)).rank(queries), relevant
    )
    return 100 * np.append(found.mean_precision, found.mean_average_precision)


def test_judgements_by_position_and_grade(folder: Path) -> None:
    judged = read_qrels(folder / "qrels.tsv")
    assert relevance(judged, QUERIES, DOCUMENTS).nnz == 1837
    assert relevance(judged, QUERIES, DOCUMENTS, grades=range(1, 5)).nnz == 1612


def test_vector_space_has_the_known_precision(
    index: SearchIndex, queries: sparse.csr_array, folder: Path
) -> None:
    judged = read_qrels(folder / "qrels.tsv")
    every = relevance(judged, QUERIES, DOCUMENTS)
    graded = relevance(judged, QUERIES, DOCUMENTS, grades=range(1, 5))
    tf, tfidf = ({"weights": weights, "interpolation": 0.0} for weights in ("tf", "tfidf"))
    expected = [71.4, 46.9, 32.9, 19.1, 10.5, 34.6]
    np.testing.assert_allclose(percent(index, queries, every, **tf), expected, atol=0.1)
    expected = [75.8, 54.2, 39.1, 23.5, 13.5, 39.2]
    np.testing.assert_allclose(percent(index, queries, every, **tfidf), expected, atol=0.1)
    expected = [50.4, 34.3, 25.8, 15.5, 9.9]
    np.testing.assert_allclose(percent(index, queries, graded, **tf)[:5], expected, atol=0.1)
    expected = [52.6, 40.0, 31.8, 19.0, 11.6]
    np.testing.assert_allclose(percent(index, queries, graded, **tfidf)[:5], expected, atol=0.1)


def test_topics_help_at_high_recall(
    index: SearchIndex, queries: sparse.csr_array, folder: Path
) -> None:
    every = relevance(read_qrels(folder / "qrels.tsv"), QUERIES, DOCUMENTS)
    plsi = percent(index, queries, every)
    np.testing.assert_allclose(plsi, [77.2, 53.9, 41.6, 26.9, 16.5, 41.6], atol=2.0)
    assert (index.rank(queries)[:, [470, 994]] == 0).all()


def test_topics_help_bm25_and_feedback_helps_more(
    index: SearchIndex, queries: sparse.csr_array, folder: Path
) -> None:
    every = relevance(read_qrels(folder / "qrels.tsv"), QUERIES, DOCUMENTS)
    bm25 = {"weights": "bm25", "k1": 1.2, "b": 0.9}
    plain = percent(index, queries, every, **bm25, interpolation=0.0)[-1]
    filled = percent(index, queries, every, **bm25, interpolation=0.7)[-1]
    again = percent(index, queries, every, **bm25, interpolation=0.7, feedback=5)[-1]
    assert plain == pytest.approx(42.5, abs=0.1)
    assert filled > plain + 1.5
    assert again > filled + 0.5


@pytest.mark.parametrize("name", ["cranfield", "medline"])
def test_the_default_is_far_ahead_of_bm25(name: str, index: SearchIndex, shared_data: Path) -> None:
    folder = shared_data / name
    documents = Counts(sparse.load_npz(folder / "counts.npz"))
    asked = sparse.csr_array(sparse.load_npz(folder / "query-counts.npz"))
    numbers = range(1, asked.shape[0] + 1), range(1, documents.n_rows + 1)
    judged = relevance(read_qrels(folder / "qrels.tsv"), *numbers)
    found = evaluate(SearchIndex.of(None, documents).rank(asked), judged)
    # BM25 has 42.4 and 53.0, LSI at its best number of dimensions 46.6 and 72.7.
    least = {"cranfield": 0.49, "medline": 0.705}[name]
    assert found.mean_average_precision > least
    if name == "cranfield":
        settings = index.settings._replace(
            method="combined", weights="bm25", feedback=10, feedback_weight=0.5
        )
        both = evaluate(index.with_settings(settings).rank(asked), judged)
        assert both.mean_average_precision > 0.475
