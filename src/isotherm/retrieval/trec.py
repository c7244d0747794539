"""Judgements and rankings in the files that evaluations of retrieval exchange (TREC)."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy import sparse

from isotherm.data.base import Array
from isotherm.errors import IsothermError
from isotherm.format.atomic import replacing
from isotherm.retrieval.evaluate import ranking

__all__ = ["Judgements", "read_qrels", "relevance", "write_run"]

# Query -> document -> grade; names are strings, as in the files.
Judgements = dict[str, dict[str, int]]


def read_qrels(path: str | os.PathLike[str]) -> Judgements:
    """Judgements of a file with lines `query 0 document grade`, parted by blanks or tabs.

    Queries and documents keep the order of the file. Empty lines are skipped; a pair that is
    judged twice must have the same grade.
    """
    judged: Judgements = {}
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise IsothermError(
            f"judgements cannot be read from {os.fspath(path)!r}: {error}; give a text file of "
            "lines `query 0 document grade`"
        ) from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            query, _, document, grade_text = line.split()
            grade = int(grade_text)
        except ValueError:
            raise IsothermError(
                f"line {number} of {os.fspath(path)!r} is {line!r}; a judgement has four fields, "
                "`query 0 document grade`, with a whole number as grade. Correct the line."
            ) from None
        known = judged.setdefault(query, {})
        if known.setdefault(document, grade) != grade:
            raise IsothermError(
                f"line {number} of {os.fspath(path)!r} judges document {document!r} for query "
                f"{query!r} as {grade}, an earlier line as {known[document]}. Keep one of them."
            )
    if not judged:
        raise IsothermError(f"{os.fspath(path)!r} has no judgements; it has no line with text")
    return judged


def relevance(
    judgements: Mapping[str, Mapping[str, int]],
    query_ids: Sequence[object],
    document_ids: Sequence[object],
    *,
    grades: Collection[int] | None = None,
) -> sparse.csr_array:
    """Which documents are relevant to which queries, (Q, I) bool.

    Parameters
    ----------
    judgements : mapping
        Of `read_qrels`.
    query_ids, document_ids : sequence of str or int
        Names of the rows and columns of the result, as in the judgements. Judgements of other
        queries, and of documents that are not in the collection, are left out.
    grades : collection of int, optional
        Grades that count as relevant. By default every judged pair does, whatever its grade: for
        files that list relevant pairs alone, as Cranfield's.
    """
    places = {str(name): column for column, name in enumerate(document_ids)}
    pairs = [
        (row, places[document])
        for row, query in enumerate(query_ids)
        for document, grade in judgements.get(str(query), {}).items()
        if document in places and (grades is None or grade in grades)
    ]
    rows, columns = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    shape = (len(query_ids), len(places))
    if shape[1] != len(document_ids):
        raise IsothermError("document_ids repeat; every document needs a name of its own")
    return sparse.csr_array((np.ones(len(rows), bool), (rows, columns)), shape=shape)


def write_run(
    path: str | os.PathLike[str],
    scores: Array,
    query_ids: Sequence[object],
    document_ids: Sequence[object],
    *,
    n: int = 1000,
    tag: str = "isotherm",
) -> Path:
    """Path of the file of rankings: lines `query Q0 document rank score tag`.

    Parameters
    ----------
    path : path
        Replaced as a whole once all is written.
    scores : (Q, I)
    query_ids, document_ids : sequence of str or int
        Names without blanks.
    n : int
        Most documents of a query.
    tag : str
        Name of the run.
    """
    table = np.asarray(scores, np.float64)
    if table.shape != (len(query_ids), len(document_ids)):
        raise IsothermError(
            f"scores have shape {table.shape} for {len(query_ids)} queries and "
            f"{len(document_ids)} documents; give a score for every pair"
        )
    for name in [*query_ids, *document_ids, tag]:
        if len(str(name).split()) != 1:
            raise IsothermError(f"the name {name!r} is empty or has blanks; rename it")
    lines = []
    order = ranking(table)[:, :n]
    for row, query in enumerate(query_ids):
        for rank, column in enumerate(order[row], 1):
            score = float(table[row, column])
            lines.append(f"{query} Q0 {document_ids[column]} {rank} {score!r} {tag}\n")
    with replacing(path) as unfinished:
        unfinished.write_text("".join(lines), encoding="utf-8", newline="\n")
    return Path(path)
