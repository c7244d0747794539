"""Linked counts, and the formulas of linked rows written down once more, densely."""

from typing import Any

import numpy as np
from scipy.special import xlogy

from isotherm.anneal.trace import State
from isotherm.data.base import blocks_of
from isotherm.data.counts import Counts
from isotherm.data.linked import LinkedBlock, Links
from isotherm.estimators.starts.linked import RandomRows
from isotherm.kernels.base import Kernels
from isotherm.kernels.reference import Reference
from isotherm.placement.local import Local
from support.models import Array, sweep

PLAIN = Reference()
# scikit-learn's checks that linked rows fail: the weights of a fit are not those of the same rows
# as new ones.
APART = dict.fromkeys(
    ("check_transformer_general", "check_transformer_data_not_an_array"),
    "fit_transform gives the weights of the fit, transform treats rows as new ones",
)


def linked(matrix: Any, W: Any, kernels: Kernels = PLAIN) -> Local:
    """Counts (N, J) with links W (N, N), placed as one block."""
    counts = Counts(np.asarray(matrix))
    block = blocks_of(counts, np.array([0, counts.n_rows]))[0]
    return Local([LinkedBlock.of(block, Links.of(W))], kernels)


def random_graph(n: int, seed: int = 0, fill: float = 0.15, alone: tuple[int, ...] = ()) -> Array:
    """A ring with chords, 0 and 1: connected, but for the rows that are left alone."""
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) < fill, 1).astype(float)
    W[np.arange(n), (np.arange(n) + 1) % n] = 1.0
    W = np.maximum(W, W.T)
    np.fill_diagonal(W, 0.0)
    W[list(alone)], W[:, list(alone)] = 0.0, 0.0
    return W


def random_state(model: Any, data: Local, seed: int = 0) -> State:
    """A random start."""
    return RandomRows().state(model, data, np.random.default_rng(seed))


def theta_of(state: State) -> Array:
    return np.asarray(state.rows[0].theta)


def run(model: Any, data: Local, n: int, seed: int = 0) -> tuple[list[State], list[float]]:
    """States before each of n sweeps and after the last, and the energies of all but the last."""
    state = random_state(model, data, seed)
    states, energies = [state], []
    for _ in range(n):
        state, energy = sweep(model, data, state, 1.0)
        states.append(state)
        energies.append(energy)
    return states, energies


def expected(X: Array, theta: Array, phi: Array) -> tuple[Array, Array]:
    """E-step of PLSA, (N, K) and (J, K), densely."""
    joint = theta[:, None, :] * phi[None]
    joint *= (X / np.maximum(joint.sum(axis=2), 1e-300))[:, :, None]
    return joint.sum(axis=1), joint.sum(axis=0)


def plsa(X: Array, theta: Array, phi: Array) -> tuple[Array, Array]:
    """One step of PLSA, densely; rows without counts stay."""
    b, c = expected(X, theta, phi)
    n = b.sum(axis=1, keepdims=True)
    return np.where(n > 0, b / np.maximum(n, 1e-300), theta), c / c.sum(axis=0)


def log_likelihood(X: Array, theta: Array, phi: Array) -> float:
    return float(xlogy(X, np.maximum(theta @ phi.T, 1e-300)).sum())


def laplacian(W: Array) -> Array:
    return np.diag(W.sum(axis=1)) - W


def within(W: Array, theta: Array) -> float:
    """SW = tr(theta' L theta)."""
    return float(np.trace(theta.T @ laplacian(W) @ theta))


def divergence(W: Array, theta: Array) -> float:
    """SJ = tr(theta' L log theta)."""
    return float(np.trace(theta.T @ laplacian(W) @ np.log(np.maximum(theta, 1e-300))))


def q2(W: Array, theta: Array) -> float:
    """ST / SW from all pairs."""
    square = ((theta[:, None] - theta) ** 2).sum(axis=2)
    return float(square.sum() / (W * square).sum())
