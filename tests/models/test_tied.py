from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from isotherm.anneal.critical import critical_temperatures, first_critical
from isotherm.anneal.engine import ADAPTIVE_RELAXATION
from isotherm.anneal.relax import relax
from isotherm.anneal.start import Noisy, Spectral
from isotherm.anneal.trace import State
from isotherm.data.counts import Counts
from isotherm.kernels.cpu.backend import Cpu
from isotherm.kernels.reference import Reference
from isotherm.models.cluster import Cluster
from isotherm.models.tied import Tied, pooled
from isotherm.placement.local import Local
from support.corpora import TOY
from support.models import (
    PLAIN,
    begin,
    cluster_start,
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
EACH = np.arange(len(COUNTS))
PAIRS, BLOCKS = EACH // 2, np.repeat([0, 1, 2, 3], [6, 3, 1, 8])
SETTINGS: list[dict[str, Any]] = [
    {},
    {"fixed_weights": True},
    {"pseudo_count": 7.0},
    {"temper_prior": True, "pseudo_count": 2.0},
]
TEMPERATURES = (0.7, 1.0, 1.3, 2.0, 5.0)


def tied_data(block_of: Any, kernels: Any = PLAIN, bounds: Any = None) -> Local:
    return place(pooled(Counts(COUNTS), block_of).matrix, kernels, bounds=bounds)


def with_sizes(table: Any) -> Any:
    return np.vstack([table, np.zeros(table.shape[1])])


def test_pooled_counts_are_sums_with_sizes_last() -> None:
    found = pooled(Counts(COUNTS), BLOCKS).matrix.toarray()
    expected = np.array([COUNTS[b == BLOCKS].sum(axis=0) for b in range(4)])
    np.testing.assert_array_equal(found[:, :-1], expected)
    np.testing.assert_array_equal(found[:, -1], [6, 3, 1, 8])


@pytest.mark.parametrize("kernels", [Reference(), Cpu("float64")], ids=["reference", "cpu"])
def test_figures_of_the_toy(kernels: Any) -> None:
    start = cluster_start((0.3, 0.7))
    params = start.params._replace(word_topic=with_sizes(start.params.word_topic))
    data = place(pooled(Counts(TOY), np.arange(6) // 2).matrix, kernels)
    after, energy = sweep(Tied(2), data, State(params, data.no_rows, 0.0), 2.0)
    posterior = after.rows[0].posterior[:, 0]
    assert posterior == pytest.approx([0.69476185, 0.17975439, 0.01199970], abs=0.6e-8)
    assert -energy == pytest.approx(-193.0059092927, abs=0.6e-10)
    # P(c) = (1/I) sum_X |X| Q(c|X)
    assert after.params.weight[0] == pytest.approx(posterior.mean(), abs=1e-12)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("temperature", [0.0, *TEMPERATURES])
def test_blocks_of_one_row_are_one_sided_clustering(
    settings: dict[str, Any], temperature: float
) -> None:
    single, tied = place(COUNTS), tied_data(EACH)
    table = random_table(single, 3)
    cluster, model = Cluster(3, **settings), Tied(3, **settings)
    one, energies = sweeps(cluster, single, begin(cluster, single, table), temperature, 8)
    start = begin(model, tied, with_sizes(table))
    other, tied_energies = sweeps(model, tied, start, temperature, 8)
    assert tied_energies == pytest.approx(energies, rel=1e-12)
    assert same(one.rows[0], other.rows[0])
    assert same(
        one.params, other.params._replace(word_topic=other.params.word_topic[:-1]), rtol=1e-10
    )


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_posterior_and_energy_are_those_of_the_formula(temperature: float) -> None:
    data, single, weight = tied_data(BLOCKS), place(COUNTS), np.array([0.2, 0.5, 0.3])
    table, sizes = random_table(single, 3), np.array([6, 3, 1, 8])
    start = begin(Tied(3), data, with_sizes(table))
    start = start._replace(params=start.params._replace(weight=weight))
    after, energy = sweep(Tied(3), data, start, temperature)
    pool = np.array([log_likelihoods(single, table)[b == BLOCKS].sum(axis=0) for b in range(4)])
    scores = sizes[:, None] * np.log(weight) + pool / temperature
    posterior = softmax(scores, axis=1)
    assert after.rows[0].posterior == pytest.approx(posterior, abs=1e-12)
    assert energy == pytest.approx(-temperature * logsumexp(scores, axis=1).sum(), rel=1e-12)
    assert after.params.weight == pytest.approx(sizes @ posterior / 18, abs=1e-12)


@pytest.mark.parametrize("settings", SETTINGS[:3], ids=str)
@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_a_coarser_level_bounds_the_finer_one_through_the_prolongation(
    settings: dict[str, Any], temperature: float
) -> None:
    coarse, fine, model = tied_data(EACH // 4), tied_data(PAIRS), Tied(3, **settings)
    state, _ = sweeps(model, coarse, begin(model, coarse), temperature, 3)
    after, bound = sweep(model, coarse, state, temperature)
    # The prolonged posterior has the energy of the coarse level; the E-step can only lower it.
    q = after.rows[0].posterior[np.arange(9) // 2]
    pool = log_likelihoods(fine, np.vstack([state.params.word_topic[:-1], np.ones(3)]))
    sizes = np.bincount(PAIRS)[:, None]
    prior = sizes * np.log(state.params.weight)
    one_each = np.bincount(np.arange(9) // 2)[np.arange(9) // 2][:, None]
    entropy = q * np.log(np.maximum(q, 1e-300)) / one_each
    level = -(q * pool).sum() - temperature * ((q * prior).sum() - entropy.sum()) + state.extra
    assert level == pytest.approx(bound, rel=1e-12)
    _, energy = sweep(model, fine, state._replace(rows=fine.no_rows), temperature)
    assert energy < bound


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize(
    ("kernels", "slack"),
    [(Reference(), 1e-9), (Cpu("float64"), 1e-9), (Cpu("float32"), 1e-6)],
    ids=["reference", "double", "single"],
)
def test_a_sweep_never_raises_the_free_energy(
    settings: dict[str, Any], kernels: Any, slack: float
) -> None:
    data, model = tied_data(BLOCKS, kernels), Tied(3, **settings)
    for temperature in TEMPERATURES:
        _, energies = sweeps(model, data, begin(model, data), temperature, 25)
        assert np.diff(energies).max() <= slack * abs(energies[0])
        assert energies[-1] < energies[0]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_sizes_are_no_feature(settings: dict[str, Any]) -> None:
    data, model = tied_data(BLOCKS), Tied(3, **settings)
    old = begin(model, data)
    new, _ = sweep(model, data, old, 2.0)
    shaken = model.perturb(new.params, np.random.default_rng(0), 0.1)
    relaxed = relax(model, data, old, new, 3.0)
    starts = [s.state(model, data, np.random.default_rng(0)) for s in (Noisy(), Spectral())]
    for params in (old.params, new.params, shaken, relaxed.params, *(s.params for s in starts)):
        assert (params.word_topic[-1] == 0).all()
        assert params.word_topic.sum(axis=0) == pytest.approx(np.ones(3), abs=1e-12)
        assert params.tokens.sum() == pytest.approx(COUNTS.sum())
    # The energy of pseudo-counts is that of the pooled counts alone.
    without = place(COUNTS)
    bare = new.params._replace(word_topic=new.params.word_topic[:-1])
    expected = Cluster(3, **settings).prior_energy(bare, without.summary)
    assert model.prior_energy(new.params, data.summary) == pytest.approx(expected, abs=1e-9)
    assert new.extra == pytest.approx(expected, abs=1e-9)


def test_relaxed_runs_settle() -> None:
    data, model = tied_data(PAIRS), Tied(3)
    fit, _ = fitted(model, data, begin(model, data), 1.5, 500, ADAPTIVE_RELAXATION, tol=1e-9)
    _, energies = sweeps(model, data, fit.state, 1.5, 100)
    assert fit.trace[-1].converged
    assert fit.trace[-1].free_energy == pytest.approx(energies[-1], rel=1e-6)


def test_critical_temperatures_are_those_of_the_pooled_counts() -> None:
    matrix = pooled(Counts(COUNTS), PAIRS).matrix.toarray()
    bare, tied = place(matrix[:, :-1]), place(matrix)
    for pseudo_count in (0.0, 5.0):
        cluster = Cluster(3, pseudo_count, fixed_weights=True)
        model = Tied(3, pseudo_count, fixed_weights=True)
        assert first_critical(model, tied) == pytest.approx(first_critical(cluster, bare))
        state, _ = sweeps(model, tied, begin(model, tied), 2.0, 30)
        params = state.params._replace(word_topic=state.params.word_topic[:-1])
        one = critical_temperatures(cluster, bare, state._replace(params=params), 2.0)
        assert critical_temperatures(model, tied, state, 2.0) == pytest.approx(one)


def test_likelihood_leaves_sizes_out() -> None:
    data = tied_data(BLOCKS)
    state, _ = sweeps(Tied(3), data, begin(Tied(3), data), 1.5, 5)
    q, table = state.rows[0].posterior, state.params.word_topic[:-1]
    pool = np.array([COUNTS[b == BLOCKS].sum(axis=0) for b in range(4)])
    p = q @ table.T
    expected = (pool * np.log(np.where(pool > 0, p, 1.0))).sum()
    found = Tied(3).log_likelihood(state.params, state.rows[0], data.blocks[0], PLAIN)
    assert found == pytest.approx(expected, rel=1e-12)


def test_how_blocks_are_placed_does_not_matter() -> None:
    whole, cut, model = tied_data(PAIRS), tied_data(PAIRS, bounds=[0, 2, 3, 9]), Tied(3)
    one, energies = sweeps(model, whole, begin(model, whole), 1.3, 10)
    other, cut_energies = sweeps(model, cut, begin(model, cut), 1.3, 10)
    assert cut_energies == pytest.approx(energies, rel=1e-12)
    assert same(one.params, other.params)


def test_free_weights_collapse_when_blocks_are_hot() -> None:
    # Why segmentation keeps P(c) = 1/K: P(c)^|X| is not tempered.
    data = tied_data(np.repeat([0, 1, 2], 6))
    free, fixed = Tied(3), Tied(3, fixed_weights=True)
    temperature = 0.6 * first_critical(fixed, data)
    start = begin(free, data)
    lone, _ = sweeps(free, data, start, temperature, 300)
    even, _ = sweeps(fixed, data, start, temperature, 300)
    assert lone.params.weight.max() > 0.99
    assert even.rows[0].posterior.sum(axis=0).max() < 0.9 * 3


def test_a_dead_cluster_stays_dead() -> None:
    data, model = tied_data(BLOCKS), Tied(3)
    start = begin(model, data)
    weight = np.array([0.5, 0.5, 0.0])
    start = start._replace(params=start.params._replace(weight=weight))
    state, energies = sweeps(model, data, start, 1.0, 4)
    assert state.params.weight[2] == 0.0
    assert np.isfinite(energies).all()
    assert same((state.params.word_topic[:, 2],), (start.params.word_topic[:, 2],))


def test_hot_model_is_one_component_with_all_pseudo_counts() -> None:
    assert Tied(3, 2.0, fixed_weights=True).hot() == replace(
        Tied(1, 6.0), fixed_weights=True, temper_prior=False
    )
