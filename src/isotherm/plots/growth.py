"""How many components the data support, as a figure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from isotherm.errors import IsothermError
from isotherm.estimators.counts import CountEstimator
from isotherm.estimators.fitted import check_fitted
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
    most = max(scores)
    _say(ax, f"{chosen} chosen", (chosen, max(scores.values())), most, RED, "top")
    for level in getattr(model, "levels_", ()):
        place = (level.n_components, level.heldout)
        ax.plot(*place, color=INK, marker="o", markersize=9, markerfacecolor="none")
        if level.is_known:
            again = f"{level.n_found_again} of {level.n_components} found again"
            _say(ax, again, place, most, INK, "bottom")
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.set_xlabel("number of components", color=INK, fontsize=9)
    ax.set_title("held-out perplexity", loc="left", fontsize=10, color=INK)
    style(ax)
    return figure


def _say(ax: Axes, text: str, place: tuple[float, float], most: int, color: str, va: str) -> None:
    """Text beside a place, on the side where there is more room; the axis ends at `most`."""
    left = 2 * math.log(place[0]) > math.log(most)
    ax.annotate(
        text,
        place,
        xytext=(-8 if left else 8, 0),
        textcoords="offset points",
        ha="right" if left else "left",
        va=va,
        color=color,
        fontsize=9,
    )


def _check(model: CountEstimator) -> None:
    check_fitted(model)
    if not hasattr(model, "path_"):
        raise IsothermError(
            f"the {type(model).__name__} was fitted with n_components={model.n_components}; only "
            "one that grew, with n_components='auto' or 'predict', has a path"
        )
