"""The Triton kernels of the torch backend: sums over the non-zeros of rows and of columns.

A program takes one segment of the non-zeros, BN of them at a time, and holds four tiles (BN, L) of
the table rows that it gathers, four parts of K <= 4 L components: the lanes of a warp share out BN
and L, so that a sum over all components is mostly additions within a thread, and loads are 16 bytes
wide. Nothing is added up by atomics: the same sums come out every time.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _tile(T, row, there, part: tl.constexpr, K: tl.constexpr, L: tl.constexpr, acc: tl.constexpr):
    """Part of the rows (BN,) of a table, (BN, L)."""
    k = part * L + tl.arange(0, L)
    mask = there[:, None] & (k < K)[None, :]
    return tl.load(T + row[:, None] * K + k[None, :], mask=mask, other=0.0).to(acc)


@triton.jit
def _one(T, row, part: tl.constexpr, K: tl.constexpr, L: tl.constexpr, acc: tl.constexpr):
    """Part of one row of a table, (1, L)."""
    k = part * L + tl.arange(0, L)[None, :]
    return tl.load(T + row * K + k, mask=k < K, other=0.0).to(acc)


@triton.jit
def _put(sums, s, tile, by, part: tl.constexpr, K: tl.constexpr, L: tl.constexpr):
    """Write the sum of a tile over its rows, times `by` (1, L), as part of row s."""
    k = part * L + tl.arange(0, L)[None, :]
    tl.store(sums + s * K + k, tl.sum(tile, axis=0)[None, :] * by, mask=k < K)


@triton.jit
def pair_rows(
    starts, ends, owners, indices, values, U, V, rest, again, sums, ratio, log_z, lost, left,
    tiny: tl.constexpr, K: tl.constexpr, L: tl.constexpr, BN: tl.constexpr,
    REST: tl.constexpr, acc: tl.constexpr,
):  # fmt: skip
    """Segment s: ratio = n / z, z = U[i] . V[j]; sums[s] = U[i] sum ratio V[j]; log z; lost.

    REST: z of the part `again` of n has `rest` on top; left[s] = sum again rest / (z + rest).
    """
    s = tl.program_id(0).to(tl.int64)
    i = tl.load(owners + s).to(tl.int64)
    start = tl.load(starts + s)
    length = (tl.load(ends + s) - start).to(tl.int32)
    u0, u1 = _one(U, i, 0, K, L, acc), _one(U, i, 1, K, L, acc)
    u2, u3 = _one(U, i, 2, K, L, acc), _one(U, i, 3, K, L, acc)
    a0, a1 = tl.zeros((BN, L), acc), tl.zeros((BN, L), acc)
    a2, a3 = tl.zeros((BN, L), acc), tl.zeros((BN, L), acc)
    energy, missed = tl.zeros((BN,), tl.float64), tl.zeros((BN,), tl.int32)
    others = tl.zeros((BN,), tl.float64)
    for p in range(0, length, BN):
        at = p + tl.arange(0, BN)
        there = at < length
        j = tl.load(indices + start + at, mask=there, other=0).to(tl.int64)
        n = tl.load(values + start + at, mask=there, other=0.0).to(acc)
        v0, v1 = _tile(V, j, there, 0, K, L, acc), _tile(V, j, there, 1, K, L, acc)
        v2, v3 = _tile(V, j, there, 2, K, L, acc), _tile(V, j, there, 3, K, L, acc)
        z = tl.sum(v0 * u0 + v1 * u1 + v2 * u2 + v3 * u3, axis=1)
        small = z < tiny
        n = tl.where(small, 0.0, n)
        safe = tl.where(small, 1.0, z)
        r = n / safe
        if REST:
            c = tl.load(rest + start + at, mask=there, other=0.0).to(acc)
            m = tl.load(again + start + at, mask=there, other=0.0).to(acc)
            m = tl.where(small, 0.0, m)
            share = m / (safe + c)
            r = (n - m) / safe + share
            energy += (m * (tl.log(safe + c) - tl.log(safe))).to(tl.float64)
            others += (share * c).to(tl.float64)
        tl.store(ratio + start + at, r, mask=there)
        energy += (n * tl.log(safe)).to(tl.float64)
        missed += (small & there).to(tl.int32)
        a0 += r[:, None] * v0
        a1 += r[:, None] * v1
        a2 += r[:, None] * v2
        a3 += r[:, None] * v3
    _put(sums, s, a0, u0, 0, K, L)
    _put(sums, s, a1, u1, 1, K, L)
    _put(sums, s, a2, u2, 2, K, L)
    _put(sums, s, a3, u3, 3, K, L)
    tl.store(log_z + s, tl.sum(energy, axis=0))
    tl.store(lost + s, tl.sum(missed, axis=0))
    if REST:
        tl.store(left + s, tl.sum(others, axis=0))


@triton.jit
def gathered_sums(
    starts, ends, rows, entries, coefficients, T, owners, by, sums,
    K: tl.constexpr, L: tl.constexpr, BN: tl.constexpr,
    SCALED: tl.constexpr, DEALT: tl.constexpr, TIMES: tl.constexpr, acc: tl.constexpr,
):  # fmt: skip
    """Segment s: sums[s] = sum of coefficient x T[row], times by[owner].

    SCALED: there are coefficients; DEALT: they stand where `entries` say, else in this order;
    TIMES: there is something to multiply by.
    """
    s = tl.program_id(0).to(tl.int64)
    start = tl.load(starts + s)
    length = (tl.load(ends + s) - start).to(tl.int32)
    a0, a1 = tl.zeros((BN, L), acc), tl.zeros((BN, L), acc)
    a2, a3 = tl.zeros((BN, L), acc), tl.zeros((BN, L), acc)
    for p in range(0, length, BN):
        at = p + tl.arange(0, BN)
        there = at < length
        i = tl.load(rows + start + at, mask=there, other=0).to(tl.int64)
        t0, t1 = _tile(T, i, there, 0, K, L, acc), _tile(T, i, there, 1, K, L, acc)
        t2, t3 = _tile(T, i, there, 2, K, L, acc), _tile(T, i, there, 3, K, L, acc)
        c = tl.full((BN,), 1.0, acc)
        if SCALED:
            where = start + at
            if DEALT:
                where = tl.load(entries + where, mask=there, other=0).to(tl.int64)
            c = tl.load(coefficients + where, mask=there, other=0.0).to(acc)
        a0 += c[:, None] * t0
        a1 += c[:, None] * t1
        a2 += c[:, None] * t2
        a3 += c[:, None] * t3
    o0 = tl.full((1, L), 1.0, acc)
    o1, o2, o3 = o0, o0, o0
    if TIMES:
        o = tl.load(owners + s).to(tl.int64)
        o0, o1 = _one(by, o, 0, K, L, acc), _one(by, o, 1, K, L, acc)
        o2, o3 = _one(by, o, 2, K, L, acc), _one(by, o, 3, K, L, acc)
    _put(sums, s, a0, o0, 0, K, L)
    _put(sums, s, a1, o1, 1, K, L)
    _put(sums, s, a2, o2, 2, K, L)
    _put(sums, s, a3, o3, 3, K, L)


@triton.jit
def pair_dots(
    starts, ends, owners, indices, U, V, z,
    K: tl.constexpr, L: tl.constexpr, BN: tl.constexpr, acc: tl.constexpr,
):  # fmt: skip
    """Segment s: `z = U[i] . V[j]` for each of its non-zeros."""
    s = tl.program_id(0).to(tl.int64)
    i = tl.load(owners + s).to(tl.int64)
    start = tl.load(starts + s)
    length = (tl.load(ends + s) - start).to(tl.int32)
    u0, u1 = _one(U, i, 0, K, L, acc), _one(U, i, 1, K, L, acc)
    u2, u3 = _one(U, i, 2, K, L, acc), _one(U, i, 3, K, L, acc)
    for p in range(0, length, BN):
        at = p + tl.arange(0, BN)
        there = at < length
        j = tl.load(indices + start + at, mask=there, other=0).to(tl.int64)
        v0, v1 = _tile(V, j, there, 0, K, L, acc), _tile(V, j, there, 1, K, L, acc)
        v2, v3 = _tile(V, j, there, 2, K, L, acc), _tile(V, j, there, 3, K, L, acc)
        found = tl.sum(v0 * u0 + v1 * u1 + v2 * u2 + v3 * u3, axis=1)
        tl.store(z + start + at, found, mask=there)


@triton.jit
def softened(scores, weight, log_z, K: tl.constexpr, BK: tl.constexpr, WEIGHTED: tl.constexpr):
    """Row s of the scores: its softmax, in place, times its weight, and the log normaliser."""
    s = tl.program_id(0).to(tl.int64)
    k = tl.arange(0, BK)
    x = tl.load(scores + s * K + k, mask=k < K, other=-float("inf"))
    top = tl.max(x, axis=0)
    e = tl.exp(x - top)
    z = tl.sum(e, axis=0)
    by = 1.0 / z
    if WEIGHTED:
        by *= tl.load(weight + s).to(x.dtype)
    tl.store(scores + s * K + k, e * by, mask=k < K)
    tl.store(log_z + s, top.to(tl.float64) + tl.log(z).to(tl.float64))


@triton.jit
def tempered(table, scale, out, size, K: tl.constexpr, BN: tl.constexpr, acc: tl.constexpr):
    """`table ** beta * exp(scale)` for `size` numbers of a table with K columns.

    `scale` (K + 1,) has beta at the end: a number among the arguments would be rounded.
    """
    at = tl.program_id(0).to(tl.int64) * BN + tl.arange(0, BN)
    there = at < size
    beta = tl.load(scale + K)
    x = tl.load(table + at, mask=there, other=1.0).to(acc)
    s = tl.load(scale + at % K, mask=there, other=0.0)
    power = tl.exp(beta * tl.log(tl.where(x > 0, x, 1.0)) + s)
    tl.store(out + at, tl.where(x > 0, power, 0.0), mask=there)
