"""Perplexity of adjective-noun pairs (Hofmann & Puzicha 1998, Table 4) on the Brown corpus.

Rows are adjectives, columns nouns; words of fewer than `--min-count` pairs are left out. Tokens are
split 80/10/10, validation tokens choose the temperature, means over seeds. The paper's figures are
those of the Penn Treebank, of which it does not give the unigram perplexity: what can be compared
is the order of the models and how perplexity falls with the number of components, here relative to
the one of 16 aspects.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from benchmarks.harness import common, table2
from isotherm.data.pairs import keep_frequent, read_pairs

# Perplexity and 1/T of the paper, by model and number of components.
PAPER = {
    "aspect": {16: (255, 0.72), 32: (205, 0.71), 64: (182, 0.69), 128: (166, 0.68)},
    "one-sided": {16: (302, 0.07), 32: (254, 0.07), 64: (223, 0.07), 128: (231, 0.06)},
    "hierarchical": {16: (268, 0.10), 32: (226, 0.08), 64: (204, 0.07), 128: (179, 0.06)},
    "two-sided": {16: (335, 0.51), 32: (286, 0.46), 64: (272, 0.44), 128: (241, 0.40)},
}


def measure(fold: table2.Fold, name: str, k: int) -> dict[str, Any]:
    """One cell of one fold."""
    begin = time.perf_counter()
    fit = table2.COLUMNS[name].fit(fold, k)
    seconds, ratio = time.perf_counter() - begin, fold.ratio(fit)
    row = {"model": name, "K": k, "seed": fold.seed, "perplexity": ratio * fold.unigram}
    return row | {"ratio": ratio, "1/T": 1 / fit.temperature, "seconds": seconds}


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Means over folds next to the figures of the paper."""

    def mean(name: str, k: int, key: str) -> float:
        own = [row[key] for row in rows if (row["model"], row["K"]) == (name, k)]
        return float(np.mean(own)) if own else float("nan")

    table = []
    for name, k in dict.fromkeys((row["model"], row["K"]) for row in rows):
        perplexity, beta = PAPER[name][k]
        ours = mean(name, k, "perplexity")
        table.append(
            {"model": name, "K": k, "perplexity": round(ours), "1/T": mean(name, k, "1/T")}
            | {"/ unigram": mean(name, k, "ratio")}
            | {"/ aspect 16": ours / mean("aspect", 16, "perplexity")}
            | {"paper": perplexity, "paper 1/T": beta, "paper / aspect 16": perplexity / 255}
            | {"seconds": mean(name, k, "seconds")}
        )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    names = [name for name in PAPER if name in table2.COLUMNS]
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--min-count", type=int, default=5)
    parser.add_argument("--models", nargs="+", choices=names, default=names)
    parser.add_argument("--sizes", nargs="+", type=int, default=[16, 32, 64, 128])
    options = parser.parse_args()
    info = common.machine()
    common.print_machine(info)
    pairs = read_pairs(common.data_file("adjnoun/pairs.tsv.gz"))
    counts = keep_frequent(pairs, options.min_count)
    folds = [table2.fold_of(counts, seed) for seed in range(options.seeds)]
    print(f"{counts!r}; unigram perplexity {np.mean([fold.unigram for fold in folds]):.0f}")
    rows = [
        measure(fold, name, k) for name in options.models for k in options.sizes for fold in folds
    ]
    common.print_table(summary(rows), f"Test perplexity, {options.seeds} seeds")
    best = {
        name: min(
            float(np.mean([r["ratio"] for r in rows if (r["model"], r["K"]) == (name, k)]))
            for k in options.sizes
        )
        for name in options.models
    }
    targets = [common.Target(f"{name}, best / unigram", best[name], high=1.0) for name in best]
    if "aspect" in best:
        targets += [
            common.Target(f"best aspect / best {name}", best["aspect"] / best[name], high=1.0)
            for name in best
            if name != "aspect"
        ]
    judged = common.print_targets(targets)
    common.write_results("adjective_noun", info, rows=rows, targets=judged)


if __name__ == "__main__":
    main()
