"""Dirichlet distributions: expected logarithms, divergences, and the best parameters of a prior."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import digamma, gammaln, polygamma, xlogy

from isotherm.data.base import Array

ALPHA_RANGE = (1e-3, 1e6)
LAMBDA_RANGE = (1e-4, 1e4)
# Newton steps, halvings of a step, and the relative step at which it is over.
STEPS, HALVINGS, CLOSE = 50, 40, 1e-12
# Largest step of log alpha.
LARGEST = 2.0


def mean_logs(parameters: Array, total: Array | float | None = None) -> Array:
    """E log p of Dirichlet distributions along the last axis, (..., K).

    `total` is the sum of the parameters where some of them are not listed.
    """
    whole = parameters.sum(axis=-1, keepdims=True) if total is None else total
    return np.asarray(digamma(parameters) - digamma(whole))


def divergences(parameters: Array, prior: Array) -> Array:
    """KL(Dir(row) || Dir(prior)) of each row of (M, K), prior (K,), (M,)."""
    terms = gammaln(parameters) - gammaln(prior) + (prior - parameters) * mean_logs(parameters)
    ends = gammaln(prior.sum()) - gammaln(parameters.sum(axis=-1))
    return -np.asarray(terms.sum(axis=-1) + ends)


def sparse_divergence(eta: Array, alpha: float, size: int) -> float:
    """KL(Dir(eta) || Dir(alpha/size, ...)) where eta (L,) lists the live ones of `size` entries.

    The others are alpha/size, as in the prior, and their terms cancel.
    """
    each = alpha / size
    total = eta.sum() + (size - len(eta)) * each
    terms = gammaln(eta) - gammaln(each) + (each - eta) * mean_logs(eta, total)
    return -float(gammaln(alpha) - gammaln(total) + terms.sum())


def joining_gains(counts: Array, mass: Array, one: int, prior: Array, each: float) -> Array:
    """What the bound at T = 1 gains at least when a cluster is joined with each of them, (L,).

    A cluster has expected `counts` (L, K) of topics and `mass` (L,) rows, and `prior` (K,) and
    `each` are the parameters of its priors. Posteriors of topics are left as they are, and rows are
    taken to be shared as the masses are, where the entropy that is lost is largest. Minus infinity
    for the cluster itself.
    """
    both, heavy = counts[one] + counts, mass[one] + mass
    gain = _normalizer(both + prior) - _normalizer(counts + prior)
    gain += _normalizer(prior) - _normalizer(counts[one] + prior)
    gain += gammaln(heavy + each) + gammaln(each) - gammaln(mass + each) - gammaln(mass[one] + each)
    gain -= xlogy(heavy, heavy) - xlogy(mass, mass) - xlogy(mass[one], mass[one])
    gain[one] = -np.inf
    return np.asarray(gain)


def _normalizer(parameters: Array) -> Array:
    """Log of what normalizes Dirichlet distributions along the last axis."""
    return np.asarray(gammaln(parameters).sum(axis=-1) - gammaln(parameters.sum(axis=-1)))


def alpha_objective(alpha: float, eta: Array, size: int, last: float) -> tuple[float, float, float]:
    """What of the bound depends on alpha, up to a constant, and its two derivatives.

    -KL(Dir(eta) || Dir(alpha/size, ...)) + sum (eta - last/size) E log pi, where eta (L,) was made
    with the alpha `last`. Entries that eta does not list go with the prior: they are alpha/size at
    any alpha, and so E log pi of the others depends on it.
    """
    live, dead = len(eta), size - len(eta)
    each, share, rest = alpha / size, live / size, dead / size
    total, gap = eta.sum() + rest * alpha, share * (alpha - last)
    logs = digamma(eta).sum()
    value = gammaln(alpha) - gammaln(total) - live * gammaln(each) + each * logs
    value -= gap * digamma(total)
    slope = digamma(alpha) - share * digamma(each) + logs / size - digamma(total)
    slope -= gap * rest * polygamma(1, total)
    bend = polygamma(1, alpha) - share / size * polygamma(1, each)
    bend -= rest * (1.0 + share) * polygamma(1, total) + gap * rest**2 * polygamma(2, total)
    return float(value), float(slope), float(bend)


def best_alpha(last: float, eta: Array, size: int) -> float:
    """The best alpha given eta (L,), which was made with the alpha `last`, by Newton on its log."""
    if size == 1:
        return last

    def objective(log_alpha: Array) -> float:
        return alpha_objective(float(np.exp(log_alpha[0])), eta, size, last)[0]

    x = np.array([np.log(last)])
    for _ in range(STEPS):
        now = float(np.exp(x[0]))
        value, slope, bend = alpha_objective(now, eta, size, last)
        curvature = now**2 * bend + now * slope
        # Far from the top log alpha may bend upwards: then the slope alone says where to go.
        step = -now * slope / curvature if curvature < 0 else LARGEST * np.sign(slope)
        moved = _halved(objective, x, np.array([np.clip(step, -LARGEST, LARGEST)]), value)
        moved = np.clip(moved, *np.log(ALPHA_RANGE))
        done = bool(np.abs(moved - x).max() <= CLOSE)
        x = moved
        if done:
            break
    return float(np.exp(x[0]))


def lambda_objective(prior: Array, logs: Array, size: int) -> tuple[float, Array]:
    """What of -sum KL(Dir(gamma_m) || Dir(prior)) depends on the prior (K,), and its gradient.

    `logs` (K,): sum over `size` clusters of E log theta_mk.
    """
    value = size * (gammaln(prior.sum()) - gammaln(prior).sum()) + prior @ logs
    return float(value), np.asarray(size * (digamma(prior.sum()) - digamma(prior)) + logs)


def lambda_step(prior: Array, gradient: Array, size: int) -> Array:
    """Newton step for lambda (K,): the Hessian is diag(q) + z 11'."""
    q, z = -size * polygamma(1, prior), size * polygamma(1, prior.sum())
    b = (gradient / q).sum() / (1.0 / z + (1.0 / q).sum())
    return np.asarray(-(gradient - b) / q)


def best_lambda(prior: Array, logs: Array, size: int) -> Array:
    """The lambda (K,) that makes Dir(lambda) the best prior of `size` clusters, by Newton."""
    if len(prior) == 1:
        return prior

    def objective(at: Array) -> float:
        return lambda_objective(at, logs, size)[0] if (at > 0).all() else -np.inf

    for _ in range(STEPS):
        value, gradient = lambda_objective(prior, logs, size)
        moved = _halved(objective, prior, lambda_step(prior, gradient, size), value)
        moved = np.clip(moved, *LAMBDA_RANGE)
        done = bool((np.abs(moved - prior) <= CLOSE * prior).all())
        prior = moved
        if done:
            break
    return prior


def _halved(objective: Callable[[Array], float], x: Array, step: Array, value: float) -> Array:
    """Sum of x and the step, halved until the objective does not fall; else x itself."""
    for _ in range(HALVINGS):
        if objective(x + step) >= value:
            return x + step
        step = step / 2.0
    return x
