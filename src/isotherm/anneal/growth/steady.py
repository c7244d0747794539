"""What becomes of components from one temperature to the next: the contract, and a fixed number."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from isotherm.anneal.run_state import NAN, RunState, Solution
from isotherm.anneal.trace import Record, State, Step
from isotherm.placement.base import Data
from isotherm.tree import Tree


class Components(Protocol):
    """What the engine asks about components between temperatures.

    `Growth` splits and merges them, `Steady` has a fixed number. What they remember is in the state
    of the run: `branches` there, and `path` of its fit.
    """

    @property
    def reads_stats(self) -> bool:
        """Whether the statistics of a settled temperature are asked for."""
        ...

    def next(
        self, run: RunState, data: Data, rng: np.random.Generator, temperature: float
    ) -> RunState:
        """What the next temperature begins with, after one that has settled."""
        ...

    def joined(self, run: RunState, data: Data) -> RunState | None:
        """The settled run with components that fell together as one; None if there are none."""
        ...

    def needed(self, n_tokens: float) -> float:
        """Share by which more components must lower a score over so many held-out tokens."""
        ...

    def closeness(self, n_components: int) -> float:
        """Factor on the tolerance with so many components."""
        ...

    def look_every(self, run: RunState, otherwise: int) -> int:
        """Sweeps between two looks at the held-out score, which end a temperature once it rises."""
        ...

    def tree(self, solution: Solution) -> Tree | None:
        """The splits that led to the components, if that is how they came about."""
        ...

    def path(self, run: RunState, record: Record) -> tuple[Step, ...]:
        """The best solutions for each number of components, with that of a settled temperature."""
        ...

    def entropy(self, solution: Solution) -> float:
        """Entropy of the weights of the components, in nats; nan where nobody will ask."""
        ...


@dataclass(frozen=True)
class Steady:
    """A fixed number of components; relative `noise` at each temperature tells equal ones apart."""

    noise: float

    @property
    def reads_stats(self) -> bool:
        """Parameters are all that is moved."""
        return False

    def next(
        self, run: RunState, data: Data, rng: np.random.Generator, temperature: float
    ) -> RunState:
        """The last state, shaken."""
        if not self.noise:
            return run
        params = run.model.perturb(run.state.params, rng, self.noise)
        extra = run.model.prior_energy(params, data.summary)
        return replace(run, state=State(params, run.state.rows, extra))

    def joined(self, run: RunState, data: Data) -> RunState | None:
        """Components that coincide stay apart."""
        return None

    def needed(self, n_tokens: float) -> float:
        """There are never more."""
        return 0.0

    def closeness(self, n_components: int) -> float:
        """The tolerance as it is."""
        return 1.0

    def look_every(self, run: RunState, otherwise: int) -> int:
        """As often as the engine looks."""
        return otherwise

    def tree(self, solution: Solution) -> Tree | None:
        """No splits."""
        return None

    def path(self, run: RunState, record: Record) -> tuple[Step, ...]:
        """No other numbers of components."""
        return ()

    def entropy(self, solution: Solution) -> float:
        """Not asked for."""
        return NAN
