"""Figures of two-sided clusterings: how often the clusters of rows and of columns meet.

As in `isotherm.plots`, nothing here shows a window or touches pyplot: every function returns a
matplotlib Figure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linear_sum_assignment

from isotherm.data.base import Array
from isotherm.errors import IsothermError
from isotherm.estimators.fitted import check_fitted
from isotherm.estimators.two_sided import TwoSidedClustering
from isotherm.plots._style import FAINT, INK, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

__all__ = ["association"]

COLOURS = "Blues"
# The scale, as multiples of chance. Below its end all is white: that clusters shun each other is
# the rule, and many such cells hold a handful of counts.
SMALLEST, LARGEST = 0.5, 16.0
# Up to this many cells each has its figure written in it.
MOST_FIGURES = 150


def association(
    model: TwoSidedClustering, n_words: int = 3, *, figure: Figure | None = None
) -> Figure:
    """Figure of phi(c,d): how many times as often as by chance two clusters meet.

    One line for each cluster of rows, the largest first, one column for each cluster of columns,
    each next to the cluster of rows that it goes with; the names are the most probable members.

    Parameters
    ----------
    model : fitted TwoSidedClustering
    n_words : int
        Names shown for each cluster.
    figure : matplotlib Figure, optional
        Draw into this (empty) figure instead of a new one.

    Returns
    -------
    matplotlib.figure.Figure
    """
    if not isinstance(model, TwoSidedClustering):
        raise IsothermError(
            f"got {type(model).__name__}; give a fitted TwoSidedClustering, or use the `plot` of "
            "what cluster_pairs returns"
        )
    check_fitted(model)
    if n_words < 1:
        raise IsothermError(f"n_words={n_words}; it must be 1 or more", parameter="n_words")
    rows, columns = order_of(model.joint_, model.association_)
    phi = model.association_[np.ix_(rows, columns)]
    if figure is None:
        size = (2.6 + 0.32 * max(len(columns), 6), 2.4 + 0.26 * max(len(rows), 6))
        figure = new_figure(size)
    ax = figure.subplots()
    logs = np.log2(np.clip(phi, SMALLEST, LARGEST))
    least, most = float(np.log2(SMALLEST)), max(1.0, float(logs.max()))
    image = ax.imshow(logs, cmap=COLOURS, vmin=least, vmax=most, aspect="auto")
    _name_clusters(ax, model, rows, columns, n_words)
    if phi.size <= MOST_FIGURES:
        _write_figures(ax, phi, (logs - least) / (most - least))
    _scale(figure, ax, image, least, most)
    return figure


def order_of(joint: Array, phi: Array) -> tuple[Array, Array]:
    """Order of the clusters of rows (K,) and of columns (L,): partners on the diagonal.

    Rows by size; a column stands where the row is that it is matched with so that the matched
    pairs have as much of the mutual information as possible, the others follow by size.
    """
    share = joint * np.log(np.maximum(phi, 1e-300))
    rows = np.argsort(-joint.sum(axis=1), kind="stable")
    partner = dict(zip(*(part.tolist() for part in linear_sum_assignment(-share)), strict=True))
    matched = [partner[c] for c in rows.tolist() if c in partner]
    sizes = joint.sum(axis=0)
    rest = [d for d in np.argsort(-sizes, kind="stable").tolist() if d not in set(matched)]
    return rows, np.array(matched + rest)


def _name_clusters(
    ax: Axes, model: TwoSidedClustering, rows: Array, columns: Array, n_words: int
) -> None:
    """Names of the members beside the lines and above the columns."""
    lines, uprights = model.top_rows(n_words), model.top_columns(n_words)
    ax.set_yticks(range(len(rows)), [_plain(lines[c], c) for c in rows.tolist()])
    ax.set_xticks(range(len(columns)), [_plain(uprights[d], d) for d in columns.tolist()])
    ax.xaxis.tick_top()
    ax.tick_params(length=0, labelsize=8, labelcolor=INK)
    for label in ax.get_xticklabels():
        label.set(rotation=55, ha="left", va="bottom", rotation_mode="anchor")
    for edge in ax.spines.values():
        edge.set_color(FAINT)
    # Lines between the cells: neighbours of the same colour stay two.
    ax.set_xticks(np.arange(len(columns) - 1) + 0.5, minor=True)
    ax.set_yticks(np.arange(len(rows) - 1) + 0.5, minor=True)
    ax.grid(which="minor", color="#e6e9ec", linewidth=0.8)
    ax.tick_params(which="minor", length=0)


def _plain(names: list[str], cluster: int) -> str:
    """Names of a cluster as a label; dollar signs are no formulas."""
    text = ", ".join(names) if names else "(empty)"
    return f"{text}  {cluster}".replace("$", r"\$")


def _write_figures(ax: Axes, phi: Array, shade: Array) -> None:
    for (i, j), value in np.ndenumerate(phi):
        colour = "white" if shade[i, j] > 0.6 else INK
        text = f"{value:.1f}" if value < 9.95 else f"{value:.0f}"
        ax.text(j, i, text, ha="center", va="center", fontsize=7, color=colour)


def _scale(figure: Figure, ax: Axes, image: AxesImage, least: float, most: float) -> None:
    ticks = np.arange(int(least), int(most) + 1)
    names = [f"{2.0**t:g}" for t in ticks.tolist()]
    bar = figure.colorbar(image, ax=ax, shrink=0.7, pad=0.02, ticks=ticks)
    bar.ax.set_yticklabels(names, fontsize=8, color=INK)
    bar.ax.tick_params(length=0)
    bar.outline.set_visible(False)
    bar.set_label("times as often as by chance", fontsize=8, color=INK)
