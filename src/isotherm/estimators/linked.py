"""What estimators of linked rows share: the graph, labels, and new rows tied to old ones."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse

from isotherm.anneal.engine import Annealer
from isotherm.anneal.heldout import HeldoutTokens
from isotherm.anneal.schedule import Fixed, lowest
from isotherm.anneal.start import Start
from isotherm.anneal.trace import Outcome
from isotherm.data.base import Array, blocks_of
from isotherm.data.counts import Counts
from isotherm.data.linked import LinkedBlock, Links
from isotherm.data.split import SPLIT_SEED, as_generator
from isotherm.errors import IsothermError, IsothermWarning, warn
from isotherm.estimators import strengths
from isotherm.estimators.aspect import AspectModel
from isotherm.estimators.counts import CountEstimator
from isotherm.estimators.engine import Engine
from isotherm.estimators.parameters import Checks, integer, optional
from isotherm.estimators.plan import Plan, Table, without_columns
from isotherm.estimators.recipe import Fitted, steered
from isotherm.estimators.starts.linked import NearTopics
from isotherm.graph.labels import label_codes, labelled
from isotherm.graph.neighbors import Neighbors, as_graph
from isotherm.kernels.cpu.dense import one_blas_thread
from isotherm.models.base import Model
from isotherm.placement.local import Local


class Near(NamedTuple):
    """Counts (I, J) and their links (I, I) by content, or as they were `given`, before labels."""

    counts: Counts
    links: sparse.csr_array
    given: bool

    def without(self, rest: Counts, neighbors: Neighbors) -> sparse.csr_array:
        """Links that only know the rest of the tokens, found as the neighbors are."""
        if self.given:
            return self.links
        n, threads = neighbors.n_neighbors, neighbors.n_threads
        return Neighbors.of(rest, n, n_threads=threads, random_state=0).graph()


class LinkedEstimator(CountEstimator):
    """Base of the estimators whose rows are linked by a graph; not for direct use."""

    # Settings of other estimators that make no sense here: nothing is held out of linked rows, and
    # the path that the rows take is part of the method.
    validation_fraction = 0.0
    _parameters: ClassVar[Checks] = {
        "n_neighbors": integer(1),
        "max_label_edges": optional(integer(1)),
    }
    _edits = ("rename", "merge", "pin")
    _takes = frozenset({"precision", "callbacks"})
    _default_over_relax = False
    _mixes = True
    # Whether a fit goes on at the temperature at which held-out tokens stopped its start.
    keeps_temperature = False
    _streams = False
    _one_process = "rows are linked and so are one block"

    # Rows tied to each other have no weights of their own, so there is no `sample_weight`.
    def fit(  # type: ignore[override]
        self, X: object, y: object = None, *, graph: object = None, client: object = None
    ) -> Self:
        """Fit to counts, a graph over the rows, and labels where there are any.

        Parameters
        ----------
        X : array-like, sparse matrix, Counts or dataframe, (I, J)
            Non-negative counts.
        y : array-like (I,), optional
            Labels; -1 is unknown, and so is what is missing (None, NaN). Rows of the same label are
            linked, rows of different labels are not. Never give it labels that the result is tested
            on. A classifier behind it in a `Pipeline` gets the same y: give one that knows -1 as
            well, such as scikit-learn's `SelfTrainingClassifier`.
        graph : sparse or dense matrix, (I, I), optional
            Weights of edges, >= 0. By default the `n_neighbors` nearest neighbours of each row.
        client : None
            Linked rows are one block, which stays in this process: a cluster is refused.

        Returns
        -------
        self
        """
        self._check_client(client)
        with self._afresh():
            self._fit_linked(X, y, graph)
        return self

    def fit_transform(self, X: object, y: object = None, *, graph: object = None) -> Array:
        """Fit, and weights of the components in each training row, (I, K).

        These are the weights of the fit, which know the whole graph and the labels. `transform`
        treats any row, one of the training rows as well, as a new one.
        """
        weights: Array = self.fit(X, y, graph=graph).row_weights_
        return weights

    def _fit_linked(self, X: object, y: object, graph: object) -> None:
        self._check_parameters()
        counts = self._counts(X, reset=True)
        rng = as_generator(self.random_state)
        self._choose_precision(counts)
        # The same neighbours for every seed, and for a fit that is gone on with.
        self.neighbors_ = Neighbors.of(
            counts, self.n_neighbors, n_threads=self._kernels().n_threads, random_state=0
        )
        n_rows = counts.n_rows
        links = self.neighbors_.graph() if graph is None else as_graph(graph, n_rows)
        near = Near(counts, links, graph is not None)
        codes = np.full(n_rows, -1) if y is None else label_codes(y, n_rows)
        self.graph_ = self._with_labels(counts, links, codes, rng)
        self._tell_of_links(counts)
        recipe = self._recipe(Table(counts, None, self._data))
        start, temperature = self._begin(counts, rng)
        data = self._tied(counts, self.graph_)
        plan = Plan(data, data, None, self.schedule or Fixed(temperature))
        recipe = dataclasses.replace(recipe, schedule=plan.schedule, start=start)
        annealer = steered(self._engine(plan.schedule), recipe, plan)
        with one_blas_thread():
            models = recipe.models
            if len(models) > 1:
                scores = self._tried(annealer, models, near, codes)
                models = models[: strengths.preferred(scores) + 1]
                self.path_scores_ = np.array(scores, np.float64).reshape(-1, 3)
            fit, more = strengths.settled_along(models, annealer, data, rng)
        self._set_fitted(Fitted(recipe, plan, fit, fit, more_sweeps=more))
        self.row_totals_ = counts.row_totals

    def _tied(self, counts: Counts, graph: sparse.csr_array) -> Local:
        """All rows as one block, linked by a graph."""
        block = blocks_of(counts, np.array([0, counts.n_rows]))[0]
        return Local([LinkedBlock.of(block, Links.of(graph))], self._kernels())

    def _tried(
        self, annealer: Annealer, models: Sequence[Model], near: Near, codes: Array
    ) -> tuple[strengths.Score, ...]:
        """How the models of a path do with hidden labels, or with tokens where there are none.

        Nothing is tried where that could not tell: one label to a class cannot be hidden.
        """
        # The user's callbacks are for the fit itself.
        annealer = dataclasses.replace(annealer, callbacks=())
        if not self.graph_.nnz or self.n_components == 1:
            return ()
        if strengths.tell(codes):

            def tied(shown: Array) -> Local:
                rng = np.random.default_rng(SPLIT_SEED)
                graph = self._with_labels(near.counts, near.links, shown, rng)
                return self._tied(near.counts, graph)

            return strengths.by_labels(models, annealer, tied, codes)
        if len(np.unique(codes[codes >= 0])) > 1:
            return ()
        rest, held = near.counts.hold_out(strengths.SHARE, SPLIT_SEED)
        if not (rest.total > 0 and held.total > 0):
            return ()
        rng = np.random.default_rng(SPLIT_SEED)
        annealer = dataclasses.replace(annealer, start=self._begin(rest, rng)[0])
        links = near.without(rest, self.neighbors_)
        data = self._tied(rest, self._with_labels(rest, links, codes, rng))
        return strengths.by_tokens(models, annealer, data, HeldoutTokens(data.beside(held)))

    def _begin(self, counts: Counts, rng: np.random.Generator) -> tuple[Start, float]:
        """Where the rows begin, and the temperature of the fit unless there is a schedule."""
        if self.start is not None:
            return self.start, 1.0
        topics = AspectModel(
            self.n_components,
            engine=Engine(precision=self._settings.precision),
            n_jobs=self.n_jobs,
            device=self.device,
            random_state=int(rng.integers(2**31)),
            verbose=self.verbose,
        )
        with warnings.catch_warnings():
            # Too few counts to hold any out are no reason for concern: the start cools to the end.
            warnings.simplefilter("ignore", IsothermWarning)
            topics.fit(counts)
        if topics.outcome_ == Outcome.INTERRUPTED.value:
            raise KeyboardInterrupt
        return NearTopics.of(topics), topics.temperature_ if self.keeps_temperature else 1.0

    def _tell_of_links(self, counts: Counts) -> None:
        """Warn of rows that no link can help."""
        n_rows = counts.n_rows
        self.n_empty_rows_ = int((counts.row_totals == 0).sum())
        if self.n_empty_rows_:
            warn(f"{self.n_empty_rows_} of {n_rows} rows have no counts: they stay without links")
        if not self.graph_.nnz and n_rows > 1:
            warn("no two rows are linked: the result is that of PLSA")

    def _with_labels(
        self, counts: Counts, links: sparse.csr_array, codes: Array, rng: np.random.Generator
    ) -> sparse.csr_array:
        """Edges (I, I) by content or as given, and by label; none of rows without counts."""
        links = labelled(links, codes, self.max_label_edges, rng)
        empty = counts.row_totals == 0
        if empty.any():
            keep = sparse.diags_array(np.where(empty, 0.0, 1.0))
            links = sparse.csr_array(keep @ links @ keep)
            links.eliminate_zeros()
        return links

    def _data(self, counts: Any, weight: Array | None, *, new: bool = True) -> Local:
        """New rows with links to the training rows they have most in common with."""
        known = without_columns(counts, self.unigram_ == 0)
        links = Links.of(self.neighbors_.of_new(known))
        block = blocks_of(known, np.array([0, known.n_rows]))[0]
        return Local([LinkedBlock.of(block, links, self.row_weights_)], self._kernels())

    def _check(self) -> None:
        if self.schedule is not None and lowest(self.schedule) <= 0:
            raise IsothermError(
                f"schedule={self.schedule!r} goes down to T = 0, the hard limit, which only "
                "clustering has; end above 0 (1 is plain EM)",
                parameter="schedule",
            )
