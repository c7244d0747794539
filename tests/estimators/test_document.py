"""The document mixture as an estimator."""

import logging
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import KFold

from isotherm import DocumentMixture, Engine, Exponential, Fixed, Folds, IsothermWarning, Rows
from support.corpora import admixture, one_topic_each

X, LABELS = one_topic_each(120, 50, 4, length=60)


@pytest.mark.parametrize("weights", ["document", "shared", "uniform"])
@pytest.mark.parametrize("seed", range(3))
def test_planted_topics_are_found(weights: str, seed: int) -> None:
    model = DocumentMixture(4, weights=weights, validation_fraction=0, random_state=seed).fit(X)
    assert model.temperature_ == (1.0 if weights == "document" else 0.0)
    assert adjusted_rand_score(LABELS, model.row_weights_.argmax(axis=1)) == 1.0
    assert set(np.unique(model.row_weights_)) == {0.0, 1.0}


def test_uniform_weights_one_temperature_below_are_weights_per_document() -> None:
    common: dict[str, Any] = {"validation_fraction": 0, "random_state": 0, "tol": 1e-9}
    own = DocumentMixture(4, schedule=Fixed(6.0), **common).fit(X)
    flat = DocumentMixture(4, weights="uniform", schedule=Fixed(5.0), **common).fit(X)
    np.testing.assert_allclose(own.components_, flat.components_, rtol=1e-6)
    np.testing.assert_allclose(flat.params_.weight, 0.25)


def test_first_critical_temperatures_of_the_kinds_of_weights() -> None:
    found = {
        weights: DocumentMixture(
            4, weights=weights, validation_fraction=0, tol=1e-2, random_state=0
        )
        .fit(X)
        .first_critical_
        for weights in ("document", "shared", "uniform")
    }
    assert found["document"] == pytest.approx(1 + found["shared"], rel=1e-9)
    assert found["uniform"] == pytest.approx(found["shared"], rel=1e-9)


def test_stepwise_updates_reach_the_same_fit() -> None:
    fits = [
        DocumentMixture(
            4, stepwise=stepwise, schedule=Exponential(0.8, end=3.0), tol=1e-8, random_state=0,
            max_iter=500, validation_fraction=0,
        ).fit(X)
        for stepwise in (False, True)
    ]  # fmt: skip
    np.testing.assert_allclose(fits[1].components_, fits[0].components_, atol=1e-4)
    assert fits[1].n_iter_ > fits[0].n_iter_
    np.testing.assert_allclose(fits[1].transform(X), fits[0].transform(X), atol=1e-3)


def test_held_out_rows_choose_the_temperature() -> None:
    table = admixture(300, 150, 6, length=50, alpha=0.3)[0]
    chosen = DocumentMixture(6, random_state=0).fit(table)
    cold = DocumentMixture(6, validation_fraction=0, random_state=0).fit(table)
    trained = DocumentMixture(
        6, engine=Engine(holdout=Rows(train_weight=1.0, test_weight=0.0)), random_state=0
    ).fit(table)
    assert chosen.temperature_ > 0.3 * chosen.first_critical_
    assert trained.temperature_ < 2.0
    new = admixture(400, 150, 6, length=50, alpha=0.3)[0][300:]
    assert chosen.score_rows(new) > cold.score_rows(new)


@pytest.mark.parametrize("density", ["prior", "fold-in", "best"])
def test_score_rows(density: str) -> None:
    model = DocumentMixture(
        4, engine=Engine(holdout=Rows(density=density)), schedule=Fixed(8.0), random_state=0
    ).fit(X[:80])
    new = X[80:]
    logs = new @ np.log(model.components_).T
    folded = np.log(model.transform(new))
    expected = {
        "prior": logsumexp(np.log(model.weights_) + logs, axis=1),
        "fold-in": logsumexp(folded + logs, axis=1),
        "best": logs.max(axis=1),
    }[density]
    assert model.score_rows(new) == pytest.approx(expected.sum() / new.sum(), rel=1e-9)
    assert model.score_rows(np.zeros((2, 50))) == 0.0


def test_unknown_words_are_dropped_and_reported(caplog: pytest.LogCaptureFixture) -> None:
    table = X.copy()
    table[:, [3, 4]] = 0
    model = DocumentMixture(4, random_state=0).fit(table)
    new = X[:10]
    with caplog.at_level(logging.INFO, logger="isotherm"):
        score = model.score_rows(new)
    lost = new[:, [3, 4]].sum()
    assert f"{lost} of {new.sum()} held-out tokens are of columns unseen" in caplog.text
    assert score == model.score_rows(table[:10])


def test_impossible_rows_are_minus_infinity() -> None:
    blocks = np.kron(np.eye(2, dtype=int), np.full((5, 4), 6))
    hard = DocumentMixture(2, pseudo_count=0.0, validation_fraction=0, random_state=0).fit(blocks)
    mixed = blocks[[0]] + blocks[[-1]]
    assert np.isfinite(hard.score_rows(blocks))
    assert hard.score_rows(mixed) == -np.inf
    soft = DocumentMixture(2, validation_fraction=0, random_state=0).fit(blocks)
    assert np.isfinite(soft.score_rows(mixed))


def test_words_missing_from_the_training_part_do_no_harm() -> None:
    table = np.c_[X, np.eye(120, dtype=int)]
    model = DocumentMixture(4, random_state=0).fit(table)
    assert np.isfinite([record.heldout for record in model.trace_]).all()
    assert model.components_.shape == (4, 170)


@pytest.mark.parametrize("seed", range(5))
def test_rows_that_share_no_word(seed: int) -> None:
    with pytest.warns(IsothermWarning, match="holds nothing out") as caught:
        model = DocumentMixture(2, random_state=seed).fit(5 * np.eye(12))
    assert caught[0].filename == __file__
    assert model.temperature_ == 1.0
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0)


@pytest.mark.parametrize("seed", range(8))
def test_proportional_documents_warn(seed: int) -> None:
    table = np.outer(np.arange(1, 7), [1, 2, 3])
    with pytest.warns(IsothermWarning, match="nothing to anneal, the topics coincide") as caught:
        model = DocumentMixture(2, validation_fraction=0, random_state=seed).fit(table)
    assert caught[0].filename == __file__
    assert model.first_critical_ == pytest.approx(1.0)
    np.testing.assert_allclose(model.components_, [[1 / 6, 2 / 6, 3 / 6]] * 2, rtol=0.02)
    assert model.n_distinct_ == 1


def test_more_topics_than_rows_warn() -> None:
    with pytest.warns(IsothermWarning, match="n_components=9 for 5 rows") as caught:
        model = DocumentMixture(9, random_state=0).fit(X[:5])
    assert caught[0].filename == __file__
    assert model.components_.shape == (9, 50)
    assert model.n_distinct_ <= 9


def test_default_pseudo_count() -> None:
    model = DocumentMixture(4, random_state=0).fit(X)
    assert model.model_.pseudo_count == pytest.approx(0.005 * X.sum() / 4)


def cross_validated(cv: Any, **settings: Any) -> DocumentMixture:
    table = admixture(120, 80, 4, length=40, alpha=0.3)[0]
    return DocumentMixture(
        4, engine=Engine(holdout=Folds(cv)), random_state=0, tol=1e-4, **settings
    ).fit(table)


def test_cross_validation_ends_the_schedule_at_the_best_relative_temperature() -> None:
    model = cross_validated(3)
    curve = model.cv_curve_
    assert 0 < curve.score.argmin() < len(curve.score) - 1
    expected = 1 + curve.best * (model.first_critical_ - 1)
    assert model.temperature_ == pytest.approx(expected, rel=1e-9)
    assert model.trace_[-1].temperature == model.temperature_
    # The grid is the schedule's: u / lambda = 0.98 * 0.9 ** k.
    np.testing.assert_allclose(curve.relative[:5], 0.98 * 0.9 ** np.arange(5), rtol=1e-9)


def test_cross_validation_takes_splitters_and_iterables() -> None:
    rows = np.arange(120)
    pairs = [(np.setdiff1d(rows, part), part) for part in np.array_split(rows, 3)]
    by_number, by_splitter, by_pairs = (cross_validated(cv) for cv in (3, KFold(3), iter(pairs)))
    for other in (by_splitter, by_pairs):
        np.testing.assert_array_equal(other.cv_curve_.score, by_number.cv_curve_.score)
        np.testing.assert_array_equal(other.components_, by_number.components_)
    shuffled = cross_validated(KFold(3, shuffle=True, random_state=0))
    assert not np.array_equal(shuffled.cv_curve_.score, by_number.cv_curve_.score)


def test_folds_count_rows_by_their_weight() -> None:
    table = admixture(60, 40, 3)[0]
    weight = np.r_[np.ones(30), np.zeros(30)]
    pairs = [(np.arange(0, 30, 2), np.arange(1, 30, 2)), (np.arange(30), np.arange(30, 60))]
    # The second fold has only rows of weight zero to score: it is left out.
    both = DocumentMixture(3, engine=Engine(holdout=Folds(pairs)), random_state=0).fit(
        table, sample_weight=weight
    )
    one = DocumentMixture(3, engine=Engine(holdout=Folds(pairs[:1])), random_state=0).fit(
        table, sample_weight=weight
    )
    np.testing.assert_array_equal(both.cv_curve_.score, one.cv_curve_.score)
