"""Choi's document mixture (the thesis's "PLSA"): every document has its own topic weights.

P(x_i) = sum_k psi_ik prod_j theta_kj^x_ij (Choi 2012, ch. 4). At its best psi the model at
temperature T is clustering with uniform weights at T - 1: schedules cool u = T - 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isotherm.data.base import Array, Block
from isotherm.kernels.base import Kernels
from isotherm.kernels.reference import floored_log
from isotherm.models.row_mixture import ClusterParams, ClusterRows, ClusterStats, RowMixture
from isotherm.placement.base import Expected


@dataclass(frozen=True)
class Document(RowMixture):
    """Document mixture with `n_components` topics.

    Parameters
    ----------
    n_components : int
    pseudo_count : float
        Counts spread over the columns like the corpus, added to every topic.
    stepwise : bool
        Update psi <- rho once per sweep as the thesis does, instead of solving for psi.
    """

    stepwise: bool = False

    @property
    def zero_temperature(self) -> float:
        """One: at T = 1 the model is a hard clustering."""
        return 1.0

    def start(self, params: ClusterParams, block: Block, k: Kernels) -> ClusterRows:
        """Uniform psi."""
        K = len(params.weight)
        return ClusterRows(np.full((block.n_rows, K), 1.0 / K, k.dtype))

    def expect(
        self, params: ClusterParams, rows: ClusterRows, block: Block, temperature: float, k: Kernels
    ) -> Expected[ClusterRows, ClusterStats]:
        """Rho = softmax(logL / (T - 1)), or softmax((log psi + logL) / T) when stepwise."""
        if self.stepwise:
            scale, hard = temperature, False
            prior: Array = floored_log(rows.posterior) / scale
        else:
            hard = temperature <= self.zero_temperature
            scale = 1.0 if hard else temperature - self.zero_temperature
            prior = np.zeros(len(params.weight))
        logs = k.logs(params.word_topic, 1.0 / scale)
        sums = k.row(block, logs, prior, hard=hard)
        posterior, mass = sums.posterior, sums.mass
        filled = block.row_totals > 0
        if not filled.all():
            # Nothing says which topic an empty document is of, and it says nothing of the topics.
            posterior[~filled] = 1.0 / len(params.weight)
            mass = (block.weight * filled) @ posterior.astype(np.float64)
        stats = ClusterStats(sums.columns, mass)
        return Expected(ClusterRows(posterior), stats, -scale * sums.log_z)

    def critical_temperature(self, singular: float) -> float:
        """T_c = 1 + lambda."""
        return 1.0 + singular**2
