"""Batches of rows: all rows once, alike in sorted tables, whatever the blocks."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isotherm.data.counts import Counts
from isotherm.kernels.reference import Reference
from isotherm.placement.base import Expected
from isotherm.placement.batches import Batch, dealt, layout, rows_of, spans
from isotherm.placement.local import Local


class One(NamedTuple):
    array: Any


@given(st.integers(1, 400), st.integers(1, 500))
def test_batches_hold_every_row_once_and_about_equally_many(n_rows: int, size: int) -> None:
    batches = dealt(n_rows, size)
    assert sorted(rows_of(run for runs in batches for run in runs)) == list(range(n_rows))
    sizes = [sum(hi - lo for lo, hi in runs) for runs in batches]
    assert len(batches) == -(-n_rows // size)
    assert min(sizes) >= 1
    assert max(sizes) <= size + 64


def test_batches_of_a_sorted_table_are_alike() -> None:
    group = np.repeat(np.arange(20), 500)
    for runs in dealt(len(group), 1000):
        share = np.bincount(group[rows_of(runs)], minlength=20) / len(rows_of(runs))
        assert share.min() > 0.02
        assert share.max() < 0.09


def test_no_size_is_one_batch_in_order() -> None:
    assert dealt(7, None) == dealt(7, 7) == [((0, 7),)]


@given(st.integers(2, 200), st.integers(1, 100), st.randoms(use_true_random=False))
def test_cuts_change_blocks_and_not_batches(n_rows: int, size: int, random: Any) -> None:
    batches = dealt(n_rows, size)
    cuts = []
    for runs in batches:
        inside = range(1, sum(hi - lo for lo, hi in runs))
        cuts.append(sorted(random.sample(inside, min(3, len(inside)))))
    cut = layout(batches, cuts)
    assert len(cut.blocks) == sum(1 + len(one) for one in cuts)
    np.testing.assert_array_equal(cut.order(), layout(batches).order())
    for number, runs in enumerate(batches):
        mine = slice(*cut.batches[number : number + 2])
        assert np.cumsum(cut.sizes[mine])[:-1].tolist() == cuts[number]
        rows = rows_of(run for block in cut.blocks[mine] for run in block)
        np.testing.assert_array_equal(rows, rows_of(runs))


def test_totals_of_batches_add_up() -> None:
    found = spans((0, 2, 3), (1.0, 2.0, 4.0))
    assert found == (Batch(slice(0, 2), 3.0), Batch(slice(2, 3), 4.0))


def test_memory_gives_rows_back_in_their_own_order() -> None:
    X = np.random.default_rng(0).poisson(1.0, (50, 6)) + np.eye(50, 6, dtype=int)
    weight = 1.0 + np.arange(50)
    counts = Counts(X)
    data = Local.place(counts, Reference(), weight=weight, batch=8)
    assert len(data.blocks) == 7
    np.testing.assert_allclose(data.summary.column_totals, weight @ X)
    assert sum(batch.total for batch in data.batches) == pytest.approx(data.summary.total)

    def heavy(k: Any, block: Any, rows: Any, sign: float) -> Expected:
        return Expected(One(sign * block.weight * block.row_totals), One(block.column_totals), 1.0)

    rows, sums, _ = data.sweep(heavy, data.no_rows, 1.0)
    np.testing.assert_allclose(data.gather(rows).array, weight * X.sum(axis=1))
    some, part, n_blocks = data.sweep(heavy, rows, -1.0, within=slice(2, 4))
    assert n_blocks == 2.0
    changed = data.gather(some).array < 0
    mine = rows_of(run for runs in data.laid.blocks[2:4] for run in runs)
    np.testing.assert_array_equal(np.flatnonzero(changed), np.sort(mine))
    np.testing.assert_allclose(part.array, weight[mine] @ X[mine])
    beside = data.beside(Counts(2 * X))
    other, _, _ = beside.sweep(heavy, beside.no_rows, 1.0)
    np.testing.assert_allclose(beside.gather(other).array, 2 * weight * X.sum(axis=1))
    np.testing.assert_allclose(sums.array, weight @ X)
