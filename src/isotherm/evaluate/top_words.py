"""Topics by their top words: how different they are, and how much their own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata

from isotherm import _checks
from isotherm.data.base import Array
from isotherm.errors import IsothermError
from isotherm.estimators.counts import CountEstimator


def topic_table(topics: object, name: str = "components") -> Array:
    """Topics (K, J) as float64, refused unless finite, not negative and none of them empty."""
    if hasattr(topics, "fit") and not hasattr(topics, "components_"):
        raise IsothermError(
            f"{type(topics).__name__} has no components_; fit it first, or give a table"
        )
    try:
        table = np.asarray(getattr(topics, "components_", topics), np.float64)
    except (TypeError, ValueError) as error:
        raise IsothermError(
            f"{name} cannot be read as numbers ({error}); give a table with a row for each topic "
            "and a column for each word, or a fitted model"
        ) from error
    if table.ndim != 2 or not table.size:
        raise IsothermError(
            f"{name} have shape {table.shape}; give a row for each topic and a column for each word"
        )
    if not (np.isfinite(table).all() and (table >= 0).all() and table.any(axis=1).all()):
        raise IsothermError(
            f"{name} hold negative or infinite numbers, or a topic without words; every topic "
            "needs numbers >= 0, one of them above 0"
        )
    return table


def top_columns(components: object, n_words: int = 10) -> list[Array]:
    """The n_words largest columns of each topic, largest first; lower indices first on ties.

    Of a fitted model of isotherm those that it shows, the most telling first (`top_words`). Columns
    of probability 0 are left out: a topic may have fewer.
    """
    table = topic_table(components)
    _checks.integer("n_words", n_words, 1)
    if n_words > table.shape[1]:
        raise IsothermError(
            f"n_words={n_words}, but topics have {table.shape[1]} columns; ask for fewer",
            parameter="n_words",
        )
    if isinstance(components, CountEstimator):
        shown = components.top_words(n_words, names=range(table.shape[1]))
        order = np.array(shown, dtype=np.intp)
    else:
        order = np.argsort(-table, axis=1, kind="stable")[:, :n_words]
    positive = np.take_along_axis(table, order, axis=1) > 0
    return [row[keep] for row, keep in zip(order, positive, strict=True)]


def word_lists(topics: object, n_words: int) -> list[list[str]] | None:
    """The first words of topics that are lists of different words; None for topics in numbers."""
    given = (
        topics.tolist() if isinstance(topics, np.ndarray) and topics.dtype.kind in "UO" else topics
    )
    if isinstance(given, str):
        raise IsothermError(
            f"topics={given!r:.60}; give a list of lists of words", parameter="topics"
        )
    if not isinstance(given, Sequence):
        return None
    if not any(isinstance(row, str) or _holds_words(row) for row in given):
        return None
    _checks.integer("n_words", n_words, 1)
    for k, row in enumerate(given):
        if (
            isinstance(row, str)
            or not _holds_words(row)
            or not all(isinstance(w, str) for w in row)
        ):
            raise IsothermError(f"topic {k} is {row!r:.60}; give a list of words, each a str")
        if len(set(row)) < len(row):
            raise IsothermError(f"topic {k} has a word twice; list each once")
    return [list(row[:n_words]) for row in given]


def diversity(topics: object, n_words: int = 10) -> float:
    """Share of different words among the top words of all topics, in (0, 1].

    The size of the union of the K lists over the sum of their lengths (Dieng, Ruiz & Blei 2020,
    TACL 8, with n_words=25): 1 where no word is in two lists, 1/K where all lists are the same.

    Parameters
    ----------
    topics : (K, J) array, fitted model, or list of lists of str
    n_words : int
        Words of each topic.
    """
    lists: list[list[str]] | list[list[int]] | None = word_lists(topics, n_words)
    if lists is None:
        lists = [row.tolist() for row in top_columns(topics, n_words)]
    return len(set().union(*lists)) / sum(map(len, lists))


def exclusivity(components: object, n_words: int = 10, *, weight: float = 0.7) -> Array:
    """How frequent and how much its own the top words of each topic are, (K,), in (0, 1].

    Mean over the top words of FREX = 1 / (weight / E_kj + (1 - weight) / F_kj), where F_kj and
    E_kj are the shares of words, of all J, that are no larger in topic k than word j by P(j|k) and
    by P(j|k) / sum_l P(j|l); ties count half (Bischof & Airoldi 2012, ICML; the sum over the top
    words, with weight 0.7, is the exclusivity of Roberts et al. 2014, AJPS 58).

    Parameters
    ----------
    components : (K, J) array or fitted model
        P(y|k); rows are normalised.
    n_words : int
        Words of each topic.
    weight : float
        From 0 (frequency alone) to 1 (exclusivity alone).
    """
    _checks.number("weight", weight, 0.0, 1.0)
    table = topic_table(components)
    top = top_columns(table, n_words)
    table = table / table.sum(axis=1, keepdims=True)
    total = table.sum(axis=0)
    own = np.divide(table, total, out=np.zeros_like(table), where=total > 0)
    found = np.empty(len(table))
    for k, words in enumerate(top):
        share = rankdata(own[k])[words] / table.shape[1]
        frequent = rankdata(table[k])[words] / table.shape[1]
        found[k] = np.mean(1.0 / (weight / share + (1.0 - weight) / frequent))
    return found


def _holds_words(row: object) -> bool:
    return isinstance(row, Sequence) and any(isinstance(word, str) for word in row)
