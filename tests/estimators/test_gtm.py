"""Maps: numbers in the units of the data, structure that was planted, and how a fit may end."""

import logging
import math
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm, spearmanr
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.manifold import trustworthiness
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from isotherm import (
    GTM,
    Adaptive,
    Callback,
    Engine,
    Exponential,
    Fixed,
    Grid,
    IsothermWarning,
    Linear,
    Recorder,
    TimeLimit,
)
from isotherm.anneal.engine import Annealer
from isotherm.anneal.trace import Fit, Record
from isotherm.data.base import Array
from isotherm.estimators.starts.map import joined
from support.maps import curved, free_energy, spectrum


def curve(n_rows: int = 90, seed: int = 0, missing: float = 0.0) -> tuple[Array, Array]:
    """Places along a curve, and noisy points of it in five dimensions."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1.0, 1.0, n_rows)
    X = np.stack([t, t**2, np.sin(2 * t), 0.5 * t**3, np.cos(3 * t)], axis=1)
    X += 0.03 * rng.standard_normal(X.shape)
    holes = rng.random(X.shape) < missing
    holes[holes.all(axis=1), 0] = False
    return t, np.where(holes, np.nan, X)


T, X = curve()
HOLES = curve(missing=0.1)[1]
SHEET = curved(120)
QUICK = Exponential(0.8)


def line(**settings: Any) -> GTM:
    return GTM(1, **({"n_nodes": 12, "n_basis": 5, "random_state": 0, "n_init": 1} | settings))


def plane(**settings: Any) -> GTM:
    given = {"n_nodes": 6, "n_basis": 3, "random_state": 0, "n_init": 1, "schedule": QUICK}
    return GTM(2, **(given | settings))


def log_density(model: GTM, rows: Array) -> Array:
    """Of rows by the normal densities around all centres, in the units of the data."""
    logs = norm.logpdf(rows[:, None, :], model.centres_, math.sqrt(model.noise_variance_))
    return np.asarray(logsumexp(np.nansum(logs, axis=2), axis=1) - np.log(len(model.centres_)))


@pytest.fixture(scope="module")
def along() -> GTM:
    return line().fit(X)


@pytest.fixture(scope="module")
def across() -> GTM:
    return plane().fit(SHEET)


# scikit-learn's conventions; its own checks are run with those of the other estimators


def test_names_of_the_axes_and_frames(across: GTM) -> None:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame = pd.DataFrame(SHEET, columns=["u", "v", "w"])
    model = plane().fit(frame)
    assert list(model.feature_names_in_) == ["u", "v", "w"]
    assert list(model.get_feature_names_out()) == ["gtm0", "gtm1"]
    expected = across.transform(SHEET)
    out = model.set_output(transform="pandas").transform(frame)
    assert isinstance(out, pd.DataFrame)
    assert list(out.columns) == ["gtm0", "gtm1"]
    np.testing.assert_array_equal(out.to_numpy(), expected)
    out = model.set_output(transform="polars").transform(frame)
    assert isinstance(out, pl.DataFrame)
    np.testing.assert_array_equal(out.to_numpy(), expected)


def test_names_belong_to_the_fit_not_to_the_settings(along: GTM) -> None:
    with pytest.raises(NotFittedError):
        GTM().get_feature_names_out()
    model = pickle.loads(pickle.dumps(along)).set_params(n_components=3)
    assert list(model.get_feature_names_out()) == ["gtm0"]
    assert model.inverse_transform([[0.3]]).shape == (1, 5)


def test_pipeline_on_data_with_units() -> None:
    wine, kinds = load_wine(return_X_y=True)
    pipe = make_pipeline(StandardScaler(), plane(n_nodes=8))
    places = pipe.fit_transform(wine)
    assert places.shape == (178, 2)
    np.testing.assert_allclose(pipe.transform(wine[:1]), places[:1], atol=1e-9)
    centre = np.stack([places[kinds == kind].mean(axis=0) for kind in range(3)])
    nearest = ((places[:, None, :] - centre) ** 2).sum(axis=2).argmin(axis=1)
    assert (nearest == kinds).mean() > 0.9


def test_clone_and_repr(along: GTM) -> None:
    assert repr(GTM()) == "GTM()"
    assert repr(GTM(3, n_nodes=4, alpha=0.1)) == "GTM(alpha=0.1, n_components=3, n_nodes=4)"
    copy = clone(along)
    assert repr(copy) == repr(along)
    assert not [name for name in vars(copy) if name.endswith("_")]
    np.testing.assert_array_equal(copy.fit(X).centres_, along.centres_)


def test_pickle_round_trip(across: GTM) -> None:
    again = pickle.loads(pickle.dumps(across))
    for method in ("transform", "responsibilities", "score_samples"):
        before, after = (getattr(model, method)(SHEET) for model in (across, again))
        np.testing.assert_array_equal(after, before)
    np.testing.assert_array_equal(again.magnification(), across.magnification())
    assert repr(again.trace_) == repr(across.trace_)


def test_fit_transform_is_fit_and_transform(along: GTM) -> None:
    np.testing.assert_array_equal(line().fit_transform(X), along.transform(X))


@pytest.mark.parametrize(("precision", "atol"), [("float64", 1e-9), ("float32", 1e-4)])
@pytest.mark.parametrize("rows", [X, HOLES], ids=["complete", "missing"])
def test_rows_are_placed_each_by_itself(precision: str, atol: float, rows: Array) -> None:
    model = line(engine=Engine(precision=precision), schedule=QUICK).fit(rows)
    assert model.precision_ == precision
    for method in (model.transform, model.score_samples, model.responsibilities):
        single = np.concatenate([method(rows[[i]]) for i in range(len(rows))])
        np.testing.assert_allclose(single, method(rows), rtol=atol, atol=atol)
        assert single.dtype == np.float64


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("missing", [0.0, 0.05])
def test_threads_do_not_change_a_bit(precision: str, missing: float) -> None:
    # Enough work for several pieces.
    rows = curve(2400, missing=missing)[1]
    schedule = Exponential(0.5, start=3.0)
    settings: dict[str, Any] = {"schedule": schedule, "max_iter": 1, "n_nodes": 200}
    fits = [
        line(engine=Engine(precision=precision), n_jobs=n, **settings).fit(rows)
        for n in (1, 2, None, -1)
    ]
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.centres_, fits[0].centres_)
        np.testing.assert_array_equal(fit.transform(rows), fits[0].transform(rows))
        assert fit.log_likelihood_ == fits[0].log_likelihood_


def test_same_seed_same_map_and_other_seeds_as_good_a_one(along: GTM) -> None:
    np.testing.assert_array_equal(line().fit(X).centres_, along.centres_)
    for seed in (1, np.random.default_rng(2), np.random.RandomState(3)):
        # The first run of each kind does not depend on the seed, unless a start is asked for.
        np.testing.assert_array_equal(line(random_state=seed).fit(X).centres_, along.centres_)
        other = line(random_state=seed, start="sheet").fit(X)
        assert not np.array_equal(other.centres_, along.centres_)
        assert other.log_likelihood_ == pytest.approx(along.log_likelihood_, abs=0.01 * len(X))


def test_small_problems_are_computed_in_double_precision() -> None:
    assert line().fit(X).precision_ == "float64"
    many = np.tile(X, (100, 1))
    assert line(n_nodes=200, schedule=Fixed(1.0), max_iter=1).fit(many).precision_ == "float32"


# Numbers, in the units of the data


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("rows", [1e3 * X + 5e3, 1e3 * HOLES], ids=["complete", "missing"])
def test_the_likelihood_is_that_of_the_centres_and_the_noise(rows: Array, precision: str) -> None:
    model = line(engine=Engine(precision=precision)).fit(rows)
    rel = 1e-9 if precision == "float64" else 1e-4
    expected = log_density(model, rows)
    np.testing.assert_allclose(model.score_samples(rows), expected, rtol=rel, atol=rel)
    assert model.log_likelihood_ == pytest.approx(expected.sum(), rel=rel)
    assert model.trace_[-1].log_likelihood == model.log_likelihood_
    assert model.score(rows) == pytest.approx(expected.mean(), rel=rel)
    new = rows[:9] + 30.0
    new[3] = np.nan
    new[4, 1:] = np.nan
    found = model.score_samples(new)
    np.testing.assert_allclose(found, log_density(model, new), rtol=rel, atol=rel)
    assert found[3] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("alpha", [None, 0.5])
def test_the_objective_is_the_likelihood_and_the_prior(alpha: float | None) -> None:
    rows = 10.0 * X
    model = line(alpha=alpha).fit(rows)
    precision = 0.002 / rows.var(axis=0).mean() if alpha is None else alpha
    prior = 0.5 * precision * (model.weight_[:-1] ** 2).sum()
    assert prior > 0.01
    assert model.objective_ == pytest.approx(prior - log_density(model, rows).sum(), rel=1e-9)
    # What the last sweep saw, before its own step.
    assert model.trace_[-1].free_energy == pytest.approx(model.objective_, abs=1e-5 * len(X))
    assert model.trace_[-1].free_energy >= model.objective_ - 1e-9 * abs(model.objective_)


@pytest.mark.parametrize("rows", [3.0 * X, HOLES], ids=["complete", "missing"])
def test_the_default_prior_follows_the_variance(rows: Array) -> None:
    # Of a value around the mean of its column, whichever column that is.
    mean = np.nanmean((rows - np.nanmean(rows, axis=0)) ** 2)
    given = line(alpha=0.002 / mean).fit(rows)
    default = line().fit(rows)
    assert given.objective_ == pytest.approx(default.objective_, rel=1e-6)
    np.testing.assert_allclose(given.centres_, default.centres_, atol=1e-4)
    assert line(alpha=0.2 / mean).fit(rows).objective_ > default.objective_ + 0.1


@pytest.mark.parametrize("factor", [1e-6, 1e6, 1e30, -3.0])
def test_the_unit_of_the_data_does_not_matter(along: GTM, factor: float) -> None:
    model = line().fit(factor * X)
    if factor > 0:
        np.testing.assert_allclose(model.transform(factor * X), along.transform(X), atol=1e-5)
        np.testing.assert_allclose(model.centres_ / factor, along.centres_, atol=1e-5)
    shift = X.size * math.log(abs(factor))
    assert model.log_likelihood_ + shift == pytest.approx(along.log_likelihood_, abs=1e-3)
    assert model.noise_variance_ / factor**2 == pytest.approx(along.noise_variance_, rel=1e-4)
    assert model.first_critical_ == pytest.approx(along.first_critical_, rel=1e-9)
    for ours, theirs in zip(model.trace_[:3], along.trace_[:3], strict=True):
        assert ours.temperature == pytest.approx(theirs.temperature, rel=1e-9)
        if factor > 0:
            assert ours.free_energy - shift == pytest.approx(theirs.free_energy, abs=1e-3)


def test_the_origin_of_the_data_does_not_matter(along: GTM) -> None:
    model = line().fit(X + 1e4)
    np.testing.assert_allclose(model.transform(X + 1e4), along.transform(X), atol=1e-5)
    np.testing.assert_allclose(model.centres_ - 1e4, along.centres_, atol=1e-5)
    assert model.log_likelihood_ == pytest.approx(along.log_likelihood_, abs=1e-4)


def test_single_precision_finds_the_same_map(along: GTM) -> None:
    model = line(engine=Engine(precision="float32")).fit(X)
    assert model.log_likelihood_ == pytest.approx(along.log_likelihood_, rel=1e-4)
    np.testing.assert_allclose(model.transform(X), along.transform(X), atol=0.01)


@pytest.mark.parametrize("schedule", [None, Fixed(1.0)])
def test_noise_that_is_held_stays(schedule: Any) -> None:
    model = line(noise=0.04, schedule=schedule).fit(X)
    assert model.noise_variance_ == pytest.approx(0.04, rel=1e-12)
    assert model.log_likelihood_ == pytest.approx(log_density(model, X).sum(), rel=1e-9)
    free = line(schedule=schedule).fit(X)
    assert free.noise_variance_ < 0.03
    assert free.log_likelihood_ > model.log_likelihood_


def test_the_noise_of_a_fitted_map_is_the_mean_distance_to_it(along: GTM) -> None:
    gaps = ((X[:, None, :] - along.centres_) ** 2).sum(axis=2)
    expected = (along.responsibilities(X) * gaps).sum() / X.size
    assert along.noise_variance_ == pytest.approx(expected, rel=1e-2)


# Annealing


def test_the_map_opens_at_the_first_critical_temperature() -> None:
    rows = spectrum((4.0, 2.0, 1.0, 0.5, 0.25), 120)
    step = 0.97
    schedule = Exponential(step, margin=1.15, end=2.0)
    model = line(schedule=schedule, tol=1e-7, engine=Engine(record_critical=True)).fit(rows)
    assert 4.0 / 1.55 * 0.99 < model.first_critical_ < 4.0 / 1.55
    assert model.trace_[0].temperature == pytest.approx(1.15 * model.first_critical_)
    above = [r for r in model.trace_ if r.temperature > model.first_critical_]
    below = [r for r in model.trace_ if r.temperature <= model.first_critical_]
    assert len(above) > 3
    assert [record.n_effective for record in above] == [1] * len(above)
    assert below[1].n_effective > 1
    # A closed map is that of the start: it says where it will open, all the way down.
    for record in above:
        assert max(record.critical) == pytest.approx(model.first_critical_, rel=1e-2)
    assert all(record.critical for record in model.trace_)
    # Where sweeps have settled nothing is left to grow.
    assert max(model.trace_[-1].critical) < 1.001
    assert model.trace_[-1].temperature == model.temperature_ == 1.0


def test_critical_temperatures_are_noted_only_when_asked_for(along: GTM) -> None:
    assert not any(record.critical for record in along.trace_)


def test_the_default_schedule(along: GTM) -> None:
    temperatures = np.array([record.temperature for record in along.trace_])
    assert temperatures[0] == pytest.approx(0.98 * along.first_critical_)
    np.testing.assert_allclose(temperatures[1:-1] / temperatures[:-2], 0.9)
    assert temperatures[-1] == 1.0
    assert along.outcome_ == "the schedule reached its end"
    assert along.n_iter_ == sum(record.sweeps for record in along.trace_)
    assert along.trace_[-1].n_effective > 5


@pytest.mark.parametrize(
    "schedule",
    [
        Adaptive(smallest=0.8, largest=0.98, skip_near=True),
        Linear(0.3),
        Exponential(0.9, start=6.0),
        Exponential(0.8, end=1.3),
        Grid((2.5, 1.5)),
    ],
    ids=lambda schedule: type(schedule).__name__,
)
def test_every_schedule_ends_at_one(schedule: Any, along: GTM) -> None:
    model = line(schedule=schedule).fit(X)
    assert model.temperature_ == model.trace_[-1].temperature == 1.0
    assert len({record.temperature for record in model.trace_}) == len(model.trace_) > 2
    assert abs(spearmanr(model.transform(X)[:, 0], T)[0]) > 0.97
    if isinstance(schedule, Adaptive):
        assert all(record.critical for record in model.trace_[:-1])


def test_data_without_a_direction_have_nothing_to_anneal() -> None:
    rows = spectrum((1.0, 1.0, 1.0), 60)
    with pytest.warns(IsothermWarning, match=r"temperature is 0\.99.*nothing to anneal") as caught:
        model = line().fit(rows)
    assert caught[0].filename == __file__
    assert model.first_critical_ == pytest.approx(1.0, abs=0.01)
    assert {record.temperature for record in model.trace_} == {1.0}


def test_a_strong_prior_leaves_nothing_to_anneal() -> None:
    with pytest.warns(IsothermWarning, match="nothing to anneal"):
        model = line(alpha=1e5).fit(X)
    assert model.first_critical_ < 1.0
    np.testing.assert_allclose(model.centres_, np.tile(X.mean(axis=0), (12, 1)), atol=1e-3)
    assert model.noise_variance_ == pytest.approx(X.var(axis=0).mean(), rel=1e-3)


def test_where_nothing_is_annealed_plain_em_finds_what_there_is() -> None:
    # One column: no direction stands out, but places along it can be told.
    with pytest.warns(IsothermWarning, match="nothing to anneal"):
        model = line().fit(X[:, :1])
    plain = line(schedule=Fixed(1.0)).fit(X[:, :1])
    assert model.log_likelihood_ == pytest.approx(plain.log_likelihood_, abs=1e-3)
    assert abs(spearmanr(model.transform(X[:, :1])[:, 0], T)[0]) > 0.99
    with pytest.warns(IsothermWarning, match="nothing to anneal"):
        sheet = line(start="sheet").fit(X[:, :1])
    assert sheet.log_likelihood_ < model.log_likelihood_ - 1.0


@pytest.mark.parametrize("start", ["auto", "pca", "sheet", "white"])
def test_plain_em(start: str) -> None:
    model = line(schedule=Fixed(1.0), start=start).fit(X)
    assert [record.temperature for record in model.trace_] == [1.0]
    assert np.isnan(model.first_critical_)
    seeds = [line(schedule=Fixed(1.0), start=start, random_state=s).fit(X) for s in (1, 2)]
    same = [np.array_equal(other.centres_, model.centres_) for other in seeds]
    assert same == [start in ("auto", "pca")] * 2
    linear = X.var(axis=0).mean()
    assert model.noise_variance_ < 0.5 * linear


def test_em_from_the_principal_components_begins_with_the_noise_they_leave() -> None:
    seen: list[float] = []

    class Watch(Callback):
        def on_sweep(self, temperature: float, sweep: int, free_energy: float) -> None:
            seen.append(free_energy)

    line(schedule=Fixed(1.0), engine=Engine(callbacks=[Watch()])).fit(X)
    # The model's units are those in which the mean variance is one.
    rows = (X - X.mean(axis=0)) / np.sqrt(X.var(axis=0).mean())
    second, first = np.linalg.eigvalsh(rows.T @ rows / len(rows))[-2:]
    z = np.linspace(-1.0, 1.0, 12)
    centres = np.outer(z / z.std(), np.sqrt(first) * np.linalg.svd(rows)[2][0])
    expected = free_energy(rows, centres, second, 1.0)
    assert seen[0] == pytest.approx(expected, rel=0.01)
    assert abs(seen[0] - free_energy(rows, centres, 1.0, 1.0)) > 0.05 * abs(expected)


def test_em_from_the_principal_components_begins_along_them() -> None:
    settings: dict[str, Any] = {"schedule": Fixed(1.0), "max_iter": 1}
    seen: list[Array] = []
    keep = Recorder(lambda fit: seen.append(fit.model.centres(fit.state.params)))
    plane(engine=Engine(over_relax=False, callbacks=[keep]), **settings).fit(SHEET)
    centres = seen[0] - seen[0].mean(axis=0)
    directions = np.linalg.svd(SHEET - SHEET.mean(axis=0))[2][:2]
    inside = ((centres @ directions.T) ** 2).sum()
    assert inside > 0.95 * (centres**2).sum()


@pytest.mark.parametrize("schedule", [None, Fixed(1.0)])
def test_several_runs_keep_the_best(schedule: Any) -> None:
    settings: dict[str, Any] = {"schedule": schedule or QUICK, "start": "white", "n_nodes": 8}
    rng = np.random.default_rng(6)
    single = [plane(random_state=rng, **settings).fit(SHEET) for _ in range(3)]
    best = min(single, key=lambda model: model.objective_)
    assert best is not single[0]
    together = plane(random_state=6, n_init=3, **settings).fit(SHEET)
    assert together.objective_ == best.objective_
    np.testing.assert_array_equal(together.centres_, best.centres_)
    assert together.n_iter_ == best.n_iter_


# What a map says


def test_the_posterior_of_nodes(across: GTM) -> None:
    posterior = across.responsibilities(SHEET)
    assert posterior.shape == (120, 36)
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0, rtol=1e-12)
    gaps = ((SHEET[:, None, :] - across.centres_) ** 2).sum(axis=2)
    expected = np.exp(-gaps / (2 * across.noise_variance_))
    np.testing.assert_allclose(posterior, expected / expected.sum(axis=1)[:, None], atol=1e-9)


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("far", [1e3, 2e12, 1e38, 1e100, 1e151, 1e308])
def test_far_outliers_have_a_place(precision: str, far: float) -> None:
    model = line(engine=Engine(precision=precision), schedule=QUICK).fit(X)
    direction = model.centres_[0] - model.centres_[-1]
    rows = far * (np.stack([direction, -direction]) / np.abs(direction).max())
    rows[1, 2] = np.nan
    # The first node stands for the end that the first row lies beyond; spacings are 2 / 11.
    ends = model.transform(rows)[:, 0]
    assert -1.19 < ends[0] < -0.99
    assert 0.99 < ends[1] < 1.19
    with np.errstate(over="ignore"):
        expected = -np.nansum(rows**2, axis=1) / (2 * model.noise_variance_)
    np.testing.assert_allclose(model.score_samples(rows), expected, rtol=1e-2)


def test_points_of_the_sheet(across: GTM) -> None:
    np.testing.assert_allclose(across.inverse_transform(across.nodes_), across.centres_)
    assert across.inverse_transform([[0.5, -0.25]]).shape == (1, 3)
    # Going there and back is near what the noise allows.
    away = SHEET - across.inverse_transform(across.transform(SHEET))
    assert (away**2).mean() < 2.0 * across.noise_variance_


def area(corners: Array) -> float:
    """Of a triangle in any space, by Heron's formula."""
    a, b, c = (float(np.linalg.norm(corners[i] - corners[i - 1])) for i in range(3))
    half = (a + b + c) / 2
    return math.sqrt(half * (half - a) * (half - b) * (half - c))


def test_magnification_is_the_size_of_pieces_of_the_sheet(along: GTM, across: GTM) -> None:
    h = 1e-3
    at = np.array([[-0.7], [0.0], [0.43]])
    lengths = [np.linalg.norm(np.diff(along.inverse_transform([z - h, z + h]), axis=0)) for z in at]
    np.testing.assert_allclose(along.magnification(at), np.divide(lengths, 2 * h), rtol=1e-4)
    places = np.array([[-0.5, 0.2], [0.1, 0.9], [0.0, 0.0]])
    areas = []
    for place in places:
        a, b, c, d = across.inverse_transform(
            place + h * np.array([[-1, -1], [-1, 1], [1, 1], [1, -1]])
        )
        areas.append(area(np.stack([a, b, c])) + area(np.stack([a, c, d])))
    np.testing.assert_allclose(across.magnification(places), np.divide(areas, 4 * h**2), rtol=1e-3)
    np.testing.assert_array_equal(along.magnification(), along.magnification(along.nodes_))


def test_magnification_in_three_dimensions() -> None:
    model = GTM(3, n_nodes=3, n_basis=2, schedule=QUICK, max_iter=10, random_state=0).fit(X)
    h, place = 1e-3, np.array([0.3, -0.2, 0.5])
    sides = [
        np.subtract(*model.inverse_transform([place + h * e, place - h * e])) for e in np.eye(3)
    ]
    volume = np.prod(np.abs(np.diag(np.linalg.qr(np.stack(sides, axis=1))[1])))
    assert volume > 0
    assert model.magnification([place])[0] == pytest.approx(volume / (2 * h) ** 3, rel=1e-3)


def test_clusters_are_parted_by_large_magnification() -> None:
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(m, 0.1, (40, 3)) for m in (-1.0, 1.0)])
    model = line(schedule=QUICK).fit(rows)
    places = model.transform(rows)[:, 0]
    border = (places[:40].mean() + places[40:].mean()) / 2
    between, inside = model.magnification([[border], [places[:40].mean()]])
    assert between > 2 * inside


def test_samples_have_the_moments_of_the_map(across: GTM) -> None:
    drawn = across.sample(40_000, random_state=1)
    np.testing.assert_allclose(drawn.mean(axis=0), across.centres_.mean(axis=0), atol=0.02)
    expected = np.cov(across.centres_.T, bias=True) + across.noise_variance_ * np.eye(3)
    np.testing.assert_allclose(np.cov(drawn.T), expected, atol=0.02)
    np.testing.assert_array_equal(across.sample(40_000, random_state=1), drawn)
    assert not np.array_equal(across.sample(40_000, random_state=2), drawn)
    assert across.sample().shape == (1, 3)
    assert across.score(drawn) == pytest.approx(across.score(SHEET), abs=0.15)


# Weights and missing values


@pytest.mark.parametrize("schedule", [None, Fixed(1.0)])
@pytest.mark.parametrize("rows", [X, HOLES], ids=["complete", "missing"])
def test_a_row_of_weight_two_is_two_rows_and_one_of_weight_zero_none(
    schedule: Any, rows: Array
) -> None:
    weight = np.arange(len(rows)) % 3
    weighted = line(schedule=schedule).fit(rows, sample_weight=weight)
    repeated = line(schedule=schedule).fit(np.repeat(rows, weight, axis=0))
    assert weighted.log_likelihood_ == pytest.approx(repeated.log_likelihood_, rel=1e-6)
    np.testing.assert_allclose(weighted.centres_, repeated.centres_, atol=1e-4)
    assert weighted.log_likelihood_ == pytest.approx(weight @ log_density(weighted, rows))
    plain = line(schedule=schedule).fit(rows)
    assert np.abs(weighted.centres_ - plain.centres_).max() > 1e-2


@pytest.mark.parametrize("rows", [X, HOLES], ids=["complete", "missing"])
def test_principal_components_heed_the_weights(rows: Array) -> None:
    # A few sweeps only: not just the end is the same, but the beginning.
    weight = np.arange(len(rows)) % 3
    settings: dict[str, Any] = {"schedule": Fixed(1.0), "max_iter": 1, "tol": 1e9}
    weighted = line(**settings).fit(rows, sample_weight=weight)
    repeated = line(**settings).fit(np.repeat(rows, weight, axis=0))
    assert weighted.n_iter_ < 5
    np.testing.assert_allclose(weighted.centres_, repeated.centres_, atol=1e-9)


@pytest.mark.parametrize("value", [1e8, 1e200, np.nan])
def test_rows_that_do_not_count_may_hold_anything(along: GTM, value: float) -> None:
    more = np.concatenate([np.full((2, 5), value), X])
    model = line().fit(more, sample_weight=np.r_[0.0, 0.0, np.ones(len(X))])
    np.testing.assert_array_equal(model.centres_, along.centres_)
    assert model.log_likelihood_ == along.log_likelihood_


def test_missing_values_are_left_out() -> None:
    t, rows = curve(200, seed=3, missing=0.1)
    assert np.isnan(rows).mean() > 0.08
    model = line().fit(rows)
    places = model.transform(rows)[:, 0]
    assert abs(spearmanr(places, t)[0]) > 0.98
    whole = curve(200, seed=3)[1]
    filled = model.inverse_transform(places[:, None])
    gaps = (filled - whole)[np.isnan(rows)]
    assert np.sqrt((gaps**2).mean()) < 0.2


def test_a_row_without_a_value_lies_in_the_middle(across: GTM) -> None:
    nothing = np.full((2, 3), np.nan)
    np.testing.assert_allclose(across.transform(nothing), 0.0, atol=1e-12)
    np.testing.assert_allclose(across.responsibilities(nothing), 1 / 36, rtol=1e-12)
    np.testing.assert_allclose(across.score_samples(nothing), 0.0, atol=1e-12)
    model = plane().fit(np.concatenate([SHEET, nothing]))
    assert model.log_likelihood_ == pytest.approx(across.log_likelihood_, abs=0.02)


# Structure that was planted


@pytest.mark.parametrize("seed", range(5))
def test_a_curve_is_found_from_any_seed(seed: int) -> None:
    t, rows = curve(150, seed=7)
    places = GTM(1, random_state=seed).fit_transform(rows)[:, 0]
    assert abs(spearmanr(places, t)[0]) > 0.99


def test_a_rolled_sheet_keeps_its_neighbours() -> None:
    rng = np.random.default_rng(1)
    angle, height = rng.uniform(0.5, 4.5, 250), rng.uniform(0.0, 4.0, 250)
    rows = np.stack([angle * np.cos(angle), height, angle * np.sin(angle)], axis=1)
    rows += 0.05 * rng.standard_normal(rows.shape)
    places = GTM(2, n_nodes=12, random_state=0, tol=1e-4).fit_transform(rows)
    assert trustworthiness(rows, places, n_neighbors=8) > 0.97
    flat = np.stack([angle**2, 2 * height], axis=1)
    assert trustworthiness(flat, places, n_neighbors=8) > 0.97


def test_three_dimensions() -> None:
    rng = np.random.default_rng(0)
    cube = rng.uniform(-1.0, 1.0, (100, 3)) * (3.0, 2.0, 1.0)
    rows = np.hstack([cube, 0.1 * cube**2])
    model = GTM(3, n_nodes=5, n_basis=2, schedule=QUICK, random_state=0)
    places = model.fit_transform(rows)
    assert places.shape == (100, 3)
    assert model.nodes_.shape == (125, 3)
    fitted = np.linalg.lstsq(np.c_[places, np.ones(100)], cube, rcond=None)[0]
    left = cube - np.c_[places, np.ones(100)] @ fitted
    assert (1 - left.var(axis=0) / cube.var(axis=0) > (0.9, 0.9, 0.8)).all()


def test_nodes_and_functions_may_differ_by_axis() -> None:
    model = GTM(2, n_nodes=(7, 4), n_basis=[3, 2], schedule=QUICK, random_state=0).fit(SHEET)
    assert model.nodes_.shape == (28, 2)
    assert model.weight_.shape == (7, 3)
    assert [len(np.unique(axis)) for axis in model.nodes_.T] == [7, 4]


# How a fit may end


class Interrupt(Callback):
    """Ctrl-C at the end of a temperature of some run."""

    def __init__(self, at: int = 3, run: int = 1) -> None:
        self.at, self.run, self.runs = at, run, 0

    def on_begin(self) -> None:
        self.runs += 1

    def on_temperature(self, fit: Fit) -> bool:
        if (self.runs, len(fit.trace)) == (self.run, self.at):
            raise KeyboardInterrupt
        return False


def interrupted(model: GTM) -> GTM:
    with pytest.warns(ConvergenceWarning, match="fit was interrupted; the model of") as caught:
        model.fit(X)
    assert caught[0].filename == __file__
    assert model.outcome_.startswith("interrupted")
    return model


def test_an_interrupt_keeps_the_last_finished_temperature(along: GTM) -> None:
    model = interrupted(line(engine=Engine(callbacks=[Interrupt()])))
    assert len(model.trace_) == 3
    assert model.temperature_ == model.trace_[-1].temperature > 1.0
    assert model.trace_[-1].log_likelihood == along.trace_[2].log_likelihood
    assert model.log_likelihood_ == pytest.approx(log_density(model, X).sum(), rel=1e-9)
    assert model.transform(X).shape == (90, 1)


def test_an_interrupt_at_the_very_end_keeps_what_was_cooled(
    along: GTM, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle = Annealer._settle

    def stopped(self: Annealer, *given: Any) -> Any:
        if isinstance(self.schedule, Fixed):
            raise KeyboardInterrupt
        return settle(self, *given)

    monkeypatch.setattr(Annealer, "_settle", stopped)
    model = interrupted(line())
    assert model.temperature_ == 1.0
    assert len(model.trace_) == len(along.trace_)
    assert model.log_likelihood_ == pytest.approx(along.log_likelihood_, abs=1.0)


@pytest.mark.parametrize("at", [1, 4])
def test_an_interrupt_ends_all_runs_and_keeps_the_best(along: GTM, at: int) -> None:
    watch = Interrupt(at=at, run=2)
    model = interrupted(line(n_init=5, engine=Engine(callbacks=[watch])))
    assert watch.runs == 2
    # Free energies of higher temperatures are lower, but the finished run is the better one.
    np.testing.assert_array_equal(model.centres_, along.centres_)
    assert model.temperature_ == 1.0


class InterruptAtOnce(Callback):
    def __init__(self, run: int) -> None:
        self.run, self.runs = run, 0

    def on_begin(self) -> None:
        self.runs += 1

    def on_sweep(self, temperature: float, sweep: int, free_energy: float) -> None:
        if self.runs == self.run:
            raise KeyboardInterrupt


def test_an_interrupt_before_anything_is_fitted(along: GTM) -> None:
    model = line(engine=Engine(callbacks=[InterruptAtOnce(1)]))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert not [name for name in vars(model) if name.endswith("_")]
    second = interrupted(line(n_init=2, engine=Engine(callbacks=[InterruptAtOnce(2)])))
    np.testing.assert_array_equal(second.centres_, along.centres_)


def test_a_time_limit_ends_the_cooling_and_the_map_is_settled(along: GTM) -> None:
    seen = Recorder(lambda fit: fit.trace[-1].temperature)
    model = line(engine=Engine(callbacks=[seen, TimeLimit(-1.0)])).fit(X)
    first = along.trace_[0].temperature
    assert seen.values == [first]
    assert [record.temperature for record in model.trace_] == [first, 1.0]
    assert model.outcome_ == "a rule stopped the run"
    assert model.temperature_ == 1.0


def test_a_failed_fit_keeps_the_fit_before() -> None:
    model = line(schedule=QUICK).fit(X)
    before, places = dict(vars(model)), model.transform(X)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.full((4, 7), np.inf))
    with pytest.raises(ValueError, match="are equal"):
        model.fit(np.ones((4, 7)))
    assert vars(model) == before
    np.testing.assert_array_equal(model.transform(X), places)


def test_a_new_fit_forgets_the_one_before(along: GTM) -> None:
    model = line().fit(SHEET).fit(X)
    np.testing.assert_array_equal(model.centres_, along.centres_)
    assert model.n_features_in_ == 5


def test_progress_is_shown_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    model = line(schedule=QUICK, verbose=True).fit(X)
    shown = capsys.readouterr().err.splitlines()
    # A line for every temperature, and one for settling at T = 1.
    assert len(shown) == len(model.trace_) + 1
    assert all(" % done" in row for row in shown)
    for verbose in (None, False):
        line(schedule=QUICK, verbose=verbose).fit(X)
        assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("noted", [(), (0.9, 0.5)])
def test_the_last_temperature_and_its_settling_are_one_record(noted: tuple[float, ...]) -> None:
    def fit(*given: tuple[float, int, tuple[float, ...]]) -> Fit:
        records = [Record(t, -t, -n, 0.0, 2, 3, c, n, 0.5, n > 9) for t, n, c in given]
        return Fit(None, None, given[-1][0], tuple(records))

    cooled, last = fit((2.0, 4, (1.5,)), (1.0, 7, (0.8,))), fit((1.0, 30, noted))
    first, merged = joined(cooled, last)
    assert first == cooled.trace[0]
    assert (merged.sweeps, merged.seconds, merged.converged) == (37, 1.0, True)
    assert merged.log_likelihood == -30
    assert merged.critical == (noted or (0.8,))
    assert joined(cooled, cooled) == cooled.trace
    stopped = fit((2.0, 4, ()))
    assert joined(stopped, last) == (*stopped.trace, *last.trace)


def test_every_temperature_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="isotherm"):
        model = line(schedule=QUICK).fit(X)
    assert len([row for row in caplog.messages if row.startswith("T ")]) == len(model.trace_)


def test_a_plain_fit_warns_of_nothing() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = GTM(random_state=0, schedule=QUICK).fit(SHEET)
    assert caught == []
    assert model.nodes_.shape == (400, 2)
