"""Tables that are counted already: UCI, lda-c, Vowpal Wabbit, Matrix Market, scipy and numpy.

What comes out is a matrix of documents by words, with the names of both where they are known.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from isotherm._types import Fields
from isotherm.errors import IsothermError
from isotherm.text.opening import Line, read_lines
from isotherm.text.problems import Problems

# Lines that are parsed at a time.
AT_ONCE = 1 << 16
# Columns that a table may have without names for them, and rows without anything in them: a
# number that was mistyped must not fill the memory.
UNNAMED = 10_000_000
EMPTY_ROWS = 1_000_000
MOST = np.iinfo(np.int32).max


class Bag(NamedTuple):
    """Counts (I, J) as they stand in a file; names and fields are None where it has none."""

    matrix: Any
    names: list[str] | None = None
    row_names: list[str] | None = None
    fields: list[Fields] | None = None


def uci_bag(path: Path, names: list[str] | None, encoding: str, problems: Problems) -> Bag:
    """A UCI bag of words: numbers of documents, words and entries, then `document word count`."""
    lines = read_lines(path, encoding, problems)
    head = [line.text.strip() for line in itertools.islice(lines, 3)]
    if len(head) < 3 or not all(text.isdecimal() and text.isascii() for text in head):
        raise IsothermError(
            f"{path} is no UCI bag of words: its first three lines are {head!r:.100}, and must be "
            "the numbers of documents, words and entries. Give format= if it is something else.",
            parameter="format",
        )
    shape = _bounded_int(head[0]), _bounded_int(head[1])
    entries, matrix = _triples(lines, shape, names, path, problems)
    if entries != _bounded_int(head[2]):
        reason = f"announces {head[2]:.20} entries, but {entries} could be read"
        problems.add(str(path), 3, reason)
    return Bag(matrix, names)


def matrix_market_bag(
    path: Path, names: list[str] | None, encoding: str, problems: Problems
) -> Bag:
    """A Matrix Market file of coordinates, documents as rows."""
    lines = read_lines(path, encoding, problems)
    first = next(lines, Line(1, ""))
    banner = first.text.lower().split()
    kinds = (("coordinate",), ("real", "integer", "pattern"), ("general", "symmetric"))
    if (
        len(banner) != 5
        or banner[0] != "%%matrixmarket"
        or not all(word in kind for word, kind in zip(banner[2:], kinds, strict=True))
    ):
        raise IsothermError(
            f"{path} begins with {first.text.strip()!r:.100}; a table of counts begins with "
            "'%%MatrixMarket matrix coordinate' and 'real', 'integer' or 'pattern', and 'general' "
            "or 'symmetric'. Write it in that form, e.g. with scipy.io.mmwrite, or give format= if "
            "it is something else.",
            parameter="format",
        )
    body = (line for line in lines if not line.text.startswith("%") and line.text.strip())
    size = next(body, Line(0, "")).text.split()
    if len(size) != 3 or not all(word.isdecimal() and word.isascii() for word in size):
        raise IsothermError(
            f"{path} has no line with the numbers of rows, columns and entries; it is damaged."
        )
    shape = _bounded_int(size[0]), _bounded_int(size[1])
    pattern = banner[3] == "pattern"
    entries, matrix = _triples(body, shape, names, path, problems, 2 if pattern else 3)
    if entries != _bounded_int(size[2]):
        problems.add(str(path), 0, f"announces {size[2]:.20} entries, but {entries} could be read")
    if banner[4] == "symmetric":
        if shape[0] != shape[1]:
            raise IsothermError(f"{path} says that it is symmetric, but is {shape[0]} x {shape[1]}")
        matrix = matrix + sparse.triu(matrix.T, 1) + sparse.tril(matrix.T, -1)
    return Bag(matrix, names)


def _triples(
    lines: Iterator[Line],
    shape: tuple[int, int],
    names: list[str] | None,
    path: Path,
    problems: Problems,
    width: int = 3,
) -> tuple[int, sparse.csr_array]:
    """Number of good lines `row column [count]`, counted from 1, and the matrix (I, J)."""
    _check_columns(shape[1], names, path)
    parts = []
    while block := list(itertools.islice(lines, AT_ONCE)):
        block = [line for line in block if line.text.strip()]
        if block:
            found = _numbers(block, width, path, problems)
            parts.append(_in_range(*found, shape, path, problems))
    table = np.concatenate(parts) if parts else np.empty((0, width))
    _check_rows(shape[0], len(table), path)
    values = table[:, 2] if width == 3 else np.ones(len(table))
    rows, columns = (table[:, i].astype(np.int64) - 1 for i in (0, 1))
    return len(table), sparse.csr_array((values, (rows, columns)), shape=shape)


def _numbers(
    block: list[Line], width: int, path: Path, problems: Problems
) -> tuple[NDArray[np.float64], list[int]]:
    """Table (n, width) of the lines that hold so many numbers, and the number of each line."""
    try:
        table = np.loadtxt([line.text for line in block], comments=None, ndmin=2)
        if table.shape == (len(block), width):
            return table, [line.number for line in block]
    except ValueError:
        pass  # some line is broken: find out which
    good: list[list[float]] = []
    where: list[int] = []
    for number, text in block:
        try:
            values = [float(word) for word in text.split()]
        except ValueError:
            values = []
        if len(values) == width:
            good.append(values)
            where.append(number)
        else:
            reason = f"{text.strip()!r:.60} is not {width} numbers"
            problems.add(str(path), number, reason)
    return np.array(good, dtype=np.float64).reshape(-1, width), where


def _in_range(
    table: NDArray[np.float64],
    where: list[int],
    shape: tuple[int, int],
    path: Path,
    problems: Problems,
) -> NDArray[np.float64]:
    """The lines whose row and column exist and whose count is one."""
    good = np.isfinite(table).all(axis=1) & (table >= 0).all(axis=1)
    for i in (0, 1):
        place = table[:, i]
        with np.errstate(invalid="ignore"):
            good &= (place >= 1) & (place <= shape[i]) & (place == np.floor(place))
    for i in np.flatnonzero(~good).tolist():
        shown = " ".join(f"{value:g}" for value in table[i])
        reason = (
            f"{shown!r} lies outside of {shape[0]} x {shape[1]} (counted from 1), or is no count"
        )
        problems.add(str(path), where[i], reason)
    return table[good]


def ldac_bag(path: Path, names: list[str] | None, encoding: str, problems: Problems) -> Bag:
    """The format of lda-c: `n word:count word:count ...`, words numbered from 0."""
    limit = UNNAMED if names is None else len(names)
    indptr, indices, counts = [0], [], []
    for number, text in read_lines(path, encoding, problems):
        words = text.replace(":", " ").split()
        if not words:
            continue
        row = _ldac_row(words, text.count(":"), limit)
        if isinstance(row, str):
            problems.add(str(path), number, row)
            continue
        indices.append(row[0].astype(np.int32))
        counts.append(row[1])
        indptr.append(indptr[-1] + len(row[0]))
    if not counts:
        raise _nothing(path, "lines 'n word:count ...'", problems)
    columns = np.concatenate(indices)
    width = len(names) if names is not None else int(columns.max(initial=0)) + 1
    arrays = (np.concatenate(counts), columns, np.array(indptr))
    return Bag(sparse.csr_array(arrays, shape=(len(counts), width)), names)


def _ldac_row(
    words: list[str], colons: int, limit: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | str:
    """Words and counts of a line, or what is wrong with it."""
    try:
        values = np.array([float(word) for word in words])
    except ValueError:
        return f"{' '.join(words)!r:.60} holds something else than numbers"
    found, counts = values[1::2], values[2::2]
    if len(found) != len(counts) or len(counts) != values[0] or colons != len(counts):
        return f"announces {words[0]:.20} words, but holds {colons} pairs 'word:count'"
    if not np.isfinite(values).all() or (values < 0).any():
        return "holds a number that is no count"
    if (found != np.floor(found)).any() or (len(found) and found.max() >= limit):
        return f"holds a word that is not one of 0 to {limit - 1} (the first is 0)"
    return found, counts


def vw_bag(path: Path, names: list[str] | None, encoding: str, problems: Problems) -> Bag:
    """Vowpal Wabbit: `label 'tag |namespace word word:count ...`; the words name the columns."""
    known: dict[str, int] = {name: i for i, name in enumerate(names or ())}
    indptr, indices, counts = [0], [], []
    ids: list[str] = []
    fields: list[Fields] = []
    for number, text in read_lines(path, encoding, problems):
        if not text.strip():
            continue
        label, bar, rest = text.partition("|")
        row = _vw_row(bar + rest)
        if isinstance(row, str):
            problems.add(str(path), number, row)
            continue
        for word, count in row:
            indices.append(known.setdefault(word, len(known)))
            counts.append(count)
        indptr.append(len(indices))
        tag, given = _vw_head(label)
        ids.append(tag or str(len(ids)))
        fields.append({"label": given})
    if not ids:
        raise _nothing(path, "lines 'label |namespace word:count ...'", problems)
    arrays = (np.array(counts, dtype=np.float64), np.array(indices, dtype=np.int64), indptr)
    matrix = sparse.csr_array(arrays, shape=(len(ids), max(1, len(known))))
    return Bag(matrix, list(known) or [""], ids, fields)


def _vw_row(text: str) -> list[tuple[str, float]] | str:
    if not text:
        return "has no '|' before its words"
    row = []
    for space in text.split("|")[1:]:
        # What touches the bar is the name of the namespace.
        words = space.split()[0 if space[:1].isspace() or not space else 1 :]
        for word in words:
            name, colon, value = word.rpartition(":")
            try:
                count = float(value) if colon else 1.0
            except ValueError:
                return f"{word!r:.60} is no word and count"
            if not math.isfinite(count) or count < 0 or (colon and not name):
                return f"{word!r:.60} is no word and count"
            row.append((name if colon else word, count))
    return row


def _vw_head(label: str) -> tuple[str, str]:
    """Tag and label of what stands before the first bar; a tag touches the bar or has a quote."""
    words = label.split()
    tag = ""
    if words and (words[-1].startswith("'") or not label[-1:].isspace()):
        tag = words.pop().removeprefix("'")
    return tag, words[0] if words else ""


def _bounded_int(word: str) -> int:
    """A number of digits only; far above all limits if it is too long to mean one."""
    return int(word) if len(word) < 19 else 10**18


def _check_columns(n_columns: int, names: list[str] | None, path: Path) -> None:
    if names is not None and n_columns != len(names):
        raise IsothermError(
            f"{path} has {n_columns} columns, but {len(names)} names for them were found; give the "
            "file of names that belongs to it, one word to a line, with names=.",
            parameter="names",
        )
    if names is None and n_columns > UNNAMED:
        raise IsothermError(
            f"{path} announces {n_columns} columns and no names for them; without names at most "
            f"{UNNAMED} are read. Correct the number, or give names=.",
            parameter="names",
        )


def _check_rows(n_rows: int, entries: int, path: Path) -> None:
    if n_rows > MOST or n_rows > max(EMPTY_ROWS, 100 * entries):
        raise IsothermError(
            f"{path} announces {n_rows} rows for {entries} entries; it is damaged, or nearly all "
            "of it is missing. Correct the number of rows."
        )


def check_shape(shape: tuple[int, ...], entries: int, names: list[str] | None, path: Path) -> None:
    """Nothing, or an error where a table is far larger than what it holds."""
    if len(shape) != 2:
        raise IsothermError(f"{path} has shape {shape}; a table of counts has rows and columns.")
    _check_rows(shape[0], entries, path)
    _check_columns(shape[1], names, path)


def _nothing(path: Path, wanted: str, problems: Problems) -> IsothermError:
    found = problems.summary() or "it is empty"
    return IsothermError(
        f"{path} holds no {wanted} that could be read: {found}. Give format= if it is "
        "something else.",
        parameter="format",
    )
