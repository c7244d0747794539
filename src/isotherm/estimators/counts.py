"""What all count estimators share: validation, placing, running, folding in, scoring, words.

A shell defines its parameters, `_model` (settings of the model), `_schedule` and `_start` (how it
is cooled when the user does not say); the rest is here.
"""

from __future__ import annotations

import dataclasses
import logging
import warnings
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from isotherm import _checks, _nested
from isotherm._markup import Description, Part
from isotherm.anneal import scores
from isotherm.anneal.callbacks import HeldoutRule, Log, time_is_up
from isotherm.anneal.crossval import Curve
from isotherm.anneal.engine import Annealer
from isotherm.anneal.fold import fold_in
from isotherm.anneal.heldout import SMOOTHING, smoothed_unigram
from isotherm.anneal.schedule import Fixed, Schedule
from isotherm.anneal.start import Start, state_of
from isotherm.anneal.trace import Fit, Outcome, Record
from isotherm.data import checks, foreign
from isotherm.data.base import Array
from isotherm.data.counts import Counts, as_counts
from isotherm.data.split import as_generator
from isotherm.data.stored import StoredCounts
from isotherm.errors import IsothermError, IsothermWarning
from isotherm.estimators.base import Annealed
from isotherm.estimators.holdout import Folds, Rows, Tokens
from isotherm.estimators.plan import Plan, Table, curve_over_folds, ended_at
from isotherm.estimators.warming import loaded
from isotherm.kernels.cpu.dense import one_blas_thread
from isotherm.models.base import DEAD, CountModel, distinct_components
from isotherm.placement.base import Expected
from isotherm.placement.place import place

log = logging.getLogger("isotherm")

# Below this many non-zeros x components double precision costs nothing that anyone would notice.
SMALL_WORK = 2_000_000
# As many components as this are expected where the number is to be found.
MANY = 64
# Sweeps that give rows their weights where there is no time for more.
BRIEF = 10


class _Weights(NamedTuple):
    weights: Array


class CountEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Annealed):
    """Base of the estimators for counts; not for direct use."""

    # Whether everything goes through `_data`: then rows may come from the disk, block by block.
    _streams = True
    _one_process: str | None = None
    # What may be held out to choose the temperature, the default first.
    _holds_out: ClassVar[tuple[type[Tokens] | type[Rows], ...]] = (Tokens,)

    def _fit(self, X: Any, sample_weight: Any) -> None:
        self._check_parameters()
        counts = self._counts(X, reset=True)
        weight = checks.row_weights(sample_weight, counts.row_totals)
        rng = as_generator(self.random_state)
        total = counts.total if weight is None else float(weight @ counts.row_totals)
        self._choose_precision(counts)
        self._learn(counts, weight)
        model = self._model(counts.n_rows, total)
        plan = self._plan(model, counts, weight)
        self._set_fitted(plan, *self._carried_out(plan, model, rng))

    def _load_libraries(self, counts: StoredCounts) -> None:
        self._check_parameters()
        self._check_streams(counts)
        small = counts.nnz * self._n_expected < SMALL_WORK
        loaded(self, "float64" if small and self._settings.precision == "auto" else "float32")

    def _choose_precision(self, counts: Counts) -> None:
        small = counts.nnz * self._n_expected < SMALL_WORK
        auto = "float64" if small else "float32"
        precision = self._settings.precision
        self.precision_ = auto if precision == "auto" else precision

    def _carried_out(
        self, plan: Plan, model: CountModel, rng: np.random.Generator
    ) -> tuple[Fit, Fit]:
        """The fit on all counts, and the one that chose the temperature."""
        annealer = self._annealer(plan)
        # Tables are narrow: threads of BLAS would wait for each other longer than they work.
        with one_blas_thread():
            cooled = self._cooled(annealer, plan, model, rng)
            return self._finished(annealer, plan, cooled, rng), cooled

    def transform(self, X: Any) -> Array:
        """Weights of the components in each row, (I, K), by folding in.

        Every row is treated by itself, at the temperature of the fit: the result does not depend
        on the other rows. An empty row says nothing: it gets what the model holds without counts.
        """
        check_is_fitted(self)
        data = self._placed(self._counts(X, reset=False))
        rows = fold_in(self.model_, self.params_, data, self.temperature_)
        return _row_weights(self.model_, self.params_, data, rows)

    def perplexity(self, X: Any, X_heldout: Any = None, *, smoothing: float = SMOOTHING) -> float:
        """Perplexity per token of held-out tokens, natural logarithm; lower is better.

        Without `X_heldout`, document completion: half of the tokens of every row of X (chosen by
        the row's content) are folded in and the other half predicted. With `X_heldout`, X is
        folded in and `X_heldout`, other tokens of the same rows, predicted.

        Parameters
        ----------
        X : counts (I, J)
        X_heldout : counts (I, J), optional
        smoothing : float
            Share of the training corpus's unigram distribution in the prediction.
        """
        check_is_fitted(self)
        total, tokens = self._heldout(X, X_heldout, smoothing)
        return scores.perplexity(total, tokens)

    def score(self, X: Any, y: Any = None) -> float:
        """Log-likelihood per token by document completion; higher is better."""
        check_is_fitted(self)
        total, tokens = self._heldout(X, None, SMOOTHING)
        return total / tokens if tokens else float("nan")

    def top_words(
        self, n_words: int = 10, *, by: str = "probability", names: Any = None
    ) -> list[list[str]]:
        """Most telling columns of every component.

        Parameters
        ----------
        n_words : int
        by : {"probability", "lift"}
            Order by P(y|k), or by P(y|k) / p(y) damped for rare columns.
        names : sequence (J,), optional
            Names of the columns, where the data of the fit had none, as a matrix of
            CountVectorizer: its `get_feature_names_out()`.
        """
        check_is_fitted(self)
        _checks.integer("n_words", n_words, 1)
        _checks.one_of("by", by, ("probability", "lift"))
        table = self.components_
        if by == "lift":
            # An average probability in the denominator keeps one-off columns down.
            table = table / (self.unigram_ + 1.0 / len(self.unigram_))
        names = self._column_names(names)
        order = np.argsort(-table, axis=1, kind="stable")[:, :n_words]
        return [[str(names[j]) for j in row] for row in order]

    def describe(self, n_words: int = 8, *, names: Any = None) -> Description:
        """Readable summary of the fit: a line on the run, a line per component.

        A str, which a notebook shows as a table.

        Parameters
        ----------
        n_words : int
        names : sequence (J,), optional
            As in `top_words`.
        """
        check_is_fitted(self)
        head = (
            f"{type(self).__name__}: {len(self.weights_)} components "
            f"({self.n_distinct_} distinct) at T = {self.temperature_:.4g}, "
            f"{self.n_iter_} sweeps, {len({one.temperature for one in self.trace_})} temperatures"
        )
        if self.outcome_ == Outcome.INTERRUPTED.value:
            head += f"\n{self.outcome_}"
        words = self.top_words(n_words, names=names)
        order = np.argsort(-self.weights_, kind="stable").tolist()
        rows = [(k, f"{100 * self.weights_[k]:.1f} %", " ".join(words[k])) for k in order]
        lines = [f"{k:4d}  {share:>7}  {shown}" for k, share, shown in rows]
        part = Part(("component", "share", "words"), rows)
        return Description("\n".join([head, *lines]), (head, part))

    # What a shell may override ---------------------------------------------------------------

    def _model(self, n_rows: int, total: float) -> CountModel:
        raise NotImplementedError

    def _schedule(self) -> Schedule:
        raise NotImplementedError

    def _start(self) -> Start:
        raise NotImplementedError

    def _plan(self, model: CountModel, counts: Counts, weight: Array | None) -> Plan:
        """Tokens or rows held out steer the stop, or folds of them have said where it is."""
        table = Table(counts, weight, self._data)
        full = table.placed()
        plan, rule = Plan(full, full, None, self._cooling()), self._settings.holdout
        if isinstance(rule, Folds):
            # The user's callbacks are for the fit itself, not for every fold.
            annealer = dataclasses.replace(self._annealer(plan), callbacks=(Log(),))
            curve = curve_over_folds(rule, self._held_out, table, model, annealer)
            self.cv_curve_: Curve = curve
            return plan._replace(schedule=ended_at(plan.schedule, curve, model, full))
        split = table.split(self._held_out, self.validation_fraction)
        if split is not None:
            return plan._replace(data=split.data, heldout=split.heldout)
        if self.validation_fraction:
            self._warn_of_nothing_held_out()
        return plan

    @property
    def _held_out(self) -> Tokens | Rows:
        """What is held out, once or by every fold."""
        rule = self._settings.holdout
        rule = rule.of if isinstance(rule, Folds) else rule
        return self._holds_out[0]() if rule is None else rule

    def _check_holdout(self) -> None:
        """Refuse to hold out what the model cannot be scored by, and folds that make no sense."""
        asked, rule = self._settings.holdout, self._held_out
        if not isinstance(rule, self._holds_out):
            allowed = " or ".join(f"{kind.__name__}()" for kind in self._holds_out)
            raise IsothermError(
                f"holdout={asked!r} with {type(self).__name__}, which is scored by {allowed} alone"
            )
        if not isinstance(asked, Folds):
            return
        if isinstance(self.n_components, str):
            raise IsothermError(
                f"holdout={asked!r} with n_components={self.n_components!r}; folds grow different "
                "numbers of components: hold out once, or give a number of components"
            )
        if isinstance(rule, Tokens) and not isinstance(asked.cv, int):
            raise IsothermError(
                f"holdout={asked!r} with tokens held out, which are dealt into so many parts: give "
                "a number, such as Folds(5)"
            )

    def _learn(self, counts: Counts, weight: Array | None) -> None:
        """Remember what `_prepared` will need; refuse counts that are too much."""

    def _prepared(self, counts: Counts) -> Counts:
        """Counts as the model is given them."""
        return counts

    def _placed(self, counts: Counts) -> Any:
        """New rows as the model folds them in."""
        return self._data(counts, None, new=True)

    # The rest --------------------------------------------------------------------------------

    def _data(self, counts: Any, weight: Array | None, *, new: bool = False) -> Any:
        """Counts as the model is given them, placed where they belong; new rows without batches."""
        if type(self)._prepared is not CountEstimator._prepared:
            counts = counts.changed(self._prepared)
        batches = self._settings.batches
        batch = None if new or batches is None else batches.batch
        return place(
            counts, self._kernels(), weight=weight, n_components=self._n_expected, batch=batch
        )

    @property
    def _n_expected(self) -> int:
        """Number of components to expect."""
        return int(self.n_components)

    def _cooling(self) -> Schedule:
        """The user's schedule, or the default one."""
        schedule: Schedule = self.schedule or self._schedule()
        return schedule

    def _cooled(
        self, annealer: Annealer, plan: Plan, model: CountModel, rng: np.random.Generator
    ) -> Fit:
        return annealer.run(model, plan.data, rng, heldout=plan.heldout)

    def _check_n_components(self) -> None:
        _checks.integer("n_components", self.n_components, 1)

    def _check_parameters(self) -> None:
        self._check_n_components()
        _checks.number("validation_fraction", self.validation_fraction, 0.0, 0.9)
        self._check_engine()
        self._check_holdout()
        _checks.provides("start", self.start, "state", "Spectral() or Noisy()")

    def _counts(self, X: Any, *, reset: bool) -> Counts:
        """Validated counts; a fit remembers the columns, everything after is held to them."""
        counts = self._read(X, reset=reset)
        if reset:
            checks.size_of_counts(counts)
        return counts

    def _read(self, X: Any, *, reset: bool) -> Counts:
        if isinstance(X, Counts):
            self._check_names(X, reset)
            return X
        if isinstance(X, StoredCounts):
            self._check_streams(X)
            self._check_names(X, reset)
            return X  # type: ignore[return-value]  # what is asked of it, it has
        if foreign.is_annotated(X):
            foreign.check_raw(X)
            counts = as_counts(X, allow_empty=not reset)
            self._check_names(counts, reset)
            return counts
        foreign.check_table(X)
        checked = validate_data(
            self,
            X,
            reset=reset,
            # Duplicates are summed by `as_counts`, in a type that cannot overflow.
            accept_sparse=["csr", "csc", "coo", "bsr", "dia"],
            dtype="numeric",
            ensure_non_negative=True,
        )
        return as_counts(checked, allow_empty=not reset)

    def _warn_of_nothing_held_out(self) -> None:
        if self._n_expected == 1:
            return  # there is no temperature to choose
        message = (
            f"validation_fraction={self.validation_fraction} of so few counts holds nothing out: "
            "cooled to the end of the schedule"
        )
        warnings.warn(message, IsothermWarning, stacklevel=5)

    def _check_streams(self, X: StoredCounts) -> None:
        if not self._streams:
            raise IsothermError(
                f"X is {X!r}, and {type(self).__name__} needs counts in memory; pass X.load(), or "
                "use a model whose rows are not linked, such as AspectModel"
            )

    def _check_names(self, X: Counts | StoredCounts, reset: bool) -> None:
        if reset:
            self.n_features_in_ = X.n_columns
            if X.column_names is not None:
                self.feature_names_in_ = X.column_names
            elif hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            return
        if X.n_columns != self.n_features_in_:
            raise IsothermError(
                f"X has {X.n_columns} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input; count over the columns of the fit"
            )
        known = getattr(self, "feature_names_in_", None)
        if known is not None and X.column_names is not None and list(known) != list(X.column_names):
            raise IsothermError(
                "the column names of X differ from those of the fit; "
                "count over the same columns in the same order"
            )

    def _annealer(self, plan: Plan) -> Annealer:
        engine = self._engine(plan.schedule)
        callbacks = list(engine.callbacks)
        if plan.heldout is not None and not plan.schedule.restarts:
            callbacks.append(HeldoutRule(self._patience))
        start = self.start or self._start()
        return dataclasses.replace(engine, start=start, callbacks=callbacks)

    def _finished(
        self, annealer: Annealer, plan: Plan, cooled: Fit, rng: np.random.Generator
    ) -> Fit:
        """The chosen state, settled on all counts at the chosen temperature.

        After an interrupt, or when time is up, rows get their weights and a single sweep is done.
        """
        if plan.data is plan.full:
            return cooled
        state = state_of(cooled.model, plan.full, cooled.state.params)
        end = dataclasses.replace(
            annealer, schedule=Fixed(cooled.temperature), callbacks=(), growth=None
        )
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
            state = state._replace(
                rows=fold_in(cooled.model, params, plan.full, T, max_sweeps=BRIEF)
            )
        once = dataclasses.replace(end, max_sweeps=1, stepwise=None)
        short = once.run(cooled.model, plan.full, rng, state=state)
        return dataclasses.replace(short, outcome=outcome)

    def _set_fitted(self, plan: Plan, fit: Fit, cooled: Fit) -> None:
        weight, table = fit.model.components(fit.state.params)
        self.model_ = fit.model
        self.params_ = fit.state.params
        self.components_ = np.ascontiguousarray(table.T, dtype=np.float64)
        self.weights_ = np.asarray(weight, np.float64)
        self.row_weights_ = _row_weights(fit.model, fit.state.params, plan.full, fit.state.rows)
        self.temperature_ = fit.temperature
        self.first_critical_ = cooled.first_critical
        self.trace_: tuple[Record, ...] = cooled.trace
        interrupted = Outcome.INTERRUPTED in (cooled.outcome, fit.outcome)
        self.outcome_ = (Outcome.INTERRUPTED if interrupted else cooled.outcome).value
        self.free_energy_ = fit.trace[-1].free_energy
        self.n_iter_ = cooled.n_sweeps + (0 if fit is cooled else fit.n_sweeps)
        self.n_components_ = len(weight)
        self.n_alive_ = int((weight > DEAD).sum())
        self.n_distinct_ = len(distinct_components(weight, table))
        self.unigram_ = plan.full.summary.column_totals / plan.full.summary.total
        self.background_ = smoothed_unigram(plan.full.summary)

    def _heldout(self, X: Any, X_heldout: Any, smoothing: float) -> tuple[float, float]:
        _checks.number("smoothing", smoothing, 0.0, 1.0)
        given: Any = self._counts(X, reset=False)
        if not given.in_memory:
            parts = [self._heldout(rows, None, smoothing) for rows in given.pieces()]
            return sum(total for total, _ in parts), sum(tokens for _, tokens in parts)
        if X_heldout is None:
            given, held = scores.completion_halves(given)
        else:
            held = self._counts(X_heldout, reset=False)
        return scores.heldout_log_likelihood(
            self.model_,
            self.params_,
            self.temperature_,
            self._placed(given),
            held,
            self.background_,
            self._kernels(),
            smoothing,
        )

    def _column_names(self, given: Any = None) -> Array:
        if given is not None:
            return checks.column_names(given, self.n_features_in_)
        names = getattr(self, "feature_names_in_", None)
        return np.arange(self.n_features_in_) if names is None else names

    @property
    def _n_features_out(self) -> int:
        return len(self.weights_)

    def __sklearn_tags__(self) -> Any:
        """Sparse, non-negative input."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags


def _row_weights(model: CountModel, params: Any, data: Any, rows: Any) -> Array:
    """Weights of the components in every row, (I, K) float64, made where the rows are."""
    made, _, _ = data.sweep(_mix, rows, model, params)
    weights: Array = _nested.on_host(data.gather(made)).weights
    return weights


def _mix(k: Any, block: Any, rows: Any, model: CountModel, params: Any) -> Expected:
    weights = np.asarray(_nested.on_host(model.mixture(params, rows)).weights, np.float64)
    return Expected(_Weights(weights), (), 0.0)
