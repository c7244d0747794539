"""Laws that every model obeys."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from isotherm import _nested
from isotherm.anneal.engine import ADAPTIVE_RELAXATION, Annealer
from isotherm.anneal.heldout import log_likelihood
from isotherm.anneal.relax import relax
from isotherm.anneal.schedule import Fixed, Linear
from isotherm.anneal.start import Noisy, Spectral
from isotherm.anneal.stepwise import Stepwise
from isotherm.anneal.trace import State
from isotherm.data.base import row_bounds
from isotherm.data.counts import Counts
from isotherm.kernels.cpu.backend import Cpu
from isotherm.kernels.reference import Reference
from isotherm.models.own_words import AspectOwnWords
from support.models import (
    Energies,
    Local,
    begin,
    fitted,
    permuted,
    place,
    poisson_counts,
    random_table,
    same,
    sweep,
    sweeps,
)

COUNTS = poisson_counts()
EMPTY_ROW, EMPTY_COLUMN = 4, 5
DATA = place(COUNTS)
# In single precision: the rounding of energies whose terms nearly cancel.
KERNELS = [(Reference(), 1e-9), (Cpu("float64"), 1e-9), (Cpu("float32"), 3e-6)]


def rises(energies: list[float]) -> float:
    """Largest rise between neighbours, relative to the size of the energies."""
    return float(np.diff(energies).max() / np.abs(energies).max())


@pytest.mark.parametrize(("kernels", "slack"), KERNELS, ids=["reference", "double", "single"])
def test_a_sweep_never_raises_the_free_energy(
    model: Any, temperatures: list[float], kernels: Any, slack: float
) -> None:
    data = place(COUNTS, kernels)
    for temperature in temperatures:
        _, energies = sweeps(model, data, begin(model, data), temperature, 40)
        assert rises(energies) <= slack
        assert energies[-1] < energies[0]


@pytest.mark.parametrize("temperature", [1.0, 1.3, 5.0])
def test_accepted_relaxed_steps_never_raise_the_free_energy(model: Any, temperature: float) -> None:
    start, accepted = begin(model, DATA), []
    for n in range(1, 26):
        fit, heard = fitted(model, DATA, start, temperature, n, ADAPTIVE_RELAXATION)
        accepted.append(fit.trace[-1].free_energy)
    assert rises(accepted) <= 1e-9
    # What is accepted is what was measured, and the state returned is no worse than that.
    assert set(accepted) <= set(heard)
    assert sweep(model, DATA, fit.state, temperature)[1] <= accepted[-1] + 1e-9 * abs(accepted[-1])


def test_the_free_energy_of_a_relaxed_state_is_its_own(model: Any) -> None:
    old = begin(model, DATA)
    new, _ = sweep(model, DATA, old, 2.0)
    relaxed = relax(model, DATA, old, new, 3.0)
    fresh = begin(model, DATA, relaxed.params.word_topic)
    assert relaxed.extra == pytest.approx(fresh.extra, rel=1e-12)


def test_the_free_energy_of_a_shaken_state_is_its_own(model: Any) -> None:
    heard = Energies()
    schedule = Linear(step=0.5, start=2.0, end=1.5)
    annealer = Annealer(schedule, noise=0.5, tol=-1.0, max_sweeps=2, callbacks=(heard,))
    annealer.run(model, DATA, np.random.default_rng(0), state=begin(model, DATA))
    state, _ = sweeps(model, DATA, begin(model, DATA), 2.0, 2)
    shaken = model.perturb(state.params, np.random.default_rng(0), 0.5)
    extra = begin(model, DATA, shaken.word_topic).extra
    _, energy = sweep(model, DATA, State(shaken, state.rows, extra), 1.5)
    assert heard.values[2] == pytest.approx(energy, rel=1e-12)


def test_the_engine_settles_where_single_sweeps_do(model: Any) -> None:
    _, energies = sweeps(model, DATA, begin(model, DATA), 1.5, 600)
    fit, _ = fitted(model, DATA, begin(model, DATA), 1.5, 1000, tol=1e-9)
    assert fit.trace[-1].converged
    assert fit.trace[-1].free_energy == pytest.approx(energies[-1], rel=1e-5)
    # Relaxed steps may end in another valley, but on its floor.
    fit, _ = fitted(model, DATA, begin(model, DATA), 1.5, 1000, ADAPTIVE_RELAXATION, tol=1e-9)
    _, energies = sweeps(model, DATA, fit.state, 1.5, 200)
    assert fit.trace[-1].converged
    assert fit.trace[-1].free_energy == pytest.approx(energies[-1], rel=1e-5)


def test_passes_over_batches_lead_to_valid_states_that_full_sweeps_measure(
    model: Any, temperatures: list[float]
) -> None:
    data = place(COUNTS, bounds=[0, 6, 7, len(COUNTS)])
    for temperature in temperatures:
        heard = Energies()
        stepwise = Stepwise(passes=2)
        annealer = Annealer(
            Fixed(temperature), tol=-1.0, max_sweeps=8, stepwise=stepwise, callbacks=(heard,)
        )
        fit = annealer.run(model, data, np.random.default_rng(0), state=begin(model, data))
        assert_valid(model, data, fit.state)
        assert fit.trace[0].free_energy in heard.values
        assert sweep(model, data, fit.state, temperature)[1] <= fit.trace[0].free_energy + 1e-9
        assert fit.trace[0].free_energy < heard.values[0]


def assert_valid(model: Any, data: Local, state: State) -> None:
    weight, table = model.components(state.params)
    assert weight.sum() == pytest.approx(1.0, abs=1e-12)
    assert table.sum(axis=0) == pytest.approx(np.ones(len(weight)), abs=1e-12)
    assert (table[EMPTY_COLUMN] == 0).all()
    rows = data.gather(state.rows)
    mixture = model.mixture(state.params, rows)
    assert mixture.weights.sum(axis=1) == pytest.approx(np.ones(len(COUNTS)), abs=1e-12)
    for array in (weight, table, mixture.weights, mixture.table, *rows, *state.params):
        assert np.isfinite(array).all()
        assert (array >= 0).all()
    if model.rows_are_parameters:
        p_row = rows[0] / state.params.row_mass
        assert p_row.sum(axis=0) == pytest.approx(np.ones(len(weight)), abs=1e-12)


def test_distributions_stay_distributions(model: Any, temperatures: list[float]) -> None:
    for temperature in temperatures:
        state = begin(model, DATA)
        assert_valid(model, DATA, state)
        for _ in range(8):
            state, _ = sweep(model, DATA, state, temperature)
            assert_valid(model, DATA, state)


@pytest.mark.parametrize("eta", [0.5, 1.0, 1.8, 8.0, 50.0])
def test_relaxed_states_are_valid(model: Any, eta: float) -> None:
    data = place(COUNTS, bounds=[0, 7, 8, len(COUNTS)])
    old, _ = sweep(model, data, begin(model, data), 2.0)
    new, _ = sweep(model, data, old, 2.0)
    relaxed = relax(model, data, old, new, eta)
    assert_valid(model, data, relaxed)
    assert not same(relaxed.params, old.params, 1e-6)
    if eta == 1.0:
        assert same(model.components(relaxed.params), model.components(new.params), 1e-11)


def test_perturbed_parameters_are_valid_and_moved(model: Any) -> None:
    state, _ = sweeps(model, DATA, begin(model, DATA), 1.3, 3)
    moved = model.perturb(state.params, np.random.default_rng(0), 0.1)
    assert_valid(model, DATA, state._replace(params=moved))
    ratio = moved.word_topic / np.where(state.params.word_topic > 0, state.params.word_topic, 1.0)
    logs = np.log(ratio[moved.word_topic > 0])
    assert 0.05 < logs.std() < 0.2
    assert same(model.perturb(state.params, np.random.default_rng(0), 0.0), state.params, 1e-12)


def test_projection_mends_what_extrapolation_breaks(model: Any) -> None:
    state, _ = sweeps(model, DATA, begin(model, DATA), 1.3, 3)
    broken = _nested.apply(lambda a: a - 2.0 * a.mean(), state.params)
    mended = model.project(broken, state.params)
    weight, table = model.components(mended)
    assert weight.sum() == pytest.approx(1.0, abs=1e-12)
    assert table.sum(axis=0) == pytest.approx(np.ones(3), abs=1e-12)
    assert (weight > 0).all()
    assert ((table > 0) == (state.params.word_topic > 0)).all()


@pytest.mark.parametrize("start", [Noisy(0.1), Spectral()], ids=["noisy", "spectral"])
def test_starts_are_valid_and_tell_components_apart(model: Any, start: Any) -> None:
    state = start.state(model, DATA, np.random.default_rng(0))
    assert_valid(model, DATA, state)
    assert len(np.unique(state.params.word_topic[0])) == 3


@pytest.mark.parametrize("bounds", [2, 3, 7, [0, 1, 2, 17, 18], [0, 4, 5, 6, 18]], ids=str)
def test_blocks_do_not_matter(model: Any, bounds: Any) -> None:
    if isinstance(bounds, int):
        bounds = row_bounds(Counts(COUNTS), bounds)
    cut = place(COUNTS, bounds=bounds)
    one, energies = sweeps(model, DATA, begin(model, DATA), 1.3, 15)
    many, cut_energies = sweeps(model, cut, begin(model, cut), 1.3, 15)
    assert len(cut.blocks) > 1
    assert cut_energies == pytest.approx(energies, rel=1e-12)
    assert same(one.params, many.params)
    assert same(DATA.gather(one.rows), cut.gather(many.rows))


@pytest.mark.parametrize("relaxation", [ADAPTIVE_RELAXATION], ids=["relaxed"])
def test_blocks_do_not_matter_to_the_engine(model: Any, relaxation: Any) -> None:
    cut = place(COUNTS, bounds=[0, 3, 4, 18])
    one, energies = fitted(model, DATA, begin(model, DATA), 1.3, 15, relaxation)
    many, cut_energies = fitted(model, cut, begin(model, cut), 1.3, 15, relaxation)
    assert cut_energies == pytest.approx(energies, rel=1e-11)
    assert same(one.state.params, many.state.params, 1e-8)


def test_permuting_rows_permutes_their_states(model: Any, temperatures: list[float]) -> None:
    order = np.random.default_rng(0).permutation(len(COUNTS))
    shuffled = place(COUNTS[order])
    for temperature in temperatures:
        one, _ = sweeps(model, DATA, begin(model, DATA), temperature, 10)
        other, _ = sweeps(model, shuffled, begin(model, shuffled), temperature, 10)
        assert same(one.params, other.params)
        assert same(_nested.apply(lambda a: a[order], one.rows[0]), other.rows[0])


def test_permuting_columns_permutes_their_probabilities(
    model: Any, temperatures: list[float]
) -> None:
    order = np.random.default_rng(1).permutation(COUNTS.shape[1])
    shuffled, table = place(COUNTS[:, order]), random_table(DATA, 3)
    for temperature in temperatures:
        one, _ = sweeps(model, DATA, begin(model, DATA, table), temperature, 10)
        other, _ = sweeps(model, shuffled, begin(model, shuffled, table[order]), temperature, 10)
        assert same((one.params.word_topic[order],), (other.params.word_topic,))
        assert same(one.rows[0], other.rows[0])


def test_permuting_components_permutes_the_result(model: Any, temperatures: list[float]) -> None:
    order, table = np.array([2, 0, 1]), random_table(DATA, 3)
    for temperature in temperatures:
        one, energies = sweeps(model, DATA, begin(model, DATA, table), temperature, 10)
        turned = begin(model, DATA, table[:, order])
        other, other_energies = sweeps(model, DATA, turned, temperature, 10)
        assert other_energies == pytest.approx(energies, rel=1e-12)
        assert same(permuted(one.params, order), other.params)
        assert same(permuted(one.rows[0], order), other.rows[0])


def test_a_row_of_weight_two_is_the_row_twice(model: Any, temperatures: list[float]) -> None:
    weight = np.where(np.arange(len(COUNTS)) % 3 == 0, 2.0, 1.0)
    weight[EMPTY_ROW] = 2.0
    heavy = place(COUNTS, weight=weight)
    twice = place(np.repeat(COUNTS, weight.astype(int), axis=0))
    for temperature in temperatures:
        one, energies = sweeps(model, heavy, begin(model, heavy), temperature, 10)
        other, other_energies = sweeps(model, twice, begin(model, twice), temperature, 10)
        # Copies of a row share its probability, which adds a constant to some energies.
        assert np.diff(other_energies) == pytest.approx(np.diff(energies), abs=1e-9)
        assert same(one.params, other.params)


def test_a_row_of_weight_zero_is_no_row(model: Any) -> None:
    weight = np.where(np.arange(len(COUNTS)) < 3, 0.0, 1.0)
    light, without = place(COUNTS, weight=weight), place(COUNTS[3:])
    one, energies = sweeps(model, light, begin(model, light), 1.3, 10)
    other, other_energies = sweeps(model, without, begin(model, without), 1.3, 10)
    assert other_energies == pytest.approx(energies, rel=1e-12)
    assert same(one.params, other.params)


def test_relaxation_does_not_tell_weights_from_copies(model: Any) -> None:
    heavy, twice = place(COUNTS, weight=np.full(len(COUNTS), 2.0)), place(np.tile(COUNTS, (2, 1)))
    one, _ = fitted(model, heavy, begin(model, heavy), 1.3, 12, ADAPTIVE_RELAXATION)
    other, _ = fitted(model, twice, begin(model, twice), 1.3, 12, ADAPTIVE_RELAXATION)
    assert same(one.state.params, other.state.params, 1e-8)


def test_one_component_is_the_unigram_model(model: Any, temperatures: list[float]) -> None:
    if isinstance(model, AspectOwnWords):
        return  # of what is no repeat: see test_own_words.py
    single = replace(model, n_components=1)
    marginal = COUNTS.sum(axis=0) / COUNTS.sum()
    expected = float(COUNTS.sum(axis=0) @ np.log(np.where(marginal > 0, marginal, 1.0)))
    settled = []
    for temperature in temperatures:
        state, energies = sweeps(single, DATA, begin(single, DATA), temperature, 2)
        assert state.params.word_topic[:, 0] == pytest.approx(marginal, abs=1e-15)
        assert state.params.weight == pytest.approx([1.0])
        total, tokens = log_likelihood(single, state, DATA, np.zeros(COUNTS.shape[1]), 0.0)
        assert tokens == COUNTS.sum()
        assert total == pytest.approx(expected, rel=1e-13)
        settled.append(energies[-1])
    assert settled == pytest.approx([settled[0]] * len(settled), rel=1e-12)


def test_dense_and_sparse_counts_are_the_same(model: Any) -> None:
    i, j = np.nonzero(COUNTS >= 0)
    half = COUNTS[i, j] / 2
    twice = sparse.coo_array((np.tile(half, 2), (np.tile(i, 2), np.tile(j, 2))), shape=COUNTS.shape)
    stored = place(twice)
    one, energies = sweeps(model, DATA, begin(model, DATA), 1.3, 5)
    other, other_energies = sweeps(model, stored, begin(model, stored), 1.3, 5)
    assert energies == other_energies
    assert same(one.params, other.params, 0.0)


def test_an_empty_row_follows_the_weights(model: Any, temperatures: list[float]) -> None:
    for temperature in temperatures:
        state, _ = sweeps(model, DATA, begin(model, DATA), temperature, 6)
        reached, _ = sweep(model, DATA, state, temperature)
        found = model.mixture(reached.params, reached.rows[0]).weights[EMPTY_ROW]
        assert found == pytest.approx(empty_row(model, state, reached, temperature), abs=1e-12)


def empty_row(model: Any, before: State, after: State, temperature: float) -> Any:
    """P(a) of the parameters; or the prior of the E-step, tempered as the model tempers it."""
    if model.rows_are_parameters:
        return after.params.weight
    if model.zero_temperature == 1.0:  # weights of its own, which nothing moves off the uniform
        return np.full(3, 1 / 3)
    prior = before.params.weight ** (1.0 / temperature if model.temper_prior else 1.0)
    return prior / prior.sum()


def test_an_empty_column_is_never_touched(model: Any, temperatures: list[float]) -> None:
    kept = np.arange(COUNTS.shape[1]) != EMPTY_COLUMN
    smaller, table = place(COUNTS[:, kept]), random_table(DATA, 3)
    for temperature in temperatures:
        one, energies = sweeps(model, DATA, begin(model, DATA, table), temperature, 6)
        other, without = sweeps(model, smaller, begin(model, smaller, table[kept]), temperature, 6)
        assert (one.params.word_topic[EMPTY_COLUMN] == 0).all()
        assert energies == pytest.approx(without, rel=1e-12)
        assert same((one.params.word_topic[kept],), (other.params.word_topic,))


def test_a_dead_component_stays_dead_and_keeps_its_distribution(
    model: Any, temperatures: list[float]
) -> None:
    # Without the empty row: clusters may keep such rows, and some weight with them, for a while.
    data = place(np.delete(COUNTS, EMPTY_ROW, axis=0))
    table = random_table(data, 3)
    table[:, 1] = np.arange(COUNTS.shape[1]) == EMPTY_COLUMN
    pseudo = getattr(model, "pseudo_count", 0.0)
    for temperature in temperatures:
        state, energies = sweeps(model, data, begin(model, data, table), temperature, 6)
        weight, found = model.components(state.params)
        assert np.isfinite(energies).all()
        assert rises(energies) <= 1e-9
        assert all(np.isfinite(array).all() for array in (*state.params, *state.rows[0]))
        assert found.sum(axis=0) == pytest.approx(np.ones(3), abs=1e-12)
        if pseudo:  # pseudo-counts call it back to life
            assert (found[:, 1] > 0).sum() == COUNTS.shape[1] - 1
        else:
            assert (found[:, 1] == table[:, 1]).all()
            assert weight[1] == (1 / 3 if getattr(model, "fixed_weights", False) else 0.0)
            relaxed = relax(model, data, begin(model, data, table), state, 3.0)
            assert np.isfinite(relaxed.params.word_topic).all()


def test_more_components_than_rows_do_no_harm(model: Any, temperatures: list[float]) -> None:
    crowded, data = replace(model, n_components=9), place(COUNTS[:3])
    for temperature in temperatures:
        state, energies = sweeps(crowded, data, begin(crowded, data), temperature, 20)
        assert rises(energies) <= 1e-9
        assert np.isfinite(state.params.word_topic).all()


def test_twins_never_part(model: Any, temperatures: list[float]) -> None:
    table = random_table(DATA, 3)
    table[:, 2] = table[:, 0]
    for temperature in temperatures:
        if temperature == model.zero_temperature and not getattr(model, "stepwise", False):
            continue  # hard: the first twin takes all
        state, _ = sweeps(model, DATA, begin(model, DATA, table), temperature, 20)
        assert state.params.word_topic[:, 2] == pytest.approx(state.params.word_topic[:, 0])
