"""Mixtures along the paths of a tree in torch: products with the matrix of shares by node."""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

import numpy as np
import torch

from isotherm.kernels.base import Array
from isotherm.kernels.reference import LOG_FLOOR
from isotherm.kernels.torch.array import tensor_of
from isotherm.kernels.torch.dense import posterior
from isotherm.kernels.torch.leave_one_out import row_spans
from isotherm.kernels.torch.pattern import Pattern


class Given(NamedTuple):
    """A block, nodes (J, A), paths (K, D), shares (I, K, D) and log prior (K,) or (I, K)."""

    pattern: Pattern
    values: torch.Tensor
    weight: torch.Tensor
    nodes: torch.Tensor
    paths: Array
    share: torch.Tensor
    prior: torch.Tensor


def mixed(nodes: torch.Tensor, paths: Array, share: Array) -> torch.Tensor:
    """Mixtures (J, K) of nodes (J, A) along paths (K, D) with shares (K, D)."""
    return nodes @ _along(nodes, paths, share).T.to(nodes.dtype)


def unmixed(
    nodes: torch.Tensor, sums: torch.Tensor, paths: Array, share: Array
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sums (J, K) of leaves dealt to nodes (J, A), and their totals by place (K, D) float64."""
    along = _along(nodes, paths, share)
    total = nodes.double() @ along.T
    there = total > 0
    ratio = torch.where(there, sums / torch.where(there, total, 1.0), 0.0)
    # Where a mixture is 0 the shares alone say whose the sum is.
    plain = torch.where(there, 0.0, sums.double())
    out = nodes * (ratio @ along) + plain @ along
    found = (ratio.T @ nodes.double() + plain.sum(dim=0)[:, None]).cpu().numpy()
    places = np.where(paths >= 0, np.asarray(share), 0.0)
    levels = places * np.take_along_axis(found, np.maximum(paths, 0), axis=1)
    return out.to(nodes.dtype), tensor_of(levels, nodes.device)


def path_sums(
    given: Given, power: float, hard: bool, squares: bool, kind: torch.dtype, sums: ModuleType
) -> tuple[tuple[torch.Tensor, ...], float]:
    """Posteriors, shares and sums of all rows, some of them at a time; sum of log z."""
    pattern, paths = given.pattern, np.maximum(given.paths, 0)
    (K, D), A = paths.shape, given.nodes.shape[1]
    index = tensor_of(paths.reshape(-1), given.nodes.device).long()
    member = torch.zeros((K * D, A), dtype=torch.float64, device=given.nodes.device)
    member[torch.arange(K * D, device=index.device), index] = 1.0
    width = A + (K if squares else 0)
    columns = torch.zeros((pattern.n_columns, width), dtype=torch.float64, device=index.device)
    levels = torch.zeros((K, D), dtype=torch.float64, device=index.device)
    mass = torch.zeros(K, dtype=torch.float64, device=index.device)
    found, shares, log_z = [], [], 0.0
    for lo, hi, start, end in row_spans(pattern, K * D):
        part, share = pattern.of_rows(lo, hi, start, end), given.share[lo:hi].double()
        n, i, j = given.values[start:end], part.row_of.long(), part.indices.long()
        terms = share[i] * given.nodes[j][:, index].reshape(-1, K, D)
        total = terms.sum(dim=2)
        shown = torch.where(
            (total > 0)[:, :, None],
            terms / torch.where(total > 0, total, 1.0)[:, :, None],
            share[i],
        )
        logs = torch.log(total).clamp_(min=LOG_FLOOR)
        prior = given.prior if given.prior.ndim == 1 else given.prior[lo:hi]
        scores = prior + power * sums.row_sums(part, n, logs, own=True)
        table, z = posterior(scores, hard, kind)
        counts = sums.row_sums(part, n, shown.reshape(-1, K * D), own=True).reshape(-1, K, D)
        whole = counts.sum(dim=2, keepdim=True)
        shares.append(torch.where(whole > 0, counts / torch.where(whole > 0, whole, 1.0), share))
        weight = given.weight[lo:hi]
        heavy = table.double() * weight[:, None]
        joint = (n[:, None] * heavy[i])[:, :, None] * shown
        by_node = joint.reshape(-1, K * D) @ member
        leaf = joint[:, :, -1] * shown[:, :, -1]
        both = torch.cat([by_node, leaf], dim=1) if squares else by_node
        columns += sums.column_sums(part, None, both.contiguous(), own=True)
        levels += joint.sum(dim=0)
        mass += heavy.sum(dim=0)
        log_z += float(weight @ z)
        found.append(table)
    new = torch.cat(shares).to(kind)
    return (torch.cat(found), new, columns[:, :A], columns[:, A:], mass, levels), log_z


def _along(nodes: torch.Tensor, paths: Array, share: Array) -> torch.Tensor:
    """Shares (K, D) by place as shares by node, (K, A) float64."""
    table = np.zeros((len(paths), nodes.shape[1]))
    leaf, place = np.nonzero(paths >= 0)
    table[leaf, paths[leaf, place]] = np.asarray(share)[leaf, place]
    return tensor_of(table, nodes.device)
