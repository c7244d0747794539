"""Figures of a fit: the annealing path, and the words of the topics.

Nothing here shows a window or touches pyplot: every function returns a matplotlib Figure, which
notebooks display as the last line of a cell and `figure.savefig` writes to a file. (matplotlib
tells notebooks how to show a Figure when pyplot is loaded; those from here know it themselves.)
"""

from __future__ import annotations

import functools
import io
import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isotherm.anneal.trace import Fit, Record, way
from isotherm.data.base import Array
from isotherm.errors import IsothermError
from isotherm.estimators.annealed import Annealed
from isotherm.estimators.base import CountEstimator
from isotherm.estimators.gtm import GTM
from isotherm.maps.corpus import COMPONENTS, NODES, Cooling

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["annealing_path", "topic_words"]

# Okabe and Ito's palette: told apart with every common kind of colour vision.
BLUE, GREEN, RED, PURPLE = "#0072b2", "#009e73", "#d55e00", "#cc79a7"
SCREEN_DPI = 100
INK, FAINT = "#24292f", "#8c959f"

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


def topic_words(
    model: CountEstimator,
    n_topics: int = 12,
    n_words: int = 8,
    *,
    figure: Figure | None = None,
) -> Figure:
    """Figure of the largest topics: bars P(y|k) of the most probable words of each.

    Parameters
    ----------
    model : fitted estimator
    n_topics : int
        At most so many topics, the largest first.
    n_words : int
        At most so many words of each.
    figure : matplotlib Figure, optional
        Draw into this (empty) figure instead of a new one.

    Returns
    -------
    matplotlib.figure.Figure
    """
    check_fitted(model)
    if n_topics < 1 or n_words < 1:
        raise IsothermError(f"n_topics={n_topics}, n_words={n_words}; both must be 1 or more")
    chosen = np.argsort(-model.weights_, kind="stable")[:n_topics]
    words = model.top_words(n_words)
    n_across = min(len(chosen), 4)
    n_down = math.ceil(len(chosen) / n_across)
    if figure is None:
        height = 0.45 + 0.19 * min(n_words, model.components_.shape[1])
        figure = new_figure((2.5 * n_across, height * n_down))
    axes = figure.subplots(n_down, n_across, sharex=True, squeeze=False).ravel().tolist()
    for ax, k in zip(axes, chosen, strict=False):
        _word_bars(ax, words[k], np.sort(model.components_[k])[::-1][:n_words])
        title = f"topic {k}  ·  {100 * model.weights_[k]:.1f} %"
        ax.set_title(title, loc="left", fontsize=10, color=INK)
    for ax in axes[len(chosen) :]:
        ax.remove()
    return figure


def path_of(source: Source) -> Path:
    """Records from hot to cold, with the first critical and the chosen temperature (or NaN)."""
    parts = COMPONENTS
    if isinstance(source, Annealed):
        _check_trace(source)
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


def check_fitted(model: Any) -> None:
    """Refuse anything but a fitted estimator of isotherm."""
    if not isinstance(model, CountEstimator):
        raise IsothermError(
            f"got {type(model).__name__}; give a fitted estimator such as AspectModel"
        )
    _check_trace(model)


def _check_trace(model: Annealed) -> None:
    if not hasattr(model, "trace_"):
        raise IsothermError(f"this {type(model).__name__} is not fitted yet; call fit first")


def as_svg(figure: Figure, colours: Mapping[str, str]) -> str:
    """The figure as an <svg> element to stand inside a page, some colours replaced by others."""
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    for old, new in colours.items():
        text = text.replace(old.lower(), new)
    return text.strip()


def _records(source: Any) -> tuple[Record, ...]:
    trace = tuple(source) if isinstance(source, Iterable) else ()
    if not trace or not all(isinstance(record, Record) for record in trace):
        raise IsothermError(
            f"got {type(source).__name__}; give a fitted estimator, a Fit, or the records of a "
            "trace (at least one)"
        )
    return trace


def _matplotlib() -> ModuleType:
    try:
        import matplotlib.figure
    except ImportError as missing:
        raise IsothermError(
            "figures need matplotlib, which is not installed; pip install isotherm[plot]"
        ) from missing
    return matplotlib


def _ticker() -> Any:
    import matplotlib.ticker

    return matplotlib.ticker


def new_figure(size: tuple[float, float]) -> Figure:
    """An empty figure of that many inches."""
    figure: Figure = _matplotlib().figure.Figure(figsize=size, layout="constrained")
    # Found by notebooks on the figure itself, whatever its class.
    vars(figure)["_repr_png_"] = functools.partial(_png, figure)
    return figure


def _png(figure: Figure) -> tuple[bytes, dict[str, int]]:
    """The figure as a picture, and its size on the screen: half of its pixels, for sharp ones."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=2 * SCREEN_DPI, facecolor="white")
    width, height = (round(SCREEN_DPI * inches) for inches in figure.get_size_inches())
    return buffer.getvalue(), {"width": width, "height": height}


def _draw_heldout(ax: Axes, path: Path, name: str) -> None:
    temperature = [record.temperature for record in path.trace]
    held = [record.heldout for record in path.trace]
    ax.plot(temperature, held, color=BLUE, marker="o", markersize=4, label=name)
    _mark_best(ax, path)


def _draw_likelihood(ax: Axes, path: Path, name: str) -> None:
    temperature = [record.temperature for record in path.trace]
    likelihood = [record.log_likelihood for record in path.trace]
    ax.plot(temperature, likelihood, color=RED, marker="o", markersize=4, label=name)
    ax.yaxis.set_major_formatter(_ticker().EngFormatter(sep=" "))


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
    ax.yaxis.set_major_locator(_ticker().MaxNLocator(4, integer=True))
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
    ticker = _ticker()
    if low > 0 and high / low < 10:
        ax.xaxis.set_major_locator(ticker.MaxNLocator(9, steps=[1, 2, 5, 10]))
        ax.xaxis.set_minor_locator(ticker.NullLocator())
    elif low > 0:
        ax.xaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:.4g}"))
    ax.xaxis.set_minor_formatter(ticker.NullFormatter())
    ax.set_xlabel("temperature  (hot → cold)", color=INK)


def _word_bars(ax: Axes, words: Sequence[str], values: Array) -> None:
    places = np.arange(len(words))
    ax.barh(places, values, color=BLUE, height=0.72)
    # Words are data: a $ in one of them is no mathematics.
    ax.set_yticks(places, words, parse_math=False)
    ax.invert_yaxis()
    ax.xaxis.set_major_locator(_ticker().MaxNLocator(3))
    style(ax)
    ax.grid(visible=False)
    ax.tick_params(left=False)


def style(ax: Axes) -> None:
    """The look that all figures share."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(which="both", color=FAINT, labelcolor=INK, labelsize=9)
    ax.grid(axis="y", color=FAINT, alpha=0.25, linewidth=0.7)
