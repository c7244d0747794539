"""What a verb may remove: folders that carry the mark of a run, and in them its own files.

Whatever else lies where a run is to be written was put there by somebody: it is named in an error
before any work begins, and it stays.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import uuid
from contextlib import suppress
from pathlib import Path

from isotherm.errors import IsothermError
from isotherm.format.atomic import RUN_ABOUT, RUN_BEGUN, RUN_FORMAT

# Marks the folder of a run from its first moment until it has its name.
MARK = RUN_BEGUN
# What a run is made of, and hidden files of processes that were killed while they wrote it.
FILES = re.compile(
    r"run\.json|begun\.json|(model|counts|stages)\.iso|documents\.jsonl\.gz|fit\.checkpoint"
    r"|map[23]\.[0-9a-f]{16}\.(map|gtm)|\..+\.\d{1,9}\.part(\.\w+)?"
)
FOLDERS = ("counts.stored", "fit.checkpoint.rows")


def has_mark(folder: Path) -> bool:
    """Whether a folder is one that isotherm fit made: done, left unfinished, or hardly begun."""
    if folder.is_symlink() or not folder.is_dir():
        return False
    return any(_format(folder / name) == RUN_FORMAT for name in (RUN_ABOUT, MARK))


def _format(path: Path) -> object:
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return about.get("format") if isinstance(about, dict) else None


def strangers(folder: Path) -> list[str]:
    """Names of what is in the folder of a run and no part of it."""
    return sorted(path.name for path in folder.iterdir() if not _is_part(path))


def _is_part(path: Path) -> bool:
    if path.is_dir() and not path.is_symlink():
        return path.name in FOLDERS
    return FILES.fullmatch(path.name) is not None


def begin(folder: Path, *, replaces: bool) -> None:
    """Make the folder of a run, marked; `replaces` says whether an older run is to make way."""
    folder.mkdir(exist_ok=True)
    about = {"format": RUN_FORMAT, "replaces": replaces}
    (folder / MARK).write_text(json.dumps(about) + "\n", encoding="utf-8")


def may_replace(folder: Path) -> bool:
    """Whether the fit in a folder was begun with leave to replace an older run."""
    try:
        return json.loads((folder / MARK).read_text(encoding="utf-8"))["replaces"] is True
    except (OSError, ValueError, LookupError, TypeError):
        return False


def check_final(final: Path, *, force: bool) -> None:
    """Refuse a name that is taken, unless by a run that may be replaced."""
    if not os.path.lexists(final):
        return
    if final.is_symlink():
        raise IsothermError(
            f"{final} is a link to {os.readlink(final)}; give that with -o, or another name"
        )
    if not has_mark(final):
        raise IsothermError(
            f"{final} is there already and is no run of isotherm, so that not even --force "
            "replaces it; move it away, or give another name with -o"
        )
    if not force:
        raise IsothermError(
            f"{final} is there already; give another name with -o, or --force to replace it"
        )


def check_work(work: Path) -> None:
    """Refuse to work in a place that holds anything of somebody else's."""
    if not os.path.lexists(work):
        return
    if work.is_symlink() or not work.is_dir():
        what = ["it is no folder"]
    elif has_mark(work):
        what = strangers(work)
    else:
        what = sorted(os.listdir(work))  # an empty folder holds nothing of anybody's
    if what:
        more = ", ..." if len(what) > 3 else ""
        raise IsothermError(
            f"the fit would work in {work}, which holds what isotherm did not put there "
            f"({', '.join(what[:3])}{more}); move it away, or give another name with -o"
        )


def remove(folder: Path) -> None:
    """Remove the folder of a run; what is no part of it stays where it is."""
    for path in folder.iterdir():
        if not _is_part(path):
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    with suppress(OSError):  # something of somebody else's is left
        folder.rmdir()


def replace(work: Path, final: Path) -> None:
    """Give a folder its name; an older run of that name goes, and what others put there stays."""
    (work / MARK).unlink(missing_ok=True)
    if os.path.lexists(final):
        old = final.with_name(f".{final.name}.{uuid.uuid4().hex}.replaced")
        final.rename(old)
        try:
            work.rename(final)
        except OSError:
            old.rename(final)
            raise
    else:
        work.rename(final)
    for old in _replaced(final):
        _move_strangers(old, final)
        remove(old)


def _replaced(final: Path) -> list[Path]:
    """Older runs of that name: the one just replaced, and those of processes that were killed."""
    pattern = re.compile(rf"\.{re.escape(final.name)}\.[0-9a-f]{{32}}\.replaced")
    beside = (path for path in final.parent.iterdir() if pattern.fullmatch(path.name))
    return sorted(path for path in beside if has_mark(path))


def _move_strangers(old: Path, final: Path) -> None:
    for name in strangers(old):
        if not os.path.lexists(final / name):
            (old / name).rename(final / name)
