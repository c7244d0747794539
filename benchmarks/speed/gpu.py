"""Sweeps, whole fits and maps on a GPU, next to what the device can do at best.

The corpus has 300,000 rows, 100,000 columns and about 73.5 million non-zeros: topics over Zipf's
law, columns shuffled. A sweep is what the engine does, E-step over rows and columns and M-step, at
a temperature other than 1, so that both tables are raised to a power. It gathers a row of a table
for each non-zero twice: those bytes over its time stand beside the rate of gathers from a table
that fits in the device's cache, and beside that of a copy. The fit goes from `Counts` in the host's
memory to a fitted estimator there; held-out tokens are split off and sent over as part of it.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import time
from typing import Any

import numpy as np

from benchmarks.harness import common
from isotherm import AspectModel, Engine
from isotherm.anneal.callbacks import Callback, HeldoutRule
from isotherm.anneal.engine import Annealer, Relaxation
from isotherm.anneal.heldout import HeldoutTokens
from isotherm.anneal.schedule import Exponential
from isotherm.anneal.start import Noisy, state_of
from isotherm.data.counts import Counts
from isotherm.data.split import hold_out_tokens
from isotherm.data.vectors import VectorBlock
from isotherm.kernels.cpu.backend import Cpu
from isotherm.kernels.cpu.dense import one_blas_thread
from isotherm.models.aspect import Aspect
from isotherm.models.cluster import Cluster
from isotherm.models.grid import LatentGrid
from isotherm.models.gtm import Gtm
from isotherm.placement.local import Local

DEVICE = "cuda"
FULL = {"rows": 300_000, "columns": 100_000, "nnz": 73_500_000, "topics": 100}
QUICK = {"rows": 20_000, "columns": 10_000, "nnz": 2_000_000, "topics": 20}
TEMPERATURE = 1.1
SWEEP_TARGETS = {128: 11.0, 256: 22.0}
FIT_TARGET, MAP_TARGET = 30.0, 60.0
FIT_K = 128
MAP = {"rows": 1_000_000, "columns": 64, "side": 50, "basis": 8}


def backend(gathered: str = "same", precision: str = "float32") -> Any:
    from isotherm.kernels.torch.backend import Torch

    return Torch(precision, DEVICE, gathered)


# ---------------------------------------------------------------- sweeps


def sweep_rows(counts: Counts, limits: dict[str, float]) -> list[dict[str, Any]]:
    """Milliseconds of a sweep, bytes gathered and multiply-adds in that time, next to limits."""
    rows = []
    cases = [(Aspect(K), gathered) for K in SWEEP_TARGETS for gathered in ("same", "bfloat16")]
    for model, gathered in [*cases, (Cluster(128, temper_prior=True), "same")]:
        size, K = 2 if gathered == "bfloat16" else 4, model.n_components
        data = Local.place(counts, backend(gathered))
        ours = common.Ours(model, data, Noisy(1.0).state(model, data, np.random.default_rng(0)))
        for _ in range(5):
            ours = ours._replace(state=ours.sweep(TEMPERATURE))
        torch.cuda.reset_peak_memory_stats()
        took = gpu.seconds(lambda ours=ours: ours.sweep(TEMPERATURE))
        peak = torch.cuda.max_memory_allocated() / 1e9
        adds = 3 if isinstance(model, Aspect) else 2
        moved, done = 2 * counts.nnz * K * size, 2 * adds * counts.nnz * K
        rows.append({
            "model": type(model).__name__, "K": K,
            "tables": "float32" if gathered == "same" else gathered,
            "ms": 1e3 * took, "gathers TB/s": moved / took / 1e12,
            "of cache": moved / took / 1e12 / limits["gathers"],
            "of copy": moved / took / 1e12 / limits["copy"], "TFLOP/s": done / took / 1e12,
            "peak GB": peak,
        })  # fmt: skip
    return rows


def agreement_rows() -> list[dict[str, Any]]:
    """Largest differences from the CPU in double precision after ten sweeps, by model."""
    counts = Counts(common.zipf(3_000, 2_000, seed=1))
    rows = []
    for model in (Aspect(20), Cluster(20, temper_prior=True)):
        wanted = swept(model, Local.place(counts, Cpu("float64")))
        for name, kernels in {
            "float64": backend(precision="float64"),
            "float32": backend(),
            "bfloat16": backend("bfloat16"),
        }.items():
            found = [swept(model, Local.place(counts, kernels)) for _ in range(2)]
            table, energy = found[0]
            rows.append({
                "model": type(model).__name__, "tables": name,
                "energy": abs(energy - wanted[1]) / abs(wanted[1]),
                "P(y|k)": float(np.abs(table - wanted[0]).max() / wanted[0].max()),
                "same again": bool(np.array_equal(found[0][0], found[1][0])),
            })  # fmt: skip
    return rows


def swept(model: Any, data: Local) -> tuple[np.ndarray, float]:
    state = Noisy(0.5).state(model, data, np.random.default_rng(0))
    for _ in range(10):
        rows, stats, energy = data.sweep(
            common._expect, state.rows, model, state.params, TEMPERATURE
        )
        params, extra = model.maximize(stats, state.params, TEMPERATURE, data.kernels)
        state = type(state)(params, rows, extra)
    return np.asarray(state.params.word_topic, np.float64), energy


# ---------------------------------------------------------------- whole fits


class Clock(Callback):
    """Notes when each temperature was done."""

    def __init__(self) -> None:
        self.begin, self.at = time.perf_counter(), []

    def on_temperature(self, fit: Any) -> bool:
        self.at.append(time.perf_counter() - self.begin)
        return False


def fit_row(counts: Counts, start: Any, profile: bool) -> dict[str, Any]:
    """Seconds of a whole fit of the estimator, and what came out."""
    clock, profiler = Clock(), cProfile.Profile()
    model = AspectModel(
        FIT_K, device=DEVICE, start=start, random_state=0, engine=Engine(callbacks=[clock])
    )
    if profile:
        profiler.enable()
    begin = time.perf_counter()
    model.fit(counts)
    took = time.perf_counter() - begin
    if profile:
        profiler.disable()
        pstats.Stats(profiler).sort_stats("tottime").print_stats(25)
    best = min(record.heldout for record in model.trace_)
    return {
        "start": type(start).__name__ if start else "default", "seconds": took,
        "first temperature at": clock.at[0], "last at": clock.at[-1],
        "temperatures": len(model.trace_), "sweeps": model.n_iter_, "perplexity": round(best),
    }  # fmt: skip


def quality_rows(counts: Counts) -> list[dict[str, Any]]:
    """Held-out perplexity of the same run with tables in float32 and in bfloat16."""
    kept, held = hold_out_tokens(counts, 0.1, 1)
    rows = []
    for gathered in ("same", "bfloat16"):
        data = Local.place(kept, backend(gathered))
        annealer = Annealer(
            Exponential(rate=0.95, end=1.0, margin=0.8), Relaxation(cap=3.0), Noisy(),
            tol=1e-4, callbacks=[HeldoutRule(2)],
        )  # fmt: skip
        begin = time.perf_counter()
        fit = annealer.run(
            Aspect(FIT_K, True), data, np.random.default_rng(0),
            heldout=HeldoutTokens(data.beside(held)),
        )  # fmt: skip
        rows.append({
            "tables": "float32" if gathered == "same" else gathered,
            "seconds": time.perf_counter() - begin, "temperature": fit.temperature,
            "sweeps": fit.n_sweeps, "perplexity": round(min(r.heldout for r in fit.trace)),
            "log-likelihood per token": max(r.log_likelihood for r in fit.trace) / kept.total,
        })  # fmt: skip
    return rows


# ---------------------------------------------------------------- maps


def map_row(limits: dict[str, float], size: dict[str, int]) -> dict[str, Any]:
    """Milliseconds of an EM sweep of a map at T = 1, and its rate of multiply-adds."""
    import torch

    torch.manual_seed(0)
    place = torch.rand(size["rows"], 2, device=DEVICE) * 2 - 1
    turn = torch.randn(2, size["columns"], device=DEVICE)
    values = torch.sin(place @ turn) + 0.1 * torch.randn(
        size["rows"], size["columns"], device=DEVICE
    )
    block = VectorBlock(values.cpu().numpy(), np.ones(size["rows"]))
    grid = LatentGrid((size["side"],) * 2, (size["basis"],) * 2, 1.0)
    model, data = Gtm(grid, alpha=0.01), Local([block], backend())
    weight = model.sheet(size["columns"], 0.5, np.random.default_rng(0))
    state = state_of(model, data, model.with_weight(weight, data.summary))
    ours = common.Ours(model, data, state)
    for _ in range(3):
        ours = ours._replace(state=ours.sweep(1.0))
    with one_blas_thread():  # as estimators do
        took = gpu.seconds(lambda: ours.sweep(1.0), 5)
    K = size["side"] ** 2
    done, moved = 4 * size["rows"] * K * size["columns"], 5 * 4 * size["rows"] * K
    return {
        "rows": size["rows"], "nodes": K, "ms": 1e3 * took, "TFLOP/s": done / took / 1e12,
        "of product": done / took / 1e12 / limits["product"], "TB/s": moved / took / 1e12,
        "of copy": moved / took / 1e12 / limits["copy"],
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small corpus, no targets")
    parser.add_argument("--only", nargs="*", help="sweeps, agreement, fit, quality, map")
    parser.add_argument("--profile", action="store_true", help="show where a fit spends its time")
    options = parser.parse_args()
    wanted = options.only or ["sweeps", "agreement", "fit", "quality", "map"]
    size = QUICK if options.quick else FULL
    info = common.machine()
    info["gpu"] = torch.cuda.get_device_name() + f", torch {torch.__version__}"
    common.print_machine(info)
    print(info["gpu"], flush=True)
    parts: dict[str, Any] = {}
    targets = []
    limits = gpu.ceilings(128, size["nnz"], DEVICE)
    common.print_table([limits], "Ceilings: TB/s of a copy, of gathers from 24 MB; TFLOP/s")
    begin = time.perf_counter()
    matrix = gpu.corpus(**size, device=DEVICE)
    counts = Counts(matrix)
    print(f"\n{counts!r}, made in {time.perf_counter() - begin:.1f} s", flush=True)
    if "sweeps" in wanted:
        parts["sweeps"] = sweep_rows(counts, limits)
        common.print_table(parts["sweeps"], "A sweep")
        for row in parts["sweeps"]:
            if row["model"] == "Aspect" and row["tables"] == "float32":
                K = row["K"]
                targets.append(common.Target(f"ms, K = {K}", row["ms"], high=SWEEP_TARGETS[K]))
    if "agreement" in wanted:
        parts["agreement"] = agreement_rows()
        common.print_table(parts["agreement"], "Relative differences from the CPU in float64")
    if "map" in wanted:
        parts["map"] = [map_row(limits, MAP if not options.quick else MAP | {"rows": 50_000})]
        common.print_table(parts["map"], "An EM sweep of a map")
        targets.append(common.Target("ms, map", parts["map"][0]["ms"], high=MAP_TARGET))
    if "fit" in wanted:
        parts["fit"] = [fit_row(counts, start, options.profile) for start in (None, Noisy())]
        common.print_table(parts["fit"], f"A whole fit of the aspect model, K = {FIT_K}")
        targets += [
            common.Target(f"s, fit from {row['start']}", row["seconds"], high=FIT_TARGET)
            for row in parts["fit"]
        ]
    if "quality" in wanted:
        parts["quality"] = quality_rows(counts)
        common.print_table(parts["quality"], "The same run with tables of two types")
    if not options.quick:
        judged = common.print_targets(targets)
        common.write_results("gpu", info, ceilings=[limits], **parts, targets=judged)


if __name__ == "__main__":
    try:
        import torch

        from benchmarks.harness import gpu
    except ImportError as missing:
        common.lacks(f"the extra 'gpu' ({missing})")
    if not torch.cuda.is_available():
        common.lacks("an NVIDIA GPU")
    os.environ.setdefault("PYTORCH_ALLOC_CONF", "expandable_segments:True")
    main()
