"""What is said, and where: results on stdout; progress, notes and errors on stderr."""

from __future__ import annotations

import argparse
import io
import json
import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

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
    file: Any = None,
    line: str | None = None,
) -> None:
    from isotherm.cli.wording import in_options

    note(in_options(str(message)))


def note(text: str) -> None:
    """Something to know, in one line on stderr."""
    print(f"isotherm: note: {' '.join(text.split())}", file=sys.stderr)


def tell(options: argparse.Namespace, summary: Any, text: str) -> None:
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
