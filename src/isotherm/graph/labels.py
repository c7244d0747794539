"""What `isotherm.graph.neighbors` is made of; the one place that imports pynndescent."""

from __future__ import annotations

import itertools
import warnings
from types import ModuleType
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import sparse

from isotherm.data.base import Array
from isotherm.data.counts import Counts
from isotherm.errors import IsothermError

# An edge between rows with next to nothing in common is an edge all the same.
LEAST_WEIGHT = 1e-12


def idf(counts: Counts) -> Array:
    """Weights log(N / df) of the columns, (J,); 0 for a column that no row has."""
    df = np.bincount(counts.matrix.indices, minlength=counts.n_columns)
    weights: Array = np.where(df > 0, np.log(counts.n_rows / np.maximum(df, 1)), 0.0)
    return weights


def weighted(counts: Counts, weights: Array) -> sparse.csr_array:
    """Rows times the weights of columns (J,), divided by their sums; no stored zeros."""
    rows = counts.matrix.astype(np.float64)
    # Weights of at most 1 cannot make a finite total infinite; the sum divides the factor out.
    rows.data *= weights[rows.indices] / max(weights.max(initial=0.0), np.finfo(np.float64).tiny)
    rows.eliminate_zeros()
    owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    sums = np.bincount(owner, weights=rows.data, minlength=rows.shape[0])
    rows.data /= sums[owner]
    return canonical(rows)


def canonical(matrix: Array | sparse.csr_array | sparse.coo_array) -> sparse.csr_array:
    """The matrix in compressed rows, sorted, without duplicates or stored zeros."""
    csr = sparse.csr_array(matrix)
    csr.sum_duplicates()
    csr.eliminate_zeros()
    if max(csr.nnz, *csr.shape) <= np.iinfo(np.int32).max:
        # One narrow type, whatever it was made of.
        csr.indices, csr.indptr = csr.indices.astype(np.int32), csr.indptr.astype(np.int32)
    return csr


def edges(found: Array, n_columns: int) -> sparse.csr_array:
    """Matrix (I, n_columns) with a 1 for each index found (I, r); -1 is none."""
    rows, places = np.nonzero(found >= 0)
    ones = np.ones(len(rows))
    shape = (len(found), n_columns)
    return canonical(sparse.coo_array((ones, (rows, found[rows, places])), shape=shape))


def joined(found: Array, similarities: Array, weights: str) -> sparse.csr_array:
    """Graph (N, N) with an edge wherever one of two rows is among the best of the other.

    Parameters
    ----------
    found : (N, r) int
        Indices; -1 is none.
    similarities : (N, r) float
        Between 0 and 1.
    weights : {"equal", "similarity", "heat"}
    """
    graph = edges(found, len(found))
    if weights != "equal":
        rows, places = np.nonzero(found >= 0)
        alike = np.maximum(similarities[rows, places], LEAST_WEIGHT)
        pairs = (rows, found[rows, places])
        graph = canonical(sparse.coo_array((alike, pairs), shape=graph.shape))
    graph = canonical(graph.maximum(graph.T))
    if weights == "heat":
        away = np.maximum(1.0 - graph.data, 0.0)
        mean = away.mean() if len(away) else 0.0
        # Where all linked rows coincide every edge is 1, as an edge of length 0 is.
        graph.data = np.maximum(np.exp(-away / (mean if mean > 0 else 1.0)), LEAST_WEIGHT)
    return graph


def matrix_of(W: object) -> sparse.csr_array:
    """A matrix as a new csr_array of float64; duplicates are still there."""
    try:
        if sparse.issparse(W):
            given: Any = W
            return sparse.csr_array(given.astype(np.float64, copy=True))
        dense = np.asarray(W)
        if dense.ndim != 2:
            raise IsothermError(
                f"The graph has shape {dense.shape}; it must be a matrix of weights (N, N), "
                "sparse or dense. Give one row and one column for each row of X."
            )
        return sparse.csr_array(dense.astype(np.float64))
    except (TypeError, ValueError) as error:
        if isinstance(error, IsothermError):
            raise
        raise IsothermError(
            f"The graph cannot be read as a matrix of numbers ({error}); give weights >= 0, "
            "sparse or dense, (N, N)."
        ) from error


def label_codes(y: object, n_rows: int | None) -> Array:
    """Codes (N,) of labels from 0 on, -1 where the label is unknown."""
    try:
        given = np.asarray(y)
    except ValueError as error:
        raise IsothermError(
            f"y cannot be read as a list of labels ({error}); give one integer, boolean or string "
            "for each row, -1 where no label is known."
        ) from error
    if given.dtype.kind == "U" and not isinstance(y, np.ndarray):
        # Next to strings, numpy makes strings of what is missing.
        given = np.asarray(y, dtype=object)
    if given.ndim != 1 or (n_rows is not None and len(given) != n_rows):
        wanted = "one label for each row" if n_rows is None else f"{n_rows} labels, one per row"
        raise IsothermError(
            f"y has shape {given.shape}; it must hold {wanted}. Put -1 where no label is known."
        )
    if given.dtype.kind in "biu":
        unknown = (given == -1) if given.dtype.kind == "i" else np.zeros(len(given), bool)
    elif given.dtype.kind == "f":
        _check_classes(given)
        unknown = (given == -1) | np.isnan(given)
    elif given.dtype.kind in "UO":
        names = [_name(label, i) for i, label in enumerate(given.tolist())]
        given = np.array(names, dtype=object)
        unknown = given == "-1"
    else:
        raise IsothermError(
            f"y has dtype {given.dtype}; labels are integers, booleans or strings. Encode them."
        )
    codes = np.full(len(given), -1, np.int64)
    codes[~unknown] = np.unique(given[~unknown], return_inverse=True)[1]
    return codes


def _name(label: object, row: int) -> str:
    """Label of a row as a string, "-1" if it is missing; whole numbers of any type are alike."""
    if isinstance(label, str):
        return label
    # Markers of pandas are known by name, since pandas itself is not a dependency. What is None
    # in one of its versions is NaN in the next.
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return "-1"
    if isinstance(label, float | np.floating):
        if np.isnan(label):
            return "-1"
        if not float(label).is_integer():
            raise _no_class(label, row)
        return str(int(label))
    return str(label)


def _check_classes(labels: Array) -> None:
    bad = np.flatnonzero(np.isinf(labels) | (np.rint(labels) != labels) & ~np.isnan(labels))
    if len(bad):
        raise _no_class(f"{labels[bad[0]]:g}", int(bad[0]))


def _no_class(label: object, row: int) -> IsothermError:
    return IsothermError(
        f"y holds {label} at row {row}; labels are classes: integers, booleans or strings. "
        "Put -1 where no label is known."
    )


def labelled(
    graph: sparse.csr_array, codes: Array, most: int | None, rng: Generator
) -> sparse.csr_array:
    """The graph with edges within labels and none between them."""
    coo = graph.tocoo()
    rows, columns = coo.coords
    first, second = codes[rows], codes[columns]
    keep = (first == second) | (first < 0) | (second < 0)
    old = sparse.csr_array((coo.data[keep], (rows[keep], columns[keep])), shape=graph.shape)
    pairs = [_partners(members, most, rng) for members in _classes(codes)]
    i, j = np.concatenate([np.empty((2, 0), np.int64), *pairs], axis=1)
    new = sparse.csr_array((np.ones(len(i)), (i, j)), shape=graph.shape)
    # An edge that was there keeps its weight.
    new = canonical(new - new.multiply(old > 0))
    return canonical(old + new.maximum(new.T))


def _classes(codes: Array) -> list[Array]:
    """Rows of each label, ascending."""
    order = np.argsort(codes, kind="stable")
    cuts = np.searchsorted(codes[order], np.arange(codes.max(initial=-1) + 2))
    return [order[lo:hi] for lo, hi in itertools.pairwise(cuts)]


def _partners(members: Array, most: int | None, rng: Generator) -> Array:
    """Pairs (2, P) of members of a label: all, or at most so many for each member.

    A random ring: each is tied to those next to it on both sides, and an odd number is made up for
    by one from the other half of the ring.
    """
    n = len(members)
    if most is None or most >= n - 1:
        return members[np.array(np.triu_indices(n, 1))]
    ring = rng.permutation(members)
    pairs = [np.array([ring, np.roll(ring, -step)]) for step in range(1, most // 2 + 1)]
    if most % 2:
        pairs.append(np.array([ring[: n // 2], ring[n // 2 : 2 * (n // 2)]]))
    return np.concatenate(pairs, axis=1)


def descent(rows: sparse.csr_array, n: int, n_threads: int | None, seed: int) -> Array:
    """Candidates (N, n) for the neighbours of each row by pynndescent, -1 where there is none."""
    candidates = np.full((rows.shape[0], n), -1, np.int64)
    # Rows without weight are as far from all others as any, and would only be in the way.
    filled = np.flatnonzero(np.diff(rows.indptr))
    package = _pynndescent()
    if n >= len(filled):
        candidates[:, : len(filled)] = filled
        return candidates
    data = sparse.csr_matrix(rows[filled].astype(np.float32))
    with warnings.catch_warnings():
        # A row with fewer candidates than asked for is no harm.
        warnings.filterwarnings("ignore", "Failed to correctly find", UserWarning)
        index = package.NNDescent(
            data, metric="manhattan", n_neighbors=n, random_state=seed, n_jobs=n_threads
        )
    found = index.neighbor_graph[0]
    candidates[filled] = np.where(found >= 0, filled[found], -1)
    return candidates


def _pynndescent() -> ModuleType:
    try:
        import pynndescent
    except ImportError as error:
        raise IsothermError(
            'method="descent" needs pynndescent, which is not installed; install '
            "isotherm[neighbors], or use another method.",
            parameter="method",
        ) from error
    module: ModuleType = pynndescent
    return module
