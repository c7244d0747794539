"""`isotherm name`: short names of the topics of a run, asked of a language model."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from isotherm.cli import console, runs
from isotherm.cli.edits import Wanted, edit, topic_of
from isotherm.cli.parser import Parser, add_run
from isotherm.errors import IsothermError

if TYPE_CHECKING:
    from isotherm.cli.runs import Run
    from isotherm.naming.asking import Answer
    from isotherm.naming.endpoint import Endpoint
    from isotherm.naming.prompts import Prompt

EXAMPLE = "http://localhost:11434/v1"


class _UnchangedError(Exception):
    """All names are as they were: there is nothing to keep."""


class Named(NamedTuple):
    """What came of asking about a topic: its name before and after, and why it has no other."""

    topic: int
    was: str
    name: str
    problem: str


def add_arguments(parser: Parser) -> None:
    """What the verb takes besides its options; examples."""
    parser.example(
        "isotherm name articles.run --prompt-only",
        f"isotherm name articles.run --url {EXAMPLE} --model llama3.2",
    )
    add_run(parser)


def run(options: argparse.Namespace) -> None:
    """Ask for names, and give them to the topics; or show what would be asked."""
    found = runs.open_run(options.run)
    if options.prompt_only:
        _show(options, _prompts(found, options))
        return
    if options.url is None:
        raise IsothermError(
            "nothing was sent, as there is no --url; give the address of an OpenAI-compatible "
            f"service, such as {EXAMPLE}, or see by --prompt-only what would be sent"
        )
    endpoint = _endpoint(options)
    _prompts(found, options)  # what cannot be asked is told before anything is held
    told: list[Named] = []

    def asked(run: Run) -> Wanted:
        answers = _answers(endpoint, _prompts(run, options))
        told.extend(_named(run, answers))
        new = [one for one in told if one.name != one.was]
        if not new:
            raise _UnchangedError
        return Wanted("rename", tuple(one.topic for one in new), tuple(one.name for one in new))

    try:
        edit(options.run, asked)
    except _UnchangedError:
        _check_some(told)
    _tell(options, told, endpoint)


# What is asked ------------------------------------------------------------------------------------


def _endpoint(options: argparse.Namespace) -> Endpoint:
    from isotherm.naming.endpoint import Endpoint

    return Endpoint(options.url, options.model, options.key_env, options.timeout)


def _prompts(run: Run, options: argparse.Namespace) -> list[Prompt]:
    """What is asked about each topic."""
    from isotherm.naming.prompts import prompts

    docs, given = run.documents, options.only
    # Names of documents without titles say nothing of what they are about.
    titles = docs.titles if options.documents and docs.titles != docs.ids else None
    topics = None if given is None else [topic_of(run, one.strip()) for one in given.split(",")]
    return prompts(
        run.model,
        titles,
        row_totals=run.counts.row_totals,
        topics=topics,
        n_words=options.words,
        n_documents=options.documents,
    )


def _show(options: argparse.Namespace, asked: Sequence[Prompt]) -> None:
    """Tell what would be sent; nothing is."""
    lines = [
        f"topic {one.topic}, {message['role']}:\n{message['content']}\n"
        for one in asked
        for message in one.messages
    ]
    summary = [{"topic": one.topic, "messages": list(one.messages)} for one in asked]
    console.tell(options, summary, "\n".join([*lines, "nothing was sent"]))


def _answers(endpoint: Endpoint, asked: Sequence[Prompt]) -> list[Answer]:
    from isotherm.naming.asking import answers

    found = []
    with console.counter("topics asked about:") as show:
        for one in answers(endpoint, asked):
            found.append(one)
            if show is not None:
                show(len(found))
    return found


def _named(run: Run, answers: Sequence[Answer]) -> list[Named]:
    """The new names, all of them different."""
    from isotherm.naming.asking import named

    names, own = named(run.model, answers), run.model.names_
    return [Named(one.topic, own[one.topic], names[one.topic], one.problem) for one in answers]


# What is told -------------------------------------------------------------------------------------


def _check_some(told: Sequence[Named]) -> None:
    """Refuse to call it a success if no answer was a name."""
    if all(one.problem for one in told):
        raise IsothermError(
            f"no answer was a name: of topic {told[0].topic}, {told[0].problem}; see by "
            "--prompt-only what is sent, or give another --model"
        )


def _tell(options: argparse.Namespace, told: Sequence[Named], endpoint: Endpoint) -> None:
    """Tell the name of each topic before and after."""
    new = sum(one.name != one.was for one in told)
    summary = {
        "run": str(options.run),
        "asked": endpoint.address,
        "renamed": new,
        "topics": [one._asdict() for one in told],
    }
    width = max(len(one.was) for one in told)
    lines = [f"{one.topic:4d}  {one.was:<{width}}  {_outcome(one)}" for one in told]
    head = f"{console.plural(new, 'new name')} from {endpoint.address}"
    end = f"{options.run}: isotherm edit {options.run} undo takes them back"
    console.tell(options, summary, "\n".join([head, *lines, *([end] if new else [])]))


def _outcome(one: Named) -> str:
    if one.problem:
        return f"keeps its name: {one.problem}"
    return "was called so again" if one.name == one.was else f"-> {one.name}"
