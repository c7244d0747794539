"""Levels: how many components there are, coarse to fine, and which would be found again.

Held-out tokens want as many components as there are threads and events; a person wants those that
other documents would show as well. The level that is meant is the finest whose components are found
again in the other half of the rows (`trials`); between it and the number that predicts best there
are some more, each about three times as fine as the one before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isotherm._types import Array, Fields
from isotherm.estimators.edits import BEFORE, EDITS, PINNED
from isotherm.estimators.trials import FOUND_AGAIN, SEEDS, Halves
from isotherm.tree import Tree

if TYPE_CHECKING:
    from isotherm.estimators.trials import Trial

# Numbers that are all tried, and larger ones that are scouted: if so many of the components are
# found again there, as many as these are tried, and numbers next to them.
FEW, SCOUTS, NEARLY = 8, (12, 20, 33), 0.5
# So many numbers in a row that are not found again end a search.
PATIENCE = 3
# Where halves are so much alike, other halves may be more so.
CLOSE = 0.85
# Where no number is found again, so many are looked at once more to choose the best of them.
AGAIN = 3
# How many times as many components the next level has, about, and how many levels there are.
STEP, MOST = 3.3, 4
# What is the same at all levels, or no part of any.
OF_ALL = frozenset(
    (
        *("unigram_", "background_", "n_features_in_", "feature_names_in_", "row_names_"),
        *("row_totals_", "row_marginal_", "row_scale_", "precision_", "peak_memory_"),
        *("levels_", "path_", "first_critical_", EDITS, BEFORE, PINNED),
    )
)


@dataclass(frozen=True, eq=False)
class Level:
    """One of the solutions that a growing fit comes to.

    Attributes
    ----------
    n_components : int
    temperature : float
    heldout : float
        Perplexity of held-out data, by which numbers of components are compared; NaN if nothing
        was held out.
    reproducibility : (K,)
        How alike the counterparts of each component are in two halves of the rows, 0 to 1; NaN
        where there was no time to tell.
    node_reproducibility : (n_nodes,)
        The same of every node of the tree of the components.
    values : dict
        What the fit of this level has set.
    """

    n_components: int
    temperature: float
    heldout: float
    reproducibility: Array
    node_reproducibility: Array
    values: Fields = field(repr=False)

    @property
    def is_known(self) -> bool:
        """Whether there was time to tell which components are found again."""
        return not bool(np.isnan(self.reproducibility).any())

    @property
    def n_found_again(self) -> int:
        """How many of the components are found again in the other half of the rows."""
        return int((self.reproducibility >= FOUND_AGAIN).sum())

    def __repr__(self) -> str:
        """In words: how many components, and how many of them are found again."""
        more = f", {self.n_found_again} found again" if self.is_known else ""
        return f"Level({self.n_components} components{more})"


def finest_found_again(halves: Halves, finest: int, most: int) -> int:
    """The finest number of components that are found again.

    Where there is none, the number at which halves are most alike, or `finest` if they never are.

    Parameters
    ----------
    halves : Halves
    finest : int
        Number of components that predicts best.
    most : int
        No more than this.
    """
    if 1 < finest <= most and halves.trial(finest).agrees(0) and halves.passes(finest):
        return _without_odd(halves, finest)
    best = _scan(halves, min(FEW, most))
    for n in SCOUTS:
        if n > min(most, finest) or halves.time_is_up:
            break
        again = halves.trial(n).n_found_again
        if again > best and again >= NEARLY * n:
            best = max(best, _followed(halves, again, best, min(most, n + PATIENCE)))
    return _without_odd(halves, best) if best else _most_alike(halves, finest)


def _without_odd(halves: Halves, number: int) -> int:
    """The number without components that are too small to be judged, if that many pass as well."""
    fewer = number - halves.trial(number).n_odd
    if 1 < fewer < number and not halves.time_is_up and halves.passes(fewer):
        return number if halves.trial(fewer).n_odd else fewer
    return number


def _scan(halves: Halves, most: int) -> int:
    """The finest of a few numbers that passes; 0 if none does."""
    tried: list[Trial] = []
    for n in range(2, most + 1):
        if halves.time_is_up:
            break
        tried.append(halves.trial(n))
    for trial in reversed(tried):
        if not halves.time_is_up and _may_pass(halves, trial.n_components):
            return trial.n_components
    return 0


def _followed(halves: Halves, start: int, least: int, most: int) -> int:
    """The finest number near one so many of whose components were found again; 0 if none passes.

    Where not all are found again, as many as are; from the first number that passes upwards.
    """
    n, tries = start, 0
    while n > max(least, 1) and tries < PATIENCE and not halves.time_is_up:
        if _may_pass(halves, n):
            return _climb(halves, n, most)
        n, tries = min(n - 1, halves.trial(n).n_found_again), tries + 1
    return 0


def _climb(halves: Halves, best: int, most: int) -> int:
    """The finest number that passes, from one that does until several in a row do not."""
    misses = 0
    for n in range(best + 1, most + 1):
        if misses == PATIENCE or halves.time_is_up:
            break
        passes = _may_pass(halves, n)
        best, misses = (n, 0) if passes else (best, misses + 1)
    return best


def _may_pass(halves: Halves, n: int) -> bool:
    """Whether a number passes; other halves are asked only where the first ones are much alike."""
    return bool(halves.trial(n).similarities[0].mean() >= CLOSE) and halves.passes(n)


def _most_alike(halves: Halves, finest: int) -> int:
    """The number of components, of those tried, at which halves are most alike.

    The number that predicts best where few components are found again at any number: then halves
    are too small to tell.
    """
    tried = sorted(halves.trials.values(), key=lambda trial: -trial.mean)[:AGAIN]
    for trial in tried:
        if not halves.time_is_up:
            halves.trial(trial.n_components, len(SEEDS))
    some = [trial for trial in tried if trial.share_found_again >= NEARLY]
    return max(some, key=lambda trial: trial.mean).n_components if some else finest


def between(coarse: int, fine: int) -> list[int]:
    """Numbers of components of all levels, each about `STEP` times the one before.

    >>> between(5, 205)
    [5, 17, 59, 205]
    """
    if fine <= coarse:
        return [coarse]
    steps = min(max(1, round(math.log(fine / coarse) / math.log(STEP))), MOST - 1)
    numbers = [round(coarse * (fine / coarse) ** (step / steps)) for step in range(steps + 1)]
    return sorted(set(numbers))


def values_of(model: object) -> Fields:
    """What the fit of a level has set, by name."""
    return {
        name: value
        for name, value in vars(model).items()
        if name.endswith("_") and not name.startswith("_") and name not in OF_ALL
    }


def set_level(model: object, level: Level) -> None:
    """Set what the fit of a level has set, and nothing of another one."""
    for name in values_of(model):
        delattr(model, name)
    for name, value in level.values.items():
        setattr(model, name, value)


def nodes_of(model: object) -> list[list[int]]:
    """The components below each node of the tree of a model: of what belongs together."""
    tree: Tree | None = getattr(model, "topic_tree_", getattr(model, "tree_", None))
    if tree is None:
        return []
    return [sorted(tree.components_below(node)) for node in range(tree.n_nodes)]


def describe_levels(levels: Sequence[Level]) -> str:
    """The levels in a line: how many components each has, and how many are found again."""
    return ", ".join(
        f"{one.n_components} ({one.n_found_again} found again)"
        if one.is_known
        else str(one.n_components)
        for one in levels
    )
