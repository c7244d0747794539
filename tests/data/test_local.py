from typing import Any, NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isotherm.data.base import Block, blocks_of
from isotherm.data.counts import Counts
from isotherm.kernels.base import Kernels
from isotherm.kernels.cpu.backend import Cpu
from isotherm.kernels.reference import Reference
from isotherm.placement.base import Expected
from isotherm.placement.local import Local
from support.strategies import counts_matrices

Array = np.ndarray[Any, Any]
KERNELS = Reference()


class Rows(NamedTuple):
    totals: Array


class Stats(NamedTuple):
    columns: Array
    firsts: Array


def gather_sums(k: Kernels, block: Block, rows: Any, step: float) -> Expected:
    """Row totals so far plus `step`, column totals, and the tokens as energy."""
    before = rows.totals if rows else np.zeros(block.n_rows)
    firsts = block.row_totals[:1]
    return Expected(
        Rows(before + block.row_totals + step),
        Stats(block.column_totals, firsts),
        float(block.row_totals.sum()),
    )


class Value(NamedTuple):
    value: Array


def lopsided(k: Kernels, block: Block, rows: Any) -> Expected:
    # In double precision 1 + 1e16 - 1e16 is 0 or 1, by the order in which it is added.
    value = {1: 1.0, 3: 1e16, 2: -1e16}[block.n_rows]
    return Expected((), Value(np.array([value], np.float32)), 0.0)


@given(counts_matrices(), st.integers(1, 5))
def test_summary_does_not_depend_on_the_cuts(matrix: Array, n_blocks: int) -> None:
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(matrix))
    summary = Local.place(Counts(matrix), KERNELS, weight=weight, n_blocks=n_blocks).summary
    np.testing.assert_allclose(summary.column_totals, weight @ matrix, rtol=1e-12)
    np.testing.assert_allclose(summary.row_weight, weight.sum(), rtol=1e-12)
    np.testing.assert_allclose(summary.total, (weight @ matrix).sum(), rtol=1e-12)


@given(counts_matrices(), st.integers(1, 5))
def test_sweep_adds_blocks_and_keeps_rows(matrix: Array, n_blocks: int) -> None:
    data = Local.place(Counts(matrix), KERNELS, n_blocks=n_blocks)
    rows, stats, energy = data.sweep(gather_sums, data.no_rows, 0.5)
    rows, stats, energy = data.sweep(gather_sums, rows, 0.5)
    assert len(rows) == len(data.blocks)
    assert np.array_equal(data.gather(rows).totals, 2 * matrix.sum(axis=1) + 1.0)
    assert np.array_equal(stats.columns, matrix.sum(axis=0))
    assert energy == matrix.sum()


def test_sweep_adds_in_block_order() -> None:
    data = Local(blocks_of(Counts(np.ones((6, 2))), np.array([0, 1, 4, 6])), KERNELS)
    _, stats, _ = data.sweep(lopsided, data.no_rows)
    assert [block.n_rows for block in data.blocks] == [1, 3, 2]
    assert stats.value.dtype == np.float64
    big = np.float64(np.float32(1e16))
    assert stats.value[0] == (1.0 + big) - big


def test_task_sees_kernels_and_prepared_blocks() -> None:
    kernels = Cpu("float32")
    data = Local.place(Counts([[2**24 + 1, 1], [1, 2]]), kernels, n_blocks=2)
    seen = []

    def look(k: Kernels, block: Block, rows: Any) -> Expected:
        seen.append((k is kernels, block.values.dtype == np.float32, rows))
        return Expected((), (), 0.0)

    rows, stats, energy = data.sweep(look, data.no_rows)
    assert seen == [(True, True, ()), (True, True, ())]
    assert (rows, stats, energy) == (((), ()), (), 0.0)


@given(counts_matrices(max_rows=9), st.integers(1, 5))
def test_beside_has_the_same_cuts_and_weights(matrix: Array, n_blocks: int) -> None:
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(matrix))
    data = Local.place(Counts(matrix), KERNELS, weight=weight, n_blocks=n_blocks)
    held = np.arange(matrix.size).reshape(matrix.shape) % 3
    held[0, 0] = 1
    other = data.beside(Counts(held))
    assert other.kernels is data.kernels
    assert [b.n_rows for b in other.blocks] == [b.n_rows for b in data.blocks]
    for mine, theirs in zip(data.blocks, other.blocks, strict=True):
        assert np.array_equal(mine.weight, theirs.weight)
    totals = np.concatenate([b.row_totals for b in other.blocks])
    assert np.array_equal(totals, held.sum(axis=1))


@given(counts_matrices(), st.integers(1, 5))
def test_gather_stacks_rows_in_order(matrix: Array, n_blocks: int) -> None:
    data = Local.place(Counts(matrix), KERNELS, n_blocks=n_blocks)
    rows, _, _ = data.sweep(gather_sums, data.no_rows, 0.0)
    gathered = data.gather(rows)
    assert isinstance(gathered, Rows)
    assert np.array_equal(gathered.totals, matrix.sum(axis=1))
