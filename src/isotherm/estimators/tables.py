"""What there is to know of a fitted model, as tables: columns by name, all of one length.

Frames, files and the command line are made of these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from isotherm import _checks
from isotherm.data import convert, frames
from isotherm.data.base import Array
from isotherm.errors import IsothermError
from isotherm.estimators.exports import topic_weights
from isotherm.estimators.fitted import branch_words, node_distributions, topic_tree

if TYPE_CHECKING:
    from isotherm.estimators.counts import CountEstimator
    from isotherm.tree import Tree

# Columns by name: lists (of text, or of numbers some of which may be None), or arrays of numbers.
Columns = dict[str, "list[str] | list[int | None] | list[float | None] | Array"]

WHAT = ("topics", "words", "documents", "tree", "components")


def columns_of(
    model: CountEstimator,
    what: str,
    X: object = None,
    *,
    n_words: int = 10,
    names: object = None,
    row_names: object = None,
) -> Columns:
    """The table of that name; see `Exports.to_frame`."""
    _checks.one_of("what", what, WHAT)
    _checks.integer("n_words", n_words, 1)
    if what == "documents":
        return documents(model, X, row_names)
    if X is not None or row_names is not None:
        raise IsothermError(
            f"what={what!r} with {'X' if X is not None else 'row_names'}; 'documents' alone is "
            "about rows: leave it out",
            parameter="what",
        )
    if what == "topics":
        return topics(model, n_words, names)
    if what == "words":
        return words(model, n_words, names)
    if what == "tree":
        return tree(model, n_words, names)
    return components(model, names)


def topics(model: CountEstimator, n_words: int, names: object) -> Columns:
    """A line per topic: number, name, share, how reproducible it is, words."""
    called = model.names_ if names is None else model._names_by(model._column_names(names))
    table: Columns = {
        "topic": np.arange(len(model.weights_)),
        "name": list(called),
        "share": model.weights_,
    }
    if hasattr(model, "reproducibility_"):
        table["reproducibility"] = np.asarray(model.reproducibility_)
    table["words"] = [" ".join(row) for row in model.top_words(n_words, names=names)]
    return table


def words(model: CountEstimator, n_words: int, names: object) -> Columns:
    """A line per word of each topic, in the order of `top_words`: probability and lift."""
    own = model._column_names(names)
    order = np.array(model.top_words(n_words, names=np.arange(len(own))), dtype=int)
    n_topics, each = order.shape
    probability = np.take_along_axis(model.components_, order, axis=1)
    usual = model.unigram_[order]
    lift = np.divide(probability, usual, out=np.zeros_like(probability), where=usual > 0)
    return {
        "topic": np.repeat(np.arange(n_topics), each),
        "rank": np.tile(np.arange(1, each + 1), n_topics),
        "word": [str(own[j]) for j in order.ravel()],
        "probability": probability.ravel(),
        "lift": lift.ravel(),
    }


def documents(model: CountEstimator, X: object, row_names: object) -> Columns:
    """A line per row: its name, length, topic with the largest weight, weight of each topic."""
    if X is None:
        labels, totals = getattr(model, "row_names_", None), getattr(model, "row_totals_", None)
        weights, clusters = topic_weights(model), model.row_weights_
    else:
        labels = frames.row_labels(X)
        counts = model._counts(X, reset=False)
        labels, totals = counts.row_names if labels is None else labels, counts.row_totals
        clusters = model.transform(counts)
        weights = topic_weights(model, counts)
    if row_names is not None:
        labels = convert.labels(row_names, len(weights), "row_names", "row")
    table: Columns = {"document": _named(labels, len(weights))}
    if totals is not None:
        table["tokens"] = totals
    if hasattr(model, "cluster_centers_"):
        table["cluster"] = clusters.argmax(axis=1)
    table["topic"] = weights.argmax(axis=1)
    return table | {f"topic {k}": weights[:, k] for k in range(weights.shape[1])}


def tree(model: CountEstimator, n_words: int, names: object) -> Columns:
    """A line per node of the tree of topics; parents stand before their children."""
    of = topic_tree(model)
    said, shares = nodes(model, n_words, of, names)
    table: Columns = {
        "node": np.arange(of.n_nodes),
        "parent": [None if parent < 0 else parent for parent in of.parents],
        "component": [of.component(node) for node in range(of.n_nodes)],
    }
    if of.similarities:
        table["similarity"] = [_known(value) for value in of.similarities]
    else:
        table["temperature"] = [_known(value) for value in of.temperatures]
    table["share"] = np.array(shares)
    table["words"] = [" ".join(row) for row in said]
    return table


def nodes(
    model: CountEstimator, n_words: int, tree: Tree, names: object = None
) -> tuple[list[list[str]], list[float]]:
    """Words and share of every node: of a hierarchy its own, else what sets a branch apart."""
    if hasattr(model, "node_words"):
        tokens = model.node_tokens_
        return model.node_words(n_words, names=names), (tokens / tokens.sum()).tolist()
    weights, _ = node_distributions(model, tree)
    return branch_words(model, n_words, tree, names), weights.tolist()


def components(model: CountEstimator, names: object) -> Columns:
    """A line per column of the counts: its name, its probability in each topic."""
    own = model._column_names(names)
    table: Columns = {"word": [str(name) for name in own.tolist()]}
    return table | {f"topic {k}": row for k, row in enumerate(model.components_)}


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _named(labels: Sequence[object] | Array | None, n_rows: int) -> list[str] | Array:
    """Names of rows: text, or numbers where all of them are."""
    if labels is None:
        return np.arange(n_rows)
    found = list(labels)
    if all(isinstance(one, int | np.integer) for one in found):
        return np.array(found)
    return [str(one) for one in found]
