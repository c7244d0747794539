"""Two figures of the papers on classifiers: how touchy DTM is, and how good PCP's topics are.

Huh & Fienberg (2010), Figure 3: accuracy of DTM on 20 newsgroups as the number of neighbours and
the step vary, five labels to a group. Yu and others (2005), Figure 3: accuracy of a linear
classifier of each category against the rest on ten topics of PCP, LDA and pLSI, from a few labels,
half of them of the category.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.svm import LinearSVC

from benchmarks.harness import common
from benchmarks.quality import clustering_projection, semi_supervised
from isotherm import DTM, PCP, AspectModel, Counts
from isotherm.evaluate import accuracies, draw
from isotherm.graph.neighbors import Neighbors, with_labels

NEIGHBOURS, STEPS = (5, 10, 20), (0.05, 0.1, 0.2)
TOPICS, LABELS = 10, (10, 50, 200)


def touchiness(K: int, draws: int) -> list[dict[str, Any]]:
    """Accuracy of DTM, one of the two settings changed at a time."""
    counts, groups = semi_supervised.collection()
    pairs = [(r, 0.1) for r in NEIGHBOURS] + [(10, step) for step in STEPS if step != 0.1]
    found: dict[tuple[int, float], list[float]] = {pair: [] for pair in pairs}
    for seed in range(draws):
        drawn = draw(groups, semi_supervised.N_ROWS, 5, seed)
        rows = Counts(sparse.csr_array(counts.matrix[drawn.rows]))
        graphs = {r: with_labels(Neighbors.of(rows, r).graph(), drawn.known) for r in NEIGHBOURS}
        for r, step in pairs:
            model = DTM(K, gamma=step, random_state=seed).fit(rows, graph=graphs[r])
            found[r, step].append(max(accuracies(model.row_weights_, drawn)))
    return [
        {"neighbours": r, "step": step, "accuracy": float(np.mean(scores)), "draws": draws}
        for (r, step), scores in found.items()
    ]


def features(corpus: clustering_projection.Labelled, seed: int) -> dict[str, np.ndarray]:
    """Ten topics of the documents by each model, (I, 10)."""
    counts = Counts(corpus.counts)
    data = clustering_projection.place(corpus.counts)
    _, topics = clustering_projection.aspects(data, TOPICS, seed)
    lda = clustering_projection.allocation(data, topics, seed)
    rows = data.gather(lda.state.rows)
    model = PCP(corpus.n_labels, TOPICS, random_state=seed).fit(counts)
    return {
        "PCP": model.project(counts),
        "LDA": lda.model.mixture(lda.state.params, rows).weights,
        "pLSI": AspectModel(TOPICS, random_state=seed).fit(counts).row_weights_,
    }


def binary(table: np.ndarray, labels: np.ndarray, n: int, rng: np.random.Generator) -> float:
    """Mean accuracy over categories, each against the rest, from n labels, half of them of it."""
    scores = []
    for label in np.unique(labels):
        mine = labels == label
        halves = (rng.permutation(np.flatnonzero(side))[: n // 2] for side in (mine, ~mine))
        shown = np.concatenate(list(halves))
        hidden = np.setdiff1d(np.arange(len(labels)), shown)
        model = LinearSVC(C=10).fit(table[shown], mine[shown])
        # As many of either side count, as in the draws.
        right = model.predict(table[hidden]) == mine[hidden]
        scores.append(np.mean([right[mine[hidden] == side].mean() for side in (True, False)]))
    return float(np.mean(scores))


def classifiers(repeats: int) -> list[dict[str, Any]]:
    """Accuracy for every corpus, model and number of labels."""
    rows = []
    for corpus in clustering_projection.corpora():
        for name, table in features(corpus, common.SEED).items():
            for n in LABELS:
                own, labels = table[corpus.scored], corpus.labels[corpus.scored]
                draws = [binary(own, labels, n, np.random.default_rng(i)) for i in range(repeats)]
                rows.append(
                    {"corpus": corpus.name, "model": name, "labels": n}
                    | {"accuracy": float(np.mean(draws)), "sd": float(np.std(draws, ddof=1))}
                )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=3, help="of postings, for DTM")
    parser.add_argument("--repeats", type=int, default=10, help="draws of labels, for PCP")
    parser.add_argument("--topics", type=int, default=60, help="topics of DTM")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    info = common.machine()
    common.print_machine(info)
    dtm = touchiness(options.topics, options.draws)
    common.print_table(dtm, f"DTM({options.topics}): accuracy with five labels to a group")
    found = classifiers(options.repeats)
    common.print_table(found, "Balanced accuracy of a linear classifier on ten topics")
    width = max(row["accuracy"] for row in dtm) - min(row["accuracy"] for row in dtm)
    best = {
        (corpus, n): [
            row["accuracy"] for row in found if (row["corpus"], row["labels"]) == (corpus, n)
        ]
        for corpus in dict.fromkeys(row["corpus"] for row in found)
        for n in LABELS
    }
    targets = [common.Target("DTM: best - worst setting", width, high=0.03)]
    targets += [
        common.Target(
            f"{corpus}, {n} labels: PCP - best of LDA and pLSI", own[0] - max(own[1:]), 0.0
        )
        for (corpus, n), own in best.items()
    ]
    judged = common.print_targets(targets)
    common.write_results("paper_classifiers", info, dtm=dtm, classifiers=found, targets=judged)


if __name__ == "__main__":
    main()
