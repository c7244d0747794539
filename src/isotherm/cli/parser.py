"""The parser of a verb: its command line and a configuration file have the same options.

The command line wins.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Never

from isotherm.cli import VERBS
from isotherm.cli.option import Option
from isotherm.cli.options import of_verb
from isotherm.cli.suggest import did_you_mean, existing
from isotherm.errors import IsothermError

# `fit` counts what is not counted yet.
ALSO_READS = {"fit": ("count",)}


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
        self.options: tuple[Option, ...] = ()

    def example(self, *lines: str) -> None:
        """Show examples at the end of the help."""
        self.epilog = "\n".join(["for example:", *(f"  {line}" for line in lines)])

    def add_options(self, options: Sequence[Option]) -> None:
        """Read these options as well, and show them in the help below the headings they have."""
        self.options = (*self.options, *options)
        headings = dict.fromkeys(one.group for one in options if one.group is not None)
        groups = {name: self.add_argument_group(name) for name in headings}
        for one in options:
            add = self.add_argument if one.group is None else groups[one.group].add_argument
            flags = one.flags.split()
            if one.is_flag:
                add(*flags, action="store_true", help=one.help)
            elif one.is_switch:
                switch = argparse.BooleanOptionalAction
                add(*flags, action=switch, default=one.default, help=one.help)
            else:
                add(
                    *flags,
                    type=one.read,
                    default=one.default,
                    choices=one.choices,
                    metavar=one.metavar,
                    required=one.is_required,
                    help=one.help,
                )

    def error(self, message: str) -> Never:
        """End with status 2."""
        prefix = "unrecognized arguments: "
        if message.startswith(prefix):
            first = message.removeprefix(prefix).split()[0]
            known = ["--help", *(flag for one in self.options for flag in one.long)]
            near = did_you_mean(first, known) if first.startswith("-") else ""
            message = f"{message.removeprefix(prefix)} is not understood{near}"
        self.exit(2, f"{self.prog}: error: {message}{self.also}; see {self.prog} --help\n")


def add_run(parser: Parser) -> None:
    """The run that a verb is about."""
    parser.add_argument("run", type=Path, metavar="RUN", help="folder that isotherm fit wrote")


def parsed(
    verb: str, add_arguments: Callable[[Parser], None], words: Sequence[str]
) -> argparse.Namespace:
    """The options of a verb: those of the command line, then those of the file, then defaults.

    `options.given` are the names of those that were given at all, `options.typed` of those on the
    command line.
    """
    parser = _parser(verb, add_arguments)
    file, n_typed = _config_of(words), len(words)
    if file is not None:
        parser.also = f" (on the command line or in {file})"
        words = [*_file_words(verb, file), *words]
    options = parser.parse_args(words)
    in_file = words[: len(words) - n_typed]
    options.typed = _given(parser, options, words[len(in_file) :])
    options.given = options.typed | _given(parser, options, in_file)
    return options


def _given(parser: Parser, options: argparse.Namespace, words: Sequence[str]) -> frozenset[str]:
    """Names of the options among some words."""
    # An option that is there already keeps its value: what still has the mark was not given.
    mark = object()
    marked = argparse.Namespace(**dict.fromkeys(vars(options), mark))
    for action in parser._actions:
        action.required = False
    parser.parse_known_args(words, marked)
    return frozenset(name for name, value in vars(marked).items() if value is not mark)


def _parser(verb: str, add_arguments: Callable[[Parser], None]) -> Parser:
    parser = Parser(verb, f"{VERBS[verb]}.")
    add_arguments(parser)
    parser.add_options(of_verb(verb))
    return parser


def _config_of(words: Sequence[str]) -> Path | None:
    """The file that a command line names; looked for first, since it may hold what is required."""
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    first.add_argument("--config", type=Path)
    try:
        file: Path | None = first.parse_known_args(words)[0].config
    except argparse.ArgumentError:
        return None  # the parser of the verb will say what is wrong
    return file


def _file_words(verb: str, path: Path) -> list[str]:
    """The options of a file as words of a command line."""
    tables = _tables(path)
    words: list[str] = []
    known = {flag[2:]: one for one in of_verb(verb) if one.in_files for flag in one.long}
    for table in (*ALSO_READS.get(verb, ()), verb):
        for key, value in tables.get(table, {}).items():
            name = key.replace("_", "-")
            if name in known:
                words += _as_words(known[name], name, value, f"{key} in [{table}] of {path}")
            elif table == verb:
                raise IsothermError(
                    f"[{table}] of {path} has {key!r}, which is no option of isotherm {verb}"
                    f"{did_you_mean(name, known)}; correct or remove it"
                )
    return words


def _tables(path: Path) -> dict[str, dict[str, Any]]:
    try:
        content = tomllib.loads(existing(path, "a TOML file").read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise IsothermError(f"{path} is no valid TOML: {error}; correct it") from error
    for name, table in content.items():
        if name not in VERBS or not isinstance(table, dict):
            raise IsothermError(
                f"{path} has {name!r}, which is no table of a verb{did_you_mean(name, VERBS)}; "
                f"tables are {', '.join(f'[{verb}]' for verb in VERBS)}"
            )
    return content


def _as_words(option: Option, name: str, value: object, where: str) -> list[str]:
    has_no_value = option.is_flag or option.is_switch
    if has_no_value != isinstance(value, bool):
        allowed = "true or false" if has_no_value else "a number or text"
        raise IsothermError(f"{where} is {value!r}; give {allowed}")
    if has_no_value:
        opposite = f"--no-{name}"
        if value:
            return [f"--{name}"]
        return [opposite] if opposite in option.long else []
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return [f"--{name}={','.join(value)}"]
    if not isinstance(value, str | int | float):
        raise IsothermError(f"{where} is {value!r}; give a number or text")
    return [f"--{name}={value}"]
