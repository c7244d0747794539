"""Fewer components at the chosen temperature, where they do as well."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from isotherm import split_tokens
from isotherm.anneal import prune
from isotherm.anneal.callbacks import GenerationRule
from isotherm.anneal.engine import Annealer, Relaxation
from isotherm.anneal.grow import Growth
from isotherm.anneal.heldout import HeldoutTokens
from isotherm.anneal.prune import fewest
from isotherm.anneal.schedule import Exponential
from isotherm.anneal.trace import Fit, Outcome
from isotherm.data.counts import Counts
from isotherm.data.local import Local
from isotherm.kernels.cpu import Cpu
from isotherm.models.cluster import Cluster
from models.planted import mixture_of_unigrams

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
    return replace(found, model=step.model, temperature=step.temperature, tree=step.tree)


def test_what_more_components_are_not_worth_is_taken_back(fit: Fit) -> None:
    pruned = fewest(STRICT, fit, DATA, HELD)
    assert pruned.model.n_components == 4
    assert pruned.temperature == fit.temperature
    assert pruned.tree is not None
    assert pruned.tree.n_leaves == 4
    score = HELD.score(pruned.model, pruned.state, DATA, pruned.temperature)
    step = next(step for step in pruned.path if step.n_components == 4)
    assert step.heldout == pytest.approx(score)
    assert step.params is pruned.state.params
    assert len(pruned.path) == len(fit.path)


def test_components_that_are_worth_it_stay(fit: Fit) -> None:
    chosen = next(step for step in fit.path if step.n_components == 4)
    right = replace(fit, model=chosen.model, temperature=chosen.temperature, tree=chosen.tree)
    assert fewest(STRICT, right, DATA, HELD) is right


def test_only_numbers_that_came_close_are_tried(fit: Fit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prune, "CLOSE", -0.5)
    assert fewest(STRICT, fit, DATA, HELD) is fit


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
