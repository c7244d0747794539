"""A number of components that is found: what estimators do whose components may split."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from isotherm.anneal.callbacks import GenerationRule
from isotherm.anneal.engine import Annealer
from isotherm.anneal.grow import Growth
from isotherm.anneal.prune import fewest
from isotherm.anneal.schedule import Fixed, Schedule, Tempered
from isotherm.anneal.start import Noisy, state_of
from isotherm.anneal.trace import Fit, Outcome, State, Step
from isotherm.data.base import Array, Data
from isotherm.data.split import as_generator
from isotherm.errors import IsothermError
from isotherm.estimators import checks
from isotherm.estimators.base import MANY, CountEstimator, Plan
from isotherm.models.base import CountModel
from isotherm.tree import Tree

AUTO = "auto"
# A model that is not preferred must have a held-out score lower by this share, and by so many times
# what more components must be worth.
CLEARLY, TIMES = 0.01, 2.0


class GrowingEstimator(CountEstimator):
    """Base of the estimators for counts that take `n_components="auto"`; not for direct use.

    A shell defines `_growing_schedule`, and `_alternatives` if there is more than one model to try.
    """

    def cut(self, n_components: int, X: Any, sample_weight: Any = None) -> Self:
        """The same model with another number of components, from the run that grew this one.

        Components that split beyond that number are put together again, along the tree; the
        solution then settles on the counts. Needs no cooling: much cheaper than a fit. Components
        that are one at that temperature stay one (`n_distinct_` says how many there are).

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
            A copy; its `n_components` is the number asked for.
        """
        check_is_fitted(self)
        if not hasattr(self, "path_"):
            raise IsothermError(
                f"the model was fitted with n_components={self.n_components}; only one that grew, "
                "with n_components='auto', can be cut"
            )
        counts = self._counts(X, reset=False)
        weight = checks.row_weights(sample_weight, counts.row_totals)
        data = self._data(counts, weight)
        step, state = cut_state(self.path_, n_components, data)
        engine = self._engine(Fixed(step.temperature))
        fit = engine.run(step.model, data, as_generator(0), state=state)
        other = copy.copy(self)
        other.n_components = n_components
        del other.path_, other.tree_
        other._set_fitted(Plan(data, data, None, engine.schedule), fit, fit)
        other._come_home()
        return other

    def _growing_schedule(self) -> Schedule:
        raise NotImplementedError

    def _alternatives(self, model: Any) -> list[CountModel]:
        """Models to grow, the preferred one first."""
        return [model]

    @property
    def _grows(self) -> bool:
        return isinstance(self.n_components, str)

    @property
    def _n_expected(self) -> int:
        return MANY if self._grows else int(self.n_components)

    @property
    def _n_first(self) -> int:
        """Number of components at the start."""
        return 1 if self._grows else int(self.n_components)

    def _cooling(self) -> Schedule:
        if self._grows and self.schedule is None:
            return self._growing_schedule()
        return super()._cooling()

    def _cooled(
        self, annealer: Annealer, plan: Plan, model: CountModel, rng: np.random.Generator
    ) -> Fit:
        models = self._alternatives(model) if self._grows else [model]
        if plan.heldout is None:
            # Nothing would say which of them is better.
            return annealer.run(models[-1], plan.data, rng)
        fits: list[Fit] = []
        outcome = Outcome.FINISHED
        try:
            for one in models:
                fits.append(annealer.run(one, plan.data, rng, heldout=plan.heldout))
                if fits[-1].outcome is Outcome.INTERRUPTED:
                    break
        except KeyboardInterrupt:
            if not fits:
                raise
            outcome = Outcome.INTERRUPTED
        growth = annealer.growth or Growth()
        best = preferred(fits, max(CLEARLY, TIMES * growth.needed(plan.heldout.size)))
        # An interrupt ends the fit, also where what came before it is what is kept.
        if Outcome.INTERRUPTED in (outcome, fits[-1].outcome):
            return dataclasses.replace(best, outcome=Outcome.INTERRUPTED)
        return fewest(annealer, best, plan.data, plan.heldout) if self._grows else best

    def _check_n_components(self) -> None:
        checks.integer("max_components", self.max_components, 1)
        if not self._grows:
            checks.integer("n_components", self.n_components, 1)
            return
        if self.n_components != AUTO:
            raise IsothermError(
                f"n_components={self.n_components!r}; it must be an integer of at least 1 or 'auto'"
            )
        if self.start is not None:
            raise IsothermError(
                f"start={self.start!r} with n_components='auto'; a model that grows begins with "
                "one component: leave start out, or give a number of components"
            )
        schedule = self.schedule
        if isinstance(schedule, Fixed | Tempered) or getattr(schedule, "restarts", False):
            raise IsothermError(
                f"schedule={schedule!r} with n_components='auto'; components split while the model "
                "cools: use Splitting, Exponential or Linear, or give a number of components"
            )

    def _annealer(self, plan: Plan) -> Annealer:
        if not self._grows:
            return super()._annealer(plan)
        engine, growth = self._engine(plan.schedule), Growth(self.max_components)
        callbacks = list(engine.callbacks)
        if plan.heldout is not None:
            gain = growth.needed(plan.heldout.size)
            callbacks.append(GenerationRule(self.patience, gain, limit=growth.enough))
        return dataclasses.replace(engine, start=Noisy(), callbacks=callbacks, growth=growth)

    def _set_fitted(self, plan: Plan, fit: Fit, cooled: Fit) -> None:
        super()._set_fitted(plan, fit, cooled)
        if cooled.tree is not None:
            self.tree_: Tree = cooled.tree
            self.path_: tuple[Step, ...] = cooled.path


def preferred(fits: Sequence[Fit], share: float) -> Fit:
    """The first fit, unless a later one has a held-out score lower by this share."""
    best = fits[0]
    for fit in fits[1:]:
        if _score(fit) < (1.0 - share) * _score(best):
            best = fit
    return best


def cut_state(path: Sequence[Step], n_components: int, data: Data) -> tuple[Step, State]:
    """Where to begin with so many components: a step of the path, joined along its tree.

    The step is the one with the fewest components that are enough; those that its last splits made
    are put together again.
    """
    checks.integer("n_components", n_components, 1)
    enough = [step for step in path if step.n_components >= n_components]
    if not enough:
        raise IsothermError(
            f"n_components={n_components}; the fit came to at most {path[-1].n_components} "
            "components on its way: ask for no more, or fit with that number"
        )
    step = enough[0]
    if step.n_components == n_components:
        return step, state_of(step.model, data, step.params)
    model = step.model.sized(n_components)
    weight, table = step.model.components(step.params)
    groups = step.tree.cut(n_components)
    joined = np.stack([_mean_of(table, weight, np.array(group)) for group in groups], axis=1)
    state = state_of(model, data, model.init(data.summary, joined))
    return step._replace(model=model), state


def _mean_of(table: Array, weight: Array, group: Array) -> Array:
    """Distribution (J,) of some components of a table (J, K) put together, by their weights."""
    share = weight[group] / max(weight[group].sum(), 1e-300)
    return np.asarray(table[:, group] @ share.astype(table.dtype))


def _score(fit: Fit) -> float:
    """Held-out score of the state that a fit returns."""
    same = [step.heldout for step in fit.path if step.n_components == fit.model.n_components]
    return same[0]
