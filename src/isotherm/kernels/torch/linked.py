"""Linked rows in torch: all rows of one colour at a time, in float64.

The formulas and the steps of Newton's method are those of `_linked`, for many rows at once; a row
that has arrived stays where it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

import torch

from isotherm.data.base import Block
from isotherm.data.linked import Links
from isotherm.kernels.base import Array, Ascent
from isotherm.kernels.linked_reference import FLOOR, LEAST
from isotherm.kernels.torch.array import tensor_of
from isotherm.kernels.torch.pattern import Pattern

# More steps of Newton's method than any row has needed.
STEPS = 60
# Numbers of an array of edges by components that exist at a time.
AT_ONCE = 1 << 24

Rows = Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]


class _Edges(NamedTuple):
    """Some rows (n,), the pattern and the weights of their links, and the sums of those (n,)."""

    rows: torch.Tensor
    pattern: Pattern
    values: torch.Tensor
    degree: torch.Tensor


class LinkedTorch:
    """The part of the torch backend that deals with linked rows."""

    @property
    def place(self) -> torch.device:
        """The device."""
        raise NotImplementedError

    @property
    def _sums(self) -> ModuleType:
        raise NotImplementedError

    def _result(self, value: torch.Tensor) -> Array:
        raise NotImplementedError

    def simplex(self, counts: Array, curvature: Array, slope: Array, last: Array) -> Array:
        """Rows of a concave quadratic plus logarithms, each by itself."""
        b, a, s, t = (self._double(x) for x in (counts, curvature, slope, last))
        return self._result(_quadratic(b, a, s, t))

    def settled(
        self, links: Links, theta: Array, counts: Array, strength: float, rule: str, sweeps: int
    ) -> Array:
        """Rows after sweeps of Gauss-Seidel by colours."""
        out, b = self._double(theta).clone(), self._double(counts)
        exact = rule == "divergence" and strength > 0
        if exact:
            linked = self._double(links.row_totals) > 0
            out = torch.where(linked[:, None], _floored(out), out)
        logs = torch.log(out.clamp(min=LEAST)) if exact else out
        for _ in range(sweeps):
            for part in self._colours(links):
                rows, pull = part.rows, strength * part.degree
                near = strength * self._sums.row_sums(part.pattern, part.values, out)
                own, last = b[rows], out[rows]
                if rule == "quadratic":
                    out[rows] = _quadratic(own, 2.0 * pull, 2.0 * near, last)
                elif not exact:
                    out[rows] = _plain(torch.where(pull[:, None] > 0, own + near, own), last)
                else:
                    centre = self._sums.row_sums(part.pattern, part.values, logs)
                    out[rows] = _divergence(own, near, pull, centre, part.degree, last)
                    logs[rows] = torch.log(out[rows].clamp(min=LEAST))
        return self._result(out)

    def spread(self, links: Links, theta: Array) -> tuple[float, float]:
        """Squared distances of neighbours, and from the mean."""
        t = self._double(theta)
        within = self._over_edges(links, lambda i, j: ((t[i] - t[j]) ** 2).sum(dim=1))
        # From the first row on: where all rows are equal, so is the mean, to the last bit.
        mean = t[0] + (t - t[0]).sum(dim=0) / len(t)
        return within, float(len(t) * ((t - mean) ** 2).sum())

    def divergence(self, links: Links, theta: Array) -> float:
        """Symmetric Kullback-Leibler divergences of neighbours."""
        t = self._double(theta)
        logs = torch.log(t.clamp(min=LEAST))
        return self._over_edges(
            links, lambda i, j: ((t[i] - t[j]) * (logs[i] - logs[j])).sum(dim=1)
        )

    def ascend(self, links: Links, theta: Array, counts: Array, ratio: float) -> Ascent:
        """Rows with a larger ratio of total to within."""
        t, b, whole = self._double(theta), self._double(counts), self._whole(links)
        degree, N = whole.degree[:, None], len(t)
        near = self._sums.row_sums(whole.pattern, whole.values, t)
        shift = (ratio * degree - N).clamp(min=0.0)
        a = (N + shift) * t + ratio * near
        u = t / (t.sum(dim=0) + (ratio * degree + shift) * t).clamp(min=LEAST)
        new = torch.where(b.sum(dim=1, keepdim=True) > 0, _kept(a, u), t)
        before, after = torch.stack([_expected_log(b, t), _expected_log(b, new)]).tolist()
        return Ascent(self._result(new), before, after)

    def walk(self, counts: Array, start: Array, steps: Array, least: float) -> Array:
        """Rows at the first step that is good enough; once good enough it stays so."""
        b, first = self._double(counts), self._double(start)
        end = _plain(b, first)
        low, high = 0, len(steps) - 1  # the answer is one of low..high
        while low < high:
            middle = (low + high) // 2
            table = first + float(steps[middle]) * (end - first)
            good = float(_expected_log(b, table)) >= least
            low, high = (low, middle) if good else (middle + 1, high)
        step = float(steps[low])
        return self._result((1.0 - step) * first + step * end)

    def _double(self, value: Array) -> torch.Tensor:
        return tensor_of(value, self.place, torch.float64)

    def _whole(self, links: Links) -> _Edges:
        """All rows, made once."""
        found: dict[object, _Edges] = links.__dict__.setdefault("on_devices", {})
        if self.place not in found:
            found[self.place] = self._edges(links, torch.arange(links.n_rows))
        return found[self.place]

    def _colours(self, links: Links) -> list[_Edges]:
        """The rows of each colour, made once."""
        found: dict[object, list[_Edges]] = links.__dict__.setdefault("colours_on_devices", {})
        if self.place not in found:
            order, starts = links.colours
            parts = [order[first:last] for first, last in itertools.pairwise(starts)]
            found[self.place] = [
                self._edges(links.take(part), torch.from_numpy(part)) for part in parts
            ]
        return found[self.place]

    def _edges(self, links: Block, rows: torch.Tensor) -> _Edges:
        indptr = tensor_of(links.indptr, self.place, torch.int64)
        indices = tensor_of(links.indices, self.place, torch.int32)
        values, degree = self._double(links.values), self._double(links.row_totals)
        pattern = Pattern(indptr, indices, links.n_columns)
        return _Edges(rows.to(self.place), pattern, values, degree)

    def _over_edges(
        self, links: Links, gap: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    ) -> float:
        """Sum of weight x gap over pairs of linked rows, each pair once."""
        whole, total = self._whole(links), 0.0
        i, j = whole.pattern.row_of.long(), whole.pattern.indices.long()
        once = torch.nonzero(j > i).reshape(-1)
        step = AT_ONCE // 256
        for first in range(0, len(once), step):
            part = once[first : first + step]
            total += float(whole.values[part] @ gap(i[part], j[part]))
        return total


def _plain(counts: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
    """Counts divided by the sum of their row; the last rows where that is 0."""
    total = counts.sum(dim=1, keepdim=True)
    return torch.where(total > 0, counts / torch.where(total > 0, total, 1.0), last)


def _floored(table: torch.Tensor) -> torch.Tensor:
    table = table.clamp(min=FLOOR)
    return table / table.sum(dim=1, keepdim=True)


def _newton(rows: Rows, x: torch.Tensor) -> torch.Tensor:
    """Rows that sum to one: their multipliers x (n,) by steps that never overshoot."""
    going = torch.ones_like(x, dtype=torch.bool)
    for _ in range(STEPS):
        t, slopes = rows(x)
        total = t.sum(dim=1)
        moved = x + (total - 1.0) / slopes.sum(dim=1)
        going = going & (total > 1.0 + 1e-15) & (moved > x)
        if not bool(going.any()):
            break
        x = torch.where(going, moved, x)
    return t / total[:, None]


def _quadratic(
    counts: torch.Tensor, curvature: torch.Tensor, slope: torch.Tensor, last: torch.Tensor
) -> torch.Tensor:
    """Maximisers of sum counts log t - curvature/2 |t|^2 + slope . t; plain without curvature."""
    bent = (curvature > 0)[:, None]
    a = torch.where(bent, curvature[:, None], 1.0)

    def rows(rho: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = slope - rho[:, None]
        root = torch.sqrt(x * x + 4.0 * a * counts)
        # Two forms of one root: neither subtracts numbers that are nearly equal.
        low = 2.0 * counts / (root - x).clamp(min=LEAST)
        t = torch.where(x >= 0, (x + root) / (2.0 * a), low)
        return t, t / root.clamp(min=LEAST)

    found = _newton(rows, (counts - a + slope).amax(dim=1))
    return torch.where(bent, found, _plain(counts, last))


def _divergence(
    counts: torch.Tensor,
    near: torch.Tensor,
    weight: torch.Tensor,
    centre: torch.Tensor,
    degree: torch.Tensor,
    last: torch.Tensor,
) -> torch.Tensor:
    """Maximisers of sum pull log t - weight (sum t log t - centre . t), floored; plain without."""
    tied = (weight > 0)[:, None]
    b = torch.where(tied, weight[:, None], 1.0)
    pull = torch.where(tied, counts + near, 1.0) / b
    middle = torch.where(tied, centre / degree.clamp(min=LEAST)[:, None], 0.0)
    logs = torch.log(pull)

    def rows(r: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = r[:, None] - middle
        w = _omega(x + logs)
        t = torch.where(w < 1.0, torch.exp(w - x), pull / w.clamp(min=LEAST))
        return t, t / (1.0 + w)

    found = _newton(rows, (pull + middle).amax(dim=1))
    return torch.where(tied, _floored(found), _plain(counts, last))


def _omega(x: torch.Tensor) -> torch.Tensor:
    """Wright's omega: w + log w = x, by steps of fourth order (Fritsch, Shafer & Crowley)."""
    small = torch.exp(x.clamp(max=1.0))
    below = torch.where(x > -2.0, small / (1.0 + small), small * (1.0 - small))
    above = x - torch.log(x.clamp(min=1.0)) * (1.0 - 1.0 / (1.0 + x.clamp(min=1.0)))
    w = torch.where(x < 1.0, below, above)
    far = x < -30.0
    w = torch.where(far, 1.0, w)
    for _ in range(2):
        r = x - w - torch.log(w)
        a = 1.0 + w
        c = 2.0 * a * (a + 2.0 * r / 3.0)
        w = w * (1.0 + r / a * (c - r) / (c - 2.0 * r))
    return torch.where(far, small, w)


def _kept(a: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    """`u (a - mu)_+` with the mu of each row that makes it sum to one."""
    high, order = torch.sort(a, dim=1, descending=True, stable=True)
    share = torch.gather(u, 1, order)
    whole = torch.cumsum(share, dim=1)
    mu = (torch.cumsum(share * high, dim=1) - 1.0) / whole.clamp(min=LEAST)
    inside = (high > mu) & (whole > 0)
    last = (inside * torch.arange(1, a.shape[1] + 1, device=a.device)).amax(dim=1) - 1
    chosen = torch.gather(mu, 1, last.clamp(min=0)[:, None])
    return u * (a - chosen).clamp(min=0.0)


def _expected_log(counts: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    """`sum counts log table`, nothing below LEAST."""
    return torch.special.xlogy(counts, table.clamp(min=LEAST)).sum()
