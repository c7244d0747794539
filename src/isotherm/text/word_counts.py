"""`WordCounts`: texts to counts with names, as the first step of a pipeline of scikit-learn."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from isotherm.data.base import Array
from isotherm.data.counts import Counts
from isotherm.errors import IsothermError
from isotherm.text.ingest import count_words

# Nothing is chosen where the columns are given.
NO_LIMITS: dict[str, object] = {"min_df": 1, "max_df": 1.0, "max_features": None}


class WordCounts(TransformerMixin, BaseEstimator):
    r"""Transformer of texts to `Counts` whose columns are named by their words.

    What a word is, which words stay and in which order is that of `count_words`, whose settings
    these are. The estimators of isotherm know the words of what it gives them; those of a matrix
    without names, such as that of scikit-learn's CountVectorizer, they can only number. Words that
    were not met in `fit` are left out in `transform`.

    Parameters
    ----------
    lowercase, token_pattern, tokenizer, min_length, stop_words, min_df, max_df, max_features, \
ngrams, stemmer, vocabulary, text_column, id_column, n_jobs
        As in `isotherm.count_words`.

    Attributes
    ----------
    words_ : ndarray of object, (J,)
        The columns: words in the order of the alphabet, or of `vocabulary`.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from isotherm import AspectModel, WordCounts
    >>> texts = ["sun and moon", "moon and star", "bread and salt", "salt and fish"] * 10
    >>> pipe = make_pipeline(WordCounts(stop_words=["and"]), AspectModel(2, random_state=0))
    >>> sorted(words[0] for words in pipe.fit(texts)[-1].top_words(1))
    ['moon', 'salt']
    """

    def __init__(
        self,
        *,
        lowercase: bool = True,
        token_pattern: str | None = None,
        tokenizer: Callable[[str], Iterable[str]] | None = None,
        min_length: int = 2,
        stop_words: str | os.PathLike[str] | Iterable[str] | None = None,
        min_df: int | float = 1,
        max_df: int | float = 1.0,
        max_features: int | None = None,
        ngrams: tuple[int, int] = (1, 1),
        stemmer: str | None = None,
        vocabulary: str | os.PathLike[str] | Iterable[str] | None = None,
        text_column: str | Sequence[str] | None = None,
        id_column: str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.lowercase = lowercase
        self.token_pattern = token_pattern
        self.tokenizer = tokenizer
        self.min_length = min_length
        self.stop_words = stop_words
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.ngrams = ngrams
        self.stemmer = stemmer
        self.vocabulary = vocabulary
        self.text_column = text_column
        self.id_column = id_column
        self.n_jobs = n_jobs

    def fit(self, X: object, y: object = None) -> Self:
        """Choose the columns.

        Parameters
        ----------
        X : iterable of str, (I,), or what else `count_words` takes but paths
        y : ignored

        Returns
        -------
        self
        """
        self._learn(X)
        return self

    def fit_transform(self, X: object, y: object = None) -> Any:
        """Counts of the texts, (I, J), from one pass over them; see `fit` and `transform`."""
        return self._given_out(self._learn(X))

    def transform(self, X: object) -> Any:
        """Counts of texts over the columns of the fit, (I, J); other words are left out.

        `set_output(transform="pandas")` makes a frame of them.
        """
        check_is_fitted(self)
        fixed = {**NO_LIMITS, "vocabulary": self.words_.tolist()}
        return self._given_out(self._counted(X, fixed))

    def get_feature_names_out(self, input_features: object = None) -> Array:
        """The words, (J,); `input_features` is ignored."""
        check_is_fitted(self)
        return np.array(self.words_, dtype=object)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Path of the file that was written; see `isotherm.save`."""
        from isotherm.io import store

        return store.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The transformer that `save` wrote; see `isotherm.load`."""
        from isotherm.format import values
        from isotherm.io import store

        found: Self = values.expect(store.load(path), cls, path)
        return found

    def _learn(self, X: object) -> Counts:
        counts = self._counted(X, {})
        assert counts.column_names is not None
        self.words_ = counts.column_names
        return counts

    def _counted(self, X: object, instead: Mapping[str, object]) -> Counts:
        if isinstance(X, str | os.PathLike):
            raise IsothermError(
                f"X is {str(X)!r:.100}; WordCounts takes texts, one for each row: give a list of "
                "them, or read_documents(path) for those of a file or folder"
            )
        # Strings of numpy and pandas as plain ones, which are counted faster.
        texts = X.tolist() if hasattr(X, "tolist") and getattr(X, "ndim", 1) == 1 else X
        settings = self.get_params(deep=False) | dict(instead)
        # A text that cannot be read must not take its row away.
        try:
            return count_words(texts, errors="raise", **settings).counts
        except IsothermError as error:
            # `errors` is not a setting here: no advice about it.
            if error.parameter != "errors":
                raise
            raise IsothermError(error.message) from error

    def _given_out(self, counts: Counts) -> Any:
        """Counts, or the array that scikit-learn makes a frame of."""
        chosen = getattr(self, "_sklearn_output_config", {})  # what `set_output` leaves here
        asked = chosen.get("transform", get_config()["transform_output"])
        return counts if asked == "default" else counts.matrix.toarray()

    def __sklearn_tags__(self) -> Any:
        """Texts, no table."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags
