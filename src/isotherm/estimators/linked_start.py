"""Where models of linked rows begin: at random, because the path decides what they end in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isotherm.anneal.trace import State
from isotherm.data.base import Block, Data, Expected
from isotherm.kernels.base import Kernels
from isotherm.models.base import CountModel, normalized
from isotherm.models.linked import LinkedRows


@dataclass(frozen=True)
class RandomRows:
    """P(k|x) and P(y|k) from uniform random numbers, normalised.

    A start at a fit of PLSA would leave rows of one label far apart, and the likelihood would keep
    them there.
    """

    def state(self, model: CountModel, data: Data, rng: np.random.Generator) -> State:
        """State before the first sweep."""
        K, n_columns = model.n_components, len(data.summary.column_totals)
        table = normalized(rng.random((n_columns, K)) + np.finfo(np.float32).tiny)
        params = model.init(data.summary, table.astype(data.kernels.dtype))
        rows, _, _ = data.sweep(_drawn, data.no_rows, K, int(rng.integers(2**31)))
        return State(params, rows, model.prior_energy(params, data.summary))


def _drawn(k: Kernels, block: Block, rows: object, K: int, seed: int) -> Expected:
    """Uniform random numbers, normalised; equal weights for rows without counts."""
    table = np.random.default_rng(seed).random((block.n_rows, K)) + np.finfo(np.float32).tiny
    table[block.row_totals == 0] = 1.0
    return Expected(LinkedRows(table / table.sum(axis=1, keepdims=True)), (), 0.0)
