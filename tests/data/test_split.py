import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from isotherm.data.counts import Counts
from isotherm.data.split import as_generator, split_rows, split_tokens
from isotherm.errors import IsothermError
from support.strategies import counts_matrices

SEEDS = st.integers(0, 2**32 - 1)


def dense(counts: Counts) -> np.ndarray:
    return counts.matrix.toarray().astype(np.float64)


@given(counts_matrices(), SEEDS)
def test_parts_add_up_exactly(matrix, seed):
    # One more cell, large enough that no part comes out empty.
    matrix = np.pad(matrix, ((0, 0), (0, 1)), constant_values=10**6)
    names = [f"c{j}" for j in range(matrix.shape[1])]
    counts = Counts(matrix, column_names=names)
    parts = split_tokens(counts, (0.5, 0.3, 0.2), seed)
    assert len(parts) == 3
    assert_array_equal(sum(dense(part) for part in parts), matrix)
    for part in parts:
        assert part.shape == counts.shape
        assert part.is_integral
        assert part.column_names is counts.column_names
        assert (part.matrix.indices.dtype, part.matrix.indptr.dtype) == (np.int32, np.int32)
        assert (part.matrix.data > 0).all()


def test_tokens_go_to_parts_with_the_given_probabilities():
    n, shares = 1000, np.array([0.6, 0.3, 0.1])
    parts = split_tokens(Counts(np.full((100, 50), n)), tuple(shares), 0)
    values = np.stack([dense(part).ravel() for part in parts])
    # Standard errors of 5000 draws; 5 of them leave one failure in a million.
    deviation = np.sqrt(n * shares * (1 - shares))
    assert (np.abs(values.mean(axis=1) - n * shares) < 5 * deviation / np.sqrt(5000)).all()
    assert_allclose(values.std(axis=1), deviation, rtol=0.05)
    covariance = np.cov(values)[0, 1]
    assert covariance == pytest.approx(-n * shares[0] * shares[1], rel=0.1)


def test_huge_counts_are_split_in_proportion():
    parts = split_tokens(Counts([[2**53, 1]]), (0.75, 0.25), 1)
    first, second = (int(dense(part)[0, 0]) for part in parts)
    assert first + second == 2**53
    assert first / 2**53 == pytest.approx(0.75, abs=1e-6)


def test_cells_that_are_not_whole_stay_whole():
    rng = np.random.default_rng(0)
    table = rng.random((80, 50)) + 0.5
    parts = [dense(part) for part in split_tokens(Counts(table), (0.7, 0.3), 3)]
    assert_array_equal(parts[0] + parts[1], table)
    assert not (parts[0] * parts[1]).any()
    assert np.mean(parts[0] > 0) == pytest.approx(0.7, abs=0.04)


def test_default_fractions_on_a_plain_array():
    parts = split_tokens(np.full((30, 30), 10), random_state=0)
    assert_allclose([part.total / 9000 for part in parts], [0.8, 0.1, 0.1], atol=0.02)


@pytest.mark.parametrize("split", [split_tokens, split_rows])
@pytest.mark.parametrize(
    "fractions",
    [(), (0.5, 0.6), (1.0, 0.0), (1.5, -0.5), (np.nan, 1.0), "half", 0.5, [[0.5, 0.5]], None],
)
def test_bad_fractions_are_refused(split, fractions):
    with pytest.raises(IsothermError, match=r"fractions=.*must be positive and sum to 1"):
        split(np.ones((9, 9)), fractions)


def test_fractions_may_be_a_rounding_error_off():
    parts = split_tokens(np.full((3, 3), 100), [0.1] * 10, 0)
    assert sum(part.total for part in parts) == 900


def test_empty_parts_are_refused():
    with pytest.raises(IsothermError, match=r"Part \d .* came out empty: Counts\(1 rows"):
        split_tokens(Counts([[1]]), (0.5, 0.5), 0)
    with pytest.raises(IsothermError, match=r"Part 1 \(fraction 0.2\) gets none of the 2 rows"):
        split_rows(np.ones((2, 2)), (0.8, 0.2), 0)


def test_counts_beyond_whole_floats_are_refused():
    with pytest.raises(IsothermError, match=r"A count of 1e\+300 cannot be split into tokens"):
        split_tokens(Counts([[1e300]]), (0.5, 0.5), 0)


@given(st.integers(10, 60), SEEDS)
def test_rows_are_partitioned(n_rows, seed):
    parts = split_rows(np.ones((n_rows, 1)), (0.5, 0.3, 0.2), seed)
    assert_array_equal(np.sort(np.concatenate(parts)), np.arange(n_rows))
    for part, fraction in zip(parts, (0.5, 0.3, 0.2), strict=True):
        assert abs(len(part) - fraction * n_rows) <= 1
        assert (np.diff(part) > 0).all()
        assert part.dtype == np.intp


@pytest.mark.parametrize("seed", [0, np.int64(7)])
def test_equal_seeds_give_equal_parts(seed):
    table = np.full((20, 20), 3)
    for split in (split_tokens, split_rows):
        once, again = (split(table, (0.5, 0.5), seed)[0] for _ in range(2))
        other = split(table, (0.5, 0.5), 12345)[0]
        once, again, other = (
            dense(part) if isinstance(part, Counts) else part for part in (once, again, other)
        )
        assert_array_equal(once, again)
        assert not np.array_equal(once, other)


def test_generators_pass_through_and_random_states_move_on():
    rng = np.random.default_rng(0)
    legacy = np.random.RandomState(0)
    first, second = as_generator(legacy).random(), as_generator(legacy).random()
    assert as_generator(rng) is rng
    assert first != second
    assert first == as_generator(np.random.RandomState(0)).random()
    assert as_generator(None).random() != as_generator().random()


@pytest.mark.parametrize("seed", [-1, 0.5, "seed"])
def test_bad_seeds_are_refused(seed):
    with pytest.raises(IsothermError, match=r"random_state=.* is no seed"):
        as_generator(seed)


def test_real_tokens_are_split_in_their_own_cells(shared_data):
    counts = Counts(sparse.load_npz(shared_data / "cranfield" / "counts.npz"))
    parts = split_tokens(counts, random_state=0)
    total = sum((part.matrix.astype(np.float64) for part in parts), start=0 * counts.matrix)
    assert abs(total - counts.matrix).max() == 0
    assert parts[0].total / counts.total == pytest.approx(0.8, abs=0.01)
