"""The file format: a zip of `meta.json` and arrays, each a `.npy` with its checksum.

Nothing in a file is executed, and nothing is allocated before the file was seen to be long enough
for it: `allowance` says how much that is. docs/files.md describes the format for whoever reads it
without this library.
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
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from isotherm._types import Array, Fields, Json
from isotherm.errors import IsothermError
from isotherm.format.atomic import replacing

Migration = Callable[[Fields], Fields]

FORMAT = "isotherm"
VERSION = 1
KINDS = ("counts", "fit", "map", "index", "stages", "words", "checkpoint")
# From each version to the next; they change `meta.json` as it was read.
MIGRATIONS: dict[int, Migration] = {}

META = "meta.json"
NAME = re.compile(r"[A-Za-z0-9_]{1,64}")
# Kinds of numbers that arrays may hold: bool, integers, floats.
NUMBERS = "biuf"
# What a file holds takes at most so many times its length, and so many bytes more; of that, what
# its members are unpacked to may be this much more.
MOST_COMPRESSED, SLACK, UNPACKED_SLACK = 200, 1 << 25, 1 << 20
# Bytes that a value of JSON is taken to need, besides its text, and how deep lists may nest.
VALUE, DEEPEST = 128, 200
MOST_META = 1 << 30
CHUNK = 1 << 22
# What reading a damaged file may end in.
DAMAGE = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, NotImplementedError),
    *(OSError, RecursionError, RuntimeError, SyntaxError, TypeError, ValueError),
    *(struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)


class Archive(NamedTuple):
    """What a file holds: its kind, a JSON value, and arrays by name."""

    kind: str
    content: Json
    arrays: dict[str, Array]


class Written(NamedTuple):
    """How a file came to be: version of the format, library that wrote it, and when (UTC).

    The last two are for information; they are what the file says, or empty.
    """

    version: int
    library: str
    created: str


class Opened(NamedTuple):
    """A file whose directory and metadata have been checked, before any array is read."""

    file: zipfile.ZipFile
    members: dict[str, zipfile.ZipInfo]
    meta: Fields
    written: Written
    size: int


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
        values, depth = weighed(text)
        if depth > DEEPEST:
            raise IsothermError(
                f"cannot write {final}: what it should hold is nested {depth} deep, and a file "
                f"holds lists within lists to a depth of {DEEPEST}; flatten it"
            )
        # What could not be read again for being compressed too well is not compressed.
        needed = 2 * (len(text) + VALUE * values)
        short = len(zlib.compress(text, 1)) * MOST_COMPRESSED > needed
        how = zipfile.ZIP_DEFLATED if short else zipfile.ZIP_STORED
        file.writestr(_entry(META), text, compress_type=how)
    return final


def read(path: str | os.PathLike[str], *kinds: str) -> Archive:
    """What a file holds, if it is whole and of one of the kinds (of any if none are given)."""
    return read_about(path, *kinds)[0]


def read_about(path: str | os.PathLike[str], *kinds: str) -> tuple[Archive, Written]:
    """The same, and how the file came to be."""
    given = Path(path)
    with opening(given) as opened:
        meta, file, members = opened.meta, opened.file, opened.members
        arrays = {
            name: read_array(given, file, members[f"arrays/{name}.npy"], one)
            for name, one in meta["arrays"].items()
        }
        archive = Archive(meta["kind"], meta["content"], arrays)
        written = opened.written
    if kinds and archive.kind not in kinds:
        raise IsothermError(
            f"{given} holds {archive.kind!r}, and {' or '.join(map(repr, kinds))} was asked for",
            parameter="path",
            in_python="; isotherm.load reads whatever a file holds",
        )
    return archive, written


@contextmanager
def opening(path: str | os.PathLike[str]) -> Iterator[Opened]:
    """A file with its metadata; whatever reading it within the block ends in names the file."""
    given = Path(path)
    with given.open("rb") as file:
        try:
            size = os.fstat(file.fileno()).st_size
            if not zipfile.is_zipfile(file):
                raise unreadable(
                    given, "not a zip archive, or cut off" if size else "an empty file"
                )
            file.seek(0)
            with zipfile.ZipFile(file) as archive:
                yield _opened(given, archive, size)
        except IsothermError:
            raise
        except DAMAGE as error:
            raise unreadable(given, str(error) or type(error).__name__) from error


def allowance(size: int) -> int:
    """Bytes that may be taken for a file of so many bytes: by its members, values and text."""
    return MOST_COMPRESSED * size + SLACK


def weighed(text: bytes) -> tuple[int, int]:
    """How many values JSON has at most (keys count), and how deep they nest; nothing is made."""
    values, depth, deepest, within, first = 1, 0, 0, 0, 0
    while first < len(text):
        last = first + CHUNK // 4
        while last < len(text) and text[last - 1 : last] == b"\\":
            last += 1  # what is escaped stays with its backslash
        part = text[first:last].replace(b"\\\\", b"").replace(b'\\"', b"")
        marks = np.frombuffer(part, np.uint8)
        # Odd after each quote that opens a string; sums may overflow, their last bit stays right.
        inside = (np.cumsum(marks == ord('"'), dtype=np.uint8) + np.uint8(within)) & 1
        bare = marks[inside == 0]
        opens = (bare == ord("[")) | (bare == ord("{"))
        closes = (bare == ord("]")) | (bare == ord("}"))
        commas = np.count_nonzero((bare == ord(",")) | (bare == ord(":")))
        values += int(commas) + int(np.count_nonzero(opens))
        levels = depth + np.cumsum(opens.astype(np.int8) - closes.astype(np.int8), dtype=np.int64)
        if len(levels):
            depth, deepest = int(levels[-1]), max(deepest, int(levels.max()))
        within = int(inside[-1]) if len(inside) else within
        first = last
    return values, deepest


def parsed(text: bytes, allowed: int) -> Json:
    """The value of JSON in UTF-8, unless it would take more than the allowed bytes."""
    values, depth = weighed(text)
    if depth > DEEPEST:
        raise ValueError(f"it is nested {depth} deep, and {DEEPEST} is the limit")
    if VALUE * values + len(text) > allowed:
        raise ValueError(f"it claims to hold {values} values, which is too many for its length")
    return json.loads(text.decode("utf-8"), parse_constant=_refuse_constant)


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

    def write(self, data: bytes) -> int:
        self.sum.update(data)
        return self.file.write(data)


def _write_array(file: zipfile.ZipFile, name: str, array: Array) -> Fields:
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


def _opened(path: Path, archive: zipfile.ZipFile, size: int) -> Opened:
    members = _members(path, archive, size)
    if META not in members:
        old = "meta.npy" in members
        why = "an .npz of an early map; make the map again" if old else "without meta.json"
        raise unreadable(path, why)
    others = sum(one.file_size for one in members.values()) - members[META].file_size
    with archive.open(members[META]) as stream:
        # Part by part: a member that is longer than it says is never unpacked as a whole.
        read, left = list[bytes](), members[META].file_size
        while left > 0 and (part := stream.read(min(left, CHUNK))):
            read.append(part)
            left -= len(part)
        if left or stream.read(1):
            raise ValueError(f"{META} is not as long as it should be")
    found = parsed(b"".join(read), allowance(size) - others)
    meta = _meta(path, found)
    expected = {META, *(f"arrays/{name}.npy" for name in meta["arrays"])}
    if members.keys() != expected:
        odd = sorted(members.keys() ^ expected)[0]
        raise unreadable(path, f"{odd[:80]!r} is missing or does not belong there")
    said = [str(found.get(name) or "")[:80] for name in ("library", "created")]
    return Opened(archive, members, meta, Written(found["version"], *said), size)


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
    if packed > size or unpacked > MOST_COMPRESSED * size + UNPACKED_SLACK:
        raise unreadable(path, f"{size} bytes claim to hold {unpacked}")
    if META in found and found[META].file_size > MOST_META:
        raise unreadable(path, f"{META} has more than {MOST_META} bytes")
    return found


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} in {META}")


def _meta(path: Path, meta: object) -> Fields:
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


def read_array(
    path: Path, file: zipfile.ZipFile, member: zipfile.ZipInfo, described: Fields
) -> Array:
    """An array of a file, once it is seen to be what the metadata say of it."""
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
    if not dtype.isnative:  # of another computer; loops need the order of bytes of this one
        array = array.byteswap(inplace=True).view(dtype.newbyteorder("="))
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
