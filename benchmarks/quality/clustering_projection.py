"""Clusters over topics: Tables 2 and 3 of Yu, Yu, Tresp & Kriegel (2005) and what else there is.

Clusters: NMI (over the larger entropy) with the four newsgroups and with the five Reuters
categories (rows with exactly one of them count), mean, least and largest over seeds. `separate` are
means of separate programs from random tempered starts; ours should reach them. NMF and k-means see
tf-idf weights, all others plain counts.

Perplexity of unseen documents: a tenth of the documents held out, several splits, one cluster per
training document to begin with. A figure says which density it is of: pLSI as Blei et al. (2003)
define it, LDA by the bound of each document with point estimates of topics, PCP by its bound, by
that of the structured family, by the mixture of mean clusters, and by "fresh", where a document may
also open an unused cluster. All smooth topics by 0.1 and begin with the same ones.

Where PCP wins and where it loses, in a run of 3 seeds and 3 splits. Labels: ahead of every other
method on the newsgroups (0.85, no other above 0.79 from any seed) and, on average, on Reuters
(0.64); there k-means of tf-idf reaches 0.68 from its luckiest seed, and random starts of TTMM reach
0.65 with a lower likelihood. Perplexity: with "fresh" below LDA in 23 of 24 splits and below pLSI
in 22, by 1 to 3 per cent; with the paper's own bound below LDA only up to K = 10 (newsgroups) or 20
(Reuters), and hardly ever below pLSI. That pLSI is much worse than LDA, as the paper has it, does
not show once its topics are smoothed: it is the better one up to K = 20.

More clusters than topics (`--many`, a result of its own): what the default fit reaches next to one
at T = 1 alone from the same start and seed, how many topics a cluster mixes, how many clusters are
distinct, and how well a linear classifier on `project(X)` tells the labels; the case study of the
paper (50 topics, 20 clusters on the newsgroups); and which superfluous clusters leave.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.decomposition import NMF
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from benchmarks.harness import common
from isotherm import PCP, TTMM, Counts, Fixed, Spectral
from isotherm.anneal.engine import NO_RELAXATION, Annealer
from isotherm.anneal.start import state_of
from isotherm.anneal.trace import Fit
from isotherm.evaluate import (
    lda_document_bounds,
    nmi,
    plsi_perplexity,
    row_perplexity,
    unigram_perplexity,
)
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.aspect import Aspect
from isotherm.models.lda import Lda
from isotherm.placement.local import Local

SMOOTH, TOPICS = 0.1, 10
DEFINITIONS = ("bound", "structured", "mean", "fresh")


class Labelled(NamedTuple):
    """Counts (I, J), labels (I,), rows that are scored (I,) and the number of labels."""

    name: str
    counts: sparse.csr_array
    labels: np.ndarray
    scored: np.ndarray
    n_labels: int


# name -> (newsgroups, Reuters): means of separate programs, then the paper's.
SEPARATE = {
    "PCP": (0.683, 0.615),
    "PCP, factorized": (0.542, 0.594),
    "TTMM": (0.651, 0.650),
    "LDA + k-means": (0.462, 0.413),
    "pLSA, argmax": (None, 0.504),
    "NMF of tf-idf": (0.782, 0.649),
    "k-means of tf-idf": (0.790, 0.554),
}
PAPER = {"PCP, factorized": (0.622, 0.418), "LDA + k-means": (0.504, 0.331)}
WANTED = {("PCP", 0): 0.683, ("PCP", 1): 0.615, ("PCP, factorized", 0): 0.542} | {
    ("PCP, factorized", 1): 0.594,
    ("TTMM", 0): 0.651,
    ("TTMM", 1): 0.650,
}
# K -> pLSI, LDA, PCP of the paper's Table 2.
TABLE2 = (
    {5: (2171, 2083, 2039), 10: (2018, 1933, 1871), 20: (1943, 1782, 1752), 50: (1924, 1513, 1493)},
    {5: (1995, 1143, 1076), 10: (1422, 892, 882), 20: (1226, 678, 670), 50: (1103, 533, 527)},
)


def read(folder: str, name: str) -> tuple[sparse.csr_array, np.ndarray]:
    """Counts and labels of a data set; ends the benchmark where it is missing."""
    path = common.data_file(f"{folder}/{name}-counts.npz")
    labels = np.loadtxt(path.with_name(f"{name}-labels.txt"), dtype=int)
    return sparse.csr_array(sparse.load_npz(path)), labels


def corpora() -> list[Labelled]:
    """The two of the paper."""
    news, groups = read("20news", "four-groups")
    stories, categories = read("reuters", "five")
    several = np.loadtxt(common.data_file("reuters/five-multilabels.txt"))
    return [
        Labelled("newsgroups", news, groups, np.ones(len(groups), bool), 4),
        Labelled("Reuters", stories, categories, several.sum(axis=1) == 1, 5),
    ]


def place(counts: sparse.csr_array) -> Local:
    """Counts in memory, single precision."""
    return Local.place(Counts(counts), Cpu("float32"))


def aspects(data: Local, k: int, seed: int) -> tuple[Fit, np.ndarray]:
    """Forty sweeps of the aspect model, and its smoothed topics (K, J)."""
    annealer = Annealer(Fixed(1.0), start=Spectral(), max_sweeps=40)
    fit = annealer.run(Aspect(k), data, np.random.default_rng(seed))
    params = fit.state.params
    sums = (params.word_topic.astype(np.float64) * params.row_mass).T + SMOOTH
    return fit, sums / sums.sum(axis=1, keepdims=True)


def allocation(data: Local, topics: np.ndarray, seed: int) -> Fit:
    """LDA by variational EM from the given topics (K, J)."""
    model = Lda(len(topics), SMOOTH, 1.0 / len(topics))
    state = state_of(model, data, model.init(data.summary, topics.T))
    annealer = Annealer(Fixed(1.0), NO_RELAXATION, tol=1e-4, max_sweeps=100)
    return annealer.run(model, data, np.random.default_rng(seed), state=state)


def lda_clusters(corpus: Labelled, seed: int) -> np.ndarray:
    """k-means of the topics of documents."""
    data = place(corpus.counts)
    fit = allocation(data, aspects(data, TOPICS, seed)[1], seed)
    mixed = fit.model.mixture(fit.state.params, data.gather(fit.state.rows)).weights
    return KMeans(corpus.n_labels, n_init=10, random_state=seed).fit_predict(mixed)


def aspect_clusters(corpus: Labelled, seed: int) -> np.ndarray:
    """The largest of as many aspects as labels."""
    data = place(corpus.counts)
    fit, _ = aspects(data, corpus.n_labels, seed)
    mixed = fit.model.mixture(fit.state.params, data.gather(fit.state.rows)).weights
    return mixed.argmax(axis=1)


def nmf_clusters(corpus: Labelled, seed: int) -> np.ndarray:
    """The largest part of an NMF of tf-idf weights."""
    weights = TfidfTransformer().fit_transform(corpus.counts)
    return NMF(corpus.n_labels, random_state=seed, max_iter=400).fit_transform(weights).argmax(1)


def kmeans_clusters(corpus: Labelled, seed: int) -> np.ndarray:
    """k-means of tf-idf weights."""
    weights = TfidfTransformer().fit_transform(corpus.counts)
    return KMeans(corpus.n_labels, n_init=3, random_state=seed).fit_predict(weights)


def ours(kind: Any, **settings: Any) -> Callable[[Labelled, int], Any]:
    """A fit of one of our estimators."""
    return lambda corpus, seed: kind(corpus.n_labels, TOPICS, random_state=seed, **settings).fit(
        corpus.counts
    )


METHODS: dict[str, Callable[[Labelled, int], Any]] = {
    "PCP": ours(PCP),
    "PCP, factorized": ours(PCP, inference="factorized"),
    "TTMM": ours(TTMM),
    "LDA + k-means": lda_clusters,
    "pLSA, argmax": aspect_clusters,
    "NMF of tf-idf": nmf_clusters,
    "k-means of tf-idf": kmeans_clusters,
}


def clustering(corpus: Labelled, name: str, seed: int) -> dict[str, Any]:
    """One clustering of one corpus."""
    begin = time.perf_counter()
    found = METHODS[name](corpus, seed)
    seconds = time.perf_counter() - begin
    labels = getattr(found, "labels_", found)
    score = nmi(corpus.labels[corpus.scored], labels[corpus.scored])
    bound = -getattr(found, "free_energy_", float("nan"))
    row = {"corpus": corpus.name, "method": name, "seed": seed, "NMI": score}
    return row | {"bound": bound, "seconds": seconds}


def cluster_table(rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[common.Target]]:
    """Means over seeds next to the other figures, and the targets."""
    table, targets = [], []
    names = list(dict.fromkeys(row["corpus"] for row in rows))
    for corpus, name in dict.fromkeys((row["corpus"], row["method"]) for row in rows):
        own = [row for row in rows if (row["corpus"], row["method"]) == (corpus, name)]
        scores, at = [row["NMI"] for row in own], names.index(corpus)
        best = max(own, key=lambda row: row["bound"])
        known = np.isfinite(best["bound"])
        table.append(
            {"corpus": corpus, "method": name, "NMI": float(np.mean(scores))}
            | {"least": min(scores), "largest": max(scores)}
            | {"bound": f"{best['bound']:.0f}" if known else None}
            | {"at best bound": best["NMI"] if known else None}
            | {"separate": SEPARATE[name][at], "paper": PAPER.get(name, (None, None))[at]}
            | {"seconds": float(np.mean([row["seconds"] for row in own]))}
        )
        if (name, at) in WANTED:
            wanted = WANTED[name, at]
            targets.append(common.Target(f"{corpus}, {name}, NMI", float(np.mean(scores)), wanted))
    return table, targets


def perplexities(corpus: Labelled, k: int, split: int, rounds: int) -> dict[str, Any]:
    """All perplexities of one split, PCP after at most so many rounds."""
    n = corpus.counts.shape[0]
    order = np.random.default_rng(split).permutation(n)
    test, train = corpus.counts[order[: n // 10]], corpus.counts[order[n // 10 :]]
    data = place(train)
    fit, topics = aspects(data, k, split)
    mixed = fit.model.mixture(fit.state.params, data.gather(fit.state.rows)).weights
    totals = np.asarray(train.sum(axis=1), np.float64).ravel()
    learned = allocation(data, topics, split).state.params.word_topic.T
    begin = time.perf_counter()
    model = PCP("documents", k, inference="factorized", topics=topics, smooth=SMOOTH)
    model.set_params(tol=1e-3, max_iter=rounds, random_state=split).fit(train)
    seconds = time.perf_counter() - begin
    columns = np.asarray(train.sum(axis=0)).ravel()
    return (
        {"corpus": corpus.name, "K": k, "split": split}
        | {"unigram": unigram_perplexity(test, columns, SMOOTH)}
        | {"pLSI": plsi_perplexity(test, mixed, topics, totals)}
        | {"LDA": row_perplexity(test, lda_document_bounds(test, learned, 1.0 / k))}
        | {name: model.perplexity(test, definition=name) for name in DEFINITIONS}
        | {"live": model.n_live_, "seconds": seconds}
    )


def perplexity_table(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Means over splits, the paper's pLSI / LDA / PCP beside them."""
    table = []
    names = list(dict.fromkeys(row["corpus"] for row in rows))
    for corpus, k in dict.fromkeys((row["corpus"], row["K"]) for row in rows):
        own = [row for row in rows if (row["corpus"], row["K"]) == (corpus, k)]
        keys = ("unigram", "pLSI", "LDA", *DEFINITIONS, "live")
        means = {key: f"{np.mean([row[key] for row in own]):.0f}" for key in keys}
        paper = TABLE2[names.index(corpus)].get(k)
        table.append(
            {"corpus": corpus, "K": k, "splits": len(own)}
            | means
            | {"paper": " / ".join(map(str, paper)) if paper else None}
            | {"seconds": float(np.mean([row["seconds"] for row in own]))}
        )
    return table


def wins(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """In how many splits each perplexity of PCP is below that of LDA and of pLSI."""
    table = []
    for corpus, k in dict.fromkeys((row["corpus"], row["K"]) for row in rows):
        own = [row for row in rows if (row["corpus"], row["K"]) == (corpus, k)]
        for rival in ("LDA", "pLSI"):
            counts = {
                name: f"{sum(row[name] < row[rival] for row in own)} of {len(own)}"
                for name in DEFINITIONS
            }
            table.append({"corpus": corpus, "K": k, "below": rival} | counts)
    return table


# Corpus, model, M, K: tables of more clusters than topics, and superfluous clusters.
MANY = tuple(
    (corpus, name, M, K)
    for M, K in ((40, 10), (60, 20))
    for corpus in ("Reuters", "newsgroups")
    for name in ("PCP", "TTMM")
)
SUPERFLUOUS = tuple(("newsgroups", "PCP", M, TOPICS) for M in (6, 10, 20))
CASE = ("newsgroups", "PCP", 20, 50)


def many_fit(corpus: Labelled, case: tuple[str, str, int, int], seed: int, way: str) -> dict:
    """One fit, as by default or at T = 1 alone."""
    _, name, M, K = case
    schedule = None if way == "default" else Fixed(1.0)
    begin = time.perf_counter()
    model = {"PCP": PCP, "TTMM": TTMM}[name](M, K, schedule=schedule, random_state=seed)
    model.fit(corpus.counts)
    seconds = time.perf_counter() - begin
    centres, scored = model.cluster_centers_, corpus.scored
    mixed = np.exp(-(centres * np.log(np.maximum(centres, 1e-300))).sum(axis=1))
    shares, labels = model.project(corpus.counts)[scored], corpus.labels[scored]
    heavy = np.argsort(-model.cluster_weights_)[: corpus.n_labels]
    largest = [np.bincount(labels[model.labels_[scored] == m], minlength=1) for m in heavy]
    purity = sum(count.max() for count in largest) / max(1, sum(count.sum() for count in largest))
    return {
        "corpus": corpus.name,
        "model": name,
        "M": M,
        "K": K,
        "seed": seed,
        "way": way,
        "cooled": len(model.trace_) > 1,
        "objective": -model.free_energy_,
        "topics a cluster": float(model.cluster_weights_ @ mixed),
        "of one topic": int((centres.max(axis=1) > 0.99).sum()),
        "left": len(centres),
        "distinct": model.n_live_,
        "NMI": nmi(labels, model.labels_[scored]),
        "purity": float(purity),
        "accuracy": float(np.mean(cross_val_score(LogisticRegression(), shares, labels, cv=5))),
        "seconds": seconds,
    }


def many_table(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Default fits beside those at T = 1 alone, means over seeds."""
    table = []
    for key in dict.fromkeys((r["corpus"], r["model"], r["M"], r["K"]) for r in rows):
        own = [r for r in rows if (r["corpus"], r["model"], r["M"], r["K"]) == key]
        plain = {r["seed"]: r for r in own if r["way"] == "plain"}
        pairs = [(r, plain[r["seed"]]) for r in own if r["way"] == "default" and r["seed"] in plain]
        if not pairs:
            continue

        def both(name: str, pairs: list[Any] = pairs) -> str:
            one, other = (float(np.mean([pair[at][name] for pair in pairs])) for at in (0, 1))
            return f"{one:.4g} / {other:.4g}"

        gains = [one["objective"] - other["objective"] for one, other in pairs]
        shown = ("topics a cluster", "of one topic", "distinct", "NMI", "accuracy", "seconds")
        table.append(
            dict(zip(("corpus", "model", "M", "K"), key, strict=True))
            | {"seeds": len(pairs), "cooled": sum(one["cooled"] for one, _ in pairs)}
            | {"gain": float(np.mean(gains)), "least gain": min(gains)}
            | {name: both(name) for name in shown}
        )
    return table


def many(options: argparse.Namespace) -> None:
    """More clusters than topics: results are written after every fit."""
    info = common.machine()
    common.print_machine(info)
    by_name = {corpus.name: corpus for corpus in corpora()}
    cases = [(case, seed) for case in (CASE, *SUPERFLUOUS, *MANY) for seed in range(options.seeds)]
    rows: list[dict[str, Any]] = []
    for case, seed in cases:
        rows += [many_fit(by_name[case[0]], case, seed, way) for way in ("default", "plain")]
        table = many_table(rows)
        least = min(row["least gain"] for row in table)
        targets = [common.Target("least gain over T = 1 alone, nats", least, -1.0)]
        common.write_results(
            "clustering_projection-many",
            info,
            rows=rows,
            table=table,
            targets=[target.row() for target in targets],
        )
        if sys.stderr.isatty():
            print(f"{case}, seed {seed} done", file=sys.stderr)
    common.print_table(table, "Default fits / fits at T = 1 alone, means over seeds")
    common.print_targets(targets)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--sizes", nargs="+", type=int, default=[5, 10, 20, 30, 40, 50])
    parser.add_argument("--rounds", type=int, default=25, help="most rounds of PCP for perplexity")
    parser.add_argument("--many", action="store_true", help="more clusters than topics alone")
    parser.add_argument("--quick", action="store_true", help="one seed, one split, K = 10")
    options = parser.parse_args()
    if options.quick:
        options.seeds, options.splits, options.sizes = 1, 1, [10]
    if options.many:
        many(options)
        return
    info = common.machine()
    common.print_machine(info)
    both = corpora()
    small = both[0]._replace(counts=both[0].counts[::40], labels=both[0].labels[::40])
    for name in ("PCP", "PCP, factorized", "TTMM"):  # compiles
        METHODS[name](small, 0)
    found = [clustering(c, m, s) for c in both for m in METHODS for s in range(options.seeds)]
    clusters, targets = cluster_table(found)
    common.print_table(clusters, f"Clusters, K = {TOPICS} topics")
    scores = []
    for corpus, k in [(corpus, k) for corpus in both for k in options.sizes]:
        for split in range(options.splits):
            scores.append(perplexities(corpus, k, split, options.rounds))
            if sys.stderr.isatty():
                print(f"{corpus.name}, K = {k}, split {split} done", file=sys.stderr)
    table = perplexity_table(scores)
    common.print_table(table, "Perplexity of unseen documents, means over splits")
    won = wins(scores)
    common.print_table(won, "Splits in which PCP is the lower one, by definition")
    fresh = float(np.mean([row["fresh"] < row["LDA"] for row in scores]))
    targets.append(common.Target("share of splits with fresh below LDA", fresh, 0.9))
    common.print_targets(targets)
    common.write_results(
        "clustering_projection",
        info,
        clusterings=found,
        clusters=clusters,
        perplexities=scores,
        table=table,
        wins=won,
        targets=[target.row() for target in targets],
    )


if __name__ == "__main__":
    main()
