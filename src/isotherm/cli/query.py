"""Searches of a run: words of a query, made as those of the documents were, and the index."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from isotherm.cli import runs
from isotherm.cli.options import fields, rules
from isotherm.errors import IsothermError

if TYPE_CHECKING:
    from isotherm.retrieval.index import SearchIndex
    from isotherm.retrieval.results import Results


class Asked(NamedTuple):
    """Words of a query that are columns, those that are not, and stop words that are not."""

    known: list[str]
    unknown: list[str]
    stopped: list[str]


def asked(text: str, settings: Mapping[str, object], columns: Sequence[object]) -> Asked:
    """The words of a text by the settings of counting, and runs of them that are columns."""
    return reader(settings, columns)(text)


def reader(
    settings: Mapping[str, object],
    columns: Sequence[object],
    forms: Callable[[str], str | None] = lambda word: None,
) -> Callable[[str], Asked]:
    """Function from texts to what they ask for, by the settings of counting and the columns.

    `forms` gives the column that has another form of a word.
    """
    from isotherm.text.options import CountOptions

    known = {str(column) for column in columns}
    options = CountOptions(**fields(settings, rules()), n_jobs=1)
    split = options.split or re.compile(rf"\b\w{{{options.min_length},}}\b").findall
    low, high = options.ngrams

    def read(text: str) -> Asked:
        given = text.lower() if options.lowercase else text
        tokens = split(given)
        words = [word for word in tokens if word not in options.stopped]
        stems = words if options.stem is None else options.stem(words)
        stems = [word if word in known else forms(word) or word for word in stems]
        runs = [
            " ".join(stems[first : first + length])
            for length in range(max(low, 2), high + 1)
            for first in range(len(stems) - length + 1)
        ]
        asked_for = [word for word in (*stems, *runs) if word in known]
        heard = {part for one in asked_for for part in one.split()}
        unknown = [word for word, stem in zip(words, stems, strict=True) if stem not in heard]
        stopped = [word for word in tokens if word in options.stopped]
        return Asked(asked_for, *(list(dict.fromkeys(one)) for one in (unknown, stopped)))

    return read


# The search --------------------------------------------------------------------------------------


def index_of(
    run: runs.Run, weights: str | None = None, interpolation: float | None = None
) -> SearchIndex:
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
    """An index of a run, how texts become words of it, and texts where they were kept."""

    index: SearchIndex
    read: Callable[[str], Asked]
    texts: Sequence[str] | None

    def find(self, text: str, n: int) -> tuple[Asked, Results]:
        """What a text asks for, and the best documents."""
        from isotherm.retrieval.queries import parsed

        query = self.read(parsed(text).text)
        # Of a phrase all words count, those that are no column as well.
        found = self.index.query(text, n, analyzer=self._words, texts=self.texts)
        return query, found

    def _words(self, text: str) -> list[str]:
        query = self.read(text)
        return [*query.known, *query.unknown]


def search_of(
    run: runs.Run, weights: str | None = None, interpolation: float | None = None
) -> Search:
    """The search of a run; with nothing but the run, that of `isotherm search`."""
    index = index_of(run, weights, interpolation)
    read = reader(run.counting, run.words, index.form_of)
    return Search(index, read, run.documents.texts)
