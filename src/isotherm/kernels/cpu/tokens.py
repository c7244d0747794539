"""Counting words of UTF-8 text: tables that grow, around the loops of `_tokens`.

A `Tally` belongs to one thread. What it counts depends on the documents alone; the numbers that
it gives to words depend on the order in which it met them, and mean nothing outside.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isotherm.kernels.base import Array
from isotherm.kernels.cpu.backend import Cpu

if TYPE_CHECKING:
    from types import ModuleType

# Sizes of new tables; each doubles when it is full.
WORDS = 1 << 12
BYTES_PER_WORD = 8
# Slots of a hash table for each key that it may hold.
SPARE = 4
# Rows of one piece of sorting.
PIECE = 4096


class Rows(NamedTuple):
    """Counts of some documents: `indptr` (n + 1,), `indices` (nnz,) unsorted, `counts` (nnz,)."""

    indptr: Array
    indices: Array
    counts: Array


class Tally:
    """Words of documents, or runs of them, and how often each stands in each document.

    Parameters
    ----------
    least : int
        Characters of the shortest word that counts.
    lowercase : bool
        Whether A to Z are counted as a to z. Other letters are the caller's business.
    stop_words : sequence of str
        Words that do not count; each must be a word by the rule of `isotherm.text`.
    ngrams : (int, int)
        Shortest and longest run of words that counts.
    """

    def __init__(
        self,
        least: int = 2,
        lowercase: bool = True,
        stop_words: tuple[str, ...] = (),
        ngrams: tuple[int, int] = (1, 1),
    ) -> None:
        self._loops = _loops()
        self._least = least
        self._ngrams = ngrams
        self._folded = _folded(lowercase)
        self._words = _Table()
        self._starts = np.zeros(WORDS + 1, np.int64)
        self._arena = np.empty(WORDS * BYTES_PER_WORD, np.uint8)
        self._runs = _Table()
        self._members = np.empty((WORDS, ngrams[1]), np.int32)
        self._seen = np.empty(0, np.int32)
        self._place = np.empty(0, np.int32)
        self._documents = 0
        self._n_stop = 0
        if stop_words:
            # The first words that are met have the lowest numbers.
            self._numbers(" ".join(stop_words).encode() + b"\0")
            self._n_stop = self._words.n_keys

    def feed(self, text: bytes, n_documents: int) -> Rows:
        """Counts of documents of which each ends with a zero byte."""
        ids, n = self._numbers(text)
        if self._n_stop:
            n = self._loops.without(ids, n, self._n_stop)
        if self._ngrams != (1, 1):
            return self._counted(*self._gram_numbers(ids, n), n_documents, self._runs)
        rows = self._counted(ids, n, n_documents, self._words)
        rows.indices[:] -= self._n_stop
        return rows

    def words(self) -> list[str]:
        """All words met, by number; stop words come first."""
        used = int(self._starts[self._words.n_keys])
        # Each word in the table ends with a line feed, which is part of none.
        return self._arena[:used].tobytes().decode("utf-8").split("\n")[:-1]

    def members(self) -> Array:
        """Numbers of the words of each column, (G, longest) int32, -1 behind the last."""
        if self._ngrams != (1, 1):
            return self._members[: self._runs.n_keys]
        return np.arange(self._n_stop, self._words.n_keys, dtype=np.int32)[:, None]

    def _numbers(self, text: bytes) -> tuple[Array, int]:
        given = np.frombuffer(text, np.uint8)
        # Bytes below 128 alone need no table of code points.
        wide = _no_code_points() if text.isascii() else word_code_points()
        ids = np.empty(len(given) + 1, np.int32)
        state = np.array([0, 0, self._words.n_keys])
        while not self._loops.tokenize(
            given,
            self._folded,
            wide,
            self._least,
            self._words.slots,
            self._words.hashes,
            self._starts,
            self._arena,
            state,
            ids,
        ):
            self._grow_words(int(state[2]), len(given))
        self._words.n_keys = int(state[2])
        return ids, int(state[1])

    def _grow_words(self, n_words: int, room: int) -> None:
        self._words.n_keys = n_words
        if n_words >= self._words.capacity:
            self._words.grow(self._loops)
            self._starts = _longer(self._starts, self._words.capacity + 1)
        else:
            # Room for any one word of this text; a word may be as long as all of it.
            used = int(self._starts[n_words])
            self._arena = _longer(self._arena, 2 * max(used, WORDS) + min(room, used + room))

    def _gram_numbers(self, ids: Array, n: int) -> tuple[Array, int]:
        shortest, longest = self._ngrams
        out = np.empty((longest - shortest + 1) * n + 1, np.int32)
        state = np.array([0, 0, self._runs.n_keys])
        while not self._loops.grams(
            ids,
            n,
            shortest,
            longest,
            self._runs.slots,
            self._runs.hashes,
            self._members,
            state,
            out,
        ):
            self._runs.n_keys = int(state[2])
            self._runs.grow(self._loops)
            self._members = _longer(self._members, self._runs.capacity)
        self._runs.n_keys = int(state[2])
        return out, int(state[1])

    def _counted(self, ids: Array, n: int, n_documents: int, table: _Table) -> Rows:
        if len(self._seen) < table.capacity:
            known = len(self._seen)
            self._seen = _longer(self._seen, table.capacity)
            self._seen[known:] = -1
            self._place = np.empty(table.capacity, np.int32)
        if self._documents > np.iinfo(np.int32).max - n_documents:
            self._seen[:], self._documents = -1, 0
        indptr = np.zeros(n_documents + 1, np.int64)
        indices, counts = np.empty(n, np.int32), np.empty(n, np.int32)
        nnz = self._loops.tally(
            ids, n, self._seen, self._place, self._documents, indptr, indices, counts
        )
        self._documents += n_documents
        return Rows(indptr, indices[:nnz].copy(), counts[:nnz].copy())


def sort_rows(rows: Rows, n_threads: int | None = None) -> None:
    """Sort the columns of each row, in place."""
    loops = _loops()

    def piece(lo: int, hi: int) -> None:
        loops.sort_rows(*rows, lo, hi)

    n = len(rows.indptr) - 1
    Cpu(n_threads=n_threads)._run(piece, np.append(np.arange(0, max(1, n), PIECE), n))


class _Table:
    """Slots (S,) of a hash table and the hashes (W,) of its keys, W = S / SPARE."""

    def __init__(self) -> None:
        self.slots = np.full(WORDS * SPARE, -1, np.int32)
        self.hashes = np.empty(WORDS, np.uint64)
        self.n_keys = 0

    @property
    def capacity(self) -> int:
        return len(self.hashes)

    def grow(self, loops: ModuleType) -> None:
        self.hashes = _longer(self.hashes, 2 * len(self.hashes))
        self.slots = np.full(SPARE * len(self.hashes), -1, np.int32)
        loops.rehash(self.slots, self.hashes, self.n_keys)


def _longer(array: Array, length: int) -> Array:
    new = np.empty((length, *array.shape[1:]), array.dtype)
    new[: len(array)] = array
    return new


@functools.cache
def _folded(lowercase: bool) -> Array:
    """The byte that stands for each byte in words, 0 where it parts them, (256,)."""
    folded = np.zeros(256, np.uint8)
    for code in range(128):
        if is_word_character(chr(code)):
            folded[code] = ord(chr(code).lower() if lowercase else chr(code))
    folded[128:] = np.arange(128, 256)
    return folded


def is_word_character(character: str) -> bool:
    r"""Whether a character is one of those that `\w` of Python's regular expressions means."""
    return character.isalnum() or character == "_"


@functools.cache
def word_code_points() -> Array:
    """Whether each code point belongs to words, (0x110000,) bool."""
    return np.fromiter(
        (chr(code).isalnum() for code in range(sys.maxunicode + 1)), bool, sys.maxunicode + 1
    )


@functools.cache
def _no_code_points() -> Array:
    return np.zeros(1, bool)


def _loops() -> ModuleType:
    """The compiled loops; importing numba here keeps `import isotherm` light."""
    from isotherm.kernels.cpu import _tokens as loops

    return loops
