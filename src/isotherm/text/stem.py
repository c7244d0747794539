"""Stems of words; the one place that imports PyStemmer."""

from __future__ import annotations

from collections.abc import Callable

from isotherm.errors import IsothermError

STEMMERS = ("porter", "english")


def stems(stemmer: str) -> Callable[[list[str]], list[str]]:
    """A function from words to their stems.

    "porter" is Porter's algorithm of 1980, "english" its successor (Porter2).
    """
    if stemmer not in STEMMERS:
        raise IsothermError(
            f"stemmer={stemmer!r}; use one of {', '.join(map(repr, STEMMERS))}, or None.",
            parameter="stemmer",
        )
    try:
        import Stemmer
    except ImportError as error:
        raise IsothermError(
            f"stemmer={stemmer!r} needs PyStemmer, which is not installed; "
            "pip install 'isotherm[text]'.",
            parameter="stemmer",
            in_python=", or pass stemmer=None",
        ) from error
    find: Callable[[list[str]], list[str]] = Stemmer.Stemmer(stemmer).stemWords
    return find
