"""`isotherm topics`: the topics of a run, the largest first."""

from __future__ import annotations

import argparse
from typing import Any

from isotherm.cli import console, runs
from isotherm.cli.arguments import Parser, add_run, at_least


def add_arguments(parser: Parser) -> None:
    """The options of the verb."""
    parser.example("isotherm topics articles.run -n 20 --by lift")
    add_run(parser)
    parser.add_argument(
        *("-n", "--words"), type=at_least(1), default=10, help="words of each (%(default)s)"
    )
    parser.add_argument(
        "--by",
        choices=("probability", "lift"),
        default="probability",
        help="frequent words, or those that are rare elsewhere (%(default)s)",
    )


def run(options: argparse.Namespace) -> None:
    """Show them."""
    topics = topics_of(runs.opened(options.run).model, options.words, options.by)
    console.tell(options, topics, lines(topics))


def topics_of(model: Any, n_words: int, by: str) -> list[dict[str, Any]]:
    """Number, share and words of every topic, the largest first."""
    words = model.top_words(n_words, by=by)
    shares = model.weights_.tolist()
    order = sorted(range(len(shares)), key=lambda k: -shares[k])
    return [{"topic": k, "share": shares[k], "words": words[k]} for k in order]


def lines(topics: list[dict[str, Any]]) -> str:
    """A line for each topic."""
    return "\n".join(
        f"{one['topic']:4d}  {100 * one['share']:5.1f} %  {' '.join(one['words'])}"
        for one in topics
    )
