"""Collections with queries and judgements: two published ones, and some made of labelled texts.

The rules of the default score were chosen on those made here, with Medline and Cranfield in sight.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from benchmarks.harness import common
from isotherm import Counts
from isotherm.retrieval.trec import read_qrels, relevance
from isotherm.text.stem import stems

WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
REPLY = re.compile(r"^(\s*(re|fwd|fw)\s*[:\[\]0-9]*\s*:?)+")
N_QUERIES = 300


class Searched(NamedTuple):
    """Documents (I, J), queries (Q, J) and which documents are relevant, (Q, I)."""

    documents: Counts
    queries: sparse.csr_array
    relevant: np.ndarray


def smart(name: str, grades: range | None = None) -> Searched:
    """Medline or Cranfield; of the latter's judgements those of some grades."""
    documents = common.counts(name)
    folder = common.data_folder() / name
    queries = sparse.csr_array(sparse.load_npz(folder / "query-counts.npz")).astype(np.float64)
    rows, columns = range(1, queries.shape[0] + 1), range(1, documents.n_rows + 1)
    judged = relevance(read_qrels(folder / "qrels.tsv"), rows, columns, grades=grades)
    return Searched(documents, queries, judged.toarray())


def _lines(path: str) -> list[dict[str, Any]]:
    with gzip.open(common.data_folder() / path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _reader() -> Callable[[str], list[str]]:
    stop = set((common.data_folder() / "stopwords/smart-stopwords.txt").read_text().split())
    stem = stems("porter")

    def read(text: str) -> list[str]:
        words = (word.split("'")[0] for word in WORD.findall(text.lower()))
        return stem([word for word in words if word not in stop and len(word) > 1])

    return read


def _counted(texts: Sequence[str], asked: Sequence[str]) -> tuple[Counts, sparse.csr_array]:
    """Counts of documents, and of queries over their words."""
    read = _reader()
    documents = [read(text) for text in texts]
    names = sorted({word for words in documents for word in words})
    places = {name: column for column, name in enumerate(names)}

    def table(rows: list[list[str]]) -> sparse.csr_array:
        pairs = [
            (i, places[word]) for i, words in enumerate(rows) for word in words if word in places
        ]
        i, j = np.array(pairs).T
        return sparse.csr_array((np.ones(len(i)), (i, j)), shape=(len(rows), len(names)))

    return Counts(table(documents), column_names=names), table([read(text) for text in asked])


def _searched(texts: Sequence[str], asked: Sequence[str], relevant: np.ndarray) -> Searched:
    """A collection without queries that have no known word or nothing to find."""
    documents, queries = _counted(texts, asked)
    fine = relevant.any(axis=1) & (np.diff(queries.indptr) > 0)
    return Searched(documents, queries[fine], relevant[fine])


def _dealt(n: int, seed: int) -> tuple[list[int], list[int]]:
    """Some positions for queries, and the others."""
    order = np.random.default_rng(seed).permutation(n).tolist()
    return order[:N_QUERIES], order[N_QUERIES:]


def stories(part: str, most: int = 400) -> Searched:
    """Reuters: titles or texts as documents, other titles ask for stories of the same subjects."""
    found = [one for one in _lines("reuters/five.jsonl.gz") if one["title"]]
    asked, others = _dealt(len(found), 1)
    subjects = ["|".join(sorted(one["topics"])) for one in found]
    relevant = np.array([[subjects[q] == subjects[i] for i in others] for q in asked])
    # Subjects of a third of all stories are no question.
    relevant[relevant.sum(axis=1) >= most] = False
    texts = [found[i][part] for i in others]
    return _searched(texts, [found[q]["title"] for q in asked], relevant)


def _subject(one: dict[str, Any]) -> str:
    return REPLY.sub("", one["subject"].lower()).strip()


def subjects() -> Searched:
    """Four newsgroups: subjects of threads, other subjects ask for the same group."""
    found = {_subject(one): one["label"] for one in _lines("20news/four-groups.jsonl.gz")}
    names, labels = list(found), list(found.values())
    asked, others = _dealt(len(names), 2)
    relevant = np.array([[labels[q] == labels[i] for i in others] for q in asked])
    return _searched([names[i] for i in others], [names[q] for q in asked], relevant)


def threads() -> Searched:
    """Four newsgroups: the subject of a thread asks for its postings, whose subjects are hidden."""
    found = _lines("20news/four-groups.jsonl.gz")
    named = [_subject(one) for one in found]
    sizes = {name: named.count(name) for name in dict.fromkeys(named)}
    asked = [name for name, size in sizes.items() if 4 <= size <= 60]
    relevant = np.array([[one == name for one in named] for name in asked])
    return _searched([one["text"] for one in found], asked, relevant)


def openings() -> Searched:
    """Associated Press: the first 25 words of an article ask for the rest of it."""
    found = [one["text"].split() for one in _lines("ap/text.jsonl.gz")]
    asked, _ = _dealt(len(found), 4)
    relevant = np.zeros((len(asked), len(found)), bool)
    relevant[np.arange(len(asked)), asked] = True
    texts = [" ".join(words[25:]) for words in found]
    return _searched(texts, [" ".join(found[q][:25]) for q in asked], relevant)


TEST: dict[str, Callable[[], Searched]] = {
    "Medline": lambda: smart("medline"),
    "Cranfield": lambda: smart("cranfield"),
    "Cranfield, grades 1-4": lambda: smart("cranfield", range(1, 5)),
}
MADE: dict[str, Callable[[], Searched]] = {
    "Reuters, texts": lambda: stories("text"),
    "Reuters, titles": lambda: stories("title"),
    "newsgroups, subjects": subjects,
    "newsgroups, threads": threads,
    "AP, openings": openings,
}
