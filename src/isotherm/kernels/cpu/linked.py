"""Linked rows on the CPU: how the loops of `_linked` are dealt to threads.

Rows of one colour are not linked, so that they are updated side by side and the outcome is that of
one after the other. Sums over rows are one number per row, added up in order.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from isotherm.data.linked import Links
from isotherm.kernels.base import Array, Ascent

if TYPE_CHECKING:
    from types import ModuleType

# Numbers of a table that make a piece.
PIECE = 1 << 14
# Steps of a walk that are tried in one pass: a few passes with few logarithms beat one with many.
AT_ONCE = 3


class LinkedRows:
    """The part of the CPU backend that deals with linked rows, always in float64."""

    def _run(self, piece: Callable[[int, int], object], bounds: Array) -> list[Any]:
        raise NotImplementedError

    def simplex(self, counts: Array, curvature: Array, slope: Array, last: Array) -> Array:
        """Rows of a concave quadratic plus logarithms, each by itself."""
        loops, out = _loops(), np.array(last, np.float64, order="C")
        counts, slope = _double(counts), _double(slope)

        def piece(lo: int, hi: int) -> None:
            loops.quadratic_rows(counts, curvature, slope, out, lo, hi)

        self._run(piece, _even(out))
        return out

    def settled(
        self, links: Links, theta: Array, counts: Array, strength: float, rule: str, sweeps: int
    ) -> Array:
        """Rows after sweeps of Gauss-Seidel by colours."""
        loops, out, counts = _loops(), np.array(theta, np.float64, order="C"), _double(counts)
        order, starts = links.colours
        graph = (order, links.indptr, links.indices, links.values, links.row_totals)
        logs = np.empty_like(out) if rule == "divergence" else out[:0]
        if rule == "divergence" and strength > 0:
            self._run(
                lambda lo, hi: loops.floor_rows(links.row_totals, out, logs, lo, hi), _even(out)
            )

        def piece(lo: int, hi: int) -> None:
            if rule == "quadratic":
                loops.quadratic_sweep(*graph, counts, strength, out, lo, hi)
            elif rule == "linear":
                loops.linear_sweep(*graph, counts, strength, out, lo, hi)
            else:
                loops.divergence_sweep(*graph, counts, strength, out, logs, lo, hi)

        pieces = [first + _even(out[: last - first]) for first, last in itertools.pairwise(starts)]
        for _ in range(sweeps):
            for bounds in pieces:
                self._run(piece, bounds)
        return out

    def spread(self, links: Links, theta: Array) -> tuple[float, float]:
        """Squared distances of neighbours, and from the mean."""
        loops, theta = _loops(), _double(theta)
        within, total = np.empty(len(theta)), np.empty(len(theta))
        # From the first row on: where all rows are equal, so is the mean, to the last bit.
        mean = theta[0] + self._column_sums(theta, theta[0]) / len(theta)

        def piece(lo: int, hi: int) -> None:
            loops.spread_rows(
                links.indptr, links.indices, links.values, theta, mean, within, total, lo, hi
            )

        self._run(piece, _even(theta))
        return float(within.sum()), float(len(theta) * total.sum())

    def divergence(self, links: Links, theta: Array) -> float:
        """Symmetric Kullback-Leibler divergences of neighbours."""
        loops, theta = _loops(), _double(theta)
        logs, sums = np.empty_like(theta), np.empty(len(theta))
        self._run(lambda lo, hi: loops.log_rows(theta, logs, lo, hi), _even(theta))

        def piece(lo: int, hi: int) -> None:
            loops.divergence_rows(
                links.indptr, links.indices, links.values, theta, logs, sums, lo, hi
            )

        self._run(piece, _even(theta))
        return float(sums.sum())

    def ascend(self, links: Links, theta: Array, counts: Array, ratio: float) -> Ascent:
        """Rows with a larger ratio of total to within."""
        loops, theta, counts = _loops(), _double(theta), _double(counts)
        out, bounds = np.empty_like(theta), np.empty((len(theta), 2))
        sums, totals = self._column_sums(theta), counts.sum(axis=1)
        graph = (links.indptr, links.indices, links.values, links.row_totals)

        def piece(lo: int, hi: int) -> None:
            loops.ascend_rows(
                *graph, theta, sums, counts, totals, float(ratio), out, bounds, lo, hi
            )

        self._run(piece, _even(theta))
        before, after = bounds.sum(axis=0).tolist()
        return Ascent(out, before, after)

    def walk(self, counts: Array, start: Array, steps: Array, least: float) -> Array:
        """Rows at the first step that is good enough.

        What the steps reach is concave along the way, and the end is its maximum: once good enough
        it stays so, and the first such step is found by cutting the range of steps to parts.
        """
        loops, counts, start = _loops(), _double(counts), _double(start)
        totals, out = counts.sum(axis=1), np.empty_like(start)
        low, high = 0, len(steps) - 1  # the answer is one of low..high
        while low < high:
            marks = np.unique(np.linspace(low - 1, high, AT_ONCE + 2).astype(int)[1:-1])
            marks = marks[(marks >= low) & (marks < high)]
            tried, bounds = steps[marks], np.empty((len(start), len(marks)))

            def piece(lo: int, hi: int, tried: Array = tried, bounds: Array = bounds) -> None:
                loops.walk_rows(counts, totals, start, tried, bounds, lo, hi)

            self._run(piece, _even(start))
            good = bounds.sum(axis=0) >= least
            first = int(good.argmax()) if good.any() else len(marks)
            low = int(marks[first - 1]) + 1 if first else low
            high = int(marks[first]) if first < len(marks) else high
        step = float(steps[low])
        self._run(
            lambda lo, hi: loops.blend_rows(counts, totals, start, step, out, lo, hi), _even(start)
        )
        return out

    def _column_sums(self, theta: Array, origin: Array | None = None) -> Array:
        """Sum of the rows, (K,), or of what they differ from a row."""
        zero = 0.0 if origin is None else origin
        parts = self._run(lambda lo, hi: (theta[lo:hi] - zero).sum(axis=0), _even(theta))
        sums: Array = np.sum(parts, axis=0)
        return sums


def _double(table: Array) -> Array:
    return np.ascontiguousarray(table, np.float64)


def _even(table: Array) -> Array:
    """Bounds of pieces of about the same size, whatever the number of threads."""
    rows = max(1, PIECE // max(1, table.shape[1]))
    return np.append(np.arange(0, max(1, len(table)), rows), len(table))


def _loops() -> ModuleType:
    """The compiled loops; importing numba here keeps `import isotherm` light."""
    from isotherm.kernels.cpu import _linked as loops

    return loops
