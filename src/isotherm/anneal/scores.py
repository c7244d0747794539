"""Perplexity, defined once: natural logarithm, per token, of held-out tokens.

Two ways to hold tokens out. *Token-held-out*: some tokens of each row are given, others of the same
row are predicted. *Document completion*: the same with a half-and-half split of rows that the model
never saw. Either way the row's mixture weights come from the given tokens by folding in, and
P(y|x) is mixed with a little of the smoothed unigram distribution, because estimates contain zeros.
"""

from __future__ import annotations

import numpy as np

from isotherm._types import Params
from isotherm.anneal.fold import fold_in
from isotherm.anneal.heldout import SMOOTHING, log_likelihood
from isotherm.anneal.trace import State
from isotherm.data.base import Array
from isotherm.data.counts import Counts
from isotherm.data.split import hold_out_tokens
from isotherm.errors import IsothermError
from isotherm.kernels.base import Kernels
from isotherm.models.base import CountModel
from isotherm.placement.local import Local


def completion_halves(counts: Counts, seed: int = 0) -> tuple[Counts, Counts]:
    """Given and held-out half of the tokens of every row, (I, J) each."""
    return hold_out_tokens(counts, 0.5, seed)


def heldout_log_likelihood(
    model: CountModel,
    params: Params,
    temperature: float,
    given: Counts | Local,
    held: Counts,
    background: Array,
    kernels: Kernels,
    smoothing: float = SMOOTHING,
) -> tuple[float, float]:
    """Log-likelihood of held-out tokens and their number, rows folded in from given tokens.

    Parameters
    ----------
    model, params, temperature : a fit
    given, held : Counts, (I, J)
        Two parts of the same rows; the first may be placed already.
    background : (J,) array
        Distribution mixed into the predictions.
    kernels : Kernels
    smoothing : float
        Share of the background.
    """
    data = given if isinstance(given, Local) else Local.place(given, kernels)
    shape = (sum(block.n_rows for block in data.blocks), data.blocks[0].n_columns)
    if shape != held.shape:
        raise IsothermError(
            f"given tokens have shape {shape}, held-out tokens {held.shape}; "
            "both parts need the same rows and columns"
        )
    rows = fold_in(model, params, data, temperature)
    state = State(params, rows, 0.0)
    return log_likelihood(model, state, data.beside(held), background, smoothing)


def perplexity(total: float, tokens: float) -> float:
    """exp(-log-likelihood per token); NaN where there is no token."""
    return float(np.exp(-total / tokens)) if tokens else float("nan")
