"""The logarithm of the compiled loops."""

import math

import numpy as np
from numba import njit

from isotherm.data.base import Block
from isotherm.kernels.cpu import backend
from isotherm.kernels.cpu._loops import fast_log


@njit
def logs(z, out):  # type: ignore[no-untyped-def]
    for i in range(len(z)):
        out[i] = fast_log(z[i])


def test_logarithm_in_single_precision_over_all_decades() -> None:
    z = np.logspace(-37.9, 38.5, 400_001).astype(np.float32)
    out = np.empty(len(z))
    logs(z, out)
    assert np.abs(out - np.log(z.astype(np.float64))).max() < 1e-6


def test_logarithm_in_single_precision_near_one() -> None:
    z = np.linspace(0.5, 2.0, 300_001).astype(np.float32)
    out = np.empty(len(z))
    logs(z, out)
    exact = np.log(z.astype(np.float64))
    assert np.abs(out - exact).max() < 1e-7
    assert out[z == 1.0] == 0.0


def test_logarithm_in_double_precision_is_exact() -> None:
    z = np.logspace(-300, 300, 10_001)
    out = np.empty(len(z))
    logs(z, out)
    np.testing.assert_allclose(out, np.log(z), rtol=1e-15, atol=0)


def test_plain_call_is_the_library_logarithm() -> None:
    assert fast_log(3.0) == math.log(3.0)


def test_few_counts_in_many_columns_are_not_cut_into_more_pieces_than_counts() -> None:
    columns = np.arange(0, 1_000_000, 50_000, dtype=np.int32)
    n = len(columns)
    rows = np.arange(n + 1)
    block = Block(rows, columns, np.ones(n, np.float32), np.ones(n), 1_000_000)
    table = np.broadcast_to(np.float32(0), (1_000_000, 8))
    assert backend._many(block, table) <= n
