"""Choi's document mixture (the thesis's "PLSA"): every document has its own topic weights.

P(x_i) = sum_k psi_ik prod_j theta_kj^x_ij (Choi 2012, ch. 4). At its best psi the model at
temperature T is clustering with uniform weights at T - 1: schedules cool u = T - 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from isotherm.data.base import Array, Block, Expected, Summary
from isotherm.kernels.base import Kernels
from isotherm.kernels.reference import floored_log
from isotherm.models.base import Deviation, Mixture, jitter, unigram
from isotherm.models.cluster import (
    ClusterParams,
    ClusterRows,
    ClusterStats,
    cluster_deviation,
    project_params,
    pseudo_energy,
    start_params,
    word_distributions,
)


@dataclass(frozen=True)
class Document:
    """Document mixture with `n_components` topics.

    Parameters
    ----------
    n_components : int
    pseudo_count : float
        Counts spread over the columns like the corpus, added to every topic.
    stepwise : bool
        Update psi <- rho once per sweep as the thesis does, instead of solving for psi.
    """

    n_components: int
    pseudo_count: float = 0.0
    stepwise: bool = False

    @property
    def zero_temperature(self) -> float:
        """One: at T = 1 the model is a hard clustering."""
        return 1.0

    @property
    def rows_are_parameters(self) -> bool:
        """The psi are weights of single rows; they are not over-relaxed."""
        return False

    def hot(self) -> Document:
        """One topic with the pseudo-counts of all."""
        return replace(self, n_components=1, pseudo_count=self.pseudo_count * self.n_components)

    def init(self, summary: Summary, table: Array) -> ClusterParams:
        """Equal weights."""
        return start_params(summary, table)

    def start(self, params: ClusterParams, block: Block, k: Kernels) -> ClusterRows:
        """Uniform psi."""
        K = len(params.weight)
        return ClusterRows(np.full((block.n_rows, K), 1.0 / K, k.dtype))

    def expect(
        self, params: ClusterParams, rows: ClusterRows, block: Block, temperature: float, k: Kernels
    ) -> Expected:
        """Rho = softmax(logL / (T - 1)), or softmax((log psi + logL) / T) when stepwise."""
        if self.stepwise:
            scale, hard = temperature, False
            prior: Array = floored_log(rows.posterior) / scale
        else:
            hard = temperature <= self.zero_temperature
            scale = 1.0 if hard else temperature - self.zero_temperature
            prior = np.zeros(len(params.weight))
        logs = (floored_log(params.word_topic) / scale).astype(k.dtype)
        sums = k.row(block, logs, prior, hard=hard)
        posterior, mass = sums.posterior, sums.mass
        filled = block.row_totals > 0
        if not filled.all():
            # Nothing says which topic an empty document is of, and it says nothing of the topics.
            posterior[~filled] = 1.0 / len(params.weight)
            mass = (block.weight * filled) @ posterior.astype(np.float64)
        stats = ClusterStats(sums.columns, mass)
        return Expected(ClusterRows(posterior), stats, -scale * sums.log_z)

    def maximize(self, stats: ClusterStats, params: ClusterParams) -> tuple[ClusterParams, float]:
        """Theta from counts and pseudo-counts; `weight` is the mean psi of documents with words."""
        return word_distributions(stats, params, self.pseudo_count)

    def prior_energy(self, params: ClusterParams, summary: Summary) -> float:
        """Energy of the pseudo-counts."""
        return pseudo_energy(params.word_topic, unigram(summary), self.pseudo_count)

    def project(self, relaxed: ClusterParams, reached: ClusterParams) -> ClusterParams:
        """Floors and normalises theta."""
        return project_params(relaxed, reached)

    def perturb(
        self, params: ClusterParams, rng: np.random.Generator, noise: float
    ) -> ClusterParams:
        """Noise on theta."""
        return params._replace(word_topic=jitter(params.word_topic, rng, noise))

    def mixture(self, params: ClusterParams, rows: ClusterRows) -> Mixture:
        """P(y|x) = sum_k psi_xk theta_ky."""
        return Mixture(rows.posterior, params.word_topic)

    def components(self, params: ClusterParams) -> tuple[Array, Array]:
        """Mean psi and theta."""
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
        """Rows e = (x - n theta) / sqrt(theta), weighted by rho / n_k."""
        return cluster_deviation(params, rows, block, component, self.pseudo_count)

    def critical_temperature(self, singular: float) -> float:
        """T_c = 1 + lambda."""
        return 1.0 + singular**2
