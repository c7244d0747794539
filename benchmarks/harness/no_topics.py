"""What a prediction without any topic is worth, by the protocol of `harness/completion.py`.

The second half of an unseen document is predicted from the unigram distribution of the training
documents alone, and from that mixed with the words of the first half: P(y|x) = (1 - g) p(y) +
g n_xy / n_x, n the counts of the first half. The share g is one number, or n_x / (n_x + mu), which
trusts long documents more; validation documents choose, as they choose the smoothing of every
model. Words come in bursts, and no topic model here knows that a word which
a document has used is likely to be used again; what topics add has to be read against this.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import completion
from isotherm import Counts

SHARES = tuple((np.arange(100) / 100).tolist())
SIZES = tuple(np.geomspace(1.0, 3000.0, 40).tolist())  # of mu
UNIGRAM = "no topics: unigram"
REPEATS = "no topics: unigram and the words of the given half"


def score(given: completion.Parts) -> dict[str, dict[str, Any]]:
    """Completion perplexity of both predictions by name, and the share that was chosen."""
    totals = given.train.column_totals
    background = (totals + 0.5) / (totals.sum() + 0.5 * len(totals))
    ways = [*(("g", value) for value in SHARES), *(("mu", value) for value in SIZES)]
    on_valid, on_test = Halves(given.valid, background), Halves(given.test, background)
    best = min(ways, key=lambda way: on_valid.perplexity(*way))
    return {
        name: {"perplexity": on_test.perplexity(*way), "chosen": f"{way[0]} = {way[1]:.3g}"}
        for name, way in ((UNIGRAM, ("g", 0.0)), (REPEATS, best))
    }


class Halves:
    """Halves of documents, and what both parts of the prediction say of the second."""

    def __init__(self, halves: tuple[Counts, Counts], background: Any) -> None:
        first, second = (half.matrix.astype(np.float64).tocsr() for half in halves)
        rows = np.repeat(np.arange(second.shape[0]), np.diff(second.indptr))
        totals = np.asarray(first.sum(axis=1)).ravel()
        self.counts, self.totals = second.data, totals[rows]
        self.unigram = background[second.indices]
        repeats = np.asarray(first[rows, second.indices]).ravel()
        self.own = repeats / np.maximum(self.totals, 1.0)

    def perplexity(self, way: str, value: float) -> float:
        """Perplexity of the second halves; a document without given words has the unigram alone."""
        share = self.totals / (self.totals + value) if way == "mu" else value * (self.totals > 0)
        p = np.maximum((1 - share) * self.unigram + share * self.own, 1e-300)
        return float(np.exp(-(self.counts @ np.log(p)) / self.counts.sum()))
