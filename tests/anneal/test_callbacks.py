"""Rules that stop a run, and everything that reports on it."""

import logging

import numpy as np
import pytest

from isotherm.anneal.callbacks import Callback, HeldoutRule, Log, Recorder, TimeLimit
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
    assert rule.left == 0.0
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
