"""Theme-topic mixture: what is its own, next to formulas on dense arrays."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

from isotherm.anneal.critical import critical_temperatures, first_critical
from isotherm.anneal.engine import ADAPTIVE_RELAXATION
from isotherm.anneal.relax import relax
from isotherm.anneal.start import Noisy, Spectral, state_of
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.cluster import Cluster
from isotherm.models.ttmm import Ttmm, TtmmParams
from support.models import (
    dense_counts,
    fitted,
    log_likelihoods,
    place,
    poisson_counts,
    random_table,
    same,
    sweep,
    sweeps,
)

COUNTS = poisson_counts()
DATA = place(COUNTS)
MODEL = Ttmm(3, 4, 0.1)
TEMPERATURES = [0.5, 1.0, 2.0, 8.0]


def begin(model: Ttmm, data: Any = DATA, seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    table = random_table(data, model.n_components, seed)
    table = (table + 0.01) / (table + 0.01).sum(axis=0)
    centres = rng.dirichlet(np.ones(model.n_components), model.n_clusters)
    return state_of(model, data, equal(model, data, centres, table))


def equal(model: Ttmm, data: Any, centres: Any, table: Any) -> TtmmParams:
    """Parameters of equal clusters with the given centres (M, K) and topics (J, K)."""
    M = len(centres)
    mass = np.full(M, data.summary.row_weight / M)
    return model.given(centres * (data.summary.total / M), mass, table)


def rises(energies: list[float]) -> float:
    return float(np.diff(energies).max() / np.abs(energies).max())


@pytest.mark.parametrize("smooth", [0.0, 0.1])
@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_a_sweep_never_raises_the_free_energy(smooth: float, temperature: float) -> None:
    model = Ttmm(3, 4, smooth)
    _, energies = sweeps(model, DATA, begin(model), temperature, 60)
    assert rises(energies) <= 1e-10
    assert energies[-1] < energies[0] - 1.0


def test_without_the_energy_of_smoothing_it_would_rise() -> None:
    state, _ = sweeps(Ttmm(3, 4), DATA, begin(Ttmm(3, 4)), 1.0, 40)
    model = Ttmm(3, 4, 0.5)
    params = state.params._replace(word_topic=0.9 * state.params.word_topic + 0.1 / 12)
    state = state._replace(params=params, extra=model.prior_energy(params, DATA.summary))
    energies, likelihoods = [], []
    for _ in range(30):
        extra = state.extra
        state, energy = sweep(model, DATA, state, 1.0)
        energies.append(energy)
        likelihoods.append(energy - extra)
    assert rises(energies) <= 1e-10
    assert rises(likelihoods) > 1e-6


def test_the_energy_at_one_is_minus_the_log_likelihood() -> None:
    model = Ttmm(3, 4)
    state, _ = sweeps(model, DATA, begin(model), 1.0, 5)
    weight, _, topic, table = state.params
    scores = log_likelihoods(DATA, table @ topic) + np.log(weight)
    assert sweep(model, DATA, state, 1.0)[1] == pytest.approx(-logsumexp(scores, axis=1).sum())


def test_one_step_by_hand() -> None:
    state = begin(MODEL)
    weight, _, topic, beta = state.params
    theta, beta, n = topic.T, beta.T, dense_counts(DATA)
    R = theta @ beta
    psi = weight * np.exp(n @ np.log(R).T - (n @ np.log(R).T).max(axis=1, keepdims=True))
    psi /= psi.sum(axis=1, keepdims=True)
    C = psi.T @ n
    theta = theta * ((C / R) @ beta.T)
    theta /= theta.sum(axis=1, keepdims=True)
    beta = 0.1 + beta * (theta.T @ (C / (theta @ beta)))
    beta /= beta.sum(axis=1, keepdims=True)
    reached, _ = sweep(MODEL, DATA, state, 1.0)
    assert reached.rows[0].posterior == pytest.approx(psi, abs=1e-12)
    assert reached.params.weight == pytest.approx(psi.mean(axis=0))
    assert reached.params.inside == pytest.approx(C.sum(axis=1))
    assert MODEL.centres(reached.params) == pytest.approx(theta, abs=1e-12)
    assert reached.params.word_topic == pytest.approx(beta.T, abs=1e-12)


def test_one_cluster_of_one_topic_is_the_unigram_after_one_step() -> None:
    model = Ttmm(1, 1)
    state, _ = sweep(model, DATA, begin(model), 1.0)
    assert state.params.word_topic[:, 0] == pytest.approx(COUNTS.sum(axis=0) / COUNTS.sum())
    smoothed, _ = sweep(Ttmm(1, 1, 0.5), DATA, begin(Ttmm(1, 1, 0.5)), 1.0)
    totals = COUNTS.sum(axis=0) + 0.5
    assert smoothed.params.word_topic[:, 0] == pytest.approx(totals / totals.sum())


@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_a_topic_for_every_cluster_is_the_mixture_of_multinomials(temperature: float) -> None:
    model, plain = Ttmm(4, 4), Cluster(4, temper_prior=True)
    table = random_table(DATA, 4)
    state = state_of(model, DATA, equal(model, DATA, np.eye(4), table))
    other = state_of(plain, DATA, plain.init(DATA.summary, table))
    for _ in range(12):
        state, energy = sweep(model, DATA, state, temperature)
        other, expected = sweep(plain, DATA, other, temperature)
        assert energy == pytest.approx(expected, rel=1e-12)
        assert (state.params.topic == np.eye(4)).all()
        assert state.params.word_topic == pytest.approx(other.params.word_topic, abs=1e-12)
        assert state.params.weight == pytest.approx(other.params.weight, abs=1e-12)


@pytest.mark.parametrize("eta", [0.5, 1.8, 8.0, 50.0])
def test_relaxed_states_are_valid(eta: float) -> None:
    old, _ = sweep(MODEL, DATA, begin(MODEL), 1.0)
    new, _ = sweep(MODEL, DATA, old, 1.0)
    relaxed = relax(MODEL, DATA, old, new, eta)
    assert not same(relaxed.params, old.params, 1e-6)
    assert relaxed.extra == pytest.approx(MODEL.prior_energy(relaxed.params, DATA.summary))
    for array in (relaxed.params.weight[:, None], relaxed.params.topic, relaxed.params.word_topic):
        assert (array >= 0).all()
        assert array.sum(axis=0) == pytest.approx(np.ones(array.shape[1]))


def test_relaxation_ends_lower_in_the_same_number_of_sweeps() -> None:
    _, plain = fitted(MODEL, DATA, begin(MODEL), 1.0, 40)
    fit, _ = fitted(MODEL, DATA, begin(MODEL), 1.0, 40, ADAPTIVE_RELAXATION)
    assert fit.trace[-1].free_energy < plain[-1] - 1e-3


@pytest.mark.parametrize("bounds", [[0, 4, 5, 6, 18], [0, 1, 17, 18]])
def test_blocks_do_not_matter(bounds: list[int]) -> None:
    cut = place(COUNTS, bounds=bounds)
    one, energies = sweeps(MODEL, DATA, begin(MODEL), 1.5, 10)
    many, others = sweeps(MODEL, cut, begin(MODEL, cut), 1.5, 10)
    assert others == pytest.approx(energies, rel=1e-12)
    assert same(one.params, many.params)


def test_order_of_rows_columns_clusters_and_topics_does_not_matter() -> None:
    rng = np.random.default_rng(5)
    rows, columns = rng.permutation(COUNTS.shape[0]), rng.permutation(COUNTS.shape[1])
    m, t = rng.permutation(4), rng.permutation(3)
    shuffled = place(COUNTS[rows][:, columns])
    state = begin(MODEL)
    weight, inside, topic, table = state.params
    turned = TtmmParams(weight[m], inside[m], topic[t][:, m], table[columns][:, t])
    one, energies = sweeps(MODEL, DATA, state, 1.3, 8)
    other, others = sweeps(MODEL, shuffled, state_of(MODEL, shuffled, turned), 1.3, 8)
    assert others == pytest.approx(energies, rel=1e-12)
    assert other.params.topic == pytest.approx(one.params.topic[t][:, m], abs=1e-10)
    assert other.params.word_topic == pytest.approx(one.params.word_topic[columns][:, t], abs=1e-10)
    assert other.rows[0].posterior == pytest.approx(one.rows[0].posterior[rows][:, m], abs=1e-10)


def test_a_row_of_weight_two_is_the_row_twice() -> None:
    weight = np.where(np.arange(18) % 3 == 0, 2.0, 1.0)
    heavy, twice = place(COUNTS, weight=weight), place(np.repeat(COUNTS, weight.astype(int), 0))
    one, energies = sweeps(MODEL, heavy, begin(MODEL, heavy), 1.3, 8)
    other, others = sweeps(MODEL, twice, begin(MODEL, heavy)._replace(rows=twice.no_rows), 1.3, 8)
    assert others == pytest.approx(energies, rel=1e-12)
    assert same(one.params, other.params)


def test_single_precision_is_near() -> None:
    data = place(COUNTS, Cpu("float32"))
    one, energies = sweeps(MODEL, DATA, begin(MODEL), 1.3, 8)
    other, others = sweeps(MODEL, data, begin(MODEL)._replace(rows=data.no_rows), 1.3, 8)
    assert others == pytest.approx(energies, rel=1e-6)
    assert other.params.topic == pytest.approx(one.params.topic, abs=1e-4)


def test_a_topic_without_mass_stays_or_becomes_uniform() -> None:
    table = random_table(DATA, 3)
    centres = np.array([[0.5, 0.5, 0.0]] * 2 + [[0.2, 0.8, 0.0]] * 2)
    for smooth, expected in ((0.0, table[:, 2]), (0.1, np.full(12, 1 / 12))):
        model = Ttmm(3, 4, smooth)
        state = state_of(model, DATA, equal(model, DATA, centres, table))
        state, energies = sweeps(model, DATA, state, 1.0, 3)
        assert np.isfinite(energies).all()
        assert state.params.word_topic[:, 2] == pytest.approx(expected)


def test_a_dead_cluster_keeps_its_centre() -> None:
    state = begin(MODEL)
    weight = np.array([0.5, 0.5, 0.0, 0.0])
    dead = state._replace(params=state.params._replace(weight=weight))
    reached, energies = sweeps(MODEL, DATA, dead, 1.0, 4)
    assert np.isfinite(energies).all()
    assert reached.params.weight[2:] == pytest.approx([0.0, 0.0])
    assert reached.params.topic[:, 2:] == pytest.approx(state.params.topic[:, 2:])
    assert MODEL.sizes(reached.params)[0] == 2


def test_mixture_and_components_are_those_of_the_means() -> None:
    state, _ = sweeps(MODEL, DATA, begin(MODEL), 1.0, 5)
    weights, table = MODEL.mixture(state.params, state.rows[0])
    expected = state.rows[0].posterior @ MODEL.means(state.params).T
    assert weights @ table.T == pytest.approx(expected, abs=1e-12)
    share, topics = MODEL.components(state.params)
    assert share.sum() == pytest.approx(1.0)
    assert share @ topics.T == pytest.approx(MODEL.means(state.params) @ state.params.weight)


def test_the_first_critical_temperature_is_that_of_clusters() -> None:
    assert first_critical(MODEL, DATA) == pytest.approx(first_critical(Cluster(4), DATA))
    state, _ = sweeps(MODEL, DATA, begin(MODEL), 1.0, 30)
    found = critical_temperatures(MODEL, DATA, state, 1.0)
    assert len(found) == MODEL.sizes(state.params)[1]
    assert (found > 0).all()


def test_noise_tells_clusters_apart() -> None:
    params = equal(MODEL, DATA, np.full((4, 3), 1 / 3), random_table(DATA, 3))
    moved = MODEL.perturb(params, np.random.default_rng(0), 0.1)
    assert moved.topic.sum(axis=0) == pytest.approx(np.ones(4))
    assert (np.ptp(moved.topic, axis=1) > 0.01).all()
    assert (moved.word_topic == params.word_topic).all()


@pytest.mark.parametrize("start", [Noisy(0.1), Spectral()], ids=["noisy", "spectral"])
@pytest.mark.parametrize(("K", "M"), [(3, 3), (2, 5), (4, 2)])
def test_plain_starts_tell_clusters_apart(start: Any, K: int, M: int) -> None:
    model = Ttmm(K, M, 0.1)
    state = start.state(model, DATA, np.random.default_rng(0))
    centres = model.centres(state.params)
    assert centres.sum(axis=1) == pytest.approx(np.ones(M))
    assert len(np.unique(centres.round(12), axis=0)) == M
    _, energies = sweeps(model, DATA, state, 1.0, 10)
    assert energies[-1] < energies[0] - 1.0


def test_given_is_what_was_given() -> None:
    counts = np.array([[6.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
    table = np.full((4, 3), 0.25)
    params = replace(MODEL, n_clusters=2).given(counts, np.array([3.0, 1.0]), table)
    assert params.weight == pytest.approx([0.75, 0.25])
    assert params.inside == pytest.approx([8.0, 0.0])
    assert pytest.approx(np.array([[0.75, 0.25, 0.0], [1 / 3, 1 / 3, 1 / 3]])) == params.topic.T


def test_topics_that_no_token_belongs_to_keep_their_last_distribution() -> None:
    last = np.random.default_rng(0).dirichlet(np.ones(5), 4).T
    sums = np.zeros((5, 4))
    model = Ttmm(3, 4)
    np.testing.assert_array_equal(model._topics(sums, last, 0.5), last)
    sums[:, 1] = [1, 3, 0, 0, 4]
    expected = last.copy()
    expected[:, 1] = sums[:, 1] / 8
    np.testing.assert_allclose(model._topics(sums, last, 0.5), expected, rtol=1e-12)


def test_projected_rows_are_shares_of_topics() -> None:
    state, _ = sweeps(MODEL, DATA, begin(MODEL), 2.0, 5)
    _, _, topic, table = state.params
    phi = topic.T[:, None, :] * table
    phi /= phi.sum(axis=2, keepdims=True)
    psi, n = state.rows[0].posterior, dense_counts(DATA)
    expected = np.einsum("dm,dv,mvk->dk", psi, n, phi) / np.maximum(n.sum(axis=1), 1)[:, None]
    expected[4] = psi[4] @ topic.T
    found = MODEL.projected(state.params, state.rows[0], DATA.blocks[0], DATA.kernels)
    assert found == pytest.approx(expected, abs=1e-9)
