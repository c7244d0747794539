"""Names from answers: cleaned of what is not a name, and different from each other."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

# Letters of a name; an answer of more than twice as many is no name.
LONGEST = 60
# Control characters, those that change the direction of text, and those that nobody has.
UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn"))
# Joiners: without them some scripts are misspelled, and some signs fall apart.
JOINERS = "\u200c\u200d"
# What models say before they answer, as those do that think aloud.
THOUGHTS = re.compile(r"<(think|thinking|reasoning)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
LABEL = re.compile(
    r"^(the |short |topic |best )*(name|label|title|topic)( of the topic| is)*\s*[:=]\s*",
    re.IGNORECASE,
)
BULLET = re.compile(r"^([-*+>#•]+|\d{1,2}[.)])\s+")
AROUND = "\"'`*_“”„‘’«»‹›「」『』《》【】 "


def one_line(text: str) -> str:
    """A text on one line, without characters that cannot be seen."""
    spaced = "".join(
        " " if one.isspace() else one
        for one in unicodedata.normalize("NFC", text)
        if one.isspace() or one in JOINERS or unicodedata.category(one) not in UNSEEN
    )
    return " ".join(spaced.split())


def name_in(answer: str | None) -> str | None:
    """The name in an answer: one line of at most `LONGEST` letters; None where there is none."""
    for line in THOUGHTS.sub("\n", answer or "").splitlines():
        name = _bare(one_line(line))
        # "Here is a name:" is a line before the name.
        if any(one.isalnum() for one in name) and not name.endswith(":"):
            return shortened(name) if len(name) <= 2 * LONGEST else None
    return None


def shortened(name: str, most: int = LONGEST) -> str:
    """A name of at most so many letters, cut at a word."""
    if len(name) <= most:
        return name
    cut = name[: most - 1]
    return (cut.rpartition(" ")[0] or cut).rstrip(" ,;:(-") + "…"


def distinct(
    names: Mapping[int, str], others: Iterable[str], words: Mapping[int, Sequence[str]]
) -> dict[int, str]:
    """The names of some topics, all different, and different from other names.

    Topics of one name get telling words behind it, those first that the others of the name lack;
    numbers where no word helps. Case makes no difference.

    Parameters
    ----------
    names : mapping from topic to name
    others : iterable of str
        Names that are taken.
    words : mapping from topic to sequence of str
        Telling words.
    """
    used = {name.casefold() for name in others}
    how_many = Counter(name.casefold() for name in names.values())
    shared = {
        k for k, name in names.items() if how_many[name.casefold()] > 1 or name.casefold() in used
    }
    used |= {name.casefold() for k, name in names.items() if k not in shared}
    found = dict(names)
    for k in sorted(shared):
        same = [j for j in shared if j != k and names[j].casefold() == names[k].casefold()]
        theirs = {word for j in same for word in words[j]}
        own = sorted(words[k], key=lambda word: word in theirs)  # stable: telling ones stay first
        found[k] = next(name for name in _longer(names[k], own) if name.casefold() not in used)
        used.add(found[k].casefold())
    return found


def _longer(name: str, words: Sequence[str]) -> Iterator[str]:
    """A name with more and more behind it."""
    new = [word for word in words if word.casefold() not in name.casefold()]
    behind = [*new, *(f"{one}, {two}" for one, two in itertools.pairwise(new))]
    for more in behind:
        more = shortened(one_line(more), LONGEST // 2)
        yield f"{shortened(name, LONGEST - len(more) - 3)} ({more})"
    number = 2
    while True:
        yield f"{shortened(name, LONGEST - 6)} {number}"
        number += 1


def _bare(line: str) -> str:
    """A line without marks, quotation marks and labels around what it says."""
    before = None
    while line != before:
        before = line
        line = LABEL.sub("", BULLET.sub("", line)).strip(AROUND)
    return line if line.endswith("..") else line.removesuffix(".").rstrip(AROUND)
