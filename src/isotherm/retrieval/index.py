"""A search index: documents ranked by their words and by their topics (PLSI)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy import sparse

from isotherm import _checks
from isotherm.data.base import Array
from isotherm.data.counts import Counts, as_counts
from isotherm.errors import IsothermError
from isotherm.retrieval import explain, queries, topics
from isotherm.retrieval.evaluate import ranking
from isotherm.retrieval.queries import Analyzer
from isotherm.retrieval.results import Results
from isotherm.retrieval.scoring import Scorer, SearchSettings
from isotherm.retrieval.topics import TopicTable

__all__ = ["SearchIndex", "SearchSettings"]

# Queries that are scored at a time: the table of these by topics must stay small.
QUERIES = 256


@dataclass(frozen=True, eq=False, repr=False)
class SearchIndex:
    """Documents that can be searched, by words and topics at once; made by `SearchIndex.of`.

    With e(y|x) = n(x, y) / n(x) the words of a document or query, m(y|x) = sum_a P(a|x) P(y|a) what
    its topics expect (the mean over models, if there are several) and l the `interpolation`:

    - method "words" (PLSI-U, H&P eqs. 49-50) compares smoothed words:
      cos(w P_l(.|x), w P_lq(.|q)), P_l = (1-l) e + l m. The weight w multiplies the interpolated
      vector: 1 (tf) or -log of the share of documents with the word (tfidf). The query is smoothed
      like a document (lq = l) or taken as it is (lq = 0).
    - method "topics" (PLSI-Q) adds a cosine in the space of topics to that of the vector space:
      (1-l) cos(w e_x, w e_q) + l cos(P(a|x), P(a|q)), the second a mean over models.
    - weights "bm25" replace the first cosine. By words, the score is BM25 of the counts that topics
      fill up, (1-l) n(x, y) + l n(x) m(y|x), and queries are taken as they are; by topics, it is
      (1-l) BM25 / its upper bound + l cos(P(a|x), P(a|q)).

    l = 0 is the vector space model, or BM25 itself. An empty document or query scores 0; ties are
    in the order of the documents. Nothing of size documents x words is ever formed.

    Attributes
    ----------
    counts : Counts
        The documents (I, J).
    tables : tuple of TopicTable
        Topics of each model.
    theta : (I, K)
        P(a|x) of all models side by side, divided by their number.
    settings : SearchSettings

    Examples
    --------
    >>> import numpy as np
    >>> from isotherm import AspectModel, Counts, SearchIndex
    >>> words = ["wing", "lift", "flow", "heat", "shock", "wave"]
    >>> X = np.kron([[1, 0], [0, 1]], [[4, 3, 2], [3, 4, 0], [2, 0, 4]])
    >>> docs = Counts(X, column_names=words)
    >>> index = SearchIndex.of(AspectModel(2, random_state=0).fit(docs), docs)
    >>> found = index.query("lift of a wing")
    >>> found.documents[:3], found.unknown
    ([1, 0, 2], ('of',))
    """

    counts: Counts
    tables: tuple[TopicTable, ...]
    theta: Array
    settings: SearchSettings

    def __post_init__(self) -> None:
        self.settings.check()
        sizes = [table.word_topic.shape for table in self.tables]
        width = sum(size for _, size in sizes)
        fits = all(columns == self.counts.n_columns for columns, _ in sizes)
        if not sizes or not fits or self.theta.shape != (self.counts.n_rows, width):
            raise IsothermError(
                f"topics of shapes {sizes} and weights of shape {self.theta.shape} do not fit "
                f"counts of shape {self.counts.shape}; make an index by SearchIndex.of"
            )

    @classmethod
    def of(
        cls,
        models: Any,
        counts: Counts,
        *,
        method: str = "words",
        weights: str = "tfidf",
        interpolation: float = 0.5,
        query: str = "smooth",
        k1: float = 1.2,
        b: float = 0.75,
        feedback: int = 0,
        feedback_weight: float = 0.4,
    ) -> Self:
        """Index of documents by the topics of one or several fitted models.

        Parameters
        ----------
        models : AspectModel or sequence of them
            Fitted over the columns of `counts`. Several are averaged, which is better than the
            best of them; they may differ in the number of topics, temperature and seed.
        counts : Counts or counts (I, J)
            Documents to be found. Those that a model was fitted to have the topics of the fit;
            others are folded in.
        method : {"words", "topics"}
        weights : {"tfidf", "tf", "bm25"}
        interpolation : float
            Share l of the model, from 0 to 1. Choose it on queries with known answers.
        query : {"smooth", "raw"}
            Whether topics smooth the query, too; no matter for "bm25" and "topics".
        k1, b : float
            Damping of repeated words and of long documents in BM25.
        feedback : int
            So many of the best documents stand for a longer query: what is like them in its topics
            and words comes up. 0 for none.
        feedback_weight : float
            Share of that likeness in the score; both parts are divided by their standard
            deviation over documents.
        """
        settings = SearchSettings(
            method, weights, interpolation, query, k1, b, feedback, feedback_weight
        )
        settings.check()
        documents = as_counts(counts, allow_empty=True)
        several = list(models) if isinstance(models, Sequence) else [models]
        if not several:
            raise IsothermError("no models were given; give a fitted AspectModel or a list of them")
        tables = tuple(topics.table_of(model) for model in several)
        for model in several:
            topics.check_columns(model, documents)
        if documents.column_names is None and hasattr(several[0], "feature_names_in_"):
            documents = as_counts(
                documents, column_names=several[0].feature_names_in_, allow_empty=True
            )
        theta = topics.side_by_side([topics.weights_in(model, documents) for model in several])
        return cls(documents, tables, theta, settings)

    def add(self, counts: object) -> Self:
        """Index with more documents at the end, folded in; this one stays as it is.

        Shares of documents and lengths are counted anew, the topics stay. Fit them anew when the
        documents are no longer about the same things.

        Parameters
        ----------
        counts : Counts or counts (N, J)
        """
        more = queries.over_columns(counts, self._names)
        matrix = sparse.vstack([self.counts.matrix, more.matrix], format="csr")
        ids = None
        if self.counts.row_names is not None or more.row_names is not None:
            ids = [*_ids(self.counts, 0), *_ids(more, self.counts.n_rows)]
        joined = as_counts(matrix, ids, self.counts.column_names, allow_empty=True)
        theta = np.concatenate([self.theta, self._scorer.folded(more)])
        return type(self)(joined, self.tables, theta, self.settings)

    def with_settings(self, settings: SearchSettings) -> Self:
        """The same documents and topics, scored in another way.

        `index.with_settings(index.settings._replace(interpolation=0.3))` costs next to nothing:
        the way to choose settings on queries with known answers.
        """
        return type(self)(self.counts, self.tables, self.theta, settings)

    def rank(self, query_counts: object) -> Array:
        """Scores of all documents for many queries, (Q, I); `evaluate.ranking` sorts them.

        Parameters
        ----------
        query_counts : Counts or counts (Q, J)
            Over the columns of the index.
        """
        counts = queries.over_columns(query_counts, self._names)
        parts = [
            self._scorer.scores(counts.matrix[first : first + QUERIES].astype(np.float64)).scores
            for first in range(0, counts.n_rows, QUERIES)
        ]
        return np.concatenate(parts)

    def query(
        self, query: object, n: int = 10, *, analyzer: Analyzer | None = None, n_topics: int = 3
    ) -> Results:
        """The best documents for one query, and what brought them up.

        Parameters
        ----------
        query : str, sequence of str, or counts (1, J)
            A text, its words, or its counts over the columns of the index.
        n : int
            Most documents; those of score 0 are left out.
        analyzer : callable, optional
            Words of a text, made as the names of the columns were (stems, for instance). By
            default lower-case words of two or more letters.
        n_topics : int
            Most topics listed for a document.
        """
        _checks.integer("n", n, 1)
        _checks.integer("n_topics", n_topics, 0)
        asked = queries.counted(query, self._names, self._places, analyzer)
        found = self._scorer.scores(asked.matrix)
        best = ranking(found.scores[0])[:n]
        best = best[found.scores[0, best] > 0]
        shares = self._scorer.word_shares(asked.matrix, best) * found.scale[0]
        base = found.base[0, best] * found.scale[0]
        own = self._scorer.folded(as_counts(asked.matrix, allow_empty=True))[0]
        hits = explain.hits(
            best,
            _ids(self.counts, 0),
            found.scores[0, best],
            base,
            [self._names[column] for column in asked.matrix.indices],
            shares,
            explain.shared_topics(self.theta[best], own, self.tables, self._names, n_topics),
        )
        return Results(hits, asked.known, asked.unknown, tuple(own.tolist()))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Path of the file that was written; see `isotherm.save`."""
        from isotherm.io import store

        return store.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The index that `save` wrote; see `isotherm.load`."""
        from isotherm.format import values
        from isotherm.io import store

        found: Self = values.expect(store.load(path), cls, path)
        return found

    def __len__(self) -> int:
        """Number of documents."""
        return self.counts.n_rows

    def __repr__(self) -> str:
        sizes = ", ".join(str(len(table.weight)) for table in self.tables)
        return (
            f"SearchIndex({len(self)} documents, {self.counts.n_columns} words, "
            f"{sizes} topics, {self.settings.weights}, by {self.settings.method})"
        )

    @cached_property
    def _names(self) -> list[str]:
        names = self.counts.column_names
        return [str(name) for name in (range(self.counts.n_columns) if names is None else names)]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: column for column, name in enumerate(self._names)}

    @cached_property
    def _scorer(self) -> Scorer:
        return Scorer(self.counts, self.tables, self.theta, self.settings)


def _ids(counts: Counts, first: int) -> list[str]:
    """Names of the documents, or their positions from `first` on."""
    if counts.row_names is None:
        return [str(row) for row in range(first, first + counts.n_rows)]
    return [str(name) for name in counts.row_names]
