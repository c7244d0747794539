"""Tables of far more columns than ever occur, as those of hashed words: the same, for less."""

import numpy as np
import pytest
from scipy import sparse

from isotherm import AspectModel, DocumentMixture, Fixed
from isotherm.data.base import Array
from isotherm.kernels.cpu import backend
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models import base

WIDTH = base.WIDE + 300


@pytest.fixture
def wide() -> Array:
    rng, table = np.random.default_rng(0), np.zeros((WIDTH, 4))
    table[rng.integers(0, WIDTH, 500)] = rng.random((500, 4))
    table[5, 2] = 3.0
    return table


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """What a function returns when it passes nothing over."""

    def call(function, *given):  # type: ignore[no-untyped-def]
        with monkeypatch.context() as patch:
            patch.setattr(base, "WIDE", WIDTH + 1)
            patch.setattr(backend, "WIDE", WIDTH + 1)
            return function(*given)

    return call


def test_rows_of_zeros_are_passed_over_in_wide_tables_alone(wide: Array) -> None:
    assert list(base.filled_rows(wide)) == list(np.flatnonzero(wide.any(axis=1)))
    assert base.filled_rows(wide[: base.WIDE - 1]) is None
    assert base.filled_rows(wide + 1.0) is None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_of_wide_tables_are_those_of_any(wide, plain, dtype) -> None:  # type: ignore[no-untyped-def]
    table, k = wide.astype(dtype), Cpu(dtype)
    mass, relaxed = table.sum(axis=0, dtype=np.float64), table - 0.5 * (table > 0)
    mass[1] = 0.0  # a dead component keeps its last distribution
    added = np.where(table.any(axis=1), 2.0, 0.0)
    calls = [
        (base.normalized, table),
        (base.floored, relaxed, table),
        (base.distributions, table, mass, np.roll(table, 1, axis=0), k),
        (base.sums_of_rows, table),
        (base.with_rows_added, table, added),
        (lambda t: base.jitter(t, np.random.default_rng(1), 0.1), table),
        (lambda t: base.leaders(np.full(4, 0.25), t), table / table.sum(axis=0)),
        (k.power, table, 0.7, np.array([0.0, 1.0, -np.inf, -2.0])),
        (k.power, table, 1.0, np.zeros(4)),
        (k.logs, table, 1.5),
        (k.logs, wide, 1.5),
        (k.totals, table),
    ]
    for function, *given in calls:
        ours, expected = function(*given), plain(function, *given)
        assert ours.dtype == expected.dtype
        assert ours.shape == expected.shape
        np.testing.assert_allclose(ours, expected, rtol=3e-6 if dtype == "float32" else 1e-13)


@pytest.mark.parametrize("kind", [AspectModel, DocumentMixture])
def test_a_fit_does_not_depend_on_what_is_passed_over(kind, plain) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(0)
    counts = sparse.csr_array(
        (rng.integers(1, 9, 200), (rng.integers(0, 20, 200), rng.integers(0, 9, 200) * 7000)),
        (20, WIDTH),
    )
    model = kind(2, random_state=0, max_iter=5, schedule=Fixed(1.5))
    ours = model.fit(counts).components_.copy()
    expected = plain(model.fit, counts).components_
    assert ours.shape == (2, WIDTH)
    np.testing.assert_allclose(ours, expected, rtol=1e-7, atol=1e-12)
    assert not ours[:, model.unigram_ == 0].any()
