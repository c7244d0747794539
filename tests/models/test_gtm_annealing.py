"""The map while it cools: where it opens, how it goes on, and what the path does not depend on."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.optimize import brentq
from scipy.special import ndtri

from isotherm.anneal.critical import component_split, critical_temperatures, first_critical
from isotherm.anneal.engine import NO_RELAXATION, Annealer, Relaxation
from isotherm.anneal.schedule import Adaptive, Exponential, Fixed, Schedule
from isotherm.anneal.start import state_of
from isotherm.anneal.trace import Fit, State
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.grid import LatentGrid, design
from isotherm.models.gtm import FLAT, Gtm
from isotherm.models.gtm_curvature import root_of
from isotherm.placement.local import Local
from support.maps import Array, curved, energy, masked, opened, put, responsibilities, spectrum
from support.models import sweep, sweeps

FIVE = (4.0, 2.0, 1.0, 0.5, 0.25)
DATA = put(spectrum(FIVE, 300))
NINE = LatentGrid((5, 5), (3, 3), 1.0)
TC = 2.580645
# Two nodes with functions of their own: the smallest map there is.
PAIR = LatentGrid((2,), (2,), 1.0)
EIGHT = np.array((4.0, 2.0, 0.8, 0.5, 0.3, 0.2, 0.1, 0.1))


def normal_rows(eigenvalues: Any, n_rows: int) -> Array:
    """As `spectrum`, but with the quantiles of a normal along the first axis: no kurtosis."""
    values = np.random.default_rng(0).standard_normal((n_rows, len(eigenvalues)))
    values[:, 0] = ndtri((np.arange(n_rows) + 0.5) / n_rows)
    values -= values.mean(axis=0)
    first = np.linalg.qr(values)[0] * np.sqrt(n_rows)
    return np.asarray(first * np.sign(first[-1]) * np.sqrt(eigenvalues))


def variances(model: Gtm, state: State) -> Array:
    """Variances of the centres along their principal directions, largest first."""
    centres = model.centres(state.params)
    return np.linalg.eigvalsh(np.cov(centres.T, bias=True))[::-1]


def annealed(
    model: Gtm,
    data: Local,
    state: State,
    schedule: Schedule,
    noise: float = 0.0,
    relaxation: Relaxation = NO_RELAXATION,
) -> Fit:
    annealer = Annealer(schedule, relaxation, noise=noise, tol=1e-6, max_sweeps=40)
    return annealer.run(model, data, np.random.default_rng(0), state=state)


# The first critical temperature


@pytest.mark.parametrize(
    ("alpha", "wanted"), [(0.0, 2.580645), (1.0, 2.534682), (10.0, 2.184510), (100.0, 0.917275)]
)
def test_the_first_critical_temperature_is_the_known_one(alpha: float, wanted: float) -> None:
    model = Gtm(NINE, alpha=alpha)
    assert DATA.summary.noise == pytest.approx(1.55, rel=1e-12)
    assert first_critical(model, DATA) == pytest.approx(wanted, abs=6e-7)
    phi, K = design(NINE), 25
    inside = phi.T @ (np.eye(K) - 1 / K) @ phi
    penalty = (alpha * K * 1.55 / 300) * np.diag(np.append(np.ones(9), 0.0))
    mu = eigh(inside, phi.T @ phi + penalty, eigvals_only=True)[-1]
    assert first_critical(model, DATA) == pytest.approx(mu * 4.0 / 1.55, rel=1e-8)


@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_the_closed_form_holds_for_any_data(alpha: float) -> None:
    values = curved(80, seed=4) + 3.0
    weight = np.random.default_rng(0).uniform(0.2, 3.0, 80)
    covariance = np.cov(values.T, aweights=weight, bias=True)
    s0, largest = np.trace(covariance) / 3, np.linalg.eigvalsh(covariance)[-1]
    phi, K = design(NINE), 25
    inside = phi.T @ (np.eye(K) - 1 / K) @ phi
    penalty = (alpha * K * s0 / weight.sum()) * np.diag(np.append(np.ones(9), 0.0))
    mu = eigh(inside, phi.T @ phi + penalty, eigvals_only=True)[-1]
    for data in (put(values, weight), put(values, weight, rows_per_block=13)):
        found = first_critical(Gtm(NINE, alpha=alpha), data)
        assert found == pytest.approx(mu * largest / s0, rel=1e-8)


@pytest.mark.parametrize(("noise", "wanted"), [(0.5, 8.0), (3.0, 4.0 / 3.0)])
def test_noise_that_is_held_moves_it(noise: float, wanted: float) -> None:
    assert first_critical(Gtm(NINE, noise=noise), DATA) == pytest.approx(wanted, rel=1e-8)


@pytest.mark.parametrize("basis", [(1, 1), (3, 3), (4, 4)], ids=["2", "10", "17"])
def test_without_a_prior_the_basis_does_not_matter(basis: tuple[int, int]) -> None:
    grid = LatentGrid((5, 5), basis, 1.0)
    assert np.linalg.matrix_rank(design(grid)) == grid.n_basis
    assert first_critical(Gtm(grid), DATA) == pytest.approx(TC, abs=6e-7)
    with_prior = first_critical(Gtm(grid, alpha=10.0), DATA)
    assert with_prior < TC - 0.1
    # All latent shapes become unstable together.
    state = state_of(Gtm(grid), DATA, Gtm(grid).collapsed(DATA.summary, float))
    found = critical_temperatures(Gtm(grid), DATA, state, 1.0)
    shapes = min(len(found), grid.n_basis - 1)
    assert found[:shapes] == pytest.approx([TC] * shapes, rel=1e-5)
    assert found[shapes:] == pytest.approx(found[shapes:].clip(0.0, 0.6 * TC))


def test_isotropic_and_one_hot_data_have_nothing_to_anneal() -> None:
    round_data = put(spectrum((0.7, 0.7, 0.7), 50))
    assert first_critical(Gtm(NINE), round_data) == pytest.approx(1.0, abs=1e-8)
    for n_classes in (2, 3, 6):
        one_hot = put(np.eye(n_classes).repeat(5, axis=0))
        wanted = n_classes / (n_classes - 1)
        assert first_critical(Gtm(NINE), one_hot) == pytest.approx(wanted, rel=1e-8)


def test_it_lies_between_one_and_the_number_of_columns() -> None:
    line = np.linspace(-1.0, 1.0, 30)[:, None] * [1.0, 2.0, -3.0, 0.5]
    assert first_critical(Gtm(NINE), put(line)) == pytest.approx(4.0, rel=1e-8)
    for seed in range(5):
        values = np.random.default_rng(seed).standard_normal((20, 4))
        assert 1.0 < first_critical(Gtm(NINE), put(values)) < 4.0


def test_blocks_masks_and_precision_do_not_move_it() -> None:
    values = curved(60)
    for alpha in (0.0, 0.5):
        model = Gtm(NINE, alpha=alpha)
        wanted = first_critical(model, put(values))
        assert first_critical(model, put(values, rows_per_block=7)) == pytest.approx(wanted)
        assert first_critical(model, masked(values)) == pytest.approx(wanted, rel=1e-9)
        single = put(values, None, Cpu("float32"))
        assert first_critical(model, single) == pytest.approx(wanted, rel=1e-5)
        doubled = put(np.repeat(values, 2, axis=0))
        assert first_critical(model, put(values, np.full(60, 2.0))) == pytest.approx(
            first_critical(model, doubled), rel=1e-9
        )


def test_missing_values_leave_it_where_the_known_ones_say() -> None:
    # Two columns never known together: each direction has its own variance and its own share.
    values = np.full((80, 2), np.nan)
    values[:50, 0], values[50:, 1] = 2.0 * np.sign(np.arange(50) - 24.5), np.tile([1.0, -1.0], 15)
    data = put(values)
    s0 = (50 * 4.0 + 30 * 1.0) / 80
    assert data.summary.noise == pytest.approx(s0, rel=1e-12)
    assert first_critical(Gtm(NINE), data) == pytest.approx(4.0 / s0, rel=1e-8)


@pytest.mark.parametrize("scaled", [False, True], ids=["raw", "standardised"])
def test_the_first_critical_temperature_of_oil_flow(shared_data: Path, scaled: bool) -> None:
    values = np.loadtxt(shared_data / "oil-flow" / "train.csv.gz", delimiter=",")
    wanted = 4.644170
    if scaled:
        values, wanted = values / values.std(axis=0), 5.267866
    found = first_critical(Gtm(LatentGrid((6, 6), (2, 2))), put(values, rows_per_block=400))
    assert found == pytest.approx(wanted, abs=6e-7)


@pytest.mark.parametrize(("ratio", "factor"), [(1.0, 1.0), (1.5, 0.666667), (0.7, 1.428571)])
@pytest.mark.parametrize("alpha", [0.0, 10.0])
def test_em_multiplies_a_small_wave_by_the_ratio_of_temperatures(
    alpha: float, ratio: float, factor: float
) -> None:
    model = Gtm(NINE, alpha=alpha)
    start = state_of(model, DATA, model.collapsed(DATA.summary, float))
    split = component_split(model, DATA, start, 1.0, 0)
    roots = root_of(model._normal(design(NINE), start.params.mass, 1.55), 1.55)
    wave = (roots.T @ split.direction.reshape(10, 5)) * np.sqrt(300.0)
    small = start.params._replace(weight=start.params.weight + 1e-6 * wave)
    state = state_of(model, DATA, small)
    after, _ = sweep(model, DATA, state, ratio * split.temperature)
    before = model.centres(small) - model.centres(start.params)
    reached = model.centres(after.params) - model.centres(start.params)
    growth = float((reached * before).sum() / (before**2).sum())
    assert growth == pytest.approx(1.0 / ratio, abs=1e-8)
    assert growth == pytest.approx(factor, abs=6e-7)
    assert reached == pytest.approx(growth * before, abs=1e-7 * np.abs(before).max())


def test_local_tests_at_the_collapsed_state() -> None:
    values, model = spectrum(FIVE, 300), Gtm(NINE)
    params = model.collapsed(DATA.summary, float)
    K, s = 25, float(params.noise)
    posterior, _ = DATA.kernels.node_posterior(DATA.blocks[0], model.centres(params), 2.0 * s)
    assert posterior == pytest.approx(np.full((300, K), 1 / K), rel=1e-9)
    gaps = values - model.centres(params)[0]
    mass = posterior[:, 0].sum()
    split = gaps.T @ (posterior[:, :1] * gaps)
    shift = split - gaps.T @ (posterior[:, :1] ** 2 * gaps)
    critical = first_critical(model, DATA)
    assert np.linalg.eigvalsh(split)[-1] / (mass * s) == pytest.approx(critical, rel=1e-8)
    assert np.linalg.eigvalsh(shift)[-1] / (mass * s) == pytest.approx(
        critical * (1 - 1 / K), rel=1e-8
    )


# The first transition


@pytest.mark.parametrize("alpha", [0.0, 5.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_map_is_closed_above_and_open_below(alpha: float, seed: int) -> None:
    model = Gtm(NINE, alpha=alpha)
    critical = first_critical(model, DATA)
    start = opened(model, DATA, seed=seed)
    above, _ = sweeps(model, DATA, start, 1.02 * critical, 500)
    below, _ = sweeps(model, DATA, start, 0.95 * critical, 500)
    assert model.spread(above.params) < 1e-3 * np.sqrt(1.55)
    assert model.sizes(above.params)[1] == 1
    assert model.spread(below.params) > 0.1 * np.sqrt(4.0)
    assert model.sizes(below.params)[1] > 2
    # It opens along the first axis.
    spread = model.centres(below.params).std(axis=0)
    assert spread[0] > 5 * spread[1:].max()


@pytest.mark.parametrize("noise", [None, 0.5], ids=["free", "held"])
def test_two_nodes_open_as_far_as_the_integral_says(noise: float | None) -> None:
    # y = E[x tanh(x y / (s T))] for a normal x, with s = (trace - y^2) / D unless it is held.
    x, w = np.polynomial.hermite_e.hermegauss(200)
    w = w / w.sum()
    temperature = 0.95 * 2.0

    def gap(y: float) -> float:
        s = (1.5 - y * y) / 3 if noise is None else noise
        return float(w @ (x * np.tanh(x * y / (s * temperature))) - y)

    wanted = brentq(gap, 0.05, 0.9) ** 2
    assert wanted == pytest.approx(0.1328 if noise is None else 0.0499, abs=1e-4)
    data, model = put(normal_rows((1.0, 0.25, 0.25), 2000)), Gtm(PAIR, noise=noise)
    assert first_critical(model, data) == pytest.approx(2.0, rel=1e-8)
    state, _ = sweeps(model, data, opened(model, data), temperature, 300)
    assert variances(model, state)[0] == pytest.approx(wanted, rel=0.02)


def two_spikes() -> Local:
    sides = np.tile([1.0, -1.0], 200)[:, None]
    return put(np.hstack([sides, 0.3 * spectrum((1.0, 1.0, 1.0), 400)]))


def test_two_spikes_open_at_a_jump_and_stay_open_when_heated() -> None:
    data, model = two_spikes(), Gtm(PAIR)
    critical = first_critical(model, data)
    cold, _ = sweeps(model, data, opened(model, data), 0.99 * critical, 300)
    assert variances(model, cold)[0] > 0.97
    heated, _ = sweeps(model, data, cold, 1.2 * critical, 300)
    assert variances(model, heated)[0] > 0.97
    # At the same temperature a small sheet closes: both states are stable.
    fresh, _ = sweeps(model, data, opened(model, data), 1.2 * critical, 300)
    assert variances(model, fresh)[0] < 1e-9
    for state in (heated, fresh):
        assert critical_temperatures(model, data, state, 1.2 * critical)[0] < 1.2 * critical


def test_with_noise_held_two_spikes_open_smoothly() -> None:
    data = two_spikes()
    model = Gtm(PAIR, noise=data.summary.noise)
    critical = first_critical(model, data)
    spreads = []
    for ratio in (1.2, 0.99, 0.97, 0.9):
        state, _ = sweeps(model, data, opened(model, data, 1.0), ratio * critical, 600)
        spreads.append(float(variances(model, state)[0]))
    assert spreads[0] < 1e-6
    assert 0.01 < spreads[1] < 0.05 < spreads[2] < 0.12 < spreads[3] < 0.4


# After it


def test_the_noise_follows_the_directions_that_are_left() -> None:
    data, model = put(normal_rows(EIGHT, 2000)), Gtm(LatentGrid((12,), (5,), 1.0))
    assert first_critical(model, data) == pytest.approx(4.0, rel=1e-8)
    state = opened(model, data, 1.0)
    for temperature in (3.4, 3.0, 2.8):
        state, _ = sweeps(model, data, state, temperature, 150)
        wanted = EIGHT[1:].sum() / (8 - temperature)
        assert float(state.params.noise) == pytest.approx(wanted, rel=3e-3)


def test_the_second_transition_comes_where_shrinking_noise_puts_it() -> None:
    data = put(spectrum(EIGHT, 1000))
    second = 8 * EIGHT[1] / (EIGHT[1:].sum() + EIGHT[1])
    assert second == pytest.approx(2.667, abs=1e-3)
    grid, found = LatentGrid((7, 7), (3, 3), 1.0), {}
    for noise in (None, 1.0):
        model = Gtm(grid, alpha=1e-3, noise=noise)
        state = opened(model, data)
        for temperature in (3.8, 3.2, 2.9, 2.45):
            state, _ = sweeps(model, data, state, temperature, 120)
            found[noise, temperature] = variances(model, state)
    # s0 = 1, held, would let it wait until T = 2.
    assert found[None, 2.9][1] < 0.05
    assert found[None, 2.45][1] > 0.25
    assert found[1.0, 2.45][1] < 0.05
    assert found[None, 2.45][2] < 0.05
    for noise in (None, 1.0):
        assert found[noise, 2.9][0] > 0.5


# Cooling


def test_a_flat_map_is_opened_again_and_an_open_one_left_alone() -> None:
    model = Gtm(NINE)
    flat = opened(model, DATA, 1e-4).params
    shaken = model.perturb(flat, np.random.default_rng(3), 0.1)
    sheet = model.sheet(5, 0.1 * np.sqrt(1.55), np.random.default_rng(3))
    assert shaken.weight == pytest.approx(flat.weight + sheet, rel=1e-12)
    assert (float(shaken.noise), shaken.mass.tolist()) == (float(flat.noise), flat.mass.tolist())
    assert model.spread(shaken) > FLAT * np.sqrt(1.55)
    assert model.perturb(shaken, np.random.default_rng(4), 0.1) is shaken
    # The limit is one of spread, whatever the shape.
    edge = opened(model, DATA, 1.0).params
    limit = FLAT * np.sqrt(1.55) / model.spread(edge)
    for factor, kept in ((0.99 * limit, False), (1.01 * limit, True)):
        sized = edge._replace(weight=factor * edge.weight)
        assert (model.perturb(sized, np.random.default_rng(0), 0.1) is sized) == kept


def test_a_supercooled_map_opens_only_when_it_is_shaken() -> None:
    model = Gtm(NINE, alpha=0.01)
    critical = first_critical(model, DATA)
    start = opened(model, DATA, 1e-5)
    schedule = Exponential(0.97, start=0.94 * critical, end=0.9 * critical)
    still = annealed(model, DATA, start, schedule)
    assert [record.converged for record in still.trace] == [True] * 3
    assert model.spread(still.state.params) < FLAT * np.sqrt(1.55)
    shaken = annealed(model, DATA, start, schedule, noise=0.1)
    assert shaken.trace[0].n_effective == 1
    assert shaken.trace[-1].n_effective > 1
    assert model.spread(shaken.state.params) > 0.1 * np.sqrt(1.55)


def test_annealing_from_temperature_one_is_em() -> None:
    model = Gtm(NINE, alpha=0.01)
    start = opened(model, DATA)
    cooled = annealed(model, DATA, start, Exponential(0.95, start=1.0, end=1.0), noise=0.1)
    plain = annealed(model, DATA, start, Fixed(1.0))
    assert [record.temperature for record in cooled.trace] == [1.0]
    assert cooled.trace[-1].log_likelihood == plain.trace[-1].log_likelihood
    assert (cooled.state.params.weight == plain.state.params.weight).all()
    assert cooled.state.params.noise == plain.state.params.noise
    by_hand, energies = sweeps(model, DATA, start, 1.0, cooled.n_sweeps)
    assert (by_hand.params.weight == plain.state.params.weight).all()
    assert plain.trace[-1].free_energy == pytest.approx(energies[-2], rel=1e-14)


def test_annealing_starts_below_critical_and_ends_at_one() -> None:
    model = Gtm(NINE, alpha=0.01)
    fit = annealed(model, DATA, opened(model, DATA), Exponential(0.9, margin=0.98), noise=0.1)
    critical = first_critical(model, DATA)
    assert fit.first_critical == pytest.approx(critical, rel=1e-12)
    assert fit.trace[0].temperature == pytest.approx(0.98 * critical, rel=1e-12)
    assert fit.trace[-1].temperature == fit.temperature == 1.0
    assert fit.trace[-1].log_likelihood > fit.trace[0].log_likelihood + 10
    assert fit.trace[-1].n_effective > fit.trace[0].n_effective
    last = energy(model, DATA, fit.state.params, 1.0) - model.prior_energy(
        fit.state.params, DATA.summary
    )
    assert fit.trace[-1].log_likelihood == pytest.approx(-last, rel=1e-12)


@pytest.mark.parametrize(
    ("last", "candidates", "wanted"),
    [(3.0, [2.99, 2.5, 1.0], 2.5), (3.0, [2.99], 2.4), (1.1, [0.5], 1.0)],
)
def test_the_adaptive_rule(last: float, candidates: list[float], wanted: float) -> None:
    schedule = Adaptive(smallest=0.8, largest=0.98, skip_near=True)
    record = annealed(Gtm(PAIR), DATA, opened(Gtm(PAIR), DATA), Fixed(last)).trace[0]
    found = schedule.next((record,), lambda: np.array(candidates), 0.0)
    assert found == pytest.approx(wanted, rel=1e-12)


def test_adaptive_cooling_takes_steps_within_its_bounds() -> None:
    model = Gtm(NINE, alpha=0.01)
    schedule = Adaptive(smallest=0.8, largest=0.98, skip_near=True)
    fit = annealed(model, DATA, opened(model, DATA), schedule, noise=0.1)
    temperatures = np.array([record.temperature for record in fit.trace])
    ratios = temperatures[1:] / temperatures[:-1]
    assert temperatures[0] == pytest.approx(0.98 * first_critical(model, DATA), rel=1e-12)
    assert temperatures[-1] == 1.0
    assert ((ratios[:-1] > 0.8 - 1e-12) & (ratios[:-1] < 0.98 + 1e-12)).all()
    assert 4 < len(temperatures) < 60
    # Each step but the last goes to a mode that was found, or as far as it may.
    for record, after in zip(fit.trace[:-2], temperatures[1:-1], strict=True):
        assert len(record.critical) == 12
        near = np.abs(np.array(record.critical) - after).min()
        assert min(near, abs(after - 0.8 * record.temperature)) < 1e-12


def likelihoods(fit: Fit) -> list[float]:
    return [record.log_likelihood for record in fit.trace]


@pytest.mark.parametrize("relaxation", [NO_RELAXATION, Relaxation()], ids=["plain", "relaxed"])
def test_rotated_moved_and_scaled_data_take_the_same_path(relaxation: Relaxation) -> None:
    values, alpha = curved(120, seed=2), 0.05
    values = values - values.mean(axis=0)
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    schedule, scale = Exponential(0.9, margin=0.98), 7.0
    data, model = put(values), Gtm(NINE, alpha=alpha)
    start = opened(model, data).params
    wanted = annealed(model, data, state_of(model, data, start), schedule, 0.0, relaxation)

    def path(moved: Array, weight: Array, other: Gtm) -> Fit:
        place = put(moved)
        state = state_of(other, place, other.with_weight(weight, place.summary))
        return annealed(other, place, state, schedule, 0.0, relaxation)

    sheet = start.weight - np.append(np.zeros((9, 3)), [data.summary.mean], axis=0)
    rotated = path(values @ turn, sheet @ turn, model)
    moved = path(values + np.array([1.0, -2.0, 3.0]), sheet, model)
    scaled = path(scale * values, scale * sheet, Gtm(NINE, alpha=alpha / scale**2))
    assert len(wanted.trace) > 5
    assert likelihoods(rotated) == pytest.approx(likelihoods(wanted), abs=1e-6)
    assert likelihoods(moved) == pytest.approx(likelihoods(wanted), abs=1e-6)
    shift = values.size * np.log(scale)
    assert likelihoods(scaled) == pytest.approx([x - shift for x in likelihoods(wanted)], abs=1e-6)
    centres = model.centres(wanted.state.params)
    assert model.centres(rotated.state.params) == pytest.approx(centres @ turn, abs=1e-6)
    assert model.centres(scaled.state.params) == pytest.approx(scale * centres, abs=1e-5)
    # A prior in other units is another model.
    other = path(scale * values, scale * sheet, Gtm(NINE, alpha=alpha))
    assert likelihoods(other) != pytest.approx([x - shift for x in likelihoods(wanted)], abs=1e-3)


@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("rows_per_block", [17, 50])
def test_a_whole_run_does_not_depend_on_blocks(missing: float, rows_per_block: int) -> None:
    values, model = curved(100, missing=missing), Gtm(NINE, alpha=0.05)
    fits = []
    for data in (put(values), put(values, rows_per_block=rows_per_block)):
        start = opened(model, data)
        fits.append(annealed(model, data, start, Exponential(0.85), 0.1, Relaxation()))
    assert likelihoods(fits[0]) == pytest.approx(likelihoods(fits[1]), rel=1e-9)
    assert fits[0].state.params.weight == pytest.approx(fits[1].state.params.weight, abs=1e-7)


def test_posteriors_of_a_cooled_map_are_those_of_its_parameters() -> None:
    values, model = curved(100), Gtm(NINE, alpha=0.05)
    data = put(values)
    fit = annealed(model, data, opened(model, data), Exponential(0.85), 0.1)
    params = fit.state.params
    posterior, _ = data.kernels.node_posterior(
        data.blocks[0], model.centres(params), float(params.noise)
    )
    wanted = responsibilities(values, model.centres(params), float(params.noise))
    assert posterior == pytest.approx(wanted, abs=1e-10)
    means = posterior @ NINE.nodes
    assert np.abs(means).max() <= 1.0 + 1e-12
    # The sheet has come near all points: what is left is much less than there was.
    left = ((values - posterior @ model.centres(params)) ** 2).mean()
    assert left < 0.1 * data.summary.noise
