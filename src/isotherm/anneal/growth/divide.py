"""One component that comes apart while the others stay: into halves, and these again.

Growing splits whatever is unstable at the next temperature. Here a single component is split at the
critical temperature that it has at a settled state, and its parts alone are cooled to where the
model is.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from isotherm import _nested
from isotherm._types import Params
from isotherm.anneal.critical import component_splits
from isotherm.anneal.engine import NO_RELAXATION, Annealer
from isotherm.anneal.fold import fold_in
from isotherm.anneal.growth.grow import Growth, least_share, moves_along, regrouped
from isotherm.anneal.growth.held import held
from isotherm.anneal.heldout import Heldout
from isotherm.anneal.schedule import Exponential, Fixed, Schedule
from isotherm.anneal.trace import Fit, State
from isotherm.data.base import Array
from isotherm.models.base import GrowingModel, expect
from isotherm.placement.base import Data

# T - zero is multiplied by this from the critical temperature down to that of the model.
RATE = 0.9
# Fields of parameters that are sums over a component: halves share them.
SHARED = ("weight", "row_mass", "tokens")


class Parted(NamedTuple):
    """A model some of whose components are parts of one: their numbers, and its state."""

    model: GrowingModel
    state: State
    parts: tuple[int, ...]


@dataclass(frozen=True)
class Divider:
    """How a component comes apart on some data, at the temperature of its model.

    Parameters
    ----------
    annealer : Annealer
        Tolerance and most sweeps are taken from it.
    data : Data
    temperature : float
    heldout : Heldout, optional
        Which says whether there was anything to tell apart.
    growth : Growth
        How far halves are pushed, and what is too small or too much alike.
    """

    annealer: Annealer
    data: Data
    temperature: float
    heldout: Heldout | None = None
    growth: Growth = field(default_factory=Growth)

    def whole(self, model: GrowingModel, params: Params, component: int) -> Parted:
        """The model with rows, weights and totals of the data, before anything is split."""
        rows = fold_in(model, params, self.data, self.temperature)
        rows, stats, _ = self.data.sweep(expect, rows, model, params, self.temperature)
        stay = held(model, tuple(range(model.n_components)))
        params, extra = stay.maximize(stats, params, self.temperature, self.data.kernels)
        return Parted(model, State(params, rows, extra), (component,))

    def apart(self, parted: Parted, into: int) -> tuple[Parted, str]:
        """The component in so many parts, or in as many as there are and why there are no more."""
        while len(parted.parts) < into:
            further, why = self._halved(parted)
            if further is None:
                return parted, why
            parted = further
        return parted, ""

    def settled(self, parted: Parted, schedule: Schedule | None = None) -> Parted:
        """The same with the parts settled, at the temperature of the model or on the way there."""
        model, K = parted.model, parted.model.n_components
        others = tuple(k for k in range(K) if k not in parted.parts)
        annealer = replace(
            self.annealer,
            schedule=Fixed(self.temperature) if schedule is None else schedule,
            relaxation=NO_RELAXATION,
            growth=None,
            stepwise=None,
            record_critical=False,
            callbacks=(),
        )
        # Nothing is held out here: the state at the end is asked for, not the best on the way.
        fit: Fit = annealer.run(
            held(model, others), self.data, np.random.default_rng(0), state=parted.state
        )
        return Parted(model, fit.state, parted.parts)

    def _halved(self, parted: Parted) -> tuple[Parted | None, str]:
        """With the part in two that splits at the highest temperature; else why it is not."""
        model, state, parts = parted
        which = np.array(parts)
        weight, _ = model.components(state.params)
        least = least_share(self.growth, weight[which] * self.data.summary.row_weight)
        splits = component_splits(
            model, self.data, state, self.temperature, which, float("nan"), least
        )
        first = int(np.argmax(splits.temperatures))
        critical = float(splits.temperatures[first])
        if not critical > self.temperature:
            return None, (
                f"halves would be one above T = {critical:.4g}, and the model is at "
                f"T = {self.temperature:.4g}"
            )
        halves = self._pushed(parted, parts[first], splits.directions[:, first])
        found = self.settled(halves, self._cooling(critical, model.zero_temperature))
        if not self._clear(found, parts[first]):
            return None, "halves fall together again, or one of them is a row or two"
        if not self._pays(parted, found):
            return None, "halves predict words that were held out no better"
        return found, ""

    def _pays(self, before: Parted, found: Parted) -> bool:
        """Whether one more part is worth what any component has to be worth on held-out data."""
        if self.heldout is None:
            return True
        one, two = (
            self.heldout.score(each.model, each.state, self.data, self.temperature)
            for each in (before, found)
        )
        return bool(np.log(one / two) * self.heldout.size >= self.growth.nats)

    def _cooling(self, critical: float, zero: float) -> Schedule:
        """From just below the critical temperature to that of the model."""
        start = zero + RATE * (critical - zero)
        if start <= self.temperature:
            return Fixed(self.temperature)
        return Exponential(RATE, start=start, end=self.temperature)

    def _pushed(self, parted: Parted, component: int, direction: Array) -> Parted:
        """With the component in halves, pushed apart along a direction (J,)."""
        model, state, parts = parted
        K = model.n_components
        index, share = np.arange(K + 1), np.ones(K + 1)
        index[K] = component
        share[[component, K]] = 0.5
        params, rows, _ = regrouped(self.data, state, (), index, share)
        params = with_shares(params, share)
        _, table = model.components(state.params)
        moves = np.zeros((len(table), K + 1), table.dtype)
        move = moves_along(direction[:, None], table[:, [component]], self.growth.push)[:, 0]
        moves[:, component], moves[:, K] = move, -move
        model = model.sized(K + 1)
        # What is not moved stays as it is, to the bit.
        others = held(model, tuple(k for k in range(K) if k != component))
        params = others.pushed(params, moves)
        state = State(params, rows, model.prior_energy(params, self.data.summary))
        return Parted(model, state, (*parts, K))

    def _clear(self, found: Parted, component: int) -> bool:
        """Whether the halves, the last component and another, came apart and are large enough."""
        weight, table = found.model.components(_nested.on_host(found.state.params))
        one, other = component, found.model.n_components - 1
        size = float(min(weight[one], weight[other])) * self.data.summary.row_weight
        apart = 0.5 * float(np.abs(table[:, one] - table[:, other]).sum(dtype=np.float64))
        return apart >= self.growth.resolved and size >= self.growth.min_size


def with_shares(params: Params, share: Array) -> Params:
    """Parameters whose sums over components are multiplied by shares (K,)."""
    sums = {name: getattr(params, name) for name in SHARED if hasattr(params, name)}
    return params._replace(**{name: one * share for name, one in sums.items()})
