"""What figures and pages ask of a fitted model: its tree, words of branches, typical rows."""

from __future__ import annotations

import numpy as np

from isotherm.data.base import Array
from isotherm.errors import IsothermError
from isotherm.estimators.base import Annealed
from isotherm.estimators.counts import CountEstimator
from isotherm.estimators.words import told_of_nodes
from isotherm.tree import Tree


def check_fitted(model: object) -> None:
    """Refuse anything but a fitted estimator of isotherm."""
    if not isinstance(model, CountEstimator):
        raise IsothermError(
            f"got {type(model).__name__}; give a fitted estimator such as AspectModel"
        )
    check_trace(model)


def check_trace(model: Annealed) -> None:
    """Refuse an estimator that is not fitted."""
    if not hasattr(model, "trace_"):
        raise IsothermError(f"this {type(model).__name__} is not fitted yet; call fit first")


def node_distributions(model: CountEstimator, tree: Tree | None = None) -> tuple[Array, Array]:
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


def branch_words(
    model: CountEstimator, n_words: int = 6, tree: Tree | None = None, names: object = None
) -> list[list[str]]:
    """Words of every node of the tree: those that tell it from what is beside it.

    Ordered by how much they tell of the rows of the node, next to those of the node above it and to
    all rows: the less of the two counts, so that no word is there that is frequent everywhere. The
    words of the root are the frequent ones.

    Parameters
    ----------
    model : fitted estimator
    n_words : int
    tree : Tree, optional
        As in `node_distributions`.
    names : sequence (J,), optional
        Names of the columns, as in `top_words`.
    """
    tree = topic_tree(model) if tree is None else tree
    own, found = model._column_names(names), []
    for scores in told_of_nodes(model, tree):
        order = np.argsort(-scores, kind="stable")[:n_words]
        found.append([str(own[j]) for j in order])
    return found


def topic_tree(model: object) -> Tree:
    """The tree of the topics of a model; of one of an older file, that of its splits."""
    check_fitted(model)
    tree: Tree | None = getattr(model, "topic_tree_", getattr(model, "tree_", None))
    if tree is None:
        raise IsothermError(
            f"the {type(model).__name__} has no tree of topics; give an AspectModel, a "
            "OneSidedClustering, a DocumentMixture or a HierarchicalClustering"
        )
    return tree


def typical_rows(shares: Array, totals: Array, most: int, least: float = 0.1) -> Array:
    """Rows that show best what a component is about: pure ones, and of these long ones, in order.

    Parameters
    ----------
    shares : (I,)
        What every row has of the component.
    totals : (I,)
        Lengths of the rows.
    most : int
        No more than this.
    least : float
        Only rows with at least this share.
    """
    rows = np.flatnonzero(shares >= least)
    score = shares[rows].astype(np.float64) ** 2 * np.sqrt(totals[rows])
    best: Array = rows[np.argsort(-score, kind="stable")[:most]]
    return best
