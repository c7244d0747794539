"""Agreement of clusters with labels. How either is named does not matter.

n_ij below is the number of rows with label i in cluster j, a_i and b_j are its margins, n all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.special import xlogy

from isotherm.data.base import Array
from isotherm.errors import IsothermError

# Labels x clusters of the largest table that is matched.
MOST_CELLS = 50_000_000


class _Table(NamedTuple):
    """n_ij as a sparse array, with a_i, b_j and n."""

    joint: sparse.csr_array
    labels: Array
    clusters: Array
    n: int


def nmi(labels: Any, clusters: Any, average: str = "max") -> float:
    """Mutual information of two labellings over the larger of their entropies.

    sum_ij p_ij log[p_ij / (p_i p_j)] / average(H(labels), H(clusters)), p = n_ij / n. 1 where both
    are constant, 0 where one is. It is not corrected for chance: many small clusters score high.

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
    table = _table(labels, clusters)
    if len(table.labels) == 1 or len(table.clusters) == 1:
        return float(len(table.labels) == len(table.clusters))
    shares = (table.labels / table.n, table.clusters / table.n)
    entropies = np.array([-xlogy(p, p).sum() for p in shares])
    p = table.joint.data / table.n
    information = entropies.sum() + xlogy(p, p).sum()
    return float(np.clip(information / averages[average](entropies), 0.0, 1.0))


def ari(labels: Any, clusters: Any) -> float:
    """Adjusted Rand index: agreement on pairs of rows, 0 in the mean by chance, 1 if the same.

    (S - E) / (M - E), where S = sum_ij C(n_ij, 2), A = sum_i C(a_i, 2), B = sum_j C(b_j, 2),
    E = A B / C(n, 2) and M = (A + B) / 2 (Hubert & Arabie 1985). 1 where both are constant or both
    have a class for each row. Large classes dominate: they have most of the pairs.

    Parameters
    ----------
    labels, clusters : (I,)
    """
    table = _table(labels, clusters)
    both, first, second = (
        float((n * (n - 1.0)).sum() / 2) for n in (table.joint.data, table.labels, table.clusters)
    )
    expected = first * second / max(table.n * (table.n - 1) / 2, 1.0)
    largest = (first + second) / 2
    return 1.0 if largest == expected else (both - expected) / (largest - expected)


def purity(labels: Any, clusters: Any) -> float:
    """Share of rows that have the most frequent label of their cluster, (1/n) sum_j max_i n_ij.

    Several clusters may share a label: one cluster for each row is pure (Zhao & Karypis 2004).

    Parameters
    ----------
    labels, clusters : (I,)
    """
    table = _table(labels, clusters)
    return float(table.joint.max(axis=0).sum() / table.n)


def accuracy(labels: Any, clusters: Any) -> float:
    """Share of rows that are right once clusters are matched with labels one to one.

    max over matchings m of (1/n) sum_j n_m(j)j, by Hungarian assignment; rows of clusters that are
    left over are wrong. At most `purity`.

    Parameters
    ----------
    labels, clusters : (I,)
    """
    table = _table(labels, clusters)
    shape = table.joint.shape
    if shape[0] * shape[1] > MOST_CELLS:
        raise IsothermError(
            f"{shape[0]} labels and {shape[1]} clusters are too many to match; use purity or ari"
        )
    joint = table.joint.toarray()
    return float(joint[linear_sum_assignment(joint, maximize=True)].sum() / table.n)


def _geometric(values: Array) -> float:
    return float(np.sqrt(np.prod(values)))


def _table(labels: Any, clusters: Any) -> _Table:
    first, second = np.asarray(labels), np.asarray(clusters)
    if first.ndim != 1 or first.shape != second.shape or not len(first):
        raise IsothermError(
            f"labels have shape {first.shape}, clusters {second.shape}; give one of each per row"
        )
    codes = (_codes("labels", first), _codes("clusters", second))
    joint = sparse.coo_array((np.ones(len(first)), codes)).tocsr()
    return _Table(joint, np.bincount(codes[0]), np.bincount(codes[1]), len(first))


def _codes(name: str, values: Array) -> Array:
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise IsothermError(f"{name} hold NaN or infinity; leave those rows out, of both")
    try:
        return np.unique(values, return_inverse=True)[1]
    except TypeError as error:
        raise IsothermError(
            f"{name} cannot be told apart ({error}); use numbers alone or strings alone"
        ) from error
