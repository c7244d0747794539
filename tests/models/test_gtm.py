"""The map at one temperature: its objective, its updates, and data that are hard on them."""

import dataclasses
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from isotherm.anneal.engine import NO_RELAXATION, Annealer, Relaxation
from isotherm.anneal.schedule import Fixed
from isotherm.anneal.start import state_of
from isotherm.data.vectors import vector_blocks
from isotherm.errors import IsothermWarning
from isotherm.kernels.cpu.backend import Cpu
from isotherm.kernels.reference import Reference
from isotherm.models.grid import LatentGrid, design
from isotherm.models.gtm import LEAST_NOISE, Gtm, GtmParams, GtmStats, n_apart
from isotherm.placement.local import Local
from support.maps import (
    GRID,
    Array,
    curved,
    energy,
    free_energy,
    likelihood,
    masked,
    opened,
    put,
    responsibilities,
    shaped,
    slopes,
    spectrum,
    squares,
    sums,
)
from support.models import fitted, same, sweep, sweeps

TEMPERATURES = [1.0, 1.6, 3.0]
WHOLE, HOLED = curved(), curved(missing=0.2)
TABLES = pytest.mark.parametrize("table", [WHOLE, HOLED], ids=["whole", "missing"])
KERNELS = pytest.mark.parametrize(
    "kernels", [Cpu("float64"), Reference()], ids=["cpu", "reference"]
)


# The objective


@TABLES
@KERNELS
@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_the_free_energy_is_the_tempered_likelihood(
    table: Array, kernels: Any, temperature: float
) -> None:
    weight = np.random.default_rng(3).uniform(0.2, 3.0, len(table))
    data, model = put(table, weight, kernels), Gtm(GRID, alpha=0.7)
    params = shaped(model, data).params
    wanted = free_energy(
        table, model.centres(params), float(params.noise), temperature, weight
    ) + 0.35 * float((params.weight[:-1] ** 2).sum())
    assert energy(model, data, params, temperature) == pytest.approx(wanted, rel=1e-12)


@TABLES
def test_the_free_energy_is_cost_minus_temperature_times_entropy_at_its_least(
    table: Array,
) -> None:
    temperature, data, model = 1.6, put(table), Gtm(GRID)
    params = shaped(model, data).params
    s, centres = float(params.noise), model.centres(params)
    known = (~np.isnan(table)).sum(axis=1)[:, None]
    # The cost of a pair is -log of (1/K) Normal(x; y, s I).
    costs = squares(table, centres) / (2 * s) + 0.5 * known * np.log(2 * np.pi * s)
    costs += np.log(model.n_components)

    def bound(posterior: Array) -> float:
        entropy = -(posterior * np.log(posterior)).sum()
        return float((posterior * costs).sum() - temperature * entropy)

    found = energy(model, data, params, temperature)
    best = responsibilities(table, centres, s * temperature)
    assert bound(best) == pytest.approx(found, rel=1e-12)
    rng = np.random.default_rng(0)
    for size in (1e-2, 0.1, 1.0):
        other = best * np.exp(size * rng.standard_normal(best.shape))
        other /= other.sum(axis=1, keepdims=True)
        assert bound(other) > found + 1e-4 * size**2
    for scale in (s, 3 * s):
        assert bound(responsibilities(table, centres, scale) + 1e-300) > found + 1.0


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_the_free_energy_of_the_collapsed_state(temperature: float) -> None:
    data, model = put(WHOLE + 5.0), Gtm(GRID, alpha=0.5)
    params = model.collapsed(data.summary, np.float64)
    N, D = WHOLE.shape
    s0 = WHOLE.var(axis=0).sum() / D
    wanted = 0.5 * N * D * (np.log(2 * np.pi * s0) + 1) - (temperature - 1) * N * np.log(9)
    assert energy(model, data, params, temperature) == pytest.approx(wanted, rel=1e-12)
    assert model.centres(params) == pytest.approx(np.tile(WHOLE.mean(axis=0) + 5.0, (9, 1)))
    assert float(params.noise) == pytest.approx(s0, rel=1e-12)
    assert params.mass == pytest.approx(np.full(9, N / 9), rel=1e-12)


@TABLES
@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_gradients_are_those_of_finite_differences(table: Array, temperature: float) -> None:
    data, model = put(table), Gtm(GRID, alpha=0.5)
    params = shaped(model, data).params
    s, centres = float(params.noise), model.centres(params)
    stats = sums(model, data, params, temperature)
    mass = stats.mass if stats.mass.ndim == 2 else stats.mass[:, None]
    pull = (mass * centres - stats.moment) / s
    by_centre = slopes(lambda y: free_energy(table, y, s, temperature), centres)
    assert pull == pytest.approx(by_centre, abs=1e-6)
    penalised = np.append(np.ones(GRID.n_basis - 1), 0.0)[:, None]
    by_weight = slopes(
        lambda w: energy(model, data, params._replace(weight=w), temperature), params.weight
    )
    wanted = design(GRID).T @ pull + 0.5 * penalised * params.weight
    assert wanted == pytest.approx(by_weight, abs=1e-6)
    posterior = responsibilities(table, centres, s * temperature)
    around = float((posterior * squares(table, centres)).sum())
    cells = float((~np.isnan(table)).sum())
    by_noise = slopes(
        lambda noise: energy(model, data, params._replace(noise=noise), temperature), params.noise
    )
    assert (cells * s - around) / (2 * s**2) == pytest.approx(float(by_noise), rel=1e-7)


def test_the_log_likelihood_is_that_of_the_values_that_are_known() -> None:
    data, model = put(HOLED), Gtm(GRID)
    params = shaped(model, data).params
    s, centres = float(params.noise), model.centres(params)
    total = 0.0
    for row in HOLED:
        known = ~np.isnan(row)
        parts = [
            multivariate_normal(y[known], s * np.eye(known.sum())).pdf(row[known]) for y in centres
        ]
        total += np.log(np.mean(parts))
    assert likelihood(model, data, params) == pytest.approx(total, rel=1e-10)
    assert likelihood(model, data, params) == pytest.approx(
        -energy(model, data, params, 1.0), rel=1e-12
    )


def test_a_row_without_any_value_says_nothing() -> None:
    table = np.vstack([HOLED, np.full((2, 3), np.nan)])
    model = Gtm(GRID, alpha=0.1)
    with_it, without = put(table), put(HOLED)
    state = shaped(model, without)
    assert likelihood(model, with_it, state.params) == pytest.approx(
        likelihood(model, without, state.params), rel=1e-12
    )
    # The masses of such rows are empty as well: the updates are the same.
    left, right = sweep(model, with_it, state, 1.3)[0], sweep(model, without, state, 1.3)[0]
    assert same(left.params, right.params)


# The updates


@TABLES
@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_a_sweep_never_raises_the_objective(table: Array, alpha: float, temperature: float) -> None:
    data, model = put(table), Gtm(GRID, alpha=alpha)
    for state in (shaped(model, data), opened(model, data)):
        after, energies = sweeps(model, data, state, temperature, 60)
        assert np.diff(energies).max() <= 1e-9
        assert energies[-1] < energies[0] - 0.3
        # What the sweep reports is the objective of the parameters it leaves.
        assert energies[-1] == pytest.approx(energy(model, data, after.params, temperature))


@TABLES
def test_each_of_the_two_updates_lowers_the_objective_alone(table: Array) -> None:
    data, model = put(table), Gtm(GRID, alpha=0.5)
    before = shaped(model, data).params
    after = sweep(model, data, shaped(model, data), 1.6)[0].params
    only_weight = before._replace(weight=after.weight)
    values = [energy(model, data, params, 1.6) for params in (before, only_weight, after)]
    assert values[0] > values[1] > values[2]


@TABLES
@KERNELS
def test_the_update_is_the_textbook_one(table: Array, kernels: Any) -> None:
    alpha, temperature = 0.5, 1.6
    weight = np.random.default_rng(3).uniform(0.2, 3.0, len(table))
    data, model = put(table, weight, kernels), Gtm(GRID, alpha=alpha)
    state = shaped(model, data)
    s, phi = float(state.params.noise), design(GRID)
    posterior = responsibilities(table, model.centres(state.params), s * temperature)
    posterior *= weight[:, None]
    known = ~np.isnan(table)
    penalty = alpha * s * np.diag([1.0, 1.0, 1.0, 1.0, 0.0])
    solved = np.empty_like(state.params.weight)
    for d in range(3):
        rows = known[:, d]
        mass = posterior[rows].sum(axis=0)
        normal = phi.T @ np.diag(mass) @ phi + penalty
        solved[:, d] = np.linalg.solve(normal, phi.T @ posterior[rows].T @ table[rows, d])
    after = sweep(model, data, state, temperature)[0].params
    assert after.weight == pytest.approx(solved, rel=1e-9)
    noise = (posterior * squares(table, phi @ solved)).sum() / (weight @ known).sum()
    assert float(after.noise) == pytest.approx(noise, rel=1e-10)
    assert float(after.scale) == pytest.approx(data.summary.noise, rel=1e-14)
    shape = (9, 3) if np.isnan(table).any() else (9,)
    assert after.mass.shape == shape
    assert after.mass.sum(axis=0) == pytest.approx(
        (weight @ known) if len(shape) == 2 else weight.sum(), rel=1e-12
    )


@TABLES
@pytest.mark.parametrize("temperature", [1.0, 1.6])
def test_the_gradient_vanishes_at_convergence(table: Array, temperature: float) -> None:
    data, model = put(table), Gtm(GRID, alpha=0.5)
    state, _ = sweeps(model, data, shaped(model, data), temperature, 1500)
    params = state.params

    def at(**changes: Any) -> float:
        return energy(model, data, params._replace(**changes), temperature)

    by_weight = slopes(lambda w: at(weight=w), params.weight)
    by_noise = slopes(lambda s: at(noise=s), params.noise, 1e-6)
    assert np.abs(by_weight).max() < 2e-5
    assert np.abs(by_noise).max() < 1e-5
    # Not because nothing moves: the start was far from there.
    assert energy(model, data, shaped(model, data).params, temperature) > at() + 10.0


def test_noise_that_is_held_stays() -> None:
    data, model = put(WHOLE), Gtm(GRID, alpha=0.5, noise=0.3)
    state = opened(model, data)
    assert float(state.params.noise) == 0.3
    after, energies = sweeps(model, data, state, 1.2, 30)
    assert float(after.params.noise) == 0.3
    assert np.diff(energies).max() <= 1e-9


def test_the_bias_is_not_penalised() -> None:
    data, model = put(WHOLE), Gtm(GRID, alpha=2.0)
    params = shaped(model, data).params
    moved = params.weight.copy()
    moved[-1] += 100.0
    assert model.prior_energy(params._replace(weight=moved), data.summary) == pytest.approx(
        float((params.weight[:-1] ** 2).sum()), rel=1e-12
    )
    after, extra = model.maximize(sums(model, data, params, 1.0), params, 1.0, data.kernels)
    assert extra == model.prior_energy(after, data.summary) > 0


# Blocks, weights, missing values, precision


@TABLES
@pytest.mark.parametrize("rows_per_block", [7, 64])
def test_any_blocks_give_the_same_answer(table: Array, rows_per_block: int) -> None:
    model, weight = Gtm(GRID, alpha=0.1), np.linspace(0.5, 2.0, len(table))
    whole, cut = put(table, weight), put(table, weight, rows_per_block=rows_per_block)
    assert len(cut.blocks) == -(-len(table) // rows_per_block)
    left, left_energies = sweeps(model, whole, opened(model, whole), 1.3, 15)
    right, right_energies = sweeps(model, cut, opened(model, cut), 1.3, 15)
    assert same(left.params, right.params, rtol=1e-9)
    assert left_energies == pytest.approx(right_energies, rel=1e-11)


@TABLES
def test_a_row_of_weight_two_is_two_rows_and_one_of_weight_zero_none(table: Array) -> None:
    model, times = Gtm(GRID, alpha=0.1), np.arange(len(table)) % 3
    weighted, repeated = put(table, times), put(np.repeat(table, times, axis=0))
    left, left_energies = sweeps(model, weighted, opened(model, weighted), 1.3, 25)
    right, right_energies = sweeps(model, repeated, opened(model, repeated), 1.3, 25)
    assert same(left.params, right.params, rtol=1e-9)
    assert left_energies == pytest.approx(right_energies, rel=1e-11)


@pytest.mark.parametrize("relaxation", [NO_RELAXATION, Relaxation()], ids=["plain", "relaxed"])
def test_a_mask_that_hides_nothing_changes_nothing(relaxation: Relaxation) -> None:
    model, plain, hidden = Gtm(GRID, alpha=0.1), put(WHOLE), masked(WHOLE)
    left, left_heard = fitted(model, plain, opened(model, plain), 1.2, 40, relaxation)
    right, right_heard = fitted(model, hidden, opened(model, hidden), 1.2, 40, relaxation)
    assert left_heard == pytest.approx(right_heard, rel=1e-11)
    assert left.state.params.weight == pytest.approx(right.state.params.weight, rel=1e-8)
    assert right.state.params.mass == pytest.approx(
        np.repeat(left.state.params.mass[:, None], 3, axis=1), rel=1e-8
    )


@TABLES
def test_single_precision_finds_the_same_objective(table: Array) -> None:
    model, double, single = Gtm(GRID, alpha=0.1), put(table), put(table, None, Cpu("float32"))
    left, left_energies = sweeps(model, double, opened(model, double), 1.2, 60)
    right, right_energies = sweeps(model, single, opened(model, double), 1.2, 60)
    assert left_energies == pytest.approx(right_energies, rel=1e-5)
    assert right.params.weight.dtype == np.float64
    assert energy(model, double, right.params, 1.2) == pytest.approx(
        energy(model, double, left.params, 1.2), rel=1e-6
    )


# Over-relaxation


@TABLES
@pytest.mark.parametrize("temperature", [1.0, 1.5])
def test_relaxed_steps_end_where_plain_ones_do_and_sooner(table: Array, temperature: float) -> None:
    data, model = put(table), Gtm(GRID, alpha=0.5)
    start = opened(model, data, 0.5)
    plain, _ = fitted(model, data, start, temperature, 3000, tol=1e-11)
    quick, _ = fitted(model, data, start, temperature, 3000, Relaxation(), tol=1e-11)
    assert plain.trace[-1].converged
    assert quick.trace[-1].converged
    assert quick.trace[-1].sweeps < plain.trace[-1].sweeps
    reached = energy(model, data, quick.state.params, temperature)
    wanted = energy(model, data, plain.state.params, temperature)
    assert reached <= wanted + 1e-7
    assert reached == pytest.approx(wanted, abs=1e-5)
    assert model.centres(quick.state.params) == pytest.approx(
        model.centres(plain.state.params), abs=1e-3
    )


def test_a_relaxed_step_never_leaves_the_noise_below_half_of_what_em_says() -> None:
    data, model = put(WHOLE), Gtm(GRID)
    reached = sweep(model, data, shaped(model, data), 1.0)[0].params
    low = reached._replace(noise=np.asarray(-1.0), mass=-reached.mass)
    valid = model.project(low, reached)
    assert float(valid.noise) == 0.5 * float(reached.noise)
    assert (valid.mass == reached.mass).all()
    high = reached._replace(noise=2.0 * reached.noise)
    assert float(model.project(high, reached).noise) == float(high.noise)
    assert (model.project(high, reached).weight == reached.weight).all()


# Data and grids that are hard on the updates


def test_nodes_without_points_do_no_harm() -> None:
    # Narrow functions, one for each node: two stay near the data while the rest is far away.
    data, model = put(WHOLE), Gtm(LatentGrid((3, 3), (3, 3), 0.3))
    centres = np.tile([1e4, 1e4, 1e4], (9, 1))
    centres[:2] = [[-1.0, 0.0, 0.5], [1.0, 0.0, 0.5]]
    params = model.with_weight(model.fitted(centres - WHOLE.mean(axis=0)), data.summary)
    assert model.centres(params) == pytest.approx(centres, abs=1e-9)
    stats = sums(model, data, params, 1.0)
    assert (stats.mass[2:] < 1e-290).all()
    assert stats.mass[:2].sum() == pytest.approx(len(WHOLE))
    state, energies = sweeps(model, data, state_of(model, data, params), 1.0, 20)
    assert np.isfinite(state.params.weight).all()
    assert np.diff(energies).max() <= 1e-6
    assert energies[-1] < energies[0]


def test_one_live_node_is_solved_with_a_ridge() -> None:
    model = Gtm(GRID)
    mass, moment = np.zeros(9), np.zeros((9, 3))
    mass[4], moment[4] = 150.0, WHOLE.sum(axis=0)
    data = put(WHOLE)
    stats = GtmStats(mass, moment, np.asarray((WHOLE**2).sum()), np.full(3, 150.0))
    params, _ = model.maximize(stats, shaped(model, data).params, 1.0, data.kernels)
    assert model.centres(params)[4] == pytest.approx(WHOLE.mean(axis=0), rel=1e-6)
    assert float(params.noise) == pytest.approx(WHOLE.var(axis=0).mean(), rel=1e-6)


def test_no_mass_at_all_is_solved_by_least_squares() -> None:
    # A column of which nothing is known has an empty system of its own.
    table = WHOLE.copy()
    table[:, 2] = np.nan
    data, model = put(table), Gtm(GRID)
    state, energies = sweeps(model, data, opened(model, data), 1.3, 20)
    assert (state.params.mass[:, 2] == 0).all()
    assert (state.params.weight[:, 2] == 0).all()
    other = put(WHOLE[:, :2])
    start = state_of(
        model,
        other,
        model.with_weight(
            model.sheet(3, 0.1 * np.sqrt(other.summary.noise), np.random.default_rng(0))[:, :2],
            other.summary,
        ),
    )
    alone, wanted = sweeps(model, other, start, 1.3, 20)
    assert state.params.weight[:, :2] == pytest.approx(alone.params.weight, rel=1e-7)
    assert energies == pytest.approx(wanted, rel=1e-11)


@TABLES
def test_more_basis_functions_than_nodes(table: Array) -> None:
    data, model = put(table), Gtm(LatentGrid((2, 2), (3, 3), 1.0))
    assert model.grid.n_basis > model.n_components
    state, energies = sweeps(model, data, opened(model, data, 0.5), 1.0, 60)
    assert np.diff(energies).max() <= 1e-6
    # With as many functions as nodes the centres are free: each is the mean of its points.
    stats = sums(model, data, state.params, 1.0)
    mass = stats.mass if stats.mass.ndim == 2 else stats.mass[:, None]
    state, _ = sweep(model, data, state, 1.0)
    assert model.centres(state.params) == pytest.approx(stats.moment / mass, abs=1e-6)


def test_duplicate_points_and_centres() -> None:
    values = np.repeat(WHOLE[:20, :2], 5, axis=0)
    data, model = put(values), Gtm(GRID, alpha=0.1)
    # At the collapsed state all centres are one, and EM leaves them there.
    state, energies = sweeps(
        model, data, state_of(model, data, model.collapsed(data.summary, float)), 1.0, 10
    )
    assert model.centres(state.params) == pytest.approx(np.tile(values.mean(axis=0), (9, 1)))
    assert energies == pytest.approx([energies[0]] * 11, rel=1e-12)
    # A sheet folded in the middle: two nodes at one place share their points.
    half = np.random.default_rng(0).standard_normal((2, 2))
    params = model.with_weight(np.vstack([half, half, np.zeros((1, 2))]), data.summary)
    centres = model.centres(params).reshape(3, 3, 2)
    assert centres[0] == pytest.approx(centres[2], rel=1e-12)
    folded, energies = sweeps(model, data, state_of(model, data, params), 1.0, 20)
    mass = folded.params.mass.reshape(3, 3)
    assert mass[0] == pytest.approx(mass[2], rel=1e-9)
    assert mass.max() - mass.min() > 1e-3
    assert np.diff(energies).max() <= 1e-9


def test_a_constant_column_keeps_its_value() -> None:
    values = np.column_stack([WHOLE, np.full(len(WHOLE), 7.0)])
    data, model = put(values), Gtm(GRID, alpha=0.1)
    state, energies = sweeps(model, data, shaped(model, data), 1.0, 40)
    assert model.centres(state.params)[:, 3] == pytest.approx(np.full(9, 7.0), rel=1e-7)
    assert np.diff(energies).max() <= 1e-8


def test_fewer_points_than_nodes_clamp_the_noise_and_warn() -> None:
    values = WHOLE[:4] - WHOLE[:4].mean(axis=0)
    data, model = put(values), Gtm(LatentGrid((3, 3), (3, 3), 1.0))
    with pytest.warns(IsothermWarning, match="noise variance of the map fell to zero"):
        state, energies = sweeps(model, data, opened(model, data, 1.0), 1.0, 60)
    s0 = values.var(axis=0).mean()
    assert float(state.params.noise) == pytest.approx(LEAST_NOISE * s0, rel=1e-12)
    assert np.isfinite(energies).all()
    assert np.isfinite(state.params.weight).all()
    # Every point has a centre of its own.
    nearest = squares(values, model.centres(state.params)).min(axis=1)
    assert nearest.max() < 1e-8 * s0


def test_enough_points_do_not_warn() -> None:
    data, model = put(WHOLE), Gtm(GRID, alpha=0.1)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        sweeps(model, data, opened(model, data), 1.0, 60)
    assert heard == []


def test_far_outliers_are_no_trouble() -> None:
    data, model = put(np.vstack([WHOLE, [[1e6, 0.0, 0.0], [-1e6, 1e6, 0.0]]])), Gtm(GRID, 1e-8)
    state = opened(model, data)
    small = state.params._replace(noise=np.asarray(1e-3))
    assert np.isfinite(likelihood(model, data, small))
    state, energies = sweeps(model, data, state, 1.0, 20)
    assert np.isfinite(energies).all()
    assert np.isfinite(state.params.weight).all()


def test_a_large_mean_costs_few_digits() -> None:
    model, near, far = Gtm(GRID, alpha=0.1), put(WHOLE), put(WHOLE + 1e4)
    left, left_energies = sweeps(model, near, opened(model, near), 1.3, 30)
    right, right_energies = sweeps(model, far, opened(model, far), 1.3, 30)
    assert left_energies == pytest.approx(right_energies, rel=1e-5)
    assert model.centres(right.params) - 1e4 == pytest.approx(model.centres(left.params), abs=1e-3)


# Small parts


def test_weights_of_given_centres() -> None:
    model = Gtm(GRID)
    weight = np.random.default_rng(0).standard_normal((5, 3))
    assert model.fitted(design(GRID) @ weight) == pytest.approx(weight, rel=1e-9)
    # Centres out of reach are met as nearly as least squares can.
    centres = np.random.default_rng(1).standard_normal((9, 3))
    left = centres - design(GRID) @ model.fitted(centres)
    assert design(GRID).T @ left == pytest.approx(np.zeros((5, 3)), abs=1e-10)


def test_a_sheet_has_its_size_and_is_flat() -> None:
    model = Gtm(LatentGrid((8, 8), (4, 4)))
    heights = design(model.grid) @ model.sheet(3, 0.1, np.random.default_rng(0))
    wanted = np.random.default_rng(0).standard_normal((2, 3))
    assert heights.std(axis=0) == pytest.approx(0.1 * np.linalg.norm(wanted, axis=0), rel=0.03)
    sides = model.grid.nodes / model.grid.nodes.std(axis=0)
    assert heights == pytest.approx(0.1 * sides @ wanted, abs=0.02)
    again = model.sheet(3, 0.1, np.random.default_rng(0))
    assert (design(model.grid) @ again == heights).all()


def test_the_spread_is_the_largest_of_the_columns() -> None:
    data, model = put(WHOLE), Gtm(GRID)
    assert model.spread(model.collapsed(data.summary, float)) == pytest.approx(0.0, abs=1e-12)
    params = shaped(model, data).params
    centres = design(GRID) @ params.weight
    wanted = np.sqrt(((centres - centres.mean(axis=0)) ** 2).mean(axis=0)).max()
    assert model.spread(params) == pytest.approx(wanted, rel=1e-12)


def test_centres_apart_are_counted() -> None:
    centres = np.array([[0.0, 0.0], [0.05, 0.0], [1.0, 0.0], [1.0, 0.09], [1.0, 0.18], [5.0, 5.0]])
    assert n_apart(centres, 0.1) == 4
    assert n_apart(centres, 1e-6) == 6
    assert n_apart(centres, 100.0) == 1
    data, model = put(WHOLE), Gtm(GRID)
    assert model.sizes(model.collapsed(data.summary, float)) == (9, 1)
    spread = opened(model, data, 2.0).params
    assert model.sizes(spread) == (9, 9)


def test_a_start_with_missing_values_counts_the_known_ones() -> None:
    data, model = put(HOLED), Gtm(GRID)
    params = model.with_weight(np.ones((5, 3)), data.summary)
    known = (~np.isnan(HOLED)).sum(axis=0)
    assert params.mass == pytest.approx(np.tile(known / 9, (9, 1)), rel=1e-12)
    assert params.weight[-1] == pytest.approx(1.0 + np.nanmean(HOLED, axis=0), rel=1e-12)
    assert (params.weight[:-1] == 1.0).all()
    s0 = np.nansum((HOLED - np.nanmean(HOLED, axis=0)) ** 2) / known.sum()
    assert float(params.scale) == float(params.noise) == pytest.approx(s0, rel=1e-12)


def test_a_start_leaves_the_given_weights_alone() -> None:
    data, model, weight = put(WHOLE + 3.0), Gtm(GRID), np.zeros((5, 3))
    params = model.with_weight(weight, data.summary)
    assert isinstance(params, GtmParams)
    assert (weight == 0).all()
    assert (params.weight[-1] != 0).all()


def test_what_the_engine_is_told() -> None:
    model = Gtm(LatentGrid((4, 3), (2, 2)), alpha=0.1)
    data = put(spectrum((2.0, 1.0), 20))
    params = model.collapsed(data.summary, float)
    assert (model.n_components, model.zero_temperature) == (12, 0.0)
    assert model.hot() == dataclasses.replace(model, n_modes=1)
    assert not model.rows_are_parameters
    probes = model.probes(params)
    assert (probes.components.tolist(), probes.n_modes, probes.size) == ([0], 9, 10)
    assert probes.dense
    assert model.critical_temperature(3.0) == 9.0


def test_gaps_in_rows_of_no_weight_are_gaps_all_the_same() -> None:
    rng = np.random.default_rng(4)
    values = rng.normal(size=(40, 3))
    values[:2, 0] = np.nan
    weight = np.ones(40)
    weight[:2] = 0.0
    model = Gtm(LatentGrid((3, 3), (2, 2)), 0.1)
    data = Local(vector_blocks(values, weight), Cpu("float64"))
    begin = state_of(model, data, model.with_weight(model.sheet(3, 0.1, rng), data.summary))
    assert begin.params.mass.shape == (9, 3)
    annealer = Annealer(Fixed(1.0), relaxation=Relaxation(first=1.5), max_sweeps=300)
    fit = annealer.run(model, data, rng, state=begin)
    whole = Local(vector_blocks(values[2:]), Cpu("float64"))
    begin = begin._replace(params=begin.params._replace(mass=begin.params.mass[:, 0]))
    plain = annealer.run(model, whole, rng, state=begin)
    np.testing.assert_allclose(fit.state.params.weight, plain.state.params.weight, atol=1e-8)
