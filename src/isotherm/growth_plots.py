"""How many components the data support, and what the branches of their tree are about."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from isotherm import plots
from isotherm.data.base import Array
from isotherm.errors import IsothermError
from isotherm.tree import Tree

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["how_many", "node_distributions", "split_words", "topic_tree"]


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


def node_distributions(model: Any, tree: Tree | None = None) -> tuple[Array, Array]:
    """Weight (n_nodes,) and distribution (n_nodes, J) of every node: the mean of those below it.

    Parameters
    ----------
    model : fitted estimator with a tree
    tree : Tree, optional
        A tree whose leaves are the components, such as `model.tree_`, the record of the splits; by
        default that of the topics.
    """
    tree = topic_tree(model) if tree is None else tree
    weights, tables = [], []
    for node in range(tree.n_nodes):
        below = list(tree.components_below(node))
        weight = model.weights_[below]
        weights.append(weight.sum())
        tables.append(weight @ model.components_[below] / max(weight.sum(), 1e-300))
    return np.array(weights), np.array(tables)


def split_words(model: Any, n_words: int = 6, tree: Tree | None = None) -> list[list[str]]:
    """Words of every node of the tree: those that set it apart from the node above it.

    Ordered by what they add to the Kullback-Leibler divergence from the parent's distribution; for
    the root by probability.

    Parameters
    ----------
    model : fitted estimator with a tree
    n_words : int
    tree : Tree, optional
        As in `node_distributions`.
    """
    tree = topic_tree(model) if tree is None else tree
    _, tables = node_distributions(model, tree)
    names, found = model._column_names(), []
    for node, parent in enumerate(tree.parents):
        table = tables[node]
        if parent >= 0:
            ratio = np.divide(table, tables[parent], out=np.ones_like(table), where=table > 0)
            table = table * np.log(ratio)
        order = np.argsort(-table, kind="stable")[:n_words]
        found.append([str(names[j]) for j in order])
    return found


def topic_tree(model: Any) -> Tree:
    """The tree of the topics of a model; of one of an older file, that of its splits."""
    plots.check_fitted(model)
    tree: Tree | None = getattr(model, "topic_tree_", getattr(model, "tree_", None))
    if tree is None:
        raise IsothermError(
            f"the {type(model).__name__} has no tree of topics; give an AspectModel, a "
            "OneSidedClustering, a DocumentMixture or a HierarchicalClustering"
        )
    return tree


def _check(model: Any) -> None:
    plots.check_fitted(model)
    if not hasattr(model, "path_"):
        raise IsothermError(
            f"the {type(model).__name__} was fitted with n_components={model.n_components}; only "
            "one that grew, with n_components='auto', has a path"
        )
