"""Readers of values: from words of a command line to values, and from those to values in Python."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from isotherm.errors import IsothermError


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
    """A number of topics, "auto" or "predict"."""
    if text in ("auto", "predict"):
        return text
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not 'auto', 'predict' or an integer of at least 1"
        )
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


def several(names: str | None) -> str | tuple[str, ...] | None:
    """Names of columns with commas between them."""
    return tuple(names.split(",")) if names and "," in names else names


def unless_none(value: str) -> str | None:
    """The value, which may say that there is none."""
    return None if value == "none" else value


def two_numbers(value: Any) -> tuple[int, int]:
    """The two lengths, also as a list."""
    low, high = value
    if not (isinstance(low, int) and isinstance(high, int)):
        raise TypeError("ngrams are not two numbers")
    return low, high


def on_problems(strict: bool) -> str:
    """What to do with lines that cannot be read."""
    return "raise" if strict else "report"
