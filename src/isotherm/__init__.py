"""Latent-variable models for dyadic counts and vectors, fitted by deterministic annealing.

Names are loaded on first use, so that `import isotherm` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isotherm.anneal.callbacks import Callback, HeldoutRule, Progress, Recorder, TimeLimit
    from isotherm.anneal.schedule import (
        Adaptive,
        Exponential,
        Fixed,
        Grid,
        Linear,
        Splitting,
        Tempered,
    )
    from isotherm.anneal.stages import Stages
    from isotherm.anneal.start import Noisy, Spectral
    from isotherm.anneal.stepwise import Stepwise
    from isotherm.data.counts import Counts, as_counts
    from isotherm.data.split import split_rows, split_tokens
    from isotherm.data.stored import StoredCounts
    from isotherm.datasets.docstrings import load_docstrings
    from isotherm.errors import IsothermError, IsothermWarning
    from isotherm.estimators.aspect import AspectModel
    from isotherm.estimators.cluster import OneSidedClustering
    from isotherm.estimators.document import DocumentMixture
    from isotherm.estimators.engine import Engine
    from isotherm.estimators.gtm import GTM
    from isotherm.estimators.hierarchy import HierarchicalClustering
    from isotherm.estimators.holdout import Folds, Rows, Tokens
    from isotherm.estimators.manifold import DTM, LTM, LapPLSI
    from isotherm.estimators.pairs import PairClusters, cluster_pairs
    from isotherm.estimators.pcp import PCP
    from isotherm.estimators.ttmm import TTMM
    from isotherm.estimators.two_sided import TwoSidedClustering
    from isotherm.graph.neighbors import Neighbors, neighbor_graph
    from isotherm.images.segment import segment
    from isotherm.images.segmentation import Segmentation
    from isotherm.io.checkpoint import checkpointing
    from isotherm.io.store import load, save
    from isotherm.maps.corpus import CorpusMap
    from isotherm.maps.workflow import MappedCorpus, map_corpus
    from isotherm.retrieval.index import SearchIndex
    from isotherm.text.ingest import Ingestion, count_words
    from isotherm.text.sources import read_documents
    from isotherm.text.word_counts import WordCounts
    from isotherm.tree import Tree
    from isotherm.viewer.explorer import Explorer

__version__ = "0.1.0"

_HOME = {
    "Adaptive": "isotherm.anneal.schedule",
    "AspectModel": "isotherm.estimators.aspect",
    "Callback": "isotherm.anneal.callbacks",
    "CorpusMap": "isotherm.maps.corpus",
    "Counts": "isotherm.data.counts",
    "DTM": "isotherm.estimators.manifold",
    "DocumentMixture": "isotherm.estimators.document",
    "Engine": "isotherm.estimators.engine",
    "Explorer": "isotherm.viewer.explorer",
    "Exponential": "isotherm.anneal.schedule",
    "Fixed": "isotherm.anneal.schedule",
    "Folds": "isotherm.estimators.holdout",
    "GTM": "isotherm.estimators.gtm",
    "Grid": "isotherm.anneal.schedule",
    "HeldoutRule": "isotherm.anneal.callbacks",
    "HierarchicalClustering": "isotherm.estimators.hierarchy",
    "Ingestion": "isotherm.text.ingest",
    "IsothermError": "isotherm.errors",
    "IsothermWarning": "isotherm.errors",
    "LTM": "isotherm.estimators.manifold",
    "LapPLSI": "isotherm.estimators.manifold",
    "Linear": "isotherm.anneal.schedule",
    "MappedCorpus": "isotherm.maps.workflow",
    "Neighbors": "isotherm.graph.neighbors",
    "Noisy": "isotherm.anneal.start",
    "OneSidedClustering": "isotherm.estimators.cluster",
    "PCP": "isotherm.estimators.pcp",
    "PairClusters": "isotherm.estimators.pairs",
    "Progress": "isotherm.anneal.callbacks",
    "Recorder": "isotherm.anneal.callbacks",
    "Rows": "isotherm.estimators.holdout",
    "SearchIndex": "isotherm.retrieval.index",
    "Segmentation": "isotherm.images.segmentation",
    "Spectral": "isotherm.anneal.start",
    "Splitting": "isotherm.anneal.schedule",
    "Stages": "isotherm.anneal.stages",
    "Stepwise": "isotherm.anneal.stepwise",
    "StoredCounts": "isotherm.data.stored",
    "TTMM": "isotherm.estimators.ttmm",
    "Tempered": "isotherm.anneal.schedule",
    "TimeLimit": "isotherm.anneal.callbacks",
    "Tokens": "isotherm.estimators.holdout",
    "Tree": "isotherm.tree",
    "TwoSidedClustering": "isotherm.estimators.two_sided",
    "WordCounts": "isotherm.text.word_counts",
    "as_counts": "isotherm.data.counts",
    "checkpointing": "isotherm.io.checkpoint",
    "cluster_pairs": "isotherm.estimators.pairs",
    "count_words": "isotherm.text.ingest",
    "load": "isotherm.io.store",
    "load_docstrings": "isotherm.datasets.docstrings",
    "map_corpus": "isotherm.maps.workflow",
    "neighbor_graph": "isotherm.graph.neighbors",
    "read_documents": "isotherm.text.sources",
    "save": "isotherm.io.store",
    "segment": "isotherm.images.segment",
    "split_rows": "isotherm.data.split",
    "split_tokens": "isotherm.data.split",
}

__all__ = [
    "DTM",
    "GTM",
    "LTM",
    "PCP",
    "TTMM",
    "Adaptive",
    "AspectModel",
    "Callback",
    "CorpusMap",
    "Counts",
    "DocumentMixture",
    "Engine",
    "Explorer",
    "Exponential",
    "Fixed",
    "Folds",
    "Grid",
    "HeldoutRule",
    "HierarchicalClustering",
    "Ingestion",
    "IsothermError",
    "IsothermWarning",
    "LapPLSI",
    "Linear",
    "MappedCorpus",
    "Neighbors",
    "Noisy",
    "OneSidedClustering",
    "PairClusters",
    "Progress",
    "Recorder",
    "Rows",
    "SearchIndex",
    "Segmentation",
    "Spectral",
    "Splitting",
    "Stages",
    "Stepwise",
    "StoredCounts",
    "Tempered",
    "TimeLimit",
    "Tokens",
    "Tree",
    "TwoSidedClustering",
    "WordCounts",
    "as_counts",
    "checkpointing",
    "cluster_pairs",
    "count_words",
    "load",
    "load_docstrings",
    "map_corpus",
    "neighbor_graph",
    "read_documents",
    "save",
    "segment",
    "split_rows",
    "split_tokens",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'isotherm' has no attribute {name!r}")
    try:
        module = import_module(_HOME[name])
    except (ImportError, OSError, MemoryError, SystemError) as error:
        from isotherm.errors import unloaded

        said = unloaded(error)
        if said is None:
            raise
        raise MemoryError(said) from error
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
