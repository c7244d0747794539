"""Callbacks: what may watch a run and stop it. Called after each sweep and each temperature."""

from __future__ import annotations

import itertools
import logging
import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from isotherm.anneal.trace import Fit, Record

log = logging.getLogger("isotherm")

# A free energy that changes by less than this share from one temperature to the next stays put.
ROUNDING = 1e-4


class Callback:
    """Base of callbacks; the hooks do nothing until they are overridden."""

    def on_fit_begin(self) -> None:
        """Before the first run of a fit by an estimator, which may be of several."""

    def on_fit_end(self) -> None:
        """After the last run of that fit, however it ended."""

    def on_begin(self) -> None:
        """Before the run."""

    def on_sweep(self, temperature: float, sweep: int, free_energy: float) -> None:
        """After every full sweep."""

    def on_pass(self, temperature: float, number: int) -> None:
        """After every pass over batches of rows; their free energy is not known."""

    def on_temperature(self, fit: Fit) -> bool:
        """After every temperature, with the fit so far; true stops the run."""
        return False

    def on_end(self) -> None:
        """After the run, however it ended."""


@dataclass(frozen=True)
class HeldoutRule(Callback):
    """Stop after `patience` temperatures in a row with a worse held-out score than the best.

    Scores within `slack` of the best (relative) are a plateau, as above the first transition: they
    neither count nor reset. Between two transitions a score creeps up and then falls at the next
    one: within `small` of the best it counts a quarter while components are still together. A few
    odd rows may take all components for themselves long before the others have any: while the
    posteriors have a share of `undecided` of the entropy that they had above the first transition,
    a worse score says nothing of most rows and does not count.
    """

    patience: int = 3
    slack: float = 1e-4
    small: float = 0.01
    undecided: float = 0.9

    def on_temperature(self, fit: Fit) -> bool:
        """Whether the best score lies `patience` worse temperatures back."""
        best, worse = float("inf"), 0.0
        for record, share in zip(fit.trace, uncertainties(fit.trace), strict=True):
            if record.heldout < best:
                best, worse = record.heldout, 0.0
            elif record.heldout > best * (1.0 + self.slack) and share < self.undecided:
                together = record.n_effective < record.n_components
                creeps = together and record.heldout <= best * (1.0 + self.small)
                worse += 0.25 if creeps else 1.0
        return worse >= self.patience


def uncertainties(trace: Sequence[Record]) -> list[float]:
    """Entropy of the posteriors just above each temperature, as a share of that of equal ones.

    The entropy is what the free energy gains per degree of cooling. The share is 0 where the trace
    does not tell: at the first temperature, where the run began below the first transition, and
    where the free energy of equal components does not depend on T (an untempered prior).
    """
    shares = [0.0] * len(trace)
    if len(trace) < 2 or trace[0].n_effective != 1:
        return shares
    slopes = [_slope(before, after) for before, after in itertools.pairwise(trace)]
    gained = slopes[0] * (trace[0].temperature - trace[1].temperature)
    if gained > ROUNDING * abs(trace[0].free_energy):
        shares[1:] = [slope / slopes[0] for slope in slopes]
    return shares


def _slope(before: Record, after: Record) -> float:
    """Gain of free energy per degree of cooling; 0 between equal temperatures."""
    fell = before.temperature - after.temperature
    return (after.free_energy - before.free_energy) / fell if fell else 0.0


@dataclass(frozen=True)
class GenerationRule(Callback):
    """Stop a growing run after `patience` generations in a row that were not worth it.

    A temperature at which components were added opens a generation, and so does every temperature
    once there are `limit` of them. Components that are too small to be worth it, even if they told
    all of their tokens from the others, do not count. A generation is worth it if it lowers the
    best held-out score by the share `gain`; one with more components than the best and a score
    above it by the share `much`, or with the most that there may be and any worse score, ends the
    run at once.
    """

    patience: int = 2
    gain: float = 3e-3
    much: float = 0.02
    limit: int = sys.maxsize

    def on_temperature(self, fit: Fit) -> bool:
        """Whether the last generations brought nothing."""
        best, wasted, before, enough, seen = float("inf"), 0, 0, 0, 0.0
        for record in fit.trace:
            # No component is worth more than what its weight tells, which adds up.
            small = record.entropy - seen < -math.log1p(-self.gain)
            full = record.n_components >= self.limit
            grew = full or (record.n_components > before and not small)
            before = record.n_components
            if record.heldout < best * (1.0 - self.gain):
                best, wasted, enough, seen = record.heldout, 0, record.n_components, record.entropy
            elif grew:
                wasted, seen = wasted + 1, record.entropy
        last = fit.trace[-1]
        share = self.gain if last.n_components >= self.limit else self.much
        beyond = last.n_components > enough or last.n_components >= self.limit
        far = beyond and last.heldout > best * (1.0 + share)
        return wasted >= self.patience or far


@dataclass
class TimeLimit(Callback):
    """Stop after the first temperature that ends so many seconds into a fit.

    A fit may be several runs: other models are tried, components are joined, and what was chosen
    settles on all counts. Once time is up no further run begins, and the settling is a single
    sweep; a map alone settles as ever, since above T = 1 it is not one. Components of a model that
    grows are joined where they had no time to come apart, with a warning. Given to an `Annealer`
    itself, the limit is that of a run.
    """

    seconds: float
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)
    begin: float = field(init=False, default=0.0, repr=False)
    fits: int = field(init=False, default=0, compare=False, repr=False)

    def on_fit_begin(self) -> None:
        """Start the clock, unless this fit is part of another."""
        if not self.fits:
            self.begin = self.clock()
        self.fits += 1

    def on_fit_end(self) -> None:
        """What comes next is timed by itself."""
        self.fits -= 1

    def on_begin(self) -> None:
        """Start the clock, unless the run is part of a fit."""
        if not self.fits:
            self.begin = self.clock()

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.begin + self.seconds - self.clock()

    @property
    def is_up(self) -> bool:
        """Whether time is up."""
        return self.clock() - self.begin > self.seconds

    def on_temperature(self, fit: Fit) -> bool:
        """Whether time is up."""
        return self.is_up


def limits(callbacks: Iterable[Callback]) -> list[TimeLimit]:
    """Those of some callbacks that limit the time."""
    return [one for one in callbacks if isinstance(one, TimeLimit)]


def time_is_up(callbacks: Iterable[Callback]) -> bool:
    """Whether there is a limit of time among some callbacks, and it has passed."""
    return any(one.is_up for one in limits(callbacks))


@dataclass
class Recorder(Callback):
    """Keeps what `keep(fit)` returns at every temperature, in `values`."""

    keep: Callable[[Fit], object]
    values: list[object] = field(default_factory=list)

    def on_temperature(self, fit: Fit) -> bool:
        """Record; never stops."""
        self.values.append(self.keep(fit))
        return False


@dataclass(frozen=True)
class Log(Callback):
    """One INFO line per temperature on the logger "isotherm"."""

    def on_temperature(self, fit: Fit) -> bool:
        """Write the line."""
        record = fit.trace[-1]
        log.info(
            "T %.5g, F %.8g, %s, %s in %.2f s",
            record.temperature,
            record.free_energy,
            _figures(record),
            f"{record.passes} passes and " * bool(record.passes) + f"{record.sweeps} sweeps",
            record.seconds,
        )
        return False


def _figures(record: Record) -> str:
    held = "" if record.heldout != record.heldout else f", held-out {record.heldout:.6g}"
    return f"{record.n_effective} of {record.n_components} components distinct{held}"
