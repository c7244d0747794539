"""The over-relaxed step: past the EM point, and back to where parameters are valid."""

from __future__ import annotations

from typing import Any

import numpy as np

from isotherm import _nested
from isotherm.anneal.trace import State
from isotherm.data.base import Array
from isotherm.kernels.base import Kernels
from isotherm.models.base import FLOOR, Model
from isotherm.placement.base import Data, Expected


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
    k: Kernels, block: Any, both: Any, old_mass: Array, new_mass: Array, eta: float
) -> Expected:
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


def _inverse(mass: Array, dtype: Any) -> Array:
    return np.divide(1.0, mass, out=np.zeros_like(mass), where=mass > 0).astype(dtype)
