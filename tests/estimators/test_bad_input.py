"""Everything that must be refused, with words that say what and why, and without a trace."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from isotherm import (
    Adaptive,
    AspectModel,
    Counts,
    DocumentMixture,
    Engine,
    Exponential,
    Fixed,
    Folds,
    Grid,
    IsothermError,
    Linear,
    OneSidedClustering,
    Rows,
    Tempered,
    TimeLimit,
)
from isotherm.data.base import Array
from support.corpora import admixture

ALL = (AspectModel, OneSidedClustering, DocumentMixture)
X = admixture(20, 8)[0]


def with_cell(value: float) -> Array:
    table = X.astype(float)
    table[3, 2] = value
    return table


BAD_COUNTS: dict[str, tuple[Callable[[], Any], str]] = {
    "negative": (lambda: with_cell(-1), "Negative values in data"),
    "negative sparse": (lambda: sparse.csr_array(with_cell(-1)), "Negative values in data"),
    "NaN": (lambda: with_cell(np.nan), "contains NaN"),
    "NaN sparse": (lambda: sparse.csr_array(with_cell(np.nan)), "contains NaN"),
    "infinity": (lambda: with_cell(np.inf), "contains infinity"),
    "infinity sparse": (lambda: sparse.coo_array(with_cell(np.inf)), "contains infinity"),
    "nothing counted": (lambda: np.zeros((4, 3)), "all 0; their total must be positive"),
    "nothing counted sparse": (lambda: sparse.csr_array((4, 3)), "total must be positive"),
    "no rows": (lambda: np.empty((0, 3)), "0 sample"),
    "no columns": (lambda: np.empty((3, 0)), "0 feature"),
    "one dimension": (lambda: np.ones(5), "Expected 2D array, got 1D"),
    "three dimensions": (lambda: np.ones((2, 2, 2)), "dim 3"),
    "words": (lambda: [["a", "b"], ["c", "d"]], "dtype='numeric'|string"),
    "complex": (lambda: X * 1j, "Complex data not supported"),
    "nothing": (lambda: None, "None"),
    "a total beyond float64": (lambda: np.full((2, 2), 1e308), "total .* infinity|scale"),
}

# Settings of single kinds, then of all.
BAD_SETTINGS: list[tuple[type[Any], dict[str, Any], str]] = [
    *[
        (kind, {"n_components": K}, "n_components=.*integer of at least 1")
        for kind in ALL
        for K in (0, -2, 1.5, "3", None, True, np.nan)
    ],
    *[
        (kind, {name: value}, f"{name}=.*number of at least 0")
        for kind in ALL
        for name in ("tol", "validation_fraction")
        for value in (-0.1, np.nan, "a", None)
    ],
    *[
        (kind, {"validation_fraction": value}, "validation_fraction=.*at most 0.9")
        for kind in ALL
        for value in (0.95, 1.0, np.inf)
    ],
    *[
        (kind, {name: value}, f"{name.removeprefix('engine__')}=.*integer of at least 1")
        for kind in ALL
        for name in ("max_iter", "engine__patience", "n_jobs")
        for value in (0, -3, 2.5, "all")
    ],
    *[(kind, {"n_jobs": 10**9}, "n_jobs=.*at least 1 and at most 65536") for kind in ALL],
    *[
        (kind, {name: value}, f"{name}=.*True or False")
        for kind, name in (
            (AspectModel, "temper_prior"),
            (OneSidedClustering, "leave_one_out"),
            (DocumentMixture, "stepwise"),
        )
        for value in (1.8, "yes", None)
    ],
    *[
        (kind, {"engine__over_relax": value}, "over_relax=.*True or False")
        for kind in ALL
        for value in (1.8, "yes")
    ],
    *[
        (OneSidedClustering, {"temper_prior": value}, "temper_prior=.*True, False, 'auto'")
        for value in (1.8, "yes", None)
    ],
    *[
        (kind, {"engine__precision": value}, "precision=.*'auto', 'float32', 'float64'")
        for kind in ALL
        for value in ("double", None, np.float32)
    ],
    *[
        (kind, {"schedule": value}, r"schedule=.*such as Exponential\(\)")
        for kind in ALL
        for value in ("cool", 1.0, Exponential)
    ],
    *[
        (kind, {"start": value}, r"start=.*such as Spectral\(\)")
        for kind in ALL
        for value in ("random", 3)
    ],
    *[
        (kind, {"engine__callbacks": value}, r"callbacks=.*such as \[TimeLimit\(60\)\]")
        for kind in ALL
        for value in (None, 5, [None], [TimeLimit], TimeLimit(3.0), [lambda fit: True])
    ],
    *[
        (kind, {"random_state": value}, "random_state=.*is no seed")
        for kind in ALL
        for value in (-1, "x", 1.5)
    ],
    *[
        (kind, {"pseudo_count": value}, "pseudo_count=.*number of at least 0")
        for kind in (OneSidedClustering, DocumentMixture)
        for value in (-1.0, np.nan, "a")
    ],
    # Temperatures: the aspect model has no hard limit, weights per document are hard at 1.
    *[
        (AspectModel, {"schedule": schedule}, "T = 0, the hard limit, which only clustering has")
        for schedule in (
            Fixed(0.0),
            Grid((1.0, 0.0)),
            Exponential(end=0.0),
            Linear(0.1, end=0.0),
            Adaptive(end=0.0),
        )
    ],
    *[
        (DocumentMixture, {"schedule": schedule}, "below T = 1, where weights per document")
        for schedule in (
            Fixed(0.5),
            Grid((2.0, 0.9)),
            Exponential(end=0.0),
            Linear(0.1, end=0.5),
            Adaptive(end=0.0),
            Tempered(start=0.5),
        )
    ],
    *[
        (kind, {"schedule": Tempered(), "validation_fraction": 0}, "nothing was held out")
        for kind in (AspectModel, OneSidedClustering)
    ],
    (DocumentMixture, {"schedule": Tempered()}, "posteriors of this model are hard"),
    (DocumentMixture, {"weights": "mine"}, "weights=.*'document', 'shared', 'uniform'"),
    (DocumentMixture, {"weights": None}, "weights=None.*one of"),
    (DocumentMixture, {"stepwise": True, "weights": "shared"}, "stepwise updates are those of"),
    *[
        (kind, {"engine__holdout": Folds(21, Rows())}, "n_splits=21 greater than the number of")
        for kind in (OneSidedClustering, DocumentMixture)
    ],
    *[
        (kind, {"engine__holdout": Folds(2), "schedule": schedule}, "with an open start")
        for kind in ALL
        for schedule in (Fixed(2.0), Exponential(start=9.0))
    ],
    (AspectModel, {"engine__holdout": Rows()}, r"which is scored by Tokens\(\) alone"),
    (AspectModel, {"engine__holdout": Folds(3, Rows())}, r"which is scored by Tokens\(\) alone"),
    (AspectModel, {"engine__holdout": Folds([([0, 1], [2])])}, "dealt into so many parts"),
    (AspectModel, {"engine__holdout": 0.1}, r"holdout=0.1; it must be Tokens\(\), Rows\(\)"),
    (AspectModel, {"engine": 3}, r"engine=3; it must be an Engine, such as"),
    (DocumentMixture, {"engine__memory_limit": 1.0}, "engine of a DocumentMixture takes batches"),
]

BAD_WEIGHTS: list[tuple[Any, str]] = [
    (np.ones(19), r"shape \(19,\) for 20 rows; give one weight per row"),
    (np.ones((20, 1)), r"shape \(20, 1\) for 20 rows"),
    (-np.ones(20), "negative"),
    (np.r_[np.nan, np.ones(19)], "NaN"),
    (np.r_[np.inf, np.ones(19)], "infinite"),
    (np.zeros(20), "only zero"),
    ("heavy", "cannot be read as numbers"),
    (["a"] * 20, "cannot be read as numbers"),
    ([None, *range(19)], "NaN|numbers"),
]


def refused(model: Any, message: str, *args: Any, **kwargs: Any) -> None:
    """The fit is refused, and the estimator is what it was before."""
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(*args, **kwargs)
    after = vars(model)
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)
    assert not [name for name in after if name.endswith("_")]
    with pytest.raises(NotFittedError):
        model.transform(X)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(("make", "message"), BAD_COUNTS.values(), ids=BAD_COUNTS.keys())
def test_bad_counts(kind: Any, make: Callable[[], Any], message: str) -> None:
    refused(kind(2, random_state=0), message, make())


@pytest.mark.parametrize(("kind", "settings", "message"), BAD_SETTINGS)
def test_bad_settings(kind: Any, settings: dict[str, Any], message: str) -> None:
    model = kind(2, random_state=0, max_iter=5)
    if not any(name.startswith("engine__") for name in settings):
        refused(model.set_params(**settings), message, X)
        return
    # Settings of the engine may be refused where they are made already.
    with pytest.raises(ValueError, match=message):
        model.set_params(**settings).fit(X)
    assert not [name for name in vars(model) if name.endswith("_")]


@pytest.mark.parametrize(("kind", "settings", "message"), BAD_SETTINGS)
def test_bad_settings_are_our_own_error(kind: Any, settings: dict[str, Any], message: str) -> None:
    # Folds are made by scikit-learn, which raises ValueError; all else is ours.
    expected = ValueError if "n_splits" in message or "`cv`" in message else IsothermError
    with pytest.raises(expected) as caught:
        kind(2, random_state=0, max_iter=5).set_params(**settings).fit(X)
    assert len(str(caught.value)) > 20


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(("weight", "message"), BAD_WEIGHTS)
def test_bad_weights(kind: Any, weight: Any, message: str) -> None:
    refused(kind(2, random_state=0), message, X, sample_weight=weight)


@pytest.mark.parametrize("kind", ALL)
def test_weight_on_empty_rows_only(kind: Any) -> None:
    table = X.copy()
    table[0] = 0
    weight = np.r_[1.0, np.zeros(19)]
    refused(kind(2), "zero for every row that has counts", table, sample_weight=weight)


@pytest.mark.parametrize("kind", ALL)
def test_a_failed_fit_keeps_the_fit_before(kind: Any) -> None:
    model = kind(2, random_state=0).fit(X)
    before, weights = dict(vars(model)), model.transform(X)
    for bad in (np.zeros((4, 3)), with_cell(-1)):
        with pytest.raises(ValueError, match=r"total|Negative"):
            model.fit(bad)
    assert vars(model) == before
    np.testing.assert_array_equal(model.transform(X), weights)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("method", ["transform", "score", "perplexity", "predict", "score_rows"])
def test_new_rows_need_the_columns_of_the_fit(kind: Any, method: str) -> None:
    model = kind(2, random_state=0, max_iter=5).fit(X)
    call = getattr(model, method, None)
    if call is None:
        assert method in ("predict", "score_rows")
        return
    for bad in (X[:, :7], np.ones((2, 9)), sparse.csr_array((2, 3)), Counts(X[:, :7])):
        with pytest.raises(ValueError, match=r"X has \d features, but .* expecting 8 features"):
            call(bad)
    for value, message in ((-1, "Negative values"), (np.nan, "NaN"), (np.inf, "infinity")):
        with pytest.raises(ValueError, match=message):
            call(with_cell(value))
    with pytest.raises(ValueError, match="Expected 2D array"):
        call(X[0])


@pytest.mark.parametrize("kind", ALL)
def test_other_column_names(kind: Any) -> None:
    pd = pytest.importorskip("pandas")
    names = [f"w{j}" for j in range(8)]
    model = kind(2, random_state=0, max_iter=5).fit(pd.DataFrame(X, columns=names))
    with pytest.raises(ValueError, match="feature names"):
        model.transform(pd.DataFrame(X, columns=[*names[:7], "odd"]))
    with pytest.raises(IsothermError, match="column names of X differ from those of the fit"):
        model.transform(Counts(X, None, [*names[:7], "odd"]))
    with pytest.raises(IsothermError, match="column names of X differ"):
        model.transform(Counts(X, None, names[::-1]))
    assert model.transform(Counts(X, None, names)).shape == (20, 2)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("transform", (X,)),
        ("score", (X,)),
        ("perplexity", (X,)),
        ("top_words", ()),
        ("describe", ()),
        ("get_feature_names_out", ()),
        ("predict", (X,)),
        ("score_rows", (X,)),
    ],
)
def test_nothing_works_before_the_fit(kind: Any, method: str, arguments: Any) -> None:
    call = getattr(kind(2), method, None)
    if call is None:
        assert method in ("predict", "score_rows")
        return
    with pytest.raises(NotFittedError):
        call(*arguments)


def test_row_components_need_a_fit() -> None:
    with pytest.raises(NotFittedError):
        AspectModel(2).row_components_  # noqa: B018 (the access is the test)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda model: model.top_words(0), "n_words=0.*integer of at least 1"),
        (lambda model: model.top_words(2.5), "n_words=2.5.*integer"),
        (lambda model: model.top_words(by="beauty"), "by='beauty'.*'probability', 'lift'"),
        (lambda model: model.perplexity(X, smoothing=-0.1), "smoothing=-0.1.*at least 0"),
        (lambda model: model.perplexity(X, smoothing=1.1), "smoothing=1.1.*at most 1"),
        (lambda model: model.perplexity(X, X[:3]), r"\(20, 8\).*\(3, 8\).*same rows"),
        (lambda model: model.perplexity(X, X[:, :3]), "X has 3 features"),
    ],
)
def test_bad_questions(kind: Any, call: Callable[[Any], Any], message: str) -> None:
    model = kind(2, random_state=0, max_iter=5).fit(X)
    with pytest.raises(ValueError, match=message):
        call(model)


def test_folds_that_share_no_column() -> None:
    model = DocumentMixture(2, engine=Engine(holdout=Folds(2)), random_state=0)
    refused(model, "in no fold do training and held-out rows share a column", 4 * np.eye(6))


@pytest.mark.filterwarnings("ignore::isotherm.IsothermWarning")
def test_folds_without_structure() -> None:
    refused(
        DocumentMixture(2, engine=Engine(holdout=Folds(2))),
        "none of the 2 folds has structure",
        np.ones((6, 3)),
    )
