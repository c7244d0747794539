"""`isotherm count`: the words of documents, as a file of counts."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from isotherm.cli import console, documents
from isotherm.cli.counting import check_words, counted, reading, said, stem
from isotherm.cli.options import saved, settings_of
from isotherm.cli.parser import Parser
from isotherm.cli.runs import is_archive, is_run
from isotherm.cli.suggest import existing, writable
from isotherm.cli.wording import in_options
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
    found = counted(source, options)
    check_words(found, source)
    counts, docs = (
        found.counts,
        documents.of_ingestion(found, settings_of(options, saved("count"))),
    )
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
