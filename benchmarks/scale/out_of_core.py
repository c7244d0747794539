"""Sweeps over counts on the disk, next to the same sweeps in memory; peak memory of both.

The corpus, as a fit in memory holds it (blocks with their column order, and one row state), is four
times the budget or more. The page cache is warm: files were written just before. Sweeps alternate,
so that whatever else the machine does is shared; each side is a process of its own, so that the
peak of either is its own as well. A sweep is what the engine does: E-step and M-step.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import common
from isotherm.anneal.start import Noisy
from isotherm.data.stored import StoredCounts
from isotherm.kernels.cpu.backend import Cpu
from isotherm.placement.disk.streamed import Streamed
from isotherm.placement.local import Local

TIMES, MOST = 4.0, 1.3
PER_NONZERO, PER_ROW = 16, 16  # bytes in memory: counts twice, by rows and by columns


def resident(what: str) -> float:
    """Resident memory of this process in MB: `VmRSS` now, `VmHWM` its peak, files included.

    Not `getrusage`, whose peak includes that of the process that started this one.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) / 1024


def side(kind: str, folder: str, memory: float, K: int) -> None:
    """One side in its own process: a sweep for every line of input, its seconds as a line."""
    from isotherm.models.aspect import Aspect

    common.developed(common.zipf(300, 500), K, Cpu(), sweeps=2)  # compiled before memory is counted
    before = resident("VmRSS")
    stored, kernels, model = StoredCounts(Path(folder), memory), Cpu(), Aspect(K)
    if kind == "memory":
        data: Any = Local.place(stored.load(), kernels)
    else:
        data = Streamed.place(stored, kernels, n_components=K)
    state = Noisy().state(model, data, np.random.default_rng(0))
    blocks = len(data.blocks)
    for _ in sys.stdin:
        begin = time.perf_counter()
        rows, stats, energy = data.sweep(common._expect, state.rows, model, state.params, 1.0)
        params, extra = model.maximize(stats, state.params, 1.0, kernels)
        state = type(state)(params, rows, extra)
        took = time.perf_counter() - begin
        peak = resident("VmHWM")
        told = {"s": took, "energy": energy, "peak": peak - before, "blocks": blocks}
        print(json.dumps(told), flush=True)


def swept(process: Any) -> dict[str, Any]:
    """What the next sweep of a side tells."""
    process.stdin.write("\n")
    process.stdin.flush()
    found: dict[str, Any] = json.loads(process.stdout.readline())
    return found


def measure(rows: int, columns: int, K: int, rounds: int) -> tuple[list[dict[str, Any]], float]:
    """Table of both sides, and how many times the budget the corpus is."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        matrix = common.zipf(rows, columns)
        nnz = matrix.nnz
        held = (nnz * PER_NONZERO + rows * (PER_ROW + 4 * K)) / common.MIB
        memory = held / TIMES
        StoredCounts.write(f"{folder}/counts", matrix)
        del matrix
        kinds, again = ("memory", "disk"), common.command(__file__)
        sides = {
            kind: subprocess.Popen(
                [*again, "--side", kind, f"{folder}/counts", str(memory), str(K)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )
            for kind in kinds
        }  # fmt: skip
        told: dict[str, list[dict[str, Any]]] = {kind: [] for kind in kinds}
        for _ in range(rounds):
            for kind in kinds:
                told[kind].append(swept(sides[kind]))
        for process in sides.values():
            process.stdin.close()
            process.wait()
    table = []
    for kind in kinds:
        seconds = [one["s"] for one in told[kind][1:]]
        table.append({
            "counts": kind, "I": rows, "J": columns, "nnz": nnz, "K": K,
            "blocks": told[kind][-1]["blocks"], "corpus MB": held, "budget MB": memory,
            "peak MB": max(one["peak"] for one in told[kind]),
            "s, best": min(seconds), "s, median": float(np.median(seconds)),
            "energy": told[kind][-1]["energy"],
        })  # fmt: skip
    ratios = [d["s"] / m["s"] for d, m in zip(told["disk"][1:], told["memory"][1:], strict=True)]
    return table, float(np.median(ratios))


def main() -> None:
    """Print the table, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=10_000)
    parser.add_argument("--components", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=8)
    options = parser.parse_args()
    if options.side:
        kind, folder, memory, K = options.side
        side(kind, folder, float(memory), int(K))
        return
    info = common.machine()
    common.print_machine(info)
    rows, ratio = measure(options.rows, options.columns, options.components, options.rounds)
    gap = abs(rows[0]["energy"] / rows[1]["energy"] - 1)
    best = rows[1]["s, best"] / rows[0]["s, best"]
    targets = [
        common.Target("corpus over budget", rows[0]["corpus MB"] / rows[0]["budget MB"], TIMES),
        common.Target("sweep from disk over sweep in memory, best", best, high=MOST),
        common.Target("the same, median of pairs", ratio, high=MOST),
        common.Target("peak over budget", rows[1]["peak MB"] / rows[1]["budget MB"], high=1.0),
        common.Target("free energies differ, relative", gap, high=1e-9),
    ]
    common.print_table(rows, "One sweep of the aspect model at T = 1, page cache warm")
    common.print_targets(targets)
    common.write_results("out_of_core", info, rows=rows, targets=[one.row() for one in targets])


if __name__ == "__main__":
    main()
