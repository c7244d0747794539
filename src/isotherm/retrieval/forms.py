"""Forms of one word: `price` and `prices` count as one, without a stemmer to install.

The rules are those of Porter's stemmer (1980) that take off plurals, -ed, -ing and a last e. They
are rules of English; words of letters beyond a to z stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from isotherm.data.base import Array

PLAIN = re.compile(r"[a-z]{3,}")
# A consonant is C, a vowel V; y is a vowel after a consonant.
VOWELS = frozenset("aeiou")
# Words that end in s and are no plural, and plurals of words in -us.
SINGULAR = frozenset("news lens gas series species does yes alas atlas bias canvas chaos".split())
BUSES = frozenset("buses viruses focuses bonuses campuses censuses".split())


def _shape(word: str) -> str:
    """The word with C for each consonant and V for each vowel."""
    found = ""
    for i, letter in enumerate(word):
        vowel = letter in VOWELS or (letter == "y" and i > 0 and found[-1] == "C")
        found += "V" if vowel else "C"
    return found


def _measure(stem: str) -> int:
    """How often consonants follow vowels, Porter's m."""
    return len(re.findall("V+C+", _shape(stem)))


def _short(stem: str) -> bool:
    """Whether the stem ends in consonant, vowel, consonant, the last not w, x or y."""
    return _shape(stem).endswith("CVC") and stem[-1] not in "wxy"


def _singular(word: str) -> str:
    if word in SINGULAR:
        return word
    if word.endswith(("sses", "ies", "uses", "xes", "ches", "shes")) and len(word) > 4:
        return word[:-2] if not word.endswith("uses") or word in BUSES else word[:-1]
    return word[:-1] if word.endswith("s") and word[-2] not in "ius" else word


def _present(word: str) -> str:
    """Without -ed and -ing."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    ending = next((one for one in ("ed", "ing") if word.endswith(one)), "")
    stem = word[: len(word) - len(ending)]
    if not ending or "V" not in _shape(stem):
        return word
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    doubled = len(stem) > 1 and stem[-1] == stem[-2] and _shape(stem)[-1] == "C"
    if doubled and stem[-1] not in "lsz":
        return stem[:-1]
    return stem + "e" if _measure(stem) == 1 and _short(stem) else stem


def stem(word: str) -> str:
    """What forms of a word have in common: `prices`, `priced` and `pricing` give `price`."""
    if not PLAIN.fullmatch(word):
        return word
    found = _present(_singular(word))
    if found.endswith("y") and "V" in _shape(found[:-1]):
        found = found[:-1] + "i"
    if found.endswith("e"):
        bare = found[:-1]
        m = _measure(bare)
        found = bare if m > 1 or (m == 1 and not _short(bare)) else found
    return found[:-1] if found.endswith("ll") and _measure(found) > 1 else found


class Families(NamedTuple):
    """Columns that are forms of one word.

    `of` (J,) is the family of every column, `merge` (J, F) adds up their counts, `spread` (F, J)
    shares them out again by how frequent the columns are, `head` (F,) is the most frequent column.
    """

    of: Array
    merge: sparse.csr_array
    spread: sparse.csr_array
    head: Array

    @classmethod
    def by_stem(cls, names: Sequence[str], totals: Array) -> Families:
        """Columns of equal stems together; `totals` (J,) says how frequent they are."""
        places: dict[str, int] = {}
        stems = (" ".join(map(stem, name.lower().split())) for name in names)
        return cls._of(np.array([places.setdefault(one, len(places)) for one in stems]), totals)

    @classmethod
    def each(cls, totals: Array) -> Families:
        """Every column by itself."""
        return cls._of(np.arange(len(totals)), totals)

    @classmethod
    def _of(cls, family: Array, totals: Array) -> Families:
        size, n_columns = int(family.max(initial=-1)) + 1, len(family)
        columns = np.arange(n_columns)
        weight = np.maximum(totals, 1e-12)
        shares = weight / np.bincount(family, weight, minlength=size)[family]
        shape = n_columns, size
        merge = sparse.csr_array((np.ones(n_columns), (columns, family)), shape=shape)
        spread = sparse.csr_array((shares, (family, columns)), shape=shape[::-1])
        order = np.lexsort((columns, -weight, family))
        first = np.unique(family[order], return_index=True)[1]
        return cls(family, merge, spread, order[first])

    @property
    def are_merged(self) -> bool:
        """Whether any family has several columns."""
        return len(self.head) < len(self.of)


def by_form(names: Sequence[str], families: Families) -> Mapping[str, int]:
    """Column of every stem: where a word goes that is no column itself."""
    return {stem(names[column].lower()): int(column) for column in families.head}
