"""Perplexity of whole unseen rows.

Here no token of a row is given: a row is scored by its density under the model. Which density that
is must be said with the figure: a mixture over clusters (or over training rows, as for pLSI), or a
lower bound of an integral over mixtures (LDA). Natural logarithm, per token; empty rows are left
out; infinite where a row is impossible.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from isotherm._types import Params
from isotherm.anneal.fold import fold_in
from isotherm.anneal.scores import perplexity
from isotherm.data.base import Array, Block
from isotherm.data.counts import as_counts
from isotherm.errors import IsothermError
from isotherm.kernels.base import Kernels
from isotherm.kernels.cpu.backend import Cpu
from isotherm.kernels.reference import floored_log
from isotherm.models.lda import Lda, LdaRows
from isotherm.placement.base import Expected
from isotherm.placement.local import Local

# Entries of rows x clusters that are held at a time.
SPAN = 4_000_000
# Sums to one within this.
SUM = 1e-6


def row_perplexity(counts: object, densities: Array) -> float:
    """exp(-sum log p(x) / sum n(x)) over the rows that have counts.

    Parameters
    ----------
    counts : Counts or array-like, (I, J)
    densities : (I,)
        log p(x), or a lower bound of it, of each row.
    """
    totals = as_counts(counts, allow_empty=True).row_totals
    filled = totals > 0
    return perplexity(float(densities[filled].sum()), float(totals.sum()))


def mixture_densities(counts: object, log_weights: Array, means: Array) -> Array:
    """Log densities log sum_m exp(log_weights_m + sum_y n(x,y) log means_my) (I,).

    Parameters
    ----------
    counts : Counts or array-like, (I, J)
    log_weights : (M,)
    means : (M, J)
        Not necessarily distributions (a bound has less than that).
    """
    data = Local.place(as_counts(counts, allow_empty=True), Cpu("float64"))
    logs, missing = floored_log(np.asarray(means, np.float64)).T, np.asarray(means) == 0
    found, n_rows = [], max(1, SPAN // len(log_weights))
    block = data.blocks[0]
    for lo in range(0, block.n_rows, n_rows):
        part = block.take(np.arange(lo, min(lo + n_rows, block.n_rows)))
        scores = data.kernels.times(part, logs) + log_weights
        if missing.any():
            scores[data.kernels.times(part, missing.T) > 0] = -np.inf
        found.append(logsumexp(scores, axis=1))
    return np.concatenate(found)


def lda_document_bounds(
    counts: object, components: Array, concentration: object, *, rounds: int = 100
) -> Array:
    """Lower bound of log p(x) under LDA with the given topics, (I,).

    max over q of -KL(Dir(gamma_x) || Dir(concentration)) + sum_y n log sum_k beta_ky exp(E log
    theta_xk), topics as point estimates. scikit-learn's `perplexity` is another quantity: it
    includes what the distributions of the topics cost, which swamps a small set of rows.

    Parameters
    ----------
    counts : Counts or array-like, (I, J)
    components : (K, J)
        Topics, rows sum to one.
    concentration : float or (K,)
        Parameters of the Dirichlet prior.
    rounds : int
        Most rounds of the fixed point; each row stops by itself.
    """
    table = _distributions("components", components)
    lam = np.broadcast_to(np.asarray(concentration, np.float64), (len(table),))
    if not (np.isfinite(lam).all() and (lam > 0).all()):
        raise IsothermError(
            f"concentration={concentration!r}; it must be a number above 0, or one per topic",
            parameter="concentration",
        )
    model = Lda(len(table), lam=tuple(lam.tolist()))
    data = Local.place(as_counts(counts, allow_empty=True), Cpu("float64"))
    params = model.init(data.summary, table.T)
    rows = fold_in(model, params, data, 1.0, tol=1e-6, max_sweeps=rounds)
    found, _, _ = data.sweep(_lda_bounds, rows, model, params)
    missing = (table == 0).all(axis=0)[:, None]
    impossible = data.kernels.times(data.blocks[0], missing)[:, 0] > 0
    return np.where(impossible, -np.inf, np.concatenate(found))


def plsi_perplexity(
    counts: object, row_weights: Array, components: Array, shares: object = None
) -> float:
    """Perplexity of unseen rows under pLSI as Blei, Ng & Jordan 2003 define it.

    p(x) = sum_d p(d) prod_y (sum_k P(k|d) P(y|k))^n over training rows d.

    Parameters
    ----------
    counts : Counts or array-like, (I, J)
    row_weights : (D, K)
        P(k|d) of the training rows.
    components : (K, J)
        P(y|k).
    shares : (D,), optional
        p(d); equal by default.
    """
    weights = _distributions("row_weights", row_weights)
    table = _distributions("components", components)
    p = np.full(len(weights), 1.0) if shares is None else np.asarray(shares, np.float64)
    logs = floored_log(p / p.sum())
    filled = p > 0
    return row_perplexity(counts, mixture_densities(counts, logs[filled], weights[filled] @ table))


def unigram_perplexity(counts: object, column_totals: Array, smooth: float = 0.0) -> float:
    """Perplexity of unseen rows under one distribution, (n(y) + smooth) normalised."""
    smoothed = np.asarray(column_totals, np.float64) + smooth
    return row_perplexity(
        counts, mixture_densities(counts, np.zeros(1), (smoothed / smoothed.sum())[None])
    )


def _lda_bounds(k: Kernels, block: Block, rows: LdaRows, model: Lda, params: Params) -> Expected:
    return Expected(model.bounds(params, rows, block, k), (), 0.0)


def _distributions(name: str, table: object) -> Array:
    """A table (K, J) in double precision whose rows sum to one."""
    found = np.asarray(table, np.float64)
    if found.ndim != 2 or not (found >= 0).all() or (np.abs(found.sum(axis=1) - 1) > SUM).any():
        raise IsothermError(
            f"{name} of shape {found.shape} has rows that are no distributions; every row must be "
            "non-negative and sum to 1"
        )
    return found
