"""Growth of the cost of a sweep of the aspect model: linear in non-zeros x components?

Synthetic corpora grow in rows, and their vocabulary with the square root of the rows (Heaps' law).
The exponent is the slope of log seconds against log(nnz K), 1 where the cost is linear. A non-zero
costs something by itself (an index, a division, a logarithm), so that small K come out cheaper than
linear from larger ones; the target is shown for sizes where the components decide, and for all.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from scipy.optimize import nnls

from benchmarks.harness import common
from isotherm.kernels.cpu.backend import Cpu, available_threads

NNZ = (100_000, 300_000, 1_000_000, 2_000_000, 4_000_000)
COMPONENTS = (16, 32, 64, 128, 256)
NNZ_PER_ROW = 98.6  # of the synthetic corpus of 10,000 x 20,000
LOW, HIGH = 0.9, 1.1
LARGE_K = 32
LARGE = f"K >= {LARGE_K}"
ALL = "all sizes"


def corpus(nnz: int) -> Any:
    """Synthetic counts (I, J) with about so many non-zeros; 10,000 x 20,000 at a million."""
    rows = round(nnz / NNZ_PER_ROW)
    return common.zipf(rows, round(20_000 * (rows / 10_000) ** 0.5))


def measure(corpora: list[Any], rounds: int) -> list[dict[str, Any]]:
    """Rows of the table: every corpus with every K, all sizes measured in turn."""
    sides = {
        f"{matrix.nnz} {K}": common.developed(matrix, K, Cpu(), sweeps=3)
        for matrix in corpora
        for K in COMPONENTS
    }
    calls = {name: lambda ours=ours: ours.sweep(1.0) for name, ours in sides.items()}
    seconds = common.best_times(calls, rounds)

    def row(matrix: Any, K: int) -> dict[str, Any]:
        took, (n_rows, n_columns) = seconds[f"{matrix.nnz} {K}"], matrix.shape
        return {
            "I": n_rows,
            "J": n_columns,
            "nnz": matrix.nnz,
            "K": K,
            "tables MiB": (n_rows + n_columns) * K * 4 / common.MIB,
            "s": took,
            "G nnz K/s": matrix.nnz * K / took / 1e9,
        }

    return [row(matrix, K) for matrix in corpora for K in COMPONENTS]


def exponent(rows: list[dict[str, Any]]) -> float:
    """Least-squares slope of log seconds against log(nnz K)."""
    work = np.log([row["nnz"] * row["K"] for row in rows])
    return float(np.polyfit(work, np.log([row["s"] for row in rows]), 1)[0])


def exponents(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Exponent over all sizes, in each direction alone, and on either side of the last cache."""
    large = [r for r in rows if r["K"] >= LARGE_K]
    groups = {LARGE: large, ALL: rows}
    largest = max(row["nnz"] for row in rows)
    groups |= {f"in nnz, K = {K}": [r for r in rows if r["K"] == K] for K in COMPONENTS}
    groups["in K, largest corpus"] = [r for r in rows if r["nnz"] == largest]
    caches = common.caches()
    if caches:
        level, size = max(caches.items())
        small = [r for r in rows if r["tables MiB"] * common.MIB <= size]
        name = f"{level} ({size // common.MIB} MiB)"
        groups[f"tables within {name}"] = small
        groups[f"tables beyond {name}"] = [r for r in rows if r not in small]
    return {name: exponent(group) for name, group in groups.items() if len(group) > 2}


def cost_model(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the time goes into: a + b nnz + c nnz K + d (I + J) K, fitted to relative errors."""
    table = np.array([[1, r["nnz"], r["nnz"] * r["K"], (r["I"] + r["J"]) * r["K"]] for r in rows])
    seconds = np.array([row["s"] for row in rows])
    cost, _ = nnls(table / seconds[:, None], np.ones(len(rows)))
    error = float(np.abs(table @ cost / seconds - 1).max())
    names = ("per sweep", "per non-zero", "per non-zero and component", "per entry of a table")
    found = [{"cost": n, "ns": float(c) * 1e9} for n, c in zip(names, cost, strict=True)]
    return [*found, {"cost": "(largest relative error of the fit)", "ns": f"{error:.0%}"}]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="up to a million non-zeros, one round")
    quick = parser.parse_args().quick
    info = common.machine()
    common.print_machine(info)
    corpora = [corpus(nnz) for nnz in NNZ[: 3 if quick else None]]
    rows = measure(corpora, 1 if quick else 4)
    slopes = exponents(rows)
    shown = [{"over": name, "exponent": slope} for name, slope in slopes.items()]
    model = cost_model(rows)
    targets = [common.Target(f"exponent, {over}", slopes[over], LOW, HIGH) for over in (LARGE, ALL)]
    common.print_table(rows, f"Seconds per sweep at T = 1, {available_threads()} threads")
    common.print_table(model, "Where the time goes: the sum that fits it best")
    common.print_table(shown, "Exponent of the cost in nnz K")
    common.print_targets(targets)
    common.write_results(
        "scaling-quick" if quick else "scaling", info, rows=rows, cost_model=model,
        exponents=shown, targets=[target.row() for target in targets],
    )  # fmt: skip


if __name__ == "__main__":
    main()
