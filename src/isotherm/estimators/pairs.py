"""Word pairs, or pairs of anything that meets: from a table to clusters of both sides.

`cluster_pairs` is the whole way as one call; `PairClusters` is what comes out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from isotherm import _checks
from isotherm._markup import Description
from isotherm.anneal.schedule import Fixed
from isotherm.data.base import Array
from isotherm.data.counts import Counts
from isotherm.data.pairs import keep_frequent, read_pairs
from isotherm.data.split import RandomState
from isotherm.errors import IsothermError
from isotherm.estimators.two_sided import TwoSidedClustering, described

__all__ = ["PairClusters", "cluster_pairs"]

LEFT, RIGHT = "left", "right"


@dataclass(frozen=True, eq=False, repr=False)
class PairClusters:
    """Clusters of both sides of a table of pairs.

    Attributes
    ----------
    counts : Counts, (I, J)
        The pairs that were clustered; rows are the left side.
    model : TwoSidedClustering
        Fitted to them.
    """

    counts: Counts
    model: TwoSidedClustering

    def names(self, side: str) -> list[str]:
        """Labels of a side, "left" or "right", in the order of `labels`."""
        found = self.counts.row_names if _is_left(side) else self.counts.column_names
        if found is None:
            return [str(i) for i in range(self.counts.shape[0 if _is_left(side) else 1])]
        return [str(name) for name in found]

    def labels(self, side: str) -> Array:
        """Cluster of each label of a side, (I,) or (J,)."""
        labels = self.model.row_labels_ if _is_left(side) else self.model.column_labels_
        return np.asarray(labels)

    def cluster_of(self, name: str, side: str) -> int:
        """Cluster of one label of a side."""
        try:
            return int(self.labels(side)[self.names(side).index(name)])
        except ValueError as error:
            raise IsothermError(
                f"{name!r} is not on the {side} side; it may be rarer than min_count, or spelt "
                "in another way"
            ) from error

    def members(self, cluster: int, side: str, n: int | None = None) -> list[str]:
        """Labels of a cluster, the most probable first; all of them by default.

        Parameters
        ----------
        cluster : int
        side : {"left", "right"}
        n : int, optional
            At most so many.
        """
        most = len(self.names(side)) if n is None else n
        lists = self.model.top_rows(most) if _is_left(side) else self.model.top_columns(most)
        if not 0 <= cluster < len(lists):
            raise IsothermError(
                f"cluster={cluster}; there are {len(lists)} clusters on the {side} side, "
                f"0 to {len(lists) - 1}",
                parameter="cluster",
            )
        return lists[cluster]

    def describe(self, n_words: int = 8) -> Description:
        """Readable summary: the run, then a line for each cluster of either side."""
        head, *sides = self.model._summary(n_words)
        named = [s._replace(title=t) for s, t in zip(sides, (LEFT, RIGHT), strict=True)]
        return described(head, *named)

    def _repr_html_(self) -> str:
        return self.describe()._repr_html_()

    def plot(self, n_words: int = 3) -> Any:
        """Matplotlib Figure of how often the clusters meet, with their most probable members."""
        from isotherm.plots import biclusters

        return biclusters.association(self.model, n_words)

    def __repr__(self) -> str:
        n_left, n_right = self.model.association_.shape
        return f"PairClusters({n_left} x {n_right} clusters of {self.counts!r})"


def cluster_pairs(
    table: Any,
    n_clusters: int | tuple[int, int] = 8,
    *,
    min_count: float = 0,
    hard: bool = False,
    left: str | None = None,
    right: str | None = None,
    count: str | None = None,
    random_state: RandomState = None,
) -> PairClusters:
    """Clusters of both sides of a table of pairs, as one call.

    Parameters
    ----------
    table : path, data frame, iterable of tuples, mapping, or Counts
        A `.tsv`, `.txt` or `.csv` file (also `.gz`), a frame, or tuples: two labels each, and
        perhaps a count; or a Counter of pairs. See `isotherm.data.pairs.read_pairs`.
    n_clusters : int or (int, int)
        Number of clusters of both sides, or of each.
    min_count : float
        Labels whose counts add up to less are left out, over and over until none is left; those
        that never occur always are.
    hard : bool
        Every label in exactly one cluster; by default memberships are soft, at the temperature
        that predicts held-out pairs best.
    left, right, count : str, optional
        Names of the columns of a frame or of a file with a header.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    PairClusters

    Examples
    --------
    >>> pairs = [("red", "wine"), ("red", "rose"), ("white", "wine"), ("white", "rose")] * 5
    >>> pairs += [("loud", "noise"), ("loud", "voice"), ("low", "noise"), ("low", "voice")] * 5
    >>> found = cluster_pairs(pairs, 2, random_state=0)
    >>> sorted(found.members(found.cluster_of("red", "left"), "left"))
    ['red', 'white']
    """
    both = n_clusters if isinstance(n_clusters, tuple | list) else (n_clusters, n_clusters)
    if len(both) != 2:
        raise IsothermError(
            f"n_clusters={n_clusters!r}; give one number for both sides, or one for each",
            parameter="n_clusters",
        )
    for n in both:
        _checks.integer("n_clusters", n, 1)
    _checks.number("min_count", min_count, 0.0)
    _checks.flag("hard", hard)
    counts = keep_frequent(read_pairs(table, left=left, right=right, count=count), min_count)
    model = TwoSidedClustering(*both, random_state=random_state)
    if hard:
        model.set_params(schedule=Fixed(0.0), validation_fraction=0.0)
    return PairClusters(counts, model.fit(counts))


def _is_left(side: str) -> bool:
    _checks.one_of("side", side, (LEFT, RIGHT))
    return side == LEFT
