"""Figures of trees: a tree with the words of its nodes, and how a word spreads over a hierarchy.

As in `isotherm.plots`, nothing here shows a window or touches pyplot: every function returns a
matplotlib Figure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isotherm.data.base import Array
from isotherm.errors import IsothermError
from isotherm.estimators.counts import CountEstimator
from isotherm.estimators.fitted import branch_words, check_fitted, topic_tree
from isotherm.estimators.hierarchy import HierarchicalClustering
from isotherm.plots._style import BLUE, FAINT, INK, new_figure
from isotherm.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["tree_words", "word_spread"]

# Inches to a leaf, to a level and for the words of the leaves.
LEAF, LEVEL, MARGIN = 0.24, 2.0, 2.6
# Area of the mark of a node with all tokens of a word, in square points.
LARGEST = 900.0
# Nodes with less than this share of a word are not named.
NAMED = 0.04


class Layout(NamedTuple):
    """Places of the nodes: `x` (A,) levels, `y` (A,) from the first leaf down."""

    x: Array
    y: Array


def tree_words(
    model: CountEstimator,
    *,
    n_words: int = 4,
    by: str = "telling",
    figure: Figure | None = None,
) -> Figure:
    """Figure of the tree of a hierarchy or of topics, from left to right, with words at every node.

    Parameters
    ----------
    model : fitted estimator
        A HierarchicalClustering, or one with a tree of its topics (`topic_tree_`), the similarity
        of whose branches stands in brackets.
    n_words : int
        Words at a node; by default those that tell a branch from the ones beside it. A leaf of a
        tree of topics has its name.
    by : {"telling", "probability", "lift"}
        Which words of a hierarchy; see `HierarchicalClustering.node_words`.
    figure : matplotlib Figure, optional
        Where to draw; a new one that fits the tree by default.
    """
    tree = topic_tree(model)
    own = isinstance(model, HierarchicalClustering)
    words = model.node_words(n_words, by=by) if own else branch_words(model, n_words, tree)
    layout = _layout(tree)
    figure = figure or _figure(tree)
    ax = _axes(figure, tree)
    _draw_branches(ax, tree, layout)
    labels = model.row_weights_.argmax(axis=1)
    counts = np.bincount(labels, minlength=tree.n_leaves)
    for node in range(tree.n_nodes):
        component = tree.component(node)
        text = " ".join(words[node])
        if component is not None and not own:
            text = model.names_[component]
        if component is None:
            if tree.similarities:
                text += f"  ({tree.similarities[node]:.2g})"
            ax.annotate(
                text,
                (layout.x[node], layout.y[node]),
                (3, 3),
                textcoords="offset points",
                color=BLUE,
                fontsize=7,
            )
            continue
        ax.annotate(
            f"{text}  ({counts[component]})",
            (layout.x[node], layout.y[node]),
            (5, 0),
            textcoords="offset points",
            va="center",
            color=INK,
            fontsize=7,
        )
    ax.plot(layout.x, layout.y, "o", color=BLUE, markersize=3)
    title = f"{tree.n_leaves} leaves, rows of each in brackets"
    if tree.similarities:
        title += "; at branches how alike they are"
    ax.set_title(title, fontsize=9, loc="left")
    return figure


def word_spread(
    model: HierarchicalClustering,
    word: object,
    *,
    n_words: int = 3,
    figure: Figure | None = None,
) -> Figure:
    """Figure of how the tokens of a word spread over the tree (Hofmann & Puzicha 1998, Fig. 10).

    The area of a mark is the share of the word's tokens in the node; nodes with a good share are
    named by their own words.

    Parameters
    ----------
    model : fitted HierarchicalClustering
    word : str or int
        Name or number of a column.
    n_words : int
        Words that name a node.
    figure : matplotlib Figure, optional
    """
    _check(model)
    share, tree = model.word_spread(word), model.tree_
    words, layout = model.node_words(n_words, by="lift"), _layout(tree)
    figure = figure or _figure(tree)
    ax = _axes(figure, tree)
    _draw_branches(ax, tree, layout)
    ax.scatter(
        layout.x, layout.y, s=4 + LARGEST * share, color=BLUE, alpha=0.6, linewidths=0, zorder=3
    )
    for node in np.flatnonzero(share >= NAMED):
        leaf = tree.component(int(node)) is not None
        radius = np.sqrt((4 + LARGEST * share[node]) / np.pi)
        ax.annotate(
            f"{share[node]:.0%}  {' '.join(words[node])}",
            (layout.x[node], layout.y[node]),
            (radius + 2, 0) if leaf else (radius + 1, 2),
            textcoords="offset points",
            va="center" if leaf else "bottom",
            color=INK,
            fontsize=7,
            zorder=4,
        )
    ax.set_title(f"tokens of {word!s}, by node", fontsize=9, loc="left")
    return figure


def _check(model: object) -> None:
    if not isinstance(model, HierarchicalClustering):
        raise IsothermError(
            f"{type(model).__name__} has no tree of nodes; give a fitted HierarchicalClustering"
        )
    check_fitted(model)


def _layout(tree: Tree) -> Layout:
    """Leaves one below the other as a walk meets them, inner nodes half-way their children."""
    y = np.zeros(tree.n_nodes)
    stack, met = [0], 0
    while stack:
        node = stack.pop()
        if tree.component(node) is not None:
            y[node], met = -met, met + 1
        stack.extend(reversed(tree.children(node)))
    for node in range(tree.n_nodes - 1, -1, -1):
        children = tree.children(node)
        if children:
            y[node] = (y[children[0]] + y[children[-1]]) / 2
    return Layout(np.array([tree.level(node) for node in range(tree.n_nodes)], float), y)


def _figure(tree: Tree) -> Figure:
    size = (LEVEL * max(1, tree.depth - 1) + MARGIN, LEAF * tree.n_leaves + 0.7)
    return new_figure(size)


def _axes(figure: Figure, tree: Tree) -> Axes:
    ax = figure.subplots()
    levels = max(1, tree.depth - 1)
    ax.set_xlim(-0.05, levels + MARGIN / LEVEL)
    ax.set_ylim(-tree.n_leaves + 0.3, 0.9)
    ax.set_axis_off()
    return ax


def _draw_branches(ax: Axes, tree: Tree, layout: Layout) -> None:
    for node, parent in enumerate(tree.parents):
        if parent >= 0:
            # The words of the parent stand on the long part, before the branches part.
            x, middle = layout.x[parent], layout.x[parent] + 0.92
            ax.plot(
                [x, middle, middle, layout.x[node]],
                [layout.y[parent], layout.y[parent], layout.y[node], layout.y[node]],
                color=FAINT,
                linewidth=1,
                zorder=1,
            )
