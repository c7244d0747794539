"""Hierarchical clustering: every row belongs to a leaf of a tree, every count to a node above it.

P(row x) = sum_c P(c) prod_y [sum_{a on the path to c} w(a;x,c) P(y|a)]^n(x,y); Hofmann & Puzicha
1998, eqs. 33-39. Rows are tempered by T, nodes by a temperature of their own (1 by default).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from isotherm._types import RowStates, Stats
from isotherm.data.base import Array, Block, Summary
from isotherm.errors import IsothermError
from isotherm.kernels.base import Kernels
from isotherm.kernels.reference import floored_log
from isotherm.models.base import (
    Curvature,
    Deviation,
    Mixture,
    Topics,
    distributions,
    floored,
    held_back,
    inverse,
    jitter,
    normalized,
)
from isotherm.models.cluster import log_weights
from isotherm.models.row_mixture import ClusterRows, ClusterStats
from isotherm.placement.base import Expected
from isotherm.tree import paths_of

WEIGHTS = ("uniform", "cluster", "full")
# A column of which a leaf has less than this part is dying out of it: it neither grows nor shrinks.
NEGLIGIBLE = 1e-6


class HierarchyParams(NamedTuple):
    """`weight` (K,) P(c); `share` (K, D) w(a;c); `tokens` (A,); `word_node` (J, A) P(y|a).

    Shares stand at the places of a path, the leaf last. With weights of the rows' own they are the
    means of these, and `square` (J, K) holds the counts times the squared part of the leaf, which
    critical temperatures need; else it is empty.
    """

    weight: Array
    share: Array
    tokens: Array
    word_node: Array
    square: Array


class HierarchyRows(NamedTuple):
    """`posterior` (I, K): Q(c|x) of the last E-step; `share` (I, K, D): w(a;x,c)."""

    posterior: Array
    share: Array


class NodeStats(NamedTuple):
    """`word` (J, A), `levels` (K, D): counts by node, by place; `mass` (K,): rows; `square`."""

    word: Array
    levels: Array
    mass: Array
    square: Array


@dataclass(frozen=True)
class Hierarchy(Topics):
    """Hierarchical clustering on a given tree.

    Parameters
    ----------
    parents : tuple of int, (A,)
        Parent of each node, -1 for a root (without inner nodes: for every leaf).
    leaves : tuple of int, (K,)
        Node of each cluster.
    weights : {"uniform", "cluster", "full"}
        Weights of the nodes on a path: all the same, P(a|c), or P(a|x,c) of every row.
    aspect_temperature : float or "tied"
        Temperature of the nodes; "tied" is that of the rows (eq. 52).
    temper_prior : bool
        Temper P(c) with the likelihood.
    held_out : bool
        The counts have their columns twice: the second half are other tokens of the same rows, from
        which P(a|c) is taken instead ("cluster" only). The free energy may then rise.
    critical : bool
        Keep what critical temperatures of leaves with weights "full" are computed from; a sweep
        then takes about a quarter longer. The others need nothing more.
    """

    parents: tuple[int, ...]
    leaves: tuple[int, ...]
    weights: str = "uniform"
    aspect_temperature: float | str = 1.0
    temper_prior: bool = False
    held_out: bool = False
    critical: bool = False

    def __post_init__(self) -> None:
        """Refuse weights that there are not."""
        if self.weights not in WEIGHTS:
            raise IsothermError(f"weights is {self.weights!r}; it must be one of {list(WEIGHTS)}")
        if self.held_out and self.weights != "cluster":
            raise IsothermError(
                f"weights is {self.weights!r}; held-out tokens serve weights='cluster' only"
            )
        given = self.aspect_temperature
        if given != "tied" and not (isinstance(given, float | int) and given > 0):
            raise IsothermError(
                f"aspect_temperature is {given!r}; it must be a number above 0 or 'tied'"
            )

    @property
    def n_components(self) -> int:
        """Number of leaves K."""
        return len(self.leaves)

    @property
    def zero_temperature(self) -> float:
        """Zero: no offset."""
        return 0.0

    @property
    def rows_are_parameters(self) -> bool:
        """Rows are not over-relaxed."""
        return False

    @property
    def monotone(self) -> bool:
        """EM, unless the weights come from other tokens."""
        return not self.held_out

    @property
    def fold_sweeps(self) -> int:
        """Sweeps for the weights of a new row: one, because weights of its own overfit at once."""
        return 1

    @cached_property
    def paths(self) -> Array:
        """Nodes of each path, the leaf last, -1 in front of short ones, (K, D)."""
        found = paths_of(self.parents, self.leaves)
        depth = max(len(path) for path in found)
        return np.array([[-1] * (depth - len(path)) + list(path) for path in found])

    def hot(self) -> Hierarchy:
        """A single node: above the first critical temperature all nodes are alike."""
        return Hierarchy((-1,), (0,))

    def init(self, summary: Summary, table: Array) -> HierarchyParams:
        """Equal P(c), leaves with the given distributions (J, K)."""
        K = self.n_components
        if self.held_out and len(table) == len(summary.column_totals):
            table = normalized(table[: len(table) // 2])
        return self.begun(np.full(K, 1.0 / K), table, summary.total)

    def begun(self, weight: Array, table: Array, total: float) -> HierarchyParams:
        """Parameters from clusters: inner nodes are means of their leaves, weights uniform.

        Parameters
        ----------
        weight : (K,), P(c)
        table : (J, K), P(y|c)
        total : float, number of tokens
        """
        real = self.paths >= 0
        share = real / real.sum(axis=1, keepdims=True)
        member = self._along(np.ones(self.paths.shape))
        heavy = member * weight[:, None]
        # A node whose leaves all have weight 0 is their plain mean.
        heavy = np.where(heavy.sum(axis=0) > 0, heavy, member)
        nodes = (table @ (heavy / heavy.sum(axis=0))).astype(table.dtype)
        tokens = total * (weight[:, None] * self._along(share)).sum(axis=0)
        kept = self.weights == "full" and self.critical
        square = np.zeros((len(table) if kept else 0, len(weight)))
        return HierarchyParams(np.asarray(weight), share, tokens, nodes, square)

    def start(
        self, params: HierarchyParams, block: Block, k: Kernels
    ) -> HierarchyRows | ClusterRows:
        """Q(c|x) = P(c), and w(a;x,c) = w(a;c)."""
        posterior = np.tile(params.weight, (block.n_rows, 1)).astype(k.dtype)
        if self.weights != "full":
            return ClusterRows(posterior)
        return HierarchyRows(posterior, np.tile(params.share, (block.n_rows, 1, 1)).astype(k.dtype))

    def expect(
        self,
        params: HierarchyParams,
        rows: RowStates,
        block: Block,
        temperature: float,
        k: Kernels,
    ) -> Expected[HierarchyRows | ClusterRows, NodeStats | ClusterStats]:
        """Q(c|x) ~ P(c) exp(Ta/T sum_y n log m(x,y,c)) (eqs. 35, 36); energy -T sum log z."""
        aspect, power = self._powers(temperature)
        hard, scale = temperature == 0, aspect / power
        prior = log_weights(params.weight) / (scale if self.temper_prior else 1.0)
        if hard and not self.temper_prior:
            prior = np.where(np.isfinite(prior), 0.0, prior)
        nodes = self._tempered(params, aspect, k)
        if self.weights == "full":
            own = k.path(block, nodes, self.paths, rows.share, prior, power, hard, self.critical)
            found = NodeStats(own.nodes, own.levels, own.mass, own.squares)
            return Expected(HierarchyRows(own.posterior, own.share), found, -scale * own.log_z)
        mixed = k.mixed(nodes, self.paths, params.share)
        logs = k.logs(mixed, power)
        if self.held_out:
            # Held-out tokens have no say in the posterior, but are summed with it.
            logs = np.concatenate([logs, np.zeros_like(logs)])
        sums = k.row(block, logs, prior, hard=hard)
        stats = ClusterStats(sums.columns, sums.mass)
        return Expected(ClusterRows(sums.posterior), stats, -scale * sums.log_z)

    def maximize(
        self, stats: Stats, params: HierarchyParams, temperature: float, k: Kernels
    ) -> tuple[HierarchyParams, float]:
        """P(y|a), P(c) and w from expected counts (eqs. 37-39)."""
        share, square = params.share, params.square
        if self.weights == "full":
            sums, square = stats.word, stats.square
            share = _shares(stats.levels, share)
        else:
            nodes = self._tempered(params, self._powers(temperature)[0], k)
            n_columns = len(nodes)
            sums, levels = k.unmixed(nodes, stats.word[:n_columns], self.paths, share)
            if self.held_out:
                _, levels = k.unmixed(nodes, stats.word[n_columns:], self.paths, share)
            if self.weights == "cluster":
                share = _shares(levels, share)
        tokens = k.totals(sums)
        table = distributions(sums, tokens, params.word_node, k)
        weight = stats.mass / stats.mass.sum()
        return HierarchyParams(weight, share, tokens, table, square), 0.0

    def prior_energy(self, params: HierarchyParams, summary: Summary) -> float:
        """Zero: no prior."""
        return 0.0

    def project(self, relaxed: HierarchyParams, reached: HierarchyParams) -> HierarchyParams:
        """Weights, shares and distributions made valid again."""
        share = np.maximum(relaxed.share, 0.1 * reached.share)
        return reached._replace(
            weight=held_back(relaxed.weight, reached.weight),
            share=share / share.sum(axis=1, keepdims=True),
            word_node=floored(relaxed.word_node, reached.word_node),
        )

    def perturb(
        self, params: HierarchyParams, rng: np.random.Generator, noise: float
    ) -> HierarchyParams:
        """Noise on P(y|a)."""
        return params._replace(word_node=jitter(params.word_node, rng, noise))

    def mixture(self, params: HierarchyParams, rows: RowStates) -> Mixture:
        """P(y|x) = sum_c Q(c|x) sum_a w(a;x,c) P(y|a): over leaves, over nodes where x has w."""
        if self.weights != "full":
            return Mixture(rows.posterior, self.components(params)[1])
        return Mixture(self.node_weights(params, rows), params.word_node)

    def node_weights(self, params: HierarchyParams, rows: RowStates) -> Array:
        """Weight of every node in the rows, P(a|x) = sum_c Q(c|x) w(a;x,c), (I, A)."""
        posterior = rows.posterior.astype(np.float64)
        if self.weights != "full":
            return np.asarray(posterior @ self._along(params.share))
        joint = (posterior[:, :, None] * rows.share)[:, self.paths >= 0]
        place = np.arange(joint.shape[1])
        shape = (len(place), len(self.parents))
        node = sparse.csr_array(
            (np.ones(len(place)), (place, self.paths[self.paths >= 0])), shape=shape
        )
        return np.asarray(joint @ node)

    def components(self, params: HierarchyParams) -> tuple[Array, Array]:
        """P(c) and P(y|c) = sum_a w(a;c) P(y|a), (J, K)."""
        along = sparse.csr_array(self._along(params.share).astype(params.word_node.dtype))
        return params.weight, np.ascontiguousarray((along @ params.word_node.T).T)

    def log_likelihood(
        self, params: HierarchyParams, rows: RowStates, block: Block, k: Kernels
    ) -> float:
        """Sum of n log P(y|x) over the tokens of a block, held-out ones left out."""
        weights, table = self.mixture(params, rows)
        if self.held_out:
            table = np.concatenate([table, np.ones_like(table)])
        p = k.dots(block, weights, table).astype(np.float64)
        return float(block.weighted @ floored_log(p))

    def deviation(
        self,
        params: HierarchyParams,
        rows: RowStates,
        block: Block,
        temperature: float,
        components: Array,
        k: Kernels,
    ) -> Curvature:
        """sqrt(q) n r / sqrt(d), r the part of the leaf in the mixture, orthogonal to n1 / sqrt(d).

        d = n1 - (n1 - n2) / Ta, n1 = sum_x q n r, n2 = sum_x q n r^2; shares are held.
        """
        aspect = self._powers(temperature)[0]
        leaves = self.paths[components, -1]
        n1 = params.tokens[leaves] * params.word_node[:, leaves].astype(np.float64)
        if self.weights == "full":
            if not self.critical:
                raise IsothermError(
                    "critical temperatures of a hierarchy with weights='full' need critical=True"
                )
            curve = _curve(n1, params.square[:, components], aspect)
            return OwnCurvature(self, params, rows, temperature, np.asarray(components), n1, curve)
        nodes = self._tempered(params, aspect, k).astype(np.float64)
        mixed = nodes @ self._along(params.share)[components].T
        part = params.share[components, -1] * nodes[:, leaves] * inverse(mixed)
        curve = _curve(n1, n1 * part, aspect)
        if self.held_out:
            n1, part, curve = (np.pad(a, ((0, len(a)), (0, 0))) for a in (n1, part, curve))
        gain = rows.posterior[:, components].astype(np.float64)
        return leaf_deviation(block, block.values, gain, part, n1, curve, k)

    def critical_temperature(self, singular: float) -> float:
        """T_c = s_max^2."""
        return singular**2

    def _powers(self, temperature: float) -> tuple[float, float]:
        """Temperature of the nodes Ta, and Ta / T (1 in the hard limit)."""
        if self.aspect_temperature != "tied":
            aspect = float(self.aspect_temperature)
            return aspect, aspect / temperature if temperature > 0 else 1.0
        if not temperature > 0:
            raise IsothermError(
                f"the temperature is {temperature}; with aspect_temperature='tied' it must be "
                "above 0 (set aspect_temperature=1 to cool to the hard limit)"
            )
        return temperature, 1.0

    def _tempered(self, params: HierarchyParams, aspect: float, k: Kernels) -> Array:
        """P(y|a)^(1/Ta), (J, A)."""
        return k.power(params.word_node, 1.0 / aspect, np.zeros(params.word_node.shape[1]))

    def _along(self, share: Array) -> Array:
        """Shares (K, D) by place as shares by node, (K, A)."""
        table = np.zeros((self.n_components, len(self.parents)))
        real = self.paths >= 0
        leaf = np.repeat(np.arange(self.n_components), real.sum(axis=1))
        table[leaf, self.paths[real]] = share[real]
        return table


class OwnCurvature(NamedTuple):
    """Curvatures of leaves where every row has shares of its own; made one at a time."""

    model: Hierarchy
    params: HierarchyParams
    rows: HierarchyRows
    temperature: float
    leaves: Array
    n1: Array
    curve: Array

    def product(self, block: Block, vectors: Array, k: Kernels) -> Array:
        """Each vector (J, C) times the matrix of its leaf."""
        aspect = self.model._powers(self.temperature)[0]
        nodes = self.model._tempered(self.params, aspect, k)
        found = []
        for c, leaf in enumerate(self.leaves):
            path = self.model.paths[leaf][self.model.paths[leaf] >= 0]
            own = self.rows.share[:, leaf, -len(path) :]
            mixed = k.dots(block, own, nodes[:, path]).astype(np.float64)
            share = k.dots(block, own[:, -1:], nodes[:, path[-1:]])
            values = block.values * share * inverse(mixed)
            gain = self.rows.posterior[:, [leaf]].astype(np.float64)
            n1, curve = self.n1[:, [c]], self.curve[:, [c]]
            made = leaf_deviation(block, values, gain, np.ones_like(n1), n1, curve, k)
            found.append(made.product(block, vectors[:, [c]], k))
        return np.concatenate(found, axis=1)


def leaf_deviation(
    block: Block, values: Array, gain: Array, part: Array, n1: Array, curve: Array, k: Kernels
) -> Deviation:
    """Curvatures with `values` x `part` / sqrt(`curve`), orthogonal to v = `n1` / sqrt(`curve`)."""
    root = inverse(np.sqrt(curve))
    centre = n1 * root
    centre = centre * inverse(np.sqrt((centre**2).sum(axis=0)))
    scale = part * root
    shift = k.times(block.with_values(values), scale * centre)
    return Deviation(values, gain, scale, shift, centre)


def _curve(n1: Array, n2: Array, aspect: float) -> Array:
    """n1 - (n1 - n2) / Ta, and 0 for columns that the leaf has no part in any more."""
    curve = n1 - (n1 - n2) / aspect
    return np.where(n2 > NEGLIGIBLE * n1, np.maximum(curve, 0.0), 0.0)


def _shares(levels: Array, last: Array) -> Array:
    """Shares (K, D) from counts by place; the last ones where there are none."""
    total = levels.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(levels, total, out=np.array(last, np.float64), where=total > 0))
