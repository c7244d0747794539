"""Fewer components out of a run that grew: no worse than a fit of that number."""

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from isotherm import (
    AspectModel,
    Callback,
    Counts,
    DocumentMixture,
    Engine,
    OneSidedClustering,
    load,
)
from isotherm.anneal.engine import Annealer
from isotherm.anneal.schedule import Fixed
from isotherm.anneal.start import state_of
from isotherm.data.stored import StoredCounts
from isotherm.estimators import growing
from isotherm.estimators.plan import Plan, Table
from isotherm.estimators.recipe import planned, steered
from isotherm.models.aspect import Aspect
from support.corpora import mixture_of_unigrams

PLANTED = mixture_of_unigrams((120, 80), 4, (40, 80), 0.1, seed=5)
KINDS = [AspectModel, OneSidedClustering, DocumentMixture]
each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="module")
def fitted() -> dict[Any, Any]:
    return {kind: kind("predict", random_state=0).fit(PLANTED.counts) for kind in KINDS}


def plan_of(model: Any, counts: Counts) -> tuple[Plan, Annealer]:
    """What a model would be cooled on, and by what."""
    table = Table(counts, None, model._data)
    recipe = model._full_recipe(table)
    engine = model._engine(recipe.schedule)
    plan, _ = planned(recipe, table, engine)
    return plan, steered(engine, recipe, plan)


def heldout(model: Any, counts: Any) -> float:
    """Held-out score of a model's own split at its temperature, as a fit measures it."""
    plan, _ = plan_of(model, model._counts(counts, reset=False))
    data = plan.data
    state = state_of(model.model_, data, model.params_)
    engine = model._engine(Fixed(model.temperature_))
    fit = engine.run(model.model_, data, np.random.default_rng(0), state=state)
    return float(plan.heldout.score(fit.model, fit.state, data, fit.temperature))


@each_kind
@pytest.mark.parametrize("n", [2, 3])
def test_a_cut_predicts_as_well_as_a_fit(kind: Any, n: int, fitted: dict[Any, Any]) -> None:
    cut = fitted[kind].cut(n, PLANTED.counts)
    fit = kind(n, random_state=0).fit(PLANTED.counts)
    assert cut.temperature_ == pytest.approx(fit.temperature_)
    assert heldout(cut, PLANTED.counts) <= 1.001 * heldout(fit, PLANTED.counts)
    assert cut.n_iter_ > cut.trace_[-1].sweeps


@pytest.mark.parametrize("held_out", [True, False], ids=["held out", "free energy"])
def test_what_is_better_at_that_temperature_is_taken(held_out: bool) -> None:
    counts = Counts(sparse.csr_array(PLANTED.counts))
    model = AspectModel(4, engine=Engine(precision="float64"), random_state=0)
    model.precision_ = "float64"
    plan, annealer = plan_of(model, counts)
    heldout, data, kind = plan.heldout if held_out else None, plan.data, Aspect(4, True)
    brief = replace(annealer, schedule=Fixed(1.1), callbacks=(), max_sweeps=2)
    poor = brief.run(kind, data, np.random.default_rng(0), heldout=heldout)
    planted = kind.init(data.summary, PLANTED.table)
    same = kind.init(data.summary, np.tile(PLANTED.table.mean(axis=1), (4, 1)).T)
    states = [(kind, state_of(kind, data, one)) for one in (planted, same)]
    engine = replace(brief, max_sweeps=50)
    best, n_sweeps = growing.better(engine, poor, states[:1], data, heldout)
    assert n_sweeps > 0
    assert best.temperature == poor.temperature
    assert best.trace == poor.trace
    table = best.model.components(best.state.params)[1]
    assert np.abs(table - PLANTED.table).sum(axis=0).max() < 0.4
    # The order of the starts does not matter, and a good fit stays.
    other, _ = growing.better(engine, poor, states[::-1], data, heldout)
    assert np.array_equal(other.model.components(other.state.params)[1], table)
    good = brief.run(kind, data, np.random.default_rng(0), heldout=heldout, state=best.state)
    assert growing.better(brief, good, states[1:], data, heldout)[0] is good


@each_kind
def test_every_seed_gives_the_same_cut(kind: Any, fitted: dict[Any, Any]) -> None:
    first = fitted[kind].cut(3, PLANTED.counts)
    other = copy.copy(fitted[kind]).set_params(random_state=7).cut(3, PLANTED.counts)
    assert np.array_equal(first.components_, other.components_)
    assert np.array_equal(first.row_weights_, other.row_weights_)


def test_the_disk_gives_the_same_cut(fitted: dict[Any, Any], tmp_path: Path) -> None:
    stored = StoredCounts.write(tmp_path / "counts", Counts(PLANTED.counts))
    for kind in KINDS:
        near, far = fitted[kind].cut(3, PLANTED.counts), fitted[kind].cut(3, stored)
        np.testing.assert_allclose(near.components_, far.components_, atol=1e-4)
        assert near.topic_tree_.parents == far.topic_tree_.parents


@each_kind
def test_without_the_tree_of_topics_splits_are_where_it_begins(
    kind: Any, fitted: dict[Any, Any], tmp_path: Path
) -> None:
    model = load(fitted[kind].save(tmp_path / "model.iso"))
    assert model.topic_tree_ == fitted[kind].topic_tree_
    del model.topic_tree_  # as in files of older versions
    ((start, table),) = model._starts(3)
    shares = [model.weights_[list(group)].sum() for group in model.tree_.cut(3)]
    assert start.n_components == 3
    np.testing.assert_allclose(table @ shares, model.components_.T @ model.weights_, rtol=1e-4)
    assert model.cut(3, PLANTED.counts).n_components_ == 3


@each_kind
def test_more_than_were_chosen_are_cooled_alone(kind: Any, fitted: dict[Any, Any]) -> None:
    model = fitted[kind]
    most = model.path_[-1].n_components
    assert most > model.n_components_
    assert model._starts(most) == []
    assert model.cut(most, PLANTED.counts).n_components_ == most


class Interrupts(Callback):
    """Interrupts a run at a sweep, as Ctrl-C does."""

    def __init__(self, sweep: int) -> None:
        self.sweep, self.sweeps = sweep, 0

    def on_sweep(self, temperature: float, sweep: int, free_energy: float) -> None:
        self.sweeps += 1
        if self.sweeps == self.sweep:
            raise KeyboardInterrupt


def test_an_interrupt_keeps_what_there_is(
    fitted: dict[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = copy.copy(fitted[AspectModel])
    model.set_params(engine__callbacks=[Interrupts(30)])
    cut = model.cut(3, PLANTED.counts)
    assert cut.outcome_.startswith("interrupted")
    assert cut.n_components_ == 3

    def interrupted(*args: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(growing, "completed", interrupted)
    late = fitted[AspectModel].cut(3, PLANTED.counts)
    assert late.outcome_.startswith("interrupted")
    assert late.row_weights_.shape == (120, 3)
