"""Messages of the library in the words of the command line: --topics for n_components."""

from __future__ import annotations

from collections.abc import Iterable

from isotherm.errors import IsothermError, with_way

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
    "header": "--header",
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
# What to do here instead of what helps in Python alone, by the parameter that an error is about.
WAYS = {
    "errors": ", or leave --strict out",
    "path": "; isotherm info says what a file holds",
    "source": "; if it was counts, it is cut off",
}
# What may stand after the name of a parameter, in place of a value.
STOPS = ".,;:)"


def of_error(error: IsothermError) -> str:
    """The message of an error, with options for the parameters that it says it is about."""
    if error.parameter is None:
        return in_options(str(error))
    way = WAYS.get(error.parameter, "") if error.in_python else ""
    return in_options(with_way(error.message, way), (error.parameter, *error.also))


def in_options(text: str, parameters: Iterable[str] = OPTIONS) -> str:
    """The text with options for names of parameters, those of all options unless some are given.

    A name is a word of its own: "min_df=2" or "(min_df, max_df)", never a part of a path.
    """
    options = {name: OPTIONS[name] for name in parameters if name in OPTIONS}
    lines = (line.split(" ") for line in text.split("\n"))
    return "\n".join(" ".join(_word(word, options) for word in line) for line in lines)


def _word(word: str, options: dict[str, str]) -> str:
    body = word.lstrip("(")
    opening = word[: len(word) - len(body)]
    name, equals, value = body.partition("=")
    if equals and name in options:
        return opening + _with_value(options[name], value)
    bare = body.rstrip(STOPS)
    if "_" in bare and bare in options:  # others may be plain words
        return f"{opening}{options[bare]}{body[len(bare) :]}"
    return word


def _with_value(option: str, value: str) -> str:
    truth = value.rstrip(STOPS)
    end = value[len(truth) :]
    if truth in ("True", "False"):  # of a switch
        return f"{option if truth == 'True' else f'--no-{option[2:]}'}{end}"
    return f"{option} {value}" if truth else f"{option}{end}"
