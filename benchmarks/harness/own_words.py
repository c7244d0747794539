"""Own words added to the topics of any model: what repeats the given half of a document.

The protocol is that of `completion`, with one more part of the prediction: a share g of the words
of the given half. Topic weights are found with it: the first token of a word is of topics, and of
the others a part is repeats, by their share in the other given tokens. Pseudo-counts, share of the
background and g are chosen on validation documents, for every model alike, whether its topics were
fitted with own words or not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from benchmarks.harness import completion
from isotherm import Counts

PSEUDO = (0.5, 1.0, 3.0, 10.0)
OWN = (0.0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)


class Score(NamedTuple):
    """Perplexity of the test halves with own words, and the weight that was chosen."""

    perplexity: float
    own: float


def score(topics: Any, weights: Any, given: completion.Parts) -> Score:
    """Completion perplexity of topics (K, J) with corpus weights (K,) and own words."""
    table = np.ascontiguousarray(np.asarray(topics, np.float64).T)
    table /= table.sum(axis=0)
    prior = np.asarray(weights, np.float64) / np.sum(weights)
    totals = given.train.column_totals
    background = (totals + 0.5) / (totals.sum() + 0.5 * len(totals))
    valid, test = Halves(given.valid, table, prior), Halves(given.test, table, prior)
    tuned = {
        (pseudo, own, share): level
        for pseudo in PSEUDO
        for own in OWN
        for share, level in valid.perplexities(pseudo, own, background, completion.SHARES).items()
    }
    pseudo, own, share = min(tuned, key=tuned.__getitem__)
    return Score(test.perplexities(pseudo, own, background, (share,))[share], own)


class Halves:
    """Halves of documents, topics (J, K) with their weights (K,), and what tokens repeat."""

    def __init__(self, halves: tuple[Counts, Counts], table: Any, prior: Any) -> None:
        self.first, self.second = (half.matrix.tocsr() for half in halves)
        self.table, self.prior = table, prior
        rows = np.repeat(np.arange(self.second.shape[0]), np.diff(self.second.indptr))
        self.rows, totals = rows, np.asarray(self.first.sum(axis=1)).ravel().astype(np.float64)
        same = np.asarray(self.first[rows, self.second.indices]).ravel()
        self.may = totals[rows] > 0
        self.repeats = same / np.maximum(totals[rows], 1.0)
        others = np.repeat(np.maximum(totals - 1.0, 1.0), np.diff(self.first.indptr))
        self.within = np.maximum(self.first.data - 1.0, 0.0) / others

    def perplexities(
        self, pseudo: float, own: float, background: Any, shares: Any
    ) -> dict[float, float]:
        """Perplexity of the second halves with each share of the background."""
        indptr, indices, values = self.first.indptr, self.first.indices, self.first.data
        weights = _folded(
            indptr, indices, values.astype(np.float64), self.within,
            self.table, self.prior, pseudo, own, completion.SWEEPS,
        )  # fmt: skip
        n, columns = self.second.data, self.second.indices
        topics = np.einsum("pk,pk->p", weights[self.rows], self.table[columns])
        g = own * self.may
        predicted = (1.0 - g) * topics + g * self.repeats
        found = {}
        for share in shares:
            p = np.maximum((1 - share) * predicted + share * background[columns], 1e-300)
            found[share] = float(np.exp(-(n @ np.log(p)) / n.sum()))
        return found


@numba.njit(cache=True, parallel=True, fastmath={"reassoc", "contract"})
def _folded(
    indptr: Any,
    indices: Any,
    values: Any,
    repeats: Any,
    table: Any,
    prior: Any,
    pseudo: float,
    own: float,
    sweeps: int,
) -> Any:
    """EM for each document by itself, from the corpus's weights, (I, K)."""
    n_rows, n_topics = len(indptr) - 1, len(prior)
    weights = np.empty((n_rows, n_topics))
    for i in numba.prange(n_rows):
        old, new = prior.copy(), np.empty(n_topics)
        for _ in range(sweeps):
            new[:] = pseudo * prior
            for p in range(indptr[i], indptr[i + 1]):
                j, z = indices[p], 0.0
                for k in range(n_topics):
                    z += old[k] * table[j, k]
                z = max((1.0 - own) * z, 1e-300)
                first = min(values[p], 1.0)
                share = first / z + (values[p] - first) / (z + own * repeats[p])
                share *= 1.0 - own
                for k in range(n_topics):
                    new[k] += share * old[k] * table[j, k]
            total = new.sum()
            for k in range(n_topics):
                old[k] = new[k] / total
        weights[i] = old
    return weights
