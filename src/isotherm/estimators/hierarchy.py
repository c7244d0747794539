"""Hierarchical clustering as a scikit-learn estimator."""

from __future__ import annotations

import dataclasses
import difflib
import json
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from isotherm import _checks
from isotherm._types import Rng
from isotherm.anneal.callbacks import Log, time_is_up
from isotherm.anneal.crossval import Curve
from isotherm.anneal.engine import Annealer
from isotherm.anneal.fold import fold_in
from isotherm.anneal.heldout import HeldoutTokens
from isotherm.anneal.schedule import Adaptive, Fixed, Grid, Schedule
from isotherm.anneal.start import Start, state_of
from isotherm.anneal.trace import Fit, Outcome, State, completed, thinned
from isotherm.data.base import Array
from isotherm.data.counts import Counts
from isotherm.data.split import SPLIT_SEED, RandomState, as_generator
from isotherm.errors import IsothermError
from isotherm.estimators.counts import ORDERS
from isotherm.estimators.engine import SETTINGS, Engine
from isotherm.estimators.holdout import Folds
from isotherm.estimators.leveled import OF_GROWING, Leveled, check_cut, numbered, with_levels
from isotherm.estimators.parameters import AUTO, Checks, integer, number, number_or_auto, one_of
from isotherm.estimators.plan import Plan, Table
from isotherm.estimators.recipe import Fitted, Recipe, planned, steered
from isotherm.estimators.starts.hierarchy import Clusters, grown, in_two, put_on
from isotherm.estimators.trials import Solution
from isotherm.estimators.words import told_of_nodes
from isotherm.models.hierarchy import WEIGHTS, Hierarchy
from isotherm.placement.base import Data
from isotherm.tree import Tree, as_tree

# Temperatures that are tried, as shares of the one at which the clusters were found.
SHARES = (1.0, 0.85, 0.7, 0.6, 0.5, 0.4, 0.3)
# Sweeps where nothing is held out to say when to stop.
BLIND_SWEEPS = 10


class HierarchicalClustering(Leveled):
    """Clustering of the rows of a count table into the leaves of a tree of topics.

    Every row belongs to a leaf, and each of its counts to a node on the path from the root to that
    leaf: general words to the root, special ones to the leaves (Hofmann & Puzicha 1998, section
    2.4). The tree grows out of one cluster, which splits where it loses its stability while it is
    cooled; or it is given. Temperature and number of sweeps are chosen on tokens held out of every
    row.

    Parameters
    ----------
    n_components : int, "auto" or "predict"
        Leaves at most. "predict" grows as long as clusters predict held-out tokens better; "auto"
        is the finest number, up to that one, whose leaves are found again in halves of the rows.
    tree : Tree, parents or nested lists, optional
        The tree, e.g. `Tree.balanced(3)`, `[-1, 0, 0]` or `[[0, 1], 2]`.
    weights : {"uniform", "cluster", "full"}
        Weights of the nodes on a path: all the same, those of a leaf, or those of a row in a leaf,
        which predict best and blur the words of the nodes.
    weights_fraction : float
        Share of the tokens that the weights of a leaf are taken from ("cluster"); taken from the
        tokens that fit the nodes they would drift to the leaves. 0 does that.
    aspect_temperature : float or "tied"
        Temperature of the choice of a node, "tied" to that of the choice of a leaf.
    max_components : int
        Most leaves that "auto" comes to.
    schedule : Schedule, optional
        Temperatures; by default a grid below the one at which the tree had grown.
    validation_fraction : float
        Share of the tokens held out to choose temperature and sweeps; 0 stays at the temperature
        of the clusters and makes few sweeps.
    temper_prior : bool or "auto"
        Temper P(c) while the tree grows; "auto" only if that predicts clearly better.
    tol, max_iter, engine, n_jobs, device, random_state, verbose
        As in `AspectModel`; there is no over-relaxation by default. With `Engine(holdout=Folds(5))`
        the temperature is the share of that of the tree which is best over folds that grow a tree
        each; tokens are held out of the fit itself as well, for the tree and the number of sweeps.

    Attributes
    ----------
    tree_ : Tree
    node_components_ : (n_nodes, J)
        P(y|a) of every node.
    node_tokens_ : (n_nodes,)
        Expected number of tokens of every node.
    labels_ : (I,)
        Most probable leaf of each training row, as a component 0..K-1.
    row_weights_ : (I, K)
        Posterior of the leaves for each training row, at the temperature of the fit.
    path_weights_ : (I, D)
        Weights of the nodes on the path of each row's leaf, the leaf last.
    components_ : (K, J)
        P(y|c), the mixture of the nodes on the path to leaf c.
    weights_ : (K,)
        P(c).
    levels_ : tuple of Level
        With "auto": solutions with several numbers of leaves, coarse to fine; the model is the
        first of them, and `at` makes one of any.
    reproducibility_ : (K,)
        With "auto": how alike the counterparts of each leaf are in two halves of the rows, 0 to 1.
    node_reproducibility_ : (n_nodes,)
        The same of the leaves below each node together.
    path_ : tuple of Step
        The numbers of clusters that the growing run came to, and their held-out scores.
    names_, temperature_, first_critical_, trace_, outcome_, free_energy_, n_iter_, n_distinct_,
    precision_
        As in `AspectModel`; `trace_` is of the hierarchy, `growth_trace_` of its clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from isotherm import HierarchicalClustering
    >>> X = np.kron(np.eye(2, dtype=int), np.full((5, 4), 6)) + 1
    >>> model = HierarchicalClustering(tree=[0, 1], random_state=0).fit(X)
    >>> [len(model.tree_.path(c)) for c in range(2)]
    [2, 2]
    >>> bool(model.labels_[0] != model.labels_[-1])
    True
    """

    _parameters: ClassVar[Checks] = {
        "n_components": number_or_auto,
        "max_components": integer(1),
        "weights": one_of(*WEIGHTS),
        "weights_fraction": number(0.0, 0.9),
        "temper_prior": one_of(True, False, AUTO),
    }
    _folds_of_any_number = True
    _takes = frozenset(SETTINGS) - {"batches", "memory_limit"}
    _default_over_relax = False
    # A hierarchy begins at its clusters.
    start: Start | None = None

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        tree: object = None,
        weights: str = "uniform",
        weights_fraction: float = 0.1,
        aspect_temperature: float | str = 1.0,
        max_components: int = 256,
        schedule: Schedule | None = None,
        validation_fraction: float = 0.1,
        temper_prior: bool | str = "auto",
        tol: float = 1e-4,
        max_iter: int = 100,
        engine: Engine | None = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        random_state: RandomState = None,
        verbose: bool | None = None,
    ) -> None:
        self.n_components = n_components
        self.tree = tree
        self.weights = weights
        self.weights_fraction = weights_fraction
        self.aspect_temperature = aspect_temperature
        self.max_components = max_components
        self.schedule = schedule
        self.validation_fraction = validation_fraction
        self.temper_prior = temper_prior
        self.tol = tol
        self.max_iter = max_iter
        self.engine = engine
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def transform(self, X: object) -> Array:
        """Posterior of the leaves for each row, (I, K), at the temperature of the fit."""
        check_is_fitted(self)
        data = self._new_rows(self._counts(X, reset=False))
        rows = fold_in(self.model_, self.params_, data, self.temperature_)
        return np.asarray(data.gather(rows).posterior, np.float64)

    def predict(self, X: object) -> Array:
        """Most probable leaf of each row, (I,), as a component; the lowest index on ties."""
        return np.asarray(self.transform(X).argmax(axis=1))

    def fit_predict(self, X: object, y: object = None, sample_weight: object = None) -> Array:
        """Most probable leaf of each training row, (I,)."""
        labels: Array = self.fit(X, y, sample_weight=sample_weight).labels_
        return labels

    def cut(self, n_components: int, X: object, sample_weight: object = None) -> Self:
        """The same model with another number of leaves: a fit of that number.

        Parameters
        ----------
        n_components : int
            At most as many as the clusters came to (the last of `path_`); a fit that does not find
            so many has fewer.
        X : counts (I, J)
            What the model was fitted to.
        sample_weight : array-like (I,), optional

        Returns
        -------
        fitted estimator
            A copy, whose `n_components` is the number asked for.
        """
        counts, weight = check_cut(self, n_components, X, sample_weight)
        other = numbered(self, n_components)
        other.engine = self.engine
        for name in OF_GROWING:
            if name in vars(other):
                delattr(other, name)
        with other._fit_told():
            fitted = other._fitted(Table(counts, weight, other._data), as_generator(0))
        other._set_fitted(fitted)
        other._come_home()
        return other

    def node_words(
        self, n_words: int = 10, *, by: str = "telling", names: object = None
    ) -> list[list[str]]:
        """Most telling columns of every node.

        Parameters
        ----------
        n_words : int
        by : {"telling", "probability", "lift"}
            Order by how much the column tells of the rows below the node, next to those below the
            node above it and to all rows (of the root by P(y|a)); by P(y|a); or by P(y|a) / p(y),
            damped for rare columns.
        names : sequence (J,), optional
            Names of the columns, as in `top_words`.
        """
        check_is_fitted(self)
        _checks.one_of("by", by, ORDERS)
        if by == ORDERS[0]:
            table = np.array(list(told_of_nodes(self, self.tree_)))
        else:
            table = self.node_components_
        return self._first(table, n_words, by, names)

    def word_spread(self, word: object) -> Array:
        """Share of the tokens of a word (column name or number) in each node, (n_nodes,).

        Special words gather in one branch; a word of several meanings turns up in several.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        column = column_number(word, names, self.n_features_in_)
        tokens = self.node_tokens_ * self.node_components_[:, column]
        total = tokens.sum()
        return np.asarray(tokens / total if total > 0 else np.zeros_like(tokens))

    def path(self, row: int) -> list[tuple[int, float]]:
        """Nodes from the root to the leaf of a training row, each with its weight in the row."""
        check_is_fitted(self)
        n_rows = len(self.labels_)
        if isinstance(row, bool) or not hasattr(row, "__index__") or not 0 <= row < n_rows:
            raise IsothermError(f"row is {row!r}; the model was fitted to rows 0 to {n_rows - 1}")
        nodes = self.tree_.path(int(self.labels_[row]))
        weights = self.path_weights_[row, -len(nodes) :].tolist()
        return list(zip(nodes, weights, strict=True))

    def expand(self, node: int = 0, *, n_words: int = 10) -> dict[str, object]:
        """What there is to see at a node, as plain data: words, children, rows below it."""
        check_is_fitted(self)
        words = self.node_words(n_words)
        entry = self._entries(words)[node] if 0 <= node < self.tree_.n_nodes else {}
        tree = self.tree_
        children = tree.children(node)
        below = np.isin(self.labels_, tree.components_below(node))
        temperature = tree.temperatures[node]
        return {
            "node": node,
            "parent": None if node == 0 else tree.parents[node],
            "temperature": None if np.isnan(temperature) else temperature,
            "component": tree.component(node),
            **entry,
            "children": [{"node": child, **self._entries(words)[child]} for child in children],
            "rows": np.flatnonzero(below).tolist(),
        }

    def to_json(self, n_words: int = 10) -> str:
        """The whole tree as nested JSON: children, temperatures, words, numbers of rows."""
        check_is_fitted(self)
        return json.dumps(self.tree_.to_dict(self._entries(self.node_words(n_words))))

    def to_newick(self, n_words: int = 3) -> str:
        """The tree in Newick notation, each leaf named by its words."""
        check_is_fitted(self)
        words = self.node_words(n_words)
        return self.tree_.to_newick([" ".join(words[leaf]) for leaf in self.tree_.leaves])

    def _entries(self, words: list[list[str]]) -> list[dict[str, object]]:
        """Words, share of the tokens and number of rows of every node."""
        tree, total = self.tree_, self.node_tokens_.sum()
        counts = np.bincount(self.labels_, minlength=tree.n_leaves)
        return [
            {
                "words": words[node],
                "share": float(self.node_tokens_[node] / total),
                "n_rows": int(counts[list(tree.components_below(node))].sum()),
            }
            for node in range(tree.n_nodes)
        ]

    def _check(self) -> None:
        if isinstance(self._settings.holdout, Folds) and self.schedule is not None:
            raise IsothermError(
                f"holdout={self._settings.holdout!r} with schedule={self.schedule!r}; folds choose "
                "a share of the temperature at which a tree has grown: leave one of them out",
                parameter="holdout",
            )
        Hierarchy((-1,), (0,), aspect_temperature=self.aspect_temperature)
        if self.tree is None:
            return
        K = as_tree(self.tree).n_leaves
        if not self._grows and self.n_components != K:
            raise IsothermError(
                f"n_components={self.n_components} with a tree of {K} leaves; leave n_components "
                "out, or give the number of leaves",
                parameter="n_components",
            )

    def _recipe(self, table: Table) -> Recipe:
        # Stand-ins: what is tried depends on the clusters.
        return Recipe((Hierarchy((-1,), (0,)),), Fixed(1.0))

    def _fitted(self, table: Table, rng: Rng) -> Fitted:
        if self.tree is not None:
            return self._of_clusters(table, rng)

        def grow() -> Fitted:
            return self._of_clusters(table, rng)

        return with_levels(self, table, grow, _refitted, _clusters_of_half)

    def _of_clusters(self, table: Table, rng: Rng) -> Fitted:
        """A hierarchy on the tree of clusters that were found in the table."""
        recipe = self._full_recipe(table)
        folds, hold = recipe.hold.folds, dataclasses.replace(recipe.hold, folds=None)
        recipe = dataclasses.replace(recipe, hold=hold)
        # Tokens are dealt into a number of parts: anything else has been refused.
        cv = None if folds is None else folds.cv
        curve = self._curve(cv, table, recipe) if isinstance(cv, int) else None
        plan, _ = planned(recipe, table, self._engine(recipe.schedule))
        clusters = self._clusters(plan, rng)
        model = self._hierarchy(clusters)
        run = self._twice(plan, table.counts) if model.held_out else plan
        annealer = steered(self._engine(recipe.schedule), recipe, plan)
        shares = SHARES if curve is None else (curve.best,)
        cooled = self._chosen(model, run, clusters, annealer, rng, shares)
        fit = self._repeated(model, run, clusters, cooled, rng)
        plain = dataclasses.replace(fit, model=dataclasses.replace(model, held_out=False))
        return Fitted(recipe, plan, plain, cooled, curve, clusters=clusters)

    def _hierarchy(self, clusters: Clusters) -> Hierarchy:
        """The model on the tree of the clusters."""
        return Hierarchy(
            clusters.tree.parents,
            clusters.tree.leaves,
            self.weights,
            self.aspect_temperature,
            held_out=self.weights == "cluster" and self.weights_fraction > 0,
            critical=self._settings.record_critical or isinstance(self.schedule, Adaptive),
        )

    def _curve(self, cv: int, table: Table, recipe: Recipe) -> Curve:
        """Mean score over folds, at shares of the temperature of the clusters of each."""
        # The user's callbacks are for the fit itself, not for every fold.
        engine = dataclasses.replace(self._engine(recipe.schedule), callbacks=(Log(),))
        scores: list[Array] = []
        for rest, part in table.parts(cv):
            data, rng = rest.placed(), np.random.default_rng(SPLIT_SEED)
            beside = data.beside(part)
            if not (data.summary.total > 0 and beside.summary.total > 0):
                continue
            plan = Plan(data, data, HeldoutTokens(beside), recipe.schedule)
            clusters = self._clusters(plan, rng)
            model = self._hierarchy(clusters)
            run = self._twice(plan, rest.counts) if model.held_out else plan
            fit = self._chosen(model, run, clusters, engine, rng, SHARES)
            if Outcome.INTERRUPTED in (clusters.fit.outcome, fit.outcome):
                raise KeyboardInterrupt
            scores.append(np.log([record.heldout for record in fit.trace]))
        if not scores:
            raise IsothermError(
                f"holdout={self._settings.holdout!r}: in no fold do both parts have tokens; use "
                "fewer folds or validation_fraction",
                parameter="holdout",
            )
        return Curve(np.array(SHARES), np.exp(np.mean(scores, axis=0)))

    @property
    def _grows(self) -> bool:
        return isinstance(self.n_components, str)

    def _clusters(self, plan: Plan, rng: np.random.Generator) -> Clusters:
        """Clusters on a tree: grown with it, or put on a given one."""
        engine = dataclasses.replace(self._engine(Fixed(1.0)), record_critical=False)
        given = engine, plan.data, plan.heldout, rng, self.temper_prior, self._patience
        if self.tree is not None:
            return put_on(as_tree(self.tree), *given)
        n_components = None if self._grows else int(self.n_components)
        return grown(n_components, self.max_components, *given)

    def _chosen(
        self,
        model: Hierarchy,
        plan: Plan,
        clusters: Clusters,
        annealer: Annealer,
        rng: np.random.Generator,
        shares: tuple[float, ...],
    ) -> Fit:
        """The run whose temperature and sweeps the held-out tokens choose."""
        schedule = self.schedule
        if schedule is None:
            T = clusters.temperature
            grid = Grid(tuple(T * share for share in shares))
            schedule = Fixed(T * shares[0]) if plan.heldout is None else grid
        annealer = dataclasses.replace(annealer, schedule=schedule)
        if plan.heldout is not None:
            annealer = dataclasses.replace(annealer, check_every=1)
        elif self.weights == "full":
            annealer = dataclasses.replace(annealer, max_sweeps=min(self.max_iter, BLIND_SWEEPS))
        if clusters.interrupted:
            annealer = dataclasses.replace(annealer, max_sweeps=1)
        if clusters.interrupted or time_is_up(annealer.callbacks):
            annealer = dataclasses.replace(annealer, schedule=Fixed(clusters.temperature))
        begin = self._begin(model, plan.data, clusters)
        return annealer.run(model, plan.data, rng, heldout=plan.heldout, state=begin)

    def _repeated(
        self,
        model: Hierarchy,
        plan: Plan,
        clusters: Clusters,
        cooled: Fit,
        rng: np.random.Generator,
    ) -> Fit:
        """As many sweeps on all counts as were best on those kept, at the chosen temperature."""
        if plan.data is plan.full:
            return cooled
        at = next(r for r in cooled.trace if r.temperature == cooled.temperature)
        past = not at.converged and at.sweeps < self.max_iter
        n_sweeps = max(1, at.sweeps - past)
        if cooled.outcome is Outcome.INTERRUPTED:
            n_sweeps = 1
        plain = self._engine(Fixed(cooled.temperature))
        end = Annealer(
            plain.schedule, plain.relaxation, tol=self.tol, max_sweeps=n_sweeps, noise=0.0
        )
        return end.run(model, plan.full, rng, state=self._begin(model, plan.full, clusters))

    def _begin(self, model: Hierarchy, data: Data, clusters: Clusters) -> State:
        table = clusters.table.astype(data.kernels.dtype)
        return state_of(model, data, model.begun(clusters.weight, table, data.summary.total))

    def _twice(self, plan: Plan, counts: Counts) -> Plan:
        """The plan with some tokens of every row in further columns, for the weights alone."""
        divide = partial(in_two, fraction=self.weights_fraction, seed=SPLIT_SEED + 1)
        full = plan.full.beside(counts.changed(divide))
        if plan.data is plan.full:
            return plan._replace(data=full, full=full)
        kept, _ = counts.hold_out(self.validation_fraction, SPLIT_SEED)
        return plan._replace(data=plan.data.beside(kept.changed(divide)), full=full)

    def _attributes(self, fitted: Fitted) -> None:
        clusters, state = fitted.clusters, fitted.fit.state
        if self._grows and self.tree is None:
            # What came before are clusters, and no hierarchies.
            self.path_ = thinned(clusters.fit.path, 0)
        self.tree_ = clusters.tree
        self.first_critical_ = clusters.fit.first_critical
        self.growth_trace_ = clusters.fit.trace
        self.n_iter_ += clusters.fit.n_sweeps
        if clusters.interrupted:
            self.outcome_ = Outcome.INTERRUPTED.value
        rows, params = fitted.plan.full.gather(state.rows), state.params
        self.row_weights_ = np.asarray(rows.posterior, np.float64)
        self.labels_ = self.row_weights_.argmax(axis=1)
        self.node_components_ = np.ascontiguousarray(params.word_node.T, dtype=np.float64)
        self.node_tokens_ = np.asarray(params.tokens, np.float64)
        if self.weights == "full":
            own = rows.share[np.arange(len(self.labels_)), self.labels_]
        else:
            own = params.share[self.labels_]
        self.path_weights_ = np.asarray(own, np.float64)


def _refitted(
    model: HierarchicalClustering, table: Table, finer: HierarchicalClustering | None
) -> Fitted:
    """A level: a fit with its number of leaves."""
    return model._fitted(table, as_generator(0))


def _clusters_of_half(
    model: HierarchicalClustering, table: Table, temperature: float | None, first_critical: float
) -> Solution:
    """As many clusters as there are leaves: they are what a hierarchy is about."""
    recipe = model._full_recipe(table)
    # Folds choose the temperature of the hierarchy, and there is none here.
    recipe = dataclasses.replace(recipe, hold=dataclasses.replace(recipe.hold, folds=None))
    plan, _ = planned(recipe, table, model._engine(Fixed(1.0)))
    leaves = Tree((-1, *[0] * int(model.n_components)))
    engine, rng = model._engine(Fixed(1.0)), as_generator(0)
    given = engine, plan.data, plan.heldout, rng, model.temper_prior, model._patience
    fit = completed(put_on(leaves, *given).fit)
    return Solution(fit.model, fit.state.params, fit.temperature, plan.full)


def column_number(word: Any, names: Array | None, n_columns: int) -> int:
    """Number of the column with a name, or with that number; names may be unknown."""
    if names is None or not isinstance(word, str):
        whole = hasattr(word, "__index__") and not isinstance(word, bool)
        if whole and 0 <= word < n_columns:
            return int(word)
        raise IsothermError(
            f"word is {word!r}; give {'' if names is None else 'a column name or '}"
            f"the number of a column, 0 to {n_columns - 1}"
        )
    found = np.flatnonzero(np.asarray(names) == word)
    if len(found):
        return int(found[0])
    near = difflib.get_close_matches(word, [str(name) for name in names], n=5)
    hint = f"near it are {', '.join(near)}" if near else "no column is spelled like it"
    raise IsothermError(f"word is {word!r}, which the counts do not have; {hint}")
