"""Two-sided clustering: rows and columns both belong to latent clusters.

P(x, y) = p(x) p(y) phi(c(x), d(y)); Hofmann & Puzicha 1998, eqs. 19-32 and 53-56, annealed by
eq. 52. A sweep is E_x, M, E_y, M: the columns' half happens in `maximize`, on the sums over rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from isotherm.data.base import Array, Block, Summary
from isotherm.kernels.base import Kernels
from isotherm.kernels.reference import floored_log
from isotherm.models.base import DEAD, Mixture, Probes, Topics, distinct_components, inverse
from isotherm.models.cluster import log_weights
from isotherm.models.row_mixture import ClusterRows, ClusterStats
from isotherm.placement.base import Expected

# Up to this many column clusters the whole curvature is cheaper than a Lanczos solve.
DENSE = 256
# Lowest exponent that is told from others.
LEAST = -1e4


class TwoSidedParams(NamedTuple):
    """What the E-step of the rows reads.

    `weight` (K,) pi(c), the mean posterior of the rows; `column_weight` (L,) rho(d), that of the
    columns; `column_posterior` (J, L) Q(d|y); `association` (K, L) phi; `joint` (K, L) P(c,d), of
    tokens; `marginal` (J,) p(y); `total` (1,) tokens; `column_gain` (2,) sums over columns of
    Q log rho and of -Q log Q, for each unit of row weight.
    """

    weight: Array
    column_weight: Array
    column_posterior: Array
    association: Array
    joint: Array
    marginal: Array
    total: Array
    column_gain: Array


class Compressed(NamedTuple):
    """Curvatures C'diag(gain) C of some clusters over a block, C = A scale - shift x centre.

    `counts` (I, L) A = n Q_y, `gain` (I, C), `scale` and `centre` (L, C), `shift` (I,) n(x). The
    second term takes the direction out that would break the normalisation.
    """

    counts: Array
    gain: Array
    scale: Array
    shift: Array
    centre: Array

    def product(self, block: Block, vectors: Array, k: Kernels) -> Array:
        """Each vector (L, C) times the matrix of its cluster."""
        image = self.counts @ (self.scale * vectors)
        image -= np.outer(self.shift, (self.centre * vectors).sum(axis=0))
        image *= self.gain
        back = self.scale * (self.counts.T @ image)
        return np.asarray(back - self.centre * (self.shift @ image))


@dataclass(frozen=True)
class TwoSided(Topics):
    """Two-sided clustering into K clusters of rows and L clusters of columns.

    The uniform state is stable at every temperature, so there is nothing to cool from: begin at
    posteriors of both sides (`assigned`) and heat. At T = 0 posteriors are hard, and a sweep never
    lowers the mutual information of the two clusterings.

    Parameters
    ----------
    n_components : int
        Number of clusters of rows K.
    n_column_components : int, optional
        Number of clusters of columns L; K by default.
    temper_prior : bool
        Temper pi(c) and rho(d) with the likelihood; keeps clusters balanced.
    """

    n_components: int
    n_column_components: int | None = None
    temper_prior: bool = False

    @property
    def zero_temperature(self) -> float:
        """Zero: no offset."""
        return 0.0

    @property
    def rows_are_parameters(self) -> bool:
        """Posteriors are not parameters: they are not over-relaxed."""
        return False

    def hot(self) -> TwoSided:
        """One cluster on either side: P(x) P(y), which nothing splits at any temperature."""
        return replace(self, n_components=1, n_column_components=1)

    def init(self, summary: Summary, table: Array) -> TwoSidedParams:
        """Equal weights; columns go to the clusters as the distributions (J, K) share them out.

        Column cluster d takes what the row clusters c = d, d + L, ... hold of a column (or, where
        there are more of them than row clusters, it is a copy of d - K).
        """
        K, L = table.shape[1], self.n_column_components or table.shape[1]
        shares = np.stack([table[:, d % K :: L].sum(axis=1) for d in range(L)], axis=1)
        whole = shares.sum(axis=1, keepdims=True)
        posterior = np.divide(shares, whole, out=np.full_like(shares, 1.0 / L), where=whole > 0)
        sums = table * (summary.total / K)
        return self.assigned(sums, np.full(K, summary.row_weight / K), posterior)

    def assigned(
        self, sums: Array, mass: Array, column_posterior: Array, entropy: Array | None = None
    ) -> TwoSidedParams:
        """Parameters of given posteriors (the M-step, eqs. 27, 28 and 56).

        Parameters
        ----------
        sums : (J, K)
            Counts of each column in each cluster of rows, n' Q_x.
        mass : (K,)
            Rows in each cluster.
        column_posterior : (J, L)
            Q(d|y); that of an empty column is not read.
        entropy : (J,), optional
            -sum_d Q log Q, where it is known.
        """
        counts = sums.sum(axis=1, dtype=np.float64)
        total, filled, posterior = counts.sum(), counts > 0, column_posterior
        share = filled / filled.sum()
        rho = share @ posterior.astype(np.float64)
        if not filled.all():
            posterior = np.where(filled[:, None], posterior, rho).astype(posterior.dtype)
        joint = _product(sums.T, posterior) / total
        if entropy is None:
            entropy = -xlogy(posterior, posterior).sum(axis=1, dtype=np.float64)
        # An empty column has posterior rho: it adds nothing to either clustering.
        gain = filled.sum() * np.array([rho @ floored_log(rho), share @ entropy])
        return TwoSidedParams(
            np.asarray(mass / mass.sum(), np.float64),
            rho,
            posterior,
            association(joint),
            joint,
            counts / total,
            np.array([total]),
            gain / mass.sum(),
        )

    def start(self, params: TwoSidedParams, block: Block, k: Kernels) -> ClusterRows:
        """Q(c|x) = pi(c)."""
        return ClusterRows(np.tile(params.weight, (block.n_rows, 1)).astype(k.dtype))

    def expect(
        self,
        params: TwoSidedParams,
        rows: ClusterRows,
        block: Block,
        temperature: float,
        k: Kernels,
    ) -> Expected[ClusterRows, ClusterStats]:
        """Q(c|x) ~ pi(c) exp(b sum_d A(x,d) log phi(c,d)), A = n Q_y (eqs. 30, 55).

        The columns' part of the energy depends on the temperature, so every block adds a share of
        it, in proportion to the weight of its rows.
        """
        scale = temperature if temperature > 0 else 1.0
        prior = self._log_prior(params.weight, temperature)
        logs = self._row_logs(params, k) / k.dtype.type(scale)
        sums = k.row(block, logs, prior, hard=temperature == 0)
        power = 1.0 if self.temper_prior else temperature
        columns = float(params.column_gain @ [power, temperature]) * float(block.weight.sum())
        stats = ClusterStats(sums.columns, sums.mass)
        return Expected(ClusterRows(sums.posterior), stats, -scale * sums.log_z - columns)

    def maximize(
        self, stats: ClusterStats, params: TwoSidedParams, temperature: float, k: Kernels
    ) -> tuple[TwoSidedParams, float]:
        """Fresh phi, then the columns' posterior Q(d|y) ~ rho(d) exp(b B log phi), fresh again.

        B = n' Q_x are the statistics (eq. 31). Without the first fresh phi the normalisation
        of P(y|x) would drift.
        """
        scale = temperature if temperature > 0 else 1.0
        joint = _product(stats.word.T, params.column_posterior)
        prior = self._log_prior(params.column_weight, temperature)
        scores = _product(stats.word, floored_log(association(joint))) / scale + prior
        if temperature == 0:
            posterior = np.zeros(scores.shape, k.dtype)
            posterior[np.arange(len(scores)), scores.argmax(axis=1)] = 1.0
            return self.assigned(stats.word, stats.mass, posterior), 0.0
        # Below LEAST the exponential is zero; a dead cluster has no finite score.
        scores = np.maximum(scores - scores.max(axis=1, keepdims=True), LEAST).astype(k.dtype)
        posterior = np.exp(scores)
        z = posterior.sum(axis=1)
        posterior /= z[:, None]
        entropy = np.log(z) - np.einsum("jl,jl->j", posterior, scores)
        return self.assigned(stats.word, stats.mass, posterior, entropy), 0.0

    def prior_energy(self, params: TwoSidedParams, summary: Summary) -> float:
        """Zero: the blocks share what the columns contribute."""
        return 0.0

    def project(self, relaxed: TwoSidedParams, reached: TwoSidedParams) -> TwoSidedParams:
        """The EM point itself: phi must belong to the posteriors, so it is not extrapolated."""
        return reached

    def perturb(
        self, params: TwoSidedParams, rng: np.random.Generator, noise: float
    ) -> TwoSidedParams:
        """The parameters themselves: clusters that coincide stay so at any temperature."""
        return params

    def mixture(self, params: TwoSidedParams, rows: ClusterRows) -> Mixture:
        """P(y|x) = p(y) sum_cd Q(c|x) phi(c,d) Q(d|y), with the annealed posteriors."""
        return Mixture(rows.posterior, self.components(params)[1])

    def components(self, params: TwoSidedParams) -> tuple[Array, Array]:
        """Weights pi(c) and distributions P(y|c) = p(y) sum_d phi(c,d) Q(d|y), (J, K)."""
        table = _product(params.column_posterior, params.association.T)
        table *= params.marginal[:, None]
        return params.weight, table.astype(params.column_posterior.dtype, copy=False)

    def probes(self, params: TwoSidedParams) -> Probes:
        """Every distinct cluster of rows has one critical temperature while columns stay put."""
        weight, table = self.components(params)
        size = params.joint.shape[1]
        return Probes(distinct_components(weight, table), 1, size, size <= DENSE)

    def deviation(
        self,
        params: TwoSidedParams,
        rows: ClusterRows,
        block: Block,
        temperature: float,
        components: Array,
        k: Kernels,
    ) -> Compressed:
        """Curvatures of clusters of rows (C,), as in one-sided clustering of the counts n Q_y.

        sqrt(q) (A(x,d) - n(x) p_c(d)) / sqrt(n_c(d)), only where n_c(d) > 0.
        """
        inside = params.total[0] * params.joint[components].T
        share = inside / np.maximum(inside.sum(axis=0), np.finfo(np.float64).tiny)
        scale = inverse(np.sqrt(inside))
        gain = rows.posterior[:, components].astype(np.float64) * block.weight[:, None]
        counts = k.times(block, params.column_posterior)
        return Compressed(counts, gain, scale, block.row_totals, share * scale)

    def critical_temperature(self, singular: float) -> float:
        """T_c = s_max^2."""
        return singular**2

    def _row_logs(self, params: TwoSidedParams, k: Kernels) -> Array:
        """sum_d Q(d|y) log phi(c,d), (J, K) in the type of the tables."""
        logs = _product(params.column_posterior, floored_log(params.association).T)
        return logs.astype(k.dtype, copy=False)

    def _log_prior(self, weight: Array, temperature: float) -> Array:
        """Log prior of an E-step; at T = 0 only dead clusters are left out."""
        prior = log_weights(weight)
        if self.temper_prior:
            return prior / temperature if temperature > 0 else prior
        return prior if temperature > 0 else np.where(np.isfinite(prior), 0.0, prior)


def association(joint: Array) -> Array:
    """phi(c,d) = P(c,d) / (P(c) P(d)), (K, L) from any multiple of P(c,d); 1 for a dead cluster."""
    joint = joint / joint.sum()
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    chance = np.outer(rows, columns)
    alive = np.outer(rows > DEAD, columns > DEAD)
    return np.divide(joint, chance, out=np.ones_like(joint), where=alive)


def mutual_information(joint: Array) -> float:
    """I(c,d) = sum P(c,d) log phi(c,d) in nats, from any multiple of P(c,d) (K, L)."""
    share = joint / joint.sum()
    return float((share * floored_log(association(joint))).sum())


def _product(left: object, right: object) -> Array:
    """Matrix product in double precision."""
    return np.asarray(np.asarray(left, np.float64) @ np.asarray(right, np.float64))
