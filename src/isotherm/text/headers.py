"""How a CSV file is laid out: what parts its fields, and whether its first line names them.

Both are told by a sample of rows. Where the rows do not tell, nobody guesses: the answer is None.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Sequence
from contextlib import suppress
from statistics import median

from isotherm.text.records import IDS, TEXTS

# What may part the fields; the one by which most rows have as many fields as the first does.
DELIMITERS = ",;\t|"
# A name like these in the first line speaks for a header.
KNOWN = frozenset((*IDS, *TEXTS)) | frozenset(
    "title name label labels category date year author url summary description rating score stars "
    "sentiment headline subject topic topics created_at username".split()
)
# Names are hardly longer than so many characters; texts are hardly shorter.
NAME, TEXT = 60, 25
# Weights of what speaks for or against a header.
STRONG, WEAK = 2, 1
_NUMBER = re.compile(r"[+-]?(\d[\d., ]*|\.\d+)([eE][+-]?\d+)?%?")
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T]\d{1,2}:\d\d\S*)?")
_YEAR = re.compile(r"(19|20)\d\d")


def sample_rows(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    """Rows of some lines, up to the first that is broken or cut off."""
    rows: list[list[str]] = []
    with suppress(csv.Error):  # in strict mode that is a quote that nothing closes, too
        rows.extend(row for row in csv.reader(lines, delimiter=delimiter, strict=True) if any(row))
    return rows


def delimiter_of(lines: Sequence[str]) -> str | None:
    """What parts the fields; None where there is a single one."""
    best: tuple[float, int, str] | None = None
    for delimiter in DELIMITERS:
        rows = sample_rows(lines, delimiter) or [lines[0].split(delimiter)]
        width = len(rows[0])
        if width < 2:
            continue
        share = sum(len(row) == width for row in rows) / len(rows)
        named = any(cell.strip().lower() in KNOWN for cell in rows[0])
        # Commas of prose part its lines into all numbers of pieces.
        if (share >= 0.5 and (share > 0.8 or len(rows) < 5)) or named:
            one = (round(share, 1) + named, width, delimiter)
            best = one if best is None else max(best, one, key=lambda of: of[:2])
    return None if best is None else best[2]


def has_header(rows: Sequence[Sequence[str]]) -> bool | None:
    """Whether the first row names the columns; None if the rows do not tell."""
    first = [cell.strip() for cell in rows[0]]
    if _are_positions(first):
        return True
    body = [row for row in rows[1:] if len(row) == len(first)]
    score = sum(STRONG for cell in first if cell.lower() in KNOWN)
    if len(set(filter(None, first))) < sum(map(bool, first)):
        score -= STRONG  # names differ
    years = _are_years(first)
    for place, cell in enumerate(first):
        if cell.lower() in KNOWN or (years and _YEAR.fullmatch(cell)):
            continue
        score += _vote(cell, [row[place].strip() for row in body], place)
    return None if not score else score > 0


def _vote(cell: str, column: list[str], place: int) -> int:
    """What a field of the first row says, beside the fields below it."""
    below = [other for other in column if other]
    if not cell:
        # pandas writes numbers of rows under an empty name.
        return WEAK if place == 0 and below and len(below) == len(column) else 0
    if _is_value(cell):
        return -STRONG
    if len(cell) > NAME or len(cell.split()) > 8:
        return -STRONG
    if not below:
        return 0
    if all(map(_is_value, below)):
        return STRONG
    if cell in below:
        return -STRONG
    return _vote_of_text(cell, below)


def _vote_of_text(cell: str, below: list[str]) -> int:
    typical = median(map(len, below))
    if typical >= TEXT:
        shorter = sum(len(other) <= len(cell) for other in below)
        if len(below) >= 3 and 4 * len(cell) <= typical and shorter <= len(below) // 50:
            return WEAK
        return -WEAK if 2 * len(cell) >= typical and len(cell.split()) >= 4 else 0
    repeated = len(below) >= 6 and 2 * len(set(below)) <= len(below)
    return WEAK if repeated else 0


def _is_value(cell: str) -> bool:
    """Whether a field is a number or a date, as names of columns are not."""
    return bool(_NUMBER.fullmatch(cell) or _DATE.fullmatch(cell))


def _are_positions(first: Sequence[str]) -> bool:
    """Whether fields are 0, 1, 2, ..., as pandas names columns that have no names."""
    numbers = first[1:] if first and not first[0] else first
    return len(numbers) > 1 and list(numbers) == [str(i) for i in range(len(numbers))]


def _are_years(first: Sequence[str]) -> bool:
    years = [int(cell) for cell in first if _YEAR.fullmatch(cell)]
    return len(years) > 1 and all(b - a == 1 for a, b in itertools.pairwise(years))
