"""Words by how much they tell of a component, rather than by how frequent they are in it."""

from __future__ import annotations

import numpy as np

from isotherm.data.base import Array

# Distributions with a smaller L1 distance are taken for the same.
SAME = 0.02


def telling(table: Array, background: Array) -> Array:
    """How much each word tells of each component, (K, J); at most 0 where it says nothing.

    phi log(phi / p0) of phi = P(y|k) and the frequency p0 of the word anywhere: what the word adds
    to the Kullback-Leibler divergence of the component from all counts. A component that is all but
    the same as all counts is told by what is frequent in it.

    Parameters
    ----------
    table : (K, J)
        Distributions over words.
    background : (J,)
        A distribution; words that it does not have tell nothing.
    """
    known = (table > 0) & (background > 0)
    ratio = np.divide(table, background, out=np.ones_like(table), where=known)
    scores: Array = table * np.log(ratio)
    same = np.abs(table - background).sum(axis=1) < SAME
    scores[same] = table[same]
    return scores
