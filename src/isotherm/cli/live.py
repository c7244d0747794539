"""The live page of a run, whose topics can be edited: what it serves, and how that changes."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

from isotherm.cli.edits import Wanted, edit
from isotherm.cli.explorer import explorer_of, maps_of, mark_of, site_of
from isotherm.errors import IsothermError
from isotherm.viewer.format import EditingMeta
from isotherm.viewer.gather import renamed
from isotherm.viewer.server.edits import KINDS, Change, Changed, Editing, new_token

if TYPE_CHECKING:
    from isotherm.cli.runs import Run
    from isotherm.estimators.counts import CountEstimator
    from isotherm.viewer.explorer import Explorer
    from isotherm.viewer.server.server import Site

# Explorers that are kept, so that taking an edit back needs no new maps.
KEPT = 3
# Topics that an edit is about, at least and at most.
NUMBERS: dict[str, tuple[int, int | None]] = {
    "rename": (1, 1),
    "merge": (2, None),
    "split": (1, 1),
    "drop": (1, 1),
    "pin": (1, None),
    "undo": (0, 0),
}
ELSEWHERE = "the topics were edited elsewhere since this page was opened; reload it to see them"
NO_PAGE = "it was kept, but this page cannot show it ({error}); start isotherm view again"


class _ElsewhereError(Exception):
    """The topics of the run are not those that the page shows."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self.run = run


class LiveRun:
    """A run behind a server, which changes it from one thread at a time.

    Parameters
    ----------
    run : Run
    options : Namespace
        Those of the verb.
    """

    def __init__(self, run: Run, options: argparse.Namespace) -> None:
        self._options, self._token = options, new_token()
        self._made: dict[str, Explorer] = {}
        self._show(run)

    def site(self) -> Site:
        """What is served of the run as it is now."""
        points = self._explorer.points
        meta = {**points.meta, "editing": self._meta()}
        shown = dataclasses.replace(self._explorer, points=points._replace(meta=meta))
        return site_of(self._run, shown, Editing(self._token, self.change))

    def change(self, change: Change) -> Changed:
        """Do what the page asks for, and keep it with the run."""
        try:
            done = edit(self._run.folder, self._asked(change), _check_page, self._run)
        except _ElsewhereError as error:
            if error.run.state == self._run.state:  # another window has edited them
                return Changed(None, {"error": ELSEWHERE}, 409)
            self._show(error.run)
            return Changed(self.site(), {"error": ELSEWHERE}, 409)
        except OSError as error:
            return Changed(None, {"error": f"it was not kept: {error.strerror or error}"}, 500)
        try:
            self._show(done.run)
            return Changed(self.site(), done.summary())
        except (IsothermError, OSError, MemoryError) as error:
            return Changed(None, {"error": NO_PAGE.format(error=error)}, 500)

    def _show(self, run: Run) -> None:
        """Take a run in place of the one that was shown."""
        mark = mark_of(run)
        found = self._made.pop(mark, None)
        if found is None:
            found = explorer_of(run, maps_of(run, self._options))
        else:  # the same topics, by other names perhaps
            meta = renamed(found.points.meta, run.model, run.counts)
            found = dataclasses.replace(found, points=found.points._replace(meta=meta))
        self._made[mark] = found  # the last one
        for old in list(self._made)[:-KEPT]:
            del self._made[old]
        self._run, self._explorer = run, found

    def _meta(self) -> EditingMeta:
        """What the page is told of edits."""
        model = self._run.model
        return {
            "token": self._token,
            "state": self._run.state,
            "kinds": [kind for kind in KINDS if kind == "undo" or _takes(model, kind)],
            "pinned": list(model.pinned_),
            "last": str(model.edits_[-1]) if model.edits_ else None,
        }

    def _asked(self, change: Change) -> Callable[[Run], Wanted]:
        """What is to be done, if the page shows the topics that the run has."""

        def asked(run: Run) -> Wanted:
            from isotherm.naming.answers import one_line

            if not change.state == self._run.state == run.state:
                raise _ElsewhereError(run)
            least, most = NUMBERS[change.kind]
            number = len(change.topics)
            if number < least or (most is not None and number > most):
                raise IsothermError(f"{change.kind} of {number} topics; it is of {least}")
            names = (one_line(change.name),) if change.kind == "rename" else ()
            return Wanted(change.kind, change.topics, names, change.into)

        return asked


def _takes(model: CountEstimator, kind: str) -> bool:
    """Whether a model can be edited so."""
    from isotherm.estimators.editing import check_edit

    try:
        check_edit(model, kind)
    except IsothermError:
        return False
    return True


def _check_page(model: CountEstimator) -> None:
    """Refuse a model that has no map."""
    if len(model.weights_) < 2:
        raise IsothermError(
            "a page needs two topics at least, and one would be left; isotherm edit does that "
            "without a page"
        )
