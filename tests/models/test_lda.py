"""LDA with topics as point estimates, next to the bound on dense arrays."""

from typing import Any

import numpy as np
import pytest
from scipy.special import digamma, gammaln

from isotherm.anneal.fold import fold_in
from isotherm.anneal.start import Spectral, state_of
from isotherm.models.lda import Lda
from support.models import place, poisson_counts, random_table, same, sweep, sweeps

COUNTS = poisson_counts()
DATA = place(COUNTS)
MODEL = Lda(3, 0.1, (0.3, 0.5, 0.9))


def begin(model: Lda = MODEL, data: Any = DATA) -> Any:
    return state_of(model, data, model.init(data.summary, random_table(data, 3) * 0.9 + 0.1 / 12))


def bounds(z: Any, table: Any, lam: Any) -> Any:
    """The bound of each row by its definition, phi at its optimum."""
    gamma = z + lam
    logs = digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True))
    kl = gammaln(gamma.sum(axis=1)) - gammaln(gamma).sum(axis=1) - gammaln(lam.sum())
    kl += gammaln(lam).sum() + ((gamma - lam) * logs).sum(axis=1)
    return -kl + (COUNTS * np.log(np.exp(logs) @ table.T)).sum(axis=1)


def test_a_sweep_never_raises_the_free_energy() -> None:
    _, energies = sweeps(MODEL, DATA, begin(), 1.0, 60)
    assert np.diff(energies).max() <= 1e-10 * abs(energies[0])
    assert energies[-1] < energies[0] - 1.0


def test_the_energy_is_minus_the_bounds_and_the_smoothing() -> None:
    state, _ = sweeps(MODEL, DATA, begin(), 1.0, 5)
    lam, table = state.params
    expected = bounds(state.rows[0].topic, table, lam)
    found = MODEL.bounds(state.params, state.rows[0], DATA.blocks[0], DATA.kernels)
    assert found == pytest.approx(expected, rel=1e-12)
    energy = sweep(MODEL, DATA, state, 1.0)[1]
    assert -energy == pytest.approx(expected.sum() + 0.1 * np.log(table).sum(), rel=1e-12)


def test_rows_are_maxima_of_the_bound() -> None:
    state, _ = sweeps(MODEL, DATA, begin(), 1.0, 5)
    rows = fold_in(MODEL, state.params, DATA, 1.0, tol=1e-12, max_sweeps=3000)[0]
    lam, table = state.params
    best = bounds(rows.topic, table, lam)
    rng = np.random.default_rng(0)
    for _ in range(20):
        moved = rows.topic * np.exp(0.02 * rng.standard_normal(rows.topic.shape))
        assert (bounds(moved, table, lam) <= best + 1e-9).all()
    assert best[4] == pytest.approx(0.0, abs=1e-12)


def test_blocks_and_weights_do_not_matter() -> None:
    cut = place(COUNTS, bounds=[0, 4, 5, 18])
    one, energies = sweeps(MODEL, DATA, begin(), 1.0, 8)
    many, others = sweeps(MODEL, cut, begin(data=cut), 1.0, 8)
    assert others == pytest.approx(energies, rel=1e-12)
    assert same(one.params, many.params)
    heavy, twice = place(COUNTS, weight=np.full(18, 2.0)), place(np.tile(COUNTS, (2, 1)))
    one, energies = sweeps(MODEL, heavy, begin(data=heavy), 1.0, 8)
    many, others = sweeps(MODEL, twice, begin(data=twice), 1.0, 8)
    assert others == pytest.approx(energies, rel=1e-12)
    assert same(one.params, many.params)


def test_it_is_a_model_of_counts() -> None:
    state, _ = sweeps(MODEL, DATA, Spectral().state(MODEL, DATA, np.random.default_rng(0)), 1.0, 5)
    weights, table = MODEL.mixture(state.params, state.rows[0])
    assert weights.sum(axis=1) == pytest.approx(np.ones(18))
    assert table.sum(axis=0) == pytest.approx(np.ones(3))
    assert MODEL.components(state.params)[0] == pytest.approx(np.array([0.3, 0.5, 0.9]) / 1.7)
    moved = MODEL.perturb(state.params, np.random.default_rng(0), 0.1)
    assert moved.word_topic.sum(axis=0) == pytest.approx(np.ones(3))
    assert not same(moved, state.params)
    assert MODEL.project(moved, state.params) is state.params


def test_a_topic_without_mass_keeps_its_distribution() -> None:
    model, table = Lda(2), np.zeros((12, 2))
    table[:, 0] = COUNTS.sum(axis=0) / COUNTS.sum()
    table[5, 1] = 1.0  # the empty column
    state = state_of(model, DATA, model.init(DATA.summary, table))
    state, energies = sweeps(model, DATA, state, 1.0, 3)
    assert np.isfinite(energies).all()
    assert (state.params.word_topic[:, 1] == table[:, 1]).all()
