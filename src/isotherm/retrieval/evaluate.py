"""How good a ranking is: precision at levels of recall, average precision, differences.

Hofmann & Puzicha 1998, section 4.1: with r(n) relevant documents among the first n and R in all,
Prec(n) = r(n) / n and Rec(n) = r(n) / R; averages are over queries (macro averaging).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from isotherm import _checks
from isotherm.data.base import Array
from isotherm.errors import IsothermError

__all__ = [
    "LEVELS",
    "NINE",
    "Difference",
    "Evaluation",
    "Ranked",
    "average_precision",
    "difference",
    "evaluate",
    "precision_at_recall",
    "ranked",
    "ranking",
]

LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)
NINE = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def ranking(scores: Array) -> Array:
    """Documents in the order of their scores, (..., I), best first; ties by document index."""
    return np.argsort(-np.asarray(scores), axis=-1, kind="stable")


def precision_at_recall(
    hits: object,
    n_relevant: int | None = None,
    *,
    levels: Sequence[float] = LEVELS,
    interpolated: bool = True,
) -> Array:
    """Precision at levels of recall of one ranking, (L,).

    Parameters
    ----------
    hits : sequence of bool, (n,)
        Whether each document of the ranking is relevant, best first.
    n_relevant : int, optional
        Relevant documents R in all; those of the ranking if not given.
    levels : sequence of float
        Levels of recall in (0, 1].
    interpolated : bool
        max { Prec(n) : Rec(n) >= level }, or else Prec at the first such n. A level that the
        ranking does not reach has precision 0.
    """
    hit, total = _checked(hits, n_relevant)
    at = np.flatnonzero(hit)  # precision is highest, and recall first reached, at a hit
    precision = np.arange(1, len(at) + 1) / (at + 1)
    if interpolated:
        precision = np.maximum.accumulate(precision[::-1])[::-1]
    # The r-th hit reaches the level if r >= level R; 0.1 * 30 is a little more than 3.
    needed = np.ceil(np.asarray(_levels(levels)) * total - 1e-9).astype(int)
    return np.asarray(np.append(precision, 0.0)[np.minimum(np.maximum(needed, 1) - 1, len(at))])


def average_precision(hits: object, n_relevant: int | None = None) -> float:
    """Mean over all R relevant documents of the precision where each is found, 0 where not.

    Parameters
    ----------
    hits : sequence of bool, (n,)
    n_relevant : int, optional
    """
    hit, total = _checked(hits, n_relevant)
    at = np.flatnonzero(hit)
    return float(np.sum(np.arange(1, len(at) + 1) / (at + 1)) / total)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Quality of the rankings of Q queries that have relevant documents.

    Attributes
    ----------
    levels : tuple of float
    precision : (Q, L)
        Precision at the levels of recall, query by query.
    average_precision : (Q,)
    nine_level : (Q,)
        Mean precision at the levels 0.1, 0.2 ... 0.9.
    queries : (Q,)
        Positions of the queries that were judged.
    n_skipped : int
        Queries without a relevant document in the collection; they count nowhere.
    """

    levels: tuple[float, ...]
    precision: Array
    average_precision: Array
    nine_level: Array
    queries: Array
    n_skipped: int

    @property
    def mean_precision(self) -> Array:
        """Macro average of the precision at every level, (L,)."""
        return np.asarray(self.precision.mean(axis=0))

    @property
    def mean_average_precision(self) -> float:
        """Mean over queries of the average precision (MAP)."""
        return float(self.average_precision.mean())

    @property
    def mean_nine_level(self) -> float:
        """Mean over queries and nine levels of recall."""
        return float(self.nine_level.mean())

    def __str__(self) -> str:
        shown = "  ".join(
            f"{100 * level:.0f} %: {100 * value:.1f}"
            for level, value in zip(self.levels, self.mean_precision, strict=True)
        )
        return (
            f"{len(self.queries)} queries, precision in % at recall {shown}; "
            f"MAP {100 * self.mean_average_precision:.1f}"
        )


def evaluate(
    scores: object,
    relevant: object,
    *,
    levels: Sequence[float] = LEVELS,
    interpolated: bool = True,
) -> Evaluation:
    """Quality of the rankings that scores make.

    Parameters
    ----------
    scores : array (Q, I)
        Score of every document for every query; ties are broken by document index.
    relevant : array or sparse array of bool, (Q, I)
        Which documents are relevant; `isotherm.retrieval.trec.relevance` makes it of judgements.
    levels : sequence of float
    interpolated : bool
        See `precision_at_recall`.
    """
    table = np.asarray(scores, np.float64)
    judged = np.asarray(relevant.toarray() if hasattr(relevant, "toarray") else relevant, bool)
    _check_pairs(table, judged)
    queries = np.flatnonzero(judged.any(axis=1))
    hits = np.take_along_axis(judged[queries], ranking(table[queries]), axis=1)
    options = {"interpolated": interpolated}
    precision = np.array([precision_at_recall(h, levels=levels, **options) for h in hits])
    nine = np.array([precision_at_recall(h, levels=NINE, **options).mean() for h in hits])
    average = np.array([average_precision(h) for h in hits])
    skipped = len(table) - len(queries)
    return Evaluation(_levels(levels), precision, average, nine, queries, skipped)


class Ranked(NamedTuple):
    """How good the first of each ranking are, for Q queries or users with something to find.

    `recall` (Q,) is the share of what is relevant among the first k (of k, where more is), `ndcg`
    (Q,) discounts by log2 of the rank and divides by the best that is possible,
    `average_precision` (Q,) is over the whole ranking; `queries` (Q,) are their positions.
    """

    recall: Array
    ndcg: Array
    average_precision: Array
    queries: Array


def ranked(scores: object, relevant: object, k: int = 10) -> Ranked:
    """Recall, nDCG and average precision of rankings, as recommenders are measured.

    Parameters
    ----------
    scores : array (Q, I)
        Minus infinity for what is not to be ranked, such as what a user has already.
    relevant : array or sparse array of bool, (Q, I)
        Rows without anything relevant count nowhere.
    k : int
    """
    _checks.integer("k", k, 1)
    table = np.asarray(scores, np.float64)
    judged = np.asarray(relevant.toarray() if hasattr(relevant, "toarray") else relevant, bool)
    _check_pairs(table, judged)
    queries = np.flatnonzero(judged.any(axis=1))
    hits = np.take_along_axis(judged[queries], ranking(table[queries]), axis=1)
    n_relevant = hits.sum(axis=1)
    most = np.minimum(n_relevant, k)
    first = hits[:, :k]
    discount = 1.0 / np.log2(np.arange(2, first.shape[1] + 2))
    # Of more than k relevant documents k can be among the first.
    best = np.cumsum(discount)[np.minimum(most, len(discount)) - 1]
    average = np.array([average_precision(one) for one in hits])
    return Ranked(first.sum(axis=1) / most, first @ discount / best, average, queries)


class Difference(NamedTuple):
    """A mean difference over queries, its standard error and an interval from the bootstrap."""

    mean: float
    error: float
    low: float
    high: float


def difference(
    ours: Array, theirs: Array, *, coverage: float = 0.95, n_samples: int = 10_000, seed: int = 0
) -> Difference:
    """Mean of ours - theirs over queries, with a percentile interval from resampled queries.

    Parameters
    ----------
    ours, theirs : (Q,)
        One figure per query, for instance `average_precision` of two evaluations.
    coverage : float
    n_samples : int
    seed : int
    """
    gap = np.asarray(ours, np.float64) - np.asarray(theirs, np.float64)
    rng = np.random.default_rng(seed)
    # Counts of a multinomial are a resample; sums over them need no gathering.
    counts = rng.multinomial(len(gap), np.full(len(gap), 1 / len(gap)), n_samples)
    means = counts @ gap / len(gap)
    low, high = np.quantile(means, [(1 - coverage) / 2, (1 + coverage) / 2])
    error = float(gap.std(ddof=1) / np.sqrt(len(gap))) if len(gap) > 1 else float("nan")
    return Difference(float(gap.mean()), error, float(low), float(high))


def _check_pairs(scores: Array, judged: Array) -> None:
    """Refuse scores and judgements that do not fit, and those of nothing."""
    if scores.ndim != 2 or judged.shape != scores.shape:
        raise IsothermError(
            f"scores have shape {scores.shape}, judgements {judged.shape}; both must be "
            "queries x documents. Give a score and a judgement for every pair."
        )
    if np.isnan(scores).any():
        raise IsothermError("scores contain NaN, which has no rank; give finite scores")
    if not judged.any():
        raise IsothermError("no query has a relevant document; give judgements of this collection")


def _checked(hits: object, n_relevant: int | None) -> tuple[Array, int]:
    hit = np.asarray(hits).astype(bool)
    found = int(hit.sum())
    total = found if n_relevant is None else int(n_relevant)
    if hit.ndim != 1 or total < max(found, 1):
        raise IsothermError(
            f"a ranking of shape {hit.shape} with {found} relevant documents of {total} in all; "
            "it must be 1-D, with at least one relevant document and not more than in all. "
            "Leave out queries without relevant documents."
        )
    return hit, total


def _levels(levels: Sequence[float]) -> tuple[float, ...]:
    given = tuple(float(level) for level in levels)
    if not given or not all(0 < level <= 1 for level in given):
        raise IsothermError(
            f"levels={given}; levels of recall lie in (0, 1], e.g. (0.1, 0.5)", parameter="levels"
        )
    return given
