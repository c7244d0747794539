"""Own words: what a document repeats is shared out between its topics and itself.

Words come in bursts: about a third of the tokens of a text repeat a word that it has used already.
Without bursts a model pays for them with topics. Here the first token of a word in a row is of
topics, and each of the others is, where the row has n tokens of word y among N,

    P(y|x) = (1 - g) sum_a P(a|x) P(y|a) + g m(x,y),    m(x,y) = (n - 1) / (N - 1).

m is the share of the word in the other tokens of the row: data, not a parameter. So own words are
one more component whose probability is known for each non-zero, and EM is the ordinary one. First
tokens have the first term alone. Without that rule both tokens of a pair would be repeats of each
other, g be found too large, and topics without the words that make them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from scipy.optimize import minimize_scalar

from isotherm.data.base import Array, Block, Summary
from isotherm.errors import IsothermError
from isotherm.kernels.base import Kernels
from isotherm.kernels.reference import floored_log
from isotherm.models.aspect import Aspect, AspectRows
from isotherm.models.base import inverse
from isotherm.placement.base import Expected

# The weight before any sweep: less than what texts come to, so that topics come first.
FIRST = 0.1
# The weight of own words is below 1 by this at least: the odds stay finite.
LEAST = 1e-9
# The largest weight that held-out tokens choose, and how closely they do.
MOST, CLOSE = 0.95, 0.01


class OwnWordsParams(NamedTuple):
    """`weight` (K,), `row_mass` (K,), `word_topic` (J, K) as in `AspectParams`; `own` (K,).

    `own` is g, the weight of own words: one number, the same for every aspect, in as many places as
    there are aspects since those are the last axis of whatever a model has.
    """

    weight: Array
    row_mass: Array
    word_topic: Array
    own: Array


class OwnWordsStats(NamedTuple):
    """`word` (J, K): expected counts N_ya; `own` (K,) and `open` (K,), in equal parts.

    Those are the expected tokens that are own words, and the tokens of rows of more than one.
    """

    word: Array
    own: Array
    open: Array


@dataclass(frozen=True)
class AspectOwnWords(Aspect):
    """Aspect model with own words; settings are those of `Aspect`, whose prior must be tempered.

    The weights of a row are one distribution P(a|x), raised to the power 1/T as a whole. With a
    prior P(a) that is not, parts of the weights would be raised and others not.

    Parameters
    ----------
    n_components, temper_prior
    own : float, optional
        Weight g of own words where it is given.
    learned : float, optional
        Weight that held-out tokens chose; without both it is a parameter, found by EM.
    """

    temper_prior: bool = True
    own: float | None = None
    learned: float | None = None

    @property
    def known(self) -> float | None:
        """The weight where it is not found by EM."""
        return self.learned if self.own is None else self.own

    def tuned(  # type: ignore[override]
        self,
        params: OwnWordsParams,
        score: Callable[[OwnWordsParams], float],  # type: ignore[override]
    ) -> tuple[Self, OwnWordsParams]:
        """With the weight of own words that predicts held-out tokens best.

        Topics hardly depend on it, but EM finds it too small: the weights of a row are fitted to
        the repeats as well.
        """
        if self.own is not None:
            return self, params

        def at(g: float) -> OwnWordsParams:
            return params._replace(own=np.full(len(params.own), g))

        found = minimize_scalar(
            lambda g: np.log(score(at(g))), bounds=(0.0, MOST), options={"xatol": CLOSE}
        )
        g = float(found.x) if found.fun < np.log(score(at(0.0))) else 0.0
        return replace(self, learned=g), at(g)

    def __post_init__(self) -> None:
        """Refuse a prior that is not tempered."""
        if not self.temper_prior:
            raise IsothermError(
                "temper_prior=False with own words, whose weights of a row are tempered as a "
                "whole; use temper_prior=True or the plain Aspect",
                parameter="temper_prior",
            )

    def hot(self) -> Aspect:  # type: ignore[override]
        """One plain aspect: with own words it splits no sooner, as n (1-r) is in place of n.

        How much later depends on g, which is found on the way: cooling begins above.
        """
        return Aspect(1, self.temper_prior)

    def init(self, summary: Summary, table: Array) -> OwnWordsParams:  # type: ignore[override]
        """Equal P(a), and a weight of own words to begin with."""
        return OwnWordsParams(
            *super().init(summary, table),
            np.full(table.shape[1], FIRST if self.known is None else self.known),
        )

    def expect(  # type: ignore[override]  # parameters and statistics have more fields
        self,
        params: OwnWordsParams,
        rows: AspectRows,
        block: Block,
        temperature: float,
        k: Kernels,
    ) -> Expected[AspectRows, OwnWordsStats]:
        """Q(a|x,y) ~ [(1-g) P(a|x) P(y|a)]^b, Q(own|x,y) ~ [g m(x,y)]^b; energy -T sum n log z.

        The first token of a count has no Q(own|x,y) (eqs. 5, 6).
        """
        U, V = self._tables(params, rows, temperature, k)  # type: ignore[arg-type]
        sums = k.pair(block, U, V, self._rest(params, rows, block, temperature, k))
        heavy = block.row_totals * block.weight
        # z is that of P(x,y) of the aspects alone, so (1-g) and the scale of each row are put back.
        scale = self._scale(params, rows)
        scale = np.divide(scale, heavy, out=np.ones_like(heavy), where=(heavy > 0) & (scale > 0))
        open_tokens = float(heavy @ block.repeating)
        energy = float(heavy @ np.log(scale)) - open_tokens * float(np.log1p(-_weight(params)))
        K = len(params.own)
        stats = OwnWordsStats(sums.columns, np.full(K, sums.rest / K), np.full(K, open_tokens / K))
        return Expected(AspectRows(sums.rows), stats, energy - temperature * sums.log_z)

    def maximize(  # type: ignore[override]
        self, stats: OwnWordsStats, params: OwnWordsParams, temperature: float, k: Kernels
    ) -> tuple[OwnWordsParams, float]:
        """As `Aspect` for the tokens that are of topics; g is the share of the others (eq. 7)."""
        reached, _ = super().maximize(stats, params, temperature, k)  # type: ignore[arg-type]
        own, might = float(stats.own.sum()), float(stats.open.sum())
        g = min(own / might, 1.0 - LEAST) if might > 0 else 0.0
        g = g if self.known is None else self.known
        total = float(reached.row_mass.sum()) + own
        return OwnWordsParams(*reached, np.full(len(stats.own), g)), _of_rows(total)

    def prior_energy(self, params: OwnWordsParams, summary: Summary) -> float:  # type: ignore[override]
        """What the weights of rows, of which blocks do not know the sum, add to the energy."""
        return _of_rows(summary.total)

    def project(  # type: ignore[override]
        self, relaxed: OwnWordsParams, reached: OwnWordsParams
    ) -> OwnWordsParams:
        """As `Aspect`, with g at most nine tenths of the way to 0 and to 1."""
        valid = super().project(relaxed, reached)  # type: ignore[arg-type]
        own = np.clip(relaxed.own, 0.1 * reached.own, 1.0 - 0.1 * (1.0 - reached.own))
        return OwnWordsParams(*valid, own)

    def predicted(
        self, params: OwnWordsParams, rows: AspectRows, block: Block, k: Kernels
    ) -> Array:
        """P(y|x) = (1-g) sum_a P(a|x) P(y|a) + g m(x,y), (nnz,), of tokens that may be repeats."""
        topics, repeats = self._parts(params, rows, block, k)
        return np.asarray(topics + repeats)

    def log_likelihood(
        self, params: OwnWordsParams, rows: AspectRows, block: Block, k: Kernels
    ) -> float:
        """Sum of n log P(y|x) over the tokens of a block, the first of each word apart."""
        topics, repeats = self._parts(params, rows, block, k)
        first, both = floored_log(topics), floored_log(topics + repeats)
        again = block.again * np.repeat(block.weight, np.diff(block.indptr))
        return float(block.weighted @ first + again @ (both - first))

    def _parts(
        self, params: OwnWordsParams, rows: AspectRows, block: Block, k: Kernels
    ) -> tuple[Array, Array]:
        """What topics and repeats are in P(y|x), (nnz,) both; all topics where none may repeat."""
        own = np.where(block.repeating, _weight(params), 0.0)
        own = np.repeat(own, np.diff(block.indptr))
        topics = super().predicted(params, rows, block, k)  # type: ignore[arg-type]
        return np.asarray((1.0 - own) * topics), np.asarray(own * block.repeats)

    def _scale(self, params: OwnWordsParams, rows: AspectRows) -> Array:
        """Sum over the aspects of P(a) P(x|a), (I,) float64."""
        by = params.weight * inverse(params.row_mass)
        return np.asarray(np.einsum("ia,a->i", rows.table, by))

    def _rest(
        self,
        params: OwnWordsParams,  # type: ignore[override]
        rows: AspectRows,
        block: Block,
        temperature: float,
        k: Kernels,
    ) -> Array:
        """[g / (1-g) P(x) m(x,y)]^b, (nnz,), for P(x) as the aspects have it."""
        beta, g = 1.0 / temperature, _weight(params)
        row = (g / (1.0 - g) * self._scale(params, rows)) ** beta
        shares = k.power(block.repeats[:, None], beta, np.zeros(1))[:, 0]
        found: Array = shares * np.repeat(row, np.diff(block.indptr)).astype(k.dtype)
        return found


def _weight(params: OwnWordsParams) -> float:
    """The weight of own words."""
    return min(float(params.own[0]), 1.0 - LEAST)


def _of_rows(total: float) -> float:
    """N log N of so many tokens."""
    return total * float(np.log(total)) if total > 0 else 0.0
