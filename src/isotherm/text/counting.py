"""Texts to counts: chunks of UTF-8 to as many threads as there are, and one table in the end.

The result depends on neither threads nor chunks: rows are in the order of the texts, columns in
that of the alphabet.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isotherm.kernels.cpu.tokens import Rows, Tally, is_word_character
from isotherm.text.options import CountOptions
from isotherm.text.scripts import Census

# Characters and documents of a chunk: enough to be worth a switch of threads, few enough that
# what waits is small.
CHARACTERS = 1 << 20
DOCUMENTS = 1 << 14

Progress = Callable[[int], object]


class Counted(NamedTuple):
    """Counts of all texts; `rows.indices` are numbers of columns, unsorted within a row.

    `words` (W,) are sorted; `members` (G, n): numbers of the words that make each column, -1 behind
    the last. Columns are sorted as well.
    """

    rows: Rows
    words: list[str]
    members: NDArray[np.int32]


class _Piece(NamedTuple):
    number: int
    worker: int
    rows: Rows


def count_texts(
    texts: Iterable[str],
    options: CountOptions,
    progress: Progress | None = None,
    census: Census | None = None,
) -> Counted:
    """How often each word, or run of words, stands in each text.

    The census is of texts that are counted by the usual rule.
    """
    if options.split is not None:
        return _count_plainly(texts, options, progress)
    if options.n_threads == 1:
        tallies = [_tally(options)]
        pieces = [
            _Piece(number, 0, tallies[0].feed(text, n))
            for number, (text, n) in enumerate(_chunks(texts, options.lowercase, progress, census))
        ]
    else:
        tallies = [_tally(options) for _ in range(options.n_threads)]
        chunks = _chunks(texts, options.lowercase, progress, census)
        pieces = _count_in_threads(chunks, tallies)
    return _joined(pieces, tallies)


def _tally(options: CountOptions) -> Tally:
    # Others can never be met: they are too short, or hold what parts words.
    usable = sorted(
        word
        for word in options.stopped
        if len(word) >= options.min_length and all(map(is_word_character, word))
    )
    return Tally(options.min_length, options.lowercase, tuple(usable), options.ngrams)


def _chunks(
    texts: Iterable[str], lowercase: bool, progress: Progress | None, census: Census | None = None
) -> Iterator[tuple[bytes, int]]:
    """Bytes of some documents, each with a zero byte behind it, and their number."""
    held: list[str] = []
    size = done = 0
    for text in texts:
        # What is ASCII becomes lower case on the way; `str.lower` knows all other letters.
        held.append(text.lower() if lowercase and not text.isascii() else text)
        size += len(text)
        if size >= CHARACTERS or len(held) >= DOCUMENTS:
            if census is not None:
                census.add(held)
            yield _encoded(held), len(held)
            done += len(held)
            held, size = [], 0
            if progress is not None:
                progress(done)
    if held:
        if census is not None:
            census.add(held)
        yield _encoded(held), len(held)
        if progress is not None:
            progress(done + len(held))


def _encoded(texts: list[str]) -> bytes:
    joined = "\0".join([*texts, ""])
    if joined.count("\0") != len(texts):
        joined = "\0".join([*(text.replace("\0", " ") for text in texts), ""])
    # Half a surrogate pair is no letter; a question mark is none either.
    return joined.encode("utf-8", "replace")


def _count_in_threads(chunks: Iterator[tuple[bytes, int]], tallies: list[Tally]) -> list[_Piece]:
    waiting: queue.Queue[tuple[int, bytes, int] | None] = queue.Queue(2 * len(tallies))
    pieces: list[_Piece] = []
    failures: list[BaseException] = []

    def work(worker: int) -> None:
        while (item := waiting.get()) is not None:
            if failures:
                continue  # whoever fills the queue must not be left waiting
            number, text, n = item
            try:
                pieces.append(_Piece(number, worker, tallies[worker].feed(text, n)))
            except BaseException as error:
                failures.append(error)

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(len(tallies))]
    for thread in threads:
        thread.start()
    try:
        for number, (text, n) in enumerate(chunks):
            if failures:
                break
            waiting.put((number, text, n))
    finally:
        for _ in threads:
            waiting.put(None)
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]
    return sorted(pieces)


def _joined(pieces: list[_Piece], tallies: list[Tally]) -> Counted:
    """One table of the pieces, in their order; words of several workers become one word each."""
    words_of = [tally.words() for tally in tallies]
    words = sorted(set().union(*words_of))
    rank = {word: i for i, word in enumerate(words)}
    runs = []
    for found, tally in zip(words_of, tallies, strict=True):
        # The last entry stands for -1, no word.
        ranks = np.fromiter((*map(rank.__getitem__, found), -1), np.int32, len(found) + 1)
        runs.append(ranks[tally.members()])
    members, number = distinct(np.concatenate(runs))
    maps = np.split(number, np.cumsum([len(part) for part in runs])[:-1])
    sizes = np.concatenate([[0], *(np.diff(piece.rows.indptr) for piece in pieces)])
    indices = [maps[piece.worker][piece.rows.indices] for piece in pieces]
    counts = [piece.rows.counts for piece in pieces]
    pieces.clear()
    rows = Rows(np.cumsum(sizes, dtype=np.int64), _one(indices), _one(counts))
    return Counted(rows, words, members)


def distinct(
    members: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Sorted distinct rows of a table (G, n), and where each row of it is among them, (G,).

    A blank, which parts the words of a run, sorts before all that words are made of, and so does
    the end of a run: this is the order of the alphabet if words are numbered in that order.
    """
    if not len(members):
        return members, np.empty(0, np.int32)
    order = np.lexsort(members.T[::-1])
    ordered = members[order]
    new = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    number = np.empty(len(members), np.int32)
    number[order] = np.cumsum(new) - 1
    return ordered[new], number


def _one(parts: list[NDArray[np.int32]]) -> NDArray[np.int32]:
    whole = np.concatenate(parts) if parts else np.empty(0, np.int32)
    parts.clear()
    return whole


def _count_plainly(
    texts: Iterable[str], options: CountOptions, progress: Progress | None
) -> Counted:
    """The same with a rule of the caller for words, in this thread."""
    number_of: dict[str, int] = {}
    indptr, indices, counts = [0], [], []
    for number, text in enumerate(texts, 1):
        found: dict[int, int] = {}
        for run in _runs(text, options):
            key = number_of.setdefault(run, len(number_of))
            found[key] = found.get(key, 0) + 1
        indices.append(np.fromiter(found.keys(), np.int32, len(found)))
        counts.append(np.fromiter(found.values(), np.int32, len(found)))
        indptr.append(indptr[-1] + len(found))
        if progress is not None and number % DOCUMENTS == 0:
            progress(number)
    return named(Rows(np.array(indptr), _one(indices), _one(counts)), list(number_of))


def named(rows: Rows, names: list[str]) -> Counted:
    """The same counts with columns in the order of their names, which may repeat."""
    words = sorted(set(names))
    rank = {word: i for i, word in enumerate(words)}
    ranks = np.fromiter(map(rank.__getitem__, names), np.int32, len(names))
    members = np.arange(len(words), dtype=np.int32)[:, None]
    return Counted(rows._replace(indices=ranks[rows.indices]), words, members)


def _runs(text: str, options: CountOptions) -> Iterator[str]:
    assert options.split is not None
    split = options.split(text.lower() if options.lowercase else text)
    tokens = [str(token) for token in split if token not in options.stopped]
    shortest, longest = options.ngrams
    for n in range(shortest, longest + 1):
        for i in range(len(tokens) - n + 1):
            yield " ".join(tokens[i : i + n])
