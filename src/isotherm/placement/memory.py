"""How much memory a fit took, as the operating system counts it.

What counts is what the process holds beyond what it held before, mapped files included. Linux keeps
the highest figure there ever was; where the process had been larger before, so that it says
nothing, the highest one seen between two blocks stands for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

STATUS = Path("/proc/self/status")


class Watch:
    """Memory of this process from now on, in MB; NaN where the system does not tell."""

    def __init__(self) -> None:
        self.begin, self._before = resident()
        self._seen = self.begin

    def look(self) -> None:
        """Note what is held at this moment."""
        self._seen = max(self._seen, resident()[0])

    @property
    def peak(self) -> float:
        """Most that was held beyond what was held at the beginning."""
        now, highest = resident()
        if highest <= self._before:
            highest = max(self._seen, now)
        return max(0.0, highest - self.begin) if not math.isnan(self.begin) else math.nan


def resident() -> tuple[float, float]:
    """What the process holds, and the most that it ever held, in MB."""
    try:
        lines = STATUS.read_text().splitlines()
        found = {name: text for name, _, text in (line.partition(":") for line in lines)}
        now, highest = (float(found[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))
    except (OSError, LookupError, ValueError):
        return math.nan, math.nan
    return now, highest


_CURRENT: ContextVar[Watch | None] = ContextVar("isotherm memory", default=None)


@contextmanager
def watched() -> Iterator[Watch]:
    """Watch the memory of all that is done within the block."""
    watch = Watch()
    before = _CURRENT.set(watch)
    try:
        yield watch
    finally:
        _CURRENT.reset(before)


def look() -> None:
    """Let whoever watches note what is held at this moment."""
    watch = _CURRENT.get()
    if watch is not None:
        watch.look()
