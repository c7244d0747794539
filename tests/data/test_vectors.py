"""Blocks of vectors: cutting, weights, missing values, means and variances."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isotherm.data.vectors import VectorBlock, vector_blocks
from isotherm.kernels.cpu.backend import Cpu
from isotherm.kernels.reference import Reference
from isotherm.placement.local import Local

Array = np.ndarray[Any, Any]


def table(seed: int, n_rows: int, n_columns: int, missing: float, offset: float = 0.0) -> Array:
    rng = np.random.default_rng(seed)
    values = offset + rng.standard_normal((n_rows, n_columns))
    values[rng.random(values.shape) < missing] = np.nan
    return values


CASES = given(
    st.integers(0, 2**31),
    st.integers(1, 30),
    st.integers(1, 5),
    st.sampled_from((0.0, 0.3, 0.8)),
    st.one_of(st.none(), st.integers(1, 40)),
)


@CASES
def test_blocks_hold_all_rows_in_order(
    seed: int, n_rows: int, n_columns: int, missing: float, step: int | None
) -> None:
    values = table(seed, n_rows, n_columns, missing)
    weight = np.random.default_rng(seed).uniform(0.0, 2.0, n_rows)
    blocks = vector_blocks(values, weight, rows_per_block=step)
    assert [block.n_rows for block in blocks[:-1]] == [step] * (len(blocks) - 1)
    assert all(block.n_columns == n_columns for block in blocks)
    together = np.concatenate([block.values for block in blocks])
    np.testing.assert_array_equal(together, np.nan_to_num(values))
    np.testing.assert_array_equal(np.concatenate([block.weight for block in blocks]), weight)
    if np.isnan(values).any():
        # Every block has a mask if any needs one: their sums must have one shape.
        present = np.concatenate([block.present for block in blocks])
        np.testing.assert_array_equal(present, ~np.isnan(values))
        assert present.dtype == values.dtype
    else:
        assert all(block.present is None for block in blocks)


@CASES
def test_sums_are_those_of_numpy(
    seed: int, n_rows: int, n_columns: int, missing: float, step: int | None
) -> None:
    values = table(seed, n_rows, n_columns, missing)
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, n_rows)
    blocks = vector_blocks(values, weight, rows_per_block=step)
    squares = np.nansum(values**2, axis=1)
    np.testing.assert_allclose(np.concatenate([block.squares for block in blocks]), squares)
    assert sum(block.square for block in blocks) == pytest.approx(weight @ squares)
    cells = weight @ ~np.isnan(values)
    np.testing.assert_allclose(sum(block.cells for block in blocks), cells)
    found = VectorBlock.summarize(blocks)
    assert found.total == pytest.approx(weight.sum())
    np.testing.assert_allclose(found.cells, cells)
    for d, column in enumerate(values.T):
        known = ~np.isnan(column)
        if not known.any():
            assert (found.mean[d], found.variance[d]) == (0.0, 0.0)
            continue
        mean = np.average(column[known], weights=weight[known])
        variance = np.average((column[known] - mean) ** 2, weights=weight[known])
        assert found.mean[d] == pytest.approx(mean, rel=1e-9, abs=1e-12)
        assert found.variance[d] == pytest.approx(variance, rel=1e-9, abs=1e-12)
    centred = np.nan_to_num(values - found.mean)
    if cells.sum():
        wanted = (weight @ centred**2).sum() / cells.sum()
        assert found.noise == pytest.approx(wanted, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(
        np.concatenate([block.centred(found.mean) for block in blocks]), centred
    )


def test_noise_is_the_mean_variance_where_nothing_is_missing() -> None:
    values = table(0, 50, 4, 0.0) * [1.0, 2.0, 3.0, 4.0]
    summary = VectorBlock.summarize(vector_blocks(values))
    covariance = np.cov(values.T, bias=True)
    assert summary.noise == pytest.approx(np.trace(covariance) / 4, rel=1e-12)
    assert summary.variance == pytest.approx(np.diag(covariance), rel=1e-12)


def test_a_large_mean_costs_no_digits_of_the_variance() -> None:
    near, far = table(0, 200, 3, 0.0), table(0, 200, 3, 0.0, offset=1e8)
    summary = VectorBlock.summarize(vector_blocks(far, rows_per_block=37))
    assert summary.variance == pytest.approx(near.var(axis=0), rel=1e-6)


def test_weights_are_ones_by_default_and_become_double() -> None:
    values = table(0, 4, 2, 0.0)
    assert vector_blocks(values)[0].weight.tolist() == [1.0] * 4
    given_weight = vector_blocks(values, np.array([1, 2, 0, 3], np.int32))[0].weight
    assert given_weight.dtype == np.float64
    assert given_weight.tolist() == [1.0, 2.0, 0.0, 3.0]


def test_a_row_of_weight_two_counts_as_two_rows() -> None:
    values, times = table(3, 12, 3, 0.2), np.arange(12) % 3
    left = VectorBlock.summarize(vector_blocks(values, times))
    right = VectorBlock.summarize(vector_blocks(np.repeat(values, times, axis=0)))
    for one, other in zip(left, right, strict=True):
        assert one == pytest.approx(other, rel=1e-12)


def test_the_given_table_is_left_alone() -> None:
    values = table(0, 10, 3, 0.3)
    before = values.copy()
    blocks = vector_blocks(values, rows_per_block=4)
    assert Local(blocks, Cpu("float32")).summary.total == 10.0
    np.testing.assert_array_equal(values, before)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_columns_first_tables_become_rows_first(missing: float) -> None:
    values = np.asfortranarray(table(0, 10, 3, missing))
    for block in vector_blocks(values, rows_per_block=4):
        assert block.values.flags.c_contiguous


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize(
    ("kernels", "dtype"),
    [(Reference(), np.float64), (Cpu("float64"), np.float64), (Cpu("float32"), np.float32)],
    ids=["reference", "double", "single"],
)
def test_backends_choose_the_type_and_sums_stay_double(
    kernels: Any, dtype: Any, missing: float
) -> None:
    values = table(0, 40, 3, missing, offset=3.0).astype(np.float32)
    data = Local(vector_blocks(values, rows_per_block=11), kernels)
    for block in data.blocks:
        assert block.values.dtype == dtype
        assert block.present is None or block.present.dtype == dtype
        assert block.squares.dtype == np.float64
    summary = data.summary
    assert summary.mean.dtype == summary.variance.dtype == np.float64
    assert summary.mean == pytest.approx(np.nanmean(values.astype(float), axis=0), rel=1e-12)
    assert summary.variance == pytest.approx(np.nanvar(values.astype(float), axis=0), rel=1e-12)


def test_summaries_do_not_depend_on_blocks() -> None:
    values = table(1, 60, 4, 0.2)
    summaries = [
        VectorBlock.summarize(vector_blocks(values, rows_per_block=step)) for step in (None, 1, 13)
    ]
    for left, right in itertools.pairwise(summaries):
        for one, other in zip(left, right, strict=True):
            assert one == pytest.approx(other, rel=1e-12)
