"""Document mixture on the Associated Press corpus: annealed fits against EM (Choi 2012, ch. 4).

Sum over documents of the best topic's log-likelihood at T = 1, for 2,022 training documents:
annealed (mean and standard deviation over seeds) next to EM from random topics and EM from
documents as seeds (mean and best of ten). Then the held-out perplexity of the other documents
along the cooling, which shows where early stopping ends.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from benchmarks.harness import common
from isotherm import Counts, DocumentMixture, Exponential, Fixed, Noisy
from isotherm.anneal.engine import NO_RELAXATION, Annealer
from isotherm.anneal.start import state_of
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.document import Document
from isotherm.placement.local import Local

TOPICS = (10, 20, 50, 100)


def best_topic_likelihood(train: Counts, topics: Any) -> float:
    """Sum over documents of max_k log L_ik, topics (K, J)."""
    # In float64: 1e-300 is zero in single precision.
    logs = np.log(np.maximum(np.asarray(topics, np.float64).T, 1e-300))
    return float((train.matrix.astype(np.float64) @ logs).max(axis=1).sum())


def annealed(train: Counts, k: int, seed: int) -> Any:
    """Topics (K, J) cooled to T = 1 from just below the first critical temperature."""
    cooling = Exponential(0.9, end=1.0, margin=0.98)
    model = DocumentMixture(k, schedule=cooling, validation_fraction=0.0, random_state=seed)
    return model.fit(train).components_


def em_from_noise(train: Counts, k: int, seed: int) -> Any:
    """Topics (K, J) of EM at T = 1 begun from random topics."""
    model = DocumentMixture(
        k, schedule=Fixed(1.0), start=Noisy(1.0), validation_fraction=0.0, random_state=seed
    )
    return model.fit(train).components_


def em_from_documents(train: Counts, k: int, seed: int) -> Any:
    """Topics (K, J) of EM at T = 1 begun from K documents, each mixed with the corpus."""
    rng = np.random.default_rng(seed)
    pseudo = 0.005 * train.total / k
    chosen = train.take_rows(rng.choice(train.n_rows, k, replace=False)).matrix.toarray()
    marginal = train.column_totals / train.total
    # Half corpus, half document: smoothed less, the shortest document would attract all others.
    table = 0.5 * chosen.T / chosen.sum(axis=1) + 0.5 * marginal[:, None]
    model, data = Document(k, pseudo), Local.place(train, Cpu())
    begin = state_of(model, data, model.init(data.summary, table.astype(np.float32)))
    annealer = Annealer(Fixed(1.0), relaxation=NO_RELAXATION, tol=1e-7, max_sweeps=200)
    return annealer.run(model, data, rng, state=begin).state.params.word_topic.T


def measure(train: Counts, k: int, seeds: int, starts: int) -> list[dict[str, Any]]:
    """Rows of the results: every model with each of its seeds, and what each fit took."""
    runs = {
        "EM, random topics": (em_from_noise, starts),
        "EM, documents as seeds": (em_from_documents, starts),
        "annealed, 0.9": (annealed, seeds),
    }
    rows = []
    for name, (fit, times) in runs.items():
        for seed in range(times):
            begin = time.perf_counter()
            topics = fit(train, k, seed)
            seconds = time.perf_counter() - begin
            likelihood = best_topic_likelihood(train, topics)
            rows.append({"model": name, "seed": seed, "K": k, "L": likelihood, "seconds": seconds})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="annealed runs")
    parser.add_argument("--starts", type=int, default=10, help="EM runs")
    options = parser.parse_args()
    info = common.machine()
    common.print_machine(info)
    counts = common.counts("ap")
    order = np.random.default_rng(common.SEED).permutation(counts.n_rows)
    train = counts.take_rows(np.sort(order[:2022]))
    rows, table, targets = [], [], []
    for k in TOPICS:
        found = measure(train, k, options.seeds, options.starts)
        rows += found
        likelihoods: dict[str, list[float]] = {}
        seconds: dict[str, list[float]] = {}
        for row in found:
            likelihoods.setdefault(row["model"], []).append(row["L"])
            seconds.setdefault(row["model"], []).append(row["seconds"])
        for name, values in likelihoods.items():
            mean, sd = np.mean(values), np.std(values, ddof=1)
            table.append(
                {"K": k, "model": name, "runs": len(values), "mean": f"{mean:.0f}"}
                | {"sd": f"{sd:.0f}", "best": f"{max(values):.0f}", "worst": f"{min(values):.0f}"}
                | {"seconds": float(np.mean(seconds[name]))}
            )
        worst = min(likelihoods["annealed, 0.9"])
        best = max(max(v) for name, v in likelihoods.items() if name.startswith("EM"))
        name = f"K = {k}: worst annealed - best of all EM runs, nats"
        targets.append(common.Target(name, worst - best, low=0.0))
        print("done: K =", k, flush=True)
    common.print_table(table, "Sum of max_k log L at T = 1, 2,022 AP documents")
    judged = common.print_targets(targets)
    early = early_stopping(train)
    common.print_table(early, "Early stopping by held-out documents, K = 20")
    common.write_results("document_mixture", info, rows=rows, early=early, targets=judged)


def early_stopping(train: Counts) -> list[dict[str, Any]]:
    """Held-out perplexity along the cooling, and where the default stops."""
    model = DocumentMixture(20, random_state=0).fit(train)
    return [
        {"T": record.temperature, "held-out perplexity": round(record.heldout, 1)}
        | {"distinct topics": record.n_effective}
        | {"chosen": "<-" if record.temperature == model.temperature_ else ""}
        for record in model.trace_
    ]


if __name__ == "__main__":
    main()
