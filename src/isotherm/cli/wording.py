"""Messages of the library in the words of the command line: --topics for n_components."""

from __future__ import annotations

from collections.abc import Iterable

from isotherm.cli.options import by_parameter
from isotherm.errors import IsothermError, with_way

# What to do here instead of what helps in Python alone, where an error is about no option.
WAYS = {
    "path": "; isotherm info says what a file holds",
    "source": "; if it was counts, it is cut off",
}
# What may stand after the name of a parameter, in place of a value.
STOPS = ".,;:)"


def of_error(error: IsothermError) -> str:
    """The message of an error, with options for the parameters that it says it is about."""
    if error.parameter is None:
        return in_options(str(error))
    option = by_parameter().get(error.parameter)
    way = WAYS.get(error.parameter, "") if option is None else option.way
    said = with_way(error.message, way if error.in_python else "")
    return in_options(said, (error.parameter, *error.also))


def in_options(text: str, parameters: Iterable[str] | None = None) -> str:
    """The text with options for names of parameters, those of all options unless some are given.

    A name is a word of its own: "min_df=2" or "(min_df, max_df)", never a part of a path.
    """
    options = {name: option.flag for name, option in by_parameter().items()}
    if parameters is not None:
        options = {name: options[name] for name in parameters if name in options}
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
