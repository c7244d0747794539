"""What a fitted map says of rows: their density, and places by the posterior over the sheet.

Nodes are for the fit alone. Where the sheet is stretched, neighboring nodes lie several standard
deviations of the noise apart, and a mean over nodes is one of them or lies between two. The sheet
y(z) = Phi(z) W can be evaluated anywhere: here the posterior is taken over a lattice so much finer
that its points cannot be told apart by the noise, and that goes on a little beyond the square, so
that rows past the rim of the sheet are not all put on one line.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from isotherm._types import RowStates
from isotherm.data.base import Array
from isotherm.data.vectors import VectorBlock
from isotherm.kernels.base import Kernels
from isotherm.models.grid import LatentGrid, basis_at, basis_slopes, finer, margin
from isotherm.models.gtm import Gtm, GtmParams
from isotherm.placement.base import Expected

# Most standard deviations of the noise between neighbors of the lattice: a sum of Gaussians so
# far apart has no ripples to speak of (one part in a hundred of their distance)...
APART = 2.0
# ... for this share of the rows, as the fit found them.
SHARE = 0.9
# Most points of the lattice, and most numbers of what they stand for, unless the nodes have more.
MOST_POINTS, MOST_NUMBERS = 1 << 16, 1 << 25
# Points whose basis functions, or rows whose slopes, are held at a time.
AT_ONCE, ROWS = 4096, 512
# Newton steps towards a mode, and the step that is too short to matter.
STEPS, SHORT = 50, 1e-7
# Damping of the first step, relative to the curvature; less and more after better and worse ones.
DAMPING, EASED, HARDENED = 1e-3, 0.2, 10.0
# How far from the mean, in standard deviations, exponents are sure to be numbers still.
FAR = {"float32": 1e12, "float64": 1e150}


class Density(NamedTuple):
    """Log density of rows, (I,)."""

    log_density: Array


class Posterior(NamedTuple):
    """Posterior of the nodes, (I, K)."""

    posterior: Array


class Sheet(NamedTuple):
    """`points` (P, L) of the latent space, and the `centres` (P, D) that they stand for."""

    points: Array
    centres: Array


class Placed(NamedTuple):
    """Mean of the posterior (I, L), and number of the likeliest point of the lattice (I,)."""

    mean: Array
    best: Array


def sheet(model: Gtm, params: GtmParams) -> Sheet:
    """The fitted sheet over a lattice as fine as its noise asks for."""
    points = finer(model.grid.shape, parts(model, params))
    return Sheet(points, centres_at(model.grid, params.weight, points))


def parts(model: Gtm, params: GtmParams) -> tuple[int, ...]:
    """Steps of the lattice between two nodes, along each axis."""
    shape = model.grid.shape
    centres = model.centres(params).reshape(*shape, -1)
    mass = params.mass if params.mass.ndim == 1 else params.mass.mean(axis=1)
    mass = mass.reshape(shape)
    found = []
    for axis in range(len(shape)):
        gap = np.linalg.norm(np.diff(centres, axis=axis), axis=-1).ravel()
        pairs = np.arange(shape[axis] - 1)
        rows = (mass.take(pairs, axis) + mass.take(pairs + 1, axis)).ravel()
        order = np.argsort(gap, kind="stable")
        below = np.cumsum(rows[order])
        typical = gap[order][np.searchsorted(below, SHARE * below[-1])]
        asked = np.ceil(typical / (APART * np.sqrt(float(params.noise))))
        found.append(int(np.clip(asked, 1, MOST_POINTS)))
    most = min(MOST_POINTS, MOST_NUMBERS // params.weight.shape[1])
    while max(found) > 1 and n_points(shape, found) > most:
        longest = int(np.argmax(found))
        found[longest] = max(1, int(0.9 * found[longest]))
    return tuple(found)


def n_points(shape: tuple[int, ...], parts: list[int]) -> int:
    """Upper limit of the points of a lattice."""
    sides = 2.0 + 2.0 * margin(shape)
    steps = [side * (n - 1) * part / 2.0 for side, n, part in zip(sides, shape, parts, strict=True)]
    return int(np.prod([step + 1.0 for step in steps]))


def centres_at(grid: LatentGrid, weight: Array, points: Array) -> Array:
    """What any points (P, L) of the latent space stand for, (P, D)."""
    spans = range(0, len(points), AT_ONCE)
    return np.concatenate([basis_at(grid, points[lo : lo + AT_ONCE]) @ weight for lo in spans])


def place(
    k: Kernels,
    block: VectorBlock,
    rows: RowStates,
    params: GtmParams,
    points: Array,
    centres: Array,
) -> Expected:
    """Places of the rows among the points of a lattice, at T = 1."""
    found, _ = k.node_posterior(block, centres, float(params.noise))
    sums = found.astype(np.float64) @ np.hstack([points, np.ones((len(points), 1))])
    return Expected(Placed(sums[:, :-1] / sums[:, -1:], found.argmax(axis=1)), (), 0.0)


def modes(model: Gtm, params: GtmParams, values: Array, begin: Array) -> Array:
    """Places (I, L) where the posterior has its mode, uphill from places (I, L).

    `values` (I, D) in the units of the model, NaN where missing; a row without any value has no
    mode and is put in the middle.
    """
    empty = np.asarray(np.isnan(values).all(axis=1))
    begin = begin * ~empty[:, None]
    spans = [slice(lo, lo + ROWS) for lo in range(0, len(values), ROWS)]
    return np.concatenate(
        [_uphill(model.grid, params.weight, values[span], begin[span]) for span in spans]
    )


def _uphill(grid: LatentGrid, weight: Array, values: Array, places: Array) -> Array:
    """Damped Gauss-Newton steps down |x - y(z)|^2, within the square and its margin."""
    places, damping = places.copy(), np.full(len(places), DAMPING)
    gap = _gap(grid, weight, values, places)
    left = np.arange(len(places))
    for _ in range(STEPS):
        rows = values[left]
        tried = _step(grid, weight, rows, places[left], gap[left], damping[left])
        new = _gap(grid, weight, rows, tried)
        better = (new**2).sum(axis=1) < (gap[left] ** 2).sum(axis=1)
        moved = np.abs(tried - places[left]).max(axis=1)
        places[left[better]], gap[left[better]] = tried[better], new[better]
        damping[left] *= np.where(better, EASED, HARDENED)
        left = left[moved > SHORT]
        if not len(left):
            break
    return places


def _step(
    grid: LatentGrid, weight: Array, values: Array, places: Array, gap: Array, damping: Array
) -> Array:
    """Where a step from places (I, L) leads; `gap` (I, D) is from the sheet to the rows."""
    n_rows, n_axes = places.shape
    limit = 1.0 + margin(grid.shape)
    slopes = basis_slopes(grid, places).transpose(0, 2, 1).reshape(n_rows * n_axes, -1) @ weight
    slopes = slopes.reshape(n_rows, n_axes, -1) * ~np.isnan(values)[:, None, :]
    uphill = (slopes @ gap[:, :, None])[:, :, 0]
    # An axis along which the way leads out of the limits is left alone.
    free = np.asarray(np.where(uphill > 0, places < limit, places > -limit))
    curvature = slopes @ slopes.transpose(0, 2, 1) * (free[:, :, None] & free[:, None])
    size = np.trace(curvature, axis1=1, axis2=2)
    ridge = damping * size + np.where(size > 0, 1e-12 * size, 1.0)
    curvature += (ridge[:, None] + ~free)[:, :, None] * np.eye(n_axes)
    step = np.linalg.solve(curvature, (uphill * free)[:, :, None])[:, :, 0]
    return np.asarray(np.clip(places + step, -limit, limit))


def _gap(grid: LatentGrid, weight: Array, values: Array, places: Array) -> Array:
    """From the sheet at places to the rows, 0 where a value is missing, (I, D)."""
    gap = values - basis_at(grid, places) @ weight
    return np.where(np.isnan(gap), 0.0, gap)


def posterior(
    k: Kernels, block: VectorBlock, rows: RowStates, model: Gtm, params: GtmParams
) -> Expected:
    """Posterior of the nodes at T = 1."""
    found, _ = k.node_posterior(block, model.centres(params), float(params.noise))
    return Expected(Posterior(found), (), 0.0)


def density(
    k: Kernels, block: VectorBlock, rows: RowStates, model: Gtm, params: GtmParams
) -> Expected:
    """Log density of the rows at T = 1."""
    s = float(params.noise)
    _, log_z = k.node_posterior(block, model.centres(params), s)
    present = block.present
    cells = block.n_columns if present is None else present.sum(axis=1, dtype=np.float64)
    constant = np.log(model.n_components) + 0.5 * cells * np.log(2.0 * np.pi * s)
    return Expected(Density(log_z - constant), (), 0.0)


def near(scaled: Array, dtype: DTypeLike) -> Array:
    """Rows (I, D) in a type of number; those far beyond any node are drawn nearer.

    Their posterior is that of their direction, and their exponents are still numbers.
    """
    return np.asarray((scaled / _draw(scaled, dtype)[:, None]).astype(dtype))


def cut_off(scaled: Array, dtype: DTypeLike) -> Array:
    """What the squared length of each row lost when it was drawn nearer, (I,)."""
    with np.errstate(over="ignore"):
        squares = np.nansum(scaled**2, axis=1)
    return np.asarray(squares * (1.0 - _draw(scaled, dtype) ** -2.0))


def _draw(scaled: Array, dtype: DTypeLike) -> Array:
    """Factor by which each row is too far away, (I,)."""
    size = np.max(np.abs(scaled), axis=1, initial=0.0, where=~np.isnan(scaled))
    return np.asarray(np.maximum(size / FAR[np.dtype(dtype).name], 1.0))
