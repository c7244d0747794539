"""Arrays, strings and facts in one compressed block of bytes that a page can read."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from isotherm.data.base import Array
from isotherm.errors import IsothermError
from isotherm.viewer.format import ALIGNMENT, MAGIC

ENDS = ".ends"
TYPES = {"u1": "<u1", "u2": "<u2", "u4": "<u4", "f4": "<f4"}
# Level of compression: measured by benchmarks/scale/explorer.py --levels.
LEVEL = 6
# Bytes that one thread compresses at a time; what came before is no help to the next.
PIECE = 1 << 20
THREADS = 2
# Ends of strings are written in 32 bits.
MOST_BYTES = 0xFFFFFFFF
GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"


class Part(NamedTuple):
    """What one block contains: facts, arrays by name, and tables of strings by name."""

    meta: Mapping[str, Any]
    arrays: dict[str, Array]
    strings: dict[str, list[str]]


def pack(
    meta: Mapping[str, Any],
    arrays: Mapping[str, Array],
    strings: Mapping[str, Sequence[str]] | None = None,
) -> bytes:
    """Block of bytes, gzip of a header in JSON and arrays behind it.

    Parameters
    ----------
    meta : mapping
        Whatever JSON can say; numbers must be finite, None is for those that are not.
    arrays : mapping of str to arrays of u1, u2, u4 or f4
    strings : mapping of str to sequences of str
        Half surrogate pairs, which UTF-8 cannot say, become U+FFFD, here and in `meta`.
    """
    everything = {name: np.asarray(values) for name, values in arrays.items()}
    for name, texts in (strings or {}).items():
        everything[name], everything[name + ENDS] = _blob(name, texts)
    table, data, offset = [], [], 0
    for name, values in everything.items():
        kind = f"{values.dtype.kind}{values.dtype.itemsize}"
        if kind not in TYPES:
            raise IsothermError(
                f"array {name!r} is of {values.dtype}; it must be one of {[*TYPES]}"
            )
        table.append({"name": name, "dtype": kind, "shape": [*values.shape], "offset": offset})
        data.append(_padded(np.ascontiguousarray(values, TYPES[kind]).tobytes()))
        offset += len(data[-1])
    header = {"meta": meta, "arrays": table, "strings": [*(strings or {})]}
    text = well_formed(json.dumps(header, ensure_ascii=False, allow_nan=False)).encode()
    return gzipped(b"".join([_padded(MAGIC.encode() + struct.pack("<I", len(text)) + text), *data]))


def unpack(block: bytes) -> Part:
    """What `pack` put into a block; arrays are read only."""
    raw = zlib.decompress(block, wbits=31)
    if raw[:4] != MAGIC.encode():
        raise IsothermError(f"bytes begin with {raw[:4]!r}; give what isotherm's `pack` returned")
    (length,) = struct.unpack_from("<I", raw, 4)
    header = json.loads(raw[8 : 8 + length])
    start = -(-(8 + length) // ALIGNMENT) * ALIGNMENT
    arrays = {
        entry["name"]: np.frombuffer(
            raw,
            TYPES[entry["dtype"]],
            int(np.prod(entry["shape"], dtype=np.int64)),
            start + entry["offset"],
        ).reshape(entry["shape"])
        for entry in header["arrays"]
    }
    strings = {
        name: _texts(arrays.pop(name), arrays.pop(name + ENDS)) for name in header["strings"]
    }
    return Part(header["meta"], arrays, strings)


def well_formed(text: str) -> str:
    """The text with half surrogate pairs as U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def gzipped(raw: bytes, level: int = LEVEL) -> bytes:
    """One gzip stream of the bytes, compressed in pieces by threads; the same at every call."""
    starts = range(0, max(len(raw), 1), PIECE)
    view = memoryview(raw)

    def deflated(start: int) -> bytes:
        squeeze = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
        last = start + PIECE >= len(raw)
        body = squeeze.compress(view[start : start + PIECE])
        return body + squeeze.flush(zlib.Z_FINISH if last else zlib.Z_FULL_FLUSH)

    with ThreadPoolExecutor(THREADS) as pool:
        pieces = list(pool.map(deflated, starts))
    tail = struct.pack("<II", zlib.crc32(raw), len(raw) & 0xFFFFFFFF)
    return b"".join([GZIP_HEADER, *pieces, tail])


def _padded(raw: bytes) -> bytes:
    return raw + bytes(-len(raw) % ALIGNMENT)


def _blob(name: str, texts: Sequence[str]) -> tuple[Array, Array]:
    """All texts end to end in UTF-8, and where each of them ends."""
    try:
        encoded = [text.encode() for text in texts]
    except UnicodeEncodeError:
        encoded = [well_formed(text).encode() for text in texts]
    ends = np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)))
    if len(ends) and ends[-1] > MOST_BYTES:
        raise IsothermError(
            f"{name} have {ends[-1]:,} bytes in all; a page can hold 4 GiB: give openings of them"
        )
    return np.frombuffer(b"".join(encoded), np.uint8), ends.astype(np.uint32)


def _texts(blob: Array, ends: Array) -> list[str]:
    raw, marks = blob.tobytes(), [0, *ends.tolist()]
    return [raw[start:end].decode() for start, end in pairwise(marks)]
