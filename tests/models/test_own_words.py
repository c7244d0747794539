"""Own words: formulas on dense arrays, the plain model as a special case, and planted bursts."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from isotherm import AspectModel, Counts, IsothermError
from isotherm.anneal.engine import ADAPTIVE_RELAXATION
from isotherm.anneal.fold import fold_in
from isotherm.anneal.trace import State
from isotherm.models.aspect import Aspect, AspectParams
from isotherm.models.own_words import AspectOwnWords, OwnWordsParams
from support.corpora import matched
from support.models import (
    Array,
    begin,
    fitted,
    place,
    poisson_counts,
    random_table,
    same,
    sweep,
    sweeps,
)

COUNTS = poisson_counts(3, (11, 9))
DATA = place(COUNTS)
WEIGHT = np.random.default_rng(0).uniform(0.3, 3.0, len(COUNTS))
MODEL = AspectOwnWords(3)
TEMPERATURES = [0.7, 1.0, 1.3, 2.0, 5.0]


def uneven_start(counts: Array = COUNTS, weight: Any = None) -> State:
    """A state in which nothing is uniform."""
    data = place(counts, weight=weight)
    state, _ = sweeps(MODEL, data, begin(MODEL, data), 0.9, 8)
    return state


def shares(counts: Array) -> Array:
    """(n - 1) / (N - 1) where there is more than a token."""
    others = counts.sum(axis=1, keepdims=True) - 1
    return np.maximum(counts - 1, 0) / np.where(others > 0, others, 1)


def plain(params: OwnWordsParams) -> AspectParams:
    return AspectParams(*params[:3])


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weighted"])
def test_a_sweep_is_the_textbook_step(temperature: float, weight: Any) -> None:
    data, state = place(COUNTS, weight=weight), uneven_start(weight=weight)
    params, rows = state.params, np.asarray(state.rows[0].table)
    beta, g = 1.0 / temperature, params.own[0]
    heavy = np.ones(len(COUNTS)) if weight is None else weight
    totals = COUNTS.sum(axis=1)
    joint = rows * params.weight / params.row_mass
    given = joint / np.where(totals > 0, joint.sum(axis=1), 1.0)[:, None]
    topics = ((1 - g) * given[:, None] * params.word_topic) ** beta
    own = (g * shares(COUNTS)) ** beta
    first, again = np.minimum(COUNTS, 1.0), np.maximum(COUNTS - 1.0, 0.0)
    z = np.where(COUNTS > 0, topics.sum(axis=2), 1.0)
    part = heavy[:, None] * (first / z + again / (z + own))
    expected = part[:, :, None] * topics
    repeats = float((heavy[:, None] * again * own / (z + own)).sum())
    likely = (heavy[:, None] * (first * np.log(z) + again * np.log(z + own))).sum()
    mass = (heavy * totals)[totals > 0]
    energy = -temperature * likely - mass @ np.log(mass / mass.sum())
    reached, found = sweep(MODEL, data, state, temperature)
    assert found == pytest.approx(energy, rel=1e-12)
    assert np.asarray(reached.rows[0].table) == pytest.approx(expected.sum(axis=1), rel=1e-10)
    columns = expected.sum(axis=0)
    assert reached.params.word_topic == pytest.approx(columns / columns.sum(axis=0), rel=1e-10)
    assert reached.params.own == pytest.approx(np.full(3, repeats / mass.sum()), rel=1e-10)


def test_what_tokens_may_repeat_is_the_share_in_the_others() -> None:
    block = DATA.blocks[0]
    dense = shares(COUNTS)
    assert block.repeats == pytest.approx(dense[block.row_of, block.indices])
    assert block.again == pytest.approx(np.maximum(COUNTS - 1, 0)[block.row_of, block.indices])
    few = place(np.array([[1, 0, 0], [0, 0, 0], [1, 1, 0], [3, 0, 1]])).blocks[0]
    assert few.repeats == pytest.approx([0, 0, 0, 2 / 3, 0])
    assert few.repeating.tolist() == [False, False, True, True]
    part = few.take(np.array([3, 0]))
    assert part.repeats == pytest.approx([2 / 3, 0, 0])


@pytest.mark.parametrize("bounds", [None, [0, 3, 3, 7, 11]])
def test_tokens_beside_others_may_repeat_those(bounds: Any) -> None:
    held = np.random.default_rng(1).poisson(0.7, COUNTS.shape)
    data = place(COUNTS, bounds=bounds)
    beside = data.beside(Counts(held))
    totals = COUNTS.sum(axis=1, keepdims=True)
    dense = COUNTS / np.where(totals > 0, totals, 1)
    rows, columns = np.nonzero(held)
    found = np.concatenate([block.repeats for block in beside.blocks])
    assert found == pytest.approx(dense[rows, columns])
    may = np.concatenate([block.repeating for block in beside.blocks])
    assert may.tolist() == (totals[:, 0] > 0).tolist()
    # The same of some rows alone, and once the others are not at hand any more.
    last, some = beside.blocks[-1], np.arange(2)
    alone = replace(last, given=None).beside(data.blocks[-1])
    assert alone.given is None
    assert alone.take(some).repeats.tolist() == last.take(some).repeats.tolist()


def test_looking_up_in_pieces_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Counts(np.random.default_rng(1).poisson(0.7, COUNTS.shape))
    whole = place(COUNTS).beside(held).blocks[0].repeats
    monkeypatch.setattr("isotherm.data.base.LOOKED_UP", 5)
    assert np.array_equal(place(COUNTS).beside(held).blocks[0].repeats, whole)


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_without_weight_it_is_the_plain_model(temperature: float) -> None:
    model, other = replace(MODEL, own=0.0), Aspect(3, temper_prior=True)
    table = random_table(DATA, 3)
    one, energies = sweeps(model, DATA, begin(model, DATA, table), temperature, 12)
    two, plain_energies = sweeps(other, DATA, begin(other, DATA, table), temperature, 12)
    assert energies == pytest.approx(plain_energies, rel=1e-12)
    assert same(plain(one.params), two.params, 1e-10)
    assert same(one.rows[0], two.rows[0], 1e-10)


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_rows_without_repeats_give_the_plain_answer(temperature: float) -> None:
    once = (COUNTS > 0).astype(float)
    data, other = place(once), Aspect(3, temper_prior=True)
    table = random_table(data, 3)
    one, energies = sweeps(MODEL, data, begin(MODEL, data, table), temperature, 12)
    two, plain_energies = sweeps(other, data, begin(other, data, table), temperature, 12)
    assert one.params.own.tolist() == [0.0] * 3
    assert energies[2:] == pytest.approx(plain_energies[2:], rel=1e-12)
    assert same(plain(one.params), two.params, 1e-10)


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("own", [None, 0.3], ids=["fitted", "given"])
def test_the_free_energy_never_rises(temperature: float, own: float | None) -> None:
    model = replace(MODEL, own=own)
    bursts = COUNTS + 8.0 * (np.arange(11)[:, None] == np.arange(9))
    data = place(bursts, weight=WEIGHT)
    _, energies = sweeps(model, data, begin(model, data), temperature, 60)
    assert (np.diff(energies) <= 1e-9 * np.abs(energies[0])).all()
    _, relaxed = fitted(model, data, begin(model, data), temperature, 200, ADAPTIVE_RELAXATION, 0.0)
    assert relaxed[-1] <= energies[-1] + 1e-6 * np.abs(energies[0])


def test_how_rows_are_cut_into_blocks_does_not_matter() -> None:
    one, energies = sweeps(MODEL, DATA, begin(MODEL, DATA), 1.2, 10)
    cut = place(COUNTS, bounds=[0, 2, 5, 11])
    other, other_energies = sweeps(MODEL, cut, begin(MODEL, cut), 1.2, 10)
    assert other_energies == pytest.approx(energies, rel=1e-12)
    assert same(one.params, other.params, 1e-10)


def test_at_temperature_one_the_energy_is_minus_the_log_likelihood() -> None:
    state = uneven_start()
    block, totals = DATA.blocks[0], COUNTS.sum(axis=1)
    marginal = totals[totals > 0] @ np.log(totals[totals > 0] / totals.sum())
    likely = MODEL.log_likelihood(state.params, state.rows[0], block, DATA.kernels)
    _, energy = sweep(MODEL, DATA, state, 1.0)
    assert energy == pytest.approx(-likely - marginal, rel=1e-12)


def test_predictions_of_what_comes_next_sum_to_one() -> None:
    state = uneven_start()
    rows = fold_in(MODEL, state.params, DATA, 1.2)
    beside = DATA.beside(Counts(np.ones(COUNTS.shape)))
    p = MODEL.predicted(state.params, rows[0], beside.blocks[0], DATA.kernels)
    assert p.reshape(COUNTS.shape).sum(axis=1) == pytest.approx(np.ones(len(COUNTS)))


def bursts(own: float, seed: int = 0) -> tuple[Array, Array]:
    """Rows of four topics some of whose tokens repeat one before them, and the topics (4, 60)."""
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.full(60, 0.3), 4)
    counts = np.zeros((300, 60))
    for row in counts:
        words = rng.choice(60, 80, p=rng.dirichlet(np.full(4, 0.2)) @ table)
        for at in range(1, len(words)):
            if rng.random() < own:
                words[at] = words[rng.integers(at)]
        np.add.at(row, words, 1)
    return counts, table


@pytest.mark.parametrize("own", [0.0, 0.15, 0.3])
def test_the_weight_of_planted_bursts_is_found(own: float) -> None:
    counts, table = bursts(own)
    model = AspectModel(4, own_words=True, random_state=0).fit(counts)
    # A token that is held out repeats others, or others repeat it.
    assert own - 0.02 <= model.own_weight_ <= 2.0 * own + 0.03
    assert matched(model.components_, table).max() < 0.1


def threads(own: float, seed: int = 0) -> tuple[Array, Array]:
    """Rows of four topics, a share of whose tokens are two words of their own; and the topics."""
    rng = np.random.default_rng(seed)
    table, counts = rng.dirichlet(np.full(200, 0.1), 4), np.zeros((200, 200))
    for row in counts:
        n = rng.binomial(60, own)
        mixed = rng.dirichlet(np.full(4, 0.2)) @ table
        np.add.at(row, rng.choice(200, 60 - n, p=mixed), 1)
        np.add.at(row, rng.choice(rng.choice(200, 2, replace=False), n), 1)
    return counts, table


def test_topics_are_not_of_words_that_single_rows_repeat() -> None:
    counts, table = threads(0.2)
    settings: dict[str, Any] = {"max_components": 32, "random_state": 0}
    own = AspectModel("predict", own_words=True, **settings).fit(counts)
    plain = AspectModel("predict", **settings).fit(counts)
    assert own.n_components_ == 4
    assert plain.n_components_ > 16
    assert 0.15 < own.own_weight_ < 0.5
    told = AspectModel(4, own_words=True, random_state=0).fit(counts)
    without = AspectModel(4, random_state=0).fit(counts)
    off = [matched(one.components_, table).mean() for one in (told, without)]
    assert off[0] < 0.75 * off[1]


def test_the_prior_must_be_tempered() -> None:
    with pytest.raises(IsothermError, match="temper_prior=False with own words"):
        AspectOwnWords(3, temper_prior=False)
