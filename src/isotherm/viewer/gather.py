"""From maps, models, counts and columns to what an explorer holds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from isotherm.anneal.stages import Stage, Stages
from isotherm.data.base import Array
from isotherm.data.counts import Counts, as_counts
from isotherm.errors import IsothermError
from isotherm.estimators.counts import CountEstimator
from isotherm.estimators.gtm import GTM
from isotherm.maps.corpus import COMPONENTS, NODES, Cooling, CorpusMap
from isotherm.maps.workflow import MappedCorpus
from isotherm.viewer.container import Part
from isotherm.viewer.format import (
    FORMAT,
    VERSION,
    Column,
    CoolingMeta,
    MapMeta,
    Nouns,
    PointsHead,
    PointsMeta,
    StageMeta,
    TopicMeta,
)
from isotherm.viewer.parts import contents, points, stages
from isotherm.viewer.parts.points import Place
from isotherm.viewer.parts.words import words_part

LABEL = "label"
NOUNS: Nouns = {
    "row": "document",
    "rows": "documents",
    "column": "word",
    "columns": "words",
    "component": "topic",
    "components": "topics",
}
POINTS: Nouns = {**NOUNS, "row": "point", "rows": "points"}


class Given(NamedTuple):
    """What a user says of the documents, and of the page."""

    names: Sequence[str] | None
    texts: Sequence[str] | None
    labels: Sequence[object] | None
    columns: Mapping[str, object]
    nouns: Mapping[str, str]
    title: str
    subtitle: str


class Gathered(NamedTuple):
    """The fields of an explorer."""

    title: str
    points: Part
    documents: Part
    words: Part | None
    counts: Counts | None
    texts: list[str] | None
    ids: list[str] | None
    fields: Mapping[str, object]


def of_maps(
    maps: object,
    model: Any,
    counts: object,
    kept: Stages | Sequence[Stage] | None,
    given: Given,
) -> Gathered:
    """All there is to show of a corpus; see `Explorer.of`."""
    found = _maps(maps)
    first = found[0][0]
    if model is None:
        model = next((mapped.topics for _, mapped in found if mapped is not None), None)
    rows = None if counts is None else as_counts(counts)
    _check_model(model, first, rows)
    n_rows, n_topics = first.topic_weights.shape
    given = _of_the_map(given, first)
    fields = _fields(given, n_rows)
    names = None if model is None else [str(name) for name in model._column_names()]
    places = [_place(one) for one, _ in found]
    metas, columns, arrays = _points(places, fields, n_rows)
    arrays["topic"] = points.codes(first.topic_weights.argmax(axis=1), n_topics)
    mass = first.tokens if rows is None else rows.row_totals
    per_document = points.shares(first.topic_weights)
    per_document["typical"] = points.typical(first.topic_weights, mass)
    said: list[StageMeta] = []
    if names is not None:
        guides = [
            stages.Guide(m, places[m], one, mapped.gtm)
            for m, (one, mapped) in enumerate(found)
            if mapped is not None
        ]
        said, more = stages.stages_of(model, kept, rows, first.topic_weights, names, guides)
        per_document |= more
    elif kept is not None:
        raise IsothermError("stages are given without a model; give the model that they are of")
    meta: PointsMeta = {
        **head(given, NOUNS, n_rows),
        "n_topics": n_topics,
        "n_words": 0 if names is None else len(names),
        "facts": _facts(given, first, model, rows, [one for one, _ in found]),
        "maps": metas,
        "columns": columns,
        "topics": _topics(model, names, first, rows),
        "tree": None if names is None else contents.tree_meta(model, names),
        "coolings": _coolings(model, [one for one, _ in found]),
        "stages": said,
    }
    return Gathered(
        given.title,
        Part(meta, arrays, {}),
        Part({}, per_document, {"titles": points.texts_of("names", given.names, n_rows) or []}),
        None if names is None else words_part(model, names, rows),
        rows,
        points.texts_of("texts", given.texts, n_rows),
        None if rows is None or rows.row_names is None else [str(one) for one in rows.row_names],
        fields,
    )


def of_places(maps: object, vectors: object, given: Given) -> Gathered:
    """All there is to show of vectors; see `Explorer.of_vectors`."""
    several = list(maps) if isinstance(maps, Sequence) else [maps]
    if not several:
        raise IsothermError("no maps are given; give a fitted GTM or coordinates (I, 2) or (I, 3)")
    places = [_placed(one, vectors) for one in several]
    n_rows = len(places[0].coordinates)
    for place in places:
        if len(place.coordinates) != n_rows:
            raise IsothermError(
                f"maps have {n_rows} and {len(place.coordinates)} rows; all need the same"
            )
    fields = _fields(given, n_rows)
    metas, columns, arrays = _points(places, fields, n_rows)
    nouns = _named(POINTS, given)
    meta: PointsMeta = {
        **head(given, POINTS, n_rows),
        "n_topics": 0,
        "n_words": 0,
        "facts": [[nouns["rows"], f"{n_rows:,}"]],
        "maps": metas,
        "columns": columns,
        "topics": [],
        "tree": None,
        "coolings": [
            contents.cooling_meta(_map_name(one.n_components, len(several) > 1), _cooling(one))
            for one in several
            if isinstance(one, GTM)
        ],
        "stages": [],
    }
    titles = points.texts_of("names", given.names, n_rows)
    return Gathered(
        given.title,
        Part(meta, arrays, {}),
        Part({}, {}, {} if titles is None else {"titles": titles}),
        None,
        None,
        points.texts_of("texts", given.texts, n_rows),
        None,
        fields,
    )


def plain(value: object) -> Any:
    """A value of a column as JSON can say it."""
    item = value.item() if isinstance(value, np.generic) else value
    if isinstance(item, float):
        return item if math.isfinite(item) else None
    return item if item is None or isinstance(item, bool | int | str) else str(item)


def renamed(
    meta: Mapping[str, object], model: CountEstimator, rows: Counts | None
) -> dict[str, object]:
    """The facts of a collection after topics of its model got other names."""
    names = [str(name) for name in model._column_names()]
    topics, tree = contents.topics_of(model, names, rows), contents.tree_meta(model, names)
    return {**meta, "topics": topics, "tree": tree}


# What is given -----------------------------------------------------------------------------------


def _maps(maps: object) -> list[tuple[CorpusMap, MappedCorpus | None]]:
    """Each map, with the estimators that made it where they are there."""
    single = isinstance(maps, CorpusMap | MappedCorpus)
    several = [maps] if single else list(maps) if isinstance(maps, Sequence) else []
    found: list[tuple[CorpusMap, MappedCorpus | None]] = []
    for one in several:
        if isinstance(one, MappedCorpus):
            found.append((one.map, one))
        elif isinstance(one, CorpusMap):
            found.append((one, None))
        else:
            several = []
            break
    if not several:
        raise IsothermError(
            f"maps={maps!r:.100}; give what map_corpus returns, its map, or a list of them",
            parameter="maps",
        )
    shape = found[0][0].topic_weights.shape
    for one, _ in found:
        if one.topic_weights.shape != shape:
            raise IsothermError(
                f"maps have {shape[0]} rows and {shape[1]} topics, and {one.topic_weights.shape[0]}"
                f" and {one.topic_weights.shape[1]}; give maps of the same rows by the same topics"
            )
    return found


def _check_model(model: object, first: CorpusMap, rows: Counts | None) -> None:
    n_rows, n_topics = first.topic_weights.shape
    if model is not None:
        if not isinstance(model, CountEstimator) or not hasattr(model, "components_"):
            raise IsothermError(
                f"model={model!r:.80}; give the fitted topic model that the map was made of",
                parameter="model",
            )
        if len(model.weights_) != n_topics:
            raise IsothermError(
                f"the model has {len(model.weights_)} topics and the map {n_topics}; give the "
                "model that the map was made of"
            )
    if rows is not None and rows.n_rows != n_rows:
        raise IsothermError(
            f"counts have {rows.n_rows} rows and the map {n_rows}; give those of the map"
        )
    if model is not None and rows is not None and rows.n_columns != model.n_features_in_:
        raise IsothermError(
            f"counts have {rows.n_columns} columns and the model {model.n_features_in_}; give "
            "those that it was fitted to"
        )


def _of_the_map(given: Given, first: CorpusMap) -> Given:
    """What is given, and what the map has of its own where nothing is."""
    return given._replace(
        names=first.names if given.names is None else given.names,
        texts=first.texts if given.texts is None else given.texts,
        labels=first.labels if given.labels is None else given.labels,
    )


def _fields(given: Given, n_rows: int) -> dict[str, object]:
    """Columns by name; labels are the first of them, and always categories."""
    if given.labels is None:
        return dict(given.columns)
    if LABEL in given.columns:
        raise IsothermError(f"labels and a column {LABEL!r} are both given; leave one of them out")
    points.check_length("labels", given.labels, n_rows)
    return {LABEL: [points.category(value) for value in given.labels], **given.columns}


def _named(nouns: Nouns, given: Given) -> Nouns:
    """What things are called, where a user has words for them in these."""
    return cast(Nouns, {**nouns, **given.nouns})


def head(given: Given, nouns: Nouns, n_rows: int) -> PointsHead:
    """What is said of a collection before anything is known of its maps."""
    unknown = set(given.nouns) - set(NOUNS)
    if unknown:
        raise IsothermError(
            f"nouns has {sorted(unknown)}; what can be named are {', '.join(map(repr, NOUNS))}"
        )
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": str(given.title),
        "subtitle": str(given.subtitle),
        "live": False,
        "editing": None,
        "n_documents": n_rows,
        "parts": [],
        "nouns": _named(nouns, given),
    }


# What is shown -----------------------------------------------------------------------------------


def _points(
    places: list[Place], fields: Mapping[str, object], n_rows: int
) -> tuple[list[MapMeta], list[Column], dict[str, Array]]:
    columns, arrays = points.columns_of(fields, n_rows)
    for m, place in enumerate(places):
        arrays |= points.map_arrays(m, place)
    return [points.map_meta(place) for place in places], columns, arrays


def _place(given: CorpusMap) -> Place:
    axes = given.coordinates.shape[1]
    corners = points.around(given.grid_shape)
    return Place(
        f"{axes}-D",
        given.coordinates,
        *corners,
        given.topic_coordinates,
        given.nodes,
        given.magnification,
        given.grid_shape,
    )


def _placed(given: object, vectors: object) -> Place:
    """A map of vectors: what a GTM makes of them, or places that are given."""
    if isinstance(given, GTM):
        if vectors is None or not hasattr(given, "nodes_"):
            raise IsothermError(
                "a GTM is given unfitted or without vectors; fit it, and give the vectors to place"
            )
        coordinates = np.asarray(given.transform(vectors))
        axes = coordinates.shape[1]
        corners = points.around(given.grid_.shape)
        return Place(
            f"{axes}-D",
            coordinates,
            *corners,
            nodes=given.nodes_,
            magnification=given.magnification(),
            grid=given.grid_.shape,
        )
    coordinates = np.asarray(given)
    if coordinates.ndim != 2 or coordinates.shape[1] not in (2, 3) or not len(coordinates):
        raise IsothermError(
            f"coordinates have shape {coordinates.shape}; give (I, 2) or (I, 3), or a fitted GTM"
        )
    if coordinates.dtype.kind not in "iuf":
        raise IsothermError(f"coordinates are of {coordinates.dtype}; give numbers")
    return Place(f"{coordinates.shape[1]}-D", coordinates, *points.framed(coordinates))


def _topics(
    model: Any, names: list[str] | None, first: CorpusMap, rows: Counts | None
) -> list[TopicMeta]:
    if names is None:
        return contents.topics_of_map(first)
    return contents.topics_of(model, names, rows)


def _facts(
    given: Given, first: CorpusMap, model: Any, rows: Counts | None, maps: list[CorpusMap]
) -> list[list[str]]:
    nouns = _named(NOUNS, given)
    facts = [[nouns["rows"], f"{len(first.topic_weights):,}"]]
    if rows is not None:
        facts += [[nouns["columns"], f"{rows.n_columns:,}"], ["tokens", f"{rows.total:,.0f}"]]
    facts.append([nouns["components"], f"{len(first.topic_sizes):,}"])
    if model is not None:
        facts.append(["model", type(model).__name__])
        facts.append(["temperature", f"{model.temperature_:.3g}"])
    facts += [["nodes of the map", " × ".join(map(str, one.grid_shape))] for one in maps]
    lost = int(first.empty.sum())
    if lost:
        facts.append(["without a place", f"{lost:,}"])
    return facts


def _coolings(model: Any, maps: list[CorpusMap]) -> list[CoolingMeta]:
    found = [contents.cooling_meta("topics", maps[0].topics_cooling)]
    growth = getattr(model, "growth_trace_", ())
    if growth:
        first = float(model.first_critical_)
        grown = Cooling(growth, first, growth[-1].temperature, COMPONENTS)
        found.append(contents.cooling_meta("growth", grown))
    for one in maps:
        name = _map_name(one.coordinates.shape[1], len(maps) > 1)
        found.append(contents.cooling_meta(name, one.map_cooling))
    return found


def _map_name(n_dimensions: int, several: bool) -> str:
    return f"{n_dimensions}-D map" if several else "map"


def _cooling(gtm: GTM) -> Cooling:
    return Cooling(tuple(gtm.trace_), float(gtm.first_critical_), float(gtm.temperature_), NODES)
