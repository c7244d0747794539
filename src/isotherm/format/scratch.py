"""Folders for files of a running process, which nobody else removes; those of dead ones go.

A folder is held by a lock on a file in it, which the system lets go of when the process ends,
however that was. Whoever makes the next folder in the same place removes those that are not held.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

fcntl: Any = None
with suppress(ImportError):  # Windows: nothing is locked, and nothing of others is removed
    fcntl = import_module("fcntl")

LOCK = "lock"
# What the lock holds: a folder without it is nobody's to remove.
MARK = b"isotherm scratch\n"


class Scratch:
    """A new folder within another one, held until `remove` or the end of the process.

    Parameters
    ----------
    parent : path
        Where the folder is made.
    prefix : str
        How its name begins; folders with the same beginning that no process holds are removed.
    """

    def __init__(self, parent: Path, prefix: str) -> None:
        removed_stale(parent, prefix)
        self.folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        self._descriptor = _locked(self.folder)

    def release(self) -> None:
        """Leave the folder to itself, without its lock."""
        (self.folder / LOCK).unlink(missing_ok=True)
        self._close()

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._close()

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def removed_stale(parent: Path, prefix: str) -> list[Path]:
    """Folders of processes that are no more, now removed."""
    found = []
    for folder in sorted(one for one in parent.iterdir() if one.name.startswith(prefix)):
        if folder.is_dir() and not folder.is_symlink() and _is_stale(folder):
            shutil.rmtree(folder, ignore_errors=True)
            found.append(folder)
    return found


def _locked(folder: Path) -> int | None:
    """Descriptor of a lock in the folder; None where there are no locks."""
    if fcntl is None:
        return None
    # Under its own name only once it is locked: nobody ever sees it free.
    path = folder / f"{LOCK}.new"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # a file system without locks
        os.close(descriptor)
        path.unlink(missing_ok=True)
        return None
    os.write(descriptor, MARK)
    path.rename(folder / LOCK)
    return descriptor


def _is_stale(folder: Path) -> bool:
    """Whether there is a lock with our mark in the folder that nobody holds."""
    if fcntl is None:
        return False
    with suppress(OSError):  # no lock, or held, or not ours: leave it
        descriptor = os.open(folder / LOCK, os.O_RDWR)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return os.read(descriptor, 2 * len(MARK)) == MARK
        finally:
            os.close(descriptor)
    return False
