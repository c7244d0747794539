"""A search index: documents ranked by their words, their spectrum and their topics."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy import sparse

from isotherm import _checks
from isotherm.data.base import Array
from isotherm.data.counts import Counts, as_counts
from isotherm.errors import IsothermError
from isotherm.estimators.aspect import AspectModel
from isotherm.retrieval import combined, explain, forms, near, queries, topics
from isotherm.retrieval.balance import balanced
from isotherm.retrieval.combined import Balance, Combined, Learnt
from isotherm.retrieval.evaluate import ranking
from isotherm.retrieval.forms import Families
from isotherm.retrieval.near import Near
from isotherm.retrieval.queries import Analyzer, Query, Request
from isotherm.retrieval.results import Results
from isotherm.retrieval.scoring import Scorer, SearchSettings
from isotherm.retrieval.spectrum import Spectrum
from isotherm.retrieval.topics import TopicTable

__all__ = ["SearchIndex", "SearchSettings"]

# Queries that are scored at a time: the table of these by topics must stay small.
QUERIES = 256
# Best documents that stand for a longer query by default, and the weight of what is like them.
FEEDBACK, FEEDBACK_WEIGHT = 10, 0.5


@dataclass(frozen=True, eq=False, repr=False)
class SearchIndex:
    """Documents that can be searched; made by `SearchIndex.of`.

    By default the score is combined, with nothing to tune: BM25 of the words, the spectrum of the
    documents (LSI by sublinear tf-idf, averaged over numbers of dimensions) and what topics expect
    (cosines of P(y|x), averaged over the levels of a model), each divided by its standard deviation
    over documents. Spectrum and topics share a weight by how well each finds documents again by
    words that were taken out of them. What is like the best documents comes up, the more they stand
    out the fewer count. A score is in standard deviations above the mean document. Forms of a word
    (price, prices) count as one.

    Two other methods leave all to be set. With e(y|x) = n(x, y) / n(x) the words of a document or
    query, m(y|x) = sum_a P(a|x) P(y|a) what its topics expect (the mean over models, if there are
    several) and l the `interpolation`:

    - method "words" (PLSI-U, H&P eqs. 49-50) compares smoothed words:
      cos(w P_l(.|x), w P_lq(.|q)), P_l = (1-l) e + l m. The weight w multiplies the interpolated
      vector: 1 (tf) or -log of the share of documents with the word (tfidf). The query is smoothed
      like a document (lq = l) or taken as it is (lq = 0).
    - method "topics" (PLSI-Q) adds a cosine in the space of topics to that of the vector space:
      (1-l) cos(w e_x, w e_q) + l cos(P(a|x), P(a|q)), the second a mean over models.
    - weights "bm25" replace the first cosine. By words, the score is BM25 of the counts that topics
      fill up, (1-l) n(x, y) + l n(x) m(y|x), and queries are taken as they are; by topics, it is
      (1-l) BM25 / its upper bound + l cos(P(a|x), P(a|q)).

    There l = 0 is the vector space model, or BM25 itself. Nothing is found by an empty query, and
    an empty document is the last of all; ties are in the order of the documents. Nothing of size
    documents x words is ever formed.

    Attributes
    ----------
    counts : Counts
        The documents (I, J).
    tables : tuple of TopicTable
        Topics of each model.
    theta : (I, K)
        P(a|x) of all models side by side, divided by their number.
    settings : SearchSettings
    learnt : Learnt, optional
        What combined scores read: spectrum, topics of all levels, weights of the parts.

    Examples
    --------
    >>> import numpy as np
    >>> from isotherm import AspectModel, Counts, SearchIndex
    >>> words = ["wing", "lift", "flow", "heat", "shock", "wave"]
    >>> X = np.kron([[1, 0], [0, 1]], [[4, 3, 2], [3, 4, 0], [2, 0, 4]])
    >>> docs = Counts(X, column_names=words)
    >>> index = SearchIndex.of(AspectModel(2, random_state=0).fit(docs), docs)
    >>> found = index.query("lift of wings")
    >>> found.documents, found.words, found.stopped
    ([1, 0], ('lift', 'wing'), ('of',))
    """

    counts: Counts
    tables: tuple[TopicTable, ...]
    theta: Array
    settings: SearchSettings
    learnt: Learnt | None = None

    def __post_init__(self) -> None:
        self.settings.check()
        sizes = [table.word_topic.shape for table in self.tables]
        width = sum(size for _, size in sizes)
        fits = all(columns == self.counts.n_columns for columns, _ in sizes)
        alone = not sizes and self.settings.method != "combined"
        if alone or not fits or self.theta.shape != (self.counts.n_rows, width):
            raise IsothermError(
                f"topics of shapes {sizes} and weights of shape {self.theta.shape} do not fit "
                f"counts of shape {self.counts.shape}; make an index by SearchIndex.of"
            )
        if self.learnt is not None:
            combined.check(self.learnt, self.counts, len(self._families.head))

    @classmethod
    def of(
        cls,
        models: Any,
        counts: Counts,
        *,
        method: str | None = None,
        weights: str | None = None,
        interpolation: float | None = None,
        query: str | None = None,
        k1: float = 1.2,
        b: float = 0.75,
        feedback: int | None = None,
        feedback_weight: float | None = None,
        stem: bool | None = None,
    ) -> Self:
        """Index of documents, by the topics of one or several fitted models.

        Parameters
        ----------
        models : AspectModel, sequence of them, or None
            Fitted over the columns of `counts`. Several are averaged, which is better than the
            best of them; they may differ in the number of topics, temperature and seed. Combined
            scores average the levels of each (`AspectModel("auto")`), and do without topics where
            this is None.
        counts : Counts or counts (I, J)
            Documents to be found. Those that a model was fitted to have the topics of the fit;
            others are folded in.
        method : {"combined", "words", "topics"}, optional
            "combined", unless `weights`, `interpolation` or `query` are given, which are of the
            other two: then "words".
        weights : {"tfidf", "tf", "bm25"}
        interpolation : float
            Share l of the model, from 0 to 1 (0.5). Choose it on queries with known answers.
        query : {"smooth", "raw"}
            Whether topics smooth the query, too; no matter for "bm25" and "topics".
        k1, b : float
            Damping of repeated words and of long documents in BM25.
        feedback : int
            So many of the best documents stand for a longer query: what is like them in its topics
            and words comes up. 0 for none; by default 10 for combined scores, which take one in
            twenty documents at most, and else none.
        feedback_weight : float
            Share of that likeness in the score; both parts are divided by their standard
            deviation over documents. 0.5 for combined scores, else 0.4.
        stem : bool
            Whether combined scores take words of one stem for one word; where columns have names.
        """
        classic = (weights, interpolation, query)
        settings = _settings(method, classic, (k1, b), (feedback, feedback_weight), stem)
        documents = as_counts(counts, allow_empty=True)
        several = _several(models, settings)
        tables = tuple(topics.table_of(model) for model in several)
        for model in several:
            topics.check_columns(model, documents)
        if documents.column_names is None and several and hasattr(several[0], "feature_names_in_"):
            documents = as_counts(
                documents, column_names=several[0].feature_names_in_, allow_empty=True
            )
        theta = np.zeros((documents.n_rows, 0))
        if several:
            theta = topics.side_by_side([topics.weights_in(m, documents) for m in several])
        index = cls(documents, tables, theta, settings)
        if settings.method != "combined":
            return index
        levels = [level for model in several for level in topics.levels_of(model)]
        return replace(index, learnt=index._learn(levels))

    def add(self, counts: object) -> Self:
        """Index with more documents at the end, folded in; this one stays as it is.

        Shares of documents and lengths are counted anew, topics and spectrum stay. Make both anew
        when the documents are no longer about the same things.

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
        learnt = self.learnt
        if learnt is not None:
            learnt = learnt.added(more, combined.merged(more, self._families))
        return type(self)(joined, self.tables, theta, self.settings, learnt)

    def with_settings(self, settings: SearchSettings) -> Self:
        """The same documents and topics, scored in another way.

        `index.with_settings(index.settings._replace(feedback=0))` costs next to nothing:
        the way to choose settings on queries with known answers.
        """
        learnt = self.learnt if settings.stem == self.settings.stem else None
        return type(self)(self.counts, self.tables, self.theta, settings, learnt)

    def rank(self, query_counts: object) -> Array:
        """Scores of all documents for many queries, (Q, I); `evaluate.ranking` sorts them.

        Parameters
        ----------
        query_counts : Counts or counts (Q, J)
            Over the columns of the index.
        """
        counts = queries.over_columns(query_counts, self._names)
        parts = [
            self._ranker.scores(counts.matrix[first : first + QUERIES].astype(np.float64)).scores
            for first in range(0, counts.n_rows, QUERIES)
        ]
        return np.concatenate(parts)

    def query(
        self,
        query: object,
        n: int = 10,
        *,
        analyzer: Analyzer | None = None,
        n_topics: int = 3,
        texts: Sequence[str] | None = None,
    ) -> Results:
        """The best documents for one query, and what brought them up.

        Parameters
        ----------
        query : str, sequence of str, or counts (1, J)
            A text, its words, or its counts over the columns of the index. In a text, documents
            must have all words of a phrase in quotes, and must not have words or phrases after a
            minus: `"oil price" gulf -war`.
        n : int
            Most documents; those that are no better than the mean document are left out.
        analyzer : callable, optional
            Words of a text, made as the names of the columns were (stems, for instance). By
            default lower-case words of two or more letters.
        n_topics : int
            Most topics listed for a document.
        texts : sequence of str, optional
            Texts of the documents: with them, the words of a phrase must follow each other.
        """
        _checks.integer("n", n, 1)
        _checks.integer("n_topics", n_topics, 0)
        if texts is not None and len(texts) != len(self):
            raise IsothermError(
                f"{len(texts)} texts of {len(self)} documents; give one for each, in their order",
                parameter="texts",
            )
        request = queries.parsed(query) if isinstance(query, str) else queries.Request("")
        asked = self._asked(request.text if isinstance(query, str) else query, analyzer)
        found = self._ranker.scores(asked.matrix)
        scores = self._allowed(request, analyzer, texts) * found.scores[0]
        best = ranking(scores)[:n]
        best = best[scores[best] > 0]
        scale = found.scale[0]
        shares = self._ranker.word_shares(asked.matrix, best) * scale
        spectrum = np.zeros(len(best))
        if found.factor is not None and found.spectrum is not None:
            shares *= found.factor[0]
            spectrum = found.spectrum[0, best] * scale
        own = self._theta_of(asked)
        hits = explain.hits(
            best,
            _ids(self.counts, 0),
            (scores[best], found.base[0, best] * scale, spectrum),
            [self._names[column] for column in asked.matrix.indices],
            shares,
            explain.shared_topics(self.theta[best], own, self.tables, self._names, n_topics),
        )
        return Results(hits, asked.known, asked.unknown, tuple(own.tolist()), asked.stopped)

    def similar(self, document: int | str, n: int = 10) -> list[Near]:
        """The documents most like one of them, in words, spectrum and topics.

        Parameters
        ----------
        document : int or str
            Position or name.
        n : int

        Returns
        -------
        list of Near
            Best first, without the document itself; `score` is in standard deviations above the
            mean document.
        """
        _checks.integer("n", n, 1)
        names = _ids(self.counts, 0)
        row = near.position("document", document, names)
        return near.best(near.documents_like(self._combined, row), names, n, {row})

    def similar_words(self, word: str, n: int = 10) -> list[Near]:
        """The words most like one of them: those that are used in documents on the same things.

        Parameters
        ----------
        word : str
            A word of the index, in any form.
        n : int

        Returns
        -------
        list of Near
            Best first, without other forms of the word; `score` is the mean of cosines.
        """
        _checks.integer("n", n, 1)
        known = self.form_of(word)
        if known is None:
            raise IsothermError(
                f"{word!r} is no word of the index; give one of its {self.counts.n_columns} "
                f"columns, {self._names[0]!r} for instance",
                parameter="word",
            )
        family = int(self._families.of[self._places[known]])
        scores, heads, own = near.words_like(self._combined, family), self._families.head, {family}
        found = near.best(scores, [self._names[head] for head in heads], n, own)
        return [one._replace(position=int(heads[one.position])) for one in found]

    def recommend(self, user: int | str, n: int = 10, *, seen: bool = False) -> list[Near]:
        """The columns that a row lacks and most probably would have: items for a user.

        Parameters
        ----------
        user : int or str
            Position or name of a row.
        n : int
        seen : bool
            Whether columns that the row has are recommended as well.

        Returns
        -------
        list of Near
            Best first; `score` is in standard deviations above the mean column.
        """
        _checks.integer("n", n, 1)
        row = near.position("user", user, _ids(self.counts, 0))
        had = self.counts.matrix[[row]].indices.tolist()
        scores = self.recommendations([row])[0]
        return near.best(scores, self._names, n, set() if seen else set(had))

    def recommendations(self, users: Sequence[int]) -> Array:
        """Scores of all columns for some rows, (n, J); see `recommend`."""
        if self._families.are_merged:
            raise IsothermError(
                "the index takes forms of a word for one word, and columns that are recommended "
                "must be told apart; make it by SearchIndex.of(model, counts, stem=False)",
                parameter="stem",
            )
        return near.expected_columns(self._combined, np.asarray(users, np.int64))

    def form_of(self, word: str) -> str | None:
        """The column that is the word or, where scores merge forms of a word, another form."""
        column = self._places.get(word, self._forms.get(forms.stem(word.lower()), -1))
        return None if column < 0 else self._names[column]

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
        how = self.settings.method
        how = how if how == "combined" else f"{self.settings.weights}, by {how}"
        return (
            f"SearchIndex({len(self)} documents, {self.counts.n_columns} words, "
            f"{sizes or 'no'} topics, {how})"
        )

    @cached_property
    def _names(self) -> list[str]:
        names = self.counts.column_names
        return [str(name) for name in (range(self.counts.n_columns) if names is None else names)]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: column for column, name in enumerate(self._names)}

    @cached_property
    def _families(self) -> Families:
        named = self.settings.stem and self.counts.column_names is not None
        totals = self.counts.column_totals
        return Families.by_stem(self._names, totals) if named else Families.each(totals)

    @cached_property
    def _forms(self) -> Mapping[str, int]:
        return forms.by_form(self._names, self._families) if self.settings.stem else {}

    @cached_property
    def _scorer(self) -> Scorer:
        return Scorer(self.counts, self.tables, self.theta, self.settings)

    @cached_property
    def _combined(self) -> Combined:
        learnt = self.learnt or self._learn([])
        return Combined(self.counts, self._families, learnt, self.settings)

    @property
    def _ranker(self) -> Scorer | Combined:
        return self._combined if self.settings.method == "combined" else self._scorer

    def _learn(self, levels: Sequence[AspectModel]) -> Learnt:
        """What combined scores read: of levels, or else of the topics of the index."""
        families = self._families
        spectrum = Spectrum.of(combined.merged(self.counts, families))
        if levels:
            tables = tuple(topics.table_of(level) for level in levels)
            thetas = [topics.weights_in(level, self.counts) for level in levels]
        else:
            tables = self.tables
            ends = np.cumsum([len(table.weight) for table in tables])[:-1]
            thetas = np.split(self.theta * len(tables), ends, axis=1) if tables else []
        learnt = Learnt(spectrum, tables, tuple(thetas), Balance())
        found = balanced(Combined(self.counts, families, learnt, self.settings))
        return learnt._replace(balance=found)

    def _asked(self, query: object, analyzer: Analyzer | None) -> Query:
        return queries.counted(query, self._names, self._places, analyzer, self._forms)

    def _theta_of(self, asked: Query) -> Array:
        """P(a|q) of the shown topics of a query, (K,)."""
        return np.asarray(self._scorer.folded(as_counts(asked.matrix, allow_empty=True))[0])

    def _allowed(
        self, request: Request, analyzer: Analyzer | None, texts: Sequence[str] | None
    ) -> Array:
        """1 for documents with all phrases and nothing they must not have, else 0, (I,)."""
        allowed = np.ones(len(self), bool)
        for phrase in request.phrases:
            allowed &= self._has(phrase, analyzer, texts)
        for phrase in request.without:
            allowed &= ~self._has(phrase, analyzer, texts)
        return allowed.astype(np.float64)

    def _has(self, phrase: str, analyzer: Analyzer | None, texts: Sequence[str] | None) -> Array:
        """Which documents have all words of a phrase, in order where there are texts, (I,)."""
        asked = self._asked(phrase, analyzer)
        if asked.unknown or not asked.known:
            return np.zeros(len(self), bool)
        wanted = np.unique(self._families.of[asked.matrix.indices])
        has = (self._combined.merged[:, wanted] > 0).sum(axis=1)
        found: Array = np.asarray(has).ravel() == len(wanted)
        words = queries.ALL_WORDS.findall(phrase.lower())
        if texts is not None and len(words) > 1:
            for row in np.flatnonzero(found).tolist():
                found[row] = queries.in_order(words, texts[row])
        return found


def _ids(counts: Counts, first: int) -> list[str]:
    """Names of the documents, or their positions from `first` on."""
    if counts.row_names is None:
        return [str(row) for row in range(first, first + counts.n_rows)]
    return [str(name) for name in counts.row_names]


def _several(
    models: AspectModel | Sequence[AspectModel] | None, settings: SearchSettings
) -> list[AspectModel]:
    """The models as a list; no models are fine for combined scores alone, if that is meant."""
    if models is None and settings.method == "combined":
        return []
    several: list[AspectModel] = []
    if isinstance(models, Sequence):
        several.extend(models)
    elif models is not None:
        several.append(models)
    if not several:
        raise IsothermError("no models were given; give a fitted AspectModel or a list of them")
    return several


def _settings(
    method: str | None,
    classic: tuple[str | None, float | None, str | None],
    damping: tuple[float, float],
    feedback: tuple[int | None, float | None],
    stem: bool | None,
) -> SearchSettings:
    """Settings of what was given; what was not is as the method has it."""
    given = any(one is not None for one in classic)
    method = method if method is not None else "words" if given else "combined"
    together = method == "combined"
    if together and given:
        raise IsothermError(
            "weights, interpolation and query are of the methods 'words' and 'topics'; leave them "
            "out for method='combined'",
            parameter="method",
        )
    weights, share, smooth = classic
    settings = SearchSettings(
        method,
        ("bm25" if together else "tfidf") if weights is None else weights,
        0.5 if share is None else share,
        "smooth" if smooth is None else smooth,
        *damping,
        (FEEDBACK if together else 0) if feedback[0] is None else feedback[0],
        (FEEDBACK_WEIGHT if together else 0.4) if feedback[1] is None else feedback[1],
        together if stem is None else stem,
    )
    settings.check()
    return settings
