"""How should topics enter a map? Neighbourhoods kept and labels found, for every way in one run.

Topics of a corpus are annealed, then a map of the documents, once for each way in which proportions
of topics can enter it (`transform` of `map_corpus`). A map is good if documents that are near in it
are near in the corpus (trustworthiness) and the other way round (continuity), in the space of
topics (Hellinger distance) and in that of words (tf-idf, cosine), and if the neighbours of a
document have its label. The first principal components of the square roots are the control.

A topic should lie among documents that are about it: "topic, pure" is its share in the 15 documents
next to the place of a document of that topic alone (`topic_coordinates`), "topic, mean" next to
the mean place of the documents, weighed by the topic.

Topics and map have the same seed; the mean over seeds is printed.
"""

from __future__ import annotations

import argparse
import functools
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfTransformer

from benchmarks.harness import common
from isotherm import (
    AspectModel,
    CorpusMap,
    Counts,
    DocumentMixture,
    OneSidedClustering,
    load_docstrings,
    map_corpus,
)
from isotherm.maps.workflow import TRANSFORMS

MODELS: dict[str, Any] = {
    "AspectModel": AspectModel,
    # Of the counts themselves, as the others are.
    "OneSidedClustering": functools.partial(OneSidedClustering, weighting="tokens"),
    "DocumentMixture": DocumentMixture,
}
NEIGHBOURS = 10
ROWS = 2_000


class Labelled(NamedTuple):
    """A corpus (I, J), and the label of each document (I,) where there are any."""

    counts: Counts
    labels: Any


def ap() -> Labelled:
    return Labelled(common.counts("ap"), None)


def newsgroups() -> Labelled:
    whole = common.counts("20news")
    labels = np.loadtxt(common.data_file("20news/labels.txt"), dtype=int)
    return sample(whole, labels)


def docstrings() -> Labelled:
    corpus = load_docstrings()
    return sample(corpus.counts, corpus.labels)


def sample(counts: Counts, labels: Any) -> Labelled:
    """Some documents, words in at least five of them, and no document that is left empty."""
    rows = np.sort(np.random.default_rng(0).choice(counts.n_rows, ROWS, replace=False))
    chosen = counts.take_rows(rows).keep_columns(5)
    spoken = np.flatnonzero(chosen.row_totals > 0)
    return Labelled(chosen.take_rows(spoken), labels[rows[spoken]])


CORPORA: dict[str, Callable[[], Labelled]] = {
    "ap": ap,
    "20news": newsgroups,
    "docstrings": docstrings,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--model", choices=MODELS, default="AspectModel")
    parser.add_argument("--topics", type=int, default=20)
    parser.add_argument("--dimensions", type=int, nargs="+", choices=(1, 2, 3), default=[2, 3])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    info = common.machine()
    common.print_machine(info)
    rows: list[dict[str, Any]] = []
    for name in options.corpora:
        model = functools.partial(MODELS[options.model], options.topics)
        found = measure(CORPORA[name](), model, options.dimensions, options.seeds)
        rows += [{"corpus": name} | row for row in found]
        shown = means([row for row in rows if row["corpus"] == name])
        title = f"{name}, {options.model}({options.topics}): mean of {options.seeds} seeds"
        common.print_table(shown, title)
    common.write_results(f"corpus-map-{options.model}", info, rows=rows)


def measure(
    corpus: Labelled, model: Callable[..., Any], dimensions: list[int], seeds: int
) -> list[Any]:
    counts = corpus.counts
    tf_idf = TfidfTransformer(sublinear_tf=True).fit_transform(sparse.csr_matrix(counts.matrix))
    in_words = ranks(tf_idf.toarray())
    rows = []
    for seed in range(seeds):
        topics = model(random_state=seed).fit(counts)
        root = np.sqrt(topics.transform(counts))
        in_topics = ranks(root)
        scores = judged(in_topics, in_topics, in_words, corpus.labels)
        rows.append({"dimensions": root.shape[1], "way": "topics themselves"} | scores)
        for n_dimensions in dimensions:
            flat = PCA(n_dimensions, random_state=0).fit_transform(root)
            control = judged(ranks(flat), in_topics, in_words, corpus.labels)
            rows.append({"dimensions": n_dimensions, "way": "PCA of sqrt"} | control)
            for way in TRANSFORMS:
                found, seconds = mapped(counts, topics, n_dimensions, way, seed)
                scores = judged(ranks(found.coordinates), in_topics, in_words, corpus.labels)
                scores |= {"wall s": seconds} | topic_shares(found)
                rows.append({"dimensions": n_dimensions, "way": way} | scores)
    return rows


def mapped(
    counts: Counts, topics: Any, n_dimensions: int, way: str, seed: int
) -> tuple[CorpusMap, float]:
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of maps that settle slowly
        found = map_corpus(
            counts, topics=topics, n_dimensions=n_dimensions, transform=way, random_state=seed
        )
    return found.map, time.perf_counter() - begin


def topic_shares(found: CorpusMap) -> dict[str, float]:
    weight = found.topic_weights
    means = weight.T @ found.coordinates / weight.sum(axis=0)[:, None]
    shares = {}
    for name, places in (("topic, pure", found.topic_coordinates), ("topic, mean", means)):
        gap = ((places[:, None] - found.coordinates) ** 2).sum(axis=2)
        near = np.argsort(gap, axis=1, kind="stable")[:, :15]
        shares[name] = float(np.take_along_axis(weight.T, near, axis=1).mean())
    return shares


def ranks(vectors: Any) -> Any:
    """Rank of each document (I, I) by its Euclidean distance from each; 0 is the document."""
    square = (vectors**2).sum(axis=1)
    distance = square[:, None] + square - 2.0 * vectors @ vectors.T
    np.fill_diagonal(distance, -np.inf)
    order = np.argsort(distance, axis=1, kind="stable")
    found = np.empty(order.shape, np.int32)
    np.put_along_axis(found, order, np.arange(len(order), dtype=np.int32)[None, :], axis=1)
    return found


def judged(in_map: Any, in_topics: Any, in_words: Any, labels: Any) -> dict[str, Any]:
    return {
        "trust, topics": kept(in_map, in_topics),
        "continuity, topics": kept(in_topics, in_map),
        "trust, words": kept(in_map, in_words),
        "continuity, words": kept(in_words, in_map),
        "k-NN accuracy": None if labels is None else accuracy(in_map, labels),
        "wall s": None,
        "topic, pure": None,
        "topic, mean": None,
    }


def kept(near: Any, judge: Any, k: int = NEIGHBOURS) -> float:
    """Trustworthiness (Venna & Kaski 2001): how near the k neighbours are for another space."""
    n = len(near)
    neighbours = (near > 0) & (near <= k)
    excess = np.maximum(judge[neighbours] - k, 0).sum(dtype=np.float64)
    return float(1.0 - 2.0 * excess / (n * k * (2 * n - 3 * k - 1)))


def accuracy(near: Any, labels: Any, k: int = NEIGHBOURS) -> float:
    """Share of documents whose k neighbours vote for their label; near ones break ties."""
    names, codes = np.unique(labels, return_inverse=True)
    document, neighbour = np.nonzero((near > 0) & (near <= k))
    votes = np.zeros((len(codes), len(names)))
    np.add.at(votes, (document, codes[neighbour]), 1.0 - near[document, neighbour] / (10.0 * k * k))
    return float((votes.argmax(axis=1) == codes).mean())


def means(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    groups = dict.fromkeys((row["dimensions"], row["way"]) for row in rows)
    return [
        {"dimensions": group[0], "way": group[1]}
        | {
            key: None if value is None else float(
                np.mean([row[key] for row in rows if (row["dimensions"], row["way"]) == group])
            )
            for key, value in first.items() if key not in ("corpus", "dimensions", "way")
        }
        for group in groups
        for first in [next(r for r in rows if (r["dimensions"], r["way"]) == group)]
    ]  # fmt: skip


if __name__ == "__main__":
    main()
