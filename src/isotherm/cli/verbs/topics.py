"""`isotherm topics`: the topics of a run, the largest first."""

from __future__ import annotations

import argparse

from isotherm.cli import console, runs
from isotherm.cli.parser import Parser, add_run
from isotherm.cli.runs import topic_lines, topics_of


def add_arguments(parser: Parser) -> None:
    """What the verb takes besides its options; examples."""
    parser.example("isotherm topics articles.run -n 20 --by probability")
    add_run(parser)


def run(options: argparse.Namespace) -> None:
    """Show them."""
    topics = topics_of(runs.at_level(options).model, options.words, options.by)
    console.tell(options, topics, topic_lines(topics, console.width()))
