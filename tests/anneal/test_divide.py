"""One component that comes apart while the others are held."""

from typing import Any

import numpy as np
import pytest

from isotherm.anneal.engine import Annealer
from isotherm.anneal.growth.divide import Divider, Parted
from isotherm.anneal.growth.held import held
from isotherm.anneal.schedule import Fixed
from isotherm.anneal.start import state_of
from isotherm.data.counts import as_counts
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.aspect import Aspect
from isotherm.models.base import expect
from isotherm.models.cluster import Cluster
from isotherm.placement.local import Local
from support.corpora import admixture, matched

K, T = 3, 1.1
COUNTS, TOPICS = admixture(120, 30, K, 60)


def data_of(counts: Any = COUNTS) -> Local:
    return Local.place(as_counts(counts), Cpu("float64", 1))


def divider() -> Divider:
    return Divider(Annealer(Fixed(T), tol=1e-5), data_of(), T)


def joined(model: Any) -> tuple[Any, Any]:
    """A model whose first component is a mixture of two that were planted."""
    table = np.column_stack([TOPICS[:2].mean(axis=0), TOPICS[2]])
    return model, model.init(data_of().summary, table)


@pytest.mark.parametrize("model", [Aspect(3), Cluster(3, 1.0)])
def test_what_is_held_does_not_move(model: Any) -> None:
    data = data_of()
    params = model.init(data.summary, TOPICS.T)
    state, part = state_of(model, data, params), held(model, (1,))
    _, stats, _ = data.sweep(expect, state.rows, part, params, T)
    plain, energy = model.maximize(stats, params, T, data.kernels)
    reached, same = part.maximize(stats, params, T, data.kernels)
    assert same == energy
    assert np.array_equal(reached.weight, plain.weight)
    assert np.array_equal(reached.word_topic[:, [0, 2]], plain.word_topic[:, [0, 2]])
    for moved in (
        reached,
        part.perturb(params, np.random.default_rng(0), 0.1),
        part.pushed(params, np.ones((30, 3))),
        part.project(plain._replace(word_topic=plain.word_topic * 2), params),
    ):
        assert np.array_equal(moved.word_topic[:, 1], params.word_topic[:, 1])
    assert part.critical_temperature(0.5) == model.critical_temperature(0.5)


def test_a_sweep_with_some_held_never_raises_the_energy() -> None:
    data, model = data_of(), held(Aspect(3), (0,))
    state, energies = state_of(model, data, Aspect(3).init(data.summary, TOPICS.T + 0.02)), []
    rows, params = state.rows, state.params._replace(word_topic=TOPICS.T)
    for _ in range(20):
        rows, stats, energy = data.sweep(expect, rows, model, params, T)
        params, extra = model.maximize(stats, params, T, data.kernels)
        energies.append(energy + extra)
    assert np.diff(energies).max() <= 1e-9 * abs(energies[0])


def test_a_mixture_of_two_comes_apart() -> None:
    cut = divider()
    one = cut.whole(*joined(Aspect(2)), 0)
    found, why = cut.apart(one, 2)
    assert (found.parts, why) == ((0, 2), "")
    table = found.state.params.word_topic
    assert matched(table.T, TOPICS[[0, 2, 1]]).max() < 0.1
    assert np.array_equal(table[:, 1], TOPICS[2])
    assert abs(found.state.params.weight.sum() - 1.0) < 1e-12


def test_what_is_one_stays_one() -> None:
    model = Cluster(3)
    hot = Divider(Annealer(Fixed(1e4)), data_of(), 1e4)
    one = hot.whole(model, model.init(hot.data.summary, TOPICS.T), 0)
    found, why = hot.apart(one, 2)
    assert found is one
    assert "halves would be one above T = " in why
    assert "the model is at T = 1e+04" in why


class Worse:
    """A held-out score by which more components are worse."""

    size = 1000.0

    def score(self, model: Any, state: Any, data: Any, temperature: float) -> float:
        return float(model.n_components)


def test_held_out_data_have_the_last_word() -> None:
    cut = Divider(Annealer(Fixed(T), tol=1e-5), data_of(), T, Worse())
    found, why = cut.apart(cut.whole(*joined(Aspect(2)), 0), 2)
    assert isinstance(found, Parted)
    assert found.parts == (0,)
    assert "no better" in why
