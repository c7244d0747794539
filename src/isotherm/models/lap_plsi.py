"""LapPLSI (Cai et al. 2008): PLSA whose rows are close to their neighbours', by squared distance.

Maximises ll - lambda SW, SW = 1/2 sum_ij W_ij |theta_i - theta_j|^2 (Huh & Fienberg's lambda; twice
that of Cai's programs). The step of theta is a concave problem, solved row by row or side by side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isotherm.data.base import Array
from isotherm.data.linked import LinkedBlock
from isotherm.kernels.base import Kernels
from isotherm.kernels.reference import floored_log
from isotherm.models.linked import Expectation, Linked, LinkedParams, LinkedStats, Moved, plain_rows

# Cai's smoothing: how many steps at most and how large, tried until one regains the objective.
SMOOTHINGS = ((10, 0.1), (5, 0.1), (2, 0.1), (1, 0.1), (1, 0.05), (1, 0.025))


@dataclass(frozen=True)
class LapPLSI(Linked):
    """PLSA with a penalty on squared distances of linked rows.

    Parameters
    ----------
    n_components : int
    strength : float
        Lambda.
    method : {"gauss-seidel", "jacobi", "cai"}
        Rows one colour of the graph after the other; all at once by a bound; or a PLSA step that is
        smoothed only as long as the objective has fallen (not monotone; to compare with).
    """

    strength: float = 100.0
    method: str = "gauss-seidel"

    @property
    def monotone(self) -> bool:
        """The energy never rises, but for the heuristic."""
        return self.method != "cai"

    def moved(
        self,
        params: LinkedParams,
        theta: Array,
        found: Expectation,
        block: LinkedBlock,
        temperature: float,
        k: Kernels,
    ) -> Moved:
        """Maximiser of sum b log t - lambda SW, approached by one sweep."""
        links, strength = block.links, self.strength
        energy = strength * k.spread(links, theta)[0]
        if self.method == "gauss-seidel":
            return Moved(k.settled(links, theta, found.rows, strength, "quadratic", 1), energy)
        if self.method == "jacobi":
            # |x - y|^2 <= 2 |x - m|^2 + 2 |y - m|^2 with the old midpoint m parts the rows.
            degree = links.row_totals
            slope = 2.0 * strength * (degree[:, None] * theta + links.matrix @ theta)
            return Moved(k.simplex(found.rows, 4.0 * strength * degree, slope, theta), energy)
        last = temperature * found.log_z - energy
        return Moved(self._smoothed(params, theta, found, block, last, k), energy)

    def _smoothed(
        self,
        params: LinkedParams,
        theta: Array,
        found: Expectation,
        block: LinkedBlock,
        last: float,
        k: Kernels,
    ) -> Array:
        """PLSA rows, moved to the mean of their neighbours while the objective is below the last.

        Where no number of steps regains it, the rows are those of PLSA.
        """
        stats = LinkedStats(found.word, np.zeros(()))
        after = self.maximize(stats, params, 1.0, k)[0]
        links, plain = block.links, plain_rows(found.rows, theta)
        degree = links.row_totals[:, None]

        def objective(rows: Array) -> float:
            p = k.dots(block, rows, after.word_topic).astype(np.float64)
            fit = float(block.values @ floored_log(p))
            return fit - self.strength * k.spread(links, rows)[0]

        if objective(plain) >= last:
            return plain
        for steps, size in SMOOTHINGS:
            rows = plain
            for _ in range(steps):
                mean = np.divide(links.matrix @ rows, degree, out=np.array(rows), where=degree > 0)
                rows = np.asarray((1.0 - size) * rows + size * mean)
                if objective(rows) >= last:
                    return rows
        return plain

    def pulled(self, counts: Array, near: Array, degree: Array, last: Array, k: Kernels) -> Array:
        """The row's own maximiser, its neighbours fixed."""
        return k.simplex(
            counts, 2.0 * self.strength * degree[:, 0], 2.0 * self.strength * near, last
        )
