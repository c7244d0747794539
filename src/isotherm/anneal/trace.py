"""What an annealing run leaves behind: one record per temperature, and the fit itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, NamedTuple

from isotherm._markup import Part, page
from isotherm._types import Params
from isotherm.placement.base import RowsHandle
from isotherm.tree import Tree

# Phases of a fit, as records name them: a run proper, and what becomes of one that grew. It cools
# on without splits, joins components to see what that costs, and comes to one of these. Clusters
# with an untempered prior are cooled with a tempered one, and heated from there.
COOLING: Final = "cooling"
HEATING: Final = "heating"
COOLING_ON: Final = "cooling on"
JOINING: Final = "joining"
JOINED: Final = "joined"


class State(NamedTuple):
    """Parameters, rows of all blocks, and the part of the energy that no block can see."""

    params: Params
    rows: RowsHandle
    extra: float


@dataclass(frozen=True)
class Record:
    """One temperature of an annealing run.

    Attributes
    ----------
    temperature : float
    free_energy : float
        At the end of this temperature; comparable only within one temperature.
    log_likelihood : float
        Of the training data under the model itself, at T = 1: the sum over tokens of log P(y|x),
        or over points of log p(x).
    heldout : float
        Held-out score, lower is better; NaN where nothing was held out.
    n_effective : int
        Number of distinct components.
    n_components : int
    critical : tuple of float
        Critical temperature per distinct component; empty unless asked for.
    sweeps : int
        Full sweeps; the last of them measured the free energy.
    seconds : float
    converged : bool
    passes : int
        Stepwise passes over batches of rows that came before.
    entropy : float
        Of the components' weights, in nats, where components grow; else NaN.
    phase : {"cooling", "heating", "cooling on", "joining", "joined"}
        What the temperature was a part of. A model that grows cools on without splits afterwards,
        then joins components for as long as held-out data do not mind: "joining" is what was only
        tried, "joined" what was chosen. Clusters with an untempered prior are cooled with a
        tempered one, which nothing scores, and heated from there by held-out scores.
    """

    temperature: float
    free_energy: float
    log_likelihood: float
    heldout: float
    n_effective: int
    n_components: int
    critical: tuple[float, ...]
    sweeps: int
    seconds: float
    converged: bool
    passes: int = 0
    entropy: float = field(default=float("nan"), compare=False)
    phase: str = COOLING


Trace = tuple[Record, ...]


class Records(tuple[Record, ...]):
    """A trace as an estimator has it: a tuple, which a notebook shows as a table."""

    def _repr_html_(self) -> str:
        heads = ("temperature", "components", "distinct", "held-out score", "free energy")
        rows = [
            (
                *(one.temperature, one.n_components, one.n_effective),
                *("" if math.isnan(one.heldout) else one.heldout, one.free_energy),
                *(one.sweeps, one.seconds),
            )
            for one in self
        ]
        said = f"{len(self)} temperatures, in the order of the run"
        return page(said, Part((*heads, "sweeps", "seconds"), rows))


def way(trace: Sequence[Record]) -> Trace:
    """The records that led to what was chosen, one for each temperature, in the order of the run.

    Where a growing run cooled on without splits, that stands for what it tried at these
    temperatures with splits; what was only tried, joining components, is left out. Where the model
    was heated, the cooling before was that of another model and is left out, too.
    """
    heated = tuple(record for record in trace if record.phase == HEATING)
    if heated:
        return heated
    on = [record for record in trace if record.phase == COOLING_ON]
    hot = [
        record
        for record in trace
        if record.phase == COOLING and not (on and record.temperature <= on[0].temperature)
    ]
    joined = {record.temperature: record for record in trace if record.phase == JOINED}
    return tuple(joined.get(record.temperature, record) for record in (*hot, *on))


class Outcome(Enum):
    """Why a run ended; the value is the message."""

    FINISHED = "the schedule reached its end"
    STOPPED = "a rule stopped the run"
    INTERRUPTED = "interrupted; the model of the last finished temperature was kept"


class Step(NamedTuple):
    """The best solution with some number of components that a growing run came through.

    Without `params` (None) where a model keeps no more than that there was one.
    """

    model: Any
    params: Params
    temperature: float
    heldout: float
    tree: Tree

    @property
    def n_components(self) -> int:
        """Number of components K."""
        return len(self.tree.leaves)


# Numbers of components at which a path keeps its parameters: a few that tell the story.
MILESTONES = (1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 256, 512)


def thinned(path: Sequence[Step], n_components: int) -> tuple[Step, ...]:
    """A path with parameters at a few numbers of components alone, no more than there are."""
    numbers = [step.n_components for step in path if step.n_components <= n_components]
    stay = {min((n for n in numbers if n >= mark), default=0) for mark in MILESTONES}
    return tuple(step if step.n_components in stay else step._replace(params=None) for step in path)


@dataclass(frozen=True)
class Fit:
    """Outcome of a run: model, state, temperature of that state, trace.

    Attributes
    ----------
    model : Model
    state : State
        The best state by held-out score where one was given, else the last.
    temperature : float
    trace : tuple of Record
    outcome : Outcome
    first_critical : float
        Temperature of the first transition; NaN if the schedule did not ask for it.
    tree : Tree, optional
        The splits that led to the components, where they grew.
    path : tuple of Step
        Where components grew: a solution for every number of them on the way.
    """

    model: Any
    state: State
    temperature: float
    trace: Trace
    outcome: Outcome = Outcome.FINISHED
    first_critical: float = field(default=float("nan"))
    tree: Tree | None = None
    path: tuple[Step, ...] = ()

    @property
    def n_sweeps(self) -> int:
        """Sweeps over the data in the whole run, stepwise passes included."""
        return sum(record.sweeps + record.passes for record in self.trace)


def completed(fit: Fit) -> Fit:
    """The fit, unless it was interrupted: what was left half-way is no ground for a next run."""
    if fit.outcome is Outcome.INTERRUPTED:
        raise KeyboardInterrupt
    return fit
