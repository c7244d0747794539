"""A corpus as a map, in plain data that can be kept in a file."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from isotherm._markup import Part, page
from isotherm._types import Fields
from isotherm.anneal.trace import Record
from isotherm.data.base import Array

__all__ = ["Cooling", "CorpusMap"]

# What an annealing run tells apart: topics and clusters, or places of a map.
COMPONENTS, NODES = "components", "nodes"

Label = str | int | float | bool | None

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
        Place of each document in [-1, 1]^L or a little beyond. NaN for a document without any
        token that the topics know: it has no place, and one in the middle would look like a
        finding.
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
        Words that tell each topic from the others.
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
        """Path of the file that was written; see `isotherm.save`."""
        from isotherm.io import store

        return store.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> CorpusMap:
        """The map that `save` wrote; nothing in the file is executed."""
        from isotherm.format import values
        from isotherm.io import registry

        found: CorpusMap = values.expect(values.read(path, registry.known(), "map"), cls, path)
        return found

    def save_html(self, path: str | os.PathLike[str], *, title: str = "Map of documents") -> Path:
        """Path of the page that was written, to explore the map in a browser.

        It knows what the map knows; `isotherm.Explorer` adds search, tree and stages.
        """
        from isotherm.viewer.explorer import Explorer

        return Explorer.of(self, title=title).save_html(path)

    def _repr_html_(self) -> str:
        order = np.argsort(-self.topic_sizes, kind="stable").tolist()
        rows = [
            (k, f"{100 * self.topic_sizes[k]:.1f} %", " ".join(self.top_words[k])) for k in order
        ]
        return page(repr(self), Part(("topic", "share", "words"), rows))

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


def restored(values: Fields) -> CorpusMap:
    """The map of what a file contains, once all of it is there and fits together."""
    built = CorpusMap(**values)
    if not _fits_together(built):
        raise ValueError("the parts of the map do not fit together")
    return built


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
