"""Counting on behalf of verbs: its options, its settings, and documents over known columns."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isotherm.cli import console
from isotherm.cli.arguments import Parser, at_least, lengths, number_or_share
from isotherm.cli.wording import in_options
from isotherm.errors import IsothermWarning

if TYPE_CHECKING:
    from isotherm.text.ingest import Ingestion

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
SHOWN = 5


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


def counted(source: Path, options: argparse.Namespace) -> Ingestion:
    """The words of a source by the options of a verb; problems are noted on stderr."""
    columns = options.text_column
    with console.counter("documents:") as progress:
        return count(
            source,
            vars(options),
            min_df=options.min_df,
            max_df=options.max_df,
            max_features=options.max_features,
            vocabulary=options.vocabulary,
            names=options.names,
            format=options.format,
            text_column=tuple(columns.split(",")) if columns and "," in columns else columns,
            id_column=options.id_column,
            header=options.header,
            encoding=options.encoding,
            errors="raise" if options.strict else "report",
            keep=None if options.keep == "none" else options.keep,
            n_jobs=options.jobs,
            progress=progress,
        )


def count(
    source: Any,
    words: Mapping[str, Any],
    *,
    min_df: int | float = 1,
    max_df: int | float = 1.0,
    max_features: int | None = None,
    vocabulary: Any = None,
    names: Path | None = None,
    format: str | None = None,
    text_column: Any = None,
    id_column: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    errors: str = "report",
    keep: str | None = None,
    n_jobs: int | None = None,
    progress: Callable[[int], Any] | None = None,
) -> Ingestion:
    """Counts of words, which are what the settings WORDS say; problems are noted on stderr."""
    from isotherm.text.ingest import count_words

    stop = words["stop_words"]
    with warnings.catch_warnings():
        # The problems that this warns of are listed below.
        warnings.simplefilter("ignore", IsothermWarning)
        found = count_words(
            source,
            lowercase=words["lowercase"],
            tokens=words.get("tokens"),
            token_pattern=words["token_pattern"],
            min_length=words["min_length"],
            stop_words=None if stop == "none" else stop,
            min_df=min_df,
            max_df=max_df,
            max_features=max_features,
            ngrams=tuple(words["ngrams"]),
            stemmer=words["stem"],
            vocabulary=vocabulary,
            names=names,
            format=format,
            text_column=text_column,
            id_column=id_column,
            header=header,
            encoding=encoding,
            errors=errors,
            keep=keep,
            n_jobs=n_jobs,
            progress=progress,
        )
    # Files that were passed over are listed with what was read.
    problems = [one for one in found.problems if one not in found.skipped]
    note_problems(problems, found.n_problems - len(found.problems) + len(problems))
    return found


def reading(found: Ingestion) -> dict[str, Any]:
    """What was read as what, as plain data."""
    return {
        "read": [
            {
                "format": one.format,
                "files": one.n_files,
                "documents": one.n_documents,
                "text_column": one.text_column,
                "id_column": one.id_column,
                "columns": list(one.columns),
                "header": one.header,
                "first": one.first.source,
            }
            for one in found.read
        ],
        "skipped": [str(one) for one in found.skipped],
        "n_skipped": found.n_skipped,
        "notes": [in_options(note) for note in found.notes],
    }


def note_problems(problems: Any, total: int) -> None:
    """The first problems, one to a line, and how many more there are."""
    for problem in problems[:SHOWN]:
        console.note(in_options(str(problem)))
    if total > SHOWN:
        console.note(f"and {total - SHOWN:,} more that could not be read")
