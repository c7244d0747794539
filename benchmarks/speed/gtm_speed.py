"""Seconds per EM iteration of the map, next to ugtm; growth of the cost; memory of a large fit.

Both fit 5,000 compounds x 166 MACCS keys with 16 x 16 nodes. An iteration of either is the
difference of two fits that differ in the number of iterations, so that set-up cancels. The quality
of both is judged by one function: mean of log p(x), from centres and noise variance. ugtm's basis
(0.55 spacings wide, prior 0.1) bends more than ours (2 spacings, prior 0.002 / variance): both
programs are run with both.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import time
from typing import Any

import numpy as np
from scipy.optimize import nnls
from threadpoolctl import threadpool_limits

from benchmarks.harness import common, maps
from isotherm import GTM, Engine, Fixed
from isotherm.kernels.cpu.backend import Cpu, available_threads
from isotherm.kernels.cpu.dense import one_blas_thread

SIDE = 16
ROWS = 5_000
# The estimator sweeps max_iter times, and ten times as often once more at the last temperature.
SWEEPS_PER_ITER = 11
MOST = 600  # iterations of a fit that is to converge
NEVER = 0.0  # tolerance that no sweep of a young fit meets
GROWTH = {"N": (1_000, 3_000, 10_000, 30_000), "K": (64, 225, 900), "D": (16, 64, 256)}
LARGE = {"rows": 100_000, "columns": 64, "side": 30}
LARGE_D = 64
SPEED_TARGET, THREADS_TARGET, MEMORY_TARGET = 3.0, 1.5, 2.0
LOW, HIGH = 0.9, 1.1


class Basis:
    """One basis and prior in the terms of both programs."""

    def __init__(self, name: str, width: float, alpha: float) -> None:
        self.name = name
        self.ours = {"n_nodes": SIDE, "n_basis": 4, "basis_width": width, "alpha": alpha}
        self.rival = {"k": SIDE, "m": 4, "s": width**2, "regul": alpha}


def bases(X: np.ndarray) -> list[Basis]:
    """Our default and ugtm's (s = 0.3 is the variance of a basis function in squared spacings)."""
    ours = 0.002 / float(X.var(axis=0).mean())
    return [Basis("ours", 2.0, ours), Basis("ugtm's", 0.3**0.5, 0.1)]


# ---------------------------------------------------------------- next to ugtm


def our_em(X: np.ndarray, basis: Basis, iterations: int, threads: int | None = None) -> GTM:
    """Plain EM from the principal components, so many sweeps (a multiple of 11)."""
    model = GTM(
        **basis.ours, schedule=Fixed(1.0), engine=Engine(over_relax=False), tol=NEVER,
        n_jobs=threads,
        max_iter=iterations // SWEEPS_PER_ITER,
    )  # fmt: skip
    return model.fit(X)


def our_seconds(X: np.ndarray, basis: Basis, threads: int, rounds: int) -> float:
    calls = {str(n): lambda n=n: our_em(X, basis, n, threads) for n in (11, 88)}
    took = common.best_times(calls, rounds)
    return (took["88"] - took["11"]) / 77


def rival_seconds(X: np.ndarray, basis: Basis, threads: int, rounds: int) -> float:
    calls = {str(n): lambda n=n: maps.rival_map(X, n, **basis.rival) for n in (2, 10)}
    with threadpool_limits(threads):
        took = common.best_times(calls, rounds)
    return (took["10"] - took["2"]) / 8


def speed_rows(X: np.ndarray, rounds: int) -> list[dict[str, Any]]:
    """Seconds per iteration of both programs for each number of threads."""
    basis = bases(X)[0]
    our_em(X, basis, 11)  # compiles
    rows = []
    for n in sorted({1, available_threads()}):
        ours = our_seconds(X, basis, n, rounds)
        rival = rival_seconds(X, basis, n, rounds) if maps.ugtm is not None else None
        ours = min(ours, our_seconds(X, basis, n, rounds))
        rows.append(
            {"N": len(X), "D": X.shape[1], "K": SIDE**2, "threads": n, "ours s": ours}
            | {"ugtm s": rival, "x ugtm": rival / ours if rival else None}
        )
    return rows


def quality_row(X: np.ndarray, name: str, basis: Basis, fit: Any) -> dict[str, Any]:
    begin = time.perf_counter()
    fitted = fit()
    seconds = time.perf_counter() - begin
    ours = isinstance(fitted, GTM)
    value = maps.our_log_likelihood if ours else maps.rival_log_likelihood
    return {
        "model": name,
        "basis": basis.name,
        "iterations": fitted.n_iter_ if ours else None,
        "log p(x)": value(X, fitted),
        "seconds": seconds,
    }


def quality_rows(X: np.ndarray, quick: bool, equal: int) -> list[dict[str, Any]]:
    """Mean log p(x) after equally many iterations, and where each program stops by itself."""
    rows, most = [], 30 if quick else MOST
    for basis in bases(X)[: 1 if quick else None]:
        fits = {
            f"ours, EM, {equal} iterations": lambda b=basis: our_em(X, b, equal),
            "ours, EM": lambda b=basis: GTM(**b.ours, schedule=Fixed(1.0), max_iter=most // 10).fit(
                X
            ),
            "ours, annealed": lambda b=basis: GTM(**b.ours, random_state=0).fit(X),
        }
        if maps.ugtm is not None:
            fits |= {
                f"ugtm, {equal} iterations": lambda b=basis: maps.rival_map(X, equal, **b.rival),
                "ugtm": lambda b=basis: maps.rival_map(X, most, **b.rival),
            }
        rows += [quality_row(X, name, basis, fit) for name, fit in fits.items()]
        print(f"done: basis of {basis.name}", flush=True)
    return rows


# ---------------------------------------------------------------- growth


def growth_rows(sizes: dict[str, tuple[int, ...]], rounds: int) -> list[dict[str, Any]]:
    """Seconds per sweep of every size; a size is set up, swept and forgotten."""
    rows = []
    for N in sizes["N"]:
        for D in sizes["D"]:
            X = maps.cloud(N, D)
            for K in sizes["K"]:
                ours = maps.developed(X, round(K**0.5), Cpu("float32"))
                calls = {"sweep": lambda ours=ours: ours.sweep(1.0)}
                with one_blas_thread():
                    took = common.best_times(calls, rounds)["sweep"]
                rows.append(
                    {"N": N, "K": K, "D": D, "s": took, "G N K D/s": N * K * D / took / 1e9}
                )
    return rows


def exponent(rows: list[dict[str, Any]], names: str) -> float:
    """Least-squares slope of log seconds against the log of the product of the named sizes."""
    work = [sum(np.log(row[name]) for name in names) for row in rows]
    return float(np.polyfit(work, np.log([row["s"] for row in rows]), 1)[0])


def exponents(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Exponents overall and in one direction, the other two at their largest."""
    largest = {name: max(row[name] for row in rows) for name in "NKD"}
    wide = [row for row in rows if row["D"] >= LARGE_D]
    found = {f"in N K D, D >= {LARGE_D}": exponent(wide, "NKD")}
    found["in N K D, all sizes"] = exponent(rows, "NKD")
    for name in "NKD":
        others = [other for other in "NKD" if other != name]
        line = [row for row in rows if all(row[o] == largest[o] for o in others)]
        found[f"in {name}, the others largest"] = exponent(line, name)
    return found


def cost_model(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the time goes into: a + b N K + c N K D + d K D, fitted to relative errors."""
    sizes = [(row["N"], row["K"], row["D"]) for row in rows]
    table = np.array([[1, N * K, N * K * D, K * D] for N, K, D in sizes], float)
    seconds = np.array([row["s"] for row in rows])
    cost, _ = nnls(table / seconds[:, None], np.ones(len(rows)))
    error = float(np.abs(table @ cost / seconds - 1).max())
    names = ("per sweep", "per row and node", "per row, node and column", "per node and column")
    found = [{"cost": n, "ns": float(c) * 1e9} for n, c in zip(names, cost, strict=True)]
    return [*found, {"cost": "(largest relative error of the fit)", "ns": f"{error:.0%}"}]


# ---------------------------------------------------------------- a large fit


def large_fit(max_iter: int) -> dict[str, Any]:
    """Row of a large fit: what this process has held at most, the interpreter included."""
    rows, columns, side = LARGE.values()
    X = maps.cloud(rows, columns)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    begin = time.perf_counter()
    fitted = GTM(n_nodes=side, schedule=Fixed(1.0), max_iter=max_iter, tol=NEVER).fit(X)
    seconds = time.perf_counter() - begin
    # In KiB on Linux.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    sweep = seconds / fitted.n_iter_
    return (
        {"N": rows, "D": columns, "K": side**2, "sweeps": fitted.n_iter_, "seconds": seconds}
        | {"s per sweep": sweep, "GiB before": before, "peak GiB": peak}
        | {"N x K float64 GiB": 8 * rows * side**2 / 2**30}
    )


def large_fit_elsewhere(max_iter: int) -> dict[str, Any]:
    """The same in a fresh process, whose memory nothing else has touched."""
    command = [*common.command(__file__), "--large", str(max_iter)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def thread_row(rounds: int) -> dict[str, Any]:
    """One thread against two: sweeps of 10,000 x 64 with 30 x 30 nodes, in turn."""
    X = maps.cloud(10_000, LARGE["columns"])
    sides = {str(n): maps.developed(X, LARGE["side"], Cpu("float32", n)) for n in (1, 2)}
    calls = {name: lambda ours=ours: ours.sweep(1.0) for name, ours in sides.items()}
    with one_blas_thread():
        took = common.best_times(calls, 2 * rounds)
    size = {"N": len(X), "D": X.shape[1], "K": LARGE["side"] ** 2}
    return size | {"1 thread s": took["1"], "2 threads s": took["2"], "x": took["1"] / took["2"]}


# ---------------------------------------------------------------- judging


def judge(parts: dict[str, Any], equal: int) -> list[common.Target]:
    targets = []
    ratios = [row["x ugtm"] for row in parts["speed"] if row["x ugtm"] is not None]
    if ratios:
        name = "iterations per second, ours / ugtm's, worst"
        targets.append(common.Target(name, min(ratios), low=SPEED_TARGET))
        value = {(row["model"], row["basis"]): row["log p(x)"] for row in parts["quality"]}
        same = f", {equal} iterations"
        for basis in dict.fromkeys(row["basis"] for row in parts["quality"]):
            for ours, rival in (
                ("ours, EM" + same, "ugtm" + same),
                ("ours, EM", "ugtm"),
                ("ours, annealed", "ugtm"),
            ):
                name = f"log p(x), {ours} - {rival}; basis {basis}"
                gain = value[ours, basis] - value[rival, basis]
                targets.append(common.Target(name, gain, low=0.0))
    else:
        print("NOTE: nothing measured for the targets next to ugtm")
    for name, slope in list(parts["exponents"].items())[:2]:
        targets.append(common.Target(f"exponent {name}", slope, LOW, HIGH))
    if "threads" in parts:
        gained = parts["threads"][0]["x"]
        targets.append(common.Target("two threads over one", gained, low=THREADS_TARGET))
    peak = parts["large"][0]["peak GiB"]
    targets.append(common.Target("peak GiB of the large fit", peak, high=MEMORY_TARGET))
    return targets


def measure(quick: bool, equal: int) -> dict[str, Any]:
    rounds = 1 if quick else 3
    X = maps.many_compounds(ROWS)
    parts: dict[str, Any] = {"speed": speed_rows(X, rounds)}
    common.print_table(parts["speed"], "Seconds per EM iteration")
    parts["quality"] = quality_rows(X, quick, equal)
    shown = [row | {"log p(x)": f"{row['log p(x)']:.3f}"} for row in parts["quality"]]
    common.print_table(shown, "Mean log p(x), by one function")
    sizes = {name: values[: 2 if quick else None] for name, values in GROWTH.items()}
    parts["growth"] = growth_rows(sizes, rounds)
    common.print_table(parts["growth"], "Seconds per sweep at T = 1")
    common.print_table(cost_model(parts["growth"]), "Where the time goes: the sum that fits best")
    parts["exponents"] = exponents(parts["growth"])
    rows = [{"exponent": name, "value": slope} for name, slope in parts["exponents"].items()]
    common.print_table(rows, "Exponents of the cost")
    if available_threads() > 1:
        parts["threads"] = [thread_row(rounds)]
        common.print_table(parts["threads"], "Threads")
    parts["large"] = [large_fit_elsewhere(1)]
    common.print_table(parts["large"], "A large fit in a fresh process")
    return parts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer sizes, one round")
    parser.add_argument("--large", type=int, metavar="N", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.large:
        print(json.dumps(large_fit(options.large)))
        return
    info = common.machine()
    common.print_machine(info)
    maps.note_missing(ugtm=maps.ugtm)
    equal = 11 if options.quick else 110
    parts = measure(options.quick, equal)
    targets = judge(parts, equal)
    common.print_targets(targets)
    name = "gtm_speed-quick" if options.quick else "gtm_speed"
    common.write_results(name, info, **parts, targets=[target.row() for target in targets])


if __name__ == "__main__":
    main()
