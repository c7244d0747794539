"""Models with one latent component per row: what one-sided clustering and document mixture share.

P(row) = sum_k weight_k prod_y P(y|k)^n: they differ in whose the weights are, and so in the E-step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from isotherm.data.base import Array, Block, Summary
from isotherm.kernels.base import Kernels
from isotherm.kernels.reference import floored_log
from isotherm.models.base import (
    Deviation,
    Mixture,
    Topics,
    distributions,
    floored,
    held_back,
    inverse,
    jitter,
    sums_of_rows,
    unigram,
    with_rows_added,
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
class RowMixture(Topics):
    """Base of such models: everything but the E-step, the temperatures and the rows' start.

    Parameters
    ----------
    n_components : int
    pseudo_count : float
        Counts spread over the columns like the corpus, added to every component.
    """

    n_components: int
    pseudo_count: float = 0.0

    @property
    def rows_are_parameters(self) -> bool:
        """Posteriors are not parameters: they are not over-relaxed."""
        return False

    def sized(self, n_components: int) -> Self:
        """Another number of components; the pseudo-counts of all stay the same."""
        share = self.pseudo_count * self.n_components / n_components
        return replace(self, n_components=n_components, pseudo_count=share)

    def hot(self) -> Self:
        """One component with the pseudo-counts of all."""
        return self.sized(1)

    def init(self, summary: Summary, table: Array) -> ClusterParams:
        """Equal weights and the given distributions (J, K)."""
        K = table.shape[1]
        return ClusterParams(np.full(K, 1.0 / K), np.full(K, summary.total / K), table)

    def maximize(
        self, stats: ClusterStats, params: ClusterParams, temperature: float, k: Kernels
    ) -> tuple[ClusterParams, float]:
        """Mean posteriors, P(y|k) from counts and pseudo-counts, and the pseudo-counts' energy.

        P(y|k) = (sum_x n Q + alpha p(y)) / (sum_x n(x) Q + alpha).
        """
        marginal = sums_of_rows(stats.word)
        marginal /= marginal.sum()
        sums, tokens = stats.word, k.totals(stats.word)
        if self.pseudo_count:
            sums = with_rows_added(sums, self.pseudo_count * marginal)
        table = distributions(sums, tokens + self.pseudo_count, params.word_topic, k)
        reached = ClusterParams(stats.mass / stats.mass.sum(), tokens, table)
        return reached, self._pseudo_energy(table, marginal)

    def prior_energy(self, params: ClusterParams, summary: Summary) -> float:
        """Energy of the pseudo-counts."""
        return self._pseudo_energy(params.word_topic, unigram(summary))

    def project(self, relaxed: ClusterParams, reached: ClusterParams) -> ClusterParams:
        """Weights and distributions made valid again."""
        return ClusterParams(
            held_back(relaxed.weight, reached.weight),
            reached.tokens,
            floored(relaxed.word_topic, reached.word_topic),
        )

    def perturb(
        self, params: ClusterParams, rng: np.random.Generator, noise: float
    ) -> ClusterParams:
        """Noise on P(y|k)."""
        return params._replace(word_topic=jitter(params.word_topic, rng, noise))

    def mixture(self, params: ClusterParams, rows: ClusterRows) -> Mixture:
        """P(y|x) = sum_k Q(k|x) P(y|k) with the annealed posterior."""
        return Mixture(rows.posterior, params.word_topic)

    def components(self, params: ClusterParams) -> tuple[Array, Array]:
        """Weights (mean posteriors) and P(y|k)."""
        return params.weight, params.word_topic

    def deviation(
        self,
        params: ClusterParams,
        rows: ClusterRows,
        block: Block,
        temperature: float,
        components: Array,
        k: Kernels,
    ) -> Deviation:
        """sqrt(q) (n(x,y) - n(x) p(y)) / sqrt((n_k + alpha) p(y)), only where p(y) > 0."""
        p = params.word_topic[:, components].astype(np.float64)
        scale = inverse(np.sqrt((params.tokens[components] + self.pseudo_count) * p))
        parts = rows.posterior[:, components], scale, block.row_totals[:, None], p * scale
        return Deviation(block.values, *(part.astype(k.dtype, copy=False) for part in parts))

    def _pseudo_energy(self, table: Array, marginal: Array) -> float:
        """-alpha sum_k sum_y p(y) log P(y|k) for distributions (J, K) and the marginal p (J,)."""
        if not self.pseudo_count:
            return 0.0
        filled = marginal > 0
        if not filled.all():
            marginal, table = marginal[filled], table[filled]
        return -self.pseudo_count * float((marginal @ floored_log(table)).sum())
