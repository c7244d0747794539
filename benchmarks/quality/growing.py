"""Automatic number of components: planted numbers found, and text next to a grid of fixed numbers.

Planted data: leaves of balanced trees (each a mixture of the nodes above it), clusters, and rows
that mix topics; the number found in ten data sets of each kind. Text: tokens are split 90/10; every
fit holds out a tenth of its own tokens, and the other 10 % test it. The grid costs the CPU time of
all its fits, because whoever does not know the number pays for all of them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.harness import common
from isotherm import AspectModel, Counts, DocumentMixture, OneSidedClustering, split_tokens
from isotherm.evaluate import ari
from isotherm.tree import Tree

GRID = (16, 32, 64, 128, 256)
# Clusters of the counts themselves, which a held-out score compares.
CLUSTERS = partial(OneSidedClustering, weighting="tokens")
MODELS: dict[str, Callable[..., Any]] = {
    "aspect": AspectModel,
    "one-sided": CLUSTERS,
}
ROWS, COLUMNS, CONCENTRATION = 40, 100, 0.1

Sample = tuple[np.ndarray, np.ndarray, int]


def tree_rows(levels: int, branching: int, tokens: int) -> Callable[[np.random.Generator], Sample]:
    def draw(rng: np.random.Generator) -> Sample:
        tree = Tree.balanced(levels, branching)
        nodes = rng.dirichlet(np.full(COLUMNS, CONCENTRATION), tree.n_nodes)
        K = tree.n_leaves
        leaves = np.array([nodes[list(tree.path(k))].mean(axis=0) for k in range(K)])
        labels = np.arange(ROWS * K) % K
        return np.array([rng.multinomial(tokens, leaves[k]) for k in labels]), labels, K

    return draw


def cluster_rows(K: int) -> Callable[[np.random.Generator], Sample]:
    def draw(rng: np.random.Generator) -> Sample:
        topics = rng.dirichlet(np.full(COLUMNS, CONCENTRATION), K)
        labels = np.arange(ROWS * K) % K
        sizes = rng.integers(40, 81, len(labels))
        rows = [rng.multinomial(n, topics[k]) for n, k in zip(sizes, labels, strict=True)]
        return np.array(rows), labels, K

    return draw


def mixed_rows(K: int) -> Callable[[np.random.Generator], Sample]:
    def draw(rng: np.random.Generator) -> Sample:
        topics = rng.dirichlet(np.full(COLUMNS, CONCENTRATION), K)
        weights = rng.dirichlet(np.full(K, 0.1), 200)
        rows = np.array([rng.multinomial(300, p) for p in weights @ topics])
        return rows, weights.argmax(axis=1), K

    return draw


PLANTED: dict[str, tuple[Callable[..., Any], Callable[[np.random.Generator], Sample]]] = {
    "tree 2 x 2, 80 tokens": (CLUSTERS, tree_rows(2, 2, 80)),
    "tree 2 x 2, 25 tokens": (CLUSTERS, tree_rows(2, 2, 25)),
    "tree 2 x 2 x 2": (CLUSTERS, tree_rows(3, 2, 80)),
    "tree 3 x 3": (CLUSTERS, tree_rows(2, 3, 80)),
    "5 clusters": (CLUSTERS, cluster_rows(5)),
    "10 clusters": (CLUSTERS, cluster_rows(10)),
    "5 clusters, document mixture": (DocumentMixture, cluster_rows(5)),
    "10 clusters, document mixture": (DocumentMixture, cluster_rows(10)),
    "5 topics, mixed": (AspectModel, mixed_rows(5)),
    "8 topics, mixed": (AspectModel, mixed_rows(8)),
}


def planted(n_seeds: int) -> list[dict[str, Any]]:
    rows = []
    for name, (kind, draw) in PLANTED.items():
        found, scores, begin = [], [], time.perf_counter()
        for seed in range(n_seeds):
            counts, labels, K = draw(np.random.default_rng(seed))
            model = kind("predict", random_state=seed).fit(counts)
            found.append(model.n_components_)
            scores.append(ari(labels, model.row_weights_.argmax(axis=1)))
        away = np.abs(np.array(found) - K)
        rows.append(
            {"data": name, "planted": K, "exact": int((away == 0).sum())}
            | {"within one": int((away <= 1).sum()), "of": n_seeds, "ARI": float(np.mean(scores))}
            | {"found": found, "seconds": (time.perf_counter() - begin) / n_seeds}
        )
    return rows


def measure(kind: Callable[..., Any], K: int | str, train: Counts, test: Counts) -> dict[str, Any]:
    # Threads of BLAS that wait for work count as busy: several times the work on a busy machine.
    with threadpool_limits(1, "blas"):
        begin, cpu = time.perf_counter(), time.process_time()
        model = kind(K, random_state=common.SEED).fit(train)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - begin
    return {
        "K": K if K != "predict" else f"predict: {model.n_components_}",
        "T": model.temperature_,
        "perplexity": model.perplexity(train, test),
        "CPU seconds": cpu,
        "wall seconds": wall,
    }


def text(corpus: str, name: str) -> list[dict[str, Any]]:
    counts = common.counts(corpus).keep_columns(min_rows=5 if corpus == "cranfield" else 2)
    train, test = split_tokens(counts, (0.9, 0.1), common.SEED)
    # Compilation is nobody's cost.
    MODELS[name](2, max_iter=2, random_state=0).fit(train)
    rows = [measure(MODELS[name], K, train, test) for K in ("predict", *GRID)]
    return [{"corpus": corpus, "model": name} | row for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10, help="data sets of each planted kind")
    parser.add_argument("--corpora", nargs="*", default=["cranfield", "ap", "20news"])
    parser.add_argument("--models", nargs="*", default=list(MODELS), choices=list(MODELS))
    options = parser.parse_args()
    info = common.machine()
    common.print_machine(info)
    targets, found = [], planted(options.seeds) if options.seeds else []
    if found:
        shown = [{k: v for k, v in row.items() if k != "found"} for row in found]
        common.print_table(shown, "Planted numbers of components")
    for row in found:
        share = row["within one"] / row["of"]
        targets.append(common.Target(f"{row['data']}: share within one", share, low=0.9))
    rows = []
    for corpus in options.corpora:
        for name in options.models:
            own = text(corpus, name)
            common.print_table(own, f"{corpus}, {name}: grown next to fixed numbers")
            best = min(row["perplexity"] for row in own[1:])
            grid = sum(row["CPU seconds"] for row in own[1:])
            what = f"{corpus}, {name}: grown / best of the grid"
            ratio = own[0]["perplexity"] / best
            targets.append(common.Target(what + ", perplexity", ratio, high=1.0))
            share = own[0]["CPU seconds"] / grid
            targets.append(common.Target(f"{corpus}, {name}: grown / grid, CPU", share, high=1.0))
            rows += own
    judged = common.print_targets(targets)
    common.write_results("growing", info, planted=found, text=rows, targets=judged)


if __name__ == "__main__":
    main()
