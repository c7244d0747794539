"""The numba loops that find, for each query, the rows most alike to it.

Rows are distributions over words; how alike two of them are is the sum of their minima. Every query
is answered by itself and in a fixed order, so the result does not depend on how queries are dealt
to threads, nor on which of them are asked together.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# Similarities are told in multiples of this. Sums that are equal but for the order in which they
# were added up then are equal, so that ties are ties.
UNIT = 2.0**-40


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def rounded(s):
    """A sum of minima in whole units; what is positive stays positive."""
    return max(1.0, np.rint(s / UNIT)) * UNIT if s > 0.0 else 0.0


@njit(nogil=True, cache=True, error_model="numpy")
def sift(heap, value):
    """Replace the least element of a heap by a larger value."""
    size, at = len(heap), 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= value:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = value


@njit(nogil=True, cache=True, error_model="numpy")
def best(sums, rows, heap, where, similarity):
    """The r best of the rows, r the length of `where`: descending, ties by their order in `rows`.

    `sums[c]` belongs to `rows[c]`. Only positive sums count; places left over are -1 and 0.
    """
    r = len(where)
    heap[:] = 0.0
    least = 0.0
    for c in range(len(sums)):
        if sums[c] > least:
            sift(heap, sums[c])
            least = heap[0]
    least = rounded(least)
    # Better ones than the r-th are fewer than r; the rest goes to the first that equal it.
    above = 0
    for c in range(len(sums)):
        if sums[c] > least and rounded(sums[c]) > least:
            above += 1
    equal, n = r - above if least > 0.0 else 0, 0
    for c in range(len(sums)):
        if sums[c] > least - UNIT and sums[c] > 0.0:
            s = rounded(sums[c])
            if s == least and equal > 0:
                equal -= 1
            elif s <= least:
                continue
            heap[n], where[n] = -s, rows[c]
            n += 1
    order = np.argsort(heap[:n], kind="mergesort")
    where[:n] = where[:n][order]
    similarity[:n] = -heap[:n][order]
    where[n:] = -1
    similarity[n:] = 0.0


@njit(nogil=True, cache=True, error_model="numpy")
def nearest(query, posting, n_rows, own, where, similarity, lo, hi):
    """Best rows of queries lo..hi into `where` (I, r) and `similarity` (I, r).

    `query` is (indptr, words, values) of the queries, `posting` (indptr, rows, values) of the
    words; `own[i]` is the row that query i is itself, or -1.
    """
    indptr, words, values = query
    starts, rows, weights = posting
    sums, heap = np.empty(n_rows), np.empty(where.shape[1])
    everyone = np.arange(n_rows)
    for i in range(lo, hi):
        sums[:] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            x, w = values[p], words[p]
            for t in range(starts[w], starts[w + 1]):
                v = weights[t]
                sums[rows[t]] += v if v < x else x
        if own[i] >= 0:
            sums[own[i]] = 0.0
        best(sums, everyone, heap, where[i], similarity[i])


@njit(nogil=True, cache=True, error_model="numpy")
def nearest_of(query, rows, n_words, candidates, own, where, similarity, lo, hi):
    """Best of the candidates (I, C) of queries lo..hi, by their similarity over all words.

    Candidates are row numbers in ascending order, -1 for none.
    """
    indptr, words, values = query
    row_starts, row_words, row_values = rows
    dense, heap = np.zeros(n_words), np.empty(where.shape[1])
    sums = np.empty(candidates.shape[1])
    for i in range(lo, hi):
        for p in range(indptr[i], indptr[i + 1]):
            dense[words[p]] = values[p]
        for c in range(len(sums)):
            j, s = candidates[i, c], 0.0
            if j >= 0 and j != own[i]:
                for t in range(row_starts[j], row_starts[j + 1]):
                    s += min(dense[row_words[t]], row_values[t])
            sums[c] = s
        for p in range(indptr[i], indptr[i + 1]):
            dense[words[p]] = 0.0
        best(sums, candidates[i], heap, where[i], similarity[i])
