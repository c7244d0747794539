"""`isotherm count`: the words of documents, as a file of counts."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from isotherm.cli import console, documents
from isotherm.cli.counting import check_words, count_source, read_as, reading, stem, summary_line
from isotherm.cli.options import saved, settings_of
from isotherm.cli.parser import Parser
from isotherm.cli.runs import is_archive, is_run
from isotherm.cli.suggest import existing, writable
from isotherm.errors import IsothermError

ENDING = ".counts"


def add_arguments(parser: Parser) -> None:
    """What the verb takes besides its options; examples."""
    parser.example(
        "isotherm count articles.jsonl -o articles.counts --min-df 5",
        "isotherm count folder-of-texts --stop-words none --stem english",
    )
    parser.add_argument("source", type=Path, metavar="SOURCE", help="file or folder of documents")


def run(options: argparse.Namespace) -> None:
    """Count, and write the counts."""
    begin = time.perf_counter()
    source = existing(options.source, "a file or folder of documents")
    _check_not_counted(source)
    out = options.out or Path(stem(source) + ENDING)
    for path in (out, documents.beside(out)):
        writable(path, force=options.force, source=source)
    ingestion = count_source(source, options)
    check_words(ingestion, source)
    counts, docs = (
        ingestion.counts,
        documents.of_ingestion(ingestion, settings_of(options, saved("count"))),
    )
    # Both are written before one gets its name: a full disk leaves neither of them.
    with documents.writing(documents.beside(out), docs):
        counts.save(out)
    summary = {
        "counts": str(out),
        "source": str(source),
        "format": ingestion.format,
        "text_column": ingestion.text_column,
        "documents": ingestion.n_documents,
        "empty": ingestion.n_empty,
        "words": counts.n_columns,
        "tokens": counts.total,
        "dropped_words": ingestion.n_dropped_words,
        "problems": [str(problem) for problem in ingestion.problems],
        "n_problems": ingestion.n_problems,
        **reading(ingestion),
        "seconds": console.seconds(begin),
    }
    text = f"{out}: {summary_line(ingestion)}\n{read_as(ingestion)}\n\nnext: isotherm fit {out}"
    console.tell(options, summary, text)


def _check_not_counted(source: Path) -> None:
    """Refuse what isotherm wrote itself."""
    if is_run(source) or is_archive(source):
        what = "a run" if source.is_dir() else "a file of isotherm"
        raise IsothermError(
            f"{source} is {what}, not documents; isotherm info {source} says what it holds, and "
            "isotherm fit takes runs and counts as they are"
        )
