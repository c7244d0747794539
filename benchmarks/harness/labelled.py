"""Documents whose groups are known: planted tables, and collections with labels.

Planted topics are drawn once from a Dirichlet distribution; the documents mix them or have one
each, and what disturbs a count of topics in real text is added to some: words that a document
repeats and hardly any other has, and islands of a few documents with a vocabulary of their own. An
island is no topic of the collection: its documents have the label -1, and nobody is judged by them.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from benchmarks.harness import common
from isotherm import Counts, count_words, load_docstrings

# Columns that topics share, documents for each topic, words of a document.
COLUMNS, ROWS, TOKENS = 500, 50, 150
# Words of their own: how many a document has, how often each at least, and how many there are.
OWN, REPEATS, POOL = 3, 5, 1_000
ISLANDS, ISLANDERS, ISLAND_COLUMNS = 3, 5, 40
SOME_NEWS = 2_000  # postings of all twenty groups, drawn at random
OF_EACH = 200  # postings of each of a few groups, drawn at random
# "> text", "JK> text", "| text", ": text", and the line that says whose words follow.
QUOTED = re.compile(r"^\s*(\w{0,3}>|[|:])|^.*\b(writes|wrote|says|said):\s*$|^In article\b")


class Case(NamedTuple):
    """Documents (I, J), the group of each or -1 (I,), how many groups there are, and texts.

    Without labels `labels` is None and `n_groups` is 0.
    """

    name: str
    counts: Counts
    labels: np.ndarray | None = None
    n_groups: int = 0
    texts: list[str] | None = None


# ---------------------------------------------------------------- planted


def mixed(K: int, seed: int) -> Case:
    """Documents that mix K topics."""
    rows, labels = _mixed(K, np.random.default_rng(seed))
    return Case("mixed topics", _counts(rows), labels, K)


def single(K: int, seed: int) -> Case:
    """Documents of one topic each."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(COLUMNS, 0.05), K)
    labels = np.arange(ROWS * K) % K
    rows = np.array([rng.multinomial(TOKENS // 2, topics[k]) for k in labels])
    return Case("one topic each", _counts(rows), labels, K)


def own_words(K: int, seed: int) -> Case:
    """Documents that mix K topics and repeat words of their own, which few others have."""
    rng = np.random.default_rng(seed)
    rows, labels = _mixed(K, rng)
    own = np.zeros((len(rows), POOL), int)
    for row in own:
        row[rng.choice(POOL, OWN, replace=False)] = REPEATS + rng.poisson(REPEATS, OWN)
    return Case("words of their own", _counts(np.hstack([rows, own])), labels, K)


def islands(K: int, seed: int) -> Case:
    """Documents that mix K topics, and a few that have no word in common with them."""
    rng = np.random.default_rng(seed)
    rows, labels = _mixed(K, rng)
    foreign = np.zeros((ISLANDS * ISLANDERS, ISLANDS * ISLAND_COLUMNS), int)
    for i, row in enumerate(foreign):
        begin = i // ISLANDERS * ISLAND_COLUMNS
        words = np.full(ISLAND_COLUMNS, 1.0 / ISLAND_COLUMNS)
        row[begin : begin + ISLAND_COLUMNS] = rng.multinomial(TOKENS, words)
    whole = sparse.block_diag([rows, foreign]).toarray()
    none = np.full(len(foreign), -1)
    return Case("with islands", _counts(whole), np.concatenate([labels, none]), K)


PLANTED: tuple[Callable[[int, int], Case], ...] = (mixed, single, own_words, islands)


def _mixed(K: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    topics = rng.dirichlet(np.full(COLUMNS, 0.05), K)
    weights = rng.dirichlet(np.full(K, 0.1), ROWS * K)
    rows = np.array([rng.multinomial(TOKENS, p) for p in weights @ topics])
    return rows, weights.argmax(axis=1)


def _counts(rows: np.ndarray) -> Counts:
    return Counts(sparse.csr_array(rows)).keep_columns()


# ---------------------------------------------------------------- collections


def newsgroups() -> Case:
    """Four groups of postings, as they are."""
    path = common.data_file("20news/four-groups-counts.npz")
    own = texts("20news/four-groups")
    return Case("four newsgroups", _read(path), _labels("20news/four-groups-labels.txt"), 4, own)


def newsgroups_unquoted() -> Case:
    """The same postings without the lines that they quote, counted anew."""
    common.data_file("20news/four-groups.jsonl.gz")
    own = [unquoted(text) for text in texts("20news/four-groups") or ()]
    read = count_words(
        own, token_pattern=r"[a-z]+", stop_words="english", stemmer="porter", min_df=5
    )
    labels = _labels("20news/four-groups-labels.txt")
    return Case("four newsgroups, no quotes", read.counts, labels, 4, own)


def unquoted(text: str) -> str:
    """A posting without the lines that it quotes."""
    return "\n".join(line for line in text.split("\n") if not QUOTED.match(line))


def reuters() -> Case:
    """Stories with one of five categories; those with two are not scored."""
    several = np.loadtxt(common.data_file("reuters/five-multilabels.txt")).sum(axis=1) > 1
    labels = np.where(several, -1, _labels("reuters/five-labels.txt"))
    counts = _read(common.data_file("reuters/five-counts.npz"))
    return Case("five Reuters categories", counts, labels, 5, texts("reuters/five"))


def twenty_newsgroups() -> Case:
    """Some postings of all twenty groups."""
    whole = common.counts("20news")
    labels = _labels("20news/labels.txt")
    some = np.sort(np.random.default_rng(common.SEED).permutation(len(labels))[:SOME_NEWS])
    part = whole.take_rows(some).keep_columns(min_rows=3)
    return Case(f"20 newsgroups, {len(some)} postings", part, labels[some], 20)


def three_newsgroups() -> Case:
    """Some postings of three groups drawn at random."""
    return some_newsgroups(3)


def eight_newsgroups() -> Case:
    """Some postings of eight groups drawn at random."""
    return some_newsgroups(8)


def some_newsgroups(n_groups: int) -> Case:
    """As many postings of each of some groups; both are drawn with a fixed seed."""
    whole, labels = common.counts("20news"), _labels("20news/labels.txt")
    rng = np.random.default_rng((common.SEED, n_groups))
    groups = np.sort(rng.choice(labels.max() + 1, n_groups, replace=False))
    members = [np.flatnonzero(labels == group) for group in groups]
    some = np.sort(np.concatenate([rng.choice(i, OF_EACH, replace=False) for i in members]))
    part = whole.take_rows(some).keep_columns(min_rows=3)
    own = np.searchsorted(groups, labels[some])
    return Case(f"{n_groups} of 20 newsgroups", part, own, n_groups)


def docstrings() -> Case:
    """Docstrings of four packages, whatever their versions."""
    corpus = load_docstrings()
    packages, labels = np.unique(corpus.labels, return_inverse=True)
    return Case("docstrings of four packages", corpus.counts, labels, len(packages))


def yahoo() -> Case:
    """Web pages of six classes."""
    labels = _labels("yahoo-k1b/labels.txt")
    return Case("six Yahoo classes", common.counts("yahoo-k1b"), labels, 6)


def press() -> Case:
    """Articles without labels."""
    return Case("Associated Press", common.counts("ap"), texts=texts("ap/text"))


COLLECTIONS: dict[str, Callable[[], Case]] = {
    "newsgroups": newsgroups,
    "unquoted": newsgroups_unquoted,
    "reuters": reuters,
    "20news": twenty_newsgroups,
    "yahoo": yahoo,
    "ap": press,
    "docstrings": docstrings,
    "3of20": three_newsgroups,
    "8of20": eight_newsgroups,
}


def texts(name: str) -> list[str] | None:
    """Documents of a file of lines of JSON, in the order of the counts; None without the file."""
    path = common.data_folder() / f"{name}.jsonl.gz"
    if not path.exists():
        return None
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [f"{row.get('subject') or row.get('title') or ''}\n{row['text']}" for row in rows]


def _read(path: Path) -> Counts:
    return Counts(sparse.load_npz(path))


def _labels(name: str) -> np.ndarray:
    return np.loadtxt(common.data_file(name), dtype=int)
