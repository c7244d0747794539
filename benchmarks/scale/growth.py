"""Seconds of a sweep and peak memory as non-zeros, topics and vocabulary grow, beside peers.

One size grows at a time, the others stay; documents grow with the non-zeros. Every fit runs in a
fresh process. Its peak is what the system counts; the share of interpreter and libraries, that of a
fit to a tiny table, is subtracted where it says net. Seconds are CPU seconds on one thread, as the
difference of two fits with few and more iterations, so that set-up cancels; ours are those of the
sweep itself. An exponent is the slope of logarithms: 1 is linear. `scaling.py` measures our sweep
over more sizes.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import common, peers
from isotherm.kernels.cpu.backend import Cpu

TOKENS = 60  # of a document


class Size(NamedTuple):
    """Documents, words and topics."""

    rows: int = 4_500
    columns: int = 15_000
    topics: int = 48


BASE = Size()
DIRECTIONS: dict[str, list[Size]] = {
    "nnz": [BASE._replace(rows=n) for n in (1_500, 4_500, 13_500)],
    "K": [BASE._replace(topics=n) for n in (16, 48, 144)],
    "V": [BASE._replace(columns=n) for n in (5_000, 15_000, 45_000)],
}
QUICK = {name: sizes[:2] for name, sizes in DIRECTIONS.items()}
TINY = Size(60, 50, 2)


class Rival(NamedTuple):
    """A peer, and its setting for few and for more iterations."""

    name: str
    setting: str
    few: int
    more: int
    fixed: dict[str, Any]

    def fit(self, matrix: Any, topics: int, iterations: int) -> peers.PeerFit:
        """One fit in a fresh process."""
        settings = self.fixed | {self.setting: iterations}
        return peers.fit(self.name, matrix, topics, common.SEED, timeout=600, **settings)


RIVALS = (
    Rival("sklearn-nmf-kl", "max_iter", 2, 8, {"init": "random", "tol": 0}),
    Rival("sklearn-lda", "max_iter", 1, 2, {}),
    Rival("tomotopy-lda", "sweeps", 5, 25, {}),
    Rival("gensim-lda", "passes", 1, 2, {}),
)
OURS = "isotherm AspectModel"


def corpus(size: Size) -> Any:
    """Synthetic counts of that size."""
    return common.zipf(size.rows, size.columns, TOKENS)


def ours(size: Size, matrix: Any) -> tuple[float, int, str]:
    """CPU seconds of a sweep, and the peak of a fit with one sweep at every temperature."""
    side = common.developed(matrix, size.topics, Cpu(n_threads=1), sweeps=2)
    taken = []
    for _ in range(4):
        begin = time.process_time()
        side.sweep(1.0)
        taken.append(time.process_time() - begin)
    fit = peers.fit("isotherm", matrix, size.topics, common.SEED, max_iter=1)
    return min(taken), fit.peak_rss, fit.error or ""


def theirs(rival: Rival, size: Size, matrix: Any) -> tuple[float, int, str]:
    """CPU seconds of an iteration, and the peak of the longer fit."""
    few = rival.fit(matrix, size.topics, rival.few)
    more = rival.fit(matrix, size.topics, rival.more)
    if few.error or more.error:
        return float("nan"), 0, str(few.error or more.error)
    return (more.cpu - few.cpu) / (rival.more - rival.few), more.peak_rss, ""


def shown(rival: Rival) -> str:
    """Name in tables, without the number of iterations, which is ours here."""
    return peers.PEERS[rival.name].shown.split(",")[0]


def measure(
    directions: dict[str, list[Size]], rivals: Sequence[Rival]
) -> Iterator[list[dict[str, Any]]]:
    """One row for each size and program, small sizes first; all rows so far after every size.

    Sizes that several directions share are fitted once.
    """
    sizes = set(itertools.chain(*directions.values()))
    least: dict[str, int] = {}
    rows: list[dict[str, Any]] = []
    for size in [TINY, *sorted(sizes, key=math.prod)]:
        matrix = corpus(size)
        found = {OURS: ours(size, matrix)}
        found |= {shown(rival): theirs(rival, size, matrix) for rival in rivals}
        for name, (seconds, peak, error) in found.items():
            if size == TINY:
                least[name] = peak
                continue
            rows.append(
                {"program": name, "documents": size.rows, "V": size.columns, "K": size.topics}
                | {"nnz": matrix.nnz, "CPU s": seconds, "peak MB": peak / 1e6 or None}
                | {"libraries MB": least[name] / 1e6}
                | {"net MB": (peak - least[name]) / 1e6 if peak else None, "note": error}
            )
        print("done:", size, flush=True)
        yield rows


def of(rows: list[dict[str, Any]], name: str, sizes: Sequence[Size]) -> list[dict[str, Any]]:
    """Rows of one program at these sizes, without those that failed."""
    keys = {(size.rows, size.columns, size.topics) for size in sizes}
    own = [row for row in rows if row["program"] == name and not row["note"]]
    return [row for row in own if (row["documents"], row["V"], row["K"]) in keys]


def slope(rows: list[dict[str, Any]], size: str, value: str) -> float | None:
    """Exponent of a value in a size; None where fewer than two were measured, or nothing at all."""
    there = [(row[size], row[value]) for row in rows if row[value] and row[value] > 0]
    if len(there) < 2:
        return None
    x, y = np.log(np.array(there)).T
    return float(np.polyfit(x, y, 1)[0])


def exponents(
    rows: list[dict[str, Any]], directions: dict[str, list[Size]]
) -> list[dict[str, Any]]:
    """One row for each program: exponents of seconds and of net memory in each direction."""
    return [
        {"program": name}
        | {f"s, {d}": slope(of(rows, name, own), d, "CPU s") for d, own in directions.items()}
        | {f"MB, {d}": slope(of(rows, name, own), d, "net MB") for d, own in directions.items()}
        for name in dict.fromkeys(row["program"] for row in rows)
    ]


def largest(rows: list[dict[str, Any]], directions: dict[str, list[Size]]) -> list[dict[str, Any]]:
    """The last size of every direction, where it was reached."""
    names = dict.fromkeys(row["program"] for row in rows)
    ends = {name: own[-1] for name, own in directions.items()}
    return [
        {"largest": direction} | row
        for direction, size in ends.items()
        for name in names
        for row in of(rows, name, [size])
    ]


def judge(slopes: list[dict[str, Any]], ends: list[dict[str, Any]]) -> list[common.Target]:
    """No growth faster than linear, and no more memory than the others."""
    mine = slopes[0]
    targets = [
        common.Target(f"exponent of {what} in {d}", mine[f"{unit}, {d}"], high=1.1)
        for unit, what in (("s", "seconds"), ("MB", "net memory"))
        for d in ("nnz", "K", "V")
        if mine[f"{unit}, {d}"] is not None
    ]
    for direction in dict.fromkeys(row["largest"] for row in ends):
        own = [row for row in ends if row["largest"] == direction]
        me = [row for row in own if row["program"] == OURS]
        rest = [row for row in own if row["program"] != OURS and row["net MB"] and row["CPU s"] > 0]
        if me and rest:
            net = me[0]["net MB"] / min(row["net MB"] for row in rest)
            fast = min(row["CPU s"] for row in rest) / me[0]["CPU s"]
            targets += [
                common.Target(f"largest {direction}: net memory, ours / least other", net, high=1),
                common.Target(f"largest {direction}: CPU, fastest other / ours", fast, low=1.5),
            ]
    return targets


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two sizes to a direction")
    quick = parser.parse_args().quick
    info = common.machine()
    common.print_machine(info)
    directions = QUICK if quick else DIRECTIONS
    common.developed(corpus(TINY), 2, Cpu(n_threads=1), sweeps=2).sweep(1.0)  # compiles
    keys = ("largest", "program", "nnz", "K", "V", "CPU s", "peak MB", "libraries MB", "net MB")
    for rows in measure(directions, RIVALS):
        if not rows:
            continue
        slopes, ends = exponents(rows, directions), largest(rows, directions)
        targets = judge(slopes, ends)
        # After every size, so that a run that is cut short leaves something.
        common.write_results(
            "growth-quick" if quick else "growth", info, rows=rows, exponents=slopes,
            largest=[{key: row[key] for key in keys} for row in ends],
            targets=[target.row() for target in targets],
        )  # fmt: skip
    common.print_table(rows, "CPU seconds of a sweep on one thread, and peak memory")
    common.print_table(slopes, "Exponents")
    common.print_targets(targets)


if __name__ == "__main__":
    main()
