"""Document completion: one protocol for every topic model, from its topic-word table alone.

Unseen documents are cut into two halves by tokens. Topic weights come from the first half by EM
under fixed topics, with pseudo-counts spread like the corpus's topic weights; the second half is
predicted, mixed with a share of the smoothed unigram distribution. Pseudo-counts and share are
chosen on validation documents, for every model alike. The vocabulary is made of the words of at
least two training documents, as is usual: what no model can know would only blur the comparison.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from isotherm import Counts, split_rows, split_tokens

PSEUDO = (0.2, 0.5, 1.0, 3.0, 10.0, 30.0)
SHARES = (0.0, 0.001, 0.003, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2)
SWEEPS = 50


class Parts(NamedTuple):
    """Training documents and their rows, and halves of validation and test documents."""

    train: Counts
    valid: tuple[Counts, Counts]
    test: tuple[Counts, Counts]
    train_rows: Any


def parts(counts: Counts, seed: int, *, min_documents: int = 2) -> Parts:
    """80 % of the documents to train on, 10 % to tune on, 10 % to test on.

    Words of fewer training documents than `min_documents` are left out.
    """
    rng = np.random.default_rng(seed)
    rows = split_rows(counts, (0.8, 0.1, 0.1), rng)
    documents = (counts.take_rows(rows[0]).matrix > 0).sum(axis=0)
    words = counts.take_columns(np.flatnonzero(np.asarray(documents) >= min_documents))
    train, valid, test = (words.take_rows(part) for part in rows)
    halves = [split_tokens(half, (0.5, 0.5), rng) for half in (valid, test)]
    return Parts(train, (halves[0][0], halves[0][1]), (halves[1][0], halves[1][1]), rows[0])


class Score(NamedTuple):
    """Perplexity of the test halves and the smoothing that the validation documents chose."""

    perplexity: float
    pseudo: float
    share: float


def score(topics: Any, weights: Any, given: Parts) -> Score:
    """Completion perplexity of topics (K, J) with corpus weights (K,)."""
    table = np.ascontiguousarray(np.asarray(topics, np.float64).T)
    table /= table.sum(axis=0)
    prior = np.asarray(weights, np.float64) / np.sum(weights)
    totals = given.train.column_totals
    background = (totals + 0.5) / (totals.sum() + 0.5 * len(totals))
    tuned: dict[tuple[float, float], float] = {}
    for pseudo in PSEUDO:
        found = _predicted(table, fold(table, prior, given.valid[0], pseudo), given.valid[1])
        for share in SHARES:
            tuned[pseudo, share] = _perplexity(found, given.valid[1], background, share)
    pseudo, share = min(tuned, key=tuned.__getitem__)
    found = _predicted(table, fold(table, prior, given.test[0], pseudo), given.test[1])
    return Score(_perplexity(found, given.test[1], background, share), pseudo, share)


def fold(table: Any, prior: Any, half: Counts, pseudo: float) -> Any:
    """Topic weights (I, K) of documents under fixed topics (J, K)."""
    matrix = half.matrix
    return _folded(
        matrix.indptr, matrix.indices, matrix.data.astype(np.float64), table, prior, pseudo, SWEEPS
    )


@numba.njit(cache=True, parallel=True, fastmath={"reassoc", "contract"})
def _folded(
    indptr: Any, indices: Any, values: Any, table: Any, prior: Any, pseudo: float, sweeps: int
) -> Any:
    """EM for each document by itself, from the corpus's weights."""
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
                share = values[p] / max(z, 1e-300)
                for k in range(n_topics):
                    new[k] += share * old[k] * table[j, k]
            total = new.sum()
            for k in range(n_topics):
                old[k] = new[k] / total
        weights[i] = old
    return weights


def _predicted(table: Any, weights: Any, half: Counts) -> Any:
    """Probability of the word of every non-zero, (nnz,)."""
    matrix = half.matrix
    rows = np.repeat(np.arange(half.n_rows), np.diff(matrix.indptr))
    return np.einsum("pk,pk->p", weights[rows], table[matrix.indices])


def _perplexity(predicted: Any, half: Counts, background: Any, share: float) -> float:
    matrix = half.matrix
    p = np.maximum((1 - share) * predicted + share * background[matrix.indices], 1e-300)
    return float(np.exp(-(matrix.data @ np.log(p)) / matrix.data.sum()))
