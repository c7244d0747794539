"""The exact stability of a map: its matrix against loops, Hessians, blocks and closed forms."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.linalg import eigh

from isotherm.anneal.critical import component_split, critical_temperatures
from isotherm.anneal.start import state_of
from isotherm.data.vectors import VectorBlock
from isotherm.kernels.cpu.backend import Cpu
from isotherm.kernels.reference import Reference
from isotherm.models import gtm_curvature
from isotherm.models.grid import LatentGrid, design
from isotherm.models.gtm import Gtm, GtmParams
from isotherm.models.gtm_curvature import DENSE, SheetCurvature, probes_of, root_of
from isotherm.placement.local import Local
from support.maps import (
    GRID,
    Array,
    curved,
    opened,
    put,
    responsibilities,
    shaped,
    slopes,
    spectrum,
    sums,
)
from support.models import sweeps

N, M, D = 40, 5, 3
WHOLE, HOLED = curved(N), curved(N, missing=0.25)
WEIGHT = np.random.default_rng(5).uniform(0.2, 3.0, N)
TABLES = pytest.mark.parametrize("table", [WHOLE, HOLED], ids=["whole", "missing"])
WEIGHTS = pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
MODEL, TEMPERATURE = Gtm(GRID, alpha=0.5), 1.7


def settled(model: Gtm, data: Local, temperature: float = TEMPERATURE, seed: int = 0) -> GtmParams:
    """Parameters of no special kind with the masses that belong to them."""
    params = shaped(model, data, seed).params
    return params._replace(mass=sums(model, data, params, temperature).mass)


def naive(
    table: Array, weight: Any, params: GtmParams, model: Gtm, temperature: float
) -> tuple[Array, Array]:
    """A and B (x) I_D by loops over points and nodes, (M D, M D); missing gaps are zero."""
    phi, s = design(model.grid), float(params.noise)
    centres = phi @ params.weight
    size = params.weight.size
    penalty = model.alpha * s * np.diag(np.append(np.ones(phi.shape[1] - 1), 0.0))
    first, second = np.zeros((size, size)), np.kron(penalty, np.eye(table.shape[1]))
    posterior = responsibilities(table, centres, s * temperature)
    for i, row in enumerate(table):
        w, known = 1.0 if weight is None else weight[i], np.diag(~np.isnan(row)).astype(float)
        gaps = np.nan_to_num(row - centres)
        tied = [np.kron(phi[k], gaps[k]) for k in range(len(phi))]
        mean = sum(posterior[i, k] * tied[k] for k in range(len(phi)))
        for k in range(len(phi)):
            share = w * posterior[i, k]
            first += share * np.outer(tied[k], tied[k])
            second += share * np.kron(np.outer(phi[k], phi[k]), known)
        first -= w * np.outer(mean, mean)
    return first, second


class Share(NamedTuple):
    """A curvature with the block that it is of."""

    curvature: SheetCurvature
    block: VectorBlock
    kernels: Any

    def matrix(self) -> Array:
        return self.curvature.matrix(self.block, self.kernels)

    def product(self, vectors: Array) -> Array:
        return self.curvature.product(self.block, vectors, self.kernels)


def curvatures(data: Local, params: GtmParams, model: Gtm, temperature: float) -> list[Share]:
    k, only = data.kernels, np.zeros(1, int)
    return [
        Share(model.deviation(params, (), block, temperature, only, k), block, k)
        for block in data.blocks
    ]


def gradient(data: Local, params: GtmParams, model: Gtm, temperature: float) -> Any:
    """dJ/dW as a function of the weights, from the sums of the E-step."""
    phi, s = design(model.grid), float(params.noise)
    penalised = np.append(np.ones(phi.shape[1] - 1), 0.0)[:, None]

    def at(weight: Array) -> Array:
        stats = sums(model, data, params._replace(weight=weight), temperature)
        mass = stats.mass if stats.mass.ndim == 2 else stats.mass[:, None]
        pull = phi.T @ (mass * (phi @ weight) - stats.moment) / s
        return np.asarray(pull + model.alpha * penalised * weight)

    return at


@TABLES
@WEIGHTS
@pytest.mark.parametrize("rows_per_block", [None, 11])
@pytest.mark.parametrize("kernels", [Cpu("float64"), Reference()], ids=["cpu", "reference"])
def test_products_and_the_matrix_are_those_of_loops(
    table: Array, weight: Any, rows_per_block: int | None, kernels: Any
) -> None:
    data = put(table, weight, kernels, rows_per_block)
    params = settled(MODEL, data)
    shares = curvatures(data, params, MODEL, TEMPERATURE)
    first, second = naive(table, weight, params, MODEL, TEMPERATURE)
    root = np.linalg.inv(np.linalg.cholesky(second))
    wanted = root @ first @ root.T / float(params.noise)
    whole = sum(share.matrix() for share in shares)
    assert whole == pytest.approx(wanted, abs=1e-8)
    assert whole == pytest.approx(whole.T, abs=1e-12)
    vectors = np.random.default_rng(0).standard_normal((M * D, 4))
    for vector in vectors.T[:, :, None]:
        found = sum(share.product(vector) for share in shares)
        assert found.shape == (M * D, 1)
        assert found == pytest.approx(wanted @ vector, abs=1e-7)
        assert found == pytest.approx(whole @ vector, abs=1e-10)
    several = sum(share.product(vectors) for share in shares)
    assert several == pytest.approx(whole @ vectors, abs=1e-12)


@TABLES
def test_the_matrix_does_not_depend_on_how_many_rows_are_held(
    table: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = put(table, WEIGHT)
    share = curvatures(data, settled(MODEL, data), MODEL, TEMPERATURE)[0]
    wanted = share.matrix()
    monkeypatch.setattr(gtm_curvature, "ROWS", 7)
    assert share.matrix() == pytest.approx(wanted, abs=1e-10)


def test_single_precision_is_near() -> None:
    data, rough = put(WHOLE), put(WHOLE, None, Cpu("float32"))
    params = settled(MODEL, data)
    fine = curvatures(data, params, MODEL, TEMPERATURE)[0].matrix()
    share = curvatures(rough, params, MODEL, TEMPERATURE)[0]
    assert share.matrix().dtype == np.float64
    assert share.matrix() == pytest.approx(fine, abs=1e-5)
    vector = np.random.default_rng(0).standard_normal((M * D, 1))
    assert share.product(vector) == pytest.approx(fine @ vector, abs=1e-4)


@TABLES
@pytest.mark.parametrize("temperature", [1.0, 1.7])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_the_hessian_in_the_weights_is_that_of_finite_differences(
    table: Array, temperature: float, alpha: float
) -> None:
    data, model = put(table, WEIGHT), Gtm(GRID, alpha=alpha)
    params = settled(model, data, temperature)
    s = float(params.noise)
    size = params.weight.size
    numeric = slopes(gradient(data, params, model, temperature), params.weight)
    numeric = numeric.reshape(size, size)
    # H = L (1 - matrix / T) L' / s.
    roots = root_of(model._normal(design(GRID), params.mass, s), s)
    lower = _blockwise(np.linalg.inv(roots) / np.sqrt(s), D)
    whole = curvatures(data, params, model, temperature)[0].matrix()
    found = lower @ (np.eye(size) - whole / temperature) @ lower.T / s
    assert found == pytest.approx(numeric, abs=1e-6 * np.abs(numeric).max())


def _blockwise(roots: Array, n_columns: int) -> Array:
    """The factor of B (x) I_D, or of one B for each column, acting on weights (M D,)."""
    if roots.ndim == 2:
        return np.kron(roots, np.eye(n_columns))
    units = np.eye(n_columns)
    parts = [np.kron(root, np.outer(u, u)) for root, u in zip(roots, units, strict=True)]
    return np.asarray(sum(parts))


@TABLES
def test_the_hessian_in_the_centres_is_the_formula(table: Array) -> None:
    data = put(table)
    params = settled(MODEL, data)
    s, phi, K = float(params.noise), design(GRID), 9
    centres = phi @ params.weight

    def pull(moved: Array) -> Array:
        found = data.kernels.nodes(data.blocks[0], moved, s * TEMPERATURE)
        mass = found.mass if found.mass.ndim == 2 else found.mass[:, None]
        return np.asarray((mass * moved - found.moment) / s)

    numeric = slopes(pull, centres).reshape(K * D, K * D)
    posterior = responsibilities(table, centres, s * TEMPERATURE)
    known = (~np.isnan(table)).astype(float)
    gaps = np.nan_to_num(table[:, None, :] - centres)
    pairs = np.einsum("ik,kl->ikl", posterior, np.eye(K))
    pairs -= posterior[:, :, None] * posterior[:, None, :]
    wanted = -np.einsum("ikl,ikd,ile->kdle", pairs, gaps, gaps) / (TEMPERATURE * s**2)
    for k in range(K):
        wanted[k, :, k] += np.diag(posterior[:, k] @ known) / s
    wanted = wanted.reshape(K * D, K * D)
    assert numeric == pytest.approx(wanted, abs=1e-7 * np.abs(wanted).max())
    # Tied to the weights, it is what the curvature of the sheet stands for.
    tied = np.kron(phi, np.eye(D))
    first, second = naive(table, None, params, MODEL, TEMPERATURE)
    penalty = MODEL.alpha * np.kron(np.diag([1.0, 1.0, 1.0, 1.0, 0.0]), np.eye(D))
    assert second / s - first / (TEMPERATURE * s**2) == pytest.approx(
        tied.T @ wanted @ tied + penalty, abs=1e-9 * np.abs(wanted).max()
    )


@TABLES
@pytest.mark.parametrize("seed", range(4))
def test_modes_above_the_temperature_are_directions_downhill(table: Array, seed: int) -> None:
    data = put(table)
    counted = []
    for temperature in (1.0, 1.3, 2.0):
        params = settled(MODEL, data, temperature, seed)
        state = state_of(MODEL, data, params)
        found = critical_temperatures(MODEL, data, state, temperature)
        hessian = slopes(gradient(data, params, MODEL, temperature), params.weight)
        values = np.linalg.eigvalsh(hessian.reshape(M * D, M * D))
        assert np.abs(values).min() > 1e-4
        counted.append(int((values < 0).sum()))
        assert int((found > temperature).sum()) == counted[-1]
    # Both kinds occur, or nothing was counted.
    assert max(counted) > 0


def test_modes_are_all_stable_where_em_has_settled() -> None:
    data = put(curved(150))
    state, _ = sweeps(MODEL, data, opened(MODEL, data, 0.5), 1.2, 1500)
    assert (critical_temperatures(MODEL, data, state, 1.2) < 1.2).all()


@TABLES
def test_modes_come_in_order_and_agree_with_the_loops(table: Array) -> None:
    data = put(table, WEIGHT, rows_per_block=11)
    params = settled(MODEL, data)
    split = component_split(MODEL, data, state_of(MODEL, data, params), TEMPERATURE, 0)
    first, second = naive(table, WEIGHT, params, MODEL, TEMPERATURE)
    wanted = eigh(first / float(params.noise), second, eigvals_only=True)[::-1][:12]
    assert split.temperatures == pytest.approx(np.maximum(wanted, 0.0), abs=1e-8)
    assert split.temperature == split.temperatures[0]
    whole = sum(share.matrix() for share in curvatures(data, params, MODEL, TEMPERATURE))
    assert whole @ split.direction == pytest.approx(split.temperature * split.direction, abs=1e-9)


@TABLES
def test_without_the_whole_matrix_the_answer_is_the_same(
    table: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, model = put(table, rows_per_block=13), Gtm(LatentGrid((4, 4), (3, 3), 1.0), alpha=0.5)
    state = state_of(model, data, settled(model, data))
    wanted = critical_temperatures(model, data, state, TEMPERATURE)
    assert model.probes(state.params).dense
    monkeypatch.setattr(gtm_curvature, "DENSE", 0)
    assert not model.probes(state.params).dense
    assert critical_temperatures(model, data, state, TEMPERATURE) == pytest.approx(wanted, rel=1e-8)


def test_how_many_modes() -> None:
    def asked(size: int, n_modes: int = 12) -> tuple[int, int, bool]:
        found = probes_of(size, n_modes)
        assert found.components.tolist() == [0]
        return found.n_modes, found.size, found.dense

    assert asked(2) == (1, 2, True)
    assert asked(12) == (11, 12, True)
    assert asked(DENSE) == (12, DENSE, True)
    assert asked(DENSE + 1) == (12, DENSE + 1, False)
    assert asked(DENSE, 1) == (1, DENSE, True)


def test_roots_turn_the_normal_matrix_into_a_multiple_of_one() -> None:
    normals = np.stack([np.cov(np.random.default_rng(n).normal(size=(4, 9))) for n in range(3)])
    roots = root_of(normals, 0.25)
    assert roots.shape == (3, 4, 4)
    for root, normal in zip(roots, normals, strict=True):
        assert root @ normal @ root.T == pytest.approx(4.0 * np.eye(4), abs=1e-8)
        assert (root == root_of(normal, 0.25)).all()


def test_a_map_with_more_functions_than_nodes_has_modes_too() -> None:
    data, model = put(spectrum((4.0, 1.0), 60)), Gtm(LatentGrid((2, 2), (3, 3), 1.0))
    state = state_of(model, data, model.collapsed(data.summary, float))
    found = critical_temperatures(model, data, state, 1.0)
    # Three shapes in each of two directions; what no centre can follow does not count.
    assert found[:3] == pytest.approx([1.6] * 3, rel=1e-6)
    assert found[3:6] == pytest.approx([0.4] * 3, rel=1e-6)
    assert np.abs(found[6:]).max() < 1e-3
