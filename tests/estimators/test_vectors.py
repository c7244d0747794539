"""What a map reads as a table of numbers, and what it says of everything else."""

import datetime
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from isotherm import GTM, Counts, Fixed, IsothermError, StoredCounts
from isotherm.data.base import Array
from support.maps import curved

X = curved(40)
# Names of columns do not matter here, and numpy would rather be without its matrices.
pytestmark = [
    pytest.mark.filterwarnings("ignore:X has feature names:UserWarning"),
    pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning"),
]
DATES = np.arange("2020-01-01", "2020-02-10", dtype="M8[D]")


def line() -> GTM:
    return GTM(1, n_nodes=6, n_basis=3, max_iter=3, schedule=Fixed(1.0), random_state=0)


@pytest.fixture(scope="module")
def fitted() -> GTM:
    return line().fit(X)


def frame(**changed: Any) -> Any:
    pd = pytest.importorskip("pandas")
    return pd.DataFrame({"u": X[:, 0], "v": X[:, 1], "w": X[:, 2]} | changed)


def polars(**changed: Any) -> Any:
    pl = pytest.importorskip("polars")
    return pl.DataFrame({"u": X[:, 0], "v": X[:, 1], "w": X[:, 2]} | changed)


def object_with(value: Any) -> Array:
    table = X.astype(object)
    table[3, 1] = value
    return table


def sparse_frame() -> Any:
    pd = pytest.importorskip("pandas")
    return pd.DataFrame.sparse.from_spmatrix(sparse.csr_array(X))


def missing_in_objects() -> Any:
    pd = pytest.importorskip("pandas")
    return frame(v=[pd.NA, *X[1:, 1]]).astype(object)


class Corpus:
    """As the readers of texts return: counts and what belongs to them."""

    counts = Counts(np.abs(X).round() + 1.0)


DOCUMENTS = r"map_corpus.*AspectModel\(20\)\.fit_transform"
TABLE = "give a table of numbers"
COUNTED = sparse.csr_array(np.abs(X).round())
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "csr array": (lambda: COUNTED, rf"X is sparse \(csr_array of shape \(40, 3\).*{DOCUMENTS}"),
    "csc matrix": (lambda: sparse.csc_matrix(COUNTED), r"X is sparse.*X\.toarray\(\), 9.6e-07 GB"),
    "a sparse frame": (sparse_frame, r"X is sparse \(DataFrame.*sparse\.to_dense"),
    "counts": (lambda: Counts(COUNTED), f"X is of type Counts, counts and no.*{DOCUMENTS}"),
    "a corpus": (Corpus, f"X is of type Corpus, counts and no.*{DOCUMENTS}"),
    "text in a frame": (lambda: frame(v=["x", "y"] * 20), rf"string to float.*'v'.*{TABLE}"),
    "text in polars": (lambda: polars(v=["x", "y"] * 20), rf"string to float.*'v'.*{TABLE}"),
    "a name of a file": (lambda: "data.csv", f"X is of type str.*data.csv.*{TABLE}"),
    "a path": (lambda: Path("data.csv"), f"of type .*Path and cannot be read.*{TABLE}"),
    "documents": (lambda: ["one text", "another"], f"of type list and cannot be read.*{TABLE}"),
    "three dimensions": (lambda: X[None], f"of type ndarray.*dim 3.*{TABLE}"),
    "ragged lists": (lambda: [[1.0, 2.0], [3.0]], f"of type list.*inhomogeneous.*{TABLE}"),
    "ragged arrays": (lambda: [np.ones(3), np.ones(2)], f"inhomogeneous.*{TABLE}"),
    "complex": (lambda: X * 1j, r"Complex data.*complex128; give X\.real"),
    "complex in lists": (lambda: [[1j, 2.0], [3.0, 4.0]], f"not 'complex'.*{TABLE}"),
    "records": (
        lambda: np.array([(1.0, 2.0)] * 3, dtype=[("a", float), ("b", float)]),
        f"of type ndarray and cannot be read.*{TABLE}",
    ),
    "dictionaries": (lambda: object_with({"a": 1}), f"not 'dict'.*{TABLE}"),
    "a dictionary": (lambda: {"a": [1.0, 2.0]}, f"X is of type dict.*{TABLE}"),
    "a generator": (lambda: (row for row in X), f"X is of type generator.*{TABLE}"),
    "a class": (lambda: np.ndarray, f"X is of type type.*{TABLE}"),
    "NA among objects": (missing_in_objects, rf"NAType.*'v'.*{TABLE}.*with NaN where"),
    "a huge integer": (lambda: object_with(10**400), f"too large to convert.*{TABLE}"),
    "dates": (lambda: DATES.reshape(-1, 2), "X has dates or times.*make numbers of them first"),
    "spans of time": (lambda: DATES.reshape(-1, 2) - DATES[0], "X has dates or times"),
    "dates in a frame": (lambda: frame(v=DATES.astype("M8[ns]")), "X has dates or times"),
    "dates in polars": (lambda: polars(v=DATES), "X has dates or times"),
    "dates as objects": (
        lambda: object_with(datetime.datetime(2020, 1, 1)),
        f"not 'datetime.datetime'.*{TABLE}",
    ),
    "columns of one name": (
        lambda: frame().set_axis(["u", "v", "u"], axis=1),
        "unique column names",
    ),
    "a series": (lambda: frame()["u"], "2-dimensional container"),
    "a frame to come": (lambda: polars().lazy(), r"LazyFrame, not computed yet; use collect\(\)"),
    "a matrix": (lambda: np.matrix(X), "np.matrix is not supported"),
    "nothing": (lambda: None, "Expected 2D array"),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_table_is_refused_with_a_word_on_what_to_do(
    make: Callable[[], Any], message: str, fitted: GTM
) -> None:
    for call in (line().fit, fitted.transform, fitted.score_samples, fitted.responsibilities):
        with pytest.raises(IsothermError, match=f"(?s){message}") as caught:
            call(make())
        assert len(str(caught.value)) < 600


def test_counts_on_the_disk_are_refused(tmp_path: Path, fitted: GTM) -> None:
    stored = StoredCounts.write(tmp_path / "counts", Counts(COUNTED))
    for call in (line().fit, line().fit_transform, fitted.transform, fitted.score):
        with pytest.raises(IsothermError, match=f"X is of type StoredCounts, counts.*{DOCUMENTS}"):
            call(stored)


@pytest.mark.parametrize("given", [[["a"]], [[1j]], [[[0.1]]], sparse.csr_array([[0.1]])])
def test_places_are_tables_too(given: Any, fitted: GTM) -> None:
    for call in (fitted.inverse_transform, fitted.magnification):
        with pytest.raises(IsothermError, match="Z is "):
            call(given)


def test_sparse_input_is_an_error_of_type_as_well(fitted: GTM) -> None:
    # Those who catch what scikit-learn raises catch ours.
    with pytest.raises(TypeError, match="sparse"):
        fitted.transform(COUNTED)


# What is read


def holes() -> Array:
    return np.where(np.arange(3) == np.arange(40)[:, None] % 5, np.nan, X)


class Tensor:
    """Enough of a tensor: numpy refuses it while it remembers how it was made."""

    def __init__(self, table: Array, requires_grad: bool = True) -> None:
        self.table, self.requires_grad, self.shape = table, requires_grad, table.shape

    def detach(self) -> "Tensor":
        return Tensor(self.table, False)

    def __len__(self) -> int:
        return len(self.table)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad")
        return np.asarray(self.table, dtype)


def masked() -> Iterator[Any]:
    wrong = np.where(np.isnan(holes()), 1e9, X)
    yield np.ma.masked_where(np.isnan(holes()), wrong)
    yield np.ma.masked_invalid(holes())
    yield frame(**dict(zip("uvw", holes().T, strict=True)))
    yield frame(**dict(zip("uvw", holes().T, strict=True))).convert_dtypes()
    yield frame(**dict(zip("uvw", holes().T, strict=True))).astype("Float64")
    yield polars(**dict(zip("uvw", holes().T, strict=True))).fill_nan(None)
    yield np.where(np.isnan(holes()), None, X.astype(object))  # type: ignore[call-overload]
    yield Tensor(holes())


def test_masked_and_absent_values_are_missing(fitted: GTM) -> None:
    expected = fitted.transform(holes())
    assert np.abs(expected - fitted.transform(X)).max() > 1e-3
    plain = line().fit(holes()).centres_
    for given in masked():
        np.testing.assert_array_equal(fitted.transform(given), expected)
        np.testing.assert_array_equal(line().fit(given).centres_, plain)
