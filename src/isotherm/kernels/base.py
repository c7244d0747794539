"""The contract of a kernel backend: the few loops that touch every non-zero.

Powers, priors and temperatures are folded into the tables before a kernel is called, so a kernel
knows neither models nor temperatures (the leave-one-out twins take `beta`, because they take counts
apart before they raise them to a power). I rows, J columns, K components.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, TypeVar

from numpy.typing import NDArray

from isotherm._types import DType
from isotherm.data.base import Block
from isotherm.data.linked import Links
from isotherm.data.vectors import VectorBlock

Array = NDArray[Any]
BlockT = TypeVar("BlockT", Block, VectorBlock)


class PairSums(NamedTuple):
    """Sums of a posterior per non-zero, `q(k) ~ U[i, k] V[j, k]`.

    `rows` (I, K) and `columns` (J, K): weighted counts times posterior; `log_z`: sum of weight x
    count x log z, where z = sum_k U V. Where a constant c of each non-zero is one more component,
    z of all of a count but one is sum_k U V + c; `rest` is the sum of weight x (count - 1) x c / z.
    """

    rows: Array
    columns: Array
    log_z: float
    rest: float = 0.0


class RowSums(NamedTuple):
    """Sums of a posterior per row, `q(k) ~ prior(k) exp(sum_j n logs[j, k])`.

    `posterior` (I, K), `columns` (J, K): weighted counts times posterior,
    `mass` (K,) float64: weighted posterior, `log_z`: sum of weight x log normaliser.
    """

    posterior: Array
    columns: Array
    mass: Array
    log_z: float


class LeaveOneOut(NamedTuple):
    """Outcome of a leave-one-out E-step: the posterior that replaces the last one, and its sums.

    `posterior` is (nnz, K) for `pair_loo` and (I, K) for `row_loo`; `rows` (I, K) and `columns`
    (J, K) are its weighted sums in float64.
    """

    posterior: Array
    rows: Array
    columns: Array


class PathSums(NamedTuple):
    """Sums of a posterior per row over the leaves of a tree, and of one per non-zero over nodes.

    `posterior` (I, K); `share` (I, K, D): part of each place of a path in the counts of a row;
    `nodes` (J, A) and `levels` (K, D) float64: weighted counts times both posteriors, by node and
    by place; `squares` (J, K) float64: weighted counts times the posterior of the leaf and the
    squared part of the leaf's node; `mass` (K,) float64: weighted posterior; `log_z`: sum of
    weight x log normaliser.
    """

    posterior: Array
    share: Array
    nodes: Array
    squares: Array
    mass: Array
    levels: Array
    log_z: float


class NodeSums(NamedTuple):
    """Sums of a posterior over centres, `q(k) ~ exp(-|x - y_k|^2 / (2 scale))`, all float64.

    `mass` (K,): weighted posterior, or (K, D) by columns where values are missing; `moment` (K, D):
    weighted posterior times x; `log_z`: sum of weight x log normaliser.
    """

    mass: Array
    moment: Array
    log_z: float


class Ascent(NamedTuple):
    """A step of linked rows that never lowers total / within, and what it does to a likelihood.

    `theta` (N, K); `before` and `after`: sum of counts x log theta, of the old and the new rows.
    """

    theta: Array
    before: float
    after: float


class Kernels(Protocol):
    """A backend. Outputs have the backend's dtype unless float64 is promised."""

    @property
    def dtype(self) -> DType:
        """Type of the tables.

        Energies and masses are float64 in every backend. Sums over many rows are added up in
        float64 and may be handed over in the type of the tables.
        """
        ...

    def prepare(self, block: BlockT) -> BlockT:
        """Block as this backend wants it (type of the counts, place of the arrays)."""
        ...

    def power(self, table: Array, beta: float, log_scale: Array) -> Array:
        """`table ** beta * exp(log_scale)`, (R, K) from (R, K) and (K,); beta > 0."""
        ...

    def logs(self, table: Array, factor: float) -> Array:
        """`factor * log(table)`, (R, K) from (R, K); zeros count as 1e-300."""
        ...

    def totals(self, table: Array) -> Array:
        """Sum of each column of a table, (K,) float64 from (R, K)."""
        ...

    def scaled(self, table: Array, factor: Array) -> Array:
        """`table * factor`, (R, K) from (R, K) and (K,)."""
        ...

    def pair(self, block: Block, U: Array, V: Array, rest: Array | None = None) -> PairSums:
        """Posterior per non-zero from row weights (I, K) and column weights (J, K).

        `rest` (nnz,), in row order, is what else may explain each non-zero; nothing by default. It
        explains what is above one of a count: the first token is always of the components.
        """
        ...

    def row(self, block: Block, logs: Array, prior: Array, hard: bool = False) -> RowSums:
        """Posterior per row from column logs (J, K) and log prior (K,) or (I, K).

        With `hard` the posterior is 1 at the largest exponent (the lowest index on ties).
        """
        ...

    def mixed(self, nodes: Array, paths: Array, share: Array) -> Array:
        """Mixtures along paths of a tree: `sum_d share[c, d] nodes[j, paths[c, d]]`, (J, K).

        From nodes (J, A), paths (K, D) with the leaf last and -1 in front of short ones, and
        shares (K, D).
        """
        ...

    def unmixed(self, nodes: Array, sums: Array, paths: Array, share: Array) -> tuple[Array, Array]:
        """Sums (J, K) of leaves dealt to the nodes (J, A) by their parts of the mixture.

        Also their totals by place, (K, D) float64. Where a mixture is 0, by the shares alone.
        """
        ...

    def path(
        self,
        block: Block,
        nodes: Array,
        paths: Array,
        share: Array,
        prior: Array,
        power: float = 1.0,
        hard: bool = False,
        squares: bool = True,
    ) -> PathSums:
        """Posterior per row from mixtures along paths, with shares (I, K, D) of the row's own.

        `q(c) ~ prior(c) prod_j (sum_d share[i, c, d] nodes[j, paths[c, d]]) ** (n power)`, prior
        as logarithms (K,) or (I, K); a mixture of 0 counts as 1e-300, dealt by the shares alone.
        Without `squares`, which only critical temperatures need, those are (J, 0).
        """
        ...

    def times(self, block: Block, V: Array) -> Array:
        """Counts times a table: `sum_j n[i, j] V[j]`, (I, K) float64 from (J, K)."""
        ...

    def transposed_times(self, block: Block, U: Array) -> Array:
        """Weighted counts, transposed, times a table: `sum_i w n[i, j] U[i]`, (J, K) float64."""
        ...

    def dots(self, block: Block, U: Array, V: Array) -> Array:
        """`sum_k U[i, k] V[j, k]` for every non-zero, (nnz,) in row order."""
        ...

    def pair_loo(
        self,
        block: Block,
        rows: Array,
        columns: Array,
        last: Array,
        beta: float,
        temper_prior: bool = False,
    ) -> LeaveOneOut:
        """Leave-one-out twin of `pair`: counts (I, K), (J, K) and the last posterior (nnz, K).

        One token of one copy of each row is taken out, pair by pair (all of a count or weight
        below one).
        `temper_prior` raises the components' weights to the power beta, too.
        """
        ...

    def row_loo(
        self,
        block: Block,
        columns: Array,
        mass: Array,
        last: Array,
        pseudo: Array,
        beta: float,
        temper_prior: bool = False,
    ) -> LeaveOneOut:
        """Leave-one-out twin of `row`: counts (J, K), (K,), last posterior (I, K), pseudo (J,).

        One copy of each row is taken out (all of it where its weight is below one).
        `temper_prior` raises the components' weights to the power beta, too.
        """
        ...

    def nodes(self, block: VectorBlock, centres: Array, scale: float) -> NodeSums:
        """Sums of the posterior of centres (K, D); missing values are left out of distances."""
        ...

    def node_posterior(
        self, block: VectorBlock, centres: Array, scale: float
    ) -> tuple[Array, Array]:
        """The posterior itself, (I, K), and the log normaliser of each row, (I,) float64."""
        ...

    def simplex(self, counts: Array, curvature: Array, slope: Array, last: Array) -> Array:
        """Rows t (I, K) that maximise `sum counts log t - curvature/2 |t|^2 + slope . t`.

        On the simplex, all float64; curvature (I,). Where it is 0, counts divided by their sum
        (and `last` where there are none).
        """
        ...

    def settled(
        self, links: Links, theta: Array, counts: Array, strength: float, rule: str, sweeps: int
    ) -> Array:
        """Linked rows (N, K) after sweeps of Gauss-Seidel by colours, all float64.

        Each row in turn, given its neighbours: `rule` "quadratic" maximises sum counts log t -
        strength sum_j W_ij |t - t_j|^2, "divergence" the same with the symmetric Kullback-Leibler
        divergence, and "linear" is (counts + strength sum_j W_ij t_j) / sum of that.
        """
        ...

    def spread(self, links: Links, theta: Array) -> tuple[float, float]:
        """`sum_{i<j} W_ij |t_i - t_j|^2` and `N sum_i |t_i - mean|^2` of linked rows (N, K)."""
        ...

    def divergence(self, links: Links, theta: Array) -> float:
        """`sum_{i<j} W_ij [KL(t_i || t_j) + KL(t_j || t_i)]` of linked rows (N, K)."""
        ...

    def ascend(self, links: Links, theta: Array, counts: Array, ratio: float) -> Ascent:
        """Linked rows whose `spread` has a larger total / within than `ratio`, that of theta."""
        ...

    def walk(self, counts: Array, start: Array, steps: Array, least: float) -> Array:
        """Rows on the way from start (N, K) to counts divided by their sum.

        The first of the ascending `steps` (S,), the last of them 1, at which sum counts log t is
        at least `least`.
        """
        ...
