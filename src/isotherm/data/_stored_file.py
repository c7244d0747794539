"""Writing counts as a folder of plain arrays, in one pass over rows that come piece by piece."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from isotherm._types import Array, Fields
from isotherm.data import convert
from isotherm.data._stored_check import HEADER, Sums, sums_of_text
from isotherm.data.counts import Counts, as_counts
from isotherm.errors import IsothermError
from isotherm.format import archive, codec
from isotherm.format.scratch import Scratch

FORMAT, VERSION, ABOUT = "isotherm stored counts", 1, "counts.json"
ARRAYS = ("indptr", "indices", "values", "row_totals", "column_totals")
NAMES = ("row_names", "column_names")
# What they are called in files, where a name is part of the format.
FILED = {"row_names": "row_ids", "column_names": "column_names"}
# Non-zeros that are held at a time where a source can be read in parts.
AT_ONCE, ROWS_AT_ONCE = 1 << 20, 1 << 18


class Piece(NamedTuple):
    """Some rows in canonical form: sizes (I,) int64, indices (nnz,) int32, values (nnz,)."""

    sizes: Array
    indices: Array
    values: Array


class _Growing:
    """An .npy file with one axis that grows at its end; its header is written last."""

    def __init__(self, path: Path, dtype: DTypeLike) -> None:
        self.path, self.dtype, self.length = path, np.dtype(dtype), 0
        self.sums = Sums()
        self.file: IO[bytes] = path.open("wb")
        self.file.write(bytes(HEADER))

    def add(self, array: Array) -> None:
        data = np.ascontiguousarray(array, self.dtype)
        if len(data):
            self.file.write(data.data)
            self.sums.add(data.data)
        self.length += len(data)

    def finish(self) -> None:
        header = io.BytesIO()
        described = {"descr": self.dtype.str, "fortran_order": False, "shape": (self.length,)}
        np.lib.format.write_array_header_1_0(header, described)
        text = header.getvalue()
        if len(text) != HEADER:
            raise IsothermError(f"{self.path}: {self.length} entries are too many for one array")
        self.file.seek(0)
        self.file.write(text)
        self.file.flush()
        os.fsync(self.file.fileno())

    def widened(self) -> _Growing:
        """The same entries in float64."""
        self.file.close()
        other = _Growing(self.path.with_suffix(".wide"), np.float64)
        with self.path.open("rb") as old:
            old.seek(HEADER)
            while part := old.read(AT_ONCE * self.dtype.itemsize):
                other.add(np.frombuffer(part, self.dtype))
        other.path.replace(self.path)
        other.path = self.path
        return other


def write(folder: Path, source: object, row_names: object, column_names: object) -> None:
    """Write the folder; it is there as a whole or not at all."""
    if os.path.lexists(folder) or not folder.parent.is_dir():
        raise IsothermError(
            f"cannot write {folder}: it is there already, or the folder that it should be in is "
            "missing; give a new name in a folder that exists"
        )
    scratch = Scratch(folder.parent, f".{folder.name}.part-")
    work = scratch.folder
    try:
        pieces, names = _opened(source)
        names = {**names, **_given(row_names, column_names)}
        _write(work, pieces, names)
        work.chmod(0o777 & ~_umask())  # until then it was the process's own
        scratch.release()
        work.replace(folder)
    finally:
        scratch.remove()


def _umask() -> int:
    """What the process leaves out of the rights on new folders."""
    now = os.umask(0)
    os.umask(now)
    return now


def _given(*names: object) -> dict[str, object]:
    found = zip(NAMES, names, strict=True)
    return {name: convert.listed(one, name) for name, one in found if one is not None}


class _Writer:
    """The arrays of a folder while rows are added to them."""

    def __init__(self, work: Path) -> None:
        self.indptr = _Growing(work / "indptr.npy", np.int64)
        self.indices = _Growing(work / "indices.npy", np.int32)
        self.values = _Growing(work / "values.npy", np.float32)
        self.totals = _Growing(work / "row_totals.npy", np.float64)
        self.columns, self.n_columns, self.whole = np.zeros(0), -1, True
        self.indptr.add(np.zeros(1))

    @property
    def arrays(self) -> tuple[_Growing, ...]:
        return self.indptr, self.indices, self.values, self.totals

    def add(self, piece: Piece, width: int) -> None:
        if self.n_columns not in (-1, width):
            raise IsothermError(
                f"a block has {width} columns, and those before it have {self.n_columns}; all "
                "blocks are over the same columns"
            )
        if self.n_columns == -1:
            self.n_columns, self.columns = width, np.zeros(width)
        values = piece.values
        if values.dtype == np.float64 and self.values.dtype == np.float32:
            self.values = self.values.widened()
        self.whole = self.whole and bool((values == np.floor(values)).all())
        ends = np.cumsum(piece.sizes)
        self.indptr.add(self.indices.length + ends)
        self.indices.add(piece.indices)
        self.values.add(values)
        owner = np.repeat(np.arange(len(ends)), piece.sizes)
        self.totals.add(np.bincount(owner, values, minlength=len(ends)))
        self.columns += np.bincount(piece.indices, values, minlength=width)


def _write(work: Path, pieces: Iterator[tuple[Piece, int]], names: Fields) -> None:
    writer = _Writer(work)
    columns = _Growing(work / "column_totals.npy", np.float64)
    try:
        for piece, width in pieces:
            writer.add(piece, width)
        shape = (writer.totals.length, writer.n_columns)
        nnz, total = writer.indices.length, float(writer.columns.sum())
        _check(shape, nnz, total, names)
        columns.add(writer.columns)
        for array in (*writer.arrays, columns):
            array.finish()
    finally:
        for array in (*writer.arrays, columns):
            array.file.close()
    sums = {array.path.name: array.sums.sums for array in (*writer.arrays, columns)}
    for name in NAMES:
        if names.get(name) is not None:
            text = json.dumps([_plain(one) for one in names[name]])
            (work / f"{FILED[name]}.json").write_text(text, encoding="utf-8")
            sums[f"{FILED[name]}.json"] = sums_of_text(text)
    about = {"format": FORMAT, "version": VERSION, "shape": shape, "nnz": nnz, "total": total}
    about |= {"integral": writer.whole, "crc32": sums}
    (work / ABOUT).write_text(json.dumps(about) + "\n", encoding="utf-8")


def _check(shape: tuple[int, int], nnz: int, total: float, names: dict[str, object]) -> None:
    if not nnz:
        raise IsothermError(
            f"the counts of shape {shape} are all 0, or there are none; their total must be "
            "positive. Check what the blocks were made of."
        )
    if not np.isfinite(total):
        raise IsothermError("the total of the counts is infinity in float64; scale them down")
    for name, length, axis in zip(NAMES, shape, ("row", "column"), strict=True):
        found = convert.labels(names.get(name), length, name, axis)
        if axis == "column":
            convert.check_unique(found)


def _plain(label: object) -> Any:
    return label if isinstance(label, str | int | float | bool) else str(label)


# Sources ---------------------------------------------------------------------------------------


def _opened(source: object) -> tuple[Iterator[tuple[Piece, int]], Fields]:
    """Pieces with their number of columns, and names, of whatever holds counts."""
    if isinstance(source, str | os.PathLike):
        return _of_file(Path(source))
    if isinstance(source, Counts) or sparse.issparse(source) or isinstance(source, np.ndarray):
        counts = as_counts(source)
        names = {name: getattr(counts, name) for name in NAMES}
        return _of_blocks([counts]), {n: list(v) for n, v in names.items() if v is not None}
    if not isinstance(source, Iterable):
        raise IsothermError(
            f"source is {source!r}; give Counts, a matrix, the path of a file of counts, or an "
            "iterable of any of the first two"
        )
    return _of_blocks(source), {}


def _of_blocks(blocks: Iterable[object]) -> Iterator[tuple[Piece, int]]:
    for block in blocks:
        counts = as_counts(block, allow_empty=True)
        matrix, first = counts.matrix, 0
        for sizes in _runs(np.diff(matrix.indptr).astype(np.int64)):
            cells = slice(first, first := first + int(sizes.sum()))
            yield Piece(sizes, matrix.indices[cells], matrix.data[cells]), counts.n_columns


def _of_file(path: Path) -> tuple[Iterator[tuple[Piece, int]], Fields]:
    """Pieces of a file of counts, which is never held as a whole; only its names are."""
    with archive.opening(path) as opened:
        try:
            fields = opened.meta["content"]["fields"]
            matrix = fields["matrix"]
            names = {name: _text(path, opened, fields[FILED[name]]) for name in NAMES}
            parts = {name: matrix[name]["name"] for name in ("data", "indices", "indptr")}
            sums = {name: opened.meta["arrays"][one]["sha256"] for name, one in parts.items()}
            width = int(matrix["shape"][1])
        except archive.DAMAGE:
            # Not as this version writes it: read as a whole, with all checks and their errors.
            return _opened(Counts.load(path))
    found = {name: one.tolist() for name, one in names.items() if one is not None}
    return _stream(path, parts, sums, width), found


def _text(path: Path, opened: archive.Opened, given: object) -> Array | None:
    """Names as a file holds them; arrays that they are made of are read, no others."""
    arrays = {}
    for part in given.values() if isinstance(given, dict) else ():
        if isinstance(part, dict) and "name" in part:
            name = part["name"]
            member = opened.members[f"arrays/{name}.npy"]
            said = opened.meta["arrays"][name]
            arrays[name] = archive.read_array(path, opened.file, member, said)
    reader = codec.Reader(codec.Registry(), arrays, archive.allowance(opened.size))
    found: Array | None = reader.decode(given)
    return found


class _Member:
    """An array in a file of counts, read from its beginning to its end."""

    def __init__(self, file: zipfile.ZipFile, name: str) -> None:
        self.file, self.sum = file.open(f"arrays/{name}.npy"), hashlib.sha256()
        if np.lib.format.read_magic(self) != (1, 0):
            raise ValueError("an array of another version")
        shape, _, self.dtype = np.lib.format.read_array_header_1_0(self)
        (self.length,) = shape
        if self.dtype.kind not in archive.NUMBERS:
            raise ValueError(f"an array of {self.dtype}")

    def read(self, size: int = -1, /) -> bytes:
        data = self.file.read(size)
        self.sum.update(data)
        return data

    def next(self, n: int) -> Array:
        found = np.frombuffer(self.read(n * self.dtype.itemsize), self.dtype)
        if len(found) != n:
            raise ValueError("an array that is cut off")
        return found


def _stream(
    path: Path, parts: dict[str, str], sums: dict[str, str], width: int
) -> Iterator[tuple[Piece, int]]:
    """Pieces of about AT_ONCE non-zeros; an error at the end if the file was damaged."""
    with archive.opening(path) as opened:
        read = {name: _Member(opened.file, one) for name, one in parts.items()}
        ends = read["indptr"]
        before, left = int(ends.next(1)[0]), ends.length - 1
        while left:
            bounds = ends.next(min(left, ROWS_AT_ONCE)).astype(np.int64)
            left -= len(bounds)
            lengths = np.diff(bounds, prepend=before)
            if lengths.min() < 0 or lengths.max() > width:
                raise ValueError("a row ends before it begins, or is too long")
            for sizes in _runs(lengths):
                n = int(sizes.sum())
                indices, values = read["indices"].next(n), read["data"].next(n)
                yield _checked(Piece(sizes, indices, values), width), width
            before = int(bounds[-1])
        damaged = [name for name, member in read.items() if member.sum.hexdigest() != sums[name]]
        if damaged:
            raise ValueError(f"the checksum of {damaged[0]} is wrong")


def _checked(piece: Piece, width: int) -> Piece:
    """The piece, once it is seen to be rows of valid counts in canonical form."""
    indptr = np.concatenate([[0], np.cumsum(piece.sizes)])
    matrix = sparse.csr_array((piece.values, piece.indices, indptr), (len(piece.sizes), width))
    try:
        return Piece(piece.sizes, *convert.canonical(matrix))
    except IsothermError as error:
        # Said of a table that was given; here a file holds it.
        raise ValueError(str(error)) from error


def _runs(sizes: Array) -> Iterator[Array]:
    """Sizes of rows (I,) cut into runs of about AT_ONCE non-zeros, and of one row at least."""
    group = np.cumsum(sizes) // AT_ONCE
    yield from np.split(sizes, np.flatnonzero(np.diff(group)) + 1)
