"""The explorer of a run: its maps, topics, tree, annealing and documents as one page."""

from __future__ import annotations

import argparse
import hashlib
import math
import re
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isotherm.cli import console
from isotherm.cli.query import search_of, searchable
from isotherm.errors import IsothermError

if TYPE_CHECKING:
    from isotherm.anneal.stages import Stages
    from isotherm.cli.documents import Documents
    from isotherm.cli.runs import Run
    from isotherm.maps.workflow import MappedCorpus
    from isotherm.viewer.explorer import Explorer
    from isotherm.viewer.server.edits import Editing
    from isotherm.viewer.server.server import Site

# The seed of maps that are kept in the folder of a run.
SEED = 0
MAP, ESTIMATOR = ".map", ".gtm"
STAGES = "stages.iso"
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


def shown_dimensions(run: Run) -> list[int]:
    """Dimensions of the maps that are worth showing; a page has one map at least.

    Proportions of K topics have K - 1 dimensions: a map of more is crumpled into them.
    """
    n_topics = len(run.model.weights_)
    return [number for number in DIMENSIONS if number < n_topics] or [min(DIMENSIONS)]


def maps_of(run: Run, options: argparse.Namespace) -> list[MappedCorpus]:
    """Maps of a run that a page shows, made if they are not there."""
    return [map_of(run, number, options) for number in shown_dimensions(run)]


def explorer_of(run: Run, maps: Sequence[MappedCorpus], labels: str | None = None) -> Explorer:
    """The explorer of a run.

    Parameters
    ----------
    run : Run
    maps : sequence of MappedCorpus
        The first is shown first.
    labels : str, optional
        Field that stands before the others; by default that of the fit.
    """
    from isotherm.viewer.explorer import Explorer

    docs = run.documents
    return Explorer.of(
        maps,
        model=run.model,
        counts=run.counts,
        title=run.folder.resolve().stem,
        subtitle=Path(run.about["source"]).name,
        names=docs.titles,
        texts=docs.texts,
        columns=columns_of(docs, labels or run.settings["labels"]),
        stages=stages_of(run),
    )


def site_of(run: Run, explorer: Explorer, editing: Editing | None = None) -> Site:
    """What the live server of a run serves."""
    from isotherm.viewer.server.server import site_of

    docs = run.documents

    def document(i: int) -> dict[str, object]:
        told = {name: _shown(value) for name, value in docs.fields[i].items()}
        fields = {name: value for name, value in told.items() if value is not None}
        return {**explorer.document(i), "id": docs.ids[i], "fields": fields}

    search = live_search(run) if searchable(run) else None
    return site_of(explorer, document, search, editing)


def live_search(run: Run) -> Callable[[str, int], dict[str, object]]:
    """The search of `isotherm search`, as the page asks for it."""
    search = search_of(run)
    search.find(" ".join(run.words[:1]), 1)  # what is made at the first search is made now

    def answer(text: str, n: int) -> dict[str, object]:
        query, results = search.find(text, n)
        strongest = sorted(range(len(results.topics)), key=lambda k: -results.topics[k])
        return {
            "known": list(dict.fromkeys(query.known)),
            "unknown": query.unknown,
            "stopped": query.stopped,
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


def stages_of(run: Run) -> Stages | None:
    """The stages of a run, if they were kept."""
    from isotherm.io.store import load

    path = run.folder / STAGES
    kept: Stages | None = load(path) if path.is_file() else None
    return kept


# Maps ---------------------------------------------------------------------------------------------


def map_of(
    run: Run, dimensions: int, options: argparse.Namespace, seed: int = SEED
) -> MappedCorpus:
    """Map of a run, with the estimators that made it; without texts and labels.

    Made once, and anew when the model has changed.

    Parameters
    ----------
    run : Run
    dimensions : {2, 3}
    options : Namespace
    seed : int
        Maps of other seeds than that of maps that are kept are made and not kept.
    """
    if seed != SEED:
        return _make(run, dimensions, options, seed)
    stem = f"map{dimensions}.{mark_of(run)}"
    kept = _read(run, stem)
    if kept is None:
        kept = _make(run, dimensions, options, seed)
        _keep(run, f"map{dimensions}.", stem, kept)
    return kept


def _make(run: Run, dimensions: int, options: argparse.Namespace, seed: int) -> MappedCorpus:
    from isotherm.estimators.gtm import GTM
    from isotherm.maps.workflow import map_corpus

    if len(run.model.weights_) < 2:
        raise IsothermError(
            f"{run.folder} has a single topic, which puts all documents at one place; fit with "
            "--topics 2 or more to have a map"
        )
    gtm = GTM(dimensions, random_state=seed, verbose=console.quiet(options))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        made = map_corpus(run.counts, topics=run.model, gtm=gtm, names=run.documents.titles)
    for text in dict.fromkeys(str(one.message) for one in said):
        console.note(text)  # once is enough
    return made


def mark_of(run: Run) -> str:
    """What tells the topics of a run from any others: a part of the name of what was made of them.

    Names are no part of it, so that a topic may get another one.
    """
    model = run.model
    digest = hashlib.sha256(type(model).__name__.encode())
    for values in (model.weights_, model.components_, model.row_weights_):
        digest.update(f"{values.dtype.str} {values.shape}".encode())
        digest.update(values.tobytes())
    return digest.hexdigest()[:16]


def _read(run: Run, stem: str) -> MappedCorpus | None:
    """The map that is kept; None if there is none, or none that can be read."""
    from isotherm.estimators.gtm import GTM
    from isotherm.maps.corpus import CorpusMap
    from isotherm.maps.workflow import MappedCorpus

    paths = [run.folder / f"{stem}{ending}" for ending in (MAP, ESTIMATOR)]
    if not all(path.is_file() for path in paths):
        return None
    try:
        corpus_map, gtm = CorpusMap.load(paths[0]), GTM.load(paths[1])
    except IsothermError:
        return None
    if len(corpus_map.names) != run.counts.n_rows:
        return None
    return MappedCorpus(corpus_map, run.model, gtm)


def _keep(run: Run, begin: str, stem: str, made: MappedCorpus) -> None:
    """Write the map in place of all of its kind; if that fails, it is made anew next time."""
    try:
        # The map comes last: where it is, the other is as well.
        made.gtm.save(run.folder / f"{stem}{ESTIMATOR}")
        made.map.save(run.folder / f"{stem}{MAP}")
    except OSError as error:
        console.note(f"the map is not kept: {error.strerror or error}")
        return
    for path in _others(run.folder, begin, stem):
        with suppress(OSError):
            path.unlink()


def _others(folder: Path, begin: str, stem: str) -> list[Path]:
    # Exactly as they are named here: map2.map may be of whoever looks at the run.
    own = re.compile(rf"{re.escape(begin)}[0-9a-f]{{16}}({re.escape(MAP)}|{re.escape(ESTIMATOR)})")
    return [
        path
        for path in folder.iterdir()
        if own.fullmatch(path.name) and not path.name.startswith(stem)
    ]


# Columns ------------------------------------------------------------------------------------------


def columns_of(docs: Documents, first: str | None) -> dict[str, object]:
    """Fields by which documents can be coloured: quantities, dates and categories.

    Parameters
    ----------
    docs : Documents
    first : str, optional
        The field that stands first, whatever its values are.
    """
    names = dict.fromkeys(name for fields in docs.fields for name in fields)
    order = [*([] if first is None else [first]), *(name for name in names if name != first)]
    columns: dict[str, object] = {}
    for name in order:
        values = _told(docs.labels(name) or [])
        column = values if name == first else _column(values)
        if column is not None:
            columns[name] = column
    return columns


def _told(values: list[object]) -> list[object]:
    """Empty text, as tables have it, says nothing."""
    return [None if isinstance(value, str) and not value.strip() else value for value in values]


def _column(values: list[Any]) -> object:
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


def _dates(values: list[Any]) -> object:
    import numpy as np

    try:
        return np.array([value and value[:10] for value in values], "datetime64[D]")
    except ValueError:  # the 30th of February
        return None


def _shown(value: object) -> object:
    """A field as it is shown beside a text; None if it is not."""
    if isinstance(value, str):
        return value if value.strip() and len(value) <= LONG else None
    if isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return None
