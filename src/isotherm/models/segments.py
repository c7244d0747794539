"""Clustering of the sites of an image whose neighbours tend to share a cluster (Potts prior).

P(C) ~ exp(gamma x number of neighbouring pairs in one cluster), four neighbours to a site. The
posterior is a mean field: each site sees the posteriors of its neighbours. Sites are coloured like
a checkerboard; those of one colour do not see each other and are updated at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np

from isotherm.data.base import Array, Block
from isotherm.errors import IsothermError
from isotherm.kernels.base import Kernels
from isotherm.models.base import Deviation
from isotherm.models.cluster import Cluster
from isotherm.models.row_mixture import ClusterParams, ClusterRows, ClusterStats
from isotherm.placement.base import Expected


@dataclass(frozen=True)
class Segments(Cluster):
    """One-sided clustering of sites on a grid, with P(c) = 1/K and a Potts prior.

    The image is one block: rows are its sites, row by row, each of weight one.

    Parameters
    ----------
    n_components, pseudo_count, temper_prior
        As in `Cluster`; `temper_prior` has no effect on a uniform prior.
    shape : tuple of int
        Sites (h, w) of the image.
    gamma : float
        How much more probable a site is for each neighbour in the same cluster, as a logarithm.
    """

    fixed_weights: bool = True
    shape: tuple[int, int] = field(default=(0, 0), kw_only=True)
    gamma: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        """Refuse weights that are free: the normaliser of the prior depends on them."""
        if not self.fixed_weights:
            raise IsothermError(
                "fixed_weights=False; with a Potts prior weights are 1/K, since the prior's "
                "normaliser depends on them in a way that nobody can compute",
                parameter="fixed_weights",
            )

    def expect(
        self, params: ClusterParams, rows: ClusterRows, block: Block, temperature: float, k: Kernels
    ) -> Expected[ClusterRows, ClusterStats]:
        """Q(c|x) ~ P(c) exp(b sum_y n log P(y|c) + gamma sum_{x' ~ x} Q(c|x')), colour by colour.

        Energy -sum Q log P(n|c) - T [ sum Q log(P/Q) + gamma sum_pairs sum_c Q Q ].
        """
        logs, prior, scale = self.scores(params, temperature, k)
        gamma = self.gamma if temperature > 0 else 0.0
        posterior, parts, energy = np.array(rows.posterior), [], 0.0
        for number, (sites, half) in enumerate(_halves(block, self.shape)):
            near = gamma * self._around(posterior)[sites]
            sums = k.row(half, logs, prior + near, hard=temperature == 0)
            posterior[sites] = sums.posterior
            parts.append(ClusterStats(sums.columns, sums.mass))
            energy -= scale * sums.log_z
            if number == 0:
                # A pair counts once, when its second site is updated.
                energy += scale * float(np.einsum("ik,ik->", near, sums.posterior))
        stats = ClusterStats(parts[0].word + parts[1].word, parts[0].mass + parts[1].mass)
        return Expected(ClusterRows(posterior), stats, energy)

    def _around(self, posterior: Array) -> Array:
        """Sum of the posteriors of the neighbours of each site, (I, K) float64."""
        grid = posterior.reshape(*self.shape, -1)
        total = np.zeros(grid.shape)
        total[1:] += grid[:-1]
        total[:-1] += grid[1:]
        total[:, 1:] += grid[:, :-1]
        total[:, :-1] += grid[:, 1:]
        return total.reshape(posterior.shape)

    def deviation(
        self,
        params: ClusterParams,
        rows: ClusterRows,
        block: Block,
        temperature: float,
        components: Array,
        k: Kernels,
    ) -> Deviation:
        """Refused: neighbours move critical temperatures, and no formula here says where to."""
        raise IsothermError(
            "critical temperatures are not known for a Potts prior; give the schedule its start "
            "temperature, e.g. Fixed(1.0), and leave record_critical off"
        )


Half = tuple[Array, Block]

# The two colours of each block by the shape of its image, made on the first E-step and dropped
# with the block: to pick rows and sort them by column costs more than to use them.
_HALVES: WeakKeyDictionary[Block, dict[tuple[int, int], tuple[Half, Half]]] = WeakKeyDictionary()


def _halves(block: Block, shape: tuple[int, int]) -> tuple[Half, Half]:
    """Sites and counts of the two colours of a checkerboard."""
    height, width = shape
    if block.n_rows != height * width or not (block.weight == 1).all():
        raise IsothermError(
            f"a block has {block.n_rows} rows, the image {height} x {width} sites; a Potts prior "
            "needs the whole image in one block, every site with weight 1 (n_blocks=1)"
        )
    known = _HALVES.setdefault(block, {})
    if shape not in known:
        colour = np.indices(shape).sum(axis=0).ravel() % 2
        even, odd = np.flatnonzero(colour == 0), np.flatnonzero(colour == 1)
        known[shape] = (even, block.take(even)), (odd, block.take(odd))
    return known[shape]
