"""Queries as counts over the columns of an index."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from isotherm.data.counts import Counts, as_counts
from isotherm.datasets._stopwords import ENGLISH
from isotherm.errors import IsothermError
from isotherm.retrieval.forms import stem
from isotherm.text.options import SHORT, TELLING

WORD, ALL_WORDS = re.compile(r"\b\w\w+\b"), re.compile(r"\w+")
Analyzer = Callable[[str], Sequence[str]]


# Words in quotes, or one word, after a minus or not.
QUOTED = re.compile(r'(?:(?<!\S)(-))?"([^"]*)"')
MINUS = re.compile(r"(?<!\S)-(?=\w)(\S+)")
STOP_WORDS = (ENGLISH - TELLING) | SHORT


class Query(NamedTuple):
    """`matrix` (1, J) csr of known words, the known words in order, and the others.

    Words that no column has are `stopped` if they say nothing of a subject, such as "the", and
    otherwise `unknown`.
    """

    matrix: sparse.csr_array
    known: tuple[str, ...]
    unknown: tuple[str, ...]
    stopped: tuple[str, ...] = ()


class Request(NamedTuple):
    """What a text asks for: all its words, which of them as phrases, and what must not be there."""

    text: str
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


def parsed(text: str) -> Request:
    """A query with phrases in quotes, and words or phrases after a minus, taken apart."""
    phrases: list[str] = []
    without: list[str] = []

    def quoted(match: re.Match[str]) -> str:
        (without if match[1] else phrases).append(match[2])
        return " " if match[1] else f" {match[2]} "

    def minus(match: re.Match[str]) -> str:
        without.append(match[1])
        return " "

    rest = MINUS.sub(minus, QUOTED.sub(quoted, text))
    given = (tuple(filter(str.strip, one)) for one in (phrases, without))
    return Request(rest, *given)


def in_order(words: Sequence[str], text: str) -> bool:
    """Whether a text has these words, in any of their forms, one right after the other."""
    sought = [stem(word) for word in words]
    found = [stem(word) for word in ALL_WORDS.findall(text.lower())]
    starts = (i for i, word in enumerate(found) if sought and word == sought[0])
    return any(found[i : i + len(sought)] == sought for i in starts)


def words_of(text: str) -> list[str]:
    """Lower-case words of two or more letters or digits, in their order."""
    return WORD.findall(text.lower())


def counted(
    query: object,
    names: Sequence[str],
    places: Mapping[str, int],
    analyzer: Analyzer | None,
    forms: Mapping[str, int] | None = None,
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
    forms : mapping, optional
        Column of every stem, for words that are no column, but a form of one.
    """
    if isinstance(query, str):
        return _of_words(list((analyzer or words_of)(query)), places, forms or {}, names)
    if isinstance(query, Sequence) and all(isinstance(word, str) for word in query):
        return _of_words(list(query), places, forms or {}, names)
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


def _of_words(
    words: list[str], places: Mapping[str, int], forms: Mapping[str, int], names: Sequence[str]
) -> Query:
    columns = [places[word] if word in places else forms.get(stem(word), -1) for word in words]
    known = [column for column in columns if column >= 0]
    others = [word for word, column in zip(words, columns, strict=True) if column < 0]
    chosen, counts = np.unique(np.array(known, np.int64), return_counts=True)
    parts = counts.astype(np.float64), (np.zeros(len(chosen), np.int64), chosen)
    matrix = sparse.csr_array(parts, shape=(1, len(names)))
    stopped = dict.fromkeys(word for word in others if word.lower() in STOP_WORDS)
    unknown = dict.fromkeys(word for word in others if word not in stopped)
    named = dict.fromkeys(names[column] for column in known)
    return Query(matrix, tuple(named), tuple(unknown), tuple(stopped))
