"""The numba loop of dense posteriors: exponents of a few rows become probabilities, in place.

The exponential is a polynomial of our own, because numba's calls libm once for every number: this
one is vectorised, and its relative error is about that of the number type.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, types
from numba.extending import overload

FAST = {"reassoc", "contract", "nsz", "arcp"}
LOG2E, LN2 = 1.0 / math.log(2.0), math.log(2.0)
# exp(r) on [-ln 2 / 2, ln 2 / 2] by its Taylor series: the first term left out is below 1e-9 and
# 1e-17.
T32 = tuple(np.float32(1.0 / math.factorial(n)) for n in range(8))
T64 = tuple(1.0 / math.factorial(n) for n in range(14))
S0, S1, S2, S3, S4, S5, S6, S7 = T32
D0, D1, D2, D3, D4, D5, D6, D7, D8, D9, D10, D11, D12, D13 = T64
LOG2E_32, LN2_32, HALF_32 = np.float32(LOG2E), np.float32(LN2), np.float32(0.5)
LEAST_32, LEAST_64 = np.float32(-87.0), -700.0


def fast_exp(x: float) -> float:
    """Exponential of a number that is not above 0; the smallest normal number where it is tiny."""
    return math.exp(x)


@overload(fast_exp, inline="always")
def _fast_exp(x):
    if x == types.float32:

        def single(x):
            x = max(x, LEAST_32)
            n = np.floor(x * LOG2E_32 + HALF_32)
            r = x - n * LN2_32
            p = S6 + r * S7
            p = S5 + r * p
            p = S4 + r * p
            p = S3 + r * p
            p = S2 + r * p
            p = S1 + r * p
            p = S0 + r * p
            power = (np.int32(n) + np.int32(127)) << np.int32(23)
            return p * np.int32(power).view(np.float32)

        return single

    def double(x):
        x = max(x, LEAST_64)
        n = np.floor(x * LOG2E + 0.5)
        r = x - n * LN2
        p = D12 + r * D13
        p = D11 + r * p
        p = D10 + r * p
        p = D9 + r * p
        p = D8 + r * p
        p = D7 + r * p
        p = D6 + r * p
        p = D5 + r * p
        p = D4 + r * p
        p = D3 + r * p
        p = D2 + r * p
        p = D1 + r * p
        p = D0 + r * p
        power = (np.int64(np.int32(n)) + np.int64(1023)) << np.int64(52)
        return p * np.int64(power).view(np.float64)

    return double


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def soften(table, offset, inverse, weight, mass, log_z):
    """Rows of `(table - offset) inverse` as weighted probabilities, in place.

    `table` (n, K); `offset` (K,); `weight` (n,). `mass` (K,) float64 grows by the weighted
    probabilities; `log_z` (n,) receives the log normalisers. n is a few hundred at most, so that
    sums over rows may run in the table's type.
    """
    n, K = table.shape
    zero, one = table.dtype.type(0), table.dtype.type(1)
    sums = np.zeros(K, table.dtype)
    for i in range(n):
        row = table[i]
        top = (row[0] - offset[0]) * inverse
        for k in range(K):
            row[k] = (row[k] - offset[k]) * inverse
            top = max(top, row[k])
        z = zero
        for k in range(K):
            row[k] = fast_exp(row[k] - top)
            z += row[k]
        share = table.dtype.type(weight[i]) * (one / z)
        for k in range(K):
            row[k] *= share
            sums[k] += row[k]
        log_z[i] = np.float64(top) + math.log(z)
    for k in range(K):
        mass[k] += sums[k]
