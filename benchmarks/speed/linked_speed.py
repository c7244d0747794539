"""What ties to neighbours cost: sweeps of LapPLSI, LTM and DTM next to those of the aspect model.

All postings of 20 newsgroups. Sweeps are timed in turn, some into a fit, and the shortest of each
counts. Then the whole of a DTM fit, graph included, and what it costs for each iteration.
"""

from __future__ import annotations

import argparse
import time
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import common
from isotherm import DTM
from isotherm.anneal.start import Noisy
from isotherm.anneal.trace import State
from isotherm.data.base import blocks_of
from isotherm.data.linked import LinkedBlock, Links
from isotherm.estimators.starts.linked import RandomRows
from isotherm.graph.neighbors import Neighbors
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models import dtm, lap_plsi, ltm
from isotherm.models.aspect import Aspect
from isotherm.placement.local import Local

MOST_TIMES = 3.0


class Sweeper:
    """A model on its way: every call is one sweep as the engine makes it."""

    def __init__(self, model: Any, data: Local, start: Any) -> None:
        self.model, self.data = model, data
        self.state = start.state(model, data, np.random.default_rng(common.SEED))

    def __call__(self) -> None:
        model, params = self.model, self.state.params
        rows, stats, _ = self.data.sweep(_expect, self.state.rows, model, params, 1.0)
        params, extra = model.maximize(stats, params, 1.0, self.data.kernels)
        self.state = State(params, rows, extra)


class Case(NamedTuple):
    """A name and what is swept under it."""

    name: str
    sweep: Sweeper


def _expect(k: Any, block: Any, rows: Any, model: Any, params: Any, temperature: float) -> Any:
    return model.expect(params, rows, block, temperature, k)


def cases(K: int, data: Local) -> list[Case]:
    models = {
        "DTM": dtm.DTM(K),
        "DTM, the paper's step": dtm.DTM(K, "paper"),
        "LapPLSI": lap_plsi.LapPLSI(K),
        "LapPLSI, all rows at once": lap_plsi.LapPLSI(K, method="jacobi"),
        "LTM": ltm.LTM(K),
    }
    linked = [Case(name, Sweeper(model, data, RandomRows())) for name, model in models.items()]
    return [Case("aspect", Sweeper(Aspect(K), data, Noisy(1.0))), *linked]


def sweeps(K: int, data: Local, rounds: int) -> list[dict[str, Any]]:
    tried = cases(K, data)
    for case in tried:
        for _ in range(5):
            case.sweep()
    best = common.best_times({case.name: case.sweep for case in tried}, rounds)
    return [
        {"model": name, "K": K, "seconds a sweep": took, "times": took / best["aspect"]}
        for name, took in best.items()
    ]


def whole(K: int, counts: Any) -> dict[str, Any]:
    begin, cpu = time.perf_counter(), time.process_time()
    model = DTM(K, random_state=common.SEED).fit(counts)
    took = time.perf_counter() - begin
    return {
        "documents": counts.n_rows,
        "K": K,
        "iterations": model.n_iter_,
        "seconds": took,
        "CPU seconds": time.process_time() - cpu,
        "seconds an iteration": took / model.n_iter_,
        "Q2": float(model.separation_),
        "rejected": int(model.n_rejected_),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=100, help="number of topics")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    info = common.machine()
    common.print_machine(info)
    counts = common.counts("20news")
    links = Links.of(Neighbors.of(counts).graph())
    block = blocks_of(counts, np.array([0, counts.n_rows]))[0]
    data = Local([LinkedBlock.of(block, links)], Cpu("float32"))
    table = sweeps(options.size, data, options.rounds)
    common.print_table(table, "Seconds of a sweep, 20news")
    fit = whole(options.size, counts)
    common.print_table([fit], "A whole fit of DTM, graph included")
    times = next(row["times"] for row in table if row["model"] == "DTM")
    target = common.Target("DTM: sweep over aspect sweep", times, high=MOST_TIMES)
    judged = common.print_targets([target])
    common.write_results("linked_speed", info, sweeps=table, fit=[fit], targets=judged)


if __name__ == "__main__":
    main()
