"""How well features tell classes apart when few labels are known: the protocol of Huh & Fienberg.

Some documents of every class are drawn, and some of those show their labels. Features of all of
them come from a model that saw the counts and the known labels, nothing else; a linear classifier
learns from the labelled rows and is tested on the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.svm import LinearSVC

from isotherm.data.base import Array
from isotherm.errors import IsothermError

UNKNOWN = -1


class Draw(NamedTuple):
    """`rows` (n,) of the collection, their `labels` (n,), and `known` (n,), -1 where hidden."""

    rows: Array
    labels: Array
    known: Array


def draw(
    labels: object, n_rows: int | None, n_labels: int, rng: np.random.Generator | int | None = None
) -> Draw:
    """Random rows of every class, some of them with their labels.

    The same generator state gives the same rows for every `n_labels`, and of the labels shown those
    for a smaller number are among those for a larger one.

    Parameters
    ----------
    labels : array-like (N,) of int
        Classes of all rows; none is -1.
    n_rows : int or None
        Rows of each class; None takes all rows, of classes that may differ in size.
    n_labels : int
        Labels shown of each class, from 1 to one less than the class has rows.
    rng : Generator or seed, optional
    """
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise IsothermError(
            f"labels have shape {labels.shape} and type {labels.dtype}; needed is one integer for "
            "each row"
        )
    classes, sizes = np.unique(labels, return_counts=True)
    smallest = int(sizes.min()) if len(sizes) else 0
    least = smallest if n_rows is None else n_rows
    if not 1 <= n_labels < least <= smallest or UNKNOWN in classes:
        raise IsothermError(
            f"n_labels is {n_labels} and n_rows {n_rows}; needed is 1 <= n_labels < n_rows <= "
            f"{smallest} (the smallest class), and no class may be called {UNKNOWN}"
        )
    rng = np.random.default_rng(rng)
    shuffled = [rng.permutation(np.flatnonzero(labels == c))[:n_rows] for c in classes]
    shown = np.concatenate([own[:n_labels] for own in shuffled])
    rows = np.sort(np.concatenate(shuffled))
    known = np.where(np.isin(rows, shown), labels[rows], UNKNOWN)
    return Draw(rows, labels[rows], known)


def accuracies(
    features: Any,
    drawn: Draw,
    *,
    classifier: object = None,
    strengths: Sequence[float] = (1, 10, 100),
) -> Array:
    """Share of the hidden labels that a classifier of the shown ones finds, for each C, (n_C,).

    Parameters
    ----------
    features : array or sparse matrix (n, K)
    drawn : Draw
    classifier : scikit-learn classifier with a parameter C, optional
        A linear support vector machine, one class against the rest, by default.
    strengths : sequence of float
        Values of C. With one label to a class nothing is left to choose among them by: say which
        was taken.
    """
    if features.shape[0] != len(drawn.rows):
        raise IsothermError(
            f"features have {features.shape[0]} rows, the draw {len(drawn.rows)}; both must be the "
            "same rows in the same order"
        )
    shown = np.flatnonzero(drawn.known != UNKNOWN)
    hidden = np.flatnonzero(drawn.known == UNKNOWN)
    kind = classifier or LinearSVC(dual=True, max_iter=20_000, random_state=0)
    found = []
    for strength in strengths:
        fitted = clone(kind).set_params(C=strength).fit(features[shown], drawn.known[shown])
        found.append(np.mean(fitted.predict(features[hidden]) == drawn.labels[hidden]))
    return np.array(found)
