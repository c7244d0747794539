"""Checkpoints of the first version: what they held, turned into the state of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from isotherm._types import Stats
from isotherm.anneal.growth.branches import Branches
from isotherm.anneal.relax import RelaxationState
from isotherm.anneal.run_state import Best, RunState, Solution
from isotherm.anneal.trace import Fit, State
from isotherm.format import codec
from isotherm.io import parts
from isotherm.io.registry import checked


class Grown(NamedTuple):
    """A model with its state; statistics were never written."""

    model: Any
    state: State
    stats: Stats = ()
    branches: Branches = Branches()


class Sweeps(NamedTuple):
    """Where sweeps were: the state to be swept next, the last EM point, and the counters."""

    state: State
    proven: State
    eta: float
    last: float
    relaxed: bool = False
    sweep: int = 0
    before: int = 0
    step: int = 0
    stats: Stats = ()


class Point(NamedTuple):
    """Where a run was: its start, what the temperature began with, and what was best."""

    begin: State
    now: Grown
    fit: Fit
    first_critical: float
    best: tuple[Grown, float] | None
    score: float
    seen: float
    temperature: float
    sweeps: Sweeps


def add(registry: codec.Registry, check: Callable[[RunState], None]) -> None:
    """Add the types that only these checkpoints hold; a point is read as a run, and checked."""
    registry.add("Grown", checked(codec.plain(Grown), parts.check_fields, parts.check_grown))
    registry.add("Sweeps", checked(codec.plain(Sweeps), parts.check_fields))
    point = checked(codec.plain(Point), parts.check_fields)

    def build(values: dict[str, object]) -> RunState:
        run = run_of(point.build(values))
        check(run)
        return run

    registry.add("Point", point._replace(build=build))


def named_anew(build: Callable[[dict[str, object]], object], values: dict[str, object]) -> object:
    """What is known of a run, whose state was called a point."""
    return build({"state" if name == "point" else name: one for name, one in values.items()})


def run_of(point: Point) -> RunState:
    """The state of the run that was at a point."""
    now, sweeps = point.now, point.sweeps
    best = Best(last=point.seen)
    if point.best is not None:
        solution = Solution(point.best[0].model, point.best[0].state, point.best[0].branches)
        best = Best(solution, point.best[1], point.score, point.seen)
    return RunState(
        model=now.model,
        state=sweeps.state,
        fit=replace(point.fit, first_critical=point.first_critical),
        begin=point.begin,
        stats=sweeps.stats,
        branches=now.branches,
        best=best,
        temperature=point.temperature,
        within=True,
        sweep=sweeps.sweep,
        before=sweeps.before,
        step=sweeps.step,
        energy=sweeps.last,
        relaxation=RelaxationState(sweeps.eta, sweeps.proven if sweeps.relaxed else None),
    )
