"""Held-out tokens and rows that depend on nothing but content and seed."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse

from isotherm.data import split
from isotherm.data.counts import Counts, as_counts
from isotherm.data.split import _MANY_TOKENS, hold_out_rows, hold_out_tokens
from support.strategies import counts_matrices

Array = NDArray[Any]


def dense(counts: Counts) -> Array:
    return counts.matrix.toarray().astype(float)


def corpus(n_rows: int = 400, n_words: int = 50, seed: int = 0) -> Array:
    return np.random.default_rng(seed).poisson(0.6, (n_rows, n_words))


@given(counts_matrices(), st.sampled_from([0.1, 0.5, 0.9]), st.integers(0, 2**31 - 1))
def test_parts_add_up(matrix: Array, fraction: float, seed: int) -> None:
    counts = Counts(matrix)
    kept, held = hold_out_tokens(counts, fraction, seed)
    assert kept.shape == held.shape == counts.shape
    np.testing.assert_array_equal(dense(kept) + dense(held), matrix)
    assert (dense(kept) >= 0).all()
    assert kept.is_integral
    assert held.is_integral


@given(counts_matrices(huge=False), st.integers(0, 2**31 - 1), st.randoms(use_true_random=False))
def test_a_row_does_not_depend_on_its_company(matrix: Array, seed: int, random: Any) -> None:
    kept, held = hold_out_tokens(Counts(matrix), 0.4, seed)
    order = list(range(len(matrix))) * 2
    random.shuffle(order)
    again = hold_out_tokens(Counts(matrix[order]), 0.4, seed)
    np.testing.assert_array_equal(dense(again[0]), dense(kept)[order])
    np.testing.assert_array_equal(dense(again[1]), dense(held)[order])
    out = np.isin(np.arange(len(matrix)), hold_out_rows(Counts(matrix), 0.4, seed)[1])
    _, again_out = hold_out_rows(Counts(matrix[order]), 0.4, seed)
    np.testing.assert_array_equal(np.isin(np.arange(len(order)), again_out), out[order])


@pytest.mark.parametrize("fraction", [0.05, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("seed", [0, 1, 2**31 - 1])
@pytest.mark.parametrize("rate", [0.6, 30.0])
def test_share_of_tokens(fraction: float, seed: int, rate: float) -> None:
    X = np.random.default_rng(1).poisson(rate, (300, 60))
    kept, held = (dense(part) for part in hold_out_tokens(Counts(X), fraction, seed))
    error = np.sqrt(fraction * (1 - fraction))
    assert abs(held.sum() / X.sum() - fraction) < 5 * error / np.sqrt(X.sum())
    # Tokens are dealt independently: rows and columns vary like binomials, no more, no less.
    for axis in (0, 1):
        n = X.sum(axis=axis)
        z = (held.sum(axis=axis) - fraction * n) / (error * np.sqrt(n))
        assert abs(z.std() - 1) < 5 / np.sqrt(2 * len(z))
        assert abs(z).max() < 5.5
    assert (kept + held == X).all()


@pytest.mark.parametrize("fraction", [0.1, 0.5])
def test_share_of_rows(fraction: float) -> None:
    X = corpus(3000)
    kept, held = hold_out_rows(Counts(X), fraction, 3)
    error = np.sqrt(fraction * (1 - fraction) / len(X))
    assert abs(len(held) / len(X) - fraction) < 5 * error
    np.testing.assert_array_equal(np.sort(np.concatenate([kept, held])), np.arange(len(X)))


def test_seeds_differ() -> None:
    counts = Counts(corpus())
    parts = [dense(hold_out_tokens(counts, 0.3, seed)[1]) for seed in range(6)]
    rows = [hold_out_rows(counts, 0.3, seed)[1] for seed in range(6)]
    total = counts.total
    for a in range(6):
        for b in range(a):
            # Independent parts share fraction ** 2 of the tokens at most in each cell.
            assert 0.3 < np.abs(parts[a] - parts[b]).sum() / total < 0.6
            common = np.isin(rows[a], rows[b]).mean()
            assert abs(common - 0.3) < 5 * np.sqrt(0.3 * 0.7 / len(rows[a]))


def test_same_seed_same_parts() -> None:
    counts = Counts(corpus())
    first, second = (dense(hold_out_tokens(counts, 0.3, 5)[1]) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_type_of_the_counts_does_not_matter() -> None:
    X = corpus()
    parts = [
        dense(hold_out_tokens(Counts(X.astype(dtype)), 0.3, 5)[1])
        for dtype in (np.int64, np.uint16, np.float32, np.float64)
    ]
    for part in parts[1:]:
        np.testing.assert_array_equal(part, parts[0])


def test_cells_go_whole_where_counts_are_no_whole_numbers() -> None:
    X = corpus(2000).astype(float)
    X[X > 0] += 0.25
    kept, held = (dense(part) for part in hold_out_tokens(Counts(X), 0.3, 0))
    assert ((held == 0) | (held == X)).all()
    np.testing.assert_array_equal(kept + held, X)
    n = (X > 0).sum()
    assert abs((held > 0).sum() / n - 0.3) < 5 * np.sqrt(0.21 / n)


def test_scaling_a_row_that_is_not_whole_deals_other_cells() -> None:
    X = corpus(2).astype(float) + 0.5
    X[1] = 2 * X[0]
    held = dense(hold_out_tokens(Counts(X), 0.3, 0)[1])
    assert not np.array_equal(held[1], 2 * held[0])


@pytest.mark.parametrize("count", [_MANY_TOKENS, _MANY_TOKENS + 1, 10**6, 2**40 + 1, 2**52])
@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.9])
def test_huge_counts_are_shared_out_in_proportion(count: int, fraction: float) -> None:
    X = np.array([[count, 3, 0], [0, count, 1]], float)
    kept, held = (dense(part) for part in hold_out_tokens(Counts(X), fraction, 0))
    np.testing.assert_array_equal(kept + held, X)
    share = held[[0, 1], [0, 1]] / count
    np.testing.assert_allclose(share, fraction, atol=5 * np.sqrt(0.25 / _MANY_TOKENS))


def test_empty_rows_and_columns() -> None:
    X = corpus()
    X[[0, 7]] = 0
    X[:, 3] = 0
    kept, held = hold_out_tokens(Counts(X), 0.3, 0)
    assert (dense(kept)[[0, 7]] == 0).all()
    assert (dense(held)[:, 3] == 0).all()
    rows, out = hold_out_rows(Counts(X), 0.9, 0)
    assert {0, 7} <= set(rows.tolist())
    assert len(out) > 300


def test_nothing_to_deal() -> None:
    counts = as_counts(np.zeros((3, 2)), allow_empty=True)
    kept, held = hold_out_tokens(counts, 0.5, 0)
    assert kept.total == held.total == 0
    assert [len(part) for part in hold_out_rows(counts, 0.5, 0)] == [3, 0]


def test_names_stay() -> None:
    counts = Counts([[3, 1], [0, 2]], ["a", "b"], ["x", "y"])
    for part in hold_out_tokens(counts, 0.5, 0):
        assert list(part.row_names) == ["a", "b"]
        assert list(part.column_names) == ["x", "y"]


@given(counts_matrices(), st.integers(0, 2**31 - 1))
def test_held_out_tokens_do_not_depend_on_the_pieces(matrix: Array, seed: int) -> None:
    counts = Counts(np.pad(matrix, ((2, 1), (0, 1)), constant_values=((0, 0), (0, 7))))
    whole = hold_out_tokens(counts, 0.3, seed)
    rows = hold_out_rows(counts, 0.3, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(split, "_CELLS_AT_ONCE", 3)
        for one, other in zip(whole, hold_out_tokens(counts, 0.3, seed), strict=True):
            np.testing.assert_array_equal(one.matrix.toarray(), other.matrix.toarray())
        for one, other in zip(rows, hold_out_rows(counts, 0.3, seed), strict=True):
            np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(dense(whole[0]) + dense(whole[1]), dense(counts))


def test_holding_out_takes_little_memory() -> None:
    rng = np.random.default_rng(0)
    columns = (np.arange(50) * 100 + rng.integers(0, 100, (5000, 50))).ravel()
    values = rng.poisson(1.0, columns.size) + 1.0
    table = sparse.csr_array((values, columns, np.arange(5001) * 50), shape=(5000, 5000))
    counts = Counts(table)
    hold_out_tokens(counts, 0.1, 0)
    tracemalloc.start()
    hold_out_tokens(counts, 0.1, 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # What comes back takes 9 bytes for a cell.
    assert peak < 70 * counts.nnz
