"""What there is to beat: predictions of held-out tokens without any topic."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import sparse

from isotherm.data.base import Array
from isotherm.data.counts import Counts, as_counts
from isotherm.data.split import SPLIT_SEED

# Share of the tokens that is held out, as a fit does by default.
FRACTION = 0.1
# Steps of the share of repeated words, which has one maximum.
STEPS = 30


class Baselines(NamedTuple):
    """Perplexities of held-out tokens; lower is better.

    Attributes
    ----------
    unigram : float
        Every row has the distribution of all of them.
    own_words : float
        Besides, a row repeats the words that it has.
    """

    unigram: float
    own_words: float


def baselines(counts: object) -> Baselines:
    """Perplexities of predictions without topics, of the tokens that a fit holds out by default.

    P(y|x) = (1 - g) p0(y) + g n(x, y) / n(x): p0 of all rows, smoothed, n of the tokens of the row
    that are not held out, and the share g of what is repeated by leaving out each of these once.

    Parameters
    ----------
    counts : counts (I, J)
    """
    given = as_counts(counts)
    kept, held = given.hold_out(FRACTION, SPLIT_SEED)
    if not (kept.total and held.total):
        return Baselines(math.nan, math.nan)
    background = (kept.column_totals + 0.5) / (kept.total + 0.5 * kept.n_columns)
    cells = sparse.coo_array(held.matrix)
    rows, columns = cells.coords
    totals = np.maximum(kept.row_totals, 1.0)
    known = np.asarray(sparse.csr_array(kept.matrix)[rows, columns]).ravel()
    usual, again = background[columns], known / totals[rows]
    g = _share(kept, background)
    return Baselines(
        _perplexity(usual, cells.data), _perplexity((1 - g) * usual + g * again, cells.data)
    )


def _share(kept: Counts, background: Array) -> float:
    """The share of repeated words that predicts each token best from the others of its row."""
    cells = sparse.coo_array(kept.matrix)
    rows, columns = cells.coords
    others = np.maximum(kept.row_totals[rows] - 1.0, 1.0)
    usual, again = background[columns], np.maximum(cells.data - 1.0, 0.0) / others
    g = 0.5
    for _ in range(STEPS):
        posterior = g * again / np.maximum((1.0 - g) * usual + g * again, 1e-300)
        g = float((cells.data * posterior).sum() / cells.data.sum())
    return g


def _perplexity(probability: Array, tokens: Array) -> float:
    return float(np.exp(-(tokens * np.log(probability)).sum() / tokens.sum()))
