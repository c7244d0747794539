"""Pairs whose normaliser is too small for the precision are redone in log space."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isotherm.kernels.cpu import underflow
from isotherm.kernels.cpu.backend import Cpu
from isotherm.kernels.reference import Reference
from support.kernels import Case, block_of, cases, uneven_block

PLAIN = Reference()


@given(cases(), st.integers(0, 2**31))
def test_double_precision_survives_tiny_factors(case: Case, seed: int) -> None:
    # Some rows, some columns: products of 1e-200 and 1e-200 underflow, others do not.
    rng = np.random.default_rng(seed)
    U = case.U * rng.choice([1.0, 1e-200], (len(case.U), 1))
    V = case.V * rng.choice([1.0, 1e-200], (len(case.V), 1))
    actual, expected = Cpu("float64").pair(case.block, U, V), PLAIN.pair(case.block, U, V)
    np.testing.assert_allclose(actual.rows, expected.rows, rtol=1e-12, atol=1e-80)
    np.testing.assert_allclose(actual.columns, expected.columns, rtol=1e-12, atol=1e-80)
    np.testing.assert_allclose(actual.log_z, expected.log_z, rtol=1e-12, atol=1e-9)


@given(cases(huge=False), st.integers(0, 2**31))
def test_single_precision_survives_tiny_tables(case: Case, seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = case.rounded()
    U = (case.U * 10.0 ** rng.uniform(-25, 0, (len(case.U), 1))).astype(np.float32)
    V = (case.V * 10.0 ** rng.uniform(-25, 0, (len(case.V), 1))).astype(np.float32)
    actual, expected = Cpu("float32").pair(case.block, U, V), PLAIN.pair(case.block, U, V)
    np.testing.assert_allclose(actual.rows, expected.rows, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(actual.columns, expected.columns, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(actual.log_z, expected.log_z, rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_mass_is_conserved_when_everything_underflows(precision: str) -> None:
    kernels, rng = Cpu(precision), np.random.default_rng(0)
    block = kernels.prepare(uneven_block(rng))
    tiny = 1e-25 if precision == "float32" else 1e-200
    U = (tiny * rng.uniform(0.5, 1, (block.n_rows, 11))).astype(precision)
    V = (tiny * rng.uniform(0.5, 1, (block.n_columns, 11))).astype(precision)
    sums = kernels.pair(block, U, V)
    assert np.isfinite(sums.log_z)
    np.testing.assert_allclose(sums.rows.sum(axis=1), block.row_totals * block.weight, rtol=1e-4)
    np.testing.assert_allclose(sums.columns.sum(axis=1), block.column_totals, rtol=1e-5)
    expected = PLAIN.pair(PLAIN.prepare(block), U, V)
    np.testing.assert_allclose(sums.columns, expected.columns, rtol=1e-4)
    np.testing.assert_allclose(sums.log_z, expected.log_z, rtol=1e-6)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_pairs_without_any_component_are_shared_equally(precision: str) -> None:
    # U is 0 wherever V is not: the floor of the logarithm decides, as in the reference.
    kernels = Cpu(precision)
    block = kernels.prepare(block_of([[3, 1]]))
    U, V = np.array([[1.0, 0.0]], precision), np.array([[0.0, 1.0], [1.0, 0.0]], precision)
    sums = kernels.pair(block, U, V)
    np.testing.assert_allclose(sums.rows, [[2.5, 1.5]], rtol=1e-6)
    np.testing.assert_allclose(sums.columns, [[1.5, 1.5], [1.0, 0.0]], rtol=1e-6)
    np.testing.assert_allclose(sums.log_z, 3 * np.log(2e-300), rtol=1e-6)


@pytest.mark.parametrize("n", [1.0, 2.0**40])
def test_ratio_of_large_count_and_small_normaliser_stays_finite(n: float) -> None:
    # At every size of z around the limit, also just above it.
    kernels = Cpu("float32")
    block = kernels.prepare(block_of([[n, n, n, n, n, n]]))
    V = np.outer(10.0 ** np.linspace(-29, -23, 6), [1.0, 3.0]).astype(np.float32)
    sums = kernels.pair(block, np.ones((1, 2), np.float32), V)
    np.testing.assert_allclose(sums.rows, [[1.5 * n, 4.5 * n]], rtol=1e-5)
    np.testing.assert_allclose(sums.columns, np.tile([0.25 * n, 0.75 * n], (6, 1)), rtol=1e-5)


def test_result_does_not_depend_on_how_many_are_redone_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernels, rng = Cpu("float64"), np.random.default_rng(1)
    block = uneven_block(rng, 40, 30)
    U, V = 1e-160 * rng.random((40, 5)), 1e-160 * rng.random((30, 5))
    whole = kernels.pair(block, U, V)
    monkeypatch.setattr(underflow, "REDONE_AT_ONCE", 35)
    parts = kernels.pair(block, U, V)
    np.testing.assert_array_equal(parts.rows, whole.rows)
    np.testing.assert_array_equal(parts.columns, whole.columns)
    np.testing.assert_allclose(parts.log_z, whole.log_z, rtol=1e-14)
