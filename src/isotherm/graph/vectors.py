"""Nearest neighbors of rows that are vectors: embeddings, coordinates, anything with a direction.

How alike two rows are is the cosine of their angle.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from isotherm.data.base import Array
from isotherm.errors import IsothermError

# A table (N, D), dense or in compressed rows.
Vectors = Any
# Similarities of so many pairs are held at a time.
PIECE = 1 << 23
# Similarities that differ by less than rounding are ties, which go to the lower index.
DIGITS = 12


def as_vectors(vectors: object) -> Vectors:
    """Rows of length one, (N, D), float64; rows without any entry stay zero.

    Parameters
    ----------
    vectors : array-like or sparse matrix, (N, D)
        Finite numbers of any sign.
    """
    table = _table(vectors)
    if table.ndim != 2 or not all(table.shape):
        raise IsothermError(
            f"vectors have shape {table.shape}; they must be a table (N, D) with one row for each "
            "document and at least one column",
            parameter="vectors",
        )
    # Times zero, whatever is finite is zero and the rest is not.
    with np.errstate(invalid="ignore"):
        bad = np.flatnonzero(np.isnan(np.ravel((table * 0.0).sum(axis=1))))
    if len(bad):
        raise IsothermError(
            f"vectors hold NaN or infinity in row {bad[0]}; they must be finite numbers",
            parameter="vectors",
        )
    # The largest entry of a row comes first, so that no square overflows or vanishes.
    table = _divided(table, abs(table).max(axis=1))
    return _divided(table, np.sqrt((table * table).sum(axis=1)))


def nearest(rows: Vectors, n_best: int) -> tuple[Array, Array]:
    """The other rows with the largest cosines above zero, for each row.

    Parameters
    ----------
    rows : array or csr_array, (N, D)
        As `as_vectors` makes them.
    n_best : int
        How many, at most N - 1.

    Returns
    -------
    indices : (N, n_best) int64
        The best first; ties go to the lower index, -1 where no more rows have a cosine above 0.
    similarities : (N, n_best) float64
    """
    n_rows = rows.shape[0]
    where, cosines = np.full((n_rows, n_best), -1, np.int64), np.zeros((n_rows, n_best))
    step = max(1, PIECE // n_rows)
    for lo in range(0, n_rows, step):
        product = rows[lo : lo + step] @ rows.T
        piece = product if isinstance(product, np.ndarray) else product.toarray()
        piece = np.round(piece, DIGITS)
        piece[np.arange(len(piece)), np.arange(lo, lo + len(piece))] = 0.0
        for i, own in enumerate(piece, start=lo):
            best = _best(own, n_best)
            where[i, : len(best)], cosines[i, : len(best)] = best, own[best]
    return where, np.minimum(cosines, 1.0)


def _best(similarity: Array, n: int) -> Array:
    """Indices of the n largest entries above zero, the largest first; ties by index."""
    if not n:
        return np.empty(0, np.int64)
    least = max(float(np.partition(similarity, -n)[-n]), np.finfo(np.float64).tiny)
    found = np.flatnonzero(similarity >= least)
    return np.asarray(found[np.argsort(-similarity[found], kind="stable")][:n])


def _table(vectors: Vectors) -> Vectors:
    """A table of float64, dense or in compressed rows."""
    try:
        if not hasattr(vectors, "tocsr"):
            return np.asarray(vectors, dtype=np.float64)
        table = sparse.csr_array(vectors.tocsr()).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise IsothermError(
            f"vectors cannot be read as a table of numbers ({error}); give an array or a sparse "
            "matrix (N, D)",
            parameter="vectors",
        ) from error
    table.sum_duplicates()
    return table


def _divided(table: Vectors, sizes: Vectors) -> Vectors:
    """Rows divided by their sizes (N,), those of size 0 left as they are."""
    dense = sizes.toarray() if hasattr(sizes, "toarray") else sizes
    dense = np.ravel(np.where(dense > 0, dense, 1.0))
    if isinstance(table, np.ndarray):
        return table / dense[:, None]
    data = table.data / np.repeat(dense, np.diff(table.indptr))
    return sparse.csr_array((data, table.indices, table.indptr), shape=table.shape)
