"""One-sided clustering as an estimator."""

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from isotherm import Exponential, Fixed, OneSidedClustering
from support.corpora import admixture, one_topic_each

X, LABELS = one_topic_each(120, 50, 4, length=60)


@pytest.mark.parametrize("seed", range(4))
def test_planted_clusters_are_found(seed: int) -> None:
    model = OneSidedClustering(4, random_state=seed)
    labels = model.fit_predict(X)
    assert adjusted_rand_score(LABELS, labels) == 1.0
    np.testing.assert_array_equal(labels, model.labels_)
    np.testing.assert_array_equal(labels, model.row_weights_.argmax(axis=1))


def test_predict_is_the_largest_weight() -> None:
    model = OneSidedClustering(4, random_state=0).fit(X[:80])
    labels = model.predict(X[80:])
    np.testing.assert_array_equal(labels, model.transform(X[80:]).argmax(axis=1))
    assert adjusted_rand_score(LABELS[80:], labels) == 1.0
    empty = model.predict(np.zeros((2, 50)))
    np.testing.assert_array_equal(empty, [model.transform(np.zeros((1, 50)))[0].argmax()] * 2)


def test_hard_limit() -> None:
    model = OneSidedClustering(
        4,
        weighting="tokens",
        schedule=Exponential(end=0.0),
        validation_fraction=0,
        random_state=0,
    ).fit(X)
    assert model.temperature_ == 0.0
    assert set(np.unique(model.row_weights_)) == {0.0, 1.0}
    assert set(np.unique(model.transform(X))) == {0.0, 1.0}
    assert adjusted_rand_score(LABELS, model.labels_) == 1.0
    # Hard clusters are described by the mean of their rows and the pseudo-counts.
    alpha = 0.05 * X.sum() / 4
    p = X.sum(axis=0) / X.sum()
    for k in range(4):
        mine = X[model.labels_ == k]
        expected = (mine.sum(axis=0) + alpha * p) / (mine.sum() + alpha)
        np.testing.assert_allclose(model.components_[k], expected, rtol=1e-9)


def test_scaling_rows_changes_nothing_where_rows_are_equal() -> None:
    table = admixture(60, 30)[0] + 0.5
    factor = np.where(np.arange(60) % 2, 3.0, 1.0)
    scaled = table * factor[:, None]
    # The common total is the lower median of the totals; keep that the same.
    scaled *= np.sort(table.sum(axis=1))[29] / np.sort(scaled.sum(axis=1))[29]

    def fitted(X: np.ndarray, weighting: str) -> OneSidedClustering:
        return OneSidedClustering(
            3, weighting=weighting, validation_fraction=0, random_state=0
        ).fit(X)

    plain, other = fitted(table, "rows"), fitted(scaled, "rows")
    np.testing.assert_allclose(other.components_, plain.components_, rtol=1e-6)
    np.testing.assert_array_equal(other.labels_, plain.labels_)
    np.testing.assert_allclose(other.transform(table * 17), plain.transform(table), atol=1e-6)
    assert plain.first_critical_ == pytest.approx(other.first_critical_)
    unequal = fitted(table, "tokens"), fitted(scaled, "tokens")
    assert not np.allclose(unequal[0].components_, unequal[1].components_, rtol=1e-3)


@pytest.mark.parametrize(
    ("given", "expected"),
    [("auto", False), (True, True), (np.True_, True), (False, False), (np.False_, False)],
)
def test_temper_prior_reaches_the_model(given: Any, expected: bool) -> None:
    table = admixture(40, 20)[0]
    model = OneSidedClustering(3, temper_prior=given, max_iter=2, random_state=0).fit(table)
    assert model.model_.temper_prior is expected


def test_rows_of_equal_weight_are_distributional_clustering() -> None:
    table = admixture(40, 20)[0]
    model = OneSidedClustering(
        3,
        weighting="rows",
        pseudo_count=0.0,
        temper_prior=False,
        schedule=Fixed(4.0),
        validation_fraction=0,
        random_state=0,
    ).fit(table)
    p = table / table.sum(axis=1, keepdims=True)
    n = np.sort(table.sum(axis=1))[19]
    assert model.row_scale_ == pytest.approx(n)
    # Q(c|x) ~ P(c) exp(-(n/T) KL(p(.|x) || P(.|c))), up to what does not depend on c.
    logs = np.log(model.weights_) + (n / 4.0) * p @ np.log(model.components_).T
    expected = np.exp(logs - logs.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.transform(table), expected, rtol=1e-6)


def test_rows_of_equal_weight_leave_empty_rows_alone() -> None:
    table = admixture(40, 20)[0]
    table[3] = 0
    model = OneSidedClustering(3, weighting="rows", random_state=0).fit(table)
    np.testing.assert_allclose(model.transform(np.zeros((2, 20))).sum(axis=1), 1.0)
    assert model.row_scale_ == pytest.approx(np.sort(np.delete(table, 3, 0).sum(axis=1))[19])


def test_pseudo_counts_pull_towards_the_corpus() -> None:
    p = X.sum(axis=0) / X.sum()
    away = [
        np.abs(OneSidedClustering(4, pseudo_count=a, random_state=0).fit(X).components_ - p).sum()
        for a in (0.0, 1e3, 1e5)
    ]
    assert away[0] > away[1] > away[2]
    default = OneSidedClustering(4, weighting="tokens", random_state=0).fit(X).model_
    assert default.pseudo_count == pytest.approx(0.05 * X.sum() / 4)


def test_weights_of_rows_enter_predictions_and_labels() -> None:
    weight = np.where(LABELS == 0, 0.0, 1.0)
    model = OneSidedClustering(3, random_state=0).fit(X, sample_weight=weight)
    rest = LABELS > 0
    assert adjusted_rand_score(LABELS[rest], model.labels_[rest]) == 1.0
