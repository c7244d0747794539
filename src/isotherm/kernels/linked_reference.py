"""Linked rows in plain numpy: slow, short, and what other backends are held to."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import wrightomega, xlogy

from isotherm.data.linked import Links
from isotherm.kernels.base import Array, Ascent

LEAST = 1e-300
FLOOR = 1e-12


class LinkedReference:
    """The part of the reference backend that deals with linked rows."""

    def simplex(self, counts: Array, curvature: Array, slope: Array, last: Array) -> Array:
        """Rows of a concave quadratic plus logarithms: the multiplier by bisection."""
        rows = zip(counts, curvature, slope, last, strict=True)
        return np.array([_quadratic(*row) for row in rows]).reshape(np.shape(last))

    def settled(
        self, links: Links, theta: Array, counts: Array, strength: float, rule: str, sweeps: int
    ) -> Array:
        """Rows one after the other, in the order of colours."""
        out, W = np.array(theta, np.float64), links.matrix.toarray()
        degree = W.sum(axis=1)
        if rule == "divergence" and strength > 0:
            linked = degree > 0
            out[linked] = _floored(out[linked])
        for i in np.tile(links.colours.order, sweeps):
            near, pull = W[i] @ out, strength * degree[i]
            if pull == 0:
                out[i] = _plain(counts[i], out[i])
            elif rule == "quadratic":
                out[i] = _quadratic(counts[i], 2 * pull, 2 * strength * near, out[i])
            elif rule == "linear":
                out[i] = _plain(counts[i] + strength * near, out[i])
            else:
                logs = W[i] @ np.log(np.maximum(out, LEAST))
                out[i] = _divergence(counts[i] + strength * near, pull, logs / degree[i])
        return out

    def spread(self, links: Links, theta: Array) -> tuple[float, float]:
        """Squared distances of neighbours, and from the mean."""
        gap = theta[links.row_of] - theta[links.indices]
        within = 0.5 * float(links.values @ (gap**2).sum(axis=1))
        mean = theta[0] + (theta - theta[0]).mean(axis=0)
        return within, float(len(theta) * ((theta - mean) ** 2).sum())

    def divergence(self, links: Links, theta: Array) -> float:
        """Symmetric Kullback-Leibler divergences of neighbours."""
        logs = np.log(np.maximum(theta, LEAST))
        i, j = links.row_of, links.indices
        return 0.5 * float(links.values @ ((theta[i] - theta[j]) * (logs[i] - logs[j])).sum(axis=1))

    def ascend(self, links: Links, theta: Array, counts: Array, ratio: float) -> Ascent:
        """Rows with a larger ratio of total to within: a minorisation of both quadratic forms."""
        N, D = len(theta), links.row_totals[:, None]
        shift = np.maximum(ratio * D - N, 0.0)
        a = (N + shift) * theta + ratio * (links.matrix @ theta)
        c = theta.sum(axis=0) + (ratio * D + shift) * theta
        u = np.divide(theta, c, out=np.zeros_like(theta), where=c > 0)
        new = np.array([_kept(*row) for row in zip(a, u, strict=True)])
        new = np.where(counts.sum(axis=1, keepdims=True) > 0, new, theta)
        return Ascent(new, expected_log(counts, theta), expected_log(counts, new))

    def walk(self, counts: Array, start: Array, steps: Array, least: float) -> Array:
        """Rows at the first step that is good enough."""
        totals = counts.sum(axis=1, keepdims=True)
        end = np.divide(counts, totals, out=np.array(start, np.float64), where=totals > 0)
        for step in steps:
            table = (1.0 - step) * start + step * end
            if expected_log(counts, table) >= least:
                break
        return np.asarray(table)


def _plain(counts: Array, last: Array) -> Array:
    total = counts.sum()
    return counts / total if total > 0 else last


def _quadratic(counts: Array, curvature: float, slope: Array, last: Array) -> Array:
    """Maximiser of sum counts log t - curvature/2 |t|^2 + slope . t on the simplex."""
    if curvature == 0:
        return _plain(counts, last)

    def rows(rho: float) -> Array:
        x = slope - rho
        root = np.sqrt(x**2 + 4 * curvature * counts)
        low = 2 * counts / np.maximum(root - x, LEAST)
        return np.where(x >= 0, (x + root) / (2 * curvature), low)

    # At the lower end one entry is 1 already, at the upper end none is above 1/K.
    K = len(counts)
    ends = [float((counts * m - curvature / m + slope).max()) for m in (1, K)]
    return _root(rows, *ends)


def _divergence(pull: Array, weight: float, centre: Array) -> Array:
    """Maximiser of sum pull log t - weight sum t log t + weight centre . t on the simplex."""

    def rows(r: float) -> Array:
        omega = wrightomega(r - centre + np.log(pull / weight))
        return np.asarray(np.exp(omega - r + centre))

    K = len(pull)
    ends = [float((pull / weight * m + np.log(m) + centre).max()) for m in (1, K)]
    return _floored(_root(rows, *ends))


def _root(rows: object, low: float, high: float) -> Array:
    assert callable(rows)
    if high > low and rows(low).sum() > 1.0 > rows(high).sum():
        low = brentq(
            lambda rho: rows(rho).sum() - 1.0,
            low,
            high,
            xtol=1e-15 * abs(high) + 1e-300,
            rtol=1e-15,
        )
    t = rows(low)
    return np.asarray(t / t.sum())


def _floored(table: Array) -> Array:
    table = np.maximum(table, FLOOR)
    return np.asarray(table / table.sum(axis=-1, keepdims=True))


def _kept(a: Array, u: Array) -> Array:
    """`u (a - mu)_+` with the mu that makes it sum to one."""
    inside = np.ones(len(a), bool)
    while True:
        mu = ((u * a)[inside].sum() - 1.0) / u[inside].sum()
        if (a[inside] > mu).all():
            return np.where(inside, u * (a - mu), 0.0)
        inside &= a > mu


def expected_log(counts: Array, table: Array) -> float:
    """`sum counts log table`, nothing below LEAST."""
    return float(xlogy(counts, np.maximum(table, LEAST)).sum())
