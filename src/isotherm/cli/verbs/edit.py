"""`isotherm edit`: topics of a run changed by hand, and edits taken back."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from isotherm.cli import console, runs
from isotherm.cli.edits import Wanted, edit, in_words, topic_of
from isotherm.cli.parser import Parser, add_run
from isotherm.errors import IsothermError

if TYPE_CHECKING:
    from isotherm.cli.runs import Run

# What can be done, how many words it takes at least and at most, and which.
ACTIONS: dict[str, tuple[int, int | None, str]] = {
    "rename": (2, 2, 'a topic and its new name, as in rename 3 "crude oil" (with its quotes)'),
    "merge": (2, None, "two topics or more, as in merge 3 7"),
    "split": (1, 1, "one topic, as in split 3"),
    "drop": (1, 1, "one topic, as in drop 5"),
    "pin": (1, None, "one topic or more, as in pin 2"),
    "undo": (0, 0, "nothing more"),
    "list": (0, 0, "nothing more"),
}


def add_arguments(parser: Parser) -> None:
    """What the verb takes besides its options; examples."""
    parser.example(
        'isotherm edit articles.run rename 3 "crude oil"',
        "isotherm edit articles.run merge 3 7",
        "isotherm edit articles.run split 3 --into 3",
        "isotherm edit articles.run undo",
    )
    add_run(parser)
    parser.add_argument("what", choices=ACTIONS, metavar="WHAT", help=", ".join(ACTIONS))
    parser.add_argument(
        "topics", nargs="*", metavar="TOPIC", help="numbers or names of topics; a new name last"
    )


def run(options: argparse.Namespace) -> None:
    """Edit the run, or list what was done."""
    what, words = options.what, options.topics
    _check(what, words, into="into" in options.given)
    if what == "list":
        _list(options)
        return
    found = runs.open_run(options.run)
    if found.about.get("interrupted"):
        console.note(
            f"the fit of {options.run} was interrupted; going on with it would lose the edits"
        )
    done = edit(options.run, _asked(what, words, options.into))
    console.tell(options, done.summary(), in_words(done))


def _check(what: str, words: Sequence[str], *, into: bool) -> None:
    least, most, which = ACTIONS[what]
    if len(words) < least or (most is not None and len(words) > most):
        given = console.plural(len(words), "word") if words else "nothing"
        raise IsothermError(f"{what} was given {given} behind it; give {which}")
    if into and what != "split":
        raise IsothermError(f"--into is for split, and this is {what}; leave it out")


def _asked(what: str, words: Sequence[str], into: int) -> Callable[[Run], Wanted]:
    """What is to be done to a run, once its topics are known."""

    def asked(run: Run) -> Wanted:
        if what == "rename":
            return Wanted(what, (topic_of(run, words[0]),), (_name(words[1]),))
        topics = tuple(topic_of(run, word) for word in words)
        twice = next((k for k in topics if topics.count(k) > 1), None)
        if twice is not None:
            raise IsothermError(f"topic {twice} was given twice; name each once")
        return Wanted(what, topics, into=into)

    return asked


def _name(given: str) -> str:
    """A name that can be told from a number."""
    from isotherm.naming.answers import one_line

    name = one_line(given)
    if name.isdecimal():
        raise IsothermError(
            f"the name {name!r} would be taken for the number of a topic; give a word with it"
        )
    return name


def _list(options: argparse.Namespace) -> None:
    """Tell what was done to the run."""
    model = runs.open_run(options.run).model
    number = console.plural(len(model.edits_), "edit") if model.edits_ else "no edits"
    lines = [f"{options.run}: {console.plural(len(model.weights_), 'topic')}, {number}"]
    lines += [f"{place:3d}. {one}" for place, one in enumerate(model.edits_, 1)]
    if model.pinned_:
        named = ", ".join(f"{k} ({model.names_[k]})" for k in model.pinned_)
        lines.append(f"pinned: {named}")
    summary = {
        "run": str(options.run),
        "topics": len(model.weights_),
        "edits": [{**dataclasses.asdict(one), "done": str(one)} for one in model.edits_],
        "pinned": list(model.pinned_),
    }
    console.tell(options, summary, "\n".join(lines))
