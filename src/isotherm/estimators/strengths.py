"""How strongly rows are tied to their neighbors, where nobody says: fits along a path of strengths.

Every fit begins where the one before it, with weaker ties, has ended, so that it needs few sweeps.
Few labels cannot tell strengths apart that are nearly as good as each other. So one of them is the
usual one, and another is taken only where what was held out speaks for it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from isotherm._types import Rng
from isotherm.anneal.engine import Annealer
from isotherm.anneal.heldout import HeldoutTokens
from isotherm.anneal.trace import Fit, completed
from isotherm.data.base import Array
from isotherm.data.split import SPLIT_SEED
from isotherm.models.base import Model
from isotherm.placement.local import Local

# Strengths in ascending order, and the one that is taken unless another is clearly better.
PATH: Final = (30.0, 100.0, 300.0, 1000.0)
USUAL: Final = 300.0
# Sweeps at each strength but the last.
SWEEPS: Final = 20
# Parts that the labels of each class are dealt into, and the share of tokens held out instead.
FOLDS: Final = 3
SHARE: Final = 0.1
# Penalty of the classifier that is tried on hidden labels.
PENALTY: Final = 10.0


class Score(NamedTuple):
    """How well a strength predicts what was held out, higher is better, and the standard error."""

    strength: float
    score: float
    error: float


def along(models: Sequence[Model], annealer: Annealer, data: Local, rng: Rng) -> list[Fit]:
    """A short fit of each model, from where the one before has ended."""
    brief = replace(annealer, max_sweeps=min(SWEEPS, annealer.max_sweeps))
    fits: list[Fit] = []
    for model in models:
        state = fits[-1].state if fits else None
        fits.append(completed(brief.run(model, data, rng, state=state)))
    return fits


def settled_along(
    models: Sequence[Model], annealer: Annealer, data: Local, rng: Rng
) -> tuple[Fit, int]:
    """The fit of the last model after short ones of the others, and the sweeps of these."""
    before = along(models[:-1], annealer, data, rng)
    state = before[-1].state if before else None
    fit = annealer.run(models[-1], data, rng, state=state)
    return fit, sum(one.n_sweeps for one in before)


def tell(codes: Array) -> bool:
    """Whether labels can be held out: two classes have some, and one of them has two."""
    sizes = np.bincount(codes[codes >= 0])
    return bool((sizes > 0).sum() > 1 and sizes.max() > 1)


def by_labels(
    models: Sequence[Model], annealer: Annealer, tied: Callable[[Array], Local], codes: Array
) -> tuple[Score, ...]:
    """Share of hidden labels that a linear classifier of the others finds, for each strength.

    Parameters
    ----------
    models, annealer
        The path, and how each of its fits goes.
    tied : callable
        From codes of labels to rows that are linked by them as well.
    codes : (I,) int
        Labels, -1 where unknown. The only label of a class is never hidden.
    """
    right, hidden = np.zeros(len(models)), 0
    for held in _folds(codes):
        shown = np.where(held, -1, codes)
        data = tied(shown)
        fits = along(models, annealer, data, np.random.default_rng(SPLIT_SEED))
        right += [_right(_weights(fit, data), shown, codes, held) for fit in fits]
        hidden += int(held.sum())
    shares = right / hidden
    errors = np.sqrt(shares * (1.0 - shares) / hidden)
    return _scores(shares, errors)


def by_tokens(
    models: Sequence[Model], annealer: Annealer, data: Local, held: HeldoutTokens
) -> tuple[Score, ...]:
    """Mean log-likelihood of held-out tokens of the rows, for each strength."""
    fits = along(models, annealer, data, np.random.default_rng(SPLIT_SEED))
    found = [held.score(fit.model, fit.state, data, fit.temperature) for fit in fits]
    return _scores(-np.log(found), np.zeros(len(models)))


def preferred(scores: Sequence[Score]) -> int:
    """Which of the strengths to take: of those within an error of the best, that nearest to usual.

    Without scores it is the usual one itself.
    """
    if not scores:
        return PATH.index(USUAL)
    best = max(scores, key=lambda one: one.score)
    level = [i for i, one in enumerate(scores) if one.score >= best.score - best.error]
    return min(level, key=lambda i: abs(np.log(scores[i].strength / USUAL)))


def _scores(scores: Array, errors: Array) -> tuple[Score, ...]:
    rows = zip(PATH, scores, errors, strict=True)
    return tuple(Score(*(float(value) for value in row)) for row in rows)


def _folds(codes: Array) -> list[Array]:
    """Whether each label is hidden (I,), fold by fold; no class loses all of its labels."""
    part, rng = np.full(len(codes), -1), np.random.default_rng(SPLIT_SEED)
    for code in range(codes.max() + 1):
        own = rng.permutation(np.flatnonzero(codes == code))
        if len(own) > 1:
            part[own] = np.arange(len(own)) % FOLDS
    folds = [part == fold for fold in range(FOLDS)]
    return [held for held in folds if held.any()]


def _weights(fit: Fit, data: Local) -> Array:
    theta: Array = data.gather(fit.state.rows).theta
    return theta


def _right(weights: Array, shown: Array, codes: Array, held: Array) -> int:
    """How many of the hidden labels are found."""
    from sklearn.svm import LinearSVC

    known = shown >= 0
    machine = LinearSVC(C=PENALTY, max_iter=10_000, random_state=0)
    with warnings.catch_warnings():
        # All strengths are tried by the same rough machine: it need not be at its optimum.
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(weights[known], shown[known])
    return int((machine.predict(weights[held]) == codes[held]).sum())
