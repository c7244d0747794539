"""Cross-validated stopping temperature (Choi 2012, section 4.2.1): V folds over rows.

Each fold has its own first critical temperature, so the folds are compared at equal *relative*
temperatures (T - zero) / (T_c - zero); the curves are averaged and the best place is returned.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from isotherm.anneal.engine import Annealer
from isotherm.anneal.heldout import Heldout
from isotherm.anneal.trace import Outcome, Record
from isotherm.data.base import Array
from isotherm.errors import IsothermError
from isotherm.models.base import Model
from isotherm.placement.base import Data

log = logging.getLogger("isotherm")


class Fold(NamedTuple):
    """Data to fit and the score of what was left out."""

    data: Data
    heldout: Heldout


class Curve(NamedTuple):
    """Mean held-out score (lower is better) against relative temperature, hot to cold."""

    relative: Array
    score: Array

    @property
    def best(self) -> float:
        """Relative temperature of the best score."""
        return float(self.relative[int(np.argmin(self.score))])


def cross_validate(
    model: Model,
    annealer: Annealer,
    folds: Sequence[Fold],
    rng: Callable[[], np.random.Generator],
    *,
    relative: bool = True,
) -> Curve:
    """Averaged curve of the held-out score over folds.

    Parameters
    ----------
    model : Model
    annealer : Annealer
        With a schedule that starts at the first critical temperature and runs to its end.
    folds : sequence of Fold
    rng : callable
        Returns a fresh generator with the same seed for every fold.
    relative : bool
        False compares folds at equal temperatures, for schedules that know no critical one.
    """
    curves = []
    for number, fold in enumerate(folds):
        fit = annealer.run(model, fold.data, rng(), heldout=fold.heldout)
        if fit.outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        if not relative:
            curves.append(_curve(fit.trace, 0.0, 1.0))
            continue
        if not np.isfinite(fit.first_critical):
            raise IsothermError(
                "the schedule has a fixed start; cross-validation compares folds relative to their "
                "first critical temperatures, so leave the start of the schedule open"
            )
        scale = fit.first_critical - model.zero_temperature
        curve = _curve(fit.trace, model.zero_temperature, scale)
        if not len(curve.relative):
            log.info("fold %d has no structure to anneal; it is left out", number)
            continue
        curves.append(curve)
    if not curves:
        raise IsothermError(
            f"none of the {len(folds)} folds has structure to anneal; use fewer folds, or hold out "
            "once"
        )
    grid = curves[0].relative
    scores = [_at(curve, grid) for curve in curves]
    return Curve(grid, np.exp(np.mean(scores, axis=0)))


def _curve(trace: Sequence[Record], zero: float, scale: float) -> Curve:
    # Rows in proportion have no transition: rounding errors are all there is.
    kept = [record for record in trace if record.temperature > zero and scale > 1e-9]
    relative = np.array([(record.temperature - zero) / scale for record in kept])
    with np.errstate(over="ignore"):
        score = np.log(np.array([record.heldout for record in kept]))
    return Curve(relative, score)


def _at(curve: Curve, grid: Array) -> Array:
    """Log score interpolated in the logarithm of the relative temperature."""
    order = np.argsort(curve.relative)
    x, y = np.log(curve.relative[order]), np.minimum(curve.score[order], 700.0)
    return np.asarray(np.interp(np.log(grid), x, y))
