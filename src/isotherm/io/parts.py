"""Whether the parts of what a file holds fit together: types, shapes, ranges.

A file may be whole and hold something else than what it should: whoever wrote it by other means, or
changed it, can make every checksum right. What does not fit ends in a ValueError here, rather than
somewhere in a kernel.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from isotherm._types import Params, RowStates, Stats
from isotherm.anneal.trace import State
from isotherm.io.estimators import MODELS, TABLES, Shapes, Sizes
from isotherm.io.typed import fits, hints_of
from isotherm.models.base import CountModel, Model
from isotherm.placement.cluster.row_versions import Version
from isotherm.placement.disk.cache import Shelved

# Shapes of arrays, by type and field.
SHAPES: dict[str, Shapes] = {
    **{name: shapes for name, (_, shapes) in TABLES.items() if shapes},
    "Curve": {"relative": "N", "score": "N"},
    "CorpusMap": {
        **{"coordinates": "~?I D", "topic_weights": "I K", "tokens": "I", "topic_sizes": "K"},
        **{"topic_coordinates": "~K D", "nodes": "~N D", "magnification": "N"},
    },
    "Neighbors": {"idf": "J"},
    "SearchIndex": {"theta": "I *"},
    "TopicTable": {"word_topic": "J K", "weight": "K"},
}

# Types that fits leave, and that kernels and sparse tables take.
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def check_temperature(model: object, temperature: float) -> None:
    """Refuse a temperature that the model cannot have."""
    name = type(model).__name__
    if name not in MODELS:
        return
    least = 0.0 if MODELS[name].hard else np.finfo(np.float64).tiny
    if not least <= temperature < math.inf:
        raise ValueError(f"{name} at a temperature of {temperature}")


def check_fields(value: object) -> None:
    """Refuse a named tuple or dataclass whose fields are not what its annotations say."""
    kind: Any = type(value)
    for name, hint in hints_of(kind).items():
        if hasattr(value, name) and not fits(getattr(value, name), hint):
            raise ValueError(f"{kind.__name__}.{name} is {_shown(getattr(value, name))}")
    check_shapes(value, {})


def check_shapes(value: object, sizes: Sizes) -> None:
    """Refuse arrays of a value whose shapes differ from those that others have; sizes are noted."""
    for name, shape in SHAPES.get(type(value).__name__, {}).items():
        check_array(f"{type(value).__name__}.{name}", getattr(value, name), shape, sizes)


def check_array(name: str, array: object, described: str, sizes: Sizes) -> None:
    """Refuse what is no array of numbers of a shape that SHAPES may describe."""
    axes = described.lstrip("~?#+")
    marks = described[: len(described) - len(axes)]
    values = np.asarray(array)
    fine = values.dtype.kind in "iu" if "#" in marks else values.dtype in FLOATS
    if not fine:
        raise ValueError(f"{name} is {_shown(array)}")
    if not any(_has_shape(values.shape, one.split(), sizes) for one in axes.split("|")):
        raise ValueError(f"{name} has shape {values.shape}, and others of {axes!r} have {sizes}")
    if not values.size or ("#" in marks and values.min() >= 0):
        return
    # The smallest and the largest are nan where any is, and nothing is copied to see it.
    least, most = float(values.min()), float(values.max())
    if "?" in marks:
        least, most = (float(np.nan_to_num(x, posinf=math.inf)) for x in (least, most))
    if "+" in marks and least == 0:
        raise ValueError(f"{name} is 0")
    if not (math.isfinite(least) and math.isfinite(most) and ("~" in marks or least >= 0)):
        raise ValueError(f"{name} has values from {least} to {most}")


def _has_shape(shape: tuple[int, ...], axes: list[str], sizes: Sizes) -> bool:
    if len(shape) != len(axes):
        return False
    known = dict(sizes)
    for size, axis in zip(shape, axes, strict=True):
        if axis.isdigit() and size != int(axis):
            return False
        if axis.isalpha() and known.setdefault(axis, size) != size:
            return False
    sizes.update(known)
    return True


def sizes_of(model: Any) -> Sizes:
    """Sizes that a model says."""
    name = type(model).__name__
    if name == "Gtm":
        grid = model.grid
        each = (*grid.shape, *grid.basis)
        if len(grid.shape) != len(grid.basis) or min(each, default=0) < 1:
            raise ValueError(f"a grid of {_shown(each)} nodes")
        return {"N": math.prod(map(int, grid.shape)), "M": math.prod(map(int, grid.basis)) + 1}
    if name not in MODELS:
        return {}
    sizes = {"K": int(model.n_components)}
    if name == "Hierarchy":
        sizes["A"] = len(model.parents)
    elif name == "TwoSided":
        columns = model.n_column_components
        sizes["L"] = sizes["K"] if columns is None else int(columns)
    return sizes


def check_params(model: CountModel, params: Params, sizes: Sizes) -> None:
    """Refuse parameters that are not those of the model; models of one's own are not known here."""
    name = type(model).__name__
    if name in MODELS:
        if type(params) is not MODELS[name].params:
            raise ValueError(f"{name} has parameters of the type {type(params).__name__}")
        sizes.update(_agreeing(sizes_of(model), sizes))
        check_shapes(params, sizes)
        if name == "Hierarchy":
            check_hierarchy(model, params)
    elif type(params).__name__ in SHAPES:
        raise ValueError(f"{name} is no model of {type(params).__name__}")


def check_hierarchy(model: Any, params: Params) -> None:
    """Refuse a tree without an end, or shares for other paths."""
    if any(not -1 <= parent < node for node, parent in enumerate(model.parents)):
        raise ValueError("a parent stands before its children, and -1 before a root")
    nodes, depth = len(model.parents), 0
    if not model.leaves or any(not 0 <= leaf < nodes for leaf in model.leaves):
        raise ValueError(f"leaves are not all nodes from 0 to {nodes - 1}")
    for leaf in model.leaves:
        length, node = 1, leaf
        while model.parents[node] >= 0:
            node, length = model.parents[node], length + 1
        depth = max(depth, length)
    if params.share.shape[1] != depth:
        raise ValueError(f"shares of {params.share.shape[1]} nodes, and paths have {depth}")


def check_state(model: CountModel, state: State, sizes: Sizes) -> None:
    """Refuse a state that is not one of the model."""
    check_params(model, state.params, sizes)
    check_rows(model, state.rows, sizes)


def check_rows(model: Model, rows: RowStates, sizes: Sizes) -> None:
    """Refuse states of rows that are not those of the model; what is in files has a size only."""
    known_model = MODELS.get(type(model).__name__)
    if known_model is None:
        return
    for one in rows:
        if isinstance(one, Shelved | Version):
            continue
        if type(one) not in known_model.rows:
            raise ValueError(f"{_shown(one)}, is no state of rows of {type(model).__name__}")
        # Rows of clusters over topics may be of clusters that have gone since.
        gone = "L" in sizes and type(one).__name__ == "ClusterRows"
        known = "K" in sizes and not (gone and type(model).__name__ != "TwoSided")
        check_shapes(one, {"K": sizes["K"]} if known else {})


def check_stats(model: object, stats: Stats, sizes: Sizes) -> None:
    """Refuse statistics that are not those of the model; there may be none."""
    if type(model).__name__ not in MODELS or (isinstance(stats, tuple) and not len(stats)):
        return
    name = type(stats).__name__
    if not name.endswith("Stats") or name not in SHAPES:
        raise ValueError(f"{_shown(stats)}, is no statistics of {type(model).__name__}")
    first = type(model).__name__.replace("LeaveOneOut", "") in ("Aspect", "Cluster", "Document")
    expected = {letter: n for letter, n in sizes.items() if letter in ("JK" if first else "ND")}
    check_shapes(stats, expected)
    # What is summed over rows has one line for each column.
    if first and name == "ClusterStats":
        check_array("ClusterStats.word", stats.word, "J K", expected)
        check_array("ClusterStats.mass", stats.mass, "K", expected)


def check_grown(value: Any, sizes: Sizes | None = None) -> None:
    """Refuse a stage or the outcome of a run whose parameters are not those of its model."""
    known: Sizes = {} if sizes is None else sizes
    if hasattr(value, "state"):
        check_state(value.model, value.state, known)
    elif value.params is not None:  # most steps of a path have none
        check_params(value.model, value.params, known)
    check_stats(value.model, getattr(value, "stats", ()), known)
    # A run that is at its first temperature has no outcome yet.
    if hasattr(value, "temperature") and getattr(value, "trace", True):
        check_temperature(value.model, value.temperature)


def _agreeing(said: Mapping[str, int], known: Sizes) -> Mapping[str, int]:
    for letter, size in said.items():
        if known.get(letter, size) != size:
            raise ValueError(f"{letter} is {size} and {known[letter]}")
    return said


def _shown(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} and shape {value.shape}"
    return f"{reprlib.repr(value)[:80]}, a {type(value).__name__}"
