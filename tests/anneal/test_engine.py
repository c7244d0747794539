"""The loop over temperatures and sweeps: exactly on a one-number model, then on real ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from isotherm import _nested
from isotherm.anneal.callbacks import Callback
from isotherm.anneal.critical import critical_temperatures
from isotherm.anneal.engine import NO_RELAXATION, Annealer, Relaxation
from isotherm.anneal.heldout import HeldoutTokens
from isotherm.anneal.schedule import Adaptive, Exponential, Fixed, Grid, Tempered
from isotherm.anneal.trace import Fit, Outcome, Record, State
from isotherm.data.base import Array, Block, Summary
from isotherm.data.counts import Counts
from isotherm.data.split import hold_out_tokens
from isotherm.errors import IsothermError
from isotherm.kernels.base import Kernels
from isotherm.models.aspect import Aspect
from isotherm.models.base import distinct_components
from isotherm.models.cluster import Cluster
from isotherm.models.document import Document
from isotherm.placement.base import Data, Expected
from support.anneal import place, random_state
from support.corpora import TOY, admixture


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


class Spy(Callback):
    """Keeps every energy, and every fit."""

    def __init__(self) -> None:
        self.sweeps: list[tuple[float, int, float]] = []
        self.fits: list[Fit] = []
        self.ended = 0

    def on_sweep(self, temperature: float, sweep: int, free_energy: float) -> None:
        self.sweeps.append((temperature, sweep, free_energy))

    def on_temperature(self, fit: Fit) -> bool:
        self.fits.append(fit)
        return False

    def on_end(self) -> None:
        self.ended += 1

    @property
    def energies(self) -> list[float]:
        return [energy for _, _, energy in self.sweeps]


class Point(NamedTuple):
    x: Array


class NoRows(NamedTuple):
    nothing: Array


@dataclass(frozen=True)
class Quadratic:
    """One number x: EM maps it to `rate` x, the energy is x ** 2 + extra, whatever the data."""

    rate: float = 0.9
    breaks_at: float = 0.0
    extra: float = 0.0
    n_components: int = 1
    zero_temperature: float = 0.0
    rows_are_parameters: bool = False
    monotone: bool = True

    def expect(self, params: Point, rows: Any, block: Block, T: float, k: Kernels) -> Expected:
        x = float(params.x[0])
        energy = np.nan if abs(x) < self.breaks_at else x**2
        return Expected(rows, params, energy)

    def maximize(
        self, stats: Point, params: Point, temperature: float, k: Any
    ) -> tuple[Point, float]:
        return Point(self.rate * stats.x), self.extra

    def prior_energy(self, params: Point, summary: Summary) -> float:
        return self.extra

    def project(self, relaxed: Point, reached: Point) -> Point:
        return relaxed

    def perturb(self, params: Point, rng: np.random.Generator, noise: float) -> Point:
        return Point(params.x + noise)

    def log_likelihood(self, params: Point, rows: NoRows, block: Block, k: Kernels) -> float:
        return -7.0

    def sizes(self, params: Point) -> tuple[int, int]:
        return 1, 1


def one_number(model: Quadratic, spy: Spy | None = None, **settings: Any) -> Fit:
    data = place(TOY)
    settings = {"schedule": Fixed(1.0), "relaxation": NO_RELAXATION, "tol": 1e-6} | settings
    annealer = Annealer(callbacks=() if spy is None else (spy,), **settings)
    begin = State(Point(np.ones(1)), (NoRows(np.zeros((6, 1))),), model.extra)
    return annealer.run(model, data, rng(), state=begin)


def test_settles_at_the_first_sweep_that_gains_no_more_than_tol() -> None:
    spy = Spy()
    fit = one_number(Quadratic(), spy, tol=1e-5)
    energies = 0.81 ** np.arange(200)
    # The tolerance is per token, and the TOY has 119 of them.
    expected = int(np.argmax(-np.diff(energies) <= 119e-5)) + 2
    assert fit.trace[0].sweeps == expected == len(spy.sweeps)
    np.testing.assert_allclose(spy.energies, energies[:expected], rtol=1e-12)
    assert fit.trace[0].converged
    assert fit.trace[0].free_energy == spy.energies[-1]
    np.testing.assert_allclose(fit.state.params.x, 0.9**expected)


def test_without_a_monotone_energy_only_standing_still_settles() -> None:
    rising = Quadratic(rate=1.01, monotone=False)
    fit = one_number(rising, relaxation=Relaxation(2.0), max_sweeps=7)
    assert fit.trace[0].sweeps == 7
    assert not fit.trace[0].converged
    # Plain steps throughout: every energy is that of the EM map alone.
    assert np.allclose(fit.state.params.x, 1.01**7)
    still = one_number(Quadratic(rate=1.0, monotone=False), max_sweeps=7)
    assert still.trace[0].converged


def test_gives_up_after_max_sweeps() -> None:
    fit = one_number(Quadratic(), max_sweeps=4)
    assert (fit.trace[0].sweeps, fit.trace[0].converged) == (4, False)
    np.testing.assert_allclose(fit.state.params.x, 0.9**4)


def test_energy_that_no_block_sees_is_added() -> None:
    spy = Spy()
    one_number(Quadratic(extra=5.0), spy, relaxation=Relaxation(1.5, 1.0, 1.5), max_sweeps=3)
    np.testing.assert_allclose(spy.energies, [6.0, 5 + 0.85**2, 5 + 0.85**4])


def test_over_relaxation_goes_further_by_a_growing_factor() -> None:
    spy = Spy()
    one_number(Quadratic(0.9), spy, relaxation=Relaxation(1.5, 2.0, 4.0), max_sweeps=4)
    x = np.cumprod([1.0, 1 - 1.5 * 0.1, 1 - 3.0 * 0.1, 1 - 4.0 * 0.1])
    np.testing.assert_allclose(spy.energies, x**2, rtol=1e-12)


def test_a_step_that_raises_the_energy_is_undone() -> None:
    spy = Spy()
    one_number(Quadratic(0.5), spy, relaxation=Relaxation(1.0, 5.0, 5.0), max_sweeps=6)
    # Plain, then a factor of 5 too far, undone; then plain from the EM point; factor 5 again.
    x = [1.0, 0.5, 0.5 * (1 - 5 * 0.5), 0.25, 0.125, 0.125 * (1 - 5 * 0.5)]
    np.testing.assert_allclose(spy.energies, np.square(x), rtol=1e-12)


def test_a_temperature_that_ends_after_an_undone_step_keeps_the_em_point() -> None:
    fit = one_number(Quadratic(0.5), relaxation=Relaxation(1.0, 5.0, 5.0), max_sweeps=3)
    np.testing.assert_allclose(fit.state.params.x, 0.25)
    assert fit.trace[0].free_energy == 0.25


def test_last_steps_are_plain() -> None:
    spy = Spy()
    fit = one_number(Quadratic(), spy, relaxation=Relaxation(), tol=1e-4)
    root = np.sqrt(spy.energies)
    assert fit.trace[0].converged
    np.testing.assert_allclose(root[-1] / root[-2], 0.9)
    np.testing.assert_allclose(fit.state.params.x, 0.9 * root[-1])
    assert root[4] / root[3] < 0.89
    # One plain step proves what the first small gain of a relaxed step only suggests.
    small = -np.diff(spy.energies) <= 119e-4
    assert np.flatnonzero(small).tolist() == [len(small) - 2, len(small) - 1]


def test_nan_names_temperature_and_sweep() -> None:
    spy = Spy()
    with pytest.raises(IsothermError, match=r"became nan at T = 1\.5, sweep 3; check the counts"):
        one_number(Quadratic(breaks_at=0.85), spy, schedule=Fixed(1.5))
    assert spy.ended == 1


def test_noise_moves_the_state_at_every_new_temperature() -> None:
    spy = Spy()
    schedule = Exponential(0.5, end=1.0, start=4.0)
    one_number(Quadratic(), spy, schedule=schedule, max_sweeps=1, noise=0.25)
    np.testing.assert_allclose(spy.energies, np.square([1.0, 0.9 + 0.25, 0.9 * 1.15 + 0.25]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"relaxation": Relaxation(0.0, 1.0, 1.0)}, "relaxation .*above 0"),
        ({"relaxation": Relaxation(-1.8)}, "relaxation .*above 0"),
        ({"relaxation": Relaxation(growth=0.0)}, "relaxation .*above 0"),
        ({"relaxation": Relaxation(cap=float("nan"))}, "relaxation .*above 0"),
        ({"max_sweeps": 0}, "max_sweeps is 0"),
        ({"check_every": -1}, "check_every -1"),
        ({"noise": -0.1}, "noise -0.1"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        Annealer(Fixed(), **settings)


# Real models from here on --------------------------------------------------------------------


def sweeps_to(energies: Sequence[float], goal: float) -> int:
    return int(np.argmax(np.array(energies) <= goal))


@pytest.mark.parametrize(
    ("model", "T"), [(Aspect(2), 1.0), (Aspect(2), 1.25), (Cluster(2), 9.0), (Document(2), 10.5)]
)
def test_over_relaxation_takes_fewer_sweeps_to_the_same_energy(model: Any, T: float) -> None:
    data = place(TOY)
    begin = random_state(model, data, 1)
    spies = Spy(), Spy()
    for spy, relaxation in zip(spies, (NO_RELAXATION, Relaxation()), strict=True):
        annealer = Annealer(Fixed(T), relaxation, tol=-1.0, max_sweeps=400, callbacks=(spy,))
        annealer.run(model, data, rng(), state=begin)
    plain, relaxed = (np.array(spy.energies) for spy in spies)
    assert relaxed.min() == pytest.approx(plain.min(), abs=1e-3)
    needed = sweeps_to(plain, plain.min() + 1e-2), sweeps_to(relaxed, plain.min() + 1e-2)
    assert needed[0] > 8
    assert needed[1] <= 0.75 * needed[0]


@pytest.mark.parametrize("model", [Aspect(3), Aspect(3, True), Cluster(3), Document(3, 2.0)])
@pytest.mark.parametrize("T", [1.1, 1.5, 4.0])
def test_accepted_energies_never_rise_and_rejections_are_undone(model: Any, T: float) -> None:
    data = place(admixture(40, 25)[0])
    spy = Spy()
    annealer = Annealer(
        Fixed(T), Relaxation(3.0, 2.0, 64.0), tol=-1.0, max_sweeps=60, callbacks=(spy,)
    )
    annealer.run(model, data, rng(), state=random_state(model, data, 0))
    accepted, rejected = [spy.energies[0]], 0
    slack = 1e-11 * abs(accepted[0])
    before = False
    for energy in spy.energies[1:]:
        if energy > accepted[-1]:
            # Straight after a rejection comes the EM point, which cannot be worse.
            assert not before or energy <= accepted[-1] + slack
            rejected, before = rejected + 1, True
        else:
            accepted.append(energy)
            before = False
    assert rejected > 0
    assert (np.diff(accepted) <= slack).all()


def numpy_log_likelihood(model: Any, fit: Fit, data: Any, X: Array) -> float:
    weights, table = model.mixture(fit.state.params, data.gather(fit.state.rows))
    p = weights @ table.T
    return float((X * np.log(np.where(X > 0, p, 1.0))).sum())


@pytest.mark.parametrize(
    ("model", "schedule"),
    [
        (Aspect(3), Exponential(0.8)),
        (Cluster(3), Exponential(0.7)),
        (Document(3), Exponential(0.6, end=2.0)),
    ],
)
@pytest.mark.parametrize("n_blocks", [1, 3])
def test_record_says_what_happened(model: Any, schedule: Any, n_blocks: int) -> None:
    X = admixture()[0]
    data, spy = place(X, n_blocks=n_blocks), Spy()
    fit = Annealer(schedule, callbacks=(spy,)).run(model, data, rng())
    assert fit.outcome is Outcome.FINISHED
    assert fit.temperature == fit.trace[-1].temperature == schedule.end
    assert fit.n_sweeps == len(spy.sweeps)
    assert spy.ended == 1
    assert len(spy.fits) == len(fit.trace)
    for seen, record in zip(spy.fits, fit.trace, strict=True):
        mine = [s for s in spy.sweeps if s[0] == record.temperature]
        assert record.sweeps == len(mine) == mine[-1][1]
        assert record.free_energy == min(energy for _, _, energy in mine)
        assert np.isnan(record.heldout)
        assert record.critical == ()
        assert record.n_components == 3
        assert 0 < record.seconds < 60
        expected = numpy_log_likelihood(model, seen, data, X)
        assert record.log_likelihood == pytest.approx(expected, rel=1e-10)
        weight, table = model.components(seen.state.params)
        assert record.n_effective == len(distinct_components(weight, table))
    assert fit.trace[-1].n_effective == 3
    assert fit.first_critical == pytest.approx(
        model.zero_temperature + (fit.trace[0].temperature - model.zero_temperature) / 0.97
    )


@pytest.mark.parametrize(
    "annealer",
    [
        Annealer(Adaptive(end=2.0), max_sweeps=40),
        Annealer(Exponential(0.8, end=2.0), max_sweeps=40, record_critical=True),
    ],
)
def test_critical_temperatures_are_noted(annealer: Annealer) -> None:
    model, data, spy = Cluster(3), place(admixture()[0]), Spy()
    fit = Annealer(**{**vars(annealer), "callbacks": (spy,)}).run(model, data, rng())
    asked = fit.trace if annealer.record_critical else fit.trace[:-1]
    for seen, record in zip(spy.fits, asked, strict=False):
        found = critical_temperatures(model, data, seen.state, record.temperature)
        assert len(record.critical) == record.n_effective
        np.testing.assert_allclose(record.critical, found, rtol=1e-6)
    assert len(asked) > 3


def test_first_critical_is_unknown_where_nobody_asked() -> None:
    fit = Annealer(Fixed(1.0)).run(Aspect(2), place(TOY), rng())
    assert np.isnan(fit.first_critical)


def test_grid_begins_every_temperature_from_the_same_start() -> None:
    data, model = place(admixture()[0]), Aspect(3)
    begin = random_state(model, data, 5)
    grid = Spy()
    Annealer(Grid((1.0, 1.3, 1.0)), callbacks=(grid,)).run(model, data, rng(), state=begin)
    for T, seen in zip((1.0, 1.3, 1.0), grid.fits, strict=True):
        alone = Annealer(Fixed(T)).run(model, data, rng(), state=begin)
        np.testing.assert_array_equal(alone.state.params.word_topic, seen.state.params.word_topic)
        assert alone.trace[0].sweeps == seen.trace[-1].sweeps


def split_corpus(seed: int = 0) -> tuple[Array, Any, HeldoutTokens]:
    """Few tokens and many components, so that cooling overfits."""
    X = admixture(80, 60, 4, length=30, seed=seed)[0]
    kept, held = hold_out_tokens(Counts(X), 0.3, 0)
    data = place(kept.matrix.toarray())
    return X, data, HeldoutTokens(data.beside(held))


@pytest.mark.parametrize(
    ("model", "schedule"),
    [
        (Aspect(8), Exponential(0.93)),
        (Cluster(8, 1.0), Exponential(0.7, end=0.5)),
        (Document(8, 1.0), Exponential(0.7)),
    ],
)
def test_best_state_by_held_out_score_is_returned(model: Any, schedule: Any) -> None:
    _, data, heldout = split_corpus()
    fit = Annealer(schedule, tol=1e-4).run(model, data, rng(), heldout=heldout)
    scores = [record.heldout for record in fit.trace]
    best = int(np.argmin(scores))
    assert 0 < best < len(scores) - 1
    assert fit.temperature == fit.trace[best].temperature
    assert heldout.score(model, fit.state, data, fit.temperature) == scores[best]


def test_early_stopping_leaves_a_temperature_when_the_score_rises() -> None:
    _, data, heldout = split_corpus()
    model = Aspect(8)
    begin = random_state(model, data, 0)
    late = Annealer(Fixed(1.0), tol=-1.0, max_sweeps=60)
    early = Annealer(Fixed(1.0), tol=-1.0, max_sweeps=60, check_every=2)
    full = late.run(model, data, rng(), heldout=heldout, state=begin)
    fit = early.run(model, data, rng(), heldout=heldout, state=begin)
    assert fit.trace[0].sweeps < 30
    assert fit.trace[0].sweeps % 2 == 0
    assert not fit.trace[0].converged
    score = heldout.score(model, fit.state, data, 1.0)
    assert score < fit.trace[0].heldout
    assert score < full.trace[0].heldout


def test_early_stopping_on_a_grid_gives_every_temperature_a_fair_start() -> None:
    _, data, heldout = split_corpus()
    model = Aspect(8)
    begin = random_state(model, data, 0)
    settings: dict[str, Any] = {"tol": -1.0, "max_sweeps": 60, "check_every": 2}
    grid = Annealer(Grid((1.25, 1.0)), **settings)
    fit = grid.run(model, data, rng(), heldout=heldout, state=begin)
    alone = Annealer(Fixed(1.0), **settings).run(model, data, rng(), heldout=heldout, state=begin)
    assert fit.trace[1].sweeps == alone.trace[0].sweeps > 4
    assert fit.trace[1].heldout == alone.trace[0].heldout


def test_tempered_heats_while_held_out_tokens_improve() -> None:
    _, data, heldout = split_corpus()
    model = Aspect(8)
    annealer = Annealer(Tempered(0.9), check_every=1, max_sweeps=40)
    fit = annealer.run(model, data, rng(), heldout=heldout, state=random_state(model, data, 0))
    scores = [record.heldout for record in fit.trace]
    assert len(scores) > 2
    assert (np.diff(scores[:-1]) < 0).all()
    assert scores[-1] >= scores[-2]
    assert fit.temperature > 1.0
    assert heldout.score(model, fit.state, data, fit.temperature) <= min(scores)


class Interrupt(Callback):
    """Presses control-C at some sweep of some temperature (counted from 1)."""

    def __init__(self, temperature: int, sweep: int = 2, *, at_the_end: bool = False) -> None:
        self.wanted = (temperature, sweep)
        self.n_done = 0
        self.at_the_end = at_the_end

    def on_sweep(self, temperature: float, sweep: int, free_energy: float) -> None:
        if not self.at_the_end and (self.n_done + 1, sweep) == self.wanted:
            raise KeyboardInterrupt

    def on_temperature(self, fit: Fit) -> bool:
        self.n_done += 1
        if self.at_the_end and self.n_done == self.wanted[0]:
            raise KeyboardInterrupt
        return False


@pytest.mark.parametrize("with_heldout", [False, True])
def test_interrupt_keeps_the_last_finished_temperature(
    with_heldout: bool, caplog: pytest.LogCaptureFixture
) -> None:
    _, data, heldout = split_corpus()
    model, spy = Aspect(3), Spy()
    annealer = Annealer(Exponential(0.9), tol=1e-6, callbacks=(spy, Interrupt(3)))
    fit = annealer.run(model, data, rng(), heldout=heldout if with_heldout else None)
    assert fit.outcome is Outcome.INTERRUPTED
    assert len(fit.trace) == 2
    assert fit.temperature == fit.trace[1].temperature
    np.testing.assert_array_equal(fit.state.params.word_topic, spy.fits[1].state.params.word_topic)
    assert np.isfinite(fit.first_critical)
    assert spy.ended == 1
    assert "interrupted: keeping the model of T = " in caplog.text


def test_interrupt_between_temperatures_keeps_the_one_just_finished() -> None:
    data = place(admixture()[0])
    annealer = Annealer(Exponential(0.9), callbacks=(Interrupt(3, at_the_end=True),))
    fit = annealer.run(Aspect(3), data, rng())
    assert fit.outcome is Outcome.INTERRUPTED
    assert len(fit.trace) == 3


def test_interrupt_before_the_first_temperature_is_done_goes_through() -> None:
    spy = Spy()
    annealer = Annealer(Exponential(0.9), callbacks=(spy, Interrupt(1)))
    with pytest.raises(KeyboardInterrupt):
        annealer.run(Aspect(3), place(TOY), rng())
    assert (len(spy.sweeps), spy.ended) == (2, 1)


class Stop(Callback):
    def on_temperature(self, fit: Fit) -> bool:
        return len(fit.trace) == 2


def test_a_callback_stops_the_run_after_all_have_heard() -> None:
    spy = Spy()
    annealer = Annealer(Exponential(0.9), callbacks=(Stop(), spy))
    fit = annealer.run(Aspect(2), place(TOY), rng())
    assert fit.outcome is Outcome.STOPPED
    assert len(fit.trace) == len(spy.fits) == 2


def doubled(model: Any, state: State) -> State:
    """Every component twice, with half the weight each; distributions stay as they are."""
    K = len(state.params.weight)
    index = np.repeat(np.arange(K), 2)
    params = _nested.take(state.params, index)
    mass = "row_mass" if model.rows_are_parameters else "tokens"
    params = params._replace(weight=params.weight / 2, **{mass: getattr(params, mass) / 2})
    rows = tuple(_nested.apply(lambda a: a / 2, _nested.take(part, index)) for part in state.rows)
    return State(params, rows, state.extra)


@pytest.mark.parametrize(
    ("model", "hot", "cold"),
    [
        (Aspect(2), 1.5, 1.1),
        (Cluster(2), 8.0, 2.0),
        (Document(2), 8.0, 2.0),
        (Document(2, stepwise=True), 8.0, 2.0),
    ],
)
def test_a_state_may_come_back_with_more_components(model: Any, hot: float, cold: float) -> None:
    X = admixture(n_topics=4)[0]
    data: Data = place(X, n_blocks=2)
    first = Annealer(Fixed(hot)).run(model, data, rng())
    grown = doubled(model, first.state)
    grown = grown._replace(params=model.perturb(grown.params, rng(), 0.05))
    fit = Annealer(Exponential(0.8, start=hot, end=cold)).run(model, data, rng(), state=grown)
    weight, table = model.components(fit.state.params)
    assert [record.n_components for record in fit.trace] == [4] * len(fit.trace)
    assert weight.shape == (4,)
    assert table.shape == (40, 4)
    assert fit.trace[-1].n_effective == 4
    assert fit.trace[-1].log_likelihood > first.trace[-1].log_likelihood
    assert fit.trace[-1].log_likelihood == pytest.approx(
        numpy_log_likelihood(model, fit, data, X), rel=1e-10
    )


def test_doubling_aspects_changes_no_energy() -> None:
    data, model = place(TOY), Aspect(2)
    fit = Annealer(Fixed(1.2), tol=1e-12, max_sweeps=500).run(model, data, rng())
    spy = Spy()
    Annealer(Fixed(1.2), max_sweeps=1, callbacks=(spy,)).run(
        model, data, rng(), state=doubled(model, fit.state)
    )
    assert spy.energies[0] == pytest.approx(fit.trace[0].free_energy, rel=1e-10)


def test_same_seed_same_fit_to_the_bit() -> None:
    data = place(admixture()[0])
    runs = [Annealer(Exponential(0.8)).run(Aspect(3), data, rng(4)) for _ in range(2)]
    np.testing.assert_array_equal(*[run.state.params.word_topic for run in runs])

    def without_time(record: Record) -> tuple[Any, ...]:
        return (record.temperature, record.free_energy, record.log_likelihood, record.sweeps)

    first, second = ([without_time(record) for record in run.trace] for run in runs)
    assert first == second
