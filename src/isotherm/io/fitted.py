"""Whether a file holds an estimator that a fit has left: its attributes, and how they fit together.

What an estimator of a file is used for reads attributes without another look, so they are looked at
here, once. Attributes that are not known here are left as they are.
"""

from __future__ import annotations

import dataclasses
import math
import reprlib
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from isotherm._types import Fields
from isotherm.anneal.crossval import Curve
from isotherm.anneal.trace import Outcome, Record, Step
from isotherm.errors import IsothermError
from isotherm.estimators.engine import Engine
from isotherm.graph.neighbors import METHODS, Neighbors
from isotherm.io import parts
from isotherm.io.parts import Sizes
from isotherm.io.typed import fits
from isotherm.models.grid import LatentGrid
from isotherm.tree import Tree

# Shapes of arrays, as `parts.SHAPES` writes them; C are components or clusters of rows.
ARRAYS = {
    **{"components_": "K J", "weights_": "K", "row_weights_": "I C", "unigram_": "J"},
    **{"background_": "J", "row_marginal_": "I", "labels_": "#I", "row_totals_": "I"},
    **{"column_weights_": "J L", "row_labels_": "#I", "column_labels_": "#J"},
    **{"association_": "K L", "joint_": "K L", "node_components_": "A J", "node_tokens_": "A"},
    **{"path_weights_": "I *", "cluster_weights_": "C", "cluster_centers_": "C K"},
    **{"concentration_": "K", "mean_": "~J", "nodes_": "~N P", "weight_": "~M J"},
    **{"centres_": "~N J"},
}
TYPES: Fields = {
    "precision_": str,
    "temperature_": float,
    "first_critical_": float,
    "trace_": tuple[Record, ...],
    "growth_trace_": tuple[Record, ...],
    "path_": tuple[Step, ...],
    "outcome_": str,
    "free_energy_": float,
    "scale_": float,
    "noise_variance_": float,
    "log_likelihood_": float,
    "objective_": float,
    "mutual_information_": float,
    "elbo_": float,
    "alpha_": float,
    "separation_": float,
    "peak_memory_": float,
    "tree_": Tree,
    "grid_": LatentGrid,
    "cv_curve_": Curve,
    "topic_tree_": Tree,
    "neighbors_": Neighbors | None,
    "graph_": sparse.csr_array,
}
# Numbers that are more than 0.
ABOVE_0 = ("scale_", "noise_variance_", "alpha_")
LABELS = {"feature_names_in_": "J", "row_names_": "I"}
PRECISIONS = ("float32", "float64", "bfloat16")

RUN = (
    *("n_features_in_", "precision_", "model_", "params_", "temperature_", "first_critical_"),
    *("trace_", "outcome_", "n_iter_"),
)
COUNTS = (
    *("components_", "weights_", "row_weights_", "free_energy_", "n_components_", "n_alive_"),
    *("n_distinct_", "unigram_", "background_"),
)
LINKED = ("neighbors_", "graph_", "n_empty_rows_")
CLUSTERS = ("labels_", "cluster_weights_", "cluster_centers_", "n_live_")
# What methods read, besides RUN and COUNTS; and the models that it may be.
NEEDED: dict[str, tuple[str, ...]] = {
    "AspectModel": ("row_marginal_",),
    "OneSidedClustering": ("labels_",),
    "DocumentMixture": (),
    "HierarchicalClustering": (
        *("labels_", "tree_", "node_components_", "node_tokens_", "path_weights_"),
    ),
    "TwoSidedClustering": (
        *("row_totals_", "column_weights_", "row_labels_", "column_labels_", "association_"),
        *("joint_", "mutual_information_"),
    ),
    "DTM": LINKED,
    "LTM": LINKED,
    "LapPLSI": LINKED,
    "PCP": (*CLUSTERS, "elbo_", "alpha_", "concentration_"),
    "TTMM": CLUSTERS,
}
MAP = ("mean_", "scale_", "grid_", "nodes_", "weight_", "centres_", "noise_variance_")
MODELS = {
    "AspectModel": ("Aspect", "AspectLeaveOneOut"),
    "OneSidedClustering": ("Cluster", "ClusterLeaveOneOut"),
    "DocumentMixture": ("Document", "Cluster"),
    "HierarchicalClustering": ("Hierarchy",),
    "TwoSidedClustering": ("TwoSided",),
    "DTM": ("DTM",),
    "LTM": ("LTM",),
    "LapPLSI": ("LapPLSI",),
    "PCP": ("Pcp", "FactorizedPcp"),
    "TTMM": ("Ttmm",),
    "GTM": ("Gtm",),
}


def check(estimator: object) -> None:
    """Refuse an estimator whose attributes no fit can have left; one that is not fitted is fine."""
    fitted = {name: one for name, one in vars(estimator).items() if name.endswith("_")}
    kind = _known(estimator)
    if not fitted or kind is None:
        return
    missing = [name for name in _needed(kind) if name not in fitted]
    if missing:
        raise ValueError(f"a fitted {kind} without {missing[0]}")
    _check_settings(estimator)
    if type(fitted["model_"]).__name__ not in MODELS[kind]:
        raise ValueError(f"{kind} with a model of the type {type(fitted['model_']).__name__}")
    for name, one in fitted.items():
        _check_alone(name, one)
    sizes: Sizes = {"J": int(fitted["n_features_in_"])}
    parts.check_temperature(fitted["model_"], fitted["temperature_"])
    columns = {"D": sizes["J"]} if kind == "GTM" else dict(sizes)
    parts.check_params(fitted["model_"], fitted["params_"], columns)
    sizes |= {letter: n for letter, n in columns.items() if letter in "KLANM"}
    if kind not in ("PCP", "TTMM"):
        sizes["C"] = sizes.get("K", 0)
    for name, shape in ARRAYS.items():
        if name in fitted:
            parts.check_array(name, fitted[name], shape, sizes)
    for name, letter in LABELS.items():
        _check_labels(name, fitted.get(name), sizes.get(letter))
    MORE.get(kind, _nothing)(fitted, sizes)


def _known(estimator: object) -> str | None:
    """Name of the class of the library that the estimator is of."""
    names = (one.__name__ for one in type(estimator).__mro__)
    return next((name for name in names if name in MODELS), None)


def _needed(kind: str) -> tuple[str, ...]:
    return (*RUN, *MAP) if kind == "GTM" else (*RUN, *COUNTS, *NEEDED[kind])


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


def _check_alone(name: str, value: Any) -> None:
    """Refuse an attribute that is nothing, whatever the others are."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    wrong = name in TYPES and not fits(value, TYPES[name])
    wrong = wrong or (name.startswith("n_") and name.endswith("_") and not (whole and value >= 0))
    wrong = wrong or (name == "n_features_in_" and value < 1)
    wrong = wrong or (name in ABOVE_0 and not 0 < value < math.inf)
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


def _below(name: str, labels: Any, size: int) -> None:
    if len(labels) and labels.max() >= size:
        raise ValueError(f"{name} are not all below {size}")


# What holds for one class -----------------------------------------------------------------------


def _nothing(fitted: dict[str, object], sizes: Sizes) -> None:
    pass


def _clusters(fitted: dict[str, object], sizes: Sizes) -> None:
    _below("labels_", fitted["labels_"], sizes["C"])


def _projected(fitted: Fields, sizes: Sizes) -> None:
    _clusters(fitted, sizes)
    if not fitted["cluster_weights_"].any():
        raise ValueError("cluster_weights_ are 0 for all clusters")


def _growing(fitted: Fields, sizes: Sizes) -> None:
    if "tree_" in fitted and fitted["tree_"].n_leaves != sizes["K"]:
        raise ValueError(f"a tree of {fitted['tree_'].n_leaves} leaves")
    if "labels_" in fitted:
        _clusters(fitted, sizes)
    for step in fitted.get("path_", ()):
        parts.check_params(step.model, step.params, {"J": sizes["J"]})
        if step.n_components != step.model.n_components:
            raise ValueError("a step with a tree of other components")


def _hierarchy(fitted: Fields, sizes: Sizes) -> None:
    _growing(fitted, sizes)
    tree, model = fitted["tree_"], fitted["model_"]
    if tuple(tree.parents) != tuple(model.parents) or tuple(tree.leaves) != tuple(model.leaves):
        raise ValueError("a tree that is not that of the model")


def _two_sided(fitted: dict[str, object], sizes: Sizes) -> None:
    _below("row_labels_", fitted["row_labels_"], sizes["K"])
    _below("column_labels_", fitted["column_labels_"], sizes["L"])


def _linked(fitted: Fields, sizes: Sizes) -> None:
    n_rows, graph = sizes["I"], fitted["graph_"]
    finite = not graph.nnz or 0 <= graph.min() <= graph.max() < math.inf
    if graph.shape != (n_rows, n_rows) or not finite:
        raise ValueError(f"a graph of shape {graph.shape} over {n_rows} rows")
    one = fitted["neighbors_"]
    if one is not None and one.rows.shape != (n_rows, sizes["J"]):
        raise ValueError(f"neighbours among rows of shape {one.rows.shape}")


def _map(fitted: Fields, sizes: Sizes) -> None:
    if fitted["grid_"] != fitted["model_"].grid or sizes["P"] != len(fitted["grid_"].shape):
        raise ValueError("nodes that are not those of the grid")


MORE: dict[str, Callable[[dict[str, object], Sizes], None]] = {
    **{"AspectModel": _growing, "OneSidedClustering": _growing, "DocumentMixture": _growing},
    **{"HierarchicalClustering": _hierarchy, "TwoSidedClustering": _two_sided},
    **{"DTM": _linked, "LTM": _linked, "LapPLSI": _linked, "GTM": _map},
    **{"PCP": _projected, "TTMM": _projected},
}


def check_neighbors(value: Neighbors) -> None:
    """Refuse neighbours that no counts have."""
    rows, n_threads = value.rows, value.n_threads
    fine = rows.shape[1] == len(value.idf) and value.method in METHODS
    fine = fine and value.n_neighbors >= 1 and (n_threads is None or n_threads >= 1)
    fine = fine and value.seed >= 0 and (not rows.nnz or 0 <= rows.min() <= rows.max() < np.inf)
    if not fine:
        raise ValueError("neighbours of rows that do not fit")
