"""Which components of two fits are the same, and how alike they are."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from isotherm._types import Params
from isotherm.anneal.fold import fold_in
from isotherm.data.base import Array
from isotherm.models.base import CountModel, expect
from isotherm.placement.base import Data

# Two components are alike only if what sets them apart from all counts is: else distributions that
# are both hardly anything but the frequent columns would be. Those that are nearer than this to all
# counts (an L1 distance) are set apart by chance alone.
APART, NEAR = 0.3, 0.2
# Sweeps in which rows are folded in to carry components over to them.
FOLDS = 10


def cosines(first: Array, second: Array) -> Array:
    """Cosine of each row of a table (K, J) with each of another one (L, J), (K, L); 0 of none."""
    return np.asarray(np.minimum(_unit(first) @ _unit(second).T, 1.0))


def one_to_one(similarity: Array) -> tuple[Array, Array]:
    """Rows and columns of a table (K, L) in pairs, so that the sum of the pairs is largest."""
    rows, columns = linear_sum_assignment(similarity, maximize=True)
    return rows, columns


def alike(first: Array, second: Array, background: Array) -> Array:
    """How alike components of two fits are, (K, L), at most 1.

    The cosine of their distributions; where what sets them apart from the background has hardly
    anything in common, the cosine of that, or 0.

    Parameters
    ----------
    first, second : (K, J) and (L, J)
        P(y|k).
    background : (J,)
        A distribution, that of all counts.
    """
    apart = np.maximum(cosines(first - background, second - background), 0.0)
    near = np.logical_and.outer(_is_near(first, background), _is_near(second, background))
    return np.where((apart < APART) & ~near, apart, cosines(first, second))


def alike_in_pairs(first: Array, second: Array, background: Array) -> Array:
    """How alike each component is to that of the other table with the same number, (K,)."""
    apart = np.maximum(_cosines_in_pairs(first - background, second - background), 0.0)
    near = _is_near(first, background) & _is_near(second, background)
    return np.where((apart < APART) & ~near, apart, _cosines_in_pairs(first, second))


def carried(model: CountModel, params: Params, temperature: float, data: Data) -> Array:
    """P(y|k) (K, J) as other rows have it: they are folded in, and one sweep is made on them.

    Two samples of one topic differ by chance, the more the fewer rows there are. What a topic is in
    the other sample has the chance of that sample, and differs from what was fitted there by what
    the topics differ by.
    """
    rows = fold_in(model, params, data, temperature, max_sweeps=FOLDS)
    _, stats, _ = data.sweep(expect, rows, model, params, temperature)
    params, _ = model.maximize(stats, params, temperature, data.kernels)
    return np.ascontiguousarray(model.components(params)[1].T)


def _is_near(table: Array, background: Array) -> Array:
    """Which components are hardly different from all counts, (K,)."""
    return np.asarray(np.abs(table - background).sum(axis=1) < NEAR)


def _cosines_in_pairs(first: Array, second: Array) -> Array:
    return np.asarray(np.minimum((_unit(first) * _unit(second)).sum(axis=1), 1.0))


def _unit(table: Array) -> Array:
    size = np.linalg.norm(table, axis=1, keepdims=True)
    return np.asarray(np.divide(table, size, out=np.zeros_like(table), where=size > 0))
