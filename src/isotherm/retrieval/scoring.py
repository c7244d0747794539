"""Scores of an index: what they read is computed once, and only if it is needed."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from isotherm import _checks
from isotherm.data.base import Array
from isotherm.data.counts import Counts, as_counts
from isotherm.retrieval import formulas, topics
from isotherm.retrieval.topics import TopicTable

METHODS = ("combined", "words", "topics")


class SearchSettings(NamedTuple):
    """How an index scores; see `SearchIndex`."""

    method: str = "words"
    weights: str = "tfidf"
    interpolation: float = 0.5
    query: str = "smooth"
    k1: float = 1.2
    b: float = 0.75
    feedback: int = 0
    feedback_weight: float = 0.4
    stem: bool = False

    def check(self) -> None:
        """Refuse settings that make no sense."""
        _checks.one_of("method", self.method, METHODS)
        _checks.one_of("weights", self.weights, ("tf", "tfidf", "bm25"))
        _checks.number("interpolation", self.interpolation, 0.0, 1.0)
        _checks.one_of("query", self.query, ("smooth", "raw"))
        _checks.number("k1", self.k1, 0.0)
        _checks.number("b", self.b, 0.0, 1.0)
        _checks.integer("feedback", self.feedback, 0)
        _checks.number("feedback_weight", self.feedback_weight, 0.0, 1.0)
        _checks.flag("stem", self.stem)


class Scored(NamedTuple):
    """Scores (Q, I), those before feedback, and the factor (Q,) of the latter in the former.

    `spectrum` (Q, I) is the part of the latter that the spectrum has, and `factor` (Q,) that of
    the words of the query in it; both are there for combined scores alone.
    """

    scores: Array
    base: Array
    scale: Array
    spectrum: Array | None = None
    factor: Array | None = None


class Scorer:
    """Scores of documents for queries, by the settings of an index.

    Parameters
    ----------
    counts : Counts, (I, J)
    tables : tuple of TopicTable
    theta : (I, K)
    settings : SearchSettings
    """

    def __init__(
        self,
        counts: Counts,
        tables: tuple[TopicTable, ...],
        theta: Array,
        settings: SearchSettings,
    ) -> None:
        self.counts = counts
        self.tables = tables
        self.theta = theta
        self.settings = settings
        # The last query and its weights: one question asks for them several times.
        self._last: tuple[tuple[bytes, bytes], Array] | None = None

    @cached_property
    def _topics(self) -> Array:
        """P(y|a) of all models side by side, (J, K)."""
        return np.concatenate([table.word_topic for table in self.tables], axis=1)

    @cached_property
    def _lengths(self) -> Array:
        return self.counts.row_totals

    @cached_property
    def _columns(self) -> sparse.csc_array:
        return self.counts.matrix.tocsc()

    @cached_property
    def _idf(self) -> Array:
        """Weights w of the words, (J,)."""
        n_rows, n_columns = self.counts.shape
        if self.settings.weights == "tf":
            return np.ones(n_columns)
        in_documents = np.bincount(self.counts.matrix.indices, minlength=n_columns)
        formula = formulas.idf if self.settings.weights == "tfidf" else formulas.bm25_idf
        return formula(in_documents, n_rows)

    @cached_property
    def _saturation(self) -> formulas.Saturation:
        return formulas.Saturation.of(self._lengths, self.settings.k1, self.settings.b)

    @cached_property
    def _space(self) -> formulas.Space:
        # Without topics in the vectors their width is 0, and they cost nothing.
        return formulas.Space.of(self._idf, self._topics[:, : self._width])

    @cached_property
    def _vectors(self) -> formulas.Vectors:
        words = formulas.distributions(self.counts.matrix)
        rows = formulas.Rows(words, self.theta[:, : self._width])
        return formulas.vectors(rows, self._space, self._share)

    @cached_property
    def _unit_words(self) -> sparse.csr_array:
        """Weighted words of the documents as vectors of length 1, (I, J)."""
        words = self.counts.matrix.astype(np.float64)
        if self.settings.weights == "bm25":
            half = np.repeat(self._saturation.half, np.diff(words.indptr))
            words.data = self._saturation(words.data, half)
        return formulas.unit_words(sparse.csr_array(words * self._idf[None, :]))

    @property
    def _share(self) -> float:
        """How much topics smooth the words of a document."""
        return self.settings.interpolation if self.settings.method == "words" else 0.0

    @property
    def _query_share(self) -> float:
        """How much topics smooth the words of a query."""
        return self._share if self.settings.query == "smooth" else 0.0

    @property
    def _width(self) -> int:
        return self.theta.shape[1] if self._share else 0

    # Scoring ---------------------------------------------------------------------------------

    def folded(self, counts: Counts) -> Array:
        """Weights theta of new rows, (N, K)."""
        if not self.tables:
            return np.zeros((counts.n_rows, 0))
        if counts.n_rows != 1:
            return topics.side_by_side([topics.fold(table, counts) for table in self.tables])
        key = counts.matrix.indices.tobytes(), counts.matrix.data.tobytes()
        last = self._last
        if last is None or last[0] != key:
            found = topics.side_by_side([topics.fold(table, counts) for table in self.tables])
            self._last = last = key, found
        return last[1]

    def scores(self, matrix: sparse.csr_array) -> Scored:
        """Scores of queries (Q, J), before and after feedback."""
        base = self._bm25(matrix) if self.settings.weights == "bm25" else self._cosines(matrix)
        if self.settings.method == "topics" and self.settings.interpolation:
            base = self._with_topics(base, matrix)
        # Rows without counts would be mixtures of nothing but P(a).
        base[:, self._lengths == 0] = 0.0
        base[np.diff(matrix.indptr) == 0] = 0.0
        if not self.settings.feedback:
            return Scored(base, base, np.ones(len(base)))
        settings = self.settings
        found = formulas.feedback(
            base, np.sqrt(self.theta), self._unit_words, settings.feedback, settings.feedback_weight
        )
        found.scores[:, self._lengths == 0] = 0.0
        return Scored(found.scores, base, found.scale)

    def _query_vectors(self, matrix: sparse.csr_array) -> formulas.Vectors:
        theta = np.zeros((matrix.shape[0], self._width))
        if self._query_share:
            theta = self.folded(as_counts(matrix, allow_empty=True))
        rows = formulas.Rows(formulas.distributions(matrix), theta)
        return formulas.vectors(rows, self._space, self._query_share)

    def _cosines(self, matrix: sparse.csr_array) -> Array:
        asked = self._query_vectors(matrix)
        return formulas.cosines(self._vectors, asked, self._space, self._share, self._query_share)

    def _bm25(self, matrix: sparse.csr_array) -> Array:
        weighted = sparse.csr_array(matrix * self._idf[None, :])
        found = formulas.bm25(
            self._columns,
            self._lengths,
            self.theta,
            self._topics,
            self._share,
            self._saturation,
            weighted,
        )
        return found if self.settings.method != "topics" else found / self._bound(weighted)[:, None]

    def _bound(self, weighted: sparse.csr_array) -> Array:
        """What BM25 of a query cannot exceed, 1 where that is nothing, (Q,)."""
        most = (self.settings.k1 + 1.0) * np.asarray(weighted.sum(axis=1)).ravel()
        return np.where(most > 0, most, 1.0)

    def _with_topics(self, base: Array, matrix: sparse.csr_array) -> Array:
        theta = self.folded(as_counts(matrix, allow_empty=True))
        mine = topics.unit_rows(theta, self.tables)
        theirs = topics.unit_rows(self.theta, self.tables)
        share = self.settings.interpolation
        return np.asarray((1.0 - share) * base + share * (mine @ theirs.T))

    def word_shares(self, matrix: sparse.csr_array, documents: Array) -> Array:
        """What the words of a query add to the score of documents that have them, (n, words)."""
        chosen = matrix.indices
        counts = self._columns[:, chosen].toarray()[documents].astype(np.float64)
        lengths = self._lengths[documents, None]
        expected = self.theta[documents] @ self._topics[chosen].T
        filled = (1.0 - self._share) * counts + self._share * lengths * expected
        if self.settings.weights == "bm25":
            weighted = sparse.csr_array(matrix * self._idf[None, :])
            half = self._saturation.half[documents, None]
            parts = self._saturation(filled, half) * weighted.data
            parts /= 1.0 if self.settings.method == "words" else self._bound(weighted)[0]
        else:
            asked = self._query_vectors(matrix)
            own = (1.0 - self._query_share) * asked.words.data
            if self._query_share:
                own += self._query_share * (self._topics[chosen] @ asked.theta[0])
            norms = self._vectors.length[documents, None] * asked.length[0]
            parts = filled / lengths * own * self._idf[chosen] ** 2 / np.where(norms > 0, norms, 1)
        if self.settings.method == "topics":
            parts *= 1.0 - self.settings.interpolation
        return np.asarray(np.where(counts > 0, parts, 0.0))
