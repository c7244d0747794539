"""The leave-one-out kernels: figures worked out on toy data, and objects seen only once."""

from typing import Any

import numpy as np
import pytest

from isotherm.data.base import Block
from isotherm.kernels.base import Kernels, LeaveOneOut
from isotherm.kernels.cpu.backend import Cpu
from isotherm.kernels.reference import Reference
from support.kernels import Array, block_of

BACKENDS = [
    pytest.param(Reference(), 1e-9, id="reference"),
    pytest.param(Cpu("float64"), 1e-9, id="float64"),
    pytest.param(Cpu("float32"), 2e-6, id="float32"),
]

X, Y = np.arange(6)[:, None], np.arange(5)[None, :]
TOY = ((X * X + 2 * Y + X * Y) % 4) + 6 * ((X >= 3) == (Y >= 3))


def toy_tables() -> tuple[Array, Array]:
    """P(x|a) and P(y|a) of the start, two aspects of weight one half."""
    a = np.arange(2)[None, :]
    rows = 1.0 + ((X + 1) * (a + 1)) % 3
    columns = 1.0 + ((Y.T + 2) * (a + 1)) % 4
    return rows / rows.sum(axis=0), columns / columns.sum(axis=0)


def shares(block: Block, U: Array, V: Array) -> Array:
    """Posterior of each dyad, (nnz, K)."""
    joint = U[block.row_of] * V[block.indices]
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def entry(block: Block, i: int, j: int) -> int:
    return int(np.flatnonzero((block.row_of == i) & (block.indices == j))[0])


@pytest.mark.parametrize(("kernels", "tolerance"), BACKENDS)
def test_pair_on_toy_data(kernels: Kernels, tolerance: float) -> None:
    block = kernels.prepare(block_of(TOY))
    p_row, p_column = toy_tables()
    U, V = (0.5 * p_row).astype(kernels.dtype), p_column.astype(kernels.dtype)
    last = shares(block, U, V).astype(kernels.dtype)
    sums = kernels.pair(block, U, V)
    mass = sums.columns.sum(axis=0)
    plain = shares(block, sums.rows / mass, sums.columns)
    new = kernels.pair_loo(block, sums.rows, sums.columns, last, 1.0)
    first, second = entry(block, 0, 0), entry(block, 0, 3)
    assert plain[first, 0] == pytest.approx(0.5836541953, abs=tolerance)
    assert new.posterior[first, 0] == pytest.approx(0.5808290259, abs=tolerance)
    assert plain[second, 0] == pytest.approx(0.2503764111, abs=tolerance)
    assert new.posterior[second, 0] == pytest.approx(0.2581636732, abs=tolerance)
    assert new.rows.sum() == pytest.approx(119, abs=1e-4)
    assert new.columns.sum(axis=1) == pytest.approx(TOY.sum(axis=0), abs=1e-4)


@pytest.mark.parametrize(("kernels", "tolerance"), BACKENDS)
def test_row_on_toy_data(kernels: Kernels, tolerance: float) -> None:
    block = kernels.prepare(block_of(TOY))
    last = np.where(X % 2 == 0, [[0.7, 0.3]], [[0.3, 0.7]]).astype(kernels.dtype)
    columns, mass = kernels.transposed_times(block, last), last.sum(axis=0, dtype=np.float64)
    logs = (np.log(columns / columns.sum(axis=0)) / 5).astype(kernels.dtype)

    def plain(prior: Any) -> float:
        return float(kernels.row(block, logs, np.asarray(prior)).posterior[0, 0])

    new = kernels.row_loo(block, columns, mass, last, np.zeros(5), 0.2)
    assert plain(np.log(mass / 6)) == pytest.approx(0.6440114393, abs=tolerance)
    assert plain(np.log([0.3, 0.7])) == pytest.approx(0.4367211349, abs=tolerance)
    assert plain(np.log([0.3, 0.7]) / 5) == pytest.approx(0.6042865862, abs=tolerance)
    assert new.posterior[0, 0] == pytest.approx(0.5453352579, abs=tolerance)


@pytest.mark.parametrize(("kernels", "tolerance"), BACKENDS)
def test_row_with_pseudo_counts_follows_the_formula(kernels: Kernels, tolerance: float) -> None:
    block = kernels.prepare(block_of(TOY))
    last = np.where(X % 2 == 0, [[0.7, 0.3]], [[0.3, 0.7]])
    pseudo, beta = 2.0 * TOY.sum(axis=0) / 119, 0.2
    columns, mass = TOY.T @ last, last.sum(axis=0)
    new = kernels.row_loo(block, columns, mass, last.astype(kernels.dtype), pseudo, beta)
    for i, n in enumerate(TOY):
        rest = columns - np.outer(n, last[i]) + pseudo[:, None]
        exponent = np.log(mass - last[i]) + beta * (n @ np.log(rest / rest.sum(axis=0)))
        want = np.exp(exponent - exponent.max())
        assert new.posterior[i] == pytest.approx(want / want.sum(), abs=tolerance)


def aspect(kernels: Kernels, matrix: Any, last: Any, beta: float = 1.0) -> LeaveOneOut:
    """`pair_loo` of a matrix whose dyads have the given shares."""
    block = block_of(matrix)
    share = np.asarray(last, np.float64)
    heavy = block.values[:, None] * share
    rows = np.array([heavy[block.row_of == i].sum(axis=0) for i in range(block.n_rows)])
    columns = np.array([heavy[block.indices == j].sum(axis=0) for j in range(block.n_columns)])
    return kernels.pair_loo(
        kernels.prepare(block), rows, columns, share.astype(kernels.dtype), beta
    )


@pytest.mark.parametrize(("kernels", "tolerance"), BACKENDS)
def test_pair_drops_factor_of_row_seen_once(kernels: Kernels, tolerance: float) -> None:
    # Row 1 has one token, in column 0; rows (2, 1 | 1), masses and columns by hand.
    last = [[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]]
    new = aspect(kernels, [[2, 1], [1, 0]], last)
    column_rest = np.array([1.75, 1.25]) - last[2]
    assert new.posterior[2] == pytest.approx(column_rest / column_rest.sum(), abs=tolerance)


@pytest.mark.parametrize(("kernels", "tolerance"), BACKENDS)
def test_pair_drops_factor_of_column_seen_once(kernels: Kernels, tolerance: float) -> None:
    last = [[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]]
    new = aspect(kernels, [[2, 1], [1, 0]], last)
    row_rest = np.array([2.0, 1.0]) - last[1]
    assert new.posterior[1] == pytest.approx(row_rest / row_rest.sum(), abs=tolerance)


@pytest.mark.parametrize(("kernels", "tolerance"), BACKENDS)
def test_pair_keeps_the_prior_when_row_and_column_are_seen_once(
    kernels: Kernels, tolerance: float
) -> None:
    # Both factors drop: what is left is P(a) without the token.
    last = [[0.75, 0.25], [0.5, 0.5]]
    new = aspect(kernels, [[3, 0], [0, 1]], last)
    rest = np.array([2.75, 1.25]) - last[1]
    assert new.posterior[1] == pytest.approx(rest / rest.sum(), abs=tolerance)


@pytest.mark.parametrize(("kernels", "tolerance"), BACKENDS)
def test_pair_falls_back_to_the_prior_when_nothing_is_left(
    kernels: Kernels, tolerance: float
) -> None:
    # Without the token of (0, 0) its row lives in aspect 0 only and its column in aspect 1 only.
    last = [[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]]
    new = aspect(kernels, [[1, 2], [1, 0]], last)
    assert new.posterior[0] == pytest.approx([2.5 / 4, 1.5 / 4], abs=tolerance)


@pytest.mark.parametrize(("kernels", "tolerance"), BACKENDS)
def test_pair_takes_out_all_of_a_count_below_one(kernels: Kernels, tolerance: float) -> None:
    last = np.array([[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]])
    new = aspect(kernels, [[0.5, 1.0], [1.0, 0.0]], last, beta=0.8)
    counts = np.array([[0.5], [1.0], [1.0]])
    out = 0.5 * last[0]
    left = (counts * last).sum(axis=0) - out
    ratio = last[1] * last[2] / left**2
    want = left * ratio**0.8
    assert new.posterior[0] == pytest.approx(want / want.sum(), abs=tolerance)


@pytest.mark.parametrize(("kernels", "tolerance"), BACKENDS)
def test_row_skips_words_of_no_other_row(kernels: Kernels, tolerance: float) -> None:
    # Column 2 occurs in row 0 alone: as if it were not there, whatever its count.
    last = np.array([[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]])
    posteriors = []
    for own in (5, 0):
        matrix = np.array([[2, 1, own], [1, 3, 0], [2, 2, 0]])
        new = kernels.row_loo(
            kernels.prepare(block_of(matrix)),
            matrix.T @ last,
            last.sum(axis=0),
            last.astype(kernels.dtype),
            np.full(3, 0.1),
            0.7,
        )
        posteriors.append(new.posterior[0])
    assert posteriors[0] == pytest.approx(posteriors[1], abs=tolerance)


@pytest.mark.parametrize(("kernels", "tolerance"), BACKENDS)
def test_row_without_counts_gets_the_prior_of_the_others(
    kernels: Kernels, tolerance: float
) -> None:
    last = np.array([[0.75, 0.25], [0.5, 0.5]])
    block = kernels.prepare(block_of([[0, 0], [2, 1]]))
    new = kernels.row_loo(
        block,
        np.array([[2.0], [1.0]]) * last[1],
        last.sum(axis=0),
        last.astype(kernels.dtype),
        np.full(2, 0.5),
        1.0,
    )
    assert new.posterior[0] == pytest.approx([0.5, 0.5], abs=tolerance)


@pytest.mark.parametrize(("kernels", "tolerance"), BACKENDS)
def test_only_row_has_nothing_to_learn_from(kernels: Kernels, tolerance: float) -> None:
    last = np.array([[0.75, 0.25]])
    block = kernels.prepare(block_of([[2, 1]]))
    new = kernels.row_loo(
        block, np.outer([2, 1], last[0]), last[0], last.astype(kernels.dtype), np.zeros(2), 1.0
    )
    assert new.posterior[0] == pytest.approx([0.5, 0.5], abs=tolerance)


@pytest.mark.parametrize(("kernels", "tolerance"), BACKENDS)
def test_weight_counts_like_copies_of_a_row(kernels: Kernels, tolerance: float) -> None:
    rng = np.random.default_rng(3)
    matrix = rng.poisson(1.0, (4, 5)) + np.eye(4, 5, dtype=int)
    times = np.array([1, 3, 1, 2])
    copies = np.repeat(np.arange(4), times)
    once, many = block_of(matrix, times), block_of(matrix[copies])
    last = rng.dirichlet([1, 1, 1], 4)
    arguments = (matrix.T @ (times[:, None] * last), times @ last)
    pseudo, beta = np.full(5, 0.3), 0.9
    short, long = (
        kernels.row_loo(kernels.prepare(b), *arguments, q.astype(kernels.dtype), pseudo, beta)
        for b, q in ((once, last), (many, last[copies]))
    )
    assert long.posterior == pytest.approx(short.posterior[copies], abs=tolerance)
    assert long.columns == pytest.approx(short.columns, rel=1e-5)
    assert long.rows.sum(axis=0) == pytest.approx(short.rows.sum(axis=0), rel=1e-5)


@pytest.mark.parametrize(("kernels", "tolerance"), BACKENDS)
def test_row_of_weight_below_one_is_taken_out_whole(kernels: Kernels, tolerance: float) -> None:
    # Half a row in the sums: without it only the other row is left.
    last = np.array([[0.75, 0.25], [0.2, 0.8]])
    matrix, weight = np.array([[2, 1], [1, 1]]), np.array([0.5, 1.0])
    new = kernels.row_loo(
        kernels.prepare(block_of(matrix, weight)),
        matrix.T @ (weight[:, None] * last),
        weight @ last,
        last.astype(kernels.dtype),
        np.zeros(2),
        1.0,
    )
    assert new.posterior[0] == pytest.approx(last[1], abs=tolerance)
    assert new.rows[0] == pytest.approx(0.5 * last[1], abs=tolerance)


@pytest.mark.parametrize(("kernels", "tolerance"), BACKENDS)
def test_pair_tempers_the_prior_on_request(kernels: Kernels, tolerance: float) -> None:
    last = np.array([[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]])
    block = kernels.prepare(block_of([[2, 1], [3, 0]]))
    heavy = np.array([[2.0], [1.0], [3.0]]) * last
    rows = np.array([heavy[0] + heavy[1], heavy[2]])
    columns = np.array([heavy[0] + heavy[2], heavy[1]])
    new = kernels.pair_loo(block, rows, columns, last.astype(kernels.dtype), 0.8, True)
    left = heavy.sum(axis=0) - last[0]
    want = ((rows[0] - last[0]) * (columns[0] - last[0]) / left) ** 0.8
    assert new.posterior[0] == pytest.approx(want / want.sum(), abs=tolerance)


@pytest.mark.parametrize(("kernels", "tolerance"), BACKENDS)
def test_row_tempers_the_prior_on_request(kernels: Kernels, tolerance: float) -> None:
    last = np.array([[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]])
    matrix, pseudo = np.array([[2, 1], [1, 3], [2, 2]]), np.full(2, 0.1)
    columns, mass = matrix.T @ last, last.sum(axis=0)
    block = kernels.prepare(block_of(matrix))
    new = kernels.row_loo(block, columns, mass, last.astype(kernels.dtype), pseudo, 0.7, True)
    rest = columns - np.outer(matrix[0], last[0]) + 0.1
    log_likelihood = matrix[0] @ np.log(rest / rest.sum(axis=0))
    want = ((mass - last[0]) * np.exp(log_likelihood)) ** 0.7
    assert new.posterior[0] == pytest.approx(want / want.sum(), abs=tolerance)


@pytest.mark.parametrize(("kernels", "tolerance"), BACKENDS)
def test_weight_counts_like_copies_of_a_row_in_pairs(kernels: Kernels, tolerance: float) -> None:
    rng = np.random.default_rng(4)
    matrix = rng.poisson(1.0, (4, 5)) + np.eye(4, 5, dtype=int)
    times = np.array([1, 3, 1, 2])
    copies = np.repeat(np.arange(4), times)
    once, many = block_of(matrix, times), block_of(matrix[copies])
    last = rng.dirichlet([1, 1, 1], (4, 5))
    dense = matrix[:, :, None] * last
    columns = np.einsum("i,ijk->jk", times, dense)
    short, long = (
        kernels.pair_loo(
            kernels.prepare(block),
            block.weight[:, None] * dense.sum(axis=1)[rows],
            columns,
            last[rows[block.row_of], block.indices].astype(kernels.dtype),
            0.9,
        )
        for block, rows in ((once, np.arange(4)), (many, copies))
    )
    found, want = np.zeros((2, 4, 5, 3))
    found[copies[many.row_of], many.indices] = long.posterior
    want[once.row_of, once.indices] = short.posterior
    assert found == pytest.approx(want, abs=tolerance)
    assert long.columns == pytest.approx(short.columns, rel=1e-5)
    assert long.rows[[0, 1, 4, 5]] * times[:, None] == pytest.approx(short.rows, rel=1e-5)


@pytest.mark.parametrize(("kernels", "tolerance"), BACKENDS)
def test_pair_of_weight_below_one_is_taken_out_whole(kernels: Kernels, tolerance: float) -> None:
    # Half of row 0 is in the sums: columns lose half a token, the row its only token.
    last = np.array([[0.75, 0.25], [0.2, 0.8], [0.4, 0.6]])
    block = kernels.prepare(block_of([[1, 0], [1, 2]], [0.5, 1.0]))
    rows = np.array([0.5 * last[0], last[1] + 2 * last[2]])
    columns = np.array([0.5 * last[0] + last[1], 2 * last[2]])
    new = kernels.pair_loo(block, rows, columns, last.astype(kernels.dtype), 1.0)
    assert new.posterior[0] == pytest.approx(last[1], abs=tolerance)
    assert new.rows[0] == pytest.approx(0.5 * last[1], abs=tolerance)


@pytest.mark.parametrize(("kernels", "tolerance"), BACKENDS)
def test_nothing_to_leave_out_is_the_plain_posterior(kernels: Kernels, tolerance: float) -> None:
    block = kernels.prepare(block_of(TOY))
    p_row, p_column = toy_tables()
    beta, nothing = 0.8, np.zeros((block.nnz, 2), kernels.dtype)
    new = kernels.pair_loo(block, 59.5 * p_row, 59.5 * p_column, nothing, beta)
    assert new.posterior == pytest.approx(shares(block, p_row**beta, p_column**beta), abs=tolerance)
    start = kernels.row_loo(
        block, 59.5 * p_column, np.array([2.0, 4.0]), np.zeros((6, 2)), np.zeros(5), beta
    )
    logs = (beta * np.log(p_column)).astype(kernels.dtype)
    plain = kernels.row(block, logs, np.log([1 / 3, 2 / 3])).posterior
    assert start.posterior == pytest.approx(plain, abs=tolerance)


@pytest.mark.parametrize(("kernels", "tolerance"), BACKENDS)
def test_row_shuns_a_cluster_that_owes_it_a_column(kernels: Kernels, tolerance: float) -> None:
    # Without pseudo-counts nothing of column 0 is left in cluster 0 when row 0 is out.
    last = np.array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.1]])
    matrix = np.array([[1, 1], [1, 1], [0, 3]])
    block = kernels.prepare(block_of(matrix))
    new = kernels.row_loo(
        block, matrix.T @ last, last.sum(axis=0), last.astype(kernels.dtype), np.zeros(2), 1.0
    )
    assert new.posterior[0] == pytest.approx([0.0, 1.0], abs=tolerance)
