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
from isotherm.text.records import Record

# What may part the fields of a .csv file; the one that its header has most of does.
DELIMITERS = ",;\t|"
# Characters of the longest field; the csv module's own limit is too small for text.
LONGEST_FIELD = 1 << 30


def csv_records(path: Path, encoding: str, problems: Problems) -> Iterator[Record]:
    """One record to a row, named by the header.

    A quoted field may go over several lines; then the line told is the one where the row ends.
    """
    lines = (line.text for line in read_lines(path, encoding, problems))
    first = next(lines, "")
    if not first.strip():
        return
    delimiter = "\t" if inner_name(path).endswith((".tsv", ".tab")) else _delimiter(first)
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
        elif not any(field.strip() for field in row):
            continue
        elif len(row) != len(header):
            reason = f"{len(row)} fields where the header has {len(header)}"
            problems.add(str(path), rows.line_num, reason)
        else:
            yield Record(rows.line_num, dict(zip(header, row, strict=True)))


def _header(row: list[str], path: Path) -> list[str]:
    names = [name.strip() for name in row]
    if len(set(names)) != len(names) or not all(names):
        raise IsothermError(
            f"{path}: the first line, {row!r:.200}, is no header; it must name every column, each "
            "once. Add one, or give the texts as a list."
        )
    return names


def _delimiter(header: str) -> str:
    return max(DELIMITERS, key=header.count)


def frame_records(frame: Any) -> Iterator[Record]:
    """One record to a row of a data frame, numbered from 1 on."""
    for number, values in enumerate(frames.read_rows(frame), 1):
        yield Record(number, {str(name): value for name, value in values.items()})
