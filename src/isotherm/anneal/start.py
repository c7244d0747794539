"""Where the components begin: noisy copies of the one-component solution, or along its spectrum.

`Noisy` is the textbook start: identical components, told apart by the noise of the seed alone.
`Spectral` moves each component along its own direction of the counts' spectrum, so that runs from
different seeds begin, and end, in the same place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from isotherm.anneal.trace import State
from isotherm.data.base import Array, Block, Data, Expected
from isotherm.kernels.base import Kernels
from isotherm.models.base import CountModel, Model, jitter, unigram

# Largest relative move of a probability, as a logarithm.
LARGEST = 3.0
# Eigenvalues below this share of the largest are zero.
RANK = 1e-9


class Start(Protocol):
    """A way to begin."""

    def state(self, model: Any, data: Data, rng: np.random.Generator) -> State:
        """State before the first sweep."""
        ...


@dataclass(frozen=True)
class Noisy:
    """Copies of the marginal distribution, each multiplied by exp(noise x normal)."""

    noise: float = 0.05

    def state(self, model: CountModel, data: Data, rng: np.random.Generator) -> State:
        """State before the first sweep."""
        copies = _copies(model, data)
        if model.n_components > 1:
            copies = jitter(copies, rng, self.noise)
        return state_of(model, data, model.init(data.summary, copies))


@dataclass(frozen=True)
class Spectral:
    """Copies of the marginal distribution, each moved along a direction of the spectrum.

    The directions are the leading right singular vectors of the centred counts, rows divided by
    the square root of their total and columns by a power of theirs, rotated to simple structure
    (varimax): each touches few columns strongly, as a topic does.

    Parameters
    ----------
    size : float
        Root mean square of the logarithmic move.
    column_power : float
        0.5 is the chi-square metric of correspondence analysis, in which the first direction is
        the critical one but rare columns dominate the others; 0 leaves frequent columns in charge.
    noise : float
        Relative noise of the seed on top: as little as tells coinciding components apart.
    iterations : int
        Subspace iterations; each costs about a sweep.
    """

    size: float = 0.3
    column_power: float = 0.25
    noise: float = 1e-4
    iterations: int = 6

    def state(self, model: CountModel, data: Data, rng: np.random.Generator) -> State:
        """State before the first sweep."""
        copies = _copies(model, data)
        if model.n_components > 1:
            moves = np.clip(self.size * self._directions(model, data), -LARGEST, LARGEST)
            copies = jitter(copies * np.exp(moves).astype(copies.dtype), rng, self.noise)
        return state_of(model, data, model.init(data.summary, copies))

    def _directions(self, model: CountModel, data: Data) -> Array:
        """Relative changes of the marginal, unit variance under it, (J, K)."""
        p = unigram(data.summary)
        scale = np.where(p > 0, p, 1.0) ** -self.column_power * (p > 0)
        n_columns, K = len(p), model.n_components
        # The test vectors are the same for every seed: the start must not depend on it.
        fixed = np.random.default_rng(0).standard_normal((n_columns, K + min(K, 10)))
        basis = np.linalg.qr(fixed[:, : min(n_columns, fixed.shape[1])])[0]
        for _ in range(self.iterations):
            image = _gram_times(data, scale, p * scale, basis)
            basis, triangle = np.linalg.qr(image)
        vectors, values, _ = np.linalg.svd(triangle)
        vectors = basis @ vectors
        filled = np.zeros((n_columns, K))
        # Directions beyond the rank of the counts are rounding errors: those components stay put.
        size = min(K, int((values > RANK * values[0]).sum()))
        loadings = vectors[:, :size] * values[:size] ** 0.25
        filled[:, :size] = varimax(loadings.astype(data.kernels.dtype))
        filled *= np.where((filled**3).sum(axis=0) < 0, -1.0, 1.0)
        change = np.divide(filled, (p * scale)[:, None], out=filled, where=p[:, None] > 0)
        spread = np.sqrt((p[:, None] * change**2).sum(axis=0))
        return np.asarray(change / np.where(spread > 0, spread, 1.0))


def state_of(model: Model, data: Data, params: Any) -> State:
    """State with the given parameters and untouched rows."""
    rows, _, _ = data.sweep(_begin, data.no_rows, model, params)
    return State(params, rows, model.prior_energy(params, data.summary))


def varimax(loadings: Array, iterations: int = 30) -> Array:
    """Loadings (J, K) rotated so that each column has few large entries (Kaiser 1958)."""
    rotation = np.eye(loadings.shape[1], dtype=loadings.dtype)
    last = 0.0
    for _ in range(iterations):
        turned = loadings @ rotation
        target = turned * (turned**2 - (turned**2).mean(axis=0))
        left, values, right = np.linalg.svd(loadings.T @ target)
        rotation = left @ right
        if values.sum() < last * (1 + 1e-4):
            break
        last = values.sum()
    return np.asarray(loadings @ rotation, np.float64)


class _Table(NamedTuple):
    table: Array


def _copies(model: CountModel, data: Data) -> Array:
    marginal = unigram(data.summary).astype(data.kernels.dtype)
    return np.repeat(marginal[:, None], model.n_components, axis=1)


def _begin(k: Kernels, block: Any, rows: Any, model: Model, params: Any) -> Expected:
    return Expected(model.start(params, block, k), (), 0.0)


def _gram_times(data: Data, scale: Array, centre: Array, basis: Array) -> Array:
    """S'S basis for the centred S = D_x^-1/2 (n - n(x) p') diag(scale), summed over blocks."""
    _, total, _ = data.sweep(_gram_share, data.no_rows, scale, centre, basis)
    table: Array = total.table
    return table


def _gram_share(
    k: Kernels, block: Block, rows: Any, scale: Array, centre: Array, basis: Array
) -> Expected:
    totals = block.row_totals
    inverse = np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0)
    image = k.times(block, scale[:, None] * basis) - np.outer(totals, centre @ basis)
    image *= inverse[:, None]
    back = scale[:, None] * k.transposed_times(block, image)
    back -= np.outer(centre, (totals * block.weight) @ image)
    return Expected((), _Table(back), 0.0)
