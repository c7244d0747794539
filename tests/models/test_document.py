"""The document mixture: its free energy, its best weights, its likelihood of unseen documents."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from isotherm.anneal.heldout import HeldoutRows
from isotherm.anneal.trace import State
from isotherm.models.aspect import Aspect
from isotherm.models.cluster import ClusterRows
from isotherm.models.document import Document
from support.corpora import admixture, mixture_of_unigrams
from support.models import (
    Array,
    Local,
    begin,
    fitted,
    log_likelihoods,
    place,
    poisson_counts,
    sweep,
    sweeps,
)

COUNTS = np.delete(np.delete(poisson_counts(9, (16, 11)), 4, axis=0), 5, axis=1)
N, K = len(COUNTS), 3
DATA = place(COUNTS)
EXACT, STEPWISE = Document(K), Document(K, stepwise=True)


def free_energy(log_l: Array, psi: Array, temperature: float) -> float:
    """-T sum_i log sum_k (psi_ik L_ik)^(1/T)."""
    with np.errstate(divide="ignore"):
        return float(-temperature * logsumexp((np.log(psi) + log_l) / temperature, axis=1).sum())


def profile(log_l: Array, temperature: float) -> float:
    """Its minimum over psi."""
    u = temperature - 1.0
    if u == 0.0:
        return float(-log_l.max(axis=1).sum())
    return float(-u * logsumexp(log_l / u, axis=1).sum())


def with_weights(state: State, psi: Array) -> State:
    return state._replace(rows=(ClusterRows(psi),))


def random_state(seed: int = 1) -> tuple[State, Array]:
    """State with random topics and random weights, and its log-likelihoods (N, K)."""
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.ones(COUNTS.shape[1]), K).T
    state = with_weights(begin(STEPWISE, DATA, table), rng.dirichlet(np.ones(K), N))
    return state, log_likelihoods(DATA, table)


@pytest.mark.parametrize("model", [STEPWISE, EXACT], ids=["stepwise", "exact"])
@pytest.mark.parametrize("temperature", [1.2, 2.3, 6.0])
def test_the_m_step_has_the_gradient_of_the_free_energy(
    model: Document, temperature: float
) -> None:
    state, _ = random_state()
    rows = sweep(model, DATA, state, temperature)[0].rows[0]
    gradient = -(COUNTS.T @ rows.posterior) / state.params.word_topic
    step = 1e-6
    for j, k in [(0, 0), (3, 1), (7, 2), (9, 0)]:
        energies = []
        for sign in (1.0, -1.0):
            table = state.params.word_topic.copy()
            table[j, k] *= 1.0 + sign * step
            moved = state._replace(params=state.params._replace(word_topic=table))
            energies.append(sweep(model, DATA, moved, temperature)[1])
        slope = (energies[0] - energies[1]) / (2 * step * state.params.word_topic[j, k])
        assert slope == pytest.approx(gradient[j, k], rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("temperature", [1.0, 1.7, 2.3, 8.0])
def test_stepwise_energy_is_the_free_energy_of_the_given_weights(temperature: float) -> None:
    state, log_l = random_state()
    psi = state.rows[0].posterior
    after, energy = sweep(STEPWISE, DATA, state, temperature)
    assert energy == pytest.approx(free_energy(log_l, psi, temperature), rel=1e-13)
    rho = softmax((np.log(psi) + log_l) / temperature, axis=1)
    assert after.rows[0].posterior == pytest.approx(rho, abs=1e-13)


@pytest.mark.parametrize("temperature", [1.0, 1.05, 1.7, 2.3, 8.0])
def test_exact_energy_is_the_minimum_over_the_weights(temperature: float) -> None:
    state, log_l = random_state()
    after, energy = sweep(EXACT, DATA, state, temperature)
    psi = after.rows[0].posterior
    assert energy == pytest.approx(profile(log_l, temperature), rel=1e-12)
    assert energy == pytest.approx(free_energy(log_l, psi, temperature), rel=1e-12)
    rng = np.random.default_rng(2)
    others = rng.dirichlet(np.full(K, 0.5), (2000, N))
    assert min(free_energy(log_l, other, temperature) for other in others) > energy


def test_the_weights_are_a_softmax_one_degree_lower() -> None:
    state, log_l = random_state()
    psi = sweep(EXACT, DATA, state, 2.3)[0].rows[0].posterior
    assert psi == pytest.approx(softmax(log_l / 1.3, axis=1), abs=1e-14)
    hard = sweep(EXACT, DATA, state, 1.0)[0].rows[0].posterior
    assert hard.tolist() == np.eye(K)[log_l.argmax(axis=1)].tolist()


def test_stepwise_weights_reach_the_exact_ones() -> None:
    state, log_l = random_state()
    for _ in range(80):
        rows = sweep(STEPWISE, DATA, state, 2.3)[0].rows
        state = state._replace(rows=rows)
    psi = state.rows[0].posterior
    assert psi == pytest.approx(softmax(log_l / 1.3, axis=1), abs=1e-14)
    assert sweep(STEPWISE, DATA, state, 2.3)[1] == pytest.approx(profile(log_l, 2.3), rel=1e-14)


@pytest.mark.parametrize("temperature", [1.0, 1.7, 5.0])
def test_the_collapsed_state(temperature: float) -> None:
    marginal = COUNTS.sum(axis=0) / COUNTS.sum()
    table = np.repeat(marginal[:, None], K, axis=1)
    total = float((COUNTS @ np.log(marginal)).sum())
    expected = -(temperature - 1.0) * N * np.log(K) - total
    for model in (EXACT, STEPWISE):
        state, energy = sweep(model, DATA, begin(model, DATA, table), temperature)
        assert energy == pytest.approx(expected, rel=1e-13)
        assert state.params.word_topic == pytest.approx(table, abs=1e-15)


@pytest.mark.parametrize("model", [EXACT, STEPWISE], ids=["exact", "stepwise"])
def test_em_at_temperature_one_ends_hard(model: Document) -> None:
    state, energies = sweeps(model, DATA, begin(model, DATA), 1.0, 400)
    psi = state.rows[0].posterior
    assert psi.max(axis=1).min() > 1.0 - 1e-9
    log_l = log_likelihoods(DATA, state.params.word_topic)
    assert -energies[-1] == pytest.approx(log_l.max(axis=1).sum(), rel=1e-10)
    assert log_l.argmax(axis=1).tolist() == psi.argmax(axis=1).tolist()


def test_stepwise_sweeps_lower_the_free_energy() -> None:
    _, energies = sweeps(STEPWISE, DATA, random_state()[0], 1.7, 60)
    assert np.diff(energies).max() <= 1e-12 * energies[0]
    assert energies[-1] < energies[0] - 1.0


@pytest.mark.parametrize("temperature", [1.5, 3.0, 6.0])
def test_both_updates_settle_in_the_same_place(temperature: float) -> None:
    exact, energies = sweeps(EXACT, DATA, begin(EXACT, DATA), temperature, 500)
    stepwise, slow = sweeps(STEPWISE, DATA, State(exact.params, exact.rows, 0.0), temperature, 500)
    assert slow[-1] == pytest.approx(energies[-1], rel=1e-11)
    assert stepwise.params.word_topic == pytest.approx(exact.params.word_topic, abs=1e-7)


def test_pseudo_counts_enter_the_topics_and_the_objective() -> None:
    a, marginal = 6.0, COUNTS.sum(axis=0) / COUNTS.sum()
    state, log_l = random_state()
    state = begin(Document(K, a), DATA, state.params.word_topic)
    after, energy = sweep(Document(K, a), DATA, state, 2.3)
    penalty = a * float((marginal @ np.log(state.params.word_topic)).sum())
    assert energy == pytest.approx(profile(log_l, 2.3) - penalty, rel=1e-13)
    sums = COUNTS.T @ softmax(log_l / 1.3, axis=1)
    expected = (sums + a * marginal[:, None]) / (sums.sum(axis=0) + a)
    assert after.params.word_topic == pytest.approx(expected, abs=1e-14)


def test_the_engine_gives_pseudo_counts_their_time() -> None:
    # The energy of the pseudo-counts is part of the first sweep as of every other.
    model = Document(K, 20.0)
    fit, energies = fitted(model, DATA, begin(model, DATA), 1.5, 200, tol=1e-9)
    _, expected = sweeps(model, DATA, begin(model, DATA), 1.5, 200)
    assert fit.trace[-1].converged
    assert len(energies) > 3
    assert np.diff(energies).max() <= 1e-12 * energies[0]
    assert energies[-1] == pytest.approx(expected[-1], rel=1e-6)


def test_words_mixed_within_documents_fit_no_worse() -> None:
    # The aspect model contains every corner of psi: its maximum is at least as high.
    counts, _ = admixture(60, 30, 3, 40, alpha=0.1, sparse=0.1)
    data = place(counts)
    document, energies = sweeps(EXACT, data, begin(EXACT, data), 1.0, 100)
    totals = counts.sum(axis=1)
    rows = float(totals @ np.log(totals / totals.sum()))
    model = Aspect(K)
    start = begin(model, data, document.params.word_topic + 1e-6)
    _, aspect = sweeps(model, data, start, 1.0, 300)
    assert -aspect[-1] - rows > -energies[-1] + 10.0


# Unseen documents


@pytest.fixture(scope="module")
def fit_and_held() -> tuple[State, Local, Local]:
    planted = mixture_of_unigrams((60, 25), 3, (20, 60), 0.5)
    data, held = place(planted.counts[:45]), place(planted.counts[45:])
    model = Document(3, 2.0)
    state, _ = sweeps(model, data, begin(model, data, planted.truth()), 3.0, 20)
    return state, data, held


def density(name: str, model: Any, state: State, held: Local, temperature: float) -> float:
    """Log density of all held-out rows together."""
    per_token = HeldoutRows(held, density=name).log_density(model, state.params, temperature)
    return per_token * held.summary.total


def test_densities_of_unseen_documents(fit_and_held: tuple[State, Local, Local]) -> None:
    state, _, held = fit_and_held
    model, n = Document(3, 2.0), len(held.blocks[0].weight)
    log_l = log_likelihoods(held, state.params.word_topic)
    pi = state.rows[0].posterior.mean(axis=0)
    psi = softmax(log_l / 2.0, axis=1)
    best = density("best", model, state, held, 3.0)
    assert best == pytest.approx(log_l.max(axis=1).sum(), rel=1e-12)
    assert density("prior", model, state, held, 3.0) == pytest.approx(
        logsumexp(np.log(pi) + log_l, axis=1).sum(), rel=1e-12
    )
    assert density("fold-in", model, state, held, 3.0) == pytest.approx(
        logsumexp(np.log(psi) + log_l, axis=1).sum(), rel=1e-12
    )
    uniform = logsumexp(log_l, axis=1).sum() - n * np.log(3)
    equal = state._replace(params=state.params._replace(weight=np.full(3, 1 / 3)))
    assert density("prior", model, equal, held, 3.0) == pytest.approx(uniform, rel=1e-12)
    assert 0.0 <= best - uniform <= n * np.log(3)


def test_total_perplexity_weighs_both_sets_per_token(
    fit_and_held: tuple[State, Local, Local],
) -> None:
    state, data, held = fit_and_held
    model = Document(3, 2.0)
    log_l = log_likelihoods(data, state.params.word_topic)
    own = logsumexp(np.log(state.rows[0].posterior) + log_l, axis=1).sum()
    n_own, n_unseen = data.summary.total, held.summary.total
    assert n_own > 1.2 * n_unseen
    for name in ("prior", "fold-in", "best"):
        unseen = density(name, model, state, held, 3.0)
        for a, b in ((0.0, 1.0), (0.5, 0.5), (1.0, 0.0), (0.3, 2.0)):
            score = HeldoutRows(held, a, b, name).score(model, state, data, 3.0)
            expected = np.exp(-(a * own / n_own + b * unseen / n_unseen))
            assert score == pytest.approx(expected, rel=1e-12)
            score = HeldoutRows(held, a, b, name, per_token=False).score(model, state, data, 3.0)
            expected = np.exp(-2 * (a * own + b * unseen) / (n_own + n_unseen))
            assert score == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["prior", "fold-in", "best"])
def test_impossible_words_cost_infinity_and_no_nan(
    name: str, fit_and_held: tuple[State, Local, Local]
) -> None:
    state, data, held = fit_and_held
    table = state.params.word_topic.copy()
    word = int(np.argmax(held.summary.column_totals))
    table[word] = 0.0
    table /= table.sum(axis=0)
    impossible = state._replace(params=state.params._replace(word_topic=table))
    assert density(name, Document(3), impossible, held, 1.5) == -np.inf
    score = HeldoutRows(held, density=name).score(Document(3), impossible, data, 1.5)
    assert score == np.inf
    # Impossible in one topic only: another explains it.
    table = state.params.word_topic.copy()
    table[word, 0] = 0.0
    possible = state._replace(params=state.params._replace(word_topic=table / table.sum(axis=0)))
    assert np.isfinite(density(name, Document(3), possible, held, 1.5))


def test_empty_documents_are_left_out() -> None:
    with_empty = place(np.vstack([COUNTS[:3], np.zeros((2, COUNTS.shape[1])), COUNTS[3:]]))
    for temperature in (1.0, 1.5, 3.0):
        for model in (EXACT, STEPWISE, replace(EXACT, pseudo_count=3.0)):
            one, _ = sweeps(model, DATA, begin(model, DATA), temperature, 10)
            other, _ = sweeps(model, with_empty, begin(model, with_empty), temperature, 10)
            assert other.params.word_topic == pytest.approx(one.params.word_topic, abs=1e-13)
            assert other.params.weight == pytest.approx(one.params.weight, abs=1e-13)
            assert other.rows[0].posterior[3:5] == pytest.approx(np.full((2, K), 1 / K))


def test_documents_and_topics_may_repeat() -> None:
    data = place(np.repeat(COUNTS[:2], 4, axis=0))
    state, energies = sweeps(EXACT, data, begin(EXACT, data), 1.0, 20)
    assert np.isfinite(energies).all()
    assert len(np.unique(state.rows[0].posterior, axis=0)) == 2
