"""Figures of fits, maps and trees.

Nothing here shows a window or touches pyplot: every function returns a matplotlib Figure, which
notebooks display as the last line of a cell and `figure.savefig` writes to a file.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isotherm.plots.annealing import annealing_path
    from isotherm.plots.biclusters import association
    from isotherm.plots.growth import how_many
    from isotherm.plots.maps import magnification, map_points
    from isotherm.plots.topics import topic_words
    from isotherm.plots.trees import tree_words, word_spread

# Loaded on first use: a figure of a fit needs no maps.
_HOME = {
    "annealing_path": "annealing",
    "association": "biclusters",
    "how_many": "growth",
    "magnification": "maps",
    "map_points": "maps",
    "topic_words": "topics",
    "tree_words": "trees",
    "word_spread": "trees",
}

__all__ = [
    "annealing_path",
    "association",
    "how_many",
    "magnification",
    "map_points",
    "topic_words",
    "tree_words",
    "word_spread",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'isotherm.plots' has no attribute {name!r}")
    value = getattr(import_module(f"isotherm.plots.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
