"""The numba loops of linked rows: distributions (N, K) that are pulled towards their neighbours.

All in float64. Each works on rows lo..hi, or on places lo..hi of an order of rows; every row is
written by one iteration, and sums over rows are left as one number per row, so results do not
depend on the number of threads.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numba.extending import overload

from isotherm.kernels.cpu._loops import FAST

# Logarithms of anything below this are those of this.
LEAST = 1e-300
# Where Kullback-Leibler divergences are maximised exactly, no probability is below this.
FLOOR = 1e-12
# More steps of Newton's method than any row has needed.
STEPS = 60

# log m = 2 atanh t, t = (m - 1) / (m + 1), |t| < 0.172 for m in [sqrt(1/2), sqrt(2)]: the series
# up to t^19 is exact to rounding.
C3, C5, C7, C9, C11 = 2 / 3, 2 / 5, 2 / 7, 2 / 9, 2 / 11
C13, C15, C17, C19 = 2 / 13, 2 / 15, 2 / 17, 2 / 19
LN2 = math.log(2.0)
ROOT_BITS = np.uint64(0x3FE6A09E667F3BCD)
ONE_BITS = np.uint64(0x3FF0000000000000)
SHIFT = np.uint64(52)
BIAS = np.int32(1023)


def double_log(x: float) -> float:
    """Logarithm of a positive normal number, without branches: loops over it are vectorised."""
    return math.log(x)


@overload(double_log, inline="always")
def _double_log(x):
    def plain(x):
        bits = np.float64(x).view(np.uint64)
        exponent = (bits + (ONE_BITS - ROOT_BITS)) >> SHIFT
        m = np.uint64(bits - (exponent << SHIFT) + ONE_BITS).view(np.float64)
        t = (m - 1.0) / (m + 1.0)
        q = t * t
        p = C19
        p = p * q + C17
        p = p * q + C15
        p = p * q + C13
        p = p * q + C11
        p = p * q + C9
        p = p * q + C7
        p = p * q + C5
        p = p * q + C3
        # Through 32 bits: a conversion that every processor vectorises.
        return np.float64(np.int32(exponent) - BIAS) * LN2 + (2.0 * t + t * q * p)

    return plain


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def _gather(indptr, indices, values, table, i, out):
    """`out = sum of W_ij table[j]`, four neighbours at a time."""
    out[:] = 0.0
    p, end = indptr[i], indptr[i + 1]
    while p + 4 <= end:
        v0, v1 = table[indices[p]], table[indices[p + 1]]
        v2, v3 = table[indices[p + 2]], table[indices[p + 3]]
        w0, w1, w2, w3 = values[p], values[p + 1], values[p + 2], values[p + 3]
        for k in range(len(out)):
            out[k] += (w0 * v0[k] + w1 * v1[k]) + (w2 * v2[k] + w3 * v3[k])
        p += 4
    while p < end:
        v0, w0 = table[indices[p]], values[p]
        for k in range(len(out)):
            out[k] += w0 * v0[k]
        p += 1


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _scale(row, total):
    """Row that sums to one, given what it sums to."""
    inverse = 1.0 / total
    for k in range(len(row)):
        row[k] *= inverse


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _plain_row(counts, row):
    """Row of counts divided by its sum; left alone where that is 0."""
    total = 0.0
    for k in range(len(row)):
        total += counts[k]
    if total > 0.0:
        for k in range(len(row)):
            row[k] = counts[k] / total


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _quadratic_row(counts, curvature, slope, row):
    """Maximiser of sum counts log t - curvature/2 |t|^2 + slope . t on the simplex.

    Newton's method on the multiplier of sum t = 1, from where the sum is at least 1: the sum is
    convex and decreasing, so no step overshoots.
    """
    K = len(row)
    rho = counts[0] - curvature + slope[0]
    for k in range(1, K):
        rho = max(rho, counts[k] - curvature + slope[k])
    four, half = 4.0 * curvature, 0.5 / curvature
    total = 0.0
    for _ in range(STEPS):
        total, fall = 0.0, 0.0
        for k in range(K):
            x = slope[k] - rho
            root = math.sqrt(x * x + four * counts[k])
            # Two forms of one root: neither subtracts numbers that are nearly equal.
            low = 2.0 * counts[k] / max(root - x, LEAST)
            t = (x + root) * half if x >= 0.0 else low
            row[k] = t
            total += t
            fall += t / max(root, LEAST)
        step = (total - 1.0) / fall
        if not (total > 1.0 + 1e-15 and rho + step > rho):
            break
        rho += step
    _scale(row, total)


@njit(nogil=True, cache=True, error_model="numpy")
def quadratic_rows(counts, curvature, slope, rows, lo, hi):
    """`_quadratic_row` for rows lo..hi with curvatures of their own; plain where those are 0."""
    for i in range(lo, hi):
        if curvature[i] > 0.0:
            _quadratic_row(counts[i], curvature[i], slope[i], rows[i])
        else:
            _plain_row(counts[i], rows[i])


@njit(nogil=True, cache=True, error_model="numpy")
def quadratic_sweep(order, indptr, indices, values, degree, counts, strength, theta, lo, hi):
    """Rows order[lo..hi], none linked to another, given their neighbours."""
    K = theta.shape[1]
    near = np.empty(K)
    for p in range(lo, hi):
        i = order[p]
        curvature = 2.0 * strength * degree[i]
        if curvature > 0.0:
            _gather(indptr, indices, values, theta, i, near)
            for k in range(K):
                near[k] *= 2.0 * strength
            _quadratic_row(counts[i], curvature, near, theta[i])
        else:
            _plain_row(counts[i], theta[i])


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def linear_sweep(order, indptr, indices, values, degree, counts, strength, theta, lo, hi):
    """`theta_i = (b_i + strength sum_j W_ij theta_j) / (n_i + strength D_i)` likewise."""
    K = theta.shape[1]
    near = np.empty(K)
    for p in range(lo, hi):
        i = order[p]
        if strength * degree[i] > 0.0:
            _gather(indptr, indices, values, theta, i, near)
            for k in range(K):
                near[k] = counts[i, k] + strength * near[k]
            _plain_row(near, theta[i])
        else:
            _plain_row(counts[i], theta[i])


@njit(nogil=True, cache=True, error_model="numpy")
def _omega(x):
    """Wright's omega: w + log w = x, by steps of fourth order (Fritsch, Shafer & Crowley)."""
    if x < -30.0:
        return math.exp(x)
    if x < 1.0:
        w = math.exp(x)
        w = w / (1.0 + w) if x > -2.0 else w * (1.0 - w)
    else:
        w = x - math.log(x) * (1.0 - 1.0 / (1.0 + x))
    for _ in range(2):
        r = x - w - math.log(w)
        a = 1.0 + w
        c = 2.0 * a * (a + 2.0 * r / 3.0)
        w *= 1.0 + r / a * (c - r) / (c - 2.0 * r)
    return w


@njit(nogil=True, cache=True, error_model="numpy")
def _divergence_row(pull, weight, centre, row):
    """Maximiser of sum pull log t - weight sum t log t + weight centre . t on the simplex.

    t = exp(w - (r - centre)), w = omega(r - centre + log(pull / weight)); r by Newton's method from
    where the sum is at least 1, as in `_quadratic_row`.
    """
    K = len(row)
    r = -math.inf
    for k in range(K):
        r = max(r, pull[k] / weight + centre[k])
    total = 0.0
    for _ in range(STEPS):
        total, fall = 0.0, 0.0
        for k in range(K):
            x = r - centre[k]
            w = _omega(x + math.log(pull[k] / weight))
            t = math.exp(w - x) if w < 1.0 else pull[k] / (weight * w)
            row[k] = t
            total += t
            fall += t / (1.0 + w)
        step = (total - 1.0) / fall
        if not (total > 1.0 + 1e-15 and r + step > r):
            break
        r += step
    _scale(row, total)


@njit(nogil=True, cache=True, error_model="numpy")
def divergence_sweep(order, indptr, indices, values, degree, counts, strength, theta, logs, lo, hi):
    """Rows that maximise sum b log t - strength sum_j W_ij (KL + KL), and their logarithms."""
    K = theta.shape[1]
    pull, centre = np.empty(K), np.empty(K)
    for p in range(lo, hi):
        i = order[p]
        if strength * degree[i] <= 0.0:
            _plain_row(counts[i], theta[i])
            continue
        _gather(indptr, indices, values, theta, i, pull)
        _gather(indptr, indices, values, logs, i, centre)
        for k in range(K):
            pull[k] = counts[i, k] + strength * pull[k]
            centre[k] /= degree[i]
        _divergence_row(pull, strength * degree[i], centre, theta[i])
        floor_row(theta[i], logs[i])


@njit(nogil=True, cache=True, error_model="numpy")
def floor_row(row, logs):
    """Row with no entry below FLOOR, normalised, and its logarithms."""
    total = 0.0
    for k in range(len(row)):
        row[k] = max(row[k], FLOOR)
        total += row[k]
    _scale(row, total)
    for k in range(len(row)):
        logs[k] = math.log(row[k])


@njit(nogil=True, cache=True, error_model="numpy")
def floor_rows(degree, theta, logs, lo, hi):
    """`floor_row` of all rows that have links; the logarithms of others are not asked for."""
    for i in range(lo, hi):
        if degree[i] > 0.0:
            floor_row(theta[i], logs[i])


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def spread_rows(indptr, indices, values, theta, mean, within, total, lo, hi):
    """Each row's share of sum_{i<j} W_ij |t_i - t_j|^2, and of sum_i |t_i - mean|^2."""
    K = theta.shape[1]
    for i in range(lo, hi):
        row = theta[i]
        far = 0.0
        for k in range(K):
            far += (row[k] - mean[k]) ** 2
        total[i] = far
        near = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            if indices[p] > i:
                other = theta[indices[p]]
                gap = 0.0
                for k in range(K):
                    gap += (row[k] - other[k]) ** 2
                near += values[p] * gap
        within[i] = near


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def divergence_rows(indptr, indices, values, theta, logs, sums, lo, hi):
    """Each row's share of sum_{i<j} W_ij (t_i - t_j) . (log t_i - log t_j)."""
    K = theta.shape[1]
    for i in range(lo, hi):
        row, log = theta[i], logs[i]
        near = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if j > i:
                other, log_other = theta[j], logs[j]
                gap = 0.0
                for k in range(K):
                    gap += (row[k] - other[k]) * (log[k] - log_other[k])
                near += values[p] * gap
        sums[i] = near


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def log_rows(theta, logs, lo, hi):
    """Logarithms of rows lo..hi, nothing below LEAST."""
    for i in range(lo, hi):
        for k in range(theta.shape[1]):
            logs[i, k] = double_log(max(theta[i, k], LEAST))


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def _expected_log(counts, row):
    """`sum counts log row`."""
    total = 0.0
    for k in range(len(row)):
        total += counts[k] * double_log(max(row[k], LEAST))
    return total


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def ascend_rows(
    indptr, indices, values, degree, theta, sums, counts, totals, ratio, out, bounds, lo, hi
):
    """Rows of the step that never lowers (N sum |t - mean|^2) / (sum W |t - t'|^2).

    Also `bounds[i] = (b . log theta, b . log out)`. Rows without counts stay.
    """
    N, K = len(degree), theta.shape[1]
    near, a, u = np.empty(K), np.empty(K), np.empty(K)
    for i in range(lo, hi):
        row, new = theta[i], out[i]
        if totals[i] == 0.0:
            new[:] = row
            bounds[i, 0] = 0.0
            bounds[i, 1] = 0.0
            continue
        _gather(indptr, indices, values, theta, i, near)
        shift = max(ratio * degree[i] - N, 0.0)
        up, down = N + shift, ratio * degree[i] + shift
        for k in range(K):
            a[k] = up * row[k] + ratio * near[k]
            u[k] = row[k] / max(sums[k] + down * row[k], LEAST)
        _kept(a, u, new)
        bounds[i, 0] = _expected_log(counts[i], row)
        bounds[i, 1] = _expected_log(counts[i], new)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def _kept(a, u, row):
    """`row = u (a - mu)_+` with the mu that makes it sum to one."""
    mu, kept = -math.inf, len(row) + 1
    while True:
        weight, total, count = 0.0, 0.0, 0
        for k in range(len(row)):
            inside = 1.0 if a[k] > mu else 0.0
            weight += inside * u[k]
            total += inside * u[k] * a[k]
            count += 1 if a[k] > mu else 0
        if count == kept or weight == 0.0:
            break
        kept = count
        mu = (total - 1.0) / weight
    total = 0.0
    for k in range(len(row)):
        row[k] = u[k] * max(a[k] - mu, 0.0)
        total += row[k]
    _scale(row, total)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def walk_rows(counts, totals, start, steps, bounds, lo, hi):
    """`bounds[i, q] = b . log t` at t = (1 - s_q) start + s_q b / n."""
    K = start.shape[1]
    for i in range(lo, hi):
        if totals[i] == 0.0:
            bounds[i] = 0.0
            continue
        row, b = start[i], counts[i]
        for q in range(len(steps)):
            s, rest = steps[q] / totals[i], 1.0 - steps[q]
            total = 0.0
            for k in range(K):
                total += b[k] * double_log(max(rest * row[k] + s * b[k], LEAST))
            bounds[i, q] = total


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def blend_rows(counts, totals, start, step, out, lo, hi):
    """`(1 - s) start + s b / n`; rows without counts stay."""
    for i in range(lo, hi):
        own = step if totals[i] > 0.0 else 0.0
        s, rest = own / max(totals[i], LEAST), 1.0 - own
        for k in range(start.shape[1]):
            out[i, k] = rest * start[i, k] + s * counts[i, k]
