"""Options of counting, and readers of the values that options have."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from isotherm.cli.parser import Parser
from isotherm.errors import IsothermError

WEIGHTS, INTERPOLATION = "tfidf", 0.5
FORMATS = (
    *("folder", "lines", "jsonl", "json", "csv", "html", "smart", "trec", "parquet", "arrow"),
    *("uci", "ldac", "vw", "matrix-market", "npz", "npy"),
)
# What a word is; new texts are counted in the same way.
WORDS = ("lowercase", "min_length", "tokens", "token_pattern", "stop_words", "ngrams", "stem")
# What else decides which words are columns, and where they are read.
CHOICE = ("min_df", "max_df", "max_features", "vocabulary", "names")
READING = ("format", "text_column", "id_column", "header", "encoding")
COUNTING = (*WORDS, *CHOICE, *READING)


def add_counting(parser: Parser) -> None:
    """The options of counting."""
    group = parser.add_argument_group("reading")
    add = group.add_argument
    add("--format", choices=FORMATS, metavar="NAME", help="told by the file unless given")
    add("--text-column", metavar="A[,B]", help="column(s) of the text; guessed unless given")
    add("--id-column", metavar="A", help="column of the documents' names")
    add(
        "--header",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether the first line of a CSV file names its columns; told by its rows",
    )
    add("--encoding", default="utf-8", help="%(default)s by default")
    add("--strict", action="store_true", help="stop at the first line that cannot be read")
    add(
        "--keep",
        choices=("texts", "fields", "none"),
        default="texts",
        help="what to keep of documents to show it later (%(default)s)",
    )
    group = parser.add_argument_group("words")
    add = group.add_argument
    add(
        "--stop-words",
        default="english",
        metavar="LIST",
        help="english (the default), none, or a file with one word to a line",
    )
    add("--min-df", type=number_or_share, default=1, metavar="N", help="in at least N documents")
    add("--max-df", type=number_or_share, default=1.0, metavar="N", help="in at most N (or 0.5)")
    add("--max-features", type=at_least(1), metavar="N", help="only the N most frequent")
    add("--stem", choices=("porter", "english"), help="count stems of words")
    add("--ngrams", type=lengths, default=(1, 1), metavar="N", help="also runs of up to N words")
    add("--min-length", type=at_least(1), default=2, metavar="N", help="letters (%(default)s)")
    add(
        "--tokens",
        choices=("words", "multilingual"),
        help="multilingual: scripts without spaces by pairs of characters, and emoji",
    )
    add("--token-pattern", metavar="REGEX", help="what a word is")
    add("--vocabulary", type=Path, metavar="FILE", help="count these words only")
    add("--names", type=Path, metavar="FILE", help="words of a table that has none")
    add("--jobs", type=at_least(1), metavar="N", help="threads; all by default")
    group.add_argument(
        "--lowercase",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="on by default",
    )


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


def add_scoring(parser: Parser) -> None:
    """How documents are scored."""
    parser.add_argument(
        "--weights",
        choices=("tfidf", "tf", "bm25"),
        default=WEIGHTS,
        help="of words (%(default)s)",
    )
    parser.add_argument(
        "--interpolation",
        type=share,
        default=INTERPOLATION,
        metavar="L",
        help="share of the topics in the score, 0 to 1 (%(default)s)",
    )
