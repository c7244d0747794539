"""Hierarchical clustering: its formulas, its special cases, its laws, the critical temperatures."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp, softmax, xlogy

from isotherm.anneal.critical import component_split, critical_temperatures, first_critical
from isotherm.anneal.engine import ADAPTIVE_RELAXATION
from isotherm.anneal.fold import fold_in
from isotherm.anneal.heldout import log_likelihood
from isotherm.anneal.relax import relax
from isotherm.anneal.start import state_of
from isotherm.anneal.trace import State
from isotherm.errors import IsothermError
from isotherm.kernels.cpu.backend import Cpu
from isotherm.kernels.reference import Reference
from isotherm.models.aspect import Aspect, AspectParams, AspectRows
from isotherm.models.cluster import Cluster
from isotherm.models.hierarchy import Hierarchy, HierarchyParams, HierarchyRows
from isotherm.tree import Tree
from support.corpora import TOY, admixture
from support.models import (
    TOTAL,
    Local,
    begin,
    fitted,
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
UNEVEN = Tree.from_nested([[0, [1, 2]], 3])
WEIGHTS = ("uniform", "cluster", "full")


def on(tree: Tree, weights: str = "uniform", aspect: Any = 1.0, **more: Any) -> Hierarchy:
    return Hierarchy(tree.parents, tree.leaves, weights, aspect, critical=True, **more)


def start(model: Hierarchy, data: Local = DATA, seed: int = 1) -> State:
    """All nodes at random, uneven weights and shares."""
    rng = np.random.default_rng(seed)
    params = model.init(data.summary, random_table(data, model.n_components, seed))
    nodes = random_table(data, len(model.parents), seed + 1)
    weight = rng.dirichlet(np.full(model.n_components, 5.0))
    share = params.share
    if model.weights != "uniform":
        share = share * rng.uniform(0.5, 1.5, share.shape)
        share /= share.sum(axis=1, keepdims=True)
    return state_of(model, data, params._replace(weight=weight, share=share, word_node=nodes))


MODELS = {
    f"{weights}-{aspect}": on(UNEVEN, weights, aspect)
    for weights in WEIGHTS
    for aspect in (1.0, 2.0, 0.6, "tied")
}
MODELS["tempered-prior"] = on(UNEVEN, "cluster", temper_prior=True)
MODELS["full-tempered-prior"] = on(UNEVEN, "full", temper_prior=True)


@pytest.fixture(params=MODELS.values(), ids=MODELS.keys())
def model(request: pytest.FixtureRequest) -> Any:
    return request.param


# Figures and formulas ------------------------------------------------------------------------


@pytest.mark.parametrize("kernels", [Reference(), Cpu("float64")], ids=["reference", "cpu"])
@pytest.mark.parametrize(
    ("weights", "after"),
    [("full", -153.5995259220), ("cluster", -164.1193551691), ("uniform", -167.7688065230)],
)
def test_toy_figures(weights: str, after: float, kernels: Any) -> None:
    data, model = place(TOY, kernels), on(Tree.star(2), weights)
    nodes = 1.0 + (np.arange(5)[:, None] + 2) * (np.arange(3) + 1) % 4
    nodes /= nodes.sum(axis=0)
    params = model.begun(np.full(2, 0.5), nodes[:, 1:], TOTAL)._replace(word_node=nodes)
    _, energies = sweeps(model, data, state_of(model, data, params), 2.0, 20)
    assert -energies[0] == pytest.approx(-202.3935878124, abs=0.6e-10)
    assert -energies[20] == pytest.approx(after, abs=0.6e-10)


def dense_step(
    model: Hierarchy, state: State, temperature: float
) -> tuple[HierarchyParams, Any, Any, float]:
    """One EM step on dense arrays, node by node: parameters, posterior, shares, free energy."""
    params = state.params
    aspect = temperature if model.aspect_temperature == "tied" else model.aspect_temperature
    tempered = params.word_node ** (1.0 / aspect)
    K = model.n_components
    own = model.weights == "full"
    m, nodes = np.zeros((*COUNTS.shape, K)), np.zeros(params.word_node.shape)
    shares = state.rows[0].share if own else np.tile(params.share, (len(COUNTS), 1, 1))
    places = [(c, d) for c in range(K) for d in range(model.paths.shape[1])]
    places = [(c, d) for c, d in places if model.paths[c, d] >= 0]
    for c, d in places:
        m[:, :, c] += shares[:, c, [d]] * tempered[:, model.paths[c, d]]
    prior = np.log(params.weight) / (temperature if model.temper_prior else 1.0)
    scores = prior + aspect / temperature * xlogy(COUNTS[:, :, None], m).sum(axis=1)
    q = softmax(scores, axis=1)
    counts = np.zeros(shares.shape)
    for c, d in places:
        part = shares[:, c, [d]] * tempered[:, model.paths[c, d]] / np.where(m > 0, m, 1)[:, :, c]
        counts[:, c, d] = (COUNTS * part).sum(axis=1)
        nodes[:, model.paths[c, d]] += (q[:, [c]] * COUNTS * part).sum(axis=0)
    levels = (q[:, :, None] * counts).sum(axis=0)
    share = params.share
    if model.weights != "uniform":
        share = levels / levels.sum(axis=1, keepdims=True)
    total = counts.sum(axis=2, keepdims=True)
    shares = np.divide(counts, total, out=shares.copy(), where=total > 0)
    energy = -temperature * logsumexp(scores, axis=1).sum()
    made = HierarchyParams(q.mean(axis=0), share, nodes.sum(axis=0), nodes / nodes.sum(axis=0), ())
    return made, q, shares, float(energy)


@pytest.mark.parametrize("kernels", [Reference(), Cpu("float64")], ids=["reference", "cpu"])
@pytest.mark.parametrize("temperature", [0.7, 1.0, 2.0, 5.0])
def test_a_sweep_is_the_textbook_step(model: Hierarchy, temperature: float, kernels: Any) -> None:
    data = place(COUNTS, kernels)
    state = start(model, data)
    expected, q, shares, energy = dense_step(model, state, temperature)
    reached, found = sweep(model, data, state, temperature)
    assert found == pytest.approx(energy, rel=1e-12)
    assert same(reached.params[:4], expected[:4], 1e-10)
    assert reached.rows[0].posterior == pytest.approx(q, abs=1e-10)
    if model.weights == "full":
        assert reached.rows[0].share == pytest.approx(shares, abs=1e-12)


def test_prediction(model: Hierarchy) -> None:
    state, _ = sweeps(model, DATA, start(model), 2.0, 3)
    rows = state.rows[0]
    expected = np.zeros(COUNTS.shape)
    for c in range(model.n_components):
        for d, a in enumerate(model.paths[c]):
            if a >= 0:
                own = rows.share[:, c, d] if model.weights == "full" else state.params.share[c, d]
                expected += (rows.posterior[:, c] * own)[:, None] * state.params.word_node[:, a]
    weights, table = model.mixture(state.params, rows)
    assert weights @ table.T == pytest.approx(expected, abs=1e-12)
    assert expected.sum(axis=1) == pytest.approx(np.ones(len(COUNTS)))
    node_weights = model.node_weights(state.params, rows)
    assert node_weights @ state.params.word_node.T == pytest.approx(expected, abs=1e-12)
    likelihood, tokens = log_likelihood(model, state, DATA, np.zeros(COUNTS.shape[1]), 0.0)
    assert tokens == COUNTS.sum()
    assert likelihood == pytest.approx(float(xlogy(COUNTS, expected).sum()), rel=1e-12)
    assert model.log_likelihood(state.params, rows, DATA.blocks[0], DATA.kernels) == likelihood


def test_a_start_from_clusters() -> None:
    model, table = on(UNEVEN), random_table(DATA, 4)
    weight = np.array([0.1, 0.2, 0.3, 0.4])
    params = model.begun(weight, table, 100.0)
    leaves = list(UNEVEN.leaves)
    assert params.word_node[:, leaves] == pytest.approx(table)
    for node in range(UNEVEN.n_nodes):
        below = list(UNEVEN.components_below(node))
        mean = table[:, below] @ weight[below] / weight[below].sum()
        assert params.word_node[:, node] == pytest.approx(mean)
    depth = [len(UNEVEN.path(c)) for c in range(4)]
    assert params.share.sum(axis=1) == pytest.approx(np.ones(4))
    assert params.share[:, -1] == pytest.approx(1 / np.array(depth))
    assert params.tokens.sum() == pytest.approx(100.0)
    assert params.tokens[0] == pytest.approx(100.0 * (weight / depth).sum())


def test_without_critical_temperatures_only_they_are_missing() -> None:
    model = on(UNEVEN, "full")
    lean = replace(model, critical=False)
    one, energies = sweeps(model, DATA, start(model), 1.3, 3)
    other, same_energies = sweeps(lean, DATA, start(lean), 1.3, 3)
    assert same_energies == pytest.approx(energies, rel=1e-12)
    assert other.params.word_node == pytest.approx(one.params.word_node, rel=1e-12)
    assert other.params.square.size == 0
    with pytest.raises(IsothermError, match="need critical=True"):
        critical_temperatures(lean, DATA, other, 1.3)


# Special cases -------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("temper_prior", [False, True])
@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0, 5.0])
def test_without_inner_nodes_it_is_one_sided(
    weights: str, temper_prior: bool, temperature: float
) -> None:
    flat = Hierarchy((-1,) * 3, (0, 1, 2), weights, temper_prior=temper_prior, critical=True)
    cluster, table = Cluster(3, temper_prior=temper_prior), random_table(DATA, 3)
    one, energies = sweeps(cluster, DATA, begin(cluster, DATA, table), temperature, 12)
    other, others = sweeps(flat, DATA, begin(flat, DATA, table), temperature, 12)
    assert others == pytest.approx(energies, rel=1e-12)
    assert other.params.weight == pytest.approx(one.params.weight, abs=1e-12)
    assert other.params.word_node == pytest.approx(one.params.word_topic, abs=1e-12)
    assert other.params.tokens == pytest.approx(one.params.tokens, rel=1e-12)
    assert other.rows[0].posterior == pytest.approx(one.rows[0].posterior, abs=1e-12)
    if temperature > 0:
        found = critical_temperatures(flat, DATA, other, temperature)
        assert found == pytest.approx(critical_temperatures(cluster, DATA, one, temperature))


def test_one_leaf_on_a_chain_is_the_aspect_model() -> None:
    data, D = place(np.delete(COUNTS, EMPTY_ROW, axis=0)), 3
    chain, aspect = on(Tree.chain(D), "full"), Aspect(D)
    table = random_table(data, D)
    params = chain.begun(np.ones(1), table[:, :1], data.summary.total)._replace(word_node=table)
    one, energies = sweeps(chain, data, state_of(chain, data, params), 1.0, 15)
    # P(x|a) P(a) = p(x) / D at the start.
    totals = data.blocks[0].row_totals
    rows = AspectRows(np.outer(totals, np.full(D, 1.0 / D)))
    begun = AspectParams(np.full(D, 1.0 / D), np.full(D, totals.sum() / D), table)
    other, others = sweeps(aspect, data, State(begun, (rows,), 0.0), 1.0, 15)
    constant = float(totals @ np.log(totals / totals.sum()))
    assert energies == pytest.approx(np.array(others) + constant, rel=1e-12)
    assert one.params.word_node == pytest.approx(other.params.word_topic, abs=1e-12)
    shares = aspect.mixture(other.params, other.rows[0]).weights
    assert one.rows[0].share[:, 0] == pytest.approx(shares, abs=1e-12)


def test_fitted_weights_of_clusters_have_the_likelihood_of_their_mixtures() -> None:
    model = on(UNEVEN, "cluster")
    state, _ = sweeps(model, DATA, start(model), 1.0, 5)
    _, energy = sweep(model, DATA, state, 1.0)
    flat = Cluster(4)
    weight, table = model.components(state.params)
    same_clusters = begin(flat, DATA, table)
    same_clusters = same_clusters._replace(params=same_clusters.params._replace(weight=weight))
    assert sweep(flat, DATA, same_clusters, 1.0)[1] == pytest.approx(energy, rel=1e-12)


# Laws ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernels", "slack"), [(Reference(), 1e-9), (Cpu("float32"), 1e-6)], ids=["double", "single"]
)
def test_a_sweep_never_raises_the_free_energy(model: Any, kernels: Any, slack: float) -> None:
    data = place(COUNTS, kernels)
    for temperature in (0.7, 1.0, 1.3, 2.0, 5.0):
        state = start(model, data)
        nodes = state.params.word_node.astype(kernels.dtype)
        state = state._replace(params=state.params._replace(word_node=nodes))
        _, energies = sweeps(model, data, state, temperature, 30)
        assert np.diff(energies).max() <= slack * abs(energies[0])
        assert energies[-1] < energies[0]


def test_accepted_relaxed_steps_never_raise_the_free_energy(model: Any) -> None:
    accepted = []
    for n in range(1, 20):
        fit, _ = fitted(model, DATA, start(model), 1.5, n, ADAPTIVE_RELAXATION)
        accepted.append(fit.trace[-1].free_energy)
    assert np.diff(accepted).max() <= 1e-9 * abs(accepted[0])
    assert fit.trace[-1].free_energy < accepted[0] - 1.0


def test_relaxed_and_perturbed_states_are_valid(model: Any) -> None:
    old, _ = sweep(model, DATA, start(model), 2.0)
    new, _ = sweep(model, DATA, old, 2.0)
    shaken = model.perturb(new.params, np.random.default_rng(0), 0.1)
    for params in (relax(model, DATA, old, new, 20.0).params, shaken, new.params):
        assert params.weight.sum() == pytest.approx(1.0)
        assert params.share.sum(axis=1) == pytest.approx(np.ones(4))
        assert (params.share[model.paths < 0] == 0).all()
        assert params.word_node.sum(axis=0) == pytest.approx(np.ones(7))
        assert (params.word_node[EMPTY_COLUMN] == 0).all()
        assert all((field >= 0).all() for field in params)
    assert not same((shaken.word_node,), (new.params.word_node,), 1e-3)


@pytest.mark.parametrize("bounds", [[0, 1, 2, 17, 18], [0, 4, 5, 6, 18]], ids=str)
def test_blocks_do_not_matter(model: Any, bounds: Any) -> None:
    cut = place(COUNTS, bounds=bounds)
    one, energies = sweeps(model, DATA, start(model), 1.3, 12)
    many, others = sweeps(model, cut, start(model, cut), 1.3, 12)
    assert others == pytest.approx(energies, rel=1e-12)
    assert same(one.params[:4], many.params[:4])
    assert same(DATA.gather(one.rows), cut.gather(many.rows))
    assert critical_temperatures(model, cut, many, 1.3) == pytest.approx(
        critical_temperatures(model, DATA, one, 1.3), rel=1e-6
    )


def test_a_row_of_weight_two_is_the_row_twice(model: Any) -> None:
    weight = np.where(np.arange(len(COUNTS)) % 3 == 0, 2.0, 1.0)
    heavy = place(COUNTS, weight=weight)
    twice = place(np.repeat(COUNTS, weight.astype(int), axis=0))
    one, energies = sweeps(model, heavy, start(model, heavy), 1.3, 8)
    other, others = sweeps(model, twice, start(model, twice), 1.3, 8)
    assert others == pytest.approx(energies, rel=1e-12)
    assert same(one.params[:4], other.params[:4])


def test_an_empty_row_follows_the_weights(model: Any) -> None:
    state, _ = sweeps(model, DATA, start(model), 2.0, 3)
    before = state.params
    reached, _ = sweep(model, DATA, state, 2.0)
    prior = before.weight ** (0.5 if model.temper_prior else 1.0)
    assert reached.rows[0].posterior[EMPTY_ROW] == pytest.approx(prior / prior.sum())


def test_one_leaf_is_the_unigram_model() -> None:
    marginal = COUNTS.sum(axis=0) / COUNTS.sum()
    model = on(Tree.chain(1), "full")
    state, _ = sweeps(model, DATA, begin(model, DATA), 1.0, 2)
    assert state.params.word_node[:, 0] == pytest.approx(marginal, abs=1e-15)
    total, _ = log_likelihood(model, state, DATA, np.zeros(len(marginal)), 0.0)
    assert total == pytest.approx(float(xlogy(COUNTS.sum(axis=0), marginal).sum()), rel=1e-13)


def test_folding_in_repeats_the_training_rows() -> None:
    for weights in WEIGHTS:
        model = on(UNEVEN, weights)
        fit, _ = fitted(model, DATA, start(model), 3.0, 2000, tol=1e-13)
        rows = fold_in(model, fit.state.params, DATA, 3.0, tol=1e-9, max_sweeps=3000)
        found = DATA.gather(rows).posterior
        keep = np.arange(len(COUNTS)) != EMPTY_ROW
        assert found[keep] == pytest.approx(fit.state.rows[0].posterior[keep], abs=1e-3)


def test_new_rows_get_weights_of_their_own_in_one_sweep() -> None:
    model = on(UNEVEN, "full")
    state, _ = sweeps(model, DATA, start(model), 3.0, 5)
    begun = state_of(model, DATA, state.params)
    once = sweep(model, DATA, begun, 3.0)[0].rows[0]
    assert same(fold_in(model, state.params, DATA, 3.0)[0], once)
    assert same(fold_in(model, state.params, DATA, 3.0, max_sweeps=1)[0], once)
    assert not same(fold_in(model, state.params, DATA, 3.0, max_sweeps=5)[0], once, 1e-3)


# Critical temperatures -----------------------------------------------------------------------


def test_first_critical_temperature_is_that_of_clusters() -> None:
    for weights in WEIGHTS:
        found = first_critical(on(UNEVEN, weights), DATA)
        assert found == pytest.approx(first_critical(Cluster(4), DATA), rel=1e-9)


def doubled(model: Hierarchy, state: State, leaf: int, push: Any) -> tuple[Hierarchy, State]:
    """The leaf twice, with half its weight, pushed apart: a sibling is added to the tree."""
    node = model.leaves[leaf]
    parents, A = (*model.parents, model.parents[node]), len(model.parents)
    twice = replace(model, parents=parents, leaves=(*model.leaves, A))
    p = state.params
    weight = np.append(p.weight, p.weight[leaf] / 2)
    weight[leaf] /= 2
    nodes = np.column_stack([p.word_node, p.word_node[:, node] * (1 - push)])
    nodes[:, node] *= 1 + push
    share = np.concatenate([p.share, p.share[[leaf]]])
    square = np.zeros((len(p.square), len(weight)))
    params = HierarchyParams(weight, share, np.ones(A + 1), nodes, square)
    rows = state.rows[0]
    if model.weights == "full":
        posterior = np.column_stack([rows.posterior, rows.posterior[:, leaf] / 2])
        posterior[:, leaf] /= 2
        rows = HierarchyRows(posterior, np.concatenate([rows.share, rows.share[:, [leaf]]], axis=1))
    return twice, State(params, (rows,), 0.0)


def curvatures(model: Hierarchy, state: State, counts: Any, leaf: int) -> tuple[Any, Any, Any]:
    """A = sum_x q (n r)(n r)', n1 = sum_x q n r and n2 = sum_x q n r^2 from dense arrays."""
    params, rows = state.params, state.rows[0]
    path = model.paths[leaf][model.paths[leaf] >= 0]
    own = rows.share if model.weights == "full" else np.tile(params.share, (len(counts), 1, 1))
    tempered = params.word_node[:, path] ** (1.0 / float(model.aspect_temperature))
    terms = own[:, leaf, None, -len(path) :] * tempered
    r = terms[:, :, -1] / np.maximum(terms.sum(axis=2), 1e-300)
    q = rows.posterior[:, leaf]
    heavy = counts * r
    return heavy.T @ (q[:, None] * heavy), q @ heavy, q @ (heavy * r)


@pytest.mark.parametrize(
    ("weights", "aspect", "temperature", "leaf"),
    [
        ("uniform", 1.0, 12.0, 1),
        ("uniform", 1.7, 12.0, 0),
        ("uniform", 1.7, 12.0, 1),
        ("cluster", 1.0, 12.0, 1),
        ("cluster", 1.7, 20.0, 1),
        ("full", 1.0, 12.0, 0),
        ("full", 1.0, 8.0, 0),
        ("full", 1.7, 12.0, 0),
    ],
)
def test_a_doubled_leaf_grows_as_its_critical_temperature_says(
    weights: str, aspect: float, temperature: float, leaf: int
) -> None:
    counts = admixture(60, 20, 5, 40, seed=3, alpha=0.1, sparse=0.1)[0]
    data, tree = place(counts), Tree.star(2)
    model = on(tree, weights, aspect)
    state, _ = sweeps(model, data, start(model, data, 5), temperature, 600)
    found = component_split(model, data, state, temperature, leaf).temperature
    A, n1, n2 = curvatures(model, state, counts, leaf)
    curve = n1 - (n1 - n2) / aspect
    seen = n2 > 1e-6 * n1
    A, n1, n2, curve = A[np.ix_(seen, seen)], n1[seen], n2[seen], curve[seen]
    v = n1 / np.sqrt(curve)
    v /= np.linalg.norm(v)
    P = np.eye(len(v)) - np.outer(v, v)
    B = P @ (A / np.sqrt(np.outer(curve, curve))) @ P
    assert found == pytest.approx(np.linalg.eigvalsh(B)[-1], rel=1e-6)
    # One step multiplies the relative change g of the leaf: above 1 below T_c, and the reverse.
    step = (A / temperature + np.diag((n1 - n2) / aspect)) / n1[:, None]
    step -= np.outer(np.ones(len(n1)), n1 / n1.sum() @ step)
    expected = np.linalg.eigvals(step).real.max()
    assert (expected > 1) == (found > temperature)
    node = tree.leaves[leaf]
    push = 1e-6 * np.random.default_rng(0).standard_normal(len(counts.T))
    push -= state.params.word_node[:, node] @ push
    twice, parted = doubled(model, state, leaf, push)
    gaps = []
    for _ in range(40):
        parted = pinned(twice, data, parted, temperature, node)
        gaps.append(
            np.linalg.norm(parted.params.word_node[:, node] - parted.params.word_node[:, -1])
        )
    assert gaps[-1] / gaps[-2] == pytest.approx(expected, abs=4e-3)


def pinned(twice: Hierarchy, data: Local, parted: State, temperature: float, node: int) -> State:
    """One step of the doubled leaf alone, everything else held."""
    reached, _ = sweep(twice, data, parted, temperature)
    nodes = parted.params.word_node.copy()
    for a in (node, -1):
        nodes[:, a] = reached.params.word_node[:, a]
    return parted._replace(params=parted.params._replace(word_node=nodes))


# Weights from other tokens -------------------------------------------------------------------


def split(counts: Any, rng: np.random.Generator, share: float) -> tuple[Any, Any]:
    held = rng.binomial(counts.astype(int), share).astype(float)
    return counts - held, held


def test_held_out_columns_have_no_say_but_in_the_weights() -> None:
    rng = np.random.default_rng(0)
    kept, other = split(COUNTS, rng, 0.3)
    both, alone = place(np.hstack([kept, other])), place(kept)
    held, plain = on(UNEVEN, "cluster", held_out=True), on(UNEVEN, "cluster")
    begun = start(plain, alone)
    state = state_of(held, both, begun.params)
    found, energy = sweep(held, both, state, 2.0)
    expected, plain_energy = sweep(plain, alone, begun, 2.0)
    assert energy == pytest.approx(plain_energy, rel=1e-12)
    assert same((found.params.weight, found.params.word_node), (
        expected.params.weight, expected.params.word_node))  # fmt: skip
    assert found.rows[0].posterior == pytest.approx(expected.rows[0].posterior, abs=1e-13)
    # Shares are those of the other tokens under the posterior of these.
    q, p = found.rows[0].posterior, begun.params
    m = p.word_node @ plain._along(p.share).T
    levels = np.zeros((4, 7))
    for c in range(4):
        for a in UNEVEN.path(c):
            part = plain._along(p.share)[c, a] * p.word_node[:, a] / np.where(m > 0, m, 1)[:, c]
            levels[c, a] = q[:, c] @ other @ part
    levels /= levels.sum(axis=1, keepdims=True)
    assert held._along(found.params.share) == pytest.approx(levels, abs=1e-12)
    assert held.log_likelihood(
        found.params, found.rows[0], both.blocks[0], both.kernels
    ) == pytest.approx(
        plain.log_likelihood(found.params, found.rows[0], alone.blocks[0], alone.kernels)
    )
    assert not held.monotone
    assert plain.monotone
    assert held.collapsed(both.summary, np.float64).word_node.shape == (COUNTS.shape[1], 7)


def planted_tree(seed: int, n_rows: int = 200, tokens: int = 80) -> tuple[Any, Any, Tree]:
    """Counts of rows whose leaves mix the nodes of their paths evenly; nodes (J, A); the tree."""
    rng = np.random.default_rng(seed)
    tree = Tree.balanced(2)
    nodes = rng.dirichlet(np.full(60, 0.1), tree.n_nodes).T
    counts = []
    for x in range(n_rows):
        mix = nodes[:, list(tree.path(x % 4))].mean(axis=1)
        counts.append(rng.multinomial(tokens, mix / mix.sum()))
    return np.array(counts, float), nodes, tree


def from_labels(model: Hierarchy, data: Local, counts: Any) -> State:
    """Start of the tree whose clusters are the planted ones."""
    labels = np.arange(len(counts)) % 4
    table = np.stack([counts[labels == c].sum(axis=0) for c in range(4)], axis=1)
    table /= table.sum(axis=0)
    return state_of(model, data, model.begun(np.full(4, 0.25), table, data.summary.total))


def test_planted_nodes_are_recovered() -> None:
    # Weights of the rows' own overfit: the nodes are best after a few sweeps.
    for weights, n_sweeps, bound in (("uniform", 200, 0.2), ("full", 10, 0.42)):
        counts, nodes, tree = planted_tree(0)
        model, data = on(tree, weights), place(counts, Cpu("float64"))
        fit, _ = fitted(model, data, from_labels(model, data, counts), 1.0, n_sweeps, tol=1e-7)
        distance = np.abs(fit.state.params.word_node - nodes).sum(axis=0) / 2
        assert distance.max() < bound
        assert fit.state.rows[0].posterior.argmax(axis=1).tolist() == [x % 4 for x in range(200)]


def test_weights_from_other_tokens_predict_better() -> None:
    counts, _, tree = planted_tree(2, n_rows=60, tokens=30)
    rng = np.random.default_rng(0)
    train, test = split(counts, rng, 0.3)
    kept, other = split(train, rng, 0.25)
    scores = {}
    for held_out in (True, False):
        model = on(tree, "cluster", held_out=held_out)
        given = np.hstack([kept, other]) if held_out else kept
        data = place(given, Cpu("float64"))
        state = from_labels(model, place(kept), kept)
        fit, _ = fitted(model, data, state_of(model, data, state.params), 1.0, 60)
        total, tokens = log_likelihood(
            model, fit.state, place(test, Cpu("float64")), np.full(60, 1 / 60), 1e-2
        )
        scores[held_out] = np.exp(-total / tokens), fit.state.params.share[:, -1].mean()
    assert scores[True][0] < scores[False][0]
    # Fitted to the same tokens, the weight drifts to the leaves.
    assert scores[True][1] < scores[False][1]


# Bad settings --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"weights": "some"}, r"weights is 'some'; it must be one of \['uniform', 'cluster'"),
        ({"weights": "full", "held_out": True}, "'full'; held-out tokens serve weights='cluster'"),
        ({"aspect_temperature": 0.0}, "aspect_temperature is 0.0; it must be a number above 0 or"),
        ({"aspect_temperature": "hot"}, "aspect_temperature is 'hot'; it must be a number above"),
    ],
)
def test_refusals(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        Hierarchy((-1, 0), (1,), **settings)


def test_tied_temperatures_have_no_hard_limit() -> None:
    model = on(UNEVEN, aspect="tied")
    with pytest.raises(IsothermError, match=r"the temperature is 0.0; with aspect_temperature='ti"):
        sweep(model, DATA, start(model), 0.0)
