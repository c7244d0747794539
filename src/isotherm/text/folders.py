"""Documents of a folder: each file is read as what it is, and what is no document is named."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from isotherm.errors import IsothermError
from isotherm.text import kinds
from isotherm.text.opening import head_of, is_bytes, read_text
from isotherm.text.reading import Reading
from isotherm.text.records import Columns, Document, Record

# Formats that look like any other text; files of the others can be told from it.
PLAIN = ("lines", "csv", "html", "smart", "trec")
Records = Callable[[Path, str, Columns], Iterator[Record]]


def folder_documents(
    folder: Path,
    given: str | None,
    encoding: str,
    reading: Reading,
    columns: Columns,
    read: Records,
) -> Iterator[Document]:
    """Documents of all files below a folder, in the order of their names.

    What isotherm wrote itself is passed over, and so are tables that are counted already; files
    that are no text, folders that cannot be opened and links that lead nowhere or to folders are
    problems. What has a name that begins with a dot is only counted.

    Parameters
    ----------
    folder : Path
    given : str or None
        Format of the files; "folder" for one document to a file whatever its name.
    encoding : str
    reading : Reading
    columns : Columns
        What the caller says of columns; each file has its own otherwise.
    read : function
        From a path, a format and columns to records.
    """
    last: dict[str, Columns] = {}
    for path in _files_below(folder, reading):
        inside = path.relative_to(folder)
        try:
            kind = _format(path, given, encoding, reading)
            if kind is None:
                continue
            mine = replace(columns, inside=inside.as_posix(), before=last.get(kind))
            if kind == "text":
                stream = _text(path, inside, encoding, reading)
            else:
                records = read(path, kind, mine)
                stream = _in_folder(mine.documents(records, str(path), reading.problems), inside)
            empty = True
            for document in reading.noted(stream, kind, mine, path):
                empty = False
                last[kind] = mine
                yield document
            if empty:
                reading.skip(path, "no documents in it" if path.stat().st_size else "is empty")
        except IsothermError as error:
            if reading.problems.errors == "raise":
                raise
            reading.skip(path, str(error).removeprefix(f"{path} "), wrong=True)


def _text(path: Path, inside: Path, encoding: str, reading: Reading) -> Iterator[Document]:
    text = read_text(path, encoding, reading.problems)
    yield Document(inside.as_posix(), text, {"folder": inside.parent.as_posix()}, f"{path}:1")


def _in_folder(documents: Iterator[Document], inside: Path) -> Iterator[Document]:
    """The same with the folder that they are in as a field, unless they have one of that name."""
    folder = inside.parent.as_posix()
    for document in documents:
        yield document._replace(fields={"folder": folder, **document.fields})


def _format(path: Path, given: str | None, encoding: str, reading: Reading) -> str | None:
    """What a file is to be read as; None, and noted, if it is passed over."""
    head = head_of(path)
    what = kinds.own_file(path, head)
    if what is not None:
        reading.skip(path, what)
        return None
    kind = kinds.inner_format(path)
    if kind in kinds.BAGS:
        reading.skip(path, f"a table that is counted already ({kind}); give the file itself")
        return None
    if given is not None and given != kind:
        if given != "folder" and not (kind == "text" and given in PLAIN):
            reading.skip(path, f"is {kind}, and {given} was asked for")
            return None
        kind = "text" if given == "folder" else given
    binary = None if kind in ("parquet", "arrow") else kinds.foreign(head)
    if binary is not None:
        reading.skip(path, f"is not a text file but {binary}", wrong=True)
        return None
    if kind == "text" and b"\0" in head and is_bytes(head, encoding):
        reason = "is not a text file; it holds zero bytes"
        if head.count(0) > len(head) // 8:
            reason += " (UTF-16 without a mark needs encoding='utf-16-le')"
        reading.skip(path, reason, wrong=True)
        return None
    return kind


def _files_below(folder: Path, reading: Reading) -> list[Path]:
    """Files below a folder in the order of their names, at any depth."""

    def closed(error: OSError) -> None:
        reading.skip(Path(str(error.filename)), f"cannot be opened ({error.strerror})", wrong=True)

    what = kinds.own_folder(folder)
    if what is not None:
        raise IsothermError(f"{folder} is {what}, not a folder of documents.")
    below: list[Path] = []
    for place, folders, names in os.walk(folder, onerror=closed):
        reading.n_hidden += sum(name.startswith(".") for name in (*folders, *names))
        folders[:] = sorted(name for name in folders if _is_to_be_read(Path(place, name), reading))
        for name in (name for name in names if not name.startswith(".")):
            path = Path(place, name)
            if path.is_file():
                below.append(path)
            elif path.is_symlink():
                reading.skip(path, "is a link to nothing", wrong=True)
            else:
                reading.skip(path, "is no file but a pipe or a device", wrong=True)
    return sorted(below)


def _is_to_be_read(folder: Path, reading: Reading) -> bool:
    if folder.name.startswith("."):
        return False
    if folder.is_symlink():
        reading.skip(folder, "is a link to a folder; not followed", wrong=True)
        return False
    what: Any = kinds.own_folder(folder)
    if what is not None:
        reading.skip(folder, what)
    return what is None
