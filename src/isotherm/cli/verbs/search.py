"""`isotherm search`: documents of a run by words and topics."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from isotherm.cli import console, runs
from isotherm.cli.parser import Parser, add_run
from isotherm.cli.query import search_of
from isotherm.errors import IsothermError

if TYPE_CHECKING:
    from isotherm.cli.documents import Documents
    from isotherm.retrieval.results import Hit


def add_arguments(parser: Parser) -> None:
    """What the verb takes besides its options; examples."""
    parser.example('isotherm search articles.run "price of oil"')
    parser.example("""isotherm search articles.run '"crude oil" -gulf'""")
    add_run(parser)
    parser.add_argument("query", nargs="+", metavar="WORDS", help="what to look for")


def run(options: argparse.Namespace) -> None:
    """Search, and show what was found."""
    run = runs.at_level(options)
    search = search_of(run, options.weights, options.interpolation)
    query, results = search.find(" ".join(options.query), options.number)
    if query.unknown:
        console.note(f"no document has {', '.join(query.unknown)}")
    if query.stopped:
        console.note(f"stop words, which were not counted: {', '.join(query.stopped)}")
    if not query.known:
        stops = query.stopped and not query.unknown
        what = "is anything but a stop word" if stops else "is in the documents"
        raise IsothermError(
            f"no word of the query {' '.join(options.query)!r} {what}; give words that isotherm "
            "topics shows, for instance"
        )
    hits = results.hits
    docs, names = run.documents, run.model.names_
    summary = {
        "query": query.known,
        "unknown": query.unknown,
        "stopped": query.stopped,
        "documents": [_entry(rank, hit, docs, names) for rank, hit in enumerate(hits, 1)],
    }
    blocks = [_block(rank, hit, docs, names) for rank, hit in enumerate(hits, 1)]
    console.tell(options, summary, "\n".join(blocks) or "nothing was found")


def _entry(rank: int, hit: Hit, docs: Documents, names: Sequence[str]) -> dict[str, object]:
    return {
        "rank": rank,
        "id": hit.name,
        "title": docs.titles[hit.document],
        "score": hit.score,
        "words": {one.word: one.amount for one in hit.words},
        "through_topics": hit.through_topics,
        "through_spectrum": hit.through_spectrum,
        "through_feedback": hit.through_feedback,
        "topics": [
            {
                "topic": one.topic,
                "name": names[one.topic],
                "amount": one.amount,
                "words": list(one.words),
            }
            for one in hit.topics
        ],
    }


def _block(rank: int, hit: Hit, docs: Documents, names: Sequence[str]) -> str:
    from isotherm.estimators.outline import other_words

    title = docs.titles[hit.document]
    name = hit.name if title == hit.name else f"{hit.name}  {title}"
    parts = [f"{one.word} {one.amount:.2f}" for one in hit.words]
    parts.append(f"by topics {hit.through_topics:.2f}")
    if hit.through_spectrum:
        parts.append(f"by spectrum {hit.through_spectrum:.2f}")
    if hit.through_feedback:
        parts.append(f"by likeness to the best {hit.through_feedback:.2f}")
    lines = [f"{rank:3d}. {hit.score:.3f}  {name}", f"       {', '.join(parts)}"]
    # The topics that matter; a document has a little of many.
    lines += [
        f"       topic {one.topic} ({names[one.topic]}): "
        f"{' '.join(other_words(names[one.topic], one.words))}".rstrip(": ")
        for one in hit.topics
        if one.amount >= 0.1
    ]
    return "\n".join(lines)
