"""Seconds per sweep of the aspect model, against scikit-learn's NMF and tomotopy's LDA.

A sweep of ours is what the engine does: E-step over all blocks and M-step. One NMF iteration
updates W and H (Kullback-Leibler loss, multiplicative updates, single precision); one LDA sweep
draws a topic for every token (collapsed Gibbs sampling). All are measured in turn in one run.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import njit
from sklearn.decomposition import non_negative_factorization
from threadpoolctl import threadpool_limits

from benchmarks.harness import common
from isotherm.kernels.cpu.backend import Cpu, available_threads

try:
    import tomotopy
except ImportError:  # said in the output
    tomotopy = None

COMPONENTS = (16, 64, 128, 256)
HOT = 1.25
# A sweep takes z = u.v, sums of v by rows and sums of u by columns.
FMA_PER_PAIR = 3
NMF_SECONDS = 2.0  # iterations beyond the first are added up to about this
TARGETS = {
    "x NMF": ("sweeps per second, ours / NMF's", 6.0),
    "x LDA": ("sweeps per second, ours / LDA's", 1.5),
    "2 threads": ("speed-up of two threads over one", 1.7),
}
MEMORY_TARGET = 3.0


@njit(nogil=True, fastmath=True)
def dot_loop(x, y, times):
    total = x.dtype.type(0)
    for _ in range(times):
        for i in range(len(x)):
            total += x[i] * y[i]
        x[0] += total  # keeps the passes apart
    return total


@njit(nogil=True, fastmath=True)
def axpy_loop(x, y, times):
    a = x.dtype.type(1e-6)
    for t in range(times):
        for i in range(len(x)):
            y[i] += a * x[i]
        a += x[t % len(x)]
    return y[0]


def fma_rates(threads: int) -> dict[str, float]:
    """Multiply-adds per second on 128 KB of float32 to a thread: a dot product, and y += a x."""
    size, times = 16 * 1024, 4000
    arrays = [(np.zeros(size, np.float32), np.zeros(size, np.float32)) for _ in range(threads)]

    def on_all(loop: Callable[..., Any]) -> Callable[[], Any]:
        loop(*arrays[0], 1)  # compiles
        return lambda: list(pool.map(lambda pair: loop(*pair, times), arrays))

    with ThreadPoolExecutor(threads) as pool:
        loops = {"dot": on_all(dot_loop), "axpy": on_all(axpy_loop)}
        seconds = common.best_times(loops, rounds=5)
    return {name: threads * size * times / took for name, took in seconds.items()}


def nmf_fit(matrix: Any, K: int, iterations: int, threads: int) -> None:
    with threadpool_limits(threads):
        non_negative_factorization(
            matrix, n_components=K, init="random", solver="mu", beta_loss="kullback-leibler",
            tol=0, max_iter=iterations, random_state=common.SEED,
        )  # fmt: skip


def nmf_seconds(matrix: Any, K: int, threads: int) -> float:
    """Seconds per NMF iteration: the difference of two fits, so that set-up cancels."""
    first, second = _took(matrix, K, 1, threads), _took(matrix, K, 2, threads)
    extra = int(np.clip(NMF_SECONDS / max(second - first, 1e-3), 1, 10))
    if extra > 1:
        first = min(first, _took(matrix, K, 1, threads))
        second = _took(matrix, K, 1 + extra, threads)
    return (second - first) / extra


def _took(matrix: Any, K: int, iterations: int, threads: int) -> float:
    begin = time.perf_counter()
    nmf_fit(matrix, K, iterations, threads)
    return time.perf_counter() - begin


def lda_corpus(matrix: Any) -> Any:
    """The counts as tomotopy's documents: every token once."""
    corpus = tomotopy.utils.Corpus()
    words = np.array([f"w{j}" for j in range(matrix.shape[1])])
    for row in np.flatnonzero(np.diff(matrix.indptr)):
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        times = matrix.data[part].astype(np.intp)
        corpus.add_doc(words[np.repeat(matrix.indices[part], times)].tolist())
    return corpus


def lda_sweeps(corpus: Any, K: int, threads: list[int]) -> dict[str, Callable[[], Any]]:
    """One sweep of LDA per number of threads, past its first few sweeps."""
    calls = {}
    for n in threads:
        model = tomotopy.LDAModel(k=K, seed=common.SEED + 1, corpus=corpus)
        model.optim_interval = 0  # sweeps only, no steps on the hyper-parameters
        model.train(5, workers=n)
        calls[f"LDA {n}"] = lambda model=model, n=n: model.train(1, workers=n)
    return calls


def measure(corpus: common.Corpus, documents: Any, K: int, rounds: int) -> list[dict[str, Any]]:
    """Rows of the table for one corpus and one K: one for each number of threads."""
    everything = available_threads()
    rival_threads = sorted({1, everything})
    threads = sorted({1, min(2, everything), everything})
    ours = common.developed(corpus.matrix, K, Cpu())
    calls: dict[str, Callable[[], Any]] = {}
    for n in threads:
        placed = ours.on(Cpu(n_threads=n))
        for temperature in (1.0, HOT):
            calls[f"T={temperature:g} {n}"] = lambda p=placed, t=temperature: p.sweep(t)
    if documents is not None:
        calls |= lda_sweeps(documents, K, rival_threads)
    # The slow rival stands between two halves of the measurements of the others. Ours are short,
    # so that a machine that others use too disturbs many of them: they get more rounds.
    mine = {name: call for name, call in calls.items() if name.startswith("T=")}
    seconds = common.best_times(calls, rounds)
    nmf = {n: nmf_seconds(corpus.matrix, K, n) for n in rival_threads}
    for again in (common.best_times(calls, rounds), common.best_times(mine, 4 * rounds)):
        seconds |= {name: min(took, seconds[name]) for name, took in again.items()}

    def row(n: int) -> dict[str, Any]:
        cold = seconds[f"T=1 {n}"]
        lda, other = seconds.get(f"LDA {n}"), nmf.get(n)
        return {
            "corpus": corpus.name,
            "nnz": corpus.matrix.nnz,
            "K": K,
            "threads": n,
            "T=1 s": cold,
            f"T={HOT:g} s": seconds[f"T={HOT:g} {n}"],
            "G nnz K/s": corpus.matrix.nnz * K / cold / 1e9,
            "NMF s": other,
            "LDA s": lda,
            "x NMF": other / cold if other else None,
            "x LDA": lda / cold if lda else None,
            "2 threads": seconds["T=1 1"] / cold if n == 2 else None,
        }

    return [row(n) for n in threads]


def memory_row(corpus: common.Corpus, K: int) -> dict[str, Any]:
    """Most memory held in a sweep, against what cannot be done without: tables and counts."""
    kernels, (n_rows, n_columns) = Cpu(), corpus.matrix.shape
    tables = (n_rows + n_columns) * K * kernels.dtype.itemsize
    # Counts in compressed rows: a value and a column of 4 bytes each, and where rows begin.
    needed = tables + 8 * corpus.matrix.nnz + 8 * (n_rows + 1)
    peak = common.peak_memory(
        lambda: common.developed(corpus.matrix.copy(), K, kernels, sweeps=1),
        lambda ours: ours.sweep(HOT),
    )
    return {
        "corpus": corpus.name,
        "K": K,
        "tables + counts MiB": needed / common.MIB,
        "peak MiB": peak / common.MIB,
        "ratio": peak / needed,
        "met": common.mark(peak / needed <= MEMORY_TARGET),
    }


def targets_of(rows: list[dict], memory: list[dict]) -> list[common.Target]:
    """Each target with the worst figure measured for it."""
    found = []
    for column, (name, low) in TARGETS.items():
        values = [row[column] for row in rows if row[column] is not None]
        if values:
            found.append(common.Target(f"{name}, worst", min(values), low=low))
        else:
            print(f"NOTE: nothing measured for: {name}")
    worst = max(row["ratio"] for row in memory)
    name = "peak memory / (tables + counts), worst"
    return [*found, common.Target(name, worst, high=MEMORY_TARGET)]


def marked(row: dict[str, Any]) -> dict[str, Any]:
    """Row for the eye: a figure that misses its target carries a mark."""
    low = {column: bound for column, (_, bound) in TARGETS.items()}
    return {
        key: f"{value:.2f}{'  ' if value >= low[key] else ' !'}" if key in low and value else value
        for key, value in row.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="K = 16 and 64 only, one round")
    quick = parser.parse_args().quick
    warnings.filterwarnings("ignore", message="The training result may differ")
    info = common.machine()
    common.print_machine(info)
    if tomotopy is None:
        print("NOTE: tomotopy is missing, LDA is left out (install the extra 'bench')")

    rows, memory = [], []
    for corpus in (common.newsgroups(), common.synthetic()):
        documents = lda_corpus(corpus.matrix) if tomotopy is not None else None
        for K in COMPONENTS[: 2 if quick else None]:
            rows += measure(corpus, documents, K, 1 if quick else 2)
            memory.append(memory_row(corpus, K))
            print(f"done: {corpus.name}, K = {K}", flush=True)
    rates = {n: fma_rates(n) for n in sorted({row["threads"] for row in rows})}
    for row in rows:
        done = FMA_PER_PAIR * row["nnz"] * row["K"] / row["T=1 s"]
        row["of FMA rate"] = done / max(rates[row["threads"]].values())

    targets = targets_of(rows, memory)
    common.print_table([marked(row) for row in rows], "Seconds per sweep ('!' misses its target)")
    common.print_table(memory, "Peak memory of a sweep")
    shown = [{"threads": n} | {k: v / 1e9 for k, v in rate.items()} for n, rate in rates.items()]
    common.print_table(shown, "G multiply-adds per second of this machine, 128 KB of float32")
    if 2 in rates:
        gained = max(rates[2].values()) / max(rates[1].values())
        print(f"two threads gave this loop x {gained:.2f}: well below 2 means a busy machine")
    common.print_table([target.row() for target in targets], "Targets")
    common.write_results(
        "kernels-quick" if quick else "kernels", info, rows=rows, memory=memory, fma=shown,
        targets=[target.row() for target in targets],
    )  # fmt: skip


if __name__ == "__main__":
    main()
