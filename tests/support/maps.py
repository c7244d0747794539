"""Maps written out in plain numpy, and the data that their tests are made of."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from isotherm.anneal.start import state_of
from isotherm.anneal.trace import State
from isotherm.data.vectors import VectorBlock, vector_blocks
from isotherm.kernels.base import Kernels
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.grid import LatentGrid
from isotherm.models.gtm import Gtm, GtmParams
from isotherm.placement.local import Local

Array = NDArray[Any]
DOUBLE = Cpu("float64")
GRID = LatentGrid((3, 3), (2, 2), 1.0)


def put(
    values: Array, weight: Any = None, kernels: Kernels = DOUBLE, rows_per_block: int | None = None
) -> Local:
    """Vectors (I, D) in one block, or in several; NaN where a value is missing."""
    return Local(vector_blocks(values, weight, rows_per_block=rows_per_block), kernels)


def masked(values: Array, kernels: Kernels = DOUBLE) -> Local:
    """Vectors of which nothing is missing, placed as if something might be."""
    block = VectorBlock(values, np.ones(len(values)), np.ones_like(values))
    return Local([block], kernels)


def spectrum(eigenvalues: Any, n_rows: int, seed: int = 0) -> Array:
    """Nearly normal vectors (N, D) whose sample covariance is exactly diag(eigenvalues)."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n_rows, len(eigenvalues)))
    values -= values.mean(axis=0)
    values = np.linalg.solve(np.linalg.cholesky(values.T @ values / n_rows), values.T).T
    return np.asarray(values * np.sqrt(eigenvalues))


def curved(n_rows: int = 150, seed: int = 0, missing: float = 0.0) -> Array:
    """Noisy points of a curved sheet in three dimensions, a share of their values missing."""
    rng = np.random.default_rng(seed)
    u, v = rng.uniform(-1.0, 1.0, (2, n_rows))
    values = np.stack([1.5 * u, v, u**2 - 0.5 * v], axis=1)
    values += 0.1 * rng.standard_normal(values.shape)
    holes = rng.random(values.shape) < missing
    holes[:, 0] &= ~holes[:, 1:].all(axis=1)
    return np.where(holes, np.nan, values)


def opened(model: Gtm, data: Local, size: float = 0.1, seed: int = 0) -> State:
    """State with a flat sheet of a size in units of sqrt(s0)."""
    rng, summary = np.random.default_rng(seed), data.summary
    sheet = model.sheet(len(summary.mean), size * np.sqrt(summary.noise), rng)
    return state_of(model, data, model.with_weight(sheet, summary))


def shaped(model: Gtm, data: Local, seed: int = 0, noise: float = 0.4) -> State:
    """State with weights of no special kind, noise `noise` s0 and the masses that belong to it."""
    rng, summary = np.random.default_rng(seed), data.summary
    weight = 0.6 * rng.standard_normal((model.grid.n_basis, len(summary.mean)))
    params = model.with_weight(weight, summary)
    return state_of(model, data, params._replace(noise=np.asarray(noise * summary.noise)))


def squares(values: Array, centres: Array) -> Array:
    """Squared distances over the values that are known, (I, K)."""
    return np.asarray(np.nansum((values[:, None, :] - centres) ** 2, axis=2))


def responsibilities(values: Array, centres: Array, scale: float) -> Array:
    """R_ki ~ exp(-|x_i - y_k|^2 / (2 scale)), (I, K)."""
    return np.asarray(softmax(-squares(values, centres) / (2.0 * scale), axis=1))


def free_energy(
    values: Array, centres: Array, s: float, temperature: float, weight: Any = None
) -> float:
    """-T sum_i log sum_k [(1/K) Normal(x_i; y_k, s I)]^(1/T), from the normal densities."""
    known = (~np.isnan(values)).sum(axis=1)
    logs = -squares(values, centres) / (2.0 * s)
    logs -= 0.5 * known[:, None] * np.log(2.0 * np.pi * s) + np.log(len(centres))
    terms = -temperature * logsumexp(logs / temperature, axis=1)
    return float((terms * (1.0 if weight is None else weight)).sum())


def energy(model: Gtm, data: Local, params: GtmParams, temperature: float) -> float:
    """J of the model at any parameters."""
    _, _, total = data.sweep(_expect, data.no_rows, model, params, temperature)
    return total + model.prior_energy(params, data.summary)


def sums(model: Gtm, data: Local, params: GtmParams, temperature: float) -> Any:
    """Statistics of an E-step."""
    return data.sweep(_expect, data.no_rows, model, params, temperature)[1]


def likelihood(model: Gtm, data: Local, params: GtmParams) -> float:
    """Log-likelihood of all blocks."""
    blocks = data.blocks
    return float(sum(model.log_likelihood(params, (), b, data.kernels) for b in blocks))


def slopes(function: Any, at: Array, step: float = 1e-5) -> Array:
    """Central differences of a function of an array: its shape in front, that of `at` behind."""
    moves = step * np.eye(at.size).reshape(at.size, *at.shape)
    found = [(np.asarray(function(at + m)) - function(at - m)) / (2.0 * step) for m in moves]
    return np.stack(found, axis=-1).reshape(found[0].shape + at.shape)


def _expect(k: Kernels, block: Any, rows: Any, model: Gtm, params: Any, temperature: float) -> Any:
    return model.expect(params, rows, block, temperature, k)
