"""Choi's document mixture as a scikit-learn estimator."""

from __future__ import annotations

import logging
from functools import partial
from typing import ClassVar

from sklearn.utils.validation import check_is_fitted

from isotherm import _checks
from isotherm.anneal.heldout import HeldoutRows
from isotherm.anneal.schedule import Exponential, Schedule, lowest
from isotherm.anneal.start import Noisy, Start
from isotherm.data.split import RandomState
from isotherm.errors import IsothermError, warn
from isotherm.estimators.engine import SETTINGS, Engine
from isotherm.estimators.growing import GrowingEstimator
from isotherm.estimators.holdout import DENSITIES, Rows, Tokens
from isotherm.estimators.parameters import Checks, flag, number, one_of, optional
from isotherm.estimators.plan import Table, without_columns
from isotherm.estimators.recipe import Fitted, Recipe
from isotherm.models.base import CountModel
from isotherm.models.cluster import Cluster
from isotherm.models.document import Document

log = logging.getLogger("isotherm")


class DocumentMixture(GrowingEstimator):
    """Document mixture (EM-PLSA and DA-PLSA of Choi 2012) fitted by deterministic annealing.

    Every document has weights of its own over topics, and all its words come from one topic. At
    T = 1 this is hard clustering by cross-entropy; above, topics overlap. By default documents held
    out choose the temperature (Choi's total perplexity); `validation_fraction=0` cools to T = 1,
    and `schedule=Fixed(1.0)` is plain EM.

    Parameters
    ----------
    n_components : int, "auto" or "predict"
        Number of topics K. "predict" finds the number that predicts best: the model begins with one
        topic, topics split at their critical temperatures, and held-out documents say when to stop.
        "auto" is the finest number, up to that one, whose topics are found again when the rows are
        dealt into halves, with finer ones in `levels_`.
    max_components : int
        Most topics of a number that is found.
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
    tol, max_iter, engine, n_jobs, device, random_state, verbose
        As in `AspectModel`; the patience of the engine is 3 by default. What is held out is
        `Engine(holdout=Rows(...))`, whose density and weights can be chosen, and
        `Engine(holdout=Folds(5))` cross-validates.

    Attributes
    ----------
    components_ : (K, J)
        Theta: word distribution of each topic.
    weights_ : (K,)
        Mean weights of the training rows.
    row_weights_ : (I, K)
        Psi: weights of each training row.
    cv_curve_ : Curve
        Mean score against relative temperature; only with `Folds`.
    topic_tree_ : Tree
        Components with similar columns, joined from below by Ward's criterion: a row has one of
        them, so that hardly any two meet in one. The similarity of a node is the share of all
        differences between components that is left where its branches are one.
    n_components_, levels_, reproducibility_, node_reproducibility_, tree_, path_
        As in `AspectModel`.
    names_, temperature_, first_critical_, trace_, outcome_, free_energy_, n_iter_, n_distinct_,
    precision_
        As in `AspectModel`.
    """

    _parameters: ClassVar[Checks] = {
        "weights": one_of("document", "shared", "uniform"),
        "stepwise": flag,
        "pseudo_count": optional(number(0.0)),
    }
    _takes = frozenset(SETTINGS) - {"memory_limit"}
    _default_patience = 3
    _holds_out = (Rows, Tokens)

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
        tol: float = 1e-6,
        max_iter: int = 100,
        engine: Engine | None = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        random_state: RandomState = None,
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
        self.tol = tol
        self.max_iter = max_iter
        self.engine = engine
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def score_rows(self, X: object, *, density: str | None = None) -> float:
        """Log density per token of whole unseen rows; higher is better.

        Parameters
        ----------
        X : counts (I, J)
        density : {"prior", "fold-in", "best"}, optional
            Mean training weights, weights folded in, or the best topic; by default that of
            `Engine(holdout=Rows(density=...))`.
        """
        check_is_fitted(self)
        rule = self._held_out
        if density is None:
            density = rule.density if isinstance(rule, Rows) else "prior"
        _checks.one_of("density", density, DENSITIES)
        known = partial(without_columns, unknown=self.unigram_ == 0)
        counts = self._counts(X, reset=False).changed(known)
        held = HeldoutRows(self._new_rows(counts), density=density)
        return held.log_density(self.model_, self.params_, self.temperature_)

    def _check(self) -> None:
        super()._check()
        if self._grows and self.stepwise:
            raise IsothermError(
                "stepwise=True with n_components='auto'; weights that are updated step by step do "
                "not divide when a topic splits: use stepwise=False, or give a number of topics",
                parameter="stepwise",
                also=("n_components",),
            )
        if self.stepwise and self.weights != "document":
            raise IsothermError(
                f"stepwise=True with weights={self.weights!r}; stepwise updates are those of "
                "weights='document'",
                parameter="stepwise",
                also=("weights",),
            )
        if self.weights == "document" and self.schedule is not None and lowest(self.schedule) < 1:
            raise IsothermError(
                f"schedule={self.schedule!r} goes below T = 1, where weights per document are hard "
                "already; end at 1 or above",
                parameter="schedule",
            )

    def _recipe(self, table: Table) -> Recipe:
        K, n_rows = self._n_first, table.counts.n_rows
        if n_rows < K:
            warn(f"n_components={K} for {n_rows} rows; some topics will coincide")
        pseudo = 0.005 * table.total / K if self.pseudo_count is None else self.pseudo_count
        model: CountModel = Document(K, pseudo, self.stepwise)
        if self.weights != "document":
            model = Cluster(K, pseudo, fixed_weights=self.weights == "uniform")
        hard = model.zero_temperature
        return self._growing(
            (model,),
            Exponential(rate=0.9, end=hard, margin=0.98),
            # Where weights are all but hard every topic can be split with profit.
            Exponential(rate=0.95, end=hard + 1.0, margin=1.0),
            Noisy(0.1),
        )

    def _attributes(self, fitted: Fitted) -> None:
        summary = fitted.plan.full.summary
        spread = fitted.cooled.first_critical - fitted.fit.model.zero_temperature
        if self.n_components_ != 1 and spread < 1e-9 * summary.total / summary.row_weight:
            warn("all rows are in proportion: there is nothing to anneal, the topics coincide")
