"""Whatever holds counts gives the same fit, and sparse counts stay sparse."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from isotherm import AspectModel, Counts, DocumentMixture, Engine, OneSidedClustering
from isotherm.data.base import Array
from support.anneal import place
from support.corpora import admixture
from support.estimators import of_counts

ALL = [AspectModel, OneSidedClustering, DocumentMixture]
X = admixture(60, 30)[0]
NAMES = [f"w{j}" for j in range(30)]


def frame_of(library: str, sparse_columns: bool = False) -> Any:
    module = pytest.importorskip(library)
    if sparse_columns:
        return module.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(X), columns=NAMES)
    return module.DataFrame({name: X[:, j] for j, name in enumerate(NAMES)})


FORMS: dict[str, Any] = {
    "list": lambda: X.tolist(),
    "int32": lambda: X.astype(np.int32),
    "uint16": lambda: X.astype(np.uint16),
    "uint8": lambda: X.astype(np.uint8),
    "float32": lambda: X.astype(np.float32),
    "float64": lambda: X.astype(np.float64),
    "fortran": lambda: np.asfortranarray(X),
    "csr matrix": lambda: sparse.csr_matrix(X),
    "csr array": lambda: sparse.csr_array(X),
    "csc": lambda: sparse.csc_matrix(X),
    "csc array": lambda: sparse.csc_array(X),
    "coo": lambda: sparse.coo_matrix(X),
    "coo array": lambda: sparse.coo_array(X),
    "lil": lambda: sparse.lil_matrix(X),
    "dok": lambda: sparse.dok_array(X),
    "sparse uint16": lambda: sparse.csr_array(X.astype(np.uint16)),
    "sparse float32": lambda: sparse.csr_array(X.astype(np.float32)),
    "coo twice": lambda: sparse.coo_array(
        (
            np.tile(sparse.coo_array(X).data / 2, 2),
            tuple(np.tile(axis, 2) for axis in sparse.coo_array(X).coords),
        ),
        X.shape,
    ),
    "pandas": lambda: frame_of("pandas"),
    "sparse pandas": lambda: frame_of("pandas", True),
    "polars": lambda: frame_of("polars"),
    "counts": lambda: Counts(X),
    "named counts": lambda: Counts(X, None, NAMES),
}


def settings() -> dict[str, Any]:
    return {"random_state": 0, "tol": 1e-3}


@pytest.fixture(scope="module", params=ALL)
def plain(request: pytest.FixtureRequest) -> tuple[Any, Array]:
    model = request.param(3, **settings()).fit(X)
    return model, model.transform(X)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_every_form_gives_the_same_fit(form: Any, plain: tuple[Any, Array]) -> None:
    expected, weights = plain
    given = form()
    model = type(expected)(3, **settings()).fit(given)
    np.testing.assert_array_equal(model.components_, expected.components_)
    np.testing.assert_array_equal(model.transform(given), weights)
    assert model.temperature_ == expected.temperature_
    named = hasattr(model, "feature_names_in_")
    assert list(model.feature_names_in_ if named else NAMES) == NAMES


@pytest.mark.parametrize("form", ["csr matrix", "coo", "uint16", "float64"])
def test_input_is_not_changed(form: str) -> None:
    given = FORMS[form]()
    AspectModel(3, **settings()).fit(given).transform(given)
    after = given.toarray() if sparse.issparse(given) else given
    np.testing.assert_array_equal(after, X)


@pytest.mark.parametrize("kind", ALL)
def test_sparse_counts_are_never_made_dense(kind: Any) -> None:
    # Dense this would be 3.2 GB in double precision.
    n = 20_000
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, n, 1000), rng.integers(0, 200, 1000) * 100
    big = sparse.coo_matrix((np.ones(1000), (i, j)), (n, n))
    model = kind(2, random_state=0, max_iter=3, tol=0.1)
    kind(2, random_state=0).fit(X)
    tracemalloc.start()
    model.fit(big).transform(big)
    model.score(big)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.components_.shape == (2, n)
    assert peak < 100e6


@pytest.mark.parametrize("kind", ALL)
def test_nothing_asks_for_a_dense_table(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    big = sparse.random_array((500, 400), density=0.01, rng=0).ceil()
    for name in ("toarray", "todense"):
        for form in (sparse.csr_array, sparse.csr_matrix, sparse.coo_array):
            monkeypatch.setattr(form, name, None)
    model = kind(2, random_state=0, max_iter=3, tol=0.1).fit(big)
    assert model.transform(big).shape == (500, 2)
    assert model.perplexity(big) > 1


@pytest.mark.parametrize("kind", ALL)
def test_double_and_single_precision_agree(kind: Any) -> None:
    fits = [
        kind(3, engine=Engine(precision=precision), random_state=0).fit(X)
        for precision in ("float32", "float64")
    ]
    assert [fit.precision_ for fit in fits] == ["float32", "float64"]
    assert fits[0].params_.word_topic.dtype == np.float32
    assert fits[0].components_.dtype == np.float64
    assert kind(3, random_state=0).fit(X).precision_ == "float64"
    scores = [fit.score(X) for fit in fits]
    assert scores[0] == pytest.approx(scores[1], rel=5e-3)


def test_large_problems_are_fitted_in_single_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isotherm.estimators.counts.SMALL_WORK", 100)
    model = AspectModel(3, **settings()).fit(X)
    assert model.precision_ == "float32"
    # A batch is folded in with the precision of the fit, however small it is.
    whole = model.transform(X)
    for i in (0, 5):
        np.testing.assert_array_equal(model.transform(X[[i]]), whole[[i]])


@pytest.mark.parametrize("kind", ALL)
def test_row_weights_are_repeated_rows(kind: Any) -> None:
    weight = np.arange(len(X)) % 3
    repeated = np.repeat(X, weight, axis=0)
    heavy = kind(3, **settings()).fit(X, sample_weight=weight)
    long = kind(3, **settings()).fit(repeated)
    np.testing.assert_allclose(heavy.components_, long.components_, rtol=1e-6, atol=1e-9)
    assert heavy.temperature_ == pytest.approx(long.temperature_, rel=1e-9)
    plain = kind(3, **settings()).fit(X)
    assert not np.allclose(plain.components_, heavy.components_, rtol=1e-3)
    same = kind(3, **settings()).fit(X, sample_weight=np.ones(len(X)))
    np.testing.assert_allclose(same.components_, plain.components_, rtol=1e-9)
    single = kind(3, **settings()).fit(X, sample_weight=2.0)
    assert single.components_.shape == (3, 30)


@pytest.mark.parametrize("kind", ALL)
def test_empty_rows_and_columns_are_harmless(kind: Any) -> None:
    holes = X.copy()
    holes[[0, 9]] = 0
    holes[:, 4] = 0
    model = kind(3, **settings()).fit(holes)
    assert (model.components_[:, 4] == 0).all()
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0)
    weights = model.transform(np.zeros((2, 30)))
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    np.testing.assert_array_equal(weights[0], weights[1])
    assert np.isnan(model.score(np.zeros((2, 30))))
    assert np.isnan(model.perplexity(np.zeros((2, 30))))


def test_an_unseen_word_is_predicted_by_the_background_alone() -> None:
    holes = X.copy()
    holes[:, 4] = 0
    model = AspectModel(3, **settings()).fit(holes)
    new = np.zeros((1, 30), int)
    new[0, 4] = 1
    smoothing, N = 0.01, holes.sum()
    expected = (N + 15.0) / (0.5 * smoothing)
    got = model.perplexity(X[:1], new, smoothing=smoothing)
    assert got == pytest.approx(expected, rel=1e-9)
    assert place(new).summary.total == 1


@pytest.mark.parametrize("kind", ALL)
def test_counts_of_one_kind_only(kind: Any) -> None:
    for table in (np.array([[5]]), np.array([[5, 3, 1]]), np.array([[5], [2], [1]])):
        model = of_counts(kind)(1, **settings()).fit(table)
        np.testing.assert_allclose(model.components_[0], table.sum(axis=0) / table.sum())
        np.testing.assert_allclose(model.transform(table), 1.0)
