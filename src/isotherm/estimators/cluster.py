"""One-sided clustering as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import ClassVar

import numpy as np

from isotherm.anneal.schedule import Exponential, Schedule, Splitting
from isotherm.anneal.start import Spectral, Start
from isotherm.data.base import Array
from isotherm.data.counts import Counts
from isotherm.data.split import RandomState
from isotherm.errors import IsothermError
from isotherm.estimators.engine import SETTINGS, Engine
from isotherm.estimators.growing import GrowingEstimator
from isotherm.estimators.holdout import Rows, Tokens
from isotherm.estimators.parameters import (
    AUTO,
    Checks,
    check_leave_one_out,
    flag,
    number,
    one_of,
    optional,
)
from isotherm.estimators.plan import Table
from isotherm.estimators.recipe import Fitted, Recipe
from isotherm.estimators.weighting import DAMPED, TOKENS, WEIGHTINGS, scale_of, weighted
from isotherm.models.cluster import Cluster
from isotherm.models.leave_one_out import ClusterLeaveOneOut
from isotherm.placement.base import Data
from isotherm.placement.place import AnyCounts


class OneSidedClustering(GrowingEstimator):
    """Clustering of the rows of a count table by deterministic annealing.

    Every row belongs to one latent cluster c with its own column distribution P(y|c) (Hofmann &
    Puzicha 1998, section 2.2). By default the clusters begin along the spectrum of the counts and
    are cooled until tokens held out of every row say stop; `validation_fraction=0` cools to the end
    of the schedule, and `schedule=Exponential(end=0.0)` to the hard limit.

    Parameters
    ----------
    n_components : int, "auto" or "predict"
        Number of clusters K. "predict" finds the number that predicts best: the model begins with
        one cluster, clusters split at their critical temperatures, and held-out tokens say when to
        stop. "auto" is the finest number, up to that one, whose clusters are found again when the
        rows are dealt into halves, with finer ones in `levels_`.
    max_components : int
        Most clusters of a number that is found.
    schedule : Schedule, optional
        Temperatures; by default exponential cooling from below the first critical
        temperature (0.6 times it), by 7 % a step, down to 1; with "auto" from that temperature
        itself, by 2 % a step until there are many clusters that no longer split.
    start : Start, optional
        Where the clusters begin; `Spectral(size=1.0)` by default.
    validation_fraction : float
        Share of the tokens held out to choose the temperature; 0 cools to the end.
    temper_prior : bool or "auto"
        Temper P(c) together with the likelihood: keeps clusters balanced on sparse text. With False
        and a given number of clusters, but no schedule, the clusters are cooled with a tempered
        prior down to T = 1, where both are one model; from there the untempered one is heated for
        as long as it predicts better (in `trace_` those records have the phase "heating", those
        before have no held-out score), so that clusters may be of any size. Cooled by itself, as
        with a schedule, a few clusters take nearly all rows. "auto" is False for a given number of
        clusters, but True with a schedule, with `weighting="tokens"` and with `leave_one_out`;
        where the number is found both are tried, and the tempered one is taken if its held-out
        perplexity is lower by more than a percent (by more than that where few tokens are held
        out).
    pseudo_count : float, optional
        Counts added to every cluster, spread over the columns like the corpus; by default 5 % of
        the counts that a cluster has on average. With n_components="auto" those of the one cluster
        at the start, which all that come of it share; by default none without a tempered prior.
    weighting : {"damped", "rows", "tokens"}
        How much the counts of a row weigh. "damped": a count n as log(1 + n), and a row as much as
        any other (Euclidean norm), so that neither long rows nor columns that a row repeats decide
        where rows belong: for documents. "rows": as they are, but every row with the same total
        (distributional clustering: rows are compared by their distributions alone). "tokens":
        every token weighs the same; the model of the counts themselves, as in the papers.
    leave_one_out : bool
        Compute the posterior of a row from the counts of all other rows (eqs. 46, 47):
        less overfitting with many clusters. Needs pseudo-counts; the free energy may rise, rows may
        go to and fro at low temperatures until `max_iter`, and over-relaxation has no effect.
        `row_weights_` and `labels_` are those of the rows left out; `transform` and `predict` treat
        rows as new ones.
    tol, max_iter, engine, n_jobs, device, random_state, verbose
        As in `AspectModel`; the patience of the engine is 3 by default.

    Attributes
    ----------
    labels_ : (I,)
        Most probable cluster of each training row.
    components_ : (K, J)
        P(y|c).
    weights_ : (K,)
        P(c).
    row_weights_ : (I, K)
        Posterior of the clusters for each training row, at the temperature of the fit.
    topic_tree_ : Tree
        Components with similar columns, joined from below by Ward's criterion: a row has one of
        them, so that hardly any two meet in one. The similarity of a node is the share of all
        differences between components that is left where its branches are one.
    n_components_, levels_, reproducibility_, node_reproducibility_, tree_, path_
        As in `AspectModel`.
    names_, temperature_, first_critical_, trace_, outcome_, free_energy_, n_iter_, n_distinct_,
    precision_
        As in `AspectModel`.

    Examples
    --------
    >>> import numpy as np
    >>> from isotherm import OneSidedClustering
    >>> X = np.kron(np.eye(2, dtype=int), np.full((5, 4), 6)) + 1
    >>> labels = OneSidedClustering(n_components=2, random_state=0).fit_predict(X)
    >>> bool(labels[0] != labels[-1])
    True
    """

    _noun = "cluster"
    _parameters: ClassVar[Checks] = {
        "temper_prior": one_of(True, False, AUTO),
        "pseudo_count": optional(number(0.0)),
        "weighting": one_of(*WEIGHTINGS),
        "leave_one_out": flag,
    }
    _takes = frozenset(SETTINGS) - {"memory_limit"}
    _default_patience = 3
    _holds_out = (Tokens, Rows)

    def __init__(
        self,
        n_components: int | str = 8,
        *,
        max_components: int = 256,
        schedule: Schedule | None = None,
        start: Start | None = None,
        validation_fraction: float = 0.1,
        temper_prior: bool | str = "auto",
        pseudo_count: float | None = None,
        weighting: str = DAMPED,
        leave_one_out: bool = False,
        tol: float = 1e-4,
        max_iter: int = 100,
        engine: Engine | None = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        random_state: RandomState = None,
        verbose: bool | None = None,
    ) -> None:
        self.n_components = n_components
        self.max_components = max_components
        self.schedule = schedule
        self.start = start
        self.validation_fraction = validation_fraction
        self.temper_prior = temper_prior
        self.pseudo_count = pseudo_count
        self.weighting = weighting
        self.leave_one_out = leave_one_out
        self.tol = tol
        self.max_iter = max_iter
        self.engine = engine
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def predict(self, X: object) -> Array:
        """Most probable cluster of each row, (I,); the lowest index on ties.

        `transform` gives the posterior that this is the maximum of.
        """
        return np.asarray(self.transform(X).argmax(axis=1))

    def fit_predict(self, X: object, y: object = None, sample_weight: object = None) -> Array:
        """Most probable cluster of each training row, (I,)."""
        labels: Array = self.fit(X, y, sample_weight=sample_weight).labels_
        return labels

    def _check(self) -> None:
        if self.leave_one_out:
            check_leave_one_out(self.n_components, self.schedule, self._settings.batches)
        super()._check()
        if self.leave_one_out and self.pseudo_count is not None and not self.pseudo_count:
            raise IsothermError(
                f"leave_one_out=True with pseudo_count={self.pseudo_count!r}; without "
                "pseudo-counts a row may owe a column to itself alone: give a number above 0 "
                "(1 is enough), or None for the default",
                parameter="leave_one_out",
            )

    def _recipe(self, table: Table) -> Recipe:
        total = table.total
        if self.weighting != TOKENS:
            self.row_scale_, total = scale_of(table, self.weighting)
        K = self._n_first
        share = 0.05 * total / K if self.pseudo_count is None else self.pseudo_count
        kind = ClusterLeaveOneOut if self.leave_one_out else Cluster
        model = kind(K, share, self._tempers_prior)
        models: tuple[Cluster, ...] = (model,)
        if self._grows and self.temper_prior == AUTO:
            # On clean data a tempered prior splits too often; on sparse text nothing else works.
            pseudo = self.pseudo_count or 0.0
            models = (replace(model, temper_prior=False, pseudo_count=pseudo), model)
        recipe = self._growing(
            models,
            Exponential(rate=0.93, end=1.0, margin=0.6),
            # On sparse text all splits come within a few degrees, far above the best temperature.
            Splitting(rate=0.98, idle=0.93, end=1.0),
            Spectral(size=1.0),
        )
        plain = self.weighting == TOKENS
        return recipe if plain else replace(recipe, weigh=self._weighted_held_out)

    @property
    def _tempers_prior(self) -> bool:
        """Whether P(c) is tempered, as the last of the models has it."""
        if self.temper_prior != AUTO:
            return bool(self.temper_prior)
        plain = self.weighting == TOKENS or self.leave_one_out
        return self._grows or plain or self.schedule is not None or self._n_first == 1

    def _data(self, counts: AnyCounts, weight: Array | None, *, new: bool = False) -> Data:
        if self.weighting != TOKENS:
            counts = counts.changed(self._weighted)
        return super()._data(counts, weight, new=new)

    def _weighted_held_out(self, counts: AnyCounts, weight: Array | None) -> AnyCounts:
        """Held-out tokens, so that a few long rows do not choose the temperature."""
        scale, _ = scale_of(Table(counts, weight, self._data), self.weighting)
        return counts.changed(partial(weighted, weighting=self.weighting, scale=scale))

    def _weighted(self, counts: Counts) -> Counts:
        """Rows as the fit compares them."""
        return weighted(counts, self.weighting, self.row_scale_)

    def _attributes(self, fitted: Fitted) -> None:
        self.labels_ = self.row_weights_.argmax(axis=1)
