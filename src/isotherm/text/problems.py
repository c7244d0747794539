"""What could not be read, and where: collected and reported, or raised at once."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import NamedTuple

from isotherm.errors import IsothermError, IsothermWarning

__all__ = ["Problem", "Problems"]

# So many are kept; a file of another kind may have one on every line.
KEPT = 1000
# So many are shown in a warning or an error.
SHOWN = 3
# Longer reasons are cut.
LONGEST = 300


class Problem(NamedTuple):
    """Something that was left out: the file (or what was read), the line from 1 on, and why.

    `line` is 0 where the whole file is meant.
    """

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.reason}"


@dataclass
class Problems:
    """The problems of one reading.

    Parameters
    ----------
    errors : {"report", "raise"}
        Whether the first problem ends the reading.
    """

    errors: str = "report"
    kept: list[Problem] = field(default_factory=list)
    total: int = 0

    def add(self, file: str, line: int, reason: str) -> None:
        """Note a problem, or raise it."""
        problem = Problem(file, line, " ".join(reason.split())[:LONGEST])
        if self.errors == "raise":
            raise IsothermError(
                f"{problem}. Correct or remove it.",
                parameter="errors",
                in_python=", or pass errors='report' to leave it out",
            )
        self.total += 1
        if len(self.kept) < KEPT:
            self.kept.append(problem)

    def summary(self) -> str:
        """The first few in one line; empty if there are none."""
        if not self.total:
            return ""
        shown = "; ".join(str(problem) for problem in self.kept[:SHOWN])
        more = self.total - min(SHOWN, len(self.kept))
        return shown + (f"; and {more} more" if more else "")

    def warn(self, what: str) -> None:
        """Warn of all of them at once, if there are any."""
        if self.total:
            noun = "problem" if self.total == 1 else "problems"
            warnings.warn(
                f"{self.total} {noun} in {what}: {self.summary()}. What could not be read was "
                "left out; see `problems`, or pass errors='raise' to stop at the first.",
                IsothermWarning,
                stacklevel=3,
            )


def check_errors(errors: str) -> str:
    """The word that says what to do with problems, if it is one."""
    if errors not in ("report", "raise"):
        raise IsothermError(
            f"errors={errors!r}; use 'report' to leave out and list what cannot be read, or "
            "'raise' to stop at the first such line.",
            parameter="errors",
        )
    return errors
