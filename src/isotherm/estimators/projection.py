"""What estimators of clustering and projection share: clusters, features, named perplexities."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from isotherm import _checks
from isotherm._markup import Description, Part
from isotherm._types import Params, RowStates
from isotherm.anneal.fold import fold_in
from isotherm.anneal.heldout import SMOOTHING
from isotherm.anneal.schedule import Exponential, Schedule, lowest
from isotherm.anneal.start import Start
from isotherm.data.base import Array, Block
from isotherm.data.counts import Counts
from isotherm.errors import IsothermError, warn
from isotherm.estimators.counts import CountEstimator
from isotherm.estimators.parameters import Checks, integer, number
from isotherm.estimators.plan import Table, without_columns
from isotherm.estimators.projection_runs import best_of
from isotherm.estimators.recipe import Fitted, Recipe
from isotherm.estimators.row_densities import mixture_densities, row_perplexity
from isotherm.estimators.starts.projection import HANDOVER
from isotherm.kernels.base import Kernels
from isotherm.models.base import DEAD, CountModel, leaders
from isotherm.models.projection import Projection
from isotherm.placement.base import Data, Expected, RowsHandle

# A table of rows by clusters is kept: more clusters than this are refused.
MOST_CLUSTERS = 5000
AUTO = "auto"
# Topics that wait while clusters are cooled are free below this temperature: that of words is near
# 1, that of whole rows in the tens or hundreds.
RELEASE = 2.0


class _Shares(NamedTuple):
    shares: Array


def check_number_of_clusters(n_clusters: int) -> None:
    """Refuse more clusters than rows by clusters fit in memory."""
    if n_clusters > MOST_CLUSTERS:
        raise IsothermError(
            f"{n_clusters} clusters; at most {MOST_CLUSTERS} are fitted, because every row keeps a "
            "number for each: give n_clusters=200, of which the needed ones stay"
        )


def number_of_clusters(name: str, value: Any) -> None:
    """Refuse anything but a number of clusters that fit in memory."""
    _checks.integer(name, value, 1)
    check_number_of_clusters(value)


class ProjectionEstimator(CountEstimator):
    """Base of TTMM and PCP; not for direct use."""

    _parameters: ClassVar[Checks] = {
        "n_clusters": number_of_clusters,
        "smooth": number(0.0),
        "n_init": integer(1),
    }
    # These stop by their own bound: nothing is held out.
    validation_fraction = 0.0
    definitions: tuple[str, ...] = ("mean", "completion")

    def transform(self, X: object) -> Array:
        """Posterior of the clusters of each row, (I, M), each row by itself.

        An empty row says nothing: it gets the prior.
        """
        data, rows = self._folded(X)
        return np.asarray(self.model_.posterior(self.params_, data.gather(rows)), np.float64)

    def predict(self, X: object) -> Array:
        """Most probable cluster of each row, (I,); the lowest index on ties."""
        return np.asarray(self.transform(X).argmax(axis=1))

    def fit_predict(self, X: object, y: object = None, sample_weight: object = None) -> Array:
        """Most probable cluster of each training row, (I,)."""
        labels: Array = self.fit(X, y, sample_weight=sample_weight).labels_
        return labels

    def project(self, X: object) -> Array:
        """Share of each topic in the counts of each row, (I, K): features of lower dimension.

        Every row is treated by itself; an empty row gets what its clusters have on average.
        """
        data, rows = self._folded(X)
        parts, _, _ = data.sweep(_project, rows, self.model_, self.params_)
        shares: Array = np.asarray(data.gather(parts).shares)
        return shares

    def perplexity(
        self,
        X: object,
        X_heldout: object = None,
        *,
        definition: str = AUTO,
        smoothing: float = SMOOTHING,
    ) -> float:
        """Perplexity per token of unseen rows, natural logarithm; lower is better.

        Definitions differ in what is taken for the density of a row (see the class), so figures of
        different definitions do not compare. Empty rows are left out. It is infinite where a column
        occurs that no topic has, which only happens with smooth=0.

        Parameters
        ----------
        X : counts (I, J)
        X_heldout : counts (I, J), optional
            Other tokens of the same rows, for "completion".
        definition : str
            One of `definitions`, or "auto".
        smoothing : float
            For "completion": share of the training corpus's unigram distribution.
        """
        check_is_fitted(self)
        _checks.one_of("definition", definition, (AUTO, *self.definitions))
        if definition == "completion" or X_heldout is not None:
            _checks.one_of("definition (with X_heldout)", definition, (AUTO, "completion"))
            return super().perplexity(X, X_heldout, smoothing=smoothing)
        counts: Any = self._counts(X, reset=False)
        if not counts.in_memory:
            raise IsothermError(
                f"X is {X!r}, and densities of whole rows need counts in memory; pass X.load(), or "
                "definition='completion'"
            )
        if not counts.total:
            return float("nan")
        filled = counts.take_rows(np.flatnonzero(counts.row_totals > 0))
        densities = self._densities(filled, definition)
        found = row_perplexity(filled, densities)
        if np.isinf(found):
            warn(
                "some rows have a column that no topic has: their perplexity is infinite; fit with "
                "smooth above 0"
            )
        return found

    def describe(self, n_words: int = 8, *, names: object = None) -> Description:
        """Readable summary of the fit: the run, a line per topic, a line per cluster."""
        text = super().describe(n_words, names=names)
        rows, copies = [], self._copies()
        weights = np.bincount(copies, weights=self.cluster_weights_, minlength=len(copies))
        for m in np.argsort(-weights, kind="stable")[: min(self.n_live_, 50)]:
            order = np.argsort(-self.cluster_centers_[m], kind="stable")[:4]
            parts = " ".join(f"{k}:{100 * self.cluster_centers_[m, k]:.0f}%" for k in order)
            rows.append((int(m), f"{100 * weights[m]:.1f} %", parts))
        head = f"clusters: {self.n_live_}"
        lines = [f"{m:4d}  {share:>7}  topics {parts}" for m, share, parts in rows]
        clusters = Part(("cluster", "share", "topics"), rows)
        return Description("\n".join([text, head, *lines]), (*text.parts, head, clusters))

    # What a shell may override ---------------------------------------------------------------

    def _densities(self, counts: Counts, definition: str) -> Array:
        """Log density of each row, (I,): the mixture of the clusters' means."""
        # Maximum likelihood may leave a cluster without any weight.
        live = np.flatnonzero(self.cluster_weights_)
        return mixture_densities(
            counts,
            np.log(self.cluster_weights_[live]),
            self.cluster_centers_[live] @ self.components_,
        )

    # The rest --------------------------------------------------------------------------------

    @property
    def _n_clusters(self) -> float:
        return np.inf if isinstance(self.n_clusters, str) else int(self.n_clusters)

    @property
    def _hold(self) -> float | None:
        """Temperature above which topics wait: those of the default start, where they are fewer."""
        freed = self.schedule is None or lowest(self.schedule) <= RELEASE
        waits = freed and self.start is None and self._n_clusters > self.n_components
        return RELEASE if waits else None

    @property
    def _n_expected(self) -> int:
        few = self.n_components if isinstance(self.n_clusters, str) else self.n_clusters
        return int(max(self.n_components, few))

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_weights_)

    def _projection(
        self, table: Table, model: CountModel, start: Start, schedule: Schedule | None = None
    ) -> Recipe:
        """The recipe of a model: the best of `n_init` runs by what they maximise."""
        empty = int((table.counts.row_totals == 0).sum())
        if empty:
            n_rows = table.counts.n_rows
            warn(f"{empty} of {n_rows} rows are empty; they get the prior of the clusters")
        if self.n_components == 1 and self.n_clusters != 1:
            warn(
                "n_components=1: clusters over one topic do not differ, so there are no labels to "
                "find; give at least 2"
            )
        # Where the user says how to cool there is one way, else the better of two.
        cool = partial(best_of, n_init=self.n_init, both_ways=self.schedule is None)
        schedule = schedule or Exponential(rate=0.8, margin=HANDOVER)
        return Recipe((model,), schedule, start, cool=cool)

    def _attributes(self, fitted: Fitted) -> None:
        model, params = fitted.fit.model, fitted.fit.state.params
        rows = fitted.plan.full.gather(fitted.fit.state.rows)
        self.row_weights_ = np.asarray(model.posterior(params, rows), np.float64)
        self.labels_ = self.row_weights_.argmax(axis=1)
        self.cluster_weights_ = np.asarray(model.cluster_weights(params), np.float64)
        self.cluster_centers_ = np.ascontiguousarray(model.centres(params), np.float64)
        self.n_live_ = len(np.unique(self._copies()[self.cluster_weights_ > DEAD]))

    def _copies(self) -> Array:
        """For each cluster the first one that has the same mean, (M,)."""
        return leaders(self.cluster_weights_, (self.cluster_centers_ @ self.components_).T)

    def _folded(self, X: object) -> tuple[Data, RowsHandle]:
        """Data and row states of new rows."""
        check_is_fitted(self)
        # What no topic has says nothing of a row.
        missing = self.components_.sum(axis=0) == 0
        known = self._counts(X, reset=False).changed(partial(without_columns, unknown=missing))
        data = self._new_rows(known)
        return data, fold_in(self.model_, self.params_, data, self.temperature_)


def _project(
    k: Kernels, block: Block, rows: RowStates, model: Projection, params: Params
) -> Expected:
    return Expected(_Shares(model.projected(params, rows, block, k)), (), 0.0)
