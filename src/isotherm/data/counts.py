"""Counts: a sparse table of how often each row met each column, with names for both.

Everything that reads data ends here, and every model starts from here.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from isotherm._markup import Part, page
from isotherm._types import Array
from isotherm.data import _file, convert, foreign, frames
from isotherm.errors import IsothermError

__all__ = ["Counts", "as_counts"]

# Above this a total is shown in short form: float64 no longer tells its units apart.
_EXACT = 2**53
# Rows and columns that a notebook shows.
CORNER = 8


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Counts:
    """Table n(x, y) of I rows and J columns, with optional names for both.

    Parameters
    ----------
    matrix : sparse matrix or array, or array-like, (I, J)
        Finite numbers >= 0 of any integer, bool or float type; never changed. Entries that are
        stored twice for one cell are added, after conversion to float64 (which is exact up to
        2**53). Empty rows and columns are kept; the total must be positive.
    row_names : sequence of length I, optional
        Names of the rows; they may repeat.
    column_names : sequence of length J, optional
        Names of the columns, all different.
    row_ids
        The earlier name of `row_names`, which is refused.

    Attributes
    ----------
    matrix : scipy.sparse.csr_array, (I, J)
        Canonical CSR: sorted indices (int32), no duplicates, no stored zeros;
        float32 if that holds every count exactly, else float64. Treat it as read-only.
    row_names : ndarray of object, (I,), or None
    column_names : ndarray of object, (J,), or None

    Examples
    --------
    >>> counts = Counts.from_pairs(["d1", "d1", "d2"], ["cat", "dog", "cat"], [2, 1, 3])
    >>> counts
    Counts(2 rows x 2 columns, 3 non-zeros, total 6)
    >>> counts.column_totals
    array([5., 1.])
    """

    matrix: sparse.csr_array
    row_names: NDArray[np.object_] | None
    column_names: NDArray[np.object_] | None

    def __init__(
        self,
        matrix: object,
        row_names: object = None,
        column_names: object = None,
        *,
        row_ids: object = None,
    ) -> None:
        convert.refuse_row_ids(row_ids, "Counts")
        if foreign.is_annotated(matrix):
            raise IsothermError(
                "matrix is an AnnData object; give as_counts(adata), which takes its names too"
            )
        foreign.check_table(matrix)
        csr = convert.csr(matrix)
        rows = convert.labels(row_names, csr.shape[0], "row_names", "row")
        columns = convert.labels(column_names, csr.shape[1], "column_names", "column")
        self._set(csr, rows, columns)
        _check_total(self, allow_empty=False)

    def _set(
        self,
        matrix: sparse.csr_array,
        row_names: NDArray[np.object_] | None,
        column_names: NDArray[np.object_] | None,
    ) -> None:
        convert.check_unique(column_names)
        object.__setattr__(self, "matrix", matrix)
        object.__setattr__(self, "row_names", row_names)
        object.__setattr__(self, "column_names", column_names)

    @classmethod
    def _trusted(
        cls,
        matrix: sparse.csr_array,
        row_names: NDArray[np.object_] | None,
        column_names: NDArray[np.object_] | None,
    ) -> Self:
        """Counts of a canonical matrix of valid counts, whose total may be 0."""
        new = cls.__new__(cls)
        new._set(convert.packed(matrix), row_names, column_names)
        return new

    @classmethod
    def from_pairs(cls, rows: object, columns: Any, counts: Any = None) -> Self:
        """Counts of parallel sequences of labels; pairs that repeat add up.

        Parameters
        ----------
        rows, columns : sequence of str or int
            The two labels of each pair. Sorted, they become `row_names` and `column_names`.
        counts : sequence of numbers, optional
            How often each pair was seen; once if not given. A pair counted 0 times keeps its
            labels.

        Returns
        -------
        Counts
        """
        row_list = convert.listed(rows, "rows")
        column_list = convert.listed(columns, "columns")
        if counts is None:
            values = np.ones(len(row_list))
        else:
            given = counts if hasattr(counts, "__len__") else list(counts)
            values = convert.numbers(given, "counts")
        if values.ndim != 1 or not len(row_list) == len(column_list) == len(values):
            raise IsothermError(
                f"Got {len(row_list)} rows, {len(column_list)} columns and counts of shape "
                f"{values.shape}; they are parallel sequences, one entry for each pair. "
                "Give sequences of equal length."
            )
        if not row_list:
            raise IsothermError("No pairs were given; counts need at least one pair.")
        convert.check_each(
            values, lambda i: f"pair {i} (row {row_list[i]!r}, column {column_list[i]!r})"
        )
        row_codes, row_names = convert.factorize(row_list, "rows")
        column_codes, names = convert.factorize(column_list, "columns")
        shape = (len(row_names), len(names))
        return cls(sparse.coo_array((values, (row_codes, column_codes)), shape), row_names, names)

    @classmethod
    def from_triples(cls, triples: Iterable[tuple[object, object, object]]) -> Self:
        """Counts of an iterable of `(row, column)` or `(row, column, count)`.

        Parameters
        ----------
        triples : iterable of tuples, or mapping
            Two labels (strings or integers), then how often they met: once if not given. A mapping
            (such as a Counter) has pairs of labels as keys and counts as values.

        Returns
        -------
        Counts
        """
        rows: list[object] = []
        columns: list[object] = []
        counts: list[object] = []
        if isinstance(triples, Mapping):
            triples = convert.triples_of(triples)
        for i, item in enumerate(triples):
            if isinstance(item, str) or not hasattr(item, "__len__") or len(item) not in (2, 3):
                raise IsothermError(
                    f"Item {i} is {item!r}; every item must be (row, column) or "
                    "(row, column, count). Correct or drop it."
                )
            row, column, *count = item
            rows.append(row)
            columns.append(column)
            counts.append(count[0] if count else 1)
        return cls.from_pairs(rows, columns, counts)

    @classmethod
    def from_frame(cls, frame: object, *, row: str, column: str, count: str | None = None) -> Self:
        """Counts of a long data frame: one line for each pair.

        Parameters
        ----------
        frame : data frame
            Of pandas, polars, pyarrow or any other library that narwhals understands.
        row, column : str
            Names of the frame's columns that hold the labels of rows and columns.
        count : str, optional
            Name of the frame's column of counts; each line counts once if not given.

        Returns
        -------
        Counts
        """
        return cls.from_pairs(*frames.read_long(frame, row, column, count))

    @property
    def in_memory(self) -> bool:
        """All of it is in memory."""
        return True

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns, (I, J)."""
        n_rows, n_columns = self.matrix.shape
        return int(n_rows), int(n_columns)

    @property
    def n_rows(self) -> int:
        """Number of rows I, empty ones included."""
        return self.shape[0]

    @property
    def n_columns(self) -> int:
        """Number of columns J, empty ones included."""
        return self.shape[1]

    @property
    def nnz(self) -> int:
        """Number of cells with a positive count."""
        return len(self.matrix.data)

    @property
    def total(self) -> float:
        """Sum N of all counts."""
        with np.errstate(over="ignore"):
            return float(self.matrix.data.sum(dtype=np.float64))

    @property
    def indptr(self) -> Array:
        """Where each row begins among the non-zeros, (I + 1,)."""
        return np.asarray(self.matrix.indptr)

    @property
    def row_totals(self) -> NDArray[np.float64]:
        """Sums n(x) of the rows, (I,)."""
        rows = np.repeat(np.arange(self.n_rows), np.diff(self.matrix.indptr))
        return _sums(rows, self.matrix.data, self.n_rows)

    @property
    def column_totals(self) -> NDArray[np.float64]:
        """Sums n(y) of the columns, (J,)."""
        return _sums(self.matrix.indices, self.matrix.data, self.n_columns)

    @property
    def is_integral(self) -> bool:
        """Whether every count is a whole number."""
        return bool(np.all(self.matrix.data == np.floor(self.matrix.data)))

    if not TYPE_CHECKING:  # a type checker knows by itself what is missing

        def __getattr__(self, name: str) -> Any:
            raise convert.no_attribute(self, name)

    def __len__(self) -> int:
        """Number of rows."""
        return self.n_rows

    def __getitem__(self, rows: Any) -> "Counts":
        """Counts of the given rows: an index array, a mask or a slice, as model selection does."""
        return self.take_rows(np.atleast_1d(np.arange(self.n_rows)[rows]))

    def take_rows(self, index: object) -> "Counts":
        """Counts of the chosen rows in the chosen order; their total may be 0.

        Parameters
        ----------
        index : slice, array of int, or array of bool of length I

        Returns
        -------
        Counts
        """
        chosen = _positions(index, self.n_rows, "row")
        row_names = None if self.row_names is None else self.row_names[chosen]
        matrix = self.matrix[chosen]
        matrix.sum_duplicates()
        return Counts._trusted(matrix, row_names, self.column_names)

    def rows(self, first: int, last: int) -> "Counts":
        """Counts of the rows from `first` to before `last`, without names."""
        return Counts._trusted(self.take_rows(slice(first, last)).matrix, None, None)

    def changed(self, change: "Callable[[Counts], Counts]") -> "Counts":
        """Counts with a function of rows applied."""
        return change(self)

    def hold_out(self, fraction: float, seed: int) -> "tuple[Counts, Counts]":
        """Counts to fit and counts to hold out, as `hold_out_tokens` deals them."""
        from isotherm.data.split import hold_out_tokens

        return hold_out_tokens(self, fraction, seed)

    def take_columns(self, index: object) -> "Counts":
        """Counts of the chosen columns in the chosen order; their total may be 0.

        Parameters
        ----------
        index : slice, array of int, or array of bool of length J
            Named columns may be chosen once only, since names must differ.

        Returns
        -------
        Counts
        """
        chosen = _positions(index, self.n_columns, "column")
        names = None if self.column_names is None else self.column_names[chosen]
        matrix = self.matrix[:, chosen]
        matrix.sum_duplicates()
        return Counts._trusted(matrix, self.row_names, names)

    def transpose(self) -> "Counts":
        """Counts with rows and columns exchanged, and their names as well."""
        return Counts._trusted(self.matrix.T.tocsr(), self.column_names, self.row_names)

    def keep_columns(self, min_rows: int = 1, max_rows: int | None = None) -> "Counts":
        """Counts of the columns that occur in at least and at most so many rows.

        Parameters
        ----------
        min_rows : int
            Columns that are positive in fewer rows are dropped; 1 drops the empty ones.
        max_rows : int, optional
            Columns that are positive in more rows are dropped; no limit if not given.

        Returns
        -------
        Counts
        """
        in_rows = np.bincount(self.matrix.indices, minlength=self.n_columns)
        most = self.n_rows if max_rows is None else max_rows
        kept = np.flatnonzero((in_rows >= min_rows) & (in_rows <= most))
        if not in_rows[kept].any():
            raise IsothermError(
                f"min_rows={min_rows} and max_rows={max_rows} leave no counts; columns occur in "
                f"{in_rows.min()} to {in_rows.max()} of {self.n_rows} rows. Widen the limits.",
                parameter="min_rows",
            )
        return self.take_columns(kept)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Path of the file that was written; see `isotherm.save`."""
        return _file.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Counts":
        """Counts that `save` wrote; see `isotherm.load`."""
        return _file.load(path)

    def _repr_html_(self) -> str:
        """The most frequent columns of the first rows."""
        rows, columns = np.arange(min(CORNER, self.n_rows)), self.column_totals.argsort()[::-1]
        chosen = np.sort(columns[:CORNER])
        values = self.matrix[rows][:, chosen].toarray().astype(np.float64)
        named = range(self.n_columns) if self.column_names is None else self.column_names
        own = range(self.n_rows) if self.row_names is None else self.row_names
        said = ""
        if self.shape != values.shape:
            said = f"the {len(chosen)} most frequent columns of the first {len(rows)} rows"
        cells = [[str(own[i]), *values[i].tolist()] for i in rows]
        return page(repr(self), Part(["", *(str(named[j]) for j in chosen)], cells, said))

    def __repr__(self) -> str:
        total = self.total
        shown = f"{int(total)}" if total <= _EXACT and total.is_integer() else f"{total:.6g}"
        return (
            f"Counts({self.n_rows} rows x {self.n_columns} columns, "
            f"{self.nnz} non-zeros, total {shown})"
        )


def as_counts(
    X: object,
    row_names: object = None,
    column_names: object = None,
    *,
    allow_empty: bool = False,
    row_ids: object = None,
) -> Counts:
    """Counts of whatever holds a table of counts.

    Parameters
    ----------
    X : Counts, sparse matrix or array, array-like, data frame or AnnData, (I, J)
        Counts are returned as they are. The columns of a data frame give `column_names`, the
        index of a pandas frame gives `row_names` unless it merely numbers the rows; AnnData gives
        both.
    row_names, column_names : sequence, optional
        Names that go before those found in X.
    allow_empty : bool
        Whether the total may be 0, as when new rows are folded in.
    row_ids
        The earlier name of `row_names`, which is refused.

    Returns
    -------
    Counts
    """
    convert.refuse_row_ids(row_ids, "as_counts")
    matrix, found_rows, found_columns = _opened(X)
    if isinstance(X, Counts) and row_names is None and column_names is None:
        counts = X
    else:
        csr = matrix if isinstance(X, Counts) else convert.csr(matrix)
        rows = found_rows if row_names is None else row_names
        columns = found_columns if column_names is None else column_names
        counts = Counts._trusted(
            csr,
            convert.labels(rows, csr.shape[0], "row_names", "row"),
            convert.labels(columns, csr.shape[1], "column_names", "column"),
        )
    _check_total(counts, allow_empty)
    return counts


def _opened(X: object) -> tuple[Any, Any, object]:
    """Matrix, row names and column names found in X, each None where X has none."""
    if isinstance(X, Counts):
        return X.matrix, X.row_names, X.column_names
    if sparse.issparse(X):
        return X, None, None
    if frames.is_frame(X):
        return frames.read_wide(X)
    if foreign.is_annotated(X):
        return foreign.annotated(X)
    foreign.check_table(X)
    return X, None, None


def _positions(index: object, size: int, axis: str) -> NDArray[np.intp]:
    """Positions along an axis that a slice, a mask or integers choose; at least one."""
    try:
        chosen = np.arange(size)[index if isinstance(index, slice) else np.asarray(index)]
    except IndexError as error:
        raise IsothermError(
            f"The index does not fit {size} {axis}s: {error}. Give a slice, integers below "
            f"{size}, or {size} booleans."
        ) from error
    if chosen.ndim != 1 or chosen.size == 0:
        raise IsothermError(
            f"The index chooses {axis}s of shape {chosen.shape}; it must be 1-D and choose at "
            f"least one {axis}."
        )
    return chosen


def _sums(groups: Array, values: Array, size: int) -> NDArray[np.float64]:
    # The cast only tells the type checker what weights do to the result of bincount.
    sums = np.bincount(groups, weights=values, minlength=size)
    return sums.astype(np.float64, copy=False)


def _check_total(counts: Counts, allow_empty: bool) -> None:
    if counts.nnz == 0 and not allow_empty:
        raise IsothermError(
            f"The counts of shape {counts.shape} are all 0; their total must be positive. "
            "Check how X was selected."
        )
    if not np.isfinite(counts.total):
        raise IsothermError(
            f"The total of the counts of shape {counts.shape} is infinity in float64; "
            "it must be finite. Scale the counts down."
        )
