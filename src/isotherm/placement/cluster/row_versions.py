"""Row states on workers, seen from the client: what they are called, and how to make them again."""

from __future__ import annotations

import itertools
import uuid
import weakref
from collections.abc import Iterator
from typing import Any

from isotherm import _nested
from isotherm._types import Fields, RowStates
from isotherm.errors import IsothermError
from isotherm.placement.base import AnyTask


class Recipe:
    """How a row state came to be: enough to make it again, for any block."""

    def __init__(
        self, data: Any, task: AnyTask | None, rows: object, shared: tuple[object, ...]
    ) -> None:
        self.name = new_name(data.cluster.owner_name)
        self.data, self.task, self.rows, self.shared = data, task, rows, shared
        self.depth: int = 1 + max((one.depth for one in recipes(rows)), default=0)
        # Where copies are, worker by block, and their name.
        self.copies: dict[int, str] = {}
        self.copy = ""
        # Row states by block, where this process has them and no other does.
        self.given: dict[int, object] = {}


class Version:
    """Row states of all blocks at one time; they are kept for as long as somebody holds this.

    Parameters
    ----------
    recipe : Recipe, optional
        How they were made.
    rows : named tuple of arrays (I, ...), optional
        The states themselves, of a checkpoint: they go to workers when they are needed.
    """

    def __init__(self, recipe: Recipe | None, rows: object = None) -> None:
        self.recipe: Any = recipe
        self.rows = rows
        self._seen: tuple[Any, list[weakref.ref[object]]] | None = None

    def gathered(self) -> Any:
        """The states as a named tuple of arrays (I, ...), in this process."""
        if self.recipe is None:
            return self.rows
        # A checkpoint that names a version twice shall hold its arrays once.
        if self._seen is not None:
            kind, arrays = self._seen
            found = [one() for one in arrays]
            if all(one is not None for one in found):
                return kind(*found)
        rows = self.recipe.data.gather((self,))
        self._seen = (type(rows), [weakref.ref(one) for one in rows])
        return rows

    def fields(self) -> Fields:
        """What a checkpoint holds; OSError where the workers that have it are lost."""
        try:
            return {"rows": self.gathered()}
        except IsothermError as error:
            raise OSError(str(error)) from error


def restored(fields: dict[str, object]) -> Version:
    """Version of a checkpoint."""
    if sorted(fields) != ["rows"]:
        raise ValueError("RowsOnWorkers has other fields")
    return Version(None, fields["rows"])


def new_name(owner: str) -> str:
    """A name for blocks or row states that nobody else has; it tells whose they are."""
    return f"{owner}/{uuid.uuid4().hex}"


def pieces(rows: RowStates, bounds: list[int]) -> dict[int, RowStates]:
    """Row states by block, from those of all rows (I, ...)."""
    return {
        number: _nested.apply(lambda field, lo=lo, hi=hi: field[lo:hi], rows)
        for number, (lo, hi) in enumerate(itertools.pairwise(bounds))
    }


def recipes(rows: RowStates) -> Iterator[Recipe]:
    """Recipes in tuples of any depth."""
    if isinstance(rows, Recipe):
        yield rows
    else:
        for one in rows:
            yield from recipes(one)


def named(rows: RowStates) -> object:
    """Names in place of recipes."""
    return rows.name if isinstance(rows, Recipe) else tuple(named(one) for one in rows)


def size(value: object) -> int:
    """Bytes of the arrays in tuples of any depth."""
    if isinstance(value, tuple):
        return sum(size(one) for one in value)
    return int(getattr(value, "nbytes", 0))
