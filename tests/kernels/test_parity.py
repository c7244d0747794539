"""The CPU backend against the reference, function by function."""

import inspect
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isotherm.kernels.base import Kernels
from isotherm.kernels.cpu.backend import Cpu
from isotherm.kernels.reference import Reference
from support.kernels import (
    FUNCTIONS,
    LINKED_FUNCTIONS,
    PATH_FUNCTIONS,
    VECTOR_FUNCTIONS,
    Case,
    block_of,
    call,
    cases,
    pair_counts,
    row_counts,
)

DOUBLE, SINGLE, PLAIN = Cpu("float64"), Cpu("float32"), Reference()
EXACT = 1e-12
# Single precision: relative error of sums of positive terms, and absolute error of posteriors.
CLOSE = 1e-5
CLOSE_POSTERIOR = 1e-4


def close(actual: Any, expected: Any, rtol: float, atol: Any = 0.0) -> bool:
    """Whether |actual - expected| <= rtol |expected| + atol everywhere (underflow aside)."""
    gap = np.abs(np.asarray(actual, np.float64) - expected)
    return bool(np.all(gap <= rtol * np.abs(expected) + atol + 1e-250))


def magnitude(case: Case, logs: np.ndarray[Any, Any]) -> float:
    """Largest sum of |n log| of a row: what the rounding of its exponent is relative to."""
    return float(PLAIN.times(case.block, np.abs(logs)).max()) + 10.0


@pytest.mark.parametrize(
    "name", ["dtype", "prepare", *FUNCTIONS, *PATH_FUNCTIONS, *LINKED_FUNCTIONS]
)
def test_signatures_are_equal(name: str) -> None:
    def shape(owner: type) -> Any:
        member = inspect.getattr_static(owner, name)
        return inspect.signature(member.fget if isinstance(member, property) else member)

    assert shape(Cpu) == shape(Reference) == shape(Kernels)


def test_no_function_is_left_out() -> None:
    public = {name for name in vars(Kernels) if not name.startswith("_")}
    listed = {*FUNCTIONS, *VECTOR_FUNCTIONS, *PATH_FUNCTIONS, *LINKED_FUNCTIONS}
    assert public == {"dtype", "prepare", *listed}


@pytest.mark.parametrize("kernels", [DOUBLE, SINGLE, PLAIN])
def test_outputs_have_promised_types(kernels: Kernels) -> None:
    case = _small()
    double, own = np.dtype(np.float64), kernels.dtype
    types = {
        name: [np.asarray(out).dtype for out in call(kernels, name, case)] for name in FUNCTIONS
    }
    assert types == {
        "power": [own],
        "logs": [own],
        "totals": [double],
        "scaled": [own],
        "pair": [own, double, double, double] * 2,
        "row": [own, double, double, double],
        "times": [double],
        "transposed_times": [double],
        "dots": [own],
        "pair_loo": [own, double, double],
        "row_loo": [own, double, double],
    }


@given(cases(), st.sampled_from((0.3, 0.8, 1.0, 1.7)))
def test_power(case: Case, beta: float) -> None:
    scale = np.linspace(-30.0, 1.0, case.U.shape[1])
    scale[-1] = -np.inf
    expected = PLAIN.power(case.U, beta, scale)
    assert close(DOUBLE.power(case.U, beta, scale), expected, EXACT)
    single = case.rounded().U
    assert close(SINGLE.power(single, beta, scale), PLAIN.power(single, beta, scale), CLOSE)


@given(cases())
def test_logs_totals_and_scaled(case: Case) -> None:
    for name in ("logs", "totals", "scaled"):
        (expected,) = call(PLAIN, name, case)
        assert close(call(DOUBLE, name, case)[0], expected, EXACT)
        assert close(call(SINGLE, name, case)[0], call(PLAIN, name, case.rounded())[0], CLOSE)


def test_totals_of_a_long_table_are_added_up_in_double_precision() -> None:
    table = np.full((300_000, 3), 0.1, np.float32)
    np.testing.assert_allclose(SINGLE.totals(table), 300_000 * float(np.float32(0.1)), rtol=1e-5)


def test_sum_of_a_long_row_is_added_up_in_double_precision() -> None:
    # One huge term, then many that single precision would each round off.
    matrix = np.ones((1, 40_000))
    matrix[0, 0] = 2.0**24
    block = block_of(matrix)
    U, V = np.ones((1, 2), np.float32), np.full((40_000, 2), 0.5, np.float32)
    rows = SINGLE.pair(SINGLE.prepare(block), U, V).rows
    np.testing.assert_allclose(rows, matrix.sum() / 2, rtol=3e-5)


@given(cases())
def test_pair(case: Case) -> None:
    expected = call(PLAIN, "pair", case)
    found = call(DOUBLE, "pair", case)
    tokens = float(case.block.row_totals @ case.block.weight)
    for first in (0, 4):  # without a rest, and with one
        for actual, want in zip(found[first : first + 2], expected[first : first + 2], strict=True):
            assert close(actual, want, EXACT)
        for at in (first + 2, first + 3):
            assert abs(found[at] - expected[at]) <= 10 * EXACT * tokens


@given(cases())
def test_pair_in_single_precision(case: Case) -> None:
    case = case.rounded()
    actual, expected = call(SINGLE, "pair", case), call(PLAIN, "pair", case)
    tokens = float(case.block.row_totals @ case.block.weight)
    for first in (0, 4):  # without a rest, and with one
        for at in (first, first + 1):
            assert close(actual[at], expected[at], CLOSE)
        for at in (first + 2, first + 3):
            assert abs(actual[at] - expected[at]) <= CLOSE * tokens


@given(cases(), st.floats(1e-6, 1e6))
def test_a_rest_is_one_more_component_of_all_but_the_first_token(case: Case, size: float) -> None:
    K, n = case.U.shape[1], np.asarray(case.block.values)
    first = case.block.with_values(np.minimum(n, 1.0))
    again = case.block.with_values(np.maximum(n - 1.0, 0.0))
    U, V = np.column_stack([case.U, np.full(len(case.U), size)]), case.V
    V = np.column_stack([V, np.linspace(0.0, 1.0, len(V))])
    for kernels in (DOUBLE, PLAIN):
        one, more = kernels.pair(first, case.U, case.V), kernels.pair(again, U, V)
        part = kernels.pair(case.block, case.U, case.V, size * V[case.block.indices, -1])
        assert close(part.rows, one.rows + more.rows[:, :K], 10 * EXACT)
        assert close(part.columns, one.columns + more.columns[:, :K], 10 * EXACT)
        tokens = float(case.block.row_totals @ case.block.weight)
        assert abs(part.log_z - one.log_z - more.log_z) <= 100 * EXACT * tokens
        assert abs(part.rest - more.rows[:, -1].sum()) <= 100 * EXACT * tokens


@given(cases(), st.booleans())
def test_row(case: Case, prior_of_each_row: bool) -> None:
    logs = np.log(np.maximum(case.V, 1e-9))
    prior = np.log(case.row_share + 1e-9)
    prior = prior if prior_of_each_row else prior[0]
    actual, expected = DOUBLE.row(case.block, logs, prior), PLAIN.row(case.block, logs, prior)
    # A huge count times a logarithm has few digits left behind the point, in any backend.
    size = magnitude(case, logs)
    tolerance = max(EXACT, 4 * np.finfo(np.float64).eps * size)
    tokens = PLAIN.transposed_times(case.block, np.ones((case.block.n_rows, 1)))
    assert close(actual.posterior, expected.posterior, EXACT, tolerance)
    assert close(actual.columns, expected.columns, EXACT, 2 * tolerance * tokens)
    assert close(actual.mass, expected.mass, EXACT, tolerance * case.block.weight.sum())
    assert close(actual.log_z, expected.log_z, EXACT, tolerance * case.block.weight.sum())


@given(cases(huge=False), st.booleans())
def test_row_in_single_precision(case: Case, prior_of_each_row: bool) -> None:
    case = case.rounded()
    logs = np.log(np.maximum(case.V, np.float32(1e-6)))
    prior = np.log(case.row_share + 1e-9)
    prior = prior if prior_of_each_row else prior[0]
    actual, expected = SINGLE.row(case.block, logs, prior), PLAIN.row(case.block, logs, prior)
    tokens = PLAIN.transposed_times(case.block, np.ones((case.block.n_rows, 1)))
    assert close(actual.posterior, expected.posterior, 0.0, CLOSE_POSTERIOR)
    assert close(actual.columns, expected.columns, 0.0, CLOSE_POSTERIOR * tokens)
    assert close(actual.mass, expected.mass, 0.0, CLOSE_POSTERIOR * case.block.weight.sum())
    assert close(actual.log_z, expected.log_z, CLOSE, CLOSE * case.block.weight.sum())


@given(cases())
def test_row_of_huge_counts_in_single_precision_is_a_posterior(case: Case) -> None:
    posterior, columns, mass, log_z = call(SINGLE, "row", case.rounded())
    total = float(case.block.row_totals @ case.block.weight)
    assert np.allclose(posterior.sum(axis=1), 1.0, rtol=1e-6)
    assert np.isclose(columns.sum(), total, rtol=1e-6)
    assert np.isclose(mass.sum(), case.block.weight.sum(), rtol=1e-6)
    assert np.isclose(log_z, call(PLAIN, "row", case)[3], rtol=1e-5, atol=1e-3)


@given(cases(huge=False), st.booleans(), st.sampled_from((DOUBLE, SINGLE)))
def test_hard_row(case: Case, prior_of_each_row: bool, kernels: Cpu) -> None:
    # Whole numbers are exact in both precisions, so ties are ties and every output is equal.
    block = block_of(_dense(case), np.ceil(case.block.weight))
    logs, prior = np.floor(-4 * case.V), np.floor(-3 * case.row_share)
    prior = prior if prior_of_each_row else prior[0]
    expected = PLAIN.row(block, logs, prior, hard=True)
    actual = kernels.row(kernels.prepare(block), logs.astype(kernels.dtype), prior, hard=True)
    assert np.array_equal(actual.posterior, expected.posterior)
    assert np.array_equal(actual.columns, expected.columns)
    assert np.array_equal(actual.mass, expected.mass)
    assert actual.log_z == expected.log_z
    assert np.array_equal(actual.posterior.sum(axis=1), np.ones(block.n_rows))


@pytest.mark.parametrize("kernels", [DOUBLE, SINGLE, PLAIN])
def test_hard_row_takes_lowest_index_on_ties(kernels: Kernels) -> None:
    block = kernels.prepare(block_of([[1, 2], [0, 3]]))
    logs = np.array([[-2.0, -1.0, -1.0], [-1.0, -1.0, -1.0]], kernels.dtype)
    sums = kernels.row(block, logs, np.zeros(3), hard=True)
    assert np.array_equal(sums.posterior, [[0, 1, 0], [1, 0, 0]])
    assert sums.log_z == -6.0


@given(cases())
def test_times(case: Case) -> None:
    signed = case.V - 0.3
    bound = PLAIN.times(case.block, np.abs(signed))
    assert close(
        DOUBLE.times(case.block, signed), PLAIN.times(case.block, signed), 0.0, EXACT * bound
    )
    block = case.rounded().block
    single = signed.astype(np.float32)
    assert close(SINGLE.times(block, single), PLAIN.times(block, single), 0.0, CLOSE * bound)


@given(cases())
def test_transposed_times(case: Case) -> None:
    signed = case.U - 0.3
    bound = PLAIN.transposed_times(case.block, np.abs(signed))
    expected = PLAIN.transposed_times(case.block, signed)
    assert close(DOUBLE.transposed_times(case.block, signed), expected, 0.0, EXACT * bound)
    block, single = case.rounded().block, signed.astype(np.float32)
    expected = PLAIN.transposed_times(block, single)
    assert close(SINGLE.transposed_times(block, single), expected, 0.0, CLOSE * bound)


@given(cases())
def test_dots(case: Case) -> None:
    U, V = case.U - 0.3, case.V - 0.3
    bound = PLAIN.dots(case.block, np.abs(U), np.abs(V))
    assert close(DOUBLE.dots(case.block, U, V), PLAIN.dots(case.block, U, V), 0.0, EXACT * bound)
    u, v = U.astype(np.float32), V.astype(np.float32)
    expected = PLAIN.dots(case.block, u.astype(float), v.astype(float))
    assert close(SINGLE.dots(case.rounded().block, u, v), expected, 0.0, CLOSE * bound)


@given(cases(), st.sampled_from((0.5, 0.8, 1.0, 1.5)))
def test_pair_loo(case: Case, beta: float) -> None:
    for given_, kernels, tolerance in ((case, DOUBLE, EXACT), (case.rounded(), SINGLE, CLOSE)):
        counts, block = pair_counts(given_), given_.block
        actual = kernels.pair_loo(block, *counts, given_.pair_share, beta)
        expected = PLAIN.pair_loo(block, *counts, given_.pair_share.astype(float), beta)
        assert close(actual.posterior, expected.posterior, 10 * tolerance, 1e-37)
        assert close(actual.rows, expected.rows, 10 * tolerance, 1e-30)
        assert close(actual.columns, expected.columns, 10 * tolerance, 1e-30)


@given(cases(), st.sampled_from((0.1, 0.8, 1.0)))
def test_row_loo(case: Case, beta: float) -> None:
    _check_row_loo(case, DOUBLE, beta, EXACT)


@given(cases(huge=False), st.sampled_from((0.1, 0.8, 1.0)))
def test_row_loo_in_single_precision(case: Case, beta: float) -> None:
    _check_row_loo(case.rounded(), SINGLE, beta, CLOSE)


def _check_row_loo(case: Case, kernels: Cpu, beta: float, least: float) -> None:
    columns, mass = row_counts(case)
    block, last = case.block, case.row_share
    actual = kernels.row_loo(block, columns, mass, last, case.pseudo, beta)
    expected = PLAIN.row_loo(block, columns, mass, last.astype(float), case.pseudo, beta)
    tokens = PLAIN.transposed_times(block, np.ones((block.n_rows, 1)))
    size = 700.0 * beta * float(block.row_totals.max())
    tolerance = max(least, 4 * np.finfo(np.float64).eps * size)
    assert close(actual.posterior, expected.posterior, 0.0, tolerance)
    assert close(actual.rows, expected.rows, 0.0, tolerance * block.weight[:, None])
    assert close(actual.columns, expected.columns, 0.0, 2 * tolerance * tokens)


@pytest.mark.parametrize("kernels", [DOUBLE, SINGLE, PLAIN])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_block_without_counts(kernels: Kernels, name: str) -> None:
    case = _small()
    empty = case.block.take(np.array([2, 2]))  # an empty row, twice
    nothing = Case(empty, case.U[:2], case.V, case.pair_share[:0], case.row_share[:2], case.pseudo)
    outputs = call(kernels, name, nothing)
    assert empty.nnz == 0
    assert all(np.isfinite(out).all() for out in outputs)
    if name in ("pair", "times", "transposed_times"):
        assert all(np.sum(out) == 0 for out in outputs)


@pytest.mark.parametrize("kernels", [DOUBLE, SINGLE, PLAIN])
def test_weight_counts_like_copies_of_a_row(kernels: Kernels) -> None:
    case = _small()
    twice = np.array([0, 0, 1, 2, 3, 3, 3])
    block = case.block.take(twice)
    copies = type(block)(block.indptr, block.indices, block.values, np.ones(7), block.n_columns)
    weighted = type(block)(
        case.block.indptr,
        case.block.indices,
        case.block.values,
        np.array([2.0, 1, 1, 3]),
        block.n_columns,
    )
    many = kernels.pair(kernels.prepare(copies), case.U[twice], case.V)
    one = kernels.pair(kernels.prepare(weighted), case.U, case.V)
    assert np.allclose(many.columns, one.columns, rtol=1e-5)
    assert np.isclose(many.log_z, one.log_z, rtol=1e-5)
    logs, prior = np.log(case.V), np.zeros(case.V.shape[1])
    rows, row = (kernels.row(kernels.prepare(b), logs, prior) for b in (copies, weighted))
    assert np.allclose(rows.posterior, row.posterior[twice], rtol=1e-5)
    assert np.allclose(rows.columns, row.columns, rtol=1e-5)
    assert np.allclose(rows.mass, row.mass, rtol=1e-5)
    assert np.isclose(rows.log_z, row.log_z, rtol=1e-5)


@pytest.mark.parametrize("kernels", [DOUBLE, SINGLE])
def test_tables_of_another_type_or_layout_are_converted(kernels: Cpu) -> None:
    case = _small()
    block = kernels.prepare(case.block)
    own = [np.ascontiguousarray(table, kernels.dtype) for table in (case.U, case.V)]
    other = np.float64 if kernels is SINGLE else np.float32
    rounded = [np.asfortranarray(table.astype(np.float32), other) for table in own]
    assert rounded[0].dtype != kernels.dtype
    expected = kernels.pair(block, *(t.astype(np.float32).astype(kernels.dtype) for t in own))
    actual = kernels.pair(block, *rounded)
    assert np.array_equal(actual.rows, expected.rows)
    assert np.array_equal(actual.columns, expected.columns)


def _small() -> Case:
    rng = np.random.default_rng(5)
    block = block_of([[1, 0, 2, 1, 5], [0, 3, 0, 0, 1], [0, 0, 0, 0, 0], [4, 1, 1, 2, 1]])
    K = 5
    return Case(
        block,
        rng.uniform(0.1, 1, (4, K)),
        rng.uniform(0.1, 1, (5, K)),
        rng.dirichlet(np.ones(K), block.nnz),
        rng.dirichlet(np.ones(K), 4),
        np.full(5, 0.2),
    )


def _dense(case: Case) -> np.ndarray[Any, Any]:
    block = case.block
    dense = np.zeros((block.n_rows, block.n_columns))
    dense[block.row_of, block.indices] = np.ceil(block.values)
    return dense
