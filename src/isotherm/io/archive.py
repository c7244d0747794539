"""The file format: a zip of `meta.json` and arrays, each a `.npy` with its checksum.

Nothing in a file is executed, and nothing is allocated before the file was seen to be long enough
for it. docs/files.md describes the format for whoever reads it without this library.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import os
import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isotherm.errors import IsothermError
from isotherm.files import replacing

Array = NDArray[Any]
Migration = Callable[[dict[str, Any]], dict[str, Any]]

FORMAT = "isotherm"
VERSION = 1
KINDS = ("counts", "fit", "map", "index", "stages", "words", "checkpoint")
# From each version to the next; they change `meta.json` as it was read.
MIGRATIONS: dict[int, Migration] = {}

META = "meta.json"
NAME = re.compile(r"[A-Za-z0-9_]{1,64}")
# Kinds of numbers that arrays may hold: bool, integers, floats.
NUMBERS = "biuf"
# All members together are at most so many times as long as the file, and this many bytes more.
MOST_COMPRESSED, SLACK = 200, 1 << 20
MOST_META = 1 << 30
CHUNK = 1 << 22
# What reading a damaged file may end in.
DAMAGE = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, NotImplementedError),
    *(OSError, RecursionError, RuntimeError, SyntaxError, TypeError, ValueError),
    *(struct.error, zipfile.BadZipFile, zlib.error),
)


class Archive(NamedTuple):
    """What a file holds: its kind, a JSON value, and arrays by name."""

    kind: str
    content: Any
    arrays: dict[str, Array]


class Written(NamedTuple):
    """How a file came to be: version of the format, library that wrote it, and when (UTC).

    The last two are for information; they are what the file says, or empty.
    """

    version: int
    library: str
    created: str


def write(path: str | os.PathLike[str], archive: Archive) -> Path:
    """Path of the file that was written, the one given; an older file is replaced in one step."""
    final = Path(path)
    if final.is_dir() or not final.parent.is_dir():
        raise IsothermError(
            f"cannot write {final}: it is a folder, or the folder that it should be in is missing; "
            "give the name of a file in a folder that exists"
        )
    with replacing(final) as unfinished, zipfile.ZipFile(unfinished, "w") as file:
        described = {name: _write_array(file, name, a) for name, a in archive.arrays.items()}
        meta = {
            "format": FORMAT,
            "version": VERSION,
            "kind": archive.kind,
            "library": library(),
            "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "content": archive.content,
            "arrays": described,
        }
        text = json.dumps(meta, allow_nan=False).encode("ascii")
        # What could not be read again for being compressed too well is not compressed.
        short = len(zlib.compress(text, 1)) * MOST_COMPRESSED > 2 * len(text)
        how = zipfile.ZIP_DEFLATED if short else zipfile.ZIP_STORED
        file.writestr(_entry(META), text, compress_type=how)
    return final


def read(path: str | os.PathLike[str], *kinds: str) -> Archive:
    """What a file holds, if it is whole and of one of the kinds (of any if none are given)."""
    return read_about(path, *kinds)[0]


def read_about(path: str | os.PathLike[str], *kinds: str) -> tuple[Archive, Written]:
    """The same, and how the file came to be."""
    given = Path(path)
    with given.open("rb") as file:
        try:
            archive, written = _read(given, file)
        except IsothermError:
            raise
        except DAMAGE as error:
            raise unreadable(given, str(error) or type(error).__name__) from error
    if kinds and archive.kind not in kinds:
        raise IsothermError(
            f"{given} holds {archive.kind!r}, and {' or '.join(map(repr, kinds))} was asked for; "
            "isotherm.load reads whatever a file holds"
        )
    return archive, written


def library() -> str:
    """Name and version of this library."""
    # The package itself is above this module, and it is there already.
    return f"isotherm {sys.modules['isotherm'].__version__}"


def unreadable(path: Path, why: str) -> IsothermError:
    """What to raise about a file that cannot be used."""
    return IsothermError(
        f"{path} is no file of isotherm, or a damaged one ({why}); give a file that isotherm.save "
        "wrote, or take a copy of it that is whole"
    )


# Writing ---------------------------------------------------------------------------------------


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.external_attr = 0o600 << 16
    return entry


class _Summed:
    """A file to write to that sums up what is written."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.sum = file, hashlib.sha256()

    def write(self, data: Any) -> int:
        self.sum.update(data)
        return self.file.write(data)


def _write_array(file: zipfile.ZipFile, name: str, array: Array) -> dict[str, Any]:
    """What `meta.json` says of an array, once it is written."""
    with file.open(_entry(f"arrays/{name}.npy"), "w", force_zip64=True) as member:
        summed = _Summed(member)
        np.lib.format.write_array(summed, array, allow_pickle=False)
    return {
        "sha256": summed.sum.hexdigest(),
        "dtype": array.dtype.str,
        "shape": list(array.shape),
    }


# Reading ---------------------------------------------------------------------------------------


def _read(path: Path, file: IO[bytes]) -> tuple[Archive, Written]:
    size = os.fstat(file.fileno()).st_size
    if not zipfile.is_zipfile(file):
        raise unreadable(path, "an empty file" if not size else "not a zip archive, or cut off")
    file.seek(0)
    with zipfile.ZipFile(file) as archive:
        members = _members(path, archive, size)
        if META not in members:
            old = "meta.npy" in members
            why = "an .npz of an early map; make the map again" if old else "without meta.json"
            raise unreadable(path, why)
        found = json.loads(archive.read(META), parse_constant=_refuse_constant)
        meta = _meta(path, found)
        described = meta["arrays"]
        expected = {META, *(f"arrays/{name}.npy" for name in described)}
        if members.keys() != expected:
            odd = sorted(members.keys() ^ expected)[0]
            raise unreadable(path, f"{odd[:80]!r} is missing or does not belong there")
        arrays = {
            name: _read_array(path, archive, members[f"arrays/{name}.npy"], one)
            for name, one in described.items()
        }
    said = [str(found.get(name) or "")[:80] for name in ("library", "created")]
    return Archive(meta["kind"], meta["content"], arrays), Written(found["version"], *said)


def _members(path: Path, file: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """Members by name, once their declared sizes are possible for a file of this size."""
    found: dict[str, zipfile.ZipInfo] = {}
    for one in file.infolist():
        if one.filename in found:
            raise unreadable(path, f"{one.filename[:80]!r} is in it twice")
        plain = one.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        if not plain or one.flag_bits & 0x1:
            raise unreadable(path, f"{one.filename[:80]!r} is encrypted or compressed oddly")
        if one.compress_type == zipfile.ZIP_STORED and one.file_size != one.compress_size:
            raise unreadable(path, f"{one.filename[:80]!r} has two sizes")
        found[one.filename] = one
    packed = sum(one.compress_size for one in found.values())
    unpacked = sum(one.file_size for one in found.values())
    if packed > size or unpacked > MOST_COMPRESSED * size + SLACK:
        raise unreadable(path, f"{size} bytes claim to hold {unpacked}")
    if META in found and found[META].file_size > MOST_META:
        raise unreadable(path, f"{META} has more than {MOST_META} bytes")
    return found


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} in {META}")


def _meta(path: Path, meta: Any) -> dict[str, Any]:
    """The contents of `meta.json` as this version writes them."""
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise unreadable(path, f"{META} does not say that this is a file of isotherm")
    version = meta.get("version")
    if type(version) is not int or version < min(MIGRATIONS, default=VERSION):
        raise unreadable(path, f"its version is {str(version)[:20]!r}")
    if version > VERSION:
        raise IsothermError(
            f"{path} has version {version} of the format, and this library reads up to {VERSION}; "
            f"install a newer isotherm (the file was written by {str(meta.get('library'))[:40]})"
        )
    for old in range(version, VERSION):
        meta = MIGRATIONS[old](meta)
    if meta["kind"] not in KINDS:
        raise unreadable(path, f"its kind is {str(meta['kind'])[:40]!r}")
    if not isinstance(meta["arrays"], Mapping) or "content" not in meta:
        raise unreadable(path, f"{META} is not complete")
    for name in meta["arrays"]:
        if not NAME.fullmatch(name):
            raise unreadable(path, f"{name[:80]!r} is no name of an array")
    return dict(meta)


def _read_array(
    path: Path, file: zipfile.ZipFile, member: zipfile.ZipInfo, described: Mapping[str, Any]
) -> Array:
    name = member.filename
    with file.open(member) as stream:
        summed = _SummedReader(stream)
        version = np.lib.format.read_magic(summed)
        header = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, by_column, dtype = header(summed)
        declared = tuple(described["shape"])
        if dtype.kind not in NUMBERS or dtype.str != described["dtype"] or shape != declared:
            raise unreadable(path, f"{name!r} is {dtype} {shape}, {META} says otherwise")
        length = math.prod(shape) * dtype.itemsize
        if any(n < 0 for n in shape) or summed.count + length != member.file_size:
            raise unreadable(path, f"{name!r} claims {length} bytes that are not there")
        array = np.empty(shape, dtype, "F" if by_column else "C")
        summed.fill(array.reshape(-1, order="A").view(np.uint8))
    if summed.sum.hexdigest() != described["sha256"]:
        raise unreadable(path, f"{name!r} is not what was written: its checksum differs")
    return array


class _SummedReader:
    """A file to read from that sums up and counts what is read."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.sum, self.count = file, hashlib.sha256(), 0

    def read(self, size: int = -1, /) -> bytes:
        data = self.file.read(size)
        self.sum.update(data)
        self.count += len(data)
        return data

    def fill(self, place: Array) -> None:
        """Fill the place and come to the end of the member, where its own checksum is compared."""
        for first in range(0, len(place), CHUNK):
            part = place[first : first + CHUNK]
            data = self.read(len(part))
            while len(data) < len(part):
                more = self.read(len(part) - len(data))
                if not more:
                    raise EOFError("it ends too early")
                data += more
            part[:] = np.frombuffer(data, np.uint8)
        if self.file.read(1):
            raise ValueError("it goes on after its end")
