"""DTM: what Huh & Fienberg (2010) claim, what is true of it, and what is guaranteed here."""

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from isotherm.anneal.engine import NO_RELAXATION, Annealer
from isotherm.anneal.schedule import Fixed
from isotherm.anneal.trace import State
from isotherm.data.linked import Links
from isotherm.errors import IsothermError
from isotherm.kernels.base import Ascent, Kernels
from isotherm.kernels.cpu.backend import Cpu
from isotherm.kernels.reference import Reference
from isotherm.models.dtm import DTM, MOST_REJECTED, paper_step, separation, walk_steps
from isotherm.models.linked import LinkedRows
from support.linked import (
    laplacian,
    linked,
    log_likelihood,
    plsa,
    q2,
    random_graph,
    random_state,
    run,
    theta_of,
)
from support.models import Array, poisson_counts, sweep

K_CPU = Cpu("float64")
X = poisson_counts()
W = random_graph(len(X), alone=(4,))
THREE = np.array([[0.4, 0.3, 0.3], [0.5, 0.1, 0.4], [0.8, 0.1, 0.1]])
EDGE = np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 0]])


def ascended(k: Any, graph: Array, theta: Array) -> Array:
    """Rows after one step that raises Q2, whatever the counts."""
    links = Links.of(graph)
    ratio = separation(k.spread(links, theta))
    up: Array = k.ascend(links, theta, np.ones_like(theta), ratio).theta
    return up


@pytest.mark.parametrize("k", [Reference(), K_CPU, Cpu("float32")], ids=["plain", "64", "32"])
def test_three_documents(k: Any) -> None:
    assert separation(k.spread(Links.of(EDGE), THREE)) == pytest.approx(8.0, rel=1e-14)
    up = ascended(k, EDGE, THREE)
    assert separation(k.spread(Links.of(EDGE), up)) == pytest.approx(410.336006980543, abs=2e-11)
    expected = [
        [0.419521, 0.220687, 0.359792],
        [0.442308, 0.180769, 0.376923],
        [0.995194, 0.002957, 0.001848],
    ]
    np.testing.assert_allclose(up, expected, atol=6e-7)


def pair_step(graph: Array, theta: Array, i: int, p: int, ratio: float) -> Array:
    """Theorem 2 of the paper: one document, one topic; the others of the row in proportion."""
    own = theta[:, p]
    up = len(theta) * own[i] + ratio * graph[i] @ own
    new = min(own[i] * up / (own.sum() + ratio * graph[i].sum() * own[i]), 1.0)
    out = theta.copy()
    out[i] *= (1 - new) / (1 - own[i])
    out[i, p] = new
    return out


def test_a_single_step_of_the_paper_may_lower_the_ratio() -> None:
    new = pair_step(EDGE, THREE, 1, 2, 8.0)
    np.testing.assert_allclose(new[1], [8 / 15, 8 / 75, 0.36], rtol=1e-14)
    assert q2(EDGE, new) == pytest.approx(7.446293494705, abs=1e-11)


@pytest.mark.parametrize(("K", "low", "high"), [(2, 0.0, 0.0), (3, 0.06, 0.15), (8, 0.09, 0.16)])
def test_how_often_single_steps_of_the_paper_lower_the_ratio(
    K: int, low: float, high: float
) -> None:
    """Theorem 2 holds for two topics and not for more: eq. 27 forgets the other topics."""
    rng, fell, tried = np.random.default_rng(0), 0, 0
    for _ in range(60):
        n = int(rng.integers(5, 11))
        graph = random_graph(n, int(rng.integers(1000)))
        theta = rng.dirichlet(np.ones(K), n)
        before = q2(graph, theta)
        for i in range(n):
            for p in range(K):
                after = q2(graph, pair_step(graph, theta, i, p, before))
                fell += after < before * (1 - 1e-12)
                tried += 1
    assert low <= fell / tried <= high


@pytest.mark.parametrize("K", [2, 3, 5, 10])
def test_the_step_by_minorisation_never_lowers_the_ratio(K: int) -> None:
    rng = np.random.default_rng(K)
    for trial in range(15):
        n = int(rng.integers(4, 25))
        graph = random_graph(n, trial, fill=float(rng.uniform(0.05, 0.8)))
        graph *= np.sqrt(np.outer(*2 * [rng.uniform(0.2, 3.0, n)]))
        theta = rng.dirichlet(np.full(K, rng.choice([0.1, 1.0, 10.0])), n)
        ratio = q2(graph, theta)
        for _ in range(20):  # late states as well
            theta = ascended(K_CPU, graph, theta)
            new = q2(graph, theta)
            assert new >= ratio * (1 - 1e-10)
            ratio = new


def test_the_ratio_has_the_bounds_of_the_spectrum_and_reaches_the_upper_one() -> None:
    graph = random_graph(18, 4, fill=0.3)
    eigen = np.linalg.eigvalsh(laplacian(graph))
    low, high = 18 / eigen[-1], 18 / eigen[1]
    assert low >= 1
    theta = np.random.default_rng(0).dirichlet(np.ones(4), 18)
    assert low <= q2(graph, theta) <= high
    for _ in range(400):
        theta = ascended(K_CPU, graph, theta)
    assert q2(graph, theta) == pytest.approx(high, rel=1e-5)


def test_the_paper_step_of_all_documents_is_that_of_its_formula() -> None:
    rng = np.random.default_rng(4)
    graph, theta = random_graph(12, 2), rng.dirichlet(np.full(4, 0.5), 12)
    theta[2] = [0.0, 0.4, 0.6, 0.0]
    theta[3] = [0.0, 1.0, 0.0, 0.0]
    links, ratio = Links.of(graph), q2(graph, theta)
    expected = theta.copy()
    for p in range(4):
        own = expected[:, p].copy()
        new = own * (12 * own + ratio * graph @ own)
        new = np.minimum(new / (own.sum() + ratio * graph.sum(axis=1) * own + 1e-300), 1.0)
        for i in range(12):
            if 0 < own[i] < 1:
                expected[i] *= (1 - new[i]) / (1 - own[i])
                expected[i, p] = new[i]
    np.testing.assert_allclose(paper_step(links, theta, ratio), expected, atol=1e-12)
    np.testing.assert_array_equal(paper_step(links, theta, ratio)[3], theta[3])


def test_the_paper_step_may_fill_a_row_with_one_topic() -> None:
    """Far from its neighbour a row would pass 1: there it stops, without 0/0."""
    theta = np.array([[0.99, 0.005, 0.005], [0.01, 0.5, 0.49], [0.02, 0.3, 0.68]])
    new = paper_step(Links.of(np.zeros((3, 3))), theta, 1.0)
    np.testing.assert_array_equal(new[0], [1.0, 0.0, 0.0])
    np.testing.assert_allclose(new.sum(axis=1), 1.0)
    assert np.isfinite(new).all()


def test_steps_of_the_walk_end_at_one() -> None:
    np.testing.assert_allclose(walk_steps(0.1), np.arange(1, 11) / 10)
    np.testing.assert_allclose(walk_steps(0.3), [0.3, 0.6, 0.9, 1.0])
    for gamma in (0.01, 0.07, 0.1, 1 / 3, 0.5, 1.0):
        steps = walk_steps(gamma)
        assert steps[-1] == 1.0
        assert np.all(np.diff(np.append(0.0, steps)) > 0)
        assert steps[0] == min(gamma, 1.0)


@pytest.mark.parametrize("step", ["mm", "paper"])
@pytest.mark.parametrize("gamma", [0.1, 0.3, 1.0])
@pytest.mark.parametrize("K", [2, 3, 6])
def test_likelihood_and_ratio_never_fall(step: str, gamma: float, K: int) -> None:
    model = DTM(K, step, gamma)
    for seed in range(2):
        states, energies = run(model, linked(X, W, K_CPU), 40, seed)
        fits = [log_likelihood(X, theta_of(s), s.params.word_topic) for s in states]
        ratios = [q2(W, theta_of(s)) for s in states]
        assert np.diff(fits).min() > -1e-9 * abs(fits[0])
        assert np.diff(ratios).min() > -1e-10 * ratios[-1]
        assert fits[-1] > fits[0] + 50
        assert ratios[-1] > ratios[0] or gamma == 1.0
        assert min(theta_of(s).min() for s in states) >= 0
        expected = [-f - X.sum() * np.log(r) for f, r in zip(fits, ratios, strict=True)]
        np.testing.assert_allclose(energies, expected[:-1], rtol=1e-10)


def test_rejected_steps_are_counted_and_leave_the_rows() -> None:
    states, _ = run(DTM(4), linked(X, W, K_CPU), 200)
    stood, last = 0, np.zeros(2)
    for before, after in itertools.pairwise(states):
        same = np.array_equal(theta_of(before), theta_of(after))
        stood += same
        now = after.params.rejected
        assert now[1] == last[1] + same
        assert now[0] == (last[0] + 1 if same else 0)
        last = now
    assert stood > 0


class Stuck(DTM):
    """A model whose steps are those of PLSA, and so no good for Q2."""

    def _ascended(
        self, links: Links, theta: Array, counts: Array, ratio: float, k: Kernels
    ) -> Ascent:
        return Ascent(counts / counts.sum(axis=1, keepdims=True), 0.0, -1.0)


class Overshooting(DTM):
    """A model whose full step pleases the likelihood and lowers Q2."""

    def _ascended(
        self, links: Links, theta: Array, counts: Array, ratio: float, k: Kernels
    ) -> Ascent:
        return Ascent(counts / counts.sum(axis=1, keepdims=True), 0.0, 1.0)


def test_a_full_step_that_lowers_the_ratio_is_not_taken() -> None:
    counts = np.delete(X, 4, axis=0)
    graph = random_graph(len(counts))
    data, model = linked(counts, graph, K_CPU), Overshooting(3)
    state = random_state(model, data)
    theta = theta_of(state)
    for _ in range(30):
        theta = ascended(K_CPU, graph, theta)
    new, _ = sweep(model, data, State(state.params, (LinkedRows(theta),), 0.0), 1.0)
    full, _ = plsa(counts, theta, state.params.word_topic)
    assert q2(graph, full) < 0.9 * q2(graph, theta)  # where the full step leads
    assert q2(graph, theta_of(new)) >= q2(graph, theta) * (1 - 1e-12)


def test_twenty_rejections_in_a_row_end_the_fit() -> None:
    counts = np.delete(X, 4, axis=0)
    graph = random_graph(len(counts))
    data, model = linked(counts, graph, K_CPU), Stuck(3)
    state = random_state(model, data)
    theta = theta_of(state)
    for _ in range(200):  # no rows have a higher Q2 than these
        theta = ascended(K_CPU, graph, theta)
    state = State(state.params, (LinkedRows(theta),), 0.0)
    annealer = Annealer(Fixed(1.0), NO_RELAXATION, tol=0.0, max_sweeps=100)
    fit = annealer.run(model, data, np.random.default_rng(0), state=state)
    assert fit.trace[-1].converged
    assert fit.n_sweeps == MOST_REJECTED + 1
    assert fit.state.params.rejected[0] >= MOST_REJECTED
    np.testing.assert_array_equal(theta_of(fit.state), theta)
    assert np.abs(fit.state.params.word_topic - state.params.word_topic).max() > 1e-3


def test_rows_that_all_agree_take_steps_of_plsa() -> None:
    """Q2 is 0/0 there, and neither end of the walk."""
    data = linked(X, W)
    state = random_state(DTM(3), data)
    theta = np.full((len(X), 3), 1 / 3)
    new, energy = sweep(DTM(3), data, State(state.params, (LinkedRows(theta),), 0.0), 1.0)
    expected, _ = plsa(X, theta, state.params.word_topic)
    np.testing.assert_allclose(theta_of(new), expected, atol=1e-12)
    assert energy == pytest.approx(-log_likelihood(X, theta, state.params.word_topic))


def test_an_infinite_ratio_is_kept() -> None:
    """Two components of equal rows: no finite Q2 will do."""
    counts = np.random.default_rng(0).poisson(5.0, (4, 6)).astype(float)
    graph = np.kron(np.eye(2), [[0, 1], [1, 0]])
    data = linked(counts, graph)
    state = random_state(DTM(2), data)
    theta = np.repeat([[0.9, 0.1], [0.2, 0.8]], 2, axis=0)
    new, energy = sweep(DTM(2), data, State(state.params, (LinkedRows(theta),), 0.0), 1.0)
    np.testing.assert_array_equal(theta_of(new), theta)
    assert new.params.rejected.tolist() == [1.0, 1.0]
    assert np.isfinite(energy)


def test_zeros_come_back_where_the_counts_ask_for_them() -> None:
    data = linked(X, W, K_CPU)
    state = random_state(DTM(3), data)
    theta = theta_of(state).copy()
    theta[1] = [1.0, 0.0, 0.0]
    phi = np.array(state.params.word_topic)
    phi[X[1] > 0, 0] = 0.0  # topic 0 cannot explain row 1
    params = state.params._replace(word_topic=phi / phi.sum(axis=0))
    new, _ = sweep(DTM(3), data, State(params, (LinkedRows(theta),), 0.0), 1.0)
    assert theta_of(new)[1, 1:].max() > 0


@pytest.mark.parametrize("gamma", [0.0, -0.1, 1.1, float("nan")])
def test_gamma_is_checked(gamma: float) -> None:
    with pytest.raises(IsothermError, match=r"gamma=.*above 0 and at most 1"):
        DTM(3, gamma=gamma)


def test_edges_stored_twice_count_twice() -> None:
    i, j = np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0])
    double = Links.of(sparse.coo_array((np.ones(4), (i, j)), shape=(3, 3)))
    np.testing.assert_array_equal(double.matrix.toarray(), 2 * EDGE)
    assert separation(K_CPU.spread(double, THREE)) == pytest.approx(4.0)
