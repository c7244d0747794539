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
from isotherm.kernels.base import Kernels
from isotherm.models.base import Curvature, Model, Probes

log = logging.getLogger("isotherm")

# Products of a solve for many components. A component is done when its residual is this small
# relative to its value; this small, if it is known to split; or so small that it cannot split.
MOST_PRODUCTS, EXACT, CLEAR = 40, 0.02, 0.02
# Products before a component may be found stable: at first the residual knows too few directions.
FEWEST_PRODUCTS = 4


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

    A step costs one product with all curvatures, about a sweep: the gradient of every Rayleigh
    quotient, and its best combination with where the quotient stands and where it came from. With
    a threshold it is enough to know which of them split at that temperature.
    """
    size = model.probes(state.params).size
    values, vectors = np.zeros(len(components)), np.zeros((size, len(components)))
    left = np.arange(len(components))
    deviations = _deviations(model, data, state, temperature, components)
    basis = [_unit(np.repeat(_tilted(size)[:, None], len(components), axis=1))]
    image = [_product(data, deviations, basis[0])]
    for step in range(MOST_PRODUCTS):
        found = np.maximum((basis[0] * image[0]).sum(axis=0), 0.0)
        residual = image[0] - found * basis[0]
        error = np.linalg.norm(residual, axis=0)
        values[left], vectors[:, left] = found, basis[0]
        done = error <= EXACT * found
        done |= (error <= CLEAR * found) & (_temperatures(model, found) >= threshold)
        if step >= FEWEST_PRODUCTS:
            done |= _temperatures(model, found + error) < threshold
        if done.all():
            break
        going = ~done
        if 2 * going.sum() < len(left):
            left, residual = left[going], residual[:, going]
            basis = [vector[:, going] for vector in basis]
            image = [vector[:, going] for vector in image]
            deviations = _deviations(model, data, state, temperature, components[left])
        ahead = _against(residual, basis)
        basis = [basis[0], ahead, *basis[1:]]
        image = [image[0], _product(data, deviations, ahead), *image[1:]]
        basis, image = _best(basis, image)
    return Splits(components, _temperatures(model, values), vectors)


def _temperatures(model: Model, values: Array) -> Array:
    """Critical temperatures of eigenvalues (C,)."""
    return np.array([model.critical_temperature(float(value)) for value in np.sqrt(values)])


def _best(basis: list[Array], image: list[Array]) -> tuple[list[Array], list[Array]]:
    """The best combination of the basis for every component, and the way there."""
    n = len(basis)
    whole = np.empty((basis[0].shape[1], n, n))
    for a in range(n):
        for b in range(n):
            whole[:, a, b] = (basis[a] * image[b]).sum(axis=0)
    _, vectors = np.linalg.eigh((whole + whole.transpose(0, 2, 1)) / 2)
    share = vectors[:, :, -1].T

    def along(parts: list[Array], first: int) -> Array:
        return np.asarray(sum(share[a] * parts[a] for a in range(first, n)))

    size = np.sqrt(np.maximum((share[1:] ** 2).sum(axis=0), 1e-300))
    x, image_x = along(basis, 0), along(image, 0)
    way, image_way = along(basis, 1) / size, along(image, 1) / size
    # The way there, made orthogonal to where it led.
    overlap = (x * way).sum(axis=0)
    way, image_way = way - overlap * x, image_way - overlap * image_x
    length = np.maximum(np.linalg.norm(way, axis=0), 1e-150)
    return [x, way / length], [image_x, image_way / length]


def _against(vectors: Array, basis: list[Array]) -> Array:
    """Vectors (size, C) made orthogonal to those of an orthonormal basis, of length one."""
    # Twice: once leaves rounding errors of the size of what was taken out.
    for _ in range(2):
        for other in basis:
            vectors = vectors - (other * vectors).sum(axis=0) * other
        vectors = _unit(vectors)
    return vectors


def _unit(vectors: Array) -> Array:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=0), 1e-150))


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
    if not np.any(operator @ begin):
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
