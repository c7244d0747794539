"""Theme-topic mixture as a scikit-learn estimator."""

from __future__ import annotations

from isotherm.anneal.schedule import Schedule
from isotherm.anneal.start import Start
from isotherm.data.split import RandomState
from isotherm.estimators.engine import Engine
from isotherm.estimators.plan import Table
from isotherm.estimators.projection import ProjectionEstimator
from isotherm.estimators.recipe import Recipe
from isotherm.estimators.starts.projection import ClustersAndTopics
from isotherm.models.ttmm import Ttmm


class TTMM(ProjectionEstimator):
    """Clusters of rows that are mixtures of shared topics, by maximum likelihood.

    A mixture of multinomials whose M means have rank K (theme-topic mixture model, Keller & Bengio
    2004). With as many topics as clusters, or more, the means are free and what the topics add is
    smoothing and features. `PCP` is the Bayesian version. On text, k-means or NMF of tf-idf weights
    may find labels better: these models see plain counts.

    Parameters
    ----------
    n_clusters : int
        Number of clusters M.
    n_components : int
        Number of topics K.
    smooth : float
        Added to every expected count of a column in a topic.
    n_init : int
        Number of runs; the best by what is maximised is kept. Runs differ in the noise of the
        start alone, so one is nearly always enough.
    schedule : Schedule, optional
        Temperatures; by default from a twentieth of the first critical temperature, where clusters
        of the start are cooled to, down to 1 by 20 % a step. At T the posterior of the clusters is
        raised to the power 1/T. By default a second run at T = 1 alone, from the same start, takes
        a quarter to half more time, and the better of the two is the fit; with a schedule there is
        one run. With more clusters than topics, topics of the default start stay as they are above
        T = 2.
    start : Start, optional
        Where it begins; by default topics of the aspect model and clusters of an annealed one-sided
        fit.
    tol : float
        A temperature is settled when a sweep lowers the free energy by no more than this many nats
        per token.
    max_iter : int
        Most sweeps at one temperature.
    engine, n_jobs, device, random_state, verbose
        As in `AspectModel`; critical temperatures are those of clusters with free means.

    Attributes
    ----------
    labels_ : (I,)
        Most probable cluster of each training row; the lowest index on ties.
    row_weights_ : (I, M)
        Posterior of the clusters for each training row.
    cluster_weights_ : (M,)
    cluster_centers_ : (M, K)
        Mixture of topics of each cluster.
    components_ : (K, J)
        Topics, P(y|k).
    weights_ : (K,)
        Share of each topic.
    n_live_ : int
        Distinct clusters with any weight: copies count once.
    definitions : tuple of str
        Of `perplexity`: "mean" (the default), the log of the mixture of the clusters' means, or
        "completion", half of the tokens of a row predicted from the other half.
    names_, temperature_, first_critical_, trace_, outcome_, free_energy_, n_iter_, n_distinct_,
    precision_
        As in `AspectModel`; `n_distinct_` is that of topics, and of two runs the trace is that of
        the better one.

    Examples
    --------
    >>> import numpy as np
    >>> from isotherm import TTMM
    >>> X = np.kron(np.eye(2, dtype=int), np.full((5, 4), 6)) + 1
    >>> labels = TTMM(n_clusters=2, n_components=2, random_state=0).fit_predict(X)
    >>> bool(labels[0] != labels[-1])
    True
    """

    _takes = frozenset({"over_relax", "record_critical", "precision", "callbacks"})

    def __init__(
        self,
        n_clusters: int = 8,
        n_components: int = 10,
        *,
        smooth: float = 0.1,
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
        self.smooth = smooth
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

    def _recipe(self, table: Table) -> Recipe:
        model = Ttmm(self.n_components, self.n_clusters, float(self.smooth), hold=self._hold)
        return self._projection(table, model, ClustersAndTopics())
