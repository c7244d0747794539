"""`isotherm eval`: how good the topics of a run are."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isotherm.cli import console, counting, runs
from isotherm.cli.console import in_options
from isotherm.cli.documents import of_counts
from isotherm.cli.options import fields, rules
from isotherm.cli.parser import Parser, add_run
from isotherm.cli.query import index_of
from isotherm.cli.suggest import existing
from isotherm.errors import IsothermError

if TYPE_CHECKING:
    from isotherm.cli.runs import Run
    from isotherm.data.counts import Counts


def add_arguments(parser: Parser) -> None:
    """What the verb takes besides its options; examples."""
    parser.example(
        "isotherm eval articles.run --heldout other-articles.jsonl",
        "isotherm eval articles.run --queries queries.jsonl --qrels judgements.txt",
    )
    add_run(parser)


def run(options: argparse.Namespace) -> None:
    """Measure, and show the measures."""
    from isotherm.evaluate.summary import evaluate_topics

    if (options.qrels is None) != (options.queries is None):
        raise IsothermError("--qrels and --queries belong together; give both, or none of them")
    for path in (options.heldout, options.queries, options.qrels):
        if path is not None:
            existing(path, "a file to measure by")
    run = runs.at_level(options)
    others = [_other(Path(name), run) for name in (options.others or "").split(",") if name]
    labels = _labels(run, options.labels or run.settings["labels"])
    report = evaluate_topics(
        run.model,
        run.counts,
        heldout=None if options.heldout is None else _over_columns(options.heldout, run),
        labels=labels,
        fits=others,
        n_words=options.words,
    )
    summary = report.as_dict()
    summary["skipped"] = {name: in_options(why) for name, why in report.skipped.items()}
    # What is not there was not asked for.
    text = str(dataclasses.replace(report, skipped={}))
    if options.qrels is not None:
        summary["retrieval"], more = _retrieval(run, options)
        text = f"{text}\n\n{more}"
    console.tell(options, summary, text)


def _labels(run: Run, column: str | None) -> list[str | None] | None:
    """Labels as text, None where a document has none."""
    labels = run.documents.labels(column)
    if labels is None:
        return None
    if column == run.settings.get("supervise"):
        console.note(f"the fit has learned from the labels in {column!r}: agreement is too good")
    return [None if label in (None, "") else str(label) for label in labels]


def _other(path: Path, run: Run) -> Any:
    """The model of another run over the same words."""
    other = runs.open_run(path)
    if other.words != run.words:
        raise IsothermError(
            f"{path} and {run.folder} have different words; fit both to the same counts"
        )
    return other.model


def _over_columns(source: Path, run: Run) -> Counts:
    """Other documents over the columns of the run, counted in the same way."""
    from isotherm.text.options import CountOptions

    chosen = fields(run.counting, rules())
    known = counting.count(source, CountOptions(**chosen, vocabulary=run.words))
    if not known.counts.total:
        raise IsothermError(
            f"no word of {source} is among the {run.counts.n_columns} of {run.folder}; give "
            "documents of the same kind"
        )
    return known.counts


def _retrieval(run: Run, options: argparse.Namespace) -> tuple[dict[str, object], str]:
    """How well queries find what was judged relevant, as plain data and as text."""
    from isotherm.retrieval.evaluate import evaluate
    from isotherm.retrieval.trec import read_qrels, relevance

    index = index_of(run, options.weights, options.interpolation)
    queries = _over_columns(options.queries, run)
    judged = read_qrels(options.qrels)
    grades = {grade for one in judged.values() for grade in one.values()}
    least = 1 if options.min_grade is None and 0 in grades else options.min_grade
    relevant = relevance(
        judged,
        of_counts(queries).ids,
        run.documents.ids,
        grades=None if least is None else {grade for grade in grades if grade >= least},
    )
    if not relevant.nnz:
        raise IsothermError(
            f"{options.qrels} judges no pair of a query of {options.queries} and a document of "
            f"{run.folder} as relevant; names must be the same in all of them"
        )
    scored = evaluate(index.rank(queries), relevant)
    precision = dict(zip(scored.levels, scored.precision.mean(axis=0).tolist(), strict=True))
    summary = {
        "queries": len(scored.queries),
        "skipped_queries": scored.n_skipped,
        "mean_average_precision": float(scored.average_precision.mean()),
        "nine_level_precision": float(scored.nine_level.mean()),
        "precision_at_recall": {f"{level:g}": value for level, value in precision.items()},
    }
    rows = [
        ("queries", f"{summary['queries']} ({scored.n_skipped} without a relevant document)"),
        ("mean average precision", f"{summary['mean_average_precision']:.4f}"),
        ("mean of nine levels", f"{summary['nine_level_precision']:.4f}"),
        *((f"precision at recall {level:g}", f"{value:.4f}") for level, value in precision.items()),
    ]
    return summary, console.table(rows)
