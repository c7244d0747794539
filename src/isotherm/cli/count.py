"""`isotherm count`: the words of documents, as a file of counts."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from isotherm.cli import console, documents
from isotherm.cli.arguments import Parser, add_force, given
from isotherm.cli.counting import COUNTING, add_counting, counted, reading
from isotherm.cli.nearest import existing, writable
from isotherm.cli.runs import is_archive, is_run
from isotherm.cli.wording import in_options
from isotherm.errors import IsothermError

if TYPE_CHECKING:
    from isotherm.text.ingest import Ingestion

COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
ENDING = ".counts"


def add_arguments(parser: Parser) -> None:
    """The options of the verb."""
    parser.example(
        "isotherm count articles.jsonl -o articles.counts --min-df 5",
        "isotherm count folder-of-texts --stop-words none --stem english",
    )
    parser.add_argument("source", type=Path, metavar="SOURCE", help="file or folder of documents")
    parser.add_argument(
        *("-o", "--out"), type=Path, metavar="FILE", help="counts to write (SOURCE's name.counts)"
    )
    add_force(parser)
    add_counting(parser)


def run(options: argparse.Namespace) -> None:
    """Count, and write the counts."""
    begin = time.perf_counter()
    source = existing(options.source, "a file or folder of documents")
    _check_not_counted(source)
    out = options.out or Path(stem(source) + ENDING)
    for path in (out, documents.beside(out)):
        writable(path, force=options.force, source=source)
    found = counted(source, options)
    check_words(found, source)
    counts, docs = found.counts, documents.of_ingestion(found, given(options, COUNTING))
    # Both are written before one gets its name: a full disk leaves neither of them.
    with documents.writing(documents.beside(out), docs):
        counts.save(out)
    summary = {
        "counts": str(out),
        "source": str(source),
        "format": found.format,
        "text_column": found.text_column,
        "documents": found.n_documents,
        "empty": found.n_empty,
        "words": counts.n_columns,
        "tokens": counts.total,
        "dropped_words": found.n_dropped_words,
        "problems": [str(problem) for problem in found.problems],
        "n_problems": found.n_problems,
        **reading(found),
        "seconds": console.seconds(begin),
    }
    text = f"{out}: {said(found)}\n{in_options(found.report)}\n\nnext: isotherm fit {out}"
    console.tell(options, summary, text)


def _check_not_counted(source: Path) -> None:
    """Refuse what isotherm wrote itself."""
    if is_run(source) or is_archive(source):
        what = "a run" if source.is_dir() else "a file of isotherm"
        raise IsothermError(
            f"{source} is {what}, not documents; isotherm info {source} says what it holds, and "
            "isotherm fit takes runs and counts as they are"
        )


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
