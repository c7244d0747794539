"""Results do not depend on threads, and kernels may be called from anywhere."""

import multiprocessing
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from isotherm.data import base
from isotherm.kernels.cpu import backend
from isotherm.kernels.cpu.backend import Cpu, available_threads
from isotherm.kernels.reference import Reference
from support.kernels import FUNCTIONS, Case, call, case_of, equal, uneven_block

PRECISIONS = ("float32", "float64")


@pytest.fixture(scope="module", params=[base.SLAB, 500], ids=["one slab", "many slabs"])
def case(request: pytest.FixtureRequest) -> Case:
    rng = np.random.default_rng(7)
    made = case_of(uneven_block(rng), 37, rng)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "SLAB", request.param)
        assert (len(made.block.by_column.slabs) > 2) == (request.param == 500)
    # A few pairs go the way through log space in both precisions.
    made.U[::50] *= 1e-20
    made.V[::40] *= 1e-18
    return made


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_bit_identical_for_any_number_of_threads(case: Case, name: str, precision: str) -> None:
    alone = call(Cpu(precision, n_threads=1), name, case)
    others = [call(Cpu(precision, n_threads=n), name, case) for n in (2, 3, 5, 8, None)]
    assert all(np.isfinite(out).all() for out in alone)
    assert all(equal(alone, other) for other in others)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_bit_identical_for_any_pieces(
    case: Case, name: str, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = Cpu(precision, n_threads=2)
    expected = call(kernels, name, case)
    outcomes = []
    for pieces, numbers in ((1, 1 << 30), (7, 1), (1000, 1000)):
        monkeypatch.setattr(backend, "PIECES_PER_THREAD", pieces)
        monkeypatch.setattr(backend, "PIECE_OF_TABLE", numbers)
        outcomes.append(call(kernels, name, case))
    assert all(equal(expected, outcome) for outcome in outcomes)


def test_pieces_are_no_more_than_can_be_cut() -> None:
    """Marks of any number of threads are counted by what there is, and cut all of it."""
    indptr = np.array([0, 3, 3, 4, 900, 901, 901])
    cut = [0, 1, 3, 4, 5, 6]  # where rows with counts begin, and both ends
    for n in (901, 1000, 1 << 40):
        assert Cpu(n_threads=n)._pieces(indptr).tolist() == cut


@pytest.mark.parametrize("name", FUNCTIONS)
def test_equal_to_the_reference_for_any_slabs(case: Case, name: str) -> None:
    expected, found = call(Reference(), name, case), call(Cpu("float64"), name, case)
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-9, atol=2e-38)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_calls_from_many_threads_at_once(case: Case, name: str) -> None:
    kernels = Cpu("float32", n_threads=3)
    expected = call(kernels, name, case)
    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(lambda _: call(kernels, name, case), range(12)))
    assert all(equal(expected, outcome) for outcome in outcomes)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_forked_child_computes_the_same(case: Case) -> None:
    kernels = Cpu("float32", n_threads=2)
    expected = call(kernels, "pair", case)
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()

    def child() -> None:
        there.send(call(kernels, "pair", case))

    process = context.Process(target=child)
    process.start()
    try:
        assert here.poll(60), "the child hangs"
        received: tuple[Any, ...] = here.recv()
    finally:
        process.join(5)
        process.kill()
    assert equal(expected, received)


@pytest.mark.parametrize(("asked", "most"), [("1", 1), ("3", 3)])
def test_omp_num_threads_is_a_limit(asked: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    free = available_threads()
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    assert available_threads() == min(free, most)


@pytest.mark.parametrize("asked", ["", "0", "2,4", "many"])
def test_other_omp_num_threads_is_ignored(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    free = available_threads()
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    assert available_threads() == free >= 1
