"""What the engine notes in a journal, and how it goes on from a note."""

import dataclasses
from functools import cache
from typing import Any

import numpy as np
import pytest

from isotherm.anneal import journal
from isotherm.anneal.callbacks import Callback
from isotherm.anneal.engine import NO_RELAXATION, Annealer
from isotherm.anneal.growth.grow import Growth
from isotherm.anneal.heldout import HeldoutTokens
from isotherm.anneal.run_state import RunState
from isotherm.anneal.schedule import Adaptive, Exponential, Fixed, Grid
from isotherm.anneal.trace import Fit
from isotherm.data.counts import Counts
from isotherm.data.split import hold_out_tokens
from isotherm.models.aspect import Aspect
from isotherm.models.cluster import Cluster
from support.anneal import Memory, place
from support.corpora import admixture, one_topic_each
from support.estimators import assert_same, timeless


class Heard(Callback):
    def __init__(self) -> None:
        self.sweeps: list[tuple[float, int]] = []

    def on_sweep(self, temperature: float, sweep: int, free_energy: float) -> None:
        self.sweeps.append((temperature, sweep))


PLAIN = Annealer(Exponential(0.7, end=1.0), NO_RELAXATION, tol=1e-3, max_sweeps=8)
RUNS: dict[str, tuple[Annealer, Any]] = {
    "plain": (PLAIN, Aspect(3)),
    "relaxed": (Annealer(Exponential(0.6), tol=1e-7, max_sweeps=25), Aspect(3)),
    "one temperature": (Annealer(Fixed(1.0), tol=1e-6), Aspect(3)),
    "stopped early": (
        Annealer(Exponential(0.8), tol=1e-9, max_sweeps=20, check_every=2, noise=0.05),
        Aspect(6),
    ),
    "restarts": (Annealer(Grid((1.6, 1.0, 1.3)), tol=1e-4, max_sweeps=15), Aspect(3)),
    "critical": (dataclasses.replace(PLAIN, schedule=Adaptive(), max_sweeps=15), Aspect(2)),
    "recorded": (dataclasses.replace(PLAIN, record_critical=True), Aspect(3)),
    "growing": (
        Annealer(Exponential(0.9), tol=1e-3, max_sweeps=12, growth=Growth(6, merged=0.1)),
        Cluster(1),
    ),
}


@cache
def split() -> tuple[Any, Any]:
    kept, held = hold_out_tokens(Counts(one_topic_each(40, 15)[0]), 0.2, 0)
    data = place(kept.matrix)
    return data, HeldoutTokens(data.beside(held))


def run(pages: Memory, name: str, callback: Callback) -> Fit:
    annealer, model = RUNS[name]
    annealer = dataclasses.replace(annealer, callbacks=[callback])
    data, heldout = split()
    if name in ("plain", "one temperature"):
        data, heldout = place(admixture(30, 10)[0]), None
    with journal.writing_to(pages):
        return annealer.run(model, data, np.random.default_rng(0), heldout=heldout)


@cache
def whole(name: str) -> tuple[Fit, Memory, Heard]:
    pages, heard = Memory(), Heard()
    return run(pages, name, heard), pages, heard


@pytest.mark.parametrize("name", RUNS)
def test_every_sweep_is_noted_before_it_is_done(name: str) -> None:
    fit, pages, heard = whole(name)
    notes = [note for note, _ in pages.notes]
    assert [(note.temperature, note.sweep + 1) for note in notes] == heard.sweeps
    assert pages.ends == [fit]
    first = [len(note.fit.trace) for note in notes if not (note.sweep or note.before)]
    assert first == list(range(len(fit.trace)))  # a note has the temperatures before it


@pytest.mark.parametrize("name", RUNS)
def test_a_run_goes_on_from_every_note_to_the_bit(name: str) -> None:
    fit, pages, heard = whole(name)
    notes = [note for note, _ in pages.notes]
    step = max(1, len(notes) // 12)
    merged = [i for i, note in enumerate(notes) if note.before]
    # Before the last sweep of a temperature: what ends it must be known.
    last = [i for i in range(len(notes) - 1) if notes[i + 1].sweep == 0]
    for at in sorted({*range(0, len(notes), step), *merged[:3], *last[-4:], len(notes) - 1}):
        note, numbers = pages.notes[at]
        rest = Heard()
        again = run(Memory(state=note, numbers=numbers), name, rest)
        assert rest.sweeps == heard.sweeps[at:]
        assert_same(timeless(again), timeless(fit))


def test_the_runs_above_reach_what_they_are_for() -> None:
    def notes(name: str) -> list[RunState]:
        return [note for note, _ in whole(name)[1].notes]

    assert any(note.relaxation.proven is not None for note in notes("relaxed"))
    assert any(note.relaxation.eta > 1.5 for note in notes("relaxed"))
    assert any(note.before for note in notes("growing"))
    assert len(whole("growing")[0].path) > 1
    early = whole("stopped early")[0].trace
    assert any(not record.converged and record.sweeps < 20 for record in early)
    assert len(whole("restarts")[0].trace) == 3


def test_notes_hold_no_more_than_the_rest_of_the_run_needs() -> None:
    for name in RUNS:
        for note, _ in whole(name)[1].notes:
            assert note.within
            assert note.stats == ()
            assert (note.begin is None) == (name != "restarts")


def test_a_finished_run_is_not_run_again() -> None:
    pages, heard = Memory(fit=whole("plain")[0]), Heard()
    assert run(pages, "plain", heard) is pages.fit
    assert heard.sweeps == []
    assert pages.ends == []


def test_a_run_that_fails_has_no_outcome() -> None:
    class Fails(Callback):
        def on_temperature(self, fit: Fit) -> bool:
            raise ZeroDivisionError

    pages = Memory()
    with pytest.raises(ZeroDivisionError):
        run(pages, "plain", Fails())
    assert pages.ends == [None]


def test_the_journal_is_that_of_the_block() -> None:
    pages = Memory()
    assert journal.current() is journal.NOTHING
    with journal.writing_to(pages):
        assert journal.current() is pages
    assert journal.current() is journal.NOTHING
    blank = journal.NOTHING.page(None, None, None, np.random.default_rng(0), None, None)
    assert blank.fit is blank.state is None
