"""Words, spectrum and topics together: the score of an index with nothing to tune.

BM25 is good where few documents are meant and the query has their words, the spectrum (LSI) where
a query is about a subject of long documents. Neither is known beforehand, and the sum of the three,
each divided by its standard deviation over documents, is about as good as the best of them.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from isotherm.data.base import Array
from isotherm.data.counts import Counts, as_counts
from isotherm.errors import IsothermError
from isotherm.retrieval import formulas, topics
from isotherm.retrieval.forms import Families
from isotherm.retrieval.scoring import Scored, SearchSettings
from isotherm.retrieval.spectrum import Spectrum, unit_weighted
from isotherm.retrieval.topics import TopicTable

# How fast the weight of the best documents falls with their score, in standard deviations: one that
# stands out stands for the query alone, several about as good do so together.
FALL = 0.7
# Of so many documents one may stand for the query.
ONE_OF = 20


class Balance(NamedTuple):
    """Weights of spectrum and topics; that of the words is 1, and they sum to 2."""

    spectrum: float = 1.0
    topics: float = 1.0

    @property
    def total(self) -> float:
        """Sum of all weights, that of the words with them."""
        return 1.0 + self.spectrum + self.topics


class Learnt(NamedTuple):
    """What a combined score reads besides the counts.

    `spectrum` of the documents, forms of a word merged; `tables` the topics of every level of every
    model; `thetas` for each of them P(a|x) (I, K); `balance` of the parts.
    """

    spectrum: Spectrum
    tables: tuple[TopicTable, ...]
    thetas: tuple[Array, ...]
    balance: Balance

    def added(self, counts: Counts, merged: sparse.csr_array) -> Learnt:
        """The same with more documents at the end, folded in."""
        folded = [topics.fold(table, counts) for table in self.tables]
        thetas = tuple(
            np.concatenate([old, new]) for old, new in zip(self.thetas, folded, strict=True)
        )
        return self._replace(spectrum=self.spectrum.added(merged), thetas=thetas)


class Expected:
    """Words that the topics of one model expect, as short vectors whose products are cosines.

    The cosine of w P(.|x) and w P(.|q), w the weights of the words, is that of R P(a|x) and R
    P(a|q) with R'R = P' W P.
    """

    def __init__(self, table: TopicTable, weights: Array) -> None:
        self.table = table
        weighted = np.asarray(table.word_topic, np.float64) * weights[:, None]
        values, vectors = np.linalg.eigh(weighted.T @ weighted)
        self.root = vectors * np.sqrt(np.maximum(values, 0.0))

    def of(self, theta: Array) -> Array:
        """Vectors of length 1 of rows with weights theta (I, K)."""
        return unit(theta @ self.root)

    def folded(self, counts: Counts) -> Array:
        """Vectors of new rows."""
        return self.of(topics.fold(self.table, counts))


class Combined:
    """Scores by words, spectrum and topics.

    Parameters
    ----------
    counts : Counts, (I, J)
    families : Families
    learnt : Learnt
    settings : SearchSettings
    """

    def __init__(
        self, counts: Counts, families: Families, learnt: Learnt, settings: SearchSettings
    ) -> None:
        self.counts, self.families = counts, families
        self.learnt, self.settings = learnt, settings

    @cached_property
    def merged(self) -> sparse.csr_array:
        """Counts of the documents, forms of a word merged, (I, F)."""
        return merged(self.counts, self.families)

    @cached_property
    def _bm25(self) -> sparse.csc_array:
        """What each word of a query adds to the score of the documents, (I, F)."""
        settings, words = self.settings, self.merged.copy()
        lengths = np.asarray(words.sum(axis=1)).ravel()
        damping = formulas.Saturation.of(lengths, settings.k1, settings.b)
        words.data = damping(words.data, np.repeat(damping.half, np.diff(words.indptr)))
        in_documents = np.bincount(words.indices, minlength=words.shape[1])
        return (words * formulas.bm25_idf(in_documents, words.shape[0])[None, :]).tocsc()

    @cached_property
    def words(self) -> sparse.csr_array:
        """Weighted words of the documents as vectors of length 1, (I, F)."""
        return unit_weighted(self.merged, self.learnt.spectrum.weights)

    @cached_property
    def expected(self) -> list[Expected]:
        """One for each table of topics."""
        weights = self.learnt.spectrum.weights[self.families.of]
        return [Expected(table, weights) for table in self.learnt.tables]

    @cached_property
    def topics(self) -> list[Array]:
        """What topics expect of the documents, for each table of topics (I, K)."""
        pairs = zip(self.expected, self.learnt.thetas, strict=True)
        return [one.of(theta) for one, theta in pairs]

    @cached_property
    def _empty(self) -> Array:
        return np.asarray(np.diff(self.counts.matrix.indptr) == 0)

    # Scoring ---------------------------------------------------------------------------------

    def asked(self, matrix: sparse.csr_array) -> sparse.csr_array:
        """Queries (Q, J), forms of a word merged, (Q, F)."""
        return sparse.csr_array(matrix @ self.families.merge)

    def by_topics(self, asked: sparse.csr_array) -> Array:
        """Mean over tables of the cosines of what topics expect of queries (Q, F), (Q, I)."""
        spread = as_counts(sparse.csr_array(asked @ self.families.spread), allow_empty=True)
        return mean_products([one.folded(spread) for one in self.expected], self.topics)

    def scores(self, matrix: sparse.csr_array) -> Scored:
        """Scores of queries (Q, J), before and after feedback."""
        asked, balance = self.asked(matrix), self.learnt.balance
        words = (asked @ self._bm25.T).toarray()
        factor = 1.0 / deviation(words)
        spectrum = self.learnt.spectrum.alike(self.learnt.spectrum.placed(asked))
        spectrum = balance.spectrum * standardized(spectrum)
        base = factor[:, None] * words + spectrum
        if self.expected:
            base += balance.topics * standardized(self.by_topics(asked))
        base /= balance.total
        found = Scored(
            base.copy(), base, np.ones(len(base)), spectrum / balance.total, factor / balance.total
        )
        n_best = min(self.settings.feedback, self.counts.n_rows // ONE_OF)
        if n_best and self.settings.feedback_weight:
            found = self._again(found, n_best)
        # Documents without words are the last of all, and nothing is found by nothing.
        found.scores[:, self._empty] = np.minimum(found.scores.min(axis=1), 0.0)[:, None]
        found.scores[np.diff(matrix.indptr) == 0] = 0.0
        return found

    def _again(self, first: Scored, n_best: int) -> Scored:
        """Scores with the likeness to the best documents."""
        share = self.settings.feedback_weight
        held = np.where(self._empty, -np.inf, standardized(first.base))
        best = np.argsort(-held, axis=1, kind="stable")[:, :n_best]
        weight = np.take_along_axis(held, best, axis=1)
        weight = np.exp((weight - weight[:, :1]) / FALL)
        starts = np.arange(0, best.size + 1, n_best)
        chosen = sparse.csr_array((weight.ravel(), best.ravel(), starts), shape=held.shape)
        scale = (1.0 - share) / deviation(first.base)
        more = share * standardized(self.likeness(chosen))
        return first._replace(scores=scale[:, None] * first.base + more, scale=scale)

    def likeness(self, chosen: sparse.csr_array) -> Array:
        """How alike documents are to weighted sums of documents (Q, I), (Q, I)."""
        balance, spectrum = self.learnt.balance, self.learnt.spectrum
        found = standardized(((chosen @ self.words) @ self.words.T).toarray())
        even = spectrum.alike(chosen @ unit(spectrum.places))
        found += balance.spectrum * standardized(even)
        if self.topics:
            ours = [unit(chosen @ rows) for rows in self.topics]
            found += balance.topics * standardized(mean_products(ours, self.topics))
        return found / balance.total

    def word_shares(self, matrix: sparse.csr_array, documents: Array) -> Array:
        """What the words of a query (1, J) add to BM25 of documents, (n, words)."""
        chosen = self.families.of[matrix.indices]
        parts = self._bm25[:, chosen].toarray()[documents] * matrix.data
        return np.asarray(parts)


def check(learnt: Learnt, counts: Counts, n_families: int) -> None:
    """Refuse what does not belong to these counts."""
    spectrum, n_rows = learnt.spectrum, counts.n_rows
    width = spectrum.directions.shape[1:]
    thetas = [(n_rows, len(table.weight)) for table in learnt.tables]
    fits = (
        spectrum.weights.shape == (n_families,)
        and spectrum.directions.shape == (n_families, *width)
        and spectrum.places.shape == (n_rows, *width)
        and [theta.shape for theta in learnt.thetas] == thetas
        and all(len(table.word_topic) == counts.n_columns for table in learnt.tables)
    )
    if not fits:
        raise IsothermError(
            f"spectrum or topics do not fit counts of shape {counts.shape}; make an index by "
            "SearchIndex.of"
        )


def merged(counts: Counts, families: Families) -> sparse.csr_array:
    """Counts with the forms of a word merged, (I, F)."""
    found = sparse.csr_array(counts.matrix.astype(np.float64) @ families.merge)
    found.sum_duplicates()
    return found


def unit(rows: Array) -> Array:
    """Rows scaled to length 1; those of none stay."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(length > 0, length, 1.0))


def mean_products(ours: list[Array], theirs: list[Array]) -> Array:
    """Mean over tables of the products of rows, (Q, I)."""
    pairs = zip(ours, theirs, strict=True)
    return np.asarray(sum(one @ two.T for one, two in pairs) / len(ours))


def deviation(scores: Array) -> Array:
    """Standard deviation of every row, 1 where there is none, (Q,)."""
    spread = scores.std(axis=1)
    # Rounding is no difference between documents.
    least = 1e-9 * np.abs(scores).max(axis=1, initial=0.0)
    return np.where(spread > least, spread, 1.0)


def standardized(scores: Array) -> Array:
    """Scores less their mean over documents, divided by their standard deviation, (Q, I)."""
    return np.asarray((scores - scores.mean(axis=1, keepdims=True)) / deviation(scores)[:, None])
