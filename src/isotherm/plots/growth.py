"""How many components the data support, as a figure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from isotherm.errors import IsothermError
from isotherm.estimators.counts import CountEstimator
from isotherm.estimators.fitted import check_fitted
from isotherm.estimators.levels import Level
from isotherm.plots._style import BLUE, INK, RED, new_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["how_many"]


def how_many(model: CountEstimator, *, figure: Figure | None = None) -> Figure:
    """Figure of the held-out score against the number of components, the chosen one marked.

    The line is of the run that grew, whose first components were still hot. Levels of
    `n_components="auto"` were fitted by themselves: they are circles, which say how many of the
    components are found again in the other half of the rows.

    Parameters
    ----------
    model : estimator fitted with n_components="auto" or "predict"
        With something held out.
    figure : matplotlib Figure, optional
        Draw into this (empty) figure instead of a new one.

    Returns
    -------
    matplotlib.figure.Figure
    """
    _check(model)
    path = {step.n_components: step.heldout for step in model.path_}
    levels = {one.n_components: one.heldout for one in getattr(model, "levels_", ())}
    scores = path | levels
    if not all(math.isfinite(score) for score in scores.values()):
        raise IsothermError(
            "nothing was held out when the model grew, so no number of components is better than "
            "another; fit with validation_fraction above 0"
        )
    if figure is None:
        figure = new_figure((7.2, 3.0))
    ax = figure.subplots()
    ax.plot(list(path), list(path.values()), color=BLUE, marker="o", markersize=4)
    chosen = model.n_components_
    ax.axvline(chosen, color=RED, linewidth=1.2)
    ax.plot([chosen], [scores[chosen]], color=RED, marker="o", markersize=7)
    # Where there is more room for it.
    left = 2 * math.log(chosen) > math.log(max(scores))
    ax.annotate(
        f"{chosen} chosen",
        (chosen, max(scores.values())),
        xytext=(-6 if left else 6, 0),
        textcoords="offset points",
        ha="right" if left else "left",
        va="top",
        color=RED,
        fontsize=9,
    )
    for level in getattr(model, "levels_", ()):
        _mark(ax, level)
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.set_xlabel("number of components", color=INK, fontsize=9)
    more = "; of levels, how many components are found again" if levels else ""
    ax.set_title(f"held-out perplexity{more}", loc="left", fontsize=10, color=INK)
    style(ax)
    return figure


def _mark(ax: Axes, level: Level) -> None:
    """A circle at a level, and above it how many of its components are found again."""
    place = (level.n_components, level.heldout)
    ax.plot(*place, color=INK, marker="o", markersize=9, markerfacecolor="none")
    if level.is_known:
        ax.annotate(
            f"{level.n_found_again} of {level.n_components}",
            place,
            xytext=(0, 9),
            textcoords="offset points",
            ha="center",
            color=INK,
            fontsize=8,
        )


def _check(model: CountEstimator) -> None:
    check_fitted(model)
    if not hasattr(model, "path_"):
        raise IsothermError(
            f"the {type(model).__name__} was fitted with n_components={model.n_components}; only "
            "one that grew, with n_components='auto' or 'predict', has a path"
        )
