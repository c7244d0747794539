"""Latent-variable models for dyadic counts and vectors, fitted by deterministic annealing.

Names are loaded on first use, so that `import isotherm` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

# What type checkers see; a new public name has a line here and one in `_HOME`.
if TYPE_CHECKING:
    from isotherm.anneal.callbacks import Callback as Callback
    from isotherm.anneal.callbacks import HeldoutRule as HeldoutRule
    from isotherm.anneal.callbacks import Recorder as Recorder
    from isotherm.anneal.callbacks import TimeLimit as TimeLimit
    from isotherm.anneal.progress import Progress as Progress
    from isotherm.anneal.schedule import Adaptive as Adaptive
    from isotherm.anneal.schedule import Exponential as Exponential
    from isotherm.anneal.schedule import Fixed as Fixed
    from isotherm.anneal.schedule import Grid as Grid
    from isotherm.anneal.schedule import Linear as Linear
    from isotherm.anneal.schedule import Splitting as Splitting
    from isotherm.anneal.schedule import Tempered as Tempered
    from isotherm.anneal.stages import Stages as Stages
    from isotherm.anneal.start import Noisy as Noisy
    from isotherm.anneal.start import Spectral as Spectral
    from isotherm.anneal.stepwise import Stepwise as Stepwise
    from isotherm.data.counts import Counts as Counts
    from isotherm.data.counts import as_counts as as_counts
    from isotherm.data.split import split_rows as split_rows
    from isotherm.data.split import split_tokens as split_tokens
    from isotherm.data.stored import StoredCounts as StoredCounts
    from isotherm.datasets.docstrings import load_docstrings as load_docstrings
    from isotherm.errors import IsothermError as IsothermError
    from isotherm.errors import IsothermWarning as IsothermWarning
    from isotherm.estimators.aspect import AspectModel as AspectModel
    from isotherm.estimators.cluster import OneSidedClustering as OneSidedClustering
    from isotherm.estimators.document import DocumentMixture as DocumentMixture
    from isotherm.estimators.engine import Engine as Engine
    from isotherm.estimators.gtm import GTM as GTM
    from isotherm.estimators.hierarchy import HierarchicalClustering as HierarchicalClustering
    from isotherm.estimators.holdout import Folds as Folds
    from isotherm.estimators.holdout import Rows as Rows
    from isotherm.estimators.holdout import Tokens as Tokens
    from isotherm.estimators.manifold import DTM as DTM
    from isotherm.estimators.manifold import LTM as LTM
    from isotherm.estimators.manifold import LapPLSI as LapPLSI
    from isotherm.estimators.pairs import PairClusters as PairClusters
    from isotherm.estimators.pairs import cluster_pairs as cluster_pairs
    from isotherm.estimators.pcp import PCP as PCP
    from isotherm.estimators.ttmm import TTMM as TTMM
    from isotherm.estimators.two_sided import TwoSidedClustering as TwoSidedClustering
    from isotherm.graph.neighbors import Neighbors as Neighbors
    from isotherm.graph.neighbors import neighbor_graph as neighbor_graph
    from isotherm.images.segment import segment as segment
    from isotherm.images.segmentation import Segmentation as Segmentation
    from isotherm.io.checkpoint import checkpointing as checkpointing
    from isotherm.io.store import load as load
    from isotherm.io.store import save as save
    from isotherm.maps.corpus import CorpusMap as CorpusMap
    from isotherm.maps.workflow import MappedCorpus as MappedCorpus
    from isotherm.maps.workflow import map_corpus as map_corpus
    from isotherm.retrieval.index import SearchIndex as SearchIndex
    from isotherm.text.ingest import Ingestion as Ingestion
    from isotherm.text.ingest import count_words as count_words
    from isotherm.text.sources import read_documents as read_documents
    from isotherm.text.word_counts import WordCounts as WordCounts
    from isotherm.tree import Tree as Tree
    from isotherm.viewer.explorer import Explorer as Explorer

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
    "Progress": "isotherm.anneal.progress",
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

# Type checkers take the names that are imported above: they do not read a list that is computed.
if not TYPE_CHECKING:
    __all__ = [*_HOME]


def __getattr__(name: str) -> object:
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
    return sorted([*_HOME, "__version__"])
