"""The latent space of a map: nodes on a grid over [-1, 1]^L, and the basis functions over it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from isotherm.data.base import Array

# Places lie no further outside the square than a spacing of the nodes, nor than this.
BEYOND = 0.2


@dataclass(frozen=True)
class LatentGrid:
    """Nodes and radial basis functions.

    Parameters
    ----------
    shape : tuple of int
        Nodes along each of the L axes.
    basis : tuple of int
        Centres of basis functions along each axis.
    width : float
        Standard deviation of a basis function, in spacings of their centres.
    """

    shape: tuple[int, ...]
    basis: tuple[int, ...]
    width: float = 2.0

    @property
    def n_nodes(self) -> int:
        """Number of nodes K."""
        return int(np.prod(self.shape))

    @property
    def n_basis(self) -> int:
        """Number of basis functions M, the bias included."""
        return int(np.prod(self.basis)) + 1

    @property
    def nodes(self) -> Array:
        """Places Z of the nodes, (K, L)."""
        return lattice(self.shape)


@lru_cache(maxsize=32)
def lattice(shape: tuple[int, ...]) -> Array:
    """Points of a regular grid over [-1, 1]^L, the last axis fastest, (K, L)."""
    axes = [np.linspace(-1.0, 1.0, n) if n > 1 else np.zeros(1) for n in shape]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(shape))
    points.flags.writeable = False
    return points


def margin(shape: tuple[int, ...]) -> Array:
    """How far beyond [-1, 1] places may lie along each axis, (L,)."""
    return np.array([min(2.0 / (n - 1), BEYOND) if n > 1 else 0.0 for n in shape])


def finer(shape: tuple[int, ...], parts: tuple[int, ...]) -> Array:
    """Points of a lattice so many times finer than the nodes, continued by the margin, (P, L)."""
    axes = []
    for n, part, beyond in zip(shape, parts, margin(shape), strict=True):
        step = 2.0 / (max(n - 1, 1) * part)
        # Whole steps outside: the nodes are points of the lattice, and it has a middle.
        more = int(beyond / step + 1e-9)
        axes.append(step * (np.arange((n - 1) * part + 2 * more + 1) - more) - 1.0)
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(shape))


@lru_cache(maxsize=32)
def design(grid: LatentGrid) -> Array:
    """Basis functions at the nodes, Phi (K, M), the last column the bias."""
    phi = basis_at(grid, grid.nodes)
    phi.flags.writeable = False
    return phi


def basis_at(grid: LatentGrid, points: Array) -> Array:
    """Basis functions exp(-|z - c|^2 / (2 w^2)) at any points z (P, L), and ones, (P, M)."""
    gap = points[:, None, :] - lattice(grid.basis)
    values = np.exp(-0.5 * ((gap / _widths(grid)) ** 2).sum(axis=2))
    return np.hstack([values, np.ones((len(points), 1))])


def basis_slopes(grid: LatentGrid, points: Array) -> Array:
    """Derivatives of the basis functions by the latent coordinates, (P, M, L)."""
    gap = points[:, None, :] - lattice(grid.basis)
    values = basis_at(grid, points)[:, :-1, None]
    slopes = -values * gap / _widths(grid) ** 2
    return np.concatenate([slopes, np.zeros((len(points), 1, points.shape[1]))], axis=1)


def _widths(grid: LatentGrid) -> Array:
    """Standard deviation of the basis functions along each axis, (L,)."""
    spacing = [2.0 / (n - 1) if n > 1 else 2.0 for n in grid.basis]
    return grid.width * np.array(spacing)
