"""Neighbours of postings: what the exact search costs, and what approximate searches find of it.

Processor time of all threads, compilation left out for ours. Recall is the share of the exact
neighbours that a search finds, purity the share of neighbours of the same newsgroup.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from typing import Any

import numpy as np

from benchmarks.harness import common
from isotherm import Neighbors
from isotherm.data.counts import Counts

N_NEIGHBORS = 10
MOST_SECONDS = 10.0
PURITY = 0.765
METHODS = ("exact", "rare_words", "descent")


def search(counts: Counts, method: str) -> tuple[np.ndarray, dict[str, Any]]:
    """Neighbours (N, r) of all rows, -1 for none, and what the whole graph costs."""
    cpu, wall = time.process_time(), time.perf_counter()
    found = Neighbors.of(counts, N_NEIGHBORS, method=method, random_state=common.SEED)
    edges = found.graph()
    row = {"CPU s": time.process_time() - cpu, "wall s": time.perf_counter() - wall}
    rows = np.repeat(np.arange(counts.n_rows), np.diff(edges.indptr))
    pairs = np.stack([rows, edges.indices.astype(np.int64)])
    return pairs, row


def measure(
    counts: Counts, labels: np.ndarray, method: str, exact: np.ndarray | None
) -> tuple[np.ndarray, dict[str, Any]]:
    """Pairs of neighbours (2, E), and a row of the table."""
    pairs, row = search(counts, method)
    codes = pairs[0] * counts.n_rows + pairs[1]
    row = {"method": method} | row | {"edges": len(codes) // 2}
    row["recall"] = float(np.isin(exact, codes).mean()) if exact is not None else 1.0
    row["same label"] = float(np.mean(labels[pairs[0]] == labels[pairs[1]]))
    return codes, row


def purity(counts: Counts, labels: np.ndarray) -> float:
    """Share of the same newsgroup among the ten neighbours of each posting itself."""
    found = Neighbors.of(counts, N_NEIGHBORS + 1)
    indices, _ = found.search(found.rows)
    own = np.arange(counts.n_rows)[:, None]
    other = (indices >= 0) & (indices != own)
    # A posting is its own best neighbour, unless an equal one of lower index stands before it.
    other &= np.cumsum(other, axis=1) <= N_NEIGHBORS
    return float(np.mean((labels[indices] == labels[own])[other]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    options = parser.parse_args()
    info = common.machine()
    common.print_machine(info)
    counts = common.counts("20news")
    labels = np.loadtxt(common.data_file("20news/labels.txt"), dtype=int)
    for method in METHODS[:2]:
        Neighbors.of(counts[:50], method=method).graph()
    in_rows = np.bincount(counts.matrix.indices, minlength=counts.n_columns).astype(float)
    print(f"{counts}; {(in_rows**2).sum():.3g} additions of all pairs that share a word")
    exact, first = measure(counts, labels, "exact", None)
    rows = [first]
    for method in options.methods:
        if method == "descent" and importlib.util.find_spec("pynndescent") is None:
            print("NOTE: no pynndescent (the extra `neighbors`); its row is left out")
        elif method != "exact":
            rows.append(measure(counts, labels, method, exact)[1])
    common.print_table(rows, f"Graphs of {N_NEIGHBORS} neighbours")
    judged = common.print_targets(
        [
            common.Target("CPU s, exact", first["CPU s"], high=MOST_SECONDS),
            common.Target("purity", purity(counts, labels), PURITY - 0.005, PURITY + 0.005),
        ]
    )
    common.write_results("neighbors", info, rows=rows, targets=judged)


if __name__ == "__main__":
    main()
