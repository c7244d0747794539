"""The aspect model (PLSA) as a scikit-learn estimator."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from isotherm.anneal.fold import row_marginal
from isotherm.anneal.growth.linkage import met, tree_by_rows
from isotherm.anneal.schedule import Exponential, Schedule, Splitting, lowest
from isotherm.anneal.start import Spectral, Start
from isotherm.anneal.trace import Fit
from isotherm.data.base import Array
from isotherm.data.split import RandomState
from isotherm.errors import IsothermError
from isotherm.estimators.engine import Engine
from isotherm.estimators.growing import GrowingEstimator
from isotherm.estimators.parameters import (
    Checks,
    check_leave_one_out,
    check_posteriors_fit,
    flag,
    flag_or_share,
)
from isotherm.estimators.plan import Plan, Table
from isotherm.estimators.recipe import Fitted, Recipe
from isotherm.models.aspect import Aspect
from isotherm.models.leave_one_out import AspectLeaveOneOut
from isotherm.models.own_words import AspectOwnWords
from isotherm.tree import Tree


class AspectModel(GrowingEstimator):
    """Aspect model (PLSA) fitted by deterministic annealing.

    Every token of row x and column y has its own latent aspect: P(x, y) = sum_a P(a) P(x|a) P(y|a)
    (Hofmann & Puzicha 1998). By default the model begins along the spectrum of the counts, below
    the first critical temperature, and is cooled until tokens held out of every row say stop; then
    it settles on all tokens. `schedule=Fixed(1.0), validation_fraction=0` is plain EM,
    `schedule=Tempered()` is tempered EM (heating).

    Parameters
    ----------
    n_components : int, "auto" or "predict"
        Number of aspects (topics) K. "predict" finds the number that predicts best: the model
        begins with one aspect, aspects split at their critical temperatures, and held-out tokens
        say when to stop. "auto" is the finest number, up to that one, whose aspects are found again
        when the rows are dealt into halves, with finer ones in `levels_`.
    max_components : int
        Most aspects of a number that is found.
    schedule : Schedule, optional
        Temperatures; by default exponential cooling from 0.8 times the first critical temperature
        (relative to zero), by 5 % a step, down to 1.
    start : Start, optional
        Where the components begin; `Spectral()` by default, `Noisy()` is the textbook start.
    validation_fraction : float
        Share of the tokens held out to choose the temperature; 0 cools to the end.
    temper_prior : bool
        Temper P(a) together with the likelihood; keeps aspects balanced. False is the paper's form.
    own_words : bool or float
        Let a token repeat another of its row instead of coming from an aspect: P(y|x) = (1 - g)
        sum_a P(a|x) P(y|a) + g m(x,y), where m is the share of y in the other tokens of x. Words
        come in bursts, for which aspects need not answer then: tokens are predicted far better. A
        number is the weight g; True finds it, by held-out tokens where there are any. Needs
        `temper_prior`.
    leave_one_out : bool
        Compute the posterior of a token from all other tokens (eqs. 42-45): less
        overfitting at low temperatures, at several times the cost and with a posterior for every
        non-zero and component in memory. The free energy may then rise, and over-relaxation has no
        effect. `transform` treats new rows as it does without.
    tol : float
        A temperature is settled when a sweep lowers the free energy by no more than this many
        nats per token.
    max_iter : int
        Most sweeps over the data at one temperature.
    engine : Engine, optional
        What few ever touch: what is held out, patience, over-relaxation, batches of rows, critical
        temperatures in the trace, precision, callbacks; see `Engine`.
    n_jobs : int, optional
        Threads; None or -1 is all cores. The result does not depend on it, to the bit.
    device : {"cpu", "cuda", "torch"}
        Where the counts and tables are: "cuda" is an NVIDIA GPU ("cuda:1" the second one), with
        the extra "gpu"; "torch" is torch on the CPU, to try the same without one.
    random_state : int, Generator, RandomState or None
        Seed of all noise. Which tokens are held out depends on the counts alone, not on it.
    verbose : bool, optional
        Progress line; None shows it on a terminal after two seconds.

    Attributes
    ----------
    components_ : (K, J)
        P(y|a); rows sum to one.
    weights_ : (K,)
        P(a).
    row_weights_ : (I, K)
        P(a|x) of the training rows (the asymmetric view).
    row_components_ : (K, I)
        P(x|a) of the training rows (the symmetric view).
    row_marginal_ : (I,)
        p(x) of the training rows.
    own_weight_ : float
        Weight g of own words: the share of tokens that repeat others of their row. 0 without
        `own_words`.
    names_ : tuple of str (K,)
        A short name of each aspect, of the words that tell most of it; no two are the same.
    n_components_ : int
        Number of aspects.
    levels_ : tuple of Level
        With "auto": solutions with several numbers of aspects, coarse to fine, up to the number
        that predicts best; the model is the first of them, and `at` makes one of any.
    reproducibility_ : (K,)
        With "auto": how alike the counterparts of each aspect are in two halves of the rows, 0 to
        1. From 0.8 on an aspect is found again; others may be in this sample only.
    node_reproducibility_ : (n_nodes,)
        The same of the aspects below each node of `topic_tree_` together.
    topic_tree_ : Tree
        Aspects that meet in the same documents, joined from below: nearest first, by how many times
        as often as by chance they meet (the similarities of its nodes).
    tree_ : Tree
        The record of the annealing: the splits that led to the aspects and their temperatures; only
        where the number was found. An aspect of a level stands for the branch that it is most like.
    path_ : tuple of Step
        Where the number was found: the numbers of aspects on the way there, each with its held-out
        perplexity, and a few with their parameters; `cut` makes a model of any number.
    temperature_ : float
        Temperature of the fit.
    first_critical_ : float
        Temperature of the first transition; NaN where the schedule did not need it.
    trace_ : tuple of Record
        One record per temperature of the cooling.
    outcome_ : str
    free_energy_ : float
    n_iter_ : int
        Sweeps in all.
    n_alive_, n_distinct_ : int
        Number of components with any weight, and of different ones.
    precision_ : {"float32", "float64", "bfloat16"}
        Type of the tables, also when new rows are folded in.
    peak_memory_ : float
        With `StoredCounts`: MB that the process held at most, beyond what it held before the fit;
        NaN where the system does not tell.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from isotherm import AspectModel
    >>> X = np.kron(np.eye(2, dtype=int), np.full((5, 4), 6)) + 1
    >>> model = AspectModel(n_components=2, random_state=0).fit(X)
    >>> model.transform(X).round(1)[[0, -1]].max(axis=1)
    array([1., 1.])
    """

    similarity_meaning = (
        "how many times as often as by chance the {components} of two branches meet in {rows}"
    )

    _mixes = True
    _parameters: ClassVar[Checks] = {
        "temper_prior": flag,
        "own_words": flag_or_share,
        "leave_one_out": flag,
    }

    def __init__(
        self,
        n_components: int | str = 10,
        *,
        max_components: int = 256,
        schedule: Schedule | None = None,
        start: Start | None = None,
        validation_fraction: float = 0.1,
        temper_prior: bool = True,
        own_words: bool | float = False,
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
        self.own_words = own_words
        self.leave_one_out = leave_one_out
        self.tol = tol
        self.max_iter = max_iter
        self.engine = engine
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    @property
    def row_components_(self) -> Array:
        """P(x|a) of the training rows, (K, I)."""
        check_is_fitted(self)
        joint = self.row_weights_ * self.row_marginal_[:, None]
        total = joint.sum(axis=0)
        return np.asarray((joint / np.where(total > 0, total, 1.0)).T)

    @property
    def own_weight_(self) -> float:
        """Weight g of own words, 0 without `own_words`."""
        check_is_fitted(self)
        own = getattr(self.params_, "own", None)
        return 0.0 if own is None else float(own[0])

    def _check(self) -> None:
        if self.leave_one_out:
            check_leave_one_out(self.n_components, self.schedule, self._settings.batches)
        self._check_own_words()
        super()._check()
        if self.schedule is not None and lowest(self.schedule) <= 0:
            raise IsothermError(
                f"schedule={self.schedule!r} goes down to T = 0, the hard limit, which only "
                "clustering has; end above 0 (1 is plain EM)",
                parameter="schedule",
            )

    def _check_own_words(self) -> None:
        other = {"leave_one_out": self.leave_one_out, "temper_prior": not self.temper_prior}
        given = [name for name, there in other.items() if there and self.own_words is not False]
        for name in given:
            raise IsothermError(
                f"own_words={self.own_words!r} with {name}={getattr(self, name)}; they need "
                "the plain E-step and a tempered prior: leave one of them out",
                parameter="own_words",
                also=(name,),
            )

    def _recipe(self, table: Table) -> Recipe:
        if self.leave_one_out:
            check_posteriors_fit(
                table.counts.nnz,
                self._n_first,
                str(self._kernels().dtype),
                self._settings.memory_limit,
            )
        return self._growing(
            (self._model(),),
            Exponential(rate=0.95, end=1.0, margin=0.8),
            # Critical temperatures are between 1 and 2: steps must be small for aspects to split.
            Splitting(rate=0.99, idle=0.95, end=1.0),
            Spectral(),
            tree=_tree_by_meetings,
        )

    def _model(self) -> Aspect:
        if self.own_words is not False:
            given = None if self.own_words is True else float(self.own_words)
            return AspectOwnWords(self._n_first, self.temper_prior, given)
        kind = AspectLeaveOneOut if self.leave_one_out else Aspect
        return kind(self._n_first, self.temper_prior)

    def _attributes(self, fitted: Fitted) -> None:
        self.row_marginal_ = row_marginal(fitted.plan.full)


def _tree_by_meetings(plan: Plan, fit: Fit) -> Tree:
    """The tree of aspects that meet in the same rows."""
    return tree_by_rows(met(fit.model, fit.state.params, fit.state.rows, plan.full))
