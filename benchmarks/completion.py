"""Good by default? Perplexity of unseen documents and seconds to get there, every rival in one run.

`AspectModel(n_components=50, random_state=0).fit(X)` on the Associated Press corpus, next to
scikit-learn's NMF (Kullback-Leibler) and LDA and tomotopy's LDA. Scored by document completion.

Every model is scored on the same splits and the same vocabulary, the words of at least two training
documents.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.decomposition import NMF, LatentDirichletAllocation

import _common as common
import _completion as completion
from isotherm import AspectModel, Counts

try:
    import tomotopy
except ImportError:  # said in the output
    tomotopy = None

Topics = tuple[Any, Any]
# What a default fit of the AP corpus with 50 topics should reach.
WANTED = 2340.0


def ours(train: Counts, k: int, seed: int) -> Topics:
    model = AspectModel(n_components=k, random_state=seed).fit(train)
    return model.components_, model.weights_


def nmf(train: Counts, k: int, seed: int) -> Topics:
    model = NMF(k, beta_loss="kullback-leibler", solver="mu", init="nndsvda", random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of the iterations that it is given by default
        documents = model.fit_transform(train.matrix)
    scale = model.components_.sum(axis=1)
    return model.components_ + 1e-12, (documents * scale).sum(axis=0)


def sklearn_lda(train: Counts, k: int, seed: int) -> Topics:
    model = LatentDirichletAllocation(k, random_state=seed, n_jobs=-1).fit(train.matrix)
    return model.components_, model.components_.sum(axis=1)


def tomotopy_lda(train: Counts, k: int, seed: int) -> Topics:
    model = tomotopy.LDAModel(k=k, seed=seed + 1)
    matrix = train.matrix
    for i in range(train.n_rows):
        cells = slice(matrix.indptr[i], matrix.indptr[i + 1])
        words = np.repeat(matrix.indices[cells], matrix.data[cells].astype(int))
        model.add_doc([str(j) for j in words])
    model.train(1000, workers=0)
    topics = np.full((k, train.n_columns), 1e-12)
    columns = [int(word) for word in model.used_vocabs]
    for topic in range(k):
        topics[topic, columns] = model.get_topic_word_dist(topic)
    return topics, model.get_count_by_topics()


RIVALS: dict[str, Callable[[Counts, int, int], Topics]] = {
    "isotherm AspectModel": ours,
    "scikit-learn NMF-KL": nmf,
    "tomotopy LDA, 1000 sweeps": tomotopy_lda,
    "scikit-learn LDA": sklearn_lda,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="ap")
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument(
        "--min-documents", type=int, default=2, help="training documents that a word needs"
    )
    options = parser.parse_args()
    info = common.machine()
    common.print_machine(info)
    counts = common.counts(options.corpus)
    # Compiled before anything is timed; a table this small would choose float64 by itself.
    few = counts.take_rows(np.arange(min(200, counts.n_rows)))
    AspectModel(n_components=50, precision="float32", random_state=0).fit(few)
    rows = []
    for split in range(options.splits):
        given = completion.parts(counts, split, min_documents=options.min_documents)
        for name, fit in RIVALS.items():
            if name.startswith("tomotopy") and tomotopy is None:
                print("NOTE: tomotopy is not installed; its rows are missing")
                continue
            wall, cpu = time.perf_counter(), time.process_time()
            topics, weights = fit(given.train, options.topics, 0)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            found = completion.score(topics, weights, given)
            rows.append(
                {"split": split, "model": name, "perplexity": found.perplexity}
                | {"wall s": wall, "cpu s": cpu, "pseudo": found.pseudo, "share": found.share}
            )
    title = f"{options.corpus}, K = {options.topics}: document completion"
    common.print_table(shown(rows), title)
    common.print_table(shown(means(rows)), "Means over splits")
    targets = judge(rows)
    if (options.corpus, options.topics, options.min_documents) == ("ap", 50, 2):
        level = means(rows)[0]["perplexity"]
        targets.insert(0, common.Target("perplexity, ours", level, high=WANTED))
    common.print_targets(targets)
    common.write_results(f"completion-{options.corpus}", info, rows=rows)


def shown(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows for the eye: perplexities with one decimal, not three digits."""
    return [row | {"perplexity": f"{row['perplexity']:.1f}"} for row in rows]


def means(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    mean: list[dict[str, Any]] = []
    for name in dict.fromkeys(row["model"] for row in rows):
        own = [row for row in rows if row["model"] == name]
        mean.append(
            {"model": name}
            | {key: float(np.mean([row[key] for row in own])) for key in ("wall s", "cpu s")}
            | {"perplexity": float(np.mean([row["perplexity"] for row in own]))}
        )
    best = mean[0]
    return [
        row | {"ours / theirs": best["perplexity"] / row["perplexity"]}
        | {"their seconds / ours": row["wall s"] / best["wall s"]}
        for row in mean
    ]  # fmt: skip


def judge(rows: list[dict[str, Any]]) -> list[common.Target]:
    table = {row["model"]: row for row in means(rows)}
    return [
        target
        for name, row in table.items()
        if not name.startswith("isotherm")
        for target in (
            common.Target(f"perplexity, ours / {name}", row["ours / theirs"], high=1.0),
            common.Target(f"seconds, {name} / ours", row["their seconds / ours"], low=1.0),
        )
    ]


if __name__ == "__main__":
    main()
