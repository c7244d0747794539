"""What a file is by its name and its first bytes, so that nothing is read as what it is not."""

from __future__ import annotations

import json
import re
from pathlib import Path

from isotherm.data import _stored_file
from isotherm.errors import IsothermError
from isotherm.format.atomic import PAGE_MARK, RUN_ABOUT, RUN_BEGUN, RUN_FORMAT
from isotherm.text.opening import head_of, inner_name, start_of

# Formats of documents and of tables that are counted already.
DOCUMENTS = tuple("folder lines jsonl json csv html smart trec parquet arrow".split())
BAGS = tuple("uci ldac vw matrix-market npz npy".split())
ENDINGS = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json",
    ".csv": "csv", ".tsv": "csv", ".tab": "csv",
    ".parquet": "parquet", ".pq": "parquet",
    ".feather": "arrow", ".arrow": "arrow", ".ipc": "arrow",
    ".html": "html", ".htm": "html", ".xhtml": "html",
    ".trec": "trec", ".sgml": "trec", ".sgm": "trec",
    ".ldac": "ldac", ".lda-c": "ldac", ".vw": "vw",
    ".mtx": "matrix-market", ".mm": "matrix-market", ".npz": "npz", ".npy": "npy",
    ".txt": "lines", ".text": "lines", ".lines": "lines",
}  # fmt: skip
# First bytes of files that hold no text.
SIGNATURES = {
    b"%PDF-": "a PDF file",
    b"{\\rtf": "a file of RTF",
    b"PK\x03\x04": "a zip archive, or a document of an office program",
    b"\xd0\xcf\x11\xe0": "a document of an office program",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"II*\0": "a picture",
    b"MM\0*": "a picture",
    b"RIFF": "sound, video or a picture",
    b"ID3": "sound",
    b"OggS": "sound",
    b"\x1f\x8b": "compressed once more, or its name lacks .gz",
    b"BZh": "compressed once more, or its name lacks .bz2",
    b"\xfd7zXZ": "compressed once more, or its name lacks .xz",
    b"7z\xbc\xaf": "an archive, which must be unpacked first",
    b"Rar!": "an archive, which must be unpacked first",
    b"SQLite format 3": "a database",
    b"\x7fELF": "a program",
}
TAPE = slice(257, 262)  # where an archive of tar says that it is one
# How the file that `isotherm count` writes beside its counts begins.
_BESIDE = re.compile(rb'\{"counting": (\{|null\})')
_LDAC = re.compile(rb"\d+(?: +\d+:\d+)+\s*$")
_UCI = re.compile(rb"\d+\s*\n\d+\s*\n\d+\s*\n\d+ \d+ \d+\s*$", re.MULTILINE)
_OBJECT = re.compile(rb'\{\s*"(?:[^"\\]|\\.)*"\s*:')
_LIST = re.compile(rb'\[\s*(?:\{\s*"|"(?:[^"\\]|\\.)*"\s*[,\]])')
_PAGE = re.compile(
    rb"(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b", re.I | re.S
)
_PICTURE = re.compile(rb"(?:<\?xml[^>]*>\s*)?(?:<!.*?>\s*)*<svg\b", re.I | re.S)


def own_folder(folder: Path) -> str | None:
    """What a folder is, if isotherm wrote it."""
    for name, wanted, what in (
        (RUN_ABOUT, RUN_FORMAT, "a run of isotherm"),
        (RUN_BEGUN, RUN_FORMAT, "an unfinished run of isotherm"),
        (_stored_file.ABOUT, _stored_file.FORMAT, "counts of isotherm"),
    ):
        try:
            about = json.loads((folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(about, dict) and about.get("format") == wanted:
            return what
    return None


def own_file(path: Path, head: bytes) -> str | None:
    """What a file is, if isotherm wrote it."""
    if PAGE_MARK.encode() in head:
        return "a page of isotherm"
    if _BESIDE.match(head):
        return "what isotherm count keeps of documents beside their counts"
    if head.startswith(b"PK\x03\x04") and head[30:].startswith((b"arrays/", b"meta.json")):
        return "a file of isotherm"
    return None


def foreign(head: bytes) -> str | None:
    """What a file is that holds no text to read, by its first bytes."""
    for mark, what in SIGNATURES.items():
        if head.startswith(mark):
            return what
    if head[TAPE] == b"ustar":
        return "an archive, which must be unpacked first"
    return "a picture" if _PICTURE.match(head.lstrip()) else None


def named_format(path: Path) -> str | None:
    """Format by the name of a file alone."""
    name = inner_name(path)
    kind = ENDINGS.get(Path(name).suffix)
    return "uci" if kind in (None, "lines") and name.startswith("docword") else kind


def sniffed(head: bytes) -> str | None:
    """Format by the first bytes of a file, None if they are no sign of one."""
    start = head.lstrip()
    first, end, _ = start.partition(b"\n")
    first = first.strip()
    if re.match(rb"\.I(\s+\S+)?$", first):
        return "smart"
    if start[:5].lower() == b"<doc>":
        return "trec"
    if start[:14].lower() == b"%%matrixmarket":
        return "matrix-market"
    if _UCI.match(start):
        return "uci"
    if _LDAC.match(first):
        return "ldac"
    if _OBJECT.match(start):
        return "jsonl" if not end or first.endswith(b"}") else "json"
    if _LIST.match(start):
        return "json"
    return "html" if _PAGE.match(start) else None


def file_format(path: Path) -> str:
    """Format of a file that stands alone; an error that says what it is if none fits."""
    kind = named_format(path)
    head = start_of(path)
    what = own_file(path, head)
    if what is not None:
        if head.startswith(b"PK"):
            raise IsothermError(
                f"{path} is a zip archive: what isotherm saved, not documents.",
                parameter="source",
                in_python="; isotherm.load reads it, unless it is cut off",
            )
        raise IsothermError(f"{path} is {what}, not documents.", parameter="source")
    if kind not in (None, "lines", "json"):
        return str(kind)
    if head.startswith(b"PK\x03\x04"):
        raise IsothermError(
            f"{path} is a zip archive: packed documents, which must be unpacked first, or what "
            "isotherm saved.",
            parameter="source",
            in_python="; isotherm.load reads that, unless it is cut off",
        )
    binary = foreign(head)
    if binary is not None:
        raise IsothermError(
            f"{path} is {binary}; save its text, or give format= if it is text after all.",
            parameter="format",
        )
    choice = kind if kind == "json" else sniffed(head) or kind
    if choice is None:
        raise IsothermError(
            f"the format of {path} is not known by its name or its first bytes; give format= one "
            f"of {', '.join((*DOCUMENTS[1:], *BAGS))}.",
            parameter="format",
        )
    return choice


def inner_format(path: Path) -> str:
    """Format of a file in a folder: "text" for one that is a document itself."""
    kind, head = named_format(path), head_of(path)
    if kind in BAGS or (kind in (None, "lines") and sniffed(head) in BAGS):
        return str(kind if kind in BAGS else sniffed(head))
    if kind not in (None, "lines"):
        return str(kind)
    start = start_of(path)
    if start.lstrip()[:5].lower() == b"<?xml":
        return "html"
    return sniffed(start) or "text"
