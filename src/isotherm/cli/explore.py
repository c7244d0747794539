"""The explorer of a run: its maps, topics, tree, annealing and documents as one page."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isotherm.cli import kept
from isotherm.cli.search import search_of, searchable

if TYPE_CHECKING:
    from isotherm.cli.documents import Documents
    from isotherm.cli.runs import Run
    from isotherm.maps.workflow import MappedCorpus
    from isotherm.viewer.explorer import Explorer
    from isotherm.viewer.server import Site

# The first is shown first.
DIMENSIONS = (3, 2)
# Numbers that a table has as text are numbers if there are more different ones; fewer are names.
FEW = 20
# More categories than this share of the documents is a name for each, and no category.
SHARE = 0.5
# What is longer is no field to show beside a text.
LONG = 500
# Topics of a query that have less of it are not told.
LEAST = 0.01
DATE = re.compile(r"\d{4}-\d\d-\d\d")


def shown_dimensions(found: Run) -> list[int]:
    """Dimensions of the maps that are worth showing; a page has one map at least.

    Proportions of K topics have K - 1 dimensions: a map of more is crumpled into them.
    """
    n_topics = len(found.model.weights_)
    return [number for number in DIMENSIONS if number < n_topics] or [min(DIMENSIONS)]


def maps_of(found: Run, options: argparse.Namespace) -> list[MappedCorpus]:
    """Maps of a run that a page shows, made if they are not there."""
    return [kept.mapped(found, number, options) for number in shown_dimensions(found)]


def explorer_of(found: Run, maps: Sequence[MappedCorpus], labels: str | None = None) -> Explorer:
    """The explorer of a run.

    Parameters
    ----------
    found : Run
    maps : sequence of MappedCorpus
        The first is shown first.
    labels : str, optional
        Field that stands before the others; by default that of the fit.
    """
    from isotherm.viewer.explorer import Explorer

    docs = found.documents
    return Explorer.of(
        maps,
        model=found.model,
        counts=found.counts,
        title=found.folder.resolve().stem,
        subtitle=Path(found.about["source"]).name,
        names=docs.titles,
        texts=docs.texts,
        columns=columns_of(docs, labels or found.settings["labels"]),
        stages=kept.stages_of(found),
    )


def site_of(found: Run, explorer: Explorer) -> Site:
    """What the live server of a run serves."""
    from isotherm.viewer.server import site_of

    docs = found.documents

    def document(i: int) -> dict[str, Any]:
        told = {name: _shown(value) for name, value in docs.fields[i].items()}
        fields = {name: value for name, value in told.items() if value is not None}
        return {**explorer.document(i), "id": docs.ids[i], "fields": fields}

    search = live_search(found) if searchable(found) else None
    return site_of(explorer, document, search)


def live_search(found: Run) -> Callable[[str, int], dict[str, Any]]:
    """The search of `isotherm search`, as the page asks for it."""
    search = search_of(found)
    search.found(" ".join(found.words[:1]), 1)  # what is made at the first search is made now

    def answer(text: str, n: int) -> dict[str, Any]:
        query, results = search.found(text, n)
        strongest = sorted(range(len(results.topics)), key=lambda k: -results.topics[k])
        return {
            "known": list(dict.fromkeys(query.known)),
            "unknown": query.unknown,
            "hits": [
                {
                    "document": hit.document,
                    "score": hit.score,
                    "words": [[one.word, one.amount] for one in hit.words],
                    "topics": [[one.topic, one.amount] for one in hit.topics],
                    "through_topics": hit.through_topics,
                }
                for hit in results.hits
            ],
            "topics": [[k, results.topics[k]] for k in strongest if results.topics[k] >= LEAST]
            if query.known
            else [],
        }

    return answer


# Columns ------------------------------------------------------------------------------------------


def columns_of(docs: Documents, first: str | None) -> dict[str, Any]:
    """Fields by which documents can be coloured: quantities, dates and categories.

    Parameters
    ----------
    docs : Documents
    first : str, optional
        The field that stands first, whatever its values are.
    """
    names = dict.fromkeys(name for fields in docs.fields for name in fields)
    order = [*([] if first is None else [first]), *(name for name in names if name != first)]
    found: dict[str, Any] = {}
    for name in order:
        values = _told(docs.labels(name) or [])
        column = values if name == first else _column(values)
        if column is not None:
            found[name] = column
    return found


def _told(values: list[Any]) -> list[Any]:
    """Empty text, as tables have it, says nothing."""
    return [None if isinstance(value, str) and not value.strip() else value for value in values]


def _column(values: list[Any]) -> Any:
    """The values as quantities, dates or categories; None if they are nothing of that."""
    known = [value for value in values if value is not None]
    different = set(known)
    if len(different) < 2:
        return None
    if not all(isinstance(value, str) for value in known):
        return values
    if len(different) > FEW and all(map(_is_number, known)):
        return [None if value is None else float(value) for value in values]
    if len(different) > FEW and all(DATE.fullmatch(value[:10]) for value in known):
        return _dates(values)
    return values if len(different) <= SHARE * len(values) else None


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _dates(values: list[Any]) -> Any:
    import numpy as np

    try:
        return np.array([value and value[:10] for value in values], "datetime64[D]")
    except ValueError:  # the 30th of February
        return None


def _shown(value: Any) -> Any:
    """A field as it is shown beside a text; None if it is not."""
    if isinstance(value, str):
        return value if value.strip() and len(value) <= LONG else None
    if isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return None
