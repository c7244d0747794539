"""The numba loops of counting words: UTF-8 bytes to numbers of words, and those to counts.

Words live in an open hash table with the bytes of each word behind it. A loop that finds the table
full stops where it is and is called again when the table has grown: nothing is lost or counted
twice.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# End of a document, as a byte of the text and as a number in the stream of words.
END = 0
MARK = -1
# Behind each word in the arena; part of none, so that all can be parted at once.
FEED = 10

# Steps of the hash, which mixes a byte (or the number of a word) at a time.
SEED = np.uint64(0xCBF29CE484222325)
PRIME = np.uint64(0x9E3779B97F4A7C15)
SHIFT = np.uint64(29)


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def width_of(byte):
    """Bytes of the UTF-8 character that begins with a byte of 128 or more."""
    if byte < 0xE0:
        return 2
    return 3 if byte < 0xF0 else 4


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def code_of(text, at, width):
    """Code point of the UTF-8 character of two to four bytes that stands at a place."""
    code = np.int64(text[at]) & (0xFF >> (width + 1))
    for i in range(1, width):
        code = (code << 6) | (np.int64(text[at + i]) & 0x3F)
    return code


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def same_word(text, lo, hi, folded, arena, start):
    """Whether the folded bytes lo..hi of the text are those that stand in the arena."""
    same = 0
    while same < hi - lo and folded[text[lo + same]] == arena[start + same]:
        same += 1
    return same == hi - lo


@njit(nogil=True, cache=True, error_model="numpy")
def tokenize(text, folded, wide, least, slots, hashes, starts, arena, state, ids):
    """The number of each word of a text, documents ended by `MARK`; True when the text is done.

    `text` (B,) uint8 ends documents with byte 0. `folded` (256,): the byte that stands for a byte
    in words, 0 if it parts them; `wide` (N,): whether a code point belongs to words. `least`:
    characters of the shortest word. `slots` (S,), `hashes` (W,), `starts` (W + 1,), `arena` (A,)
    are the table; `state` (3,) holds place in the text, length of `ids` so far and number of words.
    """
    at, n, n_words = state[0], state[1], state[2]
    size, mask = len(text), np.uint64(len(slots) - 1)
    done = True
    while at < size:
        # `after`: where to go on if no word begins here
        begin, after, length, key = at, at + 1, 0, SEED
        while at < size:
            byte = text[at]
            if byte < 128:
                byte = folded[byte]
                if byte == 0:
                    break
                key = (key ^ np.uint64(byte)) * PRIME
                at += 1
            else:
                width = width_of(byte)
                if not wide[code_of(text, at, width)]:
                    after = max(after, at + width)
                    break
                for i in range(width):
                    key = (key ^ np.uint64(text[at + i])) * PRIME
                at += width
            length += 1
        if length >= least and length > 0:
            key = key ^ (key >> SHIFT)
            slot = key & mask
            word = slots[slot]
            while word >= 0 and not (
                hashes[word] == key
                and starts[word + 1] - starts[word] == at - begin + 1
                and same_word(text, begin, at, folded, arena, starts[word])
            ):
                slot = (slot + np.uint64(1)) & mask
                word = slots[slot]
            if word < 0:
                word, start = n_words, starts[n_words]
                if word >= len(hashes) or start + at - begin >= len(arena):
                    at, done = begin, False
                    break
                for i in range(at - begin):
                    arena[start + i] = folded[text[begin + i]]
                arena[start + at - begin] = FEED
                hashes[word], starts[word + 1], slots[slot] = key, start + at - begin + 1, word
                n_words += 1
            ids[n], n = word, n + 1
        if length == 0:
            if text[at] == END:
                ids[n], n = MARK, n + 1
            at = after
    state[0], state[1], state[2] = at, n, n_words
    return done


@njit(nogil=True, cache=True, error_model="numpy")
def rehash(slots, hashes, n_keys):
    """Every key in its slot; `slots` comes empty, all -1."""
    mask = np.uint64(len(slots) - 1)
    for word in range(n_keys):
        slot = hashes[word] & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = word


@njit(nogil=True, cache=True, error_model="numpy")
def without(ids, n, n_stop):
    """How many are left of the first n numbers when those of stop words, 0..n_stop, are out."""
    kept = 0
    for i in range(n):
        if ids[i] == MARK or ids[i] >= n_stop:
            ids[kept] = ids[i]
            kept += 1
    return kept


@njit(nogil=True, cache=True, error_model="numpy")
def grams(ids, n, shortest, longest, slots, hashes, members, state, out):
    """The number of each run of `shortest` to `longest` words; True when all of `ids` is done.

    `members` (G, longest): numbers of the words of each run, -1 behind the last. `state` (3,):
    place in `ids`, length of `out` so far, number of runs.
    """
    at, filled, n_grams = state[0], state[1], state[2]
    mask = np.uint64(len(slots) - 1)
    while at < n:
        if n_grams + longest > len(hashes):
            state[0], state[1], state[2] = at, filled, n_grams
            return False
        if ids[at] == MARK:
            out[filled] = MARK
            filled += 1
        key = SEED
        for length in range(1, longest + 1):
            last = at + length - 1
            if last >= n or ids[last] == MARK:
                break
            key = (key ^ np.uint64(ids[last] + 1)) * PRIME
            key = key ^ (key >> SHIFT)
            if length < shortest:
                continue
            slot = key & mask
            gram = slots[slot]
            while gram >= 0 and not (
                hashes[gram] == key and same_run(ids, at, length, members, gram)
            ):
                slot = (slot + np.uint64(1)) & mask
                gram = slots[slot]
            if gram < 0:
                gram = n_grams
                hashes[gram], slots[slot] = key, gram
                for i in range(longest):
                    members[gram, i] = ids[at + i] if i < length else MARK
                n_grams += 1
            out[filled] = gram
            filled += 1
        at += 1
    state[0], state[1], state[2] = at, filled, n_grams
    return True


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def same_run(ids, at, length, members, gram):
    """Whether a run of words is the one that is kept under a number."""
    for i in range(length):
        if members[gram, i] != ids[at + i]:
            return False
    return length == members.shape[1] or members[gram, length] == MARK


@njit(nogil=True, cache=True, error_model="numpy")
def tally(ids, n, seen, place, document, indptr, indices, counts):
    """Number of non-zeros of the documents in a stream of numbers, in the order first met.

    `seen` (W,): the last document with each word, of those that were numbered from `document` on;
    `place` (W,): where its count stands.
    """
    filled, row = 0, 0
    for i in range(n):
        word = ids[i]
        if word == MARK:
            row += 1
            indptr[row] = filled
        elif seen[word] == document + row:
            counts[place[word]] += 1
        else:
            seen[word], place[word] = document + row, filled
            indices[filled], counts[filled] = word, 1
            filled += 1
    return filled


@njit(nogil=True, cache=True, error_model="numpy")
def sort_rows(indptr, indices, counts, lo, hi):
    """Columns of the rows lo..hi in ascending order, counts with them, in place."""
    for row in range(lo, hi):
        first, last = indptr[row], indptr[row + 1]
        keys = np.empty(last - first, np.int64)
        for i in range(last - first):
            keys[i] = (np.int64(indices[first + i]) << 32) | np.int64(counts[first + i])
        keys.sort()
        for i in range(last - first):
            indices[first + i] = keys[i] >> 32
            counts[first + i] = keys[i] & 0xFFFFFFFF
