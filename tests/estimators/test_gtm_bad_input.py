"""What a map refuses, with words that say why, and odd input that it takes all the same."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from isotherm import (
    GTM,
    Adaptive,
    Exponential,
    Fixed,
    Grid,
    IsothermError,
    IsothermWarning,
    Linear,
    Tempered,
    TimeLimit,
)
from isotherm.data.base import Array
from support.maps import curved

X = curved(60)
QUICK = Exponential(0.7)


def line(**settings: Any) -> GTM:
    return GTM(1, **({"n_nodes": 8, "n_basis": 4, "schedule": QUICK, "random_state": 0} | settings))


def with_cell(value: float) -> Array:
    table = X.copy()
    table[3, 2] = value
    return table


def refused(model: GTM, message: str, *args: Any, **kwargs: Any) -> Exception:
    """The fit is refused, and the estimator is what it was before."""
    before = dict(vars(model))
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        model.fit(*args, **kwargs)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)
    assert not [name for name in vars(model) if name.endswith("_")]
    with pytest.raises(NotFittedError):
        model.transform(X)
    return caught.value


BAD_DATA: dict[str, tuple[Callable[[], Any], str]] = {
    "infinity": (lambda: with_cell(np.inf), "contains infinity"),
    "minus infinity": (lambda: with_cell(-np.inf), "contains infinity"),
    "one row": (lambda: X[:1], r"1 sample\(s\).*minimum of 2 is required"),
    "no rows": (lambda: X[:0], r"0 sample\(s\)"),
    "no columns": (lambda: X[:, :0], r"0 feature\(s\)"),
    "one dimension": (lambda: X[0], "Expected 2D array, got 1D"),
    "three dimensions": (lambda: X[None], "dim 3"),
    "equal rows": (lambda: np.full((9, 4), 0.1), "all rows of X are equal.*two different rows"),
    "equal rows with a hole": (
        lambda: np.array([[1.0, 0.3], [1.0, np.nan], [np.nan, 0.3]]),
        "all rows of X are equal",
    ),
    "an empty column": (
        lambda: np.where(np.arange(3) == 1, np.nan, X),
        "column 1 of X has no value at all.*drop it",
    ),
    "nothing but holes": (lambda: np.full((5, 2), np.nan), "column 0 of X has no value at all"),
    "sparse": (lambda: sparse.csr_array(X), r"X is sparse.*AspectModel.*toarray"),
    "sparse matrix": (lambda: sparse.csr_matrix(X), r"X is sparse.*AspectModel.*toarray"),
    "words": (lambda: [["a", "b"], ["c", "d"]], "could not convert string to float: 'a'"),
    "complex": (lambda: X * 1j, "Complex data not supported"),
    "nothing": (lambda: None, "Expected 2D array, got scalar"),
    "huge": (lambda: 1e160 * X, "variance of X is too large for a number; divide X by a constant"),
    "as large as can be": (lambda: 1e300 * X, "too large for a number; divide X"),
    "one huge value": (lambda: with_cell(1e200), "too large for a number; divide X"),
    "opposite extremes": (lambda: np.array([[1.7e308], [-1.7e308]]), "too large for a number"),
    "tiny": (lambda: 1e-200 * X, "variance of X is too small for a number; multiply X"),
    "denormal": (lambda: 1e-310 * X, "too small for a number; multiply X by a constant"),
}

# Settings, and what is said about them.
BAD_SETTINGS: list[tuple[dict[str, Any], str]] = [
    *[
        ({"n_components": value}, "n_components=.*integer of at least 1")
        for value in (0, -1, True, 1.0, 2.5, "2", None, np.array([1, 2]))
    ],
    *[({"n_components": value}, "n_components=.*one of 1, 2, 3") for value in (4, 50)],
    *[
        ({name: value}, f"{name}=.*integer of at least 1")
        for name in ("n_nodes", "n_basis")
        for value in (0, -4, 2.5, True, "8", (0,), (2.0,))
    ],
    *[
        ({name: value}, f"{name}=.*has {len(value)} numbers for 1 axes; give one number, or")
        for name in ("n_nodes", "n_basis")
        for value in ((5, 5), (), [3, 4, 5])
    ],
    ({"n_components": 2, "n_nodes": (5,)}, r"n_nodes=\(5,\) has 1 numbers for 2 axes"),
    ({"n_nodes": 1}, r"n_nodes=\(1,\).*at least 2 of each on every axis"),
    ({"n_basis": 1}, r"n_basis=\(1,\).*at least 2 of each on every axis"),
    ({"n_components": 2, "n_nodes": (1, 9)}, r"n_nodes=\(1, 9\).*at least 2 of each on every"),
    ({"n_components": 2, "n_basis": (4, 1)}, r"n_basis=\(4, 1\).*at least 2 of each on every"),
    *[
        ({"basis_width": value}, "basis_width=.*number of at least 0.1")
        for value in (0, -1.0, np.nan, np.inf, "wide", None)
    ],
    *[
        ({"alpha": value}, "alpha=.*number of at least 0")
        for value in (-0.1, np.nan, np.inf, "small", True)
    ],
    ({"alpha": 1.7e308}, "alpha times the variance of X is too large.*lower alpha"),
    *[({"noise": value}, "noise=.*number of at least") for value in (0, -1.0, np.nan, "low")],
    ({"noise": 1e-200}, "noise is .*e-202 times the mean variance.*at least 1e-10 times"),
    *[
        ({"start": value}, "start=.*one of 'auto', 'sheet', 'plane', 'white', 'pca'")
        for value in ("PCA", "random", None, 3)
    ],
    *[
        ({"start": "pca", "schedule": schedule}, "start='pca' with schedule=.*anneal from start=")
        for schedule in (None, QUICK, Linear(0.1), Adaptive(), Grid((2.0, 1.0)))
    ],
    *[
        ({"projection": value}, "projection=.*one of 'mean', 'mode'")
        for value in ("median", None, 1)
    ],
    *[
        ({"schedule": value}, r"schedule=.*such as Exponential\(\)")
        for value in ("cool", 0.95, Exponential)
    ],
    *[
        ({"schedule": value}, "schedule=.*goes below T = 1, where a map is no longer one; end at 1")
        for value in (
            Fixed(0.5),
            Exponential(end=0.0),
            Linear(0.1, end=0.99),
            Adaptive(end=0.5),
            Grid((2.0, 0.9)),
            Tempered(start=0.5),
        )
    ],
    ({"schedule": Tempered()}, "nothing was held out"),
    *[
        ({name: value}, f"{name}=.*integer of at least 1")
        for name in ("n_init", "max_iter", "n_jobs")
        for value in (0, -3, 2.5, "all", True)
    ],
    *[({"tol": value}, "tol=.*number of at least 0") for value in (-0.1, np.nan, "a", None)],
    *[
        ({f"engine__{name}": value}, f"{name}=.*True or False")
        for name in ("over_relax", "record_critical")
        for value in (1.8, "yes")
    ],
    *[
        ({"engine__precision": value}, "precision=.*'auto', 'float32', 'float64'")
        for value in ("double", None, np.float32)
    ],
    *[
        ({"engine__callbacks": value}, r"callbacks=.*such as \[TimeLimit\(60\)\]")
        for value in (None, [None], [TimeLimit], TimeLimit(3.0))
    ],
    *[({"random_state": value}, "random_state=.*is no seed") for value in (-1, "x", 1.5)],
]

BAD_WEIGHTS: list[tuple[Any, str]] = [
    (np.ones(59), r"shape \(59,\) for 60 rows; give one weight per row"),
    (-np.ones(60), "negative"),
    (np.r_[np.nan, np.ones(59)], "NaN"),
    (np.zeros(60), "only zero"),
    (["a"] * 60, "cannot be read as numbers"),
    (np.arange(60) == 7, "all rows of X are equal"),
]


@pytest.mark.parametrize(("make", "message"), BAD_DATA.values(), ids=BAD_DATA.keys())
def test_bad_data(make: Callable[[], Any], message: str) -> None:
    error = refused(line(), message, make())
    assert isinstance(error, IsothermError)
    assert len(str(error)) > 20


@pytest.mark.parametrize(("settings", "message"), BAD_SETTINGS)
def test_bad_settings(settings: dict[str, Any], message: str) -> None:
    model = GTM(1, n_basis=3, max_iter=3)
    if not any(name.startswith("engine__") for name in settings):
        error = refused(model.set_params(**settings), message, 10.0 * X)
        assert isinstance(error, IsothermError)
        return
    with pytest.raises(IsothermError, match=message):
        model.set_params(**settings)


def test_schedules_that_do_not_cool_are_refused_where_they_are_made() -> None:
    for rate in (0.0, 1.0, 1.5, -1.0):
        with pytest.raises(IsothermError, match="between 0 and 1"):
            line(schedule=Exponential(rate))


@pytest.mark.parametrize(("weight", "message"), BAD_WEIGHTS)
def test_bad_weights(weight: Any, message: str) -> None:
    assert isinstance(refused(line(), message, X, sample_weight=weight), IsothermError)


@pytest.mark.parametrize("method", ["transform", "responsibilities", "score_samples", "score"])
def test_new_rows_need_the_columns_of_the_fit(method: str) -> None:
    model = line().fit(X)
    call = getattr(model, method)
    for bad in (X[:, :2], np.ones((2, 4))):
        with pytest.raises(ValueError, match=r"X has \d features, but GTM is expecting 3 features"):
            call(bad)
    with pytest.raises(ValueError, match="infinity"):
        call(with_cell(np.inf))
    with pytest.raises(ValueError, match="Expected 2D array"):
        call(X[0])
    with pytest.raises(IsothermError, match="X is sparse"):
        call(sparse.csr_array(X))
    assert np.isfinite(call(with_cell(np.nan))).all()


@pytest.mark.parametrize("method", ["inverse_transform", "magnification"])
def test_places_need_the_dimensions_of_the_map(method: str) -> None:
    call = getattr(line().fit(X), method)
    with pytest.raises(IsothermError, match=r"Z has 2 columns for a map of 1 dim.*as `transform`"):
        call([[0.1, 0.2]])
    with pytest.raises(ValueError, match="Expected 2D array"):
        call([0.1, 0.2])
    for value, message in ((np.nan, "Z contains NaN"), (np.inf, "Z contains infinity")):
        with pytest.raises(ValueError, match=message):
            call([[value]])
    assert len(call([[0.1], [7.0]])) == 2


@pytest.mark.parametrize("number", [0, -1, 2.5, True, None])
def test_bad_number_of_samples(number: Any) -> None:
    model = line().fit(X)
    with pytest.raises(IsothermError, match=r"n_samples=.*integer of at least 1"):
        model.sample(number)


def test_nothing_works_before_the_fit() -> None:
    model = line()
    calls: list[Callable[[], Any]] = [
        *[
            lambda name=name: getattr(model, name)(X)
            for name in ("transform", "responsibilities", "score_samples", "score")
        ],
        lambda: model.inverse_transform([[0.0]]),
        model.magnification,
        model.sample,
        model.get_feature_names_out,
    ]
    for call in calls:
        with pytest.raises(NotFittedError):
            call()
    assert not [name for name in vars(model) if name.endswith("_")]


# Odd, but allowed


@pytest.mark.parametrize("value", [0.0, 7.3, -1e10 / 3, 1.7e18])
def test_constant_columns_keep_their_value(value: float) -> None:
    plain = line().fit(X)
    model = line().fit(np.insert(X, 1, value, axis=1))
    np.testing.assert_allclose(model.centres_[:, 1], value, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.inverse_transform([[0.3]])[0, 1], value, rtol=1e-12)
    # A column of no width makes the noise smaller, and so its share in all distances larger.
    assert model.noise_variance_ < plain.noise_variance_
    order = np.corrcoef(model.transform(np.insert(X, 1, value, axis=1)).T, plain.transform(X).T)
    assert abs(order[0, 1]) > 0.9


def test_columns_of_very_different_widths() -> None:
    # The wide one decides, and nothing is lost to rounding.
    rows = np.c_[1e9 * X[:, :1], X[:, 1:]]
    model = line(n_nodes=20).fit(rows)
    order = np.corrcoef(model.transform(rows)[:, 0], X[:, 0])[0, 1]
    assert abs(order) > 0.98


def test_fewer_points_than_nodes() -> None:
    model = line(n_nodes=30).fit(X[:8])
    assert model.noise_variance_ > 1e-6 * X[:8].var(axis=0).mean()
    assert np.unique(model.transform(X[:8]).round(3)).size >= 7


@pytest.mark.parametrize("repeats", [1, 20])
def test_two_distinct_points_leave_no_noise(repeats: int) -> None:
    rows = np.repeat(X[:2], repeats, axis=0)
    with pytest.warns(IsothermWarning, match="noise variance of the map fell to zero.*smaller"):
        model = line(basis_width=2.0).fit(rows)
    places = model.transform(rows)[:, 0]
    assert abs(places[0] - places[-1]) > 0.5
    np.testing.assert_allclose(places, np.repeat(places[[0, -1]], repeats), atol=1e-9)
    away = rows - model.inverse_transform(places[:, None])
    assert np.abs(away).max() < 1e-3


@pytest.mark.filterwarnings("ignore:the first critical temperature:isotherm.IsothermWarning")
def test_one_column() -> None:
    model = line(n_nodes=20, schedule=None).fit(X[:, :1])
    order = np.corrcoef(model.transform(X[:, :1])[:, 0], X[:, 0])[0, 1]
    assert abs(order) > 0.95
    assert model.centres_.shape == (20, 1)


@pytest.mark.filterwarnings("ignore:the first critical temperature:isotherm.IsothermWarning")
def test_more_dimensions_than_columns() -> None:
    model = GTM(3, n_nodes=3, n_basis=2, schedule=Fixed(1.0), random_state=0).fit(X[:, :2])
    assert model.transform(X[:, :2]).shape == (60, 3)
    assert np.isfinite(model.log_likelihood_)


@pytest.mark.parametrize("factor", [1e-140, 1e-30, 1e100, 1e150])
def test_extreme_units(factor: float) -> None:
    plain, model = line().fit(X), line().fit(factor * X)
    np.testing.assert_allclose(model.transform(factor * X), plain.transform(X), atol=1e-5)
    assert model.log_likelihood_ + X.size * np.log(factor) == pytest.approx(
        plain.log_likelihood_, abs=1e-3
    )
    assert model.sample(3).shape == (3, 3)
    assert np.isfinite(model.magnification()).all()


def read_only(table: Array) -> Array:
    table = table.copy()
    table.flags.writeable = False
    return table


WHOLE = np.round(10 * X)
FORMS: dict[str, Callable[[], Any]] = {
    "integers": lambda: WHOLE.astype(np.int32),
    "small integers": lambda: WHOLE.astype(np.int8),
    "single precision": lambda: WHOLE.astype(np.float32),
    "half precision": lambda: WHOLE.astype(np.float16),
    "long double": lambda: WHOLE.astype(np.longdouble),
    "big-endian": lambda: WHOLE.astype(">f8"),
    "big-endian integers": lambda: WHOLE.astype(">i4"),
    "columns first": lambda: np.asfortranarray(WHOLE),
    "a view": lambda: np.repeat(np.repeat(WHOLE, 2, axis=0), 3, axis=1)[::2, ::3],
    "backwards": lambda: WHOLE[::-1].copy()[::-1],
    "read only": lambda: read_only(WHOLE),
    "lists": lambda: WHOLE.tolist(),
    "objects": lambda: WHOLE.astype(object),
}


@pytest.mark.parametrize("make", FORMS.values(), ids=FORMS.keys())
def test_the_form_of_a_table_does_not_matter(make: Callable[[], Any]) -> None:
    given = make()
    before = np.array(given)
    plain = line(schedule=Fixed(1.0)).fit(WHOLE)
    model = line(schedule=Fixed(1.0)).fit(given)
    np.testing.assert_array_equal(model.centres_, plain.centres_)
    np.testing.assert_array_equal(model.transform(given), plain.transform(WHOLE))
    np.testing.assert_array_equal(np.array(given), before)


def test_yes_and_no() -> None:
    answers = X > 0
    model = line().fit(answers)
    np.testing.assert_array_equal(model.centres_, line().fit(answers.astype(float)).centres_)
    assert model.transform(answers).shape == (60, 1)


def test_no_prior_at_all_is_warned_of() -> None:
    with pytest.warns(IsothermWarning, match="alpha=0 leaves the weights without a prior") as seen:
        model = line(alpha=0).fit(X)
    assert seen[0].filename == __file__
    assert model.objective_ == -model.log_likelihood_


def test_more_functions_than_nodes() -> None:
    model = line(n_nodes=5, n_basis=12).fit(X)
    assert model.weight_.shape == (13, 3)
    assert np.isfinite(model.centres_).all()
