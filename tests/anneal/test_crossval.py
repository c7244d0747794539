"""Cross-validated temperatures: folds compared at equal relative temperatures."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from isotherm.anneal.crossval import Curve, Fold, cross_validate
from isotherm.anneal.engine import Annealer
from isotherm.anneal.heldout import HeldoutRows
from isotherm.anneal.schedule import Adaptive, Exponential, Fixed
from isotherm.data.base import Array
from isotherm.errors import IsothermError
from isotherm.models.cluster import Cluster
from isotherm.models.document import Document
from support.anneal import place
from support.corpora import admixture


def folds_of(X: Array, n_folds: int = 3) -> list[Fold]:
    folds = []
    for k in range(n_folds):
        out = np.arange(len(X)) % n_folds == k
        test = X[out]
        test[:, X[~out].sum(axis=0) == 0] = 0
        folds.append(Fold(place(X[~out]), HeldoutRows(place(test))))
    return folds


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def by_hand(
    model: Any, annealer: Annealer, folds: Sequence[Fold]
) -> tuple[list[Array], list[Array]]:
    relative, logs = [], []
    for fold in folds:
        fit = annealer.run(model, fold.data, rng(), heldout=fold.heldout)
        zero = model.zero_temperature
        soft = [record for record in fit.trace if record.temperature > zero]
        relative.append(
            np.array([(r.temperature - zero) / (fit.first_critical - zero) for r in soft])
        )
        logs.append(np.log([r.heldout for r in soft]))
    return relative, logs


@pytest.mark.parametrize(
    ("model", "schedule"),
    [
        (Document(4, 5.0), Exponential(0.7)),
        (Cluster(4, 5.0), Exponential(0.7, end=1.0)),
    ],
)
def test_average_over_folds_at_equal_relative_temperatures(model: Any, schedule: Any) -> None:
    folds = folds_of(admixture(90, 60, 4)[0])
    annealer = Annealer(schedule, max_sweeps=30)
    curve = cross_validate(model, annealer, folds, rng)
    relative, logs = by_hand(model, annealer, folds)
    # An exponential schedule puts all folds on one grid, but for the steps at the end.
    n = min(len(part) for part in relative) - 1
    for part in relative:
        np.testing.assert_allclose(part[:n], 0.97 * 0.7 ** np.arange(n), rtol=1e-9)
    np.testing.assert_allclose(curve.relative, relative[0])
    mean = np.exp(np.mean([part[:n] for part in logs], axis=0))
    np.testing.assert_allclose(curve.score[:n], mean, rtol=1e-9)
    assert curve.best == curve.relative[np.argmin(curve.score)]
    assert 0 < np.argmin(curve.score) < len(curve.score) - 1


def test_other_grids_are_interpolated_in_the_logarithm() -> None:
    folds = folds_of(admixture(90, 60, 4)[0])
    annealer = Annealer(Adaptive(end=2.0), max_sweeps=20)
    model = Document(4, 5.0)
    curve = cross_validate(model, annealer, folds, rng)
    relative, logs = by_hand(model, annealer, folds)
    assert len({len(part) for part in relative}) > 1 or not np.allclose(relative[0], relative[1])
    grid = np.log(relative[0])
    at_grid = [
        np.interp(grid, np.log(r[::-1]), score[::-1])
        for r, score in zip(relative, logs, strict=True)
    ]
    np.testing.assert_allclose(curve.score, np.exp(np.mean(at_grid, axis=0)), rtol=1e-9)


def test_impossible_folds_stay_finite_to_compare() -> None:
    curve = Curve(np.array([0.9, 0.5, 0.1]), np.array([20.0, 10.0, np.inf]))
    assert curve.best == 0.5
    X = admixture(60, 80, 3, length=20)[0]
    # Without pseudo-counts words go missing from topics as they harden.
    annealer = Annealer(Exponential(0.6), max_sweeps=30)
    found = cross_validate(Document(3), annealer, folds_of(X), rng)
    assert not np.isnan(found.score).any()
    assert found.score[0] < 100 < found.score[-1]


def test_a_fixed_start_is_refused() -> None:
    annealer = Annealer(Exponential(0.5, start=5.0, end=2.0), max_sweeps=2)
    with pytest.raises(IsothermError, match="leave the start of the schedule open"):
        cross_validate(Document(2), annealer, folds_of(admixture()[0]), rng)
    with pytest.raises(IsothermError, match="first critical temperatures"):
        cross_validate(Document(2), Annealer(Fixed(2.0)), folds_of(admixture()[0]), rng)


def test_folds_without_structure_are_left_out() -> None:
    X = admixture(60, 30)[0]
    flat = Fold(place(np.ones((4, 30))), HeldoutRows(place(X[:5])))
    folds = folds_of(X)
    annealer = Annealer(Exponential(0.7), max_sweeps=10)
    model = Document(3, 5.0)
    with_flat = cross_validate(model, annealer, [flat, *folds], rng)
    without = cross_validate(model, annealer, folds, rng)
    np.testing.assert_array_equal(with_flat.score, without.score)
    with pytest.raises(IsothermError, match="none of the 2 folds has structure"):
        cross_validate(model, annealer, [flat, flat], rng)
