"""Where the components begin: noisy copies of the one-component solution, or along its spectrum.

`Noisy` is the textbook start: identical components, told apart by the noise of the seed alone.
`Spectral` moves each component along its own direction of the counts' spectrum, so that runs from
different seeds begin, and end, in the same place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from isotherm._types import Params, RowsT
from isotherm.anneal.trace import State
from isotherm.data.base import Array, Block
from isotherm.kernels.base import Kernels
from isotherm.models.base import CountModel, Model, jitter, unigram
from isotherm.placement.base import Data, Expected

# Largest relative move of a probability, as a logarithm.
LARGEST = 3.0
# Eigenvalues below this share of the largest are zero.
RANK = 1e-9
# Pivots of a Cholesky factor below this share of the largest: columns that are nearly dependent.
DEPENDENT = 1e-5
# Rows of a table that are multiplied at a time.
PIECE = 4096


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
            moves = self._directions(model, data)
            moves *= self.size
            np.clip(moves, -LARGEST, LARGEST, out=moves)
            copies *= np.exp(moves, out=moves).astype(copies.dtype)
            copies = jitter(copies, rng, self.noise)
        return state_of(model, data, model.init(data.summary, copies))

    def _directions(self, model: CountModel, data: Data) -> Array:
        """Relative changes of the marginal, unit variance under it, (J, K)."""
        p = unigram(data.summary)
        scale = np.where(p > 0, p, 1.0) ** -self.column_power * (p > 0)
        n_columns, K = len(p), model.n_components
        # The test vectors are the same for every seed: the start must not depend on it.
        fixed = np.random.default_rng(0).standard_normal((n_columns, K + min(K, 10)))
        basis, _ = orthonormal(fixed[:, : min(n_columns, fixed.shape[1])])
        del fixed  # these tables are the largest of a fit
        for _ in range(self.iterations):
            shift, basis = (p * scale) @ basis, (scale[:, None] * basis).astype(data.kernels.dtype)
            basis = _gram_times(data, scale, basis, shift)
            basis, triangle = orthonormal(basis)
        vectors, values, _ = np.linalg.svd(triangle)
        # Directions beyond the rank of the counts are rounding errors: those components stay put.
        size = min(K, int((values > RANK * values[0]).sum()))
        loadings = basis @ (vectors[:, :size] * values[:size] ** 0.25)
        del basis
        loadings = varimax(loadings.astype(data.kernels.dtype))
        change = np.zeros((n_columns, K))
        change[:, :size] = loadings
        change *= np.where(np.einsum("jk,jk,jk->k", change, change, change) < 0, -1.0, 1.0)
        np.divide(change, (p * scale)[:, None], out=change, where=p[:, None] > 0)
        spread = np.sqrt(np.einsum("j,jk,jk->k", p, change, change))
        change /= np.where(spread > 0, spread, 1.0)
        return change


def state_of(model: Model, data: Data, params: Params) -> State:
    """State with the given parameters and untouched rows."""
    rows, _, _ = data.sweep(_begin, data.no_rows, model, params)
    return State(params, rows, model.prior_energy(params, data.summary))


def varimax(loadings: Array, iterations: int = 30) -> Array:
    """Loadings (J, K) rotated so that each column has few large entries (Kaiser 1958)."""
    rotation = np.eye(loadings.shape[1], dtype=loadings.dtype)
    last = 0.0
    for _ in range(iterations):
        turned = loadings @ rotation
        target = turned**2
        target -= target.mean(axis=0)
        target *= turned
        left, values, right = np.linalg.svd(loadings.T @ target)
        rotation = left @ right
        if values.sum() < last * (1 + 1e-4):
            break
        last = values.sum()
    return np.asarray(loadings @ rotation)


class _Table(NamedTuple):
    table: Array


def _copies(model: CountModel, data: Data) -> Array:
    marginal = unigram(data.summary).astype(data.kernels.dtype)
    return np.repeat(marginal[:, None], model.n_components, axis=1)


def _begin(
    k: Kernels, block: object, rows: object, model: Model, params: Params
) -> Expected[RowsT, tuple[()]]:
    return Expected(model.start(params, block, k), (), 0.0)


def orthonormal(table: Array) -> tuple[Array, Array]:
    """Orthonormal columns Q (J, K), in the place of the table, and R (K, K) with Q R = table.

    Twice by the Cholesky factor of the Gram matrix: products alone, of a fraction of the memory
    and time of reflections, which are left for columns that are nearly dependent.
    """
    triangle = np.eye(table.shape[1])
    for _ in range(2):
        factor = _factor(table)
        if factor is None:
            basis, factor = np.linalg.qr(table)
            return basis, np.asarray(factor) @ triangle
        back = np.linalg.inv(factor)
        for low in range(0, len(table), PIECE):
            table[low : low + PIECE] = table[low : low + PIECE] @ back
        triangle = factor @ triangle
    return table, triangle


def _factor(table: Array) -> Array | None:
    """Triangle R (K, K) with R'R = table'table; None where it would not tell columns apart."""
    try:
        factor: Array = np.linalg.cholesky(np.asarray(table.T @ table)).T
    except np.linalg.LinAlgError:
        return None
    pivots = factor.diagonal()
    return factor if pivots.min() > DEPENDENT * pivots.max() else None


def _gram_times(data: Data, scale: Array, scaled: Array, shift: Array) -> Array:
    """S'S B for the centred S = D_x^-1/2 (n - n(x) p') diag(scale), summed over blocks.

    `scaled` (J, K) is diag(scale) B and `shift` (K,) p' diag(scale) B.
    """
    _, total, _ = data.sweep(_gram_share, data.no_rows, scaled, shift)
    table: Array = total.table
    table *= scale[:, None]
    return table


def _gram_share(
    k: Kernels, block: Block, rows: object, scaled: Array, shift: Array
) -> Expected[tuple[()], _Table]:
    """Once the right factor is centred, the left one is: what it would take off adds up to zero."""
    totals = block.row_totals
    inverse = np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0)
    image = k.times(block, scaled) - np.outer(totals, shift)
    image *= inverse[:, None]
    return Expected((), _Table(k.transposed_times(block, image)), 0.0)
