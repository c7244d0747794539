"""A sweep on the workers of a local Dask cluster, next to the same sweep in this process.

Two workers with one thread each against two threads here: what is left is the cost of messages and
of adding up sums. Sweeps alternate, so that whatever else the machine does is shared. With
`--device cuda` both workers share one GPU, next to this process on the same GPU: there parameters
and sums cross to the host and back each sweep, which no target is set for.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from benchmarks.harness import common
from isotherm.anneal.start import Noisy
from isotherm.data.counts import Counts
from isotherm.errors import IsothermError
from isotherm.kernels.devices import kernels_on
from isotherm.models.aspect import Aspect
from isotherm.placement.cluster.remote import Remote
from isotherm.placement.local import Local

MOST = 1.25


def main() -> None:
    """Print the table, and write the results."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        common.lacks("the extra 'cluster'")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=210_000)
    parser.add_argument("--columns", type=int, default=10_000)
    parser.add_argument("--components", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--device", default="cpu", help='"cpu", "cuda" or "torch"')
    options = parser.parse_args()
    info = common.machine()
    common.print_machine(info)
    device, model = options.device, Aspect(options.components)
    try:
        kernels, theirs = kernels_on(device), kernels_on(device, elsewhere=True)
    except IsothermError as missing:
        common.lacks(f"device {device}: {missing}")
    counts = Counts(common.zipf(options.rows, options.columns))
    sides: dict[str, Any] = {}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        sides["in process"] = Local.place(counts, kernels)
        sides["2 workers"] = Remote.place(counts, theirs, client)
        start = Noisy(1.0)
        states = {
            name: start.state(model, data, np.random.default_rng(0)) for name, data in sides.items()
        }
        seconds: dict[str, list[float]] = {name: [] for name in sides}
        energies = {}
        for _ in range(options.rounds):
            for name, data in sides.items():
                state, begin = states[name], time.perf_counter()
                rows, stats, energy = data.sweep(
                    common._expect, state.rows, model, state.params, 1.0
                )
                params, extra = model.maximize(stats, state.params, 1.0, data.kernels)
                states[name] = type(state)(params, rows, extra)
                np.asarray(params.word_topic)  # work on a GPU is done when it is asked for
                seconds[name].append(time.perf_counter() - begin)
                energies[name] = energy
    table = [
        {
            "where": name, "device": device, "I": counts.n_rows, "J": counts.n_columns,
            "nnz": counts.nnz, "K": options.components, "s, best": min(took[1:]),
            "s, median": float(np.median(took[1:])), "energy": energies[name],
        }
        for name, took in seconds.items()
    ]  # fmt: skip
    ratio = table[1]["s, best"] / table[0]["s, best"]
    pairs = zip(seconds["2 workers"][1:], seconds["in process"][1:], strict=True)
    gap = abs(energies["2 workers"] / energies["in process"] - 1)
    # Kernels of a GPU add runs in single precision, which end where blocks do.
    most, differ = (MOST, 1e-9) if device == "cpu" else (np.inf, 1e-6)
    targets = [
        common.Target("non-zeros, million", counts.nnz / 1e6, low=19.5),
        common.Target("workers over process, best", ratio, high=most),
        common.Target(
            "the same, median of pairs", float(np.median([a / b for a, b in pairs])), high=most
        ),
        common.Target("free energies differ, relative", gap, high=differ),
    ]
    common.print_table(table, "One sweep of the aspect model at T = 1")
    common.print_targets(targets)
    name = "cluster" if device == "cpu" else f"cluster-{device}"
    common.write_results(name, info, rows=table, targets=[one.row() for one in targets])


if __name__ == "__main__":
    main()
