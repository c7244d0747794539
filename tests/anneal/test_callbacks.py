"""Rules that stop a run, and everything that reports on it."""

import io
import logging
from typing import Any

import numpy as np
import pytest

from isotherm.anneal.callbacks import Callback, HeldoutRule, Log, Progress, Recorder, TimeLimit
from isotherm.anneal.engine import Annealer
from isotherm.anneal.schedule import Exponential
from isotherm.anneal.trace import Fit, Outcome, Record, State
from isotherm.models.aspect import Aspect
from support.anneal import place
from support.corpora import admixture


def cooling(scores: list[float], slopes: list[float], distinct: int = 1) -> Fit:
    """A fit that cools by one degree a step; so much free energy is gained at each."""
    energies = -1000.0 + np.cumsum([0.0, *slopes])
    trace = tuple(
        Record(
            50.0 - i, float(energies[i]), -200.0, score, distinct if not i else 5, 5, (), 7, 1, True
        )
        for i, score in enumerate(scores)
    )
    return Fit(None, State((), (), 0.0), 1.0, trace)


def fit_of(*scores: float, seconds: float = 0.25, distinct: int = 3) -> Fit:
    trace = tuple(
        Record(2.0 / (i + 1), -123.5, -200.0, score, distinct, 5, (), 7, seconds, True)
        for i, score in enumerate(scores)
    )
    return Fit(None, State((), (), 0.0), 1.0, trace)


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("scores", "stops"),
    [
        ([10.0], False),
        ([10.0, 9.0, 8.0, 7.0], False),
        ([10.0, 11.0], False),
        ([10.0, 11.0, 12.0], True),
        ([10.0, 12.0, 11.0], True),
        ([10.0, 11.0, 9.0, 9.5], False),
        ([10.0, 11.0, 9.0, 9.5, 9.4], True),
        # A plateau neither counts nor resets.
        ([10.0, 10.0, 10.0, 10.0005, 10.0009], False),
        ([10.0, 11.0, 10.0005, 10.0002], False),
        ([10.0, 11.0, 10.0005, 11.0], True),
        # Nothing held out, or impossible all along.
        ([np.nan, np.nan, np.nan, np.nan], False),
        ([np.inf, np.inf, np.inf, np.inf], False),
        ([np.inf, 10.0, np.inf, np.inf], True),
    ],
)
def test_heldout_rule(scores: list[float], stops: bool) -> None:
    assert HeldoutRule(patience=2).on_temperature(fit_of(*scores)) is stops


def test_heldout_rule_patience_and_slack() -> None:
    fit = fit_of(10.0, 10.5, 10.5, 10.5)
    assert [HeldoutRule(p).on_temperature(fit) for p in (1, 2, 3, 4)] == [True, True, True, False]
    assert not HeldoutRule(1, slack=0.06).on_temperature(fit)


def test_heldout_rule_waits_while_most_rows_are_undecided() -> None:
    scores = [10.0, 9.0, 9.2, 9.4, 9.6]
    assert not HeldoutRule(2).on_temperature(cooling(scores, [100.0, 99.0, 97.0, 95.0]))
    assert HeldoutRule(2).on_temperature(cooling(scores, [100.0, 99.0, 85.0, 80.0]))
    assert HeldoutRule(2, undecided=0.99).on_temperature(cooling(scores, [100.0, 99.0, 97.0, 95.0]))
    # Energies that stay put, and a run that began below the first transition, tell nothing.
    assert HeldoutRule(2).on_temperature(cooling(scores, [1e-3] * 4))
    assert HeldoutRule(2).on_temperature(cooling(scores, [100.0, 99.0, 97.0, 95.0], distinct=5))


def test_heldout_rule_waits_between_transitions() -> None:
    creeping = [10.0, *[10.05] * 7]
    assert not HeldoutRule(2).on_temperature(fit_of(*creeping))
    assert HeldoutRule(2).on_temperature(fit_of(*creeping, 10.05))
    # Not if all components are apart, and not if the score is clearly worse.
    assert HeldoutRule(2).on_temperature(fit_of(*creeping[:3], distinct=5))
    assert HeldoutRule(2).on_temperature(fit_of(10.0, 10.2, 10.2))
    assert HeldoutRule(2, small=0.001).on_temperature(fit_of(*creeping[:3]))


def test_time_limit() -> None:
    clock = Clock()
    rule = TimeLimit(60.0, clock)
    clock.now += 1000.0  # made long before the run
    rule.on_begin()
    clock.now += 60.0
    assert not rule.on_temperature(fit_of(1.0))
    clock.now += 0.1
    assert rule.on_temperature(fit_of(1.0))


def test_time_limit_ends_a_run_after_a_whole_temperature() -> None:
    clock = Clock()

    class Tick(Callback):
        def on_sweep(self, temperature: float, sweep: int, free_energy: float) -> None:
            clock.now += 1.0

    annealer = Annealer(Exponential(0.9), callbacks=(Tick(), TimeLimit(20.0, clock)))
    fit = annealer.run(Aspect(3), place(admixture()[0]), np.random.default_rng(0))
    assert fit.outcome is Outcome.STOPPED
    assert fit.n_sweeps > 20
    assert fit.n_sweeps - fit.trace[-1].sweeps <= 20


def test_recorder_keeps_what_it_is_told() -> None:
    recorder = Recorder(lambda fit: (fit.temperature, len(fit.trace)))
    annealer = Annealer(Exponential(0.9), callbacks=(recorder,))
    fit = annealer.run(Aspect(2), place(admixture()[0]), np.random.default_rng(0))
    assert recorder.values == [(r.temperature, i + 1) for i, r in enumerate(fit.trace)]
    assert fit.outcome is Outcome.FINISHED


def bar(stream: io.StringIO, **settings: Any) -> tuple[Progress, Clock]:
    clock = Clock()
    progress = Progress(stream, clock=clock, **settings)
    progress.on_begin()
    return progress, clock


def test_progress_rewrites_one_line_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    stream = Terminal()
    progress, clock = bar(stream)
    progress.on_sweep(1.5, 1, -10.0)
    assert stream.getvalue() == ""
    clock.now += 3.0
    progress.on_sweep(1.5, 2, -11.25)
    first = stream.getvalue()
    assert first.startswith("\rannealing  T 1.5  sweep 2  F -11.25  [2 sweeps, 3 s]")
    progress.on_sweep(1.5, 3, -11.5)
    assert stream.getvalue() == first, "at most ten times a second"
    progress.on_temperature(fit_of(1234.5))
    clock.now += 1.0
    progress.on_sweep(1.25, 1, -12.0)
    lines = stream.getvalue().split("\r")[1:]
    assert len(lines) == 2
    assert "3 of 5 components distinct, held-out 1234.5" in lines[1]
    assert {len(line) for line in lines} == {119}
    progress.on_end()
    assert stream.getvalue().endswith("\r" + " " * 119 + "\r")
    assert "\n" not in stream.getvalue()


def test_progress_fits_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    stream = Terminal()
    progress, clock = bar(stream, delay=0.0)
    progress.on_temperature(fit_of(1234.5))
    clock.now += 1.0
    progress.on_sweep(1.25, 1, -12.0)
    progress.on_end()
    assert max(len(part) for part in stream.getvalue().split("\r")) == 39


def test_progress_prints_lines_elsewhere() -> None:
    stream = io.StringIO()
    progress, clock = bar(stream)
    progress.on_sweep(2.0, 1, -1.0)
    progress.on_temperature(fit_of(50.0))
    clock.now += 3.0
    progress.on_sweep(1.0, 1, -1.0)
    progress.on_temperature(fit_of(50.0, 40.0))
    progress.on_end()
    expected = "annealing  T 1  3 of 5 components distinct, held-out 40\n"
    assert stream.getvalue() == expected


def test_progress_of_a_short_run_shows_nothing() -> None:
    stream = Terminal()
    annealer = Annealer(Exponential(0.5), callbacks=(Progress(stream, delay=1e6),))
    annealer.run(Aspect(2), place(admixture()[0]), np.random.default_rng(0))
    assert stream.getvalue() == ""


def test_log_writes_a_line_per_temperature(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="isotherm"):
        Log().on_temperature(fit_of(1234.5))
        Log().on_temperature(fit_of(np.nan))
    assert caplog.messages == [
        "T 2, F -123.5, 3 of 5 components distinct, held-out 1234.5, 7 sweeps in 0.25 s",
        "T 2, F -123.5, 3 of 5 components distinct, 7 sweeps in 0.25 s",
    ]


def test_plain_callback_does_nothing() -> None:
    callback = Callback()
    callback.on_begin()
    callback.on_sweep(1.0, 1, 0.0)
    callback.on_end()
    assert callback.on_temperature(fit_of(1.0)) is False
