import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from isotherm.data.counts import Counts, as_counts
from isotherm.data.stored import StoredCounts
from isotherm.errors import IsothermError
from support.strategies import counts_matrices, with_names

FORMATS = ["coo", "csr", "csc", "bsr", "dia", "dok", "lil"]
DTYPES = [np.bool_, np.uint8, np.uint16, np.int32, np.int64, np.uint64]
DTYPES += [np.float32, np.float64, np.longdouble]


def dense(counts: Counts) -> np.ndarray:
    return counts.matrix.toarray().astype(np.float64)


def assert_canonical(counts: Counts) -> None:
    matrix = counts.matrix
    fresh = sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
    assert isinstance(matrix, sparse.csr_array)
    assert fresh.has_canonical_format
    assert fresh.has_sorted_indices
    assert matrix.indices.dtype == np.int32
    assert matrix.indptr.dtype == np.int32
    assert matrix.data.dtype in (np.float32, np.float64)
    assert (matrix.data > 0).all()


@given(counts_matrices())
def test_dense_sparse_and_triples_agree(matrix):
    rows, columns = with_names(matrix)
    triples = [
        (row, column, matrix[i, j])
        for i, row in enumerate(rows)
        for j, column in enumerate(columns)
    ]
    for counts in (
        Counts(matrix, rows, columns),
        as_counts(sparse.csc_array(matrix), rows, columns),
        Counts.from_triples(reversed(triples)),
    ):
        assert_canonical(counts)
        assert_array_equal(dense(counts), matrix)
        assert list(counts.row_names) == rows
        assert list(counts.column_names) == columns


@given(counts_matrices())
def test_totals_are_exact_sums(matrix):
    counts = Counts(matrix)
    assert counts.total == matrix.sum()
    assert_array_equal(counts.row_totals, matrix.sum(axis=1))
    assert_array_equal(counts.column_totals, matrix.sum(axis=0))
    assert counts.row_totals.dtype == counts.column_totals.dtype == np.float64
    assert (counts.shape, counts.nnz) == (matrix.shape, np.count_nonzero(matrix))
    assert (counts.n_rows, counts.n_columns) == matrix.shape
    assert counts.is_integral


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("format_", FORMATS)
def test_every_sparse_format_is_read_and_left_alone(format_, kind):
    table = np.array([[0, 2, 0], [1, 0, 70000], [0, 0, 0]])
    given_ = getattr(sparse, f"{format_}_{kind}")(table)
    before = given_.copy()
    counts = Counts(given_)
    assert_canonical(counts)
    assert_array_equal(dense(counts), table)
    assert given_.dtype == before.dtype
    assert_array_equal(given_.toarray(), before.toarray())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.coo_array])
def test_every_number_type_is_read(make, dtype):
    table = np.array([[0, 1], [1, 1]], dtype=dtype)
    counts = Counts(make(table))
    assert counts.matrix.dtype == np.float32
    assert_array_equal(dense(counts), table.astype(float))


def test_half_floats_are_read():
    # Apart from the others, since scipy has no sparse float16.
    assert_array_equal(dense(Counts(np.array([[0, 0.5]], dtype=np.float16))), [[0, 0.5]])


def test_indices_of_64_bits_are_read():
    matrix = sparse.csr_array(np.eye(3))
    matrix.indices = matrix.indices.astype(np.int64)
    matrix.indptr = matrix.indptr.astype(np.int64)
    assert_canonical(Counts(matrix))
    assert_array_equal(dense(Counts(matrix)), np.eye(3))


def test_duplicates_add_up_beyond_their_own_type():
    data = np.array([65535, 65535, 2], dtype=np.uint16)
    place = ([0, 0, 1], [1, 1, 0])
    counts = Counts(sparse.coo_array((data, place)))
    assert_array_equal(dense(counts), [[0, 131070], [2, 0]])


def test_unsorted_csr_with_duplicates_and_zeros_is_not_changed():
    data = np.array([1.0, 0.0, 2.0, 3.0])
    indices, indptr = np.array([2, 1, 0, 2], dtype=np.int32), np.array([0, 4, 4], dtype=np.int32)
    given_ = sparse.csr_array((data, indices, indptr), shape=(2, 3))
    counts = Counts(given_)
    assert_canonical(counts)
    assert_array_equal(dense(counts), [[2, 0, 4], [0, 0, 0]])
    assert_array_equal(given_.data, [1.0, 0.0, 2.0, 3.0])
    assert_array_equal(given_.indices, [2, 1, 0, 2])
    counts.matrix.data[:] = 9
    assert_array_equal(given_.data, [1.0, 0.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (2**24, np.float32),
        (2**24 + 1, np.float64),
        (0.5, np.float32),
        (0.1, np.float64),
        (1e300, np.float64),
        (1e-320, np.float64),
    ],
)
def test_values_are_float32_only_where_that_is_exact(value, dtype):
    counts = Counts([[value, 1.0]])
    assert counts.matrix.dtype == dtype
    assert counts.matrix.toarray()[0, 0] == value


BAD_TABLES = {
    "negative": ([[1, 0], [0, -2]], r"Negative values in data: -2 at row 1, column 1"),
    "negative sparse": (
        sparse.coo_array(([1.0, -1.0], ([0, 3], [0, 7]))),
        r"Negative values in data: -1 at row 3, column 7",
    ),
    "nan": ([[1, 2, np.nan]], r"Input X contains NaN at row 0, column 2"),
    "inf": ([[1], [np.inf]], r"Input X contains infinity .* at row 1, column 0"),
    "-inf": ([[1], [-np.inf]], r"Input X contains infinity .* at row 1, column 0"),
    "sum overflows": (
        sparse.coo_array(([1e308, 1e308], ([0, 0], [0, 0]))),
        r"contains infinity .* row 0, column 0",
    ),
    "total overflows": ([[1e308, 1e308]], r"total .* is infinity"),
    "inf of two signs": (
        sparse.coo_array(([np.inf, -np.inf], ([0, 0], [0, 0]))),
        r"contains NaN at row 0, column 0",
    ),
    "all zero": (np.zeros((2, 3)), r"shape \(2, 3\) are all 0"),
    "no rows": (np.zeros((0, 3)), r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1"),
    "no columns": (np.zeros((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1"),
    "1-D": ([1, 2], r"Expected 2D array, got 1D array instead .*Reshape your data"),
    "3-D": (np.ones((1, 1, 1)), r"got 3D array"),
    "scalar": (3, r"got 0D array"),
    "complex": ([[1j]], r"Complex data not supported: X has dtype complex128"),
    "complex sparse": (sparse.csr_array([[1j]]), r"Complex data not supported"),
    "text": ([["cat", "dog"]], r"cannot be read as numbers"),
    "objects": (np.array([[{}, 1]], dtype=object), r"dtype object, which cannot be read"),
    "dates": (np.ones((1, 1), "m8[s]"), r"dtype timedelta64\[s\], which cannot be read"),
    "ragged": ([[1, 2], [3]], r"not a rectangular array"),
    "masked": (np.ma.masked_array([[1, 2]], mask=[[0, 1]]), r"masked array.*X\.filled\(0\)"),
    "nothing": (None, r"got 0D array"),
}


@pytest.mark.parametrize("name", BAD_TABLES)
@pytest.mark.parametrize("read", [Counts, as_counts])
def test_bad_tables_are_refused_with_the_place(read, name):
    table, message = BAD_TABLES[name]
    with pytest.raises(IsothermError, match=message):
        read(table)


def test_too_many_columns_are_refused():
    wide = sparse.coo_array(([1.0], ([0], [2**31])), shape=(1, 2**31 + 1))
    with pytest.raises(IsothermError, match=r"at most 2147483647 rows and columns"):
        Counts(wide)


def test_damaged_sparse_matrix_is_refused():
    matrix = sparse.csr_array(np.eye(2))
    matrix.indices[0] = 9
    with pytest.raises(IsothermError, match=r"damaged sparse matrix of shape \(2, 2\)"):
        Counts(matrix)


def test_objects_that_are_numbers_are_read():
    assert_array_equal(dense(Counts(np.array([[1, 0.5]], dtype=object))), [[1, 0.5]])


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"row_names": ["a"]}, r"row_names has 1 entries, but there are 2 rows"),
        ({"column_names": list("ab")}, r"column_names has 2 entries, but there are 3 columns"),
        ({"column_names": ["a", "b", "a"]}, r"column_names holds 'a' more than once"),
        ({"column_names": [[], {}, "a"]}, r"holds \[\], which is not hashable"),
        ({"column_names": "abc"}, r"column_names is one string, 'abc'"),
        ({"row_names": 7}, r"row_names is 7, of type int"),
    ],
)
def test_bad_names_are_refused(names, message):
    for read in (Counts, as_counts):
        with pytest.raises(IsothermError, match=message):
            read(np.ones((2, 3)), **names)


def test_the_keyword_of_earlier_versions_says_where_it_went(tmp_path):
    for read in (Counts, as_counts):
        with pytest.raises(IsothermError, match=r"row_ids=, which is called row_names= now"):
            read(np.eye(2), row_ids=["a", "b"])
    with pytest.raises(IsothermError, match=r"row_ids=, which is called row_names= now"):
        StoredCounts.write(tmp_path / "a", np.eye(2), row_ids=["a", "b"])
    for counts in (Counts(np.eye(2)), StoredCounts.write(tmp_path / "b", np.eye(2))):
        with pytest.raises(AttributeError, match="no row_ids; it is called row_names now"):
            _ = counts.row_ids
        with pytest.raises(AttributeError, match="has no attribute 'rows_'"):
            _ = counts.rows_


def test_names_become_object_arrays_of_their_own():
    names = np.array(["x", "y"])
    counts = Counts(np.eye(2), row_names=(("a", 1), ("a", 1)), column_names=names)
    names[0] = "z"
    assert counts.row_names.dtype == counts.column_names.dtype == object
    assert counts.row_names.tolist() == [("a", 1), ("a", 1)]
    assert counts.column_names.tolist() == ["x", "y"]
    assert type(counts.column_names[0]) is str


def test_counts_are_returned_as_they_are_unless_renamed():
    counts = Counts(np.eye(2), ["a", "b"])
    renamed = as_counts(counts, column_names=["x", "y"])
    assert as_counts(counts) is counts
    assert renamed.column_names.tolist() == ["x", "y"]
    assert renamed.row_names.tolist() == ["a", "b"]


def test_empty_total_is_allowed_on_request():
    counts = as_counts(np.zeros((2, 3)), allow_empty=True)
    assert (counts.shape, counts.total) == ((2, 3), 0.0)
    assert_array_equal(counts.row_totals, [0, 0])
    with pytest.raises(IsothermError, match="all 0"):
        as_counts(counts)


def test_anndata_gives_both_names():
    cells = SimpleNamespace(
        X=sparse.csr_matrix(np.eye(2)), obs_names=np.array(["c1", "c2"]), var_names=["g1", "g2"]
    )
    counts = as_counts(cells)
    assert_array_equal(dense(counts), np.eye(2))
    assert counts.row_names.tolist() == ["c1", "c2"]
    assert counts.column_names.tolist() == ["g1", "g2"]


def test_pairs_add_up_and_labels_are_sorted():
    counts = Counts.from_pairs(["b", "a", "b", "b"], [10, 9, 9, 10])
    assert_array_equal(dense(counts), [[1, 0], [1, 2]])
    assert counts.row_names.tolist() == ["a", "b"]
    assert counts.column_names.tolist() == [9, 10]


def test_pairs_of_arrays_and_iterators():
    from_arrays = Counts.from_pairs(np.array([3, 1, 3]), np.array(["x", "x", "y"]), [1, 0, 2.5])
    from_iterators = Counts.from_pairs(iter([3, 1, 3]), iter("xxy"), iter([1, 0, 2.5]))
    for counts in (from_arrays, from_iterators):
        assert_array_equal(dense(counts), [[0, 0], [1, 2.5]])
        assert counts.row_names.tolist() == [1, 3]
        assert type(counts.row_names[0]) is int
        assert counts.column_names.tolist() == ["x", "y"]


def test_triples_may_leave_out_the_count():
    counts = Counts.from_triples(t for t in [("a", "x"), ("a", "x", 3), ["b", "y"]])
    assert_array_equal(dense(counts), [[4, 0], [0, 1]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a", "b"], ["x"]), r"Got 2 rows, 1 columns and counts of shape \(2,\)"),
        ((["a"], ["x"], [1, 2]), r"Got 1 rows, 1 columns and counts of shape \(2,\)"),
        ((["a"], ["x"], [[1]]), r"counts of shape \(1, 1\)"),
        (([], []), r"No pairs were given"),
        ((["a", "b"], ["x", "y"], [1, -1]), r"Negative values in data: -1 at pair 1 \(row 'b'"),
        ((["a"], ["x"], [np.nan]), r"contains NaN at pair 0 \(row 'a', column 'x'\)"),
        ((["a"], ["x"], [np.inf]), r"contains infinity .* at pair 0"),
        ((["a"], ["x"], ["many"]), r"counts has dtype .* cannot be read as numbers"),
        ((["a"], ["x"], [0]), r"shape \(1, 1\) are all 0"),
        ((["a", 1], ["x", "y"]), r"rows mixes labels that cannot be sorted"),
        ((["a", "b"], ["x", None]), r"columns has no label at position 1 \(found None\)"),
        ((["a", float("nan")], ["x", "y"]), r"rows has no label at position 1 \(found nan\)"),
        (([["a"]], ["x"]), r"rows: labels must be strings or integers"),
        (("ab", ["x", "y"]), r"rows is one string, 'ab'"),
    ],
)
def test_bad_pairs_are_refused(arguments, message):
    with pytest.raises(IsothermError, match=message):
        Counts.from_pairs(*arguments)


@pytest.mark.parametrize("item", ["ab", ("a",), ("a", "b", 1, 2), 5])
def test_bad_triples_are_refused_with_their_number(item):
    with pytest.raises(IsothermError, match=r"Item 1 is .*\(row, column, count\)"):
        Counts.from_triples([("a", "b"), item])


@given(counts_matrices(), st.data())
def test_rows_and_columns_are_taken_in_order(matrix, data):
    counts = Counts(matrix, *with_names(matrix))
    rows = data.draw(st.lists(st.integers(0, matrix.shape[0] - 1), min_size=1))
    columns = data.draw(st.lists(st.integers(0, matrix.shape[1] - 1), min_size=1, unique=True))
    by_rows, by_columns = counts.take_rows(rows), counts.take_columns(columns)
    assert_canonical(by_rows)
    assert_canonical(by_columns)
    assert_array_equal(dense(by_rows), matrix[rows])
    assert_array_equal(dense(by_columns), matrix[:, columns])
    assert by_rows.row_names.tolist() == counts.row_names[rows].tolist()
    assert by_columns.column_names.tolist() == counts.column_names[columns].tolist()
    assert by_rows.column_names is counts.column_names


def test_masks_slices_and_negative_positions():
    counts = Counts(np.diag([1, 2, 3]))
    assert counts.take_rows(np.array([True, False, True])).total == 4
    assert counts.take_rows(slice(1, None)).total == 5
    assert counts.take_columns([-1]).total == 3


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ([5], r"does not fit 2 rows"),
        ([True], r"does not fit 2 rows"),
        ([0.5], r"does not fit 2 rows"),
        (np.array([], dtype=int), r"rows of shape \(0,\)"),
        (slice(2, None), r"rows of shape \(0,\)"),
        (1, r"rows of shape \(\)"),
        ([[0, 1]], r"rows of shape \(1, 2\)"),
    ],
)
def test_bad_positions_are_refused(index, message):
    with pytest.raises(IsothermError, match=message):
        Counts(np.eye(2)).take_rows(index)


def test_named_columns_are_taken_once():
    with pytest.raises(IsothermError, match="more than once"):
        Counts(np.eye(2), column_names=["x", "y"]).take_columns([0, 0])


@given(counts_matrices())
def test_transpose_exchanges_names(matrix):
    rows, columns = with_names(matrix)
    swapped = Counts(matrix, rows, columns).transpose()
    assert_canonical(swapped)
    assert_array_equal(dense(swapped), matrix.T)
    assert (swapped.row_names.tolist(), swapped.column_names.tolist()) == (columns, rows)


def test_columns_are_kept_by_the_number_of_their_rows():
    table = np.array([[9, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 5]])
    counts = Counts(table, column_names=list("abcd"))
    assert counts.keep_columns().column_names.tolist() == ["a", "c", "d"]
    assert counts.keep_columns(2).column_names.tolist() == ["c", "d"]
    assert counts.keep_columns(max_rows=2).column_names.tolist() == ["a", "c"]
    assert counts.keep_columns(0).n_columns == 4
    for limits in ({"min_rows": 4}, {"min_rows": 0, "max_rows": 0}):
        with pytest.raises(IsothermError, match=r"leave no counts; columns occur in 0 to 3 of 3"):
            counts.keep_columns(**limits)


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ([[1, 2], [0, 3]], "Counts(2 rows x 2 columns, 3 non-zeros, total 6)"),
        ([[0.5, 0.25]], "Counts(1 rows x 2 columns, 2 non-zeros, total 0.75)"),
        ([[1e300]], "Counts(1 rows x 1 columns, 1 non-zeros, total 1e+300)"),
    ],
)
def test_repr_gives_the_sizes(table, text):
    assert repr(Counts(table)) == text


def test_fractions_are_not_integral():
    assert not Counts([[1, 0.5]]).is_integral


def test_fields_cannot_be_set():
    counts = Counts([[1]])
    with pytest.raises(AttributeError):
        counts.matrix = None
    assert counts.total == 1


def test_pickle_returns_the_same_counts():
    counts = Counts([[1, 0], [2, 3]], ["a", "b"], ["x", "y"])
    back = pickle.loads(pickle.dumps(counts))
    assert_canonical(back)
    assert_array_equal(dense(back), dense(counts))
    assert back.row_names.tolist() == ["a", "b"]
    assert back.column_names.tolist() == ["x", "y"]


@pytest.mark.parametrize(
    ("folder", "text"),
    [
        ("ap", "Counts(2246 rows x 10473 columns, 302031 non-zeros, total 435838)"),
        ("cranfield", "Counts(1400 rows x 4105 columns, 74548 non-zeros, total 117235)"),
    ],
)
def test_real_counts_have_their_known_sizes(shared_data, folder, text):
    counts = as_counts(sparse.load_npz(shared_data / folder / "counts.npz"))
    assert_canonical(counts)
    assert repr(counts) == text


def test_cranfield_words_in_five_documents(shared_data):
    counts = as_counts(sparse.load_npz(shared_data / "cranfield" / "counts.npz"))
    kept = counts.keep_columns(min_rows=5)
    assert (kept.shape, kept.nnz, kept.total) == ((1400, 1595), 70469, 112101)
