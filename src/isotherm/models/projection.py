"""Clusters of rows over shared topics: what the models of clustering and projection have in common.

Every row belongs to one of M clusters, every cluster is a mixture of K topics, so that the M x J
means of the clusters have rank K at most. Yu, Yu, Tresp & Kriegel 2005; Keller & Bengio 2004.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from isotherm._types import Params, RowStates
from isotherm.data.base import Array, Block
from isotherm.kernels.base import Kernels
from isotherm.kernels.reference import floored_log
from isotherm.models.base import (
    DEAD,
    Deviation,
    Mixture,
    Probes,
    Topics,
    distinct_components,
    inverse,
)
from isotherm.models.cluster import Cluster

# A mean below this is no divisor: where there are counts, no posterior says so.
TINY = 1e-300
# Posteriors that are not worth a share.
LITTLE = 1e-9
# What clusters get of other topics by noise, as a share of it.
REVIVED = 0.1
# So many clusters are not compared with each other.
MANY = 500


@dataclass(frozen=True)
class Projection(Topics):
    """Base of such models; a model says what its clusters' weights, centres and posteriors are.

    Parameters
    ----------
    n_components : int
        Number of topics K.
    n_clusters : int
        Number of clusters M.
    smooth : float
        Added to every expected count of a column in a topic; `smooth sum log beta` is then part of
        what is maximised.
    hold : float, optional
        Above this temperature topics stay as they are. As long as there are fewer distinct clusters
        than topics, the best topics are the means of these clusters, each of one topic; and there
        clusters stay when they are cooled, because what is between means cannot tell copies apart.
    """

    n_components: int
    n_clusters: int
    smooth: float = 0.0
    hold: float | None = field(default=None, kw_only=True)

    @property
    def zero_temperature(self) -> float:
        """Zero: no offset."""
        return 0.0

    @property
    def rows_are_parameters(self) -> bool:
        """Posteriors are not parameters: they are not over-relaxed."""
        return False

    def hot(self) -> Cluster:
        """One cluster, whose mean is free: topics can form any mean there is."""
        return Cluster(1, temper_prior=True)

    # What a model says of itself -------------------------------------------------------------

    def cluster_weights(self, params: Params) -> Array:
        """Share of each cluster, (M,), sum one."""
        raise NotImplementedError

    def centres(self, params: Params) -> Array:
        """Mixture of topics of each cluster, (M, K), rows sum to one."""
        raise NotImplementedError

    def factors(self, params: Params) -> Array:
        """What the E-step takes for the centres, (M, K): those, or geometric means."""
        raise NotImplementedError

    def tokens(self, params: Params) -> Array:
        """Counts in each cluster, (M,)."""
        raise NotImplementedError

    def posterior(self, params: Params, rows: RowStates) -> Array:
        """Clusters of each row, (I, M), rows sum to one."""
        raise NotImplementedError

    # What follows from that ------------------------------------------------------------------

    def leaning(self) -> Array:
        """Centres that begin somewhere, (M, K): each leans to a topic, no two of them alike."""
        m = np.arange(self.n_clusters)
        lean = 0.5 / (1.0 + m // self.n_components)
        table = np.repeat((1.0 - lean)[:, None] / self.n_components, self.n_components, axis=1)
        table[m, m % self.n_components] += lean
        return np.asarray(table)

    def means(self, params: Params) -> Array:
        """P(y|c) = sum_k P(k|c) P(y|k), (J, M)."""
        return np.asarray(params.word_topic @ self.centres(params).T)

    def mixture(self, params: Params, rows: object) -> Mixture:
        """P(y|x) = sum_c Q(c|x) sum_k P(k|c) P(y|k), as weights of topics."""
        return Mixture(self.posterior(params, rows) @ self.centres(params), params.word_topic)

    def projected(self, params: Params, rows: RowStates, block: Block, k: Kernels) -> Array:
        """Share of each topic in the counts of each row, (I, K), given all of its clusters.

        sum_m Q(m|x) sum_y n(x,y) phi_myk / n(x), phi ~ theta_mk beta_ky; the centres of the
        clusters for an empty row.
        """
        psi, mixed = self.posterior(params, rows), self.mixture(params, rows).weights
        filled = block.row_totals > 0
        found = np.where(filled[:, None], 0.0, mixed)
        for m, factor in enumerate(self.factors(params)):
            # With long rows nearly all belong to one cluster: the others are not asked.
            own = np.flatnonzero(filled & (psi[:, m] > LITTLE))
            if not len(own):
                continue
            part = replace(block.take(own), weight=np.ones(len(own)))
            shares = np.tile(factor / factor.max(), (len(own), 1)).astype(k.dtype)
            sums = k.pair(part, shares, params.word_topic).rows.astype(np.float64)
            found[own] += psi[own, m, None] * sums / block.row_totals[own, None]
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def components(self, params: Params) -> tuple[Array, Array]:
        """Weights (K,) and distributions (J, K) of the topics."""
        return self.cluster_weights(params) @ self.centres(params), params.word_topic

    def sizes(self, params: Params) -> tuple[int, int]:
        """Number of clusters with any weight, and of those that are distinct."""
        weight = self.cluster_weights(params)
        alive = int((weight > DEAD).sum())
        return alive, alive if alive > MANY else len(self._distinct(params))

    def probes(self, params: Params) -> Probes:
        """Every distinct cluster has one critical temperature."""
        n_columns = len(params.word_topic)
        return Probes(self._distinct(params), 1, n_columns, n_columns < 3)

    def deviation(
        self,
        params: Params,
        rows: RowStates,
        block: Block,
        temperature: float,
        components: Array,
        k: Kernels,
    ) -> Deviation:
        """That of one-sided clustering: splits are found as if the means were free."""
        p = self.means(params)[:, components]
        scale = inverse(np.sqrt(self.tokens(params)[components] * p))
        gain = self.posterior(params, rows)[:, components]
        parts = gain, scale, block.row_totals[:, None], p * scale
        return Deviation(block.values, *(part.astype(k.dtype, copy=False) for part in parts))

    def critical_temperature(self, singular: float) -> float:
        """T_c = s_max^2, an upper bound: topics that are there may not reach the direction."""
        return singular**2

    def _distinct(self, params: Params) -> Array:
        return distinct_components(self.cluster_weights(params), self.means(params))

    def joined(self, params: Params) -> Params | None:
        """Parameters with clusters joined that are better one; None where there are none.

        Maximum likelihood does not mind copies.
        """
        return None

    def _topics(self, sums: Array, last: Array, temperature: float) -> Array:
        """Topics (J, K) from expected counts; one without mass keeps its last distribution."""
        if self.hold is not None and temperature > self.hold:
            return last
        smoothed = np.asarray(sums, np.float64) + self.smooth
        total = smoothed.sum(axis=0)
        alive = total > DEAD * total.sum()
        return np.where(alive, smoothed / np.where(alive, total, 1.0), last)

    def _smoothing_energy(self, word_topic: Array) -> float:
        """-smooth sum log beta."""
        return -self.smooth * float(floored_log(word_topic).sum()) if self.smooth else 0.0


def revived(centres: Array, rng: np.random.Generator, noise: float) -> Array:
    """Centres (M, K), rows sum to one, with a little of every topic in each.

    Relative noise alone would leave a topic out for good that a cluster has lost while it was hot.
    """
    share = REVIVED * noise
    return np.asarray(
        (1.0 - share) * centres + share * rng.dirichlet(np.ones(centres.shape[1]), len(centres))
    )


def log_means(table: Array, temperature: float, k: Kernels) -> Array:
    """Log of means (J, M) over T, in the type of the tables (their range may not fit it)."""
    return (floored_log(table) / temperature).astype(k.dtype, copy=False)


def over(counts: Array, means: Array) -> Array:
    """Counts (J, M) over means, 0 where there are no counts."""
    return np.asarray(counts, np.float64) / np.maximum(means, TINY)
