"""Arrays on a device: the same numbers and types as numpy's, whatever is asked of them."""

import copy
import os
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln, logsumexp, psi, xlogy

torch = pytest.importorskip("torch", reason="torch is not installed (pip install 'isotherm[gpu]')")
from isotherm.kernels.torch import array, functions  # noqa: E402
from isotherm.kernels.torch.array import DeviceArray, placed  # noqa: E402

PLACE = torch.device(os.environ.get("ISOTHERM_TEST_DEVICE", "cpu"))
RNG = np.random.default_rng(0)
X = RNG.uniform(0.1, 2.0, (6, 4)).astype(np.float32)
X[2, 1] = 0.0
Y = RNG.normal(size=(6, 4))
V = RNG.uniform(0.5, 1.5, 4)
N = RNG.integers(0, 5, 6)
MASK = X > 1.0

Call = Callable[[Any, Any, Any, Any, Any], Any]
CALLS: dict[str, Call] = {
    "arithmetic": lambda x, y, v, n, m: (x * y - 2.5) / v + x**2 - (-x),
    "weak numbers": lambda x, y, v, n, m: x * 0.5 + 1,
    "strong scalars": lambda x, y, v, n, m: x * np.float64(0.5),
    "reversed": lambda x, y, v, n, m: 1.0 / (1.0 + x) - (3 - x),
    "whole numbers": lambda x, y, v, n, m: (n // 2, n % 3, n * 2, n / 2, n + x[:, 0]),
    "comparisons": lambda x, y, v, n, m: (x > y, x <= 1.0, x == x, x != y, n >= 2),
    "logic": lambda x, y, v, n, m: (~m, m & (x < 1.5), m | m, m ^ m, np.logical_not(m)),
    "where": lambda x, y, v, n, m: (np.where(m, x, 0.0), np.where(m, 1.0, y), np.where(m, x, v)),
    "extremes": lambda x, y, v, n, m: (np.maximum(x, 1), np.minimum(1.0, x), np.maximum(x, v)),
    "functions": lambda x, y, v, n, m: (
        np.exp(y), np.log1p(x), np.sqrt(x), np.abs(y), np.sign(y), np.expm1(x), np.square(y),
        np.floor(y), np.isfinite(x), np.isnan(y), np.rint(y), np.clip(y, -0.5, 0.5),
    ),
    "special": lambda x, y, v, n, m: (xlogy(x, x), gammaln(v + x), psi(x + 1.0)),
    "sums": lambda x, y, v, n, m: (
        x.sum(), x.sum(axis=0), x.sum(axis=1, keepdims=True), x.sum(axis=0, dtype=np.float64),
        m.sum(), m.sum(axis=0), n.sum(), x.sum(axis=(0, 1)), np.sum(x), np.add.reduce(x, axis=1),
    ),
    "reductions": lambda x, y, v, n, m: (
        y.max(), y.min(axis=0), y.max(axis=1, keepdims=True), y.mean(), y.mean(axis=0), n.mean(),
        m.any(), m.all(axis=0), m.any(axis=1), y.std(axis=0), y.argmax(axis=1), n.argmax(),
    ),
    "products": lambda x, y, v, n, m: (x @ v, y.T @ x, v @ v, x.T @ y, np.outer(n, v), v @ y.T),
    "sparse products": lambda x, y, v, n, m: (
        x @ sparse.csr_array(np.eye(4)), sparse.csr_array(np.eye(6)) @ y,
    ),
    "einsum": lambda x, y, v, n, m: (
        np.einsum("ik,ik->i", x, y), np.einsum("ik,ik->", x, x), np.einsum("ik,k->ik", x, v),
        np.einsum("jc,jc->c", x, x, dtype=np.float64), np.einsum("ik,jk->ij", x, y),
    ),
    "indices": lambda x, y, v, n, m: (
        x[2], x[1:4], x[:, 1], x[n], x[:, np.array([3, 0])], x[m], x[n > 2], x[-1, 2], x[:, [1]],
        x[np.arange(6), n % 4], v[None, :] * x, x[..., 0], v[::2],
    ),
    "shapes": lambda x, y, v, n, m: (
        x.T, x.reshape(3, 8), x.reshape(-1), x[:, None, :], x.transpose(1, 0), x.ravel(),
    ),
    "types": lambda x, y, v, n, m: (
        x.astype(np.float64), y.astype(np.float32), m.astype(float), x.astype("f4", copy=False),
    ),
    "makers": lambda x, y, v, n, m: (
        np.zeros_like(x), np.ones_like(n), np.full_like(y, 0.25), np.tile(v, (3, 1)), np.copy(x),
        np.repeat(v, 2), np.repeat(x, 2, axis=0), np.repeat(n, n), np.zeros_like(x, dtype=float),
    ),
    "joins": lambda x, y, v, n, m: (
        np.concatenate([x, y]), np.stack([x, x], axis=1), np.take(x, [2, 0], axis=-1),
    ),
    "others": lambda x, y, v, n, m: (
        np.diff(n), np.cumsum(n), np.unique(n), np.flatnonzero(n > 1), np.bincount(n),
        np.linalg.svd(x)[1], logsumexp(y, axis=1), np.add.reduceat(v, [0, 2]), np.median(y),
    ),
    "masked division": lambda x, y, v, n, m: (
        np.divide(1.0, x, out=np.zeros_like(x), where=x > 0),
        np.divide(y, x, out=np.tile(v, (6, 1)), where=m),
    ),
}  # fmt: skip


@pytest.fixture(autouse=True, params=["device", "host", "mixed"])
def _few(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All results on the device, all on the host, and those of more than five numbers only."""
    few = {"device": 0, "host": 1 << 16, "mixed": 5}[request.param]
    monkeypatch.setattr(array, "FEW", few)


def device(value: Any) -> Any:
    return placed(torch.from_numpy(np.array(value)).to(PLACE), PLACE)


def flat(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("name", CALLS)
def test_answers_are_those_of_numpy(name: str) -> None:
    given = (X, Y, V, N, MASK)
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = flat(CALLS[name](*given))
        found = flat(CALLS[name](*(device(one) for one in given)))
    for one, other in zip(found, wanted, strict=True):
        assert np.shape(one) == np.shape(other)
        assert one.dtype == other.dtype
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["arithmetic", "where", "products", "einsum", "joins", "extremes"])
def test_arrays_of_both_kinds_mix(name: str) -> None:
    wanted = flat(CALLS[name](X, Y, V, N, MASK))
    found = flat(CALLS[name](device(X), Y, V, N, MASK)) + flat(
        CALLS[name](X, device(Y), device(V), N, device(MASK))
    )
    for one, other in zip(found, wanted * 2, strict=True):
        np.testing.assert_allclose(np.asarray(one), other, rtol=2e-6, atol=1e-6)


def test_large_results_are_on_the_device_and_single_numbers_are_numpys() -> None:
    table = device(X)
    assert table.on_device == (X.size > array.FEW)
    assert (table * 2).on_device == table.on_device
    assert type(table.sum()) is np.float32
    assert type(table[0, 0]) is np.float32
    assert type(table.max()) is np.float32
    assert (np.tile(device(V), (5, 1))).on_device == (array.FEW < 20)


def test_changes_in_place_change_the_array() -> None:
    for change in (_add, _multiply, _mask, _column, _part, _exp):
        wanted, found = Y.copy(), device(Y)
        change(wanted)
        change(found)
        np.testing.assert_allclose(np.asarray(found), wanted)


def _add(y: Any) -> None:
    y += 2.0
    y -= V


def _multiply(y: Any) -> None:
    y *= X.astype(float)
    y /= np.float64(3.0)


def _mask(y: Any) -> None:
    y[MASK] = 0.0
    y[:, np.array([True, False, False, True])] = 7.0


def _column(y: Any) -> None:
    y[2] = V
    y[np.arange(6), N % 4] += 1.0


def _part(y: Any) -> None:
    part = y[1:3]  # a view: to write to it is to write to y
    part += 5.0
    np.maximum(part, 4.0, out=part)


def _exp(y: Any) -> None:
    np.exp(y, out=y)


def test_what_would_change_a_copy_is_refused() -> None:
    table = device(Y)
    with pytest.raises(TypeError, match="cannot change arrays on a device"):
        np.add.at(table, np.array([0, 1]), 1.0)
    with pytest.raises(AttributeError, match="sort"):
        table.sort()
    with pytest.raises(TypeError, match="needs `out`"):
        np.divide(table, 2.0, where=MASK)


def test_copies_are_copies_and_pickles_are_numpys() -> None:
    table = device(Y)
    for other in (table.copy(), copy.copy(table), copy.deepcopy(table), np.copy(table)):
        assert isinstance(other, DeviceArray)
        other[0] = 0.0
    np.testing.assert_array_equal(np.asarray(table), Y)
    again = pickle.loads(pickle.dumps(table))
    assert type(again) is np.ndarray
    np.testing.assert_array_equal(again, Y)


def test_it_looks_like_an_array() -> None:
    table = device(X)
    assert (table.shape, table.ndim, table.size, table.nbytes) == ((6, 4), 2, 24, 96)
    assert table.dtype == np.float32
    assert len(table) == len(list(table)) == 6
    assert "shape=(6, 4), dtype=float32" in repr(table)
    assert float(device(V)[:1].sum()) == V[0]
    assert table.tolist() == X.tolist()
    assert np.asarray(table, np.float64).dtype == np.float64


def test_tables_that_are_turned_or_read_only_are_taken() -> None:
    fixed = X.copy()
    fixed.flags.writeable = False
    for given in (X[::-1], X.T, fixed, X[:, ::2]):
        np.testing.assert_array_equal(np.asarray(device(X)[:1, :1] * 0 + given), given)


def test_ties_of_the_largest_go_to_the_first() -> None:
    table = device(np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]]))
    np.testing.assert_array_equal(np.asarray(table.argmax(axis=1)), [1, 0])


def test_settings_that_only_numpy_knows_are_left_to_numpy() -> None:
    np.testing.assert_allclose(float(np.sum(device(X), initial=2.0)), X.sum() + 2.0, rtol=1e-6)


def test_a_mistake_inside_an_answer_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(a: Any) -> Any:
        return len(3)

    monkeypatch.setitem(functions.FUNCTIONS, np.diff, wrong)
    with pytest.raises(TypeError, match="has no len"):
        np.diff(device(V))


def test_every_answer_is_of_a_function_of_numpy() -> None:
    assert all(callable(one) for one in functions.FUNCTIONS)
    assert len(functions.FUNCTIONS) >= 25
