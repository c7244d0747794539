"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Path beside the given one to write to; moved there in one step when the block ends well.

    Whoever looks sees the old file or the new one, never half of one. A block that raises leaves
    the old file and nothing else. The ending is kept, for writers that go by it.
    """
    final = Path(path)
    unfinished = final.with_name(f".{final.stem}.{os.getpid()}.part{final.suffix}")
    try:
        yield unfinished
        unfinished.replace(final)
    finally:
        unfinished.unlink(missing_ok=True)
