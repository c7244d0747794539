"""The same good answer from every seed? Annealed fits against plain EM from random starts.

Both are fitted to 90 % of the tokens with ten seeds. Spread: standard deviation over seeds of the
training free energy at T = 1, where both minimise the same objective. Quality: perplexity of the
other 10 % of the tokens, for the annealed model stopped by its own validation tokens. The two that
end at T = 1 settle to the same tolerance. "alike": cosine of matched topics, over pairs of seeds.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from benchmarks.harness import common
from isotherm import AspectModel, Engine, Fixed, Noisy, split_tokens
from isotherm.evaluate import stability

CORPORA = {"cranfield": 32, "ap": 50, "20news": 50}
SPREAD_TARGET = 0.2


def variants(k: int, seed: int) -> dict[str, AspectModel]:
    """What is compared: EM, the same cooling to T = 1, and the default."""
    cold = {"validation_fraction": 0.0, "random_state": seed, "n_components": k, "tol": 1e-5}
    return {
        "plain EM, random start": AspectModel(
            schedule=Fixed(1.0),
            start=Noisy(1.0),
            engine=Engine(over_relax=False),
            max_iter=300,
            **cold,
        ),
        "annealed to T = 1": AspectModel(**cold),
        "annealed, default": AspectModel(k, random_state=seed),
    }


def measure(name: str, k: int, seeds: int) -> list[dict[str, Any]]:
    counts = common.counts(name)
    if name == "cranfield":
        counts = counts.keep_columns(min_rows=5)
    train, test = split_tokens(counts, (0.9, 0.1), common.SEED)
    rows = []
    topics: dict[str, list[np.ndarray]] = {}
    for seed in range(seeds):
        for label, model in variants(k, seed).items():
            begin = time.perf_counter()
            model.fit(train)
            seconds = time.perf_counter() - begin
            perplexity = model.perplexity(train, test)
            topics.setdefault(label, []).append(model.components_)
            rows.append(
                {"corpus": name, "K": k, "model": label, "seed": seed, "T": model.temperature_}
                | {"free energy": model.free_energy_, "perplexity": perplexity}
                | {"seconds": seconds, "sweeps": model.n_iter_}
            )
    alike = {label: stability(own).mean if seeds > 1 else None for label, own in topics.items()}
    return [row | {"alike": alike[row["model"]]} for row in rows]


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    table = []
    for key in dict.fromkeys((row["corpus"], row["model"]) for row in rows):
        own = [row for row in rows if (row["corpus"], row["model"]) == key]
        energy = np.array([row["free energy"] for row in own])
        perplexity = np.array([row["perplexity"] for row in own])
        at_one = all(row["T"] == 1.0 for row in own)
        table.append(
            {"corpus": key[0], "model": key[1]}
            | {"mean F": f"{energy.mean():.0f}" if at_one else None}
            | {"sd F": float(energy.std(ddof=1)) if at_one else None}
            | {"perplexity": f"{perplexity.mean():.1f}", "best": f"{perplexity.min():.1f}"}
            | {"worst": f"{perplexity.max():.1f}", "alike": own[0]["alike"]}
            | {"seconds": float(np.mean([row["seconds"] for row in own]))}
        )
    return table


def judge(table: list[dict[str, Any]]) -> list[common.Target]:
    targets = []
    for name in dict.fromkeys(row["corpus"] for row in table):
        em, cold, default = (row for row in table if row["corpus"] == name)
        ratio = cold["sd F"] / em["sd F"]
        targets += [
            common.Target(f"{name}: spread, annealed / EM", ratio, high=SPREAD_TARGET),
            common.Target(
                f"{name}: mean free energy, annealed - EM",
                float(cold["mean F"]) - float(em["mean F"]),
                high=0.0,
            ),
            common.Target(
                f"{name}: worst perplexity annealed / best of EM",
                float(default["worst"]) / float(em["best"]),
                high=1.0,
            ),
        ]
    return targets


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--corpora", nargs="*", default=list(CORPORA))
    options = parser.parse_args()
    info = common.machine()
    common.print_machine(info)
    rows = []
    for name in options.corpora:
        rows += measure(name, CORPORA[name], options.seeds)
        print("done:", name, flush=True)
    table = summary(rows)
    common.print_table(table, f"Ten percent of the tokens held out, {options.seeds} seeds")
    judged = common.print_targets(judge(table))
    common.write_results("stability", info, rows=rows, targets=judged)


if __name__ == "__main__":
    main()
