"""What models of linked rows share, and LapPLSI and LTM."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from isotherm.anneal.start import state_of
from isotherm.anneal.trace import State
from isotherm.data.base import blocks_of
from isotherm.data.counts import Counts
from isotherm.data.linked import LinkedBlock, Links
from isotherm.errors import IsothermError
from isotherm.kernels.cpu.backend import Cpu
from isotherm.kernels.reference import Reference
from isotherm.models.dtm import DTM
from isotherm.models.lap_plsi import LapPLSI
from isotherm.models.linked import LinkedRows
from isotherm.models.ltm import LTM
from isotherm.placement.local import Local
from support.linked import (
    divergence,
    expected,
    laplacian,
    linked,
    log_likelihood,
    plsa,
    random_graph,
    random_state,
    run,
    theta_of,
    within,
)
from support.models import Array, place, poisson_counts, sweep, sweeps

X = poisson_counts()
W = random_graph(len(X), alone=(2, 4))
ALONE, EMPTY = 2, 4
KERNELS = [(Reference(), 1e-10), (Cpu("float64"), 1e-10), (Cpu("float32"), 2e-6)]
MODELS = {
    "lap": LapPLSI(3, 5.0),
    "lap-jacobi": LapPLSI(3, 5.0, "jacobi"),
    "ltm-exact": LTM(3, 5.0, "exact"),
    "dtm": DTM(3),
    "dtm-paper": DTM(3, "paper"),
    "dtm-long-steps": DTM(3, gamma=0.3),
}
OTHERS = {"lap-cai": LapPLSI(3, 5.0, "cai"), "ltm": LTM(3, 5.0)}
EVERY = {**MODELS, **OTHERS}
PENALISED = {name: model for name, model in EVERY.items() if "dtm" not in name}


def named(models: dict[str, Any]) -> Any:
    return pytest.mark.parametrize("model", models.values(), ids=models.keys())


@named(MODELS)
@pytest.mark.parametrize(("kernels", "slack"), KERNELS, ids=["reference", "double", "single"])
def test_a_sweep_never_raises_the_energy(model: Any, kernels: Any, slack: float) -> None:
    assert model.monotone
    data = linked(X, W, kernels)
    for temperature in (1.0, 1.4):
        _, energies = sweeps(model, data, random_state(model, data), temperature, 30)
        assert np.diff(energies).max() <= slack * np.abs(energies).max()
        assert energies[-1] < energies[0]


def test_what_is_not_monotone_says_so() -> None:
    assert not any(model.monotone for model in OTHERS.values())
    data, model = linked(X, W, Cpu("float64")), LTM(3, 100.0)
    _, energies = sweeps(model, data, random_state(model, data), 1.0, 100)
    assert np.diff(energies).max() > 1e-3
    assert energies[-1] < energies[0]


@named(EVERY)
def test_rows_and_topics_stay_distributions(model: Any) -> None:
    states, _ = run(model, linked(X, W, Cpu("float64")), 20)
    for state in states:
        theta, phi = theta_of(state), state.params.word_topic
        assert theta.dtype == np.float64
        assert (theta >= 0).all()
        np.testing.assert_allclose(theta.sum(axis=1), 1.0, atol=1e-12)
        np.testing.assert_allclose(phi.sum(axis=0), 1.0, atol=1e-12)
        np.testing.assert_array_equal(theta[EMPTY], 1 / 3)


@named(EVERY)
def test_single_precision_follows_double(model: Any) -> None:
    ends = [theta_of(run(model, linked(X, W, Cpu(p)), 5)[0][-1]) for p in ("float32", "float64")]
    assert ends[0].dtype == np.float64
    np.testing.assert_allclose(ends[0].sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(*ends, atol=2e-3)


@named(PENALISED)
def test_energy_is_minus_the_objective(model: Any) -> None:
    states, energies = run(model, linked(X, W), 5)
    penalty = divergence if isinstance(model, LTM) else within
    for state, energy in zip(states[:-1], energies, strict=True):
        theta, phi = theta_of(state), state.params.word_topic
        objective = log_likelihood(X, theta, phi) - model.strength * penalty(W, theta)
        assert energy == pytest.approx(-objective, rel=1e-12)


@named({**PENALISED, "dtm": DTM(3)})
def test_without_edges_all_are_plsa(model: Any) -> None:
    data = linked(X, np.zeros_like(W))
    states, _ = run(model, data, 8)
    theta, phi = theta_of(states[0]), states[0].params.word_topic
    for state in states[1:]:
        theta, phi = plsa(X, theta, phi)
        np.testing.assert_allclose(theta_of(state), theta, atol=1e-12)
        np.testing.assert_allclose(state.params.word_topic, phi, atol=1e-12)


@pytest.mark.parametrize("method", ["gauss-seidel", "jacobi", "cai"])
def test_lap_without_strength_is_plsa(method: str) -> None:
    _compare_with_plsa(LapPLSI(3, 0.0, method))


@pytest.mark.parametrize("method", ["linear", "exact"])
def test_ltm_without_strength_is_plsa(method: str) -> None:
    _compare_with_plsa(LTM(3, 0.0, method))


def _compare_with_plsa(model: Any) -> None:
    states, _ = run(model, linked(X, W), 8)
    theta, phi = theta_of(states[0]), states[0].params.word_topic
    for state in states[1:]:
        theta, phi = plsa(X, theta, phi)
        np.testing.assert_allclose(theta_of(state), theta, atol=1e-12)


@named({"lap": LapPLSI(3, 5.0), "ltm": LTM(3, 5.0), "ltm-exact": LTM(3, 5.0, "exact")})
def test_a_row_without_links_moves_as_in_plsa(model: Any) -> None:
    state = random_state(model, linked(X, W))
    new, _ = sweep(model, linked(X, W), state, 1.0)
    alone, _ = plsa(X, theta_of(state), state.params.word_topic)
    np.testing.assert_allclose(theta_of(new)[ALONE], alone[ALONE], atol=1e-12)
    assert np.abs(theta_of(new)[ALONE + 1] - alone[ALONE + 1]).max() > 1e-3


def settled(rule: str, b: Array, strength: float, sweeps: int, graph: Array = W) -> Array:
    theta = np.full(b.shape, 1.0 / b.shape[1])
    return Cpu("float64").settled(Links.of(graph), theta, b, strength, rule, sweeps)


B = np.random.default_rng(3).gamma(0.8, 10.0, (18, 3))
LINKED = W.sum(axis=1) > 0


def constant_along_rows(slope: Array) -> float:
    return float(np.abs(slope - slope.mean(axis=1, keepdims=True)).max())


def test_lap_reaches_the_optimum_of_the_m_step() -> None:
    for strength in (0.3, 20.0):
        t = settled("quadratic", B, strength, 2000)
        assert constant_along_rows(B / t - 2 * strength * laplacian(W) @ t) < 1e-8
        other = _general_solver(
            lambda t, s=strength: (B * np.log(t)).sum() - s * within(W, t), B / t.sum()
        )
        mine = (B * np.log(t)).sum() - strength * within(W, t)
        assert mine == pytest.approx(other, abs=1e-5 * abs(other))
        assert mine >= other - 1e-9 * abs(other)


def test_both_lap_steps_have_the_same_optimum() -> None:
    """Gauss-Seidel and Jacobi, the whole M-step with the counts held."""
    theta, links, k = np.full(B.shape, 1 / 3), Links.of(W), Cpu("float64")
    degree = W.sum(axis=1)
    worst = -np.inf
    for _ in range(1000):
        slope = 2 * 5.0 * (degree[:, None] * theta + W @ theta)
        new = k.simplex(B, 4 * 5.0 * degree, slope, theta)
        change = (B * np.log(new / theta)).sum() - 5.0 * (within(W, new) - within(W, theta))
        worst, theta = max(worst, -change), new
    assert worst < 1e-10
    np.testing.assert_allclose(theta, k.settled(links, theta, B, 5.0, "quadratic", 2000), atol=1e-9)


def test_ltm_linear_is_the_solution_of_the_linear_equations() -> None:
    for strength in (0.3, 5.0, 100.0):
        t = settled("linear", B, strength, 2500)
        matrix = np.diag(B.sum(axis=1)) + strength * laplacian(W)
        np.testing.assert_allclose(t, np.linalg.solve(matrix, B), atol=1e-10)
        assert (t >= 0).all()


def test_ltm_exact_reaches_the_optimum_of_the_m_step() -> None:
    L = laplacian(W)
    for strength in (0.3, 20.0):
        t = settled("divergence", B, strength, 2000)
        slope = B / t - strength * (L @ np.log(t)) - strength * (L @ t) / t
        assert constant_along_rows(slope) < 1e-7

        def objective(t: Array, s: float = strength) -> float:
            return float((B * np.log(t)).sum() - s * divergence(W, t))

        other = _general_solver(objective, B)
        assert objective(t) >= other - 1e-9 * abs(other)
        assert objective(t) == pytest.approx(other, abs=1e-5 * abs(other))
        assert objective(t) > objective(settled("linear", B, strength, 1000)) + 1e-6


def _general_solver(objective: Any, start: Array) -> float:
    """Maximum over rows on the simplex, by a solver that knows nothing of them."""

    def loss(x: Array) -> float:
        z = x.reshape(B.shape)
        t = np.exp(z - z.max(axis=1, keepdims=True))
        return -float(objective(t / t.sum(axis=1, keepdims=True)))

    found = minimize(loss, np.log(start).ravel(), method="L-BFGS-B", options={"maxfun": 12000})
    return -float(found.fun)


@pytest.mark.parametrize("rule", ["quadratic", "linear", "divergence"])
def test_infinite_strength_pools_all_rows(rule: str) -> None:
    """Strength and counts in proportion: 1e9 for counts of 1e7 is 100 for counts of 1."""
    graph = random_graph(6, fill=0.8)
    b = 1e7 * np.random.default_rng(5).gamma(1.0, 1.0, (6, 3))
    pooled = b.sum(axis=0) / b.sum()
    apart = []
    for strength in (1e8, 1e9):
        t = settled(rule, b, strength, 3000, graph)
        apart.append(np.abs(t - pooled).max())
    # What is left falls in proportion to 1 / strength.
    assert apart[1] < 1e-2
    assert apart[1] == pytest.approx(0.1 * apart[0], rel=0.3)


@named({"jacobi": LapPLSI(3, 5.0, "jacobi"), "dtm": DTM(3), "dtm-paper": DTM(3, "paper")})
def test_order_of_rows_does_not_matter(model: Any) -> None:
    turn = np.random.default_rng(1).permutation(len(X))
    data, turned = linked(X, W), linked(X[turn], W[np.ix_(turn, turn)])
    state = random_state(model, data)
    other = State(state.params, (LinkedRows(theta_of(state)[turn]),), 0.0)
    for _ in range(10):
        state, energy = sweep(model, data, state, 1.0)
        other, other_energy = sweep(model, turned, other, 1.0)
        assert other_energy == pytest.approx(energy, rel=1e-10)
    np.testing.assert_allclose(theta_of(other), theta_of(state)[turn], atol=1e-8)


@pytest.mark.parametrize("rule", ["quadratic", "linear", "divergence"])
def test_order_of_rows_does_not_matter_to_the_m_step(rule: str) -> None:
    """Gauss-Seidel goes by colours, which depend on the order, but to the same end."""
    turn = np.random.default_rng(1).permutation(18)
    other = settled(rule, B[turn], 5.0, 1000, W[np.ix_(turn, turn)])
    np.testing.assert_allclose(other, settled(rule, B, 5.0, 1000)[turn], atol=1e-9)


@named(EVERY)
def test_one_topic(model: Any) -> None:
    one = type(model)(1)
    states, energies = run(one, linked(X, W), 3)
    np.testing.assert_array_equal(theta_of(states[-1]), 1.0)
    np.testing.assert_allclose(states[-1].params.word_topic[:, 0], X.sum(axis=0) / X.sum())
    assert energies[-1] == pytest.approx(-log_likelihood(X, *_unigram()), rel=1e-12)


def _unigram() -> tuple[Array, Array]:
    return np.ones((len(X), 1)), (X.sum(axis=0) / X.sum())[:, None]


@named(EVERY)
def test_topic_without_mass_keeps_its_words(model: Any) -> None:
    data = linked(X, W, Cpu("float64"))
    state = random_state(model, data)
    theta = theta_of(state).copy()
    theta[:, 2] = 0.0
    theta[EMPTY] = 1 / 3
    theta /= theta.sum(axis=1, keepdims=True)
    before = state.params.word_topic[:, 2].copy()
    new, _ = sweep(model, data, State(state.params, (LinkedRows(theta),), 0.0), 1.0)
    np.testing.assert_array_equal(new.params.word_topic[:, 2], before)
    assert np.isfinite(theta_of(new)).all()


@named(EVERY)
def test_critical_temperatures_are_refused(model: Any) -> None:
    data = linked(X, W)
    state = random_state(model, data)
    block, k = data.blocks[0], data.kernels
    with pytest.raises(IsothermError, match=r"critical temperatures are not known.*Fixed\(1\.0\)"):
        model.hot()
    with pytest.raises(IsothermError, match="critical temperatures are not known"):
        model.deviation(state.params, state.rows[0], block, 1.0, np.array([0]), k)
    with pytest.raises(IsothermError, match="critical temperatures are not known"):
        model.critical_temperature(1.0)


def test_rows_without_links_are_refused() -> None:
    model = LapPLSI(3)
    plain = place(X)
    table = np.full((X.shape[1], 3), 1.0 / X.shape[1])
    state = state_of(model, plain, model.init(plain.summary, table))
    with pytest.raises(IsothermError, match=r"no links.*LinkedBlock"):
        sweep(model, plain, state, 1.0)


def test_several_blocks_are_refused() -> None:
    counts = Counts(X)
    halves = blocks_of(counts, np.array([0, 9, 18]))
    with pytest.raises(IsothermError, match=r"18 x 18 for a block of 9 rows.*n_blocks=1"):
        Local([LinkedBlock.of(half, Links.of(W)) for half in halves], Reference())


def test_weighted_rows_are_refused() -> None:
    (block,) = blocks_of(Counts(X), np.array([0, 18]), np.full(18, 2.0))
    with pytest.raises(IsothermError, match=r"weights other than 1.*repeat rows"):
        LinkedBlock.of(block, Links.of(W))


def test_cai_smooths_only_while_the_objective_is_lower() -> None:
    """With a small lambda it is PLSA; with a large one rows come nearer than those of PLSA."""
    weak, _ = run(LapPLSI(3, 1e-6, "cai"), linked(X, W), 10)
    plain, _ = run(LapPLSI(3, 0.0), linked(X, W), 10)
    np.testing.assert_array_equal(theta_of(weak[-1]), theta_of(plain[-1]))
    strong, _ = run(LapPLSI(3, 20.0, "cai"), linked(X, W), 10)
    assert within(W, theta_of(strong[-1])) < 0.5 * within(W, theta_of(plain[-1]))


def test_perturbed_and_projected_parameters_are_distributions() -> None:
    model, data = LapPLSI(3), linked(X, W)
    params = random_state(model, data).params
    moved = model.perturb(params, np.random.default_rng(0), 0.3)
    assert np.abs(moved.word_topic - params.word_topic).max() > 1e-3
    np.testing.assert_allclose(moved.word_topic.sum(axis=0), 1.0)
    far = params._replace(word_topic=3 * params.word_topic - 0.1, weight=params.weight - 1.0)
    back = model.project(far, params)
    assert (back.word_topic > 0).all()
    np.testing.assert_allclose(back.word_topic.sum(axis=0), 1.0)
    np.testing.assert_allclose(back.weight.sum(), 1.0)
    assert model.prior_energy(params, data.summary) == 0.0


def test_expected_counts_add_up_to_the_totals() -> None:
    from isotherm.models.linked import expected_counts

    data = linked(X, W, Cpu("float32"))
    state = random_state(LapPLSI(3), data)
    theta, phi = theta_of(state), state.params.word_topic
    found = expected_counts(theta, phi, data.blocks[0], 1.0, data.kernels)
    assert found.rows.dtype == np.float64
    np.testing.assert_allclose(found.rows.sum(axis=1), X.sum(axis=1), rtol=1e-14)
    rows, words = expected(X, theta, phi.astype(float))
    np.testing.assert_allclose(found.rows, rows, rtol=1e-5)
    np.testing.assert_allclose(found.word, words, rtol=1e-5, atol=1e-6)


def test_new_rows_begin_at_their_neighbours() -> None:
    """At the mean of those that they are linked to; a row without any at the mean of all."""
    model, rng = DTM(3), np.random.default_rng(5)
    anchors = rng.dirichlet(np.ones(3), 4)
    (block,) = blocks_of(Counts([[3, 0, 1, 0, 2], [0, 1, 0, 0, 4]]), np.array([0, 2]))
    links = Links.of(np.array([[1.0, 0, 2, 0], [0, 0, 0, 0]]))
    params = model.init(place(X).summary, rng.dirichlet(np.ones(X.shape[1]), 3).T)
    rows = model.for_new_rows().start(params, LinkedBlock.of(block, links, anchors), Cpu("float64"))
    np.testing.assert_allclose(rows.near, [anchors[0] + 2 * anchors[2], np.zeros(3)])
    np.testing.assert_array_equal(rows.degree, [[3.0], [0.0]])
    np.testing.assert_allclose(rows.theta, [rows.near[0] / 3, anchors.mean(axis=0)], rtol=1e-6)
    plain = model.for_new_rows().start(params, block, Cpu("float64"))
    np.testing.assert_allclose(plain.theta, np.tile(params.weight, (2, 1)), rtol=1e-6)
    assert not plain.degree.any()
