"""Probabilistic clustering-projection: Bayesian clusters of rows over shared topics.

pi ~ Dir(alpha/M), theta_m ~ Dir(lambda), cluster of row x ~ pi, topic of each word ~ theta of that
cluster, word ~ beta of that topic (Yu, Yu, Tresp & Kriegel 2005). The energy is minus the lower
bound of the log evidence. `Pcp` lets the topic of a word depend on the cluster of the row, which
has a closed form and never the lower bound; `FactorizedPcp` is the paper's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from isotherm.data.base import Array, Block, Summary
from isotherm.kernels.base import Kernels
from isotherm.models.dirichlet import (
    best_alpha,
    best_lambda,
    divergences,
    joining_gains,
    mean_logs,
    sparse_divergence,
)
from isotherm.models.projection import MANY, Projection, log_means, over, revived
from isotherm.models.row_mixture import ClusterRows, ClusterStats
from isotherm.placement.base import Expected

# A cluster with less weight than this leaves: it would never come back.
LEAST = 1e-6
# Sweeps before alpha and lambda are learned.
WARM = 5
# Entries of a posterior that are computed at a time: what stays in a near cache.
SPAN = 250_000
# Exponents are not below this: what is smaller makes arithmetic slow and means nothing.
LOWEST = -50.0


class PcpParams(NamedTuple):
    """State of the model, all in double precision; L of the M clusters are alive.

    `eta` (L,) and `gamma` (L, K): Dirichlet parameters of pi and theta; `word_topic` (J, K): beta;
    `alpha` (1,) and `lam` (K,): priors; `age` (1,): sweeps so far; `kept` (L,): which clusters of
    the last E-step these are.
    """

    eta: Array
    gamma: Array
    word_topic: Array
    alpha: Array
    lam: Array
    age: Array
    kept: Array


class FactorizedRows(NamedTuple):
    """`posterior` (I, L): psi; `topic` (I, K): z, expected counts of the topics."""

    posterior: Array
    topic: Array


class FactorizedStats(NamedTuple):
    """`word` (J, K): expected counts of topics; `topic` (L, K): of clusters; `mass` (L,): rows."""

    word: Array
    topic: Array
    mass: Array


@dataclass(frozen=True)
class Bayesian(Projection):
    """What both families of distributions share: all but the E-step.

    Parameters
    ----------
    n_components, n_clusters, smooth
        As in `Projection`; clusters without weight leave, but M stays in alpha/M.
    alpha : float
        Concentration of the prior of pi.
    lam : float
        Each parameter of the prior of theta.
    learn_hyper : bool
        Learn alpha and lambda, after a few sweeps, and not above T = 1: where clusters still
        coincide the best prior is one that keeps them so.
    """

    alpha: float = 1.0
    lam: float | tuple[float, ...] = 1.0
    learn_hyper: bool = False

    def init(self, summary: Summary, table: Array) -> PcpParams:
        """Equal clusters that lean to the given topics (J, K)."""
        mass = np.full(self.n_clusters, summary.row_weight / self.n_clusters)
        counts = self.leaning() * (summary.total / self.n_clusters)
        return self.given(counts, mass, table)

    def given(self, counts: Array, mass: Array, table: Array) -> PcpParams:
        """Clusters with the given counts of topics (M, K) and weights (M,), topics (J, K)."""
        lam = np.broadcast_to(np.asarray(self.lam, np.float64), (self.n_components,))
        return PcpParams(
            mass + self.alpha / self.n_clusters,
            counts + lam,
            np.asarray(table, np.float64),
            np.array([self.alpha]),
            lam.copy(),
            np.zeros(1),
            np.arange(len(mass)),
        )

    def prior_energy(self, params: PcpParams, summary: Summary) -> float:
        """KL of q(pi) and of q(theta) from their priors, -smooth sum log beta."""
        return self._bound(params)

    def log_prior(self, params: PcpParams) -> Array:
        """E log pi_m, (L,)."""
        dead = self.n_clusters - len(params.eta)
        total = params.eta.sum() + dead * params.alpha[0] / self.n_clusters
        return mean_logs(params.eta, total)

    def project(self, relaxed: PcpParams, reached: PcpParams) -> PcpParams:
        """The reached parameters: clusters may have left, so they are not extrapolated."""
        return reached

    def perturb(self, params: PcpParams, rng: np.random.Generator, noise: float) -> PcpParams:
        """Noise on what the clusters have of each topic."""
        # A lambda that was just learned may be above what is in gamma.
        counts = np.maximum(params.gamma - params.lam, 0.0)
        moved = counts * np.exp(noise * rng.standard_normal(counts.shape))
        total = moved.sum(axis=1, keepdims=True)
        alive = np.flatnonzero(total[:, 0] > 0)
        moved[alive] = total[alive] * revived(moved[alive] / total[alive], rng, noise)
        return params._replace(gamma=params.gamma + (moved - counts))

    def cluster_weights(self, params: PcpParams) -> Array:
        """Mean of q(pi) over live clusters."""
        return np.asarray(params.eta / params.eta.sum())

    def centres(self, params: PcpParams) -> Array:
        """Mean of q(theta)."""
        return np.asarray(params.gamma / params.gamma.sum(axis=1, keepdims=True))

    def factors(self, params: PcpParams) -> Array:
        """Geometric means exp(E log theta)."""
        return np.exp(mean_logs(params.gamma))

    def tokens(self, params: PcpParams) -> Array:
        """Counts in each cluster."""
        return np.asarray(np.maximum(params.gamma - params.lam, 0.0).sum(axis=1))

    def posterior(self, params: PcpParams, rows: ClusterRows | FactorizedRows) -> Array:
        """Posterior psi of the live clusters."""
        psi = live(params, rows.posterior).astype(np.float64)
        return np.asarray(psi / psi.sum(axis=1, keepdims=True))

    def joined(self, params: PcpParams) -> PcpParams | None:
        """Parameters with clusters joined that are better one for the bound at T = 1, or None.

        Copies lose their weight to one of them by themselves, but it takes as many sweeps as they
        have rows. The pair with the largest gain is joined first.
        """
        each = float(params.alpha[0]) / self.n_clusters
        counts, mass = (
            np.maximum(params.gamma - params.lam, 0.0),
            np.maximum(params.eta - each, 0.0),
        )
        left = np.arange(len(mass))
        if not 1 < len(left) <= MANY:
            return None
        gains = np.array([joining_gains(counts, mass, int(m), params.lam, each) for m in left])
        while gains.max() > 0:
            a, b = np.unravel_index(gains.argmax(), gains.shape)
            counts[a] += counts[b]
            mass[a] += mass[b]
            left = left[left != b]
            gains[b] = gains[:, b] = -np.inf
            fresh = joining_gains(
                counts[left], mass[left], int(np.searchsorted(left, a)), params.lam, each
            )
            gains[a, left] = gains[left, a] = fresh
        if len(left) == len(mass):
            return None
        kept = np.arange(len(left))
        return params._replace(eta=mass[left] + each, gamma=counts[left] + params.lam, kept=kept)

    def _reached(
        self, params: PcpParams, topic: Array, sums: Array, mass: Array, temperature: float
    ) -> tuple[PcpParams, float]:
        """Parameters from the counts of clusters (L, K) and topics (J, K), without the dead."""
        kept = np.flatnonzero(mass >= min(LEAST, mass.max()))
        alpha, lam, age = float(params.alpha[0]), params.lam, params.age + 1.0
        eta, gamma = mass[kept] + alpha / self.n_clusters, topic[kept] + lam
        if self.learn_hyper and age[0] > WARM and temperature <= 1.0:
            alpha = best_alpha(alpha, eta, self.n_clusters)
            lam = best_lambda(lam, mean_logs(gamma).sum(axis=0), len(kept))
        table = self._topics(sums, params.word_topic, temperature)
        reached = PcpParams(eta, gamma, table, np.array([alpha]), lam, age, kept)
        return reached, self._bound(reached)

    def _bound(self, params: PcpParams) -> float:
        """-(A + B + S)."""
        return (
            sparse_divergence(params.eta, float(params.alpha[0]), self.n_clusters)
            + float(divergences(params.gamma, params.lam).sum())
            + self._smoothing_energy(params.word_topic)
        )


@dataclass(frozen=True)
class Pcp(Bayesian):
    """Clustering-projection with the topic of a word given the cluster (structured inference)."""

    def start(self, params: PcpParams, block: Block, k: Kernels) -> ClusterRows:
        """Posteriors eta / sum eta."""
        weight = self.cluster_weights(params)
        return ClusterRows(np.tile(weight, (block.n_rows, 1)).astype(k.dtype))

    def expect(
        self, params: PcpParams, rows: ClusterRows, block: Block, temperature: float, k: Kernels
    ) -> Expected[ClusterRows, ClusterStats]:
        """Clusters psi ~ exp(b (sum_y n log R_my + E log pi_m)), R = exp(E log theta) beta."""
        means = params.word_topic @ self.factors(params).T
        prior = self.log_prior(params) / temperature
        sums = k.row(block, log_means(means, temperature, k), prior)
        stats = ClusterStats(sums.columns, sums.mass)
        return Expected(ClusterRows(sums.posterior), stats, -temperature * sums.log_z)

    def maximize(
        self, stats: ClusterStats, params: PcpParams, temperature: float, k: Kernels
    ) -> tuple[PcpParams, float]:
        """Updates gamma = lambda + E ((C/R) beta'), beta ~ smooth + beta (E'(C/R)), eta, priors.

        R is computed afresh between the two; C are the cluster-by-column counts and E is
        exp(E log theta).
        """
        counts, table = np.asarray(stats.word, np.float64), params.word_topic
        each = self.factors(params)
        topic = each * (over(counts, table @ each.T).T @ table)
        each = np.exp(mean_logs(params.lam + topic))
        sums = table * (over(counts, table @ each.T) @ each)
        return self._reached(params, topic, sums, stats.mass, temperature)


@dataclass(frozen=True)
class FactorizedPcp(Bayesian):
    """Clustering-projection with the topic of a word independent of the cluster (the paper's).

    Takes many clusters, up to one per row: no table of clusters by columns is made.
    """

    @property
    def fold_sweeps(self) -> int:
        """Most rounds in which a new row's clusters and topics are found."""
        return 20

    def structured(self) -> Pcp:
        """The model with the same settings and the better bound."""
        parts = (self.n_components, self.n_clusters, self.smooth, self.alpha, self.lam)
        return Pcp(*parts, self.learn_hyper, hold=self.hold)

    def start(self, params: PcpParams, block: Block, k: Kernels) -> FactorizedRows:
        """Posterior psi of the structured model at T = 1."""
        rows = self.structured().expect(params, ClusterRows(np.empty(0)), block, 1.0, k).rows
        return FactorizedRows(rows.posterior, np.zeros((block.n_rows, self.n_components), k.dtype))

    def expect(
        self, params: PcpParams, rows: FactorizedRows, block: Block, temperature: float, k: Kernels
    ) -> Expected[FactorizedRows, FactorizedStats]:
        """Topics phi ~ beta exp(psi E log theta), sums z; psi ~ exp(b (z E log theta + E log pi)).

        The energy is that of the psi given, with phi at its optimum.
        """
        psi, logs = live(params, rows.posterior), mean_logs(params.gamma)
        prior = self.log_prior(params)
        power = np.asarray(psi @ logs.astype(psi.dtype), np.float64)
        top = power.max(axis=1)
        U = np.exp(power - top[:, None]).astype(k.dtype)
        sums = k.pair(block, U, params.word_topic)
        heavy = np.asarray(sums.rows, np.float64)
        z = _unweighted(heavy, U, params, block, k)
        fresh, stats, own = _clustered(z, heavy, logs, prior, block, temperature, psi)
        energy = -own - sums.log_z - float((block.weight * block.row_totals) @ top)
        rows = FactorizedRows(fresh, z.astype(k.dtype, copy=False))
        return Expected(rows, FactorizedStats(sums.columns, *stats), energy)

    def bounds(self, params: PcpParams, rows: FactorizedRows, block: Block, k: Kernels) -> Array:
        """Bound of each row given the clusters, (I,): sum psi (E log pi - log psi) + sum n log s.

        Minus infinity where a column occurs that no topic has.
        """
        psi = live(params, rows.posterior).astype(np.float64)
        power = psi @ mean_logs(params.gamma)
        top = power.max(axis=1)
        s = k.dots(block, np.exp(power - top[:, None]), params.word_topic).astype(np.float64)
        with np.errstate(divide="ignore"):
            terms = block.values * np.log(s)
        words = np.bincount(block.row_of, weights=terms, minlength=block.n_rows)
        own = psi @ self.log_prior(params) - xlogy(psi, psi).sum(axis=1)
        return np.asarray(own + words + block.row_totals * top)

    def projected(self, params: PcpParams, rows: FactorizedRows, block: Block, k: Kernels) -> Array:
        """Shares z / n(x), the paper's features; the centre of an empty row's clusters."""
        total = block.row_totals[:, None]
        mixed = self.mixture(params, rows).weights
        return np.divide(rows.topic, total, out=mixed, where=total > 0)

    def maximize(
        self, stats: FactorizedStats, params: PcpParams, temperature: float, k: Kernels
    ) -> tuple[PcpParams, float]:
        """Updates gamma = lambda + psi'z, eta = alpha/M + sum psi, beta ~ smooth + sum n phi."""
        return self._reached(params, stats.topic, stats.word, stats.mass, temperature)


def live(params: PcpParams, psi: Array) -> Array:
    """Posterior psi (I, L) of the clusters that are left."""
    return psi if psi.shape[1] == len(params.eta) else np.take(psi, params.kept, axis=1)


def _unweighted(heavy: Array, U: Array, params: PcpParams, block: Block, k: Kernels) -> Array:
    """Expected counts of topics of one copy of each row, (I, K)."""
    weight = block.weight[:, None]
    z = np.divide(heavy, weight, out=np.zeros_like(heavy), where=weight > 0)
    light = np.flatnonzero(block.weight == 0)
    if len(light):
        part = replace(block.take(light), weight=np.ones(len(light)))
        z[light] = k.pair(part, U[light], params.word_topic).rows
    return z


def _clustered(
    z: Array,
    heavy: Array,
    logs: Array,
    prior: Array,
    block: Block,
    temperature: float,
    old: Array,
) -> tuple[Array, tuple[Array, Array], float]:
    """New psi (I, L), its sums (L, K) and (L,), and sum w psi (E log pi - T log psi) of the old."""
    fresh, own, dtype = np.empty_like(old), 0.0, old.dtype
    tiny = np.finfo(dtype).tiny
    topic, mass = np.zeros(logs.shape), np.zeros(len(logs))
    table, shares = (logs.T / temperature).astype(dtype), (prior / temperature).astype(dtype)
    step = max(1, SPAN // len(logs))
    for lo in range(0, len(z), step):
        part = slice(lo, lo + step)
        weight, before = block.weight[part], old[part]
        entropy = np.einsum("im,im->i", before, np.log(np.maximum(before, tiny)))
        own += float(weight @ (temperature * (before @ shares - entropy)))
        psi = np.matmul(z[part].astype(dtype), table, out=fresh[part])
        psi += shares
        psi -= psi.max(axis=1, keepdims=True)
        np.maximum(psi, LOWEST, out=psi)
        np.exp(psi, out=psi)
        psi /= psi.sum(axis=1, keepdims=True)
        topic += psi.T @ heavy[part].astype(dtype)
        mass += weight.astype(dtype) @ psi
    return fresh, (topic, mass), own
