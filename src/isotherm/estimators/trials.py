"""Whether a number of components is found again: fits of two halves of the rows, side by side.

Rows are dealt into halves, and each half is fitted by itself with the same number of components.
What the collection is about is in both halves; what chance or a single document makes of it is in
one. Components are compared on the same rows: those of one half, as the rows of the other half have
them (`carried`), with those that were fitted there. So two small samples of one topic are the same.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components

from isotherm._types import Array, Params
from isotherm.anneal.callbacks import Callback, time_is_up
from isotherm.anneal.growth.counterparts import (
    alike,
    alike_in_pairs,
    carried,
    one_to_one,
)
from isotherm.data.split import SPLIT_SEED
from isotherm.estimators.plan import Table
from isotherm.models.base import CountModel
from isotherm.placement.base import Data

log = logging.getLogger("isotherm")

# Components of a level are found again if counterparts are so much alike on average, and none less
# than this: a component whose counterparts are less alike is only in this sample.
ON_AVERAGE, FOUND_AGAIN = 0.95, 0.8
# Counterparts must be this much nearer to each other than any two components of a half are: else
# what is found again is one component in two parts, divided by chance.
NEARER = 0.25
# Halves are dealt by each of these: two must agree, or the third one decides.
SEEDS = (SPLIT_SEED + 2, SPLIT_SEED + 3, SPLIT_SEED + 4)
# A component is judged if it has so much of what it would have if all were equal, and so many of
# all must be judged: a handful of odd rows is neither found again nor missed.
LEAST, JUDGED = 0.25, 0.75


class Solution(NamedTuple):
    """A fit of some rows with some number of components; `data` are these rows."""

    model: CountModel
    params: Params
    temperature: float
    data: Data


# Fits a table with a number of components, at the given temperature or at one that it chooses.
FitNumber = Callable[[Table, int, float | None], Solution]


class Half(NamedTuple):
    """Components of one half of the rows: weights (K,) and P(y|k) (K, J).

    `elsewhere` (K, J) are the same components as the rows of the other half have them.
    """

    weight: Array
    table: Array
    elsewhere: Array

    def in_order(self, order: Array) -> Half:
        """The components in another order; nothing in the place of -1."""
        there = order >= 0
        return Half(
            self.weight[order] * there,
            self.table[order] * there[:, None],
            self.elsewhere[order] * there[:, None],
        )

    def grouped(self, groups: Sequence[Sequence[int]]) -> Half:
        """Groups of the components, by their weights."""
        member = np.zeros((len(groups), len(self.weight)))
        for row, group in zip(member, groups, strict=True):
            row[list(group)] = np.maximum(self.weight[list(group)], 1e-300)
        share = _single(member / member.sum(axis=1, keepdims=True))
        return Half(member.sum(axis=1), share @ self.table, share @ self.elsewhere)

    def likeness(self, background: Array) -> Array:
        """How alike each two of the components are, (K, K); 0 of one and itself."""
        table = alike(self.table, self.table, background)
        np.fill_diagonal(table, 0.0)
        return table

    @property
    def large(self) -> Array:
        """Which components are large enough to be judged, (K,)."""
        return np.asarray(self.weight * len(self.weight) >= LEAST * self.weight.sum())


def halves_of(first: Solution, second: Solution) -> tuple[Half, Half]:
    """The components of two fits, each also as the rows of the other one have them."""
    both = []
    for one, other in ((first, second), (second, first)):
        weight, table = one.model.components(one.params)
        elsewhere = carried(one.model, one.params, one.temperature, other.data)
        both.append(Half(np.asarray(weight), _single(table.T), _single(elsewhere)))
    return both[0], both[1]


def _single(table: Array) -> Array:
    """In single precision, which tells more than halves do."""
    return np.ascontiguousarray(table, dtype=np.float32)


def similarity(first: Half, second: Half, background: Array) -> Array:
    """How alike the components of two halves are, (K, L): the mean over the rows of either."""
    there = alike(first.elsewhere, second.table, background)
    here = alike(first.table, second.elsewhere, background)
    return np.asarray(np.sqrt(np.maximum(there * here, 0.0)))


@dataclass
class Trial:
    """Fits of halves with some number of components, a pair for each dealing of the rows.

    `similarities` (K,) of each dealing are 0 of components that another one is as much like;
    `found_again` is how many were found again, with parts of one as one.
    """

    n_components: int
    temperature: float
    background: Array
    pairs: list[tuple[Half, Half]] = field(default_factory=list)
    similarities: list[Array] = field(default_factory=list)
    found_again: list[int] = field(default_factory=list)

    def add(self, first: Half, second: Half) -> None:
        """Another dealing of the rows; the second half in the order of the first."""
        table = similarity(first, second, self.background)
        rows, columns = one_to_one(table)
        first, second = first.in_order(rows), second.in_order(columns)
        likeness = table[rows, columns]
        own, other = first.likeness(self.background), second.likeness(self.background)
        nearest = np.maximum(own.max(axis=1, initial=0.0), other.max(axis=1, initial=0.0))
        distinct = 1.0 - likeness < NEARER * (1.0 - nearest)
        self.pairs.append((first, second))
        self.similarities.append(np.where(distinct, likeness, 0.0))
        again = likeness >= FOUND_AGAIN
        same = own[np.ix_(again, again)] >= FOUND_AGAIN
        self.found_again.append(int(connected_components(same)[0]))

    def agrees(self, dealing: int) -> bool:
        """Whether the components were found again when rows were dealt this time."""
        first, second = self.pairs[dealing]
        judged = first.large & second.large
        if len(judged) < self.n_components or judged.sum() < JUDGED * self.n_components:
            return False
        values = self.similarities[dealing][judged]
        return bool(values.min() >= FOUND_AGAIN and values.mean() >= ON_AVERAGE)

    @property
    def n_odd(self) -> int:
        """How many components are too small to be judged, in most dealings."""
        return int(np.median([(~(one.large & two.large)).sum() for one, two in self.pairs]))

    @property
    def n_found_again(self) -> int:
        """How many components were found again, at best."""
        return max(self.found_again)

    @property
    def share_found_again(self) -> float:
        """Which share of the components was found again, on average."""
        return float(np.mean([(one >= FOUND_AGAIN).mean() for one in self.similarities]))

    @property
    def mean(self) -> float:
        """How alike the halves are on average over components and dealings."""
        return float(np.mean([one.mean() for one in self.similarities]))

    @property
    def passes(self) -> bool:
        """Whether the components were found again in most dealings."""
        agree = [self.agrees(dealing) for dealing in range(len(self.pairs))]
        return sum(agree) * 2 > len(agree)

    def reproducibility(
        self, table: Array, groups: Sequence[Sequence[int]] = ()
    ) -> tuple[Array, Array]:
        """How alike the counterparts of components are in the halves, and those of groups of them.

        Parameters
        ----------
        table : (K, J)
            P(y|k) of a fit to all rows.
        groups : sequence of sequences
            Components together, such as those below each node of a tree.

        Returns
        -------
        (K,) and (n_groups,)
            Medians over dealings, 0 to 1.
        """
        alone, together = [], []
        for pair in self.pairs:
            sides = [_beside(_single(table), half, self.background) for half in pair]
            (first, here), (second, there) = sides
            both = _row_by_row(first, second, self.background)
            # What is nothing like a component of all rows is no counterpart of it.
            alone.append(np.minimum(both, np.sqrt(here * there)))
            if groups:
                joined = first.grouped(groups), second.grouped(groups)
                everything = np.array([len(group) == len(table) for group in groups])
                together.append(np.where(everything, 1.0, _row_by_row(*joined, self.background)))
        return np.median(alone, axis=0), np.median(together, axis=0) if groups else np.zeros(0)


def _beside(table: Array, half: Half, background: Array) -> tuple[Half, Array]:
    """A half in the order of the components (K, J) of all rows, and how alike the two are, (K,)."""
    likeness = alike(table, half.table, background)
    rows, columns = one_to_one(likeness)
    order, own = np.full(len(table), -1), np.zeros(len(table))
    order[rows], own[rows] = columns, likeness[rows, columns]
    return half.in_order(order), own


def _row_by_row(first: Half, second: Half, background: Array) -> Array:
    """How alike each component is to that of the other half with the same number, (K,)."""
    there = alike_in_pairs(first.elsewhere, second.table, background)
    here = alike_in_pairs(first.table, second.elsewhere, background)
    return np.asarray(np.sqrt(np.maximum(there * here, 0.0)))


class Halves:
    """Numbers of components tried on halves of the rows.

    Parameters
    ----------
    fit : callable
        From a table, a number and a temperature (or None) to a `Solution`.
    table : Table
        All rows.
    background : (J,)
        Distribution of all tokens.
    callbacks : sequence of Callback
        Whose limits of time end the search.
    """

    def __init__(
        self, fit: FitNumber, table: Table, background: Array, callbacks: Sequence[Callback] = ()
    ) -> None:
        self.fit, self.table, self.background = fit, table, _single(background)
        self.callbacks = callbacks
        self.trials: dict[int, Trial] = {}
        # Temperatures of numbers of components, where they are known.
        self.temperatures: dict[int, float] = {}
        self._dealt: dict[int, tuple[Table, Table] | None] = {}

    def trial(self, n_components: int, dealings: int = 1) -> Trial:
        """The trial of a number, with so many dealings of the rows at least.

        The first fit chooses the temperature of the others, where nothing is known of it.
        """
        trial = self.trials.get(n_components)
        while trial is None or len(trial.pairs) < dealings:
            halves = self._dealing(0 if trial is None else len(trial.pairs))
            assert halves is not None, "asked for by `possible`"
            known = self._temperature(n_components)
            first = self.fit(halves[0], n_components, known)
            second = self.fit(halves[1], n_components, first.temperature)
            if trial is None:
                trial = Trial(n_components, first.temperature, self.background)
                self.trials[n_components] = trial
                self.temperatures[n_components] = trial.temperature
            trial.add(*halves_of(first, second))
        return trial

    def _temperature(self, n_components: int) -> float | None:
        """The temperature of a number: it rises with the logarithm of the number."""
        if n_components in self.temperatures or len(self.temperatures) > 1:
            numbers = sorted(self.temperatures)
            known = [self.temperatures[n] for n in numbers]
            return float(np.interp(np.log(n_components), np.log(numbers), known))
        return None

    def passes(self, n_components: int) -> bool:
        """Whether so many components are found again; two of three dealings must say so."""
        trial = self.trial(n_components, 2)
        if trial.agrees(0) != trial.agrees(1):
            trial = self.trial(n_components, 3)
        log.info(
            "%d components: counterparts are alike by %s",
            n_components,
            ", ".join(f"{one.mean():.2f} (least {one.min():.2f})" for one in trial.similarities),
        )
        return trial.passes

    @property
    def possible(self) -> bool:
        """Whether both halves have rows, however they are dealt."""
        return all(self._dealing(dealing) is not None for dealing in range(len(SEEDS)))

    @property
    def time_is_up(self) -> bool:
        """Whether a limit of time has passed."""
        return time_is_up(self.callbacks)

    def _dealing(self, dealing: int) -> tuple[Table, Table] | None:
        if dealing not in self._dealt:
            self._dealt[dealing] = self.table.halves(SEEDS[dealing])
        return self._dealt[dealing]
