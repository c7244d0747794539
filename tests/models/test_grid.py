"""The latent grid: its nodes, its basis functions and their slopes."""

import numpy as np
import pytest

from isotherm.models.grid import LatentGrid, basis_at, basis_slopes, design, lattice
from support.maps import slopes

GRIDS = [
    LatentGrid((7,), (3,), 1.5),
    LatentGrid((5, 4), (3, 2)),
    LatentGrid((3, 4, 2), (2, 3, 2), 0.7),
    LatentGrid((4, 1), (1, 2)),
]
EACH = pytest.mark.parametrize("grid", GRIDS, ids=str)


def test_points_of_a_lattice() -> None:
    wanted = [[-1.0, -1.0], [-1.0, 0.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 0.0], [1.0, 1.0]]
    assert lattice((2, 3)).tolist() == wanted
    assert lattice((1,)).tolist() == [[0.0]]
    assert lattice((5,))[:, 0].tolist() == [-1.0, -0.5, 0.0, 0.5, 1.0]


@EACH
def test_sizes(grid: LatentGrid) -> None:
    K, M, L = int(np.prod(grid.shape)), int(np.prod(grid.basis)) + 1, len(grid.shape)
    assert (grid.n_nodes, grid.n_basis) == (K, M)
    assert grid.nodes.shape == (K, L)
    assert design(grid).shape == (K, M)
    points = np.zeros((6, L))
    assert basis_at(grid, points).shape == (6, M)
    assert basis_slopes(grid, points).shape == (6, M, L)


@EACH
def test_nodes_fill_the_cube_evenly(grid: LatentGrid) -> None:
    assert grid.nodes.mean(axis=0) == pytest.approx(np.zeros(len(grid.shape)), abs=1e-15)
    for axis, n in enumerate(grid.shape):
        places = np.unique(grid.nodes[:, axis])
        assert places == pytest.approx(np.linspace(-1.0, 1.0, n) if n > 1 else [0.0])
    assert len(np.unique(grid.nodes, axis=0)) == grid.n_nodes


@EACH
def test_values_of_the_basis(grid: LatentGrid) -> None:
    points = np.random.default_rng(0).uniform(-1.2, 1.2, (6, len(grid.shape)))
    found = basis_at(grid, points)
    for p, point in enumerate(points):
        for m, centre in enumerate(lattice(grid.basis)):
            exponent = 0.0
            for z, c, n in zip(point, centre, grid.basis, strict=True):
                width = grid.width * (2.0 / (n - 1) if n > 1 else 2.0)
                exponent += (z - c) ** 2 / (2 * width**2)
            assert found[p, m] == pytest.approx(np.exp(-exponent), rel=1e-12)
    assert (found[:, -1] == 1.0).all()
    assert design(grid) == pytest.approx(basis_at(grid, grid.nodes), rel=1e-15)


@EACH
def test_slopes_are_those_of_finite_differences(grid: LatentGrid) -> None:
    points = np.random.default_rng(1).uniform(-1.0, 1.0, (4, len(grid.shape)))
    for point, found in zip(points, basis_slopes(grid, points), strict=True):
        wanted = slopes(lambda z: basis_at(grid, z[None])[0], point)
        assert found == pytest.approx(wanted, abs=1e-9)
    assert (basis_slopes(grid, points)[:, -1] == 0.0).all()
    assert np.abs(basis_slopes(grid, points)).max() > 0.05


def test_a_function_peaks_at_its_centre_and_knows_its_width() -> None:
    grid = LatentGrid((9, 9), (3, 3), 1.0)
    values = basis_at(grid, lattice(grid.basis))
    assert np.diag(values[:, :-1]) == pytest.approx(np.ones(9), rel=1e-15)
    # Neighbours are one spacing, hence one standard deviation, away.
    assert values[0, 1] == pytest.approx(np.exp(-0.5), rel=1e-12)
    assert values[0, 4] == pytest.approx(np.exp(-1.0), rel=1e-12)
    wide = basis_at(LatentGrid((9, 9), (3, 3), 2.0), lattice(grid.basis))
    assert wide[0, 1] == pytest.approx(np.exp(-0.125), rel=1e-12)


def test_axes_with_different_spacing_have_different_widths() -> None:
    grid = LatentGrid((3, 3), (2, 3), 1.0)
    values = basis_at(grid, np.array([[1.0, -1.0], [-1.0, 0.0]]))[:, 0]
    assert values == pytest.approx([np.exp(-0.5), np.exp(-0.5)], rel=1e-12)


def test_the_wide_default_is_badly_conditioned_but_of_full_rank() -> None:
    phi = design(LatentGrid((10, 10), (4, 4)))
    values = np.linalg.svd(phi, compute_uv=False)
    assert 1e5 < values[0] / values[-1] < 1e8
    assert LatentGrid((10, 10), (4, 4)).width == 2.0


def test_tables_are_kept_and_cannot_be_changed() -> None:
    grid = LatentGrid((4, 4), (2, 2))
    assert design(grid) is design(LatentGrid((4, 4), (2, 2)))
    assert grid.nodes is lattice((4, 4))
    for table in (design(grid), grid.nodes):
        with pytest.raises(ValueError, match="read-only"):
            table[0, 0] = 5.0
