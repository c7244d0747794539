"""`isotherm view`: a run as a page in the browser."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from isotherm.cli import console, runs
from isotherm.cli.arguments import Parser, add_run

if TYPE_CHECKING:
    from isotherm.cli.runs import Run
    from isotherm.maps.corpus import CorpusMap


def add_arguments(parser: Parser) -> None:
    """The options of the verb."""
    parser.example(
        "isotherm view articles.run", "isotherm view articles.run --no-open -o page.html"
    )
    add_run(parser)
    parser.add_argument(
        *("-o", "--out"), type=Path, metavar="FILE", help="page to write (RUN's name.html)"
    )
    parser.add_argument("--no-open", action="store_true", help="write the page, but do not open it")


def run(options: argparse.Namespace) -> None:
    """Write the page and open it; an older page of the run is replaced."""
    import webbrowser

    found = runs.opened(options.run)
    found.check_topics_of_documents()
    out = options.out or options.run.with_name(f"{options.run.resolve().stem}.html")
    write_page(found, out)
    opened = not options.no_open and webbrowser.open(out.resolve().as_uri())
    if not options.no_open and not opened:
        console.note(f"no browser could be started; open {out} in one")
    console.tell(options, {"page": str(out), "opened": bool(opened)}, str(out))


def write_page(found: Run, out: Path, corpus_map: CorpusMap | None = None) -> None:
    """The report of a run as a page, with a map if there is one."""
    from isotherm.report import write_report

    docs = found.documents
    write_report(
        found.model,
        out,
        title=f"Topics of {Path(found.about['source']).name}",
        labels=found.labels,
        texts=docs.texts,
        names=docs.titles,
        counts=found.counts,
        corpus_map=corpus_map,
    )
