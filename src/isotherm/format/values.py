"""Files of values: what the codec makes of them, in an archive."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from isotherm.errors import IsothermError
from isotherm.format import archive, codec


def write(path: str | os.PathLike[str], kind: str, value: object, registry: codec.Registry) -> Path:
    """Path of the file that was written; nothing is written where the value cannot be."""
    writer = codec.Writer(registry)
    content = writer.encode(value, type(value).__name__)
    return archive.write(path, archive.Archive(kind, content, writer.arrays))


def read(path: str | os.PathLike[str], registry: codec.Registry, *kinds: str) -> Any:
    """The value in a file, if it is of one of the kinds (of any if none are given)."""
    return decoded(archive.read(path, *kinds), registry, path)


def decoded(found: archive.Archive, registry: codec.Registry, path: str | os.PathLike[str]) -> Any:
    """The value that a file holds, which has been read."""
    try:
        allowed = archive.allowance(Path(path).stat().st_size)
        return codec.Reader(registry, found.arrays, allowed).decode(found.content)
    except archive.DAMAGE as error:
        # Also what a constructor refuses: it was not refused when the file was written.
        why = str(error) or type(error).__name__
        raise archive.unreadable(Path(path), why) from error


def expect(value: object, kind: type[object], path: str | os.PathLike[str]) -> Any:
    """The value, if it is of the type that was asked for."""
    if not isinstance(value, kind):
        raise IsothermError(
            f"{path} holds {type(value).__name__}, and {kind.__name__} was asked for",
            parameter="path",
            in_python="; isotherm.load reads whatever a file holds",
        )
    return value
