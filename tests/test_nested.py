from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from isotherm import _nested


class Pair(NamedTuple):
    table: Any
    mass: Any


class Single(NamedTuple):
    table: Any


NUMBERS = st.floats(-1e6, 1e6, width=32)


@st.composite
def pairs(draw: st.DrawFn, how_many: int = 1) -> list[Pair]:
    """Tuples of a table (R, K) and a vector (K,), all of the same shape."""
    n_rows, K = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    return [
        Pair(
            draw(hnp.arrays(np.float64, (n_rows, K), elements=NUMBERS)),
            draw(hnp.arrays(np.float64, K, elements=NUMBERS)),
        )
        for _ in range(how_many)
    ]


def same(left: Any, right: Any) -> bool:
    fields = [np.array_equal(a, b) for a, b in zip(left, right, strict=True)]
    return type(left) is type(right) and all(fields)


@given(pairs())
def test_apply_keeps_type_and_composes(given_: list[Pair]) -> None:
    (value,) = given_
    assert same(_nested.apply(lambda a: a, value), value)
    steps = _nested.apply(np.abs, _nested.apply(np.negative, value))
    assert same(steps, _nested.apply(lambda a: np.abs(np.negative(a)), value))


@given(pairs(3))
def test_add_is_commutative_and_has_a_zero(given_: list[Pair]) -> None:
    a, b, c = given_
    assert same(_nested.add(a, b), _nested.add(b, a))
    assert same(_nested.add(a, _nested.apply(np.zeros_like, a)), a)
    left, right = _nested.add(_nested.add(a, b), c), _nested.add(a, _nested.add(b, c))
    np.testing.assert_allclose(left.table, right.table, atol=1e-8)
    np.testing.assert_allclose(left.mass, right.mass, atol=1e-8)


@given(pairs(2))
def test_lerp_goes_from_old_to_new_and_beyond(given_: list[Pair]) -> None:
    old, new = given_
    assert same(_nested.lerp(old, new, 0.0), old)
    assert same(_nested.lerp(old, old, 1.7), old)
    for eta in (1.0, 0.25, 1.8):
        moved = _nested.lerp(old, new, eta)
        np.testing.assert_allclose(moved.table, (1 - eta) * old.table + eta * new.table, atol=1e-8)
        np.testing.assert_allclose(moved.mass, (1 - eta) * old.mass + eta * new.mass, atol=1e-8)


def test_lerp_keeps_single_precision() -> None:
    old, new = Single(np.ones(3, np.float32)), Single(np.zeros(3, np.float32))
    assert _nested.lerp(old, new, 1.8).table.dtype == np.float32


@given(pairs(2), st.data())
def test_take_picks_components_and_commutes_with_add(given_: list[Pair], data: Any) -> None:
    a, b = given_
    K = len(a.mass)
    index = np.array(data.draw(st.lists(st.integers(0, K - 1), min_size=1)), np.intp)
    assert same(_nested.take(a, np.arange(K)), a)
    assert same(_nested.take(a, index), Pair(a.table[:, index], a.mass[index]))
    assert same(
        _nested.take(_nested.add(a, b), index),
        _nested.add(_nested.take(a, index), _nested.take(b, index)),
    )


@given(hnp.arrays(np.float64, (6, 2), elements=NUMBERS), st.integers(0, 6), st.integers(0, 6))
def test_concatenate_undoes_any_cut(table: Any, one: int, other: int) -> None:
    lo, hi = sorted((one, other))
    parts = [Single(table[:lo]), Single(table[lo:hi]), Single(table[hi:])]
    assert same(_nested.concatenate(parts), Single(table))


def test_empty_tuple_stays_empty() -> None:
    # The row state and the statistics of a task that has none.
    assert _nested.add((), ()) == ()
    assert _nested.apply(np.abs, ()) == ()


def test_tuples_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        _nested.apply(np.add, Pair(1, 2), Single(1))


class _OnDevice:
    """What stands for an array on a device."""

    on_device = True

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.arange(3.0)


def test_on_host_brings_arrays_of_a_device_home_from_any_depth() -> None:
    kept = np.ones(2)
    pair, name, plain = _nested.on_host((Pair(_OnDevice(), kept), "name", (_OnDevice(),)))
    assert isinstance(pair, Pair)
    np.testing.assert_array_equal(pair[0], [0.0, 1.0, 2.0])
    assert pair[1] is kept
    assert name == "name"
    np.testing.assert_array_equal(plain[0], [0.0, 1.0, 2.0])
