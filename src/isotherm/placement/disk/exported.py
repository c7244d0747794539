"""Row states in files as checkpoints keep them: files are linked, never read or copied if possible.

A folder beside the checkpoint has a file for every state; the checkpoint itself says what is in
them. Nothing is held in memory, neither when it is written nor when a fit goes on.
"""

from __future__ import annotations

import mmap
import os
import re
import shutil
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np

from isotherm import _nested
from isotherm._types import Fields, RowStates
from isotherm.placement.disk.cache import Held, Kept, Shelved

NAME = re.compile(r"[0-9a-f]{32}\.bin")


class Found(Shelved):
    """A row state in a file that an earlier process left.

    Parameters
    ----------
    path : path
    like : named tuple of arrays
        The state without any rows.
    n_rows : int
    firsts : list of int
        Where each array begins in the file.
    """

    def __init__(self, path: Path, like: Any, n_rows: int, firsts: list[int]) -> None:
        self.path, self.like, self.n_rows, self.firsts = path, like, n_rows, firsts
        self.size = sum(_bytes(field, n_rows) for field in like)
        ends = [at + _bytes(one, n_rows) for at, one in zip(firsts, like, strict=True)]
        if min(firsts) < 0 or max(ends) > path.stat().st_size:
            raise ValueError(f"{path.name} is shorter than it should be")

    def open(self) -> RowStates:
        """The value; its arrays are private: what is written to them never gets to the file."""
        with self.path.open("rb") as file:
            whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        at = iter(self.firsts)

        def one(field: Any) -> Any:
            first, shape = next(at), (self.n_rows, *field.shape[1:])
            if not np.prod(shape):
                return np.empty(shape, field.dtype)
            return np.ndarray(shape, field.dtype, whole, first)

        return _nested.apply(one, self.like)


class Folder:
    """The folder beside a checkpoint, with files of row states.

    Parameters
    ----------
    path : path
        Where it is, or will be once there is something to keep.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.named = path, set[str]()
        self.found: WeakSet[Found] = WeakSet()

    def fields(self, state: Kept | Found) -> Fields:
        """What a checkpoint says of a state, once its file is here."""
        value = state.open() if isinstance(state, Found) else state.open(ahead=False)
        if not all(field.flags.c_contiguous for field in value):
            raise ValueError("rows that do not lie one after the other")
        firsts = state.firsts if isinstance(state, Found) else [at for at, _ in state.spans]
        name = state.path.name if isinstance(state, Found) else self._linked(state)
        self.named.add(name)
        like = _nested.apply(lambda field: np.empty((0, *field.shape[1:]), field.dtype), value)
        return {"file": name, "like": like, "n_rows": len(value[0]), "firsts": list(firsts)}

    def restored(self, fields: Fields) -> Found:
        """The state of which a checkpoint says so much."""
        name = fields["file"]
        if not (isinstance(name, str) and NAME.fullmatch(name)):
            raise ValueError("no name of a file of rows")
        firsts = [int(one) for one in fields["firsts"]]
        found = Found(self.path / name, fields["like"], int(fields["n_rows"]), firsts)
        self.found.add(found)
        return found

    def keep_named(self) -> None:
        """Remove files that the last checkpoint does not name and nobody looks at."""
        used = self.named | {one.path.name for one in self.found}
        if self.path.is_dir():
            for one in self.path.iterdir():
                if NAME.fullmatch(one.name) and one.name not in used:
                    one.unlink(missing_ok=True)
        self.named = set()

    def remove(self) -> None:
        """Remove its files, and the folder if nothing else is in it."""
        if self.path.is_symlink() or not self.path.is_dir():
            return
        for one in self.path.iterdir():
            if NAME.fullmatch(one.name):
                one.unlink(missing_ok=True)
        with suppress(OSError):
            self.path.rmdir()

    def _linked(self, kept: Kept) -> str:
        """Name of the file of a state here; the shelf never writes to that file again."""
        name = kept.links.get(self.path)
        if name is None:
            self.path.mkdir(exist_ok=True)
            name = f"{uuid.uuid4().hex}.bin"
            with suppress(OSError):
                os.link(kept.path, self.path / name)
                kept.links[self.path] = name
                return name
            # Another disk, or one without links.
            shutil.copyfile(kept.path, self.path / name)
            kept.links[self.path] = name
        return name


def held_fields(held: Held) -> dict[str, object]:
    """What a checkpoint says of a state in memory: all of it."""
    return {"value": held.value}


def held_again(fields: dict[str, object]) -> Held:
    """The state of which a checkpoint says so much."""
    return Held(fields["value"], 0)


def _bytes(field: Any, n_rows: int) -> int:
    return int(n_rows * np.prod(field.shape[1:], dtype=np.int64) * field.dtype.itemsize)
