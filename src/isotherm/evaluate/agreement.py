"""Agreement of clusters with labels. How either is named does not matter.

n_ij below is the number of rows with label i in cluster j, a_i and b_j are its margins, n all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.special import gammaln, xlogy

from isotherm._types import FloatArray
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


def nmi(labels: object, clusters: object, average: str = "max") -> float:
    """Mutual information of two labellings over the larger of their entropies.

    sum_ij p_ij log[p_ij / (p_i p_j)] / average(H(labels), H(clusters)), p = n_ij / n. 1 where both
    are constant, 0 where one is. It is not corrected for chance, and what it can reach depends on
    the number of clusters: over the larger entropy, pure clusters that are many more than the
    labels stay far below 1. Compare it at one number of clusters only, else `ami`.

    Parameters
    ----------
    labels, clusters : (I,)
    average : {"max", "mean", "min", "sqrt"}
        What of the two entropies it is divided by: "max" is that of Yu et al. 2005 and of much work
        on documents, "mean" the default of scikit-learn.
    """
    averages: dict[str, Callable[[Array], float]] = {
        "max": np.max,
        "mean": np.mean,
        "min": np.min,
        "sqrt": _geometric,
    }
    if average not in averages:
        raise IsothermError(
            f"average={average!r}; it must be one of {', '.join(averages)}", parameter="average"
        )
    table = _table(labels, clusters)
    if len(table.labels) == 1 or len(table.clusters) == 1:
        return float(len(table.labels) == len(table.clusters))
    information, entropies = _information(table)
    return float(np.clip(information / averages[average](entropies), 0.0, 1.0))


def ari(labels: object, clusters: object) -> float:
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


def ami(labels: object, clusters: object) -> float:
    """Adjusted mutual information: 0 in the mean by chance, 1 if the same.

    (I - E) / (mean(H(labels), H(clusters)) - E), where E is the mutual information to be expected
    of random labellings with these margins (Vinh, Epps & Bailey 2010). 1 where both are constant or
    both have a class for each row, 0 where one of them alone is constant. Unlike `nmi` it may be
    compared where the number of clusters differs.

    Parameters
    ----------
    labels, clusters : (I,)
    """
    table = _table(labels, clusters)
    sizes = (len(table.labels), len(table.clusters))
    if sizes in ((1, 1), (table.n, table.n)):
        return 1.0
    if 1 in sizes:
        return 0.0
    information, entropies = _information(table)
    expected = _expected_information(table)
    gap = float(np.mean(entropies)) - expected
    return 1.0 if gap == 0 else float(min((information - expected) / gap, 1.0))


def homogeneity(labels: object, clusters: object) -> float:
    """Share of the entropy of the labels that the clusters tell, I / H(labels).

    1 where every cluster has rows of one label, however many clusters there are, and where there is
    one label alone (Rosenberg & Hirschberg 2007).

    Parameters
    ----------
    labels, clusters : (I,)
    """
    return _explained(_table(labels, clusters), 0)


def completeness(labels: object, clusters: object) -> float:
    """Share of the entropy of the clusters that the labels tell, I / H(clusters).

    1 where all rows of a label are in one cluster: one cluster for all rows is complete. The
    harmonic mean with `homogeneity` is `nmi` with average="mean".

    Parameters
    ----------
    labels, clusters : (I,)
    """
    return _explained(_table(labels, clusters), 1)


def purity(labels: object, clusters: object) -> float:
    """Share of rows that have the most frequent label of their cluster, (1/n) sum_j max_i n_ij.

    Several clusters may share a label: one cluster for each row is pure (Zhao & Karypis 2004).

    Parameters
    ----------
    labels, clusters : (I,)
    """
    table = _table(labels, clusters)
    return float(table.joint.max(axis=0).sum() / table.n)


def accuracy(labels: object, clusters: object) -> float:
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


def _information(table: _Table) -> tuple[float, Array]:
    """Mutual information, and the entropies of labels and clusters, in nats."""
    shares = (table.labels / table.n, table.clusters / table.n)
    entropies = np.array([-xlogy(p, p).sum() for p in shares])
    p = table.joint.data / table.n
    return float(entropies.sum() + xlogy(p, p).sum()), entropies


def _explained(table: _Table, side: int) -> float:
    """Share of the entropy of the labels (0) or of the clusters (1) that the other side tells."""
    information, entropies = _information(table)
    whole = float(entropies[side])
    return float(np.clip(information / whole, 0.0, 1.0)) if whole > 0 else 1.0


def _expected_information(table: _Table) -> float:
    """Mean mutual information of random labellings with the margins of the table.

    The sum over hypergeometric distributions of Vinh et al. (2010), once for each pair of sizes
    that differs: sizes repeat.
    """
    n, total = table.n, 0.0
    firsts, how_many = np.unique(table.labels, return_counts=True)
    seconds, how_often = np.unique(table.clusters, return_counts=True)
    for a, n_a in zip(firsts.tolist(), how_many.tolist(), strict=True):
        for b, n_b in zip(seconds.tolist(), how_often.tolist(), strict=True):
            k = np.arange(max(1, a + b - n), min(a, b) + 1, dtype=np.float64)
            log_p = _log_choose(a, k) + _log_choose(n - a, b - k) - _log_choose(n, b)
            total += n_a * n_b * float((k / n * np.log(n * k / (a * b)) * np.exp(log_p)).sum())
    return total


def _log_choose(n: float, k: FloatArray) -> FloatArray:
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)


def _geometric(values: Array) -> float:
    return float(np.sqrt(np.prod(values)))


def _table(labels: object, clusters: object) -> _Table:
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
