"""Biclusters of the 20 newsgroups: ours next to scikit-learn's SpectralCoclustering.

As many clusters of postings and of words as there are newsgroups, seconds and processor seconds of
a whole fit, compiled before: with the threads that each takes by itself, and on one thread. Theirs
takes what threads of BLAS and OpenMP there are, which mostly wait: one thread needs less processor
time for the same labels, so that it is the harder comparison. Labels are judged by their normalised
mutual information (NMI) with the newsgroups, and by the mutual information of the two clusterings,
which is what the hard model maximises. A second table gives the time of a sweep next to one of the
aspect model (BLAS on one thread, as in a fit), over the ratio of their multiplications and
additions: 6 nnz K for aspects, 4 nnz (K + L) + 4 (I + J) K L here.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import SpectralCoclustering
from threadpoolctl import threadpool_limits

from benchmarks.harness import common
from isotherm import Counts, Fixed, Noisy, TwoSidedClustering
from isotherm.estimators.starts.two_sided import OneSidedFits
from isotherm.evaluate import nmi
from isotherm.kernels.cpu.backend import Cpu
from isotherm.kernels.cpu.dense import one_blas_thread
from isotherm.models.aspect import Aspect
from isotherm.models.two_sided import TwoSided, mutual_information
from isotherm.placement.local import Local

OURS = "TwoSidedClustering"
HARD = OURS + ", hard"
RIVAL = "SpectralCoclustering"
THREADS = ("its own", "1")
# Times the processor seconds of the other that still count as comparable.
COMPARABLE = 3.0


def spectral(
    counts: Counts, k: int, seed: int, threads: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Labels of rows and columns; it takes no empty rows, so these go to cluster 0."""
    filled = np.flatnonzero(counts.row_totals > 0)
    model = SpectralCoclustering(k, random_state=seed)
    with nullcontext() if threads is None else threadpool_limits(threads):
        model.fit(counts.matrix[filled].astype(np.float64))
    labels = np.zeros(counts.n_rows, int)
    labels[filled] = model.row_labels_
    return labels, model.column_labels_


def two_sided(
    counts: Counts, k: int, seed: int, threads: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Labels at the temperature that held-out tokens choose."""
    model = TwoSidedClustering(k, random_state=seed, n_jobs=threads).fit(counts)
    return model.row_labels_, model.column_labels_


def hard(
    counts: Counts, k: int, seed: int, threads: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Labels of the hard limit."""
    model = TwoSidedClustering(
        k, schedule=Fixed(0.0), validation_fraction=0.0, random_state=seed, n_jobs=threads
    )
    model.fit(counts)
    return model.row_labels_, model.column_labels_


METHODS: dict[str, Callable[..., Any]] = {RIVAL: spectral, OURS: two_sided, HARD: hard}


def information(counts: Counts, rows: np.ndarray, columns: np.ndarray) -> float:
    """Mutual information of two hard clusterings in nats."""
    left, right = (
        sparse.csr_array((np.ones(len(labels)), (np.arange(len(labels)), labels)))
        for labels in (rows, columns)
    )
    return mutual_information((left.T @ counts.matrix @ right).toarray().astype(np.float64))


def measure(
    counts: Counts, groups: np.ndarray, name: str, k: int, seed: int, threads: int | None = None
) -> dict[str, Any]:
    """One fit of one method, on so many threads or on those that it takes by itself."""
    begin, busy = time.perf_counter(), time.process_time()
    rows, columns = METHODS[name](counts, k, seed, threads)
    spent = {"seconds": time.perf_counter() - begin, "cpu": time.process_time() - busy}
    found = {
        "NMI": nmi(groups, rows, "mean"),
        "I(c,d)": information(counts, rows, columns),
    }
    used = "its own" if threads is None else str(threads)
    return {"method": name, "threads": used, "K": k, "seed": seed} | found | spent


def chosen(rows: list[dict[str, Any]], key: str, name: str, used: str = "") -> list[float]:
    """One figure of all fits of a method, on the given threads or on any."""
    return [row[key] for row in rows if row["method"] == name and used in ("", row["threads"])]


def sweep_times(counts: Counts, sizes: list[int]) -> list[dict[str, Any]]:
    """Time of a sweep over that of the aspect model, and over the ratio of their flops."""
    table = []
    data = Local.place(counts, Cpu())
    rows, columns = counts.shape
    for k in sizes:
        rng = np.random.default_rng(0)
        aspect, model = Aspect(k), TwoSided(k, k, temper_prior=True)
        aspects = common.Ours(aspect, data, Noisy(1.0).state(aspect, data, rng))
        clusters = common.Ours(model, data, OneSidedFits((0.3,), tol=1e-2).state(model, data, rng))
        for _ in range(5):
            aspects = aspects._replace(state=aspects.sweep(1.0))
            clusters = clusters._replace(state=clusters.sweep(1.0))
        calls = {
            "aspect": lambda ours=aspects: ours.sweep(1.0),
            "two-sided": lambda ours=clusters: ours.sweep(1.0),
        }
        with one_blas_thread():
            took = common.best_times(calls)
        flops = (8 * counts.nnz * k + 4 * (rows + columns) * k * k) / (6 * counts.nnz * k)
        ratio = took["two-sided"] / took["aspect"]
        table.append(
            {"K": k, "aspect, s": took["aspect"], "two-sided, s": took["two-sided"]}
            | {"times": ratio, "flops": flops, "times / flops": ratio / flops}
        )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sizes", nargs="+", type=int, default=[20, 64, 128])
    options = parser.parse_args()
    info = common.machine()
    common.print_machine(info)
    counts = common.counts("20news")
    groups = np.loadtxt(common.data_file("20news/labels.txt"), dtype=int)
    k = int(groups.max()) + 1
    for name in METHODS:  # compiles, and reads what is read once
        METHODS[name](counts.take_rows(slice(0, None, 50)).keep_columns(), 3, 0)
    rows = [
        measure(counts, groups, name, k, seed, threads)
        for seed in range(options.seeds)
        for threads in (None, 1)
        for name in METHODS
    ]
    keys = ("NMI", "I(c,d)", "seconds", "cpu")
    table = [
        {"method": name, "threads": used, "K": k}
        | {key: float(np.mean(chosen(rows, key, name, used))) for key in keys}
        for used in THREADS
        for name in METHODS
    ]
    common.print_table(table, f"20news, means of {options.seeds} seeds")
    sweeps = sweep_times(counts, options.sizes)
    common.print_table(sweeps, "Seconds of a sweep, 20news")
    targets = [
        common.Target(
            f"{name}: worst {key} over best of {RIVAL}",
            min(chosen(rows, key, name)) / max(chosen(rows, key, RIVAL)),
            1,
        )
        for name in (OURS, HARD)
        for key in ("NMI", "I(c,d)")
    ]
    targets += [
        common.Target(
            f"{name}: cpu over that of {RIVAL}, threads: {used}",
            sum(chosen(rows, "cpu", name, used)) / sum(chosen(rows, "cpu", RIVAL, used)),
            high=COMPARABLE,
        )
        for used in THREADS
        for name in (OURS, HARD)
    ]
    targets += [
        common.Target(f"sweep, K = {row['K']}: times / flops", row["times / flops"], high=1.5)
        for row in sweeps
    ]
    judged = common.print_targets(targets)
    common.write_results("biclusters", info, rows=rows, sweeps=sweeps, targets=judged)


if __name__ == "__main__":
    main()
