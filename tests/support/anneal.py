"""Counts in memory, starts and a journal: what the tests of annealing are written in."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isotherm.anneal.run_state import RunState
from isotherm.anneal.start import state_of
from isotherm.anneal.trace import Fit, State
from isotherm.data.counts import Counts
from isotherm.kernels.base import Kernels
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.base import Model, jitter, unigram
from isotherm.placement.local import Local

Array = NDArray[Any]


def place(X: Array, kernels: Kernels | None = None, *, n_blocks: int = 1) -> Local:
    """Counts placed in memory; double precision unless other kernels are given."""
    return Local.place(Counts(X), kernels or Cpu("float64"), n_blocks=n_blocks)


def random_state(model: Model, data: Local, seed: int, noise: float = 0.5) -> State:
    """State with components that are strongly perturbed copies of the marginal."""
    p = unigram(data.summary)
    copies = np.repeat(p[:, None], model.n_components, axis=1)
    table = jitter(copies, np.random.default_rng(seed), noise).astype(data.kernels.dtype)
    return state_of(model, data, model.init(data.summary, table))


class Memory:
    """A journal of one page, with what an earlier process left on it."""

    def __init__(
        self, fit: Fit | None = None, state: RunState | None = None, numbers: Any = None
    ) -> None:
        self.fit, self.state, self.numbers = fit, state, numbers
        self.notes: list[tuple[RunState, Any]] = []
        self.ends: list[Fit | None] = []

    def page(self, annealer: Any, model: Any, data: Any, rng: Any, *more: Any) -> "Memory":
        self.rng = rng
        if self.numbers is not None:
            rng.bit_generator.state = self.numbers
        return self

    def note(self, run: RunState) -> None:
        self.notes.append((run, self.rng.bit_generator.state))

    def end(self, fit: Fit | None) -> None:
        self.ends.append(fit)
