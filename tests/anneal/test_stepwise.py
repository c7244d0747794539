"""Steps by batches of rows: what they share with full sweeps, and what full sweeps say of them."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from isotherm.anneal import journal
from isotherm.anneal.callbacks import Callback, HeldoutRule
from isotherm.anneal.engine import NO_RELAXATION, Annealer, Problem
from isotherm.anneal.growth.grow import Growth
from isotherm.anneal.heldout import HeldoutTokens
from isotherm.anneal.journal import Blank
from isotherm.anneal.progress import Course
from isotherm.anneal.run_state import RunState
from isotherm.anneal.schedule import Exponential, Fixed, Grid
from isotherm.anneal.start import Noisy
from isotherm.anneal.stepwise import Stepwise, completed, stepped
from isotherm.anneal.trace import Fit, Outcome, State
from isotherm.data.counts import Counts
from isotherm.data.split import hold_out_tokens
from isotherm.errors import IsothermError
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.aspect import Aspect
from isotherm.models.base import expect
from isotherm.models.cluster import Cluster
from isotherm.models.document import Document
from isotherm.models.two_sided import TwoSided
from isotherm.placement.batches import Batch
from isotherm.placement.cluster.remote import Remote
from isotherm.placement.local import Local
from support.anneal import Memory, place, random_state
from support.corpora import admixture, one_topic_each
from support.estimators import assert_same, timeless

MODELS = {
    "aspect": Aspect(3),
    "aspect-tempered-prior": Aspect(3, temper_prior=True),
    "cluster": Cluster(3),
    "cluster-pseudo-counts": Cluster(3, pseudo_count=7.0, temper_prior=True),
    "document": Document(3, pseudo_count=2.0),
}
T = 1.3


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def batched(X: Any, size: int) -> Local:
    return Local.place(Counts(X), Cpu("float64"), batch=size)


class Heard(Callback):
    def __init__(self) -> None:
        self.events: list[tuple[str, float]] = []
        self.energies: list[float] = []

    def on_sweep(self, temperature: float, sweep: int, free_energy: float) -> None:
        self.events.append(("sweep", sweep))
        self.energies.append(free_energy)

    def on_pass(self, temperature: float, number: int) -> None:
        self.events.append(("pass", number))


def energy_of(model: Any, data: Any, state: State, temperature: float) -> float:
    """Free energy of a state, by a full E-step."""
    _, _, energy = data.sweep(expect, state.rows, model, state.params, temperature)
    return float(energy + state.extra)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
def test_a_batch_of_all_rows_at_full_weight_is_a_sweep(model: Any) -> None:
    data = place(one_topic_each(60, 20)[0])
    begin = random_state(model, data, 1)
    rows, stats, _ = data.sweep(expect, begin.rows, model, begin.params, T)
    params, extra = model.maximize(stats, begin.params, T, data.kernels)
    (batch,) = data.batches
    # Whatever was there before, weight 1 leaves nothing of it.
    odd = type(stats)(*(field + 5.0 for field in stats))
    state, found = stepped(model, data, begin, odd, T, 1.0, batch)
    state = completed(model, data, state)
    for one, other in zip((*state.params, *state.rows[0]), (*params, *rows[0]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    for one, other in zip(found, stats, strict=True):
        np.testing.assert_array_equal(one, other)
    assert state.extra == pytest.approx(extra, rel=1e-12)
    assert Stepwise(delay=1.0).rate(0) == 1.0


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
def test_a_step_mixes_scaled_statistics_and_moves_its_own_rows(model: Any) -> None:
    X = one_topic_each(60, 20)[0]
    data, whole = batched(X, 20), place(X)
    begin = random_state(model, data, 1)
    _, stats, _ = data.sweep(expect, begin.rows, model, begin.params, T)
    state, found = stepped(model, data, begin, stats, T, 0.25, data.batches[1])
    _, own, _ = data.sweep(expect, begin.rows, model, begin.params, T, within=slice(1, 2))
    assert data.batches[1].total == X[data.laid.order()[20:40]].sum()
    scale = whole.summary.total / data.batches[1].total
    for mixed, before, new in zip(found, stats, own, strict=True):
        np.testing.assert_allclose(mixed, 0.75 * before + 0.25 * scale * new, rtol=1e-12)
    expected, _ = model.maximize(found, begin.params, T, data.kernels)
    for one, other in zip(state.params, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert state.rows[0] is begin.rows[0]
    assert state.rows[2] is begin.rows[2]
    assert not np.array_equal(state.rows[1][0], begin.rows[1][0])


def test_repeats_let_the_rows_of_a_batch_follow_first() -> None:
    data, model = batched(admixture(60, 20)[0], 20), Aspect(3)
    begin = random_state(model, data, 1)
    _, stats, _ = data.sweep(expect, begin.rows, model, begin.params, T)
    batch, rows = data.batches[0], begin.rows
    for _ in range(3):
        rows, own, _ = data.sweep(expect, rows, model, begin.params, T, within=batch.blocks)
    state, found = stepped(model, data, begin, stats, T, 0.5, batch, 3)
    np.testing.assert_array_equal(state.rows[0].table, rows[0].table)
    scale = data.summary.total / batch.total
    np.testing.assert_allclose(found.word, 0.5 * stats.word + 0.5 * scale * own.word, rtol=1e-12)
    annealer = Annealer(Fixed(T), tol=-1.0, stepwise=Stepwise(20, repeats=3, full_sweeps=1))
    ones = dataclasses.replace(annealer, stepwise=Stepwise(20, full_sweeps=1))
    fits = [one.run(model, data, rng(), state=begin) for one in (annealer, ones)]
    assert fits[0].trace[0].free_energy < fits[1].trace[0].free_energy


def test_a_batch_without_tokens_changes_no_parameters() -> None:
    X = admixture(40, 12)[0]
    data, model = batched(X, 10), Cluster(2)
    begin = random_state(model, data, 1)
    _, stats, _ = data.sweep(expect, begin.rows, model, begin.params, T)
    state, found = stepped(model, data, begin, stats, T, 0.5, Batch(slice(0, 1), 0.0))
    assert state.params is begin.params
    assert found is stats


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
def test_full_sweeps_after_passes_settle_as_low_as_without(model: Any) -> None:
    X = one_topic_each(120, 30)[0]
    settings: dict[str, Any] = {"schedule": Exponential(0.8, start=4.0, end=1.0), "tol": 1e-7}
    plain = Annealer(**settings, max_sweeps=300).run(
        model, place(X), rng(), state=random_state(model, place(X), 1)
    )
    heard, data = Heard(), batched(X, 30)
    annealer = Annealer(
        **settings,
        relaxation=NO_RELAXATION,
        max_sweeps=300,
        stepwise=Stepwise(30, passes=2),
        callbacks=[heard],
    )
    fit = annealer.run(model, data, rng(), state=random_state(model, data, 1))
    lowest, found = plain.trace[-1].free_energy, fit.trace[-1].free_energy
    assert found <= lowest + 1e-4 * abs(lowest)
    assert all(record.converged and record.passes == 2 for record in fit.trace)
    assert fit.n_sweeps == sum(record.sweeps + 2 for record in fit.trace)
    # Only full sweeps tell a free energy, and among themselves they never raise it.
    at, ends = 0, np.cumsum([record.sweeps for record in fit.trace])
    for number, end in enumerate(ends):
        energies = heard.energies[at + (number == 0) : end]
        assert np.diff(energies).max() <= 1e-9 * abs(energies[-1])
        at = end
    assert heard.events[:4] == [("sweep", 1), ("pass", 1), ("pass", 2), ("sweep", 2)]


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
def test_the_energy_of_one_measuring_sweep_is_that_of_what_is_kept(model: Any) -> None:
    X = admixture(120, 30)[0]
    data = batched(X, 24)
    annealer = Annealer(
        Exponential(0.7, start=3.0, end=1.1), stepwise=Stepwise(24, full_sweeps=1), tol=1e-9
    )
    seen: list[tuple[float, float]] = []

    class Check(Callback):
        def on_temperature(self, fit: Fit) -> bool:
            measured = energy_of(fit.model, data, fit.state, fit.temperature)
            seen.append((fit.trace[-1].free_energy, measured))
            return False

    annealer = dataclasses.replace(annealer, callbacks=[Check()])
    fit = annealer.run(model, data, rng(), state=random_state(model, data, 1))
    recorded, measured = np.array(seen).T
    np.testing.assert_allclose(recorded, measured, rtol=1e-12)
    # The first temperature has one sweep more, with which statistics begin.
    assert [record.sweeps for record in fit.trace] == [2, *[1] * (len(fit.trace) - 1)]
    assert not any(record.converged for record in fit.trace)
    weight, table = model.components(fit.state.params)
    assert weight.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(table.sum(axis=0), 1.0, rtol=1e-12)
    rows = data.gather(fit.state.rows)
    np.testing.assert_allclose(model.mixture(fit.state.params, rows).weights.sum(axis=1), 1.0)
    if model.rows_are_parameters:
        np.testing.assert_allclose(rows.table.sum(axis=0), fit.state.params.row_mass, rtol=1e-12)


def test_steps_learn_what_full_sweeps_learn_in_fewer_passes() -> None:
    X = admixture(2000, 60, n_topics=4, length=40)[0]
    model, data = Aspect(4), batched(X, 50)
    begin = random_state(model, data, 1)
    few = Annealer(Fixed(1.0), NO_RELAXATION, max_sweeps=6, tol=-1.0)
    full = few.run(model, data, rng(), state=begin)
    steps = dataclasses.replace(few, stepwise=Stepwise(50, passes=4, full_sweeps=1))
    step = steps.run(model, data, rng(), state=begin)
    assert step.n_sweeps == full.n_sweeps == 6
    assert step.trace[0].free_energy < full.trace[0].free_energy - 0.2 * data.summary.total


def test_shards_do_not_matter_where_batches_are_the_same() -> None:
    """Batches are made of rows: how they are cut into blocks changes nothing beyond rounding."""
    from isotherm.placement.batches import dealt, layout

    X, model = admixture(90, 20)[0], Aspect(3)
    counts, kernels = Counts(X), Cpu("float64")
    whole = batched(X, 30)
    cut = Local._laid_out(counts, kernels, None, layout(dealt(90, 30), [[7], [], [11, 20]]))
    assert len(cut.blocks) == 6
    assert len(cut.batches) == 3
    annealer = Annealer(Exponential(0.8, start=2.0, end=1.0), stepwise=Stepwise(30), tol=1e-6)
    fits = [
        annealer.run(model, data, rng(), state=random_state(model, data, 1))
        for data in (whole, cut)
    ]
    energies = [[record.free_energy for record in fit.trace] for fit in fits]
    np.testing.assert_allclose(*energies, rtol=1e-10)
    np.testing.assert_allclose(
        whole.gather(fits[0].state.rows).table, cut.gather(fits[1].state.rows).table, atol=1e-6
    )


RUNS: dict[str, tuple[Annealer, Any]] = {
    "plain": (
        Annealer(Exponential(0.7, end=1.0), tol=1e-4, stepwise=Stepwise(15, passes=2)), Aspect(3),
    ),
    "alone": (Annealer(Exponential(0.7), stepwise=Stepwise(10, full_sweeps=1)), Cluster(3)),
    "two": (Annealer(Exponential(0.7), stepwise=Stepwise(10, full_sweeps=2)), Aspect(3)),
    "restarts": (Annealer(Grid((1.6, 1.0)), tol=1e-4, stepwise=Stepwise(20)), Aspect(3)),
    "growing": (
        Annealer(Exponential(0.9), tol=1e-3, stepwise=Stepwise(20), growth=Growth(6, merged=0.1)),
        Cluster(1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_a_run_goes_on_from_every_step_to_the_bit(name: str) -> None:
    annealer, model = RUNS[name]
    annealer = dataclasses.replace(annealer, max_sweeps=12, callbacks=[HeldoutRule(2)])
    kept, held = hold_out_tokens(Counts(one_topic_each(40, 15)[0]), 0.2, 0)
    data = batched(kept.matrix, annealer.stepwise.batch)
    heldout = HeldoutTokens(data.beside(held))

    def run(pages: Memory) -> Fit:
        with journal.writing_to(pages):
            return annealer.run(model, data, rng(), heldout=heldout)

    pages = Memory()
    fit = run(pages)
    notes = [note for note, _ in pages.notes]
    steps = [note.step for note in notes]
    assert max(steps) == annealer.stepwise.passes * len(data.batches)
    within = [i for i, note in enumerate(notes) if len(note.stats)]
    assert within  # notes in the middle of a pass
    every = max(1, len(notes) // 8)
    for i in {*range(0, len(notes), every), *within[1::every], len(notes) - 1}:
        note, numbers = pages.notes[i]
        assert_same(timeless(run(Memory(None, note, numbers))), timeless(fit))


def test_the_first_interrupt_and_held_out_rule_work_as_for_full_sweeps() -> None:
    X = admixture(60, 20)[0]
    kept, held = hold_out_tokens(Counts(X), 0.2, 0)
    data = batched(kept.matrix, 20)

    class Stop(Heard):
        def on_pass(self, temperature: float, number: int) -> None:
            super().on_pass(temperature, number)
            if self.events.count(("pass", 1)) == 3:
                raise KeyboardInterrupt

    annealer = Annealer(Exponential(0.7, end=0.1), stepwise=Stepwise(20), max_sweeps=20)
    broken = dataclasses.replace(annealer, callbacks=[Stop()])
    fit = broken.run(Aspect(3), data, rng(), heldout=HeldoutTokens(data.beside(held)))
    assert fit.outcome is Outcome.INTERRUPTED
    assert len(fit.trace) == 2
    ruled = dataclasses.replace(annealer, callbacks=[HeldoutRule(1)])
    fit = ruled.run(Aspect(8), data, rng(), heldout=HeldoutTokens(data.beside(held)))
    assert fit.outcome is Outcome.STOPPED
    assert fit.temperature > fit.trace[-1].temperature


def test_a_callback_without_passes_hears_of_the_rest() -> None:
    class Old:
        sweeps = 0

        def on_begin(self) -> None: ...
        def on_end(self) -> None: ...
        def on_sweep(self, temperature: float, sweep: int, free_energy: float) -> None:
            self.sweeps += 1

        def on_temperature(self, fit: Fit) -> bool:
            return False

    old, data = Old(), batched(admixture(30, 10)[0], 10)
    annealer = Annealer(Fixed(1.5), stepwise=Stepwise(10, full_sweeps=1), callbacks=[old])
    annealer.run(Aspect(2), data, rng())
    assert old.sweeps == 2


@pytest.mark.parametrize("name", ["batch", "passes", "repeats", "full_sweeps"])
@pytest.mark.parametrize("value", [0, -1, 1.5, math.nan, "10", True])
def test_numbers_that_are_none_are_refused(name: str, value: Any) -> None:
    with pytest.raises(IsothermError, match=rf"{name} is {value!r}; it must be a whole number"):
        Stepwise(**{name: value})


@pytest.mark.parametrize("value", [0.5, 1.01, math.nan, "1", None, True])
def test_decays_that_do_not_settle_are_refused(value: Any) -> None:
    with pytest.raises(IsothermError, match=r"decay is .*above 0.5 and at most 1"):
        Stepwise(decay=value)


@pytest.mark.parametrize("value", [0.9, -1, math.inf, math.nan, None, True])
def test_delays_below_one_are_refused(value: Any) -> None:
    with pytest.raises(IsothermError, match=r"delay is .*at least 1"):
        Stepwise(delay=value)


def test_rows_on_workers_have_no_batches() -> None:
    remote = Remote.__new__(Remote)
    with pytest.raises(IsothermError, match=r"which sweeps all of them at once.*leave the client"):
        Annealer(Fixed(1.0), stepwise=Stepwise(5))._passed(
            Problem(Aspect(2), remote, rng(), None, 0.0, Blank(), Course.of(Fixed(1.0), 0.0)),
            RunState.starting(Aspect(2), State((), (), 0.0), False),
        )
    with pytest.raises(IsothermError, match="which sweeps all of them at once"):
        remote.sweep(expect, (), within=slice(1))


def test_rates_fall_as_they_are_said_to() -> None:
    rates = [Stepwise(decay=0.6, delay=3.0).rate(t) for t in (0, 1, 10)]
    np.testing.assert_allclose(rates, [3**-0.6, 4**-0.6, 13**-0.6])


def test_two_sided_statistics_mix_as_well() -> None:
    X = one_topic_each(80, 24)[0]
    data = batched(X, 20)
    annealer = Annealer(
        Exponential(0.8, end=1.0), stepwise=Stepwise(20), tol=1e-6, start=Noisy(0.5)
    )
    fit = annealer.run(TwoSided(3, 3), data, rng())
    assert fit.trace[-1].n_effective == 3
    again = energy_of(fit.model, data, fit.state, fit.temperature)
    assert again <= fit.trace[-1].free_energy + 1e-9 * abs(again)
    assert fit.trace[-1].free_energy - again < 1e-5 * data.summary.total
