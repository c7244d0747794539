"""Kernels in plain numpy, float64: slow, short, and what every other backend is held to.

Materialises (nnz, K) arrays on purpose: the formulas of the papers, nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp, softmax

from isotherm._types import DType
from isotherm.data.base import Block
from isotherm.data.vectors import VectorBlock
from isotherm.kernels.base import Array, BlockT, LeaveOneOut, NodeSums, PairSums, PathSums, RowSums
from isotherm.kernels.linked_reference import LinkedReference

LOG_FLOOR = float(np.log(1e-300))
# Column totals are sums of rounded posteriors: "seen only here" means equal up to this.
ONCE = 1e-5


@dataclass(frozen=True)
class Reference(LinkedReference):
    """Reference backend; satisfies `isotherm.kernels.base.Kernels`."""

    @property
    def dtype(self) -> DType:
        """Always float64."""
        return np.dtype(np.float64)

    def prepare(self, block: BlockT) -> BlockT:
        """Block with float64 values."""
        return of_type(block, self.dtype)

    def power(self, table: Array, beta: float, log_scale: Array) -> Array:
        """`table ** beta * exp(log_scale)`."""
        return np.asarray(table, np.float64) ** beta * np.exp(log_scale)

    def logs(self, table: Array, factor: float) -> Array:
        """`factor * log(table)`."""
        return factor * floored_log(table)

    def totals(self, table: Array) -> Array:
        """Sum of each column of a table, (K,)."""
        sums: Array = np.asarray(table, np.float64).sum(axis=0)
        return sums

    def scaled(self, table: Array, factor: Array) -> Array:
        """`table * factor`."""
        return np.asarray(table, np.float64) * factor

    def pair(self, block: Block, U: Array, V: Array, rest: Array | None = None) -> PairSums:
        """Posterior per non-zero, in log space throughout (Hofmann & Puzicha eqs. 5, 40)."""
        i, j = block.row_of, block.indices
        heavy = block.values * block.weight[i]
        exponent = floored_log(U)[i] + floored_log(V)[j]
        log_z, left = logsumexp(exponent, axis=1), 0.0
        share, energy = np.exp(exponent - log_z[:, None]), float(heavy @ log_z)
        if rest is not None:
            again = np.maximum(block.values - 1.0, 0.0) * block.weight[i]
            log_rest = _log(np.asarray(rest, np.float64))
            both = np.logaddexp(log_z, log_rest)
            left, energy = (
                float(again @ np.exp(log_rest - both)),
                float(energy + again @ (both - log_z)),
            )
            heavy = heavy - again + again * np.exp(log_z - both)
        share *= heavy[:, None]
        return PairSums(
            _add_at(i, share, block.n_rows), _add_at(j, share, block.n_columns), energy, left
        )

    def row(self, block: Block, logs: Array, prior: Array, hard: bool = False) -> RowSums:
        """Posterior per row (Hofmann & Puzicha eqs. 15, 41)."""
        i, j = block.row_of, block.indices
        scores = prior + _add_at(i, block.values[:, None] * logs[j], block.n_rows)
        posterior, log_z = _posterior(scores, hard)
        heavy = posterior * block.weight[:, None]
        columns = _add_at(j, block.values[:, None] * heavy[i], block.n_columns)
        return RowSums(posterior, columns, heavy.sum(axis=0), float(block.weight @ log_z))

    def mixed(self, nodes: Array, paths: Array, share: Array) -> Array:
        """Mixtures along paths (Hofmann & Puzicha eq. 34)."""
        return np.asarray((share * nodes[:, paths]).sum(axis=2))

    def unmixed(self, nodes: Array, sums: Array, paths: Array, share: Array) -> tuple[Array, Array]:
        """Sums of leaves dealt to the nodes of their paths."""
        joint = sums[:, :, None] * _parts(share * nodes[:, paths], share)
        out = np.zeros(nodes.shape)
        np.add.at(out.T, paths, joint.transpose(1, 2, 0))
        return out, joint.sum(axis=0)

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
        """Posterior per row from mixtures of its own along paths (eqs. 35, 36, 38)."""
        i, j = block.row_of, block.indices
        n = block.values.astype(np.float64)
        terms = share[i] * nodes[j][:, paths]
        parts = _parts(terms, share[i])
        scores = _add_at(i, n[:, None] * floored_log(terms.sum(axis=2)), block.n_rows)
        posterior, log_z = _posterior(prior + power * scores, hard)
        counts = np.zeros(share.shape)
        np.add.at(counts, i, n[:, None, None] * parts)
        totals = counts.sum(axis=2, keepdims=True)
        new = np.divide(counts, totals, out=np.array(share, np.float64), where=totals > 0)
        heavy = posterior * block.weight[:, None]
        joint = (n[:, None] * heavy[i])[:, :, None] * parts
        sums = np.zeros((block.n_columns, nodes.shape[1]))
        np.add.at(sums, (j[:, None, None], paths), joint)
        leaf = joint[:, :, -1] * parts[:, :, -1]
        square = _add_at(j, leaf if squares else leaf[:, :0], block.n_columns)
        mass, energy = heavy.sum(axis=0), float(block.weight @ log_z)
        return PathSums(posterior, new, sums, square, mass, joint.sum(axis=0), energy)

    def times(self, block: Block, V: Array) -> Array:
        """Counts times a table."""
        return _add_at(block.row_of, block.values[:, None] * V[block.indices], block.n_rows)

    def transposed_times(self, block: Block, U: Array) -> Array:
        """Weighted counts, transposed, times a table."""
        i = block.row_of
        heavy = (block.values * block.weight[i])[:, None]
        return _add_at(block.indices, heavy * U[i], block.n_columns)

    def dots(self, block: Block, U: Array, V: Array) -> Array:
        """Dot products on the pattern of the counts."""
        return np.asarray((U[block.row_of] * V[block.indices]).sum(axis=1))

    def pair_loo(
        self,
        block: Block,
        rows: Array,
        columns: Array,
        last: Array,
        beta: float,
        temper_prior: bool = False,
    ) -> LeaveOneOut:
        """One token of each dyad taken out of the counts (Hofmann & Puzicha eqs. 42-45)."""
        i, j = block.row_of, block.indices
        heavy = block.values * block.weight[i]
        token = np.minimum(1.0, block.values)
        # All copies of a row are in its own counts and lose the token; columns lose it once.
        own = last * (token * block.weight[i])[:, None]
        copy = token * np.minimum(1.0, block.weight)[i]
        out = last * copy[:, None]
        mass = columns.sum(axis=0)
        left = np.maximum(mass - out, 0.0)
        # An object seen once has nothing left to say: its factor drops out.
        row_left = block.row_totals[i] > token * (1 + ONCE)
        column_left = columns.sum(axis=1)[j] > copy * (1 + ONCE)
        ratios = _ratio(rows[i] - own, left) ** row_left[:, None]
        ratios *= _ratio(columns[j] - out, left) ** column_left[:, None]
        exponent = (beta if temper_prior else 1.0) * _log(left) + beta * _log(ratios)
        nothing = np.isneginf(exponent.max(axis=1))
        exponent[nothing] = _log(mass)
        posterior = softmax(exponent, axis=1)
        share = heavy[:, None] * posterior
        return LeaveOneOut(
            posterior, _add_at(i, share, block.n_rows), _add_at(j, share, block.n_columns)
        )

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
        """Each row's own counts taken out of the clusters' counts (eqs. 46, 47)."""
        i, j = block.row_of, block.indices
        n = block.values[:, None]
        # A row that counts more than once leaves its other copies behind.
        copy = np.minimum(1.0, block.weight)
        share = last * copy[:, None]
        column_left = columns.sum(axis=1)[j] > block.values * copy[i] * (1 + ONCE)
        totals = columns.sum(axis=0) - share * block.row_totals[:, None] + pseudo.sum()
        left = columns[j] - share[i] * n + pseudo[j][:, None]
        terms = n * (floored_log(left) - floored_log(totals)[i])
        terms[~column_left] = 0.0
        prior = (beta if temper_prior else 1.0) * floored_log(mass - share)
        exponent = prior + beta * _add_at(i, terms, block.n_rows)
        posterior = softmax(exponent, axis=1)
        heavy = posterior * block.weight[:, None]
        return LeaveOneOut(
            posterior, heavy, _add_at(j, block.values[:, None] * heavy[i], block.n_columns)
        )

    def nodes(self, block: VectorBlock, centres: Array, scale: float) -> NodeSums:
        """Sums of the posterior over centres, all distances at once."""
        posterior, log_z = self.node_posterior(block, centres, scale)
        heavy = posterior * block.weight[:, None]
        mass = heavy.sum(axis=0) if block.present is None else heavy.T @ block.present
        return NodeSums(mass, heavy.T @ block.values, float(block.weight @ log_z))

    def node_posterior(
        self, block: VectorBlock, centres: Array, scale: float
    ) -> tuple[Array, Array]:
        """Posterior over centres (I, K), log normalisers (I,)."""
        gap = block.values[:, None, :] - centres
        if block.present is not None:
            gap *= block.present[:, None, :]
        exponent = -(gap**2).sum(axis=2) / (2.0 * scale)
        return softmax(exponent, axis=1), logsumexp(exponent, axis=1)


def of_type(block: BlockT, dtype: DType) -> BlockT:
    """Block with values of a type."""
    if isinstance(block, VectorBlock) and block.present is not None:
        present = block.present.astype(dtype)
        return replace(block, values=block.values.astype(dtype), present=present)
    return replace(block, values=block.values.astype(dtype))


def floored_log(table: Array) -> Array:
    """Logarithm, not below log 1e-300; on a device where the table is on one."""
    logs: Array = np.maximum(_log(table), LOG_FLOOR)
    return logs


def _posterior(scores: Array, hard: bool) -> tuple[Array, Array]:
    """Softmax of scores (I, K), or one at the largest; log normalisers (I,)."""
    if hard:
        return np.eye(scores.shape[1])[scores.argmax(axis=1)], scores.max(axis=1)
    return softmax(scores, axis=1), logsumexp(scores, axis=1)


def _parts(terms: Array, share: Array) -> Array:
    """Part of each term in the sum over the last axis; the shares where that is 0."""
    total = terms.sum(axis=-1, keepdims=True)
    plain = np.array(np.broadcast_to(share, terms.shape), np.float64)
    return np.asarray(np.divide(terms, total, out=plain, where=total > 0))


def _log(x: Array) -> Array:
    with np.errstate(divide="ignore"):
        logs: Array = np.log(np.maximum(x, 0))
    return logs


def _ratio(part: Array, whole: Array) -> Array:
    """`part / whole`, clipped at 0, and 0 where the whole is 0."""
    return np.divide(np.maximum(part, 0.0), whole, out=np.zeros_like(whole), where=whole > 0)


def _add_at(index: Array, terms: Array, size: int) -> Array:
    sums = np.zeros((size, terms.shape[1]))
    np.add.at(sums, index, terms)
    return sums
