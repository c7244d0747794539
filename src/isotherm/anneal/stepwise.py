"""Stepwise (mini-batch) EM: parameters move after every batch of rows, not after all of them.

The statistics of a batch, scaled up to all rows, are mixed into those so far: S <- (1 - eta) S +
eta (N / n) S_batch with eta = (t + delay)^-decay (Cappe & Moulines 2009; Liang & Klein 2009). No
model is asked how: its statistics add up, and that is enough. Free energies are never taken from
batches; full sweeps measure them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from isotherm import _nested
from isotherm._types import Array, Arrays, RowStates, Stats
from isotherm.anneal.trace import State
from isotherm.data.base import Block
from isotherm.errors import IsothermError
from isotherm.kernels.base import Kernels
from isotherm.models.base import Model, expect
from isotherm.placement.base import Data, Expected
from isotherm.placement.batches import Batch


@dataclass(frozen=True)
class Stepwise:
    """How sweeps by batches begin every temperature.

    Parameters
    ----------
    batch : int
        Rows to a batch; they come from all over the table. Fewer rows are more steps in a pass, and
        noisier ones; an M-step costs as much as an E-step on about as many non-zeros as there are
        columns, so batches should not be much smaller than that.
    passes : int
        Passes over all batches at each temperature, before the full sweeps.
    decay : float
        How fast steps become smaller, above 0.5 and at most 1: step t has the weight
        (t + delay)^-decay, t from 0 on, at every temperature anew.
    delay : float
        At least 1; larger values let what was there before weigh more.
    repeats : int
        E-steps on a batch before its statistics count. More than one let rows with weights of their
        own (topics of a document) follow the parameters while their batch is at hand: fewer passes
        over the data, but as many times the work in each.
    full_sweeps : int, optional
        Most full sweeps after the passes. None sweeps until the free energy settles, as without
        batches; 1 only measures the free energy, for collections where full sweeps are wasteful.

    Examples
    --------
    >>> from isotherm import AspectModel, Stepwise
    >>> X = [[3, 1, 0], [2, 2, 0], [0, 1, 3]] * 50
    >>> model = AspectModel(2, batches=Stepwise(batch=30), random_state=0).fit(X)
    >>> model.trace_[0].passes
    1
    """

    batch: int = 2000
    passes: int = 1
    decay: float = 0.7
    delay: float = 2.0
    repeats: int = 1
    full_sweeps: int | None = None

    def __post_init__(self) -> None:
        """Refuse settings with which steps make no sense."""
        for name in ("batch", "passes", "repeats", "full_sweeps"):
            value = getattr(self, name)
            if value is None and name == "full_sweeps":
                continue
            if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
                raise IsothermError(
                    f"{name} is {value!r}; it must be a whole number, at least 1"
                    + (", or None to sweep until settled" if name == "full_sweeps" else "")
                )
        if not (_is_number(self.decay) and 0.5 < self.decay <= 1):
            raise IsothermError(
                f"decay is {self.decay!r}; it must be above 0.5 and at most 1: otherwise steps "
                "either never settle or stop too soon"
            )
        if not (_is_number(self.delay) and 1 <= self.delay < math.inf):
            raise IsothermError(
                f"delay is {self.delay!r}; it must be a number of at least 1: the first step has "
                "the weight delay^-decay, which is at most 1"
            )

    def rate(self, step: int) -> float:
        """Weight eta of a batch, the first one of a temperature being step 0."""
        return float((step + self.delay) ** -self.decay)


def stepped(
    model: Model,
    data: Data,
    state: State,
    stats: Stats,
    temperature: float,
    rate: float,
    batch: Batch,
    repeats: int = 1,
) -> tuple[State, object]:
    """State after one batch, and the statistics with those of the batch mixed in."""
    rows = state.rows
    for _ in range(repeats):
        rows, found, _ = data.sweep(
            expect, rows, model, state.params, temperature, within=batch.blocks
        )
    if not batch.total > 0:  # rows without tokens say nothing of the parameters
        return state._replace(rows=rows), stats
    scale = data.summary.total / batch.total
    stats = found if rate == scale == 1.0 else _nested.apply(_mixed(rate, scale), stats, found)
    params, extra = model.maximize(stats, state.params, temperature, data.kernels)
    return State(params, rows, extra), stats


def completed(model: Model, data: Data, state: State) -> State:
    """The state after a pass with what batches only estimate: its energy, the mass of its rows."""
    params = state.params
    if model.rows_are_parameters:
        _, mass, _ = data.sweep(_row_mass, state.rows)
        params = params._replace(row_mass=mass[0])
    return State(params, state.rows, model.prior_energy(params, data.summary))


def _mixed(rate: float, scale: float) -> Callable[[Array, Array], Array]:
    def mix(old: Array, new: Array) -> Array:
        # In double precision, as sums of several blocks are.
        mixed = new.astype(np.float64)
        mixed *= rate * scale
        mixed += (1.0 - rate) * old
        return mixed

    return mix


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def _row_mass(k: Kernels, block: Block, rows: RowStates) -> Expected[tuple[()], Arrays]:
    """Total of the rows of a block for every component."""
    return Expected((), _nested.apply(lambda a: a.sum(axis=0, dtype=np.float64), rows), 0.0)
