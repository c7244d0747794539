"""The line that says how far a fit is: in plain words, at any width, and never backwards."""

import dataclasses
import io
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from isotherm import AspectModel, Engine, OneSidedClustering, TimeLimit
from isotherm.anneal import progress
from isotherm.anneal.engine import Annealer
from isotherm.anneal.growth.grow import Growth
from isotherm.anneal.progress import Course, Progress, Track, duration, phase, running, shown
from isotherm.anneal.schedule import Exponential, Fixed, Grid, Linear, Splitting, Tempered
from isotherm.anneal.trace import Record
from isotherm.models.aspect import Aspect
from support.anneal import place
from support.corpora import admixture


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Ticking(Clock):
    """A clock that goes on by a second whenever it is looked at."""

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    @property
    def lines(self) -> list[str]:
        """What was shown, one after the other."""
        return [line.rstrip() for line in self.getvalue().split("\r") if line.strip()]


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    assert progress.current() is None


def record(temperature: float, n: int = 5) -> Record:
    return Record(temperature, -1.0, -1.0, 1.0, n, n, (), 7, 0.1, True)


def cooled(*temperatures: float, n: int = 5) -> list[Record]:
    return [record(t, n) for t in temperatures]


# Where we are -------------------------------------------------------------------------------------


def test_phases_lie_within_each_other() -> None:
    track = Track()
    assert (track.done, track.name) == (0.0, "fitting")
    track.enter("one", 0.5)
    track.advance(0.5)
    assert (track.done, track.name) == (0.25, "one")
    track.enter("inner", 0.5)
    track.advance(1.0)
    assert (track.done, track.name) == (0.5, "one")
    track.leave()
    track.leave()
    track.enter("", 0.4)
    assert track.name == "fitting"
    track.enter("two", 0.5)
    assert track.name == "two"
    track.advance(0.5)
    assert track.done == pytest.approx(0.6)
    track.leave()
    track.leave()
    assert track.done == pytest.approx(0.9)


def test_a_share_never_falls_and_never_exceeds_its_phase() -> None:
    track = Track()
    track.enter("one", 0.5)
    track.advance(0.8)
    track.advance(0.2)
    assert track.done == pytest.approx(0.4)
    track.advance(7.0)
    assert track.done == pytest.approx(0.5)
    track.leave()
    for _ in range(3):  # more than there is room for
        track.enter("more", 0.4)
        track.advance(1.0)
        track.leave()
    assert track.done == pytest.approx(1.0)


def test_a_run_leaves_room_for_others() -> None:
    track = Track()
    done = []
    for _ in range(5):
        track.enter_run("cooling")
        track.advance(1.0)
        track.leave()
        done.append(track.done)
    assert done == sorted(done)
    assert done[0] == pytest.approx(progress.RUN)
    assert done[-1] < 1.0


# What share of a run is done ----------------------------------------------------------------------

# Runs that held-out data stopped: temperature, sweeps, components, and the share of the time of the
# run that had gone by then. Abstracts and news that grow to at most 40 topics, and news of 20.
ABSTRACTS = """
    1.57 2 1 .01, 1.555 22 2 .03, 1.539 2 2 .03, 1.524 25 2 .06, 1.508 26 2 .09, 1.493 27 4 .13,
    1.478 44 8 .20, 1.464 28 14 .27, 1.449 29 28 .37, 1.435 29 40 .50, 1.42 31 39 .56,
    1.406 14 38 .58, 1.392 12 38 .61, 1.378 9 38 .63, 1.364 10 38 .65, 1.351 16 38 .69,
    1.337 26 38 .74, 1.324 20 38 .78, 1.31 29 38 .84, 1.297 19 38 .89, 1.284 11 38 .91,
    1.272 26 38 .96, 1.259 7 38 .98, 1.246 8 38 1"""
NEWS = """
    1.742 2 1 .0, 1.724 2 1 .02, 1.707 2 1 .03, 1.69 2 1 .03, 1.673 26 2 .05, 1.656 27 3 .08,
    1.64 27 5 .10, 1.623 27 8 .13, 1.607 24 11 .16, 1.591 26 17 .20, 1.575 37 27 .27,
    1.559 41 34 .36, 1.544 30 38 .44, 1.528 18 37 .47, 1.513 25 40 .56, 1.498 12 40 .58,
    1.483 16 40 .61, 1.468 18 40 .64, 1.453 26 40 .68, 1.439 9 40 .70, 1.425 28 40 .74,
    1.41 9 40 .75, 1.396 28 40 .78, 1.382 26 40 .82, 1.368 26 40 .85, 1.355 8 40 .86,
    1.341 22 40 .89, 1.328 8 40 .90, 1.314 26 40 .93, 1.301 21 40 .96, 1.288 6 40 .96,
    1.275 16 40 .98, 1.263 5 40 .99, 1.25 8 40 1"""
TWENTY = """
    1.393 45 20 .37, 1.324 23 20 .56, 1.257 19 20 .72, 1.195 11 20 .80, 1.135 12 20 .90,
    1.078 13 20 1"""


@pytest.mark.parametrize(
    ("run", "course"),
    [
        (ABSTRACTS, Course.of(Splitting(), 0.0, 40)),
        (NEWS, Course.of(Splitting(), 0.0, 40)),
        (TWENTY, Course.of(Exponential(0.95), 0.0)),
    ],
    ids=["abstracts", "news", "twenty"],
)
def test_shares_are_near_what_was_measured(run: str, course: Course) -> None:
    trace, track = list[Record](), Track()
    for line in run.split(","):
        temperature, sweeps, number, gone = map(float, line.split())
        track.advance(course.share(trace, temperature, int(sweeps)))
        assert track.done == pytest.approx(gone, abs=0.2)
        trace.append(dataclasses.replace(record(temperature, int(number)), sweeps=int(sweeps)))
    assert 0.8 < track.done < 1.0


@pytest.mark.parametrize(
    "schedule", [Exponential(0.9), Splitting(0.9), Linear(0.1), Fixed(1.0), Tempered(0.9)]
)
@pytest.mark.parametrize(("zero", "most"), [(0.0, 0), (0.0, 8), (1.0, 0), (0.9, 40)])
def test_shares_rise_within_a_temperature(schedule: Any, zero: float, most: int) -> None:
    course, trace = Course.of(schedule, zero, most), list[Record]()
    for number, temperature in enumerate([2.0, 1.9, 1.5, 1.4, 1.05, 1.0]):
        shares = [course.share(trace, temperature, sweep) for sweep in (1, 2, 50)]
        assert shares == sorted(shares)
        assert 0.0 <= shares[0] <= shares[-1] <= 1.0
        trace.append(record(temperature, n=number + 1))
    assert shares[-1] > 0.5


def test_a_grid_is_done_by_its_temperatures() -> None:
    course = Course.of(Grid((3.0, 1.0, 2.0, 0.5)), 0.0)
    assert course.share(cooled(3.0, 1.0), 2.0, 0) == 0.5
    assert 0.6 < course.share(cooled(3.0, 1.0), 2.0, 7) < 0.75


def test_runs_are_called_what_they_are() -> None:
    names = [
        Course.of(schedule, 0.0, most).what
        for schedule, most in ((Splitting(), 9), (Linear(1), 0), (Fixed(), 0), (Tempered(), 0))
    ]
    assert names == ["growing", "cooling", "settling", "heating"]


# What is said -------------------------------------------------------------------------------------


def halfway(stream: io.StringIO, **settings: Any) -> Progress:
    """A line of a fit that has done 43 % in 6 seconds, with 14 topics."""
    clock = Clock()
    line = Progress(stream, clock=clock, noun="topic", **settings)
    grid = Course.of(Grid(tuple(range(1, 101))), 0.0)
    with shown(line), phase("cooling", 1.0):
        line.swept(grid, [], 1.0, 0)
        clock.now += 6.0
        line.recorded(grid, [record(1.0, n=14)] * 43)
        line.swept(grid, [record(1.0, n=14)] * 43, 1.0, 5)
        line.texts_then = line.texts()  # type: ignore[attr-defined]
    return line


def test_what_there_is_to_say() -> None:
    assert halfway(Terminal()).texts_then == [  # type: ignore[attr-defined]
        "cooling: 14 topics, 43 % done, about 8 s left",
        "cooling: 14 topics, 43 %, 8 s left",
        "cooling: 43 % done, about 8 s left",
        "cooling: 43 %, 8 s left",
        "cooling 43 %",
        "43 %",
    ]


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        (200, "cooling: 14 topics, 43 % done, about 8 s left"),
        (80, "cooling: 14 topics, 43 % done, about 8 s left"),
        (46, "cooling: 14 topics, 43 % done, about 8 s left"),
        (45, "cooling: 14 topics, 43 %, 8 s left"),
        (40, "cooling: 14 topics, 43 %, 8 s left"),
        (30, "cooling: 43 %, 8 s left"),
        (20, "cooling 43 %"),
        (10, "43 %"),
        (3, ""),
    ],
)
def test_the_line_fits_the_terminal(
    columns: int, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    stream = Terminal()
    halfway(stream)
    written = stream.getvalue()
    assert "\n" not in written
    assert max(map(len, written.split("\r"))) < columns
    assert stream.lines == ([text] if text else [])
    assert written.endswith("\r" + " " * len(text) + "\r") or not text


def test_nothing_is_shown_before_its_time_and_elsewhere_whole_lines() -> None:
    stream = Terminal()
    halfway(stream, delay=6.0)
    assert stream.getvalue() == ""
    plain = io.StringIO()
    halfway(plain)
    assert re.fullmatch(r"cooling: 14 topics, \d+ % done\n", plain.getvalue())


def test_at_most_ten_times_a_second() -> None:
    stream, clock = Terminal(), Clock()
    line, course = Progress(stream, delay=0.0, clock=clock), Course.of(Fixed(), 0.0)
    with shown(line):
        for _ in range(40):
            clock.now += 0.03
            line.swept(course, [], 1.0, 1)
    assert len(stream.lines) == 10


def test_a_shorter_text_leaves_nothing_of_a_longer_one() -> None:
    stream, clock = Terminal(), Clock()
    line, course = Progress(stream, delay=0.0, clock=clock), Course.of(Fixed(), 0.0)
    with shown(line):
        for name in ("a long name of a phase", "short"):
            with phase(name, 0.5):
                clock.now += 1.0
                line.swept(course, [], 1.0, 1)
    first, second, *_ = stream.getvalue().split("\r")[1:]
    assert len(second) == len(first)


def test_one_component_and_none_to_name() -> None:
    line = Progress(noun="topic")
    line.number = 1
    assert line.texts()[0] == "fitting: 1 topic, 0 % done"
    line.noun = ""
    assert line.texts()[0] == "fitting: 0 % done"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "1 s"),
        (1.4, "1 s"),
        (8.6, "9 s"),
        (9.6, "10 s"),
        (43.0, "45 s"),
        (57.0, "55 s"),
        (58.0, "1 min"),
        (100.0, "2 min"),
        (3400.0, "57 min"),
        (3500.0, "1 h"),
        (5400.0, "1.5 h"),
        (36000.0, "10 h"),
    ],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_limit_of_time_is_the_most_that_is_left() -> None:
    clock = Clock()
    limit = TimeLimit(10.0, clock)
    limit.on_begin()
    line = Progress(clock=clock)
    course = Course.of(Grid(tuple(range(100))), 0.0, limits=[limit])
    with shown(line), running(course):
        line.swept(course, [], 1.0, 0)
        clock.now += 7.0
        line.swept(course, cooled(*[1.0] * 10), 1.0, 0)
        assert "about 3 s left" in line.texts()[0]
        clock.now += 7.0
        assert "about 1 s left" in line.texts()[0]


def test_time_before_the_first_sweep_does_not_count() -> None:
    clock = Clock()
    line, course = Progress(clock=clock), Course.of(Grid(tuple(range(100))), 0.0)
    with shown(line), phase("cooling", 1.0):
        clock.now += 1000.0  # much was loaded
        line.swept(course, [], 1.0, 0)
        clock.now += 10.0
        line.swept(course, cooled(*[1.0] * 50), 1.0, 0)
        assert line.texts()[0] == "cooling: 50 % done, about 10 s left"


# Who shows it -------------------------------------------------------------------------------------


def percents(lines: Sequence[str]) -> list[int]:
    return [int(found[1]) for line in lines if (found := re.search(r"(\d+) %", line))]


def test_phases_of_nobody_are_nothing() -> None:
    with phase("levels", 0.5), running(Course.of(Fixed(), 0.0)):
        assert progress.current() is None


def test_a_phase_ends_with_an_error() -> None:
    line = Progress()
    with shown(line):
        with pytest.raises(ZeroDivisionError), phase("levels", 0.5):
            raise ZeroDivisionError
        assert (line.track.name, line.track.done) == ("fitting", 0.5)


def test_the_first_line_is_the_only_one() -> None:
    first, second = Progress(), Progress()
    with shown(first):
        with shown(second):
            assert progress.current() is first
        assert progress.current() is first


def test_a_run_by_itself_has_a_line() -> None:
    stream = Terminal()
    line = Progress(stream, delay=0.0, clock=Ticking())
    annealer = Annealer(Exponential(0.7), callbacks=(line,))
    annealer.run(Aspect(2), place(admixture()[0]), np.random.default_rng(0))
    assert {text.partition(":")[0] for text in stream.lines} == {"cooling"}
    assert percents(stream.lines) == sorted(percents(stream.lines))
    assert stream.getvalue().endswith("\r")
    assert stream.getvalue().split("\r")[-2].strip() == ""


def test_a_growing_run_counts_what_it_has() -> None:
    stream = Terminal()
    line = Progress(stream, delay=0.0, clock=Ticking())
    annealer = Annealer(Splitting(0.8), growth=Growth(4), callbacks=(line,))
    annealer.run(Aspect(1), place(admixture()[0]), np.random.default_rng(0))
    numbers = [int(found[1]) for one in stream.lines if (found := re.search(r"(\d+) comp", one))]
    assert numbers[0] == 1
    assert numbers == sorted(numbers)
    assert numbers[-1] > 1


@pytest.mark.parametrize(
    ("model", "phases"),
    [
        (AspectModel(3, random_state=0), ["cooling", "settling"]),
        (
            AspectModel("predict", max_components=6, random_state=0),
            ["growing", "merging", "settling"],
        ),
        (
            AspectModel("auto", max_components=6, random_state=0),
            ["growing", "merging", "settling", "comparing two halves of the rows"],
        ),
        (
            OneSidedClustering(3, temper_prior=False, random_state=0),
            ["cooling", "heating", "settling"],
        ),
    ],
    ids=["fixed", "predict", "auto", "clusters"],
)
def test_all_phases_of_a_fit_are_one_line(
    model: Any, phases: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(
        "isotherm.estimators.base.Progress",
        lambda **settings: Progress(delay=0.0, clock=Ticking(), noun=settings["noun"]),
    )
    model.fit(admixture()[0])
    seen = [text.partition(":")[0] for text in stream.lines]
    assert list(dict.fromkeys(seen)) == phases
    shares = percents(stream.lines)
    assert shares == sorted(shares)
    assert 60 < shares[-1] < 100
    # Cleared once, at the end.
    parts = stream.getvalue().split("\r")
    assert [i for i, part in enumerate(parts) if part and not part.strip()] == [len(parts) - 2]


def test_a_callback_is_the_line_of_a_fit() -> None:
    stream = Terminal()
    line = Progress(stream, delay=0.0, clock=Ticking())
    model = AspectModel(2, engine=Engine(callbacks=[line]), random_state=0, verbose=False)
    model.fit(admixture()[0])
    assert stream.lines[-1].startswith("settling: ")
    first = len(stream.getvalue())
    model.fit(admixture()[0])
    assert percents(Terminal(stream.getvalue()[first:]).lines)[0] < 50


def test_where_nobody_watches_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    AspectModel(2, random_state=0).fit(admixture()[0])
    assert capsys.readouterr().err == ""
    AspectModel(2, random_state=0, verbose=True).fit(admixture()[0])
    said = capsys.readouterr().err.splitlines()
    assert said
    assert all(re.match(r"(cooling|settling): 2 topics, \d+ % done", line) for line in said)
