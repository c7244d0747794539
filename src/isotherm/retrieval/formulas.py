"""Scores of documents for queries, without a table of documents x words.

The vector of a document interpolates between its words and its topics (Hofmann & Puzicha 1998,
eqs. 49-50): P_l(y|x) = (1 - l) e(y|x) + l m(y|x), with e = n(x, y) / n(x) and m = theta P'. Cosines
of such vectors need theta, P and the non-zeros of e only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from isotherm.data.base import Array

# Columns of the counts that are filled up by the topics at a time.
COLUMNS = 64


class Rows(NamedTuple):
    """Documents or queries: `words` (I, J) csr, rows sum to one or are empty; `theta` (I, K)."""

    words: sparse.csr_array
    theta: Array


class Vectors(NamedTuple):
    """What cosines read of rows: their words, theta, `mixed` = e W P (I, K) and lengths (I,)."""

    words: sparse.csr_array
    theta: Array
    mixed: Array
    length: Array


def distributions(matrix: sparse.csr_array) -> sparse.csr_array:
    """e(y|x) = n(x, y) / n(x), (I, J); an empty row stays empty."""
    csr = matrix.astype(np.float64)
    total = csr.sum(axis=1)
    csr.data /= np.repeat(total, np.diff(csr.indptr))
    return csr


def idf(in_documents: Array, n_documents: int) -> Array:
    """-log f_y, f_y the share of documents with column y; 0 for columns of none, (J,)."""
    share = in_documents / max(n_documents, 1)
    return np.asarray(-np.log(np.where(share > 0, share, 1.0)))


def bm25_idf(in_documents: Array, n_documents: int) -> Array:
    """log(1 + (I - I_y + 1/2) / (I_y + 1/2)), I_y documents with column y; 0 if none, (J,)."""
    odds = (n_documents - in_documents + 0.5) / (in_documents + 0.5)
    return np.where(in_documents > 0, np.log1p(odds), 0.0)


class Space(NamedTuple):
    """Weighted words and topics: `squares` (J,) w^2, `topics` (J, K) P, `gram` (K, K) P' W P."""

    squares: Array
    topics: Array
    gram: Array

    @classmethod
    def of(cls, weights: Array, topics: Array) -> Space:
        """Space of words with weights w (J,)."""
        squares = weights**2
        return cls(squares, topics, topics.T @ (squares[:, None] * topics))


def vectors(rows: Rows, space: Space, share: float) -> Vectors:
    """Rows ready for cosines of w P_l; `share` is l.

    |w P_l|^2 = (1-l)^2 e W e + 2 l (1-l) e W m + l^2 theta G theta, W = diag(w^2), G = P' W P.
    """
    weighted = rows.words * space.squares[None, :]
    mixed = np.asarray(weighted @ space.topics)
    own = np.asarray((weighted * rows.words).sum(axis=1)).ravel()
    cross = np.einsum("ik,ik->i", mixed, rows.theta)
    model = np.einsum("ik,ik->i", rows.theta @ space.gram, rows.theta)
    rest = 1.0 - share
    square = rest**2 * own + 2 * share * rest * cross + share**2 * model
    return Vectors(rows.words, rows.theta, mixed, np.sqrt(np.maximum(square, 0.0)))


def cosines(
    documents: Vectors, queries: Vectors, space: Space, share: float, query_share: float
) -> Array:
    """Cosines of w P_l(.|x) and w P_lq(.|q), (Q, I), by products of width K (eq. 49)."""
    rest, query_rest = 1.0 - share, 1.0 - query_share
    weighted = queries.words * space.squares[None, :]
    dot = rest * query_rest * (weighted @ documents.words.T).toarray()
    dot += share * query_rest * (queries.mixed @ documents.theta.T)
    dot += share * query_share * ((queries.theta @ space.gram) @ documents.theta.T)
    dot += rest * query_share * (queries.theta @ documents.mixed.T)
    lengths = np.outer(queries.length, documents.length)
    cosine = np.divide(dot, lengths, out=np.zeros_like(dot), where=lengths > 0)
    return np.asarray(np.clip(cosine, 0.0, 1.0))


class Saturation(NamedTuple):
    """BM25's damping of counts: c (k1 + 1) / (c + half), `half` (I,) k1 (1 - b + b n(x) / mean)."""

    k1: float
    half: Array

    @classmethod
    def of(cls, lengths: Array, k1: float, b: float) -> Saturation:
        """Damping of documents of these lengths n(x), (I,)."""
        mean = lengths.mean() if lengths.any() else 1.0
        return cls(k1, k1 * (1.0 - b + b * lengths / mean))

    def __call__(self, counts: Array, half: Array) -> Array:
        """Damped counts, of the shape of `counts`."""
        total = counts + half
        damped = np.zeros(total.shape)
        np.divide((self.k1 + 1.0) * counts, total, out=damped, where=total > 0)
        return damped


def filled(
    columns: sparse.csc_array,
    lengths: Array,
    theta: Array,
    topics: Array,
    share: float,
    chosen: Array,
) -> Array:
    """Counts of chosen columns filled up by topics, (I, len(chosen)).

    (1-l) n(x, y) + l n(x) m(y|x): what a document of this length would hold of the word.
    """
    dense = columns[:, chosen].toarray().astype(np.float64)
    if share:
        dense *= 1.0 - share
        dense += share * lengths[:, None] * (theta @ topics[chosen].T)
    return np.asarray(dense)


def bm25(
    columns: sparse.csc_array,
    lengths: Array,
    theta: Array,
    topics: Array,
    share: float,
    saturation: Saturation,
    query_weights: sparse.csr_array,
) -> Array:
    """BM25 of the filled-up counts, (Q, I); share = 0 is BM25 itself.

    Only columns of the queries are filled up, some at a time. `query_weights` (Q, J) are the
    queries' counts times idf.
    """
    by_word = query_weights.tocsc()
    used = np.flatnonzero(np.diff(by_word.indptr))
    scores = np.zeros((query_weights.shape[0], len(lengths)))
    for first in range(0, len(used), COLUMNS):
        chosen = used[first : first + COLUMNS]
        counts = filled(columns, lengths, theta, topics, share, chosen)
        damped = saturation(counts, saturation.half[:, None])
        scores += by_word[:, chosen] @ damped.T
    return scores


class Feedback(NamedTuple):
    """Scores (Q, I) with feedback, and by what the first scores were multiplied, (Q,)."""

    scores: Array
    scale: Array


def feedback(
    scores: Array, topics: Array, words: sparse.csr_array, n_best: int, share: float
) -> Feedback:
    """Scores plus the likeness of documents to the best ones so far.

    The best n documents, weighted by their scores, stand for a longer query; likeness is the sum
    of what topics and words say. Both scores are divided by their standard deviation over
    documents and interpolated.

    Parameters
    ----------
    scores : (Q, I)
        Not negative.
    topics : (I, K)
        Rows whose products are likenesses: sqrt(theta), so that a product is the mean over
        models of the affinity sum_a sqrt(P(a|x) P(a|x')).
    words : (I, J) csr
        Rows of length 1, whose products are cosines.
    n_best : int
    share : float
        Weight of the likeness.
    """
    best = np.argsort(-scores, axis=1, kind="stable")[:, :n_best]
    weight = np.take_along_axis(scores, best, axis=1)
    total = weight.sum(axis=1, keepdims=True)
    weight = np.divide(weight, total, out=np.zeros_like(weight), where=total > 0)
    starts = np.arange(0, best.size + 1, best.shape[1])
    chosen = sparse.csr_array((weight.ravel(), best.ravel(), starts), shape=scores.shape)
    alike = (chosen @ topics) @ topics.T + ((chosen @ words) @ words.T).toarray()
    alike -= alike.min(axis=1, keepdims=True)
    scale = (1.0 - share) / _deviation(scores)
    both = scale[:, None] * scores + share * alike / _deviation(alike)[:, None]
    return Feedback(np.where(total > 0, both, 0.0), scale)


def unit_words(words: sparse.csr_array) -> sparse.csr_array:
    """Rows scaled to length 1, (I, J); empty ones stay empty."""
    length = np.sqrt(np.asarray((words * words).sum(axis=1)).ravel())
    inverse = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    return sparse.csr_array(words * inverse[:, None])


def _deviation(scores: Array) -> Array:
    """Standard deviation of every row, 1 where there is none, (Q,)."""
    spread = scores.std(axis=1)
    return np.where(spread > 0, spread, 1.0)
