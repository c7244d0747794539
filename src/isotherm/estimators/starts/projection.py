"""How clustering-projection begins: topics of the aspect model, clusters of an annealed fit.

Where it begins decides where it ends: with long rows posteriors are 0 or 1 after one sweep. So the
clusters are those of one-sided clustering, cooled from its first critical temperature to where
clusters are apart but not yet hard; there the model itself takes over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from isotherm._types import RowStates
from isotherm.anneal.critical import first_critical
from isotherm.anneal.engine import NO_RELAXATION, Annealer, Relaxation
from isotherm.anneal.fold import fold_in
from isotherm.anneal.schedule import Exponential, Fixed
from isotherm.anneal.start import Spectral, Start, state_of
from isotherm.anneal.trace import Fit, State, completed
from isotherm.data.base import Array, Block
from isotherm.data.counts import as_counts
from isotherm.errors import IsothermError
from isotherm.estimators.projection_runs import better
from isotherm.kernels.base import Kernels
from isotherm.models.aspect import Aspect, AspectParams
from isotherm.models.cluster import Cluster
from isotherm.models.pcp import FactorizedPcp, FactorizedRows, Pcp
from isotherm.models.projection import Projection
from isotherm.placement.base import Data, Expected
from isotherm.placement.local import Local

# The model takes over from one-sided clusters at this multiple of the first critical temperature.
HANDOVER = 0.05
# Relative noise on the clusters' topics.
NOISE = 0.01


class _Single(NamedTuple):
    weight: Array
    topic: Array


class _Sums(NamedTuple):
    word: Array
    mass: Array


@dataclass(frozen=True, eq=False)
class ClustersAndTopics:
    """Topics from sweeps of the aspect model; clusters of one-sided clustering as mixtures of them.

    Parameters
    ----------
    first, last : float
        One-sided clustering begins and ends at these multiples of its first critical temperature
        (but ends at T = 1 at the latest).
    rate : float in (0, 1)
        It is cooled by this factor.
    pseudo_share : float
        Pseudo-counts of its clusters, as a share of the counts that one has on average.
    sweeps : int
        Sweeps of the aspect model.
    topics : (K, J) array, optional
        Begin with these instead.
    tol : float
        As in `Annealer`.
    """

    first: float = 0.9
    last: float = HANDOVER
    rate: float = 0.8
    pseudo_share: float = 0.05
    sweeps: int = 40
    topics: Array | None = None
    tol: float = 1e-4

    def state(self, model: Any, data: Data, rng: np.random.Generator) -> State:
        """State before the first sweep."""
        aspects = given_aspects(model, data, self.topics)
        if aspects is None:
            aspects = smoothed(model, aspect_fit(model, data, rng, self.sweeps))
        counts, mass = self._clusters(model, data, rng)
        # Each cluster as if it were a row: how much of every topic it has.
        places = Local.place(as_counts(counts.T, allow_empty=True), data.kernels)
        shares = places.gather(fold_in(Aspect(model.n_components), aspects, places, 1.0)).table
        # Clusters that still coincide would stay so: a symmetric start is a fixed point.
        noise = NOISE if model.n_clusters > 1 else 0.0
        shares = shares * np.exp(noise * rng.standard_normal(shares.shape))
        params = model.given(shares, mass, aspects.word_topic)
        return state_of(model, data, params)

    def _clusters(
        self, model: Projection, data: Data, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """Counts of each column in each cluster, (J, M), and weights of the clusters, (M,)."""
        M, summary = model.n_clusters, data.summary
        if M == 1:
            return summary.column_totals[:, None], np.array([summary.row_weight])
        plain = Cluster(M, self.pseudo_share * summary.total / M, temper_prior=True)
        critical = first_critical(plain, data)
        end = max(1.0, self.last * critical)
        annealer = Annealer(
            Exponential(self.rate, start=max(end, self.first * critical), end=end),
            Relaxation(cap=3.0),
            start=Spectral(),
            tol=self.tol,
        )
        fit = completed(annealer.run(plain, data, rng))
        _, sums, _ = data.sweep(_cluster_sums, fit.state.rows)
        return np.asarray(sums.word, np.float64), sums.mass


@dataclass(frozen=True)
class StructuredFit:
    """The factorized family begins where the structured one, which has the better bound, ends.

    Parameters
    ----------
    start : Start
        Where the structured one begins.
    rate : float in (0, 1)
        It is cooled by this factor from where one-sided clustering hands over.
    tol, max_sweeps
        As in `Annealer`.
    """

    start: Start
    rate: float = 0.8
    tol: float = 1e-4
    max_sweeps: int = 100

    def state(self, model: FactorizedPcp, data: Data, rng: np.random.Generator) -> State:
        """State before the first sweep."""
        structured: Pcp = model.structured()
        annealer = Annealer(
            Exponential(self.rate, margin=HANDOVER),
            NO_RELAXATION,
            start=self.start,
            tol=self.tol,
            max_sweeps=self.max_sweeps,
        )
        fit = completed(better(annealer, structured, data, rng))
        return state_of(model, data, fit.state.params)


@dataclass(frozen=True, eq=False)
class OwnClusters:
    """Every row is a cluster of its own, with the topics that the aspect model finds in it.

    Parameters
    ----------
    sweeps : int
        Sweeps of the aspect model.
    topics : (K, J) array, optional
        Begin with these instead.
    """

    sweeps: int = 40
    topics: Array | None = None

    def state(self, model: FactorizedPcp, data: Data, rng: np.random.Generator) -> State:
        """State before the first sweep."""
        if not isinstance(data, Local):
            raise IsothermError(
                'n_clusters="documents" with counts on a disk or on workers; every row is a '
                "cluster then, which takes rows x rows numbers: give a number of clusters",
                parameter="n_clusters",
            )
        aspects = given_aspects(model, data, self.topics)
        if aspects is None:
            fit = aspect_fit(model, data, rng, self.sweeps)
            aspects, rows = smoothed(model, fit), fit.state.rows
        else:
            rows = fold_in(Aspect(model.n_components), aspects, data, 1.0)
        own, _, _ = data.sweep(_single_rows, rows)
        weight, z = (np.concatenate(field) for field in zip(*own, strict=True))
        params = model.given(weight[:, None] * z, weight, aspects.word_topic)
        first, posteriors = 0, []
        for one in own:
            eye = np.eye(len(one.weight), len(weight), first, dtype=data.kernels.dtype)
            posteriors.append(FactorizedRows(eye, one.topic.astype(eye.dtype)))
            first += len(one.weight)
        return State(params, tuple(posteriors), model.prior_energy(params, data.summary))


def aspect_fit(model: Projection, data: Data, rng: np.random.Generator, sweeps: int) -> Fit:
    """Some sweeps of the aspect model with as many topics."""
    annealer = Annealer(Fixed(1.0), start=Spectral(), max_sweeps=sweeps)
    return completed(annealer.run(Aspect(model.n_components), data, rng))


def smoothed(model: Projection, fit: Fit) -> AspectParams:
    """Aspects with the smoothing of the model."""
    params: AspectParams = fit.state.params
    counts = params.word_topic.astype(np.float64) * params.row_mass + model.smooth
    return params._replace(word_topic=counts / counts.sum(axis=0))


def given_aspects(model: Projection, data: Data, topics: Array | None) -> AspectParams | None:
    """Aspects with the given topics (K, J), or None."""
    if topics is None:
        return None
    return Aspect(model.n_components).init(data.summary, np.asarray(topics, np.float64).T)


def _cluster_sums(k: Kernels, block: Block, rows: RowStates) -> Expected:
    mass = block.weight @ rows.posterior.astype(np.float64)
    return Expected(rows, _Sums(k.transposed_times(block, rows.posterior), mass), 0.0)


def _single_rows(k: Kernels, block: Block, rows: RowStates) -> Expected:
    """Weight of each row, and expected counts of topics of one copy of it."""
    table, weight = np.asarray(rows.table, np.float64), block.weight[:, None]
    z = np.divide(table, weight, out=np.zeros_like(table), where=weight > 0)
    return Expected(_Single(block.weight, z), (), 0.0)
