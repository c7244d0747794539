"""Tables for other programs: columns by name, written as CSV, JSON or Parquet."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from isotherm.data.base import Array
from isotherm.errors import IsothermError
from isotherm.format.atomic import replacing
from isotherm.text.arrow import write_parquet

FORMATS = ("csv", "json", "parquet")
Column = Sequence[object] | Array
# Text that begins like this is a formula to spreadsheets.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def format_of(path: str | os.PathLike[str], given: str | None) -> str:
    """The format that was given, or that the ending of the path says."""
    ending = Path(path).suffix.lower().removeprefix(".")
    if given is None and ending in FORMATS:
        return ending
    if given in FORMATS:
        return given
    listed = ", ".join(FORMATS)
    said = f"{path} has the ending {ending!r}" if given is None else f"format={given!r}"
    raise IsothermError(
        f"{said}; the formats of tables are {listed}: give one as format=, or a name that ends in "
        "one of them",
        parameter="format",
    )


def write_table(path: str | os.PathLike[str], columns: Mapping[str, Column], format: str) -> Path:
    """Path of the file that was written; there as a whole or not at all."""
    final = Path(path)
    if final.is_dir() or not final.parent.is_dir():
        raise IsothermError(
            f"cannot write {final}: it is a folder, or the folder that it should be in is missing; "
            "give the name of a file in a folder that exists"
        )
    columns = {name: _encodable(column) for name, column in columns.items()}
    with replacing(final) as unfinished:
        if format == "parquet":
            write_parquet(unfinished, columns, final)
        elif format == "json":
            _write_json(unfinished, columns)
        else:
            _write_csv(unfinished, columns)
    return final


def _encodable(column: Column) -> Column:
    """The column with ? for halves of surrogate pairs in text, which no encoding has."""
    if not isinstance(column, list):
        return column
    return [
        one.encode("utf-8", "replace").decode() if isinstance(one, str) else one for one in column
    ]


def _write_csv(path: Path, columns: Mapping[str, Column]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(map(_cell, columns))
        writer.writerows(map(_cell, row) for row in _rows(columns))


def _cell(value: object) -> object:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _write_json(path: Path, columns: Mapping[str, Column]) -> None:
    names = list(columns)
    with path.open("w", encoding="utf-8") as file:
        before = "[\n"
        for row in _rows(columns):
            entry = dict(zip(names, map(_finite, row), strict=True))
            file.write(before + json.dumps(entry, ensure_ascii=False, allow_nan=False))
            before = ",\n"
        file.write("\n]\n" if before == ",\n" else "[]\n")


def _finite(value: object) -> object:
    """The value, None where JSON has no such number."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _rows(columns: Mapping[str, Column]) -> Iterator[tuple[object, ...]]:
    """The lines of a table, of values of Python."""
    listed = (one if isinstance(one, list) else [*one] for one in map(_plain, columns.values()))
    return zip(*listed, strict=True)


def _plain(column: Column) -> Sequence[object]:
    return column if isinstance(column, Sequence) else column.tolist()
