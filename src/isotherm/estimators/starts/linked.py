"""Where models of linked rows begin: near an annealed aspect model, or at random.

The path decides what these models end in. Rows that begin at a fit of PLSA stay far apart although
they are linked, because the likelihood keeps them there; rows that begin at random end elsewhere
with every seed. So rows begin most of the way back to equal weights, with topics that are annealed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from isotherm.anneal.trace import State
from isotherm.data.base import Array, Block
from isotherm.estimators.counts import CountEstimator
from isotherm.kernels.base import Kernels
from isotherm.models.base import CountModel, normalized
from isotherm.models.linked import LinkedRows
from isotherm.placement.base import Data, Expected

# Zeros would stay zeros.
TINY = np.finfo(np.float32).tiny


@dataclass(frozen=True)
class RandomRows:
    """P(k|x) and P(y|k) from uniform random numbers, normalised: the start of the papers."""

    def state(self, model: CountModel, data: Data, rng: np.random.Generator) -> State:
        """State before the first sweep."""
        K, n_columns = model.n_components, len(data.summary.column_totals)
        table = normalized(rng.random((n_columns, K)) + TINY)
        params = model.init(data.summary, table.astype(data.kernels.dtype))
        rows, _, _ = data.sweep(_drawn, data.no_rows, K, int(rng.integers(2**31)))
        return State(params, rows, model.prior_energy(params, data.summary))


@dataclass(frozen=True, eq=False)
class NearTopics:
    """Topics that are given, and rows between their weights and equal ones.

    Parameters
    ----------
    topics : (K, J)
        P(y|k).
    weights : (I, K)
        P(k|x) of all rows.
    evenness : float in [0, 1]
        Share of equal weights in every row. Links can move rows that are nearly alike, and the
        rest tells them apart in the same way for every seed.
    """

    topics: Array
    weights: Array
    evenness: float = 0.8

    @classmethod
    def of(cls, model: CountEstimator) -> Self:
        """The start that a fitted model of the same rows leads to."""
        return cls(model.components_, model.row_weights_)

    def state(self, model: CountModel, data: Data, rng: np.random.Generator) -> State:
        """State before the first sweep."""
        table = normalized(np.asarray(self.topics, np.float64).T + TINY)
        params = model.init(data.summary, table.astype(data.kernels.dtype))
        rows, _, _ = data.sweep(_even, data.no_rows, self.weights, self.evenness)
        return State(params, rows, model.prior_energy(params, data.summary))


def _drawn(k: Kernels, block: Block, rows: object, K: int, seed: int) -> Expected:
    """Uniform random numbers, normalised; equal weights for rows without counts."""
    table = np.random.default_rng(seed).random((block.n_rows, K)) + TINY
    table[block.row_totals == 0] = 1.0
    return Expected(LinkedRows(table / table.sum(axis=1, keepdims=True)), (), 0.0)


def _even(k: Kernels, block: Block, rows: object, weights: Array, evenness: float) -> Expected:
    """Weights nearer to equal ones; linked rows are all in one block."""
    table = np.asarray(weights, np.float64) + TINY
    table[block.row_totals == 0] = 1.0
    table /= table.sum(axis=1, keepdims=True)
    return Expected(LinkedRows((1.0 - evenness) * table + evenness / table.shape[1]), (), 0.0)
