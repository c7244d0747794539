"""Estimators that find how many components there are, at several levels: coarse to fine.

A growing fit comes to the number that predicts best. `with_levels` goes on from there: it tries
numbers of components on halves of the rows, fits the levels, and says how reproducible each
component is. Islands are left out of levels: whatever a few rows are about that share no column
with the rest, it is not a topic of the collection.
"""

from __future__ import annotations

import copy
import dataclasses
import logging
import warnings
from collections.abc import Callable
from typing import Self, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from isotherm import _checks
from isotherm._types import Array
from isotherm.anneal import journal, progress
from isotherm.anneal.callbacks import limits, time_is_up
from isotherm.anneal.growth.branches import Branches
from isotherm.anneal.growth.counterparts import alike, one_to_one
from isotherm.anneal.schedule import Exponential
from isotherm.anneal.trace import Fit, Outcome, Step, completed
from isotherm.data import checks
from isotherm.data.counts import Counts
from isotherm.data.split import as_generator
from isotherm.errors import IsothermError, IsothermWarning, warn
from isotherm.estimators.counts import CountEstimator
from isotherm.estimators.edits import check_unedited
from isotherm.estimators.levels import (
    Level,
    between,
    describe_levels,
    finest_found_again,
    nodes_of,
    set_level,
    values_of,
)
from isotherm.estimators.parameters import AUTO
from isotherm.estimators.plan import Hold, Table
from isotherm.estimators.recipe import Fitted, cool_and_settle, cool_plainly, fit_table
from isotherm.estimators.trials import Halves, Solution
from isotherm.tree import Tree

log = logging.getLogger("isotherm")

M = TypeVar("M", bound="Leveled")
# Fits a model (a copy, whose number of components is set) to a table; the next finer level, if any,
# says where else it may begin.
Refit = Callable[[M, Table, "M | None"], Fitted]
# Fits a model (a copy as well) to half of the rows, ended at the given temperature if there is one;
# the first critical temperature is that of all rows.
FitHalf = Callable[[M, Table, "float | None", float], Solution]

# What a model has that grew, and a cut of it has not.
OF_GROWING = ("path_", "tree_", "levels_", "reproducibility_", "node_reproducibility_")
# Shares of a fit that growing, comparing halves and fitting levels take, about.
GROWING, COMPARING = 0.6, 0.5
# Halves settle less closely, to so many nats per token: chance sets them apart anyway.
LOOSE = 4e-4
# Their steps are that many of the usual ones.
FASTER = 2
# Rows are odd that have so much of their tokens in components of fewer rows than a handful, as
# long as they are rare.
HALF, HANDFUL, RARE = 0.5, 3.0, 0.05


class Leveled(CountEstimator):
    """Base of the estimators whose number of components is found; not for direct use."""

    def at(self, level: int | Level) -> Self:
        """The model at another level: as many components, coarser or finer.

        Parameters
        ----------
        level : int or Level
            One of `levels_`, or its number of components.

        Returns
        -------
        fitted estimator
            A copy, which does all that a fitted model does.
        """
        check_is_fitted(self)
        check_unedited(self, "at")
        other = copy.copy(self)
        set_level(other, _level_of(self, level))
        return other


def check_cut(
    model: Leveled, n_components: object, X: object, sample_weight: object
) -> tuple[Counts, Array | None]:
    """Counts and weights of the rows for a cut, once what was asked for is checked."""
    check_is_fitted(model)
    check_unedited(model, "cut")
    if not hasattr(model, "path_"):
        raise IsothermError(
            f"the model was fitted with n_components={model.n_components}; only one that grew, "
            f"with n_components={AUTO!r}, can be cut"
        )
    _checks.integer("n_components", n_components, 1)
    most = model.path_[-1].n_components
    if int(n_components) > most:  # type: ignore[call-overload]  # it is an integer
        raise IsothermError(
            f"n_components={n_components}; the fit came to at most {most} components on its way: "
            "ask for no more, or fit with that number",
            parameter="n_components",
        )
    counts = model._counts(X, reset=False)
    return counts, checks.row_weights(sample_weight, counts.row_totals)


def _level_of(model: Leveled, level: object) -> Level:
    """The level that was asked for."""
    levels: tuple[Level, ...] = getattr(model, "levels_", ())
    if not levels:
        raise IsothermError(
            f"the {type(model).__name__} was fitted with n_components={model.n_components!r} and "
            f"has no levels; fit with n_components={AUTO!r}, or ask for a number by cut",
            parameter="level",
        )
    for one in levels:
        if one is level or (not isinstance(level, bool) and one.n_components == level):
            return one
    numbers = ", ".join(str(one.n_components) for one in levels)
    raise IsothermError(
        f"level={level!r}; the levels have {numbers} components: give one of these numbers, or ask "
        "for another number by cut",
        parameter="level",
    )


# How levels are fitted ----------------------------------------------------------------------------


def with_levels(
    model: M,
    table: Table,
    grow: Callable[[], Fitted],
    refit: Refit[M],
    fit_half: FitHalf[M],
) -> Fitted:
    """What a growing fit comes to, with its levels; as it is where no levels were asked for.

    Parameters
    ----------
    model : estimator
    table : Table
        All rows.
    grow : callable
        Fits the number that predicts best.
    refit : callable
        Fits another number, see `Refit`.
    fit_half : callable
        Fits half of the rows, see `FitHalf`.
    """
    if model.n_components != AUTO:
        fitted = grow()
        if isinstance(model.n_components, str) and fitted.fit.model.n_components == 1:
            warn_of_one()
        return fitted
    with progress.phase("", GROWING):
        grown = grow()
    finest = copy.copy(model)
    finest._set_fitted(grown)
    finest._come_home()
    if Outcome.INTERRUPTED.value == finest.outcome_ or time_is_up(model._settings.callbacks):
        return grown._replace(levels=(_level(finest, _unknown(finest)),))
    try:
        search = _Search(model, table, grown, finest, refit, fit_half)
        return grown._replace(levels=search.levels())
    except KeyboardInterrupt:
        log.warning("interrupted while levels were fitted")
        finest.outcome_ = Outcome.INTERRUPTED.value
        return grown._replace(levels=(_level(finest, _unknown(finest)),))


@dataclasses.dataclass
class _Search:
    """The levels below a growing fit."""

    model: Leveled
    table: Table
    grown: Fitted
    finest: Leveled
    refit: Refit[Leveled]
    fit_half: FitHalf[Leveled]

    def levels(self) -> tuple[Level, ...]:
        """All levels, the one that is meant first."""
        mainland = self.table.mainland(odd_rows(self.finest, self.table))
        halves = Halves(
            self._half, mainland, self.finest.background_, limits(self.model._settings.callbacks)
        )
        if not halves.possible:
            log.info("so few rows cannot be compared in halves: no levels")
            return (_level(self.finest, _unknown(self.finest)),)
        most = self.model.max_components
        best = self.finest.n_components_
        halves.temperatures[best] = self.finest.temperature_
        with progress.phase("comparing two halves of the rows", COMPARING):
            # Where odd rows did not stand in the way, one is one.
            alone = best == 1 and mainland is self.table
            number = 1 if alone else finest_found_again(halves, best, most)
        numbers = between(number, best)
        levels: list[Level] = []
        finer: Leveled | None = None
        for n in reversed(numbers):
            if levels and time_is_up(self.model._settings.callbacks):
                break
            with progress.phase(f"fitting {n} {self.model._noun}s", 1.0 / len(numbers)):
                finer = self._at(n, mainland, finer)
                levels.append(_level(finer, self._reproducibility(finer, halves)))
        levels.reverse()
        log.info("levels: %s", describe_levels(levels))
        _warn_of(levels[0])
        return tuple(levels)

    def _at(self, number: int, mainland: Table, finer: Leveled | None) -> Leveled:
        """The model with some number of components."""
        if number == self.finest.n_components_:
            return self.finest
        other = numbered(self.model, number)
        fitted = self.refit(other, mainland, finer)
        if Outcome.INTERRUPTED in (fitted.fit.outcome, fitted.cooled.outcome):
            raise KeyboardInterrupt
        other._set_fitted(fitted)
        other.n_components = self.model.n_components
        tree = splits_of(self.grown.cooled, number, other.components_, self.finest.background_)
        if tree is not None and not hasattr(other, "tree_"):
            other.tree_ = tree
        other._come_home()
        return other

    def _half(self, table: Table, number: int, temperature: float | None) -> Solution:
        """A fit of a half of the rows."""
        other = numbered(self.model, number)
        other.tol = max(other.tol, LOOSE)
        with warnings.catch_warnings(), journal.without_rows():
            # What is said of a half is not about the fit.
            warnings.simplefilter("ignore", IsothermWarning)
            return self.fit_half(other, table, temperature, self.grown.cooled.first_critical)

    def _reproducibility(self, model: Leveled, halves: Halves) -> tuple[Array, Array]:
        """How alike components, and nodes of their tree, are in two halves of the rows."""
        number = model.n_components_
        groups = nodes_of(model)
        if number == 1:
            return np.ones(1), np.ones(len(groups))
        if number not in halves.trials and halves.time_is_up:
            return _unknown(model)
        halves.temperatures.setdefault(number, model.temperature_)
        found = halves.trial(number).reproducibility(model.components_, groups)
        if number != min(halves.trials):
            del halves.trials[number]
        return found


def odd_rows(model: Leveled, table: Table) -> Array:
    """Rows that a fit gives a component of their own, (I,): few of them, however long they are.

    Whatever they are about, no other half would show it, and with few components one would be
    spent on each of them.
    """
    tokens = model.row_weights_ * np.asarray(table.counts.row_totals)[:, None]
    if table.weight is not None:
        tokens = tokens * table.weight[:, None]
    square = (tokens**2).sum(axis=0)
    n_rows = np.divide(tokens.sum(axis=0) ** 2, square, out=np.zeros_like(square), where=square > 0)
    odd = model.row_weights_[:, n_rows < HANDFUL].sum(axis=1) > HALF
    return odd if odd.mean() < RARE else np.zeros(len(odd), bool)


def numbered(model: M, number: int) -> M:
    """A copy that is not fitted, with a number of components; callbacks stay behind, limits not."""
    other = copy.copy(model)
    for name in values_of(other):
        delattr(other, name)
    other.n_components = number
    engine = dataclasses.replace(
        other._own_engine, callbacks=tuple(limits(other._settings.callbacks))
    )
    other.engine = engine
    return other


def cooled_half(
    model: Leveled, table: Table, temperature: float | None, first_critical: float
) -> Solution:
    """A fit that chooses its temperature, or ends at a given one where it cools to a given end."""
    recipe, rng = model._full_recipe(table), as_generator(0)
    schedule, plain = recipe.schedule, recipe.cool is cool_plainly and recipe.way is cool_and_settle
    if temperature is None or not plain or not isinstance(schedule, Exponential):
        fitted = model._fitted(table, rng)
    else:
        start, zero = schedule.start, recipe.models[-1].zero_temperature
        if start is None and first_critical > zero:
            start = zero + schedule.margin * (first_critical - zero)
        start = None if start is None else max(start, temperature)
        rate = schedule.rate**FASTER
        ended = dataclasses.replace(schedule, rate=rate, start=start, end=temperature)
        recipe = dataclasses.replace(recipe, schedule=ended, hold=Hold(recipe.hold.of))
        fitted = fit_table(recipe, table, model._engine(ended), rng)
    fit = completed(fitted.fit)
    completed(fitted.cooled)
    return Solution(fit.model, fit.state.params, fit.temperature, fitted.plan.full)


def _level(model: Leveled, known: tuple[Array, Array]) -> Level:
    """What a model is, as a level."""
    alone, together = known
    model.reproducibility_, model.node_reproducibility_ = alone, together
    scores = [r.heldout for r in model.trace_ if r.temperature == model.temperature_]
    heldout = min(scores, default=float("nan"))
    return Level(
        model.n_components_, model.temperature_, heldout, alone, together, values_of(model)
    )


def _unknown(model: Leveled) -> tuple[Array, Array]:
    """Where there was no time to tell."""
    return np.full(model.n_components_, np.nan), np.full(len(nodes_of(model)), np.nan)


def _warn_of(level: Level) -> None:
    """Say so where the answer is one component, or components that nobody would find again."""
    if level.n_components == 1:
        warn_of_one()
    elif level.is_known and 2 * level.n_found_again < level.n_components:
        found = level.n_found_again
        warn(
            f"only {found} of {level.n_components} components are found again in the other half of "
            "the rows: the others are those of this sample; with more rows more may be found"
        )


def warn_of_one() -> None:
    """Say why there is one component only."""
    warn(
        "one component only: two would predict held-out data no better; the rows may be too few, "
        "or too much alike"
    )


def splits_of(grown: Fit, number: int, table: Array, background: Array) -> Tree | None:
    """The splits of a growing run, as far as some components (K, J) had come apart; None if never.

    A component takes the place of the branch that it is most like.
    """
    steps = [step for step in grown.path if step.n_components >= number]
    if not steps:
        return None
    step = min(steps, key=lambda one: one.n_components)
    tree, own = _with_leaves(step, number)
    _, order = one_to_one(alike(table, own, background))
    leaves = tuple(tree.leaves[k] for k in order)
    return Tree(tree.parents, leaves, tree.temperatures)


def _with_leaves(step: Step, number: int) -> tuple[Tree, Array]:
    """The splits of a step down to some number of branches, and P(y|branch) (number, J)."""
    weight, table = step.model.components(step.params)
    groups = sorted(sorted(group) for group in step.tree.cut(number))
    gone = [k for group in groups for k in group[1:]]
    tree = step.tree
    branches = Branches(tree.parents, tree.temperatures, tree.leaves).without(gone)
    own = []
    for group in groups:
        share = np.maximum(np.asarray(weight)[group], 1e-300)
        own.append(np.asarray(table)[:, group] @ (share / share.sum()))
    return branches.tree, np.array(own)
