"""Why a document was found: shared words and shared topics."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from isotherm.data.base import Array
from isotherm.estimators.words import telling
from isotherm.retrieval.results import Hit, TopicShare, WordShare
from isotherm.retrieval.topics import TopicTable

TOP_WORDS = 5
# Topics that are shared by less than this are not worth a line.
LEAST = 0.01


def hits(
    documents: Array,
    names: Sequence[str],
    parts: tuple[Array, Array, Array],
    words: Sequence[str],
    shares: Array,
    topics: list[tuple[TopicShare, ...]],
) -> tuple[Hit, ...]:
    """Hits, best first.

    Parameters
    ----------
    documents : (n,)
    names : sequence of str, (I,)
    parts : tuple of 3 arrays (n,)
        Scores, the part of them that is not feedback, and that of the spectrum in the latter.
    words : sequence of str
    shares : (n, words)
        What every word adds.
    topics : list of n tuples of TopicShare
    """
    found = []
    scores, base, spectrum = parts
    for row, document in enumerate(documents):
        order = np.argsort(-shares[row], kind="stable")
        listed = tuple(
            WordShare(words[i], float(shares[row, i])) for i in order if shares[row, i] > 0
        )
        found.append(
            Hit(
                document=int(document),
                name=names[document],
                score=float(scores[row]),
                words=listed,
                through_topics=float(base[row] - spectrum[row] - shares[row].sum()),
                through_feedback=float(scores[row] - base[row]),
                topics=topics[row],
                through_spectrum=float(spectrum[row]),
            )
        )
    return tuple(found)


def shared_topics(
    theta: Array,
    query_theta: Array,
    tables: tuple[TopicTable, ...],
    names: Sequence[str],
    n_topics: int,
) -> list[tuple[TopicShare, ...]]:
    """Topics that documents (n, K) share with a query (K,), the most shared first."""
    if not tables:
        return [()] * len(theta)
    owner = np.repeat(np.arange(len(tables)), [len(table.weight) for table in tables])
    first = np.searchsorted(owner, np.arange(len(tables)))
    # theta is divided by the number of models; within its model a topic's share is whole.
    shared = np.sqrt(theta * query_theta) * len(tables)

    @cache
    def usual(model: int) -> Array:
        return np.asarray(tables[model].word_topic @ tables[model].weight)

    @cache
    def words(k: int) -> tuple[str, ...]:
        # Sorted once: a topic is shared by many of the documents.
        table = tables[owner[k]]
        column = np.asarray(table.word_topic[:, k - first[owner[k]]], np.float64)[None]
        return _top_words(telling(column, usual(int(owner[k])), column)[0], names)

    result = []
    for row in shared:
        chosen = np.argsort(-row, kind="stable")[:n_topics]
        result.append(
            tuple(
                TopicShare(
                    int(owner[k]),
                    int(k - first[owner[k]]),
                    float(row[k]),
                    words(int(k)),
                )
                for k in chosen
                if row[k] >= LEAST
            )
        )
    return result


def _top_words(column: Array, names: Sequence[str]) -> tuple[str, ...]:
    order = np.argsort(-column, kind="stable")[:TOP_WORDS]
    return tuple(names[j] for j in order if column[j] > 0)
