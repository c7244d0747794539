"""Probabilistic clustering-projection as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from isotherm import _checks
from isotherm.anneal.fold import fold_in
from isotherm.anneal.schedule import Fixed, Schedule, lowest
from isotherm.anneal.start import Start
from isotherm.data.base import Array
from isotherm.data.counts import Counts
from isotherm.data.split import RandomState
from isotherm.errors import IsothermError
from isotherm.estimators.engine import Engine
from isotherm.estimators.parameters import Checks, above_zero, flag, one_of
from isotherm.estimators.plan import Table
from isotherm.estimators.projection import (
    AUTO,
    ProjectionEstimator,
    check_number_of_clusters,
    number_of_clusters,
)
from isotherm.estimators.recipe import Fitted, Recipe
from isotherm.estimators.row_densities import lda_document_bounds, mixture_densities
from isotherm.estimators.starts.projection import ClustersAndTopics, OwnClusters, StructuredFit
from isotherm.models.pcp import FactorizedPcp, Pcp
from isotherm.placement.local import Local

DOCUMENTS = "documents"
# Topics that are given must sum to one within this.
SUM = 1e-6


def clusters_or_documents(name: str, value: object) -> None:
    """Refuse anything but a number of clusters or "documents"."""
    if isinstance(value, str):
        _checks.one_of(name, value, (DOCUMENTS,))
    else:
        number_of_clusters(name, value)


class PCP(ProjectionEstimator):
    """Clusters of rows and a projection to topics at once, by variational Bayes.

    Every row belongs to one of M clusters, whose mixtures of K topics have a Dirichlet prior
    (probabilistic clustering-projection, Yu, Yu, Tresp & Kriegel 2005). All rows of a cluster share
    one mixture of topics. Clusters that nothing needs leave: those without weight, and those that
    the bound would rather have joined. What is maximised is a lower bound of the log evidence,
    `elbo_`.

    On text, k-means or NMF of tf-idf weights may find labels better: this model sees plain counts.

    Parameters
    ----------
    n_clusters : int or "documents"
        Number of clusters M. "documents" begins with one for every row, of which many die; needs
        inference="factorized" and at most 5000 rows.
    n_components : int
        Number of topics K.
    inference : {"structured", "factorized"}
        "structured" lets the topic of a word depend on the cluster of its row: a better bound, and
        cheaper as long as M is not much larger than K. "factorized" is the paper's.
    alpha : float
        Concentration of the prior of the clusters' weights, Dir(alpha/M, ...).
    concentration : float or (K,), optional
        Parameters lambda of the Dirichlet prior of the clusters' mixtures; 1/K by default.
    learn_hyper : bool
        Learn alpha and the concentration as well, once T = 1 is reached.
    topics : (K, J), optional
        Topics to begin with, rows sum to one; by default those of the aspect model.
    smooth, n_init, schedule, start, tol, max_iter
        As in `TTMM`; the factorized family begins where the structured one ends, at T = 1.
    engine, n_jobs, device, random_state, verbose
        As in `AspectModel`; critical temperatures are those of clusters with free means.

    Attributes
    ----------
    labels_, row_weights_, components_, weights_
        As in `TTMM`.
    cluster_weights_ : (M,)
        Mean of q(pi) of the clusters that are left.
    cluster_centers_ : (M, K)
        Mean of q(theta): mixture of topics of each cluster.
    n_live_ : int
        Distinct clusters that are left.
    elbo_ : float
        Lower bound of the log evidence, with the log prior of the topics up to a constant where
        smooth is above 0.
    alpha_, concentration_ : float and (K,)
        As given, or as learned.
    definitions : tuple of str
        Of `perplexity`. "bound": the lower bound under q(pi) and q(theta) of the fit, in the family
        of the fit; "structured": the bound of the structured family for any fit; "mean": the
        mixture of the mean clusters, no bound; "fresh": a row may also open one of the unused
        clusters, whose mixture is then its own; "completion": half of the tokens of a row predicted
        from the other half. "auto" is "fresh" with n_clusters="documents", else "bound".
    names_, temperature_, first_critical_, trace_, outcome_, free_energy_, n_iter_, n_distinct_,
    precision_
        As in `TTMM`.

    Examples
    --------
    >>> import numpy as np
    >>> from isotherm import PCP
    >>> X = np.kron(np.eye(2, dtype=int), np.full((5, 4), 6)) + 1
    >>> model = PCP(n_clusters=4, n_components=2, random_state=0).fit(X)
    >>> model.n_live_, bool(model.labels_[0] != model.labels_[-1])
    (2, True)
    """

    # Clusters leave on the way: there is nothing to extrapolate.
    _parameters: ClassVar[Checks] = {
        "n_clusters": clusters_or_documents,
        "inference": one_of("structured", "factorized"),
        "alpha": above_zero,
        "learn_hyper": flag,
    }
    _takes = frozenset({"record_critical", "precision", "callbacks"})
    _default_over_relax = False
    definitions = ("bound", "structured", "mean", "fresh", "completion")

    def __init__(
        self,
        n_clusters: int | str = 8,
        n_components: int = 10,
        *,
        inference: str = "structured",
        alpha: float = 1.0,
        concentration: Any = None,
        smooth: float = 0.1,
        learn_hyper: bool = False,
        topics: ArrayLike | None = None,
        n_init: int = 1,
        schedule: Schedule | None = None,
        start: Start | None = None,
        tol: float = 1e-5,
        max_iter: int = 200,
        engine: Engine | None = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        random_state: RandomState = None,
        verbose: bool | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.inference = inference
        self.alpha = alpha
        self.concentration = concentration
        self.smooth = smooth
        self.learn_hyper = learn_hyper
        self.topics = topics
        self.n_init = n_init
        self.schedule = schedule
        self.start = start
        self.tol = tol
        self.max_iter = max_iter
        self.engine = engine
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def _check(self) -> None:
        if self.n_clusters == DOCUMENTS and self.inference == "structured":
            raise IsothermError(
                'n_clusters="documents" with inference="structured" needs a table of rows by '
                'columns; give inference="factorized", or a number of clusters',
                parameter="n_clusters",
            )
        if self.schedule is not None and lowest(self.schedule) <= 0:
            raise IsothermError(
                f"schedule={self.schedule!r} ends at T = 0, where the bound has no meaning; end at "
                "T = 1, or take TTMM for hard clusters",
                parameter="schedule",
            )
        self._check_concentration()
        if self.topics is not None:
            _check_topics(self.topics, self.n_components)

    def _check_concentration(self) -> None:
        if self.concentration is None:
            return
        if np.ndim(self.concentration) == 0:
            above_zero("concentration", self.concentration)
            return
        try:
            given = np.asarray(self.concentration, np.float64)
        except (TypeError, ValueError):
            given = np.full(1, np.nan)
        if given.shape != (self.n_components,) or not (np.isfinite(given) & (given > 0)).all():
            raise IsothermError(
                f"concentration={self.concentration!r}; it must be a number above 0, or one for "
                f"each of the {self.n_components} topics",
                parameter="concentration",
            )

    def _recipe(self, table: Table) -> Recipe:
        if self.topics is not None and np.shape(self.topics)[1] != table.counts.n_columns:
            raise IsothermError(
                f"topics has shape {np.shape(self.topics)} for {table.counts.n_columns} columns; "
                "give one probability for each topic and column"
            )
        topics = None if self.topics is None else np.asarray(self.topics, np.float64)
        start: Start = ClustersAndTopics(topics=topics)
        structured = self.inference == "structured"
        if self.n_clusters == DOCUMENTS:
            start = OwnClusters(topics=topics)
        elif not structured:
            start = StructuredFit(start)
        model = self._model(table.counts.n_rows)
        return self._projection(table, model, start, None if structured else Fixed(1.0))

    def _model(self, n_rows: int) -> Pcp | FactorizedPcp:
        M = n_rows if self.n_clusters == DOCUMENTS else int(self.n_clusters)
        check_number_of_clusters(M)
        lam = 1.0 / self.n_components if self.concentration is None else self.concentration
        lam = float(lam) if np.ndim(lam) == 0 else tuple(np.asarray(lam, np.float64).tolist())
        kind = Pcp if self.inference == "structured" else FactorizedPcp
        smooth, alpha = float(self.smooth), float(self.alpha)
        learn = bool(self.learn_hyper)
        return kind(self.n_components, M, smooth, alpha, lam, learn, hold=self._hold)

    def _attributes(self, fitted: Fitted) -> None:
        super()._attributes(fitted)
        params = fitted.fit.state.params
        self.elbo_ = -self.free_energy_
        self.alpha_ = float(params.alpha[0])
        self.concentration_ = params.lam.copy()

    def _densities(self, counts: Counts, definition: str) -> Array:
        if definition == AUTO:
            definition = "fresh" if self.n_clusters == DOCUMENTS else "bound"
        if definition == "mean":
            return super()._densities(counts, definition)
        if definition == "bound" and isinstance(self.model_, FactorizedPcp):
            return self._factorized(counts)
        known = mixture_densities(
            counts,
            self.model_.log_prior(self.params_),
            self.model_.factors(self.params_) @ self.components_,
        )
        unused = self.model_.n_clusters - len(self.params_.eta)
        if definition != "fresh" or not unused:
            return known
        each = self.alpha_ / self.model_.n_clusters
        share = unused * each / (self.params_.eta.sum() + unused * each)
        own = lda_document_bounds(counts, self.components_, self.concentration_)
        return np.asarray(np.logaddexp(known, np.log(share) + own))

    def _factorized(self, counts: Counts) -> Array:
        """Bound of each row in the factorized family, clusters and topics iterated."""
        data = Local.place(counts, self._kernels())
        rows = fold_in(self.model_, self.params_, data, 1.0)
        return np.asarray(self.model_.bounds(self.params_, rows[0], data.blocks[0], data.kernels))


def _check_topics(topics: object, n_components: int) -> None:
    try:
        table = np.asarray(topics, np.float64)
    except (TypeError, ValueError):
        table = np.empty(0)
    shaped = table.ndim == 2 and len(table) == n_components
    if (
        not shaped
        or not (np.isfinite(table) & (table >= 0)).all()
        or (np.abs(table.sum(axis=1) - 1.0) > SUM).any()
    ):
        raise IsothermError(
            f"topics of shape {table.shape}; they must be {n_components} rows, one for each topic, "
            "of probabilities that sum to 1"
        )
