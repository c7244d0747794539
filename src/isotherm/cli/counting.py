"""Counting on behalf of verbs, and what there is to say of it."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from isotherm.cli import console
from isotherm.cli.console import in_options
from isotherm.cli.options import counting, fields
from isotherm.errors import IsothermError, IsothermWarning

if TYPE_CHECKING:
    from isotherm.text.ingest import Ingestion
    from isotherm.text.options import CountOptions
    from isotherm.text.reading import Taken

COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
SHOWN = 5


def count_source(source: Path, options: argparse.Namespace) -> Ingestion:
    """The words of a source by the options of a verb; problems are noted on stderr."""
    from isotherm.text.options import CountOptions

    chosen = fields(vars(options), counting())
    with console.counter("documents:") as progress:
        return count(source, CountOptions(**chosen, progress=progress))


def count(source: object, options: CountOptions) -> Ingestion:
    """Counts of a source; problems are noted on stderr."""
    from isotherm.text.ingest import ingest

    with warnings.catch_warnings():
        # The problems that this warns of are listed below.
        warnings.simplefilter("ignore", IsothermWarning)
        ingestion = ingest(source, options)
    # Files that were passed over are listed with what was read.
    problems = [one for one in ingestion.problems if one not in ingestion.skipped]
    note_problems(problems, ingestion.n_problems - len(ingestion.problems) + len(problems))
    return ingestion


def reading(ingestion: Ingestion) -> dict[str, object]:
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
            for one in ingestion.read
        ],
        "skipped": [str(one) for one in ingestion.skipped],
        "n_skipped": ingestion.n_skipped,
        "notes": [in_options(note) for note in ingestion.notes],
    }


def read_as(ingestion: Ingestion) -> str:
    """What was read as what, in lines."""
    return "\n".join(in_own_words(ingestion.report.split("\n"), ingestion.read))


def in_own_words(lines: Sequence[str], read: Sequence[Taken]) -> list[str]:
    """Lines of a report: what they advise names options, what documents say stays as it is."""
    n_quoted = sum(len(one.lines(None)) for one in read)
    return [*lines[:n_quoted], *map(in_options, lines[n_quoted:])]


def note_problems(problems: Sequence[object], total: int) -> None:
    """The first problems, one to a line, and how many more there are."""
    for problem in problems[:SHOWN]:
        console.note(in_options(str(problem)))
    if total > SHOWN:
        console.note(f"and {total - SHOWN:,} more that could not be read")


def summary_line(ingestion: Ingestion) -> str:
    """What was counted, in a line."""
    parts = [
        console.plural(ingestion.n_documents, "document"),
        console.plural(ingestion.counts.n_columns, "word"),
        console.plural(ingestion.counts.total, "token"),
    ]
    if ingestion.n_empty:
        parts.append(f"{console.plural(ingestion.n_empty, 'document')} without any word")
    if ingestion.n_problems:
        parts.append(console.plural(ingestion.n_problems, "problem"))
    return ", ".join(parts)


def check_words(ingestion: Ingestion, source: Path) -> None:
    """Refuse a collection without words: nothing could be done with it."""
    if not ingestion.counts.total:
        raise IsothermError(
            f"{source} has {console.plural(ingestion.n_documents, 'document')}, but no word is "
            "left to count; check --text-column, --stop-words, --min-df and --max-df"
        )


def stem(source: Path) -> str:
    """Name of a source without its ending: "text" of text.jsonl.gz."""
    path = Path(source.resolve().name)
    if path.suffix.lower() in COMPRESSED:
        path = path.with_suffix("")
    return path.name if source.is_dir() and path.suffix != ".run" else path.stem
