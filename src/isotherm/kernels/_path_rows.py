"""The numba loops of `path`: a posterior per row over leaves, with shares of nodes of its own.

The non-zeros of a row go in groups of LANES through two passes: mixtures and log-likelihoods first,
then, with the posterior of the row known, the sums at its columns.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from isotherm.kernels._loops import FAST, row_posteriors
from isotherm.kernels._paths import (
    LANES,
    by_place,
    collected,
    dealt,
    mixtures,
    quick_log,
    turn,
    turn_back,
)

# So many groups of non-zeros of a row are kept between its two passes, others are redone.
KEPT = 8
LOG_FLOOR = math.log(1e-300)


@njit(nogil=True, cache=True)
def _gathered(nodes, indices, values, p, n, rows, g, counts):
    """Nodes and counts of the non-zeros p..p + n; what stands behind them counts nothing."""
    for y in range(LANES):
        rows[y] = indices[p + min(y, n - 1)]
        counts[y] = values[p + y] if y < n else nodes.dtype.type(0)
    turn(nodes, rows, g)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _rates(counts, m, tiny, ratio, scores):
    """`ratio = counts / m`; adds the sum of counts log m to the scores.

    Returns how many m underflowed; their ratio is 0 and their logarithm left out.
    """
    zero, one = m.dtype.type(0), m.dtype.type(1)
    lost = zero
    for c in range(m.shape[0]):
        energy = zero
        for y in range(LANES):
            small = m[c, y] < tiny
            safe = one if small else m[c, y]
            n = zero if small else counts[y]
            ratio[c, y] = n / safe
            energy += n * quick_log(safe)
            lost += one if small and counts[y] > zero else zero
        scores[c] += energy
    return lost > zero


@njit(nogil=True, cache=True)
def _one_in_double(share, path, first, g, y, parts):
    """Parts (D,) of the nodes in a mixture that underflowed; its logarithm."""
    total = 0.0
    for d in range(first, len(path)):
        parts[d] = float(share[d]) * float(g[path[d], y])
        total += parts[d]
    if total < 1e-300:
        for d in range(first, len(path)):
            parts[d] = share[d]
        return LOG_FLOOR
    for d in range(first, len(path)):
        parts[d] /= total
    return math.log(total)


@njit(nogil=True, cache=True)
def _first_pass(g, counts, paths, first, share, tiny, m, ratio, scores, found):
    """Mixtures, log-likelihoods and counts by place of LANES non-zeros; whether m underflowed."""
    mixtures(g, paths, first, share, m)
    lost = _rates(counts, m, tiny, ratio, scores)
    collected(g, paths, first, ratio, found)
    return lost


@njit(nogil=True, cache=True)
def _redo(g, counts, paths, first, share, ratio, scores, found):
    """What `_first_pass` left out: the few mixtures that underflowed, in double precision."""
    parts = np.empty(paths.shape[1])
    for c in range(len(paths)):
        for y in range(LANES):
            if ratio[c, y] == 0 and counts[y] > 0:
                n = float(counts[y])
                scores[c] += n * _one_in_double(share[c], paths[c], first[c], g, y, parts)
                for d in range(first[c], paths.shape[1]):
                    # Counts by place are multiplied by their share in the end.
                    if share[c, d] > 0:
                        found[c, d] += n * parts[d] / float(share[c, d])


@njit(nogil=True, cache=True)
def _new_share(found, first, share, tiny, q, levels, new):
    """Counts by place of a row made shares; the old ones where there is nothing to count."""
    D = new.shape[1]
    front = share.shape[1] - D
    for c in range(len(first)):
        total = 0.0
        for d in range(first[c], share.shape[1]):
            found[c, d] *= share[c, d]
            total += found[c, d]
            levels[c, d - front] += q[c] * found[c, d]
        for d in range(D):
            s = float(share[c, front + d])
            if total > 0:
                s = found[c, front + d] / total if front + d >= first[c] else 0.0
            # What is as small as that never comes back, and denormal numbers are slow.
            new[c, d] = s if s >= tiny else 0.0


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _squares(share, paths, g, ratio, counts, q, t):
    """`t[A + c, y] = q counts r^2`, r = share g ratio / counts the part of leaf c."""
    zero, one = g.dtype.type(0), g.dtype.type(1)
    last, A = paths.shape[1] - 1, g.shape[0]
    for c in range(paths.shape[0]):
        s, a, weight = share[c, last], paths[c, last], q[c]
        for y in range(LANES):
            n = counts[y] if counts[y] > zero else one
            x = s * g[a, y] * ratio[c, y]
            t[A + c, y] = weight * x * x / n


@njit(nogil=True, cache=True)
def _second_pass(
    g, counts, indices, n, paths, first, places, share, ratio, q, heavy, lost, t, back, out
):  # fmt: skip
    """Sums of the nodes and of the squared parts of leaves, at the columns of n non-zeros."""
    dealt(heavy, places, ratio, g, t)
    A = g.shape[0]
    squares = t.shape[0] > A
    if squares:
        _squares(share, paths, g, ratio, counts, q, t)
    turn_back(t, back)
    for y in range(n):
        j = np.uint64(indices[y])
        for a in range(np.uint64(t.shape[0])):
            out[j, a] += back[np.uint64(y), a]
    if not lost:
        return
    parts = np.empty(paths.shape[1])
    for c in range(len(paths)):
        for y in range(n):
            if ratio[c, y] == 0 and counts[y] > 0 and q[c] > 0:
                _one_in_double(share[c], paths[c], first[c], g, y, parts)
                n_q = float(q[c]) * float(counts[y])
                for d in range(first[c], paths.shape[1]):
                    out[indices[y], paths[c, d]] += n_q * parts[d]
                if squares:
                    out[indices[y], A + c] += n_q * parts[-1] ** 2


@njit(nogil=True, cache=True)
def path_rows(
    indptr, indices, values, weight, nodes, paths, first, places, share, prior, power, hard, tiny,
    posterior, new, out, mass, levels, lo, hi,
):  # fmt: skip
    """Rows lo..hi of `path`: posteriors and shares of the rows, and sums; returns sum of log z.

    The sums `out` (J, A + K), of nodes and of squares (or (J, A), without them), `mass` (K,) and
    `levels` (K, D) are float64.
    """
    K, A, dtype = len(paths), nodes.shape[1], nodes.dtype
    g, t = np.empty((KEPT, A, LANES), dtype), np.empty((out.shape[1], LANES), dtype)
    m, ratio = np.empty((K, LANES), dtype), np.empty((KEPT, K, LANES), dtype)
    counts, lost = np.empty((KEPT, LANES), dtype), np.zeros(KEPT, np.bool_)
    all_scores, normaliser = np.empty((1, K)), np.empty(1)
    scores, q, found = all_scores[0], np.empty(K, dtype), np.empty(paths.shape)
    heavy, rows = np.empty(len(places[1]), dtype), np.empty(LANES, np.uint64)
    back, w = np.empty((LANES, out.shape[1]), dtype), np.zeros(paths.shape, dtype)
    log_z = 0.0
    for i in range(lo, hi):
        scores[:], found[:] = 0.0, 0.0
        w[:, w.shape[1] - share.shape[2] :] = share[i]
        begin, end = indptr[i], indptr[i + 1]
        groups = (end - begin + LANES - 1) // LANES
        for group in range(groups):
            p, slot = begin + group * LANES, min(group, KEPT - 1)
            _gathered(nodes, indices, values, p, min(LANES, end - p), rows, g[slot], counts[slot])
            lost[slot] = _first_pass(
                g[slot], counts[slot], paths, first, w, tiny, m, ratio[slot], scores, found
            )
            if lost[slot]:
                _redo(g[slot], counts[slot], paths, first, w, ratio[slot], scores, found)
        for c in range(K):
            scores[c] = prior[i, c] + power * scores[c]
        row_posteriors(all_scores, hard, posterior[i : i + 1], normaliser, 0, 1)
        log_z += weight[i] * normaliser[0]
        for c in range(K):
            q[c] = weight[i] * posterior[i, c]
            mass[c] += weight[i] * posterior[i, c]
            q[c] = q[c] if q[c] >= tiny else 0.0
        by_place(w, places, q, heavy)
        for group in range(groups):
            p, slot = begin + group * LANES, min(group, KEPT - 1)
            n = min(LANES, end - p)
            if slot == KEPT - 1 and groups > KEPT:
                _gathered(nodes, indices, values, p, n, rows, g[slot], counts[slot])
                mixtures(g[slot], paths, first, w, m)
                lost[slot] = _rates(counts[slot], m, tiny, ratio[slot], scores)
            _second_pass(
                g[slot], counts[slot], indices[p : p + n], n, paths, first, places, w,
                ratio[slot], q, heavy, lost[slot], t, back, out,
            )  # fmt: skip
        _new_share(found, first, w, tiny, q, levels, new[i])
    return log_z
