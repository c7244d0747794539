"""Where words occur in a reference: in which documents, or in which windows sliding over texts.

A window of size s stands at every token of a text that has s - 1 more behind it; a text of fewer
tokens is one window. All windows of all texts stand on one axis, document after document. A word
is then a set of disjoint intervals on that axis, however wide the windows are, and words occur
together where their intervals overlap: nothing of the size of windows x words is ever made.
Empty documents do not count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from isotherm.data.base import Array
from isotherm.data.counts import Counts
from isotherm.errors import IsothermError

# Ends of intervals that are looked at together.
SPAN = 200_000
_WORD = re.compile(r"\b\w\w+\b")


class Documents(NamedTuple):
    """1 where a document holds a word, `table` (I, V) by columns; `total` documents."""

    table: sparse.csc_array
    total: int

    def joint(self, words: Array) -> Array:
        """How many documents hold each two of some words, (m, m); the diagonal: each of them."""
        part = self.table[:, words]
        return np.asarray((part.T @ part).toarray())

    @property
    def seen(self) -> bool:
        """Whether any of the words is there."""
        return bool(self.table.nnz)


class Windows(NamedTuple):
    """Intervals [starts, ends) of V words on an axis of `total` windows.

    Those of word v are `starts[offsets[v]:offsets[v + 1]]`, sorted and disjoint.
    """

    starts: Array
    ends: Array
    offsets: Array
    total: int

    def joint(self, words: Array) -> Array:
        """How many windows hold each two of some words, (m, m); the diagonal: each of them."""
        parts = [slice(self.offsets[v], self.offsets[v + 1]) for v in words]
        which = np.repeat(np.arange(len(words)), [part.stop - part.start for part in parts])
        both = [side[part] for side in (self.starts, self.ends) for part in parts]
        return _overlaps(np.concatenate(both), np.tile(which, 2), len(words))

    @property
    def seen(self) -> bool:
        """Whether any of the words is there."""
        return len(self.starts) > 0


def words_of(text: str) -> list[str]:
    """Runs of two or more letters, digits and underscores, in lower case."""
    return _WORD.findall(text.lower())


def documents_of_counts(counts: Counts, columns: Sequence[int]) -> Documents:
    """Rows that hold each of some columns; -1 stands for a column that is not there."""
    known = np.asarray(columns, np.intp)
    chosen = counts.matrix[:, np.maximum(known, 0)].tocsc()
    chosen.data = np.repeat((known >= 0).astype(np.float64), np.diff(chosen.indptr))
    chosen.eliminate_zeros()
    return Documents(chosen, int((counts.row_totals > 0).sum()))


def found_in_texts(
    texts: Iterable[object],
    words: Sequence[str],
    window: int | None,
    tokenizer: Callable[[str], Iterable[str]] | None = None,
) -> Documents | Windows:
    """Windows (None: whole documents) that hold each of some words.

    Parameters
    ----------
    texts : iterable of str or of iterables of str
        Texts that are yet to be split, or their tokens.
    words : sequence of str
    window : int or None
        Tokens of a window.
    tokenizer : callable, optional
        From a text to its tokens; `words_of` by default.
    """
    codes, lengths = _coded(texts, {word: v for v, word in enumerate(words)}, tokenizer)
    if window is None:
        return _documents(codes, lengths, len(words))
    n_windows = np.maximum(lengths - window + 1, 1)
    before = np.concatenate([[0], np.cumsum(lengths)])[:-1]  # tokens of earlier documents
    base = np.concatenate([[0], np.cumsum(n_windows)])  # windows of earlier documents
    found = np.flatnonzero(codes >= 0)
    found = found[np.argsort(codes[found], kind="stable")]
    document = np.searchsorted(before, found, side="right") - 1
    at, last = found - before[document], n_windows[document] - 1
    starts = base[document] + np.minimum(np.maximum(at - window + 1, 0), last)
    ends = base[document] + np.minimum(at, last) + 1
    word = codes[found]
    # Both ends grow along a word, so that an interval overlaps the one before it or none.
    fresh = np.ones(len(found), bool)
    fresh[1:] = (word[1:] != word[:-1]) | (starts[1:] > ends[:-1])
    closing = np.append(np.flatnonzero(fresh)[1:] - 1, len(found) - 1) if len(found) else found
    sizes = np.bincount(word[fresh], minlength=len(words))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return Windows(starts[fresh], ends[closing], offsets, int(base[-1]))


def _documents(codes: Array, lengths: Array, n_words: int) -> Documents:
    document = np.repeat(np.arange(len(lengths)), lengths)
    kept = codes >= 0
    at = (document[kept], codes[kept])
    shape = (len(lengths), n_words)
    table = sparse.csc_array((np.ones(len(at[0])), at), shape=shape)
    table.data[:] = 1.0
    return Documents(table, len(lengths))


def _overlaps(at: Array, which: Array, n_words: int) -> Array:
    """Length over which each two of some words are there, (m, m).

    Parameters
    ----------
    at : (2 n,)
        Starts of intervals, then their ends.
    which : (2 n,)
        The word that each is of.
    n_words : int
    """
    step = np.repeat(np.array([1, -1], np.int8), len(at) // 2)
    order = np.argsort(at, kind="stable")
    at = np.append(at[order], at[order[-1:]])
    joint, carried = np.zeros((n_words, n_words)), np.zeros(n_words, np.int8)
    for lo in range(0, len(order), SPAN):
        part = order[lo : lo + SPAN]
        active = np.zeros((len(part), n_words), np.int8)
        active[np.arange(len(part)), which[part]] = step[part]
        active[0] += carried
        np.cumsum(active, axis=0, out=active)
        carried = active[-1]
        # Between two ends nothing changes. Where several are at one place, the last one counts.
        lengths = np.diff(at[lo : lo + len(part) + 1])
        stays = np.flatnonzero(lengths)
        held = active[stays].astype(np.float64)
        joint += held.T @ (held * lengths[stays, None])
    return joint


def _coded(
    texts: Iterable[object],
    codes: Mapping[str, int],
    tokenizer: Callable[[str], Iterable[str]] | None,
) -> tuple[Array, Array]:
    """Code of every token, -1 for words of no interest, and the length of each document."""
    split = tokenizer or words_of
    found: list[Array] = []
    for number, text in enumerate(texts):
        tokens = list(split(text)) if isinstance(text, str) else _tokens(text, number)
        if tokens:
            found.append(np.array([codes.get(token, -1) for token in tokens], np.int32))
    if not found:
        raise IsothermError("the reference has no text with a word in it; give at least one")
    return np.concatenate(found), np.array([len(part) for part in found], np.int64)


def _tokens(text: object, number: int) -> list[str]:
    tokens = list(text) if isinstance(text, Iterable) else None
    if tokens is None or not all(isinstance(token, str) for token in tokens):
        raise IsothermError(
            f"text {number} of the reference is {text!r:.60}; give Counts, or texts, each a str or "
            "a list of its words"
        )
    return tokens
