"""Passes over the data until held-out perplexity is that of the full fit: full sweeps or batches.

The full fit is that of the estimators at one temperature: over-relaxed sweeps from the spectral
start until a sweep gains less than 1e-4 nats per token. Every way is given more and more passes
until the perplexity of held-out tokens is within 0.5 % and 0.1 % of what that fit reached. A look
is a pass over the data, wherever they are: a full sweep, or a stepwise pass. Stepwise fits count
the sweep that statistics begin with, and the one that measures the free energy. An E-step
is the work of a full sweep: a pass with r E-steps on each batch costs r of them. Seconds are those
of fitting, without scores.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from benchmarks.harness import common
from isotherm import Counts, Fixed, Spectral, Stepwise
from isotherm.anneal.engine import NO_RELAXATION, Annealer, Relaxation
from isotherm.anneal.heldout import HeldoutTokens
from isotherm.data.split import hold_out_tokens
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.aspect import Aspect
from isotherm.placement.local import Local

CLOSE = (0.005, 0.001)
TRIED, MOST = (2, 4, 8, 12, 16), 64
RELAXED = Relaxation(cap=3.0)


class Case(NamedTuple):
    """A corpus, and at which temperature it is fitted."""

    name: str
    counts: Counts
    n_components: int
    temperature: float


def planted(rows: int, columns: int, n_topics: int, seed: int = common.SEED) -> Counts:
    """Rows that mix a few topics each; all topics share a base by Zipf's law."""
    rng = np.random.default_rng(seed)
    base = rng.permutation(1.0 / (np.arange(columns) + 2.7))
    topics = base * rng.gamma(0.1, size=(n_topics, columns))
    cumulative = np.cumsum(topics / topics.sum(axis=1, keepdims=True), axis=1)
    lengths = 1 + rng.poisson(100 * rng.gamma(2.0, 0.5, rows))
    owner = np.repeat(np.arange(rows), lengths)
    weights = np.cumsum(rng.dirichlet(np.full(n_topics, 0.1), rows), axis=1)
    topic = (weights[owner] < rng.random(len(owner))[:, None]).sum(axis=1)
    words = np.empty(len(owner), np.int64)
    for k in range(n_topics):
        mine = topic == k
        words[mine] = np.searchsorted(cumulative[k], rng.random(mine.sum()))
    words = np.minimum(words, columns - 1)
    table = sparse.coo_array((np.ones(len(words)), (owner, words)), shape=(rows, columns))
    return Counts(table)


class Scores(HeldoutTokens):
    """Held-out perplexity of every sweep, with the seconds until then; it never stops a run."""

    def score(self, model: Any, state: Any, data: Any, temperature: float) -> float:
        """Minus the number of the score: better every time."""
        begin = time.perf_counter()
        found = super().score(model, state, data, temperature)
        now = time.perf_counter()
        noted, last, spent = self.__dict__.setdefault("noted", ([], [begin], [0.0]))
        spent[0] += begin - last[0]
        last[0] = now
        noted.append((found, spent[0]))
        return -float(len(noted))


class Bench:
    """Fits of one corpus at one temperature from one start."""

    def __init__(self, case: Case, batch: int | None) -> None:
        self.case, self.model = case, Aspect(case.n_components, temper_prior=True)
        kept, held = hold_out_tokens(case.counts, 0.1, 0)
        self.data = Local.place(kept, Cpu(), batch=batch)
        self.held = self.data.beside(held)
        self.start = Spectral().state(self.model, self.data, np.random.default_rng(0))

    def swept(self, annealer: Annealer) -> list[tuple[float, float]]:
        """Held-out perplexity after every full sweep, and seconds until then."""
        scores = Scores(self.held)
        begin = time.perf_counter()
        scores.__dict__["noted"] = ([], [begin], [0.0])
        annealer.run(
            self.model, self.data, np.random.default_rng(0), heldout=scores, state=self.start
        )
        return list(scores.__dict__["noted"][0])

    def stepped(self, annealer: Annealer) -> tuple[float, float]:
        """Held-out perplexity of a fit, and its seconds."""
        begin = time.perf_counter()
        fit = annealer.run(self.model, self.data, np.random.default_rng(0), state=self.start)
        took = time.perf_counter() - begin
        score = HeldoutTokens(self.held).score(self.model, fit.state, self.data, fit.temperature)
        return score, took


def measure(case: Case, batch: int, repeats: tuple[int, ...]) -> list[dict[str, Any]]:
    """Rows of the table: the full fit, and how soon each way is close to it."""
    whole, cut = Bench(case, None), Bench(case, batch)
    first = Annealer(Fixed(case.temperature), RELAXED, tol=1e-4, check_every=1)
    settled = whole.swept(first)
    goal, took = settled[-1]
    sweeps = len(settled)
    table = [_row(case, "full, over-relaxed, settled", 0.0, goal, sweeps, sweeps, took)]
    for name, relaxation in (("full, plain", NO_RELAXATION), ("full, over-relaxed", RELAXED)):
        found = whole.swept(replace(first, relaxation=relaxation, tol=0.0, max_sweeps=MOST))
        tries = [(n + 1, n + 1, score, took) for n, (score, took) in enumerate(found)]
        table += _reached(case, name, goal, iter(tries))
    for r in repeats:
        steps = Stepwise(batch, decay=0.6, repeats=r, full_sweeps=1)
        name = f"batches of {batch}, {r} E-step{'s' * (r > 1)}"
        both = replace(first, stepwise=replace(steps, passes=2, full_sweeps=None), tol=0.0)
        found = cut.swept(replace(both, max_sweeps=MOST))
        # One sweep to begin with and two passes come before the first score.
        tries = [(n + 4, n + 2 + 2 * r, score, took) for n, (score, took) in enumerate(found)]
        table += _reached(case, f"2 passes of {name}, then full", goal, iter(tries))
        table += _reached(case, name, goal, _passes(cut, replace(first, check_every=0), steps))
    return table


def _passes(bench: Bench, annealer: Annealer, steps: Stepwise) -> Iterator[Any]:
    for n in TRIED:
        score, took = bench.stepped(replace(annealer, stepwise=replace(steps, passes=n)))
        yield n + 2, n * steps.repeats + 2, score, took


def _reached(case: Case, name: str, goal: float, tries: Iterator[Any]) -> list[dict[str, Any]]:
    """Rows of the first try within each distance of the goal."""
    left, table = list(CLOSE), []
    for looks, work, score, took in tries:
        while left and score <= goal * (1.0 + left[0]):
            table.append(_row(case, name, left.pop(0), score, looks, work, took))
        if not left:
            break
    return table + [_row(case, name, close, score, None, None, None) for close in left]


def _row(
    case: Case, way: str, close: float, score: float, looks: Any, work: Any, took: Any
) -> dict[str, Any]:
    counts = case.counts
    return {
        "corpus": case.name, "I": counts.n_rows, "nnz": counts.nnz, "K": case.n_components,
        "T": case.temperature, "way": way, "within %": 100 * close, "perplexity": round(score, 1),
        "looks": looks, "E-steps": work, "s": took,
    }  # fmt: skip


def main() -> None:
    """Print the tables, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=30_000, help="of the synthetic corpus")
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--repeats", type=int, nargs="+", default=[1, 4])
    options = parser.parse_args()
    info = common.machine()
    common.print_machine(info)
    news = common.newsgroups()
    cases = [
        Case(news.name, Counts(news.matrix), 32, 1.15),
        Case("planted", planted(options.rows, 5000, 32), 32, 1.15),
    ]
    rows = []
    for case in cases:
        found = measure(case, options.batch, tuple(options.repeats))
        common.print_table(found, f"{case.name}: looks until held-out perplexity is close")
        rows += found
    best = [_looks(rows, case.name) for case in cases]
    targets = [
        common.Target(f"looks of full sweeps over those of batches, {case.name}", ratio)
        for case, ratio in zip(cases, best, strict=True)
    ]
    common.print_targets(targets)
    common.write_results("stepwise", info, rows=rows, targets=[one.row() for one in targets])


def _looks(rows: list[dict[str, Any]], name: str) -> float:
    """Fewest looks of full sweeps over fewest of batches, to within the first distance."""
    mine = [r for r in rows if r["corpus"] == name and r["within %"] == 100 * CLOSE[0]]
    full = [r["looks"] for r in mine if r["way"].startswith("full") and r["looks"]]
    steps = [r["looks"] for r in mine if "batches" in r["way"] and r["looks"]]
    return min(full) / min(steps) if full and steps else float("nan")


if __name__ == "__main__":
    main()
