"""`isotherm info`: what a file or folder is."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

from isotherm.cli import console, counting, runs
from isotherm.cli.parser import Parser
from isotherm.cli.runs import READ
from isotherm.cli.suggest import existing


def add_arguments(parser: Parser) -> None:
    """What the verb takes besides its options; examples."""
    parser.example("isotherm info articles.run", "isotherm info articles.jsonl")
    parser.add_argument(
        "file", type=Path, metavar="FILE", help="a run, a file of isotherm, or documents"
    )


def run(options: argparse.Namespace) -> None:
    """Say what it is."""
    path = existing(options.file, "a run, a file of isotherm, or documents")
    if runs.is_run(path):
        summary = _run(path)
    elif runs.is_archive(path):
        summary = _archive(path)
    else:
        summary = _source(path, options.format)
    lines = summary.get(READ, [])
    shown = {name: value for name, value in summary.items() if name != READ}
    rows = [(name.replace("_", " "), _shown(value)) for name, value in shown.items()]
    console.tell(options, summary, "\n".join([console.table(rows), *lines]))


def _run(path: Path) -> dict[str, Any]:
    run = runs.read(path)
    parts = [path / name for name in (runs.COUNTS, runs.MODEL, runs.CHECKPOINT)]
    checked = {part.name: _archive(part)["checksums"] for part in parts if part.exists()}
    state = "done" if run.finished else "not done; isotherm fit --resume goes on"
    if run.about.get("interrupted"):
        state = "interrupted; isotherm fit --resume goes on"
    about = {key: value for key, value in run.about.items() if key not in ("format", "settings")}
    return {
        "file": str(path),
        "kind": "run",
        "state": state,
        **about,
        "files": checked,
        "settings": run.settings,
    }


def _archive(path: Path) -> dict[str, Any]:
    """What a file of isotherm holds; reading it compares all checksums."""
    from isotherm.format import archive, values
    from isotherm.io.registry import known

    content, written = archive.read_about(path)
    summary = {
        "file": str(path),
        "kind": content.kind,
        **written._asdict(),
        "bytes": path.stat().st_size,
        "arrays": len(content.arrays),
        "checksums": "ok",
    }
    if content.kind != "checkpoint":
        summary["holds"] = " ".join(repr(values.decoded(content, known(), path)).split())
    return summary


def _source(path: Path, format: str | None) -> dict[str, Any]:
    """What documents, or a table that is counted already, hold."""
    from isotherm.text.kinds import BAGS
    from isotherm.text.options import CountOptions
    from isotherm.text.sources import format_of, read_documents

    kind = format_of(path, format)
    if kind in BAGS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            ingestion = counting.count(path, CountOptions(format=format))
        return {
            "file": str(path),
            "kind": "counts in another format",
            "format": kind,
            "documents": ingestion.n_documents,
            "words": ingestion.counts.n_columns,
            "tokens": ingestion.counts.total,
            "problems": ingestion.n_problems,
        }
    documents = read_documents(path, format=format)
    characters, number = 0, 0
    fields: dict[str, None] = {}
    for document in documents:
        number += 1
        characters += len(document.text)
        fields.update(dict.fromkeys(document.fields))
    counting.note_problems(documents.problems, documents.noted.total)
    return {
        "file": str(path),
        "kind": "documents",
        "format": kind,
        "documents": number,
        "characters": characters,
        "text_column": documents.text_column,
        "id_column": documents.id_column,
        "fields": list(fields),
        "problems": documents.noted.total,
        READ: counting.in_own_words(documents.reading.lines(path), documents.reading.taken),
    }


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {one}" for key, one in value.items() if one is not None)
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    return f"{value:,.15g}" if isinstance(value, int | float) else str(value)
