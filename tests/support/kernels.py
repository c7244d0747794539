"""Blocks and tables for the tests of kernels."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import xlogy

from isotherm.data.base import Block, blocks_of
from isotherm.data.counts import Counts
from isotherm.data.linked import Links
from isotherm.kernels.cpu._linked import LEAST
from isotherm.kernels.reference import Reference
from isotherm.tree import Tree
from support.strategies import counts_matrices

Array = NDArray[Any]

# Around the widths of vector registers, so that every kind of remainder loop runs.
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 40)
FUNCTIONS = (
    "power", "logs", "totals", "scaled", "pair", "row", "times", "transposed_times", "dots",
    "pair_loo", "row_loo",
)  # fmt: skip
VECTOR_FUNCTIONS = ("nodes", "node_posterior")
PATH_FUNCTIONS = ("mixed", "unmixed", "path")  # tested in test_path.py
# Tested in test_linked.py.
LINKED_FUNCTIONS = ("simplex", "settled", "spread", "divergence", "ascend", "walk")


class Case(NamedTuple):
    """A block in float64, and for K components: U (I, K), V (J, K), shares (nnz, K) and (I, K)."""

    block: Block
    U: Array
    V: Array
    pair_share: Array
    row_share: Array
    pseudo: Array

    def rounded(self) -> "Case":
        """The case with everything that float32 backends are given rounded to float32."""
        single = np.float32
        block = self.block
        values, weight = block.values.astype(single), block.weight.astype(single).astype(float)
        return Case(
            Block(block.indptr, block.indices, values, weight, block.n_columns),
            self.U.astype(single),
            self.V.astype(single),
            self.pair_share.astype(single),
            self.row_share.astype(single),
            self.pseudo,
        )


def block_of(matrix: Any, weight: Any = None) -> Block:
    """The one block of a dense matrix, float64."""
    counts = Counts(np.asarray(matrix))
    block = blocks_of(counts, np.array([0, counts.n_rows]), weight)[0]
    return Reference().prepare(block)


def case_of(block: Block, K: int, rng: np.random.Generator) -> Case:
    return Case(
        block,
        rng.uniform(1e-3, 1.0, (block.n_rows, K)),
        rng.uniform(1e-3, 1.0, (block.n_columns, K)),
        rng.dirichlet(np.full(K, 0.5), block.nnz),
        rng.dirichlet(np.full(K, 0.5), block.n_rows),
        rng.uniform(0.01, 1.0, block.n_columns),
    )


@st.composite
def cases(draw: st.DrawFn, huge: bool = True) -> Case:
    """Small blocks with odd corners, row weights, and K from 1 to 40."""
    matrix = draw(counts_matrices(huge=huge)).astype(np.float64)
    if draw(st.booleans()):
        matrix *= draw(st.sampled_from((0.5, 0.7, 1.3)))
    weight = draw(
        st.lists(st.sampled_from((1.0, 0.5, 3.0)), min_size=len(matrix), max_size=len(matrix))
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    case = case_of(block_of(matrix, weight), draw(st.sampled_from(SIZES)), rng)
    if draw(st.booleans()):  # zeros among the weights of the components, but never all of them
        case.U[:, 1:] *= rng.random(case.U[:, 1:].shape) < 0.7
        case.V[:, 1:] *= rng.random(case.V[:, 1:].shape) < 0.7
    return case


def uneven_block(rng: np.random.Generator, n_rows: int = 300, n_columns: int = 200) -> Block:
    """Rows from empty to full, row weights, counts that are no whole numbers."""
    fill = rng.choice([0.0, 0.01, 0.05, 0.3, 1.0], n_rows, p=[0.1, 0.4, 0.3, 0.15, 0.05])
    matrix = rng.gamma(1.0, 2.0, (n_rows, n_columns)) * (
        rng.random((n_rows, n_columns)) < fill[:, None]
    )
    return block_of(matrix, rng.uniform(0.2, 3.0, n_rows))


def pair_counts(case: Case) -> tuple[Array, Array]:
    """Expected counts (I, K) and (J, K) of the shares of the dyads."""
    block = case.block
    heavy = (block.values * block.weight[block.row_of])[:, None] * case.pair_share
    rows = np.zeros((block.n_rows, heavy.shape[1]))
    columns = np.zeros((block.n_columns, heavy.shape[1]))
    np.add.at(rows, block.row_of, heavy)
    np.add.at(columns, block.indices, heavy)
    return rows, columns


def row_counts(case: Case) -> tuple[Array, Array]:
    """Expected counts (J, K) and rows (K,) of the shares of the rows."""
    columns = Reference().transposed_times(case.block, case.row_share)
    return columns, case.block.weight @ case.row_share.astype(np.float64)


def call(kernels: Any, name: str, case: Case, beta: float = 0.8) -> tuple[Any, ...]:
    """All outputs of one kernel function on a case."""
    block = kernels.prepare(case.block)
    U, V = case.U.astype(kernels.dtype), case.V.astype(kernels.dtype)
    if name == "power":
        return (kernels.power(U, beta, np.linspace(-2.0, 1.0, U.shape[1])),)
    if name == "logs":
        return (kernels.logs(U, beta),)
    if name == "totals":
        return (kernels.totals(U),)
    if name == "scaled":
        return (kernels.scaled(U, np.linspace(0.0, 2.0, U.shape[1])),)
    if name == "pair":
        rest = np.where(np.arange(block.nnz) % 3, 0.4 * np.asarray(case.pair_share)[:, 0], 0.0)
        return (*kernels.pair(block, U, V), *kernels.pair(block, U, V, rest.astype(U.dtype)))
    if name == "row":
        return tuple(kernels.row(block, np.log(np.maximum(V, 1e-6)), np.log(case.row_share + 0.1)))
    if name == "times":
        return (kernels.times(block, V),)
    if name == "transposed_times":
        return (kernels.transposed_times(block, U),)
    if name == "dots":
        return (kernels.dots(block, U, V),)
    if name == "pair_loo":
        share = case.pair_share.astype(kernels.dtype)
        return tuple(kernels.pair_loo(block, *pair_counts(case), share, beta))
    share = case.row_share.astype(kernels.dtype)
    return tuple(kernels.row_loo(block, *row_counts(case), share, case.pseudo, beta))


def equal(left: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
    """Whether two results of `call` are the same to the last bit."""
    same = [np.array_equal(a, b) for a, b in zip(left, right, strict=True)]
    return all(same)


def paths_of(tree: Tree) -> Array:
    paths = np.full((tree.n_leaves, tree.depth), -1)
    for c in range(tree.n_leaves):
        paths[c, tree.depth - len(tree.path(c)) :] = tree.path(c)
    return paths


class PathCase:
    """Nodes, paths, shares of the rows, shares of all, prior and sums for a tree and a block."""

    def __init__(self, tree: Tree, block: Block, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.block, self.paths = block, paths_of(tree)
        K, D = self.paths.shape
        self.nodes = rng.dirichlet(np.full(block.n_columns, 0.3), tree.n_nodes).T.copy()
        share = rng.dirichlet(np.ones(D), (block.n_rows + 1, K)) * (self.paths >= 0)
        share /= share.sum(axis=2, keepdims=True)
        self.shares, self.share = share[:-1], share[-1]
        self.prior = np.log(rng.dirichlet(np.ones(K)))
        self.sums = rng.uniform(0.0, 3.0, (block.n_columns, K))

    def rounded(self) -> "PathCase":
        """Everything as single precision holds it."""
        for name in ("nodes", "shares", "share", "sums"):
            setattr(self, name, getattr(self, name).astype(np.float32).astype(float))
        self.block = replace(self.block, values=self.block.values.astype(np.float32).astype(float))
        return self

    def path(self, kernels: Any, power: float = 0.4, hard: bool = False) -> tuple[Any, ...]:
        block = kernels.prepare(self.block)
        return tuple(
            kernels.path(block, self.nodes, self.paths, self.shares, self.prior, power, hard)
        )

    def tables(self, kernels: Any) -> tuple[Any, ...]:
        mixed = kernels.mixed(self.nodes, self.paths, self.share)
        return (mixed, *kernels.unmixed(self.nodes, self.sums, self.paths, self.share))


RULES = ("quadratic", "linear", "divergence")


def random_links(rng: np.random.Generator, n: int = 40, fill: float = 0.12) -> Links:
    """A symmetric graph with weights; row 5 has no links."""
    upper = np.triu(rng.uniform(0.5, 2.0, (n, n)) * (rng.random((n, n)) < fill), 1)
    W = upper + upper.T
    W[5], W[:, 5] = 0.0, 0.0
    return Links.of(W)


def linked_case(seed: int = 0, K: int = 5, n: int = 40) -> tuple[Links, Array, Array]:
    """Links, rows (n, K) with some zeros, counts (n, K) with an empty row and some zeros."""
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.full(K, 0.4), n)
    theta[3, 0] *= K == 1
    theta /= theta.sum(axis=1, keepdims=True)
    counts = rng.gamma(0.4, 5.0, (n, K)) * (rng.random((n, K)) < 0.9)
    counts[7] = 0.0
    return random_links(rng, n), theta, counts


def linked_outputs(k: Any, name: str, seed: int = 0, K: int = 5, n: int = 40) -> list[Array]:
    links, theta, counts = linked_case(seed, K, n)
    steps = np.append(np.arange(1, 10) / 10, 1.0)
    if name == "simplex":
        slope = np.random.default_rng(seed).normal(0.0, 3.0, theta.shape)
        return [k.simplex(counts, links.row_totals, slope, theta)]
    if name == "settled":
        strengths = (0.0, 0.01, 1.0, 100.0, 1e6)
        return [k.settled(links, theta, counts, s, rule, 2) for rule in RULES for s in strengths]
    if name == "spread":
        return [np.array(k.spread(links, theta))]
    if name == "divergence":
        return [np.array(k.divergence(links, theta))]
    if name == "ascend":
        ups = [k.ascend(links, theta, counts, ratio) for ratio in (1.0, 5.0, 80.0)]
        return [np.append(up.theta.ravel(), up[1:]) for up in ups]
    before, after = (np.sum(xlogy(counts, np.maximum(t, LEAST))) for t in (theta, counts + 1e-9))
    bars = (-np.inf, before, 0.5 * (before + after), np.inf)
    return [k.walk(counts, theta, steps, bar) for bar in bars]
