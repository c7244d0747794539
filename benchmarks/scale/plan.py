"""How long and how large? A formula for sweeps of the aspect model, checked here, used far away.

Seconds of one core for a sweep are a sum of products of sizes (`terms`): what a gathered number
costs in a near cache, and further out; what a non-zero costs by itself; rows, columns in each slab,
and a constant. The factors are fitted to small corpora on this machine, by the time that the
processor was at work; the error is that on larger ones, which were not used. How much faster two
cores are is that of benchmarks/speed/kernels.py. Bytes and network volume follow from the layout.
The last tables put in the sizes of corpora that do not fit here, for machines like this one and
GPUs.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from benchmarks.harness import common
from isotherm.data.base import MOST_SLABS, SLAB
from isotherm.kernels.cpu.backend import Cpu
from isotherm.placement.cluster.remote import NONZEROS, PER_COLUMN

FITTED = tuple((nnz, K) for nnz in (50_000, 200_000, 800_000) for K in (16, 64, 128))
CHECKED = ((1_600_000, 32), (1_600_000, 128), (3_200_000, 16), (3_200_000, 64), (6_400_000, 32))
NNZ_PER_ROW = 98.6
WITHIN = 0.35
# Bytes: counts by rows and by columns (two indices, a value, a place), a row and its weight.
PER_NONZERO, PER_ROW = 16, 24
# Row states at a time (before, after, and one more while a step is over-relaxed).
STATES = 3
# Bytes a second of a network of 10 Gbit/s.
NETWORK = 1.25e9
# Milliseconds of an H200 for a sweep over so many non-zeros, K = 128, as benchmarks/speed/gpu.py
# measured it, where its results are not here; bytes it holds for a non-zero.
H200_MS, H200_NNZ, H200_PER_NONZERO = 10.3, 73.5e6, 24
CACHE = common.caches().get("L2", 1 << 19)
UNITS = (
    "nnz x K",
    "nnz x K beyond the near cache",
    "nnz",
    "(I + columns of all slabs) x K",
    "sweep",
)


class Size(NamedTuple):
    """A corpus, and how many machines share it."""

    name: str
    rows: float
    columns: float
    nnz: float
    machines: int


NEWS, PUBMED = ("20 newsgroups", 18_846, 20_982, 1.7e6), ("PubMed", 8.2e6, 141_043, 483e6)
BILLION = ("1e9 documents", 1e9, 1e6, 1e11)
PLANNED = (Size(*NEWS, 1), Size(*PUBMED, 1), Size(*PUBMED, 8), Size(*BILLION, 256),
           Size(*BILLION, 1024))  # fmt: skip
ON_GPUS = (Size(*PUBMED, 1), Size(*PUBMED, 8), Size(*BILLION, 64), Size(*BILLION, 256))


def terms(nnz: float, rows: float, columns: float, K: int) -> list[float]:
    """What the seconds of a sweep are made of."""
    slabs = float(np.clip(nnz // SLAB, 1, MOST_SLABS))
    # Words follow Zipf's law: this share of the gathered rows is not among the most frequent ones
    # that the near cache holds.
    held = min(columns, CACHE / (4 * K))
    beyond = 1.0 - np.log1p(held / 2.7) / np.log1p(columns / 2.7)
    return [nnz * K, nnz * K * beyond, nnz, (rows + min(columns * slabs, nnz)) * K, 1.0]


def seconds(factors: Any, size: Size, K: int) -> float:
    """Predicted seconds of one core of each machine for a sweep; columns are everybody's."""
    m = size.machines
    # Blocks of a machine of many; each has column sums of its own.
    n = 1.0 if m == 1 else np.ceil(size.nnz / m / max(NONZEROS, PER_COLUMN * size.columns))
    return float(n * factors @ terms(size.nnz / m / n, size.rows / m / n, size.columns, K))


def memory(size: Size, K: int, per_nonzero: float = PER_NONZERO) -> float:
    """Predicted bytes on each machine of a fit in memory (a fit from the disk needs its budget)."""
    rows = size.rows / size.machines
    counts = size.nnz / size.machines * per_nonzero + rows * PER_ROW
    # A fit holds the counts twice: all of them, and those that are not held out.
    return 2 * counts + STATES * rows * K * 4 + 6 * size.columns * K * 4


def network(size: Size, K: int) -> float:
    """Predicted bytes that each machine sends or receives a sweep: parameters in, sums out."""
    return 0.0 if size.machines == 1 else size.columns * K * (4 + 8)


def on_the_way(size: Size, K: int) -> float:
    """Predicted seconds of a sweep on the network: both go along a tree over the machines."""
    return float(np.ceil(np.log2(size.machines))) * network(size, K) / NETWORK


def h200() -> float:
    """Seconds of an H200 for a non-zero and component: of results that are kept, or as measured."""
    path = common.RESULTS / "gpu.json"
    found = json.loads(path.read_text()).get("sweeps", []) if path.exists() else []
    plain = [row for row in found if row["model"] == "Aspect" and row["tables"] == "float32"]
    rates = [row["ms"] / row["K"] for row in plain] or [H200_MS / 128]
    return float(np.median(rates)) / 1e3 / H200_NNZ


def measured(sizes: Any, rounds: int) -> list[dict[str, Any]]:
    """Seconds of one core for a sweep of every size, all in turn."""
    corpora = {}
    for nnz, _ in sizes:
        rows = round(nnz / NNZ_PER_ROW)
        corpora[nnz] = common.zipf(rows, round(20_000 * (rows / 10_000) ** 0.5))
    one_core = Cpu(n_threads=1)
    ours = {(n, K): common.developed(corpora[n], K, one_core, sweeps=2) for n, K in sizes}
    best = dict.fromkeys(ours, np.inf)
    for _ in range(rounds):
        for size, one in ours.items():
            best[size] = min(best[size], at_work(lambda one=one: one.sweep(1.0)))
    return [
        {
            "I": corpora[n].shape[0], "J": corpora[n].shape[1], "nnz": corpora[n].nnz, "K": K,
            "s": best[n, K],
        }
        for n, K in sizes
    ]  # fmt: skip


def at_work(call: Callable[[], Any]) -> float:
    """Seconds that the processor is at work on a call: what others do meanwhile is left out."""
    begin = time.thread_time()
    call()
    return time.thread_time() - begin


def speed_up() -> float:
    """How much faster two cores are than one, as speed/kernels.py has measured; else 1."""
    path = common.RESULTS / "kernels.json"
    found = json.loads(path.read_text())["targets"] if path.exists() else []
    rates = [one["measured"] for one in found if "speed-up of two threads" in one["target"]]
    return float(rates[0]) if rates else 1.0


def fitted(rows: list[dict[str, Any]]) -> Any:
    """Factors of the formula: least squares of relative errors, none below 0."""
    table = np.array([terms(r["nnz"], r["I"], r["J"], r["K"]) for r in rows])
    took = np.array([r["s"] for r in rows])
    scale = table.max(axis=0)
    return nnls(table / scale / took[:, None], np.ones(len(took)))[0] / scale


def planned(size: Size, K: int, work: float, held: float) -> dict[str, Any]:
    """A row of a plan: seconds of work on each machine, and what the network adds."""
    way = on_the_way(size, K)
    return {
        "corpus": size.name, "machines": size.machines, "K": K, "s a sweep": work,
        "s of network": way, "GB a machine": held / 1e9,
        "network GB a sweep": network(size, K) / 1e9, "h for 200 sweeps": 200 * (work + way) / 3600,
    }  # fmt: skip


def main() -> None:
    """Print the tables, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--components", type=int, default=128)
    options = parser.parse_args()
    info, K = common.machine(), options.components
    common.print_machine(info)
    rows = measured((*FITTED, *CHECKED), options.rounds)
    factors = fitted(rows[: len(FITTED)])
    for number, row in enumerate(rows):
        row["predicted"] = float(factors @ terms(row["nnz"], row["I"], row["J"], row["K"]))
        row["error"] = row["predicted"] / row["s"] - 1
        row["used"] = "fit" if number < len(FITTED) else "check"
    shown = [{"term": u, "ns": 1e9 * f} for u, f in zip(UNITS, factors, strict=True)]
    faster = speed_up()
    plans = [planned(one, K, seconds(factors, one, K) / faster, memory(one, K)) for one in PLANNED]
    rate = h200()
    gpus = [
        planned(one, K, rate * one.nnz / one.machines * K, memory(one, K, H200_PER_NONZERO))
        for one in ON_GPUS
    ]
    checked = [abs(row["error"]) for row in rows[len(FITTED) :]]
    targets = [
        common.Target("worst relative error of sizes not fitted", max(checked), high=WITHIN),
        common.Target("median of these errors", float(np.median(checked)), high=WITHIN),
    ]
    common.print_table(rows, "Seconds of one core for a sweep")
    common.print_table(shown, "The formula")
    print(f"\ntwo cores are taken for {faster:.2f} times as fast as one")
    common.print_table(plans, f"Predicted for machines of two cores like these, K = {K}")
    common.print_table(gpus, f"Predicted for H200s, {1e12 * rate:.2f} ps per nnz x K, K = {K}")
    common.print_targets(targets)
    parts = {"rows": rows, "factors": shown, "plans": plans, "gpus": gpus}
    judged = [one.row() for one in targets]
    common.write_results("plan", info, **parts, speed_up=faster, targets=judged)


if __name__ == "__main__":
    main()
