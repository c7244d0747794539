"""One-sided clustering: its formulas on dense arrays, the hard limit, the bottleneck."""

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from isotherm.anneal.trace import State
from isotherm.models.cluster import Cluster, ClusterParams
from isotherm.models.document import Document
from support.models import (
    begin,
    log_likelihoods,
    place,
    poisson_counts,
    posteriors,
    random_table,
    same,
    sweep,
    sweeps,
)

COUNTS = poisson_counts(5, (14, 9))
DATA = place(COUNTS)
TEMPERATURES = [0.7, 1.0, 1.3, 2.0, 5.0]
WEIGHT = np.array([0.2, 0.5, 0.3])
MODELS = {
    "plain": Cluster(3),
    "tempered": Cluster(3, temper_prior=True),
    "pseudo": Cluster(3, pseudo_count=4.0),
    "fixed": Cluster(3, fixed_weights=True),
}


def uneven_start(model: Cluster = MODELS["plain"]) -> State:
    """A state with given weights and random distributions."""
    state = begin(model, DATA)
    return state._replace(params=state.params._replace(weight=WEIGHT))


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
def test_a_sweep_is_the_textbook_step(model: Cluster, temperature: float) -> None:
    start = uneven_start(model)
    marginal, alpha = COUNTS.sum(axis=0) / COUNTS.sum(), model.pseudo_count
    prior = np.log(WEIGHT) / (temperature if model.temper_prior else 1.0)
    scores = prior + log_likelihoods(DATA, start.params.word_topic) / temperature
    q = softmax(scores, axis=1)
    seen = marginal > 0
    pseudo = alpha * (marginal[seen] @ np.log(start.params.word_topic[seen])).sum()
    state, energy = sweep(model, DATA, start, temperature)
    assert energy == pytest.approx(
        -temperature * logsumexp(scores, axis=1).sum() - pseudo, rel=1e-13
    )
    sums = COUNTS.T @ q
    table = (sums + alpha * marginal[:, None]) / (sums.sum(axis=0) + alpha)
    weight = WEIGHT if model.fixed_weights else q.mean(axis=0)
    assert same(state.params, ClusterParams(weight, sums.sum(axis=0), table), 1e-12)
    assert state.rows[0].posterior == pytest.approx(q, abs=1e-13)


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_rows_of_equal_length_give_the_information_bottleneck(temperature: float) -> None:
    n = 20
    counts = np.random.default_rng(0).multinomial(n, np.full(6, 1 / 6), 8)
    data = place(counts)
    state, _ = sweeps(Cluster(3), data, begin(Cluster(3), data), 3.0, 2)
    p = counts / n
    ratio = p[:, :, None] / state.params.word_topic
    divergence = (p[:, :, None] * np.log(np.where(ratio > 0, ratio, 1.0))).sum(axis=1)
    expected = state.params.weight * np.exp(-n / temperature * divergence)
    expected /= expected.sum(axis=1, keepdims=True)
    assert posteriors(Cluster(3), data, state, temperature) == pytest.approx(expected, abs=1e-12)


def test_a_tempered_prior_is_the_plain_model_at_temperature_one() -> None:
    one, energies = sweeps(MODELS["plain"], DATA, uneven_start(), 1.0, 6)
    other, other_energies = sweeps(MODELS["tempered"], DATA, uneven_start(), 1.0, 6)
    assert energies == other_energies
    assert same(one.params, other.params, 0.0)


def test_hard_clusters_are_the_best_ones() -> None:
    start = uneven_start()
    scores = log_likelihoods(DATA, start.params.word_topic)
    hard = posteriors(MODELS["plain"], DATA, start, 0.0)
    assert hard.tolist() == np.eye(3)[scores.argmax(axis=1)].tolist()
    assert sweep(MODELS["plain"], DATA, start, 0.0)[1] == pytest.approx(-scores.max(axis=1).sum())
    cold = posteriors(MODELS["plain"], DATA, start, 1e-3)
    filled = COUNTS.sum(axis=1) > 0
    assert cold[filled] == pytest.approx(hard[filled], abs=1e-9)


def test_the_hard_limit_of_a_tempered_prior_keeps_the_prior() -> None:
    start = uneven_start()
    start = start._replace(params=start.params._replace(weight=np.array([1e-9, 1.0 - 2e-9, 1e-9])))
    scores = log_likelihoods(DATA, start.params.word_topic) + np.log(start.params.weight)
    hard = posteriors(MODELS["tempered"], DATA, start, 0.0)
    assert hard.tolist() == np.eye(3)[scores.argmax(axis=1)].tolist()
    assert hard.tolist() != posteriors(MODELS["plain"], DATA, start, 0.0).tolist()


def test_ties_go_to_the_lowest_index() -> None:
    table = np.repeat(random_table(DATA, 1), 3, axis=1)
    hard = posteriors(MODELS["plain"], DATA, begin(MODELS["plain"], DATA, table), 0.0)
    assert (hard == [1.0, 0.0, 0.0]).all()


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
def test_hard_sweeps_never_raise_the_energy(model: Cluster) -> None:
    for seed in range(5):
        start = begin(model, DATA, random_table(DATA, 3, seed))
        state, energies = sweeps(model, DATA, start, 0.0, 12)
        assert np.diff(energies).max() <= 1e-9 * abs(energies[0])
        assert energies[-1] < energies[0]
        assert set(np.unique(state.rows[0].posterior)) == {0.0, 1.0}


def test_a_dead_cluster_gets_no_row_in_the_hard_limit() -> None:
    start = uneven_start()
    params = start.params._replace(weight=np.array([0.0, 0.6, 0.4]))
    # It would fit some rows best.
    assert posteriors(MODELS["plain"], DATA, start, 0.0)[:, 0].any()
    assert not posteriors(MODELS["plain"], DATA, start._replace(params=params), 0.0)[:, 0].any()


@pytest.mark.parametrize("pseudo_count", [0.0, 4.0])
@pytest.mark.parametrize("temperature", [1.0, 1.3, 2.0, 6.0])
def test_a_document_mixture_is_uniform_clustering_one_degree_lower(
    temperature: float, pseudo_count: float
) -> None:
    data = place(COUNTS[COUNTS.sum(axis=1) > 0])
    document = Document(3, pseudo_count)
    cluster = Cluster(3, pseudo_count, fixed_weights=True)
    one, energies = sweeps(document, data, begin(document, data), temperature, 8)
    other, other_energies = sweeps(cluster, data, begin(cluster, data), temperature - 1.0, 8)
    assert one.rows[0].posterior == pytest.approx(other.rows[0].posterior, abs=1e-12)
    assert one.params.word_topic == pytest.approx(other.params.word_topic, abs=1e-12)
    # Uniform clusters pay log K per row, times their temperature, for their prior.
    prior = (temperature - 1.0) * len(data.blocks[0].weight) * np.log(3)
    assert np.array(energies) + prior == pytest.approx(np.array(other_energies), rel=1e-12)


def test_pseudo_counts_keep_every_probability_positive() -> None:
    state, _ = sweeps(MODELS["pseudo"], DATA, uneven_start(MODELS["pseudo"]), 1.0, 30)
    without, _ = sweeps(MODELS["plain"], DATA, uneven_start(), 1.0, 30)
    seen = COUNTS.sum(axis=0) > 0
    assert state.params.word_topic[seen].min() > 1e-4
    assert without.params.word_topic[seen].min() < 1e-10
