"""Searches of a run: words of a query, made as those of the documents were, and the index."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from isotherm.cli import runs
from isotherm.cli.options import SCORING, fields, rules
from isotherm.errors import IsothermError

if TYPE_CHECKING:
    from isotherm.retrieval.index import SearchIndex
    from isotherm.retrieval.results import Results

WEIGHTS, INTERPOLATION = (one.default for one in SCORING)


class Asked(NamedTuple):
    """Words of a query that are columns, and those that are not; stop words are left out."""

    known: list[str]
    unknown: list[str]


def asked(text: str, settings: Mapping[str, object], columns: Sequence[object]) -> Asked:
    """The words of a text by the settings of counting, and runs of them that are columns."""
    return reader(settings, columns)(text)


def reader(settings: Mapping[str, object], columns: Sequence[object]) -> Callable[[str], Asked]:
    """Function from texts to what they ask for, by the settings of counting and the columns."""
    from isotherm.text.options import CountOptions

    known = {str(column) for column in columns}
    options = CountOptions(**fields(settings, rules()), n_jobs=1)
    split = options.split or re.compile(rf"\b\w{{{options.min_length},}}\b").findall
    low, high = options.ngrams

    def read(text: str) -> Asked:
        given = text.lower() if options.lowercase else text
        words = [word for word in split(given) if word not in options.stopped]
        stems = words if options.stem is None else options.stem(words)
        runs = [
            " ".join(stems[first : first + length])
            for length in range(max(low, 2), high + 1)
            for first in range(len(stems) - length + 1)
        ]
        asked_for = [word for word in (*stems, *runs) if word in known]
        heard = {part for one in asked_for for part in one.split()}
        unknown = [word for word, stem in zip(words, stems, strict=True) if stem not in heard]
        return Asked(asked_for, list(dict.fromkeys(unknown)))

    return read


# The search --------------------------------------------------------------------------------------


def index_of(run: runs.Run, weights: str, interpolation: float) -> SearchIndex:
    """Index of the documents of a run."""
    from isotherm.retrieval.index import SearchIndex

    if not searchable(run):
        raise IsothermError(
            f"{run.folder} holds {type(run.model).__name__}, and a search needs the topics of "
            f"the aspect model; make them by isotherm fit {run.folder} -o other.run"
        )
    return SearchIndex.of(run.model, run.counts, weights=weights, interpolation=interpolation)


def searchable(run: runs.Run) -> bool:
    """Whether a run has topics that a search can read."""
    return type(run.model).__name__ == "AspectModel"


@dataclass(frozen=True)
class Search:
    """An index of a run, and how texts become words of it."""

    index: SearchIndex
    read: Callable[[str], Asked]

    def find(self, text: str, n: int) -> tuple[Asked, Results]:
        """What a text asks for, and the best documents."""
        query = self.read(text)
        return query, self.index.query(query.known, n)


def search_of(
    run: runs.Run, weights: str = WEIGHTS, interpolation: float = INTERPOLATION
) -> Search:
    """The search of a run; with nothing but the run, that of `isotherm search`."""
    return Search(index_of(run, weights, interpolation), reader(run.counting, run.words))
