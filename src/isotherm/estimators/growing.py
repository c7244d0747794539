"""A number of components that is found: what estimators do whose components may split."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Sequence
from typing import ClassVar, Self

import numpy as np

from isotherm._types import Rng
from isotherm.anneal import progress
from isotherm.anneal.callbacks import time_is_up
from isotherm.anneal.engine import Annealer
from isotherm.anneal.growth.grow import Growth
from isotherm.anneal.growth.linkage import tree_by_columns
from isotherm.anneal.growth.prune import fewest, without_copies
from isotherm.anneal.heldout import Heldout
from isotherm.anneal.schedule import Fixed, Schedule, Tempered
from isotherm.anneal.start import Noisy, Start, state_of
from isotherm.anneal.trace import Fit, Outcome, State, completed
from isotherm.data.base import Array
from isotherm.data.split import as_generator
from isotherm.errors import IsothermError
from isotherm.estimators.edits import BEFORE, EDITS, PINNED
from isotherm.estimators.leveled import (
    OF_GROWING,
    Leveled,
    check_cut,
    cooled_half,
    with_levels,
)
from isotherm.estimators.parameters import AUTO, Checks, integer, number_or_auto
from isotherm.estimators.plan import Plan, Table
from isotherm.estimators.recipe import Fitted, Recipe, cool_plainly, planned, settled, steered
from isotherm.estimators.starts.untempered import cooled_tempered, has_untempered_prior
from isotherm.estimators.trials import Solution
from isotherm.kernels.cpu.dense import one_blas_thread
from isotherm.models.base import CountModel
from isotherm.placement.base import Data
from isotherm.tree import Tree

# A model that is not preferred must have a held-out score lower by this share, and by so many times
# what more components must be worth.
CLEARLY, TIMES = 0.01, 2.0


class GrowingEstimator(Leveled):
    """Base of the estimators for counts that take `n_components="auto"`; not for direct use.

    The recipe of a shell is `_growing(...)`.
    """

    _edits = ("rename", "merge", "split", "drop", "pin")
    _parameters: ClassVar[Checks] = {"n_components": number_or_auto, "max_components": integer(1)}

    # What the similarities of `topic_tree_` say, for those who see it.
    similarity_meaning = (
        "the share of all differences between {components} that is left where two branches are one"
    )

    def cut(self, n_components: int, X: object, sample_weight: object = None) -> Self:
        """The same model with another number of components, no worse than a fit of that number.

        A model of that number is cooled as `fit` would cool it. At the temperature that it comes
        to, the components of this model, put together along `topic_tree_`, settle as well, and
        what predicts held-out data better is taken (without any, what has the lower free energy)
        and settles on all counts. Costs one to two fits of that number, which is little next to
        growing; at the number that was found nothing is cooled. Every seed gives the same answer.
        Where a `TimeLimit` passes while it cools, the components that were put together are taken.

        Parameters
        ----------
        n_components : int
            At most as many as the run came to (the last of `path_`).
        X : counts (I, J)
            What the model was fitted to.
        sample_weight : array-like (I,), optional

        Returns
        -------
        fitted estimator
            A copy; its `n_components` is the number asked for, its `temperature_` that of a fit.
        """
        counts, weight = check_cut(self, n_components, X, sample_weight)
        other = copy.copy(self)
        other.n_components = n_components
        for name in (*OF_GROWING, EDITS, BEFORE, PINNED):
            if name in vars(other):
                delattr(other, name)
        table = Table(counts, weight, other._data)
        if n_components == self.n_components_:
            other._set_fitted(other._settled_again(table))
        else:
            with other._fit_told():
                fitted = other._settled_from(table, self._starts(n_components))
            other._set_fitted(fitted)
        other._come_home()
        return other

    def _fitted(self, table: Table, rng: Rng) -> Fitted:
        def grow() -> Fitted:
            return super(GrowingEstimator, self)._fitted(table, rng)

        return with_levels(self, table, grow, _refitted, _fitted_half)

    def _starts(self, n_components: int) -> list[tuple[CountModel, Array]]:
        """Where else a cut may begin: a model, and distributions over columns (J, K)."""
        if n_components < self.n_components_:
            return [_put_together(self, n_components)]
        finer = [
            level for level in getattr(self, "levels_", ()) if level.n_components > n_components
        ]
        return [_put_together(self.at(finer[0]), n_components)] if finer else []

    def _settled_again(self, table: Table) -> Fitted:
        """The same solution, settled on the table at its temperature."""
        recipe = self._full_recipe(table)
        data = table.placed()
        plan = Plan(data, data, None, Fixed(self.temperature_))
        state = state_of(self.model_, data, self.params_)
        fit = self._engine(plan.schedule).run(self.model_, data, as_generator(0), state=state)
        return Fitted(recipe, plan, fit, fit)

    def _settled_from(self, table: Table, starts: Sequence[tuple[CountModel, Array]]) -> Fitted:
        """A fit of a number of components, begun also from these starts, whichever is better."""
        recipe, rng = self._full_recipe(table), as_generator(0)
        annealer = self._engine(recipe.schedule)
        plan, curve = planned(recipe, table, annealer)
        annealer = steered(annealer, recipe, plan)
        with one_blas_thread():
            cooled = recipe.cool(recipe, annealer, plan, rng)
            states = [
                (one, state_of(one, plan.data, one.init(plan.data.summary, columns)))
                for one, columns in starts
            ]
            if states and time_is_up(annealer.callbacks) and cooled.outcome is Outcome.STOPPED:
                # What was cooled so far may be copies; what was put together is not.
                cooled, states = self._at_once(annealer, cooled, states[0], plan), []
            best, n_sweeps = better(annealer, cooled, states, plan.data, plan.heldout)
            fit = settled(annealer, plan, best, rng)
        return Fitted(recipe, plan, fit, best, curve, more_sweeps=n_sweeps)

    def _at_once(
        self, annealer: Annealer, cooled: Fit, start: tuple[CountModel, State], plan: Plan
    ) -> Fit:
        """A start after a single sweep at the temperature of this model, in place of a cooling."""
        model, state = start
        short = dataclasses.replace(
            annealer, schedule=Fixed(self.temperature_), max_sweeps=1, callbacks=()
        )
        fit = short.run(model, plan.data, as_generator(0), heldout=plan.heldout, state=state)
        return dataclasses.replace(
            fit,
            trace=(*cooled.trace, *fit.trace),
            outcome=cooled.outcome,
            first_critical=cooled.first_critical,
        )

    def _growing(
        self,
        models: tuple[CountModel, ...],
        cooling: Schedule,
        splitting: Schedule,
        start: Start,
        tree: Callable[[Plan, Fit], Tree] | None = None,
    ) -> Recipe:
        """The recipe of a number of components, or of one that is found; models as in `Recipe`."""
        tree = _tree_of_columns if tree is None else tree
        if self._grows:
            growth = Growth(self.max_components)
            return Recipe(models, splitting, Noisy(), growth=growth, cool=cool_and_grow, tree=tree)
        untempered = self.schedule is None and has_untempered_prior(models[-1])
        cool = cool_tempered_first if untempered else cool_plainly
        return Recipe(models, cooling, start, cool=cool, tree=tree)

    @property
    def _grows(self) -> bool:
        return isinstance(self.n_components, str)

    @property
    def _n_first(self) -> int:
        """Number of components at the start."""
        return 1 if self._grows else int(self.n_components)

    def _check(self) -> None:
        if not self._grows:
            return
        if self.start is not None:
            raise IsothermError(
                f"start={self.start!r} with n_components='auto'; a model that grows begins with "
                "one component: leave start out, or give a number of components",
                parameter="start",
                also=("n_components",),
            )
        schedule = self.schedule
        if isinstance(schedule, Fixed | Tempered) or getattr(schedule, "restarts", False):
            raise IsothermError(
                f"schedule={schedule!r} with n_components='auto'; components split while the model "
                "cools: use Splitting, Exponential or Linear, or give a number of components",
                parameter="schedule",
                also=("n_components",),
            )


def _put_together(model: GrowingEstimator, number: int) -> tuple[CountModel, Array]:
    """A model of some number of components, and theirs put together along their tree, (J, number).

    One of a file from before models had that tree is put together along its splits.
    """
    tree: Tree = getattr(model, "topic_tree_", None) or model.tree_
    table = _joined(model.weights_, model.components_.T, tree.cut(number))
    return model.model_.sized(number), table


def _refitted(model: GrowingEstimator, table: Table, finer: GrowingEstimator | None) -> Fitted:
    """A level: a fit of its number, or what the next finer one comes to when it is put together."""
    starts = [] if finer is None else finer._starts(model._n_first)
    return model._settled_from(table, starts)


def _fitted_half(
    model: GrowingEstimator, table: Table, temperature: float | None, first_critical: float
) -> Solution:
    """A fit of half of the rows; where both priors would do, with the one that takes less time."""
    if getattr(model, "temper_prior", None) == AUTO:
        model.temper_prior = True
    return cooled_half(model, table, temperature, first_critical)


def cool_and_grow(recipe: Recipe, annealer: Annealer, plan: Plan, rng: Rng) -> Fit:
    """Runs of the models, each from one component; the preferred one with as few as will do."""
    if plan.heldout is None:
        # Nothing would say which of them is better.
        fit = annealer.run(recipe.models[-1], plan.data, rng)
        return _apart(annealer, fit, plan.data)
    fits: list[Fit] = []
    outcome = Outcome.FINISHED
    try:
        for model in recipe.models:
            with progress.phase("growing", 0.88 / len(recipe.models)):
                fits.append(annealer.run(model, plan.data, rng, heldout=plan.heldout))
            if fits[-1].outcome is Outcome.INTERRUPTED or time_is_up(annealer.callbacks):
                break
    except KeyboardInterrupt:
        if not fits:
            raise
        outcome = Outcome.INTERRUPTED
    growth = annealer.growth or Growth()
    best = preferred(fits, max(CLEARLY, TIMES * growth.needed(plan.heldout.size)))
    # An interrupt ends the fit, also where what came before it is what is kept.
    if Outcome.INTERRUPTED in (outcome, fits[-1].outcome):
        best = dataclasses.replace(best, outcome=Outcome.INTERRUPTED)
    else:
        with progress.phase("merging", 0.12):
            best = fewest(annealer, best, plan.data, plan.heldout)
    return _apart(annealer, best, plan.data)


def _apart(annealer: Annealer, fit: Fit, data: Data) -> Fit:
    """The fit without copies, where an interrupt or a limit of time broke the growing off."""
    broken_off = fit.outcome is Outcome.INTERRUPTED or time_is_up(annealer.callbacks)
    return without_copies(annealer, fit, data) if broken_off else fit


def cool_tempered_first(recipe: Recipe, annealer: Annealer, plan: Plan, rng: Rng) -> Fit:
    """A model with an untempered prior, along the path of the tempered one."""
    model = recipe.models[-1]
    assert has_untempered_prior(model)
    return cooled_tempered(annealer, model, plan.data, plan.heldout, rng)


def _tree_of_columns(plan: Plan, fit: Fit) -> Tree:
    """Where every row has one component, components are told by their columns alone."""
    return tree_by_columns(*fit.model.components(fit.state.params))


def preferred(fits: Sequence[Fit], share: float) -> Fit:
    """The first fit, unless a later one has a held-out score lower by this share."""
    best = fits[0]
    for fit in fits[1:]:
        if _score(fit) < (1.0 - share) * _score(best):
            best = fit
    return best


def better(
    annealer: Annealer,
    fit: Fit,
    states: Sequence[tuple[CountModel, State]],
    data: Data,
    heldout: Heldout | None,
) -> tuple[Fit, int]:
    """The fit, or what settles from another state at its temperature; sweeps that it took.

    Whatever predicts held-out data best; where there are none, what has the lowest free energy.
    """
    if fit.outcome is Outcome.INTERRUPTED:
        return fit, 0
    here = dataclasses.replace(annealer, schedule=Fixed(fit.temperature), callbacks=())
    best, n_sweeps, score = fit, 0, _score_at(fit, fit.temperature, heldout)
    try:
        for model, state in states:
            rng = np.random.default_rng(0)
            other = completed(here.run(model, data, rng, heldout=heldout, state=state))
            n_sweeps += other.n_sweeps
            found = _score_at(other, fit.temperature, heldout)
            if found < score:
                best, score = dataclasses.replace(fit, model=model, state=other.state), found
    except KeyboardInterrupt:
        best = dataclasses.replace(best, outcome=Outcome.INTERRUPTED)
    return best, n_sweeps


def _score_at(fit: Fit, temperature: float, heldout: Heldout | None) -> float:
    record = next(record for record in reversed(fit.trace) if record.temperature == temperature)
    return record.free_energy if heldout is None else record.heldout


def _joined(weight: Array, table: Array, groups: Sequence[Sequence[int]]) -> Array:
    """Distributions (J, G) of groups of the components of a table (J, K), by their weights."""
    means = []
    for group in map(list, groups):
        share = weight[group] / max(weight[group].sum(), 1e-300)
        means.append(table[:, group] @ share.astype(table.dtype))
    return np.stack(means, axis=1)


def _score(fit: Fit) -> float:
    """Held-out score of the state that a fit returns."""
    same = [step.heldout for step in fit.path if step.n_components == fit.model.n_components]
    return same[0]
