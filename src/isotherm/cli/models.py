"""Models by the names that they have on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Container, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from isotherm.errors import IsothermError

if TYPE_CHECKING:
    from isotherm._types import Fields

# Where the number of topics cannot be found, and none is given.
N_TOPICS = 20


class Kind(NamedTuple):
    """Class of a model, and what it knows of.

    `grows`: it finds its number of topics; `clusters`: what that option is to it; `labels`: whether
    it takes known labels.
    """

    home: str
    name: str
    grows: bool = False
    clusters: str | None = None
    labels: bool = False


KINDS = {
    "aspect": Kind("aspect", "AspectModel", grows=True),
    "clusters": Kind("cluster", "OneSidedClustering", grows=True, clusters="n_components"),
    "document": Kind("document", "DocumentMixture", grows=True),
    "hierarchy": Kind("hierarchy", "HierarchicalClustering", grows=True),
    "two-sided": Kind("two_sided", "TwoSidedClustering", clusters="n_column_components"),
    "pcp": Kind("pcp", "PCP", clusters="n_clusters"),
    "ttmm": Kind("ttmm", "TTMM", clusters="n_clusters"),
    "dtm": Kind("manifold", "DTM", labels=True),
    "lap-plsi": Kind("manifold", "LapPLSI", labels=True),
    "ltm": Kind("manifold", "LTM", labels=True),
}


# The model of those who ask for topics, and of those who ask for clusters alone.
TOPICS, CLUSTERS = "aspect", "clusters"


def chosen(settings: Fields, given: Container[str]) -> Fields:
    """Settings with the model that is meant where none is named: `--clusters` alone says it."""
    alone = settings["clusters"] is not None and "model" not in given
    return {**settings, "model": CLUSTERS if alone else settings["model"]}


def check(settings: Mapping[str, Any]) -> None:
    """Refuse what a model has not, before any work."""
    name = settings["model"]
    kind = KINDS[name]
    if name == CLUSTERS and None not in (settings["topics"], settings["clusters"]):
        raise IsothermError(
            f"--topics {settings['topics']} with --clusters {settings['clusters']}: every document "
            "is in one cluster, which is its topic; give one of the two"
        )
    if isinstance(settings["clusters"], str) and name != CLUSTERS:
        raise IsothermError(
            f"--clusters {settings['clusters']} with --model {name}: the number can be found for "
            f"{CLUSTERS}; give a number"
        )
    if isinstance(settings["topics"], str) and not kind.grows:
        can = ", ".join(one for one, other in KINDS.items() if other.grows)
        raise IsothermError(
            f"--topics {settings['topics']} with --model {name}: the number can be found for "
            f"{can}; give a number"
        )
    if settings["clusters"] is not None and kind.clusters is None:
        can = ", ".join(one for one, other in KINDS.items() if other.clusters)
        raise IsothermError(
            f"--clusters with --model {name}: it is for {can}; leave it out, or give --topics"
        )
    if settings["supervise"] is not None and not kind.labels:
        can = ", ".join(one for one, other in KINDS.items() if other.labels)
        raise IsothermError(
            f"--supervise with --model {name}: it is for {can}; leave it out (--labels shows "
            "labels, and no fit sees them)"
        )


def made(settings: Mapping[str, Any], options: argparse.Namespace, verbose: bool | None) -> Any:
    """The estimator that the settings ask for, not fitted."""
    kind = KINDS[settings["model"]]
    values: dict[str, Any] = {"n_components": settings["topics"]}
    if values["n_components"] is None:
        values["n_components"] = "auto" if kind.grows else N_TOPICS
    if kind.grows:
        values["max_components"] = settings["max_topics"]
    if settings["clusters"] is not None and kind.clusters is not None:
        values[kind.clusters] = settings["clusters"]
    estimator = getattr(import_module(f"isotherm.estimators.{kind.home}"), kind.name)
    return estimator(**values, random_state=settings["seed"], n_jobs=options.jobs, verbose=verbose)
