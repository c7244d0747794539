"""Estimator of maps: the generative topographic mapping, annealed or by plain EM."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from isotherm import _checks, _nested
from isotherm._types import Rng
from isotherm.anneal.critical import first_critical
from isotherm.anneal.engine import Annealer
from isotherm.anneal.schedule import Exponential, Fixed, Schedule, lowest
from isotherm.anneal.start import state_of
from isotherm.anneal.trace import Fit, Outcome, Record
from isotherm.data import checks, foreign
from isotherm.data.base import Array
from isotherm.data.split import RandomState, as_generator
from isotherm.data.vectors import vector_blocks
from isotherm.errors import IsothermError, IsothermWarning, warn
from isotherm.estimators.base import Annealed
from isotherm.estimators.engine import Engine
from isotherm.estimators.parameters import Checks, integer, number, one_of, optional
from isotherm.estimators.places import cut_off, density, modes, near, place, posterior, sheet
from isotherm.estimators.plan import Plan, Table
from isotherm.estimators.recipe import Fitted, Recipe, fit_table
from isotherm.estimators.starts.map import (
    MARGIN,
    SHEET,
    STARTS,
    best_of,
    check_units,
    joined,
    kind_of,
    latent_grid,
    location,
    source_of,
    started,
)
from isotherm.estimators.vectors import read
from isotherm.models.grid import basis_at, basis_slopes
from isotherm.models.gtm import Gtm, GtmParams
from isotherm.placement.local import Local

# Prior precision of the weights where the variance of the data is one.
ALPHA = 0.002
# Below this many rows x nodes x columns double precision costs nothing that anyone would notice.
SMALL_WORK = 5_000_000
# Numbers of the responsibilities that are held at a time.
HELD, HELD_ON_DEVICE = 1 << 24, 1 << 27
# Most sweeps at T = 1, in multiples of those at any other temperature.
LAST = 10


def one_to_three(name: str, value: object) -> None:
    """Refuse anything but a number of dimensions that a map may have."""
    _checks.integer(name, value, 1)
    _checks.one_of(name, value, (1, 2, 3))


class GTM(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Annealed):
    """Generative topographic mapping: a map of vectors, fitted by deterministic annealing.

    A smooth sheet over a grid of K nodes in one to three dimensions is laid through the data, with
    Gaussian noise around it (Bishop, Svensen & Williams 1998). By default it opens at the first
    critical temperature and is cooled to T = 1 (DA-GTM, Choi 2012); `schedule=Fixed(1.0)` is plain
    EM. Columns are used as they are: standardise them first if their units differ. Missing values
    (NaN) are left out, exactly: what is fitted is the likelihood of the values that are there.

    Parameters
    ----------
    n_components : {1, 2, 3}
        Dimensions of the map.
    n_nodes : int or tuple of int, optional
        Nodes along each axis; 40, 20 x 20 or 8 x 8 x 8 by default.
    n_basis : int or tuple of int, optional
        Basis functions along each axis; more bend more. By default about as many in all as the
        square root of the number of rows, within 4 to 8, 5 x 5 to 8 x 8 or 3^3 to 4^3.
    basis_width : float
        Width of a basis function, in spacings between them.
    alpha : float, optional
        Precision of the prior of the weights, in units of 1 / X^2; by default 0.002 divided by the
        mean variance of the columns, so that the scale of X does not matter.
    noise : float, optional
        Hold the noise variance at this value instead of estimating it.
    start : {"auto", "sheet", "plane", "white", "pca"}
        Where the sheet begins: "sheet", small, flat and in random directions, at the first critical
        temperature; "plane", along the principal components, where the last of them condenses;
        "white", as noise; "pca", for plain EM only, in full size along the principal components.
        "auto" lets "sheet" and "plane" take turns over the runs, and is "pca" for plain EM; its
        first two runs are the same for every seed.
    schedule : Schedule, optional
        Temperatures, from just below a critical one down to 1; by default by 10 % a step.
    n_init : int
        Runs; the one with the lowest final objective is kept. Neither way to begin is better for
        all data: two runs cost less than one slow one and try both.
    projection : {"mean", "mode"}
        What `transform` gives: the mean of the posterior over the sheet, or its highest mode.
        Both are places between the nodes too, and up to a spacing of the nodes (at most 0.2)
        outside [-1, 1]. Where a row has two modes far apart, the mean lies between them.
    tol : float
        A temperature is settled when a sweep lowers the objective by no more than this many nats
        per row.
    max_iter : int
        Most sweeps over the data at one temperature; ten times as many at the last.
    engine, n_jobs, device, random_state, verbose
        As in `AspectModel`.

    Attributes
    ----------
    nodes_ : (K, L)
        Places of the nodes in [-1, 1]^L.
    centres_ : (K, D)
        What each node stands for, in the units of X.
    noise_variance_ : float
        Variance around the sheet, per column.
    log_likelihood_ : float
        Of the training rows at T = 1.
    objective_ : float
        `-log_likelihood_` plus the prior: what was minimised at T = 1.
    first_critical_ : float
        Temperature at which the sheet opens; NaN where the schedule did not need it.
    trace_ : tuple of Record
        One record per temperature; predicted transitions in `critical` where asked for.
    outcome_ : str
    n_iter_ : int
        Sweeps in all, of the run that was kept.
    temperature_ : float
    precision_ : {"float32", "float64"}
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from isotherm import GTM
    >>> angle = np.linspace(0, 3, 60)
    >>> X = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    >>> along = GTM(n_components=1, random_state=0).fit_transform(X)[:, 0]
    >>> bool(np.all(np.diff(along) > 0) or np.all(np.diff(along) < 0))
    True
    """

    _noun = ""
    _parameters: ClassVar[Checks] = {
        "n_components": one_to_three,
        "basis_width": number(0.1),
        "n_init": integer(1),
        "start": one_of(*STARTS),
        "projection": one_of("mean", "mode"),
        "alpha": optional(number(0.0)),
        "noise": optional(number(np.finfo(np.float64).tiny)),
    }
    _takes = frozenset({"over_relax", "record_critical", "precision", "callbacks"})

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_nodes: int | tuple[int, ...] | None = None,
        n_basis: int | tuple[int, ...] | None = None,
        basis_width: float = 1.5,
        alpha: float | None = None,
        noise: float | None = None,
        start: str = "auto",
        schedule: Schedule | None = None,
        n_init: int = 2,
        projection: str = "mean",
        tol: float = 1e-5,
        max_iter: int = 100,
        engine: Engine | None = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        random_state: RandomState = None,
        verbose: bool | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_nodes = n_nodes
        self.n_basis = n_basis
        self.basis_width = basis_width
        self.alpha = alpha
        self.noise = noise
        self.start = start
        self.schedule = schedule
        self.n_init = n_init
        self.projection = projection
        self.tol = tol
        self.max_iter = max_iter
        self.engine = engine
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    # What users call -------------------------------------------------------------------------

    def transform(self, X: object) -> Array:
        """Places in the map, (I, L); a row without any value is placed in the middle."""
        check_is_fitted(self)
        values, (points, centres) = self._vectors(X, reset=False), sheet(self.model_, self.params_)
        data = self._placed(values, None, len(points))
        rows, _, _ = data.sweep(place, data.no_rows, self.params_, points, centres)
        placed = _nested.on_host(data.gather(rows))
        if self.projection == "mean":
            return np.asarray(placed.mean)
        scaled = near(self._scaled(values), np.float64)
        return modes(self.model_, self.params_, scaled, points[placed.best])

    def inverse_transform(self, Z: object) -> Array:
        """Points of the sheet, (P, D) in the units of X, at places of the map (P, L)."""
        check_is_fitted(self)
        places = self._places(Z)
        return np.asarray(basis_at(self.grid_, places) @ self.weight_ + self.mean_)

    def score_samples(self, X: object) -> Array:
        """Log density of each row (of its values that are not missing), (I,)."""
        check_is_fitted(self)
        values = self._vectors(X, reset=False)
        data = self._placed(values, None, self.grid_.n_nodes)
        rows, _, _ = data.sweep(density, data.no_rows, self.model_, self.params_)
        found = _nested.on_host(data.gather(rows)).log_density
        cells = (~np.isnan(values)).sum(axis=1)
        beyond = cut_off(self._scaled(values), data.kernels.dtype) / (2.0 * self.params_.noise)
        return np.asarray(found - beyond - cells * np.log(self.scale_))

    def score(self, X: object, y: object = None) -> float:
        """Mean log density of the rows; higher is better."""
        return float(self.score_samples(X).mean())

    def responsibilities(self, X: object) -> Array:
        """Posterior of the nodes for each row, (I, K)."""
        check_is_fitted(self)
        data = self._placed(self._vectors(X, reset=False), None, self.grid_.n_nodes)
        rows, _, _ = data.sweep(posterior, data.no_rows, self.model_, self.params_)
        return np.asarray(np.concatenate([part.posterior for part in rows]), np.float64)

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> Array:
        """Rows drawn from the fitted density, (n_samples, D)."""
        check_is_fitted(self)
        _checks.integer("n_samples", n_samples, 1)
        rng = as_generator(self.random_state if random_state is None else random_state)
        chosen = self.centres_[rng.integers(len(self.centres_), size=n_samples)]
        noise = rng.standard_normal(chosen.shape)
        return np.asarray(chosen + np.sqrt(self.noise_variance_) * noise)

    def magnification(self, Z: object = None) -> Array:
        """How much the sheet is stretched at places of the map (P, L), or at the nodes, (P,).

        The size of the piece of the sheet that a unit of the map becomes: large values are
        borders between clusters.
        """
        check_is_fitted(self)
        places = self.nodes_ if Z is None else self._places(Z)
        slopes = np.einsum("pml,md->pld", basis_slopes(self.grid_, places), self.weight_)
        metric = np.einsum("pld,pnd->pln", slopes, slopes)
        return np.asarray(np.sqrt(np.maximum(np.linalg.det(metric), 0.0)))

    # How it is fitted ------------------------------------------------------------------------

    def _fit(self, X: object, sample_weight: object) -> None:
        self._check_parameters()
        values = self._vectors(X, reset=True)
        weight = checks.row_weights(sample_weight, np.ones(len(values)))
        if weight is not None:
            # Rows that do not count may hold anything.
            values, weight = values[weight > 0], weight[weight > 0]
        self.mean_, self.scale_ = location(values, weight)
        total = float(len(values) if weight is None else weight.sum())
        asked = self.n_components, self.n_nodes, self.n_basis, self.basis_width
        grid = latent_grid(*asked, total)
        work = values.size * grid.n_nodes
        auto = "float64" if work < SMALL_WORK else "float32"
        precision = self._settings.precision
        self.precision_ = auto if precision == "auto" else precision
        self.grid_, self.nodes_ = grid, grid.nodes.copy()
        unit = self.scale_**2
        alpha = ALPHA if self.alpha is None else self.alpha * unit
        held = None if self.noise is None else self.noise / unit
        model = Gtm(grid, alpha, held)
        check_units(model)
        schedule = self.schedule or Exponential(rate=0.9, margin=MARGIN)
        recipe = Recipe((model,), schedule, way=partial(self._best_run, model=model))
        table = Table(values, weight, self._rows)
        rng = as_generator(self.random_state)
        self._set_fitted(fit_table(recipe, table, self._engine(schedule), rng))
        if self.first_critical_ <= 1.0:
            message = (
                f"the first critical temperature is {self.first_critical_:.4g}: there is nothing "
                "to anneal, plain EM was run at T = 1"
            )
            warnings.warn(message, IsothermWarning, stacklevel=3)

    def _best_run(
        self, recipe: Recipe, annealer: Annealer, plan: Plan, rng: Rng, *, model: Gtm
    ) -> tuple[Fit, Fit]:
        """The end of the best of `n_init` runs, and its cooling."""
        data: Any = plan.full  # local, as _rows places them
        critical = cache(lambda: first_critical(model, data))
        run = partial(self._run, model, annealer, data, rng, critical)
        cooled, fit = best_of(self.n_init, run, data, annealer.callbacks)
        return fit, cooled

    def _run(
        self,
        model: Gtm,
        annealer: Annealer,
        data: Local,
        rng: Rng,
        critical: Callable[[], float],
        number: int,
    ) -> tuple[Fit, Fit]:
        """A cooling run, and its end settled at T = 1 (the same where it was interrupted)."""
        schedule = annealer.schedule
        start = kind_of(self.start, schedule, number)
        source, axes = source_of(self.start, number, data, rng)
        begin, schedule = started(start, model, data, source, schedule, axes)
        engine = dataclasses.replace(annealer, schedule=schedule, noise=SHEET)
        cooled = engine.run(model, data, rng, state=state_of(model, data, begin))
        if start == "plane":
            cooled = dataclasses.replace(cooled, first_critical=critical())
        if cooled.outcome is Outcome.INTERRUPTED:
            return cooled, cooled
        state, plain = cooled.state, Fixed(1.0)
        if self.start == "auto" and cooled.first_critical <= 1.0:
            # Nothing opened by cooling: plain EM begins where it always does.
            state = state_of(model, data, started("pca", model, data, rng, plain)[0])
        last = dataclasses.replace(
            engine, schedule=plain, max_sweeps=LAST * self.max_iter, callbacks=()
        )
        try:
            return cooled, last.run(model, data, rng, state=state)
        except KeyboardInterrupt:
            cooled = dataclasses.replace(cooled, outcome=Outcome.INTERRUPTED)
            return cooled, cooled

    def _set_fitted(self, fitted: Fitted) -> None:
        data, cooled, fit = fitted.plan.full, fitted.cooled, fitted.fit
        params: GtmParams = fit.state.params
        cells, unit = float(data.summary.cells.sum()), self.scale_
        shift = cells * np.log(unit)
        self.model_, self.params_ = fit.model, params
        self.weight_ = params.weight * unit
        self.centres_ = fit.model.centres(params) * unit + self.mean_
        self.noise_variance_ = float(params.noise) * unit**2
        self.temperature_ = fit.temperature
        self.first_critical_ = cooled.first_critical
        self.trace_: tuple[Record, ...] = tuple(
            dataclasses.replace(
                record,
                free_energy=record.free_energy + shift,
                log_likelihood=record.log_likelihood - shift,
            )
            for record in joined(cooled, fit)
        )
        self.outcome_ = cooled.outcome.value
        self.log_likelihood_ = self.trace_[-1].log_likelihood
        self.objective_ = -self.log_likelihood_ + fit.model.prior_energy(params, data.summary)
        self.n_iter_ = sum(record.sweeps for record in self.trace_)

    # Validation and placing ------------------------------------------------------------------

    def _check(self) -> None:
        if self.schedule is not None and lowest(self.schedule) < 1:
            raise IsothermError(
                f"schedule={self.schedule!r} goes below T = 1, where a map is no longer one; "
                "end at 1 or above",
                parameter="schedule",
            )
        if self.alpha == 0:
            warn("alpha=0 leaves the weights without a prior: they are nearly undetermined")

    def _vectors(self, X: object, *, reset: bool) -> Array:
        """Validated rows (I, D), float64; missing values are NaN."""
        if foreign.is_annotated(X):
            raise IsothermError(
                "X is an AnnData object, and a GTM maps vectors; pass adata.X, or an array of "
                "adata.obsm such as adata.obsm['X_pca']"
            )
        foreign.check_program(X)
        least = 2 if reset else 1
        settings: dict[str, object] = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
        reader = partial(validate_data, self, reset=reset, ensure_min_samples=least, **settings)
        return read(X, "X", reader)

    def _rows(self, counts: Array, weight: Array | None, *, new: bool = False) -> Local:
        """Rows of the fit, placed."""
        return self._placed(counts, weight, self.grid_.n_nodes)

    def _placed(self, values: Array, weight: Array | None, n_points: int) -> Local:
        """Rows in blocks whose posteriors over so many points may be held at a time."""
        held = HELD if self.device == "cpu" else HELD_ON_DEVICE
        rows, kernels = max(1, held // n_points), self._kernels()
        scaled = near(self._scaled(values), kernels.dtype)
        return Local(vector_blocks(scaled, weight, rows_per_block=rows), kernels)

    def _scaled(self, values: Array) -> Array:
        """Rows in the units of the model."""
        with np.errstate(over="ignore"):
            return np.asarray((values - self.mean_) / self.scale_)

    def _places(self, Z: object) -> Array:
        places = read(Z, "Z", partial(check_array, dtype=np.float64, input_name="Z"))
        if places.shape[1] != self._n_features_out:
            raise IsothermError(
                f"Z has {places.shape[1]} columns for a map of {self._n_features_out} dimensions; "
                "give one row per place, as `transform` does"
            )
        return places

    @property
    def _n_features_out(self) -> int:
        return int(self.nodes_.shape[1])

    def __sklearn_tags__(self) -> Tags:
        """Dense input; missing values are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
