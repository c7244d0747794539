"""The toy counts and starts whose figures were computed independently."""

from typing import Any

import numpy as np

from isotherm.anneal.trace import State
from isotherm.kernels.base import Kernels
from isotherm.kernels.reference import Reference
from isotherm.models.aspect import AspectParams, AspectRows
from isotherm.models.cluster import Cluster, ClusterParams, ClusterRows, ClusterStats
from models.steps import Array, Local, place

_x, _y = np.mgrid[0:6, 0:5]
COUNTS = ((_x * _x + 2 * _y + _x * _y) % 4 + 6 * ((_x >= 3) == (_y >= 3))).astype(float)
TOTAL = 119.0
# Responsibilities that the clusters start from: even rows lean to cluster 0, odd rows to 1.
LEANING = np.where((np.arange(6) % 2 == 0)[:, None], [0.7, 0.3], [0.3, 0.7])


def toy(kernels: Kernels) -> Local:
    return place(COUNTS, kernels)


def aspect_start(K: int) -> State:
    """P(a) = 1/K, P(x|a) ~ 1 + ((x+1)(a+1) % 3), P(y|a) ~ 1 + ((y+2)(a+1) % 4)."""
    a = np.arange(K)
    p_row = _normalized(1.0 + (np.arange(6)[:, None] + 1) * (a + 1) % 3)
    p_column = _normalized(1.0 + (np.arange(5)[:, None] + 2) * (a + 1) % 4)
    mass = np.full(K, TOTAL / K)
    params = AspectParams(np.full(K, 1.0 / K), mass, p_column)
    return State(params, (AspectRows(p_row * mass),), 0.0)


def cluster_start(weight: Any = None) -> State:
    """Parameters after an M-step from the leaning responsibilities."""
    stats = ClusterStats(COUNTS.T @ LEANING, LEANING.sum(axis=0))
    nothing = ClusterParams(np.full(2, 0.5), np.zeros(2), np.full((5, 2), 0.2))
    params, extra = Cluster(2).maximize(stats, nothing, 1.0, Reference())
    if weight is not None:
        params = params._replace(weight=np.asarray(weight))
    return State(params, (ClusterRows(LEANING),), extra)


def _normalized(table: Array) -> Array:
    return table / table.sum(axis=0)
