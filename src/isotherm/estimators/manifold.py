"""LapPLSI, LTM and DTM: topics of documents that are tied to their neighbours."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from isotherm.anneal.schedule import Fixed, Schedule
from isotherm.anneal.start import Start
from isotherm.data.split import RandomState
from isotherm.errors import warn
from isotherm.estimators import strengths
from isotherm.estimators.engine import Engine
from isotherm.estimators.linked import LinkedEstimator
from isotherm.estimators.parameters import (
    AUTO,
    Checks,
    number,
    number_from_zero_or_auto,
    one_of,
    share_above_zero,
)
from isotherm.estimators.plan import Table
from isotherm.estimators.recipe import Fitted, Recipe
from isotherm.graph.neighbors import n_graph_components
from isotherm.models import dtm, lap_plsi, ltm


class LapPLSI(LinkedEstimator):
    """Topics of documents, close to those of neighbours by squared distance (Cai et al. 2008).

    PLSA, P(y|x) = sum_k P(k|x) P(y|k), with `lambda/2 sum_ij W_ij |P(k|i) - P(k|j)|^2` taken off
    the log-likelihood. Labels of a few rows are enough to tell classes apart: see `fit`. Of the
    models with links it is the one to take first.

    Parameters
    ----------
    n_components : int
        Number of topics K.
    regularization : float or "auto"
        Lambda, as in Huh & Fienberg 2010 (twice that of Cai's programs); 0 is PLSA. "auto" fits
        with 30, 100, 300 and 1000, each from where the one before has ended, and takes the one
        that finds most hidden labels (three folds; none is hidden that is the only one of its
        class), or predicts a tenth of the tokens best where fewer than two classes have labels.
        Of those within a standard error of the best it takes the one nearest to 300, and 300
        where there is one label to a class.
    method : {"gauss-seidel", "jacobi", "cai"}
        How the rows are moved: one after the other, all at once, or by the original heuristic,
        which often leaves PLSA as it is (to compare with).
    n_neighbors : int
        Neighbours r of each row, where no graph is given, and of new rows.
    max_label_edges : int, optional
        Links of a row to rows of its label; all by default, which is the square of their number.
    schedule : Schedule, optional
        Temperatures; `Fixed(1.0)` by default, plain EM.
    start : Start, optional
        By default topics of an annealed `AspectModel`, and rows that are 0.2 of the way from equal
        weights to its own. `isotherm.estimators.starts.linked.RandomRows()` is that of the papers.
    tol : float
        The fit has settled when a sweep lowers the energy by no more than this per token.
    max_iter : int
        Most sweeps.
    engine, n_jobs, device, random_state, verbose
        As in `AspectModel`. Weights of rows are double precision always.

    Attributes
    ----------
    components_ : (K, J)
        P(y|k).
    weights_ : (K,)
        P(k).
    row_weights_ : (I, K)
        P(k|x) of the training rows; what `fit_transform` returns.
    graph_ : csr_array, (I, I)
        Edges of the fit.
    neighbors_ : Neighbors
        Finds the training rows that new rows are tied to.
    n_empty_rows_ : int
        Training rows without counts; they have equal weights and no links.
    regularization_ : float
        Lambda of the fit.
    path_scores_ : (S, 3)
        Of every lambda that "auto" tried: lambda, the share of hidden labels that was found or the
        mean log-likelihood of held-out tokens, and the standard error of that share. Without rows
        where nothing was tried.
    free_energy_ : float
        Minus the objective.
    names_, temperature_, trace_, outcome_, n_iter_, n_components_, n_distinct_, precision_
        As in `AspectModel`.

    Examples
    --------
    >>> import numpy as np
    >>> from isotherm import LapPLSI
    >>> X = np.kron(np.eye(2, dtype=int), np.full((5, 4), 6))
    >>> weights = LapPLSI(2, n_neighbors=3, random_state=0).fit_transform(X)
    >>> bool(weights[0].argmax() != weights[-1].argmax())
    True
    """

    _parameters: ClassVar[Checks] = {
        "regularization": number_from_zero_or_auto,
        "method": one_of("gauss-seidel", "jacobi", "cai"),
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        regularization: float | str = AUTO,
        method: str = "gauss-seidel",
        n_neighbors: int = 10,
        max_label_edges: int | None = None,
        schedule: Schedule | None = None,
        start: Start | None = None,
        tol: float = 1e-5,
        max_iter: int = 100,
        engine: Engine | None = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        random_state: RandomState = None,
        verbose: bool | None = None,
    ) -> None:
        self.n_components = n_components
        self.regularization = regularization
        self.method = method
        self.n_neighbors = n_neighbors
        self.max_label_edges = max_label_edges
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
        chosen = strengths.PATH if self.regularization == AUTO else (float(self.regularization),)
        K = int(self.n_components)
        models = tuple(lap_plsi.LapPLSI(K, strength, self.method) for strength in chosen)
        return Recipe(models, Fixed(1.0))

    def _attributes(self, fitted: Fitted) -> None:
        self.regularization_ = float(self.model_.strength)
        if self.regularization != AUTO:
            self.path_scores_ = np.empty((0, 3))


class LTM(LinkedEstimator):
    """Topics of documents, close to those of neighbours by divergence (Cai, Wang & He 2009).

    As `LapPLSI`, with the symmetric Kullback-Leibler divergence in place of the squared distance.

    Parameters
    ----------
    n_components : int
        Number of topics K.
    regularization : float
        Lambda, as in Huh & Fienberg 2010; 0 is PLSA.
    method : {"linear", "exact"}
        Cai's linear equations, whose objective may fall now and then, or the maximiser, which is
        some times slower.
    n_neighbors, max_label_edges, schedule, start, tol, max_iter
        As in `LapPLSI`.
    engine, n_jobs, device, random_state, verbose
        As in `AspectModel`.

    Attributes
    ----------
    components_, weights_, row_weights_, graph_, neighbors_, free_energy_
        As in `LapPLSI`.
    names_, temperature_, trace_, outcome_, n_iter_, n_components_, n_distinct_, precision_
        As in `AspectModel`.
    """

    _parameters: ClassVar[Checks] = {
        "regularization": number(0.0),
        "method": one_of("linear", "exact"),
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        regularization: float = 100.0,
        method: str = "linear",
        n_neighbors: int = 10,
        max_label_edges: int | None = None,
        schedule: Schedule | None = None,
        start: Start | None = None,
        tol: float = 1e-5,
        max_iter: int = 100,
        engine: Engine | None = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        random_state: RandomState = None,
        verbose: bool | None = None,
    ) -> None:
        self.n_components = n_components
        self.regularization = regularization
        self.method = method
        self.n_neighbors = n_neighbors
        self.max_label_edges = max_label_edges
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
        K, strength = int(self.n_components), float(self.regularization)
        return Recipe((ltm.LTM(K, strength, self.method),), Fixed(1.0))


class DTM(LinkedEstimator):
    """Topics of documents that keep all documents apart but neighbours (Huh & Fienberg 2010).

    PLSA whose rows also raise Q2, the ratio of the squared distances of all pairs of rows to those
    of linked pairs. Neither the likelihood nor Q2 ever falls, and there is no weight to choose.
    With very few labels take `LapPLSI` first: the likelihood that must not fall keeps topics of
    one class apart, so that with many topics one label to a class tells less than it could.

    Parameters
    ----------
    n_components : int
        Number of topics K.
    step : {"mm", "paper"}
        How Q2 is raised: by a step that never lowers it, or by the one of the paper, which may
        with three topics or more and then is not taken.
    gamma : float in (0, 1]
        Size of the steps in which rows go back towards PLSA until the likelihood does not fall.
    kappa : float
        How strongly `transform` ties new rows to their neighbours; 0 folds in as PLSA does.
    n_neighbors, max_label_edges, start, tol, max_iter
        As in `LapPLSI`; the energy is minus the log-likelihood per token, minus log Q2.
    schedule : Schedule, optional
        Temperatures; by default the one at which held-out tokens stop the cooling of the start,
        and `Fixed(1.0)` where a start is given.
    engine, n_jobs, device, random_state, verbose
        As in `AspectModel`.

    Attributes
    ----------
    separation_ : float
        Q2 of the training rows.
    n_rejected_ : int
        Sweeps that found no rows with a higher Q2 and no lower likelihood.
    components_, weights_, row_weights_, graph_, neighbors_, free_energy_
        As in `LapPLSI`.
    names_, temperature_, trace_, outcome_, n_iter_, n_components_, n_distinct_, precision_
        As in `AspectModel`.
    """

    # No weight holds the likelihood back here, so what keeps it from fitting noise is the heat.
    keeps_temperature = True

    _parameters: ClassVar[Checks] = {
        "step": one_of("mm", "paper"),
        "gamma": share_above_zero,
        "kappa": number(0.0),
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        step: str = "mm",
        gamma: float = 0.1,
        kappa: float = 1.0,
        n_neighbors: int = 10,
        max_label_edges: int | None = None,
        schedule: Schedule | None = None,
        start: Start | None = None,
        tol: float = 1e-5,
        max_iter: int = 100,
        engine: Engine | None = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        random_state: RandomState = None,
        verbose: bool | None = None,
    ) -> None:
        self.n_components = n_components
        self.step = step
        self.gamma = gamma
        self.kappa = kappa
        self.n_neighbors = n_neighbors
        self.max_label_edges = max_label_edges
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
        if self.n_components == 1:
            warn("n_components=1: rows with one topic are all alike, the result is that of PLSA")
        elif self.graph_.nnz:
            apart = n_graph_components(self.graph_) - self.n_empty_rows_
            if apart > 1:
                warn(
                    f"the graph has {apart} components that no edge connects; Q2 has no upper "
                    "bound then: rows of different components are driven apart as far as the "
                    "likelihood lets them (more neighbours would connect them)"
                )
        model = dtm.DTM(int(self.n_components), self.step, float(self.gamma), float(self.kappa))
        return Recipe((model,), Fixed(1.0))

    def _attributes(self, fitted: Fitted) -> None:
        data: Any = fitted.plan.full  # linked rows stay in one process
        block = data.blocks[0]
        spread = data.kernels.spread(block.links, self.row_weights_)
        self.separation_ = float(dtm.separation(spread))
        in_a_row, self.n_rejected_ = (int(count) for count in self.params_.rejected)
        if in_a_row >= dtm.MOST_REJECTED:
            warn(
                f"{dtm.MOST_REJECTED} steps in a row would have lowered Q2 or the likelihood: the "
                "fit stopped there; another random_state, a smaller gamma or more topics may go on"
            )
