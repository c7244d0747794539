"""Dense steps in torch: posteriors of rows and over centres, by matrix products.

Rows are taken many at a time, and their sums over runs of RUN rows in the type of the tables, those
of the runs in float64.
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

import torch

from isotherm.kernels.base import NodeSums

RUN = 256
# Numbers of the posterior that exist at a time.
AT_ONCE = 1 << 27
# Posteriors below exp of this are 0.
NOTHING = -87.0


class Vectors(NamedTuple):
    """`values` (I, D), `present` (I, D) or None, `weight` (I,) or None, `squares` (I,)."""

    values: torch.Tensor
    present: torch.Tensor | None
    weight: torch.Tensor | None
    squares: torch.Tensor


def posterior(
    scores: torch.Tensor, hard: bool, kind: torch.dtype
) -> tuple[torch.Tensor, torch.Tensor]:
    """Softmax of scores (I, K) float64, or one at the largest; log normalisers (I,)."""
    top = scores.amax(dim=1, keepdim=True)
    if hard or scores.shape[1] == 1:
        # The first of the largest, which torch does not promise by itself.
        first = torch.cumsum((scores == top).to(torch.int32), dim=1).eq(0).sum(dim=1)
        one = torch.zeros(scores.shape, dtype=kind, device=scores.device)
        return one.scatter_(1, first[:, None].clamp_(max=scores.shape[1] - 1), 1.0), top[:, 0]
    gap = scores - top
    share = torch.exp(gap).masked_fill_(gap < NOTHING, 0.0)
    z = share.sum(dim=1, keepdim=True)
    return (share / z).to(kind), (top + z.log())[:, 0]


def node_sums(block: Vectors, centres: torch.Tensor, scale: float, sums: ModuleType) -> NodeSums:
    """Sums of the posterior over centres (K, D) for all rows of a block."""
    (K, D), device = centres.shape, centres.device
    width = 1 if block.present is None else D
    mass = torch.zeros((K, width), dtype=torch.float64, device=device)
    moment = torch.zeros((K, D), dtype=torch.float64, device=device)
    total = torch.zeros((), dtype=torch.float64, device=device)
    for lo, hi in _spans(len(block.values), K):
        weight = None if block.weight is None else block.weight[lo:hi]
        table, log_z = _softened(block, centres, scale, lo, hi, weight, sums)
        moment += _products(table, block.values[lo:hi])
        if block.present is None:
            mass += _totals(table)[:, None]
        else:
            mass += _products(table, block.present[lo:hi])
        total += log_z.sum() if weight is None else weight @ log_z
    held = mass[:, 0] if block.present is None else mass
    return NodeSums(held.cpu().numpy(), moment.cpu().numpy(), float(total))


def node_posterior(
    block: Vectors, centres: torch.Tensor, scale: float, sums: ModuleType
) -> tuple[torch.Tensor, torch.Tensor]:
    """Posterior over centres (I, K), and the log normaliser of each row (I,)."""
    parts = [
        _softened(block, centres, scale, lo, hi, None, sums)
        for lo, hi in _spans(len(block.values), len(centres))
    ]
    return torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts])


def _softened(
    block: Vectors,
    centres: torch.Tensor,
    scale: float,
    lo: int,
    hi: int,
    weight: torch.Tensor | None,
    sums: ModuleType,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Weighted posterior of rows lo..hi (n, K), and their log normalisers (n,)."""
    x = block.values[lo:hi]
    half = centres.T**2 / (2.0 * scale)
    turned = (centres.T / scale).to(x.dtype)
    if block.present is None:
        table = torch.addmm(-half.sum(dim=0).to(x.dtype), x, turned)
    else:
        table = torch.addmm(block.present[lo:hi] @ -half.to(x.dtype), x, turned)
    table, log_z = sums.soften(table, weight)
    return table, log_z - block.squares[lo:hi] / (2.0 * scale)


def _products(table: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """`table.T @ values`, (K, D) float64, by runs of rows."""
    whole = len(table) // RUN * RUN
    rest = table[whole:].double().T @ values[whole:].double()
    if not whole:
        return rest
    left = table[:whole].reshape(-1, RUN, table.shape[1]).transpose(1, 2)
    runs = torch.bmm(left, values[:whole].reshape(-1, RUN, values.shape[1]))
    return rest + runs.sum(dim=0, dtype=torch.float64)


def _totals(table: torch.Tensor) -> torch.Tensor:
    """Sum of the rows, (K,) float64, by runs of them."""
    whole = len(table) // RUN * RUN
    runs = table[:whole].reshape(-1, RUN, table.shape[1]).sum(dim=1)
    rest = table[whole:].sum(dim=0, dtype=torch.float64)
    return runs.sum(dim=0, dtype=torch.float64) + rest


def _spans(n_rows: int, K: int) -> list[tuple[int, int]]:
    step = max(1, AT_ONCE // (K * RUN)) * RUN
    return [(lo, min(lo + step, n_rows)) for lo in range(0, n_rows, step)]
