"""The contract of a model, and the few formulas that all count models share.

A model is a frozen dataclass of settings without arrays. Its state is two named tuples: parameters
(the same for every block) and rows (first axis = rows of a block). Energies are free energies: a
sweep at fixed temperature never raises their sum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from isotherm._types import (
    Array,
    BlockIn,
    ParamsIn,
    ParamsT,
    Rng,
    RowsT,
    StatsT,
    SummaryIn,
)
from isotherm.data.base import Block, Summary
from isotherm.kernels.base import Kernels
from isotherm.kernels.reference import floored_log
from isotherm.placement.base import Expected

# A component with less than this share of all mass is dead: it keeps its last distribution.
DEAD = 1e-12
# Over-relaxed probabilities are not let below this (0 where EM itself says 0).
FLOOR = 1e-12
# Terms added in single precision before double precision takes over.
RUN = 64
# Random signs with which components are told apart quickly, and components compared at a time.
SIGNS = 16
# Tables of so many rows, no more than this share of whose entries are above 0, as of a vocabulary
# made by hashing: rows of zeros are passed over.
WIDE, SPARSE = 65536, 0.1


class Mixture(NamedTuple):
    """Predictive distribution of every row: `P(y|x) = weights[x] . table[y]`, (I, K) and (J, K)."""

    weights: Array
    table: Array


class Probes(NamedTuple):
    """What may split at a state, and how to find out.

    `components`: which components have a curvature of their own; `n_modes`: how many of the
    largest eigenvalues of each matter; `size`: length of a mode; `dense`: whether the whole matrix
    is cheaper than a Lanczos solve; `tol`: relative accuracy of that.
    """

    components: Array
    n_modes: int
    size: int
    dense: bool = False
    tol: float = 1e-10


class Curvature(Protocol[BlockIn]):
    """Share of a block in the symmetric matrices whose large eigenvalues say what splits."""

    def product(self, block: BlockIn, vectors: Array, k: Kernels) -> Array:
        """Each vector (size, C) times the matrix of its component."""
        ...


class Deviation(NamedTuple):
    """Curvatures C'diag(gain) C of some components over a block.

    C = `values` x `scale` - `shift` x `centre`, where `values` (nnz,) stand on the pattern of the
    counts, `gain` (I, C) and `shift` (I, C) or (I, 1) belong to rows, `scale` and `centre` (J, C)
    to columns, all in the type of the tables. The second term takes the direction out that would
    break the normalisation. A product costs about as much as an E-step with C components. Where
    rows belong to components, gain is to what degree.
    """

    values: Array
    gain: Array
    scale: Array
    shift: Array
    centre: Array

    def product(self, block: Block, vectors: Array, k: Kernels) -> Array:
        """C'diag(weight gain) C v for each component, (J, C) from (J, C)."""
        image = self._image(block, vectors, k)
        image *= self.gain
        back = k.transposed_times(block.with_values(self.values), image)
        back *= self.scale
        back -= self.centre * np.einsum("i,ic,ic->c", block.weight, self.shift, image)
        return back

    def image(self, block: Block, vectors: Array, k: Kernels) -> Array:
        """C v, (I, C) float64."""
        return np.asarray(self._image(block, vectors, k), np.float64)

    def parts(self, image: Array) -> Array:
        """What each row, counted once, adds to v'C'diag(gain) C v, (I, C) float64."""
        return np.asarray(np.asarray(self.gain, np.float64) * image**2)

    def shares(self) -> Array:
        """Share of each row, counted once, in the component, up to a factor of that; (I, C)."""
        return np.asarray(self.gain, np.float64)

    def members(self, block: Block) -> Array:
        """To what degree each row, counted once, is in the component, up to a factor; (I, C)."""
        return self.shares()

    def tokens(self) -> Array:
        """Share of each row, counted once, in the tokens of the component, up to a factor."""
        return np.asarray(self.gain, np.float64) * np.asarray(self.shift, np.float64)

    def holds(self) -> Array:
        """What rows are to be multiplied by for their sum to be 0, (I, C)."""
        return self.gain

    def places(self, image: Array) -> Array:
        """Where the tokens of each row are in a mode in the mean, (I, C) float64."""
        return image * inverse(np.asarray(self.shift, np.float64))

    def own(self, block: Block, rows: Array) -> Array:
        """Eigenvalue that each of some rows (I, C), counted once at most, has by itself, (I, C)."""
        out, light = np.zeros(rows.shape), np.minimum(block.weight, 1.0)
        for c in np.flatnonzero(rows.any(axis=0)):
            gain, scale, shift, centre = (
                np.asarray(one[:, min(c, one.shape[1] - 1)], np.float64) for one in self[1:]
            )
            index = np.flatnonzero(rows[:, c])
            first, last = (np.asarray(block.indptr)[index + more] for more in (0, 1))
            row = np.repeat(np.arange(len(index)), last - first)
            entries = np.arange(len(row)) + np.repeat(last - np.cumsum(last - first), last - first)
            columns = np.asarray(block.indices)[entries]
            image = np.asarray(self.values)[entries] * scale[columns]
            square = np.bincount(row, image**2, len(index))
            cross = np.bincount(row, image * centre[columns], len(index))
            length = square - 2.0 * shift[index] * cross + shift[index] ** 2 * (centre @ centre)
            out[index, c] = light[index] * gain[index] * length
        return out

    def taken(self, index: Array) -> Self:
        """Those of some of the components."""
        gain, scale, shift, centre = (
            part if part.shape[1] == 1 else np.take(part, index, axis=1) for part in self[1:]
        )
        return self._replace(gain=gain, scale=scale, shift=shift, centre=centre)

    def without(self, rows: Array) -> Self:
        """The same without some rows, (I, C) bool."""
        return self._replace(gain=self.gain * (~rows).astype(self.gain.dtype))

    def sums(self, block: Block, k: Kernels) -> tuple[Array, Array]:
        """Sums of rows and of their tokens, of which `centre` is the quotient: (J, C), (C,)."""
        holds = self.holds()
        rows = k.transposed_times(block.with_values(self.values), holds) * self.scale
        return rows, np.einsum("i,ic,ic->c", block.weight, holds, self.shift)

    def _image(self, block: Block, vectors: Array, k: Kernels) -> Array:
        image = k.times(block.with_values(self.values), self.scale * vectors)
        image -= self.shift * np.einsum("jc,jc->c", self.centre, vectors, dtype=np.float64)
        return image


class Model(Protocol[ParamsT, RowsT, StatsT, BlockIn, SummaryIn]):
    """What the engine asks of a model: `Model[Params, Rows, Stats]`, its own named tuples.

    `Block` and `Summary`, of counts or of vectors, may follow.
    """

    @property
    def n_components(self) -> int:
        """Number of components K at the start."""
        ...

    @property
    def zero_temperature(self) -> float:
        """Temperature at which posteriors become hard; schedules cool towards it."""
        ...

    @property
    def rows_are_parameters(self) -> bool:
        """Whether rows are parameters, `rows / params.row_mass`, and over-relaxed as such."""
        ...

    @property
    def monotone(self) -> bool:
        """Whether a plain sweep never raises the energy; if not, sweeps are never over-relaxed."""
        ...

    def hot(self) -> Model:
        """The one-component model that this one is above its first critical temperature."""
        ...

    def collapsed(self, summary: SummaryIn, dtype: DTypeLike) -> ParamsT:
        """Parameters with every component at the mean of the data."""
        ...

    def start(self, params: ParamsT, block: BlockIn, k: Kernels) -> RowsT:
        """Rows before the first E-step."""
        ...

    def expect(
        self, params: ParamsT, rows: RowsT, block: BlockIn, temperature: float, k: Kernels
    ) -> Expected[RowsT, StatsT]:
        """E-step on a block: new rows, statistics that add up, share of the free energy."""
        ...

    def maximize(
        self, stats: StatsT, params: ParamsT, temperature: float, k: Kernels
    ) -> tuple[ParamsT, float]:
        """M-step: new parameters, and the part of their energy that no block can see."""
        ...

    def prior_energy(self, params: ParamsT, summary: SummaryIn) -> float:
        """The part of the energy of any parameters that no block can see."""
        ...

    def project(self, relaxed: ParamsT, reached: ParamsT) -> ParamsT:
        """Valid parameters next to `relaxed`, an extrapolation past the EM point `reached`."""
        ...

    def perturb(self, params: ParamsT, rng: Rng, noise: float) -> ParamsT:
        """Parameters with every component moved by relative noise, normalised again."""
        ...

    def log_likelihood(self, params: ParamsT, rows: RowsT, block: BlockIn, k: Kernels) -> float:
        """Log-likelihood of a block at T = 1."""
        ...

    def sizes(self, params: ParamsT) -> tuple[int, int]:
        """Number of components, and of those that are distinct."""
        ...

    def probes(self, params: ParamsT) -> Probes:
        """What may split next."""
        ...

    def deviation(
        self,
        params: ParamsT,
        rows: RowsT,
        block: BlockIn,
        temperature: float,
        components: Array,
        k: Kernels,
    ) -> Curvature[BlockIn]:
        """Curvatures of some components (C,) over a block."""
        ...

    def critical_temperature(self, singular: float) -> float:
        """Temperature below which a mode splits whose eigenvalue has this square root."""
        ...


class FoldingModel(Protocol[ParamsIn, RowsT, BlockIn]):
    """What folding in asks of a model: a start of rows, and E-steps under fixed parameters."""

    def start(self, params: ParamsIn, block: BlockIn, k: Kernels) -> RowsT:
        """Rows before the first E-step."""
        ...

    def expect(
        self, params: ParamsIn, rows: RowsT, block: BlockIn, temperature: float, k: Kernels
    ) -> Expected[RowsT]:
        """E-step on a block."""
        ...


class CountModel(
    Model[ParamsT, RowsT, StatsT, BlockIn, Summary], Protocol[ParamsT, RowsT, StatsT, BlockIn]
):
    """A model of counts: what starts, held-out scores and estimators ask besides."""

    def init(self, summary: Summary, table: Array) -> ParamsT:
        """Parameters with equal weights and the given column distributions (J, K)."""
        ...

    def mixture(self, params: ParamsT, rows: RowsT) -> Mixture:
        """Predictive distribution of the rows of a block."""
        ...

    def predicted(self, params: ParamsT, rows: RowsT, block: BlockIn, k: Kernels) -> Array:
        """P(y|x) of every non-zero of a block, (nnz,) float64."""
        ...

    def tuned(
        self, params: ParamsT, score: Callable[[ParamsT], float]
    ) -> tuple[CountModel, ParamsT]:
        """The model with what no E-step can tell, where the score of its parameters is lowest."""
        ...

    def components(self, params: ParamsT) -> tuple[Array, Array]:
        """Weights (K,) and distributions (J, K) of the components."""
        ...

    def for_new_rows(self) -> FoldingModel[ParamsT]:
        """The model whose E-step rows are given that the parameters were not fitted to."""
        ...


class GrowingModel(
    CountModel[ParamsT, RowsT, StatsT, BlockIn], Protocol[ParamsT, RowsT, StatsT, BlockIn]
):
    """A model of counts whose components may split: what growing asks besides."""

    def sized(self, n_components: int) -> GrowingModel:
        """The same model with another number of components; they share pseudo-counts."""
        ...

    def pushed(self, params: ParamsT, moves: Array) -> ParamsT:
        """Parameters with the distributions multiplied by exp(moves), (J, K)."""
        ...


def expect(
    k: Kernels,
    block: BlockIn,
    rows: RowsT,
    model: Model[ParamsT, RowsT, StatsT, BlockIn],
    params: ParamsT,
    temperature: float,
) -> Expected[RowsT, StatsT]:
    """The E-step of a model as a task of a sweep."""
    return model.expect(params, rows, block, temperature, k)


class WordTopics(Protocol):
    """Parameters, as a named tuple, with column distributions (J, K)."""

    @property
    def word_topic(self) -> Array:
        """P(y|k), (J, K)."""
        ...

    def _replace(self, *, word_topic: Array) -> Self: ...


WithTopics = TypeVar("WithTopics", bound=WordTopics)


class Topics:
    """What every model of counts does alike, in terms of `init`, `mixture` and `components`."""

    @property
    def monotone(self) -> bool:
        """EM: the free energy never rises."""
        return True

    def for_new_rows(self: FoldingModel) -> FoldingModel:
        """The same model."""
        return self

    def collapsed(self: CountModel[ParamsT], summary: Summary, dtype: DTypeLike) -> ParamsT:
        """Every component is the marginal distribution of the columns."""
        marginal = unigram(summary).astype(dtype)
        return self.init(summary, np.repeat(marginal[:, None], self.n_components, axis=1))

    def log_likelihood(
        self: CountModel[ParamsT, RowsT], params: ParamsT, rows: RowsT, block: Block, k: Kernels
    ) -> float:
        """Sum of n log P(y|x) over the tokens of a block."""
        p = self.predicted(params, rows, block, k)
        return float(block.weighted @ floored_log(p))

    def tuned(
        self: CountModel[ParamsT], params: ParamsT, score: Callable[[ParamsT], float]
    ) -> tuple[CountModel, ParamsT]:
        """As it is: EM tells all that there is."""
        return self, params

    def predicted(
        self: CountModel[ParamsT, RowsT], params: ParamsT, rows: RowsT, block: Block, k: Kernels
    ) -> Array:
        """P(y|x) = sum_k P(k|x) P(y|k) of every non-zero, (nnz,) float64."""
        return k.dots(block, *self.mixture(params, rows)).astype(np.float64)

    def sizes(self: CountModel[ParamsT], params: ParamsT) -> tuple[int, int]:
        """Number of components, and of those that are distinct."""
        weight, table = self.components(params)
        return len(weight), len(distinct_components(weight, table))

    def pushed(self, params: WithTopics, moves: Array) -> WithTopics:
        """Parameters with P(y|k) multiplied by exp(moves), (J, K), and normalised."""
        return params._replace(word_topic=normalized(params.word_topic * np.exp(moves)))

    def probes(self: CountModel[ParamsT], params: ParamsT) -> Probes:
        """Every distinct component has one critical temperature."""
        weight, table = self.components(params)
        return Probes(distinct_components(weight, table), 1, len(table), len(table) < 3)


def unigram(summary: Summary) -> Array:
    """Marginal distribution of the columns, (J,)."""
    return np.asarray(summary.column_totals / summary.total)


def jitter(table: Array, rng: np.random.Generator, noise: float) -> Array:
    """Distributions (J, K) multiplied by exp(noise x normal) and normalised."""
    normal, filled = rng.standard_normal(table.shape, dtype=np.float32), filled_rows(table)
    if filled is not None:
        moved = table[filled] * np.exp(noise * normal[filled])
        return _among_zeros(normalized(moved).astype(table.dtype, copy=False), filled, table)
    moved = table * np.exp(noise * normal)
    return normalized(moved).astype(table.dtype, copy=False)


def filled_rows(table: Array) -> Array | None:
    """Rows of a wide table (J, K) that are not all 0, where those are few; else None."""
    wide = isinstance(table, np.ndarray) and table.ndim == 2 and len(table) >= WIDE
    if not wide:
        return None
    # Numpy finds what is true a good deal faster than what is not 0.
    mask = (table != 0).ravel()
    if np.count_nonzero(mask) > SPARSE * mask.size:
        return None
    return np.unique(np.flatnonzero(mask) // table.shape[1])


def sums_of_rows(table: Array) -> Array:
    """Sum of each row of a table (J, K), (J,) float64."""
    filled = filled_rows(table)
    if filled is None:
        whole: Array = table.sum(axis=1, dtype=np.float64)
        return whole
    sums = np.zeros(len(table))
    sums[filled] = table[filled].sum(axis=1, dtype=np.float64)
    return sums


def with_rows_added(table: Array, added: Array) -> Array:
    """Table (J, K) with a number (J,) added to each row; that of a row of zeros has to be 0."""
    filled = filled_rows(table)
    if filled is not None:
        part = with_rows_added(table[filled], added[filled])
        return _among_zeros(part, filled, table)
    whole: Array = table + added[:, None].astype(table.dtype)
    return whole


def _among_zeros(part: Array, rows: Array, like: Array) -> Array:
    """Table of the shape of another, with the given rows and zeros elsewhere."""
    table = np.zeros(like.shape, part.dtype)
    table[rows] = part
    return table


def normalized(table: Array) -> Array:
    """Table (J, K) or (K,) with columns that sum to one."""
    filled = filled_rows(table)
    if filled is not None:
        return _among_zeros(normalized(table[filled]), filled, table)
    total = mass_of(table) if table.ndim == 2 else table.sum(axis=0, dtype=np.float64)
    return np.asarray(table / np.where(total > 0, total, 1.0).astype(table.dtype))


def mass_of(sums: Array) -> Array:
    """Sum of each component over the columns, (K,) float64 from (J, K).

    Runs of RUN rows are added in the table's own type, which is twice as fast, and the runs in
    double precision.
    """
    whole = len(sums) // RUN * RUN
    runs = sums[:whole].reshape(-1, RUN, sums.shape[1]).sum(axis=1)
    total: Array = runs.sum(axis=0, dtype=np.float64) + sums[whole:].sum(axis=0, dtype=np.float64)
    return total


def distributions(sums: Array, mass: Array, last: Array, k: Kernels) -> Array:
    """P(y|k) from sums (J, K) of total (K,); a dead component keeps its last distribution."""
    alive = mass > DEAD * mass.sum()
    inverse = 1.0 / np.where(alive, mass, 1.0)
    filled = filled_rows(sums)
    if filled is None:
        table = k.scaled(sums, inverse).astype(last.dtype, copy=False)
    else:
        part = k.scaled(sums[filled], inverse).astype(last.dtype, copy=False)
        table = _among_zeros(part, filled, sums)
    if not alive.all():
        table[:, ~alive] = last[:, ~alive]
    return table


def floored(relaxed: Array, reached: Array) -> Array:
    """Distributions with entries at least FLOOR where EM leaves any mass, 0 elsewhere."""
    filled = filled_rows(reached)
    if filled is not None:
        return _among_zeros(floored(relaxed[filled], reached[filled]), filled, reached)
    return normalized(np.where(reached > 0, np.maximum(relaxed, FLOOR), 0).astype(relaxed.dtype))


def held_back(relaxed: Array, reached: Array) -> Array:
    """Relaxed weights (K,) that keep at least a tenth of the EM value: none is killed by a step."""
    return normalized(np.maximum(relaxed, 0.1 * reached))


def inverse(values: Array) -> Array:
    """One over each value, and 0 where the value is 0."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


def distinct_components(weight: Array, table: Array, threshold: float = 0.02) -> Array:
    """Indices of components that differ from every earlier one of them, as `leaders` says."""
    return np.flatnonzero(leaders(weight, table, threshold) == np.arange(len(weight)))


def leaders(weight: Array, table: Array, threshold: float = 0.02) -> Array:
    """For each component the first one that it coincides with, itself if there is none, (K,).

    Two components are one when the L1 distance of their distributions (J, K) is at most the
    threshold. Dead components (weight zero) go with the first that is alive.
    """
    alive = np.flatnonzero(weight > DEAD)
    # Sums of the columns with signs differ by no more than the L1 distance: they tell nearly all
    # pairs apart at the price of a few columns.
    # Columns of the data that never occur have no part in it.
    filled = filled_rows(table)
    if filled is None:
        filled = np.flatnonzero(table.any(axis=1))
    table = table if len(filled) == len(table) else table[filled]
    signs = np.random.default_rng(0).integers(0, 2, (SIGNS, len(table)), np.int8) * 2 - 1
    sums = signs.astype(table.dtype) @ table[:, alive]
    found: list[int] = []
    answer = np.full(len(weight), alive[0] if len(alive) else 0)
    for c in range(len(alive)):
        near = np.abs(sums[:, found] - sums[:, c, None]).max(axis=0) <= threshold + 1e-5
        maybe = [leader for leader, close in zip(found, near, strict=True) if close]
        first = _first_within(table, alive[c], alive[maybe], threshold)
        first = c if first is None else maybe[first]
        if first == c:
            found.append(c)
        answer[alive[c]] = alive[first]
    return answer


def _first_within(table: Array, one: int, others: Array, threshold: float) -> int | None:
    """Number of the first of some columns that one column is no further from than the threshold."""
    for lo in range(0, len(others), SIGNS):
        gaps = np.abs(table[:, others[lo : lo + SIGNS]] - table[:, one, None]).sum(axis=0)
        within = np.flatnonzero(gaps <= threshold)
        if len(within):
            return lo + int(within[0])
    return None
