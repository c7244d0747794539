"""What the kernels must not cost: memory per pair and component, or numba on import."""

import os
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest

from isotherm.data.base import Block
from isotherm.kernels.cpu.backend import Cpu
from support.kernels import Case, block_of, call, case_of

K = 64


@pytest.fixture(scope="module")
def case() -> Case:
    rng = np.random.default_rng(0)
    return case_of(block_of(rng.poisson(0.5, (1500, 500))), K, rng).rounded()


@pytest.fixture
def tracing() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.parametrize("small", [1.0, 1e-20])
@pytest.mark.parametrize("name", ["pair", "row", "times", "transposed_times", "dots"])
def test_no_array_of_pairs_times_components(
    case: Case, name: str, small: float, tracing: None
) -> None:
    kernels = Cpu("float32", n_threads=2)
    call(kernels, name, case)  # compiled, and caches of the block filled
    block = case.block
    # A fresh block, so that its column order is counted; tiny tables go through log space.
    fresh = Block(block.indptr, block.indices, block.values, block.weight, block.n_columns)
    tables = case._replace(block=fresh, U=case.U * np.float32(small), V=case.V * np.float32(small))
    given = sum(a.nbytes for a in (case.U, case.V, block.indptr, block.indices, block.values))
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    call(kernels, name, tables)
    peak = tracemalloc.get_traced_memory()[1] - before
    assert block.nnz * K * 4 > 10 * given
    # Pairs are summed twice, without and with a rest for each of them; the first sums are held.
    twice = (name == "pair") * (case.U.nbytes + case.V.nbytes + 4 * block.nnz)
    assert peak < 3 * given + twice + (small < 1) * 4 * 2**20


@pytest.mark.parametrize("module", ["isotherm.kernels.cpu.backend", "isotherm"])
def test_import_leaves_numba_alone(module: str) -> None:
    code = f"import sys, {module}; print('numba' in sys.modules)"
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.stdout.strip() == "False"
