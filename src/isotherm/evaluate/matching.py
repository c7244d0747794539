"""Topics of one fit matched with those of another: whether every seed finds the same."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from isotherm import _checks
from isotherm.data.base import Array
from isotherm.errors import IsothermError
from isotherm.evaluate.top_words import topic_table

SIMILARITIES = ("cosine", "hellinger")


class Matching(NamedTuple):
    """Pairs of topics, `first` (m,) with `second` (m,), and how alike they are (m,).

    m is the smaller number of topics. `mean` is over the larger one: a topic without partner
    counts 0.
    """

    first: Array
    second: Array
    similarity: Array
    mean: float


class Stability(NamedTuple):
    """How alike the topics of several fits are.

    Attributes
    ----------
    mean : float
        Over all pairs of fits.
    pairs : (R, R)
        Mean similarity of matched topics of each two fits; 1 on the diagonal.
    per_topic : (K,)
        Of the first fit's topics: mean similarity with their partners in the other fits.
    """

    mean: float
    pairs: Array
    per_topic: Array


def similarities(first: object, second: object, similarity: str = "cosine") -> Array:
    """How alike each topic is to each of another fit, (K, L), from 0 to 1.

    "cosine": `<p, q> / (|p| |q|)`. "hellinger": 1 - H(p, q), H^2 = 1 - sum_y sqrt(p(y) q(y)).

    Parameters
    ----------
    first, second : (K, J) and (L, J) array, or fitted model
        P(y|k); rows are normalised.
    similarity : {"cosine", "hellinger"}
    """
    _checks.one_of("similarity", similarity, SIMILARITIES)
    one, two = topic_table(first, "topics"), topic_table(second, "topics")
    if one.shape[1] != two.shape[1]:
        raise IsothermError(
            f"topics have {one.shape[1]} and {two.shape[1]} columns; both need the same words"
        )
    if similarity == "cosine":
        one, two = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (one, two))
        return np.asarray(np.minimum(one @ two.T, 1.0))
    one, two = (np.sqrt(side / side.sum(axis=1, keepdims=True)) for side in (one, two))
    return np.asarray(1.0 - np.sqrt(np.maximum(1.0 - one @ two.T, 0.0)))


def match_topics(first: object, second: object, similarity: str = "cosine") -> Matching:
    """Topics of two fits paired one to one so that the sum of similarities is largest.

    Hungarian assignment; see `similarities` for what they are.
    """
    table = similarities(first, second, similarity)
    rows, columns = linear_sum_assignment(table, maximize=True)
    found = table[rows, columns]
    return Matching(rows, columns, found, float(found.sum() / max(table.shape)))


def stability(fits: Sequence[object], similarity: str = "cosine") -> Stability:
    """Mean similarity of matched topics over all pairs of fits: 1 if all are the same.

    Parameters
    ----------
    fits : sequence of (K, J) arrays or fitted models, at least two
        Of the same words, with different seeds or samples, say.
    similarity : {"cosine", "hellinger"}
    """
    tables = [topic_table(fit, f"topics of fit {r}") for r, fit in enumerate(fits)]
    if len(tables) < 2:
        raise IsothermError(f"{len(tables)} fit was given; stability compares two or more")
    pairs, own = np.eye(len(tables)), np.zeros(len(tables[0]))
    for r, s in combinations(range(len(tables)), 2):
        found = match_topics(tables[r], tables[s], similarity)
        pairs[r, s] = pairs[s, r] = found.mean
        if r == 0:
            own[found.first] += found.similarity / (len(tables) - 1)
    return Stability(float(pairs[np.triu_indices(len(tables), 1)].mean()), pairs, own)
