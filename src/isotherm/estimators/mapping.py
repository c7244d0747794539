"""What a fitted map says of rows: tasks that run on one block each."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from isotherm.anneal.trace import Fit, Record
from isotherm.data.base import Array, Expected
from isotherm.data.vectors import VectorBlock, vector_blocks
from isotherm.errors import IsothermError
from isotherm.estimators import checks
from isotherm.kernels.base import Kernels
from isotherm.models.gtm import Gtm, GtmParams


class Projected(NamedTuple):
    """Places of rows by the mean and by the mode of the posterior (I, L); log density (I,)."""

    mean: Array
    mode: Array
    log_density: Array


class Posterior(NamedTuple):
    """Posterior of the nodes, (I, K)."""

    posterior: Array


def posterior(k: Kernels, block: VectorBlock, rows: Any, model: Gtm, params: GtmParams) -> Expected:
    """Posterior of the nodes at T = 1."""
    found, _ = k.node_posterior(block, model.centres(params), float(params.noise))
    return Expected(Posterior(found), (), 0.0)


def project(
    k: Kernels, block: VectorBlock, rows: Any, model: Gtm, params: GtmParams, nodes: Array
) -> Expected:
    """Places of the rows among nodes (K, L), and their log density, at T = 1."""
    s = float(params.noise)
    found, log_z = k.node_posterior(block, model.centres(params), s)
    present = block.present
    cells = block.n_columns if present is None else present.sum(axis=1, dtype=np.float64)
    density = log_z - np.log(model.n_components) - 0.5 * cells * np.log(2.0 * np.pi * s)
    mean = found.astype(np.float64) @ nodes
    return Expected(Projected(mean, nodes[found.argmax(axis=1)], density), (), 0.0)


def joined(cooled: Fit, fit: Fit) -> tuple[Record, ...]:
    """Records of a cooling run and of its end; two at the same temperature become one."""
    if fit is cooled:
        return cooled.trace
    before, last = cooled.trace, fit.trace[-1]
    if before[-1].temperature != last.temperature:
        return (*before, last)
    merged = Record(
        last.temperature, last.free_energy, last.log_likelihood, last.heldout, last.n_effective,
        last.n_components, before[-1].critical, before[-1].sweeps + last.sweeps,
        before[-1].seconds + last.seconds, last.converged,
    )  # fmt: skip
    return (*before[:-1], merged)


def axes(name: str, given: Any, default: int, n_axes: int) -> tuple[int, ...]:
    """Numbers along each axis: one for all, or one for each."""
    if given is None:
        return (default,) * n_axes
    sizes = tuple(given) if isinstance(given, tuple | list) else (given,) * n_axes
    if len(sizes) != n_axes:
        raise IsothermError(
            f"{name}={given!r} has {len(sizes)} numbers for {n_axes} axes; give one number, or one "
            "for each axis"
        )
    for size in sizes:
        checks.integer(name, size, 1)
    return tuple(int(size) for size in sizes)


def location(values: Array, weight: Array | None) -> tuple[Array, float]:
    """Mean of the columns (D,) and one scale for all: the model works in units of its own."""
    with np.errstate(over="ignore", invalid="ignore"):
        summary = VectorBlock.summarize(vector_blocks(values, weight))
    if not np.isfinite(summary.mean).all() or not np.isfinite(summary.variance).all():
        raise IsothermError(
            "the variance of X is too large for a number; divide X by a constant first"
        )
    empty = np.flatnonzero(summary.cells == 0)
    if len(empty):
        raise IsothermError(
            f"column {int(empty[0])} of X has no value at all (in rows that count); drop it"
        )
    # Equal rows differ from their mean by rounding errors.
    if not summary.noise > 1e-28 * float(np.max(np.abs(summary.mean)) ** 2):
        raise IsothermError(
            "all rows of X are equal: there is nothing to map; give at least two different rows"
        )
    return summary.mean, float(np.sqrt(summary.noise))


def principal(scaled: Array, n_axes: int) -> tuple[Array, Array, float]:
    """Principal directions (L, D), standard deviations (L,), and the variance of the next.

    `scaled` (I, D) is centred; where there are fewer than L directions the others are zero.
    """
    # The few missing values stand at the mean of their column here.
    centred = np.where(np.isnan(scaled), 0.0, scaled)
    found, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
    found = np.concatenate([np.zeros(n_axes + 1), np.maximum(found, 0.0)])[::-1]
    vectors = np.hstack([np.zeros((len(vectors), n_axes + 1)), vectors])[:, ::-1]
    rest = found[n_axes] if found[n_axes] > 0 else 0.1 * found[:n_axes].mean()
    return vectors[:, :n_axes].T, np.sqrt(found[:n_axes]), float(rest)
