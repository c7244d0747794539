"""Single sweeps, starts and recordings: what the tests of models are written in."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from isotherm import _nested
from isotherm.anneal.callbacks import Callback
from isotherm.anneal.engine import NO_RELAXATION, Annealer, Relaxation
from isotherm.anneal.schedule import Fixed
from isotherm.anneal.start import state_of
from isotherm.anneal.trace import Fit, State
from isotherm.data.base import Block, blocks_of
from isotherm.data.counts import Counts
from isotherm.kernels.base import Kernels
from isotherm.kernels.reference import Reference
from isotherm.models.aspect import AspectParams, AspectRows
from isotherm.models.cluster import Cluster, ClusterParams, ClusterRows, ClusterStats
from isotherm.placement.base import Expected
from isotherm.placement.local import Local
from support.corpora import TOY

Array = NDArray[Any]
PLAIN = Reference()

TOTAL = 119.0  # of the toy counts
# Responsibilities that the clusters start from: even rows lean to cluster 0, odd rows to 1.
LEANING = np.where((np.arange(6) % 2 == 0)[:, None], [0.7, 0.3], [0.3, 0.7])


class Energies(Callback):
    """Keeps the free energy of every sweep."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def on_sweep(self, temperature: float, sweep: int, free_energy: float) -> None:
        self.values.append(free_energy)


def place(matrix: Any, kernels: Kernels = PLAIN, weight: Any = None, bounds: Any = None) -> Local:
    """Counts in one block, or cut at `bounds`."""
    counts = Counts(matrix)
    cuts = np.array([0, counts.n_rows]) if bounds is None else np.asarray(bounds)
    return Local(blocks_of(counts, cuts, weight), kernels)


def poisson_counts(seed: int = 0, shape: tuple[int, int] = (18, 12)) -> Array:
    """Sparse counts with some structure; row 4 and column 5 are empty."""
    rng = np.random.default_rng(seed)
    rates = rng.gamma(0.4, 3.0, shape) + 4.0 * (
        np.arange(shape[0])[:, None] % 3 == np.arange(shape[1]) % 3
    )
    counts = rng.poisson(rates).astype(float)
    counts[4], counts[:, 5] = 0.0, 0.0
    return counts


def random_table(data: Local, K: int, seed: int = 1) -> Array:
    """Random distributions (J, K) over the columns that occur."""
    totals = data.summary.column_totals
    table = np.random.default_rng(seed).uniform(0.5, 1.5, (len(totals), K))
    table *= (totals / totals.sum())[:, None]
    return (table / table.sum(axis=0)).astype(data.kernels.dtype)


def begin(model: Any, data: Local, table: Array | None = None) -> State:
    """State with the given distributions, or random ones."""
    if table is None:
        table = random_table(data, model.n_components)
    return state_of(model, data, model.init(data.summary, table))


def sweep(model: Any, data: Local, state: State, temperature: float) -> tuple[State, float]:
    """State after one EM step, and the free energy before it."""
    rows, stats, energy = data.sweep(expect, state.rows, model, state.params, temperature)
    params, extra = model.maximize(stats, state.params, temperature, data.kernels)
    return State(params, rows, extra), energy + state.extra


def sweeps(
    model: Any, data: Local, state: State, temperature: float, n: int
) -> tuple[State, list[float]]:
    """State after n EM steps, and the free energy before each of them and after the last."""
    energies = []
    for _ in range(n):
        state, energy = sweep(model, data, state, temperature)
        energies.append(energy)
    energies.append(sweep(model, data, state, temperature)[1])
    return state, energies


def posteriors(model: Any, data: Local, state: State, temperature: float) -> Array:
    """First field of the rows after one E-step, (I, K)."""
    return np.asarray(data.gather(sweep(model, data, state, temperature)[0].rows)[0])


def fitted(
    model: Any,
    data: Local,
    state: State,
    temperature: float,
    max_sweeps: int,
    relaxation: Relaxation = NO_RELAXATION,
    tol: float = -1.0,
) -> tuple[Fit, list[float]]:
    """Fit of the engine at one temperature, and the free energies it went through."""
    heard = Energies()
    annealer = Annealer(
        Fixed(temperature), relaxation, tol=tol, max_sweeps=max_sweeps, callbacks=(heard,)
    )
    fit = annealer.run(model, data, np.random.default_rng(0), state=state)
    return fit, heard.values


def log_likelihoods(data: Local, table: Array) -> Array:
    """sum_y n(x,y) log P(y|c) of every row and component, (I, K), from dense counts."""
    return np.asarray(xlogy(dense_counts(data)[:, :, None], table).sum(axis=1))


def dense_counts(data: Local) -> Array:
    """Counts of all blocks as a dense array (I, J)."""
    parts = []
    for block in data.blocks:
        part = np.zeros((block.n_rows, block.n_columns))
        part[block.row_of, block.indices] = block.values
        parts.append(part)
    return np.concatenate(parts)


def same(left: Any, right: Any, rtol: float = 1e-10) -> bool:
    """Whether two named tuples of arrays agree, relative to the largest entry of each field."""
    return all(
        np.allclose(a, b, rtol=rtol, atol=rtol * max(1e-300, float(np.abs(a).max())))
        for a, b in zip(left, right, strict=True)
    )


def permuted(value: Any, order: Array) -> Any:
    """Parameters or rows with the components in another order."""
    return _nested.take(value, order)


def expect(
    k: Kernels, block: Block, rows: Any, model: Any, params: Any, temperature: float
) -> Expected:
    return model.expect(params, rows, block, temperature, k)


def aspect_start(K: int) -> State:
    """P(a) = 1/K, P(x|a) ~ 1 + ((x+1)(a+1) % 3), P(y|a) ~ 1 + ((y+2)(a+1) % 4)."""
    a = np.arange(K)
    p_row = normalized(1.0 + (np.arange(6)[:, None] + 1) * (a + 1) % 3)
    p_column = normalized(1.0 + (np.arange(5)[:, None] + 2) * (a + 1) % 4)
    mass = np.full(K, TOTAL / K)
    params = AspectParams(np.full(K, 1.0 / K), mass, p_column)
    return State(params, (AspectRows(p_row * mass),), 0.0)


def cluster_start(weight: Any = None) -> State:
    """Parameters after an M-step from the leaning responsibilities."""
    stats = ClusterStats(TOY.T @ LEANING, LEANING.sum(axis=0))
    nothing = ClusterParams(np.full(2, 0.5), np.zeros(2), np.full((5, 2), 0.2))
    params, extra = Cluster(2).maximize(stats, nothing, 1.0, Reference())
    if weight is not None:
        params = params._replace(weight=np.asarray(weight))
    return State(params, (ClusterRows(LEANING),), extra)


def normalized(table: Array) -> Array:
    return table / table.sum(axis=0)
