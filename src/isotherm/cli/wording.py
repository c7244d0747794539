"""Messages of the library in the words of the command line: --topics for n_components."""

from __future__ import annotations

import re

# Options by the names that their values have in Python.
OPTIONS = {
    "n_components": "--topics",
    "max_components": "--max-topics",
    "n_column_components": "--clusters",
    "n_clusters": "--clusters",
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "every": "--checkpoint-every",
    "n_words": "--words",
    "tokens": "--tokens",
    "text_column": "--text-column",
    "id_column": "--id-column",
    "encoding": "--encoding",
    "format": "--format",
    "stop_words": "--stop-words",
    "min_df": "--min-df",
    "max_df": "--max-df",
    "max_features": "--max-features",
    "min_length": "--min-length",
    "token_pattern": "--token-pattern",
    "ngrams": "--ngrams",
    "stemmer": "--stem",
    "vocabulary": "--vocabulary",
    "names": "--names",
    "labels": "--labels",
    "fits": "--others",
    "interpolation": "--interpolation",
    "weights": "--weights",
}
# What is said in another way altogether.
PHRASES = {
    ", tokenizer= for a rule of your own, or tokens=": ", or tokens=",
    "give header=True if it does, header=False if": "give --header if it does, --no-header if",
    "or give header=False if": "or give --no-header if",
    "or pass errors='report' to leave it out": "or leave --strict out",
    "; isotherm.load reads whatever a file holds": "; isotherm info says what a file holds",
    "give a file that isotherm.save wrote": "give a file that isotherm wrote",
    "(isotherm.load reads it, unless it is cut off)": "(a file that is cut off, if it was counts)",
    "with token_pattern or tokenizer": "with --token-pattern",
    "Give text, or format=": "Give text, or --format",
    "; pip install isotherm[text], or pass stemmer=None": "; pip install 'isotherm[text]'",
}
# A name with a value, or one that can be nothing but a name; never a part of a path.
_NAME = re.compile(
    rf"(?<![\w./\\'\"=-])(?:(?P<given>{'|'.join(OPTIONS)})=|"
    rf"(?P<bare>{'|'.join(name for name in OPTIONS if '_' in name)})\b(?![./\\(=]))"
    r"(?P<value>(?=[^\s.,;:)]))?"
)


def in_options(message: str) -> str:
    """The message with options for the names that they have in Python."""
    for phrase, other in PHRASES.items():
        message = message.replace(phrase, other)
    return _NAME.sub(_option, message)


def _option(match: re.Match[str]) -> str:
    if match["given"] is None:
        return OPTIONS[match["bare"]]
    return OPTIONS[match["given"]] + (" " if match["value"] is not None else "")
