"""Whether a file holds an estimator that a fit has left: its attributes, and how they fit together.

What an estimator of a file is used for reads attributes without another look, so they are looked at
here, once. Attributes that are not known here are left as they are.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import reprlib
from typing import Any

import numpy as np

from isotherm._types import Fields
from isotherm.anneal.crossval import Curve
from isotherm.anneal.trace import Outcome, Record, Step
from isotherm.errors import IsothermError
from isotherm.estimators.edits import BEFORE, EDITS, Before, Edit, taken_back
from isotherm.estimators.engine import Engine
from isotherm.estimators.levels import Level, set_level
from isotherm.graph.neighbors import METHODS, Neighbors
from isotherm.io import parts
from isotherm.io.estimators import BY_NAME, Registered, Shapes, Sizes
from isotherm.io.typed import fits
from isotherm.tree import Tree

# What several estimators set; what only some have is in `estimators.REGISTERED`. Shapes are written
# as there; C are components or clusters of rows.
ARRAYS: Shapes = {
    **{"components_": "K J", "weights_": "K", "row_weights_": "I C", "unigram_": "J"},
    **{"background_": "J", "labels_": "#I", "row_totals_": "I"},
    **{"prominence_": "K J", "prominence_rows_": "K", "prominence_overall_": "J"},
    **{"reproducibility_": "~?K", "node_reproducibility_": "~?*"},
}
TYPES: Fields = {
    "precision_": str,
    "temperature_": float,
    "first_critical_": float,
    "trace_": tuple[Record, ...],
    "path_": tuple[Step, ...],
    "outcome_": str,
    "free_energy_": float,
    "peak_memory_": float,
    "tree_": Tree,
    "cv_curve_": Curve,
    "topic_tree_": Tree,
    "names_": tuple[str, ...],
    "edits_": tuple[Edit, ...],
    "before_edits_": tuple[Before, ...],
    "pinned_": tuple[int, ...],
    "levels_": tuple[Level, ...],
}
LABELS = {"feature_names_in_": "J", "row_names_": "I"}
REPRODUCIBILITY = ("reproducibility_", "node_reproducibility_")
PRECISIONS = ("float32", "float64", "bfloat16")

RUN = (
    *("n_features_in_", "precision_", "model_", "params_", "temperature_", "first_critical_"),
    *("trace_", "outcome_", "n_iter_"),
)
COUNTS = (
    *("components_", "weights_", "row_weights_", "free_energy_", "n_components_", "n_alive_"),
    *("n_distinct_", "unigram_", "background_"),
)


def check(estimator: object) -> None:
    """Refuse an estimator whose attributes no fit can have left; one that is not fitted is fine."""
    fitted = {name: one for name, one in vars(estimator).items() if name.endswith("_")}
    known = _known(estimator)
    if not fitted or known is None:
        return
    kind = known.estimator.__name__
    needed = (*RUN, *(COUNTS if known.counts else ()), *known.needed)
    missing = [name for name in needed if name not in fitted]
    if missing:
        raise ValueError(f"a fitted {kind} without {missing[0]}")
    _check_settings(estimator)
    if type(fitted["model_"]) not in [one.model for one in known.models]:
        raise ValueError(f"{kind} with a model of the type {type(fitted['model_']).__name__}")
    for name, one in fitted.items():
        _check_alone(name, one, known)
    _check_together(fitted, known)
    _check_edits(estimator, fitted)
    _check_levels(estimator, fitted)


def _known(estimator: object) -> Registered | None:
    """The entry of the class of the library that the estimator is of."""
    names = (one.__name__ for one in type(estimator).__mro__)
    return next((BY_NAME[name] for name in names if name in BY_NAME), None)


def _check_together(fitted: Fields, known: Registered) -> None:
    """Refuse attributes that are fine by themselves, and not beside each other."""
    sizes: Sizes = {"J": int(fitted["n_features_in_"])}
    parts.check_temperature(fitted["model_"], fitted["temperature_"])
    columns = dict(sizes) if known.counts else {"D": sizes["J"]}
    parts.check_params(fitted["model_"], fitted["params_"], columns)
    sizes |= {letter: n for letter, n in columns.items() if letter in "KLANM"}
    if not known.own_clusters:
        sizes["C"] = sizes.get("K", 0)
    for name, shape in {**ARRAYS, **known.arrays}.items():
        if name in fitted:
            parts.check_array(name, fitted[name], shape, sizes)
    for name, letter in LABELS.items():
        _check_labels(name, fitted.get(name), sizes.get(letter))
    _check_component_names(fitted.get("names_"), sizes.get("K"))
    known.check(fitted, sizes)
    nodes = fitted.get("node_reproducibility_")
    if nodes is not None and len(nodes) != _n_nodes(fitted):
        raise ValueError(f"node_reproducibility_ of {len(nodes)} nodes")
    for step in fitted.get("path_", ()):
        if step.params is not None:
            parts.check_params(step.model, step.params, {"J": sizes["J"]})
        if step.n_components != step.model.n_components:
            raise ValueError("a step with a tree of other components")


def _n_nodes(fitted: Fields) -> int:
    """Number of nodes of the tree of the components."""
    tree: Tree | None = fitted.get("topic_tree_", fitted.get("tree_"))
    return 0 if tree is None else tree.n_nodes


def _check_edits(estimator: object, fitted: Fields) -> None:
    """Refuse edits that lead back to nothing that a fit can have left."""
    n_topics = fitted.get("n_components_", 0)
    if any(not 0 <= k < n_topics for k in fitted.get("pinned_", ())):
        raise ValueError("topics are pinned that the model does not have")
    edits, before = (fitted.get(name, ()) for name in ("edits_", "before_edits_"))
    if len(edits) != len(before):
        raise ValueError(f"{len(edits)} edits, of which {len(before)} can be taken back")
    for one in edits:
        pairs = ((one.topics, one.names), (one.into, one.new_names))
        if any(len(numbers) != len(names) for numbers, names in pairs):
            raise ValueError("an edit whose topics and names are not as many")
    if edits:
        # And so on, to the fit itself.
        check(taken_back(estimator))


def _check_levels(estimator: Any, fitted: Fields) -> None:
    """Refuse levels that are no models, by what each of them would be."""
    given = fitted.get("levels_", ())
    for level in given:
        other = copy.copy(estimator)
        for name in ("levels_", EDITS, BEFORE):
            vars(other).pop(name, None)
        set_level(other, level)
        same = level.n_components == vars(other).get("n_components_")
        sizes = len(level.reproducibility), len(level.node_reproducibility)
        own = tuple(len(vars(other).get(name, ())) for name in REPRODUCIBILITY)
        if not same or sizes != own:
            raise ValueError("a level of other components")
        check(other)


def _check_settings(estimator: Any) -> None:
    """Refuse parameters that a fit would have refused, whatever devices this computer has."""
    if not isinstance(estimator.device, str):
        raise ValueError(f"device={estimator.device!r}")
    device, estimator.device = estimator.device, "cpu"
    engine = estimator.engine
    if isinstance(engine, Engine) and engine.precision == "bfloat16":  # on a device only
        estimator.engine = dataclasses.replace(engine, precision="float32")
    try:
        estimator._check_parameters()
    except IsothermError as error:
        raise ValueError(str(error)) from error
    finally:
        estimator.device, estimator.engine = device, engine


def _check_alone(name: str, value: Any, known: Registered) -> None:
    """Refuse an attribute that is nothing, whatever the others are."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    types = {**TYPES, **known.types}
    wrong = name in types and not fits(value, types[name])
    wrong = wrong or (name.startswith("n_") and name.endswith("_") and not (whole and value >= 0))
    wrong = wrong or (name == "n_features_in_" and value < 1)
    wrong = wrong or (name in known.above_0 and not 0 < value < math.inf)
    wrong = wrong or (name == "precision_" and value not in PRECISIONS)
    wrong = wrong or (name == "outcome_" and value not in {one.value for one in Outcome})
    wrong = wrong or (name == "trace_" and not len(value))
    if wrong:
        raise ValueError(f"{name} is {reprlib.repr(value)[:80]}")


def _check_labels(name: str, value: Any, length: int | None) -> None:
    if value is None:
        return
    if isinstance(value, np.ndarray):
        fine = value.dtype.kind in "OU" and value.ndim == 1
    else:  # the index of a frame, which may have numbers
        fine = isinstance(value, list | tuple) and name == "row_names_"
    if not fine or (length is not None and len(value) != length):
        raise ValueError(f"{name} has not {length} names")


def _check_component_names(names: tuple[str, ...] | None, n_components: int | None) -> None:
    """Refuse names that are not one for each component, different from all others."""
    if names is None:
        return
    if len(names) != n_components or len(set(names)) < len(names) or not all(names):
        raise ValueError(f"names_ {reprlib.repr(names)[:80]} of {n_components} components")


def named(estimator: Any) -> None:
    """Name the components of a model that is of a file from before they had names."""
    if hasattr(estimator, "components_") and not hasattr(estimator, "names_"):
        estimator._name_components()


def check_neighbors(value: Neighbors) -> None:
    """Refuse neighbours that no counts have."""
    rows, n_threads = value.rows, value.n_threads
    fine = rows.shape[1] == len(value.idf) and value.method in METHODS
    fine = fine and value.n_neighbors >= 1 and (n_threads is None or n_threads >= 1)
    fine = fine and value.seed >= 0 and (not rows.nnz or 0 <= rows.min() <= rows.max() < np.inf)
    if not fine:
        raise ValueError("neighbours of rows that do not fit")
