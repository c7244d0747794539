"""How a map is started and chosen, and what it says of rows: what its estimator is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from isotherm import _checks
from isotherm.anneal.callbacks import Callback, time_is_up
from isotherm.anneal.trace import Fit, Outcome, Record
from isotherm.data.base import Array
from isotherm.data.vectors import VectorBlock, vector_blocks
from isotherm.errors import IsothermError
from isotherm.kernels.base import Kernels
from isotherm.models.grid import LatentGrid
from isotherm.models.gtm import LEAST_NOISE, Gtm, GtmParams
from isotherm.placement.base import Data, Expected

# Variances of X below this leave no room for those of the noise, which may be much smaller.
LEAST_VARIANCE = 1e-290
# How far from the mean, in standard deviations, exponents are sure to be numbers still.
FAR = {"float32": 1e12, "float64": 1e150}
# Nodes along each axis of maps of one to three dimensions; least and most basis functions.
NODES = {1: 40, 2: 20, 3: 8}
BASIS = {1: (4, 8), 2: (5, 8), 3: (3, 4)}
# Runs whose objectives differ by less than this many nats per row have found the same map.
EQUAL = 1e-4


class Density(NamedTuple):
    """Log density of rows, (I,)."""

    log_density: Array


class Posterior(NamedTuple):
    """Posterior of the nodes, (I, K)."""

    posterior: Array


def posterior(k: Kernels, block: VectorBlock, rows: Any, model: Gtm, params: GtmParams) -> Expected:
    """Posterior of the nodes at T = 1."""
    found, _ = k.node_posterior(block, model.centres(params), float(params.noise))
    return Expected(Posterior(found), (), 0.0)


def density(k: Kernels, block: VectorBlock, rows: Any, model: Gtm, params: GtmParams) -> Expected:
    """Log density of the rows at T = 1."""
    s = float(params.noise)
    _, log_z = k.node_posterior(block, model.centres(params), s)
    present = block.present
    cells = block.n_columns if present is None else present.sum(axis=1, dtype=np.float64)
    constant = np.log(model.n_components) + 0.5 * cells * np.log(2.0 * np.pi * s)
    return Expected(Density(log_z - constant), (), 0.0)


def joined(cooled: Fit, fit: Fit) -> tuple[Record, ...]:
    """Records of a cooling run and of its end; two at the same temperature become one."""
    if fit is cooled:
        return cooled.trace
    before, last = cooled.trace, fit.trace[-1]
    if before[-1].temperature != last.temperature:
        return (*before, last)
    merged = replace(
        last,
        critical=last.critical or before[-1].critical,
        sweeps=before[-1].sweeps + last.sweeps,
        seconds=before[-1].seconds + last.seconds,
    )
    return (*before[:-1], merged)


def latent_grid(n_axes: int, n_nodes: Any, n_basis: Any, width: float, total: float) -> LatentGrid:
    """Grid with nodes and basis functions along each axis as asked for, or as is usual.

    By default there are about as many basis functions as the square root of the number of rows.
    """
    usual = int(np.clip(total ** (0.5 / n_axes), *BASIS[n_axes]))
    nodes = _axes("n_nodes", n_nodes, NODES[n_axes], n_axes)
    basis = _axes("n_basis", n_basis, usual, n_axes)
    if min(nodes + basis) < 2:
        raise IsothermError(
            f"n_nodes={nodes} and n_basis={basis}; a map needs at least 2 of each on every axis",
            parameter="n_nodes",
        )
    return LatentGrid(nodes, basis, float(width))


def _axes(name: str, given: Any, default: int, n_axes: int) -> tuple[int, ...]:
    """Numbers along each axis: one for all, or one for each."""
    if given is None:
        return (default,) * n_axes
    sizes = tuple(given) if isinstance(given, tuple | list) else (given,) * n_axes
    if len(sizes) != n_axes:
        raise IsothermError(
            f"{name}={given!r} has {len(sizes)} numbers for {n_axes} axes; give one number, or one "
            "for each axis",
            parameter=name,
        )
    for size in sizes:
        _checks.integer(name, size, 1)
    return tuple(int(size) for size in sizes)


def location(values: Array, weight: Array | None) -> tuple[Array, float]:
    """Mean of the columns (D,) and one scale for all: the model works in units of its own."""
    known = ~np.isnan(values)
    empty = np.flatnonzero(~known.any(axis=0))
    if len(empty):
        raise IsothermError(
            f"column {int(empty[0])} of X has no value at all (in rows that count); drop it"
        )
    # Around a value of each column, so that a constant one has no variance at all.
    origin = values[known.argmax(axis=0), np.arange(values.shape[1])]
    with np.errstate(over="ignore", invalid="ignore"):
        gaps = values - origin
        summary = VectorBlock.summarize(vector_blocks(gaps, weight))
        if not np.any((gaps != 0) & known):
            raise IsothermError(
                "all rows of X are equal: there is nothing to map; give at least two different rows"
            )
    if not np.isfinite(summary.noise) or summary.noise < LEAST_VARIANCE:
        large, help_ = ("small", "multiply") if summary.noise < 1 else ("large", "divide")
        raise IsothermError(
            f"the variance of X is too {large} for a number; {help_} X by a constant first"
        )
    return origin + summary.mean, float(np.sqrt(summary.noise))


def check_units(model: Gtm) -> None:
    """Refuse settings that make no sense once they are in the units of the model."""
    if not np.isfinite(model.alpha):
        raise IsothermError("alpha times the variance of X is too large for a number; lower alpha")
    if model.noise is not None and not LEAST_NOISE <= model.noise < np.inf:
        raise IsothermError(
            f"noise is {model.noise:.3g} times the mean variance of the columns; give a variance "
            f"of at least {LEAST_NOISE:g} times that"
        )


def near(scaled: Array, dtype: Any) -> Array:
    """Rows (I, D) in a type of number; those far beyond any node are drawn nearer.

    Their posterior is that of their direction, and their exponents are still numbers.
    """
    return np.asarray((scaled / _draw(scaled, dtype)[:, None]).astype(dtype))


def cut_off(scaled: Array, dtype: Any) -> Array:
    """What the squared length of each row lost when it was drawn nearer, (I,)."""
    with np.errstate(over="ignore"):
        squares = np.nansum(scaled**2, axis=1)
    return np.asarray(squares * (1.0 - _draw(scaled, dtype) ** -2.0))


def _draw(scaled: Array, dtype: Any) -> Array:
    """Factor by which each row is too far away, (I,)."""
    size = np.max(np.abs(scaled), axis=1, initial=0.0, where=~np.isnan(scaled))
    return np.asarray(np.maximum(size / FAR[np.dtype(dtype).name], 1.0))


def best_of(
    n_runs: int,
    run: Callable[[int], tuple[Fit, Fit]],
    data: Data,
    callbacks: Sequence[Callback] = (),
) -> tuple[Fit, Fit]:
    """The best of several runs by the objective at T = 1; an interrupt ends them all.

    Once a limit of time among the callbacks has passed no further run begins.
    """
    runs: list[tuple[Fit, Fit]] = []
    interrupted = False
    while len(runs) < n_runs and not interrupted:
        if runs and time_is_up(callbacks):
            break
        try:
            runs.append(run(len(runs)))
            interrupted = runs[-1][0].outcome is Outcome.INTERRUPTED
        except KeyboardInterrupt:
            if not runs:
                raise
            interrupted = True

    def objective(pair: tuple[Fit, Fit]) -> float:
        # Free energies are comparable only at one temperature, and a run may have been interrupted.
        fit = pair[1]
        extra: float = fit.model.prior_energy(fit.state.params, data.summary)
        return extra - fit.trace[-1].log_likelihood

    # Mirror images are equally good: which one is kept must not be for rounding errors to say.
    least, slack = min(map(objective, runs)), EQUAL * float(data.summary.total)
    cooled, fit = next(pair for pair in runs if objective(pair) <= least + slack)
    return (replace(cooled, outcome=Outcome.INTERRUPTED), fit) if interrupted else (cooled, fit)
