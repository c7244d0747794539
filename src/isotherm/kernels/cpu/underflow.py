"""Pairs whose likelihood is too small for the type of the tables, done again in log space."""

from __future__ import annotations

import numpy as np

from isotherm.data.base import Block
from isotherm.kernels.base import Array
from isotherm.kernels.reference import floored_log

# So many numbers of an (nnz, K) array exist at a time.
REDONE_AT_ONCE = 1 << 16


def redo_in_log_space(
    block: Block, U: Array, V: Array, ratio: Array, rows: Array, columns: Array
) -> float:
    """Add the pairs whose z underflowed (ratio 0) to the sums; returns their log z."""
    lost = np.flatnonzero((ratio == 0) & (block.values > 0))
    step = max(1, REDONE_AT_ONCE // U.shape[1])
    log_z = 0.0
    for start in range(0, len(lost), step):
        part = lost[start : start + step]
        i, j = block.row_of[part], block.indices[part]
        heavy = block.values[part].astype(np.float64) * block.weight[i]
        share = floored_log(U[i]) + floored_log(V[j])
        top = share.max(axis=1, keepdims=True)
        np.exp(share - top, out=share)
        z = share.sum(axis=1, keepdims=True)
        share *= heavy[:, None] / z
        np.add.at(rows, i, share.astype(rows.dtype))
        np.add.at(columns, j, share)
        log_z += float(heavy @ (top + np.log(z))[:, 0])
    return log_z
