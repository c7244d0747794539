"""`isotherm map`: the documents of a run as a map."""

from __future__ import annotations

import argparse
import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING

from isotherm.cli import console, runs
from isotherm.cli.explorer import explorer_of, map_of, shown_dimensions
from isotherm.cli.parser import Parser, add_run
from isotherm.cli.suggest import writable
from isotherm.format.atomic import replacing

if TYPE_CHECKING:
    from isotherm.cli.runs import Run
    from isotherm.maps.corpus import CorpusMap

PICTURES = (".svg", ".png", ".pdf")
ENDINGS = (".html", *PICTURES, ".map")


def add_arguments(parser: Parser) -> None:
    """What the verb takes besides its options; examples."""
    parser.example(
        "isotherm map articles.run --html map.html",
        "isotherm map articles.run -o map.svg --labels year",
    )
    add_run(parser)


def run(options: argparse.Namespace) -> None:
    """Make the map and write it."""
    begin = time.perf_counter()
    run = runs.at_level(options)
    run.check_topics_of_documents()
    out = writable(options.out, force=options.force, endings=ENDINGS)
    page = out.suffix.lower() == ".html"
    run.documents.labels(options.labels)  # refuse what is not there before the work
    usual = shown_dimensions(run) if page else [2]
    sizes = usual if options.dimensions is None else [options.dimensions]
    maps = [map_of(run, number, options, options.seed) for number in sizes]
    if page:
        explorer_of(run, maps, options.labels).save_html(out)
    else:
        write(out, _labelled(run, options, maps[0].map))
    _tell(options, out, [one.map for one in maps], begin)


def _tell(options: argparse.Namespace, out: Path, maps: list[CorpusMap], begin: float) -> None:
    n_rows, n_empty = len(maps[0].names), int(maps[0].empty.sum())
    summary = {
        "map": str(out),
        "documents": n_rows,
        "without_a_place": n_empty,
        "nodes": list(maps[0].grid_shape),
        "seconds": console.seconds(begin),
    }
    shapes = " and ".join(" x ".join(map(str, one.grid_shape)) for one in maps)
    empty = f", {n_empty:,} of them without a place" if n_empty else ""
    text = (
        f"{out}: {console.plural(n_rows, 'document')}{empty}, {shapes} nodes in "
        f"{summary['seconds']:.1f} s"
    )
    console.tell(options, summary, text)


def _labelled(run: Run, options: argparse.Namespace, corpus_map: CorpusMap) -> CorpusMap:
    """The map with all that is known of its documents."""
    docs = run.documents
    labels = docs.labels(options.labels or run.settings["labels"])
    return dataclasses.replace(
        corpus_map,
        names=docs.titles,
        texts=docs.texts,
        labels=None if labels is None else tuple(labels),
    )


def write(out: Path, corpus_map: CorpusMap) -> None:
    """Write a map as a picture or a file, as the name asks for."""
    if out.suffix.lower() in PICTURES:
        from isotherm.plots.maps import map_points

        figure = map_points(corpus_map)
        with replacing(out) as unfinished:
            figure.savefig(unfinished, dpi=160, bbox_inches="tight")
    else:
        corpus_map.save(out)
