"""The contract of a model, and the few formulas that all count models share.

A model is a frozen dataclass of settings without arrays. Its state is two named tuples: parameters
(the same for every block) and rows (first axis = rows of a block). Energies are free energies: a
sweep at fixed temperature never raises their sum.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from isotherm.data.base import Array, Block, Expected, Summary
from isotherm.kernels.base import Kernels

# A component with less than this share of all mass is dead: it keeps its last distribution.
DEAD = 1e-12
# Over-relaxed probabilities are not let below this (0 where EM itself says 0).
FLOOR = 1e-12
# Terms added in single precision before double precision takes over.
RUN = 64


class Mixture(NamedTuple):
    """Predictive distribution of every row: `P(y|x) = weights[x] . table[y]`, (I, K) and (J, K)."""

    weights: Array
    table: Array


class Deviation(NamedTuple):
    """Centred curvature of one component over a block: `matrix - outer(left, right)`.

    The largest singular value of all blocks stacked decides where the component splits. `matrix`
    sparse (I, J), `left` (I,), `right` (J,); the outer product takes the direction out that would
    break the normalisation.
    """

    matrix: sparse.csr_array[Any]
    left: Array
    right: Array


class Model(Protocol):
    """What the engine asks of a model. `Params`, `Rows` and `Stats` are the model's own tuples."""

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

    def hot(self) -> Model:
        """The one-component model that this one is above its first critical temperature."""
        ...

    def init(self, summary: Summary, table: Array) -> Any:
        """Parameters with equal weights and the given column distributions (J, K)."""
        ...

    def start(self, params: Any, block: Block, k: Kernels) -> Any:
        """Rows before the first E-step."""
        ...

    def expect(
        self, params: Any, rows: Any, block: Block, temperature: float, k: Kernels
    ) -> Expected:
        """E-step on a block: new rows, statistics that add up, share of the free energy."""
        ...

    def maximize(self, stats: Any, params: Any, k: Kernels) -> tuple[Any, float]:
        """M-step: new parameters, and the part of their energy that no block can see."""
        ...

    def prior_energy(self, params: Any, summary: Summary) -> float:
        """The part of the energy of any parameters that no block can see."""
        ...

    def project(self, relaxed: Any, reached: Any) -> Any:
        """Valid parameters next to `relaxed`, an extrapolation past the EM point `reached`."""
        ...

    def perturb(self, params: Any, rng: np.random.Generator, noise: float) -> Any:
        """Parameters with every component moved by relative noise, normalised again."""
        ...

    def mixture(self, params: Any, rows: Any) -> Mixture:
        """Predictive distribution of the rows of a block."""
        ...

    def components(self, params: Any) -> tuple[Array, Array]:
        """Weights (K,) and distributions (J, K) of the components."""
        ...

    def deviation(
        self, params: Any, rows: Any, block: Block, temperature: float, component: int, k: Kernels
    ) -> Deviation:
        """Curvature of one component over a block."""
        ...

    def critical_temperature(self, singular: float) -> float:
        """Temperature below which a component with that largest singular value splits."""
        ...


def unigram(summary: Summary) -> Array:
    """Marginal distribution of the columns, (J,)."""
    return np.asarray(summary.column_totals / summary.total)


def jitter(table: Array, rng: np.random.Generator, noise: float) -> Array:
    """Distributions (J, K) multiplied by exp(noise x normal) and normalised."""
    moved = table * np.exp(noise * rng.standard_normal(table.shape, dtype=np.float32))
    return normalized(moved).astype(table.dtype, copy=False)


def normalized(table: Array) -> Array:
    """Table (J, K) or (K,) with columns that sum to one."""
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
    table = k.scaled(sums, inverse).astype(last.dtype, copy=False)
    if not alive.all():
        table[:, ~alive] = last[:, ~alive]
    return table


def floored(relaxed: Array, reached: Array) -> Array:
    """Distributions with entries at least FLOOR where EM leaves any mass, 0 elsewhere."""
    return normalized(np.where(reached > 0, np.maximum(relaxed, FLOOR), 0).astype(relaxed.dtype))


def held_back(relaxed: Array, reached: Array) -> Array:
    """Relaxed weights (K,) that keep at least a tenth of the EM value: none is killed by a step."""
    return normalized(np.maximum(relaxed, 0.1 * reached))


def on_pattern(values: Array, block: Block) -> sparse.csr_array[Any]:
    """Values (nnz,) on the pattern of a block as a sparse matrix (I, J), float64."""
    shape = (block.n_rows, block.n_columns)
    return sparse.csr_array((values.astype(np.float64), block.indices, block.indptr), shape=shape)
