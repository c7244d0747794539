"""Sums over non-zeros in plain torch: for devices without Triton, and what its kernels are held to.

All of it is added up in float64, one piece of the non-zeros after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch

from isotherm.kernels.torch.pattern import Pattern

# Numbers that are gathered at a time.
AT_ONCE = 1 << 22


class PairHalf(NamedTuple):
    """What a pass over the rows finds.

    `rows` (I, K), `ratio` (nnz,), `log_z` and `lost` (S,); `left` (S,) is what the rest explains.
    """

    rows: torch.Tensor
    ratio: torch.Tensor
    log_z: torch.Tensor
    lost: torch.Tensor
    left: torch.Tensor


class Rest(NamedTuple):
    """What else explains non-zeros, and of how many weighted tokens: all but the first, (nnz,)."""

    value: torch.Tensor
    again: torch.Tensor


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
    ratio = torch.empty(pattern.nnz, dtype=dtype, device=U.device)
    sums = torch.zeros(U.shape, dtype=torch.float64, device=U.device)
    log_z, lost, left = [], [], []
    for part in _pieces(pattern.nnz, U.shape[1]):
        i, v = pattern.row_of[part].long(), V[pattern.indices[part].long()].to(dtype)
        z = (U[i].to(dtype) * v).sum(dim=1)
        small = z < tiny
        heavy, safe = values[part].masked_fill(small, 0.0), z.masked_fill(small, 1.0)
        ratio[part] = heavy / safe
        energy = (heavy.double() * safe.double().log()).sum()
        if rest is not None:
            again, both = rest.again[part].masked_fill(small, 0.0), safe + rest.value[part]
            ratio[part] += again / both - again / safe
            energy += (again.double() * torch.log1p((rest.value[part] / safe).double())).sum()
            left.append((again.double() * rest.value[part].double() / both.double()).sum())
        log_z.append(energy)
        lost.append(small.sum())
        sums.index_add_(0, i, ratio[part, None].double() * v)
    sums *= U
    nothing = torch.zeros(0, device=U.device)
    stacked = [torch.stack(x) if x else nothing for x in (log_z, lost, left)]
    return PairHalf(sums.to(dtype), ratio, *stacked)


def row_sums(
    pattern: Pattern, factor: torch.Tensor | None, table: torch.Tensor, own: bool = False
) -> torch.Tensor:
    """`sum_j factor table[j]` over the non-zeros of each row, (I, K) float64.

    With `own` every non-zero has a row of the table for itself.
    """
    index = None if own else pattern.indices
    return _added(pattern.row_of, pattern.n_rows, index, factor, table)


def column_sums(
    pattern: Pattern,
    factor: torch.Tensor | None,
    table: torch.Tensor,
    by: torch.Tensor | None = None,
    own: bool = False,
) -> torch.Tensor:
    """`by[j] sum_i factor table[i]` over the non-zeros of each column, (J, K) float64."""
    index = None if own else pattern.row_of
    sums = _added(pattern.indices, pattern.n_columns, index, factor, table)
    return sums if by is None else sums * by


def dots(pattern: Pattern, U: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
    """`sum_k U[i, k] V[j, k]` for every non-zero, (nnz,)."""
    out = torch.empty(pattern.nnz, dtype=U.dtype, device=U.device)
    for part in _pieces(pattern.nnz, U.shape[1]):
        i, j = pattern.row_of[part].long(), pattern.indices[part].long()
        out[part] = (U[i] * V[j]).sum(dim=1)
    return out


def power(table: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """`table ** beta * exp(log_scale)`; scale (K + 1,) is both, beta last."""
    return torch.exp(torch.log(table) * scale[-1] + scale[:-1])


def soften(scores: torch.Tensor, weight: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
    """Softmax of each row (n, K), times its weight (n,), and the log normalisers (n,)."""
    top = scores.amax(dim=1, keepdim=True)
    table = torch.exp(scores - top)
    z = table.sum(dim=1, keepdim=True, dtype=torch.float64)
    table /= z if weight is None else z / weight[:, None]
    return table, (top.double() + z.log())[:, 0]


def _added(
    owner: torch.Tensor,
    n: int,
    index: torch.Tensor | None,
    factor: torch.Tensor | None,
    table: torch.Tensor,
) -> torch.Tensor:
    sums = torch.zeros((n, table.shape[1]), dtype=torch.float64, device=table.device)
    for part in _pieces(len(owner), table.shape[1]):
        terms = (table[part] if index is None else table[index[part].long()]).double()
        if factor is not None:
            terms = terms * factor[part, None]
        sums.index_add_(0, owner[part].long(), terms)
    return sums


def _pieces(nnz: int, K: int) -> Iterator[slice]:
    step = max(1, AT_ONCE // max(1, K))
    return (slice(first, min(first + step, nnz)) for first in range(0, nnz, step))
