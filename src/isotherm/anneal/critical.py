"""Critical temperatures: where a component loses its stability and splits.

The largest eigenvalues of a model's curvature, summed over all blocks, by a Lanczos solve on a
linear operator: only vectors as long as a mode leave a block. A model whose modes are short may
ask for the whole matrix instead.
"""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from isotherm.anneal.start import state_of
from isotherm.anneal.trace import State
from isotherm.data.base import Array, Data, Expected
from isotherm.kernels.base import Kernels
from isotherm.models.base import Curvature, Model, Probes

log = logging.getLogger("isotherm")


class _Vector(NamedTuple):
    vector: Array


class Split(NamedTuple):
    """Critical temperatures of a component, highest first, and the direction of the first."""

    temperatures: Array
    direction: Array

    @property
    def temperature(self) -> float:
        """The highest of them."""
        return float(self.temperatures[0])


def first_critical(model: Model, data: Data) -> float:
    """Temperature of the first transition: that of the one-component solution."""
    hot = model.hot()
    state = state_of(hot, data, hot.collapsed(data.summary, data.kernels.dtype))
    return component_split(hot, data, state, 1.0 + hot.zero_temperature, 0).temperature


def critical_temperatures(model: Model, data: Data, state: State, temperature: float) -> Array:
    """Critical temperatures of all that may split at a state."""
    found = [
        component_split(model, data, state, temperature, int(c)).temperatures
        for c in model.probes(state.params).components
    ]
    return np.concatenate(found)


def component_split(
    model: Model, data: Data, state: State, temperature: float, component: int
) -> Split:
    """Critical temperatures and direction of one component at a state."""
    deviations, _, _ = data.sweep(_deviate, state.rows, model, state.params, temperature, component)
    probes = model.probes(state.params)
    if probes.dense:
        whole = _product(data, deviations, np.eye(probes.size))
        values, vectors = np.linalg.eigh((whole + whole.T) / 2)
    else:
        values, vectors = _lanczos(data, deviations, probes)
    singular = np.sqrt(np.maximum(values[::-1][: probes.n_modes], 0.0))
    return Split(
        np.array([model.critical_temperature(float(value)) for value in singular]), vectors[:, -1]
    )


def _lanczos(data: Data, deviations: Any, probes: Probes) -> tuple[Array, Array]:
    """The largest eigenvalues, in ascending order, and their vectors."""
    size = probes.size
    operator = LinearOperator(
        (size, size), lambda v: _product(data, deviations, v.ravel()), dtype=np.float64
    )
    # A fixed start keeps the answer the same from run to run; tilted, so that it is not
    # orthogonal to the wanted vector by some symmetry of the data.
    begin = 1.0 + 0.5 * np.sin(np.arange(1, size + 1))
    nothing = np.zeros(1), begin[:, None]
    if not np.any(operator @ begin):
        return nothing
    values: Array
    vectors: Array
    try:
        values, vectors = eigsh(operator, k=probes.n_modes, which="LA", v0=begin, tol=probes.tol)
    except ArpackNoConvergence as stalled:
        log.warning("the eigen-solve for a critical temperature did not converge")
        if not len(stalled.eigenvalues):
            return nothing
        values, vectors = stalled.eigenvalues, stalled.eigenvectors
    order = np.argsort(values)
    return values[order], vectors[:, order]


def _deviate(
    k: Kernels, block: Any, rows: Any, model: Model, params: Any, temperature: float, c: int
) -> Expected:
    return Expected(model.deviation(params, rows, block, temperature, c, k), (), 0.0)


def _multiply(k: Kernels, block: Any, deviation: Curvature, vectors: Array) -> Expected:
    return Expected(deviation, _Vector(deviation.product(vectors)), 0.0)


def _product(data: Data, deviations: Any, vectors: Array) -> Array:
    _, total, _ = data.sweep(_multiply, deviations, vectors)
    return np.asarray(total.vector)
