"""Whether a folder of counts is what was written: sizes, ranges and checksums.

What is small (where rows begin, totals) is looked at when the folder is opened; cells are when they
are read. Every array has checksums of its parts, so that a few rows can be checked by themselves;
each part is summed up once. Folders of before there were checksums are checked by ranges alone.
"""

from __future__ import annotations

import math
import zlib
from pathlib import Path
from typing import Any, SupportsFloat

import numpy as np

from isotherm._types import Array, Fields
from isotherm.errors import IsothermError
from isotherm.format import archive

# The header of an .npy file has this length for any array with one axis.
HEADER = 128
# Bytes of an array that have a checksum of their own.
PART = 1 << 18
# Cells that are looked at together: few enough to stay in a cache.
AT_ONCE = 1 << 16
TYPES = {
    "indptr": ("<i8",),
    "indices": ("<i4",),
    "values": ("<f4", "<f8"),
    "row_totals": ("<f8",),
    "column_totals": ("<f8",),
}
MOST_COLUMNS = np.iinfo(np.int32).max
# How far sums that were added up in another order may differ.
CLOSE = 1e-5


class Sums:
    """CRC-32 of every part of what is added, one after the other."""

    def __init__(self) -> None:
        self.sums: list[int] = []
        self._left = 0

    def add(self, data: Any) -> None:
        """Sum up more bytes."""
        view = memoryview(data).cast("B")
        while len(view):
            if not self._left:
                self.sums.append(0)
                self._left = PART
            part = view[: self._left]
            self.sums[-1] = zlib.crc32(part, self.sums[-1])
            self._left -= len(part)
            view = view[len(part) :]


def sums_of_text(text: str) -> list[int]:
    """Checksums of a file of text."""
    sums = Sums()
    sums.add(text.encode("utf-8"))
    return sums.sums


class Checked:
    """The files of a folder of counts; whatever is wrong with them ends in an error that names one.

    Parameters
    ----------
    folder : path
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sums: dict[str, list[int]] = {}
        self._seen: dict[str, set[int]] = {}

    def wrong(self, name: str, why: object) -> IsothermError:
        """What to raise about a file."""
        return IsothermError(
            f"{self.folder} is no folder of counts, or a damaged one ({name}: {why}); take a copy "
            "that is whole, or write the counts anew with StoredCounts.write"
        )

    def text(self, name: str) -> Any:
        """The value in a file of JSON."""
        try:
            data = (self.folder / name).read_bytes()
            sums = Sums()
            sums.add(data)
            if self.sums.get(name, sums.sums) != sums.sums:
                raise ValueError("its checksum is wrong")
            return archive.parsed(data, archive.allowance(len(data)))
        except archive.DAMAGE as error:
            raise self.wrong(name, error) from error

    def array(self, name: str, length: int) -> Array:
        """An array in its file, mapped into memory."""
        try:
            with (self.folder / f"{name}.npy").open("rb") as file:
                if np.lib.format.read_magic(file) != (1, 0):
                    raise ValueError("an array of another version")
                shape, _, dtype = np.lib.format.read_array_header_1_0(file)
                first = file.tell()
            if dtype.str not in TYPES[name]:
                raise ValueError(f"it holds {dtype}, not {' or '.join(TYPES[name])}")
            if shape != (length,) or first != HEADER:
                raise ValueError(f"it has another length: its shape is {shape}, not {(length,)}")
            path = self.folder / f"{name}.npy"
            if path.stat().st_size != HEADER + length * dtype.itemsize:
                raise ValueError(f"it is not as long as {length} numbers are")
            if not length:
                return np.empty(0, dtype)
            return np.memmap(path, dtype, "r", HEADER, shape).view(np.ndarray)
        except archive.DAMAGE as error:
            raise self.wrong(f"{name}.npy", error) from error

    def cells(self, name: str, length: int, first: int, last: int) -> Array:
        """Cells from `first` to before `last` of an array, in memory; its file is let go."""
        array = self.array(name, length)
        if not 0 <= first <= last <= length:
            raise self.wrong("indptr.npy", "a row ends before it begins, or is too long")
        self.compare(name, array, first, last)
        return np.array(array[first:last])

    def compare(self, name: str, array: Array, first: int, last: int) -> None:
        """Compare the checksums of all parts with cells from `first` to before `last`, once."""
        sums = self.sums.get(f"{name}.npy")
        if sums is None or first >= last:
            return
        size, seen = array.dtype.itemsize, self._seen.setdefault(name, set())
        each = PART // size
        for number in range(first // each, (last - 1) // each + 1):
            if number in seen:
                continue
            part = np.ascontiguousarray(array[number * each : (number + 1) * each])
            if number >= len(sums) or zlib.crc32(part.data) != sums[number]:
                raise self.wrong(f"{name}.npy", "its checksum is wrong")
            seen.add(number)

    def about(self, name: str, form: str, version: int) -> Fields:
        """What a folder says of itself, once the small arrays agree with it."""
        found = self.text(name)
        try:
            if not isinstance(found, dict) or found["format"] != form:
                raise ValueError("it says that it is something else")
            if type(found["version"]) is not int or found["version"] > version:
                raise ValueError("it is of a newer version of isotherm")
            n_rows, n_columns = found["shape"]
            numbers = (n_rows, n_columns, found["nnz"])
            if not all(type(n) is int and n > 0 for n in numbers) or n_columns > MOST_COLUMNS:
                raise ValueError(f"its shape is {found['shape']}, with {found['nnz']} non-zeros")
            if type(found["integral"]) is not bool or not 0 < _number(found["total"]) < math.inf:
                raise ValueError("its total is no number above 0")
            self.sums = _sums(found.get("crc32", {}))
        except archive.DAMAGE as error:
            raise self.wrong(name, error) from error
        self._check_rows(n_rows, found)
        self._check_totals("row_totals", n_rows, found["total"])
        self._check_totals("column_totals", n_columns, found["total"])
        for cells in ("indices", "values"):
            self.array(cells, found["nnz"])
        return found

    def _check_rows(self, n_rows: int, about: Fields) -> None:
        """Refuse rows that do not begin one after the other."""
        indptr = self.array("indptr", n_rows + 1)
        self.compare("indptr", indptr, 0, n_rows + 1)
        if indptr[0] != 0 or indptr[-1] != about["nnz"]:
            raise self.wrong("indptr.npy", f"rows do not go from 0 to {about['nnz']}")
        for first in range(0, n_rows, AT_ONCE):
            sizes = np.diff(indptr[first : first + AT_ONCE + 1])
            if sizes.min() < 0 or sizes.max() > about["shape"][1]:
                raise self.wrong("indptr.npy", "a row ends before it begins, or is too long")

    def _check_totals(self, name: str, length: int, total: float) -> None:
        """Refuse totals that are no numbers, or whose sum is another than that of all counts."""
        totals = self.array(name, length)
        self.compare(name, totals, 0, length)
        sums = 0.0
        for first in range(0, length, AT_ONCE):
            part = totals[first : first + AT_ONCE]
            if not part.min() >= 0:
                raise self.wrong(f"{name}.npy", "totals below 0, or that are no numbers")
            sums += float(part.sum())
        if not abs(sums - total) <= CLOSE * total:
            raise self.wrong(f"{name}.npy", f"its sum is {sums:.15g}, that of all counts {total!r}")

    def check_cells(
        self, indices: Array, values: Array, indptr: Array, n_columns: int, whole: bool
    ) -> None:
        """Refuse cells of some rows that are not in order, outside of the table, or no counts.

        Parameters
        ----------
        indices, values : (nnz,)
        indptr : (I + 1,)
            Where each row begins in these, from 0 on.
        n_columns : int
        whole : bool
            Whether counts must be whole numbers.
        """
        for first in range(0, len(indices), AT_ONCE):
            last = first + AT_ONCE
            part, counts = indices[first : last + 1], values[first:last]
            if part.min() < 0 or part.max() >= n_columns:
                raise self.wrong("indices.npy", f"columns are not all from 0 to {n_columns - 1}")
            falls = first + 1 + np.flatnonzero(part[1:] <= part[:-1])
            # Columns rise within a row; the first of the next one may be any.
            if len(falls) and (indptr[np.searchsorted(indptr, falls)] != falls).any():
                raise self.wrong("indices.npy", "columns of a row are not in order, or twice there")
            if not (counts.min() > 0 and counts.max() < math.inf):
                raise self.wrong("values.npy", "counts are not all above 0 and finite")
            if whole and (counts != np.floor(counts)).any():
                raise self.wrong("values.npy", "counts are not whole numbers")

    def check_sums(self, values: Array, indptr: Array, totals: Array) -> None:
        """Refuse rows (I,) whose counts do not add up to their totals."""
        begins = indptr[:-1][np.diff(indptr) > 0]
        sums = np.zeros(len(totals))
        if len(begins):
            sums[np.diff(indptr) > 0] = np.add.reduceat(values, begins, dtype=np.float64)
        if not (np.abs(sums - totals) <= CLOSE * totals).all():
            raise self.wrong("values.npy", "counts of a row do not add up to its total")


def _number(value: SupportsFloat) -> float:
    if type(value) not in (int, float):
        raise ValueError(f"{str(value)[:40]!r} is no number")
    return float(value)


def _sums(given: Any) -> dict[str, list[int]]:
    fits = isinstance(given, dict) and all(
        isinstance(sums, list) and all(type(one) is int for one in sums) for sums in given.values()
    )
    if not fits:
        raise ValueError("its checksums are no numbers")
    found: dict[str, list[int]] = given
    return found
