"""Figures of topics: bars of the words that tell them from others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from isotherm.data.base import Array
from isotherm.errors import IsothermError
from isotherm.estimators.counts import CountEstimator
from isotherm.estimators.fitted import check_fitted
from isotherm.plots._style import BLUE, INK, new_figure, style, ticker

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["topic_words"]

# Letters of a name in a title.
LONGEST = 18


def topic_words(
    model: CountEstimator,
    n_topics: int = 12,
    n_words: int = 8,
    *,
    figure: Figure | None = None,
) -> Figure:
    """Figure of the largest topics: bars P(y|k) of the words that tell each from all others.

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
        raise IsothermError(
            f"n_topics={n_topics}, n_words={n_words}; both must be 1 or more", parameter="n_topics"
        )
    chosen = np.argsort(-model.weights_, kind="stable")[:n_topics]
    words = model.top_words(n_words)
    columns = model.top_words(n_words, names=range(model.components_.shape[1]))
    n_across = min(len(chosen), 4)
    n_down = math.ceil(len(chosen) / n_across)
    if figure is None:
        height = 0.45 + 0.19 * min(n_words, model.components_.shape[1])
        figure = new_figure((2.8 * n_across, height * n_down))
    axes = figure.subplots(n_down, n_across, sharex=True, squeeze=False).ravel().tolist()
    for ax, k in zip(axes, chosen, strict=False):
        _word_bars(ax, words[k], model.components_[k][[int(j) for j in columns[k]]])
        title = f"{k}: {shortened(model.names_[k])}  ·  {100 * model.weights_[k]:.1f} %"
        ax.set_title(title, loc="left", fontsize=8, color=INK, parse_math=False)
    for ax in axes[len(chosen) :]:
        ax.remove()
    return figure


def shortened(name: str) -> str:
    """As many letters of a name as a title has room for."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _word_bars(ax: Axes, words: Sequence[str], values: Array) -> None:
    places = np.arange(len(words))
    ax.barh(places, values, color=BLUE, height=0.72)
    # Words are data: a $ in one of them is no mathematics.
    ax.set_yticks(places, words, parse_math=False)
    ax.invert_yaxis()
    ax.xaxis.set_major_locator(ticker().MaxNLocator(3))
    style(ax)
    ax.grid(visible=False)
    ax.tick_params(left=False)
