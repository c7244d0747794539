"""The corpora that peers are compared on: counts, number of topics, labels, texts."""

from __future__ import annotations

import gzip
import json
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from benchmarks.harness import common
from isotherm import Counts


class Setting(NamedTuple):
    """Files of a corpus, and the number of topics, fixed before anything was fitted.

    K = 50 is what this repository's older benchmarks use for corpora of this size; 32 is one of the
    sizes of Hofmann & Puzicha's table for Cranfield, a tenth of the tokens.
    """

    folder: str
    counts: str
    k: int
    labels: str | None = None
    texts: str | None = None


CORPORA = {
    "cranfield": Setting("cranfield", "counts.npz", 32, None, "docs.jsonl.gz"),
    "ap": Setting("ap", "counts.npz", 50, None, "text.jsonl.gz"),
    "reuters": Setting("reuters", "five-counts.npz", 50, "five-labels.txt", "five.jsonl.gz"),
    # The texts of all groups are not at hand.
    "20news": Setting("20news", "counts.npz", 50, "labels.txt"),
    # Whole papers: most of their words are repeats.
    "nips": Setting("nips", "counts.npz", 50),
}


class Documents(NamedTuple):
    """Counts (I, J), and for every row a label and a text where there are any."""

    counts: Counts
    k: int
    labels: Any
    texts: list[str] | None


def documents(name: str) -> Documents:
    """One of CORPORA; ends the benchmark where it is missing."""
    one = CORPORA[name]
    path = common.data_file(f"{one.folder}/{one.counts}")
    folder, counts = path.parent, Counts(sparse.load_npz(path))
    labels = np.loadtxt(folder / one.labels, dtype=int) if one.labels else None
    return Documents(counts, one.k, labels, _texts(folder / one.texts) if one.texts else None)


def _texts(path: Any) -> list[str]:
    """Texts of a file of JSON lines; a title that the text does not begin with stands before it."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [
        text if text.startswith(title) else f"{title}. {text}"
        for text, title in ((row["text"], row.get("title", "")) for row in rows)
    ]
