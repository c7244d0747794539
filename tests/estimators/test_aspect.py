"""The aspect model as an estimator."""

from typing import Any

import numpy as np
import pytest

from isotherm import (
    Adaptive,
    AspectModel,
    Engine,
    Exponential,
    Fixed,
    Grid,
    Linear,
    Noisy,
    Spectral,
    Tempered,
)
from support.corpora import admixture, matched

X, TOPICS = admixture(150, 60, 4, length=120, seed=2)


def test_planted_topics_are_found_from_every_seed() -> None:
    fits = [AspectModel(4, random_state=seed).fit(X) for seed in range(5)]
    for fit in fits:
        assert matched(TOPICS, fit.components_).max() < 0.12
        assert matched(fits[0].components_, fit.components_).max() < 0.03


def test_views_agree() -> None:
    # Rows of very different lengths: P(x) is not a constant.
    counts = X * np.arange(1, len(X) + 1)[:, None]
    model = AspectModel(4, random_state=0).fit(counts)
    joint = np.einsum("k,ki,kj->ij", model.weights_, model.row_components_, model.components_)
    other = model.row_marginal_[:, None] * (model.row_weights_ @ model.components_)
    np.testing.assert_allclose(model.row_components_.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.row_marginal_, counts.sum(axis=1) / counts.sum())
    np.testing.assert_allclose(joint, other, rtol=1e-6)
    np.testing.assert_allclose(model.row_marginal_ @ model.row_weights_, model.weights_, rtol=1e-6)


def test_row_marginal_knows_row_weights() -> None:
    weight = np.arange(1.0, 151.0)
    model = AspectModel(4, random_state=0, tol=1e-3).fit(X, sample_weight=weight)
    mass = weight * X.sum(axis=1)
    np.testing.assert_allclose(model.row_marginal_, mass / mass.sum())


@pytest.mark.parametrize(
    ("schedule", "n_temperatures"),
    [
        (Fixed(1.0), 1),
        (Grid((1.0, 1.2, 1.4)), 3),
        (Exponential(0.9), None),
        (Linear(0.1), None),
        (Adaptive(), None),
        (Tempered(0.9), None),
    ],
)
@pytest.mark.parametrize("over_relax", [False, True])
def test_every_schedule_fits(schedule: Any, n_temperatures: Any, over_relax: bool) -> None:
    model = AspectModel(
        4, schedule=schedule, engine=Engine(over_relax=over_relax), random_state=0
    ).fit(X)
    assert n_temperatures in (None, len(model.trace_))
    assert 1.0 <= model.temperature_ < 2.0
    assert model.components_.shape == (4, 60)
    assert model.perplexity(X) < 50
    cooled = isinstance(schedule, Exponential | Linear | Adaptive)
    assert np.isfinite(model.first_critical_) == cooled
    if isinstance(schedule, Adaptive):
        assert all(record.critical for record in model.trace_[:-1])


def test_plain_em_climbs_the_likelihood() -> None:
    model = AspectModel(
        4,
        schedule=Fixed(1.0),
        validation_fraction=0,
        engine=Engine(over_relax=False),
        tol=1e-7,
        random_state=0,
    ).fit(X)
    p = model.row_marginal_[:, None] * (model.row_weights_ @ model.components_)
    log_likelihood = (X * np.log(np.where(X > 0, p, 1.0))).sum()
    assert -model.free_energy_ == pytest.approx(log_likelihood, rel=1e-6)


def test_tempered_heats_from_plain_em() -> None:
    sparse = admixture(80, 80, 4, length=25)[0]
    model = AspectModel(8, schedule=Tempered(0.9), random_state=0).fit(sparse)
    assert [record.temperature for record in model.trace_][:2] == pytest.approx([1.0, 1 / 0.9])
    assert model.temperature_ > 1.0


def test_temperature_is_chosen_above_one_on_sparse_text() -> None:
    sparse = admixture(80, 80, 4, length=25)[0]
    model = AspectModel(8, random_state=0).fit(sparse)
    em = AspectModel(8, schedule=Fixed(1.0), validation_fraction=0, random_state=0).fit(sparse)
    assert model.temperature_ > 1.0
    new = admixture(160, 80, 4, length=25)[0][80:]
    assert model.perplexity(new) < em.perplexity(new)


@pytest.mark.parametrize("start", [Noisy(), Noisy(0.5), Spectral(), Spectral(size=1.0)])
def test_starts(start: Any) -> None:
    model = AspectModel(4, start=start, random_state=0).fit(X)
    assert matched(TOPICS, model.components_).max() < 0.2


def test_both_forms_of_the_prior() -> None:
    fits = [
        AspectModel(4, temper_prior=temper, schedule=Fixed(1.3), random_state=0).fit(X)
        for temper in (False, True)
    ]
    assert [fit.model_.temper_prior for fit in fits] == [False, True]
    assert not np.allclose(fits[0].weights_, fits[1].weights_, atol=1e-4)


def test_more_components_than_rows_or_columns() -> None:
    small = X[:3, :4] + 1
    model = AspectModel(9, random_state=0).fit(small)
    assert model.components_.shape == (9, 4)
    np.testing.assert_allclose(model.transform(small).sum(axis=1), 1.0)
