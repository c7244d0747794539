"""Which columns of a table of words stay: stems, a fixed vocabulary, limits on frequency."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from isotherm._types import Array
from isotherm.errors import IsothermError
from isotherm.kernels.cpu.tokens import Rows, sort_rows
from isotherm.text.counting import Counted, distinct
from isotherm.text.options import CountOptions


class Selected(NamedTuple):
    """Canonical counts (I, J) with their words, and what was left out of them."""

    matrix: sparse.csr_array
    names: list[str]
    dropped_words: int
    unknown_words: int
    unknown_tokens: float


def select(counted: Counted, options: CountOptions) -> Selected:
    """The columns that the settings choose, in the order of the alphabet or of the vocabulary."""
    if options.stem is not None:
        counted = _stemmed(counted, options.stem)
    if options.columns is not None:
        return _fixed(counted, options.columns, options.n_threads)
    rows, members = counted.rows, counted.members
    kept = _kept(rows, len(members), options)
    matrix = _columns(rows, kept, len(members), options.n_threads)
    names = _names(counted.words, members[kept])
    return Selected(matrix, names, len(members) - len(names), 0, 0.0)


def _names(words: list[str], members: NDArray[np.int32]) -> list[str]:
    """Names of columns: words with a blank between them."""
    if members.shape[1] == 1:
        return [words[i] for i in members[:, 0].tolist()]
    return [" ".join([words[i] for i in run if i >= 0]) for run in members.tolist()]


def _stemmed(counted: Counted, stem: Callable[[list[str]], list[str]]) -> Counted:
    """The same with stems for words; columns that become the same are added up."""
    # A rule of the caller may make words with blanks in them: each part has its stem.
    parts = [word.split(" ") for word in counted.words]
    plain = sorted({part for run in parts for part in run})
    stem_of = dict(zip(plain, stem(plain), strict=True))
    found = [" ".join([stem_of[part] for part in run]) for run in parts]
    stems = sorted(set(found))
    rank = {name: i for i, name in enumerate(stems)}
    ranks = np.array([*(rank[name] for name in found), -1], np.int32)
    members, number = distinct(ranks[counted.members])
    rows = counted.rows._replace(indices=number[counted.rows.indices])
    return Counted(_added_up(rows, len(members)), stems, members)


def _added_up(rows: Rows, n_columns: int) -> Rows:
    shape = (len(rows.indptr) - 1, n_columns)
    matrix = sparse.csr_array((rows.counts, rows.indices, rows.indptr), shape=shape)
    matrix.sum_duplicates()
    return Rows(matrix.indptr, matrix.indices, matrix.data)


def _kept(rows: Rows, n_columns: int, options: CountOptions) -> NDArray[np.int64]:
    """Numbers of the columns within the limits of frequency, ascending."""
    n_documents = len(rows.indptr) - 1
    low, high = (
        limit if isinstance(limit, int) else limit * n_documents
        for limit in (options.min_df, options.max_df)
    )
    if high < low:
        raise IsothermError(
            f"max_df={options.max_df!r} means fewer documents than min_df={options.min_df!r}, of "
            f"{n_documents}; no word could stay. Raise the one or lower the other.",
            parameter="max_df",
            also=("min_df",),
        )
    within = np.bincount(rows.indices, minlength=n_columns)
    kept = np.flatnonzero((within >= low) & (within <= high))
    if options.max_features is not None and len(kept) > options.max_features:
        total = np.bincount(rows.indices, weights=rows.counts, minlength=n_columns)
        # Of equally frequent words the first of the alphabet stay.
        best = np.argsort(-total[kept], kind="stable")[: options.max_features]
        kept = np.sort(kept[best])
    if not len(kept):
        found = f"; words stand in {within.min()} to {within.max()} of them" if n_columns else ""
        raise IsothermError(
            f"no word is left of {n_columns} in {n_documents} documents{found}. Give documents "
            "with words, fewer stop words, or wider limits (min_df, max_df, min_length).",
            parameter="min_df",
            also=("max_df", "min_length"),
        )
    return kept


def _fixed(counted: Counted, vocabulary: tuple[str, ...], n_threads: int) -> Selected:
    rows = counted.rows
    number = {name: i for i, name in enumerate(_names(counted.words, counted.members))}
    kept = np.array([number.get(name, -1) for name in vocabulary], np.int64)
    known = np.zeros(len(number), bool)
    known[kept[kept >= 0]] = True
    matrix = _columns(rows, kept, len(number), n_threads)
    lost = float(rows.counts[~known[rows.indices]].sum(dtype=np.float64))
    n_unknown = int((~known).sum())
    return Selected(matrix, list(vocabulary), n_unknown, n_unknown, lost)


def _columns(
    rows: Rows, kept: NDArray[np.int64], n_columns: int, n_threads: int
) -> sparse.csr_array:
    """The chosen columns in the chosen order (-1: an empty one), sorted within rows."""
    target = np.full(n_columns, -1, np.int32)
    there = kept >= 0
    target[kept[there]] = np.flatnonzero(there)
    chosen = rows._replace(indices=target[rows.indices])
    stays = chosen.indices >= 0
    if not stays.all():
        before = np.concatenate([[0], np.cumsum(stays)])
        chosen = Rows(before[rows.indptr], chosen.indices[stays], rows.counts[stays])
    shape = (len(rows.indptr) - 1, len(kept))
    if chosen.counts.dtype == np.int32:
        sort_rows(chosen, n_threads)
        return sparse.csr_array((_floats(chosen.counts), *chosen[1::-1]), shape=shape)
    matrix = sparse.csr_array((chosen.counts, *chosen[1::-1]), shape=shape)
    matrix.sort_indices()
    return matrix


def _floats(counts: Array) -> Array:
    """Counts in float32 if that holds all of them, else in float64."""
    small = counts.max(initial=0) <= 1 << 24
    return counts.astype(np.float32 if small else np.float64)
