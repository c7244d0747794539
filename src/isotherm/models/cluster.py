"""One-sided clustering: every row belongs to one latent cluster.

P(row x) = sum_c P(c) prod_y P(y|c)^n(x,y); Hofmann & Puzicha 1998, eqs. 12-18, annealed by eq. 41.
The tuples and the M-step serve the document mixture too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from isotherm.data.base import Array, Block, Expected, Summary
from isotherm.kernels.base import Kernels
from isotherm.kernels.reference import floored_log
from isotherm.models.base import (
    DEAD,
    Deviation,
    Mixture,
    distributions,
    floored,
    held_back,
    jitter,
    mass_of,
    on_pattern,
    unigram,
)


class ClusterParams(NamedTuple):
    """`weight` (K,) P(c); `tokens` (K,) counts in each cluster; `word_topic` (J, K) P(y|c)."""

    weight: Array
    tokens: Array
    word_topic: Array


class ClusterRows(NamedTuple):
    """`posterior` (I, K): Q(c|x) of the last E-step."""

    posterior: Array


class ClusterStats(NamedTuple):
    """`word` (J, K): counts in each cluster; `mass` (K,): rows in each cluster."""

    word: Array
    mass: Array


@dataclass(frozen=True)
class Cluster:
    """One-sided clustering into `n_components` clusters.

    Parameters
    ----------
    n_components : int
    pseudo_count : float
        Counts spread over the columns like the corpus, added to every cluster.
    temper_prior : bool
        Temper P(c) with the likelihood; keeps clusters balanced on sparse text.
    fixed_weights : bool
        Keep P(c) = 1/K.
    """

    n_components: int
    pseudo_count: float = 0.0
    temper_prior: bool = False
    fixed_weights: bool = False

    @property
    def zero_temperature(self) -> float:
        """Zero: no offset."""
        return 0.0

    @property
    def rows_are_parameters(self) -> bool:
        """Posteriors are not parameters."""
        return False

    def hot(self) -> Cluster:
        """One cluster with the pseudo-counts of all."""
        return replace(self, n_components=1, pseudo_count=self.pseudo_count * self.n_components)

    def init(self, summary: Summary, table: Array) -> ClusterParams:
        """Equal weights."""
        return start_params(summary, table)

    def start(self, params: ClusterParams, block: Block, k: Kernels) -> ClusterRows:
        """Q(c|x) = P(c)."""
        return ClusterRows(np.tile(params.weight, (block.n_rows, 1)).astype(k.dtype))

    def expect(
        self, params: ClusterParams, rows: ClusterRows, block: Block, temperature: float, k: Kernels
    ) -> Expected:
        """Q(c|x) ~ P(c) exp(b sum_y n log P(y|c)) (eq. 41); energy -T sum log z."""
        scale = temperature if temperature > 0 else 1.0
        prior = log_weights(params.weight)
        if temperature == 0 and not self.temper_prior:
            prior = np.where(np.isfinite(prior), 0.0, prior)
        prior = prior / scale if self.temper_prior else prior
        logs = (floored_log(params.word_topic) / scale).astype(k.dtype)
        sums = k.row(block, logs, prior, hard=temperature == 0)
        stats = ClusterStats(sums.columns, sums.mass)
        return Expected(ClusterRows(sums.posterior), stats, -scale * sums.log_z)

    def maximize(self, stats: ClusterStats, params: ClusterParams) -> tuple[ClusterParams, float]:
        """P(c) = mean Q(c|x); P(y|c) from counts and pseudo-counts (eqs. 15, 16)."""
        reached, energy = word_distributions(stats, params, self.pseudo_count)
        if self.fixed_weights:
            reached = reached._replace(weight=params.weight)
        return reached, energy

    def prior_energy(self, params: ClusterParams, summary: Summary) -> float:
        """Energy of the pseudo-counts."""
        return pseudo_energy(params.word_topic, unigram(summary), self.pseudo_count)

    def project(self, relaxed: ClusterParams, reached: ClusterParams) -> ClusterParams:
        """Floors and normalises P(c) and P(y|c)."""
        return project_params(relaxed, reached)

    def perturb(
        self, params: ClusterParams, rng: np.random.Generator, noise: float
    ) -> ClusterParams:
        """Noise on P(y|c)."""
        return params._replace(word_topic=jitter(params.word_topic, rng, noise))

    def mixture(self, params: ClusterParams, rows: ClusterRows) -> Mixture:
        """P(y|x) = sum_c Q(c|x) P(y|c) with the annealed posterior."""
        return Mixture(rows.posterior, params.word_topic)

    def components(self, params: ClusterParams) -> tuple[Array, Array]:
        """P(c) and P(y|c)."""
        return params.weight, params.word_topic

    def deviation(
        self,
        params: ClusterParams,
        rows: ClusterRows,
        block: Block,
        temperature: float,
        component: int,
        k: Kernels,
    ) -> Deviation:
        """sqrt(q) (n(x,y) - n(x) p_c(y)) / sqrt(n_c(y))."""
        return cluster_deviation(params, rows, block, component, self.pseudo_count)

    def critical_temperature(self, singular: float) -> float:
        """T_c = s_max^2."""
        return singular**2


def start_params(summary: Summary, table: Array) -> ClusterParams:
    """Equal weights and the given distributions (J, K)."""
    K = table.shape[1]
    return ClusterParams(np.full(K, 1.0 / K), np.full(K, summary.total / K), table)


def word_distributions(
    stats: ClusterStats, params: ClusterParams, pseudo_count: float
) -> tuple[ClusterParams, float]:
    """M-step with pseudo-counts: parameters, and the energy of the pseudo-counts.

    P(y|c) = (sum_x n Q + alpha p(y)) / (sum_x n(x) Q + alpha).
    """
    marginal = stats.word.sum(axis=1, dtype=np.float64)
    marginal /= marginal.sum()
    sums, tokens = stats.word, mass_of(stats.word)
    if pseudo_count:
        sums = sums + (pseudo_count * marginal[:, None]).astype(sums.dtype)
    table = distributions(sums, tokens + pseudo_count, params.word_topic)
    energy = pseudo_energy(table, marginal, pseudo_count)
    return ClusterParams(stats.mass / stats.mass.sum(), tokens, table), energy


def pseudo_energy(table: Array, marginal: Array, pseudo_count: float) -> float:
    """-alpha sum_c sum_y p(y) log P(y|c) for distributions (J, K) and the marginal p (J,)."""
    if not pseudo_count:
        return 0.0
    return -pseudo_count * float((marginal @ floored_log(table)).sum())


def project_params(relaxed: ClusterParams, reached: ClusterParams) -> ClusterParams:
    """Floors and normalises weights and distributions."""
    return ClusterParams(
        held_back(relaxed.weight, reached.weight),
        reached.tokens,
        floored(relaxed.word_topic, reached.word_topic),
    )


def cluster_deviation(
    params: ClusterParams, rows: ClusterRows, block: Block, component: int, pseudo_count: float
) -> Deviation:
    """Deviation of a component whose rows are weighted by their posterior.

    sqrt(q) (n(x,y) - n(x) p(y)) / sqrt((n_c + alpha) p(y)), only where p(y) > 0.
    """
    p = params.word_topic[:, component].astype(np.float64)
    root = np.sqrt((params.tokens[component] + pseudo_count) * p)
    heavy = np.sqrt(rows.posterior[:, component].astype(np.float64) * block.weight)
    inverse = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
    values = block.values * heavy[block.row_of] * inverse[block.indices]
    return Deviation(on_pattern(values, block), heavy * block.row_totals, p * inverse)


def log_weights(weight: Array) -> Array:
    """Log of component weights; minus infinity for a dead component."""
    alive = weight > DEAD
    return np.where(alive, np.log(np.where(alive, weight, 1.0)), -np.inf)
