"""Multiscale EM: coarse levels of tied rows first, each one the start of the next finer level.

Hofmann & Puzicha 1998, section 3.4. The levels are any nested coarsening of the rows; every sweep
is one of the engine's. What a level's data are is the caller's business: the model must accept the
parameters of one level at the next.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from isotherm import _nested
from isotherm.anneal import progress
from isotherm.anneal.engine import Annealer
from isotherm.anneal.start import state_of
from isotherm.anneal.trace import Fit, State, completed
from isotherm.data.base import Array
from isotherm.errors import IsothermError
from isotherm.models.base import Model
from isotherm.placement.base import Data


class Level(NamedTuple):
    """What happened at one level: its blocks, the runs that were kept, and all sweeps.

    `fits` are the runs of the engine that led on, in order; `n_sweeps` counts those of other starts
    as well.
    """

    n_blocks: int
    fits: tuple[Fit, ...]
    n_sweeps: int

    @property
    def site_updates(self) -> int:
        """Posteriors computed: sweeps x blocks."""
        return self.n_blocks * self.n_sweeps


class Multiscale(NamedTuple):
    """Fit of the finest level, and what happened at every level, coarsest first."""

    fit: Fit
    levels: tuple[Level, ...]

    @property
    def site_updates(self) -> int:
        """Posteriors computed at all levels."""
        return sum(level.site_updates for level in self.levels)


def multiscale(
    model: Model,
    place: Callable[[Array], Data],
    ladder: Sequence[Array],
    cooling: Annealer,
    settling: Annealer,
    rng: np.random.Generator,
    *,
    n_starts: int = 1,
) -> Multiscale:
    """Fit of a model through nested levels, the coarsest first.

    Parameters
    ----------
    model : Model
        The same for all levels.
    place : callable
        Data of a level, from the block of each row (I,): one row for each block.
    ladder : sequence of (I,) int arrays, fine to coarse
        Block of each row; see `check_levels`.
    cooling : Annealer
        Run at the coarsest level, from its own start.
    settling : Annealer
        Run at every level after that: at the coarsest from where `cooling` ended, at finer ones
        from the prolonged state of the level before.
    rng : numpy Generator
    n_starts : int
        How often the coarsest level is cooled and settled; the lowest free energy leads on. Blocks
        are few, so that several starts there cost less than a few sweeps at the finest level.
    """
    data = place(ladder[-1])
    starts = []
    for _ in range(n_starts):
        with progress.phase("trying starts", 0.5 / n_starts):
            starts.append(_coarsest(model, data, cooling, settling, rng))
    fits = min(starts, key=lambda pair: pair[1].trace[-1].free_energy)
    done = [_level(ladder[-1], fits, sum(fit.n_sweeps for pair in starts for fit in pair))]
    for above, block_of in itertools.pairwise(reversed(ladder)):
        data = place(block_of)
        state = prolonged(model, data, done[-1].fits[-1].state, parents(block_of, above))
        fit = completed(settling.run(model, data, rng, state=state))
        done.append(_level(block_of, (fit,), fit.n_sweeps))
    return Multiscale(done[-1].fits[-1], tuple(done))


def _coarsest(
    model: Model, data: Data, cooling: Annealer, settling: Annealer, rng: np.random.Generator
) -> tuple[Fit, Fit]:
    cooled = completed(cooling.run(model, data, rng))
    return cooled, completed(settling.run(model, data, rng, state=cooled.state))


def _level(block_of: Array, fits: tuple[Fit, ...], n_sweeps: int) -> Level:
    return Level(int(block_of.max()) + 1, fits, n_sweeps)


def prolonged(model: Model, data: Data, state: State, parent: Array) -> State:
    """State at a finer level: the same parameters, each row with the posterior of its parent.

    Parameters
    ----------
    model : Model
    data : Data
        Of the finer level.
    state : State
        Of the coarser level.
    parent : (M,) int array
        Row of the coarser level that each row of the finer one belongs to.
    """
    begin = state_of(model, data, state.params)
    whole = _nested.apply(lambda a: a[parent], _nested.concatenate(state.rows))
    ends = np.cumsum([0] + [len(block[0]) for block in begin.rows])
    spans = [slice(lo, hi) for lo, hi in itertools.pairwise(ends)]
    rows = tuple(_nested.apply(operator.itemgetter(span), whole) for span in spans)
    return begin._replace(rows=rows)


def check_levels(levels: Sequence[object], n_rows: int) -> list[Array]:
    """Levels fine to coarse, with the one before them at which every row is its own block.

    Parameters
    ----------
    levels : sequence of (I,) int arrays, fine to coarse
        Block of each row. Blocks are numbered from 0 without gaps; rows that one level ties must be
        tied in all that follow.
    n_rows : int
        Number of rows I.
    """
    ladder = [np.arange(n_rows)]
    for number, given in enumerate(levels, 1):
        block_of = np.asarray(given)
        if block_of.shape != (n_rows,) or block_of.dtype.kind not in "iu":
            raise IsothermError(
                f"level {number} has shape {block_of.shape} and type {block_of.dtype} for "
                f"{n_rows} rows; give the block of each row as an integer"
            )
        if not np.array_equal(np.unique(block_of), np.arange(int(block_of.max()) + 1)):
            raise IsothermError(
                f"level {number} has blocks {block_of.min()} to {block_of.max()} with gaps; "
                "number the blocks from 0 and give each of them a row"
            )
        parent = parents(ladder[-1], block_of)
        if not np.array_equal(parent[ladder[-1]], block_of):
            raise IsothermError(
                f"level {number} is not nested: it separates rows that level {number - 1} ties; "
                "every block must be a union of blocks of the finer level before it"
            )
        ladder.append(block_of)
    return ladder


def parents(block_of: Array, above: Array) -> Array:
    """Block of the coarser level that each block of the finer one lies in, (M,) from two (I,)."""
    parent = np.empty(int(block_of.max()) + 1, np.intp)
    parent[block_of] = above
    return parent


def grid_levels(shape: tuple[int, int], n_levels: int) -> list[Array]:
    """Coarsening of a grid (h, w) of rows by 2^l x 2^l blocks, l = 1 to n_levels - 1.

    Blocks at the lower and the right border may be cut off.
    """
    i, j = np.indices(shape)
    ladder = []
    for level in range(1, n_levels):
        width = -(-shape[1] // 2**level)
        ladder.append(((i >> level) * width + (j >> level)).ravel())
    return ladder
