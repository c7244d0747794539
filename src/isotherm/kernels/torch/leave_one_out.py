"""Leave-one-out posteriors in torch, float64: the formulas of the reference, a piece at a time."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import NamedTuple

import torch

from isotherm.kernels.reference import LOG_FLOOR, ONCE
from isotherm.kernels.torch.pattern import Pattern

# Numbers of an (nnz, K) array that exist at a time.
AT_ONCE = 1 << 22


class Counted(NamedTuple):
    """A pattern with `values` (nnz,), `weight` (I,) and `row_totals` (I,), float64."""

    pattern: Pattern
    values: torch.Tensor
    weight: torch.Tensor
    row_totals: torch.Tensor


class How(NamedTuple):
    """Inverse temperature, whether it is the prior's too, type of the posterior, sums."""

    beta: float
    temper_prior: bool
    kind: torch.dtype
    sums: ModuleType


def pair(
    block: Counted, counted: tuple[torch.Tensor, ...], last: torch.Tensor, how: How
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Posterior (nnz, K) of each dyad without one of its tokens, and its weighted sums.

    `counted`: counts of the rows (I, K) and of the columns (J, K).
    """
    (rows, columns), (beta, temper_prior, kind, sums) = counted, how
    pattern, mass, totals = block.pattern, columns.sum(dim=0), columns.sum(dim=1)
    posterior = torch.empty((pattern.nnz, columns.shape[1]), dtype=kind, device=columns.device)
    step = max(1, AT_ONCE // columns.shape[1])
    for first in range(0, pattern.nnz, step):
        part = slice(first, first + step)
        i, j = pattern.row_of[part].long(), pattern.indices[part].long()
        token = block.values[part].clamp(max=1.0)
        copy = token * block.weight[i].clamp(max=1.0)
        # All copies of a row are in its own counts and lose the token; columns lose it once.
        own = last[part].double() * (token * block.weight[i])[:, None]
        out = last[part].double() * copy[:, None]
        left = (mass - out).clamp_(min=0.0)
        row_left = block.row_totals[i] > token * (1 + ONCE)
        column_left = totals[j] > copy * (1 + ONCE)
        ratios = _kept(_ratio(rows[i] - own, left), row_left)
        ratios *= _kept(_ratio(columns[j] - out, left), column_left)
        exponent = (beta if temper_prior else 1.0) * _log(left) + beta * _log(ratios)
        nothing = torch.isneginf(exponent.amax(dim=1, keepdim=True))
        exponent = torch.where(nothing, _log(mass), exponent)
        posterior[part] = torch.softmax(exponent, dim=1).to(kind)
    heavy = block.values * block.weight[pattern.row_of.long()]
    return (
        posterior,
        sums.row_sums(pattern, heavy, posterior, own=True),
        sums.column_sums(pattern, heavy, posterior, own=True),
    )


def row(block: Counted, counted: tuple[torch.Tensor, ...], how: How) -> torch.Tensor:
    """Posterior (I, K) of each row without one of its copies.

    `counted`: counts (J, K), rows (K,), the last posterior (I, K) and pseudo-counts (J,).
    """
    (columns, mass, last, pseudo), (beta, temper_prior, kind, sums) = counted, how
    copy = block.weight.clamp(max=1.0)
    share = last * copy[:, None]
    totals = columns.sum(dim=0) - share * block.row_totals[:, None] + pseudo.sum()
    logs, column_totals = _floored(totals), columns.sum(dim=1)
    prior = (beta if temper_prior else 1.0) * _floored(mass - share)
    parts = []
    for lo, hi, start, end in row_spans(block.pattern, columns.shape[1]):
        pattern = block.pattern.of_rows(lo, hi, start, end)
        n, j = block.values[start:end], pattern.indices.long()
        i = pattern.row_of.long() + lo
        left = columns[j] - share[i] * n[:, None] + pseudo[j][:, None]
        terms = n[:, None] * (_floored(left) - logs[i])
        terms *= (column_totals[j] > n * copy[i] * (1 + ONCE))[:, None]
        scores = prior[lo:hi] + beta * sums.row_sums(pattern, None, terms, own=True)
        parts.append(torch.softmax(scores, dim=1).to(kind))
    return torch.cat(parts)


def row_spans(pattern: Pattern, cost: int) -> Iterator[tuple[int, int, int, int]]:
    """Runs of rows, first and last, and their non-zeros: as many as are worth a piece."""
    most = max(1, AT_ONCE // max(1, cost))
    indptr, lo = pattern.indptr.cpu().numpy(), 0
    while lo < pattern.n_rows:
        hi = int(indptr.searchsorted(indptr[lo] + most, side="right")) - 1
        hi = min(max(hi, lo + 1), pattern.n_rows)
        yield lo, hi, int(indptr[lo]), int(indptr[hi])
        lo = hi


def _ratio(part: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
    """`part / whole`, clipped at 0, and 0 where the whole is 0."""
    found = part.clamp(min=0.0) / torch.where(whole > 0, whole, 1.0)
    return torch.where(whole > 0, found, 0.0)


def _kept(ratio: torch.Tensor, left: torch.Tensor) -> torch.Tensor:
    """The ratios of rows (n, K) that have anything left, 1 for the others."""
    return torch.where(left[:, None], ratio, 1.0)


def _log(x: torch.Tensor) -> torch.Tensor:
    return torch.log(x.clamp(min=0.0))


def _floored(x: torch.Tensor) -> torch.Tensor:
    return _log(x).clamp_(min=LOG_FLOOR)
