"""Local stability of a map: which mode of the sheet grows next, and at which temperature.

The exact criterion for the constrained map at (W, s, T), responsibilities frozen:

    A v = tau s B v,  A = sum_k phi_k phi_k' (x) U_k - sum_i a_i a_i',
    U_k = sum_i R_ki (x_i - y_k)(x_i - y_k)',  a_i = sum_k R_ki phi_k (x) (x_i - y_k),

and the free energy is locally convex in W where all tau < T. With B = L L' this is the ordinary
problem of L^-1 A L^-T / s, whose share of a block is multiplied here without forming A.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from isotherm.data.base import Array
from isotherm.data.vectors import VectorBlock
from isotherm.kernels.base import Kernels
from isotherm.models.base import Probes

# Up to this many weights the whole matrix is cheaper than a Lanczos solve.
DENSE = 600
# Shapes that the prior hardly tells apart have nearly the same temperature, in the collapsed state
# above all: finding out which is the highest would take a Lanczos solve for ever.
ACCURACY, ROUGH = 1e-6, 1e-3
# Rows whose outer products are held at a time.
ROWS = 1024


class SheetCurvature(NamedTuple):
    """Share of a block in L^-1 A L^-T / s.

    `phi` (K, M), `centres` (K, D), `scale` s T, `roots` L^-1 / sqrt(s): (M, M), or (D, M, M) where
    values are missing.
    """

    phi: Array
    centres: Array
    scale: float
    roots: Array

    def product(self, block: VectorBlock, vectors: Array, k: Kernels) -> Array:
        """Product with one vector (M D, 1), without the matrix, or with several, by it."""
        if vectors.shape[1] > 1:
            return np.asarray(self.matrix(block, k) @ vectors)
        posterior, heavy = self._posterior(block, k)
        x, present = block.values.astype(np.float64), _present(block)
        shape = self.phi.shape[1], self.centres.shape[1]
        moved = self.phi @ self._turned(vectors.reshape(shape), transposed=True)
        # E_ki = (x_i - y_k) . moved_k over the values that are present.
        gap = x @ moved.T - present @ (self.centres * moved).T
        change = heavy * (gap - (posterior * gap).sum(axis=1, keepdims=True))
        back = change.T @ x - (change.T @ present) * self.centres
        return self._turned(self.phi.T @ back).reshape(-1, 1)

    def matrix(self, block: VectorBlock, k: Kernels) -> Array:
        """The whole share of the block, (M D, M D)."""
        M, (K, D) = self.phi.shape[1], self.centres.shape
        posterior, heavy = self._posterior(block, k)
        both = (self.phi[:, :, None] * self.centres[:, None, :]).reshape(K, M * D)
        spread, whole = np.zeros((K, D * D)), np.zeros((M * D, M * D))
        everywhere = _present(block)
        for lo in range(0, block.n_rows, ROWS):
            rows = slice(lo, lo + ROWS)
            x, present = block.values[rows].astype(np.float64), everywhere[rows]
            spread += self._spread(x, present, heavy[rows])
            part = (posterior[rows] @ self.phi)[:, :, None] * x[:, None, :]
            part -= (posterior[rows] @ both).reshape(part.shape) * present[:, None, :]
            part = part.reshape(len(x), M * D)
            whole -= part.T @ (part * block.weight[rows, None])
        pairs = (self.phi[:, :, None] * self.phi[:, None, :]).reshape(K, M * M)
        tied = (pairs.T @ spread).reshape(M, M, D, D).transpose(0, 2, 1, 3)
        whole += tied.reshape(M * D, M * D)
        half = self._turned(whole.reshape(M, D, -1)).reshape(M * D, -1)
        return self._turned(half.T.reshape(M, D, -1)).reshape(M * D, -1)

    def _spread(self, x: Array, present: Array, heavy: Array) -> Array:
        """U_k of some rows, (K, D D)."""
        y = self.centres

        def outer(left: Array, right: Array) -> Array:
            pairs = (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)
            return np.asarray(heavy.T @ pairs).reshape(len(y), y.shape[1], -1)

        cross = outer(x, present) * y[:, None, :]
        spread = outer(x, x) - cross - cross.transpose(0, 2, 1)
        spread += outer(present, present) * y[:, :, None] * y[:, None, :]
        return np.asarray(spread.reshape(len(y), -1))

    def _posterior(self, block: VectorBlock, k: Kernels) -> tuple[Array, Array]:
        """Responsibilities (I, K) in float64, plain and weighted."""
        found, _ = k.node_posterior(block, self.centres, self.scale)
        posterior = found.astype(np.float64)
        return posterior, posterior * block.weight[:, None]

    def _turned(self, table: Array, transposed: bool = False) -> Array:
        """L^-1 v or L^-T v of vectors (M, D) or (M, D, n)."""
        roots = np.swapaxes(self.roots, -1, -2) if transposed else self.roots
        if roots.ndim == 2:
            return np.asarray(np.tensordot(roots, table, 1))
        return np.asarray(np.einsum("dml,ld...->md...", roots, table, optimize=True))


def _present(block: VectorBlock) -> Array:
    """1 where a value is present, 0 where it is missing, (I, D)."""
    present = block.present
    return np.ones(block.values.shape) if present is None else present.astype(np.float64)


def probes_of(size: int, n_modes: int) -> Probes:
    """Probes of a sheet with so many weights: one curvature for all of it, some modes of that."""
    asked = max(1, min(n_modes, size - 1))
    tol = ACCURACY if n_modes > 1 else ROUGH
    return Probes(np.zeros(1, int), asked, size, size <= DENSE, tol)


def root_of(normal: Array, s: float) -> Array:
    """L^-1 / sqrt(s) for B = L L', (M, M) or (D, M, M)."""
    if normal.ndim == 3:
        return np.stack([root_of(one, s) for one in normal])
    ridge = 1e-12 * np.trace(normal) / len(normal)
    lower = np.linalg.cholesky(normal + ridge * np.eye(len(normal)))
    return np.asarray(solve_triangular(lower, np.eye(len(normal)), lower=True) / np.sqrt(s))
