"""Counts that stay on the disk: a folder of plain arrays, read some rows at a time.

`indptr.npy`, `indices.npy` and `values.npy` are the table in compressed rows; any program that
reads numpy's files can map them into memory.
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from isotherm._types import Array, Fields
from isotherm.data import _stored_file, convert
from isotherm.data._stored_check import Checked
from isotherm.data.counts import Counts
from isotherm.data.split import hold_out_tokens
from isotherm.errors import IsothermError

if TYPE_CHECKING:
    from typing_extensions import TypeIs

__all__ = ["StoredCounts", "is_stored", "megabytes"]

MEGABYTE = 2**20
UNITS = {"": 1.0, "kb": 1 / 1000, "mb": 1.0, "gb": 1000.0, "tb": 1e6}
BINARY = {"kib": 1 / 1024, "mib": 1.0, "gib": 1024.0, "tib": 1024.0**2}
DEFAULT_MEMORY = 1000.0
# Non-zeros that are changed at a time.
CHANGED_AT_ONCE = 1 << 16


def megabytes(memory: object) -> float:
    """A budget in MB (2**20 bytes) from a number of them, or from text such as "500MB", "2GB"."""
    found = re.fullmatch(r"\s*([0-9.]+)\s*([a-z]*)\s*", str(memory).lower())
    units = {**UNITS, **BINARY}
    try:
        size = float(found[1]) * units[found[2]] if found else math.nan
    except (KeyError, ValueError):
        size = math.nan
    if isinstance(memory, bool) or not 0 < size < math.inf:
        raise IsothermError(
            f"memory={memory!r}; give a number of megabytes above 0, or text such as '500MB' or "
            "'2GB'",
            parameter="memory",
        )
    return size


@dataclass(frozen=True, eq=False)
class StoredCounts:
    """Table n(x, y) in a folder on the disk, read some rows at a time.

    Estimators that work by blocks take it in place of `Counts`: then a fit holds no more than
    `memory` at a time, besides the interpreter, and keeps what it needs between sweeps in files.
    Make one with `StoredCounts.write`.

    Parameters
    ----------
    folder : path
        What `StoredCounts.write` wrote.
    memory : number or str
        Budget of a fit: megabytes, or text such as "500MB" or "2GB".
    scratch : path, optional
        Folder for files of a fit, which are about three times as large as the counts, plus one
        number for each row and component; the folder of the counts itself by default.

    Examples
    --------
    >>> import tempfile, isotherm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     blocks = ([[2, 1, 0], [0, 0, 3]] for _ in range(100))
    ...     stored = StoredCounts.write(f"{folder}/small.stored", blocks, memory="50MB")
    ...     print(stored)
    StoredCounts(200 rows x 3 columns, 300 non-zeros, total 600)
    """

    folder: Path
    memory: float = DEFAULT_MEMORY
    scratch: Path | None = None
    change: Callable[[Counts], Counts] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Check that the folder is what it should be."""
        object.__setattr__(self, "folder", Path(self.folder).absolute())
        object.__setattr__(self, "memory", megabytes(self.memory))
        if self.scratch is not None:
            object.__setattr__(self, "scratch", Path(self.scratch).absolute())
        self._about  # noqa: B018 (reads the file, and refuses what is none)

    @classmethod
    def write(
        cls,
        folder: str | os.PathLike[str],
        source: object,
        *,
        row_names: object = None,
        column_names: object = None,
        memory: object = DEFAULT_MEMORY,
        scratch: Path | None = None,
        row_ids: object = None,
    ) -> StoredCounts:
        """Counts in a new folder, written in one pass.

        Parameters
        ----------
        folder : path
            A name that is not taken yet.
        source : Counts, matrix, path of a file of counts, or iterable of counts or matrices
            Of an iterable, one block of rows is held at a time; of a file, a part.
        row_names, column_names : sequence, optional
            Names; those of the source by default, if it is no iterable.
        memory, scratch
            As of the class.
        row_ids
            The earlier name of `row_names`, which is refused.
        """
        convert.refuse_row_ids(row_ids, "StoredCounts.write")
        limit = megabytes(memory)
        _stored_file.write(Path(folder), source, row_names, column_names)
        return cls(Path(folder), limit, scratch)

    def with_memory(self, memory: object) -> StoredCounts:
        """The same counts with another budget."""
        return self._like(megabytes(memory), self.change)

    @cached_property
    def _files(self) -> Checked:
        return Checked(self.folder)

    @cached_property
    def _about(self) -> Fields:
        return self._files.about(_stored_file.ABOUT, _stored_file.FORMAT, _stored_file.VERSION)

    def _like(self, memory: float, change: Callable[[Counts], Counts] | None) -> StoredCounts:
        """The same folder with other settings; what has been checked is not checked again."""
        other = copy(self)
        object.__setattr__(other, "memory", memory)
        object.__setattr__(other, "change", change)
        return other

    @property
    def in_memory(self) -> bool:
        """Rows are read some at a time."""
        return False

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns, (I, J)."""
        n_rows, n_columns = self._about["shape"]
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
        return int(self._about["nnz"])

    @property
    def total(self) -> float:
        """Sum N of all counts."""
        return float(self._about["total"])

    @property
    def is_integral(self) -> bool:
        """Whether every count is a whole number."""
        return bool(self._about["integral"])

    @property
    def row_totals(self) -> Array:
        """Sums n(x) of the rows, (I,), in a file."""
        return self._files.array("row_totals", self.n_rows)

    @property
    def column_totals(self) -> Array:
        """Sums n(y) of the columns, (J,)."""
        return np.array(self._files.array("column_totals", self.n_columns))

    @property
    def indptr(self) -> Array:
        """Where each row begins, (I + 1,), in a file."""
        return self._files.array("indptr", self.n_rows + 1)

    @property
    def row_names(self) -> NDArray[np.object_] | None:
        """Names of the rows, (I,), read each time that they are asked for."""
        return self._names("row_names", self.n_rows, "row")

    @cached_property
    def column_names(self) -> NDArray[np.object_] | None:
        """Names of the columns, (J,)."""
        return self._names("column_names", self.n_columns, "column")

    def _names(self, name: str, length: int, axis: str) -> NDArray[np.object_] | None:
        file = f"{_stored_file.FILED[name]}.json"
        if not (self.folder / file).exists() and file not in self._files.sums:
            return None
        found = self._files.text(file)
        if not isinstance(found, list) or len(found) != length:
            raise self._files.wrong(file, f"it is no list of {length} names")
        if not all(one is None or isinstance(one, str | int | float) for one in found):
            raise self._files.wrong(file, "names are neither text nor numbers")
        names = convert.labels(found, length, name, axis)
        if axis == "column":
            try:
                convert.check_unique(names)
            except IsothermError as error:
                raise self._files.wrong(file, error) from error
        return names

    def rows(self, first: int, last: int) -> Counts:
        """Counts of the rows from `first` to before `last`, in memory, without names."""
        if self.change is None:
            return self._read(first, last)
        # A change may need many times the memory of what it changes: a few rows at a time.
        indptr = np.array(self.indptr[first : last + 1])
        marks = np.flatnonzero(np.diff((indptr - indptr[0]) // CHANGED_AT_ONCE)) + first
        cuts = np.unique(np.concatenate([[first], marks, [last]])).tolist()
        parts = [self.change(self._read(lo, hi)).matrix for lo, hi in itertools.pairwise(cuts)]
        return Counts._trusted(sparse.csr_array(sparse.vstack(parts, format="csr")), None, None)

    def runs(self, runs: Sequence[tuple[int, int]]) -> Counts:
        """Counts of several runs of rows, one below the other, in memory, without names."""
        if len(runs) == 1:
            return self.rows(*runs[0])
        parts = [self.rows(lo, hi).matrix for lo, hi in runs]
        return Counts._trusted(sparse.csr_array(sparse.vstack(parts, format="csr")), None, None)

    def _read(self, first: int, last: int) -> Counts:
        files, indptr = self._files, np.array(self.indptr[first : last + 1])
        begin, end = int(indptr[0]), int(indptr[-1])
        values = files.cells("values", self.nnz, begin, end)
        indices = files.cells("indices", self.nnz, begin, end)
        indptr -= begin
        files.check_cells(indices, values, indptr, self.n_columns, self.is_integral)
        files.check_sums(values, indptr, self.row_totals[first:last])
        matrix = sparse.csr_array((values, indices, indptr), shape=(last - first, self.n_columns))
        return Counts._trusted(matrix, None, None)

    def pieces(self) -> Iterator[Counts]:
        """Counts of all rows, some at a time: a tenth of the budget, and one row at least."""
        most = max(1, int(0.1 * self.memory * MEGABYTE / (16 * max(1.0, self.nnz / self.n_rows))))
        for first in range(0, self.n_rows, most):
            yield self.rows(first, min(first + most, self.n_rows))

    def load(self) -> Counts:
        """All of it, in memory."""
        found = self.rows(0, self.n_rows)
        return Counts._trusted(found.matrix, self.row_names, self.column_names)

    def changed(self, change: Callable[[Counts], Counts]) -> StoredCounts:
        """The same with a function applied to rows as they are read; totals stay the old ones."""
        if self.change is not None:
            change = partial(_both, self.change, change)
        return self._like(self.memory, change)

    def hold_out(self, fraction: float, seed: int) -> tuple[StoredCounts, StoredCounts]:
        """Counts to fit and counts to hold out, as `hold_out_tokens` deals them."""
        kept, held = (
            self.changed(partial(_dealt, fraction, seed, self.is_integral, which))
            for which in (0, 1)
        )
        return kept, held

    if not TYPE_CHECKING:  # a type checker knows by itself what is missing

        def __getattr__(self, name: str) -> Any:
            raise convert.no_attribute(self, name)

    def __len__(self) -> int:
        """Number of rows."""
        return self.n_rows

    def __repr__(self) -> str:
        n_rows, n_columns = self.shape
        return (
            f"StoredCounts({n_rows} rows x {n_columns} columns, {self.nnz} non-zeros, "
            f"total {self.total:.15g})"
        )


def _both(first: Callable[[Counts], Counts], then: Callable[[Counts], Counts], rows: Counts) -> Any:
    return then(first(rows))


def _dealt(fraction: float, seed: int, whole: bool, which: int, rows: Counts) -> Counts:
    return hold_out_tokens(rows, fraction, seed, whole=whole)[which]


def is_stored(given: object) -> TypeIs[StoredCounts]:
    """Whether something is counts on the disk; all that differs otherwise is in their contract."""
    return isinstance(given, StoredCounts)
