"""Divergences of Dirichlet distributions and the best parameters of their priors."""

import numpy as np
import pytest
from scipy.special import digamma, gammaln

from isotherm.models.dirichlet import (
    alpha_objective,
    best_alpha,
    best_lambda,
    divergences,
    lambda_objective,
    lambda_step,
    mean_logs,
    sparse_divergence,
)

ETA = np.array([10.0, 3.0, 0.5, 0.5])


def full_divergence(eta: np.ndarray, prior: np.ndarray) -> float:
    """The textbook form, term by term."""
    logs = digamma(eta) - digamma(eta.sum())
    own = gammaln(eta.sum()) - gammaln(eta).sum() + ((eta - 1) * logs).sum()
    other = gammaln(prior.sum()) - gammaln(prior).sum() + ((prior - 1) * logs).sum()
    return float(own - other)


def test_mean_logs_are_those_of_samples() -> None:
    draws = np.random.default_rng(0).dirichlet([2.0, 1.0, 4.0], 200_000)
    assert mean_logs(np.array([2.0, 1.0, 4.0])) == pytest.approx(
        np.log(draws).mean(axis=0), abs=0.01
    )


def test_divergence_is_the_textbook_form_and_zero_at_the_prior() -> None:
    prior = np.array([0.7, 0.4, 1.1, 2.0])
    assert divergences(ETA[None], prior)[0] == pytest.approx(full_divergence(ETA, prior), rel=1e-12)
    assert divergences(np.stack([prior, ETA]), prior)[0] == pytest.approx(0.0, abs=1e-13)
    assert (divergences(np.random.default_rng(0).gamma(1.0, 1.0, (50, 4)), prior) > 0).all()


@pytest.mark.parametrize("size", [4, 5, 30])
def test_dead_entries_cancel(size: int) -> None:
    alpha = 2.5
    whole = np.concatenate([ETA, np.full(size - 4, alpha / size)])
    expected = full_divergence(whole, np.full(size, alpha / size))
    assert sparse_divergence(ETA, alpha, size) == pytest.approx(expected, rel=1e-12)
    assert sparse_divergence(whole, alpha, size) == pytest.approx(expected, rel=1e-12)


def test_one_cluster_costs_nothing() -> None:
    assert sparse_divergence(np.array([17.3]), 2.0, 1) == pytest.approx(0.0, abs=1e-12)
    assert best_alpha(2.0, np.array([17.3]), 1) == 2.0


@pytest.mark.parametrize("begin", [1e-3, 0.1, 1.0, 50.0, 1e5])
def test_best_alpha(begin: float) -> None:
    assert best_alpha(begin, ETA, 4) == pytest.approx(1.49950287, abs=1e-8)
    # Here eta is exactly the prior.
    assert best_alpha(begin, np.full(5, 20.0), 5) == pytest.approx(100.0, rel=1e-7)


@pytest.mark.parametrize("size", [4, 9])
def test_derivatives_of_alpha_are_finite_differences(size: int) -> None:
    for alpha in (0.3, 1.5, 20.0):
        step = 1e-4 * alpha
        low, high = (alpha_objective(alpha + sign * step, ETA, size, 0.7) for sign in (-1, 1))
        _, slope, bend = alpha_objective(alpha, ETA, size, 0.7)
        assert slope == pytest.approx((high[0] - low[0]) / (2 * step), rel=1e-6, abs=1e-6)
        assert bend == pytest.approx((high[1] - low[1]) / (2 * step), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("size", [4, 9])
def test_the_objective_of_alpha_is_the_bound_up_to_a_constant(size: int) -> None:
    mass = ETA - 0.7 / size

    def bound(alpha: float) -> float:
        total = ETA.sum() + (size - 4) * alpha / size
        return float(mass @ mean_logs(ETA, total)) - sparse_divergence(ETA, alpha, size)

    first, second = (alpha_objective(a, ETA, size, 0.7)[0] - bound(a) for a in (0.4, 7.0))
    assert first == pytest.approx(second, rel=1e-12)


def test_best_alpha_with_dead_clusters_is_a_maximum_and_not_frozen() -> None:
    eta = np.array([40.0, 25.0, 20.0, 10.0, 5.0])
    found = best_alpha(20.0, eta, 100)
    assert 0.1 < found < 10.0
    values = [alpha_objective(found * f, eta, 100, 20.0)[0] for f in (0.99, 1.0, 1.01)]
    assert values[1] > max(values[0], values[2])


def test_alpha_stays_within_its_range() -> None:
    # Equal and large: the best alpha is the sum of eta, beyond the range.
    assert best_alpha(1.0, np.full(4, 1e8), 4) == pytest.approx(1e6)


GAMMA = np.random.default_rng(3).gamma(0.7, 6.0, (12, 4)) + 0.05
LOGS = mean_logs(GAMMA).sum(axis=0)


def test_gradient_and_newton_step_of_lambda_are_finite_differences() -> None:
    prior = np.array([0.3, 1.0, 2.0, 0.6])
    _, gradient = lambda_objective(prior, LOGS, 12)
    eye = np.eye(4) * 1e-5
    slopes = [
        (lambda_objective(prior + e, LOGS, 12)[0] - lambda_objective(prior - e, LOGS, 12)[0]) / 2e-5
        for e in eye
    ]
    assert gradient == pytest.approx(slopes, rel=1e-6, abs=1e-6)
    hessian = np.array(
        [
            (lambda_objective(prior + e, LOGS, 12)[1] - lambda_objective(prior - e, LOGS, 12)[1])
            / 2e-5
            for e in eye
        ]
    )
    expected = -np.linalg.solve(hessian, gradient)
    assert lambda_step(prior, gradient, 12) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("begin", [0.01, 0.25, 3.0, 200.0])
def test_best_lambda_minimises_the_divergences(begin: float) -> None:
    found = best_lambda(np.full(4, begin), LOGS, 12)
    assert np.abs(lambda_objective(found, LOGS, 12)[1]).max() < 1e-6
    least = divergences(GAMMA, found).sum()
    for factor in np.eye(4) * 0.02 + 1.0:
        assert divergences(GAMMA, found * factor).sum() > least


def test_lambda_of_one_topic_stays() -> None:
    assert best_lambda(np.array([0.7]), np.zeros(1), 3) == pytest.approx([0.7])


def test_best_lambda_of_the_prior_itself() -> None:
    prior = np.array([0.5, 1.5, 3.0])
    assert best_lambda(np.ones(3), 7 * mean_logs(prior), 7) == pytest.approx(prior, rel=1e-8)
