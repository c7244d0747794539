"""What verbs share of their command lines: the parser, and readers of values."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, Never

from isotherm.cli.nearest import meant
from isotherm.errors import IsothermError


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, with the option that was meant."""

    def __init__(self, verb: str, about: str) -> None:
        super().__init__(
            prog=f"isotherm {verb}",
            description=about,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.also = ""  # where else words came from

    def example(self, *lines: str) -> None:
        """Show examples at the end of the help."""
        self.epilog = "\n".join(["for example:", *(f"  {line}" for line in lines)])

    @property
    def names(self) -> list[str]:
        """All options, as they are written."""
        return [name for name in self._option_string_actions if name.startswith("--")]

    @property
    def flags(self) -> list[str]:
        """The options that have no value."""
        return [name for name in self.names if self._option_string_actions[name].nargs == 0]

    def error(self, message: str) -> Never:
        """End with status 2."""
        prefix = "unrecognized arguments: "
        if message.startswith(prefix):
            first = message.removeprefix(prefix).split()[0]
            near = meant(first, self.names) if first.startswith("-") else ""
            message = f"{message.removeprefix(prefix)} is not understood{near}"
        self.exit(2, f"{self.prog}: error: {message}{self.also}; see {self.prog} --help\n")


def add_common(parser: Parser) -> None:
    """Options that all verbs have."""
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    parser.add_argument(
        *("-v", "--verbose"), action="store_true", help="tell on stderr what happens"
    )
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="TOML file with a table of options per verb"
    )


def add_force(parser: Parser) -> None:
    """Whether to replace what is there."""
    parser.add_argument("--force", action="store_true", help="replace what is there already")


def add_run(parser: Parser) -> None:
    """The run that a verb is about."""
    parser.add_argument("run", type=Path, metavar="RUN", help="folder that isotherm fit wrote")


def at_least(least: int) -> Callable[[str], int]:
    """Reader of integers of at least so much."""

    def read(text: str) -> int:
        if not text.removeprefix("-").isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is no integer of at least {least}")
        return int(text)

    return read


def not_negative(text: str) -> float:
    """A number of at least 0."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of at least 0")
    return value


def budget(text: str) -> float:
    """An amount of memory, in MB: "500MB", "2GB"."""
    from isotherm.data.stored import megabytes

    try:
        return megabytes(text)
    except IsothermError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no amount of memory; use 500MB or 2GB, for instance"
        ) from None


def share(text: str) -> float:
    """A number from 0 to 1."""
    value = not_negative(text)
    if value > 1.0:
        raise argparse.ArgumentTypeError(f"{text!r} is no share; use a number from 0 to 1")
    return value


def number_or_share(text: str) -> int | float:
    """A number of documents (5), or a share of them (0.5)."""
    if text.isdecimal():
        return int(text)
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a number of documents (5) nor a share of them (0.5)"
        )
    return value


def number_or_auto(text: str) -> int | str:
    """A number of topics, or "auto"."""
    if text == "auto":
        return text
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is neither 'auto' nor an integer of at least 1")
    return int(text)


def lengths(text: str) -> tuple[int, int]:
    """Lengths of runs of words: "2" for words and pairs, "2-3" for pairs and triples."""
    low, _, high = text.rpartition("-")
    low = low or "1"
    if not (low.isdecimal() and high.isdecimal() and 1 <= int(low) <= int(high) <= 16):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no length of runs of words; use 2 for words and pairs of words, or 2-3"
        )
    return int(low), int(high)


def given(options: argparse.Namespace, names: tuple[str, ...]) -> dict[str, Any]:
    """The values of some options, by name."""
    return {name: getattr(options, name) for name in names}
