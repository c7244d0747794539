"""What the benchmarks share: where they run, what they run on, how they measure and report."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
from scipy import sparse

import isotherm
from isotherm.anneal.start import Noisy
from isotherm.anneal.trace import State
from isotherm.data.counts import Counts
from isotherm.kernels.cpu.backend import available_threads
from isotherm.models.aspect import Aspect
from isotherm.models.gtm import Gtm
from isotherm.placement.local import Local

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "tomotopy", "ugtm", "umap-learn")
SEED = 0
MIB = 1 << 20


# ---------------------------------------------------------------- where it runs


def machine(seed: int = SEED) -> dict[str, Any]:
    """Machine, versions, commit and seed: what a figure means nothing without."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": _cpu_name(),
        "threads": available_threads(),
        "caches": caches(),
        "system": platform.platform(),
        "load_before": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "packages": {"isotherm": isotherm.__version__} | {p: _version(p) for p in PACKAGES},
        "commit": _commit(),
        "arguments": sys.argv[1:],
        "seed": seed,
    }


def caches() -> dict[str, int]:
    """Bytes of the data caches that the first core sees, e.g. {"L2": 524288}; {} if unknown."""
    found = {}
    for cache in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        if (cache / "type").read_text().strip() != "Instruction":
            size = (cache / "size").read_text().strip()
            found["L" + (cache / "level").read_text().strip()] = int(size.rstrip("K")) * 1024
    return found


def _cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "missing"


def _commit() -> str:
    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else "unknown"

    code = ("src", "benchmarks", ":!benchmarks/results")  # new results are no change of it
    changed = git("status", "--porcelain", "--untracked-files=no", "--", *code)
    return git("rev-parse", "--short=12", "HEAD") + (" with changes" if changed else "")


# ---------------------------------------------------------------- what it runs on


class Corpus(NamedTuple):
    """A count table (I, J) float32 and what to call it in a table."""

    name: str
    matrix: sparse.csr_array


def zipf(rows: int, columns: int, tokens: float = 120.0, seed: int = SEED) -> sparse.csr_array:
    """Counts (rows, columns) of words drawn by Zipf's law, about `tokens` to a row.

    Columns are shuffled: frequent words do not stand together in a real vocabulary either.
    """
    rng = np.random.default_rng(seed)
    lengths = 1 + rng.poisson(tokens * rng.gamma(2.0, 0.5, rows))
    share = 1.0 / (np.arange(columns) + 2.7)
    cumulative = np.cumsum(share / share.sum())
    ranks = np.minimum(np.searchsorted(cumulative, rng.random(lengths.sum())), columns - 1)
    words = rng.permutation(columns)[ranks]
    owner = np.repeat(np.arange(rows), lengths)
    ones = np.ones(len(words), np.float32)
    return sparse.coo_array((ones, (owner, words)), shape=(rows, columns)).tocsr()


def synthetic(seed: int = SEED) -> Corpus:
    """The synthetic corpus of 10,000 rows and 20,000 columns."""
    return Corpus("synthetic", zipf(10_000, 20_000, seed=seed))


def data_folder() -> Path:
    """Folder of real data sets: ISOTHERM_DATA, or shared/data beside the repository."""
    return Path(os.environ.get("ISOTHERM_DATA", ROOT.parent / "shared" / "data"))


def command(file: str) -> list[str]:
    """What runs a module of the benchmarks, given as its file, in a process of its own."""
    return [
        sys.executable,
        "-m",
        ".".join(Path(file).resolve().relative_to(ROOT).with_suffix("").parts),
    ]


def lacks(what: str) -> NoReturn:
    """End the benchmark, because this machine does not have what it needs."""
    print(f"this benchmark needs {what}", file=sys.stderr)
    raise SystemExit(os.EX_UNAVAILABLE)


def data_file(name: str) -> Path:
    """A file of the data folder; ends the benchmark where it is missing."""
    path = data_folder() / name
    if not path.exists():
        lacks(f"{name} in the folder ISOTHERM_DATA")
    return path


def counts(name: str) -> Counts:
    """A real corpus of the data folder."""
    return Counts(sparse.load_npz(data_file(f"{name}/counts.npz")))


def vectors(folder: str, name: str) -> np.ndarray:
    """A table of numbers (I, D) of the data folder."""
    return np.loadtxt(data_file(f"{folder}/{name}"), delimiter=",")


def newsgroups(seed: int = SEED) -> Corpus:
    """The 20 newsgroups, or a synthetic table of the same size where the data is missing."""
    path = data_folder() / "20news" / "counts.npz"
    if path.exists():
        return Corpus("20news", sparse.csr_array(sparse.load_npz(path)).astype(np.float32))
    print(f"NOTE: no {path.name} of 20news (set ISOTHERM_DATA); a synthetic table stands in for it")
    return Corpus("20news stand-in", zipf(18_846, 20_982, 112.0, seed + 1))


# ---------------------------------------------------------------- our side


class Ours(NamedTuple):
    """A model, placed data and a state to sweep from."""

    model: Aspect | Gtm
    data: Local
    state: State

    def sweep(self, temperature: float) -> State:
        """State after one whole sweep as the engine does it: E-step over all blocks, M-step."""
        model, params = self.model, self.state.params
        rows, stats, _ = self.data.sweep(_expect, self.state.rows, model, params, temperature)
        params, extra = model.maximize(stats, params, temperature, self.data.kernels)
        return State(params, rows, extra)

    def on(self, kernels: Any) -> Ours:
        """The same on another backend, with the same blocks."""
        return self._replace(data=Local(self.data.blocks, kernels))


def developed(
    matrix: sparse.csr_array, n_components: int, kernels: Any, seed: int = SEED, sweeps: int = 10
) -> Ours:
    """The aspect model some sweeps into a fit at T = 1.

    A start is nearly uniform; after some sweeps the tables hold the tiny numbers of a real fit.
    """
    model, data = Aspect(n_components), Local.place(Counts(matrix), kernels)
    ours = Ours(model, data, Noisy(1.0).state(model, data, np.random.default_rng(seed)))
    for _ in range(sweeps):
        ours = ours._replace(state=ours.sweep(1.0))
    return ours


def _expect(k: Any, block: Any, rows: Any, model: Any, params: Any, temperature: float) -> Any:
    return model.expect(params, rows, block, temperature, k)


# ---------------------------------------------------------------- measuring


def best_times(
    calls: dict[str, Callable[[], Any]], rounds: int = 3, at_least: float = 0.15
) -> dict[str, float]:
    """Shortest time in seconds of each call, all measured in turn.

    Each round visits every call, so that a disturbance of the machine hits rivals alike; a short
    call is repeated until `at_least` seconds are spent on it.
    """
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            spent = 0.0
            while spent < at_least:
                begin = time.perf_counter()
                call()
                took = time.perf_counter() - begin
                best[name] = min(best[name], took)
                spent += took
    return best


def peak_memory(prepare: Callable[[], Any], call: Callable[[Any], Any]) -> int:
    """Most bytes held during `call(prepare())`, what `prepare` left behind included.

    Counts what Python and numpy allocate, not code or the allocator's spare pages.
    """
    tracemalloc.start()
    try:
        ready = prepare()
        tracemalloc.reset_peak()
        call(ready)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# ---------------------------------------------------------------- reporting


class Target(NamedTuple):
    """A measured figure and the range it should lie in."""

    name: str
    value: float | None  # None: not measured yet
    low: float = -float("inf")
    high: float = float("inf")

    @property
    def met(self) -> bool:
        return self.value is not None and self.low <= self.value <= self.high

    @property
    def wanted(self) -> str:
        low = f">= {self.low:g}" if np.isfinite(self.low) else ""
        high = f"<= {self.high:g}" if np.isfinite(self.high) else ""
        return f"{low} {high}".strip()

    def row(self) -> dict[str, Any]:
        """Row of the table of targets."""
        met = OPEN if self.value is None else mark(self.met)
        return {"target": self.name, "wanted": self.wanted, "measured": self.value, "met": met}


OPEN = "not measured"


def mark(met: bool) -> str:
    """Sign for a target met or missed."""
    return "pass" if met else "FAIL"


def print_table(rows: Sequence[dict[str, Any]], title: str = "") -> None:
    """Rows with the same keys as an aligned table."""
    if not rows:
        return
    cells = [list(rows[0])] + [[_cell(value) for value in row.values()] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    if title:
        print(f"\n{title}")
    for line in cells:
        print("  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)))


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def print_targets(targets: Sequence[Target]) -> list[dict[str, Any]]:
    """Rows of targets, what was measured and whether that meets them; printed, too."""
    rows = [target.row() for target in targets]
    print_table(rows, "Targets")
    return rows


def print_machine(info: dict[str, Any]) -> None:
    """One line on the machine, one on the versions."""
    load = info["load_before"]
    busy = f", load {load:.1f} before the run" if load is not None else ""
    print(f"{info['cpu']}, {info['threads']} threads{busy}; seed {info['seed']}; {info['commit']}")
    print("python", info["python"], *(f"| {k} {v}" for k, v in info["packages"].items()))


def write_results(name: str, info: dict[str, Any], **parts: Any) -> Path:
    """File of results in JSON; `parts` are lists of rows."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    document = {"schema": 1, "benchmark": name, "machine": info, **parts}
    path.write_text(json.dumps(document, indent=1, default=float) + "\n")
    print(f"\nwritten: {path.relative_to(ROOT)}")
    return path
