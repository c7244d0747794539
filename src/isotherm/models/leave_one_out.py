"""Leave-one-out ("predictive") E-steps: what a posterior says of a token may not come from it.

Hofmann & Puzicha 1998, eqs. 42-47: the counts that a posterior is computed from lose the token (of
the aspect model) or the row (of one-sided clustering) that it is for, as the last posterior had
placed it. This counters overfitting at low temperatures. There is no objective that such sweeps
lower: the energy reported is the free energy of the plain model at the parameters of the sweep,
which may rise, and at low temperatures rows of clusters may go to and fro for ever.

Rows that have no last posterior yet, at the start, have zeros in its place: nothing is taken out
of the counts, and the first E-step is the plain one (without what a row or a column of a single
token says of itself).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from isotherm._types import Params, RowStates
from isotherm.data.base import Array, Block, Summary
from isotherm.errors import IsothermError
from isotherm.kernels.base import Kernels
from isotherm.models.aspect import Aspect, AspectStats
from isotherm.models.base import unigram
from isotherm.models.cluster import Cluster
from isotherm.models.row_mixture import ClusterRows, ClusterStats
from isotherm.placement.base import Expected


class CountedAspects(NamedTuple):
    """Parameters of the aspect model and what they were made from: `columns` (J, K), N_ya."""

    weight: Array
    row_mass: Array
    word_topic: Array
    columns: Array


class PairRows(NamedTuple):
    """`table` (I, K) as in `AspectRows`; `posterior` (nnz, K): last Q(a|x,y), zeros at first."""

    table: Array
    posterior: Array


class CountedClusters(NamedTuple):
    """Parameters of clusters and what they were made from.

    `columns` (J, K): counts in each cluster without pseudo-counts; `mass` (K,): rows in it;
    `pseudo` (J,): the pseudo-counts.
    """

    weight: Array
    tokens: Array
    word_topic: Array
    columns: Array
    mass: Array
    pseudo: Array


@dataclass(frozen=True)
class AspectLeaveOneOut(Aspect):
    """Aspect model with a leave-one-out E-step; settings are those of `Aspect`.

    Holds a posterior for every non-zero and component.
    """

    @property
    def monotone(self) -> bool:
        """The energy may rise."""
        return False

    def sized(self, n_components: int) -> Self:
        """Refused: halves of a component have no last posterior."""
        raise _no_growing(self.n_components, n_components)

    def hot(self) -> Any:
        """One plain aspect: there is nothing to tell apart."""
        return Aspect(1, self.temper_prior)

    def for_new_rows(self) -> Aspect:
        """The plain model: no token of a new row is in the counts."""
        return Aspect(self.n_components, self.temper_prior)

    def init(self, summary: Summary, table: Array) -> Params:
        """Equal P(a), and the counts that the given distributions (J, K) stand for."""
        params = super().init(summary, table)
        return CountedAspects(*params, np.asarray(table, np.float64) * params.row_mass)

    def start(self, params: Params, block: Block, k: Kernels) -> RowStates:
        """P(a|x) = P(a), and nothing to leave out."""
        nothing = np.zeros((block.nnz, len(params.weight)), k.dtype)
        return PairRows(super().start(params, block, k).table.astype(np.float64), nothing)

    def expect(  # type: ignore[override]  # rows hold the last posterior, too
        self, params: Params, rows: RowStates, block: Block, temperature: float, k: Kernels
    ) -> Expected[PairRows, AspectStats]:
        """Q(a) ~ (N_a - q) [(N_xa - q) (N_ya - q) / (N_a - q)^2]^b, q the last Q (eqs. 42-45)."""
        sums = k.pair_loo(
            block, rows.table, params.columns, rows.posterior, 1.0 / temperature, self.temper_prior
        )
        energy = super().expect(params, rows, block, temperature, k).energy
        return Expected(PairRows(sums.rows, sums.posterior), AspectStats(sums.columns), energy)

    def maximize(
        self, stats: AspectStats, params: Params, temperature: float, k: Kernels
    ) -> tuple[Params, float]:
        """As `Aspect`, and keeps the counts."""
        reached, energy = super().maximize(stats, params, temperature, k)
        return CountedAspects(*reached, np.asarray(stats.word, np.float64)), energy

    def project(self, relaxed: Params, reached: Params) -> Params:
        """As `Aspect`, with the counts of the EM point moved along."""
        valid = super().project(relaxed, reached)
        return CountedAspects(*valid, _moved(reached, valid.word_topic))

    def perturb(self, params: Params, rng: np.random.Generator, noise: float) -> Params:
        """Noise on P(y|a) and the same noise on the counts."""
        noisy: Params = super().perturb(params, rng, noise)
        return noisy._replace(columns=_moved(params, noisy.word_topic))


@dataclass(frozen=True)
class ClusterLeaveOneOut(Cluster):
    """One-sided clustering with a leave-one-out E-step; settings are those of `Cluster`.

    Columns that a single row has do not speak for that row. Without pseudo-counts a cluster that
    owes a column to this row alone forbids the row: give some (one is enough). There is no hard
    limit, and weights cannot be fixed.
    """

    def __post_init__(self) -> None:
        """Refuse fixed weights: the rows that a cluster has are what is counted."""
        if self.fixed_weights:
            raise IsothermError(
                "fixed_weights=True with a leave-one-out E-step, which takes a row out of the "
                "weights; use fixed_weights=False or the plain Cluster",
                parameter="fixed_weights",
            )

    @property
    def monotone(self) -> bool:
        """The energy may rise."""
        return False

    def sized(self, n_components: int) -> Self:
        """Refused: halves of a component have no last posterior."""
        raise _no_growing(self.n_components, n_components)

    def hot(self) -> Any:
        """One plain cluster with the pseudo-counts of all."""
        return self.for_new_rows().hot()

    def for_new_rows(self) -> Cluster:
        """The plain model: new rows are in no counts."""
        return Cluster(self.n_components, self.pseudo_count, self.temper_prior)

    def init(self, summary: Summary, table: Array) -> Params:
        """Equal weights, and the counts that the given distributions (J, K) stand for."""
        params = super().init(summary, table)
        columns = np.asarray(table, np.float64) * params.tokens
        mass = params.weight * summary.row_weight
        return CountedClusters(*params, columns, mass, self.pseudo_count * unigram(summary))

    def start(self, params: Params, block: Block, k: Kernels) -> ClusterRows:
        """Nothing to leave out."""
        return ClusterRows(np.zeros((block.n_rows, len(params.weight)), k.dtype))

    def expect(
        self,
        params: Params,
        rows: ClusterRows,
        block: Block,
        temperature: float,
        k: Kernels,
    ) -> Expected[ClusterRows, ClusterStats]:
        """Q(c|x) as in `Cluster` from the counts of all other rows (eqs. 46, 47)."""
        sums = k.row_loo(
            block,
            params.columns,
            params.mass,
            rows.posterior,
            params.pseudo,
            1.0 / temperature,
            self.temper_prior,
        )
        energy = super().expect(params, rows, block, temperature, k).energy
        stats = ClusterStats(sums.columns, sums.rows.sum(axis=0, dtype=np.float64))
        return Expected(ClusterRows(sums.posterior), stats, energy)

    def maximize(
        self, stats: ClusterStats, params: Params, temperature: float, k: Kernels
    ) -> tuple[Params, float]:
        """As `Cluster`, and keeps the counts."""
        reached, energy = super().maximize(stats, params, temperature, k)
        columns = np.asarray(stats.word, np.float64)
        totals = columns.sum(axis=1)
        pseudo = self.pseudo_count * totals / totals.sum()
        return CountedClusters(*reached, columns, stats.mass, pseudo), energy

    def project(self, relaxed: Params, reached: Params) -> Params:
        """As `Cluster`, with the counts of the EM point moved along."""
        valid = super().project(relaxed, reached)
        columns = _moved(reached, valid.word_topic)
        return CountedClusters(*valid, columns, reached.mass, reached.pseudo)

    def perturb(self, params: Params, rng: np.random.Generator, noise: float) -> Params:
        """Noise on P(y|c) and the same noise on the counts."""
        noisy: Params = super().perturb(params, rng, noise)
        return noisy._replace(columns=_moved(params, noisy.word_topic))


def _no_growing(before: int, after: int) -> IsothermError:
    return IsothermError(
        f"{after} components instead of {before} with a leave-one-out E-step, which needs a last "
        "posterior of each; let the plain model grow, or keep the number"
    )


def _moved(params: Params, table: Array) -> Array:
    """Counts (J, K) of parameters, changed as their distributions are to become `table` (J, K)."""
    old, new = params.word_topic.astype(np.float64), table.astype(np.float64)
    moved: Array = params.columns * np.divide(new, old, out=np.zeros_like(old), where=old > 0)
    return moved
