"""Nearest rows by the inverted index against all pairs, ties included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from scipy import sparse

from isotherm.kernels.cpu import neighbors

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def normalized(table: NDArray[np.int64]) -> Floats:
    sums = table.sum(axis=1, keepdims=True)
    return table / np.where(sums > 0, sums, 1)


def brute(queries: Floats, rows: Floats, r: int, own: Ints) -> tuple[Ints, Floats]:
    """Best r rows of each query from all sums of minima, ties to the lower index."""
    where, similarity = np.full((len(queries), r), -1), np.zeros((len(queries), r))
    for i, query in enumerate(queries):
        sums = np.minimum(query, rows).sum(axis=1)
        if own[i] >= 0:
            sums[own[i]] = 0
        order = sorted(np.flatnonzero(sums), key=lambda j: (-round(sums[j] * 2**40), j))[:r]
        where[i, : len(order)], similarity[i, : len(order)] = order, sums[order]
    return where, similarity


# Few small counts make many ties: equal rows, and equal sums of different words.
TABLES = hnp.arrays(
    np.int64, st.tuples(st.integers(2, 12), st.integers(1, 5)), elements=st.integers(0, 3)
)


@given(TABLES, st.integers(1, 14), st.booleans())
def test_index_finds_what_all_pairs_find(table: NDArray[np.int64], r: int, itself: bool) -> None:
    rows = normalized(table)
    own = np.arange(len(rows)) if itself else np.full(len(rows), -1)
    csr = sparse.csr_array(rows)
    where, similarity = neighbors.nearest(csr, csr.tocsc(), r, own)
    expected, sums = brute(rows, rows, r, own)
    assert (where == expected).all()
    np.testing.assert_allclose(similarity, sums, rtol=0, atol=1e-12)


@given(TABLES, st.integers(1, 14))
def test_all_rows_as_candidates_give_the_same(table: NDArray[np.int64], r: int) -> None:
    rows = sparse.csr_array(normalized(table))
    n = len(table)
    own = np.arange(n)
    everyone = np.random.default_rng(0).permuted(np.tile(own, (n, 1)), axis=1)
    exact = neighbors.nearest(rows, rows.tocsc(), r, own)
    again = neighbors.nearest_of(rows, rows, everyone, r, own)
    assert (exact[0] == again[0]).all()
    assert (exact[1] == again[1]).all()


def test_only_candidates_are_found_and_minus_one_is_none() -> None:
    rows = sparse.csr_array(np.array([[0.5, 0.5], [0.5, 0.5], [1.0, 0.0], [0.0, 1.0]]))
    candidates = np.array([[3, -1, 2], [-1, -1, -1], [2, 1, -1], [0, 2, 1]])
    where, similarity = neighbors.nearest_of(rows, rows, candidates, 2, np.arange(4))
    assert where.tolist() == [[2, 3], [-1, -1], [1, -1], [0, 1]]
    assert similarity.tolist() == [[0.5, 0.5], [0, 0], [0.5, 0], [0.5, 0.5]]


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_threads_and_batches_do_not_change_a_bit(n_threads: int) -> None:
    rng = np.random.default_rng(4)
    rows = sparse.csr_array(normalized(rng.poisson(0.15, (700, 60))))
    postings, own = rows.tocsc(), np.arange(700)
    where, similarity = neighbors.nearest(rows, postings, 7, own, n_threads=1)
    found = neighbors.nearest(rows, postings, 7, own, n_threads=n_threads)
    assert (found[0] == where).all()
    assert (found[1] == similarity).all()
    some = rng.permutation(700)[:50]
    part = neighbors.nearest(rows[some], postings, 7, own[some], n_threads=n_threads)
    assert (part[0] == where[some]).all()
    assert (part[1] == similarity[some]).all()


def test_the_smallest_overlap_counts() -> None:
    rows = sparse.csr_array(np.array([[1.0, 1e-30, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    where, similarity = neighbors.nearest(rows, rows.tocsc(), 2, np.arange(3))
    assert where.tolist() == [[1, -1], [0, -1], [-1, -1]]
    assert 0 < similarity[0, 0] < 1e-12


def test_many_ties_go_to_the_first_rows() -> None:
    rows = sparse.csr_array(np.tile([0.25, 0.75], (600, 1)))
    where, similarity = neighbors.nearest(rows, rows.tocsc(), 3, np.arange(600))
    assert where[0].tolist() == [1, 2, 3]
    assert where[2].tolist() == [0, 1, 3]
    assert where[599].tolist() == [0, 1, 2]
    assert (similarity == 1.0).all()
