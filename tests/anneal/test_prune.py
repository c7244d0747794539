"""Fewer components at the chosen temperature, where they do as well."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from isotherm import split_tokens
from isotherm.anneal.callbacks import GenerationRule
from isotherm.anneal.engine import Annealer, Relaxation
from isotherm.anneal.growth import prune
from isotherm.anneal.growth.grow import Growth
from isotherm.anneal.growth.prune import fewest
from isotherm.anneal.heldout import HeldoutTokens
from isotherm.anneal.schedule import Exponential
from isotherm.anneal.start import state_of
from isotherm.anneal.trace import Fit, Outcome, Step
from isotherm.data.counts import Counts
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.cluster import Cluster
from isotherm.placement.local import Local
from support.corpora import mixture_of_unigrams

PLANTED = mixture_of_unigrams((80, 60), 4, (40, 80), 0.1, seed=2)
TRAIN, VALID = split_tokens(Counts(PLANTED.counts), (0.9, 0.1), 0)
DATA = Local.place(TRAIN, Cpu("float64"))
HELD = HeldoutTokens(DATA.beside(VALID))
GROWN = Annealer(
    Exponential(0.95, margin=1.0),
    relaxation=Relaxation(cap=3.0),
    tol=1e-6,
    # Nothing is too little: it splits until it predicts clearly worse.
    growth=Growth(gain=0.0, nats=0.0, resolved=0.01, merged=1e-4),
    callbacks=(GenerationRule(patience=4, gain=0.0, much=0.5),),
)
STRICT = replace(GROWN, growth=Growth(gain=0.02))


@pytest.fixture(scope="module")
def fit() -> Fit:
    found = GROWN.run(Cluster(1), DATA, np.random.default_rng(0), heldout=HELD)
    largest = max(step.n_components for step in found.path)
    assert largest > 4
    # As if more than the planted number had been chosen.
    step = next(step for step in found.path if step.n_components > 4)
    return chosen(found, step)


def chosen(fit: Fit, step: Step) -> Fit:
    """The fit as if it had come to that step."""
    state = state_of(step.model, DATA, step.params)
    return replace(fit, model=step.model, state=state, temperature=step.temperature, tree=step.tree)


def test_what_more_components_are_not_worth_is_taken_back(fit: Fit) -> None:
    pruned = fewest(STRICT, fit, DATA, HELD)
    assert pruned.model.n_components == 4
    assert pruned.temperature <= fit.temperature
    assert pruned.tree is not None
    assert pruned.tree.n_leaves == 4
    score = HELD.score(pruned.model, pruned.state, DATA, pruned.temperature)
    step = next(step for step in pruned.path if step.n_components == 4)
    assert step.heldout == pytest.approx(score)
    assert step.params is pruned.state.params
    assert len(pruned.path) == len(fit.path)
    # The trace goes on with all that was tried.
    assert pruned.trace[: len(fit.trace)] == fit.trace
    phases = [record.phase for record in pruned.trace[len(fit.trace) :]]
    assert phases.count("joined") == 1
    assert set(phases) <= {"cooling on", "joining", "joined"}
    assert pruned.n_sweeps > fit.n_sweeps
    last = pruned.trace[len(fit.trace) + phases.index("joined")]
    assert (last.temperature, last.n_components) == (pruned.temperature, 4)
    # The joined components are those that were planted.
    table = pruned.model.components(pruned.state.params)[1]
    cosines = (table / np.linalg.norm(table, axis=0)).T @ PLANTED.table
    cosines /= np.linalg.norm(PLANTED.table, axis=0)
    assert sorted(cosines.argmax(axis=0)) == [0, 1, 2, 3]
    assert cosines.max(axis=0).min() > 0.97


def test_components_that_are_worth_it_stay(fit: Fit) -> None:
    step = next(step for step in fit.path if step.n_components == 4)
    kept = fewest(STRICT, chosen(fit, step), DATA, HELD)
    assert kept.model.n_components == 4
    assert kept.tree == step.tree
    assert kept.temperature <= step.temperature


def test_what_was_chosen_too_hot_cools_on(fit: Fit) -> None:
    four = next(step for step in fit.path if step.n_components == 4)
    hot = 6.0 * four.temperature
    early = four._replace(temperature=hot, heldout=1.5 * four.heldout)
    path = tuple(early if step is four else step for step in fit.path)
    right = replace(chosen(fit, early), path=path)
    cold = fewest(STRICT, right, DATA, HELD)
    assert cold.temperature < hot
    step = next(step for step in cold.path if step.n_components == 4)
    assert step.heldout < 1.05 * four.heldout
    # Not below the end of the schedule.
    warm = replace(STRICT, schedule=Exponential(0.95, end=hot, margin=1.0))
    assert fewest(warm, right, DATA, HELD).temperature == hot


def test_a_run_that_went_on_by_itself_does_not_cool_on_again(
    fit: Fit, monkeypatch: pytest.MonkeyPatch
) -> None:
    four = next(step for step in fit.path if step.n_components == 4)
    hotter = [record for record in fit.trace if record.temperature >= four.temperature]
    cooled = replace(hotter[-1], temperature=0.9 * four.temperature, n_components=4)
    right = replace(chosen(fit, four), trace=(*hotter, cooled))
    monkeypatch.setattr(prune, "HeldoutRule", None)  # would be asked if it cooled on
    assert fewest(STRICT, right, DATA, HELD).temperature == four.temperature
    with pytest.raises(TypeError):
        fewest(STRICT, replace(right, trace=tuple(hotter)), DATA, HELD)


@pytest.mark.parametrize("seed", range(4))
def test_the_most_alike_are_joined_first(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.full(40, 0.3), 8).T
    # Most of the counts are in few components: small ones join others at a lower price.
    weight = rng.dirichlet(np.full(8, 0.5)) + 0.01
    roots, groups = np.sqrt(table), {k: [k] for k in range(8)}

    def cost(pair: tuple[int, int], size: Any) -> float:
        # By Lance and Williams the cost of a pair is that of its mean, here of the roots.
        one, two = (groups[k] for k in pair)
        heavy, other = size[one].sum(), size[two].sum()
        apart = roots[:, one] @ size[one] / heavy - roots[:, two] @ size[two] / other
        return float(heavy * other / (heavy + other) * (apart**2).sum())

    without_sizes = 0
    for merge in prune._merges(weight, table):
        pairs = list(combinations(sorted(groups), 2))
        assert merge == min(pairs, key=lambda pair: cost(pair, weight))
        without_sizes += merge != min(pairs, key=lambda pair: cost(pair, np.ones(8)))
        groups[merge[0]] += groups.pop(merge[1])
    assert list(groups) == [0]
    assert without_sizes >= 2


def asked(n_components: int, score: Callable[[int], float]) -> tuple[int, list[int]]:
    """The number that is found where numbers have these scores, and all that were tried."""
    numbers, tried, best = prune.Numbers(n_components, 100.0, 0.003), [], n_components
    while (n := numbers.next()) is not None:
        assert n < best
        tried.append(n)
        if numbers.will_do(n, score(n)):
            best = n
    assert len(tried) == len(set(tried)) < 30
    return best, tried


@pytest.mark.parametrize("first", [2, 5, 12, 40, 59, 200])
@pytest.mark.parametrize("right", [1, 2, 5, 11, 38])
def test_the_number_below_which_scores_rise_is_found(first: int, right: int) -> None:
    found, tried = asked(first, lambda n: 100.0 if n >= right else 130.0 - n / 10)
    assert abs(found - min(first, right)) <= max(1, first // 32)
    # Down by strides to the first that would not do, then halfway from there; nothing else.
    first_worse = next((i for i, n in enumerate(tried) if n < right), len(tried))
    assert tried[:first_worse] == sorted(tried[:first_worse], reverse=True)
    assert min(tried, default=1) >= min(tried[: first_worse + 1], default=1)


@pytest.mark.parametrize("first", [20, 36, 59, 66, 200])
@pytest.mark.parametrize("bump", [0.007, 0.1])
def test_a_rise_just_below_far_too_many_does_not_hide_the_right_number(
    first: int, bump: float
) -> None:
    def score(n: int) -> float:
        if n < 5:
            return 140.0
        return 100.0 * (1.0 + bump * (n - 12) / first) if 12 < n < first else 99.9

    found, tried = asked(first, score)
    assert found == 5
    assert sum(tried) < 6 * first


def test_one_of_few_that_is_clearly_worse_ends_the_search() -> None:
    assert asked(5, lambda n: 123.0) == (5, [4])
    assert asked(5, lambda n: 101.0) == (5, [4, 2])


def test_an_interrupted_fit_is_left_alone(fit: Fit) -> None:
    stopped = replace(fit, outcome=Outcome.INTERRUPTED)
    assert fewest(STRICT, stopped, DATA, HELD) is stopped


def test_an_interrupt_keeps_what_was_chosen(fit: Fit, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(self: Annealer, *args: Any, **settings: Any) -> Fit:
        raise KeyboardInterrupt

    monkeypatch.setattr(Annealer, "run", interrupt)
    kept = fewest(STRICT, fit, DATA, HELD)
    assert kept.outcome is Outcome.INTERRUPTED
    assert kept.state is fit.state
