"""Precision at recall, average precision, differences of means."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from isotherm.errors import IsothermError
from isotherm.retrieval.evaluate import (
    LEVELS,
    NINE,
    average_precision,
    difference,
    evaluate,
    precision_at_recall,
    ranked,
    ranking,
)

rankings = st.lists(st.booleans(), min_size=1, max_size=30).filter(any)


def test_known_ranking() -> None:
    hits = [True, False, True, False, False, True]
    np.testing.assert_allclose(precision_at_recall(hits), [1, 1, 2 / 3, 1 / 2, 1 / 2])
    assert average_precision(hits) == pytest.approx(0.722222, abs=1e-6)


def test_interpolated_and_raw_differ_where_precision_rises() -> None:
    hits = [False, True, True, False]
    np.testing.assert_allclose(precision_at_recall(hits), [2 / 3] * 5)
    raw = precision_at_recall(hits, interpolated=False)
    np.testing.assert_allclose(raw, [1 / 2, 1 / 2, 1 / 2, 2 / 3, 2 / 3])


@given(rankings)
def test_precision_follows_its_definition(hits: list[bool]) -> None:
    found = np.cumsum(hits)
    precision, recall = found / np.arange(1, len(hits) + 1), found / found[-1]
    reached = [recall >= level - 1e-12 for level in NINE]
    best = [precision[r].max() for r in reached]
    first = [precision[np.argmax(r)] for r in reached]
    interpolated = precision_at_recall(hits, levels=NINE)
    np.testing.assert_allclose(interpolated, best)
    np.testing.assert_allclose(precision_at_recall(hits, levels=NINE, interpolated=False), first)
    assert (np.diff(interpolated) <= 1e-12).all()


@given(rankings)
def test_average_precision_follows_its_definition(hits: list[bool]) -> None:
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    assert average_precision(hits) == pytest.approx(precision[hits].mean())


def test_what_a_short_list_misses_counts_against_it() -> None:
    assert average_precision([True, False], 4) == 0.25
    np.testing.assert_array_equal(precision_at_recall([True, False], 4), [1, 0, 0, 0, 0])


def test_level_is_reached_exactly_where_rounding_says_more() -> None:
    assert 0.28 * 25 > 7  # and yet the seventh hit reaches it
    hits = [True] * 7 + [False] * 100 + [True] * 18
    assert precision_at_recall(hits, levels=[0.28], interpolated=False)[0] == 1.0


def test_ties_are_in_the_order_of_documents() -> None:
    np.testing.assert_array_equal(ranking(np.array([[1.0, 2, 1, 2]])), [[1, 3, 0, 2]])


def test_macro_average_skips_and_counts_queries_without_answers() -> None:
    scores = np.array([[3.0, 2, 1], [3, 2, 1], [1, 2, 3]])
    relevant = sparse.csr_array(np.array([[1, 0, 1], [0, 0, 0], [0, 0, 1]], bool))
    found = evaluate(scores, relevant)
    np.testing.assert_array_equal(found.queries, [0, 2])
    assert found.n_skipped == 1
    np.testing.assert_allclose(found.average_precision, [(1 + 2 / 3) / 2, 1])
    np.testing.assert_allclose(found.mean_precision, [1, 1, 1, 5 / 6, 5 / 6])
    assert found.mean_nine_level == pytest.approx((1 + (5 + 4 * 2 / 3) / 9) / 2)
    assert found.mean_average_precision == pytest.approx(11 / 12)
    assert "MAP 91.7" in str(found)
    assert evaluate(scores, relevant.toarray()).levels == LEVELS


def test_bad_judgements_are_refused() -> None:
    scores = np.ones((2, 3))
    with pytest.raises(IsothermError, match="shape"):
        evaluate(scores, np.ones((3, 2)))
    with pytest.raises(IsothermError, match="no query"):
        evaluate(scores, np.zeros((2, 3)))
    with pytest.raises(IsothermError, match="NaN"):
        evaluate(np.full((2, 3), np.nan), np.ones((2, 3)))
    with pytest.raises(IsothermError, match="levels"):
        precision_at_recall([True], levels=[0.0])
    with pytest.raises(IsothermError, match="relevant"):
        average_precision([False, False])


def test_difference_covers_the_mean() -> None:
    rng = np.random.default_rng(0)
    gap = rng.normal(0.3, 1.0, 400)
    found = difference(gap, np.zeros(400))
    assert found.mean == pytest.approx(gap.mean())
    assert found.error == pytest.approx(gap.std(ddof=1) / 20)
    assert found.low == pytest.approx(found.mean - 1.96 * found.error, abs=0.01)
    assert found.high == pytest.approx(found.mean + 1.96 * found.error, abs=0.01)
    narrow = difference(gap, np.zeros(400), coverage=0.4)  # of a normal: 0.524 either side
    assert narrow.low == pytest.approx(found.mean - 0.524 * found.error, abs=0.005)
    assert narrow.high == pytest.approx(found.mean + 0.524 * found.error, abs=0.005)
    assert difference(gap, gap) == (0, 0, 0, 0)


def test_equals_what_trec_eval_computes() -> None:
    measures = pytest.importorskip("ir_measures", reason="needs the extra ir")
    rng = np.random.default_rng(1)
    scores = rng.random((20, 50))
    relevant = rng.random((20, 50)) < 0.1
    relevant[:, 3] = True
    qrels = [measures.Qrel(str(q), str(d), 1) for q, d in zip(*np.nonzero(relevant), strict=True)]
    run = [
        measures.ScoredDoc(str(q), str(d), float(scores[q, d]))
        for q in range(20)
        for d in range(50)
    ]
    levels = [measures.IPrec @ level for level in (0.1, 0.3, 0.5, 0.7, 0.9)]
    theirs = measures.calc_aggregate([measures.AP, *levels], qrels, run)
    ours = evaluate(scores, relevant)
    assert ours.mean_average_precision == pytest.approx(theirs[measures.AP])
    np.testing.assert_allclose(ours.mean_precision, [theirs[level] for level in levels])


def test_recall_and_ndcg_of_the_first() -> None:
    # R N R N N R: of three two are among the first three
    scores = np.array([[6.0, 5, 4, 3, 2, 1], [1, 2, 3, 4, 5, 6], [1, 1, 1, 1, 1, 1]])
    relevant = np.array([[1, 0, 1, 0, 0, 1], [0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0]], bool)
    found = ranked(scores, relevant, 3)
    best = 1 + 1 / np.log2(3) + 0.5
    np.testing.assert_allclose(found.recall, [2 / 3, 1])
    np.testing.assert_allclose(found.ndcg, [1.5 / best, 1])
    np.testing.assert_allclose(found.average_precision, [(1 + 2 / 3 + 1 / 2) / 3, 1])
    assert found.queries.tolist() == [0, 1]
    # more relevant than can be among the first: all that can be is all
    full = ranked(scores[:1], np.ones((1, 6), bool), 2)
    assert full.recall.tolist() == full.ndcg.tolist() == [1]
    assert ranked(scores[:1], relevant[:1], 50).recall.tolist() == [1]
    hidden = np.where([[1, 0, 0, 0, 0, 0]], -np.inf, scores[:1])
    assert ranked(hidden, relevant[:1], 1).recall.tolist() == [0]
    with pytest.raises(IsothermError, match="k=0"):
        ranked(scores, relevant, 0)
    with pytest.raises(IsothermError, match="queries x documents"):
        ranked(scores, relevant[:2])
