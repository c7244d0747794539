"""Theme-topic mixture: clusters of rows whose means are mixtures of a few topics.

P(row x) = sum_c pi_c prod_y (sum_k theta_ck beta_ky)^n(x,y) by maximum likelihood (Keller & Bengio
2004): a mixture of multinomials whose M x J means have rank K. The M-step is one step of the aspect
model on cluster-by-column counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from isotherm.data.base import Array, Block, Summary
from isotherm.kernels.base import Kernels
from isotherm.models.base import DEAD, floored, held_back, jitter, normalized
from isotherm.models.cluster import log_weights
from isotherm.models.projection import Projection, log_means, over, revived
from isotherm.models.row_mixture import ClusterRows, ClusterStats
from isotherm.placement.base import Expected


class TtmmParams(NamedTuple):
    """All in double precision.

    `weight` (M,): pi; `inside` (M,): counts in each cluster; `topic` (K, M): theta, transposed;
    `word_topic` (J, K): beta.
    """

    weight: Array
    inside: Array
    topic: Array
    word_topic: Array


@dataclass(frozen=True)
class Ttmm(Projection):
    """Theme-topic mixture of `n_clusters` clusters over `n_components` topics."""

    def init(self, summary: Summary, table: Array) -> TtmmParams:
        """Equal clusters that lean to the given topics (J, K)."""
        mass = np.full(self.n_clusters, summary.row_weight / self.n_clusters)
        return self.given(self.leaning() * (summary.total / self.n_clusters), mass, table)

    def given(self, counts: Array, mass: Array, table: Array) -> TtmmParams:
        """Clusters with the given counts of topics (M, K) and weights (M,), topics (J, K).

        The centre of a cluster without counts is uniform.
        """
        total = counts.sum(axis=1)
        filled = np.where(total[:, None] > 0, counts, 1.0).T
        return TtmmParams(
            mass / mass.sum(), total, normalized(filled), np.asarray(table, np.float64)
        )

    def start(self, params: TtmmParams, block: Block, k: Kernels) -> ClusterRows:
        """Q(c|x) = pi(c)."""
        return ClusterRows(np.tile(params.weight, (block.n_rows, 1)).astype(k.dtype))

    def expect(
        self, params: TtmmParams, rows: ClusterRows, block: Block, temperature: float, k: Kernels
    ) -> Expected[ClusterRows, ClusterStats]:
        """Q(c|x) ~ [pi_c exp(sum_y n log R_cy)]^b, R = theta beta; energy -T sum log z."""
        scale = temperature if temperature > 0 else 1.0
        logs = log_means(params.word_topic @ params.topic, scale, k)
        sums = k.row(block, logs, log_weights(params.weight) / scale, hard=temperature == 0)
        stats = ClusterStats(sums.columns, sums.mass)
        return Expected(ClusterRows(sums.posterior), stats, -scale * sums.log_z)

    def maximize(
        self, stats: ClusterStats, params: TtmmParams, temperature: float, k: Kernels
    ) -> tuple[TtmmParams, float]:
        """Weights pi = mean Q; theta ~ theta ((C/R) beta'); beta ~ smooth + beta (theta'(C/R)).

        R is computed afresh between the two; C are the cluster-by-column counts. A cluster without
        any keeps its centre.
        """
        counts, table = np.asarray(stats.word, np.float64), params.word_topic
        share = params.topic * (table.T @ over(counts, table @ params.topic))
        total = share.sum(axis=0)
        alive = total > DEAD * total.sum()
        topic = np.where(alive, share / np.where(alive, total, 1.0), params.topic)
        sums = table * (over(counts, table @ topic) @ topic.T)
        reached = TtmmParams(
            stats.mass / stats.mass.sum(),
            counts.sum(axis=0),
            topic,
            self._topics(sums, table, temperature),
        )
        return reached, self._smoothing_energy(reached.word_topic)

    def prior_energy(self, params: TtmmParams, summary: Summary) -> float:
        """-smooth sum log beta."""
        return self._smoothing_energy(params.word_topic)

    def project(self, relaxed: TtmmParams, reached: TtmmParams) -> TtmmParams:
        """Weights, centres and topics made valid again."""
        return TtmmParams(
            held_back(relaxed.weight, reached.weight),
            reached.inside,
            floored(relaxed.topic, reached.topic),
            floored(relaxed.word_topic, reached.word_topic),
        )

    def perturb(self, params: TtmmParams, rng: np.random.Generator, noise: float) -> TtmmParams:
        """Noise on the centres: it is clusters that coincide."""
        moved = revived(jitter(params.topic, rng, noise).T, rng, noise)
        return params._replace(topic=np.ascontiguousarray(moved.T))

    def cluster_weights(self, params: TtmmParams) -> Array:
        """Weights pi."""
        return params.weight

    def centres(self, params: TtmmParams) -> Array:
        """Mixtures theta."""
        return params.topic.T

    def factors(self, params: TtmmParams) -> Array:
        """Mixtures theta."""
        return params.topic.T

    def tokens(self, params: TtmmParams) -> Array:
        """Counts in each cluster."""
        return params.inside

    def posterior(self, params: TtmmParams, rows: ClusterRows) -> Array:
        """Q(c|x) of the last E-step."""
        return rows.posterior
