"""The options of all verbs: one table, from which all else about them follows.

Help and parsers, keys of configuration files, settings and their types in `run.json`, the settings
of counting, and the options that messages name instead of parameters are all read from `OPTIONS`.
An option of counting is one line here and one field of `isotherm.text.options.CountOptions`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from isotherm.cli.models import KINDS
from isotherm.cli.option import LEVEL, Option
from isotherm.cli.readers import (
    at_least,
    budget,
    lengths,
    not_negative,
    number_or_auto,
    number_or_share,
    on_problems,
    several,
    share,
    two_numbers,
    unless_none,
)

# The table ----------------------------------------------------------------------------------------

FORCE = Option("--force", "replace what is there already", is_flag=True, in_files=False)
# Options that all verbs have, after their own.
COMMON = (
    Option("--json", "print the outcome as JSON", is_flag=True),
    Option("-v --verbose", "tell on stderr what happens", is_flag=True),
    Option(
        "--config",
        "TOML file with a table of options per verb",
        read=Path,
        metavar="FILE",
        in_files=False,
    ),
)
FORMATS = (
    *("folder", "lines", "jsonl", "json", "csv", "html", "smart", "trec", "parquet", "arrow"),
    *("uci", "ldac", "vw", "matrix-market", "npz", "npy"),
)
# Tables that are exported.
TABLES = ("topics", "words", "documents", "tree", "components")
READING = (
    Option(
        "--format",
        "told by the file unless given",
        choices=FORMATS,
        metavar="NAME",
        group="reading",
        saved=str | None,
        field="format",
    ),
    Option(
        "--text-column",
        "column(s) of the text; guessed unless given",
        metavar="A[,B]",
        group="reading",
        saved=str | None,
        field="text_column",
        in_python=several,
    ),
    Option(
        "--id-column",
        "column of the documents' names",
        metavar="A",
        group="reading",
        saved=str | None,
        field="id_column",
    ),
    Option(
        "--header",
        "whether the first line of a CSV file names its columns; told by its rows",
        is_switch=True,
        group="reading",
        saved=bool | None,
        field="header",
    ),
    Option(
        "--encoding",
        "%(default)s by default",
        default="utf-8",
        group="reading",
        saved=str,
        field="encoding",
    ),
    Option(
        "--strict",
        "stop at the first line that cannot be read",
        is_flag=True,
        group="reading",
        field="errors",
        in_python=on_problems,
        way=", or leave --strict out",
    ),
    Option(
        "--keep",
        "what to keep of documents to show it later (%(default)s)",
        choices=("texts", "fields", "none"),
        default="texts",
        group="reading",
        field="keep",
        in_python=unless_none,
    ),
)
WORDS = (
    Option(
        "--stop-words",
        "english (the default), none, or a file with one word to a line",
        default="english",
        metavar="LIST",
        group="words",
        saved=str,
        field="stop_words",
        is_rule=True,
        in_python=unless_none,
    ),
    Option(
        "--min-df",
        "in at least N documents",
        read=number_or_share,
        default=1,
        metavar="N",
        group="words",
        saved=int | float,
        field="min_df",
    ),
    Option(
        "--max-df",
        "in at most N (or 0.5)",
        read=number_or_share,
        default=1.0,
        metavar="N",
        group="words",
        saved=int | float,
        field="max_df",
    ),
    Option(
        "--max-features",
        "only the N most frequent",
        read=at_least(1),
        metavar="N",
        group="words",
        saved=int | None,
        field="max_features",
    ),
    Option(
        "--stem",
        "count stems of words",
        choices=("porter", "english"),
        group="words",
        saved=str | None,
        field="stemmer",
        is_rule=True,
    ),
    Option(
        "--ngrams",
        "also runs of up to N words",
        read=lengths,
        default=(1, 1),
        metavar="N",
        group="words",
        saved=list,
        field="ngrams",
        is_rule=True,
        in_python=two_numbers,
    ),
    Option(
        "--min-length",
        "letters (%(default)s)",
        read=at_least(1),
        default=2,
        metavar="N",
        group="words",
        saved=int,
        field="min_length",
        is_rule=True,
    ),
    Option(
        "--tokens",
        "multilingual: scripts without spaces by pairs of characters, and emoji",
        choices=("words", "multilingual"),
        group="words",
        saved=str | None,
        field="tokens",
        is_rule=True,
    ),
    Option(
        "--token-pattern",
        "what a word is",
        metavar="REGEX",
        group="words",
        saved=str | None,
        field="token_pattern",
        is_rule=True,
    ),
    Option(
        "--vocabulary",
        "count these words only",
        read=Path,
        metavar="FILE",
        group="words",
        saved=str | None,
        field="vocabulary",
    ),
    Option(
        "--names",
        "words of a table that has none",
        read=Path,
        metavar="FILE",
        group="words",
        saved=str | None,
        field="names",
    ),
    Option(
        "--jobs",
        "threads; all by default",
        read=at_least(1),
        metavar="N",
        group="words",
        field="n_jobs",
    ),
    Option(
        "--lowercase",
        "on by default",
        default=True,
        is_switch=True,
        group="words",
        saved=bool,
        field="lowercase",
        is_rule=True,
    ),
)
COUNTING = (*READING, *WORDS)
FITTING = (
    Option(
        "--model",
        f"{', '.join(KINDS)} (%(default)s)",
        choices=tuple(KINDS),
        default="aspect",
        metavar="NAME",
        saved=str,
    ),
    Option(
        "--topics",
        "number of topics; auto: as many as are found again, predict: as predict best",
        read=number_or_auto,
        metavar="N",
        saved=int | str | None,
        named=("n_components",),
    ),
    Option(
        "--max-topics",
        "upper limit of a number that is found (%(default)s)",
        read=at_least(1),
        default=256,
        metavar="N",
        saved=int,
        named=("max_components",),
    ),
    Option(
        "--clusters",
        "groups of documents in place of topics, or auto; of words for two-sided",
        read=number_or_auto,
        metavar="N",
        saved=int | str | None,
        named=("n_column_components", "n_clusters"),
    ),
    Option(
        "--labels",
        "field with labels, for maps and reports",
        metavar="FIELD",
        saved=str | None,
        named=("labels",),
    ),
    Option(
        "--supervise",
        "field with known labels (dtm, lap-plsi, ltm)",
        metavar="FIELD",
        saved=str | None,
    ),
    Option(
        "--seed",
        "of random numbers (%(default)s)",
        read=at_least(0),
        default=0,
        saved=int,
        named=("random_state",),
    ),
    Option(
        "--resume",
        "go on with a fit that was interrupted or killed",
        is_flag=True,
        in_files=False,
    ),
    Option(
        "--checkpoint-every",
        "seconds between checkpoints (%(default)g)",
        read=not_negative,
        default=30.0,
        metavar="S",
        named=("every",),
    ),
    Option(
        "--memory",
        "leave counts on the disk and use so much memory, e.g. 500MB",
        read=budget,
        metavar="SIZE",
    ),
    Option("--scheduler", "fit on the workers of this Dask scheduler", metavar="ADDRESS"),
)
# How documents are scored.
SCORING = (
    Option(
        "--weights",
        "of words, for a score of words that topics smooth, instead of all parts together",
        choices=("tfidf", "tf", "bm25"),
        named=("weights",),
    ),
    Option(
        "--interpolation",
        "share of the topics in such a score, 0 to 1 (0.5)",
        read=share,
        metavar="L",
        named=("interpolation",),
    ),
)
# The options of each verb, in the order of its help.
OPTIONS: Mapping[str, tuple[Option, ...]] = {
    "count": (
        Option("-o --out", "counts to write (SOURCE's name.counts)", read=Path, metavar="FILE"),
        FORCE,
        *COUNTING,
    ),
    "fit": (
        Option("-o --out", "folder to write (SOURCE's name.run)", read=Path, metavar="RUN"),
        *FITTING,
        FORCE,
        *COUNTING,
    ),
    "topics": (
        LEVEL,
        Option("-n --words", "words of each (%(default)s)", read=at_least(1), default=10),
        Option(
            "--by",
            "words that tell the topic from others, frequent ones, or those that are rare "
            "elsewhere (%(default)s)",
            choices=("telling", "probability", "lift"),
            default="telling",
        ),
    ),
    "tree": (
        LEVEL,
        Option("-n --words", "words of each (%(default)s)", read=at_least(1), default=6),
        Option(
            "--splits",
            "how the topics came apart as it was cooled, instead of which belong together",
            is_flag=True,
        ),
        Option("--newick", "in Newick notation", is_flag=True),
    ),
    "map": (
        LEVEL,
        Option(
            "-o --out --html",
            "a page to explore (.html), a picture (.svg, .png, .pdf), or the map itself (.map)",
            read=Path,
            metavar="FILE",
            is_required=True,
        ),
        Option("--dimensions", "of the map (2; a page has both)", read=int, choices=(2, 3)),
        Option("--labels", "field to colour documents by", metavar="FIELD"),
        Option("--seed", "%(default)s by default", read=at_least(0), default=0),
        FORCE,
    ),
    "search": (
        LEVEL,
        Option("-n --number", "most documents (%(default)s)", read=at_least(1), default=10),
        *SCORING,
    ),
    "eval": (
        LEVEL,
        Option("--heldout", "documents that the model never saw", read=Path, metavar="FILE"),
        Option("--labels", "field with labels to compare with", metavar="FIELD"),
        Option(
            "--others", "runs with other seeds, for stability", metavar="RUN[,RUN]", named=("fits",)
        ),
        Option(
            "-n --words",
            "top words of topics (%(default)s)",
            read=at_least(2),
            default=10,
            named=("n_words",),
        ),
        Option("--queries", "queries with names, as documents are read", read=Path, metavar="FILE"),
        Option("--qrels", "lines of: query 0 document grade", read=Path, metavar="FILE"),
        Option(
            "--min-grade",
            "least grade of what is relevant; 1 if some have 0, else all that are listed",
            read=at_least(0),
            metavar="G",
        ),
        *SCORING,
    ),
    "view": (
        Option(
            "-o --out",
            "write the page as a file that needs nothing else, and do not serve it",
            read=Path,
            metavar="FILE",
        ),
        Option(
            "--port",
            "port of this computer to serve at (one that is free)",
            read=at_least(0),
            default=0,
            metavar="N",
        ),
        FORCE,
        Option("--no-open", "do not open the browser", is_flag=True),
    ),
    "edit": (
        Option(
            "--into",
            "parts of a topic that is split (%(default)s)",
            read=at_least(2),
            default=2,
            metavar="N",
            named=("into",),
        ),
    ),
    "name": (
        Option(
            "--url",
            "address of an OpenAI-compatible service; nothing is sent without it",
            metavar="URL",
            named=("url",),
        ),
        Option(
            "--model",
            "name of the language model there",
            metavar="NAME",
            named=("language_model",),
        ),
        Option(
            "--key-env",
            "environment variable with the key, where one is needed",
            metavar="VARIABLE",
            named=("key_env",),
        ),
        Option("--prompt-only", "print what would be sent, and send nothing", is_flag=True),
        Option("--only", "only these topics, by number", metavar="N[,N]"),
        Option(
            "-n --words",
            "words of each topic that are sent (%(default)s)",
            read=at_least(1),
            default=15,
        ),
        Option(
            "--documents",
            "most titles of each topic that are sent; 0 for none (%(default)s)",
            read=at_least(0),
            default=5,
            metavar="N",
            named=("n_documents",),
        ),
        Option(
            "--timeout",
            "seconds for each answer (%(default)g)",
            read=not_negative,
            default=60.0,
            metavar="S",
            named=("timeout",),
        ),
    ),
    "export": (
        LEVEL,
        Option(
            "-o --out",
            "file to write (.csv, .json, .parquet)",
            read=Path,
            metavar="FILE",
            is_required=True,
        ),
        Option(
            "--what",
            "topics, words of topics, documents, tree, or components: all words in all topics "
            "(%(default)s)",
            choices=TABLES,
            default="topics",
            metavar="TABLE",
            named=("what",),
        ),
        Option(
            "--format",
            "csv, json or parquet; told by the ending of the file unless given",
            choices=("csv", "json", "parquet"),
            metavar="NAME",
        ),
        Option("-n --words", "words of each topic (%(default)s)", read=at_least(1), default=10),
        FORCE,
    ),
    "info": (Option("--format", "of documents", choices=FORMATS, metavar="NAME"),),
    "segment": (
        Option("-n --segments", "number of segments", read=at_least(2), is_required=True),
        Option("-o --out", "picture to write (PNG, JPEG, TIFF)", read=Path, is_required=True),
        FORCE,
        Option("--seed", "%(default)s by default", read=at_least(0), default=0),
        Option("--step", "pixels from site to site (%(default)s)", read=at_least(1), default=8),
        Option(
            "--smoothing", "how smooth segments are (%(default)s)", read=not_negative, default=8.0
        ),
    ),
    "demo": (
        Option(
            "-o --out",
            "folder of the page (%(default)s)",
            read=Path,
            default=Path("demo-report"),
            metavar="FOLDER",
        ),
        # Docstrings repeat themselves so much that held-out words would support hundreds of topics:
        # more than a page can show.
        Option("--topics", "most topics (%(default)s)", read=at_least(2), default=40, metavar="N"),
        Option("--seed", "%(default)s by default", read=at_least(0), default=0),
        FORCE,
    ),
}


# What follows from it -----------------------------------------------------------------------------


def of_verb(verb: str) -> tuple[Option, ...]:
    """All options of a verb, in the order of its help."""
    return (*OPTIONS[verb], *COMMON)


def counting() -> list[Option]:
    """The options of counting."""
    return [one for one in OPTIONS["count"] if one.field]


def rules() -> list[Option]:
    """Those of them that say what a word is."""
    return [one for one in counting() if one.is_rule]


def saved(verb: str) -> list[Option]:
    """The options that decide a result: "count" has those of counting, "fit" all."""
    return [one for one in OPTIONS[verb] if one.saved is not None]


def settings_of(values: argparse.Namespace, options: Iterable[Option]) -> dict[str, Any]:
    """Values of some options by name, as a run has them."""
    return {one.name: getattr(values, one.name) for one in options}


def checked(found: Mapping[str, object], options: Iterable[Option]) -> dict[str, Any]:
    """The settings of a file; defaults for those that its version did not have.

    A value of another type than is written ends in a TypeError or ValueError.
    """
    whole = dict(found)
    for one in options:
        value = whole.setdefault(one.name, as_json(one.default))
        if one.saved is not None and not isinstance(value, one.saved):
            raise TypeError(f"{one.name} is {type(value).__name__}")
        one.in_python(value)
    return whole


def as_json(value: object) -> Any:
    """A value as it comes back from a file."""
    return json.loads(json.dumps(value, default=str))


def fields(values: Mapping[str, object], options: Iterable[Option]) -> dict[str, Any]:
    """Settings of `CountOptions`, by the values of options of counting."""
    return {one.field: one.in_python(values[one.name]) for one in options}


def by_parameter() -> dict[str, Option]:
    """The options by what messages of the library call them."""
    every = (one for options in OPTIONS.values() for one in options)
    return {name: one for one in every for name in one.parameters}
