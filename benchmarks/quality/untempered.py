"""Do clusters with an untempered prior P(c), and mixtures of documents, end where they should?

Hot, an untempered P(c) counts more than the counts of a row: the largest clusters get all rows, and
cooling may end worse than EM that was never hot. At T = 1 all ways here minimise one free energy:
`OneSidedClustering(temper_prior=False)`; plain EM at T = 1, the best of several starts; a naive
cooling by the same equations, written down here without the library; the model cooled along its own
path, by a schedule of one's own; and the default, whose prior is tempered. A tenth of the tokens is
left out of all fits and predicted. What chooses its temperature is fitted twice: cooled to T = 1
for the free energy, and stopped by tokens of its own for the perplexity.

A mixture of documents should not stop while hardly any document has a topic: the temperature it
stops at, the mean largest weight of a document and the perplexity of unseen documents (half of
their tokens given), next to the same cooled to the end and to no topics at all.

So that it takes minutes, the naive cooling takes steps of 10 % and at most 20 sweeps for each, and
the whole of 20news is cooled to the end with few topics alone.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.harness import common
from benchmarks.quality import trees
from isotherm import (
    Counts,
    DocumentMixture,
    Exponential,
    Fixed,
    Noisy,
    OneSidedClustering,
    Spectral,
    split_rows,
    split_tokens,
)
from isotherm.evaluate import completion_halves

SIZES, TOPICS = (10, 20, 50), (4, 10, 50)
STARTS = 5  # of plain EM from noise, one more is along the spectrum
SAMPLE, MOST_NON_ZEROS = 1_000, 1_000_000
PSEUDO_SHARE, SMOOTHING = 0.05, 1e-3  # those of the library
RATE, SWEEPS, TOL = 0.9, 20, 1e-5
# Free energies of the same model in single precision differ by less, in nats per token.
ROUNDING = 1e-5
# Least mean largest weight of a document, as a multiple of equal ones.
DECIDED = 1.5

OURS, EM, NAIVE = "untempered P(c)", "plain EM, best start", "naive cooling"
ITSELF, TEMPERED = "cooled along its own path", "tempered P(c), the default"

CLUSTERED: dict[str, Callable[[], Counts]] = {
    "Cranfield": lambda: common.counts("cranfield"),
    "four newsgroups": lambda: trees.newsgroups()[0],
    "five Reuters categories": lambda: trees.stories()[0],
}


# ---------------------------------------------------------------- clusters


def clustered(K: int, seed: int, train: Counts, **settings: Any) -> tuple[Any, float]:
    """A fit and its CPU seconds."""
    given = {"n_jobs": 1, "random_state": seed, **settings}
    return trees.timed(lambda: OneSidedClustering(K, weighting="tokens", **given).fit(train))


def annealed(K: int, seed: int, train: Counts, test: Counts, **settings: Any) -> dict[str, Any]:
    """A row: cooled to T = 1, and stopped where held-out tokens say."""
    end, cpu = clustered(K, seed, train, validation_fraction=0, **settings)
    stopped, more = clustered(K, seed, train, **settings)
    found = {"free energy": end.free_energy_ / train.total, "T": stopped.temperature_}
    found |= {"perplexity": stopped.perplexity(train, test)}
    return found | {"CPU s": cpu, "CPU s, held out": more}


def itself(K: int, seed: int, train: Counts, test: Counts) -> dict[str, Any]:
    """A row: the untempered prior by the schedule that is the default of a tempered one."""
    cooling = Exponential(0.93, margin=0.6)
    return annealed(K, seed, train, test, temper_prior=False, schedule=cooling)


def plain_em(K: int, seed: int, train: Counts, test: Counts) -> dict[str, Any]:
    """A row: least free energy and least perplexity of all starts, and their CPU seconds."""
    starts = [Spectral(size=1.0), *[Noisy(1.0)] * STARTS]
    settings = {"schedule": Fixed(1.0), "temper_prior": False, "validation_fraction": 0}
    settings |= {"tol": 1e-6, "max_iter": 300}
    fits = [
        clustered(K, STARTS * seed + number, train, start=start, **settings)
        for number, start in enumerate(starts)
    ]
    best = min(fit.free_energy_ for fit, _ in fits) / train.total
    predicted = min(fit.perplexity(train, test) for fit, _ in fits)
    found = {"free energy": best, "T": 1.0, "perplexity": predicted}
    return found | {"CPU s": sum(cpu for _, cpu in fits), "CPU s, held out": None}


def naive(K: int, seed: int, train: Counts, test: Counts, first: float) -> dict[str, Any]:
    """A row: E-step and M-step at T = `first`, RATE `first`, ... 1, and nothing else."""
    with threadpool_limits(1, "blas"):
        begin = time.process_time()
        table, posterior, energy = cooled(train.matrix.astype(np.float32), K, first, seed)
        cpu = time.process_time() - begin
    total = train.column_totals.sum()
    background = (train.column_totals + 0.5) / (total + 0.5 * train.n_columns)
    cells = test.matrix.tocoo()
    one = np.einsum("pk,pk->p", posterior[cells.coords[0]], table[cells.coords[1]])
    mixed = (1 - SMOOTHING) * one + SMOOTHING * background[cells.coords[1]]
    perplexity = float(np.exp(-(cells.data @ np.log(mixed)) / cells.data.sum()))
    found = {"free energy": energy, "T": 1.0, "perplexity": perplexity}
    return found | {"CPU s": cpu, "CPU s, held out": None}


def cooled(X: Any, K: int, first: float, seed: int) -> tuple[Any, Any, float]:
    """P(y|c) (J, K), posteriors (I, K) and free energy per token of a naive cooling of X (I, J)."""
    rng, turned, total = np.random.default_rng(seed), X.T.tocsr(), float(X.sum())
    p, pseudo = (X.sum(axis=0) / total).astype(np.float64), PSEUDO_SHARE * total / K
    table = p[:, None] * np.exp(0.05 * rng.standard_normal((len(p), K)))
    table, weight, T = table / table.sum(axis=0), np.full(K, 1 / K), first
    while True:
        last = np.inf
        for _ in range(SWEEPS if T > 1.0 else 5 * SWEEPS):
            logs = np.log(np.maximum(table, 1e-300))
            score = np.log(np.maximum(weight, 1e-300)) + (X @ logs.astype(np.float32)) / T
            top = score.max(axis=1, keepdims=True)
            z = np.exp(score - top).sum(axis=1, keepdims=True)
            posterior = np.exp(score - top) / z
            now = (-T * (top + np.log(z)).sum() - pseudo * (p @ logs).sum()) / total
            sums = (turned @ posterior.astype(np.float32)).astype(np.float64)
            weight = posterior.mean(axis=0)
            table = (sums + pseudo * p[:, None]) / (sums.sum(axis=0) + pseudo)
            if last - now < TOL:
                break
            last = now
        if T == 1.0:
            return table, posterior, float(now)
        T = max(1.0, RATE * T)
        table = table * np.exp(0.01 * rng.standard_normal(table.shape))
        table /= table.sum(axis=0)


def clusters(corpus: str, sizes: Sequence[int], seeds: int) -> list[dict[str, Any]]:
    """Rows of all ways for one corpus, each number of clusters and seed."""
    train, test = split_tokens(CLUSTERED[corpus](), (0.9, 0.1), common.SEED)
    # Compilation is nobody's cost, and all start from the same transition.
    first = (
        OneSidedClustering(2, weighting="tokens", max_iter=2, n_jobs=1, random_state=0)
        .fit(train)
        .first_critical_
    )
    rows = []
    for K in sizes:
        for seed in range(seeds):
            given = K, seed, train, test
            ways = {
                OURS: annealed(*given, temper_prior=False),
                EM: plain_em(*given),
                NAIVE: naive(*given, first),
                ITSELF: itself(*given),
                TEMPERED: annealed(*given),
            }
            told = {"corpus": corpus, "K": K, "seed": seed}
            rows += [{**told, "method": way, **found} for way, found in ways.items()]
            common.print_table(rows[-len(ways) :])
    return rows


def judge_clusters(rows: Sequence[dict[str, Any]]) -> list[common.Target]:
    """For each corpus the worst of all numbers and seeds, next to each of two rivals."""
    found = {(r["corpus"], r["K"], r["seed"], r["method"]): r for r in rows}
    targets = []
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        ours = [row for row in rows if (row["corpus"], row["method"]) == (corpus, OURS)]
        for rival in (EM, NAIVE):
            pairs = [(one, found[corpus, one["K"], one["seed"], rival]) for one in ours]
            more = max(one["free energy"] - other["free energy"] for one, other in pairs)
            ratio = max(one["perplexity"] / other["perplexity"] for one, other in pairs)
            what = f"{corpus}: worst of ours, next to {rival}"
            targets += [
                common.Target(f"{what}: nats a token more", more, high=ROUNDING),
                common.Target(f"{what}: perplexity, ratio", ratio, high=1.0),
            ]
    return targets


# ---------------------------------------------------------------- mixtures of documents


def mixed() -> dict[str, Counts]:
    """Two samples of 20news, AP, and all of 20news; words of two documents or more."""
    whole, found = common.counts("20news"), {}
    for seed in (0, 1):
        chosen = np.random.default_rng(seed).choice(whole.n_rows, SAMPLE, replace=False)
        found[f"20news, sample {seed}"] = whole.take_rows(np.sort(chosen))
    found |= {"ap": common.counts("ap"), "20news": whole}
    return {name: counts.keep_columns(min_rows=2) for name, counts in found.items()}


def mixture(corpus: str, counts: Counts, K: int) -> dict[str, Any]:
    """A row: where the default stops, next to the end of the cooling and to no topics."""
    parts = split_rows(counts, (0.9, 0.1), np.random.default_rng(common.SEED))
    train, test = (counts.take_rows(part) for part in parts)
    given = {"n_jobs": 1, "random_state": common.SEED}
    model, cpu = trees.timed(lambda: DocumentMixture(K, **given).fit(train))
    row = {"corpus": corpus, "documents": counts.n_rows, "K": K, "T": model.temperature_}
    row |= {"first transition": model.first_critical_, "distinct": model.n_distinct_}
    row |= {"mean largest weight": float(model.row_weights_.max(axis=1).mean())}
    row |= {"perplexity": model.perplexity(test), "at the end": None}
    if max(TOPICS) > K or counts.matrix.nnz < MOST_NON_ZEROS:
        end = DocumentMixture(K, validation_fraction=0, **given).fit(train)
        row["at the end"] = end.perplexity(test)
    half = completion_halves(test)[1].column_totals
    bare = float(np.exp(-(half @ np.log(model.background_)) / half.sum()))
    return row | {"without topics": bare, "CPU s": cpu}


def judge_mixtures(rows: Sequence[dict[str, Any]]) -> list[common.Target]:
    """For each corpus the worst of all numbers of topics."""
    targets = []
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        own = [row for row in rows if row["corpus"] == corpus]
        least = min(row["K"] * row["mean largest weight"] for row in own)
        bare = max(row["perplexity"] / row["without topics"] for row in own)
        ends = [row["perplexity"] / row["at the end"] for row in own if row["at the end"]]
        what = f"mixture, {corpus}: worst"
        targets += [
            common.Target(f"{what} mean largest weight / equal ones", least, low=DECIDED),
            common.Target(f"{what} perplexity, stopped / without topics", bare, high=1.0),
            common.Target(f"{what} perplexity, stopped / at the end", max(ends), high=1.0),
        ]
    return targets


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", type=int, default=[*SIZES], help="of clusters")
    parser.add_argument("--seeds", type=int, default=2, help="of clusters")
    options = parser.parse_args()
    info = common.machine()
    common.print_machine(info)
    rows = []
    for corpus in CLUSTERED:
        rows += clusters(corpus, options.sizes, options.seeds)
    documents = []
    for corpus, counts in mixed().items():
        for K in TOPICS:
            documents.append(mixture(corpus, counts, K))
            common.print_table(documents[-1:])
    targets = common.print_targets([*judge_clusters(rows), *judge_mixtures(documents)])
    common.write_results("untempered", info, rows=rows, mixtures=documents, targets=targets)


if __name__ == "__main__":
    main()
