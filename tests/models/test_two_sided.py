"""Two-sided clustering: the place figures, and the laws that set it apart from other models."""

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.special import xlogy
from sklearn.metrics import adjusted_rand_score

from isotherm.anneal.critical import critical_temperatures, first_critical
from isotherm.anneal.engine import ADAPTIVE_RELAXATION, NO_RELAXATION, Annealer
from isotherm.anneal.relax import relax
from isotherm.anneal.schedule import Linear
from isotherm.anneal.start import Noisy, state_of
from isotherm.anneal.trace import State
from isotherm.data.base import row_bounds
from isotherm.data.counts import Counts
from isotherm.kernels.cpu.backend import Cpu
from isotherm.kernels.reference import Reference
from isotherm.models.cluster import Cluster, ClusterParams
from isotherm.models.two_sided import TwoSided, association, mutual_information
from support.corpora import TOY
from support.models import (
    Array,
    Energies,
    Local,
    fitted,
    place,
    poisson_counts,
    same,
    sweep,
    sweeps,
)

TEN, EIGHT = 0.6e-10, 0.6e-8
TABLE = poisson_counts()
EMPTY_ROW, EMPTY_COLUMN = 4, 5
DATA = place(TABLE)
TEMPERATURES = (0.7, 1.0, 1.3, 2.0, 5.0)
MODELS = [TwoSided(3, 3), TwoSided(3, 4), TwoSided(3, 2, temper_prior=True)]
KERNELS = [(Reference(), 1e-9), (Cpu("float64"), 1e-9), (Cpu("float32"), 1e-6)]
HARD_X = np.eye(2)[(np.arange(6) >= 3).astype(int)]
HARD_Y = np.eye(2)[(np.arange(5) >= 3).astype(int)]


def posteriors(shape: tuple[int, int], seed: int) -> Array:
    """Random posteriors, far enough from uniform not to fall back to it at once."""
    return np.random.default_rng(seed).dirichlet(np.full(shape[1], 0.3), shape[0])


def state(
    model: TwoSided, data: Local, rows: Any = None, columns: Any = None, weight: Any = None
) -> State:
    """State of given posteriors of both sides, or random ones."""
    counts = np.concatenate([dense(block) for block in data.blocks])
    L = model.n_column_components or model.n_components
    rows = posteriors((len(counts), model.n_components), 1) if rows is None else rows
    columns = posteriors((counts.shape[1], L), 2) if columns is None else columns
    heavy = rows * (1.0 if weight is None else weight[:, None])
    params = model.assigned(counts.T @ heavy, heavy.sum(axis=0), columns.astype(data.kernels.dtype))
    return state_of(model, data, params)


def dense(block: Any) -> Array:
    part = np.zeros((block.n_rows, block.n_columns))
    part[block.row_of, block.indices] = block.values
    return part


def objective(rows: Array, columns: Array, phi: Array, temperature: float) -> float:
    """F_T by its definition, every sum written out (place counts)."""
    pi, rho = rows.mean(axis=0), columns.mean(axis=0)
    mean = np.einsum("xy,xc,yd,cd->", TOY, rows, columns, np.log(phi))
    gain_x = (xlogy(rows, pi) - xlogy(rows, rows)).sum()
    gain_y = (xlogy(columns, rho) - xlogy(columns, columns)).sum()
    return float(mean + temperature * (gain_x + gain_y))


@pytest.fixture(params=MODELS, ids=["square", "wide", "tempered-prior"])
def model(request: pytest.FixtureRequest) -> TwoSided:
    return request.param


@pytest.fixture(params=[Reference(), Cpu("float64")], ids=["reference", "cpu"])
def data(request: pytest.FixtureRequest) -> Local:
    return place(TOY, request.param)


def test_blocks_of_the_toy() -> None:
    params = TwoSided(2).assigned(TOY.T @ HARD_X, HARD_X.sum(axis=0), HARD_Y)
    expected = [[1.52564103, 0.19476268], [0.36728395, 1.96926714]]
    np.testing.assert_allclose(params.association, expected, atol=EIGHT)
    assert mutual_information(params.joint) == pytest.approx(0.2824147381, abs=TEN)
    assert mutual_information(TOY) == pytest.approx(0.3597459750, abs=TEN)


def test_blocks_of_the_toy_are_the_best_of_all() -> None:
    best = max(
        mutual_information(np.eye(2)[list(x)].T @ TOY @ np.eye(2)[list(y)])
        for x in itertools.product((0, 1), repeat=6)
        for y in itertools.product((0, 1), repeat=5)
    )
    assert best == pytest.approx(0.2824147381, abs=TEN)


@pytest.mark.parametrize("temper_prior", [False, True])
def test_the_hard_limit_finds_the_best_blocks(data: Local, temper_prior: bool) -> None:
    model = TwoSided(2, 2, temper_prior)
    begin = state(model, data, *soft_start())
    reached, energies = sweeps(model, data, begin, 0.0, 10)
    assert mutual_information(reached.params.joint) == pytest.approx(0.2824147381, abs=TEN)
    assert set(np.unique(reached.params.column_posterior)) == {0.0, 1.0}
    assert set(np.unique(reached.rows[0].posterior)) == {0.0, 1.0}
    if not temper_prior:
        assert energies[-1] == pytest.approx(-119 * 0.2824147381, abs=119 * TEN)


def soft_start() -> tuple[Array, Array]:
    return np.where(HARD_X == 1, 0.9, 0.1), np.where(HARD_Y == 1, 0.85, 0.15)


def test_twenty_sweeps_from_the_soft_start(data: Local) -> None:
    model = TwoSided(2)
    reached, energies = sweeps(model, data, state(model, data, *soft_start()), 1.0, 20)
    params, rows = reached.params, reached.rows[0].posterior
    value = objective(rows, params.column_posterior, params.association, 1.0)
    assert value == pytest.approx(26.0834124160, abs=TEN)
    assert energies[-1] == pytest.approx(-26.0834124160, abs=TEN)


@pytest.mark.parametrize("temper_prior", [False, True])
@pytest.mark.parametrize("temperature", [0.7, 1.0, 2.0])
def test_the_energy_is_the_objective_after_the_e_step(
    data: Local, temperature: float, temper_prior: bool
) -> None:
    model = TwoSided(2, 2, temper_prior)
    begin = state(model, data, *soft_start())
    after, energy = sweep(model, data, begin, temperature)
    params, rows, columns = begin.params, after.rows[0].posterior, soft_start()[1]
    # The rows' prior is that of the parameters, not yet the mean of the new posterior.
    spare = temperature * xlogy(rows, params.weight / rows.mean(axis=0)).sum()
    value = objective(rows, columns, params.association, temperature) + spare
    if temper_prior:  # log pi and log rho count once, not T times
        priors = xlogy(rows, params.weight).sum() + xlogy(columns, columns.mean(axis=0)).sum()
        value += (1.0 - temperature) * priors
    assert energy == pytest.approx(-value, rel=1e-12)


@pytest.mark.parametrize(("kernels", "slack"), KERNELS, ids=["reference", "double", "single"])
@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_a_sweep_never_raises_the_free_energy(
    model: TwoSided, temperature: float, kernels: Any, slack: float
) -> None:
    L = model.n_column_components or 3
    leaning = [0.7 * np.eye(n)[np.arange(size) % n] + 0.3 / n for size, n in ((18, 3), (12, L))]
    for start, table in ((leaning, 5 * TABLE), ([None, None], TABLE)):
        data = place(table, kernels)
        reached, energies = sweeps(model, data, state(model, data, *start), temperature, 40)
        assert np.diff(energies).max() <= slack * max(1.0, np.abs(energies).max())
        assert energies[-1] < energies[0]
        # The first start keeps its clusters at all of these temperatures, so that this is no
        # matter of how the uniform state is approached.
        assert table is TABLE or mutual_information(reached.params.joint) > 0.02


@pytest.mark.parametrize("seed", range(8))
def test_every_half_sweep_of_the_hard_limit_raises_mutual_information(seed: int) -> None:
    model, counts = TwoSided(3, 4), TABLE
    labels = np.eye(3)[np.random.default_rng(seed).integers(0, 3, len(counts))]
    column_labels = np.eye(4)[np.random.default_rng(seed + 50).integers(0, 4, counts.shape[1])]
    now = state(model, DATA, labels, column_labels)
    found = [mutual_information(now.params.joint)]
    for _ in range(12):
        columns = now.params.column_posterior
        now, energy = sweep(model, DATA, now, 0.0)
        # After the rows' half, with the columns as they were; then after the columns' half.
        joint = now.rows[0].posterior.T @ counts @ columns
        found += [mutual_information(joint), mutual_information(now.params.joint)]
        assert -energy <= counts.sum() * found[-2] + 1e-9
    assert np.diff(found).min() >= -1e-12
    assert found[-1] > found[0] + 0.01


@pytest.mark.parametrize("temperature", [0.0, *TEMPERATURES])
def test_association_and_predictions_stay_normalised(model: TwoSided, temperature: float) -> None:
    now = state(model, DATA)
    for _ in range(10):
        now, _ = sweep(model, DATA, now, temperature)
        p = now.params
        np.testing.assert_allclose(p.association @ p.joint.sum(axis=0), 1.0, atol=1e-12)
        np.testing.assert_allclose(p.joint.sum(axis=1) @ p.association, 1.0, atol=1e-12)
        weights, table = model.mixture(p, now.rows[0])
        np.testing.assert_allclose((weights @ table.T).sum(axis=1), 1.0, atol=1e-12)
        np.testing.assert_allclose(table.sum(axis=0), 1.0, atol=1e-12)
        assert p.weight.sum() == pytest.approx(1.0, abs=1e-12)
        assert p.column_weight.sum() == pytest.approx(1.0, abs=1e-12)
        np.testing.assert_allclose(p.column_posterior.sum(axis=1), 1.0, atol=1e-12)
        assert (table[EMPTY_COLUMN] == 0).all()
        assert all((np.isfinite(field)).all() for field in p)


def test_prediction_is_written_out(model: TwoSided) -> None:
    now, _ = sweeps(model, DATA, state(model, DATA), 1.3, 3)
    p, rows = now.params, now.rows[0].posterior
    marginal = TABLE.sum(axis=0) / TABLE.sum()
    expected = marginal * np.einsum("xc,cd,yd->xy", rows, p.association, p.column_posterior)
    weights, table = model.mixture(p, now.rows[0])
    np.testing.assert_allclose(weights @ table.T, expected, rtol=1e-12)


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0, 3.0])
@pytest.mark.parametrize("temper_prior", [False, True])
def test_single_words_as_clusters_are_one_sided_clustering(
    temperature: float, temper_prior: bool
) -> None:
    table = np.delete(TABLE, EMPTY_COLUMN, axis=1)
    data, K = place(table), 3
    rows = posteriors((len(table), K), 1)
    model = TwoSided(K, table.shape[1], temper_prior)
    begin = state(model, data, rows, np.eye(table.shape[1]))
    tokens = table.T @ rows
    word_topic = tokens / tokens.sum(axis=0)
    expected = word_topic / (table.sum(axis=0) / table.sum())[:, None]
    np.testing.assert_allclose(begin.params.association, expected.T, rtol=1e-12)
    cluster = Cluster(K, temper_prior=temper_prior)
    params = ClusterParams(rows.mean(axis=0), tokens.sum(axis=0), word_topic)
    other = state_of(cluster, data, params)
    mine, _ = sweep(model, data, begin, temperature)
    theirs, _ = sweep(cluster, data, other, temperature)
    np.testing.assert_allclose(mine.rows[0].posterior, theirs.rows[0].posterior, atol=1e-12)


def test_rows_have_a_critical_temperature_while_columns_stay_put() -> None:
    columns = posteriors((TABLE.shape[1], 4), 3)
    model = TwoSided(1, 4)
    now = state(model, DATA, np.ones((len(TABLE), 1)), columns)
    compressed = place(TABLE @ np.where(TABLE.sum(axis=0)[:, None] > 0, columns, 0))
    (found,) = critical_temperatures(model, DATA, now, 1.0)
    assert found == pytest.approx(first_critical(Cluster(2), compressed), rel=1e-9)
    twice = place(TABLE, weight=np.full(len(TABLE), 2.0))
    heavy = state(model, twice, np.ones((len(TABLE), 1)), columns, np.full(len(TABLE), 2.0))
    # Copies of rows add curvature and counts alike.
    assert critical_temperatures(model, twice, heavy, 1.0) == pytest.approx(found, rel=1e-9)


def test_there_is_no_first_critical_temperature() -> None:
    assert first_critical(TwoSided(3), DATA) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 4.0])
def test_the_uniform_state_is_super_stable(temperature: float) -> None:
    model, rng, left = TwoSided(3), np.random.default_rng(0), []
    for size in (1e-2, 1e-3):
        rows, columns = (
            np.full(shape, 1 / 3) + size * (n - n.mean(axis=1, keepdims=True))
            for shape in ((18, 3), (12, 3))
            for n in [rng.uniform(-0.5, 0.5, shape)]
        )
        now, _ = sweep(model, DATA, state(model, DATA, rows, columns), temperature)
        left.append(np.abs(now.params.association - 1).max())
    # What is left of phi - 1 shrinks much faster than the perturbation, at any temperature.
    assert left[0] < 1e-3
    assert left[1] < 1e-5 * max(left[0], 1e-3) ** 0.5
    start, _ = sweeps(model, DATA, Noisy(1e-3).state(model, DATA, rng), temperature, 3)
    assert mutual_information(start.params.joint) < 1e-12


@pytest.mark.parametrize("bounds", [2, 3, 7, [0, 1, 2, 17, 18], [0, 4, 5, 6, 18]], ids=str)
def test_blocks_do_not_matter(model: TwoSided, bounds: Any) -> None:
    if isinstance(bounds, int):
        bounds = row_bounds(Counts(TABLE), bounds)
    cut = place(TABLE, bounds=bounds)
    one, energies = sweeps(model, DATA, state(model, DATA), 1.3, 15)
    many, cut_energies = sweeps(model, cut, state(model, cut), 1.3, 15)
    assert len(cut.blocks) > 1
    assert cut_energies == pytest.approx(energies, rel=1e-12)
    assert same(one.params, many.params)
    assert same(DATA.gather(one.rows), cut.gather(many.rows))


@pytest.mark.parametrize("temperature", [0.0, *TEMPERATURES])
def test_a_row_of_weight_two_is_the_row_twice(model: TwoSided, temperature: float) -> None:
    weight = np.where(np.arange(len(TABLE)) % 3 == 0, 2.0, 1.0)
    weight[EMPTY_ROW] = 2.0
    copies = np.repeat(np.arange(len(TABLE)), weight.astype(int))
    rows = posteriors((len(TABLE), 3), 1)
    heavy, twice = place(TABLE, weight=weight), place(TABLE[copies])
    one, energies = sweeps(model, heavy, state(model, heavy, rows, weight=weight), temperature, 10)
    other, twice_energies = sweeps(model, twice, state(model, twice, rows[copies]), temperature, 10)
    assert twice_energies == pytest.approx(energies, rel=1e-10)
    assert same(one.params, other.params)


@pytest.mark.parametrize("temperature", [0.0, *TEMPERATURES])
def test_an_empty_column_is_never_touched(model: TwoSided, temperature: float) -> None:
    kept = np.arange(TABLE.shape[1]) != EMPTY_COLUMN
    smaller = place(TABLE[:, kept])
    columns = posteriors((TABLE.shape[1], model.n_column_components or 3), 2)
    one, energies = sweeps(model, DATA, state(model, DATA, None, columns), temperature, 6)
    begin = state(model, smaller, None, columns[kept])
    other, without = sweeps(model, smaller, begin, temperature, 6)
    assert energies == pytest.approx(without, rel=1e-12)
    np.testing.assert_allclose(one.params.association, other.params.association, rtol=1e-10)
    assert one.params.column_posterior[EMPTY_COLUMN] == pytest.approx(one.params.column_weight)


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_an_empty_row_follows_the_weights(model: TwoSided, temperature: float) -> None:
    before, _ = sweeps(model, DATA, state(model, DATA), temperature, 4)
    after, _ = sweep(model, DATA, before, temperature)
    prior = before.params.weight ** (1.0 / temperature if model.temper_prior else 1.0)
    found = after.rows[0].posterior[EMPTY_ROW]
    assert found == pytest.approx(prior / prior.sum(), abs=1e-12)


@pytest.mark.parametrize("temperature", [0.0, *TEMPERATURES])
def test_dead_clusters_stay_dead_and_do_no_harm(temperature: float) -> None:
    model = TwoSided(3, 4)
    rows, columns = posteriors((18, 3), 1), posteriors((12, 4), 2)
    rows[:, 1], columns[:, 2] = 0.0, 0.0
    rows, columns = (q / q.sum(axis=1, keepdims=True) for q in (rows, columns))
    begin = state(model, DATA, rows, columns)
    assert (begin.params.association[1] == 1).all()
    assert (begin.params.association[:, 2] == 1).all()
    now, energies = sweeps(model, DATA, begin, temperature, 6)
    assert (now.rows[0].posterior[:, 1] == 0).all()
    assert (now.params.column_posterior[:, 2] == 0).all()
    assert np.isfinite(energies).all()
    without = TwoSided(2, 3)
    other, expected = sweeps(
        without, DATA, state(without, DATA, rows[:, [0, 2]], columns[:, [0, 1, 3]]), temperature, 6
    )
    assert energies == pytest.approx(expected, rel=1e-10)
    assert same((now.params.joint[[0, 2]][:, [0, 1, 3]],), (other.params.joint,))


def test_one_cluster_of_rows_is_the_unigram_model() -> None:
    model = TwoSided(1, 3)
    now, _ = sweeps(model, DATA, state(model, DATA), 1.0, 3)
    marginal = TABLE.sum(axis=0) / TABLE.sum()
    np.testing.assert_allclose(model.components(now.params)[1][:, 0], marginal, atol=1e-15)
    np.testing.assert_allclose(now.params.association, 1.0, atol=1e-12)


def test_transposing_exchanges_the_sides() -> None:
    """One whole sweep of the columns' half first is the transposed model's sweep."""
    model, turned = TwoSided(3, 4), TwoSided(4, 3)
    table = np.delete(np.delete(TABLE, EMPTY_ROW, axis=0), EMPTY_COLUMN, axis=1)
    here, there = place(table), place(table.T)
    rows, columns = posteriors((17, 3), 1), posteriors((11, 4), 2)
    one, _ = sweeps(model, here, state(model, here, rows, columns), 1.0, 400)
    other, _ = sweeps(
        turned,
        there,
        state(turned, there, one.params.column_posterior, one.rows[0].posterior),
        1.0,
        5,
    )
    np.testing.assert_allclose(other.params.association.T, one.params.association, rtol=1e-6)


def test_nothing_is_relaxed_or_shaken() -> None:
    model = TwoSided(3)
    begin = state(model, DATA)
    plain, _ = fitted(model, DATA, begin, 1.3, 12, NO_RELAXATION)
    eager, _ = fitted(model, DATA, begin, 1.3, 12, ADAPTIVE_RELAXATION)
    assert same(plain.state.params, eager.state.params, 0.0)
    after, _ = sweep(model, DATA, begin, 1.3)
    assert same(relax(model, DATA, begin, after, 3.0).params, after.params, 0.0)
    assert same(model.perturb(after.params, np.random.default_rng(0), 0.5), after.params, 0.0)


def test_the_energy_follows_a_change_of_temperature() -> None:
    model = TwoSided(3, 4)
    schedule = Linear(step=0.5, start=2.0, end=1.5)
    for noise in (0.0, 0.1):
        heard = Energies()
        annealer = Annealer(schedule, noise=noise, tol=-1.0, max_sweeps=2, callbacks=(heard,))
        annealer.run(model, DATA, np.random.default_rng(0), state=state(model, DATA))
        now, _ = sweeps(model, DATA, state(model, DATA), 2.0, 2)
        _, expected = sweep(model, DATA, now, 1.5)
        assert heard.values[2] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 5)], ids=str)
def test_starts_from_distributions_are_valid(shape: tuple[int, int]) -> None:
    model = TwoSided(*shape)
    table = np.random.default_rng(0).dirichlet(np.ones(12), shape[0]).T
    params = model.init(DATA.summary, table)
    assert params.association.shape == shape
    np.testing.assert_allclose(params.association @ params.joint.sum(axis=0), 1.0, atol=1e-12)
    np.testing.assert_allclose(params.column_posterior.sum(axis=1), 1.0, atol=1e-12)
    assert np.abs(params.association - 1).max() > 0.1


def test_association_of_a_dead_cluster_is_one() -> None:
    found = association(np.array([[2.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 2.0]]))
    np.testing.assert_allclose(found, [[4 / 3, 1, 2 / 3], [1, 1, 1], [2 / 3, 1, 4 / 3]])


def planted_blocks(seed: int) -> tuple[Array, Array, Array]:
    """Counts (60, 45) of 3 x 3 blocks, and the labels of both sides."""
    rng = np.random.default_rng(seed)
    x, y = rng.permutation(np.arange(60) % 3), rng.permutation(np.arange(45) % 3)
    strong = np.array([[6, 1, 1], [1, 5, 1], [1, 2, 6]]) * 0.5
    return rng.poisson(strong[x][:, y]).astype(float), x, y


def test_true_blocks_are_a_fixed_point() -> None:
    counts, x, y = planted_blocks(0)
    data, model = place(counts), TwoSided(3)
    now, _ = sweeps(model, data, state(model, data, np.eye(3)[x], np.eye(3)[y]), 1.0, 10)
    assert adjusted_rand_score(x, now.rows[0].posterior.argmax(axis=1)) == 1.0
    assert adjusted_rand_score(y, now.params.column_posterior.argmax(axis=1)) == 1.0
