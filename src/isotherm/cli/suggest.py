"""What was meant: the known name that is nearest to one that is not known."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from pathlib import Path

from isotherm.errors import IsothermError


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like the given one, None if none is alike."""
    alike = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return alike[0] if alike else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question to put into a message, empty where no known name is alike."""
    other = nearest(name, known)
    return "" if other is None else f" (did you mean {other!r}?)"


def existing(path: Path, what: str) -> Path:
    """The path, if something is there; or an error that names what is nearest to it.

    Parameters
    ----------
    path : Path
    what : str
        What it should be, for the message: "a run", "a file of queries".
    """
    if path.exists():
        return path
    folder = path.parent
    if not folder.is_dir():
        raise IsothermError(
            f"there is no {path}: the folder {folder} is missing; give the path of {what}"
        )
    other = nearest(path.name, os.listdir(folder))
    near = "" if other is None else f"; the nearest name there is {folder / other}"
    raise IsothermError(f"there is no file or folder {path}{near}; give the path of {what}")


def check_folder(path: Path) -> None:
    """Refuse a path whose folder is missing or may not be written to."""
    if not path.parent.is_dir():
        raise IsothermError(f"there is no folder {path.parent} to write {path.name} to; make it")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise IsothermError(
            f"the folder {path.parent} of {path.name} may not be written to; check its rights, or "
            "give another with -o"
        )


def writable(
    path: Path, *, force: bool, endings: tuple[str, ...] = (), source: Path | None = None
) -> Path:
    """The path, if a file may be written there; asked before any work is done.

    Never in place of the source, and never in place of a device.
    """
    if endings and path.suffix.lower() not in endings:
        raise IsothermError(
            f"{path} ends in {path.suffix!r}; give a name that ends in {', '.join(endings)}"
        )
    check_folder(path)
    if path.is_dir():
        raise IsothermError(f"{path} is a folder; give the name of a file")
    if path.exists() and not path.is_file():
        raise IsothermError(f"{path} is a pipe or a device; give the name of a file")
    if source is not None and path.exists() and path.samefile(source):
        raise IsothermError(f"{path} is what is to be read; give another name to write to")
    if os.path.lexists(path) and not force:
        raise IsothermError(f"{path} is there already; give another name, or --force to replace it")
    return path
