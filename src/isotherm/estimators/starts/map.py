"""Where a map begins: flat and small in random directions, along principal components, or as noise.

Data are centred and of unit variance here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from isotherm.anneal.schedule import Adaptive, Exponential, Fixed, Linear, Schedule
from isotherm.data.base import Array
from isotherm.errors import IsothermError
from isotherm.models.gtm import Gtm, GtmParams
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
