"""What a source is: its format, by its name, its first bytes or its type, and its documents."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from isotherm.data import frames
from isotherm.errors import IsothermError
from isotherm.text import arrow, folders, kinds, pages, readers, tables
from isotherm.text.kinds import BAGS, DOCUMENTS
from isotherm.text.opening import check_encoding
from isotherm.text.problems import Problem, Problems, check_errors
from isotherm.text.reading import Reading
from isotherm.text.records import Columns, Document, Record

__all__ = ["Documents", "read_documents"]


class Documents:
    """Documents of a source, one after the other; may be gone through once.

    Attributes
    ----------
    format : str
    problems : list of Problem
        What could not be read so far (the first 1000).
    text_column, id_column : str or None
        Where text and names are taken from, known when the first document is.
    """

    def __init__(
        self, stream: Iterator[Document], kind: str, reading: Reading, columns: Columns
    ) -> None:
        self._stream = stream
        self._reading = reading
        self._columns = columns
        self.format = kind

    def __iter__(self) -> Iterator[Document]:
        return self._stream

    def __next__(self) -> Document:
        return next(self._stream)

    @property
    def problems(self) -> list[Problem]:
        """What could not be read so far."""
        return list(self._reading.problems.kept)

    @property
    def noted(self) -> Problems:
        """The same, with their number."""
        return self._reading.problems

    @property
    def reading(self) -> Reading:
        """What was read as what so far, and what was passed over."""
        return self._reading

    @property
    def text_column(self) -> str | Sequence[str] | None:
        """Column of the text."""
        return next((one.text_column for one in self._reading.taken), self._columns.text)

    @property
    def id_column(self) -> str | None:
        """Column of the name."""
        return next((one.id_column for one in self._reading.taken), self._columns.id)


def read_documents(
    source: Any,
    *,
    format: str | None = None,
    text_column: str | Sequence[str] | None = None,
    id_column: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    errors: str = "report",
) -> Documents:
    """Documents of files, folders, data frames or iterables, one after the other.

    Parameters
    ----------
    source : path, data frame, or iterable
        A folder of files, each read as what it is; a file of one document to a line, of JSON
        lines, of a JSON list, CSV or TSV, HTML, Parquet, Feather or Arrow, or a collection of SMART
        or TREC, also compressed (.gz, .bz2, .xz, and .zst from Python 3.14 on). An iterable of
        str, of (id, text), of dicts, or of paths of which each is one document; a mapping from ids
        to texts.
    format : str, optional
        "lines", "jsonl", "json", "csv", "html", "smart", "trec", "parquet" or "arrow", also of the
        files in a folder; "folder" for one document to each of them. Told by name and first bytes
        if not given.
    text_column : str or sequence of str, optional
        Where the text stands; several columns are put one below the other. Guessed by name if not
        given, or else by length.
    id_column : str, optional
        Where the names of documents stand. Guessed by name; without one they are numbered from 0.
    header : bool, optional
        Whether the first line of a CSV file names its columns. Told by the rows if not given; an
        error if they do not tell. Without one, columns are "column 1", "column 2", ...
    encoding : str
        Lines in another encoding are read as cp1252 and reported, once for each file; an error if
        that cannot be right either.
    errors : {"report", "raise"}
        Whether lines that cannot be read are left out and listed in `problems`, or end the reading.

    Returns
    -------
    Documents
        An iterator of `Document`, with `problems`, and `reading` of what was read as what.

    Examples
    --------
    >>> [document.text for document in read_documents([("a", "one"), ("b", "two")])]
    ['one', 'two']
    """
    reading = Reading(Problems(check_errors(errors)))
    check_encoding(encoding)
    if header not in (None, True, False):
        raise IsothermError(
            f"header={header!r:.100}; give True, False or None.", parameter="header"
        )
    columns = Columns(_checked_columns(text_column), _checked_name(id_column), header=header)
    kind = format_of(source, format)
    if kind in BAGS:
        raise IsothermError(
            f"{source!s:.200} is a table that is counted already ({kind}), without texts to read; "
            "use count_words, or give format= if it is something else.",
            parameter="format",
        )
    if kind == "folder":
        stream = folders.folder_documents(
            *(Path(source), format, encoding, reading, columns),
            lambda path, kind, columns: _records(path, kind, encoding, reading.problems, columns),
        )
    else:
        path = None if kind in ("items", "frame") else Path(source)
        plain = _stream(source, kind, encoding, reading.problems, columns)
        stream = reading.noted(plain, kind, columns, path)
    return Documents(stream, kind, reading, columns)


def format_of(source: object, given: str | None) -> str:
    """Name of the format of a source: "items" and "frame" for what is no path."""
    if given is not None and given not in (*DOCUMENTS, *BAGS):
        raise IsothermError(
            f"format={given!r} is unknown; use one of {', '.join((*DOCUMENTS, *BAGS))}, or leave "
            "it out.",
            parameter="format",
        )
    if isinstance(source, str | os.PathLike):
        return _file_format(_existing(source), given)
    if given is not None:
        raise IsothermError(
            f"format={given!r} is for files, but the source is {type(source).__name__}; leave it "
            "out.",
            parameter="format",
        )
    if isinstance(source, bytes | bytearray) or not (
        frames.is_frame(source) or isinstance(source, Iterable)
    ):
        raise IsothermError(
            f"the source is {type(source).__name__}; give a path, a data frame, or an iterable of "
            "str, (id, text) or dicts."
        )
    if isinstance(source, Mapping) and not all(isinstance(text, str) for text in source.values()):
        raise IsothermError(
            f"the source is {type(source).__name__} with other values than texts; give a mapping "
            "from names to texts, a data frame, or a list of dicts."
        )
    return "frame" if frames.is_frame(source) else "items"


def _existing(source: str | os.PathLike[str]) -> Path:
    try:
        path = Path(os.fspath(source))
        if path.is_file() or path.is_dir():
            return path
        if path.exists():
            raise IsothermError(
                f"{path} is a pipe or a device, which can be read only once; write what it holds "
                "to a file first."
            )
    except (OSError, TypeError):
        pass  # too long a name: no such file either
    except ValueError as error:
        if isinstance(error, IsothermError):
            raise
    raise IsothermError(
        f"there is no file or folder {os.fspath(source)!r:.200}; check its name. To count texts "
        "themselves, give a list of them."
    )


def _file_format(path: Path, given: str | None) -> str:
    if path.is_dir():
        if given in BAGS:
            raise IsothermError(
                f"{path} is a folder, not a file of format {given!r}.", parameter="format"
            )
        return "folder"
    if given == "folder":
        raise IsothermError(
            f"{path} is a file; format='folder' needs a folder.", parameter="format"
        )
    return kinds.file_format(path) if given is None else given


def _stream(
    source: Any, kind: str, encoding: str, problems: Problems, columns: Columns
) -> Iterator[Document]:
    if kind == "items":
        items = source.items() if isinstance(source, Mapping) else source
        return readers.item_documents(items, problems, columns)
    if kind == "frame":
        return columns.documents(tables.frame_records(source), "frame", problems)
    path = Path(source)
    records = _records(path, kind, encoding, problems, columns)
    return columns.documents(records, str(path), problems)


def _records(
    path: Path, kind: str, encoding: str, problems: Problems, columns: Columns
) -> Iterator[Record]:
    """Records of a file of documents."""
    if kind == "parquet":
        return arrow.parquet_records(path)
    if kind == "arrow":
        return arrow.arrow_records(path)
    if kind == "csv":
        return tables.csv_records(path, encoding, problems, columns)
    read = {
        "lines": readers.line_records,
        "jsonl": readers.json_line_records,
        "json": readers.json_records,
        "html": pages.page_records,
        "smart": readers.smart_records,
        "trec": readers.trec_records,
    }[kind]
    return read(path, encoding, problems)


def _checked_columns(given: object) -> str | tuple[str, ...] | None:
    if given is None or isinstance(given, str):
        return given
    names = tuple(given) if isinstance(given, Iterable) else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise IsothermError(
            f"text_column={given!r}; give the name of a column, or several names.",
            parameter="text_column",
        )
    return names


def _checked_name(given: object) -> str | None:
    if given is None or isinstance(given, str):
        return given
    raise IsothermError(
        f"id_column={given!r}; give the name of one column, or None.", parameter="id_column"
    )
