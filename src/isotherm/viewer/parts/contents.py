"""Topics, tree and annealing of a model in the words of a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from isotherm.anneal.trace import way
from isotherm.data.base import Array
from isotherm.data.counts import Counts
from isotherm.errors import IsothermError
from isotherm.estimators.outline import node_reproducibility, reproducibility
from isotherm.estimators.words import mean_of as _mean_of
from isotherm.estimators.words import telling, told_by, told_of_nodes
from isotherm.evaluate.matching import similarities
from isotherm.evaluate.word_coherence import coherence
from isotherm.maps.corpus import Cooling, CorpusMap
from isotherm.tree import Tree
from isotherm.viewer.format import CoolingMeta, TopicMeta, TreeMeta, Words

if TYPE_CHECKING:
    from isotherm.estimators.counts import CountEstimator


N_WORDS, N_NODE_WORDS, N_SIMILAR, N_NAME = 20, 10, 5, 3
# Coherence looks at no more non-zeros than this: at a part of the documents, if there are more.
COHERENCE_WORK = 5_000_000


def topics_of(model: CountEstimator, names: list[str], counts: Counts | None) -> list[TopicMeta]:
    """What the page is told of each topic of a model.

    Parameters
    ----------
    model : fitted estimator
    names : list of str (J,)
        The words.
    counts : Counts (I, J), optional
        Where coherence is looked up.
    """
    table, unigram = model.components_, model.unigram_
    alike = similarities(table, table, "hellinger")
    scores, told, known = _coherence(model, counts), told_by(model), reproducibility(model)
    tree = tree_of(model)
    topics: list[TopicMeta] = []
    for k in range(len(table)):
        # Chosen by the damped ratio, which keeps one-off words down; shown by the true one.
        own = _largest(table[k] / (unigram + 1.0 / len(unigram)), N_WORDS)
        lift = np.divide(table[k], unigram, out=np.zeros_like(unigram), where=unigram > 0)
        own = own[np.argsort(-lift[own], kind="stable")]
        near = [int(j) for j in np.argsort(-alike[k], kind="stable") if j != k][:N_SIMILAR]
        topics.append(
            {
                "name": model.names_[k],
                "words": by_scores(told[k], table[k], names, N_WORDS),
                "frequent": listed(table[k], names, N_WORDS),
                "lift": [(names[j], _short(lift[j])) for j in own if table[k, j] > 0],
                "size": float(model.weights_[k]),
                "reproducibility": None if known is None else _number(known[k]),
                "coherence": scores[k],
                "similar": [(j, _short(alike[k, j])) for j in near],
                "node": None if tree is None else tree.leaves[k],
            }
        )
    return topics


def topics_of_map(given: CorpusMap) -> list[TopicMeta]:
    """What a map alone says of its topics: words in their order, without probabilities."""
    return [
        {
            "name": name_of([(word, None) for word in words]),
            "words": [(word, None) for word in words],
            "frequent": [],
            "lift": [],
            "size": float(size),
            "reproducibility": None,
            "coherence": None,
            "similar": [],
            "node": None,
        }
        for words, size in zip(given.top_words, given.topic_sizes, strict=True)
    ]


def name_of(words: Words) -> str:
    """A few words that stand for a topic."""
    return ", ".join(word for word, _ in words[:N_NAME])


def listed(values: Array, names: list[str], number: int) -> Words:
    """The words of the largest values, with them; those of value 0 are left out."""
    return [(names[j], _short(values[j])) for j in _largest(values, number) if values[j] > 0]


def by_scores(scores: Array, table: Array, names: list[str], number: int) -> Words:
    """The words of the largest scores (J,), with their probabilities; those that tell something."""
    found = [j for j in _largest(scores, number) if scores[j] > 0 and table[j] > 0]
    return [(names[j], _short(table[j])) for j in found]


def _largest(values: Array, number: int) -> Array:
    """Where the largest values are, in falling order; lower indices first on ties."""
    number = min(number, len(values))
    least = np.partition(values, len(values) - number)[len(values) - number]
    there = np.flatnonzero(values >= least)
    return there[np.argsort(-values[there], kind="stable")[:number]]


def _short(value: float) -> float:
    """A number with the digits that a page shows."""
    return float(f"{float(value):.4g}")


def _coherence(model: CountEstimator, counts: Counts | None) -> list[float | None]:
    """NPMI of each topic's ten words that are shown first, in whole documents."""
    n_topics, n_columns = model.components_.shape
    nothing: list[float | None] = [None] * n_topics
    if counts is None or n_columns < 2:
        return nothing
    step = -(-counts.nnz // COHERENCE_WORK)
    part = counts if step == 1 else counts.take_rows(np.arange(0, counts.n_rows, step))
    try:
        found = coherence(model, part, "npmi", min(10, n_columns)).per_topic
    except IsothermError:
        return nothing  # none of the words is there
    return [None if math.isnan(value) else _short(value) for value in found]


# The tree ----------------------------------------------------------------------------------------


def tree_of(model: CountEstimator) -> Tree | None:
    """The tree of a model whose topics are its leaves; None where there is none."""
    return _fitting(model, "topic_tree_") or splits_of(model)


def splits_of(model: CountEstimator) -> Tree | None:
    """The record of how the topics of a model came apart; None where there is none."""
    return _fitting(model, "tree_")


def _fitting(model: CountEstimator, name: str) -> Tree | None:
    tree = getattr(model, name, None)
    return tree if isinstance(tree, Tree) and tree.n_leaves == len(model.weights_) else None


def tree_meta(model: CountEstimator, names: list[str]) -> TreeMeta | None:
    """What the page is told of the tree of a model.

    A node is shown by the words that tell it from the rest of what is below the node above it;
    their probabilities are those in the node itself in a hierarchy, and in other trees those in the
    mean of the topics below it.
    """
    tree = tree_of(model)
    if tree is None:
        return None
    own, known = getattr(model, "node_components_", None), node_reproducibility(model, tree)
    words = [
        by_scores(scores, _table_of(model, tree, node), names, N_NODE_WORDS)
        for node, scores in enumerate(told_of_nodes(model, tree))
    ]
    splits = splits_of(model) or Tree((-1,))
    return {
        "kind": "hierarchy" if own is not None else "topics" if tree.similarities else "splits",
        "parents": [*tree.parents],
        "temperatures": [_number(t) for t in tree.temperatures],
        "similarities": [_number(one) for one in tree.similarities],
        "meaning": getattr(model, "similarity_meaning", ""),
        "splits": sorted({t for t in splits.temperatures if math.isfinite(t)}, reverse=True),
        "components": [tree.component(node) for node in range(tree.n_nodes)],
        "words": words,
        "sizes": [
            float(model.weights_[list(tree.components_below(node))].sum())
            for node in range(tree.n_nodes)
        ],
        "reproducibility": [] if known is None else [_number(one) for one in known],
    }


def _table_of(model: CountEstimator, tree: Tree, node: int) -> Array:
    """Distribution (J,) of a node."""
    own = getattr(model, "node_components_", None)
    if own is not None and len(own) == tree.n_nodes:
        return np.asarray(own[node])
    return mean_of(model, tree.components_below(node))


def telling_words(table: Array, above: Array | None, names: list[str]) -> Words:
    """The words that set a distribution (J,) apart from another, with their probabilities.

    By what they add to the Kullback-Leibler divergence; by probability alone where there is
    nothing to be set apart from.
    """
    scores = table if above is None else telling(table[None], above, table[None])[0]
    return by_scores(scores, table, names, N_NODE_WORDS)


def mean_of(model: CountEstimator, components: Sequence[int]) -> Array:
    """Distribution (J,) of some components together, each weighed by its size."""
    return _mean_of(model.components_, model.weights_, components)


# The annealing -----------------------------------------------------------------------------------


def cooling_meta(name: str, cooling: Cooling) -> CoolingMeta:
    """What the page is told of an annealing run."""
    return {
        "name": name,
        "parts": cooling.parts,
        "first_critical": _number(cooling.first_critical),
        "temperature": _number(cooling.temperature),
        "trace": [
            {
                "temperature": _number(record.temperature),
                "free_energy": _number(record.free_energy),
                "log_likelihood": _number(record.log_likelihood),
                "heldout": _number(record.heldout),
                "n_effective": int(record.n_effective),
                "sweeps": int(record.sweeps),
            }
            for record in way(cooling.trace)
        ],
    }


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
