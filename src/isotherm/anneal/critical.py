"""Critical temperatures: where a component loses its stability and splits.

The largest singular value of a model's deviation matrix, stacked over all blocks, by a Lanczos
solve on a linear operator: only vectors of length J leave a block, nothing dense of size J x J or
I x J is ever made.
"""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from isotherm.anneal.start import state_of
from isotherm.anneal.trace import State
from isotherm.data.base import Array, Block, Data, Expected
from isotherm.kernels.base import Kernels
from isotherm.models.base import Model, unigram

log = logging.getLogger("isotherm")


class _Vector(NamedTuple):
    vector: Array


class Split(NamedTuple):
    """Critical temperature of a component and its direction (J,): the right singular vector."""

    temperature: float
    direction: Array


def first_critical(model: Model, data: Data) -> float:
    """Temperature of the first transition: that of the one-component solution."""
    hot = model.hot()
    table = unigram(data.summary)[:, None].astype(data.kernels.dtype)
    state = state_of(hot, data, hot.init(data.summary, table))
    return component_split(hot, data, state, 1.0 + hot.zero_temperature, 0).temperature


def component_split(
    model: Model, data: Data, state: State, temperature: float, component: int
) -> Split:
    """Critical temperature and direction of one component at a state."""
    deviations, _, _ = data.sweep(_deviate, state.rows, model, state.params, temperature, component)
    n_columns = len(data.summary.column_totals)
    if n_columns < 3:
        gram = np.stack([_product(data, deviations, e) for e in np.eye(n_columns)])
        values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    else:
        operator = LinearOperator(
            (n_columns, n_columns),
            lambda v: _product(data, deviations, v.ravel()),
            dtype=np.float64,
        )
        # A fixed start keeps the answer the same from run to run; tilted, so that it is not
        # orthogonal to the wanted vector by some symmetry of the data.
        begin = 1.0 + 0.5 * np.sin(np.arange(1, n_columns + 1))
        if not np.any(operator @ begin):
            return Split(model.critical_temperature(0.0), begin)
        try:
            values, vectors = eigsh(operator, k=1, which="LA", v0=begin, tol=1e-10)
        except ArpackNoConvergence as stalled:
            log.warning("the eigen-solve for a critical temperature did not converge")
            values, vectors = stalled.eigenvalues, stalled.eigenvectors
            if not len(values):
                values, vectors = np.zeros(1), begin[:, None]
    singular = float(np.sqrt(max(values[-1], 0.0)))
    return Split(model.critical_temperature(singular), vectors[:, -1])


def _deviate(
    k: Kernels, block: Block, rows: Any, model: Model, params: Any, temperature: float, c: int
) -> Expected:
    return Expected(model.deviation(params, rows, block, temperature, c, k), (), 0.0)


def _multiply(k: Kernels, block: Block, deviation: Any, vector: Array) -> Expected:
    """B'B v for the B of this block."""
    image = deviation.matrix @ vector - deviation.left * (deviation.right @ vector)
    back = deviation.matrix.T @ image - deviation.right * (deviation.left @ image)
    return Expected(deviation, _Vector(back), 0.0)


def _product(data: Data, deviations: Any, vector: Array) -> Array:
    _, total, _ = data.sweep(_multiply, deviations, vector)
    return np.asarray(total.vector)
