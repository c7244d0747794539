"""The numba loops of the leave-one-out twins. Each works on rows lo..hi of a block.

Counts are taken apart in double precision: what is left of them may be a small difference of large
numbers. Logarithms and exponentials of the rest are taken in the type of the tables, in loops over
components that vectorise for single precision.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from isotherm.kernels.cpu._loops import fast_log
from isotherm.kernels.cpu._softmax import fast_exp

FAST = {"reassoc", "contract", "nsz", "arcp"}
# What is left of counts is never as small as this: less counts as nothing.
LEAST = 1e-37
LOG_FLOOR = math.log(1e-300)


@njit(nogil=True, cache=True)
def pair_loo_rows(
    indptr, indices, values, weight, rows, columns, column_totals, mass, last, beta,
    temper_prior, once, posterior, row_sums, lo, hi,
):  # fmt: skip
    """Leave-one-out posterior of each non-zero (Hofmann & Puzicha eqs. 42-45), and row sums."""
    K = mass.shape[0]
    left, inverse, part = np.empty(K), np.empty(K), np.empty(K)
    for i in range(lo, hi):
        row_total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            row_total += values[p]
        row_sums[i, :] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            j, n = indices[p], float(values[p])
            # All copies of a row are in its own counts and lose the token; columns lose it once.
            token = min(1.0, n)
            copy = token * min(1.0, weight[i])
            _subtract(mass, last[p], copy, left, inverse, part)
            if row_total > token * (1.0 + once):
                _multiply(rows[i], last[p], token * weight[i], inverse, part)
            if column_totals[j] > copy * (1.0 + once):
                _multiply(columns[j], last[p], copy, inverse, part)
            z = _raise(left, part, beta, temper_prior, posterior[p])
            if not z > 0.0:
                posterior[p, :] = mass
                z = mass.sum()
            # The sums take the rounded value: the next pass subtracts just that again.
            _add(posterior[p], 1.0 / z, n * weight[i], row_sums[i])


# Loops over few arrays each: with more of them compilers give up telling them apart, and with that
# vectorising.


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _subtract(mass, last, copy, left, inverse, part):
    """`left = mass - copy last`, one over it, and its part of itself; 0 where nothing is left."""
    for k in range(len(left)):
        left[k] = max(mass[k] - copy * last[k], LEAST)
    for k in range(len(left)):
        inverse[k] = 1.0 / left[k] if left[k] > LEAST else 0.0
    for k in range(len(left)):
        part[k] = 1.0 if left[k] > LEAST else 0.0


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _multiply(counts, last, out, inverse, part):
    """`part *= (counts - out last) inverse`, the counts not below 0."""
    for k in range(len(part)):
        part[k] *= max(counts[k] - out * last[k], 0.0) * inverse[k]


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _raise(left, part, beta, temper_prior, share):
    """`share = left part^beta` or `(left part)^beta`, but for a factor; returns its sum."""
    most, z = 0.0, 0.0
    for k in range(len(part)):
        part[k] *= left[k] if temper_prior else 1.0
        most = max(most, part[k])
    if not most > LEAST:
        return z
    inverse = 1.0 / most
    zero, least, power = share.dtype.type(0), share.dtype.type(LEAST), share.dtype.type(beta)
    if beta == 1.0:
        for k in range(len(share)):
            share[k] = part[k] * inverse
    else:
        for k in range(len(share)):
            x = share.dtype.type(part[k] * inverse)
            exponent = power * share.dtype.type(fast_log(max(x, least)))
            # Not above zero but for rounding: the largest was divided out.
            share[k] = fast_exp(min(exponent, zero)) if x > least else zero
    for k in range(len(share)):
        share[k] *= 1.0 if temper_prior else left[k]
        z += share[k]
    return z


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _add(share, inverse, heavy, sums):
    """Normalise a share and add it to sums."""
    scale = share.dtype.type(inverse)
    for k in range(len(share)):
        share[k] *= scale
        sums[k] += heavy * share[k]


@njit(nogil=True, cache=True)
def row_loo_scores(
    indptr, indices, values, weight, columns, column_totals, totals, mass, last, pseudo,
    beta, temper_prior, once, scores, lo, hi,
):  # fmt: skip
    """Exponents of the leave-one-out row posterior (Hofmann & Puzicha eqs. 46, 47)."""
    K = totals.shape[0]
    log_total, share = np.empty(K), np.empty(K)
    power = beta if temper_prior else 1.0
    for i in range(lo, hi):
        copy = min(1.0, weight[i])
        row_total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            row_total += values[p]
        for k in range(K):
            share[k] = last[i, k] * copy
            scores[i, k] = power * math.log(max(mass[k] - share[k], 1e-300))
            log_total[k] = math.log(max(totals[k] - share[k] * row_total, 1e-300))
        for p in range(indptr[i], indptr[i + 1]):
            j, n = indices[p], float(values[p])
            if column_totals[j] > n * copy * (1.0 + once):
                _score(columns[j], share, n, pseudo[j], log_total, beta * n, last[i], scores[i])


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _score(column, share, n, pseudo, log_total, factor, last, scores):
    """Add `factor` times the log of the part that a column has in what is left."""
    least = last.dtype.type(LEAST)
    for k in range(len(scores)):
        left = last.dtype.type(column[k] - share[k] * n + pseudo)
        log = fast_log(max(left, least)) if left > least else LOG_FLOOR
        scores[k] += factor * (log - log_total[k])
