"""Mixtures along the paths of a tree on the CPU: how the loops of `_paths` are dealt to threads.

Pieces that are summed begin where the data say, not the number of threads, and are added up in
order: results are bit-identical for any number of threads.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from isotherm.data.base import Block
from isotherm.kernels.base import Array, PathSums

if TYPE_CHECKING:
    from types import ModuleType

Run = Callable[[Callable[[int, int], Any], Array], list[Any]]

# Numbers of a table that make a piece, and the most pieces whose sums are added up.
PIECE = 1 << 18
MOST_PIECES = 32
# Multiply-adds of the smallest piece of rows that is worth sums of its own.
WORTH = 1 << 22


def mixed(nodes: Array, paths: Array, share: Array, run: Run) -> Array:
    """Mixtures (J, K) of nodes (J, A) along paths (K, D) with shares (K, D)."""
    loops, (paths, first, _) = _loops(), _layout(paths, nodes.shape[1])
    nodes, share = np.ascontiguousarray(nodes), _wide(share, paths, nodes.dtype)
    out = np.empty((len(nodes), len(paths)), nodes.dtype)

    def piece(lo: int, hi: int) -> None:
        loops.mixed(nodes, paths, first, share, out, lo, hi)

    run(piece, _even(len(nodes), paths.size))
    return out


def unmixed(nodes: Array, sums: Array, paths: Array, share: Array, run: Run) -> tuple[Array, Array]:
    """Sums (J, K) of leaves dealt to nodes (J, A), and their totals by place (K, D)."""
    depth = paths.shape[1]
    loops, (paths, first, places) = _loops(), _layout(paths, nodes.shape[1])
    nodes, share = np.ascontiguousarray(nodes), _wide(share, paths, nodes.dtype)
    sums = np.ascontiguousarray(sums, nodes.dtype)
    out = np.empty(nodes.shape, nodes.dtype)

    def piece(lo: int, hi: int) -> Array:
        found = np.empty(paths.shape)
        loops.unmixed(nodes, sums, paths, first, places, share, out, found, lo, hi)
        return found

    found: Array = np.sum(run(piece, _even(len(nodes), paths.size)), axis=0)
    return out, found[:, -depth:]


def path_sums(
    block: Block,
    nodes: Array,
    paths: Array,
    share: Array,
    prior: Array,
    power: float,
    hard: bool,
    squares: bool,
    tiny: float,
    threads: int,
    run: Run,
) -> PathSums:
    """Posteriors, shares and sums of all rows; as many sums of pieces exist as there are threads.

    Each thread has sums of its own, (J, A + K) float64 (without squares (J, A)).
    """
    loops, (paths, first, places) = _loops(), _layout(paths, nodes.shape[1])
    nodes, dtype, K = np.ascontiguousarray(nodes), nodes.dtype, len(paths)
    share = np.ascontiguousarray(share, dtype)
    prior = np.broadcast_to(prior, (block.n_rows, K))
    posterior, new = np.empty((block.n_rows, K), dtype), np.empty(share.shape, dtype)

    def sums() -> tuple[Array, ...]:
        width = nodes.shape[1] + (K if squares else 0)
        shapes = (block.n_columns, width), (K,), share.shape[1:]
        return tuple(np.zeros(shape) for shape in shapes)

    def piece(lo: int, hi: int) -> tuple[float, tuple[Array, ...]]:
        part = sums()
        log_z = loops.path_rows(
            block.indptr, block.indices, block.values, block.weight, nodes, paths, first, places,
            share, prior, float(power), hard, dtype.type(tiny), posterior, new, *part, lo, hi,
        )  # fmt: skip
        return log_z, part

    bounds, total, energy = _by_count(block.indptr, paths.size), sums(), 0.0
    for wave in itertools.count(step=threads):
        if wave >= len(bounds) - 1:
            break
        for log_z, part in run(piece, bounds[wave : wave + threads + 1]):
            energy += log_z
            for whole, one in zip(total, part, strict=True):
                whole += one
    out, mass, levels = total
    out, square = out[:, : nodes.shape[1]], out[:, nodes.shape[1] :]
    return PathSums(posterior, new, out, square, mass, levels, energy)


def _layout(paths: Array, n_nodes: int) -> tuple[Array, Array, tuple[Array, ...]]:
    return _layout_of(paths.astype(np.int64).tobytes(), paths.shape[1], n_nodes)


@lru_cache(maxsize=16)
def _layout_of(content: bytes, depth: int, n_nodes: int) -> tuple[Array, Array, tuple[Array, ...]]:
    """Paths (K, 4n) and where they begin (K,), and the places of each node, in fours.

    Places: where those of node a begin (A + 1,), and of all in order leaf, level and whether it is
    one (P,). Unsigned, because a compiled loop looks twice at an index that might be negative.
    """
    given = np.frombuffer(content, np.int64).reshape(-1, depth)
    paths = np.pad(given, ((0, 0), (-depth % 4, 0)), constant_values=-1)
    leaf, level = np.nonzero(paths >= 0)
    node = paths[leaf, level]
    order = np.argsort(node, kind="stable")
    sizes = np.bincount(node, minlength=n_nodes)
    fours = -(-np.maximum(sizes, 1) // 4) * 4
    starts, begins = (np.concatenate([[0], np.cumsum(part)]) for part in (fours, sizes))
    where = np.arange(len(node)) + (starts - begins)[node[order]]
    filled = np.zeros((3, starts[-1]), np.uint32)
    filled[:, where] = leaf[order], level[order], np.ones_like(order)
    wide = np.maximum(paths, 0).astype(np.uint32)
    return wide, (paths < 0).sum(axis=1), (starts, filled[0], filled[1], filled[2] > 0)


def _wide(share: Array, paths: Array, dtype: DTypeLike) -> Array:
    """Shares (K, D) as wide as the paths."""
    front = paths.shape[1] - share.shape[1]
    return np.pad(share, ((0, 0), (front, 0))).astype(dtype)


def _even(n_rows: int, cost: int) -> Array:
    """Bounds of pieces of about the same size, whatever the number of threads."""
    step = -(-max(1, PIECE // max(1, cost)) // 32) * 32
    return np.append(np.arange(0, max(1, n_rows), step), n_rows)


def _by_count(indptr: Array, cost: int) -> Array:
    """Bounds of pieces with about equal numbers of non-zeros, whatever the number of threads."""
    n = int(np.clip(indptr[-1] * cost // WORTH, 1, MOST_PIECES))
    inner = np.searchsorted(indptr, np.linspace(0, indptr[-1], n + 1)[1:-1])
    return np.unique(np.concatenate([[0], inner, [len(indptr) - 1]]))


def _loops() -> ModuleType:
    """The compiled loops; importing numba here keeps `import isotherm` light."""
    from isotherm.kernels.cpu import _paths

    return _paths
