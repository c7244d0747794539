"""One-sided clustering of blocks of rows that share their cluster: a level of multiscale EM.

Rows x of a block X are tied: C(x) = c for all of them. That is an exact model of the pooled counts
n(X,y) = sum_{x in X} n(x,y) with the prior P(c)^|X|; Hofmann & Puzicha 1998, section 3.4. Its free
energy bounds that of any finer level from above, at the same parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from isotherm.data.base import Array, Block, Summary
from isotherm.data.counts import Counts
from isotherm.kernels.base import Kernels
from isotherm.kernels.reference import floored_log
from isotherm.models.base import Deviation, normalized
from isotherm.models.cluster import Cluster
from isotherm.models.row_mixture import ClusterParams, ClusterRows, ClusterStats


def pooled(counts: Counts, block_of: Array) -> Counts:
    """Counts (M, J + 1) of blocks of rows: sums over their rows, and last the number of rows.

    Parameters
    ----------
    counts : Counts, (I, J)
    block_of : (I,) int array
        Block of each row, 0 to M - 1; every block has a row.
    """
    sizes = np.bincount(block_of)
    shape = len(sizes), counts.n_rows
    rows = np.arange(counts.n_rows)
    sums = sparse.csr_array((np.ones(len(rows)), (block_of, rows)), shape=shape)
    last = sparse.csr_array(sizes[:, None].astype(np.float64))
    return Counts(sparse.hstack([sums @ counts.matrix, last], format="csr"))


@dataclass(frozen=True)
class Tied(Cluster):
    """One-sided clustering of blocks; the counts are those of `pooled`, sizes |X| last.

    The size of a block is one more column, whose log "probability" is log P(c), tempered or not as
    the prior is. One pass over the counts thus yields the posterior with P(c)^|X| and, as one more
    column sum, sum_X |X| Q(c|X). In P(y|c) that column is empty. With blocks of one row this is
    `Cluster`. Parameters are those of `Cluster`.

    Cooling with free weights collapses: P(c)^|X| is not tempered. Keep `fixed_weights` there.
    """

    def init(self, summary: Summary, table: Array) -> ClusterParams:
        """Equal weights and the given distributions (J + 1, K), without that of sizes."""
        return super().init(_without_sizes(summary), normalized(_emptied(table)))

    def scores(
        self, params: ClusterParams, temperature: float, k: Kernels
    ) -> tuple[Array, Array, float]:
        """Tempered logs of P(y|c) with those of P(c) below them, no prior besides, and T."""
        logs, prior, scale = super().scores(params, temperature, k)
        logs[-1] = prior
        return logs, np.zeros_like(prior), scale

    def maximize(
        self, stats: ClusterStats, params: ClusterParams, temperature: float, k: Kernels
    ) -> tuple[ClusterParams, float]:
        """P(c) = (1/I) sum_X |X| Q(c|X) unless fixed; P(y|c) as in `Cluster`."""
        untied = ClusterStats(_emptied(stats.word), stats.word[-1].astype(np.float64))
        return super().maximize(untied, params, temperature, k)

    def prior_energy(self, params: ClusterParams, summary: Summary) -> float:
        """Energy of the pseudo-counts."""
        return super().prior_energy(params, _without_sizes(summary))

    def log_likelihood(
        self, params: ClusterParams, rows: ClusterRows, block: Block, k: Kernels
    ) -> float:
        """Sum of n log P(y|X) over the tokens of a block, which sizes are not."""
        p = k.dots(block, *self.mixture(params, rows)).astype(np.float64)
        p[block.indices == block.n_columns - 1] = 1.0
        return float((block.weighted * floored_log(p)).sum())

    def deviation(
        self,
        params: ClusterParams,
        rows: ClusterRows,
        block: Block,
        temperature: float,
        components: Array,
        k: Kernels,
    ) -> Deviation:
        """As in `Cluster`, with row totals that leave sizes out."""
        found = super().deviation(params, rows, block, temperature, components, k)
        # The last count of every row is its size.
        sizes = block.values[block.indptr[1:] - 1].astype(np.float64)
        return found._replace(shift=(block.row_totals - sizes)[:, None])


def _emptied(table: Array) -> Array:
    """Table (J + 1, K) or (J + 1,) with nothing in its last row."""
    emptied = np.array(table)
    emptied[-1] = 0
    return emptied


def _without_sizes(summary: Summary) -> Summary:
    columns = _emptied(summary.column_totals)
    return summary._replace(column_totals=columns, total=float(columns.sum()))
