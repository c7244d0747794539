"""Choi's document mixture as a scikit-learn estimator."""

from __future__ import annotations

import dataclasses
import logging
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from isotherm import _checks
from isotherm.anneal.callbacks import Callback, Log
from isotherm.anneal.critical import first_critical
from isotherm.anneal.crossval import Curve, Fold, cross_validate
from isotherm.anneal.heldout import HeldoutRows
from isotherm.anneal.schedule import Adaptive, Exponential, Linear, Schedule, lowest
from isotherm.anneal.start import Noisy, Start
from isotherm.anneal.stepwise import Stepwise
from isotherm.anneal.trace import Fit
from isotherm.data.base import Array
from isotherm.data.counts import Counts, as_counts
from isotherm.data.split import SPLIT_SEED, hold_out_rows
from isotherm.data.stored import StoredCounts
from isotherm.errors import IsothermError, IsothermWarning
from isotherm.estimators.base import Plan
from isotherm.estimators.growing import GrowingEstimator
from isotherm.models.base import CountModel
from isotherm.models.cluster import Cluster
from isotherm.models.document import Document
from isotherm.placement.place import changed

log = logging.getLogger("isotherm")


class DocumentMixture(GrowingEstimator):
    """Document mixture (EM-PLSA and DA-PLSA of Choi 2012) fitted by deterministic annealing.

    Every document has weights of its own over topics, and all its words come from one topic. At
    T = 1 this is hard clustering by cross-entropy; above, topics overlap. By default documents held
    out choose the temperature (Choi's total perplexity); `validation_fraction=0` cools to T = 1,
    and `schedule=Fixed(1.0)` is plain EM.

    Parameters
    ----------
    n_components : int or "auto"
        Number of topics K. "auto" finds it: the model begins with one topic, topics split at their
        critical temperatures, and held-out documents say when to stop.
    max_components : int
        With "auto": most topics.
    weights : {"document", "shared", "uniform"}
        Weights per document (the thesis), one set for all documents (Hofmann & Puzicha's one-sided
        model, led by a tempered prior as there), or equal weights.
    stepwise : bool
        With weights per document: update them once per sweep as the thesis prints it, instead of
        solving for them. Slower near T = 1, same fixed points.
    pseudo_count : float, optional
        Counts added to every topic, spread over the columns like the corpus; by default 0.5 % of
        the counts that a topic has on average. With n_components="auto" those of the one topic at
        the start, which all that come of it share.
    schedule : Schedule, optional
        By default exponential cooling of T - 1 by 10 % a step, from just below the first critical
        temperature to T = 1.
    start : Start, optional
        Where the topics begin; `Noisy(0.1)` by default.
    validation_fraction : float
        Share of the rows held out to choose the temperature; 0 cools to the end.
    cv : int, splitter or iterable of (train, test) indices, optional
        Choose the temperature by cross-validation over folds of rows instead.
    train_weight, test_weight : float
        Weights a and b of the total perplexity: log-likelihood per token of training and of
        held-out rows.
    per_token : bool
        Weigh log-likelihoods per token of either part; False adds the raw sums (eq. 4.14), which
        leans to the larger part.
    density : {"prior", "fold-in", "best"}
        Density of an unseen row: mean training weights, weights folded in, or its best topic.
    patience : int
        Temperatures (with "auto": generations of splits) without improvement before the cooling
        stops.
    tol, max_iter, over_relax, batches, record_critical, callbacks, precision
        As in `AspectModel`.
    n_jobs, device, random_state, verbose
        As in `AspectModel`.

    Attributes
    ----------
    components_ : (K, J)
        Theta: word distribution of each topic.
    weights_ : (K,)
        Mean weights of the training rows.
    row_weights_ : (I, K)
        Psi: weights of each training row.
    cv_curve_ : Curve
        Mean score against relative temperature; only with `cv`.
    topic_tree_ : Tree
        Components with similar columns, joined from below by Ward's criterion: a row has one of
        them, so that hardly any two meet in one. The similarity of a node is the share of all
        differences between components that is left where its branches are one.
    n_components_, tree_, path_
        As in `AspectModel`.
    temperature_, first_critical_, trace_, outcome_, free_energy_, n_iter_, n_distinct_, precision_
        As in `AspectModel`.
    """

    def __init__(
        self,
        n_components: int | str = 10,
        *,
        max_components: int = 256,
        weights: str = "document",
        stepwise: bool = False,
        pseudo_count: float | None = None,
        schedule: Schedule | None = None,
        start: Start | None = None,
        validation_fraction: float = 0.1,
        cv: Any = None,
        train_weight: float = 0.0,
        test_weight: float = 1.0,
        per_token: bool = True,
        density: str = "prior",
        patience: int = 3,
        tol: float = 1e-6,
        max_iter: int = 100,
        over_relax: bool = True,
        batches: Stepwise | None = None,
        record_critical: bool = False,
        callbacks: Sequence[Callback] = (),
        precision: str = "auto",
        n_jobs: int | None = None,
        device: str = "cpu",
        random_state: Any = None,
        verbose: bool | None = None,
    ) -> None:
        self.n_components = n_components
        self.max_components = max_components
        self.weights = weights
        self.stepwise = stepwise
        self.pseudo_count = pseudo_count
        self.schedule = schedule
        self.start = start
        self.validation_fraction = validation_fraction
        self.cv = cv
        self.train_weight = train_weight
        self.test_weight = test_weight
        self.per_token = per_token
        self.density = density
        self.patience = patience
        self.tol = tol
        self.max_iter = max_iter
        self.over_relax = over_relax
        self.batches = batches
        self.record_critical = record_critical
        self.callbacks = callbacks
        self.precision = precision
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def score_rows(self, X: Any) -> float:
        """Log density per token of whole unseen rows, by `density`; higher is better."""
        check_is_fitted(self)
        known = partial(without_columns, unknown=self.unigram_ == 0)
        counts = changed(self._counts(X, reset=False), known)
        held = HeldoutRows(self._placed(counts), density=self.density)
        return held.log_density(self.model_, self.params_, self.temperature_)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        _checks.one_of("weights", self.weights, ("document", "shared", "uniform"))
        _checks.flag("stepwise", self.stepwise)
        if self._grows and self.cv is not None:
            raise IsothermError(
                f"cv={self.cv!r} with n_components='auto'; folds grow different numbers of topics: "
                "use validation_fraction, or give a number of topics"
            )
        if self._grows and self.stepwise:
            raise IsothermError(
                "stepwise=True with n_components='auto'; weights that are updated step by step do "
                "not divide when a topic splits: use stepwise=False, or give a number of topics"
            )
        if self.stepwise and self.weights != "document":
            raise IsothermError(
                f"stepwise=True with weights={self.weights!r}; stepwise updates are those of "
                "weights='document'"
            )
        if self.pseudo_count is not None:
            _checks.number("pseudo_count", self.pseudo_count, 0.0)
        if self.weights == "document" and self.schedule is not None and lowest(self.schedule) < 1:
            raise IsothermError(
                f"schedule={self.schedule!r} goes below T = 1, where weights per document are hard "
                "already; end at 1 or above"
            )
        _checks.number("train_weight", self.train_weight, 0.0)
        _checks.number("test_weight", self.test_weight, 0.0)
        _checks.flag("per_token", self.per_token)
        if self.train_weight == self.test_weight == 0:
            raise IsothermError(
                "train_weight and test_weight are both 0; the total perplexity needs one of them"
            )
        _checks.one_of("density", self.density, ("prior", "fold-in", "best"))

    def _set_fitted(self, plan: Plan, fit: Fit, cooled: Fit) -> None:
        super()._set_fitted(plan, fit, cooled)
        spread = cooled.first_critical - fit.model.zero_temperature
        length = plan.full.summary.total / plan.full.summary.row_weight
        if self.n_components_ != 1 and spread < 1e-9 * length:
            message = "all rows are in proportion: there is nothing to anneal, the topics coincide"
            warnings.warn(message, IsothermWarning, stacklevel=4)

    def _model(self, n_rows: int, total: float) -> CountModel:
        K = self._n_first
        if n_rows < K:
            message = f"n_components={K} for {n_rows} rows; some topics will coincide"
            warnings.warn(message, IsothermWarning, stacklevel=4)
        pseudo = 0.005 * total / K if self.pseudo_count is None else self.pseudo_count
        if self.weights == "document":
            return Document(K, pseudo, self.stepwise)
        return Cluster(K, pseudo, fixed_weights=self.weights == "uniform")

    def _schedule(self) -> Schedule:
        hard = 1.0 if self.weights == "document" else 0.0
        return Exponential(rate=0.9, end=hard, margin=0.98)

    def _growing_schedule(self) -> Schedule:
        # Where weights are all but hard every topic can be split with profit.
        hard = 1.0 if self.weights == "document" else 0.0
        return Exponential(rate=0.95, end=hard + 1.0, margin=1.0)

    def _start(self) -> Start:
        return Noisy(0.1)

    def _plan(self, model: CountModel, counts: Any, weight: Array | None) -> Plan:
        """Rows held out whole steer the stop (Choi's total perplexity), once or fold by fold."""
        schedule = self._cooling()
        full = self._data(counts, weight)
        plan = Plan(full, full, None, schedule)
        if self.cv is not None:
            if isinstance(counts, StoredCounts):
                raise IsothermError(
                    f"cv={self.cv!r} with counts on the disk; folds need them in memory: pass "
                    "X.load(), or use validation_fraction"
                )
            return plan._replace(schedule=self._cross_validated(model, plan, counts, weight))
        if isinstance(counts, StoredCounts):
            fold = self._streamed_fold(counts, weight)
        else:
            kept, held = hold_out_rows(counts, self.validation_fraction, SPLIT_SEED)
            fold = self._fold(counts, weight, kept, held)
        if fold is None and self.validation_fraction:
            self._warn_of_nothing_held_out()
        return plan if fold is None else plan._replace(data=fold.data, heldout=fold.heldout)

    def _cross_validated(
        self, model: CountModel, plan: Plan, counts: Counts, weight: Array | None
    ) -> Schedule:
        """The schedule, ended where the folds' mean score is best."""
        schedule = plan.schedule
        if not isinstance(schedule, Exponential | Linear | Adaptive) or schedule.start is not None:
            raise IsothermError(
                f"cv={self.cv!r} with schedule={schedule!r}; cross-validation moves the end of a "
                "cooling schedule with an open start: use Exponential, Linear or Adaptive"
            )
        made = [
            self._fold(counts, weight, kept, held)
            for kept, held in check_cv(self.cv).split(counts.matrix)
        ]
        folds = [fold for fold in made if fold is not None]
        if not folds:
            raise IsothermError(
                f"cv={self.cv!r}: in no fold do training and held-out rows share a column; "
                "use fewer folds or validation_fraction"
            )
        # The user's callbacks are for the fit itself, not for every fold.
        annealer = dataclasses.replace(self._annealer(plan), callbacks=(Log(),))
        self.cv_curve_: Curve = cross_validate(
            model, annealer, folds, lambda: np.random.default_rng(SPLIT_SEED)
        )
        zero = model.zero_temperature
        end = zero + self.cv_curve_.best * (first_critical(model, plan.full) - zero)
        return dataclasses.replace(schedule, end=end)

    def _fold(self, counts: Counts, weight: Array | None, kept: Array, held: Array) -> Fold | None:
        """Rows to fit and rows to score; None where either part is without tokens."""
        if not len(kept) or not len(held):
            return None
        train, test = counts.take_rows(kept), counts.take_rows(held)
        known = train.column_totals > 0
        test = without_columns(test, ~known)
        weights = [None if weight is None else weight[rows] for rows in (kept, held)]
        data = self._data(train, weights[0])
        unseen = self._data(test, weights[1], new=True)
        return self._scored(data, unseen)

    def _streamed_fold(self, counts: Any, weight: Array | None) -> Fold | None:
        """The same of rows on the disk: those of the other part are there, empty and weightless."""
        fraction = self.validation_fraction
        held = np.concatenate([_held(rows, fraction) for rows in counts.pieces()])
        own = np.ones(len(held)) if weight is None else weight
        train = counts.changed(partial(_part, fraction=fraction, held=False))
        test = counts.changed(partial(_part, fraction=fraction, held=True))
        data = self._data(train, own * ~held)
        unknown = data.summary.column_totals == 0
        test = test.changed(partial(without_columns, unknown=unknown))
        return self._scored(data, self._data(test, own * held, new=True))

    def _scored(self, data: Any, unseen: Any) -> Fold | None:
        if not (data.summary.total > 0 and unseen.summary.total > 0):
            return None
        heldout = HeldoutRows(
            unseen, self.train_weight, self.test_weight, self.density, self.per_token
        )
        return Fold(data, heldout)


def _held(rows: Counts, fraction: float) -> Array:
    """Whether each row is held out, (I,)."""
    out = np.zeros(rows.n_rows, bool)
    out[hold_out_rows(rows, fraction, SPLIT_SEED)[1]] = True
    return out


def _part(rows: Counts, fraction: float, held: bool) -> Counts:
    """The rows that are held out, or the others; the rest of them are empty."""
    mine = _held(rows, fraction) == held
    matrix = sparse.csr_array(sparse.diags_array(mine.astype(rows.matrix.dtype)) @ rows.matrix)
    return as_counts(matrix, rows.row_names, rows.column_names, allow_empty=True)


def without_columns(counts: Counts, unknown: Array) -> Counts:
    """Counts with the cells of the unknown columns (J,) emptied; says how many tokens that was."""
    lost = float(counts.column_totals[unknown].sum())
    if not lost:
        return counts
    log.info("%g of %g held-out tokens are of columns unseen in training", lost, counts.total)
    matrix = counts.matrix.copy()
    matrix.data[unknown[matrix.indices]] = 0
    return as_counts(matrix, counts.row_names, counts.column_names, allow_empty=True)
