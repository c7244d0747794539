"""One-sided clustering: every row belongs to one latent cluster.

P(row x) = sum_c P(c) prod_y P(y|c)^n(x,y); Hofmann & Puzicha 1998, eqs. 12-18, annealed by eq. 41.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isotherm.data.base import Array, Block
from isotherm.kernels.base import Kernels
from isotherm.models.base import DEAD
from isotherm.models.row_mixture import ClusterParams, ClusterRows, ClusterStats, RowMixture
from isotherm.placement.base import Expected


@dataclass(frozen=True)
class Cluster(RowMixture):
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

    temper_prior: bool = False
    fixed_weights: bool = False

    @property
    def zero_temperature(self) -> float:
        """Zero: no offset."""
        return 0.0

    def start(self, params: ClusterParams, block: Block, k: Kernels) -> ClusterRows:
        """Q(c|x) = P(c)."""
        return ClusterRows(np.tile(params.weight, (block.n_rows, 1)).astype(k.dtype))

    def expect(
        self, params: ClusterParams, rows: ClusterRows, block: Block, temperature: float, k: Kernels
    ) -> Expected[ClusterRows, ClusterStats]:
        """Q(c|x) ~ P(c) exp(b sum_y n log P(y|c)) (eq. 41); energy -T sum log z."""
        logs, prior, scale = self.scores(params, temperature, k)
        sums = k.row(block, logs, prior, hard=temperature == 0)
        stats = ClusterStats(sums.columns, sums.mass)
        return Expected(ClusterRows(sums.posterior), stats, -scale * sums.log_z)

    def scores(
        self, params: ClusterParams, temperature: float, k: Kernels
    ) -> tuple[Array, Array, float]:
        """Tempered logs of P(y|c) (J, K) and of P(c) (K,), and T (1 in the hard limit)."""
        scale = temperature if temperature > 0 else 1.0
        prior = log_weights(params.weight)
        if temperature == 0 and not self.temper_prior:
            prior = np.where(np.isfinite(prior), 0.0, prior)
        prior = prior / scale if self.temper_prior else prior
        return k.logs(params.word_topic, 1.0 / scale), prior, scale

    def maximize(
        self, stats: ClusterStats, params: ClusterParams, temperature: float, k: Kernels
    ) -> tuple[ClusterParams, float]:
        """P(c) = mean Q(c|x) unless fixed; P(y|c) from counts and pseudo-counts (eqs. 16, 17)."""
        reached, energy = super().maximize(stats, params, temperature, k)
        if self.fixed_weights:
            reached = reached._replace(weight=params.weight)
        return reached, energy

    def critical_temperature(self, singular: float) -> float:
        """T_c = s_max^2."""
        return singular**2


def log_weights(weight: Array) -> Array:
    """Log of component weights; minus infinity for a dead component."""
    alive = weight > DEAD
    return np.where(alive, np.log(np.where(alive, weight, 1.0)), -np.inf)
