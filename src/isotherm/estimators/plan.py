"""What a fit is cooled on, what steers its stop, and what it settles on.

Counts are held out of a fit by the values of `isotherm.estimators.holdout`, in one way for all
models of counts: the first temperature schedule that a `Plan` holds is the user's or the default
one, ended where folds say if there are any.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse
from sklearn.model_selection import check_cv

from isotherm.anneal.critical import first_critical
from isotherm.anneal.crossval import Curve, Fold, cross_validate
from isotherm.anneal.engine import Annealer
from isotherm.anneal.heldout import Heldout, HeldoutRows, HeldoutTokens
from isotherm.anneal.schedule import Adaptive, Exponential, Linear, Schedule
from isotherm.data.base import Array
from isotherm.data.counts import Counts, as_counts
from isotherm.data.islands import island_columns, pieces_of
from isotherm.data.split import SPLIT_SEED, hold_out_rows, split_tokens
from isotherm.errors import IsothermError
from isotherm.estimators.holdout import Folds, Rows, Tokens
from isotherm.estimators.starts.two_sided import Heating
from isotherm.models.base import Model
from isotherm.placement.base import Data
from isotherm.placement.place import AnyCounts

log = logging.getLogger("isotherm")


# From held-out counts and weights of their rows to what is scored.
Weigh = Callable[[AnyCounts, Array | None], AnyCounts]


class Place(Protocol):
    """How counts become data of the engine; new rows are placed without batches."""

    def __call__(self, counts: Any, weight: Array | None, *, new: bool = False) -> Data:
        """Data of counts (I, J) with weights of their rows (I,)."""


class Plan(NamedTuple):
    """Data to cool on, data to finish on, what steers the stop, and how to cool."""

    data: Data
    full: Data
    heldout: Heldout | None
    schedule: Schedule


@dataclass(frozen=True)
class Hold:
    """What is held out of a fit, and how long the rule waits that it steers.

    Parameters
    ----------
    of : Tokens or Rows
    fraction : float
        Share that is held out; 0 is nothing.
    folds : Folds, optional
        Cross-validate instead.
    patience : int
        Temperatures, or generations of splits, without improvement before a run stops.
    single : bool
        Whether there is one component, and so no temperature to choose.
    """

    of: Tokens | Rows = field(default_factory=Tokens)
    fraction: float = 0.0
    folds: Folds | None = None
    patience: int = 2
    single: bool = False


@dataclass(frozen=True)
class Table:
    """Counts (I, J) with weights of their rows (I,), and how they are placed.

    `weigh` is what held-out tokens count where rows do not weigh as they are; `place` sees to the
    rest.
    """

    counts: Any
    weight: Array | None
    place: Place
    weigh: Weigh | None = None

    @property
    def total(self) -> float:
        """Number of tokens, with the weights of their rows."""
        if self.weight is None:
            return float(self.counts.total)
        return float(self.weight @ self.counts.row_totals)

    def placed(self) -> Data:
        """All of the counts."""
        return self.place(self.counts, self.weight)

    def split(self, rule: Tokens | Rows, fraction: float) -> Fold | None:
        """Data to fit and the score of what is held out; None where either has no tokens."""
        if not fraction:
            return None
        if isinstance(rule, Tokens):
            return self._fold_of_tokens(*self.counts.hold_out(fraction, SPLIT_SEED))
        if not self.counts.in_memory:
            return self._streamed_rows(rule, fraction)
        return self._fold_of_rows(rule, *hold_out_rows(self.counts, fraction, SPLIT_SEED))

    def folds(self, rule: Tokens | Rows, cv: Any) -> list[Fold]:
        """Folds of tokens or of rows that have tokens on both sides."""
        if isinstance(rule, Tokens):
            folds = [self._fold_of_tokens(*pair) for pair in _dealt(self.counts, cv)]
        else:
            pairs = check_cv(cv).split(self.counts.matrix)
            folds = [self._fold_of_rows(rule, *pair) for pair in pairs]
        return [fold for fold in folds if fold is not None]

    def halves(self, seed: int) -> tuple[Table, Table] | None:
        """The rows dealt into two halves by their content; None where either has no tokens."""
        if self.counts.in_memory:
            pairs = hold_out_rows(self.counts, 0.5, seed)
            both = [
                replace(self, counts=self.counts.take_rows(rows), weight=self._weight_of(rows))
                for rows in pairs
            ]
        else:
            held = np.concatenate([_is_held(rows, 0.5, seed) for rows in self.counts.pieces()])
            both = [self._of(held == side) for side in (False, True)]
        return (both[0], both[1]) if all(one.has_tokens for one in both) else None

    def mainland(self, odd: Array) -> Table:
        """The table without weight for the rows of islands, and for other odd ones (I,)."""
        columns = island_columns(self.counts)
        if columns.any():
            odd = odd | (_totals_in(self.counts, columns) > 0)
        return self._of(~odd) if odd.any() else self

    @property
    def has_tokens(self) -> bool:
        """Whether any row that has a weight has tokens."""
        totals = self.counts.row_totals
        return bool(((totals > 0) & (True if self.weight is None else self.weight > 0)).any())

    def parts(self, cv: int) -> Iterator[tuple[Table, Counts]]:
        """The rest of the tokens and a part of them, for each of the parts they are dealt into."""
        _check_in_memory(Folds(cv), self.counts)
        for rest, part in _dealt(self.counts, cv):
            yield replace(self, counts=rest), part

    def _fold_of_tokens(self, rest: AnyCounts, held: AnyCounts) -> Fold | None:
        """Tokens of the same rows: their perplexity (Hofmann's validation perplexity)."""
        data = self.place(rest, self.weight)
        beside = data.beside(held if self.weigh is None else self.weigh(held, self.weight))
        if data.summary.total > 0 and beside.summary.total > 0:
            return Fold(data, HeldoutTokens(beside))
        return None

    def _weight_of(self, rows: Array) -> Array | None:
        return None if self.weight is None else self.weight[rows]

    def _of(self, rows: Array) -> Table:
        """The table with weight for some rows (I,) alone."""
        own = np.ones(len(rows)) if self.weight is None else self.weight
        return replace(self, weight=own * rows)

    def _fold_of_rows(self, rule: Rows, rest: Array, held: Array) -> Fold | None:
        """Whole rows, by their numbers: Choi's total perplexity."""
        if not len(rest) or not len(held):
            return None
        train, test = self.counts.take_rows(rest), self.counts.take_rows(held)
        test = without_columns(test, train.column_totals <= 0)
        weights = [self._weight_of(rows) for rows in (rest, held)]
        data = self.place(train, weights[0])
        return _scored(rule, data, self.place(test, weights[1], new=True))

    def _streamed_rows(self, rule: Rows, fraction: float) -> Fold | None:
        """The same of rows on the disk: those of the other part are there, empty and weightless."""
        pieces = self.counts.pieces()
        held = np.concatenate([_is_held(rows, fraction) for rows in pieces])
        own = np.ones(len(held)) if self.weight is None else self.weight
        train = self.counts.changed(partial(_part, fraction=fraction, held=False))
        test = self.counts.changed(partial(_part, fraction=fraction, held=True))
        data = self.place(train, own * ~held)
        test = test.changed(partial(without_columns, unknown=data.summary.column_totals == 0))
        return _scored(rule, data, self.place(test, own * held, new=True))


def curve_over_folds(
    rule: Folds, of: Tokens | Rows, table: Table, model: Model, annealer: Annealer
) -> Curve:
    """Mean score against temperature over the folds, each cooled by itself."""
    schedule = annealer.schedule
    _check_in_memory(rule, table.counts)
    cools = isinstance(schedule, Exponential | Linear | Adaptive) and schedule.start is None
    if not (cools or isinstance(schedule, Heating)):
        raise IsothermError(
            f"{rule!r} with schedule={schedule!r}; cross-validation moves the end of a cooling "
            "schedule with an open start: use Exponential, Linear or Adaptive"
        )
    folds = table.folds(of, rule.cv)
    if not folds:
        raise IsothermError(
            f"{rule!r}: in no fold do training and held-out {type(of).__name__.lower()} share a "
            "column; use fewer folds or validation_fraction"
        )
    return cross_validate(
        model, annealer, folds, lambda: np.random.default_rng(SPLIT_SEED), relative=cools
    )


def ended_at(schedule: Any, curve: Curve, model: Model, data: Data) -> Schedule:
    """The schedule, ended where the mean score of the folds is best."""
    end = curve.best
    if not isinstance(schedule, Heating):
        zero = model.zero_temperature
        # Folds have lower first transitions at times, and come to relative temperatures below.
        end = max(zero + curve.best * (first_critical(model, data) - zero), schedule.end)
    ended: Schedule = replace(schedule, end=end)
    return ended


def without_columns(counts: Counts, unknown: Array) -> Counts:
    """Counts with the cells of the unknown columns (J,) emptied; says how many tokens that was."""
    lost = float(counts.column_totals[unknown].sum())
    if not lost:
        return counts
    log.info("%g of %g held-out tokens are of columns unseen in training", lost, counts.total)
    matrix = counts.matrix.copy()
    matrix.data[unknown[matrix.indices]] = 0
    return as_counts(matrix, counts.row_names, counts.column_names, allow_empty=True)


def _scored(rule: Rows, data: Data, unseen: Data) -> Fold | None:
    """The fold, where both parts have tokens."""
    if not (data.summary.total > 0 and unseen.summary.total > 0):
        return None
    score = HeldoutRows(unseen, rule.train_weight, rule.test_weight, rule.density, rule.per_token)
    return Fold(data, score)


def _check_in_memory(rule: object, counts: AnyCounts) -> None:
    """Refuse folds of counts on the disk."""
    if not counts.in_memory:
        raise IsothermError(
            f"{rule!r} with counts on the disk; folds need them in memory: pass X.load(), or use "
            "validation_fraction"
        )


def _dealt(counts: Counts, n_parts: int) -> Iterator[tuple[Counts, Counts]]:
    """The rest and the part, for each of the parts that tokens are dealt into."""
    parts = split_tokens(counts, [1.0 / n_parts] * n_parts, SPLIT_SEED)
    for part in parts:
        rest = sparse.csr_array(counts.matrix - part.matrix)
        rest.eliminate_zeros()
        names = counts.row_names, counts.column_names
        yield as_counts(rest, *names, allow_empty=True), part


def _is_held(rows: Counts, fraction: float, seed: int = SPLIT_SEED) -> Array:
    """Whether each row is held out, (I,)."""
    out = np.zeros(rows.n_rows, bool)
    out[hold_out_rows(rows, fraction, seed)[1]] = True
    return out


def _totals_in(counts: AnyCounts, columns: Array) -> Array:
    """Tokens of each row in some columns (J,), (I,)."""
    return np.concatenate([piece.matrix @ columns.astype(float) for piece in pieces_of(counts)])


def _part(rows: Counts, fraction: float, held: bool) -> Counts:
    """The rows that are held out, or the others; the rest of them are empty."""
    mine = _is_held(rows, fraction) == held
    matrix = sparse.csr_array(sparse.diags_array(mine.astype(rows.matrix.dtype)) @ rows.matrix)
    return as_counts(matrix, rows.row_names, rows.column_names, allow_empty=True)
