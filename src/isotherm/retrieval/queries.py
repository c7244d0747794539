"""Queries as counts over the columns of an index."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from isotherm.data.counts import Counts, as_counts
from isotherm.errors import IsothermError

WORD = re.compile(r"\b\w\w+\b")
Analyzer = Callable[[str], Sequence[str]]


class Query(NamedTuple):
    """`matrix` (1, J) csr of known words, the known words in order, and the unknown ones."""

    matrix: sparse.csr_array
    known: tuple[str, ...]
    unknown: tuple[str, ...]


def words_of(text: str) -> list[str]:
    """Lower-case words of two or more letters or digits, in their order."""
    return WORD.findall(text.lower())


def counted(
    query: object, names: Sequence[str], places: Mapping[str, int], analyzer: Analyzer | None
) -> Query:
    """A query as counts: of a text, of words, or of counts themselves.

    Parameters
    ----------
    query : str, sequence of str, or counts (1, J)
    names : sequence of str, (J,)
    places : mapping
        Column of every name.
    analyzer : callable, optional
        Words of a text, made as those of the columns were; see `words_of`.
    """
    if isinstance(query, str):
        return _of_words(list((analyzer or words_of)(query)), places, len(names))
    if isinstance(query, Sequence) and all(isinstance(word, str) for word in query):
        return _of_words(list(query), places, len(names))
    if isinstance(query, np.ndarray) and query.ndim == 1:
        query = query[None, :]
    counts = over_columns(query, names)
    if counts.n_rows != 1:
        raise IsothermError(
            f"the query has {counts.n_rows} rows; query takes one. Call rank(queries) for many."
        )
    known = tuple(names[column] for column in counts.matrix.indices.tolist())
    return Query(counts.matrix.astype(np.float64), known, ())


def over_columns(given: object, names: Sequence[str]) -> Counts:
    """Counts over the columns of the index, or an error that says how they differ."""
    counts = as_counts(given, allow_empty=True)
    if counts.n_columns != len(names):
        raise IsothermError(
            f"counts of {counts.n_columns} columns for an index of {len(names)}; count over the "
            "columns of the index"
        )
    if counts.column_names is not None and [str(n) for n in counts.column_names] != list(names):
        raise IsothermError(
            "the column names differ from those of the index; count over the same columns in the "
            "same order"
        )
    return counts


def _of_words(words: list[str], places: Mapping[str, int], size: int) -> Query:
    known = [word for word in words if word in places]
    columns, counts = np.unique([places[word] for word in known], return_counts=True)
    rows = np.zeros(len(columns), np.int64)
    data = counts.astype(np.float64)
    matrix = sparse.csr_array((data, (rows, columns.astype(np.int64))), shape=(1, size))
    unknown = dict.fromkeys(word for word in words if word not in places)
    return Query(matrix, tuple(dict.fromkeys(known)), tuple(unknown))
