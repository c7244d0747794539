"""How many topics? Numbers found by growing, by a hierarchical Dirichlet process and by grids.

Planted: topics drawn once, documents that mix them or that have one each; the number is known.
Labelled: groups of postings and categories of news. A label is not a topic, so besides the number
stand the agreement of the largest topic of each document with labels (by AMI, since NMI depends on
the number of topics), perplexity of unseen documents by completion, and CPU seconds. Ours grow to
the number that predicts best (the one that is found again is in `levels.py`). A grown model has a
tree: where labels are few and topics many, `cut` gives as many topics as there are labels,
next to peers that are told that number as well. A grid fits every number it tries, chooses by the
completion of validation documents, and pays for all; that of planted data has the planted numbers
in it, which favours it. tomotopy and BERTopic run in environments of their own
(`make bench-peers`). `--revise` fits ours and the grids once more and fills in their agreement with
labels; all other figures stay.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.decomposition import NMF
from threadpoolctl import threadpool_limits

from benchmarks.harness import common, completion, peers
from benchmarks.page.parts import load
from benchmarks.quality import clustering_projection
from isotherm import AspectModel, Counts, OneSidedClustering, split_rows
from isotherm.evaluate import ami, ari, completeness, homogeneity, nmi
from isotherm.kernels.cpu.backend import available_threads

PLANTED = (5, 10, 20)
GRID = (3, 5, 7, 10, 14, 20, 28)
TEXT_GRID = (5, 10, 20, 40, 80)
COLUMNS, ROWS, TOKENS = 500, 50, 150
MOST_NEWS = 3_000  # postings of all twenty groups, drawn at random
# Clusters of the counts themselves, which a held-out score compares.
CLUSTERS = partial(OneSidedClustering, weighting="tokens")
OURS: dict[str, Any] = {"AspectModel": AspectModel, "OneSidedClustering": CLUSTERS}
STARTS = (2, 50)
AGREEMENT = {
    "AMI": ami,
    "ARI": ari,
    "homogeneity": homogeneity,
    "completeness": completeness,
    "NMI": nmi,
}
# Of an NMI where AMI is missing: cells of the table, and what chance may be worth in so few.
FEW_CELLS, CHANCE = 200, 0.05
# What stands behind the name of a model whose tree was cut: it was told the number of labels.
CUT = ", cut to the labels"
TOLD = ", told the number of the labels"


class Case(NamedTuple):
    """Documents, their groups, how many there are, numbers for a grid, and texts if at hand."""

    name: str
    counts: Counts
    labels: np.ndarray
    n_groups: int
    grid: Sequence[int] = GRID
    texts: list[str] | None = None


class Found(NamedTuple):
    """What a method came to; `documents` (I, K) has the topics of the training documents."""

    method: str
    topics: Any
    weights: Any
    documents: Any
    cpu: float
    note: str = ""


# ---------------------------------------------------------------- data


def mixed(K: int, seed: int) -> Case:
    """Documents that mix K topics."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(COLUMNS, 0.05), K)
    weights = rng.dirichlet(np.full(K, 0.1), ROWS * K)
    rows = np.array([rng.multinomial(TOKENS, p) for p in weights @ topics])
    return Case("mixed topics", Counts(sparse.csr_array(rows)), weights.argmax(axis=1), K)


def single(K: int, seed: int) -> Case:
    """Documents of one topic each."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(COLUMNS, 0.05), K)
    labels = np.arange(ROWS * K) % K
    rows = np.array([rng.multinomial(TOKENS // 2, topics[k]) for k in labels])
    return Case("one topic each", Counts(sparse.csr_array(rows)), labels, K)


def labelled() -> list[Case]:
    """Four groups, five categories, and some postings of all twenty groups."""
    four, five = clustering_projection.corpora()
    whole = common.counts("20news")
    labels = np.loadtxt(common.data_file("20news/labels.txt"), dtype=int)
    some = np.sort(np.random.default_rng(common.SEED).permutation(len(labels))[:MOST_NEWS])
    part = whole.take_rows(some).keep_columns(min_rows=2)
    return [
        Case(
            "four newsgroups",
            Counts(four.counts),
            four.labels,
            4,
            TEXT_GRID,
            texts("20news/four-groups"),
        ),
        Case(
            "five Reuters categories",
            Counts(five.counts),
            five.labels,
            5,
            TEXT_GRID,
            texts("reuters/five"),
        ),
        Case(f"20 newsgroups, {len(some)} postings", part, labels[some], 20, TEXT_GRID),
    ]


def texts(name: str) -> list[str] | None:
    """Documents of a file of lines of JSON, in the order of the counts; None without the file."""
    path = common.data_folder() / f"{name}.jsonl.gz"
    if not path.exists():
        return None
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [f"{row.get('subject') or row.get('title') or ''}\n{row['text']}" for row in rows]


# ---------------------------------------------------------------- methods


def grown(name: str, given: completion.Parts, seed: int, n_labels: int = 0) -> list[Found]:
    """Ours, on all threads; with a number of labels also cut down to that many topics."""
    # Threads of BLAS that wait for work count as busy.
    with threadpool_limits(1, "blas"):
        begin = time.process_time()
        model = OURS[name]("predict", random_state=seed).fit(given.train)
        cpu = time.process_time() - begin
    shown = f'isotherm {name}("predict")'
    found = [Found(shown, model.components_, model.weights_, model.row_weights_, cpu)]
    if n_labels and n_labels < model.n_components_:
        with threadpool_limits(1, "blas"):
            begin = time.process_time()
            few = model.cut(n_labels, given.train)
            cpu += time.process_time() - begin
        shown += CUT
        found.append(Found(shown, few.components_, few.weights_, few.row_weights_, cpu))
    return found


def found_by(shown: str, fit: peers.PeerFit) -> Found:
    """What a peer found, or why it found nothing."""
    if fit.error:
        return Found(shown, None, None, None, fit.cpu, fit.error)
    return Found(shown, fit.topics, fit.weights, fit.documents, fit.cpu)


def hdp(given: completion.Parts, seed: int, start: int, sweeps: int) -> Found:
    """A hierarchical Dirichlet process from so many topics; by default it begins with two."""
    fit = peers.fit("tomotopy-hdp", given.train.matrix, start, seed, sweeps=sweeps)
    shown = f"tomotopy HDP, {sweeps} sweeps from {start} topics"
    return found_by(shown, fit)


def grid(given: completion.Parts, sizes: Sequence[int], seed: int) -> Found:
    """The number whose topics complete validation documents best; CPU of all numbers tried."""
    matrix, on_valid = given.train.matrix, given._replace(test=given.valid)
    begin, tried = time.process_time(), []
    for k in sizes:
        model = NMF(k, beta_loss="kullback-leibler", solver="mu", init="nndsvda", random_state=seed)
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")  # it warns of the iterations it is given by default
            documents = model.fit_transform(matrix)
        documents = documents * model.components_.sum(axis=1)
        tried.append((model.components_ + 1e-12, documents.sum(axis=0), documents))
    cpu = time.process_time() - begin
    scores = [
        completion.score(topics, weights, on_valid).perplexity for topics, weights, _ in tried
    ]
    best = tried[int(np.argmin(scores))]
    return Found(f"grid of {len(sizes)}, scikit-learn NMF-KL", *best, cpu)


def told_lda(given: completion.Parts, k: int, seed: int, sweeps: int) -> Found:
    """LDA with the number of the labels."""
    fit = peers.fit("tomotopy-lda", given.train.matrix, k, seed, sweeps=sweeps)
    shown = f"tomotopy LDA, {sweeps} sweeps{TOLD}"
    return found_by(shown, fit)


def bertopic(given: completion.Parts, rows: np.ndarray, case: Case, seed: int, k: int) -> Found:
    """Clusters of sentence embeddings: as many as they come to be (k = 0), or joined to k."""
    shown = "BERTopic" + (TOLD if k else "")
    if case.texts is None:
        return Found(shown, None, None, None, float("nan"), "no texts at hand")
    own = [case.texts[i] for i in rows]
    fit = peers.fit("bertopic", given.train.matrix, k, seed, texts=own, threads=2, timeout=3600)
    return found_by(shown, fit)


def methods(
    case: Case, given: completion.Parts, rows: np.ndarray, seed: int, options: argparse.Namespace
) -> list[Found]:
    """Every method on one set of documents; those in processes of their own side by side."""
    told = case.n_groups if case.grid is TEXT_GRID else 0
    found = [one for name in OURS for one in grown(name, given, seed, told)]
    found.append(grid(given, case.grid, seed))
    after: list[Callable[[], Found]] = []
    calls: list[Callable[[], Found]] = [
        lambda start=start: hdp(given, seed, start, options.sweeps) for start in STARTS
    ]
    if told:
        one = grid(given, [told], seed)
        found.append(one._replace(method=f"scikit-learn NMF-KL{TOLD}"))
        calls.append(lambda: told_lda(given, told, seed, options.sweeps))
    if told and options.bertopic:
        # The second reads the embeddings of the first.
        calls.append(lambda: bertopic(given, rows, case, seed, 0))
        after.append(lambda: bertopic(given, rows, case, seed, told))
    with ThreadPoolExecutor(available_threads()) as pool:
        found += list(pool.map(lambda call: call(), calls))
    return found + [call() for call in after]


# ---------------------------------------------------------------- measuring


def most(weights: Any, share: float = 0.95) -> int:
    """How many of the largest topics hold so much of the tokens."""
    falling = np.sort(np.asarray(weights, np.float64))[::-1]
    return int(np.searchsorted(np.cumsum(falling) / falling.sum(), share - 1e-12) + 1)


def measure(case: Case, seed: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """One row for each method."""
    given = completion.parts(case.counts, seed)
    # The same draw as within `parts`.
    rows = split_rows(case.counts, (0.8, 0.1, 0.1), np.random.default_rng(seed))[0]
    table = []
    for one in methods(case, given, rows, seed, options):
        row = {"data": case.name, "groups": case.n_groups, "seed": seed, "method": one.method}
        row |= {"K": None, "K of 95 %": None, **dict.fromkeys(AGREEMENT), "perplexity": None}
        if one.topics is not None:
            row |= {
                "K": len(one.weights),
                "K of 95 %": most(one.weights),
                **agreement(case.labels[rows], one),
                "perplexity": completion.score(one.topics, one.weights, given).perplexity,
            }
        table.append(row | {"CPU seconds": one.cpu, "note": one.note})
    return table


def agreement(labels: Any, one: Found) -> dict[str, float]:
    """Of the largest topic of each document with the labels, by every measure."""
    largest = np.asarray(one.documents).argmax(axis=1)
    return {name: of(labels, largest) for name, of in AGREEMENT.items()}


def revise(info: dict[str, Any]) -> list[common.Target]:
    """Agreement with labels of what can be fitted here, beside all that is there already."""
    document = load("topic_numbers")
    if document is None:
        raise SystemExit("there is no result to revise; run without --revise")
    text = document["labelled"]
    for case in labelled():
        for seed in dict.fromkeys(row["seed"] for row in text):
            given = completion.parts(case.counts, seed)
            rows = split_rows(case.counts, (0.8, 0.1, 0.1), np.random.default_rng(seed))[0]
            told = grid(given, [case.n_groups], seed)._replace(method=f"scikit-learn NMF-KL{TOLD}")
            found = [one for name in OURS for one in grown(name, given, seed, case.n_groups)]
            found += [grid(given, case.grid, seed), told]
            for one in found:
                fill_in(text, case.name, seed, one, agreement(case.labels[rows], one))
    revised = {"date": info["date"][:10], "commit": info["commit"].split()[0]}
    return report(document["machine"], document["rows"], text, revised)


def fill_in(
    text: list[dict[str, Any]], data: str, seed: int, one: Found, values: dict[str, float]
) -> None:
    """Add measures to the row of a fit, if this is the same fit: as many topics, the same NMI."""
    for row in text:
        if (row["data"], row["seed"], row["method"]) == (data, seed, one.method):
            if row["K"] == len(one.weights) and abs(row["NMI"] - values["NMI"]) < 0.005:
                row |= values
            else:
                print(f"{data}, {one.method}: another fit than that of the result; left as it is")


def planted_table(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For every kind and method: the numbers found, and how often they are right."""
    table = []
    for key in dict.fromkeys((row["data"], row["method"]) for row in rows):
        own = [row for row in rows if (row["data"], row["method"]) == key and row["K"]]
        entry: dict[str, Any] = {"documents": key[0], "method": key[1]}
        for K in dict.fromkeys(row["groups"] for row in rows):
            found = [str(row["K"]) for row in own if row["groups"] == K]
            entry[f"planted {K}"] = ", ".join(found)
        near = [abs(row["K"] - row["groups"]) <= max(1, 0.1 * row["groups"]) for row in own]
        off = [abs(np.log(row["K"] / row["groups"])) for row in own]
        table.append(
            entry
            | {"share right": float(np.mean(near)) if own else None}
            | {"off by, times": float(np.exp(np.mean(off))) if own else None}
            | {"AMI": mean_of(own, "AMI")}
            | {"CPU seconds": float(np.mean([row["CPU seconds"] for row in own])) if own else None}
        )
    return table


def mean_of(rows: Sequence[dict[str, Any]], name: str) -> float | None:
    """Mean of a column; None where any value is missing."""
    values = [row.get(name) for row in rows]
    return float(np.mean(values)) if values and None not in values else None


def lead(
    ours: Sequence[dict[str, Any]], rest: Sequence[dict[str, Any]]
) -> tuple[float | None, bool]:
    """AMI of ours less the best of the others, and whether it is only known to be no more.

    None while any AMI is missing, unless ours is behind already by what the others have at least.
    """
    best = [row.get("AMI") for row in ours]
    if None in best:
        return None, False
    known = [row.get("AMI") for row in rest]
    if None not in known:
        return max(best) - max(known), False
    gap = max(best) - max(map(least_ami, rest))
    return (gap, True) if gap < 0 else (None, False)


def least_ami(row: dict[str, Any]) -> float:
    """AMI, or what it is at least: NMI, over the larger entropy, less what chance may be worth.

    Chance is worth about (K - 1) (labels - 1) / 2n nats, of more than one nat that labels say here:
    below 0.05 for some hundred cells and thousands of documents. Else nothing is known.
    """
    if row.get("AMI") is not None:
        return float(row["AMI"])
    few = (row["K"] - 1) * (row["groups"] - 1) <= FEW_CELLS
    return row["NMI"] - CHANCE if few and row.get("NMI") is not None else -1.0


def judge(planted: list[dict[str, Any]], text: list[dict[str, Any]]) -> list[common.Target]:
    """Ours next to the best of the others."""
    targets = []
    wanted = {"mixed topics": "AspectModel", "one topic each": "OneSidedClustering"}
    for row in planted:
        if wanted[row["documents"]] in row["method"]:
            name = f"planted, {row['documents']}: share of numbers within 10 % (or one)"
            targets.append(common.Target(name, row["share right"], low=0.9))
    for data in dict.fromkeys(row["data"] for row in text):
        own = [row for row in text if row["data"] == data and row["K"]]
        told = [row for row in own if row["method"].endswith((CUT, TOLD))]
        ours = [row for row in own if row["method"].startswith("isotherm") and row not in told]
        rest = [row for row in own if row not in ours + told]
        if not rest:
            continue
        best = min(ours, key=lambda row: row["perplexity"])
        level = best["perplexity"] / min(row["perplexity"] for row in rest)
        gain, bounded = lead(ours, rest)
        which = "AMI, ours - best other" + (", at most" if bounded else "")
        cost = best["CPU seconds"] / min(row["CPU seconds"] for row in rest)
        targets += [
            common.Target(f"{data}: perplexity, ours / best other", level, high=1.0),
            common.Target(f"{data}: {which}", gain, low=0.0),
            common.Target(f"{data}: CPU, ours / cheapest other", cost, high=1.0),
        ]
        cut, others = ([r["NMI"] for r in told if r["method"].endswith(e)] for e in (CUT, TOLD))
        if cut and others:
            name = f"{data}: NMI, ours cut to the labels - best other that is told their number"
            targets.append(common.Target(name, max(cut) - max(others), low=0.0))
    return targets


def report(
    info: dict[str, Any],
    rows: list[dict[str, Any]],
    text: list[dict[str, Any]],
    revised: dict[str, Any] | None = None,
) -> list[common.Target]:
    """Targets of what there is so far; written down after every set, so that nothing is lost."""
    planted = planted_table(rows)
    targets = judge(planted, text)
    common.write_results(
        "topic_numbers", info, planted=planted, labelled=text, rows=rows,
        targets=[target.row() for target in targets],
        **({"revised": revised} if revised else {}),
    )  # fmt: skip
    return targets


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3, help="data sets for each planted number")
    parser.add_argument("--sweeps", type=int, default=300, help="sweeps of the Dirichlet process")
    parser.add_argument("--no-bertopic", dest="bertopic", action="store_false")
    parser.add_argument("--revise", action="store_true", help="agreement of ours and the grids")
    options = parser.parse_args()
    info = common.machine()
    common.print_machine(info)
    if options.revise:
        common.print_targets(revise(info))
        return
    tiny = completion.parts(mixed(3, 0).counts, 0)
    for name in OURS:
        grown(name, tiny, 0)  # compiles
    rows: list[dict[str, Any]] = []
    text: list[dict[str, Any]] = []
    for seed, draw, K in itertools.product(range(options.seeds), (mixed, single), PLANTED):
        rows += measure(draw(K, seed), seed, options)
        report(info, rows, text)
    common.print_table(planted_table(rows), "Planted numbers")
    for case in labelled():
        text += measure(case, common.SEED, options)
        targets = report(info, rows, text)
    common.print_table(text, "Labelled documents")
    common.print_targets(targets)


if __name__ == "__main__":
    main()
