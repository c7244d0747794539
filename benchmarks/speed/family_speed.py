"""Seconds of a sweep of every dyadic model, next to what its arithmetic should cost.

What a sweep should cost is its number of floating-point operations at the rate at which the
aspect model does its own; a logarithm, an exponential or a power counts as TRANSCENDENTAL of them.
Hierarchies stand on a balanced binary tree. Sweeps are plain ones, a few into a fit.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import common
from isotherm.anneal.start import state_of
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.aspect import Aspect
from isotherm.models.cluster import Cluster
from isotherm.models.hierarchy import Hierarchy
from isotherm.placement.local import Local
from isotherm.tree import Tree

TRANSCENDENTAL = 20
LIMIT = 1.5
LEVELS = (4, 5, 6, 7)
# Sweeps into a fit, and the temperature at which rows are softly clustered.
SWEEPS, TEMPERATURE = 3, 8.0


class Size(NamedTuple):
    """Rows, columns, non-zeros, components and nodes on a path."""

    rows: int
    columns: int
    nnz: int
    k: int
    depth: int


class Kind(NamedTuple):
    """A model of the family, its temperature, and the operations of a sweep."""

    make: Callable[[Tree], Any]
    temperature: float
    flops: Callable[[Size], float]


def hierarchy(weights: str) -> Callable[[Tree], Any]:
    return lambda tree: Hierarchy(tree.parents, tree.leaves, weights)


def mixed(s: Size) -> float:
    """Clusters whose distributions are mixed first."""
    return clusters(s) + 4.0 * s.columns * s.k * s.depth


def clusters(s: Size) -> float:
    return 4.0 * s.nnz * s.k + TRANSCENDENTAL * (s.rows + s.columns) * s.k


def aspects(s: Size) -> float:
    return 6.0 * s.nnz * s.k + TRANSCENDENTAL * (s.rows + s.columns) * s.k


def own_weights(s: Size) -> float:
    return 8.0 * s.nnz * s.k * s.depth + TRANSCENDENTAL * s.nnz * s.k


# At T = 1 the aspect model takes no powers: it is timed, as it is used, a little above.
FAMILY = {
    "aspect": Kind(lambda tree: Aspect(tree.n_leaves), 1.2, aspects),
    "one-sided": Kind(lambda tree: Cluster(tree.n_leaves), TEMPERATURE, clusters),
    "hierarchy, uniform": Kind(hierarchy("uniform"), TEMPERATURE, mixed),
    "hierarchy, cluster": Kind(hierarchy("cluster"), TEMPERATURE, mixed),
    "hierarchy, full": Kind(hierarchy("full"), TEMPERATURE, own_weights),
}


def sweeping(kind: Kind, tree: Tree, data: Local) -> Callable[[], Any]:
    """A call that does one sweep."""
    model, rng = kind.make(tree), np.random.default_rng(common.SEED)
    totals = data.summary.column_totals
    table = rng.uniform(0.5, 1.5, (len(totals), tree.n_leaves)) * totals[:, None]
    params = model.init(data.summary, (table / table.sum(axis=0)).astype(data.kernels.dtype))
    state = state_of(model, data, params)

    def sweep(params: Any, rows: Any) -> tuple[Any, Any]:
        rows, stats, _ = data.sweep(_expect, rows, model, params, kind.temperature)
        return model.maximize(stats, params, kind.temperature, data.kernels)[0], rows

    params, rows = state.params, state.rows
    for _ in range(SWEEPS):
        params, rows = sweep(params, rows)
    return lambda: sweep(params, rows)


def _expect(k: Any, block: Any, rows: Any, model: Any, params: Any, temperature: float) -> Any:
    return model.expect(params, rows, block, temperature, k)


def measure(corpus: common.Corpus, data: Local, levels: int) -> list[dict[str, Any]]:
    """Times of the whole family with 2^levels components."""
    tree = Tree.balanced(levels)
    rows, columns = corpus.matrix.shape
    size = Size(rows, columns, corpus.matrix.nnz, tree.n_leaves, tree.depth)
    calls = {name: sweeping(kind, tree, data) for name, kind in FAMILY.items()}
    times = common.best_times(calls)
    rate = FAMILY["aspect"].flops(size) / times["aspect"]
    return [
        {"model": name, "K": size.k, "ms": 1e3 * times[name]}
        | {"expected ms": 1e3 * FAMILY[name].flops(size) / rate}
        | {"ratio": times[name] * rate / FAMILY[name].flops(size)}
        for name in FAMILY
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two sizes only")
    options = parser.parse_args()
    info = common.machine()
    common.print_machine(info)
    counts = common.counts("cranfield").keep_columns(min_rows=5)
    corpus, kernels = common.Corpus("cranfield", counts.matrix), Cpu()
    data = Local.place(counts, kernels)
    levels = LEVELS[::2] if options.quick else LEVELS
    rows = [row for n in levels for row in measure(corpus, data, n)]
    common.print_table(rows)
    targets = [
        common.Target(
            f"{row['model']}, K = {row['K']}: time over expected", row["ratio"], high=LIMIT
        )
        for row in rows
        if row["model"] != "aspect"
    ]
    judged = common.print_targets(targets)
    common.write_results("family_speed", info, rows=rows, targets=judged)


if __name__ == "__main__":
    main()
