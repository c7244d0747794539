"""Records with named values to documents: which value is the text, which one the name."""

from __future__ import annotations

import itertools
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from isotherm.errors import IsothermError
from isotherm.text.problems import Problems

log = logging.getLogger("isotherm")

# Where text and names stand if nobody says so, most likely first.
TEXTS = tuple("text body content contents document words abstract message review comment".split())
# Judgements of TREC go by DOCNO, and its documents may have a DOCID as well.
IDS = ("id", "_id", "docno", "doc_id", "docid", "document_id", "uid", "uuid", "key")
# So many records are looked at before a column is chosen.
LOOKED_AT = 50
_ADDRESS = re.compile(r"\s*\w+://\S*\s*")


class Document(NamedTuple):
    """A text and what is known of it.

    Parameters
    ----------
    id : str
        Its own name, or its number from 0 on.
    text : str
    fields : mapping
        What else its record holds.
    source : str
        Where it was read, as "file:line".
    """

    id: str
    text: str
    fields: Mapping[str, object]
    source: str


class Record(NamedTuple):
    """Named values and the line where they stand."""

    line: int
    values: dict[str, Any]


@dataclass
class Columns:
    """Which columns hold text and name; filled in when the first records are seen.

    Parameters
    ----------
    text : str, sequence of str, or None
        Column of the text; several are put one below the other. None: guessed.
    id : str or None
        Column of the name. None: guessed, and the number of the document if there is none.
    header : bool or None
        Whether the first line of a CSV file names its columns. None: told by its rows.
    inside : str or None
        Name of the file in a folder, for documents without names of their own.
    before : Columns or None
        Those of the file before in a folder: a guess that fits once more is not made anew.
    """

    text: str | Sequence[str] | None = None
    id: str | None = None
    guessed: bool = False
    header: bool | None = None
    inside: str | None = None
    before: Columns | None = None
    names: tuple[str, ...] = ()

    def documents(
        self, records: Iterable[Record], file: str, problems: Problems, first: int = 0
    ) -> Iterator[Document]:
        """Documents of the records of one file; their numbers begin with `first`."""
        stream = iter(records)
        head = list(itertools.islice(stream, LOOKED_AT))
        if not head:
            return
        self._choose(head, file)
        names, column = self._names(), self.id
        number = first
        for line, values in itertools.chain(head, stream):
            text = _text(values, names, file, line, problems)
            if text is None:
                continue
            given = None if column is None else values.get(column)
            fields = {k: v for k, v in values.items() if k not in names and k != column}
            name = self._number(number, line) if _missing(given) else _name(given)
            yield Document(name, text, fields, f"{file}:{line}")
            number += 1

    def given(self) -> tuple[str, ...]:
        """Names of columns that the caller has given."""
        return (*(() if self.guessed else self._names()), *(() if self.id is None else (self.id,)))

    def _number(self, number: int, line: int) -> str:
        return str(number) if self.inside is None else f"{self.inside}:{line}"

    def _names(self) -> tuple[str, ...]:
        given = self.text
        return (given,) if isinstance(given, str) else tuple(given or ())

    def _choose(self, head: list[Record], file: str) -> None:
        found = list(dict.fromkeys(name for record in head for name in record.values))
        self.names = tuple(map(str, found))
        before = self.before
        if self.text is None and before is not None and before.guessed and before.text in found:
            self.text, self.guessed = before.text, True
        if self.text is None:
            self.text, self.guessed = _guess_text(head, found, file), True
            log.info("%s: the text is taken from column %r", file, self.text)
        for name in () if self.guessed else self._names():
            if name not in found:
                raise IsothermError(
                    f"text_column={name!r} is not in {file}; its columns are {few(found)}. "
                    "Name one of them.",
                    parameter="text_column",
                )
        if self.id is None:
            by_name = {name.lower(): name for name in reversed(found)}
            self.id = next((by_name[name] for name in IDS if name in by_name), None)
        elif self.id not in found:
            raise IsothermError(
                f"id_column={self.id!r} is not in {file}; its columns are {few(found)}. Name one "
                "of them, or leave it out to number the documents.",
                parameter="id_column",
            )


def _guess_text(head: list[Record], found: list[str], file: str) -> str:
    """A column with a telling name, or else the one with the most text."""
    lengths = dict.fromkeys(found, 0)
    for record in head:
        for name, value in record.values.items():
            if isinstance(value, str) and not _ADDRESS.fullmatch(value):
                # Numbers and dates are no text, however long.
                lengths[name] += sum(map(str.isalpha, value))
    by_name = {name.lower(): name for name in reversed(found) if lengths[name]}
    for name in TEXTS:
        if name in by_name:
            return by_name[name]
    best = max(found, key=lambda name: lengths[name], default=None)
    if best is None or not lengths[best]:
        raise IsothermError(
            f"{file} has no column of text; its columns are {few(found)}. Name the one to read "
            "with text_column=; counts are read as .mtx, .npz or .npy.",
            parameter="text_column",
        )
    return best


def _text(
    values: dict[str, object], names: tuple[str, ...], file: str, line: int, problems: Problems
) -> str | None:
    parts = []
    for name in names:
        value = values.get(name)
        if isinstance(value, str):
            parts.append(value)
        elif not _missing(value):
            kind = type(value).__name__
            problems.add(file, line, f"column {name!r} holds no text but {kind}")
            return None
    if not parts:
        problems.add(file, line, f"no text in {few(list(names))}")
        return None
    return parts[0] if len(parts) == 1 else "\n".join(parts)


def _name(value: object) -> str:
    # Tables that lack some numbers hold the others as floats: 7.0 is document 7.
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def _missing(value: object) -> bool:
    # pandas' markers are known by name, since pandas itself is not a dependency.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def few(names: Sequence[object], limit: int = 10) -> str:
    """The first names of a list, for a message."""
    shown = ", ".join(repr(name) for name in names[:limit]) or "none"
    return shown if len(names) <= limit else f"{shown}, ... ({len(names)} in all)"
