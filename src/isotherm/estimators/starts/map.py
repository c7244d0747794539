"""Where a map begins: flat and small in random directions, along principal components, or as noise.

Also its grid and its units, which stand before that, and which of several runs is kept. Data are
centred and of unit variance once `location` is taken out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from isotherm import _checks
from isotherm.anneal.callbacks import Callback, time_is_up
from isotherm.anneal.schedule import Adaptive, Exponential, Fixed, Linear, Schedule
from isotherm.anneal.trace import Fit, Outcome, Record
from isotherm.data.base import Array
from isotherm.data.vectors import VectorBlock, vector_blocks
from isotherm.errors import IsothermError
from isotherm.models.grid import LatentGrid
from isotherm.models.gtm import LEAST_NOISE, Gtm, GtmParams
from isotherm.placement.base import Data
from isotherm.placement.local import Local

# Schedules whose first temperature may be left open.
COOLING = (Exponential, Linear, Adaptive)
STARTS = ("auto", "sheet", "plane", "white", "pca")
# Size of the sheet that a map begins as, in standard deviations of the data.
SHEET = 0.1
# So many runs of an annealed map begin the same way for every seed: one of each kind.
STEADY = 2
# Cooling begins this much below a critical temperature.
MARGIN = 0.98
# Variances of X below this leave no room for those of the noise, which may be much smaller.
LEAST_VARIANCE = 1e-290
# Nodes along each axis of maps of one to three dimensions; least and most basis functions.
NODES = {1: 40, 2: 20, 3: 8}
BASIS = {1: (4, 8), 2: (5, 8), 3: (3, 4)}
# Runs whose objectives differ by less than this many nats per row have found the same map.
EQUAL = 1e-4


class Spectrum(NamedTuple):
    """Principal `directions` (L, D), their `variances` (L,), and the `rest` of the variance.

    `rest`: the sum over all other directions; `following`: the largest of those; `axes` (D, D):
    all of them, each with a fixed sign.
    """

    directions: Array
    variances: Array
    rest: float
    following: float
    axes: Array


def latent_grid(
    n_axes: int, n_nodes: object, n_basis: object, width: float, total: float
) -> LatentGrid:
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


def kind_of(start: str, schedule: Schedule, run: int) -> str:
    """The start that "auto" stands for: both ways to anneal take turns."""
    if start != "auto":
        return start
    if isinstance(schedule, Fixed):
        return "pca"
    both = isinstance(schedule, COOLING) and schedule.start is None
    return "plane" if both and run % 2 else "sheet"


def source_of(
    start: str, run: int, data: Local, rng: np.random.Generator
) -> tuple[np.random.Generator, Array | None]:
    """Where a run takes its directions from: a generator, and axes (D, D) to turn them to.

    The first run of each kind that "auto" stands for is the same for every seed, and turns with
    the data: its directions are fixed combinations of the principal ones.
    """
    if start != "auto" or run >= STEADY:
        return rng, None
    return np.random.default_rng(run), spectrum(data, 1).axes


def started(
    start: str,
    model: Gtm,
    data: Local,
    rng: np.random.Generator,
    schedule: Schedule,
    axes: Array | None = None,
) -> tuple[GtmParams, Schedule]:
    """Parameters of a start, and the schedule from there; random directions turned to axes."""
    D = len(data.summary.mean)
    if start in ("sheet", "plane"):
        sheet = model.sheet(D, SHEET, rng)
        sheet = sheet if axes is None else sheet @ axes
        if start == "plane":
            return _plane(model, data, sheet, schedule)
        return model.with_weight(sheet, data.summary), schedule
    if start == "white":
        noise = rng.standard_normal((model.n_components, D))
        return model.with_weight(model.fitted(noise), data.summary), schedule
    if not isinstance(schedule, Fixed):
        raise IsothermError(
            f"start='pca' with schedule={schedule!r}; an exactly symmetric sheet stays where it is "
            "when it is cooled: anneal from start='plane', 'sheet' or 'white', or use Fixed(1.0)",
            parameter="start",
        )
    found = spectrum(data, model.grid.nodes.shape[1])
    s = found.following or 0.1 * float(found.variances.mean())
    begin = _along(model, data, found, np.sqrt(found.variances))
    return begin if model.noise else begin._replace(noise=np.asarray(s)), schedule


def _plane(model: Gtm, data: Local, sheet: Array, schedule: Schedule) -> tuple[GtmParams, Schedule]:
    """The plane of the L principal components at the temperature where the L-th condenses.

    From the first critical temperature on, the sheet opens along one direction after the other,
    and a curved one may have folded along the first before the second opens. This start opens all
    of them at once; a small sheet (M, D) on top keeps it off symmetric saddles.
    """
    L, D = model.grid.nodes.shape[1], len(data.summary.mean)
    found = spectrum(data, L)
    least = float(found.variances[-1])
    if model.noise is None:
        # T_L = D l_L / (sum_{j >= L} l_j + (L - 1) l_L), and s = sum_{j > L} l_j / (D - L T).
        # Data of fewer than L dimensions: the last direction never opens.
        opens = D * least / (found.rest + L * least) if least > 0 else 0.0
        temperature = max(MARGIN * opens, 1.0)
        some = least or float(found.variances.mean())
        s = found.rest / max(D - L * temperature, 0.5) or 0.1 * some
    else:
        temperature, s = max(MARGIN * least / model.noise, 1.0), model.noise
    spread = np.sqrt(np.maximum(found.variances - s * temperature, 0.01 * found.variances))
    begin = _along(model, data, found, spread)
    begin = begin._replace(weight=begin.weight + sheet, noise=np.asarray(s))
    if isinstance(schedule, COOLING) and schedule.start is None:
        schedule = replace(schedule, start=max(temperature, schedule.end))
    return begin, schedule


def _along(model: Gtm, data: Local, found: Spectrum, spread: Array) -> GtmParams:
    """A flat sheet along principal directions, with standard deviations (L,)."""
    nodes = model.grid.nodes / model.grid.nodes.std(axis=0)
    centres = nodes @ (spread[:, None] * found.directions)
    return model.with_weight(model.fitted(centres), data.summary)


def spectrum(data: Local, n_axes: int) -> Spectrum:
    """Principal directions of centred data; where there are fewer than L, the others are zero."""
    # The few missing values stand at the mean of their column here.
    tables = [(block.values.astype(np.float64), block.weight[:, None]) for block in data.blocks]
    square = np.sum([x.T @ (x * w) for x, w in tables], axis=0)
    found, vectors = np.linalg.eigh(square / data.summary.total)
    found = np.concatenate([np.zeros(n_axes + 1), np.maximum(found, 0.0)])[::-1]
    vectors = np.hstack([np.zeros((len(vectors), n_axes + 1)), vectors])[:, ::-1]
    # An eigenvector may come with either sign: the same data must give the same map.
    vectors = vectors * np.where((vectors**3).sum(axis=0) < 0, -1.0, 1.0)
    return Spectrum(
        vectors[:, :n_axes].T,
        found[:n_axes],
        float(found[n_axes:].sum()),
        float(found[n_axes]),
        vectors[:, : len(vectors)].T,
    )


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
