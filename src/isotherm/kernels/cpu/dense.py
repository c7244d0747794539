"""Dense steps on the CPU: posteriors over centres by matrix products, a few rows at a time.

Products run on one BLAS thread each, and pieces of rows on all threads; where pieces begin depends
on the data alone, so that results are bit-identical for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController

from isotherm.data.vectors import VectorBlock
from isotherm.kernels.base import Array, NodeSums

# Numbers of a piece of the posterior that stay in a near cache while they are used.
NEAR = 1 << 18
MOST_ROWS = 256
MOST_PIECES = 64
# Multiply-adds that are worth a thread, and what an exponential costs in them.
WORTH, EXTRA = 1 << 22, 16

Run = Callable[[Callable[[int, int], Any], Array], list[Any]]


class _Centres(NamedTuple):
    """Centres turned (D, K), half their squares as columns (D, K) and summed (K,)."""

    turned: Array
    half: Array
    offset: Array


def node_sums(block: VectorBlock, centres: Array, scale: float, run: Run) -> NodeSums:
    """Sums of the posterior over centres (K, D) for all rows of a block."""
    K, D = centres.shape
    given, rows = _centres(block, centres), _rows_at_once(K)
    by_column = block.present is not None

    def piece(lo: int, hi: int) -> tuple[Array, Array, float]:
        mass, moment = np.zeros((K, D) if by_column else K), np.zeros((K, D))
        spare = np.zeros(K)
        total = 0.0
        for first in range(lo, hi, rows):
            last = min(first + rows, hi)
            x, w = block.values[first:last], block.weight[first:last]
            table, log_z = _posterior(
                block, given, scale, first, last, w, spare if by_column else mass
            )
            moment += table.T @ x
            if block.present is not None:
                mass += table.T @ block.present[first:last]
            total += float(w @ log_z)
        return mass, moment, total

    parts = _on_all(run, piece, block.n_rows, rows, K * (D + EXTRA))
    mass, moment = (np.sum([part[n] for part in parts], axis=0) for n in (0, 1))
    return NodeSums(mass, moment, float(sum(part[2] for part in parts)))


def node_posterior(
    block: VectorBlock, centres: Array, scale: float, run: Run
) -> tuple[Array, Array]:
    """Posterior over centres (I, K), and the log normaliser of each row (I,)."""
    K = len(centres)
    given, rows = _centres(block, centres), _rows_at_once(K)
    posterior = np.empty((block.n_rows, K), block.values.dtype)
    log_z = np.empty(block.n_rows)

    def piece(lo: int, hi: int) -> None:
        ones, spare = np.ones(rows), np.zeros(K)
        for first in range(lo, hi, rows):
            last = min(first + rows, hi)
            found = _posterior(block, given, scale, first, last, ones[: last - first], spare)
            posterior[first:last], log_z[first:last] = found

    _on_all(run, piece, block.n_rows, rows, K * (centres.shape[1] + EXTRA))
    return posterior, log_z


def _posterior(
    block: VectorBlock,
    given: _Centres,
    scale: float,
    first: int,
    last: int,
    weight: Array,
    mass: Array,
) -> tuple[Array, Array]:
    """Weighted posterior of rows first..last, and their log normalisers; adds to `mass` (K,)."""
    from isotherm.kernels.cpu._softmax import soften

    table = block.values[first:last] @ given.turned
    if block.present is not None:
        table -= block.present[first:last] @ given.half
    log_z = np.empty(last - first)
    soften(table, given.offset, table.dtype.type(1.0 / scale), weight, mass, log_z)
    log_z -= block.squares[first:last] / (2.0 * scale)
    return table, log_z


def _centres(block: VectorBlock, centres: Array) -> _Centres:
    dtype = block.values.dtype
    half = centres.T**2 / 2.0
    offset = half.sum(axis=0) if block.present is None else np.zeros(len(centres))
    turned = np.ascontiguousarray(centres.T, dtype)
    return _Centres(turned, np.ascontiguousarray(half, dtype), offset.astype(dtype))


def _rows_at_once(K: int) -> int:
    return int(np.clip(NEAR // K, 16, MOST_ROWS))


def _on_all(
    run: Run, piece: Callable[[int, int], object], n_rows: int, rows: int, cost: int
) -> list[Any]:
    """Pieces of so many rows at once, each worth a thread; `cost` of a row in multiply-adds."""
    step = max(-(-n_rows // (MOST_PIECES * rows)), -(-WORTH // (cost * rows))) * rows
    bounds = np.append(np.arange(0, n_rows, step), n_rows)
    with one_blas_thread():
        return run(piece, bounds)


def one_blas_thread() -> AbstractContextManager[object]:
    """Matrix products on one thread each: BLAS threads that wait for work keep ours waiting."""
    limit: AbstractContextManager[object] = _blas().limit(limits=1, user_api="blas")
    return limit


@lru_cache(maxsize=1)
def _blas() -> ThreadpoolController:
    """What sets the number of threads of the loaded BLAS; found once, because looking is slow."""
    return ThreadpoolController()
