"""Matrices, numbers and labels in their one normal form, or an error that says where they fail.

Everything here runs once, at the edge; what comes out is trusted further down and shares no
memory with what came in.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from isotherm._types import Array
from isotherm.errors import IsothermError

Floats = NDArray[np.float64]

# Attributes of earlier versions -> what they are called now.
MOVED = {"row_ids": "row_names"}

_INDEX_LIMIT = np.iinfo(np.int32).max


def numbers(values: object, what: str = "X") -> Floats:
    """Values as float64, of the shape given; the same array if it is float64 already."""
    array = _plain_array(values, what)
    try:
        if array.dtype.kind not in "biufOUS":
            raise TypeError("not a number type")
        # A longdouble may exceed float64; it then becomes infinite and is refused as such.
        with np.errstate(over="ignore"):
            return array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise IsothermError(
            f"{what} has dtype {array.dtype}, which cannot be read as numbers ({error}); counts "
            "are integers or floats >= 0. Drop or encode what is not a number."
        ) from error


def csr(X: object) -> sparse.csr_array:
    """Canonical CSR array (I, J) of valid counts, with int32 indices (int64 past 2**31 non-zeros).

    Float32 if that holds every value exactly, else float64.
    """
    source: Any = X if sparse.issparse(X) else _plain_array(X, "X")
    _check_shape(source)
    with np.errstate(over="ignore", invalid="ignore"):
        matrix = _sparse_floats(source) if sparse.issparse(X) else _dense_floats(source)
        matrix.sum_duplicates()
    _check_values(matrix)
    matrix.eliminate_zeros()
    return packed(matrix)


def canonical(matrix: sparse.csr_array) -> tuple[Array, Array]:
    """Indices and values of a matrix that should be in the form of `csr`, or a ValueError."""
    matrix.check_format(full_check=True)
    if matrix.data.dtype.kind != "f" or not matrix.has_canonical_format:
        raise ValueError("cells are not in order, or twice there")
    _check_values(matrix)
    if (matrix.data == 0).any():
        raise ValueError("a count of 0 is stored")
    return matrix.indices, matrix.data


def packed(matrix: sparse.csr_array) -> sparse.csr_array:
    """The same canonical matrix in our dtypes; arrays that have them already are shared."""
    # One type for indices and indptr: many functions of scipy assume that.
    index = np.int32 if matrix.nnz <= _INDEX_LIMIT else np.int64
    out: Any = sparse.csr_array(matrix.shape, dtype=np.float32)
    out.data = _narrow(matrix.data)
    out.indices = matrix.indices.astype(index, copy=False)
    out.indptr = matrix.indptr.astype(index, copy=False)
    out.has_sorted_indices = True
    out.has_canonical_format = True
    csr_array: sparse.csr_array = out
    return csr_array


def check_each(values: Floats, place: Callable[[int], str]) -> None:
    """Nothing, or an error for the first value that is no count; `place(i)` says where it is."""
    if np.isnan(values).any():
        i = int(np.flatnonzero(np.isnan(values))[0])
        raise IsothermError(
            f"Input X contains NaN at {place(i)}; counts are finite numbers >= 0. "
            "Put 0 where nothing was counted, or drop the row or column."
        )
    if np.isinf(values).any():
        i = int(np.flatnonzero(np.isinf(values))[0])
        raise IsothermError(
            f"Input X contains infinity or a value too large for float64 at {place(i)}; "
            "counts are finite numbers >= 0. Correct or drop that value."
        )
    if (values < 0).any():
        i = int(np.flatnonzero(values < 0)[0])
        raise IsothermError(
            f"Negative values in data: {values[i]:g} at {place(i)}; counts are finite numbers "
            ">= 0. Undo any centring or scaling and pass the raw counts."
        )


def labels(given: object, length: int, what: str, axis: str) -> NDArray[np.object_] | None:
    """Labels as an object array of the given length; None stays None."""
    if given is None:
        return None
    names = listed(given, what)
    if len(names) != length:
        raise IsothermError(
            f"{what} has {len(names)} entries, but there are {length} {axis}s; "
            f"give one entry for each {axis}, or None."
        )
    return object_array(names)


def check_unique(names: NDArray[np.object_] | None) -> None:
    """Nothing, or an error that shows the first column name that stands twice."""
    if names is None:
        return
    seen: set[Any] = set()
    for name in names:
        try:
            repeated = name in seen
        except TypeError as error:
            raise IsothermError(
                f"column_names holds {name!r}, which is not hashable; use strings or integers."
            ) from error
        if repeated:
            raise IsothermError(
                f"column_names holds {name!r} more than once, but names of columns must differ. "
                "Add up columns of one name, or make the names unique "
                "(for AnnData: var_names_make_unique())."
            )
        seen.add(name)


def refuse_row_ids(given: object, what: str) -> None:
    """Nothing, or an error for a keyword that has another name now."""
    if given is not None:
        raise IsothermError(
            f"{what} was given row_ids=, which is called row_names= now, as column_names= is; "
            "write row_names="
        )


def no_attribute(owner: object, name: str) -> AttributeError:
    """The error of an attribute that is missing; it says where one went that was renamed."""
    kind = type(owner).__name__
    if name in MOVED:
        return AttributeError(f"{kind} has no {name}; it is called {MOVED[name]} now")
    return AttributeError(f"{kind!r} object has no attribute {name!r}", name=name, obj=owner)


def triples_of(mapping: Mapping[Any, Any]) -> list[tuple[object, object, object]]:
    """Triples (row, column, count) of a mapping from pairs of labels to counts."""
    for key in mapping:
        if not isinstance(key, tuple) or len(key) != 2:
            raise IsothermError(
                f"A key of the mapping is {key!r}; every key must be a tuple (row, column), with "
                "the count as its value. Correct or drop it."
            )
    return [(row, column, count) for (row, column), count in mapping.items()]


def factorize(given: list[object], what: str) -> tuple[NDArray[np.int64], NDArray[np.object_]]:
    """Code of each label and the sorted distinct labels: `labels[codes[i]] == given[i]`."""
    first_seen: dict[Any, int] = {}
    try:
        codes = [first_seen.setdefault(label, len(first_seen)) for label in given]
    except TypeError as error:
        raise IsothermError(f"{what}: labels must be strings or integers; {error}.") from error
    for label, code in first_seen.items():
        if _is_missing(label):
            raise IsothermError(
                f"{what} has no label at position {codes.index(code)} (found {label!r}); every "
                "pair needs a row and a column. Drop pairs with missing labels first."
            )
    try:
        ordered = sorted(first_seen)
    except TypeError as error:
        raise IsothermError(
            f"{what} mixes labels that cannot be sorted ({error}); use strings only or "
            "integers only."
        ) from error
    rank = np.empty(len(ordered), dtype=np.int64)
    rank[[first_seen[label] for label in ordered]] = np.arange(len(ordered))
    return rank[np.asarray(codes, dtype=np.int64)], object_array(ordered)


def listed(given: object, what: str) -> list[object]:
    """Labels as a list of Python objects (not numpy scalars)."""
    if isinstance(given, str | bytes):
        raise IsothermError(f"{what} is one string, {given!r}; give a sequence of labels.")
    if hasattr(given, "tolist"):
        given = given.tolist()
    if not isinstance(given, Iterable):
        raise IsothermError(
            f"{what} is {given!r}, of type {type(given).__name__}; give a sequence of labels."
        )
    return list(given)


def object_array(values: Sequence[object]) -> NDArray[np.object_]:
    """Values as a 1-D object array, also when they are tuples of one length."""
    return np.fromiter(values, dtype=object, count=len(values))


def _plain_array(values: object, what: str) -> Array:
    if isinstance(values, np.ma.MaskedArray):
        raise IsothermError(
            f"{what} is a masked array, and a masked count is not a count: "
            "fill it, e.g. with X.filled(0)."
        )
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise IsothermError(f"{what} is not a rectangular array of numbers: {error}") from error
    if array.dtype.kind == "c":
        raise IsothermError(
            f"Complex data not supported: {what} has dtype {array.dtype}; counts are real numbers "
            ">= 0. Take the part that holds the counts, e.g. X.real."
        )
    return array


def _check_shape(X: Any) -> None:
    if X.ndim != 2:
        raise IsothermError(
            f"Expected 2D array, got {X.ndim}D array instead (shape={X.shape}); counts are a "
            "table of rows x columns. Reshape your data, e.g. X.reshape(1, -1) for one row."
        )
    for size, unit in zip(X.shape, ("sample(s)", "feature(s)"), strict=True):
        if size == 0:
            raise IsothermError(
                f"Found array with 0 {unit} (shape={X.shape}) while a minimum of 1 is required; "
                "counts need at least one row and one column. Check how X was selected."
            )
        if size > _INDEX_LIMIT:
            raise IsothermError(
                f"X has shape {X.shape}; at most {_INDEX_LIMIT} rows and columns are allowed. "
                "Drop empty or rare ones, or hash them to fewer."
            )


def _dense_floats(X: Array) -> sparse.csr_array:
    """CSR array of float64; only what is not 0 is converted, so a small type stays small."""
    array = X if X.dtype.kind in "biuf" else numbers(X)
    row, column = np.nonzero(array)
    return sparse.csr_array((numbers(array[row, column]), (row, column)), shape=array.shape)


def _sparse_floats(X: Any) -> sparse.csr_array:
    """CSR array of float64 that shares no memory with X; duplicates may remain.

    Values become floats before scipy adds up duplicates, since sums of uint16 overflow.
    """
    try:
        if X.format == "csr":
            arrays = (numbers(X.data).copy(), X.indices.copy(), X.indptr.copy())
            matrix = sparse.csr_array(arrays, shape=X.shape)
            matrix.check_format(full_check=True)
            return matrix
        coo = X.tocoo()
        return sparse.csr_array((numbers(coo.data), (coo.row, coo.col)), shape=X.shape)
    except IsothermError:
        raise
    except ValueError as error:
        raise IsothermError(
            f"X is a damaged sparse matrix of shape {X.shape}: {error}. "
            "Build it again from rows, columns and counts."
        ) from error


def _check_values(matrix: sparse.csr_array) -> None:
    def place(i: int) -> str:
        row = int(np.searchsorted(matrix.indptr, i, side="right")) - 1
        return f"row {row}, column {int(matrix.indices[i])} (counted from 0)"

    check_each(matrix.data, place)


def _narrow(values: Array) -> NDArray[np.float32] | Floats:
    if values.dtype == np.float32:
        return values
    with np.errstate(over="ignore", under="ignore"):
        narrow = values.astype(np.float32)
    return narrow if np.array_equal(narrow, values) else values


def _is_missing(label: object) -> bool:
    # pandas' markers are known by name, since pandas itself is not a dependency.
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, float) and label != label
