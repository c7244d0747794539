"""How much the counts of rows weigh where rows are clustered."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_mutual_info_score

from isotherm import Counts, IsothermError, OneSidedClustering, StoredCounts
from isotherm.estimators.plan import Table
from isotherm.estimators.weighting import scale_of, weighted
from support.corpora import one_topic_each

X, LABELS = one_topic_each(120, 50, 4, length=60)


def table_of(X: np.ndarray, weight: np.ndarray | None = None) -> Table:
    return Table(Counts(X), weight, lambda *_, **__: None)  # type: ignore[arg-type,return-value]


def bursts(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of one topic each and very unequal lengths, which repeat some columns of their own."""
    rng = np.random.default_rng(seed)
    topics = 0.5 * rng.dirichlet(np.full(200, 0.3), 4) + 0.5 * rng.dirichlet(np.ones(200))
    labels = np.arange(160) % 4
    length = np.where(rng.random(160) < 0.15, 800, 40)
    counts = np.array([rng.multinomial(length[i], topics[labels[i]]) for i in range(160)])
    for i, row in enumerate(counts):
        row[rng.choice(200, 3, replace=False)] += rng.poisson(length[i] / 6, 3)
    return counts, labels


def test_damped_rows_have_unit_length_and_counts_their_logarithms() -> None:
    damped = weighted(Counts(X), "damped", 7.0).matrix.toarray()
    np.testing.assert_allclose(np.sqrt((damped**2).sum(axis=1)), 7.0)
    np.testing.assert_allclose(damped[0] / damped[0].max(), np.log1p(X[0]) / np.log1p(X[0].max()))
    assert ((damped > 0) == (X > 0)).all()


def test_rows_of_equal_weight_have_equal_totals_and_tokens_are_left_alone() -> None:
    counts = Counts(X)
    np.testing.assert_allclose(weighted(counts, "rows", 3.0).row_totals, 3.0)
    assert weighted(counts, "tokens", 3.0) is counts


@pytest.mark.parametrize("weighting", ["damped", "rows"])
def test_empty_rows_stay_empty(weighting: str) -> None:
    holes = X.copy()
    holes[3] = 0
    totals = weighted(Counts(holes), weighting, 1.0).row_totals
    assert totals[3] == 0
    assert (np.delete(totals, 3) > 0).all()


@pytest.mark.parametrize("weighting", ["damped", "rows"])
def test_the_scale_is_that_of_the_row_in_the_middle_with_weights_as_repeats(weighting: str) -> None:
    weight = np.arange(len(X)) % 3
    scale, total = scale_of(table_of(X, weight), weighting)
    assert scale_of(table_of(np.repeat(X, weight, axis=0)), weighting) == pytest.approx(
        (scale, total)
    )
    own = weighted(Counts(X), weighting, scale).row_totals
    assert total == pytest.approx(weight @ own)
    # All of these rows have the same total: that of the one in the middle is one of them.
    assert np.abs(own - X.sum(axis=1)).min() < 1e-9


def test_one_huge_row_changes_neither_scale_nor_temperatures() -> None:
    huge = np.vstack([X, X[:1] * 100_000])
    scale, _ = scale_of(table_of(X), "damped")
    assert scale_of(table_of(huge), "damped")[0] == pytest.approx(scale, rel=0.01)
    one, other = (OneSidedClustering(4, random_state=0).fit(rows) for rows in (X, huge))
    assert other.first_critical_ == pytest.approx(one.first_critical_, rel=0.05)
    np.testing.assert_array_equal(other.labels_[:-1], one.labels_)
    assert other.labels_[-1] == one.labels_[0]


def test_long_rows_and_repeats_do_not_decide_where_documents_belong() -> None:
    found: dict[str, list[float]] = {"damped": [], "rows": [], "tokens": []}
    for rows, labels in map(bursts, range(3)):
        for how, scores in found.items():
            model = OneSidedClustering(4, weighting=how, random_state=0)
            scores.append(adjusted_mutual_info_score(labels, model.fit_predict(rows)))
    assert min(found["damped"]) > 0.85
    assert np.mean(found["damped"]) > np.mean(found["rows"]) + 0.2
    assert np.mean(found["rows"]) > np.mean(found["tokens"]) + 0.05


def test_new_rows_weigh_as_those_of_the_fit() -> None:
    model = OneSidedClustering(4, random_state=0).fit(X)
    np.testing.assert_allclose(model.transform(X), model.row_weights_, atol=0.02)
    alone = np.concatenate([model.transform(X[[i]]) for i in range(5)])
    np.testing.assert_array_equal(alone, model.transform(X[:5]))


def test_counts_on_the_disk_weigh_the_same(tmp_path: Any) -> None:
    stored = StoredCounts.write(tmp_path / "counts", Counts(sparse.csr_array(X)), memory=1)
    one = OneSidedClustering(4, random_state=0).fit(X)
    other = OneSidedClustering(4, random_state=0).fit(stored)
    assert other.row_scale_ == pytest.approx(one.row_scale_, rel=1e-12)
    np.testing.assert_array_equal(other.labels_, one.labels_)


def test_clusters_of_unequal_size_are_as_large_as_they_are() -> None:
    rng = np.random.default_rng(1)
    topics = 0.2 * rng.dirichlet(np.full(300, 0.05), 4) + 0.8 * rng.dirichlet(np.ones(300))
    labels = np.repeat(np.arange(4), [260, 60, 30, 20])
    rows = np.array([rng.multinomial(50, topics[k]) for k in labels])
    found, balanced = (
        adjusted_mutual_info_score(
            labels, OneSidedClustering(4, temper_prior=how, random_state=0).fit_predict(rows)
        )
        for how in ("auto", True)
    )
    assert found > balanced + 0.1


def test_the_former_name_is_refused_with_the_new_one() -> None:
    with pytest.raises(IsothermError, match=r"equal_rows is called weighting now.*'rows'"):
        OneSidedClustering(4, equal_rows=True)
    with pytest.raises(IsothermError, match=r"called weighting now.*'tokens'"):
        OneSidedClustering(4).set_params(equal_rows=False)
    with pytest.raises(IsothermError, match="weighting='tfidf'"):
        OneSidedClustering(4, weighting="tfidf").fit(X)


def test_one_long_foreign_row_does_not_choose_the_number_of_clusters() -> None:
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(300, 0.05), 5)
    labels = np.arange(250) % 5
    rows = np.array([rng.multinomial(75, topics[k]) for k in labels])
    foreign = np.zeros((251, 320), int)
    foreign[:250, :300], foreign[250, 300:] = rows, 50
    settings: dict[str, Any] = {"max_components": 30, "random_state": 0}
    alone = OneSidedClustering("predict", **settings).fit(rows)
    beside = OneSidedClustering("predict", **settings).fit(foreign)
    assert alone.n_components_ == 5
    assert 5 <= beside.n_components_ <= 6
    assert adjusted_mutual_info_score(labels, beside.labels_[:250]) > 0.99
