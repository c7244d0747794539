"""How a model is fitted, from top to bottom: what an estimator says, and what is done.

An estimator says which models are tried, how they are cooled and where they begin: its `Recipe`.
`fit_table` holds counts out, lets the rule that fits them stop the run, cools, and settles on all
counts at the chosen temperature.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from isotherm._types import Rng
from isotherm.anneal import progress
from isotherm.anneal.callbacks import Callback, GenerationRule, HeldoutRule, Log, time_is_up
from isotherm.anneal.crossval import Curve
from isotherm.anneal.engine import Annealer
from isotherm.anneal.fold import fold_in
from isotherm.anneal.growth.grow import Growth
from isotherm.anneal.heldout import HeldoutTokens
from isotherm.anneal.schedule import Fixed, Schedule
from isotherm.anneal.start import Noisy, Start, state_of
from isotherm.anneal.trace import Fit, Outcome
from isotherm.errors import warn
from isotherm.estimators.plan import Hold, Plan, Table, Weigh, curve_over_folds, ended_at
from isotherm.kernels.cpu.dense import one_blas_thread
from isotherm.models.base import Model
from isotherm.tree import Tree

if TYPE_CHECKING:
    from isotherm.estimators.levels import Level

log = logging.getLogger("isotherm")

# Sweeps that give rows their weights where there is no time for more.
BRIEF = 10

Cool = Callable[["Recipe", Annealer, Plan, Rng], Fit]
Way = Callable[["Recipe", Annealer, Plan, Rng], tuple[Fit, Fit]]


def cool_plainly(recipe: Recipe, annealer: Annealer, plan: Plan, rng: Rng) -> Fit:
    """One run of the last model."""
    return annealer.run(recipe.models[-1], plan.data, rng, heldout=plan.heldout)


def cool_and_settle(recipe: Recipe, annealer: Annealer, plan: Plan, rng: Rng) -> tuple[Fit, Fit]:
    """The fit on all of the table, and the run that chose its temperature."""
    with progress.phase("", 0.88 if recipe.growth is None else 0.95):
        cooled = recipe.cool(recipe, annealer, plan, rng)
    return settled(annealer, plan, cooled, rng), cooled


@dataclass(frozen=True)
class Recipe:
    """How a model is fitted.

    Parameters
    ----------
    models : tuple of Model
        Models to try, the preferred one first; the last where nothing is held out to tell.
    schedule : Schedule
    start : Start
    growth : Growth, optional
        Components split on the way.
    cool : callable
        From recipe, annealer, plan and random numbers to the run that chose the temperature.
    way : callable
        From the same to the fit and that run; to cool and then settle by default.
    tree : callable, optional
        From plan and fit to the tree of the components.
    hold : Hold
        What is held out, and how long its rule waits.
    weigh : callable, optional
        What held-out tokens count, where rows do not weigh as they are.
    """

    models: tuple[Model, ...]
    schedule: Schedule
    start: Start = field(default_factory=Noisy)
    growth: Growth | None = None
    cool: Cool = cool_plainly
    way: Way = cool_and_settle
    tree: Callable[[Plan, Fit], Tree] | None = None
    hold: Hold = field(default_factory=Hold)
    weigh: Weigh | None = None


class Fitted(NamedTuple):
    """What `fit_table` leaves.

    `fit` has settled on all counts, `cooled` is the run that chose its temperature, and `curve`
    what folds said; `clusters` are those that a hierarchy began at.
    `more_sweeps` were made besides. `levels` are solutions with several numbers of
    components, the one that is meant first.
    """

    recipe: Recipe
    plan: Plan
    fit: Fit
    cooled: Fit
    curve: Curve | None = None
    clusters: Any = None
    more_sweeps: int = 0
    levels: tuple[Level, ...] = ()


def fit_table(recipe: Recipe, table: Table, annealer: Annealer, rng: Rng) -> Fitted:
    """A recipe carried out on a table of counts or vectors, with the settings of an annealer."""
    plan, curve = planned(recipe, table, annealer)
    annealer = steered(annealer, recipe, plan)
    # Tables are narrow: threads of BLAS would wait for each other longer than they work.
    with one_blas_thread():
        fit, cooled = recipe.way(recipe, annealer, plan, rng)
    return Fitted(recipe, plan, fit, cooled, curve)


def planned(recipe: Recipe, table: Table, annealer: Annealer) -> tuple[Plan, Curve | None]:
    """What to cool on and what steers the stop; with folds, where they say that it is."""
    full, hold = table.placed(), recipe.hold
    table = replace(table, weigh=recipe.weigh)
    plan = Plan(full, full, None, recipe.schedule)
    if hold.folds is not None:
        # The user's callbacks are for the fit itself, not for every fold.
        guide = replace(steered(annealer, recipe, plan), callbacks=(Log(),))
        model = recipe.models[-1]
        with progress.phase("cross-validating", 0.8):
            curve = curve_over_folds(hold.folds, hold.of, table, model, guide)
        return plan._replace(schedule=ended_at(plan.schedule, curve, model, full)), curve
    split = table.split(hold.of, hold.fraction)
    if split is not None:
        return plan._replace(data=split.data, heldout=split.heldout), None
    # Of one component there is no temperature to choose.
    if hold.fraction and not hold.single:
        warn(
            f"validation_fraction={hold.fraction} of so few counts holds nothing out: cooled to "
            "the end of the schedule"
        )
    return plan, None


def steered(annealer: Annealer, recipe: Recipe, plan: Plan) -> Annealer:
    """The annealer with the schedule and start of a recipe, and the rule for what is held out."""
    callbacks: list[Callback] = list(annealer.callbacks)
    growth, patience = recipe.growth, recipe.hold.patience
    if plan.heldout is not None and growth is not None:
        gain = growth.needed(plan.heldout.size)
        callbacks.append(GenerationRule(patience, gain, limit=growth.enough))
    elif plan.heldout is not None and not plan.schedule.restarts:
        callbacks.append(HeldoutRule(patience))
    return replace(
        annealer, schedule=plan.schedule, start=recipe.start, callbacks=callbacks, growth=growth
    )


def settled(annealer: Annealer, plan: Plan, cooled: Fit, rng: Rng) -> Fit:
    """The chosen state, settled on all counts at the chosen temperature.

    After an interrupt, or when time is up, rows get their weights and a single sweep is done.
    """
    if plan.data is plan.full:
        return cooled
    if isinstance(plan.heldout, HeldoutTokens):
        model, params = plan.heldout.tuned(cooled.model, cooled.state, plan.data)
        cooled = replace(cooled, model=model, state=cooled.state._replace(params=params))
    state = state_of(cooled.model, plan.full, cooled.state.params)
    end = replace(annealer, schedule=Fixed(cooled.temperature), callbacks=(), growth=None)
    outcome = cooled.outcome
    if outcome is not Outcome.INTERRUPTED and not time_is_up(annealer.callbacks):
        try:
            return end.run(cooled.model, plan.full, rng, state=state)
        except KeyboardInterrupt:
            log.warning("interrupted while settling on all counts")
            outcome = Outcome.INTERRUPTED
    if cooled.model.for_new_rows() is cooled.model:
        # From rows that know nothing, a single sweep would make components alike.
        params, T = cooled.state.params, cooled.temperature
        state = state._replace(rows=fold_in(cooled.model, params, plan.full, T, max_sweeps=BRIEF))
    once = replace(end, max_sweeps=1, stepwise=None)
    short = once.run(cooled.model, plan.full, rng, state=state)
    return replace(short, outcome=outcome)
