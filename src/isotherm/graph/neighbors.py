"""Graphs of rows that are alike: nearest neighbours of counts, with labels, and graphs of users.

A graph is a sparse matrix W (N, N), symmetric, >= 0, with a zero diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from isotherm import _checks
from isotherm.data.base import Array
from isotherm.data.counts import Counts, as_counts
from isotherm.data.split import RandomState
from isotherm.errors import IsothermError, warn
from isotherm.graph import labels as parts
from isotherm.graph import vectors as dense
from isotherm.kernels.cpu import neighbors

__all__ = [
    "Neighbors",
    "as_graph",
    "isolated_rows",
    "n_graph_components",
    "neighbor_graph",
    "with_labels",
]

METHODS = ("auto", "exact", "rare_words", "descent")
WEIGHTINGS = ("idf", "none")
WEIGHTS = ("equal", "similarity", "heat")
# The cost of the exact search grows with the square of the number of rows.
EXACT_UP_TO = 100_000
# "rare_words" looks for candidates by the rarest columns, which take this share of the additions.
RARE = 1 / 3
# Candidates whose similarity is computed over all words, for each neighbour wanted.
CANDIDATES_EACH = 5
# Weights that differ by less than this, relative to the largest, do not make W asymmetric.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Neighbors:
    """Nearest neighbours of rows of counts, by what their weighted histograms have in common.

    Counts are multiplied by the weight of their column, log(N / number of rows that have it), and
    divided by the sum of their row. How alike two rows are is the sum of their minima, which is
    `1 - |a - b|_1 / 2`. Make it with `Neighbors.of`.

    Attributes
    ----------
    idf : (J,) float64
        Weights of the columns, learnt from the training rows; 0 for a column that is in every row,
        or in none.
    rows : scipy.sparse.csr_array, (N, J) float64
        Training rows, weighted and divided by their sums; rows without any weight stay empty.
    n_neighbors : int
        How many neighbours r to look for.
    method : {"exact", "rare_words", "descent"}
    n_threads : int or None
    seed : int
        Of the random numbers of "descent".

    Examples
    --------
    >>> counts = as_counts([[3, 1, 0, 1], [2, 0, 0, 0], [0, 0, 3, 1], [0, 1, 2, 0]])
    >>> Neighbors.of(counts, 1).graph().toarray().astype(int)
    array([[0, 1, 0, 0],
           [1, 0, 0, 0],
           [0, 0, 0, 1],
           [0, 0, 1, 0]])
    """

    idf: Array
    rows: sparse.csr_array
    n_neighbors: int
    method: str
    n_threads: int | None
    seed: int

    @classmethod
    def of(
        cls,
        counts: Counts,
        n_neighbors: int = 10,
        *,
        method: str = "auto",
        weighting: str = "idf",
        n_threads: int | None = None,
        random_state: RandomState = None,
    ) -> Neighbors:
        """Neighbours among these rows: learns the weights, searches nothing yet.

        Parameters
        ----------
        counts : Counts, (N, J)
        n_neighbors : int
            r >= 1. More than there are other rows is the same as all of them.
        method : {"auto", "exact", "rare_words", "descent"}
            "exact" compares all rows that share a column. "rare_words" finds 5 r candidates by the
            rarest columns, those that take a third of the additions, and compares candidates by
            all columns: that finds 97 % of the neighbours of 20 Newsgroups.
            "descent" finds the candidates of `graph` by pynndescent (the extra `neighbors`), and
            those of new rows as "rare_words" does. "auto" is "exact" up to 100,000 rows, and
            "rare_words" beyond.
        weighting : {"idf", "none"}
            "none" leaves out the weights of columns: for histograms, whose columns may all be
            positive in all rows.
        n_threads : int, optional
            All available cores by default. The result of no method but "descent" depends on it.
        random_state : None, int or numpy Generator
            Random numbers of "descent".

        Returns
        -------
        Neighbors
        """
        _checks.integer("n_neighbors", n_neighbors, 1)
        _checks.one_of("method", method, METHODS)
        _checks.one_of("weighting", weighting, WEIGHTINGS)
        if n_threads is not None:
            _checks.integer("n_threads", n_threads, 1)
        if method == "auto":
            method = "exact" if counts.n_rows <= EXACT_UP_TO else "rare_words"
        idf = parts.idf(counts) if weighting == "idf" else np.ones(counts.n_columns)
        seed = int(np.random.default_rng(random_state).integers(2**31))
        return cls(idf, parts.weighted(counts, idf), int(n_neighbors), method, n_threads, seed)

    def weighted(self, counts: Counts) -> sparse.csr_array:
        """Rows (I, J) of new counts with the training weights, divided by their sums."""
        if counts.n_columns != len(self.idf):
            raise IsothermError(
                f"X has {counts.n_columns} columns, but the neighbours were learnt from "
                f"{len(self.idf)}; give counts of the same columns in the same order."
            )
        return parts.weighted(counts, self.idf)

    def graph(self) -> sparse.csr_array:
        """Graph (N, N) of 0 and 1: j is among the r best of i, or i among those of j.

        Ties go to the lower index. A row is no neighbour of itself, nor of rows with which it
        shares nothing, so that a row may have fewer than r neighbours of its own, or none.

        Returns
        -------
        scipy.sparse.csr_array, (N, N) float64
        """
        return parts.joined(*self.among(), "equal")

    def among(self) -> tuple[Array, Array]:
        """The training rows most alike to each training row, itself left out.

        Returns
        -------
        indices : (N, r) int64
            The best first; -1 where no more rows have anything in common; r is at most N - 1.
        similarities : (N, r) float64
        """
        n_rows = self.rows.shape[0]
        r = min(self.n_neighbors, n_rows - 1)
        if r == 0:
            return np.empty((n_rows, 0), np.int64), np.empty((n_rows, 0))
        return self._search(self.rows, r, np.arange(n_rows))

    def of_new(self, counts: Counts) -> sparse.csr_array:
        """Neighbours (I, N) of new rows among the training rows, 0 and 1; each row by itself.

        Returns
        -------
        scipy.sparse.csr_array, (I, N) float64
        """
        found, _ = self.search(self.weighted(counts))
        return parts.edges(found, self.rows.shape[0])

    def search(self, rows: sparse.csr_array) -> tuple[Array, Array]:
        """The training rows most alike to each of the given rows, best first.

        Parameters
        ----------
        rows : csr_array, (I, J)
            As `weighted` makes them.

        Returns
        -------
        indices : (I, r) int64
            -1 where no more training rows have anything in common; r is at most N.
        similarities : (I, r) float64
            Between 0 and 1, to 1e-12.
        """
        return self._search(rows, min(self.n_neighbors, self.rows.shape[0]), None)

    def _search(self, rows: sparse.csr_array, r: int, own: Array | None) -> tuple[Array, Array]:
        if self.method == "exact":
            return neighbors.nearest(rows, self._postings, r, own, self.n_threads)
        n = min(CANDIDATES_EACH * r, self.rows.shape[0])
        if self.method == "descent" and own is not None:
            candidates = parts.descent(self.rows, n, self.n_threads, self.seed)
        else:
            candidates, _ = neighbors.nearest(rows, self._rare_postings, n, own, self.n_threads)
        return neighbors.nearest_of(rows, self.rows, candidates, r, own, self.n_threads)

    @cached_property
    def _postings(self) -> sparse.csc_array:
        """The rows by column."""
        return self.rows.tocsc()

    @cached_property
    def _rare_postings(self) -> sparse.csc_array:
        """The rows by column, the common columns left out."""
        in_rows = np.bincount(self.rows.indices, minlength=self.rows.shape[1])
        order = np.argsort(in_rows, kind="stable")
        additions = np.cumsum(in_rows[order].astype(np.float64) ** 2)
        common = order[np.searchsorted(additions, RARE * additions[-1]) + 1 :]
        rare = self.rows.copy()
        rare.data[np.isin(rare.indices, common)] = 0.0
        rare.eliminate_zeros()
        return rare.tocsc()

    def __getstate__(self) -> dict[str, object]:
        # What can be made again need not be stored.
        return {k: v for k, v in self.__dict__.items() if not k.endswith("_postings")}


def neighbor_graph(
    X: object = None,
    n_neighbors: int = 10,
    *,
    vectors: object = None,
    y: object = None,
    max_label_edges: int | None = None,
    method: str = "auto",
    weighting: str = "idf",
    weights: str = "equal",
    n_threads: int | None = None,
    random_state: RandomState = None,
) -> sparse.csr_array:
    """Graph (N, N) of the nearest neighbours among rows of counts or vectors, and of labels.

    Parameters
    ----------
    X : Counts, sparse matrix or array, array-like, data frame or AnnData, (N, J), optional
        Counts, or any other numbers >= 0 such as histograms.
    n_neighbors, method, weighting, n_threads
        As in `Neighbors.of`; of vectors all pairs are compared, and the last three mean nothing.
    vectors : array-like or sparse matrix, (N, D), optional
        Vectors of any sign in place of counts, such as embeddings of the documents by a language
        model: neighbours are then alike in meaning, not in words. How alike two rows are is the
        cosine of their angle; rows at right angles or more are no neighbours.
    y : array-like (N,), optional
        Labels, -1 or missing for unknown ones; see `with_labels`. Never give it labels of test
        rows.
    max_label_edges : int, optional
        As in `with_labels`.
    weights : {"equal", "similarity", "heat"}
        Weights of the edges: 1; how alike the rows are, s; or the heat kernel
        `exp(-(1 - s) / t)`, where t is the mean of 1 - s over all edges. Of vectors of length one
        1 - s is half the squared distance.
    random_state : None, int or numpy Generator
        Random numbers of "descent" and of `max_label_edges`.

    Returns
    -------
    scipy.sparse.csr_array, (N, N) float64
        Symmetric, with a zero diagonal; edges are 1 unless `weights` says otherwise, and those
        that labels add are 1 always.

    Examples
    --------
    >>> W = neighbor_graph([[3, 1, 0, 1], [2, 0, 0, 0], [0, 0, 3, 1], [0, 1, 2, 0]], 1)
    >>> W.indices
    array([1, 0, 3, 2], dtype=int32)
    >>> neighbor_graph(vectors=[[1.0, 0.1], [0.9, 0.2], [-1.0, 2.0]], n_neighbors=1).nnz
    2
    """
    if (X is None) == (vectors is None):
        given = "neither" if X is None else "both"
        raise IsothermError(
            f"neighbor_graph was given {given} of X and vectors; give counts as X, or vectors=",
            parameter="vectors",
        )
    _checks.one_of("weights", weights, WEIGHTS)
    if max_label_edges is not None:
        _checks.integer("max_label_edges", max_label_edges, 1)
    rng = np.random.default_rng(random_state)
    if X is None:
        found = _nearest_vectors(vectors, n_neighbors)
    else:
        found = _nearest_counts(
            Neighbors.of(
                as_counts(X), n_neighbors,
                method=method, weighting=weighting, n_threads=n_threads, random_state=rng,
            )
        )  # fmt: skip
    codes = None if y is None else parts.label_codes(y, len(found[0]))
    graph = parts.joined(*found, weights)
    return graph if codes is None else parts.labelled(graph, codes, max_label_edges, rng)


def _nearest_vectors(vectors: object, n_neighbors: int) -> tuple[Array, Array]:
    """Neighbours of each row of a table of vectors, and their cosines."""
    _checks.integer("n_neighbors", n_neighbors, 1)
    rows = dense.as_vectors(vectors)
    return dense.nearest(rows, min(n_neighbors, rows.shape[0] - 1))


def _nearest_counts(found: Neighbors) -> tuple[Array, Array]:
    """Neighbours of each row of counts, and how alike they are; says where there are none."""
    if not found.rows.nnz:
        warn(
            "No two rows have anything in common: every column of X is in all rows or in none, "
            'so that all weights are 0. Histograms may need weighting="none".'
        )
    return found.among()


def with_labels(
    W: object, y: object, *, max_label_edges: int | None = None, random_state: RandomState = None
) -> sparse.csr_array:
    """Graph (N, N) after labels: rows of one label are neighbours, rows of two labels are not.

    Parameters
    ----------
    W : sparse or dense matrix, (N, N)
        A graph, as `as_graph` takes it.
    y : array-like (N,) of int, bool or str
        Labels; -1 is unknown, and so is what is missing: None, NaN, NA, and "-1" among strings.
    max_label_edges : int, optional
        Each row is tied to at most so many random rows of its label rather than to all of them,
        which takes the square of their number. From 2 on a label stays in one piece.
    random_state : None, int or numpy Generator
        Chooses those rows.

    Returns
    -------
    scipy.sparse.csr_array, (N, N) float64
        Edges that were there keep their weight, new ones have weight 1.
    """
    codes = parts.label_codes(y, None)
    if max_label_edges is not None:
        _checks.integer("max_label_edges", max_label_edges, 1)
    graph = as_graph(W, len(codes))
    return parts.labelled(graph, codes, max_label_edges, np.random.default_rng(random_state))


def as_graph(W: object, n_rows: int) -> sparse.csr_array:
    """Graph (N, N) of whatever holds one: symmetric, without a diagonal, sorted indices.

    Parameters
    ----------
    W : sparse or dense matrix, (N, N)
        Finite weights >= 0; never changed. Weights stored twice for one pair are added. A diagonal
        is dropped. If W is not symmetric, max(W, W') is taken, with a warning.
    n_rows : int
        N, the number of rows that the graph is about.

    Returns
    -------
    scipy.sparse.csr_array, (N, N) float64
    """
    graph = parts.matrix_of(W)
    if graph.shape != (n_rows, n_rows):
        raise IsothermError(
            f"The graph has shape {graph.shape}; it must be square with one row and one column "
            f"for each of the {n_rows} rows of X. Build it from the same rows."
        )
    graph.sum_duplicates()
    bad = np.flatnonzero(~(np.isfinite(graph.data) & (graph.data >= 0)))
    if len(bad):
        i = int(np.searchsorted(graph.indptr, bad[0], side="right")) - 1
        raise IsothermError(
            f"The graph holds {graph.data[bad[0]]:g} at row {i}, column {graph.indices[bad[0]]}; "
            "weights are finite numbers >= 0. Correct or drop that edge."
        )
    graph.setdiag(0.0)
    both = graph.maximum(graph.T)
    if both.nnz and abs(both - graph).max() > ROUNDING * both.max():
        warn(
            "The graph is not symmetric; the larger weight of each pair is taken, max(W, W'). "
            "Give a symmetric graph to choose otherwise."
        )
    return parts.canonical(both)


def n_graph_components(W: sparse.csr_array) -> int:
    """Number of connected components of a graph (N, N); an isolated row is one of its own."""
    n_components, _ = csgraph.connected_components(W, directed=False)
    return int(n_components)


def isolated_rows(W: sparse.csr_array) -> Array:
    """Indices of the rows of a graph (N, N) that have no edge, ascending."""
    return np.flatnonzero(np.diff(W.indptr) == 0)
