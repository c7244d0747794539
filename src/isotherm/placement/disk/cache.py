"""Values whose arrays lie in files, mapped into memory only while they are looked at.

Whatever can be pickled can be put on a shelf: what is not an array stays in memory, arrays go to a
file as they are and come back as views of it. Nothing is copied on the way back.
"""

from __future__ import annotations

import mmap
import os
import pickle
import weakref
from pathlib import Path

import numpy as np

from isotherm._types import RowStates
from isotherm.format.scratch import Scratch

PREFIX = ".isotherm-"
PAGE = mmap.ALLOCATIONGRANULARITY
ALIGN = 64


class Shelved:
    """A value that may be in a file."""

    size: int

    def open(self) -> RowStates:
        """The value."""
        raise NotImplementedError


class Kept(Shelved):
    """A value on a shelf; its file is free for another value once nobody holds this any more."""

    def __init__(
        self, shelf: Shelf, header: bytes, spans: list[tuple[int, int]], path: Path
    ) -> None:
        # The folder stays for as long as anything in it may be looked at.
        self.shelf, self.header, self.spans, self.path = shelf, header, spans, path
        self.size = sum(length for _, length in spans)
        self.maps: list[weakref.ref[mmap.mmap]] = []
        # Folders in which the file has another name: it is never written to again.
        self.links: dict[Path, str] = {}

    def open(self, ahead: bool = True) -> RowStates:
        """The value; its arrays are private: what is written to them never gets to the file."""
        with self.path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        self.maps[:] = [one for one in self.maps if one() is not None]
        self.maps.append(weakref.ref(mapped))
        whole = memoryview(mapped)
        if ahead:
            # Pages that are missing are fetched here, by whoever reads ahead.
            np.frombuffer(whole, np.uint8)[::PAGE].sum()
        buffers = [whole[first : first + length] for first, length in self.spans]
        return pickle.loads(self.header, buffers=buffers)


class Held(Shelved):
    """A value that stays in memory, with the manners of one on a shelf."""

    def __init__(self, value: object, size: int) -> None:
        self.value, self.size = value, size

    def open(self) -> RowStates:
        """The value."""
        return self.value


class Shelf:
    """A folder of values, removed with the shelf, or by the next one if the process was killed.

    Parameters
    ----------
    folder : path
        Where the folder is made.
    in_memory : int
        Bytes of values that are held in memory before files are used.
    """

    def __init__(self, folder: Path, in_memory: int = 0) -> None:
        scratch = Scratch(folder, PREFIX)
        self.folder = scratch.folder
        self.room, self._free, self._number = in_memory, list[Path](), 0
        self._remove = weakref.finalize(self, scratch.remove)

    def put(self, value: object) -> Kept | Held:
        """The value, kept."""
        buffers: list[pickle.PickleBuffer] = []
        header = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        parts = [buffer.raw() for buffer in buffers]
        size = sum(part.nbytes for part in parts)
        if size <= self.room:
            self.room -= size
            held = Held(value, size)
            weakref.finalize(held, _give_back, weakref.ref(self), size)
            return held
        path = self._free.pop() if self._free else self._named()
        spans, at = [], 0
        with path.open("r+b" if path.exists() else "w+b", buffering=0) as file:
            for part in parts:
                file.seek(at)
                _write(file.fileno(), part)
                spans.append((at, part.nbytes))
                at += -(-part.nbytes // ALIGN) * ALIGN
            file.truncate(max(at, 1))
        kept = Kept(self, header, spans, path)
        weakref.finalize(kept, _set_free, weakref.ref(self), path, kept.maps, kept.links)
        return kept

    def file(self) -> Path:
        """Path of a new file of this shelf."""
        return self._named()

    def _named(self) -> Path:
        self._number += 1
        return self.folder / f"{self._number}.bin"


def _write(descriptor: int, part: memoryview) -> None:
    """Write all of it; the system takes at most 2 GiB at a time."""
    done = 0
    while done < part.nbytes:
        done += os.write(descriptor, part[done:])


def _give_back(shelf: weakref.ref[Shelf], size: int) -> None:
    found = shelf()
    if found is not None:
        found.room += size


def _set_free(
    shelf: weakref.ref[Shelf],
    path: Path,
    maps: list[weakref.ref[mmap.mmap]],
    links: dict[Path, str],
) -> None:
    found = shelf()
    if found is None:
        return
    if links or any(one() is not None for one in maps):
        # Somebody still looks at its arrays: they stay until then, under no name.
        path.unlink(missing_ok=True)
    else:
        found._free.append(path)
