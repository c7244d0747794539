"""What was read as what: kept while documents go by, and said at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from isotherm.text.problems import KEPT, Problem, Problems
from isotherm.text.records import Columns, Document

__all__ = ["Reading", "Taken"]

# So much is shown of a list, of a text, and of a line.
SHOWN, LISTED, OPENING, WIDTH = 5, 10, 200, 79
# What files of a format are called: one of them, and several.
FILES = {
    "text": ("text file, one document", "text files, one document each"),
    "lines": ("text file, one document to a line", "text files, one document to a line"),
    "jsonl": ("file of JSON lines", "files of JSON lines"),
    "json": ("JSON file", "JSON files"),
    "csv": ("CSV file", "CSV files"),
    "html": ("HTML or XML file without its tags", "HTML or XML files without their tags"),
    "smart": ("SMART collection", "SMART collections"),
    "trec": ("file of TREC documents", "files of TREC documents"),
    "parquet": ("Parquet file", "Parquet files"),
    "arrow": ("Arrow file", "Arrow files"),
}
VALUES = {"items": "Python values", "frame": "a data frame"}


@dataclass
class Taken:
    """What was taken from the files of one format whose columns are the same.

    Attributes
    ----------
    format : str
        "text" for files that are one document each, "items" and "frame" for what is no file.
    text_column, id_column : str, sequence of str, or None
    n_files, n_documents : int
    endings : mapping from str to int
        How many files have each ending.
    columns : tuple of str
        All columns of the first records.
    header : bool or None
        Whether the columns of a CSV file are named by its first line.
    first : Document
    is_inside : bool
        Whether the files are those of a folder.
    """

    format: str
    text_column: str | Sequence[str] | None
    id_column: str | None
    first: Document
    columns: tuple[str, ...] = ()
    header: bool | None = None
    is_inside: bool = False
    n_files: int = 0
    n_documents: int = 0
    endings: Counter[str] = field(default_factory=Counter)

    def lines(self, source: Path | None) -> list[str]:
        """What to say of it: how much of what, which columns, and how it begins."""
        said = f"{_number(self.n_documents, 'document')} from {self._files()}"
        columns = self._columns()
        opening = " ".join(self.first.text[: 8 * OPENING].split())[:OPENING]
        where, _, line = self.first.source.rpartition(":")
        return [said, *columns, _cut(f"  {_within(where, source)}:{line}: {opening}")]

    def _files(self) -> str:
        if self.format in VALUES:
            return VALUES[self.format]
        said = f"{self.n_files:,} {FILES[self.format][self.n_files != 1]}"
        if self.header is False:
            said += " without a header"
        if self.format != "text":
            return said
        endings = ", ".join(
            f"{ending or 'no ending'} {number:,}" for ending, number in self.endings.most_common(3)
        )
        return f"{said} ({endings}{', ...' if len(self.endings) > 3 else ''})"

    def _columns(self) -> list[str]:
        if self.format in ("text", "lines", "html") or self.text_column is None:
            return []
        names = [self.text_column] if isinstance(self.text_column, str) else [*self.text_column]
        if self.columns == ("text",) and names == ["text"]:
            return []
        said = [f"text from {' and '.join(map(repr, names))}"]
        unnamed = "names: file and line" if self.is_inside else "documents are numbered"
        said.append(unnamed if self.id_column is None else f"names: {self.id_column!r}")
        others = [name for name in self.columns if name not in names and name != self.id_column]
        if others:
            more = ", ..." if len(others) > SHOWN else ""
            said.append(f"fields: {', '.join(others[:SHOWN])}{more}")
        return [_cut(f"  {'; '.join(said)}")]


@dataclass
class Reading:
    """What was read so far, what was passed over, and what could not be read.

    Attributes
    ----------
    problems : Problems
    taken : list of Taken
    skipped : list of Problem
        Files and folders that were passed over, and why; the first 1000 of `n_skipped`.
    n_hidden : int
        Files and folders whose names begin with a dot.
    """

    problems: Problems
    taken: list[Taken] = field(default_factory=list)
    skipped: list[Problem] = field(default_factory=list)
    n_skipped: int = 0
    n_hidden: int = 0

    def skip(self, path: Path, reason: str, *, wrong: bool = False) -> None:
        """Note a file or folder that is passed over; `wrong` makes it a problem as well."""
        if wrong:
            self.problems.add(str(path), 0, reason)
        self.n_skipped += 1
        if len(self.skipped) < KEPT:
            self.skipped.append(Problem(str(path), 0, " ".join(reason.split())[:300]))

    def noted(
        self, documents: Iterator[Document], kind: str, columns: Columns, path: Path | None = None
    ) -> Iterator[Document]:
        """The same documents, while it is noted where they come from."""
        one: Taken | None = None
        for document in documents:
            if one is None:
                one = self._same(kind, columns, document)
                if path is not None:
                    one.n_files += 1
                    one.endings[path.suffix.lower()] += 1
            one.n_documents += 1
            if not one.first.text:
                one.first = document
            yield document

    def _same(self, kind: str, columns: Columns, first: Document) -> Taken:
        for one in self.taken:
            if (one.format, one.text_column, one.id_column, one.header) == (
                *(kind, columns.text, columns.id),
                columns.header,
            ):
                return one
        new = Taken(
            *(kind, columns.text, columns.id, first, columns.names, columns.header),
            is_inside=columns.inside is not None,
        )
        self.taken.append(new)
        return new

    def lines(self, source: Path | None) -> list[str]:
        """All that there is to say, in lines; names are those within the source."""
        said = [line for one in self.taken for line in one.lines(source)]
        if self.n_skipped:
            said.append(
                f"{_number(self.n_skipped, 'file or folder', 'files or folders')} passed over"
            )
            shown = self.skipped[:LISTED]
            said += [_cut(f"  {_within(one.file, source)}: {one.reason}") for one in shown]
            if self.n_skipped > LISTED:
                said.append(f"  and {self.n_skipped - LISTED:,} more")
        if self.n_hidden:
            hidden = _number(self.n_hidden, "hidden file or folder", "hidden files or folders")
            said.append(f"{hidden} not read")
        return said


def _within(file: str, source: Path | None) -> str:
    path = Path(file)
    if source is not None and path.is_relative_to(source):
        return path.name if path == source else path.relative_to(source).as_posix()
    return file


def _number(number: int, noun: str, nouns: str | None = None) -> str:
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def _cut(line: str) -> str:
    return line if len(line) <= WIDTH else line[: WIDTH - 3].rstrip() + "..."
