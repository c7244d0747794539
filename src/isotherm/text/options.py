"""What counts as a word, checked once before anything is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from isotherm.datasets._stopwords import ENGLISH
from isotherm.errors import IsothermError
from isotherm.kernels.cpu.backend import available_threads
from isotherm.text.opening import check_encoding, read_lines
from isotherm.text.problems import Problems, check_errors
from isotherm.text.scripts import multilingual
from isotherm.text.stem import stems

# Function words of one or two letters, which the list of the data sets does not hold.
SHORT = frozenset(
    "a ad ah al am an as at be by co de do eg et ex go ha he hi ho id ie if ii in is it iv la le "
    "ll ma me mr ms my no of oh ok on or pm re se so st te th to um un up us ve vi vs we ye"
    .split()
)  # fmt: skip

# Words that say nothing of the subject of a docstring, but of other texts they do.
TELLING = frozenset(
    """
    ability accurately agree amount analogous arbitrary aspect best better big care case cases cause
    caused causes choice choices choose chosen common complete decide detail details difficult
    discussed discussion effective employed end ends enter equally excluding extra fall fixed full
    gave general good guarantee guaranteed hand helpful high higher highest idea identical important
    intended interest interested interesting large lead leads leave leaves left lie lose lost low
    lower lowest main matter means met middle minus nature nice obtain obtained old older opposed
    opposite past perfect place placed plus portion possibility potential practice precise
    preferable preferred presence present presented prior purpose purposes reach reason reasons
    remember respect
    rest result resulting results right satisfying sense separate serve serves share show showing
    shown shows side silently simple small sort special stand straightforward strong successfully
    sufficient suitable suited surprising tell tend treat treated true turn turned turns
    underlying understand weak wide wish wishes worse worst worth xxx
    """.split()
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class CountOptions:
    """Settings of `count_words`, which says what they mean; all are valid once the value is made.

    Fields have what was given. What follows from them has a name of its own: `split`, `stopped`,
    `stem`, `columns`, `n_threads`.
    """

    lowercase: bool = True
    tokens: str | None = None
    token_pattern: str | None = None
    tokenizer: Callable[[str], Iterable[str]] | None = None
    min_length: int = 2
    stop_words: str | PathLike[str] | Iterable[str] | None = None
    min_df: int | float = 1
    max_df: int | float = 1.0
    max_features: int | None = None
    ngrams: tuple[int, int] = (1, 1)
    stemmer: str | None = None
    vocabulary: str | PathLike[str] | Iterable[str] | None = None
    names: str | PathLike[str] | Iterable[str] | None = None
    format: str | None = None
    text_column: str | Sequence[str] | None = None
    id_column: str | None = None
    header: bool | None = None
    encoding: str = "utf-8"
    errors: str = "report"
    keep: str | None = None
    n_jobs: int | None = None
    progress: Callable[[int], object] | None = None

    def __post_init__(self) -> None:
        """Check all that can be checked without the source."""
        self._check_choices()
        self._check_limits()
        # Numbers of numpy become those of Python, which kernels and messages take.
        self._set("lowercase", bool(self.lowercase))
        self._set("min_length", _whole(self.min_length, "min_length", 1))
        self._check_rule()
        self._set("min_df", _share(self.min_df, "min_df"))
        self._set("max_df", _share(self.max_df, "max_df"))
        if self.max_features is not None:
            self._set("max_features", _whole(self.max_features, "max_features", 1))
        self._set("ngrams", _ngrams(self.ngrams))
        check_errors(self.errors)
        check_encoding(self.encoding)
        # Read now: a list that is missing is told before any work, and an iterator is read once.
        _ = self.split, self.stopped, self.stem, self.n_threads

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _check_choices(self) -> None:
        if self.tokens not in (None, "words", "multilingual"):
            raise IsothermError(
                f"tokens={self.tokens!r:.100}; use 'words', 'multilingual' for scripts without "
                "spaces, marks and emoji, or None.",
                parameter="tokens",
            )
        if self.keep not in (None, "fields", "texts"):
            raise IsothermError(
                f"keep={self.keep!r}; use 'fields', 'texts' (both of them), or None.",
                parameter="keep",
            )
        if not (self.progress is None or callable(self.progress)):
            raise IsothermError(
                f"progress={self.progress!r:.100}; give a function of an int.",
                parameter="progress",
            )

    def _check_limits(self) -> None:
        limits = self.min_df, self.max_df, self.max_features
        if self.columns is not None and limits != (1, 1.0, None):
            raise IsothermError(
                "vocabulary= fixes the columns, so min_df, max_df and max_features have nothing to "
                "choose from; leave them out, or the vocabulary.",
                parameter="vocabulary",
                also=("min_df", "max_df", "max_features"),
            )

    def _check_rule(self) -> None:
        """Refuse two rules of what a word is, and settings that one of them does not have."""
        pattern, tokenizer = self.token_pattern, self.tokenizer
        if pattern is not None and tokenizer is not None:
            raise IsothermError(
                "token_pattern and tokenizer were both given; one splits the text.",
                parameter="token_pattern",
                also=("tokenizer",),
            )
        if pattern is None and tokenizer is None:
            return
        other = "tokenizer" if pattern is None else "token_pattern"
        if self.tokens is not None:
            raise IsothermError(
                f"tokens={self.tokens!r} was given with {other}; one splits the text.",
                parameter="tokens",
                also=(other,),
            )
        if self.min_length != 2:
            raise IsothermError(
                f"min_length={self.min_length!r} is for the words of the default rule; with "
                f"{other}, let that leave short words out.",
                parameter="min_length",
                also=(other,),
            )
        if tokenizer is not None and not callable(tokenizer):
            raise IsothermError(
                f"tokenizer={tokenizer!r:.100}; give a function from a str to a list of str.",
                parameter="tokenizer",
            )

    @cached_property
    def split(self) -> Callable[[str], Iterable[str]] | None:
        """Function from a text to its words; None for the usual rule, which kernels know."""
        if self.tokens == "multilingual":
            return multilingual(self.min_length)
        if self.token_pattern is not None:
            return _finder(self.token_pattern)
        return self.tokenizer

    @property
    def is_checked(self) -> bool:
        """Whether texts that the usual rule misreads are refused."""
        return self.tokens is None and self.columns is None

    @cached_property
    def stopped(self) -> frozenset[str]:
        """The words that do not count."""
        if self.stop_words is None:
            return frozenset()
        if isinstance(self.stop_words, str) and self.stop_words == "english":
            return (ENGLISH - TELLING) | SHORT
        words = _word_list(self.stop_words, "stop_words", "'english', ")
        return frozenset(word.lower() if self.lowercase else word for word in words)

    @cached_property
    def columns(self) -> tuple[str, ...] | None:
        """The words that are the columns, where a vocabulary fixes them."""
        if self.vocabulary is None:
            return None
        words = tuple(_word_list(self.vocabulary, "vocabulary", ""))
        if not words or len(set(words)) != len(words):
            what = "is empty" if not words else "holds a word twice"
            raise IsothermError(
                f"vocabulary {what}; give the words of the columns, each once.",
                parameter="vocabulary",
            )
        return words

    @cached_property
    def stem(self) -> Callable[[list[str]], list[str]] | None:
        """Function from words to their stems."""
        return None if self.stemmer is None else stems(self.stemmer)

    @cached_property
    def n_threads(self) -> int:
        """Threads to count in."""
        if self.n_jobs is None or self.n_jobs == -1:
            return available_threads()
        return _whole(self.n_jobs, "n_jobs", 1)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def _whole(value: Any, name: str, least: int) -> int:
    if not _is_whole(value) or int(value) < least:
        raise IsothermError(
            f"{name}={value!r}; use a whole number of at least {least}.", parameter=name
        )
    return int(value)


def _share(value: Any, name: str) -> int | float:
    if _is_whole(value) and int(value) >= 0:
        return int(value)
    if isinstance(value, Real) and not isinstance(value, Integral) and 0 <= float(value) <= 1:
        return float(value)
    raise IsothermError(
        f"{name}={value!r}; use a whole number of documents (an int), or a share of them (a float "
        "from 0.0 to 1.0).",
        parameter=name,
    )


def _ngrams(value: Any) -> tuple[int, int]:
    try:
        low, high = value
    except (TypeError, ValueError):
        low = high = None
    if not (_is_whole(low) and _is_whole(high)) or not 1 <= low <= high <= 16:
        raise IsothermError(
            f"ngrams={value!r}; use the lengths of the shortest and the longest run of words, e.g. "
            "(1, 2) for words and pairs of words; at most 16.",
            parameter="ngrams",
        )
    return int(low), int(high)


def _finder(pattern: Any) -> Callable[[str], Iterable[str]]:
    try:
        compiled = re.compile(pattern)
        if compiled.groups > 1 or not isinstance(compiled.pattern, str):
            raise ValueError("it has more than one group, or is made of bytes")
    except (re.error, TypeError, ValueError, RecursionError, OverflowError) as error:
        raise IsothermError(
            f"token_pattern={pattern!r:.100} cannot be used ({error}); give a regular expression "
            r"with at most one group, such as r'[a-z]+'.",
            parameter="token_pattern",
        ) from error
    return compiled.findall


def _word_list(given: object, name: str, also: str) -> list[str]:
    """Words of an iterable, or of a file with one to a line."""
    if isinstance(given, str | PathLike):
        path = Path(given)
        if not path.is_file():
            raise IsothermError(
                f"{name}={str(given)!r:.200} is not a file; give {also}the path of a file with "
                "one word to a line, or words.",
                parameter=name,
            )
        lines = (line.text.strip() for line in read_lines(path, "utf-8", Problems()))
        return [line for line in lines if line]
    words = list(given) if isinstance(given, Iterable) else [None]
    if not all(isinstance(word, str) for word in words):
        raise IsothermError(
            f"{name}={given!r:.100}; give {also}words, or the path of a file.", parameter=name
        )
    return [str(word) for word in words]
