"""Folding in: row states of new rows under fixed parameters.

The same E-step as in training, with the parameters held. Each row stops by itself, so what comes
out for a row does not depend on the rows that came with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from isotherm import _nested
from isotherm._nested import T
from isotherm._types import Params, RowStates
from isotherm.data.base import Array, Block
from isotherm.kernels.base import Kernels
from isotherm.models.base import CountModel
from isotherm.placement.base import Data, Expected, RowsHandle

# Blocks of fewer rows than this are not worth cutting down.
SMALL = 64
FOLD_TOL, FOLD_SWEEPS = 1e-4, 100


def fold_in(
    model: CountModel,
    params: Params,
    data: Data,
    temperature: float,
    *,
    tol: float = FOLD_TOL,
    max_sweeps: int | None = None,
) -> RowsHandle:
    """Row states of every row of `data` under fixed parameters.

    Parameters
    ----------
    model, params : CountModel and its parameters
    data : Data
        New rows over the columns of the model.
    temperature : float
    tol : float
        A row is done when no entry moves by more than tol times the row's sum.
    max_sweeps : int, optional
        By default what the model says in `fold_sweeps`, if it does, else FOLD_SWEEPS.
    """
    if max_sweeps is None:
        max_sweeps = getattr(model, "fold_sweeps", FOLD_SWEEPS)
    rows, _, _ = data.sweep(fold_block, data.no_rows, model, params, temperature, tol, max_sweeps)
    return rows


def fold_block(
    k: Kernels,
    block: Block,
    rows: object,
    model: CountModel,
    params: Params,
    temperature: float,
    tol: float,
    max_sweeps: int,
) -> Expected[RowStates, tuple[()]]:
    """Row states of one block; a row that is done is frozen, and left out once half of them are."""
    folding = model.for_new_rows()
    state = folding.start(params, block, k)
    result = _nested.apply(np.copy, state)
    part, index = block, np.arange(block.n_rows)
    moving = np.ones(block.n_rows, bool)
    for _ in range(max_sweeps):
        new = folding.expect(params, state, part, temperature, k).rows
        moved = _moved(state, new, tol)
        state = _advanced(state, new, moving)
        moving &= moved
        if not moving.any():
            break
        if 2 * moving.sum() < len(index) and len(index) > SMALL:
            _write(result, index, state)
            left = np.flatnonzero(moving)
            index, part, moving = index[left], part.take(left), moving[left]
            state = _rows(state, left)
    _write(result, index, state)
    return Expected(result, (), 0.0)


def _advanced(old: T, new: T, moving: Array) -> T:
    """The new state of rows that still move, the old one of rows that are done."""

    def one(before: Array, now: Array) -> Array:
        return np.where(moving.reshape(-1, *[1] * (now.ndim - 1)), now, before)

    return _nested.apply(one, old, new)


def _rows(state: T, index: Array) -> T:
    return _nested.apply(lambda field: field[index], state)


def _moved(old: RowStates, new: RowStates, tol: float) -> Array:
    """Whether each row moved in any field, (I,)."""
    moved = [
        np.abs(now - before).max(axis=rest) > tol * now.sum(axis=rest)
        for before, now in zip(old, new, strict=True)
        for rest in [tuple(range(1, now.ndim))]
    ]
    return np.asarray(np.any(moved, axis=0))


def _write(result: RowStates, index: Array, state: RowStates) -> None:
    for whole, part in zip(result, state, strict=True):
        whole[index] = part


class _Weights(NamedTuple):
    weights: Array


class _Mass(NamedTuple):
    mass: Array


def row_weights(model: CountModel, params: Params, data: Data, rows: RowStates) -> Array:
    """Weights of the components in every row, (I, K) float64, made where the rows are."""
    made, _, _ = data.sweep(_mix, rows, model, params)
    weights: Array = _nested.on_host(data.gather(made)).weights
    return weights


def row_marginal(data: Data) -> Array:
    """Share of the tokens that each row has, (I,)."""
    mass, _, _ = data.sweep(_row_mass, data.no_rows)
    return np.asarray(data.gather(mass).mass / data.summary.total)


def _mix(k: Kernels, block: Block, rows: RowStates, model: CountModel, params: Params) -> Expected:
    weights = np.asarray(_nested.on_host(model.mixture(params, rows)).weights, np.float64)
    return Expected(_Weights(weights), (), 0.0)


def _row_mass(k: Kernels, block: Block, rows: RowStates) -> Expected:
    """Weighted tokens of each row, (I,)."""
    return Expected(_Mass(np.asarray(block.row_totals * block.weight)), (), 0.0)
