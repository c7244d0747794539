"""Latent-variable models for dyadic counts and vectors, fitted by deterministic annealing."""

from isotherm.anneal.callbacks import Callback, HeldoutRule, Progress, Recorder, TimeLimit
from isotherm.anneal.schedule import Adaptive, Exponential, Fixed, Grid, Linear, Tempered
from isotherm.anneal.start import Noisy, Spectral
from isotherm.data.counts import Counts, as_counts
from isotherm.data.split import split_rows, split_tokens
from isotherm.errors import IsothermError, IsothermWarning
from isotherm.estimators.aspect import AspectModel
from isotherm.estimators.cluster import OneSidedClustering
from isotherm.estimators.document import DocumentMixture

__version__ = "0.1.0"

__all__ = [
    "Adaptive",
    "AspectModel",
    "Callback",
    "Counts",
    "DocumentMixture",
    "Exponential",
    "Fixed",
    "Grid",
    "HeldoutRule",
    "IsothermError",
    "IsothermWarning",
    "Linear",
    "Noisy",
    "OneSidedClustering",
    "Progress",
    "Recorder",
    "Spectral",
    "Tempered",
    "TimeLimit",
    "as_counts",
    "split_rows",
    "split_tokens",
]
