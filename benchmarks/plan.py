"""How long and how large? A formula for sweeps of the aspect model, checked here, used far away.

Seconds of a sweep are a sum of three products: non-zeros x components, non-zeros, and cells of the
tables (rows + columns) x components. The factors are fitted to small corpora on this machine; the
error is that on larger ones, which were not used. Bytes and network volume follow from the layout.
The last table puts in the sizes of corpora that do not fit here.
"""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

import _common as common
from isotherm.kernels.cpu import Cpu, available_threads

FITTED = ((50_000, 16), (50_000, 64), (200_000, 16), (200_000, 64), (800_000, 16), (800_000, 64))
CHECKED = ((1_600_000, 32), (3_200_000, 16), (3_200_000, 64))
NNZ_PER_ROW = 98.6
WITHIN = 0.35
# Bytes: counts by rows and by columns (two indices, a value, a place), a row and its weight.
PER_NONZERO, PER_ROW = 16, 24
# Row states at a time (before, after, and one more while a step is over-relaxed).
STATES = 3


class Size(NamedTuple):
    """A corpus, and how many machines share it."""

    name: str
    rows: float
    columns: float
    nnz: float
    machines: int


PLANNED = (
    Size("20 newsgroups", 18_846, 20_982, 1.7e6, 1),
    Size("PubMed", 8.2e6, 141_043, 483e6, 1),
    Size("PubMed", 8.2e6, 141_043, 483e6, 8),
    Size("1e9 documents", 1e9, 1e6, 1e11, 256),
    Size("1e9 documents", 1e9, 1e6, 1e11, 1024),
)


def terms(nnz: float, rows: float, columns: float, K: int) -> list[float]:
    """What the seconds of a sweep are made of."""
    return [nnz * K, nnz, (rows + columns) * K]


def seconds(factors: Any, size: Size, K: int) -> float:
    """Predicted seconds of a sweep, each machine as fast as this one; columns are everybody's."""
    m = size.machines
    return float(factors @ terms(size.nnz / m, size.rows / m, size.columns, K))


def memory(size: Size, K: int) -> float:
    """Predicted bytes on each machine of a fit in memory (a fit from the disk needs its budget)."""
    rows = size.rows / size.machines
    counts = size.nnz / size.machines * PER_NONZERO + rows * PER_ROW
    # A fit holds the counts twice: all of them, and those that are not held out.
    return 2 * counts + STATES * rows * K * 4 + 6 * size.columns * K * 4


def network(size: Size, K: int) -> float:
    """Predicted bytes that each machine sends or receives a sweep: parameters in, sums out."""
    return 0.0 if size.machines == 1 else size.columns * K * (4 + 8)


def measured(sizes: Any, rounds: int) -> list[dict[str, Any]]:
    """Seconds of a sweep for every size, all in turn."""
    corpora = {}
    for nnz, _ in sizes:
        rows = round(nnz / NNZ_PER_ROW)
        corpora[nnz] = common.zipf(rows, round(20_000 * (rows / 10_000) ** 0.5))
    ours = {(n, K): common.developed(corpora[n], K, Cpu(), sweeps=2) for n, K in sizes}
    calls = {f"{n} {K}": (lambda one=one: one.sweep(1.0)) for (n, K), one in ours.items()}
    best = common.best_times(calls, rounds, at_least=0.05)
    return [
        {
            "I": corpora[n].shape[0], "J": corpora[n].shape[1], "nnz": corpora[n].nnz, "K": K,
            "s": best[f"{n} {K}"],
        }
        for n, K in sizes
    ]  # fmt: skip


def fitted(rows: list[dict[str, Any]]) -> Any:
    """Factors of the formula: least squares of relative errors, none below 0."""
    table = np.array([terms(r["nnz"], r["I"], r["J"], r["K"]) for r in rows])
    took = np.array([r["s"] for r in rows])
    return nnls(table / took[:, None], np.ones(len(took)))[0]


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
    units = ("ns per nnz x K", "ns per nnz", "ns per (I + J) x K")
    shown = [{"term": u, "factor": 1e9 * f} for u, f in zip(units, factors, strict=True)]
    plans = [
        {
            "corpus": size.name, "machines": size.machines, "K": K,
            "s a sweep": seconds(factors, size, K),
            "GB a machine": memory(size, K) / 1e9,
            "network GB a sweep": network(size, K) / 1e9,
            "h for 200 sweeps": 200 * seconds(factors, size, K) / 3600,
        }
        for size in PLANNED
    ]  # fmt: skip
    worst = max(abs(row["error"]) for row in rows[len(FITTED) :])
    targets = [common.Target("worst relative error of sizes not fitted", worst, high=WITHIN)]
    common.print_table(rows, f"Seconds per sweep, {available_threads()} threads")
    common.print_table(shown, "The formula")
    common.print_table(plans, f"Predicted, each machine as fast as this one, K = {K}")
    common.print_targets(targets)
    common.write_results("plan", info, rows=rows, factors=shown, plans=plans,
                         targets=[one.row() for one in targets])  # fmt: skip


if __name__ == "__main__":
    main()
