"""Critical temperatures: where a component loses its stability and splits.

The largest eigenvalues of a model's curvatures, summed over all blocks; only vectors as long as a
mode leave a block. A single curvature is solved by Lanczos (or whole, where modes are short), those
of many components together, one product for all of them at a time.
"""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from isotherm.anneal.start import state_of
from isotherm.anneal.trace import State
from isotherm.data.base import Array, Data, Expected
from isotherm.errors import IsothermError
from isotherm.kernels.base import Kernels
from isotherm.models.base import Curvature, Model, Probes, inverse

log = logging.getLogger("isotherm")

# Solves for many components: Lanczos steps between restarts, restarts, and the residual relative to
# the eigenvalue at which a component is done. Directions that are less exact make worse splits.
CYCLE, MOST_CYCLES, EXACT = 8, 5, 0.05


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


class Splits(NamedTuple):
    """Components (C,), the critical temperature of each (C,), and its direction (size, C)."""

    components: Array
    temperatures: Array
    directions: Array


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
    probes = model.probes(state.params)
    n_vectors = probes.size if probes.dense else 1
    deviations = _deviations(model, data, state, temperature, np.full(n_vectors, component))
    if probes.dense:
        whole = _product(data, deviations, np.eye(probes.size))
        values, vectors = np.linalg.eigh((whole + whole.T) / 2)
    else:
        values, vectors = _lanczos(data, deviations, probes)
    singular = np.sqrt(np.maximum(values[::-1][: probes.n_modes], 0.0))
    return Split(
        np.array([model.critical_temperature(float(value)) for value in singular]), vectors[:, -1]
    )


def component_splits(
    model: Model,
    data: Data,
    state: State,
    temperature: float,
    components: Array,
    threshold: float = float("nan"),
) -> Splits:
    """Highest critical temperature of some components (C,), all at once, to about a percent.

    Restarted Lanczos solves for all of them side by side: a step costs one product with all
    curvatures, about a sweep. With a threshold it is enough to know of the others that they do not
    split at that temperature.
    """
    deviations = _deviations(model, data, state, temperature, components)
    left, size = np.arange(len(components)), model.probes(state.params).size
    values, vectors = np.zeros(len(components)), np.zeros((size, len(components)))
    x = np.repeat(_tilted(size)[:, None], len(components), axis=1).astype(data.kernels.dtype)
    for _ in range(MOST_CYCLES):
        found, error, x = _cycle(data, deviations, x)
        values[left], vectors[:, left] = found, x
        stable = _temperatures(model, found + error) < threshold
        going = ~(stable | (error <= EXACT * found))
        if not going.any():
            break
        if 2 * going.sum() < len(left):
            left, x = left[going], x[:, going]
            deviations = _deviations(model, data, state, temperature, components[left])
    return Splits(components, _temperatures(model, values), vectors)


def _cycle(data: Data, deviations: Any, x: Array) -> tuple[Array, Array, Array]:
    """Largest eigenvalues (C,), their errors and vectors (size, C), after CYCLE Lanczos steps."""
    diagonal, beside = np.zeros((CYCLE, x.shape[1])), np.zeros((CYCLE, x.shape[1]))
    basis = [_unit(x, 0.0)[0]]
    for j in range(CYCLE):
        image = _product(data, deviations, basis[j]).astype(x.dtype)
        diagonal[j] = _dots(image, basis[j])
        image -= diagonal[j].astype(x.dtype) * basis[j]
        if j:
            image -= beside[j - 1].astype(x.dtype) * basis[j - 1]
        # A rest of rounding errors is no direction: the space is exhausted.
        ahead, beside[j] = _unit(image, 1e-5 * diagonal[: j + 1].max(axis=0))
        if j < CYCLE - 1:
            basis.append(ahead)
    whole = np.zeros((x.shape[1], CYCLE, CYCLE))
    steps = np.arange(CYCLE)
    whole[:, steps, steps] = diagonal.T
    whole[:, steps[1:], steps[:-1]] = whole[:, steps[:-1], steps[1:]] = beside[:-1].T
    found, parts = np.linalg.eigh(whole)
    share = parts[:, :, -1].T
    x = np.asarray(sum(share[j].astype(x.dtype) * basis[j] for j in range(CYCLE)))
    return np.maximum(found[:, -1], 0.0), beside[-1] * np.abs(share[-1]), x


def _temperatures(model: Model, values: Array) -> Array:
    """Critical temperatures of eigenvalues (C,)."""
    return np.array([model.critical_temperature(float(value)) for value in np.sqrt(values)])


def _dots(first: Array, second: Array) -> Array:
    """Dot product of each pair of columns, (C,) float64."""
    return np.asarray(np.einsum("jc,jc->c", first, second, dtype=np.float64))


def _unit(vectors: Array, least: Array | float) -> tuple[Array, Array]:
    """Columns of length one, and their lengths (C,); both 0 where the length is below `least`."""
    length = np.sqrt(_dots(vectors, vectors))
    length = np.where(length > least, length, 0.0)
    return vectors * inverse(length).astype(vectors.dtype), length


def _tilted(size: int) -> Array:
    """A start that is the same from run to run, and not orthogonal to anything by symmetry."""
    return 1.0 + 0.5 * np.sin(np.arange(1, size + 1))


def _lanczos(data: Data, deviations: Any, probes: Probes) -> tuple[Array, Array]:
    """The largest eigenvalues, in ascending order, and their vectors."""
    size, begin = probes.size, _tilted(probes.size)
    operator = LinearOperator(
        (size, size), lambda v: _product(data, deviations, v.reshape(-1, 1)), dtype=np.float64
    )
    nothing = np.zeros(1), begin[:, None]
    image = operator @ begin
    if not np.isfinite(image).all():
        raise IsothermError(
            "the curvature that critical temperatures come from is not finite; check the counts "
            "for extreme values, or use double precision"
        )
    if not np.any(image):
        return nothing
    # Products in single precision are no more exact than this.
    tol = max(probes.tol, 10.0 * float(np.finfo(data.kernels.dtype).eps))
    values: Array
    vectors: Array
    try:
        values, vectors = eigsh(operator, k=probes.n_modes, which="LA", v0=begin, tol=tol)
    except ArpackNoConvergence as stalled:
        log.warning("the eigen-solve for a critical temperature did not converge")
        if not len(stalled.eigenvalues):
            return nothing
        values, vectors = stalled.eigenvalues, stalled.eigenvectors
    order = np.argsort(values)
    return values[order], vectors[:, order]


def _deviations(
    model: Model, data: Data, state: State, temperature: float, components: Array
) -> Any:
    found, _, _ = data.sweep(_deviate, state.rows, model, state.params, temperature, components)
    return found


def _deviate(
    k: Kernels, block: Any, rows: Any, model: Model, params: Any, temperature: float, which: Array
) -> Expected:
    return Expected(model.deviation(params, rows, block, temperature, which, k), (), 0.0)


def _multiply(k: Kernels, block: Any, deviation: Curvature, vectors: Array) -> Expected:
    return Expected(deviation, _Vector(deviation.product(block, vectors, k)), 0.0)


def _product(data: Data, deviations: Any, vectors: Array) -> Array:
    _, total, _ = data.sweep(_multiply, deviations, vectors)
    return np.asarray(total.vector)
