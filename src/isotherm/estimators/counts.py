"""What all count estimators share: validation, placing, running, folding in, scoring, words.

A shell defines its parameters with their checks, `_recipe` (models to try and how they are cooled
when the user does not say) and `_attributes` (what it has besides); the rest is here and in
`recipe`.
"""

from __future__ import annotations

import dataclasses
import logging
import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from isotherm import _checks
from isotherm._markup import Description
from isotherm._types import Params, Rng
from isotherm.anneal import journal, scores
from isotherm.anneal.crossval import Curve
from isotherm.anneal.fold import fold_in, row_weights
from isotherm.anneal.heldout import SMOOTHING, smoothed_unigram
from isotherm.anneal.trace import Outcome, Record, Step, thinned
from isotherm.data import checks, foreign
from isotherm.data.base import Array
from isotherm.data.counts import Counts, as_counts
from isotherm.data.split import as_generator
from isotherm.data.stored import StoredCounts, is_stored
from isotherm.errors import IsothermError
from isotherm.estimators.base import Annealed
from isotherm.estimators.editing import Editable
from isotherm.estimators.exports import Exports
from isotherm.estimators.holdout import Folds, Rows, Tokens
from isotherm.estimators.levels import Level, set_level
from isotherm.estimators.names import names_of
from isotherm.estimators.parameters import Checks, integer, number, provides
from isotherm.estimators.plan import Hold, Table
from isotherm.estimators.recipe import Fitted, Recipe, fit_table
from isotherm.estimators.words import Prominence, prominence, told_by
from isotherm.kernels.cpu.dense import one_blas_thread
from isotherm.models.base import DEAD, CountModel, distinct_components
from isotherm.placement.base import Data
from isotherm.placement.place import AnyCounts, place
from isotherm.tree import Tree

log = logging.getLogger("isotherm")

# Below this many non-zeros x components double precision costs nothing that anyone would notice.
SMALL_WORK = 2_000_000
# As many components as this are expected where the number is to be found.
MANY = 64
# By what words are ordered, the default first.
ORDERS = ("telling", "probability", "lift")
# Kinds of estimators whose code is loaded, with their devices and precisions.
_LOADED: set[tuple[object, ...]] = set()


class CountEstimator(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, Editable, Exports, Annealed
):
    """Base of the estimators for counts; not for direct use."""

    # Whether everything goes through `_data`: then rows may come from the disk, block by block.
    _streams = True
    _one_process: str | None = None
    _noun = "topic"
    _parameters: ClassVar[Checks] = {
        "n_components": integer(1),
        "validation_fraction": number(0.0, 0.9),
        "start": provides("state", "Spectral() or Noisy()"),
    }
    # What may be held out to choose the temperature, the default first.
    _holds_out: ClassVar[tuple[type[Tokens] | type[Rows], ...]] = (Tokens,)
    # Whether folds may come to different numbers of components.
    _folds_of_any_number: ClassVar[bool] = False

    def _fit(self, X: object, sample_weight: object) -> None:
        self._check_parameters()
        counts = self._counts(X, reset=True)
        weight = checks.row_weights(sample_weight, counts.row_totals)
        rng = as_generator(self.random_state)
        self._choose_precision(counts)
        self._set_fitted(self._fitted(Table(counts, weight, self._data), rng))
        self.row_totals_ = counts.row_totals

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

    def transform(self, X: object) -> Array:
        """Weights of the components in each row, (I, K), by folding in.

        Every row is treated by itself, at the temperature of the fit: the result does not depend
        on the other rows. An empty row says nothing: it gets what the model holds without counts.
        """
        check_is_fitted(self)
        data = self._new_rows(self._counts(X, reset=False))
        rows = fold_in(self.model_, self.params_, data, self.temperature_)
        return row_weights(self.model_, self.params_, data, rows)

    def perplexity(
        self, X: object, X_heldout: object = None, *, smoothing: float = SMOOTHING
    ) -> float:
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

    def score(self, X: object, y: object = None) -> float:
        """Log-likelihood per token by document completion; higher is better."""
        check_is_fitted(self)
        total, tokens = self._heldout(X, None, SMOOTHING)
        return total / tokens if tokens else float("nan")

    def top_words(
        self, n_words: int = 10, *, by: str = "telling", names: object = None
    ) -> list[list[str]]:
        """Most telling columns of every component.

        Parameters
        ----------
        n_words : int
        by : {"telling", "probability", "lift"}
            Order by how much more prominent the column is in the rows of the component than in all
            rows, next to its standard deviation; by P(y|k); or by P(y|k) / p(y), damped for rare
            columns.
        names : sequence (J,), optional
            Names of the columns, where the data of the fit had none, as a matrix of
            CountVectorizer: its `get_feature_names_out()`.
        """
        check_is_fitted(self)
        _checks.one_of("by", by, ORDERS)
        table = told_by(self) if by == ORDERS[0] else self.components_
        return self._first(table, n_words, by, names)

    def _first(self, table: Array, n_words: int, by: str, names: object) -> list[list[str]]:
        """Names of the first columns of each row of a table (K, J) of scores or distributions."""
        _checks.integer("n_words", n_words, 1)
        if by == "lift":
            # An average probability in the denominator keeps one-off columns down.
            table = table / (self.unigram_ + 1.0 / len(self.unigram_))
        names = self._column_names(names)
        order = np.argsort(-table, axis=1, kind="stable")[:, :n_words]
        return [[str(names[j]) for j in row] for row in order]

    def describe(self, n_words: int = 8, *, names: object = None) -> Description:
        """Readable summary of the fit: a line on the run, a line per component with its name.

        Where it is known how reproducible components are, that stands before their names. Of a
        hierarchy the lines are its tree. A str, which a notebook shows as a table.

        Parameters
        ----------
        n_words : int
        names : sequence (J,), optional
            As in `top_words`.
        """
        check_is_fitted(self)
        from isotherm.estimators.outline import described

        head = (
            f"{type(self).__name__}: {len(self.weights_)} components "
            f"({self.n_distinct_} distinct) at T = {self.temperature_:.4g}, "
            f"{self.n_iter_} sweeps, {len({one.temperature for one in self.trace_})} temperatures"
        )
        if self.outcome_ == Outcome.INTERRUPTED.value:
            head += f"\n{self.outcome_}"
        text, part = described(self, n_words, names)
        return Description(f"{head}\n{text}", (head, part))

    # What a shell says -----------------------------------------------------------------------

    def _recipe(self, table: Table) -> Recipe:
        """Models to try and how they are cooled where the user does not say."""
        raise NotImplementedError

    def _attributes(self, fitted: Fitted) -> None:
        """Set what this estimator has besides."""

    # How it is fitted ------------------------------------------------------------------------

    def _fitted(self, table: Table, rng: Rng) -> Fitted:
        recipe = self._full_recipe(table)
        return fit_table(recipe, table, self._engine(recipe.schedule), rng)

    def _full_recipe(self, table: Table) -> Recipe:
        """The recipe with what the user says: the schedule, the start and what is held out."""
        recipe, asked = self._recipe(table), self._settings.holdout
        hold = Hold(
            self._held_out,
            self.validation_fraction,
            asked if isinstance(asked, Folds) else None,
            self._patience,
            single=self._n_expected == 1,
        )
        schedule, start = self.schedule or recipe.schedule, self.start or recipe.start
        return dataclasses.replace(recipe, schedule=schedule, start=start, hold=hold)

    def _data(self, counts: AnyCounts, weight: Array | None, *, new: bool = False) -> Data:
        """Counts as the model is given them, placed where they belong; new rows without batches."""
        batches = self._settings.batches
        batch = None if new or batches is None else batches.batch
        return place(
            counts, self._kernels(), weight=weight, n_components=self._n_expected, batch=batch
        )

    def _new_rows(self, counts: AnyCounts) -> Data:
        """New rows as the model folds them in."""
        return self._data(counts, None, new=True)

    @property
    def _n_expected(self) -> int:
        """Number of components to expect."""
        return MANY if isinstance(self.n_components, str) else int(self.n_components)

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
                f"holdout={asked!r} with {type(self).__name__}, which is scored by {allowed} alone",
                parameter="holdout",
            )
        if not isinstance(asked, Folds):
            return
        if isinstance(self.n_components, str) and not self._folds_of_any_number:
            raise IsothermError(
                f"holdout={asked!r} with n_components={self.n_components!r}; folds grow different "
                "numbers of components: hold out once, or give a number of components",
                parameter="holdout",
                also=("n_components",),
            )
        if isinstance(rule, Tokens) and not isinstance(asked.cv, int):
            raise IsothermError(
                f"holdout={asked!r} with tokens held out, which are dealt into so many parts: give "
                "a number, such as Folds(5)",
                parameter="holdout",
            )

    # Reading and checking --------------------------------------------------------------------

    def _check_engine(self) -> None:
        super()._check_engine()
        self._check_holdout()

    def _counts(self, X: object, *, reset: bool) -> Counts:
        """Validated counts; a fit remembers the columns, everything after is held to them."""
        counts = self._read(X, reset=reset)
        if reset:
            checks.size_of_counts(counts)
        return counts

    def _read(self, X: object, *, reset: bool) -> Counts:
        if isinstance(X, Counts):
            self._check_names(X, reset)
            return X
        if is_stored(X):
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

    def _set_fitted(self, fitted: Fitted) -> None:
        plan, fit, cooled = fitted.plan, fitted.fit, fitted.cooled
        params, rows = fit.state.params, fit.state.rows
        self._set_solution(fit.model, params, row_weights(fit.model, params, plan.full, rows))
        self.temperature_ = fit.temperature
        self.first_critical_ = cooled.first_critical
        self.trace_: tuple[Record, ...] = cooled.trace
        interrupted = Outcome.INTERRUPTED in (cooled.outcome, fit.outcome)
        self.outcome_ = (Outcome.INTERRUPTED if interrupted else cooled.outcome).value
        self.free_energy_ = fit.trace[-1].free_energy
        self.n_iter_ = cooled.n_sweeps + (0 if fit is cooled else fit.n_sweeps)
        self.n_iter_ += fitted.more_sweeps
        self.unigram_ = plan.full.summary.column_totals / plan.full.summary.total
        self.background_ = smoothed_unigram(plan.full.summary)
        if fitted.curve is not None:
            self.cv_curve_: Curve = fitted.curve
        if fitted.recipe.tree is not None:
            with one_blas_thread():
                self.topic_tree_: Tree = fitted.recipe.tree(plan, fit)
        if cooled.tree is not None:
            self.tree_: Tree = cooled.tree
            self.path_: tuple[Step, ...] = thinned(cooled.path, self.n_components_)
        self._attributes(fitted)
        self._set_prominence(prominence(plan.full, fit.model, params, rows))
        self._name_components()
        if fitted.levels:
            self.levels_: tuple[Level, ...] = fitted.levels
            set_level(self, fitted.levels[0])
            if hasattr(self, "path_"):
                self.path_ = thinned(self.path_, self.n_components_)

    def _set_solution(self, model: CountModel, params: Params, weights: Array) -> None:
        """Set what follows from a model, its parameters and the weights of its rows (I, K)."""
        weight, table = model.components(params)
        self.model_: Any = model
        self.params_ = params
        self.components_ = np.ascontiguousarray(table.T, dtype=np.float64)
        self.weights_ = np.asarray(weight, np.float64)
        self.row_weights_ = weights
        self.n_components_ = len(weight)
        self.n_alive_ = int((weight > DEAD).sum())
        self.n_distinct_ = len(distinct_components(weight, table))

    def _set_prominence(self, seen: Prominence) -> None:
        """Set how prominent each column is in the rows of each component, and in all of them."""
        self.prominence_, self.prominence_rows_, self.prominence_overall_ = seen

    def _name_components(self) -> None:
        """Give every component a name by the words that tell most of it."""
        self.names_ = self._names_by(self._column_names())

    def _names_by(self, words: Array) -> tuple[str, ...]:
        return names_of(told_by(self), words)

    def _heldout(self, X: object, X_heldout: object, smoothing: float) -> tuple[float, float]:
        _checks.number("smoothing", smoothing, 0.0, 1.0)
        given: Any = self._counts(X, reset=False)
        if not given.in_memory:
            parts = [self._heldout(rows, None, smoothing) for rows in given.pieces()]
            return sum(total for total, _ in parts), sum(tokens for _, tokens in parts)
        if X_heldout is None:
            given, held = scores.completion_halves(given)
        else:
            held = self._counts(X_heldout, reset=False)
        placed: Any = self._new_rows(given)  # local, as they are in memory
        return scores.heldout_log_likelihood(
            self.model_,
            self.params_,
            self.temperature_,
            placed,
            held,
            self.background_,
            self._kernels(),
            smoothing,
        )

    def _column_names(self, given: object = None) -> Array:
        if given is not None:
            return checks.column_names(given, self.n_features_in_)
        names = getattr(self, "feature_names_in_", None)
        return np.arange(self.n_features_in_) if names is None else names

    @property
    def _n_features_out(self) -> int:
        return len(self.weights_)

    def __sklearn_tags__(self) -> Tags:
        """Sparse, non-negative input."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags


def loaded(estimator: Any, auto: str) -> None:
    """Fit a copy of an estimator to a few counts, once for every kind, device and precision.

    Compilers and compiled kernels take a hundred megabytes or more, whatever the counts are.
    """
    asked = estimator._settings.precision
    precision = auto if asked == "auto" else asked
    key = type(estimator), estimator.device, precision
    if key in _LOADED:
        return
    _LOADED.add(key)
    counts = Counts(np.random.default_rng(0).poisson(1.0, (40, 30)) + np.eye(40, 30))
    other = clone(estimator).set_params(
        engine__callbacks=(),
        engine__precision=precision,
        random_state=0,
        verbose=False,
        max_iter=2,
    )
    before, log.disabled = log.disabled, True
    try:
        # What does not fit a few counts may fit many: whatever happens here says nothing.
        with warnings.catch_warnings(), journal.writing_to(journal.NOTHING):
            warnings.simplefilter("ignore")
            other.fit(counts)
    except (IsothermError, ValueError, ArithmeticError):
        pass
    finally:
        log.disabled = before
