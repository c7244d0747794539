"""Checks of what comes with a table: weights of rows, names of columns, the size of counts."""

from __future__ import annotations

import numpy as np

from isotherm.data import convert
from isotherm.data.base import Array
from isotherm.data.counts import Counts
from isotherm.errors import IsothermError

# Float64 tells units apart up to this total; counts below the second are next to nothing.
LARGEST_TOTAL, SMALLEST_COUNT = 2.0**53, 1e-20


def row_weights(sample_weight: object, row_totals: Array) -> Array | None:
    """Weights (I,) as float64, or None; rows with counts (I,) must have some weight."""
    if sample_weight is None:
        return None
    n_rows = len(row_totals)
    try:
        weight = np.asarray(sample_weight, np.float64)
    except (TypeError, ValueError) as error:
        raise IsothermError(
            f"sample_weight cannot be read as numbers ({error}); give one number per row"
        ) from error
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise IsothermError(
            f"sample_weight has shape {weight.shape} for {n_rows} rows; give one weight per row"
        )
    if not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise IsothermError(
            "sample_weight has negative, infinite, NaN or only zero values; weights say how often "
            "each row counts, and some row must count"
        )
    if not weight @ row_totals > 0:
        raise IsothermError(
            "sample_weight is zero for every row that has counts; some of them must count"
        )
    return weight


def column_names(names: object, n_columns: int) -> Array:
    """Names of the columns (J,), as a user gave them."""
    if isinstance(names, dict | set | frozenset):
        raise IsothermError(
            f"names is a {type(names).__name__}, whose order is not that of the columns; give a "
            "sequence in their order, such as vectorizer.get_feature_names_out()"
        )
    found: Array | None = convert.labels(names, n_columns, "names", "column")
    assert found is not None
    return found


def size_of_counts(counts: Counts) -> None:
    """Refuse counts whose sums no model could work with: beyond exact units, or next to nothing.

    Cooling begins at about the counts of a row, so that enormous ones would take for ever; products
    of tiny ones are lost below the smallest number of single precision.
    """
    total = float(counts.total)
    if total > LARGEST_TOTAL:
        raise IsothermError(
            f"the counts add up to {total:.3g}; a total of at most {LARGEST_TOTAL:.3g} is allowed, "
            "beyond which units are no longer told apart: divide all counts by a constant, or "
            "correct the largest ones"
        )
    matrix = getattr(counts, "matrix", None)
    if matrix is None or not len(matrix.data):
        return
    least = float(matrix.data.min())
    if least < SMALLEST_COUNT:
        raise IsothermError(
            f"the smallest count above 0 is {least:.3g}; at least {SMALLEST_COUNT:g} is needed, "
            "or sums of it are lost in rounding: put 0, or multiply all counts by a constant"
        )
