"""Mixtures along the paths of a tree: both backends, any threads, any corner."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from isotherm.kernels.cpu import paths as tree_paths
from isotherm.kernels.cpu.backend import Cpu
from isotherm.kernels.reference import LOG_FLOOR, Reference
from isotherm.tree import Tree
from support.kernels import PathCase, block_of, equal, paths_of, uneven_block

Array = NDArray[Any]
TREES = {
    "balanced": Tree.balanced(3),
    "uneven": Tree.from_nested([[0, [1, [2, [3, 4]]]], 5]),
    "star": Tree.star(5),
    "chain": Tree.chain(4),
    "single": Tree.chain(1),
    "deep": Tree.from_nested([[[[[[[[[0, 1], 2], 3], 4], 5], 6], 7], 8], 9]),
}
DOUBLE = (Cpu("float64"), 1e-9)


@pytest.fixture(params=TREES.values(), ids=TREES.keys())
def case(request: pytest.FixtureRequest) -> PathCase:
    return PathCase(request.param, uneven_block(np.random.default_rng(3)))


def assert_close(expected: Any, found: Any, rtol: float) -> None:
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(other, one, rtol=rtol, atol=rtol * np.abs(one).max())


@pytest.mark.parametrize("hard", [False, True])
def test_double_precision_equals_the_reference(case: PathCase, hard: bool) -> None:
    assert_close(case.path(Reference(), hard=hard), case.path(DOUBLE[0], hard=hard), 1e-10)
    assert_close(case.tables(Reference()), case.tables(DOUBLE[0]), 1e-12)


def test_single_precision_is_near_the_reference(case: PathCase) -> None:
    case.rounded()
    assert_close(case.path(Reference()), case.path(Cpu("float32")), 1e-4)
    assert_close(case.tables(Reference()), case.tables(Cpu("float32")), 1e-5)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_bit_identical_for_any_number_of_threads(
    case: PathCase, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_paths, "WORTH", 100)
    monkeypatch.setattr(tree_paths, "PIECE", 10)
    assert len(tree_paths._by_count(case.block.indptr, case.paths.size)) > 10
    alone = Cpu(precision, n_threads=1)
    for n in (2, 3, 5, None):
        other = Cpu(precision, n_threads=n)
        assert equal(case.path(alone), case.path(other))
        assert equal(case.tables(alone), case.tables(other))


@pytest.mark.parametrize(("kernels", "rtol"), [DOUBLE, (Cpu("float32"), 1e-4)])
def test_mixtures_that_vanish_or_nearly_do(case: PathCase, kernels: Any, rtol: float) -> None:
    # Columns that no node has count as 1e-300 and are dealt by shares; tiny ones exactly.
    case.nodes[::7] = 0.0
    case.nodes[3::7] *= 1e-33
    case.nodes[5::7, : case.nodes.shape[1] // 2] = 0.0
    case.rounded()
    expected, found = case.path(Reference(), 1e-3), case.path(kernels, 1e-3)
    assert_close(expected, found, rtol)
    assert_close(case.tables(Reference()), case.tables(kernels), rtol)


def test_a_column_that_nothing_explains_costs_the_floor_and_is_dealt_by_shares() -> None:
    tree = Tree.star(2)
    paths, share = paths_of(tree), np.array([[[0.3, 0.7], [0.4, 0.6]]])
    nodes = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    for kernels in (Reference(), Cpu("float64"), Cpu("float32")):
        block = kernels.prepare(block_of([[2.0, 0.0]]))
        found = kernels.path(block, nodes, paths, share, np.log([0.5, 0.5]))
        assert found.log_z == pytest.approx(2.0 * LOG_FLOOR)
        assert found.nodes[0] == pytest.approx([0.7, 0.7, 0.6])
        assert found.share[0] == pytest.approx(share[0])
        assert found.squares[0] == pytest.approx([0.49, 0.36])


def test_sums_are_consistent(case: PathCase) -> None:
    found = Cpu("float64").path(
        case.block, case.nodes, case.paths, case.shares, case.prior, 0.4, False
    )
    block = case.block
    total = float(block.row_totals @ block.weight)
    assert found.nodes.sum() == pytest.approx(total)
    assert found.levels.sum() == pytest.approx(total)
    assert found.nodes.sum(axis=1) == pytest.approx(block.column_totals)
    assert found.mass.sum() == pytest.approx(block.weight.sum())
    assert found.share.sum(axis=2) == pytest.approx(np.ones(found.posterior.shape))
    assert (found.share[:, case.paths < 0] == 0).all()
    for c, leaf in enumerate(case.paths[:, -1]):
        assert (found.squares[:, c] <= found.nodes[:, leaf] * (1 + 1e-12)).all()


def test_an_empty_row_keeps_its_shares_and_follows_the_prior(case: PathCase) -> None:
    empty = np.flatnonzero(np.diff(case.block.indptr) == 0)
    assert len(empty) > 0
    for kernels in (Reference(), Cpu("float64")):
        posterior, share, *_ = case.path(kernels)
        assert share[empty] == pytest.approx(case.shares[empty])
        assert posterior[empty] == pytest.approx(np.tile(np.exp(case.prior), (len(empty), 1)))


def test_prior_of_each_row(case: PathCase) -> None:
    prior = case.prior + np.linspace(0.0, 1.0, case.block.n_rows)[:, None] ** np.arange(
        len(case.prior)
    )
    args = case.block, case.nodes, case.paths, case.shares, prior
    assert_close(Reference().path(*args), Cpu("float64").path(*args), 1e-10)


def test_long_rows_are_redone_in_the_second_pass() -> None:
    rng = np.random.default_rng(0)
    case = PathCase(TREES["uneven"], block_of(rng.poisson(3.0, (3, 900)), [1.0, 0.5, 2.0]))
    assert np.diff(case.block.indptr).min() > 32 * 9
    assert_close(case.path(Reference()), case.path(Cpu("float64")), 1e-10)
    case.nodes[::5] = 0.0
    assert_close(case.path(Reference(), 1e-3), case.path(Cpu("float64"), 1e-3), 1e-10)


def test_no_array_of_pairs_times_components() -> None:
    rng = np.random.default_rng(0)
    kernels = Cpu("float32", n_threads=2)
    block = kernels.prepare(block_of(rng.poisson(0.7, (400, 500))))
    tree = Tree.balanced(5)
    case = PathCase(tree, block)
    for name in ("nodes", "shares"):
        setattr(case, name, getattr(case, name).astype(np.float32))
    case.path(kernels)
    tracemalloc.start()
    case.path(kernels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    sums = block.n_columns * (tree.n_nodes + tree.n_leaves) * 8
    assert block.nnz * tree.n_leaves * 4 > 4 * sums
    assert peak < 4 * sums + 2 * case.shares.nbytes + 2**20


@pytest.mark.parametrize("kernels", [Reference(), Cpu("float64"), Cpu("float32")])
def test_squares_may_be_left_out(case: PathCase, kernels: Any) -> None:
    block = kernels.prepare(case.block)
    given = (block, case.nodes, case.paths, case.shares, case.prior, 0.4, False)
    whole, lean = kernels.path(*given), kernels.path(*given, squares=False)
    assert lean.squares.shape == (case.block.n_columns, 0)
    for name in ("posterior", "share", "nodes", "mass", "levels", "log_z"):
        assert np.array_equal(getattr(lean, name), getattr(whole, name))
