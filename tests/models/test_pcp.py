"""Clustering-projection in both families, next to the bound of any state on dense arrays."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from isotherm import _nested
from isotherm.anneal.critical import critical_temperatures, first_critical
from isotherm.anneal.engine import Annealer
from isotherm.anneal.fold import fold_in
from isotherm.anneal.schedule import Exponential
from isotherm.anneal.start import state_of
from isotherm.anneal.trace import State
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.cluster import Cluster
from isotherm.models.dirichlet import divergences, joining_gains, mean_logs, sparse_divergence
from isotherm.models.pcp import FactorizedPcp, Pcp, PcpParams, live
from isotherm.models.ttmm import Ttmm
from models.projection_oracle import Point, cluster_phi, elbo, row_phi, steepest
from support.models import (
    Energies,
    dense_counts,
    place,
    poisson_counts,
    random_table,
    same,
    sweep,
    sweeps,
)

COUNTS = poisson_counts()
DATA = place(COUNTS)
FAMILIES = {"structured": Pcp, "factorized": FactorizedPcp}
BOTH = pytest.mark.parametrize("kind", FAMILIES.values(), ids=FAMILIES.keys())


def begin(model: Any, data: Any = DATA, seed: int = 1) -> State:
    rng = np.random.default_rng(seed)
    table = random_table(data, model.n_components, seed) + 0.01
    counts = rng.gamma(1.0, 20.0, (model.n_clusters, model.n_components))
    mass = np.full(model.n_clusters, data.summary.row_weight / model.n_clusters)
    return state_of(model, data, model.given(counts, mass, table / table.sum(axis=0)))


def rises(energies: list[float]) -> float:
    return float(np.diff(energies).max() / np.abs(energies).max())


def parts(params: PcpParams) -> tuple[Any, ...]:
    return params.eta, params.gamma, params.word_topic.T, float(params.alpha[0]), params.lam


@BOTH
@pytest.mark.parametrize("smooth", [0.0, 0.1])
@pytest.mark.parametrize("learn_hyper", [False, True])
@pytest.mark.parametrize("temperature", [0.7, 1.0, 3.0])
def test_a_sweep_never_raises_the_free_energy(
    kind: Any, smooth: float, learn_hyper: bool, temperature: float
) -> None:
    model = kind(3, 4, smooth, 1.3, 0.4, learn_hyper)
    state, energies = sweeps(model, DATA, begin(model), temperature, 25)
    assert rises(energies) <= 1e-10
    assert energies[-1] < energies[0] - 1.0
    # Above T = 1 clusters coincide at first, and a prior learned there would keep them so.
    learned = learn_hyper and temperature <= 1
    assert (state.params.alpha[0] != 1.3) == learned
    assert (state.params.lam[0] != 0.4) == learned


@BOTH
def test_the_energy_of_smoothing_is_part_of_it(kind: Any) -> None:
    model = kind(3, 4, 0.5)
    state, _ = sweeps(kind(3, 4), DATA, begin(kind(3, 4)), 1.0, 40)
    params = state.params._replace(word_topic=0.9 * state.params.word_topic + 0.1 / 12)
    state = state._replace(params=params, extra=model.prior_energy(params, DATA.summary))
    energies, without = [], []
    for _ in range(30):
        smoothing = -0.5 * np.log(state.params.word_topic).sum()
        state, energy = sweep(model, DATA, state, 1.0)
        energies.append(energy)
        without.append(energy - smoothing)
    assert rises(energies) <= 1e-10
    assert rises(without) > 1e-6


@pytest.mark.parametrize("temperature", [1.0, 3.0])
@pytest.mark.parametrize("smooth", [0.0, 0.1])
def test_structured_updates_are_exact_maxima(smooth: float, temperature: float) -> None:
    model = Pcp(3, 4, smooth, 1.3, 0.4)
    n = dense_counts(DATA)
    keep = n.sum(axis=0) > 0
    n, data = n[:, keep], place(COUNTS[:, keep])
    state, _ = sweeps(model, data, begin(model, data), temperature, 3)
    reached, energy = sweep(model, data, state, temperature)
    psi = reached.rows[0].posterior
    eta, gamma, beta, alpha, lam = parts(state.params)
    point = Point(psi, cluster_phi(gamma, beta), eta, gamma, beta, alpha, lam, smooth)
    assert energy == pytest.approx(-elbo(point, n, temperature), rel=1e-12)
    assert steepest(point, "psi", n, temperature) < 1e-6
    assert steepest(point, "phi", n, temperature) < 1e-6
    assert steepest(point, "gamma", n, temperature) > 1e-4
    new_eta, new_gamma, new_beta, *_ = parts(reached.params)
    point = point._replace(gamma=new_gamma, eta=new_eta)
    assert steepest(point, "gamma", n, temperature) < 1e-6
    assert steepest(point, "eta", n, temperature) < 1e-6
    assert steepest(point, "beta", n, temperature) > 1e-4
    point = point._replace(phi=cluster_phi(new_gamma, beta), beta=new_beta)
    assert steepest(point, "beta", n, temperature) < 1e-6


@pytest.mark.parametrize("temperature", [1.0, 3.0])
@pytest.mark.parametrize("smooth", [0.0, 0.1])
def test_factorized_updates_are_exact_maxima(smooth: float, temperature: float) -> None:
    model = FactorizedPcp(3, 4, smooth, 1.3, 0.4)
    keep = COUNTS.sum(axis=0) > 0
    n, data = COUNTS[:, keep], place(COUNTS[:, keep])
    state, _ = sweeps(model, data, begin(model, data), temperature, 3)
    reached, energy = sweep(model, data, state, temperature)
    eta, gamma, beta, alpha, lam = parts(state.params)
    psi = state.rows[0].posterior
    point = Point(psi, row_phi(psi, gamma, beta), eta, gamma, beta, alpha, lam, smooth)
    assert energy == pytest.approx(-elbo(point, n, temperature), rel=1e-12)
    assert steepest(point, "phi", n, temperature) < 1e-6
    point = point._replace(psi=reached.rows[0].posterior)
    assert steepest(point, "psi", n, temperature) < 1e-6
    assert reached.rows[0].topic == pytest.approx(np.einsum("dv,dvk->dk", n, point.phi))
    new_eta, new_gamma, new_beta, *_ = parts(reached.params)
    assert steepest(point, "gamma", n, temperature) > 1e-4
    point = point._replace(gamma=new_gamma, eta=new_eta, beta=new_beta)
    for field in ("gamma", "eta", "beta"):
        assert steepest(point, field, n, temperature) < 1e-6


@pytest.mark.parametrize(
    ("kind", "expected"), [(FactorizedPcp, -11.155186), (Pcp, -11.060708)], ids=FAMILIES.keys()
)
def test_tiny_corpus(kind: Any, expected: float) -> None:
    data = place(np.array([[2, 1, 0], [0, 0, 2], [1, 1, 1]]))
    beta = np.array([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]])
    model = kind(2, 2, 0.0, 1.5, (0.7, 0.4))
    best = -np.inf
    for seed in range(6):
        rng = np.random.default_rng(seed)
        state = state_of(model, data, model.given(rng.gamma(0.5, 3.0, (2, 2)), np.ones(2), beta.T))
        for _ in range(120):
            state, energy = sweep(model, data, state, 1.0)
            params = state.params._replace(word_topic=beta.T)
            state = state._replace(params=params, extra=model.prior_energy(params, data.summary))
        best = max(best, -energy)
    assert best == pytest.approx(expected, abs=6e-7)
    assert best < -9.066517  # the exact log evidence


def test_a_factorized_state_never_loses_in_the_structured_bound() -> None:
    for seed in range(5):
        model = FactorizedPcp(3, 4, 0.1, 1.3, 0.4)
        state, energies = sweeps(model, DATA, begin(model, seed=seed), 1.0, 20)
        _, energy = sweep(model.structured(), DATA, state, 1.0)
        assert energy <= energies[-1] + 1e-9


def test_huge_counts_follow_maximum_likelihood() -> None:
    # Without the empty row, which keeps clusters alive that nothing else belongs to.
    filled = COUNTS[COUNTS.sum(axis=1) > 0]
    large = place(filled * 1e6)
    table, rng = random_table(DATA, 3), np.random.default_rng(2)
    centres = rng.dirichlet(np.ones(3), 4)
    likely, model = Ttmm(3, 4), Pcp(3, 4, 0.0, 1.0, 1 / 3)
    mass = np.full(4, len(filled) / 4)
    counts = centres * large.summary.total / 4
    one = state_of(likely, large, likely.given(counts, mass, table))
    other = state_of(model, large, model.given(counts, mass, table))
    names = np.arange(4)
    for _ in range(15):
        one, _ = sweep(likely, large, one, 1.0)
        other, _ = sweep(model, large, other, 1.0)
        psi = np.zeros((len(filled), 4))
        psi[:, names] = other.rows[0].posterior
        assert psi == pytest.approx(one.rows[0].posterior, abs=1e-9)
        names = names[other.params.kept]
    assert model.centres(other.params) == pytest.approx(one.params.topic.T[names], abs=1e-8)
    assert other.params.word_topic == pytest.approx(one.params.word_topic, abs=1e-8)


@BOTH
def test_clusters_without_weight_leave_and_change_nothing(kind: Any) -> None:
    model = kind(3, 6, 0.1, 1.0, 0.4)
    small, full = begin(replace(model, n_clusters=3)), begin(model)
    counts, mass = small.params.gamma - 0.4, small.params.eta - 1 / 3
    pruned = state_of(model, DATA, model.given(counts, mass, small.params.word_topic))
    assert len(pruned.params.eta) == 3
    # The same with three clusters that nothing belongs to, still there.
    dead = model.given(
        np.vstack([counts, np.zeros((3, 3))]), np.append(mass, np.zeros(3)), small.params.word_topic
    )
    assert model.prior_energy(pruned.params, DATA.summary) == pytest.approx(
        model.prior_energy(dead, DATA.summary), rel=1e-12
    )
    assert model.log_prior(dead)[:3] == pytest.approx(model.log_prior(pruned.params), rel=1e-12)
    assert len(full.params.eta) == 6


@BOTH
def test_priors_are_learned_with_those_that_left(kind: Any) -> None:
    model = kind(3, 40, 0.1, 1.0, 0.4, True)
    state, energies = sweeps(model, DATA, begin(model), 1.0, 40)
    assert len(state.params.eta) < 40
    assert state.params.alpha[0] != 1.0
    assert rises(energies) <= 1e-10


@BOTH
def test_dead_clusters_are_pruned_on_the_way(kind: Any) -> None:
    model = kind(3, 40, 0.1, 1.0, 0.4)
    state, energies = sweeps(model, DATA, begin(model), 1.0, 40)
    kept = len(state.params.eta)
    assert 1 < kept < 18
    assert rises(energies) <= 1e-10
    posterior = model.posterior(state.params, state.rows[0])
    assert posterior.shape == (18, kept)
    assert posterior.sum(axis=1) == pytest.approx(np.ones(18))
    # alpha/M still has the 40 clusters of the beginning.
    mass = live(state.params, state.rows[0].posterior).sum(axis=0)
    assert state.params.eta == pytest.approx(mass + 1.0 / 40, abs=1e-5)
    assert model.sizes(state.params)[0] == kept


def test_rows_follow_the_clusters_that_are_kept() -> None:
    model = FactorizedPcp(3, 4, 0.1)
    state, _ = sweeps(model, DATA, begin(model), 3.0, 5)
    gone = state.params._replace(
        eta=state.params.eta[[0, 2]], gamma=state.params.gamma[[0, 2]], kept=np.array([0, 2])
    )
    psi = live(gone, state.rows[0].posterior)
    assert (psi == state.rows[0].posterior[:, [0, 2]]).all()
    assert live(gone, psi) is psi


@BOTH
@pytest.mark.parametrize("M", [4, 30])
def test_blocks_do_not_matter(kind: Any, M: int) -> None:
    model = kind(3, M, 0.1, 1.3, 0.4, True)
    cut = place(COUNTS, bounds=[0, 4, 5, 6, 18])
    one, energies = sweeps(model, DATA, begin(model), 1.2, 12)
    many, others = sweeps(model, cut, begin(model, cut), 1.2, 12)
    # Newton's steps for the priors magnify rounding errors.
    assert others == pytest.approx(energies, rel=1e-8)
    assert same(one.params, many.params, 1e-4)
    assert same(DATA.gather(one.rows), cut.gather(many.rows), 1e-4)
    plain = replace(model, learn_hyper=False)
    one, energies = sweeps(plain, DATA, begin(plain), 1.2, 8)
    many, others = sweeps(plain, cut, begin(plain, cut), 1.2, 8)
    assert others == pytest.approx(energies, rel=1e-12)
    assert same(one.params, many.params, 1e-9)


@BOTH
def test_order_of_rows_columns_clusters_and_topics_does_not_matter(kind: Any) -> None:
    model = kind(3, 4, 0.1, 1.3, (0.4, 0.7, 0.2))
    rng = np.random.default_rng(5)
    rows, columns = rng.permutation(18), rng.permutation(12)
    m, t = rng.permutation(4), rng.permutation(3)
    shuffled, state = place(COUNTS[rows][:, columns]), begin(model)
    p = state.params
    turned = p._replace(
        eta=p.eta[m], gamma=p.gamma[m][:, t], word_topic=p.word_topic[columns][:, t], lam=p.lam[t]
    )
    one, energies = sweeps(model, DATA, state, 1.3, 8)
    other, others = sweeps(model, shuffled, state_of(model, shuffled, turned), 1.3, 8)
    assert others == pytest.approx(energies, rel=1e-12)
    assert other.params.gamma == pytest.approx(one.params.gamma[m][:, t], abs=1e-8)
    assert other.params.word_topic == pytest.approx(one.params.word_topic[columns][:, t], abs=1e-9)
    assert other.rows[0].posterior == pytest.approx(one.rows[0].posterior[rows][:, m], abs=1e-9)


@BOTH
def test_a_row_of_weight_two_is_the_row_twice(kind: Any) -> None:
    model = kind(3, 4, 0.1, 1.3, 0.4)
    weight = np.where(np.arange(18) % 3 == 0, 2.0, 1.0)
    heavy, twice = place(COUNTS, weight=weight), place(np.repeat(COUNTS, weight.astype(int), 0))
    params = begin(model).params
    one, energies = sweeps(model, heavy, state_of(model, heavy, params), 1.3, 8)
    other, others = sweeps(model, twice, state_of(model, twice, params), 1.3, 8)
    assert others == pytest.approx(energies, rel=1e-12)
    assert same(one.params, other.params)


@BOTH
def test_a_row_of_weight_zero_changes_nothing_but_has_clusters(kind: Any) -> None:
    model = kind(3, 4, 0.1, 1.3, 0.4)
    weight = np.where(np.arange(18) < 3, 0.0, 1.0)
    light, without = place(COUNTS, weight=weight), place(COUNTS[3:])
    params = begin(model).params
    one, energies = sweeps(model, light, state_of(model, light, params), 1.3, 8)
    other, others = sweeps(model, without, state_of(model, without, params), 1.3, 8)
    assert others == pytest.approx(energies, rel=1e-12)
    assert same(one.params, other.params)
    everyone = state_of(model, DATA, params)
    if kind is FactorizedPcp:  # its posterior is that of any other row
        seen = sweep(model, DATA, everyone, 1.3)[0].rows[0]
        mine = sweep(model, light, state_of(model, light, params), 1.3)[0].rows[0]
        assert same(seen, mine)


@BOTH
def test_an_empty_row_follows_the_prior(kind: Any) -> None:
    model = kind(3, 4, 0.1)
    state, _ = sweeps(model, DATA, begin(model), 1.0, 5)
    reached, _ = sweep(model, DATA, state, 1.0)
    expected = np.exp(model.log_prior(state.params))
    assert reached.rows[0].posterior[4] == pytest.approx(expected / expected.sum(), abs=1e-12)
    if kind is FactorizedPcp:
        assert (reached.rows[0].topic[4] == 0).all()


@BOTH
def test_one_cluster_and_one_topic(kind: Any) -> None:
    model = kind(3, 1, 0.1, 2.0, 0.4)
    state, _ = sweeps(model, DATA, begin(model), 1.0, 5)
    assert (state.rows[0].posterior == 1).all()
    assert model.log_prior(state.params) == pytest.approx([0.0], abs=1e-12)
    model = kind(1, 3, 0.1, 2.0, 0.4)
    state, _ = sweeps(model, DATA, begin(model), 1.0, 5)
    assert np.ptp(state.rows[0].posterior, axis=0) == pytest.approx(np.zeros(3), abs=1e-12)


@BOTH
def test_twins_never_part(kind: Any) -> None:
    model = kind(3, 2, 0.1)
    counts = np.full((2, 3), 30.0)
    state = state_of(model, DATA, model.given(counts, np.full(2, 9.0), random_table(DATA, 3)))
    state, _ = sweeps(model, DATA, state, 1.0, 20)
    assert state.params.gamma[0] == pytest.approx(state.params.gamma[1])


@BOTH
def test_single_precision_is_near(kind: Any) -> None:
    model = kind(3, 4, 0.1)
    data, params = place(COUNTS, Cpu("float32")), begin(model).params
    _, energies = sweeps(model, DATA, state_of(model, DATA, params), 1.3, 8)
    other, others = sweeps(model, data, state_of(model, data, params), 1.3, 8)
    assert others == pytest.approx(energies, rel=1e-6)
    assert other.params.gamma.dtype == np.float64


@BOTH
def test_new_rows_are_treated_one_by_one(kind: Any) -> None:
    model = kind(3, 4, 0.1)
    state, _ = sweeps(model, DATA, begin(model), 1.0, 10)
    whole = DATA.gather(fold_in(model, state.params, DATA, 1.0))
    for lo, hi in ((0, 1), (3, 9)):
        part = place(COUNTS[lo:hi])
        found = part.gather(fold_in(model, state.params, part, 1.0))
        assert same(_nested.apply(lambda a, cut=slice(lo, hi): a[cut], whole), found, 1e-12)
    if kind is FactorizedPcp:
        again = model.expect(state.params, whole, DATA.blocks[0], 1.0, DATA.kernels).rows
        assert again.posterior == pytest.approx(whole.posterior, abs=1e-3)


def test_new_rows_of_the_factorized_family_take_twenty_rounds_at_most() -> None:
    assert FactorizedPcp(2, 2).fold_sweeps == 20


@BOTH
def test_noise_changes_counts_and_keeps_priors(kind: Any) -> None:
    model = kind(3, 4, 0.1, 1.3, 0.4)
    params = begin(model).params
    moved = model.perturb(params, np.random.default_rng(0), 0.1)
    ratio = np.log((moved.gamma - 0.4) / (params.gamma - 0.4))
    assert 0.03 < ratio.std() < 0.3
    assert same(params._replace(gamma=moved.gamma), moved)


@BOTH
def test_a_prior_that_was_just_raised_does_no_harm(kind: Any) -> None:
    """Learned after gamma, lambda may be above it."""
    model = kind(3, 4, 0.1, 1.3, 0.4, True)
    params = begin(model).params
    gamma = params.gamma.copy()
    gamma[2] = 0.01
    params = params._replace(gamma=gamma, lam=np.full(3, 9.0))
    for seed in range(20):
        shaken = model.perturb(params, np.random.default_rng(seed), 0.5)
        assert (shaken.gamma > 0).all()
        np.testing.assert_array_equal(shaken.gamma[2], gamma[2])
    assert model.tokens(params)[2] == 0
    assert (model.tokens(params)[[0, 1, 3]] > 0).all()


@BOTH
def test_the_engine_cools_it(kind: Any) -> None:
    model, heard = kind(3, 4, 0.1), Energies()
    assert first_critical(model, DATA) == pytest.approx(first_critical(Cluster(4), DATA))
    annealer = Annealer(
        Exponential(0.7, start=8.0), tol=1e-6, max_sweeps=30, noise=0.0, callbacks=(heard,)
    )
    fit = annealer.run(model, DATA, np.random.default_rng(0), state=begin(model))
    assert fit.temperature == 1.0
    assert -fit.trace[-1].free_energy > -sweep(model, DATA, begin(model), 1.0)[1]
    at = np.cumsum([0, *[record.sweeps for record in fit.trace]])
    for lo, hi in pairwise(at.tolist()):
        assert hi - lo < 2 or rises(heard.values[lo:hi]) <= 1e-10
    assert (critical_temperatures(model, DATA, fit.state, 1.0) > 0).all()
    relaxed = model.project(fit.state.params, fit.state.params)
    assert relaxed is fit.state.params


@BOTH
def test_mixtures_are_of_topics(kind: Any) -> None:
    model = kind(3, 4, 0.1)
    state, _ = sweeps(model, DATA, begin(model), 1.0, 10)
    weights, table = model.mixture(state.params, state.rows[0])
    means = model.means(state.params)
    assert means.sum(axis=0) == pytest.approx(np.ones(means.shape[1]))
    expected = model.posterior(state.params, state.rows[0]) @ means.T
    assert weights @ table.T == pytest.approx(expected, abs=1e-12)


@BOTH
def test_projected_rows_are_shares_of_topics(kind: Any) -> None:
    model = kind(3, 4, 0.1)
    state, _ = sweeps(model, DATA, begin(model), 2.0, 5)
    rows = fold_in(model, state.params, DATA, 1.0)[0]
    _, gamma, beta, *_ = parts(state.params)
    psi, n = rows.posterior, dense_counts(DATA)
    found = model.projected(state.params, rows, DATA.blocks[0], DATA.kernels)
    if kind is FactorizedPcp:
        expected = np.einsum("dv,dvk->dk", n, row_phi(psi, gamma, beta))
    else:
        expected = np.einsum("dm,dv,mvk->dk", psi, n, cluster_phi(gamma, beta))
    expected /= np.maximum(n.sum(axis=1), 1)[:, None]
    expected[4] = psi[4] @ model.centres(state.params)
    assert found == pytest.approx(expected, abs=1e-3 if kind is FactorizedPcp else 1e-9)


@BOTH
@pytest.mark.parametrize("seed", range(4))
def test_joined_clusters_never_have_a_worse_bound(kind: Any, seed: int) -> None:
    """What is gained is known from sums alone, so it is at least that much."""
    model = kind(3, 12, 0.1, 1.0, 0.4)
    state, _ = sweeps(model, DATA, begin(model, seed=seed), 1.0, 3)
    state, energy = sweep(model, DATA, state, 1.0)
    params = model.joined(state.params)
    assert params is not None
    assert len(params.eta) < len(state.params.eta)
    assert params.eta.sum() - len(params.eta) / 12 == pytest.approx(18)
    assert (params.gamma - 0.4).sum() == pytest.approx((state.params.gamma - 0.4).sum())
    if kind is Pcp:
        assert sweep(model, DATA, state_of(model, DATA, params), 1.0)[1] <= energy + 1e-9
    assert model.joined(params) is None


def test_the_gain_of_a_join_is_that_of_the_bound_for_copies() -> None:
    counts = np.array([[30.0, 4.0, 1.0], [60.0, 8.0, 2.0], [0.0, 20.0, 40.0]])
    mass, prior, each = np.array([5.0, 10.0, 9.0]), np.array([0.3, 0.5, 0.4]), 0.25

    def bound(counts: Any, mass: Any) -> float:
        """What of the bound depends on the clusters, with rows shared as masses are."""
        gamma, eta = counts + prior, mass + each
        value = -divergences(gamma, prior).sum() - sparse_divergence(eta, 1.0, 4)
        value += (counts * mean_logs(gamma)).sum()
        total = eta.sum() + (4 - len(eta)) * each
        shares = np.where(mass > 0, mass, 1.0) / mass.sum()
        return float(value + (mass * (mean_logs(eta, total) - np.log(shares))).sum())

    gains = joining_gains(counts, mass, 0, prior, each)
    now = bound(counts, mass)
    joined = bound(np.array([counts[0] + counts[1], counts[2]]), np.array([15.0, 9.0]))
    assert gains[1] == pytest.approx(joined - now)
    assert gains[1] > 0 > gains[2]
    assert gains[0] == -np.inf


@pytest.mark.parametrize("kind", [Pcp, FactorizedPcp, Ttmm], ids=["pcp", "factorized", "ttmm"])
def test_topics_wait_above_a_temperature(kind: Any) -> None:
    model = kind(3, 5, 0.1, hold=2.0)
    state = begin(model)
    waiting, energies = sweeps(model, DATA, state, 2.5, 10)
    assert (waiting.params.word_topic == state.params.word_topic).all()
    assert np.ptp(model.centres(waiting.params) - model.centres(state.params)) > 1e-3
    assert rises(energies) <= 1e-10
    free, energies = sweeps(model, DATA, waiting, 2.0, 10)
    assert np.abs(free.params.word_topic - state.params.word_topic).max() > 1e-3
    assert rises(energies) <= 1e-10


@pytest.mark.parametrize("kind", [Pcp, Ttmm], ids=["pcp", "ttmm"])
def test_noise_brings_back_topics_that_a_cluster_has_lost(kind: Any) -> None:
    model = kind(3, 4, 0.1)
    counts = np.eye(4, 3) * 1000 + np.eye(4, 3, -1) * 1000
    params = model.given(counts, np.full(4, 4.5), random_table(DATA, 3))
    moved = model.perturb(params, np.random.default_rng(0), 0.01)
    lost = counts == 0
    assert (model.centres(params)[lost] < 2e-3).all()
    assert (model.centres(moved) > model.centres(params))[lost].all()
    assert model.centres(moved).sum(axis=1) == pytest.approx(np.ones(4))
    assert np.abs(model.centres(moved) - model.centres(params)).max() < 0.05
    same_mass = model.perturb(params, np.random.default_rng(0), 0.0)
    assert model.centres(same_mass) == pytest.approx(model.centres(params))
