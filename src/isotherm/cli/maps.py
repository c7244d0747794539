"""`isotherm map`: the documents of a run as a map."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from isotherm.cli import console, runs
from isotherm.cli.arguments import Parser, add_force, add_run, at_least
from isotherm.cli.nearest import writable
from isotherm.files import replacing

if TYPE_CHECKING:
    from isotherm.cli.runs import Run
    from isotherm.maps.corpus import CorpusMap

PICTURES = (".svg", ".png", ".pdf")
ENDINGS = (".html", *PICTURES, ".map")


def add_arguments(parser: Parser) -> None:
    """The options of the verb."""
    parser.example(
        "isotherm map articles.run -o map.html",
        "isotherm map articles.run -o map.svg --labels year",
    )
    add_run(parser)
    parser.add_argument(
        *("-o", "--out"),
        type=Path,
        required=True,
        metavar="FILE",
        help="a page (.html), a picture (.svg, .png, .pdf), or the map itself (.map)",
    )
    parser.add_argument(
        "--dimensions",
        type=int,
        choices=(2, 3),
        default=2,
        help="of the map (%(default)s)",
    )
    parser.add_argument("--labels", metavar="FIELD", help="field to colour documents by")
    parser.add_argument("--seed", type=at_least(0), default=0, help="%(default)s by default")
    add_force(parser)


def run(options: argparse.Namespace) -> None:
    """Make the map and write it."""
    begin = time.perf_counter()
    found = runs.opened(options.run)
    found.check_topics_of_documents()
    out = writable(options.out, force=options.force, endings=ENDINGS)
    corpus_map = _mapped(found, options)
    write(out, found, corpus_map)
    n_empty = int(corpus_map.empty.sum())
    summary = {
        "map": str(out),
        "documents": found.counts.n_rows,
        "without_a_place": n_empty,
        "nodes": list(corpus_map.grid_shape),
        "seconds": console.seconds(begin),
    }
    shape = " x ".join(map(str, corpus_map.grid_shape))
    empty = f", {n_empty:,} of them without a place" if n_empty else ""
    text = (
        f"{out}: {console.plural(found.counts.n_rows, 'document')}{empty}, {shape} nodes in "
        f"{summary['seconds']:.1f} s"
    )
    console.tell(options, summary, text)


def _mapped(found: Run, options: argparse.Namespace) -> CorpusMap:
    from isotherm.estimators.gtm import GTM
    from isotherm.maps.workflow import map_corpus

    docs = found.documents
    gtm = GTM(options.dimensions, random_state=options.seed, verbose=console.quiet(options))
    return map_corpus(
        found.counts,
        topics=found.model,
        gtm=gtm,
        names=docs.titles,
        texts=docs.texts,
        labels=docs.labels(options.labels or found.settings["labels"]),
    ).map


def write(out: Path, found: Run, corpus_map: CorpusMap) -> None:
    """Write a map in the format that the name asks for."""
    if out.suffix == ".html":
        from isotherm.cli.view import write_page

        write_page(found, out, corpus_map)
    elif out.suffix in PICTURES:
        from isotherm.map_plots import map_points

        figure = map_points(corpus_map)
        with replacing(out) as unfinished:
            figure.savefig(unfinished, dpi=160, bbox_inches="tight")
    else:
        corpus_map.save(out)
