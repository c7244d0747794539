"""Stages: what a run came through, kept where components came apart or grew sharper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from isotherm import _nested
from isotherm._types import Array, Params
from isotherm.anneal.callbacks import Callback
from isotherm.anneal.trace import Fit
from isotherm.errors import IsothermError

# More of them than this are not told apart by anyone who looks through them.
MOST = 12
BYTES_PER_MB = 1_000_000


class Stage(NamedTuple):
    """A solution on the way: model, parameters in single precision, temperature.

    `n_distinct` is the number of its distinct components.
    """

    model: Any
    params: Params
    temperature: float
    n_distinct: int


@dataclass
class Stages(Callback):
    """Keeps solutions on the way of a run, for `isotherm.Explorer` to show.

    Those are kept between which the number of distinct components, or the temperature, changed
    most.

    Give it to an estimator as one of its `callbacks`. Where a rule on held-out data chooses the
    temperature, stages beyond the chosen one are not kept. Of several runs of one fit, and of
    several fits, it holds the last. Models that grow need none of this: they keep their `path_`.

    Parameters
    ----------
    limit : int
        Most stages, at least 2; those that tell the least apart go first.
    megabytes : float
        Most memory, unless two stages need more.
    kept : tuple of Stage
        What was kept, the hottest first.

    Examples
    --------
    >>> import numpy as np
    >>> from isotherm import AspectModel, Stages
    >>> X = np.kron(np.eye(3, dtype=int), np.full((20, 5), 6)) + 1
    >>> stages = Stages()
    >>> model = AspectModel(3, callbacks=[stages], random_state=0).fit(X)
    >>> stages.kept[-1].temperature == model.temperature_
    True
    """

    limit: int = MOST
    megabytes: float = 64.0
    kept: tuple[Stage, ...] = field(default=())

    def __post_init__(self) -> None:
        """Refuse limits within which there is nothing to see."""
        if not (self.limit >= 2 and self.megabytes > 0):
            raise IsothermError(
                f"limit is {self.limit} and megabytes {self.megabytes}; needed are at least 2 "
                "stages and more than 0 MB"
            )

    def on_begin(self) -> None:
        """Forget the run before."""
        self.kept = ()

    def on_temperature(self, fit: Fit) -> bool:
        """Keep the solution if it is of this temperature; never stops."""
        record = fit.trace[-1]
        # Where something is held out, the fit is the best one so far and not that of this moment.
        now = fit.temperature == record.temperature
        # One component is the same at every temperature.
        known = bool(self.kept) and record.n_effective == 1 == self.kept[-1].n_distinct
        if now and not known:
            params = _nested.apply(_single, _nested.on_host(fit.state.params))
            stage = Stage(fit.model, params, fit.temperature, record.n_effective)
            self.kept = self._within((*self.kept, stage))
        return False

    def _within(self, stages: tuple[Stage, ...]) -> tuple[Stage, ...]:
        """As many of the stages as are allowed, the first and the last among them."""
        each = max(size_of(stage.params) for stage in stages)
        room = max(2, min(self.limit, int(self.megabytes * BYTES_PER_MB / max(each, 1))))
        numbers = [stage.n_distinct for stage in stages]
        temperatures = [stage.temperature for stage in stages]
        return tuple(stages[i] for i in telling(numbers, temperatures, room))


def telling(numbers: Sequence[int], temperatures: Sequence[float], most: int) -> list[int]:
    """Which stages to show: the first, the last, and those far from their neighbours.

    How far two stages are apart is the sum of the logarithmic changes of the number of components
    and of the temperature.

    Parameters
    ----------
    numbers : sequence of int
    temperatures : sequence of float
        Above 0; in falling order.
    most : int
        At least 2.
    """

    def apart(one: int, other: int) -> float:
        number = abs(math.log(numbers[other] / numbers[one]))
        return number + abs(math.log(temperatures[other] / temperatures[one]))

    left = list(range(len(numbers)))
    while len(left) > most:
        # Without it, the gap between its neighbours is the smallest.
        gaps = [apart(left[i - 1], left[i + 1]) for i in range(1, len(left) - 1)]
        del left[1 + int(np.argmin(gaps))]
    return left


def size_of(params: Params) -> int:
    """Bytes of all arrays of parameters."""
    total = 0

    def add(values: Array) -> Array:
        nonlocal total
        total += np.asarray(values).nbytes
        return values

    _nested.apply(add, params)
    return total


def _single(values: Array) -> Array:
    """A copy in single precision of what is in double; the run goes on with the original."""
    if isinstance(values, np.ndarray) and values.dtype == np.float64 and values.ndim > 1:
        return values.astype(np.float32)
    return np.array(values) if isinstance(values, np.ndarray) else values
