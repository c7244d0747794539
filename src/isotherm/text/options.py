"""What counts as a word, checked once before anything is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from isotherm.datasets._stopwords import ENGLISH
from isotherm.errors import IsothermError
from isotherm.kernels.cpu.backend import available_threads
from isotherm.text.opening import read_lines
from isotherm.text.problems import Problems
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


@dataclass(frozen=True)
class Words:
    """Settings of counting, all valid; see `isotherm.count_words`."""

    lowercase: bool = True
    min_length: int = 2
    split: Callable[[str], Iterable[str]] | None = None
    is_checked: bool = False
    stop_words: frozenset[str] = frozenset()
    min_df: int | float = 1
    max_df: int | float = 1.0
    max_features: int | None = None
    ngrams: tuple[int, int] = (1, 1)
    stem: Callable[[list[str]], list[str]] | None = None
    vocabulary: tuple[str, ...] | None = None
    n_jobs: int = 1


def words_of(given: Mapping[str, Any]) -> Words:
    """The settings of `count_words` by name, or an error that says which one cannot be used."""
    lower, least = bool(given["lowercase"]), given["min_length"]
    tokens = given["tokens"]
    if tokens not in (None, "words", "multilingual"):
        raise IsothermError(
            f"tokens={tokens!r:.100}; use 'words', 'multilingual' for scripts without spaces, "
            "marks and emoji, or None."
        )
    limits = given["min_df"], given["max_df"], given["max_features"]
    fixed = None if given["vocabulary"] is None else _vocabulary(given["vocabulary"])
    if fixed is not None and limits != (1, 1.0, None):
        raise IsothermError(
            "vocabulary= fixes the columns, so min_df, max_df and max_features have nothing to "
            "choose from; leave them out, or the vocabulary."
        )
    if not (given["progress"] is None or callable(given["progress"])):
        raise IsothermError(f"progress={given['progress']!r:.100}; give a function of an int.")
    return Words(
        lowercase=lower,
        min_length=_whole(least, "min_length", 1),
        split=_splitter(given["token_pattern"], given["tokenizer"], least, tokens),
        is_checked=tokens is None and fixed is None,
        stop_words=_stop_words(given["stop_words"], lower),
        min_df=_share(limits[0], "min_df"),
        max_df=_share(limits[1], "max_df"),
        max_features=None if limits[2] is None else _whole(limits[2], "max_features", 1),
        ngrams=_ngrams(given["ngrams"]),
        stem=None if given["stemmer"] is None else stems(given["stemmer"]),
        vocabulary=fixed,
        n_jobs=_jobs(given["n_jobs"]),
    )


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def _whole(value: Any, name: str, least: int) -> int:
    if not _is_whole(value) or int(value) < least:
        raise IsothermError(f"{name}={value!r}; use a whole number of at least {least}.")
    return int(value)


def _share(value: Any, name: str) -> int | float:
    if _is_whole(value) and int(value) >= 0:
        return int(value)
    if isinstance(value, Real) and not isinstance(value, Integral) and 0 <= float(value) <= 1:
        return float(value)
    raise IsothermError(
        f"{name}={value!r}; use a whole number of documents (an int), or a share of them (a float "
        "from 0.0 to 1.0)."
    )


def _ngrams(value: Any) -> tuple[int, int]:
    try:
        low, high = value
    except (TypeError, ValueError):
        low = high = None
    if not (_is_whole(low) and _is_whole(high)) or not 1 <= low <= high <= 16:
        raise IsothermError(
            f"ngrams={value!r}; use the lengths of the shortest and the longest run of words, e.g. "
            "(1, 2) for words and pairs of words; at most 16."
        )
    return int(low), int(high)


def _jobs(value: Any) -> int:
    if value is None or value == -1:
        return available_threads()
    return _whole(value, "n_jobs", 1)


def _splitter(pattern: Any, tokenizer: Any, min_length: Any, tokens: Any) -> Any:
    if tokens is not None and not (tokenizer is None and pattern is None):
        raise IsothermError(
            f"tokens={tokens!r} was given with token_pattern or tokenizer; one splits the text."
        )
    if tokens == "multilingual":
        return multilingual(_whole(min_length, "min_length", 1))
    if tokenizer is not None and pattern is not None:
        raise IsothermError("token_pattern and tokenizer were both given; one splits the text.")
    if (tokenizer is not None or pattern is not None) and min_length != 2:
        raise IsothermError(
            f"min_length={min_length!r} is for the words of the default rule; with token_pattern "
            "or tokenizer, let those leave short words out."
        )
    if tokenizer is not None:
        if not callable(tokenizer):
            raise IsothermError(
                f"tokenizer={tokenizer!r:.100}; give a function from a str to a list of str."
            )
        return tokenizer
    if pattern is None:
        return None
    try:
        compiled = re.compile(pattern)
        if compiled.groups > 1 or not isinstance(compiled.pattern, str):
            raise ValueError("it has more than one group, or is made of bytes")
    except (re.error, TypeError, ValueError, RecursionError, OverflowError) as error:
        raise IsothermError(
            f"token_pattern={pattern!r:.100} cannot be used ({error}); give a regular expression "
            r"with at most one group, such as r'[a-z]+'."
        ) from error
    return compiled.findall


def _stop_words(given: Any, lowercase: bool) -> frozenset[str]:
    if given is None:
        return frozenset()
    if given == "english" and isinstance(given, str):
        return (ENGLISH - TELLING) | SHORT
    words = _word_list(given, "stop_words", "'english', ")
    return frozenset(word.lower() if lowercase else word for word in words)


def _vocabulary(given: Any) -> tuple[str, ...]:
    words = tuple(_word_list(given, "vocabulary", ""))
    if not words or len(set(words)) != len(words):
        found = "is empty" if not words else "holds a word twice"
        raise IsothermError(f"vocabulary {found}; give the words of the columns, each once.")
    return words


def _word_list(given: Any, name: str, also: str) -> list[str]:
    """Words of an iterable, or of a file with one to a line."""
    if isinstance(given, str | PathLike):
        path = Path(given)
        if not path.is_file():
            raise IsothermError(
                f"{name}={str(given)!r:.200} is not a file; give {also}the path of a file with "
                "one word to a line, or words."
            )
        lines = (line.text.strip() for line in read_lines(path, "utf-8", Problems()))
        return [line for line in lines if line]
    words = list(given) if isinstance(given, Iterable) else [None]
    if not all(isinstance(word, str) for word in words):
        raise IsothermError(f"{name}={given!r:.100}; give {also}words, or the path of a file.")
    return [str(word) for word in words]
