"""How much the counts of rows weigh where rows are compared as a whole.

Two things that are no matter of what a row is about decide a comparison of plain counts: columns
that a row repeats, since repeats come in bursts, and how long the row is. Searches have long damped
both: a count grows with its logarithm, and a row is as long as any other.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from isotherm.data.counts import Counts, as_counts
from isotherm.data.islands import pieces_of
from isotherm.estimators.plan import Table

DAMPED, ROWS, TOKENS = "damped", "rows", "tokens"
WEIGHTINGS = (DAMPED, ROWS, TOKENS)


def weighted(counts: Counts, weighting: str, scale: float) -> Counts:
    """Counts (I, J) that weigh as asked; empty rows stay empty.

    Parameters
    ----------
    counts : Counts
    weighting : {"damped", "rows", "tokens"}
        log(1 + n) of each count n, over its Euclidean norm in the row; n over the total of its row;
        or n as it is.
    scale : float
        Factor of all of them.
    """
    if weighting == TOKENS:
        return counts
    matrix = sparse.csr_array(counts.matrix.astype(np.float64))
    if weighting == DAMPED:
        matrix.data = np.log1p(matrix.data)
        lengths = np.sqrt(np.asarray((matrix * matrix).sum(axis=1)).ravel())
    else:
        lengths = counts.row_totals
    factor = np.divide(scale, lengths, out=np.zeros(len(lengths)), where=lengths > 0)
    scaled = sparse.csr_array(sparse.diags_array(factor) @ matrix)
    return as_counts(scaled, counts.row_names, counts.column_names, allow_empty=True)


def scale_of(table: Table, weighting: str) -> tuple[float, float]:
    """The factor at which half of the rows have at least the total that they have as they are.

    Some rows that are very long do not change it, and with it the temperatures.

    Returns
    -------
    float, float
        The factor, and the total of the weighted counts.
    """
    own = [weighted(rows, weighting, 1.0).row_totals for rows in pieces_of(table.counts)]
    totals, before = np.concatenate(own), np.asarray(table.counts.row_totals)
    weight = np.ones(len(totals)) if table.weight is None else np.asarray(table.weight)
    counted = (totals > 0) & (weight > 0)
    if not counted.any():
        return 1.0, 0.0
    ratio, weight = before[counted] / totals[counted], weight[counted]
    order = np.argsort(ratio, kind="stable")
    mass = np.cumsum(weight[order])
    scale = float(ratio[order[np.searchsorted(mass, 0.5 * mass[-1])]])
    return scale, scale * float(weight @ totals[counted])
