"""The over-relaxed step: past the EM point, and back to where parameters are valid."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from isotherm import _nested
from isotherm._types import Arrays, RowStates
from isotherm.anneal.trace import State
from isotherm.data.base import Array, Block
from isotherm.kernels.base import Kernels
from isotherm.models.base import FLOOR, Model
from isotherm.placement.base import Data, Expected


class RelaxationState(NamedTuple):
    """Where over-relaxation is: the factor of the next step, and what the last one went past.

    `eta` is the factor; `proven` is the EM point that the state lies beyond, to go back to, and
    None where the state is an EM point itself.
    """

    eta: float = 1.0
    proven: State | None = None


class Relaxation(NamedTuple):
    """Over-relaxation (Hofmann & Puzicha eq. 48): how far past the EM point a step goes.

    The factor starts at `first`, is multiplied by `growth` after each accepted step up to `cap`,
    and falls back to 1 after a step that raised the free energy, which is undone.
    """

    first: float = 1.0
    growth: float = 1.1
    cap: float = 8.0

    def begin(self) -> RelaxationState:
        """Before the first sweep at a temperature."""
        return RelaxationState(self.first)

    def step(
        self, model: Model, data: Data, old: State, reached: State, eta: float, settled: bool
    ) -> tuple[State, RelaxationState]:
        """The state to sweep next, at or past the EM point reached, and where that leaves us.

        A relaxed step magnifies what EM would damp at once, rounding errors included: the last
        steps at a temperature are plain ones.
        """
        further = 1.0 if settled else min(eta * self.growth, self.cap)
        if not (eta > 1.0 and not settled and model.monotone):
            return reached, RelaxationState(further)
        return relax(model, data, old, reached, eta), RelaxationState(further, reached)


NO_RELAXATION = Relaxation(1.0, 1.0, 1.0)
ADAPTIVE_RELAXATION = Relaxation()


def relax(model: Model, data: Data, old: State, new: State, eta: float) -> State:
    """State a factor eta along the way from the old state to the EM point, made valid again."""
    params = model.project(_nested.lerp(old.params, new.params, eta), new.params)
    extra = model.prior_energy(params, data.summary)
    if not model.rows_are_parameters:
        return State(params, new.rows, extra)
    both = tuple(zip(old.rows, new.rows, strict=True))
    rows, mass, _ = data.sweep(_blend, both, old.params.row_mass, new.params.row_mass, eta)
    return State(params._replace(row_mass=mass[0]), rows, extra)


def _blend(
    k: Kernels,
    block: Block,
    both: tuple[RowStates, RowStates],
    old_mass: Array,
    new_mass: Array,
    eta: float,
) -> Expected[RowStates, Arrays]:
    """Rows a factor eta along the way, and their total per component."""
    old, new = both

    def one(a: Array, b: Array) -> Array:
        before = a * _inverse(old_mass, a.dtype)
        after = b * _inverse(new_mass, b.dtype)
        step = before + b.dtype.type(eta) * (after - before)
        # Relative to the row, so that a row of weight two stays the same as two rows.
        floor = b.dtype.type(FLOOR) * after.sum(axis=1, keepdims=True)
        return np.where(after > 0, np.maximum(step, floor), 0)

    rows = _nested.apply(one, old, new)
    return Expected(rows, _nested.apply(lambda a: a.sum(axis=0, dtype=np.float64), rows), 0.0)


def _inverse(mass: Array, dtype: DTypeLike) -> Array:
    return np.divide(1.0, mass, out=np.zeros_like(mass), where=mass > 0).astype(dtype)
