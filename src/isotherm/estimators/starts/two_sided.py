"""How two-sided clustering begins and goes on: from two one-sided fits, cold, then warmer.

The uniform state of the two-sided model is stable at every temperature. Cooling would never leave
it, so clusters come from elsewhere and are heated for as long as that predicts better.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from isotherm.anneal.critical import first_critical
from isotherm.anneal.engine import NO_RELAXATION, Annealer, Relaxation
from isotherm.anneal.schedule import Exponential, Fixed
from isotherm.anneal.start import Spectral, state_of
from isotherm.anneal.trace import Record, State, completed
from isotherm.data.base import Array, Block
from isotherm.data.counts import as_counts
from isotherm.errors import IsothermError
from isotherm.kernels.base import Kernels
from isotherm.models.cluster import Cluster
from isotherm.models.row_mixture import ClusterRows, ClusterStats
from isotherm.models.two_sided import TwoSided
from isotherm.placement.base import Data, Expected, RowsHandle
from isotherm.placement.local import Local

# More than twice as many rows as this begin with some of them, and rows with more than twice as
# many columns as this are compared by the most frequent ones.
MOST_ROWS, MOST_COLUMNS = 2000, 5000
# Most sweeps after which two ways to begin are compared.
COMPARED = 10
# Nats per token by which a later way has to be better: rounding does not decide.
BETTER = 1e-6
# Noise of the starts: both sides are to come apart at once, also where the spectrum has no more.
NOISE = 0.01


@dataclass(frozen=True)
class Heating:
    """T = `start`, then T / rate up to `end`; ends where the clusters coincide.

    Made for runs that hold something out and stop by `HeldoutRule`: where nothing is held out,
    nothing says when it is too warm, and the first temperature is the only one.

    Parameters
    ----------
    rate : float in (0, 1)
    start, end : float
        First and highest temperature.
    """

    restarts: ClassVar[bool] = False

    rate: float = 0.85
    start: float = 1.0
    end: float = 6.0

    def __post_init__(self) -> None:
        """Refuse settings that do not heat."""
        if not (0 < self.rate < 1 and 0 < self.start <= self.end < np.inf):
            raise IsothermError(
                f"rate is {self.rate}, start {self.start} and end {self.end}; heating needs "
                "0 < rate < 1 and 0 < start <= end"
            )

    def next(
        self, trace: Sequence[Record], critical: Callable[[], Array], zero: float
    ) -> float | None:
        """Next temperature."""
        if not trace:
            return self.start
        last = trace[-1]
        done = last.temperature >= self.end or last.n_effective <= 1 or np.isnan(last.heldout)
        return None if done else min(last.temperature / self.rate, self.end)


@dataclass(frozen=True)
class OneSidedFits:
    """Posteriors of two annealed one-sided fits, of the rows and then of the columns.

    Columns are compared by how often they meet the clusters of rows, which is cheap and does not
    tell a row of weight two from two rows. The fits are made in more than one way: cooled from the
    critical temperature, which finds clean clusters, and from well below it, which does better on
    sparse text. Two-sided sweeps at T = 1 tell which has the lower free energy. Of a large table
    all this sees some of the rows only, and the clusters of columns that they lead to are the start
    for all of them.

    Parameters
    ----------
    first : tuple of float
        The fits begin at these multiples of their first critical temperature, one way for each.
    last : float
        They end at this multiple of it (but not below T = 1).
    rate : float in (0, 1)
        They are cooled by this factor.
    pseudo_share : float
        Pseudo-counts of their clusters, as a share of the counts that one has on average.
    tol : float
        As in `Annealer`.
    """

    first: tuple[float, ...] = (0.97, 0.3)
    last: float = 0.03
    rate: float = 0.7
    pseudo_share: float = 0.05
    tol: float = 1e-3

    def state(self, model: TwoSided, data: Data, rng: np.random.Generator) -> State:
        """State before the first sweep."""
        sweeps = Annealer(Fixed(1.0), NO_RELAXATION, tol=self.tol, max_sweeps=COMPARED)
        part = sample(data)
        fits = [
            completed(sweeps.run(model, part, rng, state=self._begun(model, part, first, rng)))
            for first in self.first
        ]
        best, margin = fits[0], BETTER * part.summary.total
        for fit in fits[1:]:
            if fit.trace[-1].free_energy < best.trace[-1].free_energy - margin:
                best = fit
        return best.state if part is data else state_of(model, data, best.state.params)

    def _begun(self, model: TwoSided, data: Data, first: float, rng: np.random.Generator) -> State:
        L = model.n_column_components or model.n_components
        rows = self._posteriors(
            narrow(data), model.n_components, first, Spectral(size=1.0, noise=NOISE), rng
        )
        _, sums, _ = data.sweep(_sums, rows)
        columns = Local.place(as_counts(sums.word), data.kernels)
        start = Spectral(size=1.0, column_power=0.5, noise=NOISE)
        (found,) = self._posteriors(columns, L, first, start, rng)
        return state_of(model, data, model.assigned(sums.word, sums.mass, found.posterior))

    def _posteriors(
        self, data: Data, K: int, first: float, start: Spectral, rng: np.random.Generator
    ) -> RowsHandle:
        """Posterior of every row, (I, K), wherever its block is."""
        part = sample(data)
        model = Cluster(K, self.pseudo_share * part.summary.total / K, temper_prior=True)
        critical = first_critical(model, part)
        end = max(1.0, self.last * critical)
        annealer = Annealer(
            Exponential(self.rate, start=max(end, first * critical), end=end),
            relaxation=Relaxation(cap=3.0),
            start=start,
            tol=self.tol,
        )
        fit = completed(annealer.run(model, part, rng))
        if part is not data:
            # The clusters of some rows are a good start for those of all.
            last = Annealer(Fixed(end), NO_RELAXATION, tol=self.tol, max_sweeps=COMPARED)
            state = state_of(model, data, fit.state.params)
            fit = completed(last.run(model, data, rng, state=state))
        return fit.state.rows


def sample(data: Data) -> Data:
    """Every n-th row of data with far more than MOST_ROWS of them; else the data itself.

    Only what is held in this process is sampled.
    """
    if not isinstance(data, Local):
        return data
    step = sum(block.n_rows for block in data.blocks) // MOST_ROWS
    if step < 2:
        return data
    blocks = [block.take(np.arange(0, block.n_rows, step)) for block in data.blocks]
    part = Local(blocks, data.kernels)
    return part if part.summary.total > 0 else data


def narrow(data: Data) -> Data:
    """The most frequent of far more than MOST_COLUMNS columns; else the data itself.

    They tell the rows apart nearly as well as all, and a sweep over few rows costs mainly columns.
    """
    totals = data.summary.column_totals
    if not isinstance(data, Local) or len(totals) <= 2 * MOST_COLUMNS:
        return data
    kept = np.sort(np.argsort(-totals, kind="stable")[:MOST_COLUMNS])
    place = np.full(len(totals), -1, np.int32)
    place[kept] = np.arange(len(kept))
    return Local([_narrowed(block, place, len(kept)) for block in data.blocks], data.kernels)


def _narrowed(block: Block, place: Array, n_columns: int) -> Block:
    """Block with each column moved to its new place (J,), without those that have none (-1)."""
    columns = place[block.indices]
    inside = columns >= 0
    indptr = np.concatenate([[0], np.cumsum(inside)])[block.indptr]
    return Block(indptr, columns[inside], block.values[inside], block.weight, n_columns)


def _sums(k: Kernels, block: Block, rows: ClusterRows) -> Expected:
    """Counts of each column, and rows, in each cluster."""
    mass = np.asarray(block.weight @ rows.posterior.astype(np.float64))
    return Expected(rows, ClusterStats(k.transposed_times(block, rows.posterior), mass), 0.0)
