"""The aspect model (PLSA): every count has its own latent aspect.

P(x, y) = sum_a P(a) P(x|a) P(y|a); Hofmann & Puzicha 1998, eqs. 1-11, annealed by eq. 40. The
asymmetric view P(a|x), P(y|a) is read off the same fit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from isotherm.data.base import Array, Block, Summary
from isotherm.kernels.base import Kernels
from isotherm.models.base import (
    DEAD,
    Deviation,
    Mixture,
    Topics,
    distributions,
    floored,
    held_back,
    inverse,
    jitter,
)
from isotherm.placement.base import Expected


class AspectParams(NamedTuple):
    """`weight` (K,) P(a); `row_mass` (K,) total of the rows; `word_topic` (J, K) P(y|a)."""

    weight: Array
    row_mass: Array
    word_topic: Array


class AspectRows(NamedTuple):
    """`table` (I, K): P(x|a) = table / row_mass. After a sweep, the expected counts N_xa."""

    table: Array


class AspectStats(NamedTuple):
    """`word` (J, K): expected counts N_ya."""

    word: Array


class AspectDeviation(Deviation):
    """Curvatures of aspects, whose rows are shared out by token."""

    def shares(self) -> Array:
        """P(x|a) per unit of the row's weight: gain x shift^2, as the formulas below have it."""
        return np.asarray(super().shares() * np.asarray(self.shift, np.float64) ** 2)

    def tokens(self) -> Array:
        """The same: what rows share is tokens."""
        return self.shares()

    def holds(self) -> Array:
        """Gain x shift, since rows are as long as their tokens are many over a factor of theirs."""
        return np.asarray(self.gain * self.shift)

    def members(self, block: Block) -> Array:
        """Share of the tokens of the row."""
        return self.shares() * inverse(block.row_totals)[:, None]


@dataclass(frozen=True)
class Aspect(Topics):
    """Aspect model with `n_components` aspects.

    Parameters
    ----------
    n_components : int
    temper_prior : bool
        Temper P(a) with the likelihood instead of leaving it alone (eq. 40 leaves it).
    """

    n_components: int
    temper_prior: bool = False

    @property
    def zero_temperature(self) -> float:
        """Zero: no offset."""
        return 0.0

    @property
    def rows_are_parameters(self) -> bool:
        """P(x|a) is a parameter."""
        return True

    def sized(self, n_components: int) -> Self:
        """Another number of aspects."""
        return replace(self, n_components=n_components)

    def hot(self) -> Self:
        """One aspect: the independence model P(x) P(y)."""
        return self.sized(1)

    def init(self, summary: Summary, table: Array) -> AspectParams:
        """Equal P(a)."""
        K = table.shape[1]
        return AspectParams(np.full(K, 1.0 / K), np.full(K, summary.total / K), table)

    def start(self, params: AspectParams, block: Block, k: Kernels) -> AspectRows:
        """P(a|x) = P(a)."""
        heavy = block.row_totals * block.weight
        return AspectRows(np.outer(heavy, params.weight).astype(k.dtype))

    def expect(
        self, params: AspectParams, rows: AspectRows, block: Block, temperature: float, k: Kernels
    ) -> Expected[AspectRows, AspectStats]:
        """Q(a|x,y) ~ P(a) [P(x|a) P(y|a)]^b (eq. 40); energy -T sum n log z."""
        U, V = self._tables(params, rows, temperature, k)
        sums = k.pair(block, U, V)
        return Expected(AspectRows(sums.rows), AspectStats(sums.columns), -temperature * sums.log_z)

    def maximize(
        self, stats: AspectStats, params: AspectParams, temperature: float, k: Kernels
    ) -> tuple[AspectParams, float]:
        """P(a) = N_a / N, P(y|a) = N_ya / N_a (eqs. 6-8); P(x|a) follows from row_mass."""
        mass = k.totals(stats.word)
        table = distributions(stats.word, mass, params.word_topic, k)
        return AspectParams(mass / mass.sum(), mass, table), 0.0

    def prior_energy(self, params: AspectParams, summary: Summary) -> float:
        """Zero: no prior."""
        return 0.0

    def project(self, relaxed: AspectParams, reached: AspectParams) -> AspectParams:
        """Floors and normalises P(a) and P(y|a); row_mass is set by the engine."""
        return AspectParams(
            held_back(relaxed.weight, reached.weight),
            reached.row_mass,
            floored(relaxed.word_topic, reached.word_topic),
        )

    def perturb(self, params: AspectParams, rng: np.random.Generator, noise: float) -> AspectParams:
        """Noise on P(y|a) only: P(x|a) stays normalised."""
        return params._replace(word_topic=jitter(params.word_topic, rng, noise))

    def mixture(self, params: AspectParams, rows: AspectRows) -> Mixture:
        """P(y|x) = sum_a P(a|x) P(y|a), P(a|x) = P(a) for an empty row (eq. 9)."""
        scale = params.weight / np.where(params.row_mass > 0, params.row_mass, 1.0)
        joint = rows.table.astype(np.float64) * scale
        total = joint.sum(axis=1, keepdims=True)
        weights = np.divide(
            joint, total, out=np.tile(params.weight, (len(joint), 1)), where=total > 0
        )
        return Mixture(weights, params.word_topic)

    def components(self, params: AspectParams) -> tuple[Array, Array]:
        """P(a) and P(y|a)."""
        return params.weight, params.word_topic

    def deviation(
        self,
        params: AspectParams,
        rows: AspectRows,
        block: Block,
        temperature: float,
        components: Array,
        k: Kernels,
    ) -> AspectDeviation:
        """R / sqrt(P(x|a) P(y|a)) - sqrt(P(x|a) P(y|a)), R = n Q(a|x,y) / (N P(a))."""
        U, V = self._tables(params, rows, temperature, k)
        z = k.dots(block, U, V)
        # A pair that no component explains (a row without weight) has no say.
        ratio = np.divide(block.values, z, out=np.zeros_like(z), where=z > np.finfo(z.dtype).tiny)
        rest = self._rest(params, rows, block, temperature, k)
        if rest is not None:
            both = np.maximum(z + rest, np.finfo(z.dtype).tiny)
            ratio *= 1.0 - block.again * inverse(block.values) * (rest / both)
        table = rows.table[:, components].astype(np.float64)
        p = params.word_topic[:, components].astype(np.float64)
        # With h = w U / (N_a sqrt(P(x|a))) the rows of the matrix are h (n V / (z sqrt(P(y|a))) -
        # N_xa / (w U) sqrt(P(y|a))); gain is h^2 without the weight w, which the product applies.
        U = U[:, components].astype(np.float64)
        share = block.weight[:, None] * U
        gain = U * share * inverse(table * params.row_mass[components])
        scale = V[:, components] * inverse(np.sqrt(p))
        parts = gain, scale, table * inverse(share), np.sqrt(p)
        return AspectDeviation(ratio, *(part.astype(k.dtype, copy=False) for part in parts))

    def _rest(
        self, params: AspectParams, rows: AspectRows, block: Block, temperature: float, k: Kernels
    ) -> Array | None:
        """What explains all but the first token of a count besides the aspects, (nnz,)."""
        return None

    def critical_temperature(self, singular: float) -> float:
        """T_c = 1 + s2."""
        return 1.0 + singular

    def _tables(
        self, params: AspectParams, rows: AspectRows, temperature: float, k: Kernels
    ) -> tuple[Array, Array]:
        """U = P(a) P(x|a)^b (I, K) and V = P(y|a)^b (J, K)."""
        beta = 1.0 / temperature
        alive = params.weight > DEAD
        log_weight = np.where(alive, np.log(np.where(alive, params.weight, 1.0)), -np.inf)
        log_mass = np.log(np.where(alive, params.row_mass, 1.0))
        prior_power = beta if self.temper_prior else 1.0
        U = k.power(rows.table, beta, prior_power * log_weight - beta * log_mass)
        V = k.power(params.word_topic, beta, np.zeros(len(alive)))
        return U, V
