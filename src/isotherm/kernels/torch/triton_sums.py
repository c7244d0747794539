"""Sums over non-zeros by Triton's kernels: what `torch_sums` does, on a GPU and fast.

Each function has the signature of its twin there. Sums are of tables' type over at most as many
terms as a segment has to a lane, and the same every time.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
import triton
import triton.language as tl

from isotherm.kernels.torch import _triton as kernels
from isotherm.kernels.torch.pattern import Pattern, Segments
from isotherm.kernels.torch.sums import PairHalf, Rest

ACCUMULATE = {torch.float32: tl.float32, torch.float64: tl.float64, torch.bfloat16: tl.float32}
# Numbers of a table that a program of `power` takes.
BLOCK = 1024


def pair_rows(
    pattern: Pattern,
    values: torch.Tensor,
    U: torch.Tensor,
    V: torch.Tensor,
    rest: Rest | None,
    tiny: float,
    dtype: torch.dtype,
) -> PairHalf:
    """Row half of `pair`, from weighted counts (nnz,); pairs whose z is below `tiny` are lost."""
    segments, K, device = pattern.by_row, U.shape[1], U.device
    n = len(segments.owners)
    sums = torch.empty((n, K), dtype=dtype, device=device)
    ratio = torch.empty(pattern.nnz, dtype=dtype, device=device)
    log_z = torch.empty(n, dtype=torch.float64, device=device)
    lost = torch.empty(n, dtype=torch.int32, device=device)
    left = torch.zeros(0 if rest is None else n, dtype=torch.float64, device=device)
    L, BN, warps = _shape(K)
    with _on(U):
        kernels.pair_rows[(n,)](
            segments.starts, segments.ends, segments.owners, pattern.indices, values, U, V,
            *((values, values) if rest is None else rest), sums, ratio, log_z, lost, left,
            tiny, K, L, BN, rest is not None, ACCUMULATE[dtype], num_warps=warps,
        )  # fmt: skip
    return PairHalf(_front(segments, sums, pattern.n_rows), ratio, log_z, lost, left)


def row_sums(
    pattern: Pattern, factor: torch.Tensor | None, table: torch.Tensor, own: bool = False
) -> torch.Tensor:
    """`sum_j factor table[j]` over the non-zeros of each row, (I, K) float64."""
    index = _numbers(pattern) if own else pattern.indices
    partial = _gathered(pattern.by_row, index, None, factor, table, torch.float64)
    return _front(pattern.by_row, partial, pattern.n_rows)


def column_sums(
    pattern: Pattern,
    factor: torch.Tensor | None,
    table: torch.Tensor,
    by: torch.Tensor | None = None,
    own: bool = False,
) -> torch.Tensor:
    """`by[j] sum_i factor table[i]` over the non-zeros of each column, (J, K).

    In float64, or in the type of `by` where that is given.
    """
    order = pattern.by_column
    kind = torch.float64 if by is None else factor.dtype  # type: ignore[union-attr]
    index = order.entries if own else order.rows
    partial = _gathered(order.segments, index, order.entries, factor, table, kind)
    return _joined(order.segments, partial, by, kind)


def dots(pattern: Pattern, U: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
    """`sum_k U[i, k] V[j, k]` for every non-zero, (nnz,)."""
    segments, K = pattern.by_row, U.shape[1]
    out = torch.empty(pattern.nnz, dtype=U.dtype, device=U.device)
    L, BN, warps = _shape(K)
    with _on(U):
        kernels.pair_dots[(len(segments.owners),)](
            segments.starts, segments.ends, segments.owners, pattern.indices, U, V, out,
            K, L, BN, ACCUMULATE[U.dtype], num_warps=warps,
        )  # fmt: skip
    return out


def power(table: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """`table ** beta * exp(log_scale)`; scale (K + 1,) is both, beta last."""
    out, K = torch.empty_like(table), table.shape[1]
    programs = triton.cdiv(table.numel(), BLOCK)
    if programs:
        with _on(table):
            kernels.tempered[(programs,)](
                table, scale, out, table.numel(), K, BLOCK, ACCUMULATE[table.dtype]
            )
    return out


def soften(scores: torch.Tensor, weight: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
    """Softmax of each row (n, K), times its weight (n,), in place; log normalisers (n,)."""
    n, K = scores.shape
    log_z = torch.empty(n, dtype=torch.float64, device=scores.device)
    if n:
        given = scores if weight is None else weight
        with _on(scores):
            kernels.softened[(n,)](
                scores, given, log_z, K, triton.next_power_of_2(K), weight is not None, num_warps=8
            )
    return scores, log_z


def _on(tensor: torch.Tensor) -> AbstractContextManager[object]:
    """Triton launches on the current device: let that be the one where the tensor is."""
    return torch.cuda.device(tensor.device) if tensor.is_cuda else nullcontext()


def _shape(K: int) -> tuple[int, int, int]:
    """Width of a tile, non-zeros at a time, and warps, for K components."""
    L = triton.next_power_of_2(-(-K // 4))
    return L, min(64, max(4, 512 // (4 * L))), min(8, max(1, L // 64))


def _numbers(pattern: Pattern) -> torch.Tensor:
    kind = torch.int32 if pattern.nnz < 2**31 else torch.int64
    return torch.arange(pattern.nnz, dtype=kind, device=pattern.indptr.device)


def _gathered(
    segments: Segments,
    index: torch.Tensor,
    entries: torch.Tensor | None,
    factor: torch.Tensor | None,
    table: torch.Tensor,
    kind: torch.dtype,
) -> torch.Tensor:
    """Sums of factor x table[index] over each segment, (S, K)."""
    n, K = len(segments.owners), table.shape[1]
    sums = torch.empty((n, K), dtype=kind, device=table.device)
    if n and K:
        L, BN, warps = _shape(K)
        with _on(table):
            kernels.gathered_sums[(n,)](
                segments.starts, segments.ends, index, index if entries is None else entries,
                index if factor is None else factor, table, segments.owners, table, sums,
                K, L, BN, factor is not None, entries is not None, False, ACCUMULATE[kind],
                num_warps=warps,
            )  # fmt: skip
    return sums


def _front(segments: Segments, partial: torch.Tensor, n: int) -> torch.Tensor:
    """Sums of rows (n, K): those of their only segments, or of all where there are several."""
    sums = partial[:n]
    if len(segments.many):
        sums[segments.many] = _joined(segments, partial, None, partial.dtype)
    return sums


def _joined(
    segments: Segments, partial: torch.Tensor, by: torch.Tensor | None, kind: torch.dtype
) -> torch.Tensor:
    """Sums of owners with several segments from those, in float64, times `by` (M, K)."""
    n, K = len(segments.many), partial.shape[1]
    sums = torch.empty((n, K), dtype=kind, device=partial.device)
    owners = torch.arange(n, dtype=torch.int32, device=partial.device)
    if n and K:
        L, BN, warps = _shape(K)
        with _on(partial):
            kernels.gathered_sums[(n,)](
                segments.lists, segments.lists[1:], segments.order, segments.order, partial,
                partial, owners, partial if by is None else by, sums,
                K, L, BN, False, False, by is not None, tl.float64, num_warps=warps,
            )  # fmt: skip
    return sums
