"""A corpus as a map, in plain data that can be kept in a file."""

from __future__ import annotations

import json
import math
import os
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from isotherm.anneal.trace import Record
from isotherm.data.base import Array
from isotherm.errors import IsothermError
from isotherm.files import replacing

__all__ = ["Cooling", "CorpusMap"]

# What an annealing run tells apart: topics and clusters, or places of a map.
COMPONENTS, NODES = "components", "nodes"

Label = str | int | float | bool | None

SCHEMA = 1
KIND = "isotherm corpus map"
# What reading a damaged archive may end in.
DAMAGE = (ValueError, EOFError, KeyError, RuntimeError, OSError, zipfile.BadZipFile, zlib.error)
ARRAYS = (
    "coordinates",
    "topic_weights",
    "tokens",
    "topic_sizes",
    "topic_coordinates",
    "nodes",
    "magnification",
)


class Cooling(NamedTuple):
    """An annealing run: its records, the first critical temperature, the one that was kept.

    `parts` says what came apart, "components" or "nodes". `plots.annealing_path` draws it.
    """

    trace: tuple[Record, ...]
    first_critical: float
    temperature: float
    parts: str


@dataclass(frozen=True, eq=False, repr=False)
class CorpusMap:
    """A corpus as a map, in plain data: I documents, K topics, L dimensions, N nodes.

    Nothing here can be fitted or can place new documents; keep the `MappedCorpus` for that.

    Attributes
    ----------
    coordinates : (I, L)
        Place of each document in [-1, 1]^L. NaN for a document without any token that the topics
        know: it has no place, and one in the middle would look like a finding.
    topic_weights : (I, K)
        Proportions of the topics in each document; rows sum to one. Where a document is empty,
        what the topic model holds without counts.
    tokens : (I,)
        Tokens of each document that the topics know; 0 marks the empty ones.
    names : tuple of str
        Name of each document.
    labels : tuple of str, int, float, bool or None; or None
        Label of each document; a single None is a document without one.
    texts : tuple of str, or None
    top_words : tuple of tuple of str
        Most probable words of each topic.
    topic_sizes : (K,)
        Share of each topic in the corpus.
    topic_coordinates : (K, L)
        Where a document of that topic alone lies. (Means over documents, weighed by the topic,
        are drawn to the middle of the map, where nothing is about it.)
    nodes : (N, L)
        Places of the map's nodes, the last axis fastest.
    magnification : (N,)
        How much the map is stretched at each node; high values are borders between clusters.
    grid_shape : tuple of int
        Nodes along each axis; their product is N.
    transform : str
        How proportions entered the map; see `map_corpus`.
    topics_cooling, map_cooling : Cooling
        How the topics and the map were annealed.
    """

    coordinates: Array
    topic_weights: Array
    tokens: Array
    names: tuple[str, ...]
    labels: tuple[Label, ...] | None
    texts: tuple[str, ...] | None
    top_words: tuple[tuple[str, ...], ...]
    topic_sizes: Array
    topic_coordinates: Array
    nodes: Array
    magnification: Array
    grid_shape: tuple[int, ...]
    transform: str
    topics_cooling: Cooling
    map_cooling: Cooling

    @property
    def empty(self) -> Array:
        """Which documents have no place for want of tokens, (I,) bool."""
        return np.asarray(self.tokens == 0)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Path of the file that was written: an .npz of arrays, and all else as JSON in it.

        The name is taken as it is. An older file is replaced in one step, once the new one is
        complete.
        """
        given = Path(path)
        text = json.dumps(_described(self), allow_nan=False)
        parts = {name: getattr(self, name) for name in ARRAYS}
        parts["meta"] = np.frombuffer(text.encode("ascii"), np.uint8)
        with replacing(given) as unfinished, unfinished.open("wb") as file:
            np.savez_compressed(file, **parts)
        return given

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> CorpusMap:
        """The map that `save` wrote; nothing in the file is executed."""
        given = Path(path)
        with given.open("rb") as file:
            if not zipfile.is_zipfile(file):
                raise _unreadable(given)
            file.seek(0)
            try:
                with np.load(file, allow_pickle=False) as stored:
                    found = {name: np.asarray(stored[name]) for name in stored.files}
            except DAMAGE as error:
                raise _unreadable(given) from error
        return _restored(given, found)

    def __repr__(self) -> str:
        n_rows, n_topics = self.topic_weights.shape
        shape = " x ".join(map(str, self.grid_shape))
        empty = int(self.empty.sum())
        parts = [
            f"{n_rows:,} documents" + (f" ({empty:,} empty)" if empty else ""),
            f"{n_topics} topics",
            f"{len(self.grid_shape)}-D map of {shape} nodes",
        ]
        if self.labels is not None:
            parts.append(f"{len(set(self.labels) - {None})} labels")
        return f"CorpusMap({', '.join(parts)})"


# Files ----------------------------------------------------------------------------------------


def _described(given: CorpusMap) -> dict[str, Any]:
    """All but the arrays, as JSON can hold it."""
    return {
        "kind": KIND,
        "schema": SCHEMA,
        "names": given.names,
        "labels": given.labels,
        "texts": given.texts,
        "top_words": given.top_words,
        "grid_shape": given.grid_shape,
        "transform": given.transform,
        "topics_cooling": _cooling_described(given.topics_cooling),
        "map_cooling": _cooling_described(given.map_cooling),
    }


def _cooling_described(cooling: Cooling) -> dict[str, Any]:
    return {
        "first_critical": _finite(cooling.first_critical),
        "temperature": _finite(cooling.temperature),
        "parts": cooling.parts,
        "trace": [
            {name: _finite(value) for name, value in asdict(record).items()}
            for record in cooling.trace
        ],
    }


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinity: they become text, which `float` reads."""
    if isinstance(value, tuple):
        return [_finite(part) for part in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _restored(path: Path, found: Mapping[str, Array]) -> CorpusMap:
    """The map of what a file contains, once all of it is there and fits together."""
    try:
        meta = json.loads(found["meta"].tobytes())
        kind, schema = meta["kind"], meta["schema"]
        newer = kind == KIND and schema > SCHEMA
    except (KeyError, TypeError, ValueError) as error:
        raise _unreadable(path) from error
    if newer:
        raise IsothermError(
            f"{path} has schema {schema}, and this isotherm reads up to {SCHEMA}; install a newer "
            "isotherm"
        )
    try:
        built = CorpusMap(
            **{name: found[name] for name in ARRAYS},
            names=tuple(meta["names"]),
            labels=None if meta["labels"] is None else tuple(meta["labels"]),
            texts=None if meta["texts"] is None else tuple(meta["texts"]),
            top_words=tuple(map(tuple, meta["top_words"])),
            grid_shape=tuple(meta["grid_shape"]),
            transform=meta["transform"],
            topics_cooling=_cooling_restored(meta["topics_cooling"]),
            map_cooling=_cooling_restored(meta["map_cooling"]),
        )
        fits = kind == KIND and _fits_together(built)
    except (KeyError, TypeError, ValueError) as error:
        raise _unreadable(path) from error
    if not fits:
        raise _unreadable(path)
    return built


def _cooling_restored(given: Mapping[str, Any]) -> Cooling:
    records = tuple(
        Record(
            temperature=float(one["temperature"]),
            free_energy=float(one["free_energy"]),
            log_likelihood=float(one["log_likelihood"]),
            heldout=float(one["heldout"]),
            n_effective=int(one["n_effective"]),
            n_components=int(one["n_components"]),
            critical=tuple(map(float, one["critical"])),
            sweeps=int(one["sweeps"]),
            seconds=float(one["seconds"]),
            converged=bool(one["converged"]),
        )
        for one in given["trace"]
    )
    marks = float(given["first_critical"]), float(given["temperature"])
    return Cooling(records, *marks, str(given["parts"]))


def _fits_together(given: CorpusMap) -> bool:
    n_rows, n_axes = given.coordinates.shape
    n_topics, n_nodes = len(given.topic_sizes), math.prod(given.grid_shape)
    return (
        all(getattr(given, name).dtype.kind == "f" for name in ARRAYS)
        and given.topic_weights.shape == (n_rows, n_topics)
        and given.tokens.shape == (n_rows,)
        and given.topic_coordinates.shape == (n_topics, n_axes)
        and given.nodes.shape == (n_nodes, n_axes)
        and given.magnification.shape == (n_nodes,)
        and len(given.top_words) == n_topics
        and all(
            len(values) == n_rows
            for values in (given.names, given.labels, given.texts)
            if values is not None
        )
    )


def _unreadable(path: Path) -> IsothermError:
    return IsothermError(
        f"{path} is no corpus map, or a damaged one; give a file that CorpusMap.save wrote"
    )
