"""A corpus for demonstrations, made of the docstrings of installed packages.

Thousands of short documents on computing, statistics and numerical mathematics that every
installation already has: no download, and the package each comes from is a natural label.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse

from isotherm.data.counts import Counts
from isotherm.datasets._clean import is_stop_word, singular_forms, words
from isotherm.datasets._source import Doc, read_docs
from isotherm.errors import IsothermError

OPENING = 300
_SECTION = re.compile(r"^[^\n]+\n[-=]{3,}\s*$", re.MULTILINE)
_MARKUP = re.compile(r"\.\. |[-=~*#]{3,}$")
PACKAGES = ("stdlib", "numpy", "scipy", "sklearn")


@dataclass(frozen=True, eq=False, repr=False)
class Docstrings:
    """Docstrings as counts, with labels: what :func:`load_docstrings` returns.

    Attributes
    ----------
    counts : Counts, (I, J)
        How often each word occurs in each document; rows carry the names of the documents.
    labels : ndarray of str, (I,)
        The package a document comes from, e.g. ``"scipy"``.
    sublabels : ndarray of str, (I,)
        The part of the package, e.g. ``"scipy.signal"``.
    names : tuple of str
        Dotted name of the documented object, one per row.
    titles : tuple of str
        First sentence or line of each docstring.
    texts : tuple of str
        The opening of each docstring, at most 300 characters on one line.
    """

    counts: Counts
    labels: npt.NDArray[np.str_]
    sublabels: npt.NDArray[np.str_]
    names: tuple[str, ...]
    titles: tuple[str, ...]
    texts: tuple[str, ...]

    def __repr__(self) -> str:
        labels, sublabels = len(set(self.labels)), len(set(self.sublabels))
        return f"Docstrings({self.counts!r}, {labels} labels, {sublabels} sublabels)"


def load_docstrings(
    packages: Sequence[str] = PACKAGES,
    *,
    min_tokens: int = 30,
    min_rows: int = 5,
    max_share: float = 0.2,
) -> Docstrings:
    """Word counts of the docstrings of installed packages.

    Source files are parsed, nothing is imported. The outcome depends on the installed versions
    and on nothing else: not on hash seeds, nor on what was imported before.

    Parameters
    ----------
    packages : sequence of str
        Names of installed packages; ``"stdlib"`` is the standard library.
    min_tokens : int
        Docstrings with fewer words, stop words included, join the one of their class or module;
        what is still shorter is left out.
    min_rows : int
        Words in fewer documents than this are left out.
    max_share : float
        Words in more than this share of the documents are left out.

    Returns
    -------
    Docstrings
        Counts, labels, names and texts, all in the order of `packages`, then of names.

    Raises
    ------
    IsothermError
        If a package is not installed, or the limits leave no document or no word.
    """
    _check(packages, min_tokens, min_rows, max_share)
    docs: list[Doc] = []
    bags: list[Counter[str]] = []
    for package in packages:
        for doc, tokens in _joined(read_docs(package), min_tokens):
            docs.append(doc)
            bags.append(Counter(word for word in tokens if not is_stop_word(word)))
    bags = _folded(bags)
    column_names = _vocabulary(bags, min_rows, max_share)
    kept = [row for row, bag in enumerate(bags) if not column_names.keys().isdisjoint(bag)]
    if not kept:
        raise IsothermError(
            f"no words are left of {len(docs)} docstrings with min_tokens={min_tokens}, "
            f"min_rows={min_rows}, max_share={max_share}; lower the minima or raise max_share"
        )
    docs = [docs[row] for row in kept]
    names = tuple(doc.name for doc in docs)
    matrix = _matrix([bags[row] for row in kept], column_names)
    return Docstrings(
        counts=Counts(matrix, row_names=names, column_names=list(column_names)),
        labels=np.array([doc.package for doc in docs]),
        sublabels=np.array([".".join(name.split(".")[:2]) for name in names]),
        names=names,
        titles=tuple(_title(doc) for doc in docs),
        texts=tuple(_opening(doc.text) for doc in docs),
    )


def _check(packages: Sequence[str], min_tokens: int, min_rows: int, max_share: float) -> None:
    if isinstance(packages, str) or not packages or len(set(packages)) < len(packages):
        raise IsothermError(
            f"packages is {packages!r}; give a sequence of different package names, "
            f"such as {PACKAGES!r}"
        )
    if min_tokens < 1 or min_rows < 1:
        raise IsothermError(
            f"min_tokens={min_tokens} and min_rows={min_rows} must both be 1 or more",
            parameter="min_tokens",
        )
    if not 0.0 < max_share <= 1.0:
        raise IsothermError(f"max_share is {max_share}; give a share in (0, 1]")


def _joined(docs: Iterable[Doc], min_tokens: int) -> list[tuple[Doc, list[str]]]:
    """Documents and their words; short ones are merged into their class, then their module."""
    found: dict[str, Doc] = {}
    tokens: dict[str, list[str]] = {}
    for doc in docs:
        if doc.name not in found:  # the others are overloads and branches of one definition
            found[doc.name] = doc
            tokens[doc.name] = words(doc.text)
    # Deepest names first: what a class collects may in turn be too short to stand alone.
    deepest = max((name.count(".") for name in tokens), default=0)
    for depth in range(deepest, 1, -1):
        level = sorted(name for name in tokens if name.count(".") == depth)
        for name in level:
            if len(tokens[name]) < min_tokens:
                parent = name.rpartition(".")[0]
                tokens.setdefault(parent, []).extend(tokens.pop(name))
                found.setdefault(parent, found[name]._replace(name=parent))
    return [
        (found[name], tokens[name]) for name in sorted(tokens) if len(tokens[name]) >= min_tokens
    ]


def _folded(bags: Sequence[Counter[str]]) -> list[Counter[str]]:
    """The same counts, with those of plurals added to their singulars."""
    folds = singular_forms(Counter(word for bag in bags for word in bag))
    folded = []
    for bag in bags:
        merged: Counter[str] = Counter()
        for word, count in bag.items():
            merged[folds.get(word, word)] += count
        folded.append(merged)
    return folded


def _vocabulary(bags: Sequence[Counter[str]], min_rows: int, max_share: float) -> dict[str, int]:
    """Word -> column for the words within the limits, in alphabetical order."""
    rows_with = Counter(word for bag in bags for word in bag)
    most = max_share * len(bags)
    kept = sorted(word for word, rows in rows_with.items() if min_rows <= rows <= most)
    return {word: column for column, word in enumerate(kept)}


def _matrix(bags: Sequence[Counter[str]], columns: Mapping[str, int]) -> scipy.sparse.csr_array:
    indices: list[int] = []
    data: list[int] = []
    indptr = [0]
    for bag in bags:
        cells = sorted((columns[word], count) for word, count in bag.items() if word in columns)
        indices.extend(column for column, _ in cells)
        data.extend(count for _, count in cells)
        indptr.append(len(indices))
    return scipy.sparse.csr_array(
        (np.array(data, np.float64), np.array(indices, np.int32), np.array(indptr, np.int32)),
        shape=(len(bags), len(columns)),
    )


def _title(doc: Doc) -> str:
    """First sentence of a docstring on one line, or else the name of the object."""
    for paragraph in doc.text.split("\n\n"):
        lines = [line.strip() for line in paragraph.splitlines()]
        title = " ".join(line for line in lines if line and not _MARKUP.match(line))
        if title:
            return title.partition(". ")[0].rstrip(".")
    return doc.name


def _opening(text: str) -> str:
    """What stands before the first section, cut to OPENING characters on one line."""
    prose = _SECTION.split(text, maxsplit=1)[0] or text
    line = " ".join(prose.split())
    return line if len(line) <= OPENING else line[: OPENING - 4].rpartition(" ")[0] + " ..."
