"""Generative topographic mapping: vectors scattered around a smooth sheet over a latent grid.

p(x) = (1/K) sum_k Normal(x; y_k, s I), Y = Phi W: the centres y_k (K, D) are tied together by
radial basis functions Phi (K, M) of the nodes of a grid (Bishop, Svensen & Williams 1998; annealed
in Choi 2012, ch. 3). Values that are missing are left out: the likelihood is that of the others.

Only T s enters the E-step: above the first critical temperature all centres lie at the mean.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy.linalg import lstsq
from scipy.linalg.lapack import dposv

from isotherm.data.base import Array
from isotherm.data.vectors import VectorBlock, VectorSummary
from isotherm.errors import IsothermWarning
from isotherm.kernels.base import Kernels
from isotherm.models.base import Probes
from isotherm.models.grid import LatentGrid, design
from isotherm.models.gtm_curvature import SheetCurvature, probes_of, root_of
from isotherm.placement.base import Expected

# The noise variance is not let below this share of the variance of the data.
LEAST_NOISE = 1e-10
# Centres closer than this many standard deviations of the noise are one.
RESOLVED = 0.1
# A sheet whose spread is below this share of sqrt(s0) has not opened.
FLAT = 1e-2


class GtmParams(NamedTuple):
    """`weight` (M, D); `noise` (): s; `mass` (K,) or (K, D): points at nodes; `scale` (): s0."""

    weight: Array
    noise: Array
    mass: Array
    scale: Array


class GtmStats(NamedTuple):
    """`mass` (K,) or (K, D); `moment` (K, D); `square` (): sum of |x|^2; `cells` (D,)."""

    mass: Array
    moment: Array
    square: Array
    cells: Array


class NoRows(NamedTuple):
    """A point leaves nothing behind for the next E-step."""


@dataclass(frozen=True)
class Gtm:
    """Map with its grid, its basis and its prior.

    Parameters
    ----------
    grid : LatentGrid
        Nodes and basis functions.
    alpha : float
        Precision of the Gaussian prior of the weights, in units of 1/x^2; the bias has none.
    noise : float, optional
        Hold the noise variance s at this value instead of estimating it.
    n_modes : int
        Critical temperatures to look at: modes that have condensed stay near T, and the next one
        lies below them.
    """

    grid: LatentGrid
    alpha: float = 0.0
    noise: float | None = None
    n_modes: int = 12

    @property
    def n_components(self) -> int:
        """Number of nodes K."""
        return self.grid.n_nodes

    @property
    def zero_temperature(self) -> float:
        """Zero: no offset (though maps are not cooled below T = 1)."""
        return 0.0

    @property
    def rows_are_parameters(self) -> bool:
        """Points have no parameters."""
        return False

    @property
    def monotone(self) -> bool:
        """EM: the free energy never rises."""
        return True

    def hot(self) -> Gtm:
        """The map itself, with one mode: its collapsed state is the one-component solution."""
        return replace(self, n_modes=1)

    def collapsed(self, summary: VectorSummary, dtype: DTypeLike) -> GtmParams:
        """Every centre at the mean, s = s0."""
        return self.with_weight(np.zeros((self.grid.n_basis, len(summary.mean))), summary)

    def with_weight(self, weight: Array, summary: VectorSummary) -> GtmParams:
        """Parameters with centres at the mean plus Phi times the given weights (M, D)."""
        weight = weight.copy()
        weight[-1] += summary.mean
        noise = summary.noise if self.noise is None else self.noise
        share = summary.cells / self.n_components
        mass = np.tile(share, (self.n_components, 1))
        mass = mass if summary.gaps else mass[:, 0]
        return GtmParams(weight, np.asarray(noise), mass, np.asarray(summary.noise))

    def start(self, params: GtmParams, block: VectorBlock, k: Kernels) -> NoRows:
        """Nothing."""
        return NoRows()

    def centres(self, params: GtmParams) -> Array:
        """Y = Phi W, (K, D)."""
        return np.asarray(design(self.grid) @ params.weight)

    def expect(
        self, params: GtmParams, rows: NoRows, block: VectorBlock, temperature: float, k: Kernels
    ) -> Expected[NoRows, GtmStats]:
        """R_ki ~ exp(-|x_i - y_k|^2 / (2 s T)); energy F of the block."""
        s = float(params.noise)
        sums = k.nodes(block, self.centres(params), s * temperature)
        stats = GtmStats(sums.mass, sums.moment, np.asarray(block.square), block.cells)
        return Expected(rows, stats, self._energy(block, s, temperature, sums.log_z))

    def maximize(
        self, stats: GtmStats, params: GtmParams, temperature: float, k: Kernels
    ) -> tuple[GtmParams, float]:
        """(Phi'G Phi + alpha s P) W = Phi'R X, then s from the new centres."""
        weight = self._solved(stats, params)
        noise = float(params.noise)
        if self.noise is None:
            noise = self._noise(stats, weight, float(params.scale))
        reached = GtmParams(weight, np.asarray(noise), stats.mass, params.scale)
        return reached, self._prior(weight)

    def prior_energy(self, params: GtmParams, summary: VectorSummary) -> float:
        """alpha/2 |W|^2 without the bias."""
        return self._prior(params.weight)

    def project(self, relaxed: GtmParams, reached: GtmParams) -> GtmParams:
        """Noise that an over-relaxed step leaves above half of what EM says."""
        noise = np.maximum(relaxed.noise, 0.5 * reached.noise)
        return GtmParams(relaxed.weight, noise, reached.mass, reached.scale)

    def perturb(self, params: GtmParams, rng: np.random.Generator, noise: float) -> GtmParams:
        """A small sheet where the map is flat still; nothing where it has opened.

        EM may stop in the collapsed state though it is no longer stable (supercooling).
        """
        if self.spread(params) > FLAT * np.sqrt(float(params.scale)):
            return params
        sheet = self.sheet(params.weight.shape[1], noise * np.sqrt(float(params.scale)), rng)
        return params._replace(weight=params.weight + sheet)

    def sheet(self, n_columns: int, size: float, rng: np.random.Generator) -> Array:
        """Weights (M, D) of a flat sheet of that size in random directions."""
        nodes = self.grid.nodes
        sides = nodes / nodes.std(axis=0)
        return self.fitted(size * sides @ rng.standard_normal((nodes.shape[1], n_columns)))

    def fitted(self, centres: Array) -> Array:
        """Weights (M, D) whose centres come nearest to the given ones (K, D)."""
        return np.asarray(lstsq(design(self.grid), centres)[0])

    def spread(self, params: GtmParams) -> float:
        """Root mean square distance of the centres from their mean, per column."""
        return float(self.centres(params).std(axis=0).max())

    def log_likelihood(
        self, params: GtmParams, rows: NoRows, block: VectorBlock, k: Kernels
    ) -> float:
        """-F at T = 1."""
        s = float(params.noise)
        return -self._energy(block, s, 1.0, k.nodes(block, self.centres(params), s).log_z)

    def sizes(self, params: GtmParams) -> tuple[int, int]:
        """Number of nodes, and of centres that the noise lets one tell apart."""
        return self.n_components, n_apart(
            self.centres(params), RESOLVED * float(np.sqrt(params.noise))
        )

    def probes(self, params: GtmParams) -> Probes:
        """One curvature for the whole sheet, several modes of it."""
        return probes_of(params.weight.size, self.n_modes)

    def deviation(
        self,
        params: GtmParams,
        rows: NoRows,
        block: VectorBlock,
        temperature: float,
        components: Array,
        k: Kernels,
    ) -> SheetCurvature:
        """A of the generalised problem A v = tau s B v, turned into an ordinary one."""
        phi, s = design(self.grid), float(params.noise)
        roots = root_of(self._normal(phi, params.mass, s), s)
        return SheetCurvature(phi, self.centres(params), s * temperature, roots)

    def critical_temperature(self, singular: float) -> float:
        """The eigenvalue tau itself: a mode grows below it."""
        return singular**2

    def _energy(self, block: VectorBlock, s: float, temperature: float, log_z: float) -> float:
        """Share of a block in F; `log_z` sums log sum_k exp(-|x - y_k|^2 / (2 s T))."""
        half = 0.5 * float(block.cells.sum()) * np.log(2.0 * np.pi * s)
        prior = float(block.weight.sum()) * np.log(self.n_components)
        return float(prior + half - temperature * log_z)

    def _prior(self, weight: Array) -> float:
        return 0.5 * self.alpha * float((weight[:-1] ** 2).sum())

    def _normal(self, phi: Array, mass: Array, s: float) -> Array:
        """B = Phi'G Phi + alpha s P, (M, M), or one for each column, (D, M, M)."""
        penalty = self.alpha * s * np.diag(np.append(np.ones(phi.shape[1] - 1), 0.0))
        if mass.ndim == 1:
            return np.asarray(phi.T @ (mass[:, None] * phi) + penalty)
        return np.asarray(np.einsum("km,kd,kn->dmn", phi, mass, phi, optimize=True) + penalty)

    def _solved(self, stats: GtmStats, params: GtmParams) -> Array:
        phi = design(self.grid)
        normal = self._normal(phi, stats.mass, float(params.noise))
        right = phi.T @ stats.moment
        if normal.ndim == 2:
            return _solve(normal, right)
        columns = [_solve(one, right[:, d]) for d, one in enumerate(normal)]
        return np.stack(columns, axis=1)

    def _noise(self, stats: GtmStats, weight: Array, scale: float) -> float:
        centres = design(self.grid) @ weight
        mass = stats.mass[:, None] if stats.mass.ndim == 1 else stats.mass
        around = float(stats.square) + float(
            (mass * centres**2).sum() - 2.0 * (centres * stats.moment).sum()
        )
        noise, least = around / float(stats.cells.sum()), LEAST_NOISE * scale
        if noise < least:
            message = (
                "the noise variance of the map fell to zero: there are at least as many nodes as "
                "distinct points, or a few points lie far from all others: use a smaller grid, or "
                "look at such points"
            )
            warnings.warn(message, IsothermWarning, stacklevel=2)
        return max(noise, least)


def n_apart(centres: Array, distance: float) -> int:
    """Number of centres (K, D) of which no two are closer than `distance`, taken in order."""
    left = np.ones(len(centres), bool)
    squares = (centres**2).sum(axis=1)
    found = 0
    while left.any():
        first = int(np.argmax(left))
        gap = squares[first] + squares - 2.0 * centres @ centres[first]
        left &= gap > distance**2
        left[first] = False
        found += 1
    return found


def _solve(normal: Array, right: Array) -> Array:
    """Solution of the normal equations: Cholesky, with a ridge where that fails."""
    for ridge in (0.0, 1e-12 * np.trace(normal) / len(normal)):
        _, solution, failed = dposv(normal + ridge * np.eye(len(normal)), right)
        if not failed:
            return np.asarray(solution)
    return np.asarray(lstsq(normal, right)[0])
