"""Records of tables: CSV and TSV files, data frames, and files of Arrow."""

from __future__ import annotations

import csv
import itertools
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from isotherm._types import RowStates
from isotherm.data import frames
from isotherm.errors import IsothermError
from isotherm.text import headers
from isotherm.text.opening import inner_name, read_lines
from isotherm.text.problems import Problems
from isotherm.text.records import Columns, Record

# Characters of the longest field; the csv module's own limit is too small for text.
LONGEST_FIELD = 1 << 30
# Lines by which the layout of a file is told.
SAMPLE = 200
# A first line by which Excel is told what parts the fields.
_SEPARATOR = re.compile(r"sep=(.)\s*$", re.IGNORECASE)


def csv_records(
    path: Path, encoding: str, problems: Problems, columns: Columns
) -> Iterator[Record]:
    """One record to a row, named by the header, or by numbers of columns where there is none.

    A quoted field may go over several lines; then the line told is the one where the row ends.
    """
    lines = (line.text for line in read_lines(path, encoding, problems))
    before = csv.field_size_limit(LONGEST_FIELD)
    try:
        sample = list(itertools.islice(lines, SAMPLE))
        blank = sum(1 for _ in itertools.takewhile(lambda line: not line.strip(), sample))
        told = _SEPARATOR.match(sample[blank]) if blank < len(sample) else None
        first = blank + (told is not None)
        if first >= len(sample):
            return
        layout = _layout(path, sample[first:], told[1] if told else None, columns)
        columns.header = layout.header
        rows = csv.reader(
            itertools.chain(sample[first:], lines), delimiter=layout.delimiter or ",", strict=True
        )
        yield from _rows(rows, layout, first, path, problems)
    finally:
        csv.field_size_limit(before)


class _Layout(NamedTuple):
    """What parts the fields (None: there is one field), and whether the first row names them."""

    delimiter: str | None
    header: bool
    width: int


def _layout(path: Path, sample: list[str], told: str | None, columns: Columns) -> _Layout:
    tabs = inner_name(path).endswith((".tsv", ".tab")) and "\t" in sample[0]
    delimiter = told or ("\t" if tabs else headers.delimiter_of(sample))
    rows = headers.sample_rows(sample, delimiter or ",") or [sample[0].split(delimiter)]
    if delimiter is None:
        rows = [[",".join(row)] for row in rows]
    header = columns.header
    if header is None:
        names = [cell.strip() for cell in rows[0]]
        given = columns.given()
        header = True if given and set(given) <= set(names) else headers.has_header(rows)
    if header is None:
        raise IsothermError(
            f"{path}: it cannot be told whether the first line, {rows[0]!r:.100}, names the "
            "columns; give header=True if it does, header=False if it is a document.",
            parameter="header",
        )
    return _Layout(delimiter, header, Counter(map(len, rows)).most_common(1)[0][0])


def _rows(
    rows: RowStates, layout: _Layout, skipped: int, path: Path, problems: Problems
) -> Iterator[Record]:
    names = None if layout.header else [f"column {i}" for i in range(1, layout.width + 1)]
    wanted = "the header has" if layout.header else "other rows have"
    while True:
        begin = rows.line_num + 1
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            begin += skipped
            at = rows.line_num + skipped
            span = f" (the row begins on line {begin})" if at > begin else ""
            problems.add(str(path), at, f"no valid row: {error}{span}")
            continue
        at = rows.line_num + skipped
        if layout.delimiter is None and len(row) > 1:
            row = [",".join(row)]  # the commas of a text that nobody has quoted
        if names is None:
            names = _header(row, path)
        elif not any(field.strip() for field in row):
            continue
        elif len(row) != len(names):
            problems.add(str(path), at, f"{len(row)} fields where {wanted} {len(names)}")
        else:
            yield Record(at, dict(zip(names, row, strict=True)))


def _header(row: list[str], path: Path) -> list[str]:
    # pandas writes a column of row numbers without a name.
    names = [name.strip() or f"column {i}" for i, name in enumerate(row, 1)]
    if len(set(names)) != len(names):
        raise IsothermError(
            f"{path}: the first line, {row!r:.200}, is no header; it must name the columns, each "
            "once. Add one, or give header=False if it is a document.",
            parameter="header",
        )
    return names


def frame_records(frame: object) -> Iterator[Record]:
    """One record to a row of a data frame, numbered from 1 on."""
    for number, values in enumerate(frames.read_rows(frame), 1):
        yield Record(number, {str(name): value for name, value in values.items()})
