"""Rows that are vectors: blocks of a dense table, with or without missing values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from isotherm.data.base import Array


class VectorSummary(NamedTuple):
    """What a model may know of vectors before it starts.

    `total`: sum of the row weights; `cells` (D,): weight of the values present in each column;
    `mean` (D,); `variance` (D,): over the values present, with divisor `cells`; `gaps`: whether
    blocks keep track of missing values.
    """

    total: float
    cells: Array
    mean: Array
    variance: Array
    gaps: bool = False

    @property
    def noise(self) -> float:
        """s0 = trace(S) / D: variance of a value around its column's mean."""
        return float(self.cells @ self.variance / self.cells.sum())


@dataclass(frozen=True, eq=False)
class VectorBlock:
    """Some rows of a table of vectors.

    Parameters
    ----------
    values : (I, D) float32 or float64, in row order; 0 where a value is missing
    weight : (I,) float64, how often each row counts
    present : (I, D) of the type of `values`, optional
        1 where a value is known, 0 where it is missing; None if nothing is.
    """

    values: Array
    weight: Array
    present: Array | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows I."""
        return len(self.values)

    @property
    def n_columns(self) -> int:
        """Number of columns D."""
        return int(self.values.shape[1])

    @cached_property
    def squares(self) -> Array:
        """Squared length of each row, (I,) float64."""
        return np.asarray(np.einsum("id,id->i", self.values, self.values, dtype=np.float64))

    @cached_property
    def cells(self) -> Array:
        """Weight of the values present in each column, (D,)."""
        if self.present is None:
            return np.full(self.n_columns, self.weight.sum())
        return np.asarray(self.weight @ self.present)

    @cached_property
    def square(self) -> float:
        """Weighted sum of the squared lengths."""
        return float(self.weight @ self.squares)

    @staticmethod
    def summarize(blocks: Sequence[VectorBlock]) -> VectorSummary:
        """Means and variances of all blocks together."""
        cells = np.sum([block.cells for block in blocks], axis=0)
        safe = np.where(cells > 0, cells, 1.0)
        first = np.sum([block.weight @ block.values for block in blocks], axis=0)
        mean = first / safe
        # Around the mean, block by block: the difference of two large sums would lose digits.
        around = [block.weight @ block.centred(mean) ** 2 for block in blocks]
        total = float(sum(block.weight.sum() for block in blocks))
        gaps = any(block.present is not None for block in blocks)
        return VectorSummary(total, cells, mean, np.sum(around, axis=0) / safe, gaps)

    def centred(self, mean: Array) -> Array:
        """Values minus the mean (D,), still 0 where missing, (I, D) float64."""
        gap = np.asarray(self.values - mean)
        return gap if self.present is None else gap * self.present


def vector_blocks(
    values: Array, weight: Array | None = None, *, rows_per_block: int | None = None
) -> list[VectorBlock]:
    """Blocks of consecutive rows of a table (I, D); NaN marks a missing value.

    Parameters
    ----------
    values : (I, D) array
    weight : (I,) array, optional
        Row weights; ones by default.
    rows_per_block : int, optional
        All rows in one block by default.
    """
    n_rows = len(values)
    weight = np.ones(n_rows) if weight is None else np.asarray(weight, np.float64)
    step = rows_per_block or max(1, n_rows)
    missing = np.isnan(values)
    some = bool(missing.any())
    blocks = []
    for lo in range(0, n_rows, step):
        part, gaps = values[lo : lo + step], missing[lo : lo + step]
        present = (~gaps).astype(part.dtype) if some else None
        part = np.where(gaps, 0, part) if some else part
        blocks.append(VectorBlock(np.ascontiguousarray(part), weight[lo : lo + step], present))
    return blocks
