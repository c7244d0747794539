"""Latent Dirichlet allocation with topics as point estimates: every row has its own mixture.

theta_x ~ Dir(lambda), topic of each word ~ theta_x, word ~ beta of that topic, by the variational
bound of Blei, Ng & Jordan 2003 (section 5). It is the other extreme of clustering-projection, where
all rows of a cluster share one theta, and what a row that opens a cluster of its own is scored by.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from isotherm.data.base import Array, Block, Summary
from isotherm.kernels.base import Kernels
from isotherm.kernels.reference import floored_log
from isotherm.models.base import DEAD, Deviation, Mixture, Topics, jitter, normalized
from isotherm.models.dirichlet import divergences, mean_logs
from isotherm.placement.base import Expected


class LdaParams(NamedTuple):
    """`lam` (K,): prior of the rows' mixtures; `word_topic` (J, K): beta; double precision."""

    lam: Array
    word_topic: Array


class LdaRows(NamedTuple):
    """`topic` (I, K): z, expected counts of the topics; q(theta_x) is Dir(lambda + z)."""

    topic: Array


class LdaStats(NamedTuple):
    """`word` (J, K): expected counts of columns in topics."""

    word: Array


@dataclass(frozen=True)
class Lda(Topics):
    """Latent Dirichlet allocation with `n_components` topics, at T = 1 only.

    Parameters
    ----------
    n_components : int
    smooth : float
        Added to every expected count of a column in a topic.
    lam : float
        Each parameter of the prior of theta.
    """

    n_components: int
    smooth: float = 0.0
    lam: float | tuple[float, ...] = 1.0

    @property
    def zero_temperature(self) -> float:
        """Zero: no offset."""
        return 0.0

    @property
    def rows_are_parameters(self) -> bool:
        """Distributions over rows are none: they are not over-relaxed."""
        return False

    def hot(self) -> Self:
        """Itself: it is not cooled."""
        return self

    def init(self, summary: Summary, table: Array) -> LdaParams:
        """The given topics (J, K)."""
        lam = np.broadcast_to(np.asarray(self.lam, np.float64), (self.n_components,))
        return LdaParams(lam.copy(), np.asarray(table, np.float64))

    def start(self, params: LdaParams, block: Block, k: Kernels) -> LdaRows:
        """Counts dealt like the prior."""
        return LdaRows(np.outer(block.row_totals, params.lam / params.lam.sum()).astype(k.dtype))

    def expect(
        self, params: LdaParams, rows: LdaRows, block: Block, temperature: float, k: Kernels
    ) -> Expected[LdaRows, LdaStats]:
        """Topics phi ~ beta exp(E log theta_x) and their sums; energy minus the bound."""
        U, top, own = self._shares(params, rows)
        sums = k.pair(block, U.astype(k.dtype), params.word_topic)
        weight = block.weight[:, None]
        z = np.divide(sums.rows, weight, out=np.zeros(U.shape), where=weight > 0)
        energy = -sums.log_z - float(block.weight @ (block.row_totals * top - own))
        return Expected(LdaRows(z.astype(k.dtype, copy=False)), LdaStats(sums.columns), energy)

    def maximize(
        self, stats: LdaStats, params: LdaParams, temperature: float, k: Kernels
    ) -> tuple[LdaParams, float]:
        """Topics beta ~ smooth + sum n phi; one without mass keeps its last distribution."""
        sums = np.asarray(stats.word, np.float64) + self.smooth
        alive = sums.sum(axis=0) > DEAD * sums.sum()
        reached = params._replace(word_topic=np.where(alive, normalized(sums), params.word_topic))
        return reached, self.prior_energy(reached, None)

    def prior_energy(self, params: LdaParams, summary: Summary | None) -> float:
        """-smooth sum log beta."""
        return -self.smooth * float(floored_log(params.word_topic).sum()) if self.smooth else 0.0

    def project(self, relaxed: LdaParams, reached: LdaParams) -> LdaParams:
        """The reached parameters: they are not extrapolated."""
        return reached

    def perturb(self, params: LdaParams, rng: np.random.Generator, noise: float) -> LdaParams:
        """Noise on the topics."""
        return params._replace(word_topic=jitter(params.word_topic, rng, noise))

    def bounds(self, params: LdaParams, rows: LdaRows, block: Block, k: Kernels) -> Array:
        """Bound of the log-likelihood of each row, (I,), its weight not counted."""
        U, top, own = self._shares(params, rows)
        p = k.dots(block, U, params.word_topic).astype(np.float64)
        terms = block.values * floored_log(p)
        found = np.bincount(block.row_of, weights=terms, minlength=block.n_rows)
        return np.asarray(found + block.row_totals * top - own)

    def mixture(self, params: LdaParams, rows: LdaRows) -> Mixture:
        """P(y|x) = sum_k E theta_xk P(y|k)."""
        gamma = rows.topic.astype(np.float64) + params.lam
        return Mixture(gamma / gamma.sum(axis=1, keepdims=True), params.word_topic)

    def components(self, params: LdaParams) -> tuple[Array, Array]:
        """Weights of the prior, and topics."""
        return params.lam / params.lam.sum(), params.word_topic

    def deviation(
        self,
        params: LdaParams,
        rows: LdaRows,
        block: Block,
        temperature: float,
        components: Array,
        k: Kernels,
    ) -> Deviation:
        """Nothing splits: there are no critical temperatures."""
        n = len(components)
        shapes = (block.n_rows, n), (block.n_columns, n), (block.n_rows, 1), (block.n_columns, n)
        return Deviation(block.values, *(np.zeros(shape, k.dtype) for shape in shapes))

    def critical_temperature(self, singular: float) -> float:
        """T_c = s."""
        return singular

    def _shares(self, params: LdaParams, rows: LdaRows) -> tuple[Array, Array, Array]:
        """Factors exp(E log theta) over the largest (I, K), log of that, KL from the prior (I,)."""
        gamma = rows.topic.astype(np.float64) + params.lam
        logs = mean_logs(gamma)
        top = logs.max(axis=1)
        return np.exp(logs - top[:, None]), top, divergences(gamma, params.lam)
