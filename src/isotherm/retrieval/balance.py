"""Weights of spectrum and topics from the documents alone: a search that needs no judgements.

Some words are taken out of a document and asked for; whoever knows what the rest of it is about
finds it again. Words themselves find nothing then, and keep a weight of 1.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from isotherm.data.base import Array
from isotherm.data.counts import Counts, as_counts
from isotherm.retrieval.combined import Balance, Combined, mean_products
from isotherm.retrieval.spectrum import mean_cosines

# Documents that are looked for, out of how many, and words taken out of each (of every third word).
SOUGHT, AMONG, TAKEN = 200, 4000, 6
SEED = 0
# Where no model has so few topics, what they say is finer than the subject of a query: they find a
# document again, but not others like it, and count less by as many times as there are more.
COARSE = 32


def balanced(scorer: Combined) -> Balance:
    """Weights by how well spectrum and topics find documents by words taken out of them.

    With the mean of 1 / rank of these documents by the spectrum and by topics, a weight of 2 is
    shared out between the two by the square roots of these means; topics get less of it where all
    are fine.
    """
    if not scorer.expected:
        return Balance(2.0, 0.0)
    rng = np.random.default_rng(SEED)
    rows, taken, left = _task(scorer.merged, rng)
    if not len(rows):
        return Balance()
    others = np.setdiff1d(np.arange(scorer.counts.n_rows), rows)
    if len(others) > AMONG:
        others = np.sort(rng.choice(others, AMONG, replace=False))
    spectrum = scorer.learnt.spectrum
    theirs = np.concatenate([spectrum.placed(left), spectrum.places[others]])
    found = [mean_cosines(spectrum.placed(taken), theirs, spectrum.sizes)]
    ours, rest = (_spread(one, scorer) for one in (taken, left))
    places = [
        np.concatenate([one.folded(rest), known[others]])
        for one, known in zip(scorer.expected, scorer.topics, strict=True)
    ]
    found.append(mean_products([one.folded(ours) for one in scorer.expected], places))
    # Square roots: a task of one right answer exaggerates how much better the better one is.
    r, s = (np.sqrt(_reciprocal_rank(one)) for one in found)
    coarsest = min(len(table.weight) for table in scorer.learnt.tables)
    topics = float(2.0 * s / (r + s)) * min(1.0, COARSE / coarsest)
    return Balance(2.0 - topics, topics)


def _task(
    words: sparse.csr_array, rng: np.random.Generator
) -> tuple[Array, sparse.csr_array, sparse.csr_array]:
    """Documents, the words taken out of them (n, F), and what is left of them (n, F)."""
    in_documents = np.bincount(words.indices, minlength=words.shape[1])
    shared = in_documents[words.indices] > 1
    n_shared = np.add.reduceat(np.append(shared, False), words.indptr[:-1]) if words.nnz else shared
    n_shared = np.where(np.diff(words.indptr) > 0, n_shared[: words.shape[0]], 0)
    able = np.flatnonzero(n_shared >= 3)
    rows = np.sort(rng.choice(able, min(SOUGHT, len(able)), replace=False))
    taken = sparse.csr_array(words[rows])
    left = taken.copy()
    for first, last in zip(taken.indptr[:-1], taken.indptr[1:], strict=True):
        columns = first + np.flatnonzero(in_documents[taken.indices[first:last]] > 1)
        out = rng.choice(columns, min(TAKEN, max(1, len(columns) // 3)), replace=False)
        stays = np.ones(last - first, bool)
        stays[out - first] = False
        taken.data[first:last][stays] = 0.0
        taken.data[out] = 1.0
        left.data[out] = 0.0
    taken.eliminate_zeros()
    left.eliminate_zeros()
    return rows, taken, left


def _spread(words: sparse.csr_array, scorer: Combined) -> Counts:
    return as_counts(sparse.csr_array(words @ scorer.families.spread), allow_empty=True)


def _reciprocal_rank(scores: Array) -> float:
    """Mean of 1 / rank of row i among the scores (n, documents) of query i; ties count half."""
    scores = np.round(scores, 9)
    own = np.diag(scores)[:, None]
    ranks = 0.5 + (scores > own).sum(axis=1) + 0.5 * (scores == own).sum(axis=1)
    return float((1.0 / ranks).mean())
