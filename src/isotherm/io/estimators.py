"""What files hold of each estimator: the one place in `isotherm.io` where an estimator is entered.

An entry of `REGISTERED` says which models a fit may have left, of which types their parameters and
rows are, which shapes the arrays of these types have, and what a fit sets. The tables by which
files are written (`registry`) and checked (`parts`, `fitted`) follow from it.

The name of a class is its name in files (that of a model has `model.` in front), and part of the
file format: once released it stays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from scipy import sparse

from isotherm._types import Array, Fields
from isotherm.anneal.trace import Record
from isotherm.estimators import (
    aspect,
    cluster,
    document,
    gtm,
    hierarchy,
    manifold,
    pcp,
    ttmm,
    two_sided,
)
from isotherm.estimators.base import Annealed
from isotherm.graph.neighbors import Neighbors
from isotherm.models import aspect as aspects
from isotherm.models import cluster as clusters
from isotherm.models import document as documents
from isotherm.models import dtm, grid, lap_plsi, lda, linked, ltm, row_mixture, segments, tied
from isotherm.models import gtm as maps
from isotherm.models import hierarchy as hierarchies
from isotherm.models import leave_one_out as without
from isotherm.models import own_words as own
from isotherm.models import pcp as projections
from isotherm.models import ttmm as themes
from isotherm.models import two_sided as biclusters

# Sizes by letter, as far as they are known: I rows, J columns, K components, and so on.
Sizes = dict[str, int]
# Shapes of arrays by name, as docstrings say them. A number is that size, * is any; | stands
# between two that are allowed. In front: ~ for numbers of any sign (others are at least 0), + for
# those above 0, ? where they may be lost (nan), # for whole numbers.
Shapes = Mapping[str, str]
# Shapes of the fields of types that are in files; none for types without arrays.
Tables = Mapping[type[object], Shapes]


@dataclass(frozen=True)
class ModelTypes:
    """A model, the type of its parameters, and those that states of its rows may have.

    `hard` is whether posteriors may be hard; where they are not, the temperature is a divisor.
    """

    model: type[object]
    params: type[object]
    rows: tuple[type[object], ...]
    hard: bool = True


def _nothing(fitted: Fields, sizes: Sizes) -> None:
    pass


@dataclass(frozen=True)
class Registered:
    """An estimator, the models that it fits, and what a fit leaves.

    `tables` are the types of parameters, rows and statistics that files have of the models.
    `needed` are attributes that methods read, besides those of every fit; `arrays` and `types` say
    what attributes are that only some estimators have, and `above_0` which numbers are above 0.
    `counts` is False for maps of vectors, and `own_clusters` True where rows are in clusters that
    are not the components. `check` raises a ValueError where attributes do not fit together.
    """

    estimator: type[Annealed]
    models: tuple[ModelTypes, ...]
    tables: Tables
    needed: tuple[str, ...] = ()
    arrays: Shapes = field(default_factory=dict)
    types: Mapping[str, object] = field(default_factory=dict)
    above_0: tuple[str, ...] = ()
    counts: bool = True
    own_clusters: bool = False
    check: Callable[[Fields, Sizes], None] = _nothing


# How attributes fit together ----------------------------------------------------------------------


def _below(name: str, labels: Array, size: int) -> None:
    if len(labels) and labels.max() >= size:
        raise ValueError(f"{name} are not all below {size}")


def _clusters(fitted: Fields, sizes: Sizes) -> None:
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


def _hierarchy(fitted: Fields, sizes: Sizes) -> None:
    _growing(fitted, sizes)
    tree, model = fitted["tree_"], fitted["model_"]
    if tuple(tree.parents) != tuple(model.parents) or tuple(tree.leaves) != tuple(model.leaves):
        raise ValueError("a tree that is not that of the model")


def _two_sided(fitted: Fields, sizes: Sizes) -> None:
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


# What several estimators have in common -----------------------------------------------------------

ASPECT = ModelTypes(aspects.Aspect, aspects.AspectParams, (aspects.AspectRows,), hard=False)
CLUSTER_ROWS = (row_mixture.ClusterRows,)
CLUSTER = ModelTypes(clusters.Cluster, row_mixture.ClusterParams, CLUSTER_ROWS)
CLUSTERS: Tables = {
    row_mixture.ClusterParams: {"weight": "K", "tokens": "K", "word_topic": "J K"},
    row_mixture.ClusterRows: {"posterior": "I K"},
    row_mixture.ClusterStats: {"word": "* *", "mass": "*"},
}


LINKED_TABLES: Tables = {
    linked.LinkedParams: {"weight": "K", "word_topic": "J K", "rejected": "2"},
    linked.LinkedRows: {"theta": "I K"},
    linked.LinkedStats: {"word": "J K", "rejected": "*"},
}
LINKED_NEEDED = ("neighbors_", "graph_", "n_empty_rows_")
LINKED_TYPES: Mapping[str, object] = {"neighbors_": Neighbors | None, "graph_": sparse.csr_array}

PROJECTED_NEEDED = ("labels_", "cluster_weights_", "cluster_centers_", "n_live_")
PROJECTED_ARRAYS: Shapes = {"cluster_weights_": "C", "cluster_centers_": "C K"}


def _linked_model(model: type[linked.Linked]) -> ModelTypes:
    return ModelTypes(model, linked.LinkedParams, (linked.LinkedRows,), hard=False)


# The estimators -----------------------------------------------------------------------------------

REGISTERED: tuple[Registered, ...] = (
    Registered(
        aspect.AspectModel,
        models=(
            ASPECT,
            ModelTypes(own.AspectOwnWords, own.OwnWordsParams, (aspects.AspectRows,), hard=False),
            ModelTypes(
                without.AspectLeaveOneOut,
                without.CountedAspects,
                (without.PairRows, aspects.AspectRows),
                hard=False,
            ),
        ),
        tables={
            aspects.AspectParams: {"weight": "K", "row_mass": "K", "word_topic": "J K"},
            aspects.AspectRows: {"table": "I K"},
            aspects.AspectStats: {"word": "J K"},
            own.OwnWordsParams: {
                **{"weight": "K", "row_mass": "K", "word_topic": "J K", "own": "K"},
            },
            own.OwnWordsStats: {"word": "J K", "own": "K", "open": "K"},
            without.CountedAspects: {
                **{"weight": "K", "row_mass": "K", "word_topic": "J K", "columns": "J K"},
            },
            without.PairRows: {"table": "I K", "posterior": "* K"},
        },
        needed=("row_marginal_",),
        arrays={"row_marginal_": "I"},
        check=_growing,
    ),
    Registered(
        cluster.OneSidedClustering,
        models=(
            CLUSTER,
            ModelTypes(
                without.ClusterLeaveOneOut, without.CountedClusters, CLUSTER_ROWS, hard=False
            ),
        ),
        tables={
            **CLUSTERS,
            without.CountedClusters: {
                **{"weight": "K", "tokens": "K", "word_topic": "J K"},
                **{"columns": "J K", "mass": "K", "pseudo": "J"},
            },
        },
        needed=("labels_",),
        check=_growing,
    ),
    Registered(
        document.DocumentMixture,
        models=(ModelTypes(documents.Document, row_mixture.ClusterParams, CLUSTER_ROWS), CLUSTER),
        tables=CLUSTERS,
        check=_growing,
    ),
    Registered(
        gtm.GTM,
        models=(ModelTypes(maps.Gtm, maps.GtmParams, (maps.NoRows,), hard=False),),
        tables={
            maps.GtmParams: {"weight": "~M D", "noise": "+", "mass": "N|N D", "scale": "+"},
            maps.GtmStats: {"mass": "N|N D", "moment": "~N D", "square": "", "cells": "D"},
            maps.NoRows: {},
            grid.LatentGrid: {},
        },
        needed=("mean_", "scale_", "grid_", "nodes_", "weight_", "centres_", "noise_variance_"),
        arrays={"mean_": "~J", "nodes_": "~N P", "weight_": "~M J", "centres_": "~N J"},
        types={
            **dict.fromkeys(("scale_", "noise_variance_", "log_likelihood_", "objective_"), float),
            "grid_": grid.LatentGrid,
        },
        above_0=("scale_", "noise_variance_"),
        counts=False,
        check=_map,
    ),
    Registered(
        hierarchy.HierarchicalClustering,
        models=(
            ModelTypes(
                hierarchies.Hierarchy,
                hierarchies.HierarchyParams,
                (hierarchies.HierarchyRows, row_mixture.ClusterRows),
            ),
        ),
        tables={
            hierarchies.HierarchyParams: {
                **{"weight": "K", "share": "K *", "tokens": "A", "word_node": "J A"},
                **{"square": "* K|* 0"},
            },
            hierarchies.HierarchyRows: {"posterior": "I K", "share": "I * *"},
            hierarchies.NodeStats: {"word": "* A", "levels": "K *", "mass": "K", "square": "* *"},
        },
        needed=("labels_", "tree_", "node_components_", "node_tokens_", "path_weights_"),
        arrays={"node_components_": "A J", "node_tokens_": "A", "path_weights_": "I *"},
        types={"growth_trace_": tuple[Record, ...]},
        check=_hierarchy,
    ),
    Registered(
        manifold.DTM,
        models=(_linked_model(dtm.DTM),),
        tables=LINKED_TABLES,
        needed=LINKED_NEEDED,
        types={**LINKED_TYPES, "separation_": float},
        check=_linked,
    ),
    Registered(
        manifold.LTM,
        models=(_linked_model(ltm.LTM),),
        tables=LINKED_TABLES,
        needed=LINKED_NEEDED,
        types=LINKED_TYPES,
        check=_linked,
    ),
    Registered(
        manifold.LapPLSI,
        models=(_linked_model(lap_plsi.LapPLSI),),
        tables=LINKED_TABLES,
        needed=LINKED_NEEDED,
        arrays={"path_scores_": "~* 3"},
        types={**LINKED_TYPES, "regularization_": float},
        check=_linked,
    ),
    Registered(
        pcp.PCP,
        models=(
            ModelTypes(projections.Pcp, projections.PcpParams, CLUSTER_ROWS),
            ModelTypes(
                projections.FactorizedPcp, projections.PcpParams, (projections.FactorizedRows,)
            ),
        ),
        tables={
            projections.PcpParams: {
                **{"eta": "L", "gamma": "L K", "word_topic": "J K", "alpha": "1", "lam": "K"},
                **{"age": "1", "kept": "#L"},
            },
            projections.FactorizedRows: {"posterior": "I *", "topic": "I K"},
            projections.FactorizedStats: {"word": "* K", "topic": "* K", "mass": "*"},
        },
        needed=(*PROJECTED_NEEDED, "elbo_", "alpha_", "concentration_"),
        arrays={**PROJECTED_ARRAYS, "concentration_": "K"},
        types={"elbo_": float, "alpha_": float},
        above_0=("alpha_",),
        own_clusters=True,
        check=_projected,
    ),
    Registered(
        ttmm.TTMM,
        models=(ModelTypes(themes.Ttmm, themes.TtmmParams, CLUSTER_ROWS),),
        tables={
            themes.TtmmParams: {"weight": "L", "inside": "L", "topic": "K L", "word_topic": "J K"},
        },
        needed=PROJECTED_NEEDED,
        arrays=PROJECTED_ARRAYS,
        own_clusters=True,
        check=_projected,
    ),
    Registered(
        two_sided.TwoSidedClustering,
        models=(ModelTypes(biclusters.TwoSided, biclusters.TwoSidedParams, CLUSTER_ROWS),),
        tables={
            biclusters.TwoSidedParams: {
                **{"weight": "K", "column_weight": "L", "column_posterior": "J L"},
                **{"association": "K L", "joint": "K L", "marginal": "J", "total": "1"},
                **{"column_gain": "~2"},
            },
            biclusters.Compressed: {},
        },
        needed=(
            *("row_totals_", "column_weights_", "row_labels_", "column_labels_", "association_"),
            *("joint_", "mutual_information_"),
        ),
        arrays={
            **{"row_totals_": "I", "column_weights_": "J L", "row_labels_": "#I"},
            **{"column_labels_": "#J", "association_": "K L", "joint_": "K L"},
        },
        types={"mutual_information_": float},
        check=_two_sided,
    ),
)

# Models that no estimator leaves, of images, starts and rows that are folded in, and their types.
INNER = (
    ModelTypes(lda.Lda, lda.LdaParams, (lda.LdaRows,), hard=False),
    ModelTypes(segments.Segments, row_mixture.ClusterParams, CLUSTER_ROWS),
    ModelTypes(tied.Tied, row_mixture.ClusterParams, CLUSTER_ROWS),
)
INNER_TABLES: Tables = {
    lda.LdaParams: {"lam": "K", "word_topic": "J K"},
    lda.LdaRows: {"topic": "I K"},
    lda.LdaStats: {"word": "J K"},
}

# By their names in files: estimators, models, and the types of models with the shapes of arrays.
BY_NAME = {one.estimator.__name__: one for one in REGISTERED}
MODELS = {
    one.model.__name__: one for one in (*INNER, *(m for each in REGISTERED for m in each.models))
}
TABLES = {
    kind.__name__: (kind, shapes)
    for tables in (INNER_TABLES, *(one.tables for one in REGISTERED))
    for kind, shapes in tables.items()
}
