"""Two-sided clustering as a scikit-learn estimator."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from sklearn.base import BiclusterMixin
from sklearn.utils.validation import check_is_fitted

from isotherm import _checks
from isotherm._markup import Description, Part
from isotherm._types import Rng
from isotherm.anneal.engine import Annealer
from isotherm.anneal.schedule import Schedule
from isotherm.anneal.start import Start
from isotherm.anneal.trace import Fit
from isotherm.data import frames
from isotherm.data.base import Array
from isotherm.data.counts import Counts
from isotherm.data.split import RandomState
from isotherm.errors import IsothermError
from isotherm.estimators.counts import CountEstimator
from isotherm.estimators.engine import Engine
from isotherm.estimators.parameters import Checks, flag, integer, optional
from isotherm.estimators.plan import Plan, Table
from isotherm.estimators.recipe import Fitted, Recipe, cool_plainly
from isotherm.estimators.starts.two_sided import Heating, OneSidedFits
from isotherm.models.two_sided import TwoSided, mutual_information

# Times the tolerance, for temperatures that are only passed while heating.
LOOSE = 10.0


class TwoSidedClustering(BiclusterMixin, CountEstimator):
    """Clustering of the rows and of the columns of a count table at the same time.

    Every row belongs to a cluster c, every column to a cluster d, and a count depends on the pair
    alone: P(x,y) = p(x) p(y) phi(c,d) (Hofmann & Puzicha 1998, section 2.3). The clusters begin at
    two annealed one-sided fits, of the rows and of the columns, and are then heated step by step
    from T = 1 for as long as tokens held out of every row are predicted better: the uniform state
    is stable at every temperature, so that cooling would never leave it.
    `validation_fraction=0` stays at T = 1; `schedule=Fixed(0.0)` is the hard limit, in which every
    sweep raises the mutual information of the two clusterings.

    The same without an estimator, where the validation counts are given::

        model = TwoSided(K, temper_prior=True)
        annealer = Annealer(Heating(0.7), NO_RELAXATION, start=OneSidedFits(), tol=1e-4,
                            callbacks=[HeldoutRule(3)])
        fit = annealer.run(model, data, rng, heldout=HeldoutTokens(data.beside(valid)))

    Parameters
    ----------
    n_components : int
        Number of clusters of rows K.
    n_column_components : int, optional
        Number of clusters of columns L; K by default.
    schedule : Schedule, optional
        Temperatures; by default heating from T = 1 by a factor of 1 / 0.7 a step, to 6 at most.
        `Fixed(0.0)` gives hard clusters; `Grid` begins anew at every temperature. Schedules that
        cool need a start of their own: this model has no first critical temperature.
    start : Start, optional
        Where the clusters begin; two one-sided fits by default.
    validation_fraction : float
        Share of the tokens held out to choose the temperature; 0 stays at T = 1.
    temper_prior : bool
        Temper the weights of the clusters together with the likelihood: keeps clusters balanced
        on sparse text.
    tol, max_iter, engine, n_jobs, device, random_state, verbose
        As in `AspectModel`.

    Attributes
    ----------
    row_labels_ : (I,)
        Most probable cluster of each training row.
    column_labels_ : (J,)
        Most probable cluster of each column.
    rows_, columns_ : (K L, I), (K L, J) bool
        Members of each bicluster; bicluster c L + d is the pair of clusters (c, d).
    row_weights_ : (I, K)
        Posterior of the clusters for each training row, at the temperature of the fit.
    column_weights_ : (J, L)
        Posterior of the clusters for each column.
    association_ : (K, L)
        phi(c,d): how many times as often two clusters meet as by chance.
    joint_ : (K, L)
        P(c,d), share of the tokens in each pair of clusters.
    mutual_information_ : float
        I(c,d) of the two clusterings in nats.
    components_ : (K, J)
        P(y|c).
    weights_ : (K,)
        Share of the rows in each cluster.
    names_, temperature_, first_critical_, trace_, outcome_, free_energy_, n_iter_, n_distinct_,
    precision_
        As in `AspectModel`.

    Examples
    --------
    >>> import numpy as np
    >>> from isotherm import TwoSidedClustering
    >>> X = np.kron([[6, 1, 1], [1, 6, 6]], np.ones((5, 4), dtype=int))
    >>> model = TwoSidedClustering(n_components=2, random_state=0).fit(X)
    >>> model.column_labels_[0] != model.column_labels_[4] == model.column_labels_[8]
    np.True_
    >>> (model.association_.max(axis=1) > 1).all()
    np.True_
    """

    # phi belongs to the posteriors: there is nothing to extrapolate.
    _parameters: ClassVar[Checks] = {
        "n_column_components": optional(integer(1)),
        "temper_prior": flag,
    }
    _takes = frozenset({"holdout", "patience", "record_critical", "precision", "callbacks"})
    _default_over_relax = False

    def __init__(
        self,
        n_components: int = 8,
        n_column_components: int | None = None,
        *,
        schedule: Schedule | None = None,
        start: Start | None = None,
        validation_fraction: float = 0.1,
        temper_prior: bool = True,
        tol: float = 1e-4,
        max_iter: int = 100,
        engine: Engine | None = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        random_state: RandomState = None,
        verbose: bool | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_column_components = n_column_components
        self.schedule = schedule
        self.start = start
        self.validation_fraction = validation_fraction
        self.temper_prior = temper_prior
        self.tol = tol
        self.max_iter = max_iter
        self.engine = engine
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    @property
    def rows_(self) -> Array:
        """Rows of each bicluster, (K L, I) bool."""
        K, L = self.association_.shape
        return np.repeat(self.row_labels_ == np.arange(K)[:, None], L, axis=0)

    @property
    def columns_(self) -> Array:
        """Columns of each bicluster, (K L, J) bool."""
        K, L = self.association_.shape
        return np.tile(self.column_labels_ == np.arange(L)[:, None], (K, 1))

    def get_indices(self, i: int) -> tuple[Array, Array]:
        """Rows and columns of the i-th bicluster.

        Parameters
        ----------
        i : int
            c L + d for the pair of clusters (c, d).
        """
        check_is_fitted(self)
        _checks.integer("i", i, 0)
        if i >= self.association_.size:
            raise IsothermError(
                f"i={i}; there are {self.association_.size} biclusters, 0 to "
                f"{self.association_.size - 1}",
                parameter="i",
            )
        c, d = np.unravel_index(i, self.association_.shape)
        return np.flatnonzero(self.row_labels_ == c), np.flatnonzero(self.column_labels_ == d)

    def predict(self, X: object) -> Array:
        """Most probable cluster of each row, (I,); the lowest index on ties.

        `transform` gives the posterior that this is the maximum of.
        """
        return np.asarray(self.transform(X).argmax(axis=1))

    def top_rows(self, n: int = 10) -> list[list[str]]:
        """Most probable rows of every cluster of rows, by n(x) Q(c|x): frequent and certain.

        Only rows whose most probable cluster it is; the list of an empty cluster is empty.
        """
        check_is_fitted(self)
        names = np.arange(len(self.row_labels_)) if self.row_names_ is None else self.row_names_
        return _members(self.row_weights_, self.row_labels_, self.row_totals_, names, n)

    def top_columns(self, n: int = 10, *, names: object = None) -> list[list[str]]:
        """Most probable columns of every cluster of columns, by n(y) Q(d|y); `names` (J,)."""
        check_is_fitted(self)
        own = self._column_names(names)
        return _members(self.column_weights_, self.column_labels_, self.unigram_, own, n)

    def describe(self, n_words: int = 8, *, names: object = None) -> Description:
        """Readable summary: the run, then the clusters of rows and of columns with their partner.

        The partner of a cluster is the cluster of the other side that it meets most often,
        compared with chance, weighed by how often that is (the largest term of I(c,d)). `names`
        (J,) are those of the columns, as in `top_words`.
        """
        return described(*self._summary(n_words, names))

    def _summary(self, n_words: int, names: object = None) -> tuple[str, Part, Part]:
        """A line on the run, and a table of the clusters of each side."""
        check_is_fitted(self)
        _checks.integer("n_words", n_words, 1)
        K, L = self.association_.shape
        head = (
            f"{type(self).__name__}: {K} clusters of rows, {L} of columns at "
            f"T = {self.temperature_:.4g}, mutual information {self.mutual_information_:.4g} nats"
        )
        share = self.joint_ * np.log(np.maximum(self.association_, 1e-300))
        rows = _part("rows", self.joint_.sum(axis=1), self.top_rows(n_words), share)
        members = self.top_columns(n_words, names=names)
        columns = _part("columns", self.joint_.sum(axis=0), members, share.T)
        return head, rows, columns

    def _check(self) -> None:
        if getattr(self.schedule, "start", 0.0) is None:
            raise IsothermError(
                f"schedule={self.schedule!r} cools from the first critical temperature, which this "
                "model has not: give it a start, or leave the schedule out to heat from T = 1",
                parameter="schedule",
            )

    def _counts(self, X: object, *, reset: bool) -> Counts:
        counts = super()._counts(X, reset=reset)
        if reset:
            # Checked as an array, a frame has lost its index.
            labels = frames.row_labels(X)
            self.row_names_ = counts.row_names if labels is None else labels
        return counts

    def _recipe(self, table: Table) -> Recipe:
        L = self.n_column_components or self.n_components
        model = TwoSided(self.n_components, L, self.temper_prior)
        return Recipe((model,), Heating(rate=0.7), OneSidedFits(), cool=heat_loosely)

    def _attributes(self, fitted: Fitted) -> None:
        params = fitted.fit.state.params
        self.column_weights_ = np.asarray(params.column_posterior, np.float64)
        self.row_labels_ = self.row_weights_.argmax(axis=1)
        self.column_labels_ = self.column_weights_.argmax(axis=1)
        self.association_ = params.association
        self.joint_ = params.joint
        self.mutual_information_ = mutual_information(params.joint)


def heat_loosely(recipe: Recipe, annealer: Annealer, plan: Plan, rng: Rng) -> Fit:
    """Heated loosely where the chosen state is settled on all counts afterwards."""
    if plan.data is not plan.full:
        annealer = dataclasses.replace(annealer, tol=LOOSE * annealer.tol)
    return cool_plainly(recipe, annealer, plan, rng)


def _members(
    weights: Array, labels: Array, totals: Array, names: Sequence[object] | Array, n: int
) -> list[list[str]]:
    """Names of the n heaviest members of each cluster."""
    _checks.integer("n", n, 1)
    found = []
    for c in range(weights.shape[1]):
        own = np.flatnonzero(labels == c)
        order = own[np.argsort(-weights[own, c] * totals[own], kind="stable")]
        found.append([str(names[i]) for i in order[:n]])
    return found


def described(head: str, *sides: Part) -> Description:
    """A line on the run, and for each side its title and a line per cluster."""
    lines = [head]
    for side in sides:
        lines.append(f"{side.title}:")
        lines += [f"{c:4d}  {share:>7}  -> {p:<3d}  {shown}" for c, share, p, shown in side.rows]
    return Description("\n".join(lines), (head, *sides))


def _part(side: str, tokens: Array, members: list[list[str]], share: Array) -> Part:
    """A row per cluster, the largest first: share of the tokens, partner, members."""
    rows = [
        (c, f"{100 * tokens[c]:.1f} %", int(share[c].argmax()), " ".join(members[c]))
        for c in np.argsort(-tokens, kind="stable").tolist()
    ]
    return Part(("cluster", "share", "partner", "members"), rows, side)
