import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from numpy.testing import assert_array_equal
from scipy import sparse

from isotherm.data.counts import Counts, as_counts
from isotherm.errors import IsothermError
from support.strategies import counts_matrices, with_names

LIBRARIES = [pd.DataFrame, pl.DataFrame, pl.LazyFrame]


@given(counts_matrices())
def test_wide_frames_agree_with_the_matrix(matrix):
    rows, columns = with_names(matrix)
    table = {name: matrix[:, j] for j, name in enumerate(columns)}
    for frame in (pl.DataFrame(table), pd.DataFrame(table), pd.DataFrame(table, index=rows)):
        counts = as_counts(frame)
        assert_array_equal(counts.matrix.toarray(), matrix)
        assert counts.column_names.tolist() == columns
    assert counts.row_names.tolist() == rows


@pytest.mark.parametrize("library", LIBRARIES)
def test_wide_frames_of_mixed_number_types(library):
    counts = as_counts(library({"a": [True, False], "b": [1, 2], "c": [0.5, 0.0]}))
    assert_array_equal(counts.matrix.toarray(), [[1, 1, 0.5], [0, 2, 0]])
    assert counts.row_names is None


def test_names_of_pandas_need_not_be_strings():
    frame = pd.DataFrame([[1, 2], [3, 4], [5, 6]], columns=[1, 0]).iloc[1:]
    counts = as_counts(frame)
    assert_array_equal(counts.matrix.toarray(), [[3, 4], [5, 6]])
    assert counts.column_names.tolist() == [1, 0]
    assert counts.row_names.tolist() == [1, 2]


def test_given_names_go_before_those_of_the_frame():
    counts = as_counts(pd.DataFrame({"a": [1]}, index=["r"]), ["q"], ["b"])
    assert (counts.row_names.tolist(), counts.column_names.tolist()) == (["q"], ["b"])


@pytest.mark.parametrize("library", LIBRARIES)
def test_long_frames_add_up(library):
    frame = library({"doc": ["d2", "d1", "d2"], "word": [7, 7, 7], "n": [1, 2, 3]})
    weighted = Counts.from_frame(frame, row="doc", column="word", count="n")
    single = Counts.from_frame(frame, row="doc", column="word")
    assert_array_equal(weighted.matrix.toarray(), [[2], [4]])
    assert_array_equal(single.matrix.toarray(), [[1], [2]])
    assert weighted.row_names.tolist() == ["d1", "d2"]
    assert weighted.column_names.tolist() == [7]


def test_categories_are_labels():
    frame = pd.DataFrame({"doc": pd.Categorical(["b", "a"]), "word": ["x", "x"]})
    counts = Counts.from_frame(frame, row="doc", column="word")
    assert counts.row_names.tolist() == ["a", "b"]


BAD_WIDE = {
    "pandas missing": (pd.DataFrame({"a": [1.0, np.nan]}), r"contains NaN: column 'a' .* row 1"),
    "pandas NA": (
        pd.DataFrame({"a": pd.array([True, None], dtype="boolean")}),
        r"contains NaN: column 'a' .* row 1",
    ),
    "polars null": (pl.DataFrame({"a": [1, None]}), r"contains NaN: column 'a' .* row 1"),
    "polars nan": (pl.DataFrame({"a": [1.0, np.nan]}), r"contains NaN at row 1, column 0"),
    "text": (pl.DataFrame({"a": [1], "b": ["x"]}), r"column 'b' .*Counts\.from_frame.*numbers"),
    "dates": (pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}), r"column 'a' .* numbers"),
    "twice": (pd.DataFrame([[1, 2]], columns=["a", "a"]), r"Names of columns must differ"),
    "negative": (pl.DataFrame({"a": [1, -1]}), r"Negative values in data: -1 at row 1, column 0"),
    "empty": (pd.DataFrame({"a": []}, dtype=float), r"0 sample\(s\)"),
}


@pytest.mark.parametrize("name", BAD_WIDE)
def test_bad_wide_frames_are_refused(name):
    frame, message = BAD_WIDE[name]
    with pytest.raises(IsothermError, match=message):
        as_counts(frame)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"row": "id", "column": "word"}, r"row='id' is not a column .* 'doc', 'word', 'n'"),
        ({"row": "doc", "column": "term"}, r"column='term' is not a column"),
        ({"row": "doc", "column": "word", "count": "m"}, r"count='m' is not a column"),
        ({"row": "doc", "column": "word", "count": "word"}, r"cannot be read as numbers"),
        ({"row": "doc", "column": "gap"}, r"columns has no label at position 1"),
    ],
)
@pytest.mark.parametrize("library", LIBRARIES)
def test_bad_long_frames_are_refused(library, names, message):
    frame = library({"doc": ["a", "b"], "word": ["x", "y"], "n": [1, 2], "gap": ["x", None]})
    with pytest.raises(IsothermError, match=message):
        Counts.from_frame(frame, **names)


def test_missing_labels_of_pandas_are_refused():
    frame = pd.DataFrame({"doc": pd.array([1, None], dtype="Int64"), "word": ["x", "y"]})
    with pytest.raises(IsothermError, match=r"rows has no label at position 1"):
        Counts.from_frame(frame, row="doc", column="word")


def test_many_columns_are_shortened_in_messages():
    frame = pl.DataFrame({f"c{j}": [1] for j in range(12)})
    with pytest.raises(IsothermError, match=r"'c9', \.\.\. \(12 in all\)"):
        Counts.from_frame(frame, row="doc", column="c1")


def test_what_is_no_frame_is_refused():
    class Table:
        columns = ("a",)

    with pytest.raises(IsothermError, match=r"X is a Table, which is no data frame"):
        as_counts(Table())


def test_missing_narwhals_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "narwhals", None)
    with pytest.raises(IsothermError, match=r"DataFrame needs the package narwhals.*pip install"):
        as_counts(pd.DataFrame({"a": [1]}))
    assert as_counts(sparse.eye_array(2)).total == 2
