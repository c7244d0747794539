"""DTM, the discriminative topic model (Huh & Fienberg 2010): rows apart, but for neighbours.

Raises the log-likelihood and Q2 = ST / SW together, without a weight between them: ST is the sum of
squared distances of all pairs of rows, SW of linked ones. A step of theta that would lower either
is walked back towards PLSA, or not taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isotherm.data.base import Array
from isotherm.data.linked import LinkedBlock, Links
from isotherm.errors import IsothermError
from isotherm.kernels.base import Ascent, Kernels
from isotherm.kernels.linked_reference import expected_log
from isotherm.models.linked import (
    Expectation,
    Linked,
    LinkedParams,
    LinkedStats,
    Moved,
    plain_rows,
)

# So many rejected steps in a row end the fit.
MOST_REJECTED = 20
# log Q2 counts in the energy up to this: where linked rows coincide it is infinite.
LARGEST = 50.0
# A multiplier of the paper's step below this is taken out before it underflows.
SMALL = 1e-100


@dataclass(frozen=True)
class DTM(Linked):
    """PLSA whose rows also raise the ratio Q2 of distances between rows to those of linked rows.

    Parameters
    ----------
    n_components : int
    step : {"mm", "paper"}
        A minorisation of all rows and topics at once, which never lowers Q2; or Appendix B of Huh &
        Fienberg, topic by topic, which may (then it is not taken).
    gamma : float in (0, 1]
        Size of the steps back towards PLSA. Larger favours the likelihood.
    kappa : float
        Strength with which new rows are tied to their neighbours.
    """

    step: str = "mm"
    gamma: float = 0.1
    kappa: float = 1.0

    def __post_init__(self) -> None:
        """Refuse walks that never arrive."""
        if not 0 < self.gamma <= 1:
            raise IsothermError(
                f"gamma={self.gamma!r}; it must be above 0 and at most 1", parameter="gamma"
            )

    def moved(
        self,
        params: LinkedParams,
        theta: Array,
        found: Expectation,
        block: LinkedBlock,
        temperature: float,
        k: Kernels,
    ) -> Moved:
        """Rows with neither a lower Q2 nor a lower bound of the likelihood, or the old ones.

        Energy -n log Q2 for n tokens: with that of the counts it settles when both have.
        """
        links, counts = block.links, found.rows
        ratio = separation(k.spread(links, theta))
        known = not np.isnan(ratio)
        energy = -float(block.row_totals.sum()) * min(np.log(ratio), LARGEST) if known else 0.0
        if not np.isfinite(ratio):
            new = plain_rows(counts, theta)
            worse = known and not separation(k.spread(links, new)) >= ratio
            return Moved(theta if worse else new, energy, worse)
        up = self._ascended(links, theta, counts, ratio, k)
        if up.after >= up.before and separation(k.spread(links, up.theta)) >= ratio:
            return Moved(up.theta, energy)
        new = k.walk(counts, up.theta, walk_steps(self.gamma), up.before)
        if separation(k.spread(links, new)) >= ratio:
            return Moved(new, energy)
        return Moved(theta, energy, rejected=True)

    def _ascended(
        self, links: Links, theta: Array, counts: Array, ratio: float, k: Kernels
    ) -> Ascent:
        if self.step == "mm":
            return k.ascend(links, theta, counts, ratio)
        new = paper_step(links, theta, ratio)
        new = np.where(counts.sum(axis=1, keepdims=True) > 0, new, theta)
        return Ascent(new, expected_log(counts, theta), expected_log(counts, new))

    def maximize(
        self, stats: LinkedStats, params: LinkedParams, temperature: float, k: Kernels
    ) -> tuple[LinkedParams, float]:
        """As in PLSA; after too many rejections in a row nothing moves any more."""
        after, extra = super().maximize(stats, params, temperature, k)
        if after.rejected[0] >= MOST_REJECTED:
            return params._replace(rejected=after.rejected), extra
        return after, extra

    def pulled(self, counts: Array, near: Array, degree: Array, last: Array, k: Kernels) -> Array:
        """(b + kappa s) / (n + kappa d): there is no Q2 of a single row."""
        return plain_rows(counts + self.kappa * near, last)


def separation(spread: tuple[float, float]) -> float:
    """Q2 = ST / SW; infinite where only linked rows coincide, NaN where all do."""
    within, total = spread
    if within > 0:
        return total / within
    return np.inf if total > 0 else np.nan


def walk_steps(gamma: float) -> Array:
    """gamma, 2 gamma, ..., and 1 at the end, (S,)."""
    n = int(np.ceil(1.0 / gamma - 1e-9))
    return np.append(gamma * np.arange(1, n), 1.0)


def paper_step(links: Links, theta: Array, ratio: float) -> Array:
    """Appendix B of Huh & Fienberg (eqs. 40-42): topic by topic, all rows at once, (N, K).

    Whatever a topic wins or loses, the others of the row share in proportion: one multiplier per
    row, `common`, does that for all of them.
    """
    N, degree = len(theta), links.row_totals
    raw, common = np.array(theta.T, order="C"), np.ones(N)
    for p in range(len(raw)):
        own = raw[p] * common
        free = (own > 0) & (own < 1)
        up = own * (N * own + ratio * (links.matrix @ own))
        down = own.sum() + ratio * degree * own
        new = np.minimum(np.divide(up, down, out=np.array(own), where=free), 1.0)
        common *= np.divide(1.0 - new, 1.0 - own, out=np.ones(N), where=free)
        full = free & (new == 1)
        raw[:, full], common[full] = 0.0, 1.0
        small = common < SMALL
        raw[:, small] *= common[small]
        common[small] = 1.0
        raw[p, free] = new[free] / common[free]
    table = (raw * common).T
    return np.ascontiguousarray(table / table.sum(axis=1, keepdims=True))
