"""What models of linked rows share: topics whose weights are tied to those of neighbours.

P(y|x) = sum_k theta_xk P(y|k), as in PLSA, but theta also answers to a graph over the rows. A model
says how theta moves once the expected counts are known, and what the graph adds to the energy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from isotherm.data.base import Array, Block, Summary
from isotherm.data.linked import LinkedBlock
from isotherm.errors import IsothermError
from isotherm.kernels.base import Kernels
from isotherm.models.base import (
    Deviation,
    Mixture,
    Topics,
    distributions,
    floored,
    held_back,
    jitter,
)
from isotherm.placement.base import Expected

# Weights that a new row begins with are not let below this: PLSA never leaves a zero.
LEAST_WEIGHT = 1e-6


class LinkedParams(NamedTuple):
    """`weight` (K,) P(k); `word_topic` (J, K) P(y|k); `rejected` (2,) steps in a row, and in all.

    A step is rejected where a model finds no rows that are better by all it goes by.
    """

    weight: Array
    word_topic: Array
    rejected: Array


class LinkedRows(NamedTuple):
    """`theta` (I, K) float64: P(k|x)."""

    theta: Array


class LinkedStats(NamedTuple):
    """`word` (J, K): expected counts; `rejected`: 1 where the rows stayed as they were."""

    word: Array
    rejected: Array


class Moved(NamedTuple):
    """Rows (N, K) that a model has moved, what the graph adds to the energy of the old ones."""

    theta: Array
    energy: float
    rejected: bool = False


class Expectation(NamedTuple):
    """`rows` (I, K) float64 and `word` (J, K): expected counts; `log_z`: sum of n log z."""

    rows: Array
    word: Array
    log_z: float


def expected_counts(
    theta: Array, table: Array, block: Block, temperature: float, k: Kernels
) -> Expectation:
    """E-step: Q(k|x,y) ~ [theta_xk P(y|k)]^b; each row's counts add up to its total."""
    flat = np.zeros(theta.shape[1])
    U, V = k.power(theta, 1.0 / temperature, flat), k.power(table, 1.0 / temperature, flat)
    sums = k.pair(block, U, V)
    rows = sums.rows.astype(np.float64)
    found, totals = rows.sum(axis=1), block.row_totals
    rows *= np.divide(totals, found, out=np.zeros_like(totals), where=found > 0)[:, None]
    return Expectation(rows, sums.columns, sums.log_z)


@dataclass(frozen=True)
class Linked(Topics):
    """Base of the models of linked rows; a model defines `moved` and `pulled`.

    Parameters
    ----------
    n_components : int
    """

    n_components: int

    @property
    def zero_temperature(self) -> float:
        """Zero: no offset."""
        return 0.0

    @property
    def rows_are_parameters(self) -> bool:
        """Rows move by a rule of the model's own; they are not over-relaxed."""
        return False

    def moved(
        self,
        params: LinkedParams,
        theta: Array,
        found: Expectation,
        block: LinkedBlock,
        temperature: float,
        k: Kernels,
    ) -> Moved:
        """Rows after the M-step of theta."""
        raise NotImplementedError

    def pulled(self, counts: Array, near: Array, degree: Array, last: Array, k: Kernels) -> Array:
        """Weights (I, K) of new rows, given the sums `near` over `degree` (I, 1) neighbours."""
        raise NotImplementedError

    def for_new_rows(self) -> NewRows:
        """Rows tied to the fixed weights of training rows."""
        return NewRows(self)

    def init(self, summary: Summary, table: Array) -> LinkedParams:
        """Equal P(k)."""
        K = table.shape[1]
        return LinkedParams(np.full(K, 1.0 / K), table, np.zeros(2))

    def start(self, params: LinkedParams, block: Block, k: Kernels) -> LinkedRows:
        """P(k|x) = 1/K."""
        K = self.n_components
        return LinkedRows(np.full((block.n_rows, K), 1.0 / K))

    def expect(
        self, params: LinkedParams, rows: LinkedRows, block: Block, temperature: float, k: Kernels
    ) -> Expected[LinkedRows, LinkedStats]:
        """Expected counts, then the step of theta; energy of the rows that came in."""
        if not isinstance(block, LinkedBlock) or block.anchors is not None:
            raise IsothermError(
                "the rows of a block have no links; models of linked rows need a LinkedBlock with "
                "all rows of the table (LinkedBlock.of)"
            )
        found = expected_counts(rows.theta, params.word_topic, block, temperature, k)
        step = self.moved(params, rows.theta, found, block, temperature, k)
        stats = LinkedStats(found.word, np.asarray(float(step.rejected)))
        return Expected(LinkedRows(step.theta), stats, step.energy - temperature * found.log_z)

    def maximize(
        self, stats: LinkedStats, params: LinkedParams, temperature: float, k: Kernels
    ) -> tuple[LinkedParams, float]:
        """P(y|k) = N_yk / N_k; an empty topic keeps its distribution."""
        mass = k.totals(stats.word)
        table = distributions(stats.word, mass, params.word_topic, k)
        row, total = params.rejected
        rejected = np.array([(row + 1) * stats.rejected, total + stats.rejected])
        return LinkedParams(mass / mass.sum(), table, rejected), 0.0

    def prior_energy(self, params: LinkedParams, summary: Summary) -> float:
        """Zero: what the graph adds is a sum over rows."""
        return 0.0

    def project(self, relaxed: LinkedParams, reached: LinkedParams) -> LinkedParams:
        """Floors and normalises P(k) and P(y|k)."""
        weight = held_back(relaxed.weight, reached.weight)
        return LinkedParams(
            weight, floored(relaxed.word_topic, reached.word_topic), reached.rejected
        )

    def perturb(self, params: LinkedParams, rng: np.random.Generator, noise: float) -> LinkedParams:
        """Noise on P(y|k) only."""
        return params._replace(word_topic=jitter(params.word_topic, rng, noise))

    def mixture(self, params: LinkedParams, rows: LinkedRows) -> Mixture:
        """P(y|x) = sum_k theta_xk P(y|k)."""
        return Mixture(rows.theta, params.word_topic)

    def components(self, params: LinkedParams) -> tuple[Array, Array]:
        """P(k) and P(y|k)."""
        return params.weight, params.word_topic

    def hot(self) -> Self:
        """Refused, as critical temperatures are."""
        raise IsothermError(NO_CRITICAL)

    def deviation(
        self,
        params: LinkedParams,
        rows: LinkedRows,
        block: Block,
        temperature: float,
        components: Array,
        k: Kernels,
    ) -> Deviation:
        """Refused: neighbours move critical temperatures, and no formula here says where to."""
        raise IsothermError(NO_CRITICAL)

    def critical_temperature(self, singular: float) -> float:
        """Refused likewise."""
        raise IsothermError(NO_CRITICAL)


NO_CRITICAL = (
    "critical temperatures are not known for linked rows; give the schedule its start temperature, "
    "e.g. Fixed(1.0), and leave record_critical off"
)


class NewRowsState(NamedTuple):
    """`theta` (I, K), `near` (I, K): sum of the neighbours' weights, `degree` (I, 1)."""

    theta: Array
    near: Array
    degree: Array


@dataclass(frozen=True)
class NewRows(Topics):
    """Rows outside the fit, each tied to the fixed weights of its neighbours in the fit."""

    model: Linked

    def start(self, params: LinkedParams, block: Block, k: Kernels) -> NewRowsState:
        """Mean of the neighbours; where there are none, the mean of all rows of the fit."""
        K = self.model.n_components
        near, degree = np.zeros((block.n_rows, K)), np.zeros((block.n_rows, 1))
        mean = params.weight
        if isinstance(block, LinkedBlock) and block.anchors is not None:
            near, degree = block.links.matrix @ block.anchors, block.links.row_totals[:, None]
            mean = block.anchors.mean(axis=0)
        alone = np.tile(mean, (block.n_rows, 1))
        theta = np.divide(near, degree, out=alone, where=degree > 0)
        # Rows with counts may need a topic that nobody near them has.
        lifted = np.maximum(theta, LEAST_WEIGHT)
        lifted /= lifted.sum(axis=1, keepdims=True)
        theta = np.where(block.row_totals[:, None] > 0, lifted, theta)
        return NewRowsState(theta, near, degree)

    def expect(
        self, params: LinkedParams, rows: NewRowsState, block: Block, temperature: float, k: Kernels
    ) -> Expected[NewRowsState, tuple[()]]:
        """Expected counts and new weights; rows without counts stay."""
        found = expected_counts(rows.theta, params.word_topic, block, temperature, k)
        theta = self.model.pulled(found.rows, rows.near, rows.degree, rows.theta, k)
        theta = np.where(block.row_totals[:, None] > 0, theta, rows.theta)
        return Expected(rows._replace(theta=theta), (), -temperature * found.log_z)


def plain_rows(counts: Array, last: Array) -> Array:
    """Rows of counts (I, K) divided by their sums; the last ones where there are none (PLSA)."""
    totals = counts.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(counts, totals, out=np.array(last), where=totals > 0))
