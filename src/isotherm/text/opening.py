"""Files of bytes as lines of text: compression and encodings."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from isotherm._types import Fields
from isotherm.errors import IsothermError
from isotherm.text.problems import Problems

COMPRESSED = (".gz", ".bz2", ".xz", ".lzma", ".zst")
# What readers of bytes raise when bytes are not what their name says.
BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError)
# Marks of UTF-16 and UTF-32, longest first, since one begins with the other.
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


# So many bytes outside of ASCII say something, and more than such a share of a line's letters says
# that its language is written in another script.
FEW, FOREIGN = 12, 0.5


class Line(NamedTuple):
    """A line of a file, with its end, and its number from 1 on."""

    number: int
    text: str


def inner_name(path: Path) -> str:
    """Name of a file in lower case without the ending of its compression."""
    name = path.name.lower()
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    return name


def check_encoding(encoding: str) -> str:
    """The name of an encoding, if Python knows it as one of text."""
    try:
        if not codecs.lookup(encoding)._is_text_encoding:
            raise LookupError
    except (LookupError, TypeError, ValueError) as error:
        raise IsothermError(
            f"encoding={encoding!r} is unknown; use the name of a text encoding, such as 'utf-8', "
            "'latin-1' or 'utf-16'.",
            parameter="encoding",
        ) from error
    return encoding


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked if its name says that it is compressed."""
    try:
        stream = _open(path)
    except OSError as error:
        raise IsothermError(
            f"{path} cannot be opened ({error.strerror or error}); check its name and rights."
        ) from error
    with stream:
        yield stream


def _open(path: Path) -> BinaryIO:
    openers: Fields = {".gz": gzip.open, ".bz2": bz2.open, ".zst": _open_zst}
    openers |= dict.fromkeys((".xz", ".lzma"), lzma.open)
    stream: BinaryIO = openers.get(path.suffix.lower(), _open_plain)(path)
    return stream


def _open_plain(path: Path) -> BinaryIO:
    return path.open("rb")


def _open_zst(path: Path) -> Any:
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise IsothermError(
            f"{path} is compressed with Zstandard, which needs Python 3.14 or newer. Unpack it "
            "first, or compress it with gzip, bzip2 or xz."
        ) from error
    return zstd.open(path)


def read_bytes(path: Path) -> bytes:
    """All bytes of a file, unpacked; an error that names the file if that fails."""
    with opened(path) as stream:
        try:
            return stream.read()
        except BROKEN as error:
            raise IsothermError(
                f"{path} is damaged or not compressed as its name says ({error}); "
                "unpack it by hand, or get a whole copy."
            ) from error


def read_text(path: Path, encoding: str, problems: Problems) -> str:
    """All text of a file; what is not in the encoding is read as cp1252 and reported."""
    data = read_bytes(path)
    marked = _marked(data[:4])
    if not marked:
        _check_text(path, data[:4096], encoding)
    try:
        return data.decode(marked or _signed(encoding))
    except UnicodeError as error:
        if marked or not _is_utf8(encoding):
            problems.add(str(path), 0, f"not {marked or encoding} ({error}); read as cp1252")
            return _windows(data)
        lines = data.splitlines(keepends=True)
        text, reason = _mended(path, lines)
        problems.add(str(path), 0, reason)
        return text


def read_lines(path: Path, encoding: str, problems: Problems) -> Iterator[Line]:
    """Lines of a text file one by one; those not in the encoding are read as cp1252.

    That is reported once for each file. A file that breaks off, as a truncated archive does, gives
    the lines before that and a problem.
    """
    head = head_of(path)
    marked = _marked(head)
    if not marked:
        _check_text(path, head, encoding)
    if marked or not _is_plain(encoding):
        text = read_text(path, encoding, problems)
        yield from (Line(i, line) for i, line in enumerate(_split(text), 1))
        return
    odd = 0
    for number, raw in _raw_lines(path, problems):
        try:
            text = raw.decode(encoding)
        except UnicodeError as error:
            if _is_utf8(encoding):
                text, reason = _mended(path, [raw])
            else:
                text, reason = _windows(raw), f"not {encoding} ({error}); read as cp1252"
            if not odd:
                problems.add(str(path), number, f"{reason}; such lines are reported once")
            odd += 1
        yield Line(number, text.removeprefix("\ufeff") if number == 1 else text)


def _mended(path: Path, lines: list[bytes]) -> tuple[str, str]:
    """Text of lines of which some are not UTF-8, and what to say of them.

    A line that has more good than bad signs is damaged UTF-8; others are of an older encoding of
    Western languages, unless nearly all their letters lie outside of ASCII.
    """
    parts, foreign, reason = [], b"", "not utf-8; read as cp1252"
    for line in lines:
        text = line.decode("utf-8", "replace")
        bad = text.count("\ufffd")
        if bad and sum(not sign.isascii() for sign in text) < 2 * bad:
            foreign += line
            text = _windows(line)
        elif bad:
            reason = "not utf-8 in some places, which are left out"
        parts.append(text)
    high = sum(byte > 127 for byte in foreign)
    low = sum(byte < 128 and chr(byte).isalpha() for byte in foreign)
    if high >= FEW and high > FOREIGN * (high + low):
        raise IsothermError(
            f"{path} is not UTF-8, and {high / (high + low):.0%} of its letters lie outside of "
            "ASCII, which is no Western encoding; give encoding=, such as 'cp1251', 'gb18030' or "
            "'shift_jis'.",
            parameter="encoding",
        )
    return "".join(parts), "not utf-8; read as cp1252" if foreign else reason


def _windows(data: bytes) -> str:
    """Text in cp1252, which is Latin-1 with quotes and a few letters more."""
    try:
        return data.decode("cp1252")
    except UnicodeError:
        return data.decode("latin-1")


def _check_text(path: Path, head: bytes, encoding: str) -> None:
    """Refuse a file in which many bytes are zero, as they are in UTF-16 and in no text of bytes."""
    if _is_plain(encoding) and head.count(0) > len(head) // 8:
        raise IsothermError(
            f"{path} holds zero bytes: it is no text, or UTF-16 without a mark, which needs "
            "encoding='utf-16-le'.",
            parameter="encoding",
        )


def is_bytes(head: bytes, encoding: str) -> bool:
    """Whether the signs of ASCII are single bytes in a file that begins so."""
    return _marked(head) is None and _is_plain(encoding)


def _is_utf8(encoding: str) -> bool:
    return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")


def _split(text: str) -> list[str]:
    # Not `splitlines`: it parts lines at signs that may stand within a field, such as U+2028.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [f"{line}\n" for line in lines[:-1]] + [line for line in lines[-1:] if line]


def _raw_lines(path: Path, problems: Problems) -> Iterator[tuple[int, bytes]]:
    number = 0
    with opened(path) as stream:
        try:
            for raw in stream:
                # Old Macintosh files end lines with a carriage return alone.
                if b"\r" in raw[:-2] and b"\r\n" not in raw:
                    for part in raw.replace(b"\r", b"\n").splitlines(keepends=True):
                        number += 1
                        yield number, part
                    continue
                number += 1
                yield number, raw
        except BROKEN as error:
            problems.add(str(path), number + 1, f"the file breaks off here ({error})")


def head_of(path: Path, size: int = 4096) -> bytes:
    """First bytes of a file, unpacked; nothing if it cannot be read."""
    with opened(path) as stream:
        try:
            return stream.read(size)
        except BROKEN:
            return b""


def start_of(path: Path) -> bytes:
    """First bytes of a file in UTF-8 without a mark, where a mark tells what they are."""
    head = head_of(path)
    marked = _marked(head)
    return head.decode(marked, "ignore").encode() if marked else head.removeprefix(codecs.BOM_UTF8)


def _marked(head: bytes) -> str | None:
    return next((name for mark, name in MARKS if head.startswith(mark)), None)


def _is_plain(encoding: str) -> bool:
    """Whether a line feed is one byte that is part of nothing else."""
    # A mark may come before the first line feed; others, such as EBCDIC, have another sign for it.
    try:
        return "\n".encode(encoding).removeprefix(codecs.BOM_UTF8) == b"\n"
    except UnicodeError:
        return False


def _signed(encoding: str) -> str:
    return "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
