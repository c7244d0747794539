"""Words of a corpus: where they belong, and which documents have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from isotherm.data.base import Array
from isotherm.data.counts import Counts
from isotherm.viewer.container import Part
from isotherm.viewer.format import SHARE_STEPS
from isotherm.viewer.parts.points import codes

if TYPE_CHECKING:
    from isotherm.estimators.counts import CountEstimator


# Columns of the table of words and topics that are looked at together.
COLUMNS = 8192
LARGEST = np.iinfo(np.uint32).max


def words_part(model: CountEstimator, names: list[str], counts: Counts | None) -> Part:
    """Words, how often they occur, and how each spreads over topics and over nodes of a tree.

    P(k|y) = P(k) P(y|k) / sum_l P(l) P(y|l), in 255 steps; what rounds to nothing is left out.

    Parameters
    ----------
    model : fitted estimator
    names : list of str (J,)
    counts : Counts (I, J), optional
    """
    arrays = {}
    if counts is not None:
        arrays["totals"] = np.minimum(np.rint(counts.column_totals), LARGEST).astype(np.uint32)
    arrays |= _spread("spread", "topic", model.weights_, model.components_)
    if hasattr(model, "node_components_"):
        arrays |= _spread("nodes", "node", model.node_tokens_, model.node_components_)
    return Part({}, arrays, {"words": names})


def _spread(name: str, entry: str, weights: Array, table: Array) -> dict[str, Array]:
    """Sparse rows, one for each word: `start` (J + 1), numbers and shares."""
    starts, numbers, amounts = [np.zeros(1, np.int64)], [], []
    for first in range(0, table.shape[1], COLUMNS):
        joint = weights[:, None] * table[:, first : first + COLUMNS]
        total = joint.sum(axis=0)
        share = np.rint(SHARE_STEPS * joint / np.where(total > 0, total, 1.0)).astype(np.uint8).T
        word, number = np.nonzero(share)
        starts.append(np.bincount(word, minlength=len(share)))
        numbers.append(number)
        amounts.append(share[word, number])
    return {
        f"{name}.start": np.cumsum(np.concatenate(starts)).astype(np.uint32),
        f"{name}.{entry}": codes(np.concatenate(numbers), len(weights)),
        f"{name}.share": np.concatenate(amounts),
    }


def index_part(counts: Counts) -> Part | None:
    """Inverted index: of each word its documents and how often each has it, as varints.

    Documents are written as the number of those skipped since the last one. None where all of it
    would not fit into one block.
    """
    matrix = sparse.csc_array(counts.matrix)
    matrix.sort_indices()
    starts = matrix.indptr.astype(np.int64)
    documents = matrix.indices.astype(np.int64)
    # The first of each word counts from -1.
    before = np.concatenate([[-1], documents[:-1]])
    before[starts[:-1][np.diff(starts) > 0]] = -1
    pairs = np.column_stack([documents - before - 1, np.maximum(np.rint(matrix.data), 1)])
    raw, ends = varints(pairs.astype(np.int64).ravel())
    if len(raw) > LARGEST:
        return None
    marks = np.concatenate([[0], ends])[2 * starts]
    arrays = {
        "postings.start": marks.astype(np.uint32),
        "postings.bytes": raw,
        "lengths": np.minimum(np.rint(counts.row_totals), LARGEST).astype(np.uint32),
    }
    return Part({}, arrays, {})


def varints(values: Array) -> tuple[Array, Array]:
    """Numbers >= 0 in as few bytes as each needs, seven bits in each, the lowest first.

    A byte that others follow has its highest bit set.

    Returns
    -------
    bytes : (n,) u1
    ends : (len(values),) where each number ends
    """
    size = np.ones(len(values), np.int64)
    rest = values >> 7
    while rest.any():
        size += rest > 0
        rest >>= 7
    ends = np.cumsum(size)
    raw = np.zeros(int(ends[-1]) if len(ends) else 0, np.uint8)
    at, rest = ends - size, values.copy()
    live = np.arange(len(values))
    while len(live):
        more = rest[live] > 127
        raw[at[live]] = (rest[live] & 127) | np.where(more, 128, 0)
        live = live[more]
        rest[live] >>= 7
        at[live] += 1
    return raw, ends
