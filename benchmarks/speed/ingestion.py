"""How fast are words counted, next to scikit-learn's CountVectorizer on the same texts?

Both get the same list of texts in memory and count words by the same rule; vocabularies and
matrices must be identical. A file is timed as well, where unpacking and JSON are part of both.
Compiled loops are compiled before the clock starts. Wall time and CPU time are those of the best
of some rounds, rivals in turn; the target is on wall time with all cores.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks.harness import common
from isotherm import Counts, count_words

LEAST_SPEEDUP = 3.0


class Texts(NamedTuple):
    """Texts and what to call them; `path` if they are also a file."""

    name: str
    texts: list[str]
    path: Any = None


def real(folder: str, name: str, times: int) -> Texts:
    """Texts of a file of JSON lines, repeated; ends the benchmark where it is missing."""
    path = common.data_file(f"{folder}/{name}")
    texts = read_texts(path)
    return Texts(f"{folder} x {times}", texts * times, path)


def read_texts(path: Any) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def synthetic(rows: int, seed: int = common.SEED) -> Texts:
    """Documents of about 60 words by Zipf's law, of 50,000 made-up words of 2 to 12 letters."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, 13, 50_000)
    letters = rng.choice(list("etaoinshrdlucmfwypvbgkjqxz"), lengths.sum())
    ends = np.cumsum(lengths)
    words = ["".join(letters[end - n : end]) for end, n in zip(ends, lengths, strict=True)]
    matrix = common.zipf(rows, len(words), tokens=60.0, seed=seed)
    texts = []
    for lo, hi in zip(matrix.indptr, matrix.indptr[1:], strict=False):
        chosen = np.repeat(matrix.indices[lo:hi], matrix.data[lo:hi].astype(int))
        texts.append(" ".join([words[j] for j in chosen]).capitalize() + ".")
    return Texts(f"synthetic, {rows} documents", texts)


def timed(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, tuple[float, float]]:
    """Best wall time of each call and the CPU time of that round."""
    best = dict.fromkeys(calls, (float("inf"), 0.0))
    for _ in range(rounds):
        for name, call in calls.items():
            begin, busy = time.perf_counter(), time.process_time()
            call()
            spent = time.perf_counter() - begin, time.process_time() - busy
            best[name] = min(best[name], spent)
    return best


def identical(counts: Counts, texts: list[str], ngrams: tuple[int, int]) -> bool:
    vectorizer = CountVectorizer(ngram_range=ngrams)
    expected = vectorizer.fit_transform(texts)
    expected.sort_indices()
    names, matrix = vectorizer.get_feature_names_out(), counts.matrix
    assert counts.column_names is not None
    return (
        names.tolist() == counts.column_names.tolist()
        and np.array_equal(expected.indptr, matrix.indptr)
        and np.array_equal(expected.indices, matrix.indices)
        and np.array_equal(expected.data, matrix.data)
    )


def compare(
    given: Texts, ngrams: tuple[int, int], rounds: int
) -> tuple[list[dict[str, Any]], list[common.Target]]:
    """Times of all ways to count some texts, and the targets."""
    texts = given.texts
    calls: dict[str, Callable[[], Any]] = {
        "CountVectorizer": lambda: CountVectorizer(ngram_range=ngrams).fit_transform(texts),
        "ours, 1 thread": lambda: count_words(texts, ngrams=ngrams, n_jobs=1),
        "ours, all threads": lambda: count_words(texts, ngrams=ngrams),
    }
    if given.path is not None:
        calls["file: CountVectorizer"] = lambda: CountVectorizer(ngram_range=ngrams).fit_transform(
            read_texts(given.path)
        )
        calls["file: ours, all threads"] = lambda: count_words(given.path, ngrams=ngrams)
    best = timed(calls, rounds)
    size = sum(map(len, texts)) / 1e6
    rows = [
        {"texts": given.name, "ngrams": str(ngrams), "way": name, "seconds": wall, "CPU": cpu}
        | {"MB/s": None if name.startswith("file") else size / wall}
        for name, (wall, cpu) in best.items()
    ]
    speedup = best["CountVectorizer"][0] / best["ours, all threads"][0]
    same = identical(count_words(texts, ngrams=ngrams).counts, texts, ngrams)
    label = f"{given.name}, runs {ngrams}"
    low = LEAST_SPEEDUP if ngrams == (1, 1) else -float("inf")
    return rows, [
        common.Target(f"{label}: times faster", speedup, low=low),
        common.Target(f"{label}: identical", float(same), low=1.0),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="fewer texts")
    options = parser.parse_args()
    info = common.machine()
    common.print_machine(info)
    for ngrams in ((1, 1), (1, 2)):
        count_words(["compile the loops"], ngrams=ngrams)
    times, size = (1, 20_000) if options.quick else (5, 200_000)
    news = real("20news", "four-groups.jsonl.gz", times)
    corpora = [news, real("ap", "text.jsonl.gz", times), synthetic(size)]
    cases = [(corpus, (1, 1)) for corpus in corpora]
    cases.append((news._replace(name="20news x 1", texts=read_texts(news.path)), (1, 2)))
    rows, targets = [], []
    for corpus, ngrams in cases:
        found, wanted = compare(corpus, ngrams, options.rounds)
        rows += found
        targets += wanted
    common.print_table(rows, "Counting words")
    common.print_targets(targets)
    common.write_results("ingestion", info, rows=rows, targets=[t.row() for t in targets])


if __name__ == "__main__":
    main()
