"""Counts that others saved as arrays: scipy's .npz, numpy's .npz and .npy; and files of names."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from isotherm._types import Array
from isotherm.errors import IsothermError
from isotherm.text.bags import Bag, check_shape
from isotherm.text.opening import COMPRESSED, inner_name, read_bytes, read_lines
from isotherm.text.problems import Problems

_SPARSE = ("csr", "csc", "coo", "bsr", "dia")
# A table may not be more times larger than its file; deflate cannot do more.
RATIO = 1100


def npz_bag(path: Path, names: list[str] | None) -> Bag:
    """A sparse matrix that scipy saved, or the one table of a file of numpy."""
    _check_members(path)
    try:
        with np.load(path, allow_pickle=False) as archive:
            if "format" not in archive:
                tables = [name for name in archive.files if archive[name].ndim == 2]
                if len(tables) != 1:
                    raise ValueError(f"it holds {len(tables)} tables of numbers")
                return Bag(_dense(archive[tables[0]], path), names)
            kind = archive["format"].item()
            kind = kind.decode("ascii") if isinstance(kind, bytes) else str(kind)
            if kind not in _SPARSE:
                raise ValueError(f"unknown format {kind!r:.40}")
            shape = tuple(int(size) for size in archive["shape"])
            check_shape(shape, max(archive["data"].size, 1), names, path)
        return Bag(sparse.csr_array(sparse.load_npz(path)), names)
    except IsothermError:
        raise
    # numpy and scipy fail in many ways on files that are not theirs.
    except Exception as error:
        raise _unreadable(path, "a matrix saved with scipy.sparse.save_npz", error) from error


def npy_bag(path: Path, names: list[str] | None) -> Bag:
    """A table that numpy saved."""
    try:
        data = read_bytes(path)
        stream = io.BytesIO(data)
        version = np.lib.format.read_magic(stream)
        read = {(1, 0): np.lib.format.read_array_header_1_0}.get(
            version, np.lib.format.read_array_header_2_0
        )
        shape, _, dtype = read(stream)
        if dtype.hasobject or dtype.itemsize * int(np.prod(shape, dtype=float)) > len(data):
            raise ValueError("it holds Python objects, or fewer numbers than it announces")
        stream.seek(0)
        table = np.load(stream, allow_pickle=False)
        return Bag(_dense(table, path), names)
    except IsothermError:
        raise
    except Exception as error:
        raise _unreadable(path, "a table saved with numpy.save", error) from error


def _check_members(path: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise _unreadable(path, "a .npz file", error) from error
    if size > RATIO * max(path.stat().st_size, 1 << 10):
        raise IsothermError(f"{path} announces {size} bytes, more than its file can hold.")


def _dense(table: Array, path: Path) -> Any:
    if table.ndim != 2 or table.dtype.kind not in "biuf":
        raise IsothermError(
            f"{path} holds {table.dtype} of shape {table.shape}; a table of counts has rows, "
            "columns and numbers."
        )
    return table


def _unreadable(path: Path, wanted: str, error: Exception) -> IsothermError:
    reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    return IsothermError(
        f"{path} cannot be read as {wanted} ({reason}); write it again, or give format=.",
        parameter="format",
    )


def read_names(given: Any, encoding: str) -> list[str]:
    """Names of columns, of a file with one to a line or of an iterable."""
    if isinstance(given, str | Path):
        path = Path(given)
        if not path.is_file():
            raise IsothermError(
                f"names={str(given)!r} is not a file; give one word to a line.", parameter="names"
            )
        found = _name_lines(path, encoding)
    else:
        try:
            found = [str(name) for name in given]
        except TypeError as error:
            raise IsothermError(
                f"names is {type(given).__name__}; give a file with one word to a line, or words.",
                parameter="names",
            ) from error
    if len(set(found)) != len(found):
        raise IsothermError(
            f"names={str(given)[:100]!r} holds a name twice; names must differ.", parameter="names"
        )
    return found


def find_names(path: Path, encoding: str) -> tuple[list[str] | None, Path | None]:
    """Names of columns that stand beside a file of counts, and where; None if there are none.

    `docword.X.txt` goes with `vocab.X.txt`, `X.npz` with `X.vocab` or `X.vocab.txt`,
    `X-counts.npz` with `X-vocab.txt`, and any with `vocab.txt`; all may be compressed.
    """
    inner = inner_name(path)
    stem = inner.rpartition(".")[0] or inner
    short = stem.removesuffix("counts").rstrip("-_.")
    places = [inner.replace("docword", "vocab")] if inner.startswith("docword") else []
    places += [f"{stem}.vocab", f"{stem}.vocab.txt", f"{stem}-vocab.txt", f"vocab.{stem}.txt"]
    places += [f"{short}.vocab.txt", f"{short}-vocab.txt"] if short not in ("", stem) else []
    try:
        beside = {other.name.lower(): other for other in path.parent.iterdir()}
    except OSError:
        return None, None  # a folder that cannot be listed
    for place in [*places, "vocab.txt"]:
        for ending in ("", *COMPRESSED):
            found = beside.get(place + ending)
            if found is not None and found != path and found.is_file():
                return _name_lines(found, encoding), found
    return None, None


def _name_lines(path: Path, encoding: str) -> list[str]:
    problems = Problems()
    names = [line.text.strip() for line in read_lines(path, encoding, problems)]
    if problems.total and any("breaks off" in problem.reason for problem in problems.kept):
        raise IsothermError(f"{path} is damaged: {problems.summary()}")
    while names and not names[-1]:
        names.pop()
    return names
