"""Records of tables: CSV and TSV files, data frames, and files of Arrow."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from isotherm.data import frames
from isotherm.errors import IsothermError
from isotherm.text.opening import inner_name, read_lines
from isotherm.text.problems import Problems
from isotherm.text.records import IDS, TEXTS, Record

# What may part the fields of a .csv file; the one that its header has most of does.
DELIMITERS = ",;\t|"
# Characters of the longest field; the csv module's own limit is too small for text.
LONGEST_FIELD = 1 << 30
# A first line with one of these is a header.
KNOWN = frozenset((*IDS, *TEXTS, "title", "name", "label"))


def csv_records(path: Path, encoding: str, problems: Problems) -> Iterator[Record]:
    """One record to a row, named by the header.

    A quoted field may go over several lines; then the line told is the one where the row ends.
    """
    lines = (line.text for line in read_lines(path, encoding, problems))
    first = next(lines, "")
    if not first.strip():
        return
    tabs = inner_name(path).endswith((".tsv", ".tab")) and "\t" in first
    delimiter = "\t" if tabs else _delimiter(first)
    before = csv.field_size_limit(LONGEST_FIELD)
    try:
        # In strict mode a quote that nothing closes is an error; else it would swallow the rest.
        rows = csv.reader(_from(first, lines), delimiter=delimiter, strict=True)
        yield from _rows(rows, path, problems)
    finally:
        csv.field_size_limit(before)


def _from(first: str, lines: Iterator[str]) -> Iterator[str]:
    yield first
    yield from lines


def _rows(rows: Any, path: Path, problems: Problems) -> Iterator[Record]:
    header: list[str] | None = None
    while True:
        begin = rows.line_num + 1
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            span = f" (the row begins on line {begin})" if rows.line_num > begin else ""
            problems.add(str(path), rows.line_num, f"no valid row: {error}{span}")
            continue
        if header is None:
            header = _header(row, path)
            if not set(map(str.lower, header)).intersection(KNOWN) and _holds_number(header):
                problems.add(str(path), rows.line_num, f"{row!r:.100} was taken for the header")
        elif not any(field.strip() for field in row):
            continue
        elif len(row) != len(header):
            reason = f"{len(row)} fields where the header has {len(header)}"
            problems.add(str(path), rows.line_num, reason)
        else:
            yield Record(rows.line_num, dict(zip(header, row, strict=True)))


def _header(row: list[str], path: Path) -> list[str]:
    # pandas writes a column of row numbers without a name.
    names = [name.strip() or f"column {i}" for i, name in enumerate(row, 1)]
    if len(set(names)) != len(names):
        raise IsothermError(
            f"{path}: the first line, {row!r:.200}, is no header; it must name the columns, each "
            "once. Add one, or give the texts as a list."
        )
    return names


def _holds_number(names: list[str]) -> bool:
    """Whether some name is a number, as fields of data may be and names are not."""
    return any(name.replace(".", "", 1).removeprefix("-").isdecimal() for name in names)


def _delimiter(header: str) -> str:
    return max(DELIMITERS, key=header.count)


def frame_records(frame: Any) -> Iterator[Record]:
    """One record to a row of a data frame, numbered from 1 on."""
    for number, values in enumerate(frames.read_rows(frame), 1):
        yield Record(number, {str(name): value for name, value in values.items()})
