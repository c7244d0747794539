"""Temperatures of the schedules, driven by hand-made traces."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from isotherm.anneal.schedule import (
    HARD,
    Adaptive,
    Exponential,
    Fixed,
    Grid,
    Linear,
    Schedule,
    Splitting,
    Tempered,
    lowest,
)
from isotherm.anneal.trace import Record
from isotherm.errors import IsothermError

NAN = float("nan")


def record(temperature: float, heldout: float = NAN) -> Record:
    return Record(temperature, -1.0, -1.0, heldout, 1, 2, (), 1, 0.0, True)


def temperatures(
    schedule: Schedule,
    critical: Callable[[Sequence[float]], list[float]],
    zero: float = 0.0,
    scores: Sequence[float] = (),
) -> list[float]:
    """All temperatures; `critical` maps those so far to critical ones."""
    trace: list[Record] = []
    while len(trace) < 500:
        past = [seen.temperature for seen in trace]
        found = schedule.next(trace, lambda past=past: np.array(critical(past)), zero)
        if found is None:
            return past
        score = scores[len(trace)] if len(trace) < len(scores) else NAN
        trace.append(record(found, score))
    raise AssertionError(f"{schedule} does not end")


def at(*values: float) -> Callable[[Sequence[float]], list[float]]:
    return lambda past: list(values)


def never(past: Sequence[float]) -> list[float]:
    raise AssertionError("critical temperatures cost an eigen-solve; nothing asks for them here")


@pytest.mark.parametrize("zero", [0.0, 1.0])
@pytest.mark.parametrize(
    ("schedule", "margin"),
    [
        (Exponential(0.9, end=2.0), 0.97),
        (Exponential(0.9, end=2.0, margin=0.6), 0.6),
        (Linear(0.7, end=2.0), 0.97),
        (Linear(0.7, end=2.0, margin=0.5), 0.5),
        (Adaptive(end=2.0, largest=0.9), 0.9),
    ],
)
def test_cooling_starts_below_the_first_transition_and_ends_once(
    schedule: Schedule, margin: float, zero: float
) -> None:
    got = temperatures(schedule, at(11.0), zero)
    assert got[0] == pytest.approx(zero + margin * (11.0 - zero), rel=1e-15)
    assert got[-1] == 2.0
    assert got.count(2.0) == 1
    assert (np.diff(got) < 0).all()
    assert not schedule.restarts


@pytest.mark.parametrize("zero", [0.0, 1.0])
def test_exponential_multiplies_the_distance_from_zero(zero: float) -> None:
    got = np.array(temperatures(Exponential(0.8, end=2.0, start=20.0), never, zero))
    assert got[0] == 20.0
    np.testing.assert_allclose((got[1:-1] - zero) / (got[:-2] - zero), 0.8, rtol=1e-12)
    assert zero + 0.8 * (got[-2] - zero) <= 2.0


@pytest.mark.parametrize("zero", [0.0, 1.0])
def test_linear_takes_equal_steps(zero: float) -> None:
    got = temperatures(Linear(0.5, end=2.0, start=4.2), never, zero)
    assert got == pytest.approx([4.2, 3.7, 3.2, 2.7, 2.2, 2.0])


@pytest.mark.parametrize("zero", [0.0, 1.0])
@pytest.mark.parametrize("kind", [Exponential(0.7), Linear(0.03), Adaptive()])
def test_hard_end_is_jumped_to_once_nothing_changes_any_more(kind: Any, zero: float) -> None:
    schedule = type(kind)(**{**vars(kind), "end": zero, "start": zero + 3.0})
    got = temperatures(schedule, at(zero), zero)
    assert got[-1] == zero
    assert got[-2] >= zero + HARD
    assert len(got) > 4


@pytest.mark.parametrize("schedule", [Exponential(end=3.0), Linear(1.0, end=3.0), Adaptive(3.0)])
def test_data_without_structure_begin_and_end_at_the_end(schedule: Schedule) -> None:
    assert temperatures(schedule, at(1.0), 1.0) == [3.0]


@pytest.mark.parametrize(
    "schedule", [Exponential(start=1.0), Linear(1.0, start=1.0), Adaptive(start=1.0)]
)
def test_start_at_the_end_is_one_temperature(schedule: Schedule) -> None:
    assert temperatures(schedule, never) == [1.0]


@pytest.mark.parametrize("zero", [0.0, 1.0])
def test_adaptive_goes_to_the_next_critical_temperature(zero: float) -> None:
    # Relative to zero: 9 is reached from 10, 6.5 from 9 (9 itself lies behind), 2 is too far from
    # 6.5 and 4.55 is the longest step, nothing lies below that one's step from there on.
    critical = at(zero + 12, zero + 9, zero + 6.5, zero + 2)
    schedule = Adaptive(end=zero + 3.0, start=zero + 10.0)
    got = np.array(temperatures(schedule, critical, zero)) - zero
    np.testing.assert_allclose(got, [10, 9, 6.5, 4.55, 3.185, 3.0], rtol=1e-12)


def test_adaptive_takes_at_least_its_shortest_step() -> None:
    got = temperatures(Adaptive(end=9.0, start=10.0, largest=0.95), at(9.99, 9.49))
    assert got == pytest.approx([10.0, 9.5, 9.025, 9.0])


@pytest.mark.parametrize(
    ("last", "critical", "skipped", "taken"),
    [
        (3.0, (2.99, 2.5, 1.0), 2.5, 2.94),
        (3.0, (2.99,), 2.4, 2.94),
        (3.0, (2.94, 2.5), 2.5, 2.94),  # needs the factor `largest` itself, not a smaller one
        (3.0, (3.2, 2.0), 2.4, 2.4),
        (3.0, (), 2.4, 2.4),
        (1.1, (0.5,), 1.0, 1.0),
    ],
)
def test_adaptive_may_pass_over_what_is_too_near(
    last: float, critical: tuple[float, ...], skipped: float, taken: float
) -> None:
    for skip_near, expected in ((True, skipped), (False, taken)):
        schedule = Adaptive(smallest=0.8, largest=0.98, skip_near=skip_near)
        found = schedule.next([record(last)], lambda: np.array(critical), 0.0)
        assert found == pytest.approx(expected, rel=1e-12)


def test_adaptive_measures_nearness_from_zero() -> None:
    schedule = Adaptive(smallest=0.5, largest=0.9, skip_near=True)
    found = schedule.next([record(3.0)], lambda: np.array([2.85, 2.75, 2.0]), 1.0)
    assert found == pytest.approx(2.75)


def test_adaptive_asks_for_nothing_at_the_end() -> None:
    assert Adaptive(end=2.0, start=3.0).next([record(2.0)], lambda: never(()), 0.0) is None


@pytest.mark.parametrize("zero", [0.0, 0.5])
def test_tempered_heats_while_the_score_improves(zero: float) -> None:
    got = temperatures(Tempered(0.8), never, zero, scores=[100.0, 90.0, 80.0, 80.0, 1.0])
    u = 1.0 - zero
    assert got == pytest.approx([zero + u / 0.8**k for k in range(4)])


def test_tempered_compares_with_the_best_score_so_far() -> None:
    assert len(temperatures(Tempered(), never, scores=[5.0, 6.0, 5.5])) == 2


def test_tempered_refuses_to_run_blind() -> None:
    with pytest.raises(IsothermError, match="nothing was held out"):
        Tempered().next([record(1.0)], lambda: never(()), 0.0)


@pytest.mark.parametrize(("start", "zero"), [(1.0, 1.0), (0.0, 0.0)])
def test_tempered_refuses_to_start_where_posteriors_are_hard(start: float, zero: float) -> None:
    with pytest.raises(IsothermError, match=r"hard.*starts above"):
        Tempered(start=start).next([], lambda: never(()), zero)


def test_fixed_is_one_temperature() -> None:
    assert temperatures(Fixed(1.5), never) == [1.5]
    assert not Fixed().restarts


def test_grid_keeps_its_order_and_restarts() -> None:
    schedule = Grid((1.0, 3.0, 2.0))
    assert temperatures(schedule, never) == [1.0, 3.0, 2.0]
    assert schedule.restarts


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (Exponential(end=0.5), 0.5),
        (Linear(0.1, end=0.25), 0.25),
        (Adaptive(end=2.0), 2.0),
        (Tempered(start=1.5), 1.5),
        (Fixed(0.75), 0.75),
        (Grid((2.0, 0.5, 1.0)), 0.5),
        (object(), np.inf),
    ],
)
def test_lowest(schedule: Any, expected: float) -> None:
    assert lowest(schedule) == expected


BAD: list[tuple[Callable[[], Any], str]] = [
    *[
        (lambda rate=rate: Exponential(rate), r"rate is .*between 0 and 1")
        for rate in (0.0, 1.0, -0.5, 1.5, NAN)
    ],
    *[
        (lambda rate=rate: Tempered(rate), r"rate is .*heating divides by a rate between 0 and 1")
        for rate in (0.0, 1.0, 2.0, NAN)
    ],
    *[(lambda step=step: Linear(step), r"step is .*step above 0") for step in (0.0, -1.0, NAN)],
    *[
        (lambda pair=pair: Adaptive(smallest=pair[0], largest=pair[1]), "0 < smallest <= largest")
        for pair in ((0.0, 0.5), (0.9, 0.5), (0.5, 1.0), (-1.0, 0.5), (NAN, 0.5))
    ],
    *[
        (lambda make=make, end=end: make(end), r"temperature is .*finite number of at least 0")
        for end in (-1.0, np.inf, NAN)
        for make in (
            Fixed,
            lambda end: Exponential(end=end),
            lambda end: Linear(0.1, end=end),
            lambda end: Adaptive(end=end),
            lambda end: Grid((1.0, end)),
        )
    ],
    *[
        (lambda make=make, start=start: make(start), r"start is .*finite number of at least 0")
        for start in (-1.0, np.inf, NAN)
        for make in (
            lambda start: Exponential(end=0.0, start=start),
            lambda start: Linear(0.1, end=0.0, start=start),
            lambda start: Adaptive(end=0.0, start=start),
            lambda start: Tempered(start=start),
        )
    ],
    *[
        (lambda make=make: make(), "start is 1.0 and end is 2.0; cooling goes downwards")
        for make in (
            lambda: Exponential(start=1.0, end=2.0),
            lambda: Linear(0.1, start=1.0, end=2.0),
            lambda: Adaptive(start=1.0, end=2.0),
        )
    ],
    *[
        (lambda make=make, m=m: make(m), r"margin is .*above 0 and finite")
        for m in (0.0, -1.0, NAN, np.inf)
        for make in (lambda m: Exponential(margin=m), lambda m: Linear(0.1, margin=m))
    ],
    (lambda: Grid(()), "empty; give at least one"),
    *[
        (make, r"(rate|step|margin|smallest|largest|temperature|start) is .*must be a number")
        for make in (
            lambda: Exponential("0.9"),  # type: ignore[arg-type]
            lambda: Exponential(True),
            lambda: Exponential(margin=None),  # type: ignore[arg-type]
            lambda: Exponential(end="1"),  # type: ignore[arg-type]
            lambda: Exponential(start="9"),  # type: ignore[arg-type]
            lambda: Linear("1"),  # type: ignore[arg-type]
            lambda: Adaptive(smallest="a"),  # type: ignore[arg-type]
            lambda: Adaptive(largest=None),  # type: ignore[arg-type]
            lambda: Tempered(None),  # type: ignore[arg-type]
            lambda: Fixed("hot"),  # type: ignore[arg-type]
            lambda: Fixed(None),  # type: ignore[arg-type]
            lambda: Grid((1.0, "2")),  # type: ignore[arg-type]
        )
    ],
]


@pytest.mark.parametrize(("make", "message"), BAD)
def test_bad_settings_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        make()


def grown_to(*sizes: int) -> list[Record]:
    return [
        Record(2.0 * 0.9**i, -1.0, -1.0, NAN, n, n, (), 1, 0.0, True) for i, n in enumerate(sizes)
    ]


@pytest.mark.parametrize("zero", [0.0, 1.0])
@pytest.mark.parametrize(
    ("sizes", "rate"),
    [
        ((9,), 0.98),
        ((10, 20), 0.98),
        ((10, 11), 0.98),
        ((11, 12), 0.9),
        ((8, 16, 16), 0.9),
        ((9, 9), 0.98),
    ],
)
def test_splitting_takes_small_steps_while_components_split(
    zero: float, sizes: tuple[int, ...], rate: float
) -> None:
    trace = grown_to(*sizes)
    schedule = Splitting(rate=0.98, idle=0.9, many=10, end=0.1)
    found = schedule.next(trace, lambda: np.array([9.0]), zero)
    assert found == pytest.approx(zero + rate * (trace[-1].temperature - zero))


def test_splitting_begins_at_the_first_critical_temperature_and_ends() -> None:
    schedule = Splitting(rate=0.5, end=1.0)
    assert temperatures(schedule, at(3.0)) == [3.0, 1.5, 1.0]
    assert temperatures(Splitting(rate=0.5, start=2.0), never) == [2.0, 1.0]
    assert lowest(schedule) == 1.0


@pytest.mark.parametrize("settings", [{"rate": 1.0}, {"idle": 0.0}, {"idle": "slow"}])
def test_splitting_refuses_rates_that_do_not_cool(settings: dict[str, Any]) -> None:
    name = next(iter(settings))
    with pytest.raises(IsothermError, match=f"{name} is"):
        Splitting(**settings)
