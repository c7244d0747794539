"""What is near: documents like a document, words like a word, columns that a row may lack."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from isotherm import _checks
from isotherm.data.base import Array
from isotherm.errors import IsothermError
from isotherm.retrieval.combined import Combined, standardized, unit
from isotherm.retrieval.evaluate import ranking
from isotherm.retrieval.spectrum import mean_cosines

__all__ = ["Near"]


class Near(NamedTuple):
    """A document, word or item that is near: its `position` among them, `name` and `score`."""

    position: int
    name: str
    score: float


def position(parameter: str, given: int | str, names: Sequence[str]) -> int:
    """Position of a row that is given by position or name."""
    if isinstance(given, str):
        if given not in names:
            raise IsothermError(
                f"{parameter}={given!r} is no row of the index; give a position or a name, "
                f"{names[0]!r} for instance",
                parameter=parameter,
            )
        return list(names).index(given)
    _checks.integer(parameter, given, 0, len(names) - 1)
    return int(given)


def best(scores: Array, names: Sequence[str], n: int, without: Collection[int]) -> list[Near]:
    """The n best of scores (N,), without those of some positions."""
    order = (int(i) for i in ranking(scores) if int(i) not in without)
    return [Near(i, names[i], float(scores[i])) for i, _ in zip(order, range(n), strict=False)]


def documents_like(scorer: Combined, row: int) -> Array:
    """How alike all documents are to one, (I,)."""
    n_rows = scorer.counts.n_rows
    one = sparse.csr_array((np.ones(1), ([0], [row])), shape=(1, n_rows))
    return np.asarray(scorer.likeness(one)[0])


def words_like(scorer: Combined, family: int) -> Array:
    """How alike all words, forms merged, are to one, (F,): in spectrum and in topics."""
    spectrum, balance = scorer.learnt.spectrum, scorer.learnt.balance
    # A word is where its documents are: directions times the strength that each has.
    strength = np.linalg.norm(spectrum.places, axis=0)
    places = spectrum.directions * strength
    found = balance.spectrum * mean_cosines(places[[family]], places, spectrum.sizes)[0]
    merge = scorer.families.merge
    for table in scorer.learnt.tables:
        # Square roots of P(a, y): how words meet in topics, frequent words or not.
        shares = unit(np.sqrt(merge.T @ table.word_topic * table.weight))
        found += balance.topics / len(scorer.learnt.tables) * (shares @ shares[family])
    return np.asarray(found / (balance.spectrum + balance.topics))


def expected_columns(scorer: Combined, rows: Array) -> Array:
    """Scores of all columns for rows, (n, J): by topics and by the spectrum, standardized.

    Topics say P(y|x), the mean over tables. By the spectrum columns count that are near the place
    of the row, strong directions more: weak ones are what chance has added to the rows.
    """
    learnt = scorer.learnt
    spectrum, balance = learnt.spectrum, learnt.balance
    strength = np.linalg.norm(spectrum.places, axis=0)
    near = (spectrum.places[rows] * strength) @ spectrum.directions.T
    found = balance.spectrum * standardized(near)
    if learnt.tables:
        pairs = zip(learnt.tables, learnt.thetas, strict=True)
        chance = sum(theta[rows] @ table.word_topic.T for table, theta in pairs)
        found += balance.topics * standardized(np.asarray(chance))
    return np.asarray(found / (balance.spectrum + balance.topics))
