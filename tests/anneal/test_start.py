"""Where runs begin: noise, and the spectrum of the counts."""

import tracemalloc
from typing import Any

import numpy as np
import pytest

from isotherm.anneal.engine import Annealer
from isotherm.anneal.schedule import Exponential, Fixed
from isotherm.anneal.start import Noisy, Spectral, orthonormal, varimax
from isotherm.data.base import Array
from isotherm.data.counts import Counts
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.aspect import Aspect
from isotherm.models.cluster import Cluster
from isotherm.models.document import Document
from isotherm.placement.local import Local
from support.anneal import place
from support.corpora import TOY, admixture, matched


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def begins(start: Any, model: Any, data: Any, seed: int = 0) -> Array:
    weight, table = model.components(start.state(model, data, rng(seed)).params)
    np.testing.assert_allclose(weight, 1 / model.n_components)
    np.testing.assert_allclose(table.sum(axis=0), 1.0, rtol=1e-5)
    assert np.isfinite(table).all()
    assert (table >= 0).all()
    return np.asarray(table)


DEGENERATE = {
    "one row": np.array([[3, 1, 0, 2]]),
    "one column": np.array([[3], [1], [2]]),
    "one cell": np.array([[7]]),
    "rank 1": np.outer([1, 2, 3, 4], [5, 1, 2]),
    "rank 2": np.outer([1, 2, 0, 0], [5, 1, 2, 0]) + np.outer([0, 0, 3, 1], [0, 2, 1, 4]),
    "empty row and column": np.array([[0, 0, 0], [2, 0, 1], [0, 0, 3]]),
    "fewer columns than components": np.array([[4, 1], [0, 3], [2, 2]]),
    "disconnected": np.kron(np.eye(3, dtype=int), np.full((2, 2), 5)),
}


@pytest.mark.parametrize("X", DEGENERATE.values(), ids=DEGENERATE.keys())
@pytest.mark.parametrize("start", [Noisy(), Spectral()])
@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("K", [1, 2, 5])
def test_degenerate_counts_give_proper_distributions(
    X: Array, start: Any, precision: str, K: int
) -> None:
    data = place(X, Cpu(precision))
    table = begins(start, Aspect(K), data)
    assert table.shape == (X.shape[1], K)
    assert table.dtype == precision
    assert (table[X.sum(axis=0) == 0] == 0).all()


@pytest.mark.parametrize("start", [Noisy(), Spectral(), Noisy(0.0), Spectral(noise=0.0)])
@pytest.mark.parametrize("model", [Aspect(1), Cluster(1), Document(1)])
def test_one_component_is_the_unigram(start: Any, model: Any) -> None:
    X = admixture()[0]
    table = begins(start, model, place(X))
    np.testing.assert_allclose(table[:, 0], X.sum(axis=0) / X.sum(), rtol=1e-12)


def test_noisy_copies_differ_by_their_noise() -> None:
    X = admixture(n_words=400, length=2000)[0]
    p = X.sum(axis=0) / X.sum()
    change = np.log(begins(Noisy(0.07), Aspect(6), place(X)) / p[:, None])
    assert change.std() == pytest.approx(0.07, rel=0.1)
    other = begins(Noisy(0.07), Aspect(6), place(X), seed=1)
    assert np.abs(np.log(other / p[:, None]) - change).std() > 0.03


def test_spectral_start_does_not_depend_on_the_seed() -> None:
    data = place(admixture()[0])
    still = [begins(Spectral(noise=0.0), Aspect(4), data, seed) for seed in (0, 1)]
    np.testing.assert_array_equal(*still)
    moved = np.log(begins(Spectral(noise=0.01), Aspect(4), data, 2) / still[0])
    assert moved.std() == pytest.approx(0.01, rel=0.2)


def test_spectral_start_does_not_depend_on_blocks_or_row_weights() -> None:
    X = admixture(30, 20)[0]
    twice, weight = np.concatenate([X, X[:10]]), np.r_[np.full(10, 2.0), np.ones(20)]
    whole = begins(Spectral(noise=0.0), Aspect(3), place(twice))
    cut = begins(Spectral(noise=0.0), Aspect(3), place(twice, n_blocks=3))
    heavy = Local.place(Counts(X), Cpu("float64"), weight=weight)
    np.testing.assert_allclose(cut, whole, rtol=1e-9)
    np.testing.assert_allclose(begins(Spectral(noise=0.0), Aspect(3), heavy), whole, rtol=1e-9)


def test_spectral_components_point_at_the_planted_topics() -> None:
    X, table = admixture(200, 60, 4, length=100)
    begun = begins(Spectral(), Aspect(4), place(X))
    p = X.sum(axis=0) / X.sum()
    lift, truth = np.log(begun / p[:, None]).T, np.log(table / p)
    close = np.corrcoef(lift, truth)[:4, 4:]
    # Four distributions around their mean span three directions; the fourth is noise.
    assert len(set(close.argmax(axis=1))) >= 3
    assert (np.sort(close.max(axis=1))[1:] > 0.5).all()


def test_components_beyond_the_rank_stay_with_the_marginal() -> None:
    X = DEGENERATE["rank 2"]
    p = X.sum(axis=0) / X.sum()
    table = begins(Spectral(noise=0.0), Aspect(5), place(X))
    away = np.abs(table / p[:, None] - 1).max(axis=0)
    assert (away > 1e-3).sum() == 1
    assert np.sort(away)[:4] == pytest.approx(0.0, abs=1e-7)


def test_moves_are_limited() -> None:
    X = np.diag([1000, 1, 1, 1, 1, 1]) + np.eye(6, k=1, dtype=int)
    p = X.sum(axis=0) / X.sum()
    table = begins(Spectral(size=50.0, noise=0.0), Aspect(3), place(X))
    spread = np.log((table / p[:, None]).max(axis=0) / (table / p[:, None]).min(axis=0))
    assert spread.max() <= 6.0 + 1e-9
    assert spread.max() > 3.0


def test_spectral_runs_end_alike_where_noisy_ones_do_not() -> None:
    data = place(admixture(120, 60, 6, length=80, seed=1)[0])

    def ends(start: Any, schedule: Any) -> list[Array]:
        annealer = Annealer(schedule, start=start, tol=1e-5)
        runs = [annealer.run(Aspect(6), data, rng(seed)) for seed in range(5)]
        return [run.state.params.word_topic.T for run in runs]

    def apart(tables: list[Array]) -> float:
        return float(np.mean([matched(tables[0], other).mean() for other in tables[1:]]))

    spectral = apart(ends(Spectral(), Fixed(1.0)))
    noisy = apart(ends(Noisy(), Fixed(1.0)))
    assert spectral < 0.01
    assert noisy > 5 * spectral
    assert apart(ends(Spectral(), Exponential(0.9))) < 0.02


def test_toy_fit_from_either_start_reaches_the_same_optimum() -> None:
    data = place(TOY)
    ends = [
        Annealer(Exponential(0.9), start=start, tol=1e-9, max_sweeps=3000)
        .run(Aspect(2), data, rng(0))
        .trace[-1]
        .free_energy
        for start in (Noisy(), Spectral())
    ]
    assert ends == pytest.approx([365.54675992] * 2, abs=1e-3)


def test_spectral_start_holds_few_tables() -> None:
    X = rng(0).poisson(0.02, (40, 20_000))
    data, wide = place(X), 8 * 20_000 * 32  # bytes of a table with ten vectors more than components
    model = Aspect(22)
    Spectral().state(model, data, rng(0))  # compiles
    tracemalloc.start()
    Spectral().state(model, data, rng(0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * wide


DEPENDENT = {
    "far apart": np.diag([1.0, 2.0, 3.0]),
    "alike": np.ones((3, 3)) + 1e-3 * np.diag([1.0, 2.0, 3.0]),  # once is not enough
    "nearly one direction": np.ones((3, 3)) + 1e-7 * np.diag([1.0, 2.0, 3.0]),
    "one direction": np.ones((3, 3)),
    "nothing": np.zeros((3, 3)),
    "very unlike in size": np.diag([1e-9, 1.0, 1e9]),
}


@pytest.mark.parametrize("mixing", DEPENDENT.values(), ids=DEPENDENT.keys())
@pytest.mark.parametrize("n_rows", [3, 50, 9000])
def test_columns_become_orthonormal(mixing: Array, n_rows: int) -> None:
    table = rng(0).standard_normal((n_rows, 3)) @ mixing
    basis, triangle = orthonormal(table.copy())
    np.testing.assert_allclose(basis.T @ basis, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(basis @ triangle, table, atol=1e-12 * np.abs(table).max())
    assert (np.tril(triangle, -1) == 0).all()


def test_varimax_is_an_orthogonal_rotation() -> None:
    loadings = rng(0).standard_normal((50, 4))
    turned = varimax(loadings)
    rotation = np.linalg.lstsq(loadings, turned)[0]
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(loadings @ rotation, turned, atol=1e-12)
    assert (turned**2).var(axis=0).sum() > (loadings**2).var(axis=0).sum()


def test_varimax_finds_simple_structure() -> None:
    simple = np.kron(np.eye(3), np.ones((8, 1))) + 0.01 * rng(0).standard_normal((24, 3))
    mixing = np.linalg.qr(rng(1).standard_normal((3, 3)))[0]
    found = varimax(simple @ mixing)
    match = np.abs(found.T @ simple) / 8
    np.testing.assert_allclose(np.sort(match.max(axis=1)), 1.0, atol=0.01)
    assert sorted(match.argmax(axis=1)) == [0, 1, 2]


@pytest.mark.parametrize("loadings", [np.ones((3, 1)), np.zeros((4, 2)), np.zeros((4, 0))])
def test_varimax_of_nothing_much(loadings: Array) -> None:
    turned = varimax(loadings)
    assert turned.shape == loadings.shape
    np.testing.assert_allclose(np.linalg.norm(turned), np.linalg.norm(loadings))
