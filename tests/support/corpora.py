"""Small made-up corpora and images, and how far topics are from those that were planted."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

Array = NDArray[Any]

_x, _y = np.mgrid[0:6, 0:5]
# Counts (6, 5) with two overlapping blocks, for figures that were computed independently.
TOY = ((_x * _x + 2 * _y + _x * _y) % 4 + 6 * ((_x >= 3) == (_y >= 3))).astype(float)


def topics(n_topics: int, n_words: int, rng: np.random.Generator, peak: float = 20.0) -> Array:
    """Word distributions (K, J): a slice of the words is `peak` times as frequent in each topic."""
    table = rng.gamma(1.0, size=(n_topics, n_words)) + 0.1
    own = np.arange(n_words) * n_topics // n_words
    table[own, np.arange(n_words)] *= peak
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def one_topic_each(
    n_rows: int = 90, n_words: int = 40, n_topics: int = 3, length: int = 60, seed: int = 0
) -> tuple[Array, Array]:
    """Counts (I, J) of documents with one topic each, and their topics (I,)."""
    rng = np.random.default_rng(seed)
    table = topics(n_topics, n_words, rng)
    labels = np.arange(n_rows) % n_topics
    return np.stack([rng.multinomial(length, table[k]) for k in labels]), labels


def admixture(
    n_rows: int = 90,
    n_words: int = 40,
    n_topics: int = 3,
    length: int = 60,
    seed: int = 0,
    alpha: float = 0.2,
    sparse: float | None = None,
) -> tuple[Array, Array]:
    """Counts (I, J) of documents that mix topics, and the word distributions (K, J).

    With `sparse` these come from a Dirichlet distribution of that concentration.
    """
    rng = np.random.default_rng(seed)
    if sparse is None:
        table = topics(n_topics, n_words, rng)
    else:
        table = rng.dirichlet(np.full(n_words, sparse), n_topics)
    mixed = rng.dirichlet(np.full(n_topics, alpha), size=n_rows) @ table
    return np.stack([rng.multinomial(length, p) for p in mixed]), table


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


def matched(tables: Array, planted: Array) -> Array:
    """Total variation of each distribution (K, J) to its own planted one, best matched."""
    distance = np.abs(tables[:, None] - planted[None]).sum(axis=2) / 2
    return np.asarray(distance[linear_sum_assignment(distance)])


def two_waves(height: int = 128, width: int = 128, seed: int = 0) -> Any:
    """Upright waves on the left half, lying ones on the right, and a little noise."""
    y, x = np.mgrid[:height, :width]
    image = np.where(x < width // 2, np.sin(2 * np.pi * x / 8), np.sin(2 * np.pi * y / 8))
    return image + 0.1 * np.random.default_rng(seed).standard_normal(image.shape)
