"""`isotherm topics`: the topics of a run, the largest first."""

from __future__ import annotations

import argparse

from isotherm.cli import console, runs
from isotherm.cli.options import at_least
from isotherm.cli.parser import Parser, add_run
from isotherm.cli.runs import topic_lines, topics_of


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
    console.tell(options, topics, topic_lines(topics))
