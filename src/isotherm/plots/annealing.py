"""The annealing path as a figure.

Nothing here shows a window or touches pyplot: every function returns a matplotlib Figure, which
notebooks display as the last line of a cell and `figure.savefig` writes to a file. (matplotlib
tells notebooks how to show a Figure when pyplot is loaded; those from here know it themselves.)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from isotherm.anneal.trace import Fit, Record, way
from isotherm.errors import IsothermError
from isotherm.estimators.base import Annealed
from isotherm.estimators.fitted import check_trace
from isotherm.estimators.gtm import GTM
from isotherm.maps.corpus import COMPONENTS, NODES, Cooling
from isotherm.plots._style import BLUE, FAINT, GREEN, INK, PURPLE, RED, new_figure, style, ticker

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["annealing_path"]


# What a temperature can tell apart more of -> title of the panel, and how many times as many of
# them make a transition. A sheet opens all at once, then its nodes only drift apart.
PARTS = {COMPONENTS: ("distinct components", 1.0), NODES: ("nodes told apart", 1.5)}

Source = Annealed | Fit | Cooling | Iterable[Record]


class Path(NamedTuple):
    """What an annealing path shows: records from hot to cold, and two marked temperatures."""

    trace: tuple[Record, ...]
    first_critical: float
    temperature: float
    parts: str = COMPONENTS

    @property
    def transitions(self) -> list[int]:
        """Records that have (for nodes: far) more distinct parts than the one before."""
        sizes, least = [record.n_effective for record in self.trace], PARTS[self.parts][1]
        return [
            i
            for i in range(1, len(sizes))
            if sizes[i] > sizes[i - 1] and sizes[i] >= least * sizes[i - 1]
        ]

    @property
    def with_critical(self) -> list[Record]:
        """Records with critical temperatures; at T = 0 there is nothing to compare them with."""
        return [record for record in self.trace if record.critical and record.temperature > 0]

    @property
    def predicted(self) -> list[float]:
        """Temperatures at which the largest critical temperature meets the temperature itself."""
        ratios = [(r.temperature, max(r.critical) / r.temperature) for r in self.with_critical]
        found = []
        for (hot, before), (cold, after) in itertools.pairwise(ratios):
            if before < 1.0 <= after:
                share = (1.0 - before) / (after - before)
                found.append(hot * (cold / hot) ** share)
        return found


def annealing_path(source: Source, *, figure: Figure | None = None) -> Figure:
    """Figure of what happened on the way from hot to cold.

    Up to four panels over one temperature axis: held-out score (left out where nothing was held
    out), number of distinct components (of a map: of nodes that the noise lets one tell apart),
    critical temperatures over the temperature (where `record_critical` asked for them: at 1 and
    above the state is unstable), log-likelihood of the training data. Vertical lines mark the first
    critical temperature and the chosen one; diamonds and faint lines mark transitions that were
    seen, triangles those that critical temperatures predict.

    Parameters
    ----------
    source : fitted estimator, Fit, Cooling, or records of a trace
    figure : matplotlib Figure, optional
        Draw into this (empty) figure instead of a new one.

    Returns
    -------
    matplotlib.figure.Figure
    """
    path = path_of(source)
    panels = {PARTS[path.parts][0]: _draw_sizes, "training log-likelihood": _draw_likelihood}
    if path.with_critical:
        panels["critical temperatures / temperature (above 1: unstable)"] = _draw_critical
        panels["training log-likelihood"] = panels.pop("training log-likelihood")
    scored = any(math.isfinite(record.heldout) for record in path.trace)
    if scored:
        panels = {"held-out perplexity": _draw_heldout} | panels
    if figure is None:
        figure = new_figure((7.2, 0.7 + 1.6 * len(panels)))
    axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0].tolist()
    for ax, (name, draw) in zip(axes, panels.items(), strict=True):
        draw(ax, path, name)
        _mark_temperatures(ax, path)
        style(ax)
        ax.set_title(name, loc="left", fontsize=10, color=INK)
    _name_marks(axes[0] if scored else axes[-1], path, falling=scored)
    _temperature_axis(axes[-1], path)
    return figure


def path_of(source: Source) -> Path:
    """Records from hot to cold, with the first critical and the chosen temperature (or NaN)."""
    parts = COMPONENTS
    if isinstance(source, Annealed):
        check_trace(source)
        trace, marks = source.trace_, (source.first_critical_, source.temperature_)
        parts = NODES if isinstance(source, GTM) else COMPONENTS
    elif isinstance(source, Cooling):
        trace, marks, parts = source.trace, source[1:3], source.parts
    elif isinstance(source, Fit):
        trace, marks = source.trace, (source.first_critical, source.temperature)
    else:
        trace, marks = _records(source), (math.nan, math.nan)
    # Heating and grids come in another order; the axis runs from hot to cold all the same.
    trace = sorted(way(trace), key=lambda record: -record.temperature)
    return Path(tuple(trace), *marks, parts)


def _records(source: object) -> tuple[Record, ...]:
    trace = tuple(source) if isinstance(source, Iterable) else ()
    if not trace or not all(isinstance(record, Record) for record in trace):
        raise IsothermError(
            f"got {type(source).__name__}; give a fitted estimator, a Fit, or the records of a "
            "trace (at least one)"
        )
    return trace


def _draw_heldout(ax: Axes, path: Path, name: str) -> None:
    temperature = [record.temperature for record in path.trace]
    held = [record.heldout for record in path.trace]
    ax.plot(temperature, held, color=BLUE, marker="o", markersize=4, label=name)
    _mark_best(ax, path)


def _draw_likelihood(ax: Axes, path: Path, name: str) -> None:
    temperature = [record.temperature for record in path.trace]
    likelihood = [record.log_likelihood for record in path.trace]
    ax.plot(temperature, likelihood, color=RED, marker="o", markersize=4, label=name)
    ax.yaxis.set_major_formatter(ticker().EngFormatter(sep=" "))


def _draw_sizes(ax: Axes, path: Path, name: str) -> None:
    """Step line of the number of distinct parts, with a diamond at every transition."""
    temperature = [record.temperature for record in path.trace]
    sizes = [record.n_effective for record in path.trace]
    ax.plot(temperature, sizes, color=GREEN, drawstyle="steps-post", label=name)
    ax.plot(temperature, sizes, color=GREEN, linestyle="none", marker="o", markersize=3)
    jumps = path.transitions
    ax.plot(
        [temperature[i] for i in jumps],
        [sizes[i] for i in jumps],
        color=GREEN,
        linestyle="none",
        marker="D",
        markersize=6,
        label="transitions",
    )
    ax.yaxis.set_major_locator(ticker().MaxNLocator(4, integer=True))
    ax.set_ylim(bottom=0, top=1.08 * max(sizes))


def _draw_critical(ax: Axes, path: Path, name: str) -> None:
    """Dots of critical temperatures over T, a line along the largest, and where it reaches 1."""
    known = path.with_critical
    dots = [(r.temperature, value / r.temperature) for r in known for value in r.critical]
    ax.plot(*zip(*dots, strict=True), color=FAINT, linestyle="none", marker=".", markersize=3)
    largest = [max(record.critical) / record.temperature for record in known]
    ax.plot([r.temperature for r in known], largest, color=PURPLE, label=name)
    ax.axhline(1.0, color=INK, linewidth=0.8, zorder=0)
    predicted = path.predicted
    ax.plot(
        predicted, [1.0] * len(predicted), color=PURPLE, linestyle="none", marker="v",
        markersize=8, label="predicted",
    )  # fmt: skip


def _mark_best(ax: Axes, path: Path) -> None:
    for record in path.trace:
        if record.temperature == path.temperature:
            ax.plot(
                [record.temperature], [record.heldout], color=INK, marker="o", markersize=8,
                fillstyle="none", linestyle="none", label="chosen",
            )  # fmt: skip


def _mark_temperatures(ax: Axes, path: Path) -> None:
    for i in path.transitions:
        ax.axvline(path.trace[i].temperature, color=GREEN, alpha=0.25, linewidth=1, zorder=0)
    if math.isfinite(path.first_critical):
        ax.axvline(path.first_critical, color=FAINT, linestyle="--", linewidth=1.2, zorder=0)
    if math.isfinite(path.temperature):
        ax.axvline(path.temperature, color=INK, linewidth=1.2, zorder=0)


def _name_marks(ax: Axes, path: Path, *, falling: bool) -> None:
    """Names of the two marked temperatures, in the corners that a falling (rising) curve leaves."""
    if math.isfinite(path.first_critical):
        _name(ax, f"first critical T {path.first_critical:.4g}", path.first_critical, 4, falling)
    if math.isfinite(path.temperature):
        chosen = [r.heldout for r in path.trace if r.temperature == path.temperature]
        score = f", perplexity {chosen[0]:.4g}" if chosen and math.isfinite(chosen[0]) else ""
        _name(ax, f"chosen T {path.temperature:.4g}{score}", path.temperature, -4, not falling)


def _name(ax: Axes, text: str, temperature: float, offset: float, at_bottom: bool) -> None:
    ax.annotate(
        text,
        (temperature, 0.0 if at_bottom else 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(offset, 4 if at_bottom else -4),
        textcoords="offset points",
        ha="left" if offset > 0 else "right",
        va="bottom" if at_bottom else "top",
        fontsize=9,
        color=INK,
    )


def _temperature_axis(ax: Axes, path: Path) -> None:
    """Hot on the left, cold on the right, equal ratios at equal distances."""
    marked = [value for value in path[1:3] if math.isfinite(value)]
    values = [record.temperature for record in path.trace] + marked
    positive = [value for value in values if value > 0]
    low, high = min(values), max(values)
    if low > 0:
        ax.set_xscale("log")
        pad = max((high / low) ** 0.03, 1.005)
        left, right = high * pad, low / pad
    else:
        # The hard limit T = 0 has no logarithm: linear below the last positive temperature.
        ax.set_xscale("symlog", linthresh=min(positive, default=1.0))
        left, right = max(high * 1.1, 1.0), -0.05 * min(positive, default=1.0)
    ax.set_xlim(left, right)
    ticks = ticker()
    if low > 0 and high / low < 10:
        ax.xaxis.set_major_locator(ticks.MaxNLocator(9, steps=[1, 2, 5, 10]))
        ax.xaxis.set_minor_locator(ticks.NullLocator())
    elif low > 0:
        ax.xaxis.set_major_locator(ticks.LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(ticks.StrMethodFormatter("{x:.4g}"))
    ax.xaxis.set_minor_formatter(ticks.NullFormatter())
    ax.set_xlabel("temperature  (hot → cold)", color=INK)
