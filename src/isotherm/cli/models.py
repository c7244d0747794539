"""Models by the names that they have on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

from isotherm.errors import IsothermError

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
    "clusters": Kind("cluster", "OneSidedClustering", grows=True),
    "document": Kind("document", "DocumentMixture", grows=True),
    "hierarchy": Kind("hierarchy", "HierarchicalClustering", grows=True),
    "two-sided": Kind("two_sided", "TwoSidedClustering", clusters="n_column_components"),
    "pcp": Kind("pcp", "PCP", clusters="n_clusters"),
    "ttmm": Kind("ttmm", "TTMM", clusters="n_clusters"),
    "dtm": Kind("manifold", "DTM", labels=True),
    "lap-plsi": Kind("manifold", "LapPLSI", labels=True),
    "ltm": Kind("manifold", "LTM", labels=True),
}


def check(settings: Mapping[str, Any]) -> None:
    """Refuse what a model has not, before any work."""
    name = settings["model"]
    kind = KINDS[name]
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
    chosen: dict[str, Any] = {"n_components": settings["topics"]}
    if chosen["n_components"] is None:
        chosen["n_components"] = "auto" if kind.grows else N_TOPICS
    if kind.grows:
        chosen["max_components"] = settings["max_topics"]
    if settings["clusters"] is not None and kind.clusters is not None:
        chosen[kind.clusters] = settings["clusters"]
    estimator = getattr(import_module(f"isotherm.estimators.{kind.home}"), kind.name)
    return estimator(**chosen, random_state=settings["seed"], n_jobs=options.jobs, verbose=verbose)
