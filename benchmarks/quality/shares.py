"""How large is a topic? Its share by a tempered P(a), by an untempered one, and at T = 1.

A fit of `AspectModel` tempers P(a) together with the likelihood by default, which keeps topics of
similar size. Next to it stand `temper_prior=False`, the form of the papers, and the tempered fit
again with the shares of weights folded in at T = 1, its topics as they are.

Collections: smallest and largest share; how far shares at T = 1 are from those of the fit (total
variation, topic by topic); perplexity of unseen documents, a tenth of all, half of whose tokens are
given; how alike topics of two halves of the documents are; how the largest topic of a document
agrees with its label, with as many topics as labels. Means are over several splits, the same for
every way.

Planted tables, whose shares are known: documents with one main topic of six, and documents of the
lengths of Reuters stories that mix 34 topics, those of a default fit to these stories. The topics
of a fit are matched to those that were planted, and their shares compared by total variation.
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from benchmarks.harness import common
from benchmarks.harness.labelled import COLLECTIONS, Case
from benchmarks.page import topics as page
from benchmarks.page.parts import only
from benchmarks.quality.trees import timed
from isotherm import AspectModel, Counts, split_rows
from isotherm.evaluate import ami, ari, match_topics

TEMPERED, UNTEMPERED, COLD = "tempered, the default", "untempered", "tempered, shares at T = 1"
DATA = ("reuters", "newsgroups", "yahoo", "ap")
UNLABELLED, MANY = 12, 34  # topics: in the place of the number of labels, and for all
SPLITS = 3
# Planted: shares of six topics, and how far those of many fall off with their rank.
SHARES, RANKS = (0.4, 0.25, 0.15, 0.1, 0.06, 0.04), 0.8
DOCUMENTS, COLUMNS, TOKENS, STORIES = 600, 500, 150, 3_000
MAIN, MIXED = 0.8, 1.5  # share of the main topic; concentration of the weights of 34
FOUND = 0.8  # cosine from which on a planted topic is found
# Total variation that shares at T = 1 may be from those of the fit.
MOVED = 0.05

Row = dict[str, Any]


# ---------------------------------------------------------------- ways


class Weighed(NamedTuple):
    """A model, the weights of its rows (I, K), its shares (K,), and CPU seconds."""

    model: AspectModel
    weights: np.ndarray
    shares: np.ndarray
    cpu: float


def fitted(counts: Counts, K: int, temper_prior: bool) -> Weighed:
    """A fit with the shares that it reports."""
    ours = AspectModel(K, temper_prior=temper_prior, random_state=common.SEED, n_jobs=1)
    model, cpu = timed(lambda: ours.fit(counts))
    return Weighed(model, model.row_weights_, model.weights_, cpu)


def at_one(one: Weighed, counts: Counts) -> Weighed:
    """The same topics with weights, and so shares, at T = 1."""
    model = copy.copy(one.model)
    model.temperature_ = 1.0
    weights, cpu = timed(lambda: model.transform(counts))
    return Weighed(model, weights, counts.row_totals @ weights / counts.total, one.cpu + cpu)


def ways(counts: Counts, K: int) -> dict[str, Weighed]:
    """All three."""
    tempered = fitted(counts, K, True)
    untempered = fitted(counts, K, False)
    return {TEMPERED: tempered, UNTEMPERED: untempered, COLD: at_one(tempered, counts)}


# ---------------------------------------------------------------- collections


def measured(case: Case, K: int, split: int) -> list[Row]:
    """Rows of one split: nine tenths of the documents are fitted, the others predicted."""
    train, test = split_rows(case.counts, (0.9, 0.1), split)
    found = ways(case.counts.take_rows(train), K)
    usual, unseen = found[TEMPERED].shares, case.counts.take_rows(test)
    rows = []
    for method, one in found.items():
        row: Row = {"data": case.name, "K": K, "method": method, "split": split}
        row |= extremes(one.shares) | {"T": one.model.temperature_}
        row["moved"] = distance(one.shares, usual) if method == COLD else None
        row["perplexity"] = one.model.perplexity(unseen)
        rows.append(row | agreement(case, K, train, one) | {"CPU s": one.cpu})
    return rows


def extremes(shares: np.ndarray) -> Row:
    """The smallest and the largest share in per cent, and how many times as large."""
    low, high = 100 * float(shares.min()), 100 * float(shares.max())
    return {"smallest, %": low, "largest, %": high, "ratio": high / low}


def distance(first: np.ndarray, second: np.ndarray) -> float:
    """Total variation of two lists of shares."""
    return float(np.abs(first - second).sum() / 2)


def agreement(case: Case, K: int, rows: np.ndarray, one: Weighed) -> Row:
    """Of the largest topic of each document with its label, with as many topics as labels."""
    if case.labels is None or case.n_groups != K:
        return {"AMI": None, "ARI": None}
    labels, largest = case.labels[rows], one.weights.argmax(axis=1)
    scored = labels >= 0
    return {name: of(labels[scored], largest[scored]) for name, of in (("AMI", ami), ("ARI", ari))}


def halved(case: Case, K: int, split: int) -> list[Row]:
    """Rows of one cut into halves: how alike are topics of the one and of the other?"""
    parts = split_rows(case.counts, (0.5, 0.5), split)
    key = {"data": case.name, "K": K, "split": split}
    rows: list[Row] = []
    for method, temper_prior in ((TEMPERED, True), (UNTEMPERED, False)):
        pair = [fitted(case.counts.take_rows(part), K, temper_prior).model for part in parts]
        rows.append({**key, "method": method, "cosine": match_topics(*pair).mean})
    # Other weights, the same topics.
    return [*rows, {**rows[0], "method": COLD}]


def sizes(case: Case) -> tuple[int, int]:
    """The two numbers of topics."""
    return case.n_groups or UNLABELLED, MANY


# ---------------------------------------------------------------- planted


class Planted(NamedTuple):
    """Documents, the topics (K, J) that they are drawn from, and the true shares (K,)."""

    name: str
    counts: Counts
    topics: np.ndarray
    shares: np.ndarray


def main_topics(seed: int, shares: Sequence[float], name: str) -> Planted:
    """Documents that have MAIN of their tokens from a topic drawn by `shares`."""
    rng, K = np.random.default_rng(seed), len(shares)
    topics = rng.dirichlet(np.full(COLUMNS, 0.05), K)
    main = np.eye(K)[rng.choice(K, DOCUMENTS, p=shares)]
    weights = MAIN * main + (1 - MAIN) * rng.dirichlet(np.full(K, 0.5), DOCUMENTS)
    return drawn(name, topics, weights, 1 + rng.poisson(TOKENS, DOCUMENTS), rng)


def stories(seed: int, source: Weighed, lengths: np.ndarray, power: float, name: str) -> Planted:
    """Documents that mix the topics of a fit, whose shares fall like 1 / rank^power."""
    rng = np.random.default_rng(seed)
    topics = source.model.components_ / source.model.components_.sum(axis=1, keepdims=True)
    shares = rng.permutation(np.arange(1, len(topics) + 1) ** -power)
    weights = rng.dirichlet(MIXED * shares / shares.sum() + 1e-12, STORIES)
    return drawn(name, topics, weights, rng.choice(lengths, STORIES), rng)


def drawn(
    name: str,
    topics: np.ndarray,
    weights: np.ndarray,
    lengths: np.ndarray,
    rng: np.random.Generator,
) -> Planted:
    """Tokens of every document by its weights (I, K); true shares are those of its tokens."""
    lengths = lengths.astype(int)
    counted = [
        sparse.csr_array(rng.multinomial(length, row @ topics)[None, :])
        for length, row in zip(lengths, weights, strict=True)
    ]
    shares = lengths @ weights / lengths.sum()
    return Planted(name, Counts(sparse.vstack(counted, format="csr")), topics, shares)


def recovered(planted: Planted, seed: int) -> list[Row]:
    """Rows of one planted table: how far are the shares of matched topics from the true ones?"""
    true = extremes(planted.shares)
    rows = []
    for method, one in ways(planted.counts, len(planted.topics)).items():
        matching = match_topics(planted.topics, one.model.components_)
        off = distance(planted.shares[matching.first], one.shares[matching.second])
        row: Row = {"data": planted.name, "seed": seed, "method": method}
        row |= {f"true {key}": true[key] for key in ("smallest, %", "largest, %")}
        row |= extremes(one.shares) | {"total variation": off}
        rows.append(row | {"topics found": float((matching.similarity > FOUND).mean())})
    return rows


def tables(seeds: int, many: bool = True) -> list[Row]:
    """Rows of all planted tables, with `many` of those that look like stories, too."""
    counts, rows = COLLECTIONS["reuters"]().counts, []
    source = fitted(counts, MANY, True) if many else None
    equal = [1 / len(SHARES)] * len(SHARES)
    for seed in range(seeds):
        kinds = [main_topics(seed, SHARES, "six unequal"), main_topics(seed, equal, "six equal")]
        for name, power in (("34 unequal", RANKS), ("34 equal", 0.0)):
            if source is not None:
                kinds.append(stories(seed, source, counts.row_totals, power, name))
        for planted in kinds:
            rows += recovered(planted, seed)
    return rows


# ---------------------------------------------------------------- judging


def judge(
    rows: Sequence[Row], halves: Sequence[Row], planted: Sequence[Row]
) -> list[common.Target]:
    """What would speak for a tempered P(a), whether it holds or not; by means over splits."""
    targets, between = [], f"K = {MANY}, tempered next to untempered"
    for data in dict.fromkeys(row["data"] for row in rows):
        ours, theirs = compared(only(rows, data=data, K=MANY), "perplexity")
        name = f"{data}, {between}: perplexity, ratio"
        targets.append(common.Target(name, ours / theirs, high=1.0))
        ours, theirs = compared(only(halves, data=data, K=MANY), "cosine")
        name = f"{data}, {between}: cosine of halves, more"
        targets.append(common.Target(name, ours - theirs, low=0.0))
    moved = [row["moved"] for row in rows if row["moved"] is not None]
    targets.append(common.Target("shares at T = 1: moved, most", max(moved), high=MOVED))
    for data in dict.fromkeys(row["data"] for row in planted):
        ours, theirs = compared(only(planted, data=data), "total variation")
        name = f"planted, {data}: total variation, tempered less untempered"
        targets.append(common.Target(name, ours - theirs, high=0.0))
    return targets


def compared(rows: Sequence[Row], value: str) -> tuple[float, float]:
    """Mean of a column, tempered and untempered."""
    there = ([row[value] for row in only(rows, method=way)] for way in (TEMPERED, UNTEMPERED))
    first, second = (float(np.mean(own)) for own in there)
    return first, second


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=SPLITS, help="splits and planted tables")
    parser.add_argument("--quick", action="store_true", help="one collection, one split, no file")
    options = parser.parse_args()
    seeds, data = (1, DATA[:1]) if options.quick else (options.seeds, DATA)
    info = common.machine()
    common.print_machine(info)
    rows: list[Row] = []
    halves: list[Row] = []
    for name in data:
        case = COLLECTIONS[name]()
        for K in sizes(case):
            for split in range(seeds):
                rows += measured(case, K, split)
                halves += halved(case, K, split)
            print(f"done: {case.name}, K = {K}", flush=True)
    planted = tables(seeds, many=not options.quick)
    for table in page.shares({"rows": rows, "halves": halves, "planted": planted}):
        common.print_table(table.rows, table.title)
    targets = common.print_targets(judge(rows, halves, planted))
    if not options.quick:
        common.write_results(
            "shares", info, rows=rows, halves=halves, planted=planted, targets=targets
        )


if __name__ == "__main__":
    main()
