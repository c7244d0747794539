"""Edits of the topics of a run: done to its model, and kept with the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from isotherm.cli import runs
from isotherm.cli.suggest import did_you_mean
from isotherm.errors import IsothermError

if TYPE_CHECKING:
    from isotherm.cli.runs import Run
    from isotherm.estimators.counts import CountEstimator
    from isotherm.estimators.edits import Edit

# Digits of the number of a topic, at most.
DIGITS = 9


class Wanted(NamedTuple):
    """An edit that is asked for.

    Attributes
    ----------
    what : {"rename", "merge", "split", "drop", "pin", "undo"}
    topics : tuple of int
    names : tuple of str
        New names of these topics, if it is a rename.
    into : int
        Number of parts, if it is a split.
    """

    what: str
    topics: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    into: int = 2


class Changed(TypedDict):
    """A topic that is another one now, or has another number, and which topics it was before."""

    topic: int
    was: list[int]
    share: float
    name: str


@dataclass(frozen=True)
class Done:
    """An edit that was made.

    Attributes
    ----------
    run : Run
        As it is now.
    what : str
        The edit, or "undo".
    text : str
        What was done, in words.
    topics : list of Changed
        Topics that changed, by number.
    """

    run: Run
    what: str
    text: str
    topics: list[Changed]

    def summary(self) -> dict[str, object]:
        """All of it as plain data."""
        model = self.run.model
        return {
            "run": str(self.run.folder),
            "what": self.what,
            "done": self.text,
            "topics": len(model.weights_),
            "edits": len(model.edits_),
            "changed": self.topics,
        }


def edit(
    folder: Path,
    asked: Callable[[Run], Wanted],
    check: Callable[[CountEstimator], None] | None = None,
    known: Run | None = None,
) -> Done:
    """Edit the topics of a run, as one process at a time may do.

    Parameters
    ----------
    folder : Path
    asked : callable
        From the run, as it is when it is held, to what is to be done.
    check : callable, optional
        May refuse the model before it is saved.
    known : Run, optional
        The run as it was read before; read again only if it has changed since.
    """
    runs.open_run(folder)  # what is no run is told so
    with runs.holding(folder, ""):
        run = runs.open_run(folder)
        if known is not None and known.state == run.state:
            run = known
        wanted = asked(run)
        before, after = run.model, _changed(run, wanted)
        if check is not None:
            check(after)
        run = run.edited(after)
    if wanted.what == "undo":
        last = before.edits_[-1]
        return Done(run, "undo", f"undo {last}", _came_back(before, after))
    return Done(run, wanted.what, str(after.edits_[-1]), _came(before, after))


def in_words(done: Done) -> str:
    """What was done, and a line for each topic that changed."""
    model, folder = done.run.model, done.run.folder
    number = len(model.weights_)
    end = f"{folder}: {number} topic{'' if number == 1 else 's'}"
    if model.edits_:
        end += f"; isotherm edit {folder} undo takes back the last edit"
    return "\n".join([done.text, *map(line, done.topics), end])


def line(one: Changed) -> str:
    """A topic, and which it was where it has another number."""
    was = [k for k in one["was"] if k != one["topic"]]
    before = f"  (was {', '.join(map(str, one['was']))})" if was else ""
    return f"{one['topic']:4d}  {100 * one['share']:5.1f} %  {one['name']}{before}"


def topic_of(run: Run, given: str) -> int:
    """Number of a topic that is given by its number or by its name."""
    names = run.model.names_
    if given.isdecimal() and len(given) <= DIGITS:
        check_topics(run, [int(given)])
        return int(given)
    same = [k for k, name in enumerate(names) if name == given]
    alike = [k for k, name in enumerate(names) if name.casefold() == given.casefold()]
    for found in (same, alike):
        if len(found) == 1:
            return found[0]
    raise IsothermError(
        f"there is no topic {given!r}{did_you_mean(given, names)}; {_there_are(run)}"
    )


def check_topics(run: Run, topics: list[int]) -> None:
    """Refuse numbers that no topic has."""
    number = len(run.model.weights_)
    for k in topics:
        if not 0 <= k < number:
            raise IsothermError(f"there is no topic {k}; {_there_are(run)}")


def _there_are(run: Run) -> str:
    return (
        f"{run.folder} has topics 0 to {len(run.model.weights_) - 1}, which isotherm topics "
        f"{run.folder} shows"
    )


# What is done -------------------------------------------------------------------------------------


def _changed(run: Run, wanted: Wanted) -> CountEstimator:
    """The model after an edit."""
    model, topics = run.model, wanted.topics
    _check(run, wanted)
    if wanted.what == "rename":
        return model.rename(dict(zip(topics, wanted.names, strict=True)))
    if wanted.what == "merge":
        return model.merge(topics)
    if wanted.what == "split":
        return model.split(topics[0], run.counts, wanted.into)
    if wanted.what == "drop":
        return model.drop(topics[0], run.counts)
    if wanted.what == "pin":
        return model.pin(topics)
    return model.undo()


def _check(run: Run, wanted: Wanted) -> None:
    """Refuse what makes no sense, in words that need no Python."""
    from isotherm.estimators.editing import check_edit

    model = run.model
    if wanted.what == "undo":
        if not model.edits_:
            raise IsothermError(f"{run.folder} has no edits: there is nothing to take back")
        return
    check_edit(model, wanted.what)
    check_topics(run, list(wanted.topics))
    pinned = [k for k in wanted.topics if k in model.pinned_]
    if pinned and wanted.what != "rename":
        k = pinned[0]
        todo = "" if wanted.what == "pin" else "; take the pin back by undo before that"
        already = " already" if wanted.what == "pin" else ", and stays as it is"
        raise IsothermError(f"topic {k} ({model.names_[k]}) is pinned{already}{todo}")
    if wanted.what == "rename":
        _check_names(model, dict(zip(wanted.topics, wanted.names, strict=True)))


def _check_names(model: CountEstimator, names: dict[int, str]) -> None:
    """Refuse names that change nothing, and those that another topic has."""
    if all(model.names_[k] == name for k, name in names.items()):
        k, name = next(iter(names.items()))
        raise IsothermError(f"topic {k} is called {name!r} already")
    others = {name: k for k, name in enumerate(model.names_) if k not in names}
    for k, name in names.items():
        if name in others:
            raise IsothermError(
                f"topic {others[name]} is called {name!r}; give topic {k} another name, or rename "
                f"topic {others[name]} first"
            )


# What has changed ---------------------------------------------------------------------------------


def _came(before: CountEstimator, after: CountEstimator) -> list[Changed]:
    """Topics that an edit changed."""
    last, into = after.edits_[-1], after.before_edits_[-1].into
    was: dict[int, list[int]] = {k: [] for k in range(len(after.weights_))}
    for old, new in enumerate(into):
        if new >= 0:
            was[new].append(old)
    if last.what == "split":
        was |= {new: [last.topics[0]] for new in last.into}
    return _listed(after, was, _touched(last, len(after.weights_)))


def _came_back(before: CountEstimator, after: CountEstimator) -> list[Changed]:
    """Topics that are as they were before an edit again."""
    last, into = before.edits_[-1], before.before_edits_[-1].into
    was = {old: [new] if new >= 0 else [] for old, new in enumerate(into)}
    if last.what == "split":
        was[last.topics[0]] = sorted(last.into)
    touched = range(len(after.weights_)) if last.what == "drop" else last.topics
    return _listed(after, was, set(touched))


def _touched(last: Edit, number: int) -> set[int]:
    """Topics that are others now; the words of one that was dropped went to all."""
    return set(range(number)) if last.what == "drop" else set(last.into)


def _listed(model: CountEstimator, was: dict[int, list[int]], touched: set[int]) -> list[Changed]:
    return [
        {
            "topic": k,
            "was": was[k],
            "share": float(model.weights_[k]),
            "name": model.names_[k],
        }
        for k in range(len(model.weights_))
        if k in touched or was[k] != [k]
    ]
