"""Short names of components: two or three words that tell one from all others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from isotherm.data.base import Array

# Words of a name at most and at least, and the letters from which on two have to do.
MOST, LEAST, LONG = 3, 2, 30
# Words of each component that its name is chosen from.
CANDIDATES = 20
# Words are the same that share so many first letters, and all but so many of the shorter one and of
# the longer one.
STEM, ENDING, LONGER = 4, 2, 4


class _Word(NamedTuple):
    """A word of a component: its column, what it is called, and how much it tells."""

    column: int
    text: str
    score: float


def names_of(scores: Array, words: Sequence[object] | Array) -> tuple[str, ...]:
    """A name for every component, different from all others, of the words that tell most.

    A word is in the name of the component that it tells most of; others take it only where they
    have too few words of their own. No name has two forms of a word, or a number where there are
    words. The names depend on words and scores alone, not on the order of the columns.

    Parameters
    ----------
    scores : (K, J)
        How much each word tells of each component; those that tell nothing have at most 0.
    words : sequence (J,)
        What the columns are called.

    Returns
    -------
    tuple of str (K,)
    """
    lists = [_candidates(row, words) for row in scores]
    best: dict[int, float] = {}
    for row in lists:
        for one in row:
            best[one.column] = max(best.get(one.column, 0.0), one.score)
    owned = [[one for one in row if one.score == best[one.column]] for row in lists]
    chosen = [_distinct([], row, MOST) for row in owned]
    used = {one.column for row in chosen for one in row}
    for k, row in enumerate(lists):
        if len(chosen[k]) < LEAST:
            chosen[k] = _distinct(chosen[k], [w for w in row if w.column not in used], LEAST)
            used.update(one.column for one in chosen[k])
    for k, row in enumerate(lists):
        if len(chosen[k]) < LEAST:
            chosen[k] = _distinct(chosen[k], row, LEAST)
    return _apart([_joined(row) for row in chosen])


def _candidates(scores: Array, words: Sequence[object] | Array) -> list[_Word]:
    """The words that tell most, in falling order; words of letters before all others.

    Scores are compared by nine digits, since sums in another order differ in the last ones.
    """
    number = min(4 * CANDIDATES, len(scores))
    least = max(float(np.partition(scores, len(scores) - number)[len(scores) - number]), 0.0)
    there = np.flatnonzero((scores >= least) & (scores > 0)).tolist()
    found = [_Word(j, str(words[j]), float(f"{scores[j]:.9g}")) for j in there]
    found.sort(key=lambda one: (not _readable(one.text), -one.score, one.text))
    return found[:CANDIDATES]


def _readable(text: str) -> bool:
    return sum(letter.isalpha() for letter in text) > 1


def _distinct(chosen: list[_Word], words: list[_Word], number: int) -> list[_Word]:
    """The chosen words and as many more as there may be, no two of them forms of one word."""
    found = list(chosen)
    for one in words:
        if len(found) >= number:
            break
        if not any(same_word(one.text, other.text) for other in found):
            found.append(one)
    return found


def same_word(one: str, other: str) -> bool:
    """Whether two words look like forms of one: share and shares, party and parties.

    Short words are the same where one is the other with one or two letters more (car, cars).
    """
    shorter, longer = sorted((one.casefold(), other.casefold()), key=len)
    if not (shorter.isalpha() and longer.isalpha()):
        return shorter == longer
    if longer.startswith(shorter):
        return len(shorter) >= STEM or len(longer) - len(shorter) <= ENDING
    shared = next((i for i, (a, b) in enumerate(zip(shorter, longer, strict=False)) if a != b), 0)
    return shared >= max(STEM, len(shorter) - ENDING, len(longer) - LONGER)


def _joined(words: list[_Word]) -> str:
    whole = ", ".join(one.text for one in words)
    if len(whole) > LONG and len(words) > LEAST:
        return ", ".join(one.text for one in words[:LEAST])
    return whole


def _apart(names: list[str]) -> tuple[str, ...]:
    """Names of which no two are the same: numbers tell those apart that words do not."""
    found: list[str] = []
    taken = set(names)
    for k, name in enumerate(names):
        whole, number = name or f"component {k}", 2
        if not name or name in found:
            base = whole
            while whole in taken or whole in found:
                whole, number = f"{base} ({number})", number + 1
        found.append(whole)
    return tuple(found)
