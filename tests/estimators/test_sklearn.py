"""scikit-learn's conventions."""

import io
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from isotherm import (
    GTM,
    PCP,
    TTMM,
    AspectModel,
    DocumentMixture,
    Folds,
    HierarchicalClustering,
    OneSidedClustering,
    TwoSidedClustering,
)
from isotherm.estimators.linked import LinkedEstimator
from isotherm.io.registry import ESTIMATORS
from support.corpora import admixture, one_topic_each
from support.linked import APART

ALL = [
    AspectModel,
    OneSidedClustering,
    DocumentMixture,
    TwoSidedClustering,
    HierarchicalClustering,
]
# Settings of those that are slow, or too large for the tables of the checks, as they come.
SMALLER: dict[Any, dict[str, Any]] = {
    GTM: {"n_nodes": 6, "n_basis": 3},
    TTMM: {"n_clusters": 3, "n_components": 4},
    PCP: {"n_clusters": 3, "n_components": 4},
}


@pytest.mark.filterwarnings("ignore::isotherm.IsothermWarning")
# What scikit-learn itself warns of, about checks that it leaves out.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [
        *[kind(**SMALLER.get(kind, {}), random_state=0) for kind in ESTIMATORS],
        PCP(3, 4, inference="factorized", random_state=0),
    ],
    expected_failed_checks=lambda estimator: (
        APART if isinstance(estimator, LinkedEstimator) else {}
    ),
)
def test_scikit_learn_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    assert check(estimator) is None


def small(kind: Any, **settings: Any) -> Any:
    return kind(3, random_state=0, **settings)


@pytest.mark.parametrize("kind", ALL)
def test_clone_has_the_same_settings_and_no_fit(kind: Any) -> None:
    model = small(kind, tol=1e-3, validation_fraction=0.2).fit(admixture()[0])
    copy = clone(model)
    assert repr(copy) == repr(model)
    assert not hasattr(copy, "components_")
    np.testing.assert_array_equal(copy.fit(admixture()[0]).components_, model.components_)


@pytest.mark.parametrize("kind", ALL)
def test_repr_shows_what_was_changed(kind: Any) -> None:
    assert repr(kind()) == f"{kind.__name__}()"
    assert repr(kind(4, tol=0.5)) == f"{kind.__name__}(n_components=4, tol=0.5)"


@pytest.mark.parametrize("kind", ALL)
def test_joblib_round_trip(kind: Any) -> None:
    X = admixture()[0]
    model = small(kind).fit(X[:60])
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    buffer.seek(0)
    again = joblib.load(buffer)
    np.testing.assert_array_equal(again.transform(X[60:]), model.transform(X[60:]))
    assert again.perplexity(X) == model.perplexity(X)
    assert again.describe() == model.describe()
    # What was not scored is NaN, which is equal to nothing.
    assert repr(again.trace_) == repr(model.trace_)


@pytest.mark.parametrize("kind", ALL)
def test_feature_names(kind: Any) -> None:
    pd = pytest.importorskip("pandas")
    X = admixture(60, 12)[0]
    names = [f"word{j}" for j in range(12)]
    frame = pd.DataFrame(X, columns=names)
    model = small(kind).fit(frame)
    assert list(model.feature_names_in_) == names
    assert model.n_features_in_ == 12
    out = [f"{kind.__name__.lower()}{k}" for k in range(3)]
    assert list(model.get_feature_names_out()) == out
    assert set(model.top_words(12)[0]) == set(names)
    weights = model.set_output(transform="pandas").transform(frame)
    assert isinstance(weights, pd.DataFrame)
    assert list(weights.columns) == out
    np.testing.assert_array_equal(weights.to_numpy(), model.fit(X).transform(X))
    assert not hasattr(model, "feature_names_in_")


DOCUMENTS = [
    "the cat sat on the mat with a cat",
    "cats and dogs and a cat at play",
    "stocks fell as markets and banks fell",
    "banks bought stocks while markets rose",
] * 6


def test_pipeline_from_text_to_weights() -> None:
    vectorizer = CountVectorizer()
    pipe = make_pipeline(vectorizer, AspectModel(2, random_state=0))
    weights = pipe.fit_transform(DOCUMENTS)
    assert weights.shape == (24, 2)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    assert weights[0].argmax() != weights[2].argmax()
    assert list(pipe.get_feature_names_out()) == ["aspectmodel0", "aspectmodel1"]
    np.testing.assert_allclose(pipe.transform(DOCUMENTS[:1]), weights[:1], atol=0.02)


def test_weights_are_features_for_a_classifier() -> None:
    X, labels = one_topic_each()
    pipe = make_pipeline(AspectModel(3, random_state=0), LogisticRegression())
    pipe.fit(X[::2], labels[::2])
    assert pipe.score(X[1::2], labels[1::2]) > 0.9


@pytest.mark.parametrize("kind", ALL)
def test_grid_search_by_score(kind: Any) -> None:
    X = one_topic_each(120)[0]
    search = GridSearchCV(kind(random_state=0), {"n_components": [1, 3]}, cv=3)
    search.fit(X)
    assert search.best_params_ == {"n_components": 3}
    means = search.cv_results_["mean_test_score"]
    assert means[1] > means[0] + 0.1


@pytest.mark.parametrize("kind", ALL)
def test_fit_transform_gives_weights_of_the_training_rows(kind: Any) -> None:
    X = admixture()[0]
    model = small(kind)
    np.testing.assert_array_equal(model.fit_transform(X), small(kind).fit(X).transform(X))


@pytest.mark.parametrize("kind", ALL)
def test_refit_forgets_the_fit_before(kind: Any) -> None:
    X = admixture()[0]
    model = small(kind)
    if kind is DocumentMixture:
        model.set_params(engine__holdout=Folds(2)).fit(X)
        assert hasattr(model, "cv_curve_")
        model.set_params(engine__holdout=None)
    model.fit(X[:, :20])
    assert not hasattr(model, "cv_curve_")
    assert model.n_features_in_ == 20
    np.testing.assert_array_equal(model.components_, small(kind).fit(X[:, :20]).components_)


@pytest.mark.parametrize("kind", ALL)
def test_random_states_of_all_kinds(kind: Any) -> None:
    X = admixture()[0]

    def fitted(random_state: Any) -> Any:
        return kind(3, random_state=random_state, tol=1e-3).fit(X).components_

    np.testing.assert_array_equal(fitted(7), fitted(np.int64(7)))
    np.testing.assert_array_equal(fitted(7), fitted(np.random.default_rng(7)))
    same = (fitted(np.random.RandomState(7)) for _ in range(2))
    np.testing.assert_array_equal(*same)
    assert np.isfinite(fitted(None)).all()


def test_import_adds_little_to_scikit_learn() -> None:
    code = (
        "import sklearn, time; t = time.perf_counter(); import isotherm; "
        "print(time.perf_counter() - t)"
    )
    source = str(Path(sys.modules["isotherm"].__file__ or "").parents[1])
    times = []
    for _ in range(3):
        run = subprocess.run(
            [sys.executable, "-c", f"import sys; sys.path.insert(0, {source!r}); {code}"],
            capture_output=True,
            text=True,
            check=True,
        )
        times.append(float(run.stdout))
    assert np.median(times) <= 0.2


@pytest.mark.parametrize("kind", ALL)
def test_a_plain_fit_warns_of_nothing(kind: Any) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = small(kind).fit(admixture()[0])
    assert caught == []
    assert model.outcome_ in ("a rule stopped the run", "the schedule reached its end")
