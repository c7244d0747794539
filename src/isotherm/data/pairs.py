"""Tables of pairs: (left, right) or (left, right, count), from files, frames or any iterable.

A pair may be an adjective and its noun, a verb and its object, a customer and a product: whatever
meets. What comes out is `Counts` with the left side as rows.
"""

from __future__ import annotations

import csv
import gzip
import logging
import math
import os
import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from isotherm._types import Array
from isotherm.data import frames
from isotherm.data.counts import Counts
from isotherm.errors import IsothermError

log = logging.getLogger("isotherm")

__all__ = ["keep_frequent", "read_pairs"]

# So many broken lines are shown; the rest is counted.
SHOWN = 5
DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}


class _Line(NamedTuple):
    number: int
    fields: list[str]


def read_pairs(
    table: Array,
    *,
    left: str | None = None,
    right: str | None = None,
    count: str | None = None,
) -> Counts:
    """Counts of a table of pairs: left labels are rows, right labels are columns.

    Parameters
    ----------
    table : path, data frame, iterable of tuples, mapping, or Counts
        A file `.tsv`, `.txt` (tabs) or `.csv` (commas), also with `.gz`: two labels on each line,
        and how often they met where there is a third field. The first line is a header if its
        third field is no number, or if `left` and `right` name fields of it. A frame: the first
        two columns and, if there is one, the third, or those that are named. Tuples: (left, right)
        or (left, right, count). A mapping, such as a Counter: (left, right) to counts.
    left, right, count : str, optional
        Names of the columns of a frame or of a file with a header.

    Returns
    -------
    Counts
        Pairs that repeat are added up.
    """
    if isinstance(table, Counts):
        return table
    if (left is None) != (right is None) or (count is not None and left is None):
        raise IsothermError(
            f"left={left!r}, right={right!r}, count={count!r}; name both sides (and the count, if "
            "there is one), or none of them",
            parameter="left",
        )
    if isinstance(table, str | os.PathLike):
        return _read_file(Path(table), left, right, count)
    if frames.is_frame(table):
        return _read_frame(table, left, right, count)
    if left is not None:
        raise IsothermError(
            f"left={left!r} names a column, but {type(table).__name__} has no names; give a data "
            "frame or a file with a header, or leave the names out",
            parameter="left",
        )
    if not hasattr(table, "__iter__"):
        raise IsothermError(
            f"got {type(table).__name__}; give the path of a .tsv or .csv file, a data frame, or "
            "tuples (left, right) or (left, right, count)"
        )
    return Counts.from_triples(table)


def keep_frequent(counts: Counts, min_count: float) -> Counts:
    """Counts of the rows and columns with a total above 0 and of at least `min_count`.

    Leaving out a column may take a row below the limit, so this is repeated until nothing changes.
    """
    kept = counts
    while True:
        totals = kept.row_totals, kept.column_totals
        rows, columns = ((total > 0) & (total >= min_count) for total in totals)
        if not (rows.any() and columns.any()):
            raise IsothermError(
                f"min_count={min_count} leaves nothing of {counts!r}; rows have up to "
                f"{counts.row_totals.max():g} and columns up to {counts.column_totals.max():g}. "
                "Use a smaller one.",
                parameter="min_count",
            )
        if rows.all() and columns.all():
            return kept
        kept = kept.take_rows(np.flatnonzero(rows)).take_columns(np.flatnonzero(columns))


def _read_frame(table: Any, left: str | None, right: str | None, count: str | None) -> Counts:
    if left is None or right is None:
        names = list(table.columns)
        if len(names) not in (2, 3):
            raise IsothermError(
                f"the frame has {len(names)} columns; pairs are two labels and perhaps a count. "
                "Name the columns with left=, right= and count=."
            )
        left, right, count = names[0], names[1], names[2] if len(names) == 3 else None
    return Counts.from_frame(table, row=left, column=right, count=count)


def _read_file(path: Path, left: str | None, right: str | None, count: str | None) -> Counts:
    """Counts of a file; every line that cannot be read is a complaint with its number."""
    lines = _lines(path)
    first = next(lines, None)
    if first is None:
        raise IsothermError(f"{path} holds no pairs; each line is two labels and perhaps a count")
    if left is not None:
        header = first.fields
        places = [_place(path, header, name) for name in (left, right, count) if name is not None]
        sizes: tuple[int, ...] = (len(header),)
    else:
        places, sizes = [0, 1, 2], (2, 3)
        is_header = len(first.fields) == 3 and _number(first.fields[2]) is None
        if is_header:
            log.info("%s: the first line is taken for a header: %s", path, first.fields)
        else:
            lines = chain([first], lines)
    pairs: tuple[list[str], list[str], list[float]] = ([], [], [])
    broken: list[str] = []
    for number, fields in lines:
        fault = _fault(fields, places, sizes)
        if fault:
            broken.append(f"line {number}: {fault}")
            continue
        chosen = [fields[place] for place in places if place < len(fields)]
        pairs[0].append(chosen[0].strip())
        pairs[1].append(chosen[1].strip())
        pairs[2].append(float(chosen[2]) if len(chosen) > 2 else 1.0)
    if broken:
        more = f"; and {len(broken) - SHOWN} more" if len(broken) > SHOWN else ""
        raise IsothermError(
            f"{path}: {len(broken)} of the lines cannot be read. "
            f"{'; '.join(broken[:SHOWN])}{more}. Correct or drop them."
        )
    if not pairs[0]:
        raise IsothermError(f"{path} holds no pairs; each line is two labels and perhaps a count")
    return Counts.from_pairs(*pairs)


def _lines(path: Path) -> Iterator[_Line]:
    """Lines of a delimited file that are not blank, with their numbers."""
    zipped = path.suffix.lower() == ".gz"
    kind = Path(path.stem).suffix.lower() if zipped else path.suffix.lower()
    if kind not in DELIMITERS:
        raise IsothermError(
            f"{path} ends in {kind or 'nothing'!r}; tables of pairs are .tsv, .txt or .csv files, "
            "or one of these with .gz"
        )
    delimiter = DELIMITERS[kind]
    # A quotation mark between tabs is a character like any other.
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if delimiter == "," else csv.QUOTE_NONE
    opener: Any = gzip.open if zipped else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=delimiter, quoting=quoting, strict=True)
            for fields in reader:
                if any(field.strip() for field in fields):
                    yield _Line(reader.line_num, fields)
    except (OSError, EOFError, zlib.error) as error:
        raise IsothermError(f"{path} cannot be read: {error}. Check the file.") from error
    except UnicodeDecodeError as error:
        raise IsothermError(f"{path} is no UTF-8 text ({error.reason}); convert it") from error
    except csv.Error as error:
        raise IsothermError(f"{path}, line {reader.line_num}: {error}") from error


def _place(path: Path, header: list[str], name: str) -> int:
    names = [field.strip() for field in header]
    if name not in names:
        raise IsothermError(f"{path} has the columns {names}; {name!r} is none of them")
    return names.index(name)


def _fault(fields: list[str], places: list[int], sizes: tuple[int, ...]) -> str:
    """What is wrong with a line; empty if nothing is."""
    if len(fields) not in sizes:
        wanted = " or ".join(map(str, sizes))
        return f"{len(fields)} field{'s' if len(fields) != 1 else ''} instead of {wanted}"
    if not (fields[places[0]].strip() and fields[places[1]].strip()):
        return "an empty label"
    if len(places) > 2 and places[2] < len(fields):
        value = _number(fields[places[2]])
        if value is None or not (math.isfinite(value) and value >= 0):
            return f"the count {fields[places[2]]!r} is no finite number of at least 0"
    return ""


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
