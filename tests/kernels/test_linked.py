"""Kernels of linked rows: the CPU against the reference, and both against the formulas."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import wrightomega, xlogy

from isotherm.kernels.cpu import linked
from isotherm.kernels.cpu._linked import LEAST, _omega, log_rows
from isotherm.kernels.cpu.backend import Cpu
from isotherm.kernels.reference import Reference
from support.kernels import RULES, linked_case, linked_outputs

Array = NDArray[Any]
PLAIN, DOUBLE, SINGLE = Reference(), Cpu("float64"), Cpu("float32")
NAMES = ("simplex", "settled", "spread", "divergence", "ascend", "walk")


@pytest.mark.parametrize("k", [DOUBLE, SINGLE], ids=["double", "single"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("K", [1, 2, 5, 17])
def test_equal_to_the_reference(k: Cpu, name: str, K: int) -> None:
    for seed in range(3):
        pairs = zip(
            linked_outputs(k, name, seed, K), linked_outputs(PLAIN, name, seed, K), strict=True
        )
        for found, expected in pairs:
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_bit_identical_for_any_number_of_threads(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linked, "PIECE", 64)
    alone = linked_outputs(Cpu("float32", 1), name, n=200)
    for threads in (2, 3, 8):
        for one, other in zip(
            alone, linked_outputs(Cpu("float32", threads), name, n=200), strict=True
        ):
            np.testing.assert_array_equal(one, other)


def test_logarithms_are_those_of_the_library() -> None:
    x = np.concatenate([np.geomspace(1e-300, 1e3, 5000), [0.0, 1.0, 0.5**0.5, 2**0.5]])[None]
    found = np.empty_like(x)
    log_rows(x, found, 0, 1)
    np.testing.assert_allclose(found, np.log(np.maximum(x, LEAST)), rtol=1e-15, atol=1e-16)


def test_wright_omega_is_that_of_the_library() -> None:
    x = np.concatenate([np.linspace(-60, 60, 2001), [-700.0, 1e3, 1e6]])
    np.testing.assert_allclose([_omega(v) for v in x], wrightomega(x), rtol=1e-12)


@pytest.mark.parametrize("k", [PLAIN, DOUBLE], ids=["reference", "double"])
def test_simplex_rows_are_maximisers(k: Any) -> None:
    rng = np.random.default_rng(1)
    for K in (2, 3, 6):
        counts, slope = rng.gamma(0.5, 4.0, (1, K)), rng.normal(0.0, 5.0, (1, K))
        curvature = rng.uniform(0.1, 10.0, 1)
        (t,) = k.simplex(counts, curvature, slope, np.full((1, K), 1.0 / K))
        gradient = counts[0] / t - curvature * t + slope[0]
        np.testing.assert_allclose(gradient, gradient[0], atol=1e-8 * np.abs(gradient).max())

        def loss(x: Array, b: Array = counts, a: Array = curvature, s: Array = slope) -> float:
            p = np.exp(x - x.max())
            p /= p.sum()
            return float(-(xlogy(b, p) - a / 2 * p**2 + s * p).sum())

        general = minimize(loss, np.zeros(K), tol=1e-12)
        np.testing.assert_allclose(loss(np.log(t)), general.fun, atol=1e-9)
        assert loss(np.log(t)) <= general.fun + 1e-12


@pytest.mark.parametrize("k", [PLAIN, DOUBLE], ids=["reference", "double"])
def test_simplex_of_rows_that_nothing_pulls(k: Any) -> None:
    counts = np.array([[1.0, 3.0], [0.0, 0.0], [0.0, 0.0]])
    curvature = np.array([0.0, 0.0, 2.0])
    slope = np.array([[9.0, 1.0], [9.0, 1.0], [1.0, 0.5]])
    last = np.array([[0.5, 0.5], [0.2, 0.8], [0.5, 0.5]])
    found = k.simplex(counts, curvature, slope, last)
    # Without counts: the point of the simplex next to slope / curvature.
    np.testing.assert_allclose(found, [[0.25, 0.75], [0.2, 0.8], [0.625, 0.375]], atol=1e-12)


@pytest.mark.parametrize("shift", [0.0, 1e3, -1e3, 1e8])
def test_simplex_does_not_cancel(shift: float) -> None:
    """A slope that is the same for all entries changes nothing, however large."""
    rng = np.random.default_rng(2)
    counts, slope = rng.gamma(1.0, 2.0, (20, 4)), rng.normal(size=(20, 4))
    curvature, last = np.full(20, 1e-3), np.full((20, 4), 0.25)
    base = DOUBLE.simplex(counts, curvature, slope, last)
    moved = DOUBLE.simplex(counts, curvature, slope + shift, last)
    np.testing.assert_allclose(moved, base, atol=1e-9 + 1e-14 * abs(shift))


def test_spread_is_that_of_the_definition() -> None:
    links, theta, _ = linked_case()
    W = links.matrix.toarray()
    square = ((theta[:, None] - theta) ** 2).sum(axis=2)
    L = np.diag(W.sum(axis=1)) - W
    within, total = DOUBLE.spread(links, theta)
    assert within == pytest.approx(0.5 * (W * square).sum(), rel=1e-12)
    assert within == pytest.approx(np.trace(theta.T @ L @ theta), rel=1e-12)
    assert total == pytest.approx(0.5 * square.sum(), rel=1e-12)
    t = theta + 1e-3
    logs = np.log(t)
    kl = (t[:, None] * (logs[:, None] - logs)).sum(axis=2)
    assert DOUBLE.divergence(links, t) == pytest.approx(0.5 * (W * (kl + kl.T)).sum(), rel=1e-12)
    assert DOUBLE.divergence(links, t) == pytest.approx(np.trace(t.T @ L @ logs), rel=1e-10)


@pytest.mark.parametrize("rule", RULES)
def test_one_sweep_updates_colours_in_turn(rule: str) -> None:
    """Every row is the answer to its neighbours as they are then: later colours see new rows."""
    links, theta, counts = linked_case()
    order, starts = links.colours
    assert len(starts) > 3
    swept = DOUBLE.settled(links, theta, counts, 2.0, rule, 1)
    last = order[starts[-2] :]
    again = DOUBLE.settled(links, swept, counts, 2.0, rule, 1)
    assert np.abs(again - swept).max() > 1e-4
    # Rows of the last colour have seen every neighbour in its new place.
    W = links.matrix[last]
    near = W @ swept
    if rule == "linear":
        expected = counts[last] + 2.0 * near
        expected /= expected.sum(axis=1, keepdims=True)
    elif rule == "quadratic":
        expected = PLAIN.simplex(counts[last], 4.0 * W.sum(axis=1), 4.0 * near, theta[last])
    else:
        B = 2.0 * W.sum(axis=1)[:, None]
        slope = (counts[last] + 2.0 * near) / swept[last]
        slope = slope - B * np.log(swept[last]) + 2.0 * (W @ np.log(swept))
        keep = (swept[last] > 1e-10).all(axis=1)
        assert keep.sum() > 1
        gap = slope - slope.mean(axis=1, keepdims=True)
        assert np.abs(gap[keep]).max() < 1e-7 * np.abs(slope).max()
        return
    np.testing.assert_allclose(swept[last], expected, atol=1e-10)


def test_walk_takes_the_first_step_that_is_good_enough() -> None:
    _, start, counts = linked_case()
    totals = counts.sum(axis=1, keepdims=True)
    end = np.divide(counts, totals, out=start.copy(), where=totals > 0)
    for n in (1, 2, 3, 7, 10, 31):
        steps = np.append(np.arange(1, n) / n, 1.0)
        tables = [(1 - s) * start + s * end for s in steps]
        reached = [xlogy(counts, np.maximum(t, LEAST)).sum() for t in tables]
        assert np.all(np.diff(reached) > 0)
        for wanted in range(n):
            least = reached[wanted] - 1e-9 * abs(reached[wanted])
            np.testing.assert_allclose(DOUBLE.walk(counts, start, steps, least), tables[wanted])
    np.testing.assert_allclose(DOUBLE.walk(counts, start, steps, np.inf), end, rtol=1e-15)
    assert (DOUBLE.walk(counts, start, steps, -np.inf) >= 0).all()
