"""Which columns of a table of words stay: stems, a fixed vocabulary, limits on frequency."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from isotherm.errors import IsothermError
from isotherm.kernels.tokens import Rows, sort_rows
from isotherm.text.options import Words


class Selected(NamedTuple):
    """Canonical counts (I, J) with their words, and what was left out of them."""

    matrix: sparse.csr_array
    names: list[str]
    dropped_words: int
    unknown_words: int
    unknown_tokens: float


def select(rows: Rows, names: list[str], words: Words) -> Selected:
    """The columns that the settings choose, in the order of the alphabet or of the vocabulary.

    `rows.indices` number `names`; a row may hold a column twice only if names repeat.
    """
    words_of_all = names if words.stem is None else _stemmed(names, words)
    order = sorted(set(words_of_all))
    number_of = {name: i for i, name in enumerate(order)}
    numbers = np.array([number_of[name] for name in words_of_all], np.int32)
    rows = rows._replace(indices=numbers[rows.indices])
    if len(order) < len(names):
        rows = _added_up(rows, len(order))
    if words.vocabulary is not None:
        return _fixed(rows, order, words)
    kept = _kept(rows, order, words)
    matrix = _columns(rows, kept, words.n_jobs)
    chosen = [order[i] for i in kept.tolist()]
    return Selected(matrix, chosen, len(order) - len(chosen), 0, 0.0)


def _stemmed(names: list[str], words: Words) -> list[str]:
    assert words.stem is not None
    if words.ngrams == (1, 1):
        return words.stem(names)
    parts = [name.split(" ") for name in names]
    distinct = sorted({part for run in parts for part in run})
    stem_of = dict(zip(distinct, words.stem(distinct), strict=True))
    return [" ".join([stem_of[part] for part in run]) for run in parts]


def _added_up(rows: Rows, n_columns: int) -> Rows:
    shape = (len(rows.indptr) - 1, n_columns)
    matrix = sparse.csr_array((rows.counts, rows.indices, rows.indptr), shape=shape)
    matrix.sum_duplicates()
    return Rows(matrix.indptr, matrix.indices, matrix.data)


def _kept(rows: Rows, order: list[str], words: Words) -> NDArray[np.int64]:
    """Numbers of the columns within the limits of frequency, ascending."""
    n_documents = len(rows.indptr) - 1
    low, high = (
        limit if isinstance(limit, int) else limit * n_documents
        for limit in (words.min_df, words.max_df)
    )
    if high < low:
        raise IsothermError(
            f"max_df={words.max_df!r} means fewer documents than min_df={words.min_df!r}, of "
            f"{n_documents}; no word could stay. Raise the one or lower the other."
        )
    within = np.bincount(rows.indices, minlength=len(order))
    kept = np.flatnonzero((within >= low) & (within <= high))
    if words.max_features is not None and len(kept) > words.max_features:
        total = np.bincount(rows.indices, weights=rows.counts, minlength=len(order))
        # Of equally frequent words the first of the alphabet stay.
        best = np.argsort(-total[kept], kind="stable")[: words.max_features]
        kept = np.sort(kept[best])
    if not len(kept):
        found = f"; words stand in {within.min()} to {within.max()} of them" if order else ""
        raise IsothermError(
            f"no word is left of {len(order)} in {n_documents} documents{found}. Give documents "
            "with words, fewer stop words, or wider limits (min_df, max_df, min_length)."
        )
    return kept


def _fixed(rows: Rows, order: list[str], words: Words) -> Selected:
    vocabulary = words.vocabulary or ()
    place = {name: i for i, name in enumerate(vocabulary)}
    target = np.array([place.get(name, -1) for name in order], np.int32)
    unknown = target[rows.indices] < 0
    kept = np.full(len(vocabulary), -1, np.int64)
    kept[target[target >= 0]] = np.flatnonzero(target >= 0)
    matrix = _columns(rows, kept, words.n_jobs, len(order))
    lost = float(rows.counts[unknown].sum(dtype=np.float64))
    n_unknown = int((target < 0).sum())
    return Selected(matrix, list(vocabulary), n_unknown, n_unknown, lost)


def _columns(
    rows: Rows, kept: NDArray[np.int64], n_jobs: int, n_before: int | None = None
) -> sparse.csr_array:
    """The chosen columns in the chosen order (-1: an empty one), sorted within rows."""
    size = int(kept.max(initial=-1)) + 1 if n_before is None else n_before
    size = max(size, int(rows.indices.max(initial=-1)) + 1)
    target = np.full(size, -1, np.int32)
    there = kept >= 0
    target[kept[there]] = np.flatnonzero(there)
    moved = target[rows.indices]
    stays = moved >= 0
    chosen = rows._replace(indices=moved)
    if not stays.all():
        before = np.concatenate([[0], np.cumsum(stays)])
        chosen = Rows(before[rows.indptr], moved[stays], rows.counts[stays])
    shape = (len(rows.indptr) - 1, len(kept))
    if chosen.counts.dtype == np.int32:
        sort_rows(chosen, n_jobs)
        return sparse.csr_array((_floats(chosen.counts), *chosen[1::-1]), shape=shape)
    matrix = sparse.csr_array((chosen.counts, *chosen[1::-1]), shape=shape)
    matrix.sort_indices()
    return matrix


def _floats(counts: NDArray[Any]) -> NDArray[Any]:
    """Counts in float32 if that holds all of them, else in float64."""
    small = counts.max(initial=0) <= 1 << 24
    return counts.astype(np.float32 if small else np.float64)
