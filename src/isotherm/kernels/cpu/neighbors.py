"""Nearest rows on the CPU: how the loops of `_neighbours` are dealt to threads.

Rows are distributions over words in compressed form; the similarity of two of them is the sum of
their minima. Queries are answered one by one, so results are bit-identical for any number of
threads and do not depend on which queries come together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from isotherm.kernels.base import Array
from isotherm.kernels.cpu.backend import Cpu

if TYPE_CHECKING:
    from types import ModuleType

# Queries of one piece: enough to be worth the scratch memory of a call, few enough to share out.
PIECE = 256


def nearest(
    queries: sparse.csr_array,
    postings: sparse.csc_array,
    n_best: int,
    own: Array | None = None,
    n_threads: int | None = None,
) -> tuple[Array, Array]:
    """The rows most alike to each query, (I, r), and how alike they are, (I, r).

    Parameters
    ----------
    queries : (I, J) csr_array of float64
    postings : (N, J) csc_array of float64, the rows once more by column
    n_best : int
        r >= 1; best first, ties by the lower index, -1 and 0 where nothing more is alike at all.
    own : (I,) int, optional
        The row that each query is itself and that is passed over, -1 for none.
    n_threads : int, optional
        All available cores by default.

    Returns
    -------
    (I, r) int64, (I, r) float64
    """
    own = np.full(queries.shape[0], -1) if own is None else own
    where, similarity = _outcome(queries, n_best)
    query, posting = _parts(queries), _parts(postings)
    n_rows, loops = postings.shape[0], _loops()

    def piece(lo: int, hi: int) -> None:
        loops.nearest(query, posting, n_rows, own, where, similarity, lo, hi)

    Cpu(n_threads=n_threads)._run(piece, _spans(len(where)))
    return where, similarity


def nearest_of(
    queries: sparse.csr_array,
    rows: sparse.csr_array,
    candidates: Array,
    n_best: int,
    own: Array | None = None,
    n_threads: int | None = None,
) -> tuple[Array, Array]:
    """The most alike of some candidates (I, C) for each query, as `nearest` gives them.

    Parameters
    ----------
    queries, rows : (I, J) and (N, J) csr_array of float64
    candidates : (I, C) int
        Rows in any order, no row twice, -1 for none.
    n_best, own, n_threads
        As in `nearest`.

    Returns
    -------
    (I, r) int64, (I, r) float64
    """
    own = np.full(queries.shape[0], -1) if own is None else own
    where, similarity = _outcome(queries, n_best)
    # In ascending order, so that ties go to the lower index.
    candidates = np.sort(candidates.astype(np.int64, copy=False), axis=1)
    query, row = _parts(queries), _parts(rows)
    n_words, loops = rows.shape[1], _loops()

    def piece(lo: int, hi: int) -> None:
        loops.nearest_of(query, row, n_words, candidates, own, where, similarity, lo, hi)

    Cpu(n_threads=n_threads)._run(piece, _spans(len(where)))
    return where, similarity


def _outcome(queries: sparse.csr_array, n_best: int) -> tuple[Array, Array]:
    shape = (queries.shape[0], n_best)
    return np.empty(shape, np.int64), np.empty(shape)


def _parts(matrix: Any) -> tuple[Array, Array, Array]:
    """Starts (int64), indices (int32) and values (float64): one type each, so one compilation."""
    return (
        matrix.indptr.astype(np.int64, copy=False),
        matrix.indices.astype(np.int32, copy=False),
        matrix.data.astype(np.float64, copy=False),
    )


def _spans(n_queries: int) -> Array:
    return np.append(np.arange(0, max(1, n_queries), PIECE), n_queries)


def _loops() -> ModuleType:
    """The compiled loops; importing numba here keeps `import isotherm` light."""
    from isotherm.kernels.cpu import _neighbors as loops

    return loops
