"""What a growing run tells: how many components the data support, and what each split is about."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from isotherm import plots
from isotherm.data.base import Array
from isotherm.errors import IsothermError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["how_many", "node_distributions", "split_words"]


def how_many(model: Any, *, figure: Figure | None = None) -> Figure:
    """Figure of the held-out score against the number of components, the chosen one marked.

    Parameters
    ----------
    model : estimator fitted with n_components="auto"
        With something held out.
    figure : matplotlib Figure, optional
        Draw into this (empty) figure instead of a new one.

    Returns
    -------
    matplotlib.figure.Figure
    """
    _check(model)
    scores = {step.n_components: step.heldout for step in model.path_}
    if not all(math.isfinite(score) for score in scores.values()):
        raise IsothermError(
            "nothing was held out when the model grew, so no number of components is better than "
            "another; fit with validation_fraction above 0"
        )
    if figure is None:
        figure = plots.new_figure((7.2, 3.0))
    ax = figure.subplots()
    ax.plot(list(scores), list(scores.values()), color=plots.BLUE, marker="o", markersize=4)
    chosen = model.n_components_
    ax.axvline(chosen, color=plots.RED, linewidth=1.2)
    ax.plot([chosen], [scores[chosen]], color=plots.RED, marker="o", markersize=7)
    ax.annotate(
        f"{chosen} chosen",
        (chosen, max(scores.values())),
        xytext=(-6, 0),
        textcoords="offset points",
        ha="right",
        va="top",
        color=plots.RED,
        fontsize=9,
    )
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.set_xlabel("number of components", color=plots.INK, fontsize=9)
    ax.set_title("held-out perplexity", loc="left", fontsize=10, color=plots.INK)
    plots.style(ax)
    return figure


def node_distributions(model: Any) -> tuple[Array, Array]:
    """Weight (n_nodes,) and distribution (n_nodes, J) of every node: the mean of those below it."""
    _check(model)
    tree = model.tree_
    weights, tables = [], []
    for node in range(tree.n_nodes):
        below = list(tree.components_below(node))
        weight = model.weights_[below]
        weights.append(weight.sum())
        tables.append(weight @ model.components_[below] / max(weight.sum(), 1e-300))
    return np.array(weights), np.array(tables)


def split_words(model: Any, n_words: int = 6) -> list[list[str]]:
    """Words of every node of the tree: those that set it apart from the node above it.

    Ordered by what they add to the Kullback-Leibler divergence from the parent's distribution; for
    the root by probability.
    """
    _, tables = node_distributions(model)
    names, found = model._column_names(), []
    for node, parent in enumerate(model.tree_.parents):
        table = tables[node]
        if parent >= 0:
            ratio = np.divide(table, tables[parent], out=np.ones_like(table), where=table > 0)
            table = table * np.log(ratio)
        order = np.argsort(-table, kind="stable")[:n_words]
        found.append([str(names[j]) for j in order])
    return found


def _check(model: Any) -> None:
    plots.check_fitted(model)
    if not hasattr(model, "path_"):
        raise IsothermError(
            f"the {type(model).__name__} was fitted with n_components={model.n_components}; only "
            "one that grew, with n_components='auto', has a path and a tree"
        )
