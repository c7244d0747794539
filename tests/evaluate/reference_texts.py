"""A small collection made by arithmetic alone, the same on every machine."""

from bisect import bisect
from itertools import accumulate
from random import Random

VOCABULARY = [f"w{j:03d}" for j in range(300)]
# Of each of the four subjects, and of none.
TOPICS = [[VOCABULARY[4 * i + g] for i in range(8)] for g in range(4)] + [VOCABULARY[100:108]]


def _text(random: Random) -> list[str]:
    subject, length, found = int(random.random() * 4), 3 + int(random.random() * 200), []
    weights = [(8 if j % 4 == subject else 1) * (600 - j) for j in range(300)]
    bounds = list(accumulate(weights))
    while len(found) < length:
        j = bisect(bounds, random.random() * bounds[-1])
        # No word twice within 125: see where this is used.
        if VOCABULARY[j] not in found[-125:]:
            found.append(VOCABULARY[j])
    return found


def reference_texts(n: int = 60) -> list[list[str]]:
    random = Random(3)
    return [_text(random) for _ in range(n)]
