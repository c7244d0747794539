"""The numba loops of the CPU backend. Each works on rows (or columns) lo..hi of a block.

Every output element is computed by one iteration of the outer loop in a fixed order, so the result
does not depend on how lo..hi ranges are dealt to threads: bit-identical for any number of them.
Four non-zeros are taken at a time: one load of the row serves four columns, and four independent
sums hide the latency of the dot product.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, types
from numba.extending import overload

from isotherm.kernels.cpu._softmax import fast_exp

# Sums may be reassociated (that is what vectorises a dot product) but NaN must stay NaN.
FAST = {"reassoc", "contract", "nsz", "arcp"}
# Single-precision partial sums are flushed into double precision after so many terms.
FLUSH = 256
# Non-zeros of a row whose divisions and logarithms are done together.
CHUNK = 16
# Posteriors below exp of this, about 1e-38, are 0.
NOTHING = -87.0

# log(1 + t) = t - t^2/2 + t^3 P(t) on [sqrt(1/2) - 1, sqrt(2) - 1]; P is a Chebyshev fit of our own
# with error 1e-9.
_P = np.array(
    [
        0.33333331, -0.24999989, 0.20000708, -0.1666848, 0.14249928,
        -0.12411047, 0.11661575, -0.11571242, 0.07149646,
    ],
    np.float32,
)  # fmt: skip
P0, P1, P2, P3, P4, P5, P6, P7, P8 = (np.float32(c) for c in _P)
LN2 = math.log(2.0)
SQRT_HALF_BITS = np.int32(0x3F3504F3)
ONE, HALF = np.float32(1.0), np.float32(0.5)


def fast_log(z: float) -> float:
    """Logarithm of a positive normal number, float64: by a polynomial for float32, else libm's."""
    return math.log(z)


@overload(fast_log, inline="always")
def _fast_log(z):
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
            # In double: the large part of the logarithm of a tiny number would round the rest off.
            return exponent * LN2 + np.float64(t - HALF * t * t + t * t * t * p)

        return single

    return lambda z: math.log(z)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def _dots(u, V, indices, p, n, z):
    """`z[c] = u . V[indices[p + c]]` for c < n, four at a time."""
    zero = V.dtype.type(0)
    c = 0
    while c + 4 <= n:
        v0, v1 = V[indices[p + c]], V[indices[p + c + 1]]
        v2, v3 = V[indices[p + c + 2]], V[indices[p + c + 3]]
        z0, z1, z2, z3 = zero, zero, zero, zero
        for k in range(len(u)):
            x = u[k]
            z0 += x * v0[k]
            z1 += x * v1[k]
            z2 += x * v2[k]
            z3 += x * v3[k]
        z[c], z[c + 1], z[c + 2], z[c + 3] = z0, z1, z2, z3
        c += 4
    while c < n:
        v0 = V[indices[p + c]]
        z0 = zero
        for k in range(len(u)):
            z0 += u[k] * v0[k]
        z[c] = z0
        c += 1


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def _add_scaled(V, indices, p, n, ratio, acc):
    """`acc += sum of ratio[c] * V[indices[p + c]]` over c < n, four at a time."""
    c = 0
    while c + 4 <= n:
        v0, v1 = V[indices[p + c]], V[indices[p + c + 1]]
        v2, v3 = V[indices[p + c + 2]], V[indices[p + c + 3]]
        r0, r1, r2, r3 = ratio[c], ratio[c + 1], ratio[c + 2], ratio[c + 3]
        for k in range(len(acc)):
            acc[k] += r0 * v0[k] + r1 * v1[k] + r2 * v2[k] + r3 * v3[k]
        c += 4
    while c < n:
        v0, r0 = V[indices[p + c]], ratio[c]
        for k in range(len(acc)):
            acc[k] += r0 * v0[k]
        c += 1


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _weigh(counts, weight, tiny, z, ratio):
    """`ratio = weight counts / z`; sum of weight counts log z, and how many z underflowed.

    An underflow counts as nothing here: the caller redoes those few in log space.
    """
    zero, one = z.dtype.type(0), z.dtype.type(1)
    energy, lost = 0.0, z.dtype.type(0)
    for c in range(len(counts)):
        small = z[c] < tiny
        safe = one if small else z[c]
        heavy = zero if small else weight * counts[c]
        ratio[c] = heavy / safe
        energy += heavy * fast_log(safe)
        lost += one if small else zero
    return energy, int(lost)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _weigh_with(counts, weight, tiny, z, rest, ratio):
    """The same where `rest` explains what is above one of a count, and the sum that it explains.

    `ratio = weight (first / z + again / (z + rest))`, where first + again is the count.
    """
    zero, one = z.dtype.type(0), z.dtype.type(1)
    energy, left, lost = 0.0, 0.0, z.dtype.type(0)
    for c in range(len(counts)):
        small = z[c] < tiny
        safe = one if small else z[c]
        both = safe + rest[c]
        first = zero if small else weight * min(counts[c], one)
        again = zero if small else weight * max(counts[c] - one, zero)
        share = again / both
        ratio[c] = first / safe + share
        energy += first * fast_log(safe) + again * fast_log(both)
        left += share * rest[c]
        lost += one if small else zero
    return energy, int(lost), left


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def pair_rows(indptr, indices, values, weight, U, V, rest, tiny, sums, ratio, log_z, rests, lo, hi):
    """Row half of `pair`: row sums, n/z, log z, and of the rest. Returns how many z underflowed.

    Rows are taken CHUNK non-zeros at a time: their z, then what a non-zero costs by itself (a
    division and a logarithm, vectorised over the chunk), then their sums. Without `rest`, and so
    without `rests`, numba leaves out what is done for them.
    """
    K = U.shape[1]
    zero = U.dtype.type(0)
    acc, total = np.empty(K, U.dtype), np.empty(K, np.float64)
    z = np.empty(CHUNK, U.dtype)
    underflows = 0
    for i in range(lo, hi):
        u = U[i]
        w = U.dtype.type(weight[i])
        p, end = indptr[i], indptr[i + 1]
        long = end - p > FLUSH
        if long:
            total[:] = 0.0
        energy, left = 0.0, 0.0
        acc[:] = zero
        flush = p + FLUSH
        while p < end:
            n = min(CHUNK, end - p)
            _dots(u, V, indices, p, n, z)
            r = ratio[p : p + n]
            if rest is None:
                more, lost = _weigh(values[p : p + n], w, tiny, z, r)
            else:
                more, lost, some = _weigh_with(values[p : p + n], w, tiny, z, rest[p : p + n], r)
                left += some
            energy += more
            underflows += lost
            _add_scaled(V, indices, p, n, r, acc)
            p += n
            if long and (p >= flush or p == end):
                for k in range(K):
                    total[k] += acc[k]
                acc[:] = zero
                flush = p + FLUSH
        if long:
            for k in range(K):
                sums[i, k] = total[k] * u[k]
        else:
            for k in range(K):
                sums[i, k] = acc[k] * u[k]
        log_z[i] = energy
        if rest is not None:
            rests[i] = left
    return underflows


@njit(nogil=True, cache=True)
def _first_segment(columns, lo, hi, column):
    """First of the segments lo..hi (sorted) whose column is not below the given one."""
    while lo < hi:
        middle = (lo + hi) // 2
        if columns[middle] < column:
            lo = middle + 1
        else:
            hi = middle
    return lo


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def column_sums(slabs, columns, indptr, rows, entries, values, U, sums, lo, hi):
    """`sums[j - lo] = sum of values * U[row]` over the non-zeros of column j, float64.

    `values` are in the order of rows: threads that wrote them in the order of columns would fight
    for cache lines. Terms are added in float64 one by one: runs in single precision would end
    where a block does, and the result depend on how rows are cut into blocks.
    """
    K = U.shape[1]
    double = np.float64  # `float` of a single number is single in numba
    sums[:] = 0.0
    for slab in range(len(slabs) - 1):
        first = _first_segment(columns, slabs[slab], slabs[slab + 1], lo)
        last = _first_segment(columns, first, slabs[slab + 1], hi)
        for segment in range(first, last):
            column = sums[columns[segment] - lo]
            p, end = indptr[segment], indptr[segment + 1]
            while p + 4 <= end:
                u0, u1, u2, u3 = U[rows[p]], U[rows[p + 1]], U[rows[p + 2]], U[rows[p + 3]]
                r0, r1 = double(values[entries[p]]), double(values[entries[p + 1]])
                r2, r3 = double(values[entries[p + 2]]), double(values[entries[p + 3]])
                for k in range(K):
                    column[k] += r0 * u0[k] + r1 * u1[k] + r2 * u2[k] + r3 * u3[k]
                p += 4
            if p + 2 <= end:
                u0, u1 = U[rows[p]], U[rows[p + 1]]
                r0, r1 = double(values[entries[p]]), double(values[entries[p + 1]])
                for k in range(K):
                    column[k] += r0 * u0[k] + r1 * u1[k]
                p += 2
            if p < end:
                u0, r0 = U[rows[p]], double(values[entries[p]])
                for k in range(K):
                    column[k] += r0 * u0[k]


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def table_products(table, factor, out, lo, hi):
    """`out[r] = table[r] * factor[r]` for r in lo..hi; numpy would go through buffers here.

    A factor of one row serves all.
    """
    each = len(factor) > 1
    for r in range(lo, hi):
        row, by, made = table[r], factor[r if each else 0], out[r]
        for k in range(len(made)):
            made[k] = row[k] * by[k]


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def table_totals(table, totals, lo, hi):
    """`totals = sum of table[r]` over r in lo..hi, in float64 whatever the table's type."""
    totals[:] = 0.0
    for r in range(lo, hi):
        row = table[r]
        for k in range(table.shape[1]):
            totals[k] += row[k]


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def row_scores(indptr, indices, values, logs, scores, lo, hi):
    """`scores[i] += sum_j n logs[j]`, scores in float64 (differences of large sums matter)."""
    K = logs.shape[1]
    for i in range(lo, hi):
        p, end = indptr[i], indptr[i + 1]
        while p + 4 <= end:
            v0, v1 = logs[indices[p]], logs[indices[p + 1]]
            v2, v3 = logs[indices[p + 2]], logs[indices[p + 3]]
            n0, n1, n2, n3 = values[p], values[p + 1], values[p + 2], values[p + 3]
            for k in range(K):
                scores[i, k] += (n0 * v0[k] + n1 * v1[k]) + (n2 * v2[k] + n3 * v3[k])
            p += 4
        while p < end:
            v0, n0 = logs[indices[p]], values[p]
            for k in range(K):
                scores[i, k] += n0 * v0[k]
            p += 1


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def row_posteriors(scores, hard, posterior, log_z, lo, hi):
    """Softmax (or one-hot argmax) of each row of scores; log normalisers."""
    K = scores.shape[1]
    zero, one = posterior.dtype.type(0), posterior.dtype.type(1)
    for i in range(lo, hi):
        row, out = scores[i], posterior[i]
        top = row[0]
        for k in range(1, K):
            top = max(top, row[k])
        if hard or K == 1:
            best = 0
            while row[best] < top:
                best += 1
            for k in range(K):
                out[k] = zero
            out[best] = one
            log_z[i] = top
        else:
            z = 0.0
            for k in range(K):
                x = posterior.dtype.type(row[k] - top)
                share = fast_exp(x) if x > NOTHING else zero
                out[k] = share
                z += share
            inverse = posterior.dtype.type(1.0 / z)
            for k in range(K):
                out[k] *= inverse
            log_z[i] = top + math.log(z)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def pair_dots(indptr, indices, U, V, z, lo, hi):
    """`z[p] = sum_k U[i, k] V[j, k]`."""
    K = U.shape[1]
    for i in range(lo, hi):
        u = U[i]
        for p in range(indptr[i], indptr[i + 1]):
            v = V[indices[p]]
            s = U.dtype.type(0)
            for k in range(K):
                s += u[k] * v[k]
            z[p] = s


@njit(nogil=True, cache=True)
def gathered_sums(slabs, columns, indptr, entries, values, terms, sums, lo, hi):
    """`sums[j] = sum of values * terms[entry]` over the non-zeros of column j, in float64."""
    sums[lo:hi] = 0.0
    for slab in range(len(slabs) - 1):
        first = _first_segment(columns, slabs[slab], slabs[slab + 1], lo)
        last = _first_segment(columns, first, slabs[slab + 1], hi)
        for segment in range(first, last):
            column = sums[columns[segment]]
            for p in range(indptr[segment], indptr[segment + 1]):
                entry = entries[p]
                n = float(values[entry])
                for k in range(terms.shape[1]):
                    column[k] += n * terms[entry, k]
