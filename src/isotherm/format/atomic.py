"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# By these anything tells a run, its folder, and a page that isotherm wrote.
RUN_ABOUT, RUN_BEGUN, RUN_FORMAT = "run.json", "begun.json", "isotherm run"
PAGE_MARK = '<meta name="generator" content="isotherm">'
# So many bytes at the beginning of a page are looked at.
HEAD = 4096


def is_own_page(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a page that isotherm wrote."""
    try:
        with Path(path).open("rb") as file:
            return PAGE_MARK.encode() in file.read(HEAD)
    except OSError:
        return False


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Path beside the given one to write to; moved there in one step when the block ends well.

    Whoever looks sees the old file or the new one, never half of one, also after a power cut: the
    new one is on the disk before it takes the place of the old. A block that raises leaves the old
    file and nothing else. A process that is killed leaves what it had written under a hidden name;
    the next one to write the same file removes that. The ending is kept, for writers that go by it.
    An error of the system (a full disk) names the given path, not the hidden one. Where the path is
    a link, what it leads to is replaced; the new file has the rights of the old one.
    """
    given = Path(path)
    final = Path(os.path.realpath(given)) if given.is_symlink() else given
    host = re.sub(r"\W", "-", socket.gethostname())[:64]
    unfinished = final.with_name(f".{final.stem}.{host}.{os.getpid()}.part{final.suffix}")
    _remove_abandoned(final, host)
    try:
        yield unfinished
        with suppress(OSError):  # there is no old one, or it is somebody else's
            shutil.copymode(final, unfinished)
        _to_disk(unfinished)
        unfinished.replace(final)
        with suppress(OSError):  # some systems cannot open folders; the file itself is safe
            _to_disk(final.parent)
    except OSError as error:
        # Writing to an open file fails without any name.
        if error.errno is None or error.filename not in (None, os.fspath(unfinished)):
            raise
        raise OSError(error.errno, error.strerror, os.fspath(given)) from error
    finally:
        with suppress(OSError):  # in a folder that cannot be written to there is nothing to remove
            unfinished.unlink(missing_ok=True)


def _to_disk(path: Path) -> None:
    """Wait until what the system still holds of a file, or of the names in a folder, is written."""
    # Windows wants a file that is open for writing.
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() or os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_abandoned(final: Path, host: str) -> None:
    """Remove what killed processes of this computer left of the same file."""
    if os.name != "posix" or not final.parent.is_dir():
        return
    middle = rf"\.(\d{{1,9}})\.part{re.escape(final.suffix)}"
    pattern = re.compile(rf"\.{re.escape(final.stem)}\.{re.escape(host)}{middle}")
    for name in os.listdir(final.parent):
        found = pattern.fullmatch(name)
        if found and not _alive(int(found[1])):
            with suppress(OSError):
                final.with_name(name).unlink()


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # somebody else's
    return True
