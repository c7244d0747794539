"""Corpora drawn from known topics."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from models.steps import Array


class Planted(NamedTuple):
    """Counts (I, J), the topic of each row (I,), and the topics (J, K)."""

    counts: Array
    labels: Array
    table: Array

    def truth(self) -> Array:
        """Distributions (J, K) of the counts of each topic."""
        sums = np.stack(
            [self.counts[self.labels == k].sum(axis=0) for k in range(self.table.shape[1])], axis=1
        )
        return sums / sums.sum(axis=0)


def mixture_of_unigrams(
    shape: tuple[int, int],
    K: int,
    lengths: tuple[int, int],
    concentration: float,
    seed: int = 0,
) -> Planted:
    """Every row is of one topic; lengths between two bounds, topics from a Dirichlet."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(shape[1], concentration), K)
    labels = rng.permutation(np.arange(shape[0]) % K)
    sizes = rng.integers(lengths[0], lengths[1] + 1, shape[0])
    counts = [rng.multinomial(n, topics[k]) for n, k in zip(sizes, labels, strict=True)]
    return Planted(np.array(counts, float), labels, topics.T)


def admixture(shape: tuple[int, int], K: int, total: int, seed: int = 0) -> Planted:
    """Every row mixes topics; labels are the main topic of each row."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(shape[1], 0.1), K)
    weights = rng.dirichlet(np.full(K, 0.1), shape[0])
    counts = [rng.multinomial(total // shape[0], p) for p in weights @ topics]
    return Planted(np.array(counts, float), weights.argmax(axis=1), topics.T)


def aligned_distance(found: Array, table: Array) -> Array:
    """Total variation of each found distribution (J, K) to its own planted one, best matched."""
    distance = np.abs(found[:, :, None] - table[:, None, :]).sum(axis=0) / 2
    return np.asarray(distance[linear_sum_assignment(distance)])
