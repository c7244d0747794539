"""The over-relaxed step where it would leave what is valid."""

import numpy as np
import pytest

from isotherm.anneal.relax import relax
from isotherm.anneal.trace import State
from isotherm.data.counts import Counts
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.aspect import Aspect
from isotherm.models.base import FLOOR
from isotherm.placement.local import Local
from support.models import Array, begin, poisson_counts, sweep

COUNTS = poisson_counts(1, (12, 9))
ONES = np.ones(len(COUNTS))
ETA = 60.0  # so far that many entries would be negative


def relaxed(counts: Array, weight: Array) -> tuple[State, Array, Array]:
    """A state far past the EM point, its rows, and P(x|a) of the EM point."""
    model, data = Aspect(3), Local.place(Counts(counts), Cpu("float64"), weight=weight)
    old, _ = sweep(model, data, begin(model, data), 1.0)
    new, _ = sweep(model, data, old, 1.0)
    state = relax(model, data, old, new, ETA)
    reached = data.gather(new.rows).table / new.params.row_mass
    return state, data.gather(state.rows).table, reached


def test_a_row_of_weight_two_stays_two_rows() -> None:
    twice = np.where(np.arange(len(COUNTS)) % 3 == 0, 2, 1)
    one, rows, _ = relaxed(COUNTS, twice.astype(float))
    two, copies, _ = relaxed(np.repeat(COUNTS, twice, axis=0), np.ones(twice.sum()))
    first = np.append(0, np.cumsum(twice)[:-1])
    np.testing.assert_allclose(rows, twice[:, None] * copies[first], rtol=1e-9)
    np.testing.assert_allclose(one.params.row_mass, two.params.row_mass, rtol=1e-9)


def test_what_would_be_negative_is_a_tiny_part_of_its_row() -> None:
    _, rows, reached = relaxed(COUNTS, ONES)
    floor = np.broadcast_to(FLOOR * reached.sum(axis=1, keepdims=True), rows.shape)
    low = (rows < 1e-6 * rows.max()) & (reached > 0)
    assert low.sum() > 3
    np.testing.assert_allclose(rows[low], floor[low], rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_unit_of_the_counts_does_not_show(scale: float) -> None:
    state, rows, _ = relaxed(COUNTS * scale, ONES)
    plain, expected, _ = relaxed(COUNTS, ONES)
    np.testing.assert_allclose(state.params.word_topic, plain.params.word_topic, rtol=1e-9)
    np.testing.assert_allclose(rows, expected, rtol=1e-9)
