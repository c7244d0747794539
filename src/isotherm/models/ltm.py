"""LTM, the locally consistent topic model (Cai, Wang & He 2009): neighbours by divergence.

Maximises ll - lambda SJ, SJ = 1/2 sum_ij W_ij [KL(theta_i || theta_j) + KL(theta_j || theta_i)].
"""

from __future__ import annotations

from dataclasses import dataclass

from isotherm.data.base import Array
from isotherm.data.linked import LinkedBlock
from isotherm.kernels.base import Kernels
from isotherm.models.linked import Expectation, Linked, LinkedParams, Moved, plain_rows

# Sweeps of Gauss-Seidel in one step of theta, which begins at the last solution.
SWEEPS = {"linear": 10, "exact": 1}
RULES = {"linear": "linear", "exact": "divergence"}


@dataclass(frozen=True)
class LTM(Linked):
    """PLSA with a penalty on Kullback-Leibler divergences of linked rows.

    Parameters
    ----------
    n_components : int
    strength : float
        Lambda.
    method : {"linear", "exact"}
        Solve (diag(n) + lambda L) theta = b, which takes log(x/y) for 1 - y/x and does not quite
        maximise (the energy may rise), or maximise row by row.
    """

    strength: float = 100.0
    method: str = "linear"

    @property
    def monotone(self) -> bool:
        """The energy never rises if the maximiser is exact."""
        return self.method == "exact"

    def moved(
        self,
        params: LinkedParams,
        theta: Array,
        found: Expectation,
        block: LinkedBlock,
        temperature: float,
        k: Kernels,
    ) -> Moved:
        """Sweeps over the rows."""
        energy = self.strength * k.divergence(block.links, theta)
        rule, sweeps = RULES[self.method], SWEEPS[self.method]
        new = k.settled(block.links, theta, found.rows, self.strength, rule, sweeps)
        return Moved(new, energy)

    def pulled(self, counts: Array, near: Array, degree: Array, last: Array, k: Kernels) -> Array:
        """(b + lambda s) / (n + lambda d), whatever the method."""
        return plain_rows(counts + self.strength * near, last)
