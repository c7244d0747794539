"""The numba loops over paths of a tree: mixtures of the nodes, and a posterior per row.

Everything is done for LANES columns at a time, side by side in vector registers: the inner loops
run over columns, so that nothing has to be gathered by node. `paths` (K, D) holds the nodes of each
path with the leaf last; what stands before `first` (K,) has share 0. D is a multiple of four.

In `path` the non-zeros of a row go in groups of LANES through two passes: mixtures and
log-likelihoods first, then, with the posterior of the row known, the sums at its columns.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, types
from numba.extending import overload

from isotherm.kernels.cpu._loops import (
    FAST,
    HALF,
    LN2,
    ONE,
    P0,
    P1,
    P2,
    P3,
    P4,
    P5,
    P6,
    P7,
    P8,
    SQRT_HALF_BITS,
    row_posteriors,
)  # fmt: skip

# Columns done side by side; a constant, so that loops over them need no remainder.
LANES = 32
LN2_SINGLE = np.float32(LN2)


def quick_log(z: float) -> float:
    """Logarithm of a positive normal number in its own type: for sums of LANES terms."""
    return math.log(z)


@overload(quick_log, inline="always")
def _quick_log(z):
    if z == types.float32:

        def single(z):
            bits = np.float32(z).view(np.int32)
            exponent = (bits - SQRT_HALF_BITS) >> np.int32(23)
            mantissa = np.int32(bits - (exponent << np.int32(23))).view(np.float32)
            t = mantissa - ONE
            p = P8
            p = p * t + P7
            p = p * t + P6
            p = p * t + P5
            p = p * t + P4
            p = p * t + P3
            p = p * t + P2
            p = p * t + P1
            p = p * t + P0
            return np.float32(exponent) * LN2_SINGLE + (t - HALF * t * t + t * t * t * p)

        return single

    return lambda z: math.log(z)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def mixtures(g, paths, first, share, m):
    """`m[c, y] = sum_d share[c, d] g[paths[c, d], y]`, four nodes at a time."""
    zero = g.dtype.type(0)
    for c in range(paths.shape[0]):
        for y in range(LANES):
            m[c, y] = zero
        for d in range(first[c] // 4 * 4, paths.shape[1], 4):
            a0, a1, a2, a3 = paths[c, d], paths[c, d + 1], paths[c, d + 2], paths[c, d + 3]
            s0, s1, s2, s3 = share[c, d], share[c, d + 1], share[c, d + 2], share[c, d + 3]
            for y in range(LANES):
                m[c, y] += (s0 * g[a0, y] + s1 * g[a1, y]) + (s2 * g[a2, y] + s3 * g[a3, y])


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def collected(g, paths, first, ratio, found):
    """`found[c, d] += sum_y ratio[c, y] g[paths[c, d], y]`, in float64."""
    zero = g.dtype.type(0)
    for c in range(paths.shape[0]):
        for d in range(first[c] // 4 * 4, paths.shape[1], 4):
            a0, a1, a2, a3 = paths[c, d], paths[c, d + 1], paths[c, d + 2], paths[c, d + 3]
            x0, x1, x2, x3 = zero, zero, zero, zero
            for y in range(LANES):
                r = ratio[c, y]
                x0 += r * g[a0, y]
                x1 += r * g[a1, y]
                x2 += r * g[a2, y]
                x3 += r * g[a3, y]
            found[c, d] += x0
            found[c, d + 1] += x1
            found[c, d + 2] += x2
            found[c, d + 3] += x3


@njit(nogil=True, cache=True)
def turn(table, rows, g):
    """Rows of a table side by side, `g[a, y] = table[rows[y], a]`, four at a time."""
    for y in range(0, LANES, 4):
        y0, y1, y2, y3 = np.uint64(y), np.uint64(y + 1), np.uint64(y + 2), np.uint64(y + 3)
        j0, j1, j2, j3 = rows[y], rows[y + 1], rows[y + 2], rows[y + 3]
        for a in range(np.uint64(table.shape[1])):
            g[a, y0] = table[j0, a]
            g[a, y1] = table[j1, a]
            g[a, y2] = table[j2, a]
            g[a, y3] = table[j3, a]


@njit(nogil=True, cache=True)
def turn_back(g, table):
    """`table[y, a] = g[a, y]`, four at a time."""
    for y in range(0, LANES, 4):
        y0, y1, y2, y3 = np.uint64(y), np.uint64(y + 1), np.uint64(y + 2), np.uint64(y + 3)
        for a in range(np.uint64(table.shape[1])):
            table[y0, a] = g[a, y0]
            table[y1, a] = g[a, y1]
            table[y2, a] = g[a, y2]
            table[y3, a] = g[a, y3]


@njit(nogil=True, cache=True)
def _numbered(lo, hi, rows):
    """Numbers lo..hi, and the last of them again and again behind it."""
    for y in range(LANES):
        rows[y] = min(lo + y, hi - 1)


@njit(nogil=True, cache=True)
def _copied(back, lo, hi, out):
    """`out[lo + y] = back[y]` for rows lo..hi."""
    for y in range(hi - lo):
        row, j = np.uint64(y), np.uint64(lo + y)
        for a in range(np.uint64(back.shape[1])):
            out[j, a] = back[row, a]


@njit(nogil=True, cache=True)
def mixed(nodes, paths, first, share, out, lo, hi):
    """Mixtures of the nodes (J, A) along paths: rows lo..hi of `out` (J, K)."""
    g = np.empty((nodes.shape[1], LANES), nodes.dtype)
    m, rows = np.empty((len(paths), LANES), nodes.dtype), np.empty(LANES, np.uint64)
    back = np.empty((LANES, len(paths)), nodes.dtype)
    for start in range(lo, hi, LANES):
        stop = min(start + LANES, hi)
        _numbered(start, stop, rows)
        turn(nodes, rows, g)
        mixtures(g, paths, first, share, m)
        turn_back(m, back)
        _copied(back, start, stop, out)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _divided(sums, m, ratio):
    """`ratio = sums / m`, 0 where m is 0; whether that hides any sums."""
    zero, one = m.dtype.type(0), m.dtype.type(1)
    hidden = zero
    for c in range(m.shape[0]):
        for y in range(LANES):
            nothing = m[c, y] == zero
            ratio[c, y] = zero if nothing else sums[c, y] / m[c, y]
            hidden += one if nothing and sums[c, y] > zero else zero
    return hidden > zero


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def dealt(heavy, places, ratio, g, t):
    """`t[a, y] = g[a, y]` times the sum of `heavy[p] ratio[c, y]` over the places p of node a.

    c is the leaf of p; the places of a node come in fours, of which the last may weigh nothing.
    """
    starts, leaf, _, real = places
    for a in range(len(starts) - 1):
        p, last = starts[a], starts[a + 1] - 4
        if p == last and not real[p + 1]:
            c0, s0 = leaf[p], heavy[p]
            for y in range(LANES):
                t[a, y] = s0 * ratio[c0, y] * g[a, y]
            continue
        c0, c1, c2, c3 = leaf[last], leaf[last + 1], leaf[last + 2], leaf[last + 3]
        s0, s1, s2, s3 = heavy[last], heavy[last + 1], heavy[last + 2], heavy[last + 3]
        for y in range(LANES):
            t[a, y] = (s0 * ratio[c0, y] + s1 * ratio[c1, y]) + (
                s2 * ratio[c2, y] + s3 * ratio[c3, y]
            )
        while p < last:
            c0, c1, c2, c3 = leaf[p], leaf[p + 1], leaf[p + 2], leaf[p + 3]
            s0, s1, s2, s3 = heavy[p], heavy[p + 1], heavy[p + 2], heavy[p + 3]
            for y in range(LANES):
                t[a, y] += (s0 * ratio[c0, y] + s1 * ratio[c1, y]) + (
                    s2 * ratio[c2, y] + s3 * ratio[c3, y]
                )
            p += 4
        for y in range(LANES):
            t[a, y] *= g[a, y]


@njit(nogil=True, cache=True)
def by_place(share, places, q, heavy):
    """`heavy[p] = q[c] share[c, d]` of every place p = (c, d), 0 of those that are none."""
    _, leaf, level, real = places
    for p in range(len(leaf)):
        heavy[p] = q[leaf[p]] * share[leaf[p], level[p]] if real[p] else 0


@njit(nogil=True, cache=True)
def unmixed(nodes, sums, paths, first, places, share, out, found, lo, hi):
    """Sums (J, K) of the leaves dealt to the nodes of their paths, each by its part of the mixture.

    `out[j, a] = sum over c of sums[j, c] share[c, d] nodes[j, a] / m[j, c]` for rows lo..hi, and
    their totals by place `found` (K, D). A leaf without any mixture deals by its shares alone.
    """
    K, A, dtype = len(paths), nodes.shape[1], nodes.dtype
    g, t = np.empty((A, LANES), dtype), np.empty((A, LANES), dtype)
    m, s = np.empty((K, LANES), dtype), np.empty((K, LANES), dtype)
    back = np.empty((LANES, A), dtype)
    ratio, rows = np.empty((K, LANES), dtype), np.empty(LANES, np.uint64)
    plain, part = np.zeros((K, paths.shape[1])), np.zeros((K, paths.shape[1]))
    zero, heavy = dtype.type(0), np.empty(len(places[1]), dtype)
    by_place(share, places, np.ones(K, dtype), heavy)
    for start in range(lo, hi, LANES):
        stop = min(start + LANES, hi)
        _numbered(start, stop, rows)
        turn(nodes, rows, g)
        turn(sums, rows, s)
        if stop - start < LANES:
            s[:, stop - start :] = zero
        mixtures(g, paths, first, share, m)
        hidden = _divided(s, m, ratio)
        dealt(heavy, places, ratio, g, t)
        collected(g, paths, first, ratio, part)
        turn_back(t, back)
        _copied(back, start, stop, out)
        if hidden:
            for y in range(stop - start):
                for c in range(K):
                    if m[c, y] == zero:
                        for d in range(first[c], paths.shape[1]):
                            out[start + y, paths[c, d]] += s[c, y] * share[c, d]
                            plain[c, d] += s[c, y] * share[c, d]
    for c in range(K):
        for d in range(paths.shape[1]):
            found[c, d] = part[c, d] * share[c, d] + plain[c, d]


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
