"""Small made-up corpora for the tests of annealing and of the estimators."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isotherm.anneal.start import state_of
from isotherm.anneal.trace import State
from isotherm.data.counts import Counts
from isotherm.kernels.base import Kernels
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.base import Model, jitter, unigram
from isotherm.placement.local import Local

Array = NDArray[Any]


def toy() -> Array:
    """Counts (6, 5) with two overlapping blocks."""
    x, y = np.mgrid[0:6, 0:5]
    return np.asarray(((x * x + 2 * y + x * y) % 4) + 6 * ((x >= 3) == (y >= 3)))


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
) -> tuple[Array, Array]:
    """Counts (I, J) of documents that mix topics, and the word distributions (K, J)."""
    rng = np.random.default_rng(seed)
    table = topics(n_topics, n_words, rng)
    mixed = rng.dirichlet(np.full(n_topics, alpha), size=n_rows) @ table
    return np.stack([rng.multinomial(length, p) for p in mixed]), table


def place(X: Array, kernels: Kernels | None = None, *, n_blocks: int = 1) -> Local:
    """Counts placed in memory; double precision unless other kernels are given."""
    return Local.place(Counts(X), kernels or Cpu("float64"), n_blocks=n_blocks)


def random_state(model: Model, data: Local, seed: int, noise: float = 0.5) -> State:
    """State with components that are strongly perturbed copies of the marginal."""
    p = unigram(data.summary)
    copies = np.repeat(p[:, None], model.n_components, axis=1)
    table = jitter(copies, np.random.default_rng(seed), noise).astype(data.kernels.dtype)
    return state_of(model, data, model.init(data.summary, table))


def matched(first: Array, second: Array) -> Array:
    """Total variation between the rows of two tables (K, J), best matches first come."""
    left = list(range(len(second)))
    distances = []
    for row in first:
        away = [0.5 * np.abs(row - second[k]).sum() for k in left]
        distances.append(min(away))
        left.pop(int(np.argmin(away)))
    return np.array(distances)
