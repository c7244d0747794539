"""Held-out scores against the formulas written down once more in numpy."""

from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from isotherm.anneal.callbacks import HeldoutRule
from isotherm.anneal.engine import Annealer
from isotherm.anneal.heldout import HeldoutRows, HeldoutTokens, log_likelihood, smoothed_unigram
from isotherm.anneal.schedule import Exponential, Fixed
from isotherm.anneal.start import Noisy
from isotherm.anneal.trace import Fit, State
from isotherm.data.base import Array
from isotherm.data.counts import Counts, as_counts
from isotherm.data.split import hold_out_tokens
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.aspect import Aspect
from isotherm.models.cluster import Cluster, ClusterParams
from isotherm.models.document import Document
from isotherm.placement.local import Local
from support.anneal import place
from support.corpora import admixture

K = 4


def fit_to(model: Any, data: Any, T: float) -> Fit:
    return Annealer(Fixed(T), max_sweeps=15).run(model, data, np.random.default_rng(0))


def parts(seed: int = 0) -> tuple[Array, Array]:
    counts = Counts(admixture(60, 30, K, length=40, seed=seed)[0])
    kept, held = hold_out_tokens(counts, 0.3, seed)
    return kept.matrix.toarray().astype(float), held.matrix.toarray().astype(float)


@pytest.mark.parametrize("smoothing", [0.0, 1e-3, 0.3])
@pytest.mark.parametrize(
    ("model", "T"), [(Aspect(K), 1.2), (Cluster(K, 2.0), 3.0), (Document(K, 2.0), 4.0)]
)
@pytest.mark.parametrize("n_blocks", [1, 3])
def test_token_perplexity(model: Any, T: float, smoothing: float, n_blocks: int) -> None:
    kept, held = parts()
    data = place(kept, n_blocks=n_blocks)
    fit = fit_to(model, data, T)
    weights, table = model.mixture(fit.state.params, data.gather(fit.state.rows))
    background = (kept.sum(axis=0) + 0.5) / (kept.sum() + 0.5 * kept.shape[1])
    p = (1 - smoothing) * weights @ table.T + smoothing * background
    expected = np.exp(-(held * np.log(np.maximum(p, 1e-300))).sum() / held.sum())
    heldout = HeldoutTokens(data.beside(Counts(held)), smoothing)
    assert heldout.score(model, fit.state, data, T) == pytest.approx(expected, rel=1e-10)


def test_smoothed_unigram_counts_half_a_token_more() -> None:
    got = smoothed_unigram(place(np.array([[3, 0, 1], [0, 0, 2]])).summary)
    np.testing.assert_allclose(got, np.array([3.5, 0.5, 3.5]) / 7.5)


def test_tokens_count_as_often_as_their_row() -> None:
    kept, held = parts()
    weight = np.arange(1.0, 61.0)
    data = Local.place(Counts(kept), Cpu("float64"), weight=weight)
    model = Aspect(K)
    fit = fit_to(model, data, 1.2)
    total, tokens = log_likelihood(model, fit.state, data.beside(Counts(held)), np.zeros(30), 0.0)
    weights, table = model.mixture(fit.state.params, data.gather(fit.state.rows))
    logs = np.log(np.maximum(weights @ table.T, 1e-300))
    assert tokens == weight @ held.sum(axis=1)
    assert total == pytest.approx(weight @ (held * logs).sum(axis=1), rel=1e-10)


def log_rows(X: Array, params: ClusterParams) -> Array:
    """Log of the likelihood of every row under every topic, (I, K)."""
    return X @ np.log(np.maximum(params.word_topic.astype(float), 1e-300))


def rows_corpus() -> tuple[Array, Array]:
    X = admixture(120, 60, K, length=60, seed=3)[0]
    train, test = X[:90], X[90:]
    test[:, train.sum(axis=0) == 0] = 0
    return train, test


@pytest.mark.parametrize("density", ["prior", "fold-in", "best"])
@pytest.mark.parametrize("weights", [(0.0, 1.0), (1.0, 0.0), (0.3, 0.7), (2.0, 1.0)])
@pytest.mark.parametrize("n_blocks", [1, 4])
def test_total_perplexity(density: str, weights: tuple[float, float], n_blocks: int) -> None:
    train, test = rows_corpus()
    data, T, model = place(train, n_blocks=n_blocks), 6.0, Document(K, 2.0)
    fit = fit_to(model, data, T)
    unseen = log_rows(test, fit.state.params)
    prior = data.gather(fit.state.rows).posterior.mean(axis=0)
    inside = {
        "prior": logsumexp(np.log(prior) + unseen, axis=1),
        "fold-in": logsumexp(np.log(softmax(unseen / (T - 1), axis=1)) + unseen, axis=1),
        "best": unseen.max(axis=1),
    }[density]
    psi = data.gather(fit.state.rows).posterior
    seen = logsumexp(np.log(np.maximum(psi, 1e-300)) + log_rows(train, fit.state.params), axis=1)
    a, b = weights
    expected = np.exp(-a * seen.sum() / train.sum() - b * inside.sum() / test.sum())
    heldout = HeldoutRows(place(test, n_blocks=2), a, b, density)
    assert heldout.score(model, fit.state, data, T) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("a", "b"), [(0.0, 1.0), (1.0, 0.0), (0.3, 0.7)])
def test_raw_sums_weigh_both_sets_by_their_tokens(a: float, b: float) -> None:
    train, test = rows_corpus()
    data, T, model = place(train), 6.0, Document(K, 2.0)
    fit = fit_to(model, data, T)
    psi = data.gather(fit.state.rows).posterior
    own = logsumexp(np.log(np.maximum(psi, 1e-300)) + log_rows(train, fit.state.params), axis=1)
    unseen = logsumexp(np.log(psi.mean(axis=0)) + log_rows(test, fit.state.params), axis=1)
    # The sum over all tokens, per half of them: with equal weights it is the mean of one token.
    half = (train.sum() + test.sum()) / 2
    expected = np.exp(-(a * own.sum() + b * unseen.sum()) / half)
    heldout = HeldoutRows(place(test), a, b, per_token=False)
    assert train.sum() > 2 * test.sum()
    assert heldout.score(model, fit.state, data, T) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("T", [1.0, 2.0, 6.0, 12.0])
def test_best_topic_bounds_the_uniform_density(T: float) -> None:
    train, test = rows_corpus()
    data, held, model = place(train), place(test), Document(K, 2.0)
    params = fit_to(model, data, T).state.params
    flat = params._replace(weight=np.full(K, 1 / K))
    tokens = test.sum()
    best = tokens * HeldoutRows(held, density="best").log_density(model, params, T)
    uniform = tokens * HeldoutRows(held, density="prior").log_density(model, flat, T)
    by_hand = (logsumexp(log_rows(test, params), axis=1) - np.log(K)).sum()
    assert uniform == pytest.approx(by_hand, rel=1e-12)
    assert 0 <= best - uniform <= len(test) * np.log(K) + 1e-9


def params_with_zeros() -> ClusterParams:
    table = np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.4, 0.6]]).T
    return ClusterParams(np.array([0.5, 0.5]), np.array([10.0, 10.0]), table)


IMPOSSIBLE = {
    "between two topics": ([[2, 0, 0, 3]], True),
    "a single odd word": ([[50, 50, 0, 0], [40, 0, 0, 1]], True),
    "a fraction of a word": ([[0.3, 0, 0, 0.2]], True),
    "first topic": ([[2, 3, 0, 0]], False),
    "one topic each": ([[2, 3, 0, 0], [0, 0, 1, 0]], False),
    "with an empty row": ([[0, 0, 0, 0], [0, 0, 1, 0]], False),
}


@pytest.mark.parametrize(("X", "impossible"), IMPOSSIBLE.values(), ids=IMPOSSIBLE.keys())
@pytest.mark.parametrize("density", ["prior", "fold-in", "best"])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_impossible_words_score_infinity(
    X: Any, impossible: bool, density: str, precision: str
) -> None:
    model, params = Document(2), params_with_zeros()
    data = place(np.ones((1, 4)), Cpu(precision))
    rows = (model.start(params, data.blocks[0], data.kernels),)
    held = place(np.array(X, float), Cpu(precision))
    score = HeldoutRows(held, density=density).score(model, State(params, rows, 0.0), data, 2.0)
    assert (score == np.inf) is impossible
    assert not np.isnan(score)


def test_a_topic_that_no_row_uses_explains_nothing() -> None:
    model = Document(2)
    params = params_with_zeros()._replace(weight=np.array([1.0, 0.0]))
    held = place(np.array([[0, 0, 1, 1]]))
    assert HeldoutRows(held, density="prior").log_density(model, params, 2.0) == -np.inf
    assert np.isfinite(HeldoutRows(held, density="best").log_density(model, params, 2.0))


def test_rows_without_tokens_say_nothing() -> None:
    held = Local.place(as_counts(np.zeros((2, 4)), allow_empty=True), Cpu("float64"))
    assert HeldoutRows(held).log_density(Document(2), params_with_zeros(), 2.0) == 0.0


def test_where_training_and_held_out_rows_want_to_stop() -> None:
    X = admixture(400, 300, 8, length=60, seed=5, alpha=0.3)[0]
    train, test = X[:360], X[360:]
    test[:, train.sum(axis=0) == 0] = 0
    model = Document(8, 0.005 * train.sum() / 8)
    data, held = place(train), place(test)

    def stopped(a: float, b: float) -> Fit:
        annealer = Annealer(
            Exponential(0.9, margin=0.98),
            start=Noisy(0.1),
            tol=1e-6,
            callbacks=(HeldoutRule(3),),
        )
        return annealer.run(model, data, np.random.default_rng(0), heldout=HeldoutRows(held, a, b))

    unseen, both, seen = stopped(0.0, 1.0), stopped(0.5, 0.5), stopped(1.0, 0.0)
    assert unseen.temperature > 0.5 * unseen.first_critical
    assert len(unseen.trace) < len(seen.trace)
    assert seen.temperature < 2.0
    assert seen.temperature < both.temperature <= unseen.temperature
