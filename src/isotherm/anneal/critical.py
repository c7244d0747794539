"""Critical temperatures: where a component loses its stability and splits.

The largest eigenvalues of a model's curvatures, summed over all blocks; only vectors as long as a
mode leave a block. A single curvature is solved by Lanczos (or whole, where modes are short), those
of many components together, one product for all of them at a time.

A row that shares hardly a column with the others is nearly a block of its own in the counts, and so
has a critical temperature near the highest that there is, however small it is. Where more than half
of a mode lies on rows in which it is so dense that they cannot be more than a given share of the
component, those rows are set aside, and the mode of the others is looked for.

A row may be long. A mode that only such rows are in, each of which would split off by itself, is
not a topic however many tokens they have: they are set aside as well, where they are few. Growing
does not mind such rows: split off, they are a component among others, and the next mode is next.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from isotherm import _nested
from isotherm._types import Params, RowsT
from isotherm.anneal.start import state_of
from isotherm.anneal.trace import State
from isotherm.data.base import Array, Block
from isotherm.errors import IsothermError
from isotherm.kernels.base import Kernels
from isotherm.models.base import Curvature, Deviation, Model, Probes, inverse
from isotherm.placement.base import Data, Expected, RowsHandle

log = logging.getLogger("isotherm")

# Solves for many components: Lanczos steps between restarts, restarts, and the residual relative to
# the eigenvalue at which a component is done. Directions that are less exact make worse splits.
CYCLE, MOST_CYCLES, EXACT = 8, 5, 0.05
# A mode on less than this share of a component is not what is called its transition.
LEAST = 0.01
# Rows that would split off by themselves are at most this share of those of a component.
FEW = 0.05
# Share of a mode on such rows above which they are set aside, how often that may happen, and modes
# of a single curvature that are looked at together, each time twice as many.
HALF, MOST_ROUNDS, MOST_MODES = 0.5, 12, 16


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
    return component_split(hot, data, state, 1.0 + hot.zero_temperature, 0, LEAST).temperature


def critical_temperatures(model: Model, data: Data, state: State, temperature: float) -> Array:
    """Critical temperatures of all that may split at a state."""
    found = [
        component_split(model, data, state, temperature, int(c), LEAST).temperatures
        for c in model.probes(state.params).components
    ]
    return np.concatenate(found)


def component_split(
    model: Model,
    data: Data,
    state: State,
    temperature: float,
    component: int,
    least: float = 0.0,
) -> Split:
    """Critical temperatures and direction of one component at a state.

    Modes of rows that are less than the share `least` of the component are passed over.
    """
    probes = model.probes(state.params)
    n_vectors = probes.size if probes.dense else 1
    deviations = _deviations(model, data, state, temperature, np.full(n_vectors, component))
    if probes.dense:
        whole = _product(data, deviations, np.eye(probes.size))
        values, vectors = np.linalg.eigh((whole + whole.T) / 2)
    else:
        values, vectors = _lanczos(data, deviations, probes)
        values, vectors = _of_many_rows(data, deviations, probes, values, vectors, least)
    singular = np.sqrt(np.maximum(values[::-1][: probes.n_modes], 0.0))
    return Split(
        np.array([model.critical_temperature(float(value)) for value in singular]), vectors[:, -1]
    )


def _of_many_rows(
    data: Data, deviations: RowsHandle, probes: Probes, values: Array, vectors: Array, least: float
) -> tuple[Array, Array]:
    """Eigenvalues and vectors once the rows are set aside that too small a mode lies on."""
    if not least or probes.n_modes > 1:
        return values, vectors
    first, n_modes = (values, vectors), 1
    for _ in range(MOST_ROUNDS):
        deviations, small = _without_small(data, deviations, vectors, np.full(1, least), FEW)
        if not small[-1]:
            return values, vectors
        n_modes = min(2 * n_modes, MOST_MODES, probes.size - 1)
        values, vectors = _lanczos(data, deviations, probes._replace(n_modes=n_modes))
        if not values[-1] > 0:
            break  # then nothing but small modes was there
    return first


def component_splits(
    model: Model,
    data: Data,
    state: State,
    temperature: float,
    components: Array,
    threshold: float = float("nan"),
    least: Array | None = None,
) -> Splits:
    """Highest critical temperature of some components (C,), all at once, to about a percent.

    Restarted Lanczos solves for all of them side by side: a step costs one product with all
    curvatures, about a sweep. With a threshold it is enough to know of the others that they do not
    split at that temperature. Modes of rows that are less than the share `least` (C,) of the
    component are passed over.
    """
    deviations = _deviations(model, data, state, temperature, components)
    least = np.zeros(len(components)) if least is None else least
    left, size = np.arange(len(components)), model.probes(state.params).size
    values, vectors = np.zeros(len(components)), np.zeros((size, len(components)))
    x = np.repeat(_tilted(size)[:, None], len(components), axis=1).astype(data.kernels.dtype)
    cycles = np.zeros(len(components), int)
    for _ in range(MOST_CYCLES * MOST_ROUNDS):
        found, error, x = _cycle(data, deviations, x)
        stable = _temperatures(model, found + error) < threshold
        cycles[left] += 1
        small = np.zeros(len(left), bool)
        if least.any() and not stable.all():
            deviations, small = _without_small(
                data, deviations, x, np.where(stable, 0.0, least[left])
            )
            cycles[left[small]] = 0
            # A mode that is gone says nothing of the others: look anew.
            x[:, small] = _tilted(size)[:, None]
        values[left], vectors[:, left] = np.where(small, 0.0, found), x
        done = stable | (error <= EXACT * found) | (cycles[left] == MOST_CYCLES)
        going = small | ~done
        if not going.any():
            break
        if 2 * going.sum() < len(left):
            left, x = left[going], x[:, going]
            deviations, _, _ = data.sweep(_take, deviations, np.flatnonzero(going))
    return Splits(components, _temperatures(model, values), vectors)


def _cycle(data: Data, deviations: RowsHandle, x: Array) -> tuple[Array, Array, Array]:
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


def _lanczos(data: Data, deviations: RowsHandle, probes: Probes) -> tuple[Array, Array]:
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


class _Sums(NamedTuple):
    """Over all rows: parts of the mode, shares in the component, parts by place, rows, tokens."""

    parts: Array
    shares: Array
    place: Array
    members: Array
    tokens: Array


class _Sides(NamedTuple):
    """Parts on dense rows, rows far out, and those of them that would split off by themselves."""

    dense: Array
    far: Array
    alone: Array
    tokens: Array


class _Centers(NamedTuple):
    rows: Array
    tokens: Array


class _Bounds(NamedTuple):
    """What the rows that are set aside are known by: sums over all, and shares (C,) and of rows."""

    sums: _Sums
    least: Array
    few: float


def _without_small(
    data: Data, deviations: RowsHandle, vectors: Array, least: Array, few: float = 0.0
) -> tuple[RowsHandle, Array]:
    """Curvatures without the rows that too small a mode lies on, and whether each mode is such.

    Where a mode is so dense on rows that they are at most the share `least` (C,) of a component,
    and more than half of it lies there, that is what it is about. So it is where rows that are far
    out in it would each split off by themselves and are at most the share `few` of all rows.
    """
    _, sums, _ = data.sweep(_measure, deviations, vectors)
    bounds = _Bounds(sums, np.broadcast_to(least, sums.parts.shape), few)
    _, sides, _ = data.sweep(_compare, deviations, vectors, bounds)
    dense = sides.dense > HALF * sums.parts
    alone = (sides.alone > HALF * sides.far) & (sides.alone <= few * sums.members)
    heavy = sides.tokens > LEAST * sums.tokens
    alone &= (sides.alone > 0) & (heavy | ~dense)
    # A few yes and no, wherever the sums are.
    dense, alone, heavy = _nested.on_host((dense, alone, heavy))
    # Below a mode that is none of few rows, long rows of a topic may seem to be alone.
    alone &= np.logical_and.accumulate((dense | alone)[::-1])[::-1]
    small = dense | alone
    if small.any():
        deviations, _, _ = data.sweep(_leave_out, deviations, vectors, bounds, dense, alone)
    if (alone & heavy).any():
        # Without so many tokens the others are not in the middle any more.
        _, centers, _ = data.sweep(_sum_up, deviations)
        deviations, _, _ = data.sweep(_center, deviations, centers, alone & heavy)
    return deviations, small


class _Rows(NamedTuple):
    """Of a block, all (I, C): parts of a mode, members of the component, and which stand out."""

    parts: Array
    members: Array
    dense: Array
    far: Array
    alone: Array


def _measure(k: Kernels, block: Block, deviation: RowsT, vectors: Array) -> Expected[RowsT, _Sums]:
    """Sums over all rows."""
    if not isinstance(deviation, Deviation):
        # What splits is no set of rows.
        return Expected(deviation, _Sums(*np.zeros((5, vectors.shape[1]))), 0.0)
    image, heavy = deviation.image(block, vectors, k), block.weight[:, None]
    parts = deviation.parts(image)
    parts_at = parts * deviation.places(image)
    found = np.broadcast_arrays(
        parts, deviation.shares(), parts_at, deviation.members(block), deviation.tokens()
    )
    return Expected(deviation, _Sums(*((heavy * one).sum(axis=0) for one in found)), 0.0)


def _compare(
    k: Kernels, block: Block, deviation: RowsT, vectors: Array, bounds: _Bounds
) -> Expected[RowsT, _Sides]:
    """Sums over the rows that stand out."""
    if not isinstance(deviation, Deviation):
        return Expected(deviation, _Sides(*np.zeros((4, vectors.shape[1]))), 0.0)
    rows = _rows(k, block, deviation, vectors, bounds)
    heavy = block.weight[:, None]
    members, tokens = heavy * rows.members, heavy * deviation.tokens()
    found = (
        *(heavy * rows.parts * rows.dense, members * rows.far),
        *(members * rows.alone, tokens * rows.alone),
    )
    return Expected(deviation, _Sides(*(one.sum(axis=0) for one in found)), 0.0)


def _rows(k: Kernels, block: Block, deviation: Deviation, vectors: Array, bounds: _Bounds) -> _Rows:
    """Rows that stand out in a mode.

    Dense are those whose part of it is out of all proportion to their share in the component:
    together they have no more than the share `least`. Far are those that are at least half as far
    out as its parts in the mean, on the same side. Alone are those of them that make more than
    half of the eigenvalue by themselves.
    """
    sums, least, share = bounds
    image = deviation.image(block, vectors, k)
    parts, places = deviation.parts(image), deviation.places(image)
    members = np.broadcast_to(deviation.members(block), parts.shape)
    most = sums.shares * least
    dense = (parts * most > sums.parts * deviation.shares()) & (most > 0)
    far = 2.0 * places * np.sign(sums.place) * sums.parts > np.abs(sums.place)
    few = (block.weight[:, None] * members * far).sum(axis=0) <= 2.0 * share * sums.members
    near = far & few & (least > 0) & (share > 0)
    alone = near & (deviation.own(block, near) > HALF * sums.parts)
    return _Rows(parts, members, np.asarray(dense), np.asarray(far), np.asarray(alone))


def _leave_out(
    k: Kernels,
    block: Block,
    deviation: Deviation,
    vectors: Array,
    bounds: _Bounds,
    dense: Array,
    alone: Array,
) -> Expected[Deviation, tuple[()]]:
    """Without the rows that are dense in some modes (C,) and those that are alone in others."""
    found = _rows(k, block, deviation, vectors, bounds)
    rows = (found.dense & dense) | (found.alone & alone)
    if rows.shape[1] > deviation.gain.shape[1]:
        rows = np.asarray(rows.any(axis=1, keepdims=True))
    return Expected(deviation.without(rows), (), 0.0)


def _sum_up(k: Kernels, block: Block, deviation: Deviation) -> Expected[Deviation, _Centers]:
    return Expected(deviation, _Centers(*deviation.sums(block, k)), 0.0)


def _center(
    k: Kernels, block: object, deviation: Deviation, centers: _Centers, which: Array
) -> Expected[Deviation, tuple[()]]:
    """With the means of the rows that are left in the middle of some components (C,)."""
    means = (centers.rows * inverse(centers.tokens)).astype(deviation.centre.dtype)
    moved = which if len(which) == means.shape[1] else which.any()
    centre = np.where(moved, means, deviation.centre)
    return Expected(deviation._replace(centre=np.asarray(centre)), (), 0.0)


def _take(
    k: Kernels, block: object, deviation: Deviation, index: Array
) -> Expected[Deviation, tuple[()]]:
    return Expected(deviation.taken(index), (), 0.0)


def _deviations(
    model: Model, data: Data, state: State, temperature: float, components: Array
) -> RowsHandle:
    found, _, _ = data.sweep(_deviate, state.rows, model, state.params, temperature, components)
    return found


def _deviate(
    k: Kernels,
    block: object,
    rows: object,
    model: Model,
    params: Params,
    temperature: float,
    which: Array,
) -> Expected[Curvature, tuple[()]]:
    return Expected(model.deviation(params, rows, block, temperature, which, k), (), 0.0)


def _multiply(
    k: Kernels, block: object, deviation: Curvature, vectors: Array
) -> Expected[Curvature, _Vector]:
    return Expected(deviation, _Vector(deviation.product(block, vectors, k)), 0.0)


def _product(data: Data, deviations: RowsHandle, vectors: Array) -> Array:
    _, total, _ = data.sweep(_multiply, deviations, vectors)
    return np.asarray(total.vector)
