"""Is a cut as good as a fit of that number, and are topics where a reader looks for them?

Documents with a few coarse labels: two collections of news, web pages, and three collections of
abstracts and news in one. A growing run finds many topics. It is cut to as many topics as there are
labels, next to a fit of that number; AMI is that of the largest topic of each document with the
labels. And its trees are opened into as many branches, the weights of the topics of a branch added
up and nothing fitted again: the tree of topics, which is joined from below, next to the record of
the splits. What stands in the wrong branch there is misplaced.
"""

from __future__ import annotations

import argparse
import gzip
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import adjusted_mutual_info_score as ami
from threadpoolctl import threadpool_limits

from benchmarks.harness import common
from benchmarks.quality import clustering_projection
from isotherm import AspectModel, Counts, OneSidedClustering, Tree

# Clusters of the counts themselves, which a held-out score compares.
CLUSTERS = partial(OneSidedClustering, weighting="tokens")
MODELS: dict[str, Any] = {"AspectModel": AspectModel, "OneSidedClustering": CLUSTERS}
MOST_STORIES = 1_200  # of Reuters in the mix, about as many as there are abstracts of each kind
# AMI that a cut may be below a fit, and share of the CPU seconds of growing that it may cost.
NOISE, COST = 0.02, 0.25


def mixed() -> tuple[Counts, np.ndarray]:
    """Abstracts on aerodynamics and on medicine, and news, over one vocabulary."""
    files = ("cranfield/counts", "cranfield/vocab"), ("medline/counts", "medline/vocab")
    parts = [_read(*names) for names in (*files, ("reuters/five-counts", "reuters/five-vocab"))]
    stories, words = parts[2]
    some = np.random.default_rng(common.SEED).permutation(stories.shape[0])[:MOST_STORIES]
    parts[2] = stories[np.sort(some)], words
    names = sorted({word for _, words in parts for word in words})
    place = {word: j for j, word in enumerate(names)}
    rows = [_widened(matrix, words, place) for matrix, words in parts]
    labels = np.repeat(np.arange(3), [matrix.shape[0] for matrix in rows])
    return _together(sparse.vstack(rows, format="csr"), labels)


def _read(counts: str, vocabulary: str) -> tuple[sparse.csr_array, list[str]]:
    with gzip.open(common.data_file(f"{vocabulary}.txt.gz"), "rt", encoding="utf-8") as lines:
        words = lines.read().split()
    return sparse.csr_array(sparse.load_npz(common.data_file(f"{counts}.npz"))), words


def _widened(matrix: sparse.csr_array, words: list[str], place: dict[str, int]) -> sparse.csr_array:
    one = sparse.coo_array(matrix)
    columns = np.array([place[word] for word in words])[one.coords[1]]
    shape = matrix.shape[0], len(place)
    return sparse.csr_array(sparse.coo_array((one.data, (one.coords[0], columns)), shape=shape))


def _together(matrix: sparse.csr_array, labels: np.ndarray) -> tuple[Counts, np.ndarray]:
    """Columns of two rows or more, and rows with any of them."""
    matrix = matrix[:, np.flatnonzero((matrix > 0).sum(axis=0) >= 2)]
    filled = np.flatnonzero(matrix.sum(axis=1) > 0)
    return Counts(matrix[filled]), labels[filled]


def newsgroups() -> tuple[Counts, np.ndarray]:
    """Four newsgroups of equal size."""
    one = clustering_projection.corpora()[0]
    return Counts(one.counts), one.labels


def stories() -> tuple[Counts, np.ndarray]:
    """Stories of Reuters with exactly one of five topics."""
    one = clustering_projection.corpora()[1]
    return Counts(one.counts[one.scored]), one.labels[one.scored]


def pages() -> tuple[Counts, np.ndarray]:
    """Web pages of six classes, from 60 of them to 1,389."""
    labels = np.loadtxt(common.data_file("yahoo-k1b/labels.txt"), dtype=int)
    return common.counts("yahoo-k1b"), labels


CORPORA: dict[str, Callable[[], tuple[Counts, np.ndarray]]] = {
    "three collections": mixed,
    "five Reuters categories": stories,
    "four newsgroups": newsgroups,
    "web pages": pages,
}


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call gives, and its CPU seconds."""
    with threadpool_limits(1, "blas"):
        begin = time.process_time()
        return call(), time.process_time() - begin


def opened(model: Any, tree: Tree, labels: np.ndarray, n: int) -> float:
    """AMI of the branches of a tree with the labels; a document is in that with most of it."""
    groups = tree.cut(n)
    weights = [model.row_weights_[:, list(group)].sum(axis=1) for group in groups]
    return ami(labels, np.stack(weights, axis=1).argmax(axis=1))


def measure(corpus: str, name: str) -> dict[str, Any]:
    """A row: fit, cut and trees of one model on one corpus."""
    counts, labels = CORPORA[corpus]()
    n, kind = len(np.unique(labels)), MODELS[name]
    fit, fit_cpu = timed(lambda: kind(n, random_state=common.SEED).fit(counts))
    grown, grown_cpu = timed(lambda: kind("predict", random_state=common.SEED).fit(counts))
    cut, cut_cpu = timed(lambda: grown.cut(n, counts))
    return {
        "corpus": corpus,
        "model": name,
        "labels": n,
        "topics": grown.n_components_,
        "fit AMI": ami(labels, fit.row_weights_.argmax(axis=1)),
        "cut AMI": ami(labels, cut.row_weights_.argmax(axis=1)),
        "splits AMI": opened(grown, grown.tree_, labels, n),
        "topic tree AMI": opened(grown, grown.topic_tree_, labels, n),
        "fit T": fit.temperature_,
        "cut T": cut.temperature_,
        "fit CPU s": fit_cpu,
        "cut CPU s": cut_cpu,
        "growing CPU s": grown_cpu,
    }


def judge(rows: Sequence[dict[str, Any]]) -> list[common.Target]:
    """Cuts next to fits, the tree of topics next to the splits."""
    targets = []
    for row in rows:
        what = f"{row['corpus']}, {row['model']}"
        gain = row["topic tree AMI"] - row["splits AMI"]
        targets += [
            common.Target(f"{what}: AMI, cut - fit", row["cut AMI"] - row["fit AMI"], low=-NOISE),
            common.Target(f"{what}: AMI, tree of topics - splits", gain, low=0.0),
        ]
    cost = sum(row["cut CPU s"] for row in rows) / sum(row["growing CPU s"] for row in rows)
    return [*targets, common.Target("CPU, all cuts / all growing", cost, high=COST)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", nargs="+", choices=[*CORPORA], default=[*CORPORA])
    parser.add_argument("--models", nargs="+", choices=[*MODELS], default=[*MODELS])
    parser.add_argument("--quick", action="store_true", help="the aspect model alone, no file")
    options = parser.parse_args()
    info = common.machine()
    common.print_machine(info)
    rows = []
    for name in list(MODELS)[:1] if options.quick else options.models:
        for corpus in options.corpora:
            rows.append(measure(corpus, name))
            common.print_table(rows[-1:])
    targets = common.print_targets(judge(rows))
    if not options.quick:
        common.write_results("trees", info, rows=rows, targets=targets)


if __name__ == "__main__":
    main()
