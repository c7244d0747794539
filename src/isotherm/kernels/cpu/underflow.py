"""Pairs whose likelihood is too small for the type of the tables, done again in log space."""

from __future__ import annotations

import numpy as np

from isotherm.data.base import Block
from isotherm.kernels.base import Array
from isotherm.kernels.reference import floored_log

# So many numbers of an (nnz, K) array exist at a time.
REDONE_AT_ONCE = 1 << 16


def redo_in_log_space(
    block: Block,
    U: Array,
    V: Array,
    rest: Array | None,
    ratio: Array,
    rows: Array,
    columns: Array,
) -> tuple[float, float]:
    """Add the pairs whose z underflowed (ratio 0) to the sums; returns their log z and rest."""
    lost = np.flatnonzero((ratio == 0) & (block.values > 0))
    step = max(1, REDONE_AT_ONCE // U.shape[1])
    log_z, left = 0.0, 0.0
    for start in range(0, len(lost), step):
        part = lost[start : start + step]
        i, j = block.row_of[part], block.indices[part]
        heavy = block.values[part].astype(np.float64) * block.weight[i]
        share = floored_log(U[i]) + floored_log(V[j])
        top = share.max(axis=1, keepdims=True)
        np.exp(share - top, out=share)
        z = share.sum(axis=1, keepdims=True)
        log_one = (top + np.log(z))[:, 0]
        log_z += float(heavy @ log_one)
        if rest is not None:
            again = np.maximum(block.values[part] - 1.0, 0.0) * block.weight[i]
            last = np.full(len(part), -np.inf)
            np.log(rest[part], out=last, where=rest[part] > 0)
            both = np.logaddexp(log_one, last)
            log_z += float(again @ (both - log_one))
            left += float(again @ np.exp(last - both))
            heavy = heavy - again * -np.expm1(log_one - both)
        share *= heavy[:, None] / z
        np.add.at(rows, i, share.astype(rows.dtype))
        np.add.at(columns, j, share)
    return log_z, left
