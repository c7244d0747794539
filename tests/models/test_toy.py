"""The place figures, to the printed digits."""

import numpy as np
import pytest

from isotherm.anneal.critical import critical_temperatures, first_critical
from isotherm.anneal.engine import Relaxation
from isotherm.anneal.heldout import HeldoutTokens
from isotherm.anneal.start import Noisy
from isotherm.kernels.cpu.backend import Cpu
from isotherm.kernels.reference import Reference
from isotherm.models.aspect import Aspect
from isotherm.models.cluster import Cluster
from support.corpora import TOY
from support.models import (
    TOTAL,
    Local,
    aspect_start,
    begin,
    cluster_start,
    fitted,
    place,
    posteriors,
    sweep,
    sweeps,
)

# Half a unit of the last printed digit, and the rounding of the figure before it.
TEN, EIGHT, FIVE = 0.6e-10, 0.6e-8, 0.6e-5


@pytest.fixture(params=[Reference(), Cpu("float64")], ids=["reference", "cpu"])
def data(request: pytest.FixtureRequest) -> Local:
    return place(TOY, request.param)


def test_the_data_are_those_of_the_figures() -> None:
    assert TOY.sum() == TOTAL
    assert TOY[0].tolist() == [6, 8, 6, 2, 0]


def test_first_critical_temperatures(data: Local) -> None:
    columns = place(TOY.T, data.kernels)
    assert first_critical(Aspect(2), data) == pytest.approx(1.7316875917, abs=TEN)
    assert first_critical(Aspect(2), columns) == pytest.approx(1.7316875917, abs=TEN)
    assert first_critical(Cluster(2), data) == pytest.approx(10.3149817352, abs=TEN)
    assert first_critical(Cluster(2), columns) == pytest.approx(12.4954481154, abs=TEN)


def test_unigram(data: Local) -> None:
    state, energies = sweeps(Aspect(1), data, begin(Aspect(1), data), 1.0, 1)
    assert -energies[-1] == pytest.approx(-402.8384296753, abs=TEN)
    perplexity = HeldoutTokens(data, smoothing=0.0).score(Aspect(1), state, data, 1.0)
    assert perplexity == pytest.approx(4.9728155306, abs=TEN)


def test_aspect_posterior(data: Local) -> None:
    # A table of one cell shows Q(.|0,0) as its expected counts.
    corner = place(TOY[:1] * (np.arange(5) == 0), data.kernels)
    start = aspect_start(2)
    start = start._replace(rows=(type(start.rows[0])(start.rows[0].table[:1]),))
    for temperature, expected in ((1.0, 0.5806451613), (1.25, 0.5647193583)):
        share = posteriors(Aspect(2), corner, start, temperature) / TOY[0, 0]
        assert share[0, 0] == pytest.approx(expected, abs=TEN)


@pytest.mark.parametrize(
    ("temperature", "before", "after", "limit"),
    [
        (1.0, -422.8830194342, -365.6416751540, -365.54675992),
        (1.25, -424.1215449465, -382.4103990569, -382.31660720),
    ],
)
def test_aspect_free_energy(
    temperature: float, before: float, after: float, limit: float, data: Local
) -> None:
    state, energies = sweeps(Aspect(2), data, aspect_start(2), temperature, 20)
    assert -energies[0] == pytest.approx(before, abs=TEN)
    assert -energies[20] == pytest.approx(after, abs=TEN)
    _, energies = sweeps(Aspect(2), data, state, temperature, 1500)
    assert -energies[-1] == pytest.approx(limit, abs=EIGHT)


def test_aspect_critical_temperatures_at_the_limit(data: Local) -> None:
    state, _ = sweeps(Aspect(2), data, aspect_start(2), 1.25, 1500)
    found = critical_temperatures(Aspect(2), data, state, 1.25)
    assert found == pytest.approx([1.20425, 1.24463], abs=FIVE)


def test_aspect_over_relaxed(data: Local) -> None:
    _, energies = fitted(Aspect(2), data, aspect_start(2), 1.0, 21, Relaxation(1.8, 1.0, 1.8))
    assert len(energies) == 21
    assert -energies[20] == pytest.approx(-365.59608878, abs=EIGHT)


def test_four_aspects_above_the_critical_temperature_are_one(data: Local) -> None:
    model = Aspect(4)
    state, energies = sweeps(model, data, aspect_start(4), 1.75, 1000)
    marginal = TOY.sum(axis=0) / TOTAL
    assert state.params.word_topic == pytest.approx(np.tile(marginal[:, None], (1, 4)), abs=1e-6)
    rows = state.rows[0].table / state.params.row_mass
    assert rows == pytest.approx(np.tile(TOY.sum(axis=1)[:, None] / TOTAL, (1, 4)), abs=1e-6)
    assert -energies[-1] == pytest.approx(-402.8384296753, abs=1e-9)


@pytest.mark.parametrize(
    ("temperature", "before", "after"),
    [(1.0, -187.5551999920, -159.9604513632), (5.0, -190.5509639125, -176.4658209018)],
)
def test_cluster_free_energy(temperature: float, before: float, after: float, data: Local) -> None:
    _, energies = sweeps(Cluster(2), data, cluster_start(), temperature, 20)
    assert -energies[0] == pytest.approx(before, abs=TEN)
    assert -energies[20] == pytest.approx(after, abs=TEN)


def test_cluster_limit_and_critical_temperatures(data: Local) -> None:
    state, energies = sweeps(Cluster(2), data, cluster_start(), 8.0, 1500)
    assert -energies[-1] == pytest.approx(-187.05677958, abs=EIGHT)
    found = critical_temperatures(Cluster(2), data, state, 8.0)
    assert found == pytest.approx([5.04521, 4.70470], abs=FIVE)


def test_clusters_above_the_critical_temperature_do_not_tell_rows_apart(data: Local) -> None:
    state, _ = sweeps(Cluster(2), data, cluster_start(), 11.0, 1500)
    posterior = state.rows[0].posterior
    assert np.ptp(posterior, axis=0) == pytest.approx([0.0, 0.0], abs=1e-9)
    assert posterior[0] == pytest.approx(state.params.weight, abs=1e-9)


@pytest.mark.parametrize(
    ("model", "weight", "expected"),
    [
        (Cluster(2), None, 0.6440114393),
        (Cluster(2), (0.3, 0.7), 0.4367211349),
        (Cluster(2, temper_prior=True), (0.3, 0.7), 0.6042865862),
    ],
)
def test_first_cluster_posterior(
    model: Cluster, weight: tuple[float, float] | None, expected: float, data: Local
) -> None:
    assert posteriors(model, data, cluster_start(weight), 5.0)[0, 0] == pytest.approx(
        expected, abs=TEN
    )


def test_free_energies_of_different_temperatures_fall_with_the_temperature(data: Local) -> None:
    # dF/dT = -KL(Q || prior) for the objective that is maximised.
    for model, state in ((Aspect(2), aspect_start(2)), (Cluster(2), cluster_start())):
        energies = [sweep(model, data, state, t)[1] for t in (0.8, 1.0, 1.5, 3.0)]
        assert (np.diff(energies) > 0).all()


def test_noise_above_the_critical_temperature_dies_out(data: Local) -> None:
    start = Noisy(0.3).state(Cluster(3), data, np.random.default_rng(3))
    state, _ = sweeps(Cluster(3), data, start, 11.0, 1500)
    assert np.ptp(state.params.word_topic, axis=1) == pytest.approx(np.zeros(5), abs=1e-9)
