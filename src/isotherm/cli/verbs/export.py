"""`isotherm export`: what a run knows, as a table for other programs."""

from __future__ import annotations

import argparse

from isotherm.cli import console, runs
from isotherm.cli.parser import Parser, add_run
from isotherm.cli.suggest import writable


def add_arguments(parser: Parser) -> None:
    """What the verb takes besides its options; examples."""
    parser.example(
        "isotherm export articles.run -o topics.csv",
        "isotherm export articles.run --what documents -o documents.parquet",
    )
    add_run(parser)


def run(options: argparse.Namespace) -> None:
    """Write the table."""
    from isotherm.estimators.tables import columns_of
    from isotherm.io.tables import format_of, write_table

    run = runs.at_level(options)
    format = format_of(options.out, options.format)
    out = writable(options.out, force=options.force)
    about_rows = options.what == "documents"
    table = columns_of(
        run.model,
        options.what,
        n_words=options.words,
        row_names=run.documents.ids if about_rows else None,
    )
    write_table(out, table, format)
    n_lines = len(next(iter(table.values())))
    summary = {"file": str(out), "what": options.what, "format": format, "lines": n_lines}
    summary["columns"] = list(table)
    text = f"{out}: {options.what}, {console.plural(n_lines, 'line')} of {len(table)} columns"
    console.tell(options, summary, text)
