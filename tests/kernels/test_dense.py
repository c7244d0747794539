"""Posteriors over centres: the CPU backend against the reference, threads, and its exponential."""

import inspect
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from isotherm.data.vectors import VectorBlock, vector_blocks
from isotherm.kernels.base import Kernels
from isotherm.kernels.cpu import dense
from isotherm.kernels.cpu._softmax import fast_exp
from isotherm.kernels.cpu.backend import Cpu
from isotherm.kernels.reference import Reference
from support.kernels import VECTOR_FUNCTIONS

Array = np.ndarray[Any, Any]
PLAIN = Reference()


def case(seed: int, rows: int, K: int, D: int, missing: bool) -> tuple[VectorBlock, Array]:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, D))
    if missing:
        values[rng.random(values.shape) < 0.3] = np.nan
    block = vector_blocks(values, rng.uniform(0.2, 3.0, rows))[0]
    return block, rng.normal(size=(K, D))


@pytest.mark.parametrize("name", VECTOR_FUNCTIONS)
def test_signatures_are_equal(name: str) -> None:
    def shape(owner: type) -> Any:
        return inspect.signature(getattr(owner, name))

    assert shape(Cpu) == shape(Reference) == shape(Kernels)


@given(
    st.integers(0, 2**31), st.sampled_from((1, 7, 300)), st.sampled_from((2, 5, 40)),
    st.sampled_from((1, 3, 12)), st.booleans(), st.sampled_from((0.05, 1.0, 30.0)),
)  # fmt: skip
def test_both_backends_agree(
    seed: int, rows: int, K: int, D: int, missing: bool, scale: float
) -> None:
    block, centres = case(seed, rows, K, D, missing)
    wanted = PLAIN.nodes(block, centres, scale)
    posterior, log_z = PLAIN.node_posterior(block, centres, scale)
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0)
    for precision, tolerance in (("float64", 1e-11), ("float32", 2e-4)):
        kernels = Cpu(precision)
        placed = kernels.prepare(block)
        found = kernels.nodes(placed, centres, scale)
        size = max(1.0, float(np.abs(wanted.log_z)))
        np.testing.assert_allclose(found.mass, wanted.mass, atol=tolerance * rows)
        np.testing.assert_allclose(found.moment, wanted.moment, atol=5 * tolerance * rows)
        assert abs(found.log_z - wanted.log_z) <= tolerance * size
        own, own_z = kernels.node_posterior(placed, centres, scale)
        assert own.dtype == kernels.dtype
        np.testing.assert_allclose(own, posterior, atol=tolerance)
        np.testing.assert_allclose(own_z, log_z, rtol=tolerance, atol=tolerance * size)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_bit_identical_for_any_number_of_threads(
    precision: str, missing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "WORTH", 1)  # or so few rows would be one piece
    block, centres = case(3, 2000, 30, 8, missing)
    outcomes = []
    for n_threads in (1, 2, 3, 7):
        kernels = Cpu(precision, n_threads)
        placed = kernels.prepare(block)
        outcomes.append(
            [*kernels.nodes(placed, centres, 0.7), *kernels.node_posterior(placed, centres, 0.7)]
        )
    for other in outcomes[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(outcomes[0], other, strict=True))


def test_sums_over_many_rows_are_added_up_in_double_precision() -> None:
    block = VectorBlock(np.full((400_000, 1), 0.1, np.float32), np.ones(400_000))
    sums = Cpu("float32").nodes(block, np.array([[0.1], [0.1]]), 1.0)
    np.testing.assert_allclose(sums.mass, 200_000.0, rtol=1e-6)
    np.testing.assert_allclose(sums.moment, 200_000 * float(np.float32(0.1)), rtol=1e-5)


def test_far_points_have_a_posterior() -> None:
    block, centres = case(0, 5, 4, 3, False)
    far = VectorBlock(block.values * 1e6, block.weight)
    for precision in ("float32", "float64"):
        kernels = Cpu(precision)
        posterior, log_z = kernels.node_posterior(kernels.prepare(far), centres, 1e-3)
        np.testing.assert_allclose(posterior.sum(axis=1), 1.0, rtol=1e-6)
        assert np.isfinite(log_z).all()


@pytest.mark.parametrize(("dtype", "least"), [(np.float32, -80.0), (np.float64, -690.0)])
def test_exponential(dtype: type, least: float) -> None:
    @njit
    def all_of(x: Any, out: Any) -> None:
        for i in range(len(x)):
            out[i] = fast_exp(x[i])

    x = np.concatenate([np.linspace(least, 0.0, 20_001), [-1e-3, -1e-9, 0.0]]).astype(dtype)
    out = np.empty_like(x)
    all_of(x, out)
    eps = np.finfo(dtype).eps
    # The reduced argument loses the digits that |x| has before the point.
    error = np.abs(out / np.exp(x.astype(np.float64)) - 1.0)
    assert np.all(error <= eps * (4.0 + np.abs(x)))
    all_of(np.array([10 * least], dtype), out[:1])
    assert 0.0 <= out[0] < 1e-30
