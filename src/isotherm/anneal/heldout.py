"""Held-out scores that steer an annealing run: lower is better, per token.

`HeldoutTokens` is Hofmann's validation perplexity (tokens of the same rows); `HeldoutRows` is
Choi's total perplexity (unseen documents under a document-level density).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from isotherm._types import Params, RowStates
from isotherm.anneal.fold import FOLD_SWEEPS, FOLD_TOL, fold_block
from isotherm.anneal.trace import State
from isotherm.data.base import Array, Block, Summary
from isotherm.kernels.base import Kernels
from isotherm.kernels.reference import floored_log
from isotherm.models.base import CountModel
from isotherm.placement.base import Data, Expected

# Share of the smoothed unigram distribution mixed into predictions (maximum likelihood estimates
# contain zeros).
SMOOTHING = 1e-3


class Heldout(Protocol):
    """A held-out score."""

    @property
    def size(self) -> float:
        """Number of held-out tokens: how much a difference of scores means."""
        ...

    def score(self, model: CountModel, state: State, data: Data, temperature: float) -> float:
        """Score of a state fitted to `data`; lower is better."""
        ...


class _Tokens(NamedTuple):
    tokens: Array


def smoothed_unigram(summary: Summary) -> Array:
    """p0(y) = (n(y) + 1/2) / (N + J/2), (J,)."""
    totals = summary.column_totals
    return np.asarray((totals + 0.5) / (summary.total + 0.5 * len(totals)))


def log_likelihood(
    model: CountModel, state: State, held: Data, background: Array, smoothing: float
) -> tuple[float, float]:
    """Sum of log P(y|x) over the tokens of `held`, and the number of tokens.

    `held` has the rows of the state. P(y|x) is mixed with `smoothing` parts of `background` (J,).
    """
    _, stats, total = held.sweep(_predict, state.rows, model, state.params, background, smoothing)
    return total, float(stats.tokens)


@dataclass(frozen=True)
class HeldoutTokens:
    """Perplexity of held-out tokens of the training rows exp(-sum m log P(y|x) / sum m).

    Parameters
    ----------
    held : Data
        Placed beside the training data: same rows, same blocks.
    smoothing : float
    """

    held: Data
    smoothing: float = SMOOTHING

    @property
    def size(self) -> float:
        """Number of held-out tokens."""
        return float(self.held.summary.total)

    def score(self, model: CountModel, state: State, data: Data, temperature: float) -> float:
        """Perplexity, of the model tuned by these tokens."""
        model, params = self.tuned(model, state, data)
        return self._perplexity(model, state._replace(params=params), data)

    def tuned(self, model: CountModel, state: State, data: Data) -> tuple[CountModel, Params]:
        """Model and parameters with what only held-out tokens can tell."""
        return model.tuned(
            state.params,
            lambda params: self._perplexity(model, state._replace(params=params), data),
        )

    def _perplexity(self, model: CountModel, state: State, data: Data) -> float:
        background = smoothed_unigram(data.summary)
        total, tokens = log_likelihood(model, state, self.held, background, self.smoothing)
        return float(np.exp(-total / tokens))


@dataclass(frozen=True)
class HeldoutRows:
    """Choi's total perplexity of unseen rows and training rows, per token.

    exp(-(train_weight L_train / n_train + test_weight L_test / n_test)), where L is the log density
    of whole rows: training rows under their own weights, unseen rows under `density`.

    Parameters
    ----------
    held : Data
        Unseen rows, same columns.
    train_weight, test_weight : float
        The weights a and b of the thesis (eq. 4.14), applied per token.
    density : {"prior", "fold-in", "best"}
        Mean training weights, weights folded in at the current temperature, or the best topic.
    per_token : bool
        False weighs the parts by their numbers of tokens, as the thesis's raw sums do.
    """

    held: Data
    train_weight: float = 0.0
    test_weight: float = 1.0
    density: str = "prior"
    per_token: bool = True

    @property
    def size(self) -> float:
        """Number of held-out tokens."""
        return float(self.held.summary.total)

    def score(self, model: CountModel, state: State, data: Data, temperature: float) -> float:
        """Total perplexity; infinite where an unseen row is impossible."""
        score, share = 0.0, self._shares(data)
        if self.test_weight:
            density = self.log_density(model, state.params, temperature)
            score += self.test_weight * share * density
        if self.train_weight:
            _, stats, train = data.sweep(_own_density, state.rows, model, state.params)
            score += self.train_weight * (2.0 - share) * train / float(stats.tokens)
        return float(np.exp(-score)) if np.isfinite(score) else float("inf")

    def _shares(self, data: Data) -> float:
        """Weight of the held-out part: 1 per token, or by its share of all tokens (sum 2)."""
        if self.per_token:
            return 1.0
        held, kept = float(self.held.summary.total), float(data.summary.total)
        return 2.0 * held / (held + kept)

    def log_density(self, model: CountModel, params: Params, temperature: float) -> float:
        """Log density per token of the held-out rows; minus infinity where one is impossible."""
        weight, _ = model.components(params)
        _, stats, total = self.held.sweep(
            DENSITIES[self.density], self.held.no_rows, model, params, weight, temperature
        )
        tokens = float(stats.tokens)
        return total / tokens if tokens else 0.0


def _predict(
    k: Kernels,
    block: Block,
    rows: RowStates,
    model: CountModel,
    params: Params,
    background: Array,
    smoothing: float,
) -> Expected[RowStates, _Tokens]:
    p = model.predicted(params, rows, block, k)
    if smoothing:
        p = (1.0 - smoothing) * p + smoothing * background[block.indices]
    heavy = block.values * block.weight[block.row_of]
    return Expected(
        rows, _Tokens(np.asarray(heavy.sum(dtype=np.float64))), float(heavy @ floored_log(p))
    )


def _row_density(
    k: Kernels,
    block: Block,
    rows: object,
    model: CountModel,
    params: Params,
    weight: Array,
    temperature: float,
) -> Expected[tuple[()], _Tokens]:
    """Sum of log sum_k pi_k L_ik."""
    with np.errstate(divide="ignore"):
        return _density(k, block, model, params, np.log(weight), False)


def _best_density(
    k: Kernels,
    block: Block,
    rows: object,
    model: CountModel,
    params: Params,
    weight: Array,
    temperature: float,
) -> Expected[tuple[()], _Tokens]:
    """Sum of max_k log L_ik."""
    return _density(k, block, model, params, np.zeros(len(weight)), True)


def _folded_density(
    k: Kernels,
    block: Block,
    rows: object,
    model: CountModel,
    params: Params,
    weight: Array,
    temperature: float,
) -> Expected[tuple[()], _Tokens]:
    """Sum of log sum_k psi_ik L_ik with psi folded in at the current temperature."""
    folded = fold_block(k, block, (), model, params, temperature, FOLD_TOL, FOLD_SWEEPS).rows
    return _own_density(k, block, folded, model, params)


def _own_density(
    k: Kernels, block: Block, rows: object, model: CountModel, params: Params
) -> Expected[tuple[()], _Tokens]:
    """Sum of log sum_k psi_ik L_ik with the rows' own weights."""
    return _density(
        k, block, model, params, floored_log(model.mixture(params, rows).weights), False
    )


def _density(
    k: Kernels, block: Block, model: CountModel, params: Params, prior: Array, hard: bool
) -> Expected[tuple[()], _Tokens]:
    _, table = model.components(params)
    logs = k.logs(table, 1.0)
    total = k.row(block, logs, prior, hard=hard).log_z
    missing = table == 0
    if missing[np.unique(block.indices)].any():
        # How many impossible words the most lenient component finds in each row.
        strikes = k.row(
            block, -missing.astype(k.dtype), np.where(np.isfinite(prior), 0.0, prior), True
        )
        total = total if strikes.log_z == 0 else -np.inf
    tokens = float(block.row_totals @ block.weight)
    return Expected((), _Tokens(np.asarray(tokens)), total)


DENSITIES = {"prior": _row_density, "fold-in": _folded_density, "best": _best_density}
