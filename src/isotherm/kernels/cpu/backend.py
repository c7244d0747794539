"""Kernels for CPUs: numba loops on all cores, single precision by default.

The loops release the GIL and are dealt to a pool of threads in pieces; results are bit-identical
for any number of threads. numba is imported on the first call, never on `import isotherm`.
"""

from __future__ import annotations

import itertools
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from isotherm._types import DType
from isotherm.data.base import Block
from isotherm.data.vectors import VectorBlock
from isotherm.kernels.base import Array, BlockT, LeaveOneOut, NodeSums, PairSums, PathSums, RowSums
from isotherm.kernels.cpu import dense
from isotherm.kernels.cpu import paths as tree_paths
from isotherm.kernels.cpu.linked import LinkedRows
from isotherm.kernels.cpu.underflow import redo_in_log_space
from isotherm.kernels.reference import LOG_FLOOR, ONCE, of_type

if TYPE_CHECKING:
    from types import ModuleType

# A pair whose z falls below this is redone in log space; n / z stays finite for n up to 1e12.
TINY = {np.dtype(np.float32): 1e-26, np.dtype(np.float64): 1e-290}
PIECES_PER_THREAD = 4
# Nobody has more, and a number that is far too large would end in an error of the system.
MOST_THREADS = 1 << 16
PIECE_OF_TABLE = 1 << 17
# Rows whose sum is one term of the total of a table, whatever the number of threads.
ROWS_OF_TOTAL = 1024
# Pieces of tables of so many rows, with no more than this share of entries above 0: columns that
# never occur have nothing else, and logarithms of 0 are slow.
WIDE, SPARSE = 65536, 0.1


def available_threads() -> int:
    """Cores this process may use, or fewer where OMP_NUM_THREADS says so."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cores or 1, int(asked) if asked.isdigit() and int(asked) else MOST_THREADS))


def _few_above_0(table: Array, lo: int, hi: int) -> tuple[Array, ...] | None:
    """Where rows lo to hi of a wide table are above 0, if that is in few places; else None."""
    if len(table) < WIDE or table.ndim != 2:
        return None
    # Numpy finds what is true a good deal faster than what is not 0.
    mask = (table[lo:hi] != 0).ravel()
    if np.count_nonzero(mask) > SPARSE * mask.size:
        return None
    return np.divmod(np.flatnonzero(mask), table.shape[1])


@dataclass(frozen=True)
class Cpu(LinkedRows):
    """CPU backend; satisfies `isotherm.kernels.base.Kernels`.

    Parameters
    ----------
    precision : {"float32", "float64"}
        Type of the tables. Energies, masses and long sums are float64 either way.
    n_threads : int, optional
        All available cores by default. The result does not depend on it.
    """

    precision: str = "float32"
    n_threads: int | None = None

    @property
    def dtype(self) -> DType:
        """Type of the tables."""
        return np.dtype(self.precision)

    def prepare(self, block: BlockT) -> BlockT:
        """Block with values of the tables' type."""
        if block.values.dtype == self.dtype:
            return block
        return of_type(block, self.dtype)

    def power(self, table: Array, beta: float, log_scale: Array) -> Array:
        """`table ** beta * exp(log_scale)`."""
        table = np.asarray(table, self.dtype)
        if beta == 1.0:
            return self.scaled(table, np.exp(log_scale)) if np.any(log_scale) else table
        out = np.empty(table.shape, self.dtype)
        scale = np.asarray(log_scale, self.dtype)
        b = self.dtype.type(beta)

        def piece(lo: int, hi: int) -> None:
            part = out[lo:hi]
            if b > 0 and (filled := _few_above_0(table, lo, hi)) is not None:
                part[:] = 0
                logs = np.log(table[lo:hi][filled]) * b
                part[filled] = np.exp(logs + scale[filled[1]])
                return
            # The default error state of numpy is per thread, so it is set here.
            with np.errstate(divide="ignore"):
                np.log(table[lo:hi], out=part)
            part *= b
            part += scale
            np.exp(part, out=part)

        self._run(piece, _even(table))
        return out

    def logs(self, table: Array, factor: float) -> Array:
        """`factor * log(table)`."""
        out = np.empty(table.shape, self.dtype)
        scale, least = self.dtype.type(factor), self.dtype.type(LOG_FLOOR)

        def piece(lo: int, hi: int) -> None:
            part = out[lo:hi]
            if (filled := _few_above_0(table, lo, hi)) is not None:
                part[:] = least * scale
                logs = np.log(table[lo:hi][filled]).astype(self.dtype)
                part[filled] = np.maximum(logs, least) * scale
                return
            with np.errstate(divide="ignore"):
                np.log(table[lo:hi], out=part, casting="same_kind")
            np.maximum(part, least, out=part)
            part *= scale

        self._run(piece, _even(table))
        return out

    def totals(self, table: Array) -> Array:
        """Sum of each column of a table."""
        filled = _few_above_0(table, 0, len(table))
        if filled is not None:
            given = np.asarray(table[filled], self.dtype)
            return np.bincount(filled[1], weights=given, minlength=table.shape[1])
        loops, table = _loops(), np.ascontiguousarray(table)

        def piece(lo: int, hi: int) -> Array:
            part, sums = table[lo:hi].astype(self.dtype, copy=False), np.empty(table.shape[1])
            loops.table_totals(part, sums, 0, hi - lo)
            return sums

        bounds = np.append(np.arange(0, max(1, len(table)), ROWS_OF_TOTAL), len(table))
        sums: Array = np.sum(self._run(piece, bounds), axis=0)
        return sums

    def scaled(self, table: Array, factor: Array) -> Array:
        """`table * factor`."""
        factor, out = np.asarray(factor, self.dtype)[None], np.empty(table.shape, self.dtype)
        loops, table = _loops(), np.ascontiguousarray(table)

        def piece(lo: int, hi: int) -> None:
            part = table[lo:hi].astype(self.dtype, copy=False)
            loops.table_products(part, factor, out[lo:hi], 0, hi - lo)

        self._run(piece, _even(table))
        return out

    def pair(self, block: Block, U: Array, V: Array, rest: Array | None = None) -> PairSums:
        """Posterior per non-zero; one pass over rows, one over columns."""
        loops, order = _loops(), block.by_column
        U, V = np.ascontiguousarray(U, self.dtype), np.ascontiguousarray(V, self.dtype)
        rest = None if rest is None else np.ascontiguousarray(rest, self.dtype)
        more = None if rest is None else np.empty(block.n_rows)
        rows = np.empty(U.shape, self.dtype)
        columns = np.empty(V.shape, self._handed(block))
        ratio = np.empty(block.nnz, self.dtype)
        log_z = np.empty(block.n_rows)
        tiny = self.dtype.type(TINY[self.dtype])

        def half(lo: int, hi: int) -> int:
            return int(
                loops.pair_rows(
                    block.indptr, block.indices, block.values, block.weight, U, V, rest, tiny,
                    rows, ratio, log_z, more, lo, hi,
                )
            )  # fmt: skip

        underflows = sum(self._run(half, self._pieces(block.indptr)))

        def other_half(lo: int, hi: int) -> None:
            sums = _double(columns[lo:hi])
            loops.column_sums(*order[:5], ratio, U, sums, lo, hi)
            loops.table_products(sums, V[lo:hi], columns[lo:hi], 0, hi - lo)

        self._run(other_half, self._pieces(order.cumulative, _many(block, columns)))
        total, left = float(log_z.sum()), 0.0 if more is None else float(more.sum())
        if underflows:
            again = redo_in_log_space(block, U, V, rest, ratio, rows, columns)
            total, left = total + again[0], left + again[1]
        return PairSums(rows, columns, total, left)

    def row(self, block: Block, logs: Array, prior: Array, hard: bool = False) -> RowSums:
        """Posterior per row, then the column sums by the same loop as `pair`."""
        # The order of columns is made before the tables are: making it takes memory of its own.
        loops, K, _ = _loops(), logs.shape[1], block.by_column
        logs = np.ascontiguousarray(logs, self.dtype)
        prior = np.broadcast_to(prior, (block.n_rows, K))
        posterior = np.empty((block.n_rows, K), self.dtype)
        log_z = np.empty(block.n_rows)

        def half(lo: int, hi: int) -> None:
            # The scores, in double precision, are held for this piece only.
            scores, rows = np.array(prior[lo:hi], np.float64, order="C"), block.indptr[lo : hi + 1]
            loops.row_scores(rows, block.indices, block.values, logs, scores, 0, hi - lo)
            loops.row_posteriors(scores, hard, posterior[lo:hi], log_z[lo:hi], 0, hi - lo)

        self._run(half, self._pieces(block.indptr))
        columns = np.empty((block.n_columns, K), self._handed(block))
        self._add_columns(block, posterior, columns)
        mass = np.einsum("i,ik->k", block.weight, posterior)
        return RowSums(posterior, columns, mass, float(block.weight @ log_z))

    def mixed(self, nodes: Array, paths: Array, share: Array) -> Array:
        """Mixtures along paths, (J, K)."""
        return tree_paths.mixed(np.asarray(nodes, self.dtype), paths, share, self._run)

    def unmixed(self, nodes: Array, sums: Array, paths: Array, share: Array) -> tuple[Array, Array]:
        """Sums of leaves dealt to the nodes of their paths."""
        return tree_paths.unmixed(np.asarray(nodes, self.dtype), sums, paths, share, self._run)

    def path(
        self,
        block: Block,
        nodes: Array,
        paths: Array,
        share: Array,
        prior: Array,
        power: float = 1.0,
        hard: bool = False,
        squares: bool = True,
    ) -> PathSums:
        """Posterior per row from mixtures of its own along paths."""
        nodes, tiny = np.asarray(nodes, self.dtype), TINY[self.dtype]
        threads = self.n_threads or available_threads()
        return tree_paths.path_sums(
            block, nodes, paths, share, prior, power, hard, squares, tiny, threads, self._run
        )

    def times(self, block: Block, V: Array) -> Array:
        """Counts times a table."""
        loops, V = _loops(), np.ascontiguousarray(V, self.dtype)
        out = np.zeros((block.n_rows, V.shape[1]))

        def piece(lo: int, hi: int) -> None:
            loops.row_scores(block.indptr, block.indices, block.values, V, out, lo, hi)

        self._run(piece, self._pieces(block.indptr))
        return out

    def transposed_times(self, block: Block, U: Array) -> Array:
        """Weighted counts, transposed, times a table."""
        out = np.empty((block.n_columns, U.shape[1]))
        self._add_columns(block, np.ascontiguousarray(U, self.dtype), out)
        return out

    def dots(self, block: Block, U: Array, V: Array) -> Array:
        """Dot products on the pattern of the counts, (nnz,)."""
        loops = _loops()
        z = np.empty(block.nnz, self.dtype)
        U, V = np.ascontiguousarray(U, self.dtype), np.ascontiguousarray(V, self.dtype)

        def piece(lo: int, hi: int) -> None:
            loops.pair_dots(block.indptr, block.indices, U, V, z, lo, hi)

        self._run(piece, self._pieces(block.indptr))
        return z

    def pair_loo(
        self,
        block: Block,
        rows: Array,
        columns: Array,
        last: Array,
        beta: float,
        temper_prior: bool = False,
    ) -> LeaveOneOut:
        """Leave-one-out posterior per non-zero, (nnz, K)."""
        loops, order, K = _loops(), block.by_column, columns.shape[1]
        posterior = np.empty((block.nnz, K), self.dtype)
        row_sums, column_sums = np.empty((block.n_rows, K)), np.empty((block.n_columns, K))
        totals, mass = columns.sum(axis=1), columns.sum(axis=0)

        def half(lo: int, hi: int) -> None:
            _leave_one_out().pair_loo_rows(
                block.indptr, block.indices, block.values, block.weight, rows, columns,
                totals, mass, last, float(beta), temper_prior, ONCE, posterior, row_sums, lo, hi,
            )  # fmt: skip

        def other_half(lo: int, hi: int) -> None:
            loops.gathered_sums(
                *order[:3], order.entries, block.weighted, posterior, column_sums, lo, hi
            )

        self._run(half, self._pieces(block.indptr))
        self._run(other_half, self._pieces(order.cumulative))
        return LeaveOneOut(posterior, row_sums, column_sums)

    def row_loo(
        self,
        block: Block,
        columns: Array,
        mass: Array,
        last: Array,
        pseudo: Array,
        beta: float,
        temper_prior: bool = False,
    ) -> LeaveOneOut:
        """Leave-one-out posterior per row."""
        loops, K = _loops(), columns.shape[1]
        scores = np.empty((block.n_rows, K))
        posterior = np.empty((block.n_rows, K), self.dtype)
        log_z = np.empty(block.n_rows)
        column_totals, totals = columns.sum(axis=1), columns.sum(axis=0) + pseudo.sum()

        def half(lo: int, hi: int) -> None:
            _leave_one_out().row_loo_scores(
                block.indptr, block.indices, block.values, block.weight, columns, column_totals,
                totals, mass, last, pseudo, float(beta), temper_prior, ONCE, scores, lo, hi,
            )  # fmt: skip
            loops.row_posteriors(scores, False, posterior, log_z, lo, hi)

        self._run(half, self._pieces(block.indptr))
        return LeaveOneOut(
            posterior, posterior * block.weight[:, None], self.transposed_times(block, posterior)
        )

    def nodes(self, block: VectorBlock, centres: Array, scale: float) -> NodeSums:
        """Sums of the posterior over centres."""
        return dense.node_sums(block, centres, scale, self._run)

    def node_posterior(
        self, block: VectorBlock, centres: Array, scale: float
    ) -> tuple[Array, Array]:
        """Posterior over centres (I, K), log normalisers (I,)."""
        return dense.node_posterior(block, centres, scale, self._run)

    def _handed(self, block: Block) -> DType:
        """Type of a block's sums: double where others are to come; `totals`, `scaled` round all."""
        return self.dtype if block.alone else np.dtype(np.float64)

    def _add_columns(self, block: Block, U: Array, out: Array) -> None:
        loops, order, heavy = _loops(), block.by_column, block.weighted

        def piece(lo: int, hi: int) -> None:
            sums = _double(out[lo:hi])
            loops.column_sums(*order[:5], heavy, U, sums, lo, hi)
            out[lo:hi] = sums

        self._run(piece, self._pieces(order.cumulative, _many(block, out)))

    def _pieces(self, indptr: Array, each: int = PIECES_PER_THREAD) -> Array:
        """Bounds of pieces with about equal numbers of non-zeros, so many to a thread."""
        # One more than there are non-zeros: more marks fall between no others.
        n = min((self.n_threads or available_threads()) * each, int(indptr[-1]) + 1)
        marks = np.linspace(0, indptr[-1], n + 1)[1:-1]
        inner = np.searchsorted(indptr, marks)
        return np.unique(np.concatenate([[0], inner, [len(indptr) - 1]]))

    def _run(self, piece: Callable[[int, int], object], bounds: Array) -> list[Any]:
        """What `piece` returns for each span; this thread and helpers take spans as they come."""
        spans = list(itertools.pairwise(bounds.tolist()))
        threads = min(self.n_threads or available_threads(), len(spans))
        if threads == 1:
            return [piece(lo, hi) for lo, hi in spans]
        results: list[Any] = [None] * len(spans)
        left = iter(range(len(spans)))

        def work() -> None:
            # A range iterator is advanced in one step of the interpreter: no lock is needed.
            for number in left:
                results[number] = piece(*spans[number])

        pool = _pool(threads, os.getpid())
        helpers = [pool.submit(work) for _ in range(threads - 1)]
        try:
            work()
        finally:
            # Nobody may go on writing into arrays that the caller has given up.
            deque(left, maxlen=0)
            wait(helpers)
        for helper in helpers:
            helper.result()
        return results


def _many(block: Block, columns: Array) -> int:
    """Pieces to a thread for which sums in double precision take a byte for each non-zero.

    More than there are non-zeros cannot be cut, but looking for them would take long.
    """
    most = max(PIECES_PER_THREAD, block.nnz)
    return min(most, max(PIECES_PER_THREAD, 8 * columns.size // max(1, block.nnz)))


def _double(piece: Array) -> Array:
    """Where to sum in double precision: the piece itself, or room for as long as it is made."""
    return piece if piece.dtype == np.float64 else np.empty(piece.shape)


def _even(table: Array) -> Array:
    """Bounds of pieces of a table of about the same size."""
    rows = max(1, PIECE_OF_TABLE // max(1, table.shape[1]))
    return np.append(np.arange(0, max(1, len(table)), rows), len(table))


@lru_cache(maxsize=8)
def _pool(threads: int, pid: int) -> ThreadPoolExecutor:
    """Pool of threads of this process (a forked child must not use its parent's)."""
    return ThreadPoolExecutor(threads, thread_name_prefix=f"isotherm-{pid}")


def _loops() -> ModuleType:
    """The compiled loops; importing numba here keeps `import isotherm` light."""
    from isotherm.kernels.cpu import _loops as loops

    return loops


def _leave_one_out() -> ModuleType:
    """The compiled loops of the leave-one-out twins."""
    from isotherm.kernels.cpu import _leave_one_out as loops

    return loops
