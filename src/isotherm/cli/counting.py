"""Counting on behalf of verbs, and what there is to say of it."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isotherm.cli import console
from isotherm.cli.options import counting, fields
from isotherm.cli.wording import in_options
from isotherm.errors import IsothermError, IsothermWarning

if TYPE_CHECKING:
    from isotherm.text.ingest import Ingestion
    from isotherm.text.options import CountOptions

COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
SHOWN = 5


def counted(source: Path, options: argparse.Namespace) -> Ingestion:
    """The words of a source by the options of a verb; problems are noted on stderr."""
    from isotherm.text.options import CountOptions

    chosen = fields(vars(options), counting())
    with console.counter("documents:") as progress:
        return count(source, CountOptions(**chosen, progress=progress))


def count(source: Any, options: CountOptions) -> Ingestion:
    """Counts of a source; problems are noted on stderr."""
    from isotherm.text.ingest import ingest

    with warnings.catch_warnings():
        # The problems that this warns of are listed below.
        warnings.simplefilter("ignore", IsothermWarning)
        found = ingest(source, options)
    # Files that were passed over are listed with what was read.
    problems = [one for one in found.problems if one not in found.skipped]
    note_problems(problems, found.n_problems - len(found.problems) + len(problems))
    return found


def reading(found: Ingestion) -> dict[str, Any]:
    """What was read as what, as plain data."""
    return {
        "read": [
            {
                "format": one.format,
                "files": one.n_files,
                "documents": one.n_documents,
                "text_column": one.text_column,
                "id_column": one.id_column,
                "columns": list(one.columns),
                "header": one.header,
                "first": one.first.source,
            }
            for one in found.read
        ],
        "skipped": [str(one) for one in found.skipped],
        "n_skipped": found.n_skipped,
        "notes": [in_options(note) for note in found.notes],
    }


def note_problems(problems: Any, total: int) -> None:
    """The first problems, one to a line, and how many more there are."""
    for problem in problems[:SHOWN]:
        console.note(in_options(str(problem)))
    if total > SHOWN:
        console.note(f"and {total - SHOWN:,} more that could not be read")


def said(found: Ingestion) -> str:
    """What was counted, in a line."""
    parts = [
        console.plural(found.n_documents, "document"),
        console.plural(found.counts.n_columns, "word"),
        console.plural(found.counts.total, "token"),
    ]
    if found.n_empty:
        parts.append(f"{console.plural(found.n_empty, 'document')} without any word")
    if found.n_problems:
        parts.append(console.plural(found.n_problems, "problem"))
    return ", ".join(parts)


def check_words(found: Ingestion, source: Path) -> None:
    """Refuse a collection without words: nothing could be done with it."""
    if not found.counts.total:
        raise IsothermError(
            f"{source} has {console.plural(found.n_documents, 'document')}, but no word is left "
            "to count; check --text-column, --stop-words, --min-df and --max-df"
        )


def stem(source: Path) -> str:
    """Name of a source without its ending: "text" of text.jsonl.gz."""
    path = Path(source.resolve().name)
    if path.suffix.lower() in COMPRESSED:
        path = path.with_suffix("")
    return path.name if source.is_dir() and path.suffix != ".run" else path.stem
