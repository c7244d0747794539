"""Words of a query, made as those of the documents were."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from isotherm.text.options import Words


class Asked(NamedTuple):
    """Words of a query that are columns, and those that are not; stop words are left out."""

    known: list[str]
    unknown: list[str]


def asked(text: str, settings: Mapping[str, Any], columns: Sequence[Any]) -> Asked:
    """The words of a text by the settings of counting, and runs of them that are columns."""
    return reader(settings, columns)(text)


def reader(settings: Mapping[str, Any], columns: Sequence[Any]) -> Callable[[str], Asked]:
    """Function from texts to what they ask for, by the settings of counting and the columns."""
    known = {str(column) for column in columns}
    rules = _rules(settings)
    split = rules.split or re.compile(rf"\b\w{{{rules.min_length},}}\b").findall
    low, high = rules.ngrams

    def read(text: str) -> Asked:
        given = text.lower() if rules.lowercase else text
        words = [word for word in split(given) if word not in rules.stop_words]
        stems = words if rules.stem is None else rules.stem(words)
        runs = [
            " ".join(stems[first : first + length])
            for length in range(max(low, 2), high + 1)
            for first in range(len(stems) - length + 1)
        ]
        found = [word for word in (*stems, *runs) if word in known]
        heard = {part for one in found for part in one.split()}
        unknown = [word for word, stem in zip(words, stems, strict=True) if stem not in heard]
        return Asked(found, list(dict.fromkeys(unknown)))

    return read


def _rules(settings: Mapping[str, Any]) -> Words:
    """The settings of a run as those who count read them."""
    from isotherm.text.options import words_of

    stop = settings["stop_words"]
    return words_of(
        {
            "lowercase": settings["lowercase"],
            "tokens": settings.get("tokens"),
            "token_pattern": settings["token_pattern"],
            "tokenizer": None,
            "min_length": settings["min_length"],
            "stop_words": None if stop == "none" else stop,
            "min_df": 1,
            "max_df": 1.0,
            "max_features": None,
            "ngrams": settings["ngrams"],
            "stemmer": settings["stem"],
            "vocabulary": None,
            "n_jobs": 1,
            "progress": None,
        }
    )
