import gc
from typing import Any

import numpy as np
import pytest

from isotherm.anneal.critical import first_critical
from isotherm.anneal.engine import ADAPTIVE_RELAXATION
from isotherm.data.base import Block
from isotherm.errors import IsothermError
from isotherm.kernels.cpu.backend import Cpu
from isotherm.kernels.reference import Reference
from isotherm.models import segments
from isotherm.models.cluster import Cluster
from isotherm.models.segments import Segments
from support.models import (
    PLAIN,
    Local,
    begin,
    fitted,
    log_likelihoods,
    place,
    random_table,
    same,
    sweep,
    sweeps,
)

SHAPE = (5, 6)
TRUTH = (np.indices(SHAPE)[1] >= 3).astype(int).ravel()


def site_counts(seed: int = 0, tokens: int = 12) -> Any:
    """Counts of 30 sites, two textures side by side."""
    rng = np.random.default_rng(seed)
    p = np.array([[0.4, 0.3, 0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 0.3, 0.4]])
    return np.array([rng.multinomial(tokens, p[c]) for c in TRUTH]).astype(float)


DATA = place(site_counts())


def naive_energy(
    data: Local, table: Any, q: Any, shape: tuple[int, int], gamma: float, temperature: float
) -> float:
    """-sum Q loglik - T [ sum Q log(P/Q) + gamma sum_pairs sum_c Q Q ], pair by pair."""
    K = q.shape[1]
    field = q.reshape(*shape, K)
    pairs = (field[1:] * field[:-1]).sum() + (field[:, 1:] * field[:, :-1]).sum()
    prior = (q * (np.log(1 / K) - np.log(np.maximum(q, 1e-300)))).sum()
    return float(-(q * log_likelihoods(data, table)).sum() - temperature * (prior + gamma * pairs))


def naive_step(
    data: Local, table: Any, q: Any, shape: tuple[int, int], gamma: float, temperature: float
) -> Any:
    """Both colours, site by site."""
    q, scores = q.copy(), log_likelihoods(data, table) / temperature
    height, width = shape
    for colour in (0, 1):
        for i in range(height):
            for j in range(width):
                if (i + j) % 2 != colour:
                    continue
                near = [(i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)]
                around = sum(
                    q[a * width + b] for a, b in near if 0 <= a < height and 0 <= b < width
                )
                exponent = scores[i * width + j] + gamma * np.asarray(around)
                weight = np.exp(exponent - exponent.max())
                q[i * width + j] = weight / weight.sum()
    return q


@pytest.mark.parametrize("gamma", [0.0, 0.5, 8.0])
@pytest.mark.parametrize("temperature", [0.7, 1.0, 3.0])
@pytest.mark.parametrize("shape", [SHAPE, (6, 5), (30, 1), (1, 30)], ids=str)
def test_half_steps_and_energy_are_those_of_the_formula(
    shape: tuple[int, int], temperature: float, gamma: float
) -> None:
    model = Segments(3, shape=shape, gamma=gamma)
    state = begin(model, DATA)
    for _ in range(3):
        expected = naive_step(
            DATA, state.params.word_topic, state.rows[0].posterior, shape, gamma, temperature
        )
        before = state
        state, energy = sweep(model, DATA, state, temperature)
        assert state.rows[0].posterior == pytest.approx(expected, abs=1e-12)
        naive = naive_energy(DATA, before.params.word_topic, expected, shape, gamma, temperature)
        assert energy == pytest.approx(naive, rel=1e-12)
        assert state.params.weight == pytest.approx(np.full(3, 1 / 3))


@pytest.mark.parametrize(
    ("kernels", "slack"),
    [(Reference(), 1e-9), (Cpu("float64"), 1e-9), (Cpu("float32"), 1e-6)],
    ids=["reference", "double", "single"],
)
@pytest.mark.parametrize("pseudo_count", [0.0, 4.0])
def test_a_sweep_never_raises_the_free_energy(
    kernels: Any, slack: float, pseudo_count: float
) -> None:
    data = place(site_counts(), kernels)
    for gamma in (0.3, 1.0, 8.0):
        model = Segments(3, pseudo_count, shape=SHAPE, gamma=gamma)
        for temperature in (0.7, 1.0, 1.3, 2.0, 5.0):
            _, energies = sweeps(model, data, begin(model, data), temperature, 30)
            assert np.diff(energies).max() <= slack * abs(energies[0])
            assert energies[-1] < energies[0]


@pytest.mark.parametrize("temperature", [0.0, 1.0, 2.0])
def test_without_smoothing_it_is_one_sided_clustering(temperature: float) -> None:
    cluster, model = Cluster(3, 2.0, fixed_weights=True), Segments(3, 2.0, shape=SHAPE, gamma=0.0)
    one, energies = sweeps(cluster, DATA, begin(cluster, DATA), temperature, 6)
    other, same_energies = sweeps(model, DATA, begin(model, DATA), temperature, 6)
    assert same_energies == pytest.approx(energies, rel=1e-12)
    assert same(one.params, other.params)
    assert same(one.rows[0], other.rows[0])


def test_statistics_are_those_of_both_colours() -> None:
    model, k = Segments(3, shape=SHAPE, gamma=1.0), Cpu("float64")
    data = place(site_counts(), k)
    state = begin(model, data)
    rows, stats, _ = model.expect(state.params, state.rows[0], data.blocks[0], 1.0, k)
    assert stats.word == pytest.approx(site_counts().T @ rows.posterior, rel=1e-12)
    assert stats.mass == pytest.approx(rows.posterior.sum(axis=0), rel=1e-12)


def test_in_the_hard_limit_neighbours_do_not_matter() -> None:
    table = random_table(DATA, 3)
    plain, smooth = (Segments(3, shape=SHAPE, gamma=gamma) for gamma in (0.0, 8.0))
    one, energy = sweep(plain, DATA, begin(plain, DATA, table), 0.0)
    other, same_energy = sweep(smooth, DATA, begin(smooth, DATA, table), 0.0)
    assert same(one.rows[0], other.rows[0], 0.0)
    assert energy == same_energy


def test_neighbours_mend_what_noise_broke() -> None:
    data = place(site_counts(seed=2, tokens=5))
    wrong = []
    for gamma in (0.0, 2.0):
        model = Segments(2, 10.0, shape=SHAPE, gamma=gamma)
        start = begin(model, data, np.array([[4, 1], [3, 1], [1, 1], [1, 3], [1, 4]]) / 10.0)
        fit, _ = fitted(model, data, start, 1.0, 200, ADAPTIVE_RELAXATION, tol=1e-8)
        wrong.append(int((fit.state.rows[0].posterior.argmax(axis=1) != TRUTH).sum()))
        assert fit.trace[-1].converged
    assert wrong[0] >= 3
    assert wrong[1] == 0


def test_colours_are_separated_once_and_dropped_with_the_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken: list[int] = []
    take = Block.take

    def spy(block: Block, rows: Any) -> Block:
        taken.append(len(rows))
        return take(block, rows)

    monkeypatch.setattr(Block, "take", spy)
    data = place(site_counts(1))
    model = Segments(2, shape=SHAPE, gamma=1.0)
    sweeps(model, data, begin(model, data), 1.0, 5)
    assert taken == [15, 15]
    # Another shape of the same block has other neighbours.
    other = Segments(2, shape=(2, 15), gamma=1.0)
    sweeps(other, data, begin(other, data), 1.0, 2)
    sweeps(model, data, begin(model, data), 1.0, 2)
    assert len(taken) == 4
    gc.collect()
    kept = len(segments._HALVES)
    del data
    gc.collect()
    assert len(segments._HALVES) == kept - 1


def test_an_image_in_several_blocks_is_refused() -> None:
    model = Segments(2, shape=SHAPE, gamma=1.0)
    cut = place(site_counts(), bounds=[0, 12, 30])
    with pytest.raises(IsothermError, match=r"12 rows, the image 5 x 6 sites.*whole image"):
        sweep(model, cut, begin(model, cut), 1.0)
    heavy = place(site_counts(), weight=np.full(30, 2.0))
    with pytest.raises(IsothermError, match="every site with weight 1"):
        sweep(model, heavy, begin(model, heavy), 1.0)


def test_free_weights_and_critical_temperatures_are_refused() -> None:
    with pytest.raises(IsothermError, match="weights are 1/K"):
        Segments(2, fixed_weights=False, shape=SHAPE)
    with pytest.raises(IsothermError, match="not known for a Potts prior"):
        first_critical(Segments(2, shape=SHAPE, gamma=1.0), DATA)


def test_backends_agree() -> None:
    model = Segments(3, shape=SHAPE, gamma=2.0)
    cpu = place(site_counts(), Cpu("float64"))
    one, energies = sweeps(model, DATA, begin(model, DATA), 1.3, 10)
    other, cpu_energies = sweeps(model, cpu, begin(model, cpu), 1.3, 10)
    assert PLAIN.dtype == np.float64
    assert cpu_energies == pytest.approx(energies, rel=1e-11)
    assert same(one.rows[0], other.rows[0], 1e-8)
