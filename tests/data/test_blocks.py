import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from isotherm.data import base
from isotherm.data.base import Block, blocks_of, row_bounds
from isotherm.data.counts import Counts
from support.strategies import counts_matrices

Array = np.ndarray[Any, Any]


def dense(block: Block) -> Array:
    shape = (block.n_rows, block.n_columns)
    matrix = sparse.csr_array((block.values, block.indices, block.indptr), shape=shape)
    return np.asarray(matrix.toarray(), np.float64)


def block_of(matrix: Array, weight: Array | None = None) -> Block:
    return blocks_of(Counts(matrix), np.array([0, len(matrix)]), weight)[0]


def weights_for(matrix: Array) -> Array:
    return np.random.default_rng(len(matrix)).uniform(0.5, 2.0, len(matrix))


@given(counts_matrices())
def test_totals(matrix: Array) -> None:
    weight = weights_for(matrix)
    block = block_of(matrix, weight)
    assert (block.n_rows, block.n_columns, block.nnz) == (*matrix.shape, np.count_nonzero(matrix))
    assert np.array_equal(block.row_totals, matrix.sum(axis=1))
    np.testing.assert_allclose(block.column_totals, weight @ matrix, rtol=1e-12)
    assert block.row_totals.dtype == block.column_totals.dtype == np.float64


@given(counts_matrices())
def test_weight_is_one_unless_given(matrix: Array) -> None:
    block = block_of(matrix)
    assert np.array_equal(block.weight, np.ones(len(matrix)))
    assert np.array_equal(block.column_totals, matrix.sum(axis=0))


@given(counts_matrices())
def test_types_do_not_depend_on_the_counts(matrix: Array) -> None:
    block = block_of(matrix)
    assert block.indptr.dtype == np.int64
    assert block.indices.dtype == block.row_of.dtype == np.int32
    assert block.weight.dtype == np.float64


@pytest.mark.parametrize("slab", [1, 3, 200_000])
@given(counts_matrices())
def test_column_order_is_the_transpose_slab_by_slab(slab: int, matrix: Array) -> None:
    block = block_of(matrix)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "SLAB", slab)
        order = block.by_column
    values = block.values[order.entries]
    columns = block.indices[order.entries]
    rows = block.row_of[order.entries]
    assert np.array_equal(np.sort(order.entries), np.arange(block.nnz))
    assert np.array_equal(rows, order.rows)
    assert np.array_equal(columns, np.repeat(order.columns, np.diff(order.indptr)))
    restored = np.zeros(matrix.shape)
    restored[rows, columns] = values
    assert np.array_equal(restored, matrix)
    top = -1
    for first, last in itertools.pairwise(order.slabs):
        assert np.all(np.diff(order.columns[first:last]) > 0)
        cells = slice(order.indptr[first], order.indptr[last])
        assert rows[cells].min(initial=top + 1) > top  # slabs are runs of rows, in order
        top = rows[cells].max(initial=top)
    same_segment = np.diff(np.repeat(np.arange(len(order.columns)), np.diff(order.indptr))) == 0
    assert np.all(np.diff(rows)[same_segment] > 0)  # rows in order, so sums have one order too
    assert np.array_equal(np.diff(order.cumulative), (matrix > 0).sum(axis=0))


@given(counts_matrices(huge=False))
def test_weighted_counts(matrix: Array) -> None:
    weight = weights_for(matrix)
    for block, heavy in (
        (block_of(matrix, weight), matrix * weight[:, None]),
        (block_of(matrix), matrix),
    ):
        np.testing.assert_allclose(block.weighted, heavy[matrix > 0], rtol=1e-6)
        assert block.weighted.dtype == block.values.dtype


@given(counts_matrices(), st.data())
def test_take_rows_in_any_order(matrix: Array, data: Any) -> None:
    weight = weights_for(matrix)
    rows = np.array(data.draw(st.lists(st.integers(0, len(matrix) - 1))), np.intp)
    part = block_of(matrix, weight).take(rows)
    assert np.array_equal(dense(part), matrix[rows])
    assert np.array_equal(part.weight, weight[rows])
    assert part.n_columns == matrix.shape[1]
    assert np.array_equal(part.row_totals, matrix[rows].sum(axis=1))


@given(counts_matrices(), st.integers(1, 12))
def test_blocks_cover_all_rows_once(matrix: Array, n_blocks: int) -> None:
    counts, weight = Counts(matrix), weights_for(matrix)
    bounds = row_bounds(counts, n_blocks)
    blocks = blocks_of(counts, bounds, weight)
    assert bounds[0] == 0
    assert bounds[-1] == len(matrix)
    assert np.all(np.diff(bounds) > 0)
    assert len(blocks) <= n_blocks
    assert [b.n_rows for b in blocks] == [hi - lo for lo, hi in itertools.pairwise(bounds)]
    assert np.array_equal(np.vstack([dense(b) for b in blocks]), matrix)
    assert np.array_equal(np.concatenate([b.weight for b in blocks]), weight)
    assert all(b.indptr[0] == 0 and b.indptr[-1] == b.nnz for b in blocks)


def test_blocks_have_about_equal_numbers_of_counts() -> None:
    rng = np.random.default_rng(0)
    matrix = rng.random((400, 50)) < rng.choice([0.02, 0.5], (400, 1))
    counts = Counts(matrix)
    sizes = [block.nnz for block in blocks_of(counts, row_bounds(counts, 7))]
    assert len(sizes) == 7
    assert max(sizes) - min(sizes) <= 2 * 50


@pytest.mark.parametrize("where", ["first", "last", "all but one"])
def test_empty_rows_are_kept(where: str) -> None:
    matrix = np.ones((9, 3))
    matrix[{"first": slice(0, 4), "last": slice(5, 9), "all but one": slice(1, 9)}[where]] = 0
    counts = Counts(matrix)
    blocks = blocks_of(counts, row_bounds(counts, 3))
    assert np.array_equal(np.concatenate([b.row_totals for b in blocks]), matrix.sum(axis=1))
    assert sum(b.n_rows for b in blocks) == 9


def test_block_without_counts_has_zero_totals() -> None:
    block = block_of(np.array([[1, 2], [0, 0]])).take(np.array([1]))
    assert np.array_equal(block.row_totals, [0.0])
    assert np.array_equal(block.column_totals, [0.0, 0.0])
    assert np.array_equal(block.by_column.cumulative, [0, 0, 0])
    assert np.array_equal(block.by_column.slabs, [0, 0])
