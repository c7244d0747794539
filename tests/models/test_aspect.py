"""The aspect model: its formulas on dense arrays, and its own symmetries."""

import numpy as np
import pytest

from isotherm.anneal.trace import State
from isotherm.models.aspect import Aspect, AspectParams, AspectRows
from support.models import Array, aspect_start, begin, place, poisson_counts, same, sweep, sweeps

COUNTS = poisson_counts(3, (11, 9))
DATA = place(COUNTS)
TEMPERATURES = [0.7, 1.0, 1.3, 2.0, 5.0]
MODELS = [Aspect(3), Aspect(3, temper_prior=True)]


def uneven_start() -> State:
    """A state in which nothing is uniform."""
    state, _ = sweeps(Aspect(3), DATA, begin(Aspect(3), DATA), 0.9, 8)
    return state


def factors(state: State) -> tuple[Array, Array, Array]:
    """P(a), P(x|a) and P(y|a)."""
    params = state.params
    return params.weight, DATA.gather(state.rows).table / params.row_mass, params.word_topic


def expected_counts(q: Array) -> tuple[Array, Array]:
    """N_xa and N_ya from unnormalised posteriors (I, J, K)."""
    total = q.sum(axis=2, keepdims=True)
    share = COUNTS[:, :, None] * np.divide(q, total, out=np.zeros_like(q), where=total > 0)
    return share.sum(axis=1), share.sum(axis=0)


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("model", MODELS, ids=["plain", "tempered"])
def test_a_sweep_is_the_textbook_step(model: Aspect, temperature: float) -> None:
    weight, p_row, p_column = factors(uneven_start())
    beta = 1.0 / temperature
    prior = weight**beta if model.temper_prior else weight
    q = prior * (p_row[:, None] * p_column) ** beta
    rows, columns = expected_counts(q)
    seen = COUNTS > 0
    energy = -temperature * (COUNTS[seen] @ np.log(q.sum(axis=2)[seen]))
    state, found = sweep(model, DATA, uneven_start(), temperature)
    assert found == pytest.approx(energy, rel=1e-13)
    mass = columns.sum(axis=0)
    assert same(state.params, AspectParams(mass / COUNTS.sum(), mass, columns / mass), 1e-12)
    assert same(state.rows[0], AspectRows(rows), 1e-12)


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_the_asymmetric_form_has_the_same_posteriors(temperature: float) -> None:
    weight, p_row, p_column = factors(uneven_start())
    beta = 1.0 / temperature
    joint = weight * p_row
    total = joint.sum(axis=1, keepdims=True)
    given = np.divide(joint, total, out=np.tile(weight, (len(joint), 1)), where=total > 0)
    rows, _ = expected_counts(weight ** (1 - beta) * (given[:, None] * p_column) ** beta)
    state, _ = sweep(Aspect(3), DATA, uneven_start(), temperature)
    assert state.rows[0].table == pytest.approx(rows, rel=1e-12)
    # Tempering the likelihood alone, with P(a|x) for a prior, is another method.
    other, _ = expected_counts(given[:, None] * p_column**beta)
    differs = np.abs(other - rows).max() > 0.05
    assert differs == (temperature != 1.0)


def test_aspects_mix_to_the_marginal_of_the_rows() -> None:
    weight, p_row, _ = factors(uneven_start())
    assert p_row @ weight == pytest.approx(COUNTS.sum(axis=1) / COUNTS.sum(), abs=1e-15)


@pytest.mark.parametrize("tilt", [(1.0, 1.0, 1.0), (0.2, 1.0, 3.0)], ids=["swept", "relaxed"])
def test_prediction_is_bayes_rule_on_the_parameters(tilt: tuple[float, ...]) -> None:
    state = uneven_start()
    # After an over-relaxed step P(a) is not proportional to the totals of the rows.
    weight = state.params.weight * tilt
    state = state._replace(params=state.params._replace(weight=weight / weight.sum()))
    weight, p_row, p_column = factors(state)
    mixture = Aspect(3).mixture(state.params, DATA.gather(state.rows))
    joint = (weight * p_row) @ p_column.T
    predicted = mixture.weights @ mixture.table.T
    seen = COUNTS.sum(axis=1) > 0
    assert predicted[seen] == pytest.approx(
        joint[seen] / joint[seen].sum(axis=1, keepdims=True), abs=1e-14
    )
    assert predicted[~seen] == pytest.approx(np.tile(p_column @ weight, (1, 1)), abs=1e-14)


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("model", MODELS, ids=["plain", "tempered"])
def test_transposing_swaps_rows_and_columns(model: Aspect, temperature: float) -> None:
    start = uneven_start()
    weight, p_row, p_column = factors(start)
    mass = start.params.row_mass
    turned = State(AspectParams(weight, mass, p_row), (AspectRows(p_column * mass),), 0.0)
    one, energies = sweeps(model, DATA, start, temperature, 15)
    other, other_energies = sweeps(model, place(COUNTS.T), turned, temperature, 15)
    assert other_energies == pytest.approx(energies, rel=1e-12)
    assert other.params.weight == pytest.approx(one.params.weight, rel=1e-10)
    swapped = other.rows[0].table / other.params.row_mass
    assert swapped == pytest.approx(one.params.word_topic, abs=1e-11)
    assert other.params.word_topic == pytest.approx(factors(one)[1], abs=1e-11)


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("model", MODELS, ids=["plain", "tempered"])
def test_splitting_a_row_in_proportion_changes_nothing_else(
    model: Aspect, temperature: float
) -> None:
    split = np.vstack([COUNTS[:2], 0.3 * COUNTS[2], 0.7 * COUNTS[2], COUNTS[3:]])
    data = place(split)
    one, _ = sweeps(model, DATA, begin(model, DATA), temperature, 15)
    other, _ = sweeps(model, data, begin(model, data), temperature, 15)
    assert same(one.params, other.params, 1e-11)
    pair = other.rows[0].table[2:4]
    assert pair == pytest.approx(np.outer([0.3, 0.7], one.rows[0].table[2]), rel=1e-9, abs=1e-12)


def test_a_tempered_prior_is_the_plain_model_at_temperature_one() -> None:
    one, energies = sweeps(MODELS[0], DATA, uneven_start(), 1.0, 10)
    other, other_energies = sweeps(MODELS[1], DATA, uneven_start(), 1.0, 10)
    assert energies == other_energies
    assert same(one.params, other.params, 0.0)
    assert not same(
        sweep(MODELS[0], DATA, uneven_start(), 2.0)[0].params,
        sweep(MODELS[1], DATA, uneven_start(), 2.0)[0].params,
        1e-3,
    )


def test_no_data_hold_aspects_apart_above_two() -> None:
    separate = np.kron(np.eye(2), np.full((3, 2), 5.0))
    data = place(separate)
    start = begin(Aspect(2), data)
    above, _ = sweeps(Aspect(2), data, start, 2.05, 800)
    below, _ = sweeps(Aspect(2), data, start, 1.95, 800)
    assert np.ptp(above.params.word_topic, axis=1).max() < 1e-6
    assert np.ptp(below.params.word_topic, axis=1).max() > 0.1


def test_an_object_with_zero_probability_in_one_aspect_stays_out_of_it() -> None:
    start = aspect_start(2)
    start.params.word_topic[0, 0] = 0.0
    start.params.word_topic[:, 0] /= start.params.word_topic[:, 0].sum()
    data = place(np.ones((6, 5)))
    state, energies = sweeps(Aspect(2), data, start, 1.0, 5)
    assert state.params.word_topic[0, 0] == pytest.approx(0.0, abs=1e-200)
    assert np.isfinite(energies).all()
