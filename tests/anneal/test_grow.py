"""Growing: components split where they lose stability, and only what stays apart is kept."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from isotherm import split_tokens
from isotherm.anneal.callbacks import GenerationRule
from isotherm.anneal.critical import first_critical
from isotherm.anneal.engine import NO_RELAXATION, Annealer, Relaxation
from isotherm.anneal.growth.branches import Branches
from isotherm.anneal.growth.grow import Growth, merge, moves_along, split
from isotherm.anneal.heldout import HeldoutTokens
from isotherm.anneal.run_state import RunState
from isotherm.anneal.schedule import Exponential, Fixed
from isotherm.anneal.start import state_of
from isotherm.anneal.trace import Fit, Outcome, Record, State
from isotherm.data.base import row_bounds
from isotherm.data.counts import Counts
from isotherm.errors import IsothermError
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.aspect import Aspect
from isotherm.models.cluster import Cluster
from isotherm.models.document import Document
from isotherm.placement.local import Local
from isotherm.tree import Tree
from support.corpora import Planted, admixture, matched, mixture_of_unigrams
from support.models import begin, expect, place, poisson_counts, sweep, sweeps

MODELS = {
    "aspect": Aspect(2),
    "cluster": Cluster(2),
    "cluster-pseudo-counts": Cluster(2, pseudo_count=20.0),
    "document": Document(2, pseudo_count=20.0),
}
each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
NOISELESS = Growth(push=1e-9, min_size=0.0, resolved=0.0)


def planted_tree(levels: int, branching: int, tokens: int, seed: int) -> tuple[Planted, Tree]:
    """Rows of the leaves of a balanced tree; a leaf mixes the nodes above it."""
    rng = np.random.default_rng(seed)
    tree = Tree.balanced(levels, branching)
    nodes = rng.dirichlet(np.full(100, 0.1), tree.n_nodes)
    K = len(tree.leaves)
    table = np.array([nodes[list(tree.path(k))].mean(axis=0) for k in range(K)]).T
    labels = np.arange(40 * K) % K
    counts = np.array([rng.multinomial(tokens, table[:, c]) for c in labels], float)
    return Planted(counts, labels, table), tree


def grown(
    model: Any, counts: Any, rate: float = 0.95, n_blocks: int = 1, tol: float = 1e-6, **limits: Any
) -> tuple[Fit, Local]:
    train, valid = split_tokens(Counts(counts), (0.9, 0.1), 0)
    data = Local.place(train, Cpu("float64"), n_blocks=n_blocks)
    annealer = Annealer(
        Exponential(rate, margin=1.0, end=model.zero_temperature + 1.0),
        relaxation=Relaxation(cap=3.0),
        tol=tol,
        growth=Growth(**limits),
        callbacks=(GenerationRule(),),
    )
    held = HeldoutTokens(data.beside(valid))
    return annealer.run(model, data, np.random.default_rng(0), heldout=held), data


def at(
    model: Any, state: State, stats: Any, temperature: float, branches: Branches | None = None
) -> RunState:
    """A run that has settled at a temperature."""
    run = RunState.starting(model, state, restarts=False)
    more = {"stats": stats, "temperature": temperature, "branches": branches or Branches()}
    return replace(run, **more)


def settled(model: Any, data: Local, temperature: float) -> RunState:
    """A state after some sweeps, with the statistics it was made from."""
    state, _ = sweeps(model, data, begin(model, data), temperature, 5)
    rows, stats, _ = data.sweep(expect, state.rows, model, state.params, temperature)
    params, extra = model.maximize(stats, state.params, temperature, data.kernels)
    branches = Branches().split([0], 99.0)
    return at(model, State(params, rows, extra), stats, temperature, branches)


# What a split and a merge are ------------------------------------------------------------------


@each_model
@pytest.mark.parametrize("bounds", [None, [0, 7, 18]])
def test_halves_that_stay_together_change_nothing(model: Any, bounds: Any) -> None:
    data, T = place(poisson_counts(), bounds=bounds), 1.05
    before = settled(model, data, T)
    after = split(NOISELESS, before, data, T)
    K = len(after.branches.leaves)
    assert K > 2
    weight, _ = after.model.components(after.state.params)
    assert after.model.n_components == len(weight) == K
    _, was = sweep(model, data, before.state, T)
    two, now = sweep(after.model, data, after.state, T)
    assert weight.sum() == pytest.approx(1.0)
    if not isinstance(model, Document):  # it counts each half of a topic as a topic
        assert now == pytest.approx(was, rel=1e-9)
    merged = merge(Growth(merged=1e-6, min_size=0.0), replace(after, state=two), data)
    assert merged is not None
    assert merged.branches == before.branches
    if not isinstance(model, Document):
        assert merged.model.components(merged.state.params)[1] == pytest.approx(
            before.model.components(before.state.params)[1], abs=1e-8
        )


@each_model
def test_halves_are_pushed_apart_along_the_critical_direction(model: Any) -> None:
    data, T = place(poisson_counts()), 1.05
    before = settled(model, data, T)
    after = split(Growth(push=0.1, min_size=0.0, resolved=0.0), before, data, T)
    _, was = before.model.components(before.state.params)
    _, now = after.model.components(after.state.params)
    halves = [(old, half) for old, half in after.branches.siblings().items() if old < 2 <= half]
    assert halves
    for old, half in halves:
        filled = was[:, old] > 0
        up = np.log(now[filled, old] / was[filled, old])
        down = np.log(now[filled, half] / was[filled, old])
        assert 0.05 < np.sqrt(was[filled, old] @ up**2) < 0.2
        assert np.corrcoef(up, down)[0, 1] < -0.9


def test_a_push_moves_logarithms_by_the_direction_over_the_root_of_the_probability() -> None:
    p = np.array([0.5, 0.3, 0.15, 0.05, 0.0])
    direction = np.array([0.1, -0.2, 0.3, -0.1, 0.4])
    move = moves_along(direction[:, None], p[:, None], 0.2)[:, 0]
    change = np.append(direction[:4] / np.sqrt(p[:4]), 0.0)
    expected = 0.2 * change / np.sqrt(p @ change**2)
    np.testing.assert_allclose(move, expected, rtol=1e-12)
    assert np.sqrt(p @ move**2) == pytest.approx(0.2)


def test_only_what_is_unstable_splits() -> None:
    data = place(poisson_counts())
    for model in (Aspect(1), Cluster(1)):
        state = state_of(model, data, model.collapsed(data.summary, np.float64))
        critical = first_critical(model, data)
        rows, stats, _ = data.sweep(expect, state.rows, model, state.params, critical)
        hot = at(model, State(state.params, rows, 0.0), stats, critical)
        assert split(Growth(), hot, data, 1.02 * critical) is hot
        assert split(Growth(), hot, data, 0.95 * critical).model.n_components == 2


def test_a_component_splits_only_when_it_is_clearly_not_its_sibling() -> None:
    data, T = place(poisson_counts()), 1.05
    pair = settled(Cluster(2), data, T)
    assert split(Growth(resolved=0.99, min_size=0.0), pair, data, T) is pair
    assert split(Growth(resolved=0.0, min_size=0.0), pair, data, T).model.n_components > 2
    alone = replace(pair, branches=Branches((-1, 0, 0, 1, 1), (9, 8, *[np.nan] * 3), (2, 3, 4)))
    assert alone.branches.siblings() == {1: 2, 2: 1}


def test_small_components_join_their_other_half() -> None:
    data, T = place(poisson_counts()), 1.05
    pair = settled(Cluster(2), data, T)
    rows = pair.state.params.weight * data.summary.row_weight
    assert merge(Growth(min_size=0.9 * rows.min(), merged=0.0), pair, data) is None
    one = merge(Growth(min_size=1.1 * rows.min(), merged=0.0), pair, data)
    assert one is not None
    assert one.branches == Branches((-1,), one.branches.temperatures, (0,))
    weight, table = one.model.components(one.state.params)
    totals = data.summary.column_totals
    assert weight == pytest.approx([1.0])
    assert table[:, 0] == pytest.approx(totals / totals.sum())


# What a run finds ------------------------------------------------------------------------------


@pytest.mark.parametrize(("levels", "branching", "tokens"), [(2, 2, 80), (2, 2, 25), (3, 2, 80)])
def test_planted_trees_are_found(levels: int, branching: int, tokens: int) -> None:
    planted, tree = planted_tree(levels, branching, tokens, seed=1)
    fit, data = grown(Cluster(1), planted.counts)
    K = len(tree.leaves)
    assert fit.model.n_components == K
    labels = data.gather(fit.state.rows).posterior.argmax(axis=1)
    assert adjusted_rand_score(planted.labels, labels) > 0.9  # short rows are not all clear
    # The first split of the run is the root of the planted tree.
    assert fit.tree is not None
    left, right = (set(fit.tree.components_below(node)) for node in fit.tree.children(0))
    assert len(left) == len(right) == K // 2
    half = np.isin(labels, list(left))
    assert adjusted_rand_score(planted.labels < K // 2, half) > 0.95
    inner = [t for t in fit.tree.temperatures if t == t]
    assert len(inner) == K - 1
    assert max(inner) == fit.tree.temperatures[0]


@pytest.mark.parametrize("model", [Cluster(1), Document(1)], ids=["cluster", "document"])
@pytest.mark.parametrize("K", [3, 5])
def test_planted_clusters_are_found(model: Any, K: int) -> None:
    planted = mixture_of_unigrams((40 * K, 100), K, (40, 80), 0.1, seed=K)
    fit, data = grown(model, planted.counts)
    assert fit.model.n_components == K
    labels = data.gather(fit.state.rows).posterior.argmax(axis=1)
    assert adjusted_rand_score(planted.labels, labels) > 0.95


@pytest.mark.parametrize("temper_prior", [False, True])
def test_planted_aspects_are_found(temper_prior: bool) -> None:
    counts, topics = admixture(200, 100, 5, 300, seed=2, alpha=0.1, sparse=0.1)
    fit, _ = grown(Aspect(1, temper_prior), counts, rate=0.99, tol=1e-5)
    assert fit.model.n_components == 5
    assert matched(fit.state.params.word_topic.T, topics).max() < 0.05


@pytest.mark.parametrize("model", [Cluster(1), Aspect(1, temper_prior=True)])
def test_any_sharding_grows_the_same_tree(model: Any) -> None:
    planted = mixture_of_unigrams((60, 50), 3, (40, 80), 0.1, seed=1)
    whole, _ = grown(model, planted.counts, max_components=6)
    parts, data = grown(model, planted.counts, n_blocks=4, max_components=6)
    assert len(data.blocks) == 4 == len(row_bounds(Counts(planted.counts), 4)) - 1
    assert parts.tree is not None
    assert whole.tree is not None
    assert (parts.tree.parents, parts.tree.leaves) == (whole.tree.parents, whole.tree.leaves)
    assert parts.tree.temperatures == pytest.approx(whole.tree.temperatures, nan_ok=True)
    assert parts.trace[-1].free_energy == pytest.approx(whole.trace[-1].free_energy, rel=1e-7)


def test_the_path_has_the_best_solution_of_every_number_on_the_way() -> None:
    planted, _ = planted_tree(2, 2, 80, seed=3)
    fit, _ = grown(Cluster(1), planted.counts)
    numbers = [step.n_components for step in fit.path]
    assert numbers == sorted(set(numbers))
    assert numbers[0] == 1
    assert set(numbers) == {record.n_components for record in fit.trace}
    for step in fit.path:
        same = [r for r in fit.trace if r.n_components == step.n_components]
        best = min(same, key=lambda record: record.heldout)
        assert (step.heldout, step.temperature) == (best.heldout, best.temperature)
        assert step.params.word_topic.shape[1] == step.n_components == step.model.n_components
    chosen = next(step for step in fit.path if step.n_components == fit.model.n_components)
    assert chosen.params is fit.state.params
    assert chosen.tree == fit.tree


def test_pseudo_counts_of_all_components_stay_the_same() -> None:
    planted, _ = planted_tree(2, 2, 80, seed=3)
    fit, _ = grown(Cluster(1, pseudo_count=100.0), planted.counts)
    assert fit.model.n_components * fit.model.pseudo_count == pytest.approx(100.0)


def test_there_are_never_more_components_than_allowed() -> None:
    planted, _ = planted_tree(2, 2, 80, seed=3)
    fit, _ = grown(Cluster(1), planted.counts, max_components=3)
    assert max(record.n_components for record in fit.trace) == 3
    assert fit.model.n_components == 3


def test_more_components_must_be_worth_it() -> None:
    planted, _ = planted_tree(2, 2, 80, seed=3)
    fit, _ = grown(Cluster(1), planted.counts, gain=0.99)
    assert fit.model.n_components == 1


def test_with_few_held_out_tokens_components_must_be_worth_more() -> None:
    growth = Growth(gain=0.003, nats=8.0)
    assert growth.needed(1e6) == 0.003
    assert growth.needed(400.0) == pytest.approx(0.0198, abs=1e-4)
    planted, _ = planted_tree(2, 2, 25, seed=5)
    for nats, K in ((0.0, 6), (8.0, 4), (1e4, 1)):
        fit, _ = grown(Cluster(1), planted.counts, nats=nats)
        assert fit.model.n_components == K


def test_without_held_out_data_the_last_state_is_kept() -> None:
    planted, _ = planted_tree(2, 2, 80, seed=3)
    data = place(planted.counts, Cpu("float64"))
    annealer = Annealer(Exponential(0.9, margin=1.0), growth=Growth(max_components=4), tol=1e-5)
    fit = annealer.run(Cluster(1), data, np.random.default_rng(0))
    assert fit.outcome is Outcome.FINISHED
    assert fit.temperature == 1.0
    assert fit.model.n_components == fit.trace[-1].n_components == 4
    assert fit.tree is not None
    assert len(fit.tree.leaves) == 4


def test_runs_that_do_not_grow_have_no_tree() -> None:
    data = place(poisson_counts())
    fit = Annealer(Fixed(1.0), NO_RELAXATION, max_sweeps=2).run(
        Cluster(2), data, np.random.default_rng(0)
    )
    assert fit.tree is None
    assert fit.path == ()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_components": 0}, "max_components is 0"),
        ({"push": 0.0}, "push 0.0"),
        ({"min_size": -1.0}, "min_size -1"),
        ({"merged": 1.5}, "merged is 1.5"),
        ({"resolved": -0.1}, "resolved -0.1"),
        ({"gain": 1.0}, "gain is 1.0"),
        ({"nats": -1.0}, "nats -1"),
        ({"careful": 0}, "careful is 0"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        Growth(**settings)


# When it stops ---------------------------------------------------------------------------------


def fit_with(*steps: tuple[int, float]) -> Fit:
    trace = tuple(Record(1.0, 0.0, 0.0, heldout, K, K, (), 1, 0.0, True) for K, heldout in steps)
    return Fit(None, State(None, (), 0.0), 1.0, trace)


@pytest.mark.parametrize(
    ("steps", "stops"),
    [
        ([(1, 100.0), (2, 90.0), (4, 89.99), (4, 89.98)], False),
        ([(1, 100.0), (2, 90.0), (4, 89.99), (5, 89.98)], True),
        ([(1, 100.0), (2, 90.0), (4, 89.99), (5, 80.0), (6, 80.1)], False),
        ([(1, 100.0), (2, 90.0), (4, 91.9)], True),
        ([(1, 100.0), (4, 90.0), (2, 95.0)], False),
        ([(1, 100.0), (4, 90.0), (2, 95.0), (3, 95.0)], False),
        ([(1, 100.0), (2, 90.0), (2, 90.5), (2, 90.5), (2, 90.5)], False),
        ([(1, 100.0), (8, 90.0), (8, 89.9), (8, 90.1)], True),
        ([(1, 100.0), (8, 90.0), (8, 89.9)], False),
        ([(1, 100.0), (8, 90.0), (8, 90.5)], True),
        ([(1, 100.0), (8, 90.0), (7, 90.5)], False),
    ],
)
def test_generations_that_bring_nothing_end_a_run(
    steps: list[tuple[int, float]], stops: bool
) -> None:
    assert GenerationRule(patience=2, limit=8).on_temperature(fit_with(*steps)) is stops


def test_components_that_are_too_small_to_be_worth_it_open_no_generation() -> None:
    def stops(*entropies: float) -> bool:
        trace = tuple(
            Record(1.0, 0.0, 0.0, 100.0, K, K, (), 1, 0.0, True, entropy=one)
            for K, one in enumerate(entropies, 1)
        )
        fit = Fit(None, State(None, (), 0.0), 1.0, trace)
        return GenerationRule(patience=2).on_temperature(fit)

    assert stops(0.0, 0.1, 0.2)
    assert not stops(0.0, 0.001, 0.002)
    assert not stops(0.0, 0.1, 0.101)
    # They add up.
    assert stops(0.0, *(0.001 * n for n in range(1, 9)))


class GettingWorse:
    """A held-out score that rises whenever it is looked at."""

    size = 1000.0

    def __init__(self) -> None:
        self.looks = 0

    def score(self, model: Any, state: State, data: Any, temperature: float) -> float:
        self.looks += 1
        return float(self.looks)


def test_a_temperature_without_room_is_left_when_the_score_rises() -> None:
    X = mixture_of_unigrams((60, 40), 4, (40, 80), 0.1, seed=2).counts
    growth = Growth(max_components=2, look=3)
    schedule = Exponential(0.9, margin=1.0)
    annealer = Annealer(schedule, NO_RELAXATION, tol=0.0, max_sweeps=12, growth=growth)
    fit = annealer.run(Cluster(1), place(X), np.random.default_rng(0), heldout=GettingWorse())
    full = [
        r.sweeps
        for r, last in zip(fit.trace[1:], fit.trace, strict=False)
        if last.n_components == r.n_components == 2
    ]
    assert len(full) > 3
    assert max(full) == 3
    blind = annealer.run(Cluster(1), place(X), np.random.default_rng(0))
    assert max(record.sweeps for record in blind.trace[-len(full) :]) == 12
