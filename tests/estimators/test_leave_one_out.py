"""Estimators with leave-one-out E-steps."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from isotherm import AspectModel, Engine, Exponential, Fixed, Grid, OneSidedClustering, split_tokens
from isotherm.data.counts import Counts
from isotherm.errors import IsothermError
from isotherm.estimators import parameters
from support.corpora import admixture, mixture_of_unigrams

KINDS = [AspectModel, OneSidedClustering]
CORPUS = mixture_of_unigrams((60, 40), 3, (15, 25), 0.3).counts


@pytest.mark.filterwarnings("ignore::isotherm.IsothermWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([kind(leave_one_out=True, random_state=0) for kind in KINDS])
def test_scikit_learn_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    assert check(estimator) is None


def heldout(kind: Any, counts: Any, **settings: Any) -> float:
    """Perplexity of a fifth of the tokens for a plain fit to the others at T = 1."""
    train, held = split_tokens(Counts(counts), (0.8, 0.2), 0)
    model = kind(validation_fraction=0, schedule=Fixed(1.0), random_state=0, **settings).fit(train)
    weights, table = model.row_weights_, model.components_
    predicted = 0.999 * weights @ table + 0.001 * model.background_
    m = held.matrix.toarray()
    return float(np.exp(-(m * np.log(predicted)).sum() / m.sum()))


def test_aspects_of_sparse_counts_predict_better() -> None:
    counts = admixture(150, 120, 5, 30, seed=2, alpha=0.1, sparse=0.1)[0]
    plain, left_out = (
        heldout(AspectModel, counts, n_components=20, leave_one_out=flag) for flag in (False, True)
    )
    assert left_out < 0.9 * plain


def test_clusters_of_sparse_counts_predict_better() -> None:
    counts = mixture_of_unigrams((150, 120), 5, (15, 25), 0.2, seed=2).counts
    plain, left_out = (
        heldout(OneSidedClustering, counts, n_components=40, leave_one_out=flag)
        for flag in (False, True)
    )
    assert left_out < 0.9 * plain


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("schedule", [None, Exponential(0.8), Grid((1.5, 1.2)), Fixed(1.1)])
def test_every_schedule_fits(kind: Any, schedule: Any) -> None:
    model = kind(4, leave_one_out=True, schedule=schedule, random_state=0).fit(CORPUS)
    assert model.components_.sum(axis=1) == pytest.approx(np.ones(4))
    assert model.row_weights_.shape == (60, 4)
    assert model.row_weights_.sum(axis=1) == pytest.approx(np.ones(60), abs=1e-6)
    plain = kind(4, schedule=schedule, random_state=0).fit(CORPUS)
    assert np.abs(model.components_ - plain.components_).max() > 1e-4


@pytest.mark.parametrize("kind", KINDS)
def test_new_rows_do_not_depend_on_their_company(kind: Any) -> None:
    model = kind(4, leave_one_out=True, random_state=0).fit(CORPUS)
    together = model.transform(CORPUS)
    np.testing.assert_array_equal(model.transform(CORPUS[7:9]), together[7:9])
    assert together.sum(axis=1) == pytest.approx(np.ones(60), abs=1e-6)
    assert np.isfinite(model.perplexity(CORPUS))


@pytest.mark.parametrize("kind", KINDS)
def test_weights_of_rows_mean_copies(kind: Any) -> None:
    times = np.where(np.arange(60) % 4 == 0, 2, 1)
    settings = {"leave_one_out": True, "schedule": Fixed(1.2), "random_state": 0, "tol": 1e-6}
    heavy = kind(3, **settings).fit(CORPUS, sample_weight=times)
    many = kind(3, **settings).fit(np.repeat(CORPUS, times, axis=0))
    np.testing.assert_allclose(heavy.components_, many.components_, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_result_does_not_depend_on_threads(kind: Any) -> None:
    engine = Engine(precision="float32")
    settings = {"leave_one_out": True, "engine": engine, "random_state": 0}
    one = kind(4, n_jobs=1, **settings).fit(CORPUS)
    two = kind(4, n_jobs=2, **settings).fit(CORPUS)
    np.testing.assert_array_equal(one.components_, two.components_)
    np.testing.assert_array_equal(one.row_weights_, two.row_weights_)


@pytest.mark.parametrize("kind", KINDS)
def test_over_relaxation_has_no_effect(kind: Any) -> None:
    model = kind(4, leave_one_out=True, engine=Engine(over_relax=True), random_state=0)
    plain = clone(model).set_params(engine__over_relax=False)
    np.testing.assert_array_equal(model.fit(CORPUS).components_, plain.fit(CORPUS).components_)


# ---------------------------------------------------------------- refusals


def test_posteriors_beyond_the_memory_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    nnz = np.count_nonzero(CORPUS)
    needed = 4 * nnz * 5 * 4 / 2**30
    model = AspectModel(5, leave_one_out=True, engine=Engine(precision="float32"), random_state=0)
    model.set_params(engine__memory_limit=0.99 * needed)
    # Nothing is placed, let alone swept, before the refusal.
    monkeypatch.setattr("isotherm.estimators.counts.place", None)
    with pytest.raises(IsothermError) as caught:
        model.fit(CORPUS)
    message = str(caught.value)
    assert message == (
        f"leave_one_out=True holds 4 posteriors for {nnz} non-zeros x 5 components, {needed:.3g} "
        f"GiB in float32; memory_limit={0.99 * needed:g} GiB. Use fewer components, "
        "precision='float32', a higher memory_limit, or leave_one_out=False"
    )
    monkeypatch.undo()
    assert model.set_params(engine__memory_limit=1.01 * needed).fit(CORPUS).n_iter_ > 0
    model.set_params(engine__memory_limit=0.0, leave_one_out=False).fit(CORPUS)


def test_memory_is_counted_in_the_precision_of_the_fit() -> None:
    parameters.check_posteriors_fit(10_000_000, 100, "float32", 15.0)
    with pytest.raises(IsothermError, match=r"29\.8 GiB in float64; memory_limit=15 GiB"):
        parameters.check_posteriors_fit(10_000_000, 100, "float64", 15.0)


@pytest.mark.parametrize("kind", KINDS)
def test_growing_is_refused(kind: Any) -> None:
    with pytest.raises(IsothermError, match=r"n_components='auto'; .* give a number, or use"):
        kind("auto", leave_one_out=True).fit(CORPUS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("schedule", [Exponential(end=0.0), Fixed(0.0), Grid((1.0, 0.0))])
def test_the_hard_limit_is_refused(kind: Any, schedule: Any) -> None:
    with pytest.raises(IsothermError, match=r"goes down to T = 0; end above 0 .* hard limit"):
        kind(3, leave_one_out=True, schedule=schedule).fit(CORPUS)


def test_clusters_without_pseudo_counts_are_refused() -> None:
    with pytest.raises(IsothermError, match=r"pseudo_count=0; .* a number above 0 \(1 is enough\)"):
        OneSidedClustering(3, leave_one_out=True, pseudo_count=0).fit(CORPUS)
    OneSidedClustering(3, leave_one_out=True, pseudo_count=1, random_state=0).fit(CORPUS)
    OneSidedClustering(3, pseudo_count=0, random_state=0).fit(CORPUS)


@pytest.mark.parametrize("kind", KINDS)
def test_anything_but_a_flag_is_refused(kind: Any) -> None:
    with pytest.raises(IsothermError, match=r"leave_one_out='yes'; it must be True or False"):
        kind(3, leave_one_out="yes").fit(CORPUS)


@pytest.mark.parametrize("limit", [-1.0, None, np.nan])
def test_memory_limits_that_are_no_sizes_are_refused(limit: Any) -> None:
    with pytest.raises(IsothermError, match=r"memory_limit=.*; it must be a number of at least 0"):
        AspectModel(3, engine=Engine(memory_limit=limit)).fit(CORPUS)
