"""A number of components that is found: what estimators do whose components may split."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from isotherm import _checks
from isotherm.anneal.callbacks import GenerationRule, time_is_up
from isotherm.anneal.engine import Annealer
from isotherm.anneal.growth.grow import Growth
from isotherm.anneal.growth.linkage import tree_by_columns
from isotherm.anneal.growth.prune import fewest, without_copies
from isotherm.anneal.heldout import Heldout
from isotherm.anneal.schedule import Fixed, Schedule, Tempered
from isotherm.anneal.start import Noisy, state_of
from isotherm.anneal.trace import Fit, Outcome, State, Step, completed
from isotherm.data import checks
from isotherm.data.base import Array
from isotherm.data.split import as_generator
from isotherm.errors import IsothermError
from isotherm.estimators.counts import MANY, CountEstimator
from isotherm.estimators.plan import Plan
from isotherm.estimators.untempered import cooled_tempered, has_untempered_prior
from isotherm.kernels.cpu.dense import one_blas_thread
from isotherm.models.base import CountModel
from isotherm.placement.base import Data
from isotherm.tree import Tree

AUTO = "auto"
# A model that is not preferred must have a held-out score lower by this share, and by so many times
# what more components must be worth.
CLEARLY, TIMES = 0.01, 2.0


class GrowingEstimator(CountEstimator):
    """Base of the estimators for counts that take `n_components="auto"`; not for direct use.

    A shell defines `_growing_schedule`, and `_alternatives` if there is more than one model to try.
    """

    # What the similarities of `topic_tree_` say, for those who see it.
    similarity_meaning = (
        "the share of all differences between {components} that is left where two branches are one"
    )

    def cut(self, n_components: int, X: Any, sample_weight: Any = None) -> Self:
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
        check_is_fitted(self)
        if not hasattr(self, "path_"):
            raise IsothermError(
                f"the model was fitted with n_components={self.n_components}; only one that grew, "
                "with n_components='auto', can be cut"
            )
        _checks.integer("n_components", n_components, 1)
        if n_components > self.path_[-1].n_components:
            raise IsothermError(
                f"n_components={n_components}; the fit came to at most "
                f"{self.path_[-1].n_components} components on its way: ask for no more, or fit "
                "with that number"
            )
        counts = self._counts(X, reset=False)
        weight = checks.row_weights(sample_weight, counts.row_totals)
        other = copy.copy(self)
        other.n_components = n_components
        del other.path_, other.tree_
        if n_components == self.n_components_:
            data = self._data(counts, weight)
            plan = Plan(data, data, None, Fixed(self.temperature_))
            state = state_of(self.model_, data, self.params_)
            fit = self._engine(plan.schedule).run(self.model_, data, as_generator(0), state=state)
            other._set_fitted(plan, fit, fit)
        else:
            with other._fit_told():
                other._settle(counts, weight, self._starts(n_components))
        other._come_home()
        return other

    def _starts(self, n_components: int) -> list[tuple[CountModel, Array]]:
        """Where else a cut may begin: a model, and distributions over columns (J, K)."""
        tree: Tree | None = getattr(self, "topic_tree_", None)
        if tree is not None and n_components < self.n_components_:
            groups = tree.cut(n_components)
            table = _joined(self.weights_, self.components_.T, groups)
            return [(self.model_.sized(n_components), table)]
        # More components than were chosen, or a model of a file from before there was that tree.
        step = next(step for step in self.path_ if step.n_components >= n_components)
        weight, table = step.model.components(step.params)
        groups = step.tree.cut(n_components)
        return [(step.model.sized(n_components), _joined(weight, table, groups))]

    def _settle(
        self, counts: Any, weight: Array | None, starts: Sequence[tuple[CountModel, Array]]
    ) -> None:
        """Fit a number of components, beginning also from these starts, whichever is better."""
        total = counts.total if weight is None else float(weight @ counts.row_totals)
        model, rng = self._model(counts.n_rows, total), as_generator(0)
        plan = self._plan(model, counts, weight)
        annealer = self._annealer(plan)
        with one_blas_thread():
            cooled = self._cooled(annealer, plan, model, rng)
            states = [
                (one, state_of(one, plan.data, one.init(plan.data.summary, table)))
                for one, table in starts
            ]
            if time_is_up(annealer.callbacks) and cooled.outcome is Outcome.STOPPED:
                # What was cooled so far may be copies; what was put together is not.
                cooled = self._at_once(annealer, cooled, states[0], plan)
                states = []
            best, n_sweeps = better(annealer, cooled, states, plan.data, plan.heldout)
            fit = self._finished(annealer, plan, best, rng)
        self._set_fitted(plan, fit, best)
        self.n_iter_ += n_sweeps

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

    def _growing_schedule(self) -> Schedule:
        raise NotImplementedError

    def _topic_tree(self, plan: Plan, fit: Fit) -> Tree:
        """Where every row has one component, components are told by their columns alone."""
        return tree_by_columns(*fit.model.components(fit.state.params))

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
        if not self._grows and self.schedule is None and has_untempered_prior(model):
            return cooled_tempered(annealer, model, plan.data, plan.heldout, rng)
        models = self._alternatives(model) if self._grows else [model]
        if plan.heldout is None:
            # Nothing would say which of them is better.
            fit = annealer.run(models[-1], plan.data, rng)
            return _apart(annealer, fit, plan.data) if self._grows else fit
        fits: list[Fit] = []
        outcome = Outcome.FINISHED
        try:
            for one in models:
                fits.append(annealer.run(one, plan.data, rng, heldout=plan.heldout))
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
        elif self._grows:
            best = fewest(annealer, best, plan.data, plan.heldout)
        return _apart(annealer, best, plan.data) if self._grows else best

    def _check_n_components(self) -> None:
        _checks.integer("max_components", self.max_components, 1)
        if not self._grows:
            _checks.integer("n_components", self.n_components, 1)
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
            callbacks.append(GenerationRule(self._patience, gain, limit=growth.enough))
        return dataclasses.replace(engine, start=Noisy(), callbacks=callbacks, growth=growth)

    def _set_fitted(self, plan: Plan, fit: Fit, cooled: Fit) -> None:
        super()._set_fitted(plan, fit, cooled)
        with one_blas_thread():
            self.topic_tree_: Tree = self._topic_tree(plan, fit)
        if cooled.tree is not None:
            self.tree_: Tree = cooled.tree
            self.path_: tuple[Step, ...] = cooled.path


def _apart(annealer: Annealer, fit: Fit, data: Data) -> Fit:
    """The fit without copies, where an interrupt or a limit of time broke the growing off."""
    broken_off = fit.outcome is Outcome.INTERRUPTED or time_is_up(annealer.callbacks)
    return without_copies(annealer, fit, data) if broken_off else fit


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
    states: Sequence[tuple[Any, State]],
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
