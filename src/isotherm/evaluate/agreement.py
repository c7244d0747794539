"""Agreement of clusters with labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import xlogy

from isotherm.data.base import Array
from isotherm.errors import IsothermError


def nmi(labels: Any, clusters: Any, average: str = "max") -> float:
    """Mutual information of two labellings over the larger of their entropies.

    1 where both are constant, 0 where one is.

    Parameters
    ----------
    labels, clusters : (I,)
    average : {"max", "mean", "min", "sqrt"}
        What of the two entropies it is divided by: "max" is that of Yu et al. 2005 and of much work
        on documents, "mean" the default of scikit-learn.
    """
    averages: dict[str, Callable[[Array], Any]] = {
        "max": np.max,
        "mean": np.mean,
        "min": np.min,
        "sqrt": _geometric,
    }
    if average not in averages:
        raise IsothermError(f"average={average!r}; it must be one of {', '.join(averages)}")
    first, second = np.asarray(labels), np.asarray(clusters)
    if first.ndim != 1 or first.shape != second.shape or not len(first):
        raise IsothermError(
            f"labels have shape {first.shape}, clusters {second.shape}; give one of each per row"
        )
    sides = [np.unique(side, return_inverse=True)[1] for side in (first, second)]
    joint = np.zeros([side.max() + 1 for side in sides])
    np.add.at(joint, tuple(sides), 1.0 / len(first))
    if joint.size == 1:
        return 1.0
    entropies = np.array([-xlogy(p, p).sum() for p in (joint.sum(axis=1), joint.sum(axis=0))])
    if entropies.min() == 0 or 1 in joint.shape:
        return 0.0
    information = entropies.sum() + xlogy(joint, joint).sum()
    return float(np.clip(information / averages[average](entropies), 0.0, 1.0))


def _geometric(values: Array) -> float:
    return float(np.sqrt(np.prod(values)))
