"""What is said, where and how: results on stdout; progress, notes and errors on stderr."""

from __future__ import annotations

import argparse
import io
import json
import logging
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from isotherm.cli.options import by_parameter
from isotherm.errors import IsothermError, with_way

# What to do here instead of what helps in Python alone, where an error is about no option.
WAYS = {
    "path": "; isotherm info says what a file holds",
    "source": "; if it was counts, it is cut off",
}
# What may stand after the name of a parameter, in place of a value.
STOPS = ".,;:)"
# Where nobody is watching, a line of the log is shown once in so many seconds.
EVERY = 30.0


@contextmanager
def speaking(options: argparse.Namespace) -> Iterator[None]:
    """Warnings as notes of one line on stderr; with --verbose the log as well.

    Without --verbose terminals show progress, and files get a line of the log now and then.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that has no sign for a letter shows another one.
            stream.reconfigure(errors="replace")
    log = logging.getLogger("isotherm")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("isotherm: %(message)s"))
    level = log.level
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = _show
        # What is logged as a warning comes without --verbose, too.
        shown = options.verbose or not sys.stderr.isatty()
        handler.setLevel(logging.INFO if shown else logging.WARNING)
        if not options.verbose:
            handler.addFilter(_rarely(EVERY))
        log.addHandler(handler)
        if shown:
            log.setLevel(logging.INFO)
        try:
            yield
        finally:
            log.removeHandler(handler)
            log.setLevel(level)


def width() -> int | None:
    """Letters of a line where a terminal shows it; None where it goes to a file or a program."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _rarely(seconds: float) -> Callable[[logging.LogRecord], bool]:
    """Filter of a log: warnings, and of the rest one record in so many seconds."""
    last = time.monotonic()

    def wanted(record: logging.LogRecord) -> bool:
        nonlocal last
        if record.levelno < logging.WARNING:
            now = time.monotonic()
            if now - last < seconds:
                return False
            last = now
        return True

    return wanted


def _show(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: object = None,
    line: str | None = None,
) -> None:
    note(in_options(str(message)))


def note(text: str) -> None:
    """Something to know, in one line on stderr."""
    print(f"isotherm: note: {' '.join(text.split())}", file=sys.stderr)


def tell(options: argparse.Namespace, summary: object, text: str) -> None:
    """The outcome on stdout: as JSON where that was asked for, else as text."""
    print(json.dumps(summary, ensure_ascii=False) if options.json else text)


def quiet(options: argparse.Namespace) -> bool | None:
    """`verbose` of estimators: a line of progress on terminals, unless the log is shown there."""
    return False if options.verbose else None


@contextmanager
def counter(what: str, delay: float = 1.0) -> Iterator[Callable[[int], None] | None]:
    """Function that shows how many are done, where somebody is watching; cleared at the end."""
    if not sys.stderr.isatty():
        yield None
        return
    begin, widest = time.monotonic(), 0

    def show(done: int) -> None:
        nonlocal widest
        if time.monotonic() - begin >= delay:
            text = f"{what} {done:,}"
            widest = max(widest, len(text))
            sys.stderr.write(f"\r{text}")
            sys.stderr.flush()

    try:
        yield show
    finally:
        if widest:
            sys.stderr.write("\r" + " " * widest + "\r")
            sys.stderr.flush()


def table(rows: list[tuple[str, str]]) -> str:
    """Lines of a name and a value, the values below each other."""
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def plural(number: float, noun: str) -> str:
    """A number with its noun: "1 word", "2,000 words"."""
    return f"{number:,.0f} {noun}" + ("" if number == 1 else "s")


def seconds(begin: float) -> float:
    """Seconds since a reading of time.perf_counter, to the millisecond."""
    return round(time.perf_counter() - begin, 3)


# Messages of the library in the words of the command line: --topics for n_components -------------


def message_of(error: IsothermError) -> str:
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
