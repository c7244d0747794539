"""The columns of Table 2 of Hofmann & Puzicha (1998): how each model is fitted, what is expected.

Every column is a function from a fold and a number of components to a model and its fit, with the
temperature (and the sweep) chosen on the validation tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from isotherm import Counts, Exponential, Fixed, Grid, HeldoutRule, Noisy, Spectral, split_tokens
from isotherm.anneal.engine import NO_RELAXATION, Annealer, Relaxation
from isotherm.anneal.growth.grow import Growth
from isotherm.anneal.heldout import HeldoutTokens
from isotherm.anneal.start import state_of
from isotherm.anneal.trace import Fit, State
from isotherm.estimators.starts.two_sided import Heating, OneSidedFits
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.aspect import Aspect
from isotherm.models.cluster import Cluster
from isotherm.models.hierarchy import Hierarchy
from isotherm.models.leave_one_out import AspectLeaveOneOut, ClusterLeaveOneOut
from isotherm.models.two_sided import TwoSided
from isotherm.placement.local import Local

SIZES = (16, 32, 64, 128)


class Cell(NamedTuple):
    """Perplexity over that of the unigram model, and 1/T."""

    ratio: float
    beta: float

    def __str__(self) -> str:
        return f"{self.ratio:.3f} ({self.beta:.2f})"


class Fold(NamedTuple):
    """Tokens split 80/10/10: placed training tokens, the others beside them."""

    train: Counts
    data: Local
    valid: HeldoutTokens
    test: HeldoutTokens
    unigram: float
    seed: int

    def run(self, annealer: Annealer, model: Any, state: State | None = None) -> Fit:
        """Fit of a model, chosen on the validation tokens."""
        rng = np.random.default_rng(self.seed)
        return annealer.run(model, self.data, rng, heldout=self.valid, state=state)

    def ratio(self, fit: Fit) -> float:
        """Perplexity of the test tokens over that of the unigram model."""
        return self.test.score(fit.model, fit.state, self.data, fit.temperature) / self.unigram


def fold_of(counts: Counts, seed: int) -> Fold:
    """One split of the tokens."""
    train, valid, test = split_tokens(counts, (0.8, 0.1, 0.1), seed)
    data = Local.place(train, Cpu())
    beside = (HeldoutTokens(data.beside(part)) for part in (valid, test))
    return Fold(train, data, *beside, unigram_perplexity(train, test), seed)


def unigram_perplexity(train: Counts, test: Counts) -> float:
    """Perplexity of the test tokens under the distribution of the training tokens, smoothed."""
    p = train.column_totals / train.total
    smooth = (train.column_totals + 0.5) / (train.total + 0.5 * train.n_columns)
    mixed = (1 - 1e-3) * p + 1e-3 * smooth
    return float(np.exp(-(test.column_totals @ np.log(mixed)) / test.total))


class Column(NamedTuple):
    """One model of the table: figures of the paper, of separate programs, and how to fit it."""

    paper: dict[int, Cell]
    expected: dict[int, Cell]
    fit: Callable[[Fold, int], Fit]


def cells(*pairs: tuple[float, float]) -> dict[int, Cell]:
    """Cells for 16, 32, ... components."""
    return {k: Cell(*pair) for k, pair in zip(SIZES, pairs, strict=False)}


# ---------------------------------------------------------------- how each model is fitted


def aspect(fold: Fold, k: int) -> Fit:
    """Cooled to the temperature that predicts best."""
    annealer = Annealer(
        Exponential(0.95, margin=0.85),
        relaxation=Relaxation(cap=3.0),
        start=Spectral(),
        tol=1e-4,
        callbacks=(HeldoutRule(3),),
    )
    return fold.run(annealer, Aspect(k, temper_prior=True))


# Early-stopped: a temperature is left when the validation score rises.
EARLY_STOPPED = Annealer(
    Exponential(0.93, margin=0.6),
    relaxation=NO_RELAXATION,
    start=Spectral(size=1.0),
    tol=1e-4,
    check_every=2,
    callbacks=(HeldoutRule(3),),
)


def one_sided(fold: Fold, k: int) -> Fit:
    """Cooled, early-stopped."""
    return fold.run(EARLY_STOPPED, Cluster(k, 0.05 * fold.train.total / k, temper_prior=True))


def one_sided_leave_one_out(fold: Fold, k: int) -> Fit:
    """The same with a leave-one-out E-step."""
    model = ClusterLeaveOneOut(k, 0.05 * fold.train.total / k, temper_prior=True)
    return fold.run(EARLY_STOPPED, model)


def hierarchical(fold: Fold, k: int) -> Fit:
    """On the tree of clusters that grew to this number, every row with weights of its own.

    These overfit within a few sweeps: the validation score is looked at after each.
    """
    growing = Annealer(
        Exponential(0.95, end=5.0),
        relaxation=Relaxation(cap=3.0),
        tol=1e-4,
        growth=Growth(max_components=k),
    )
    grown = fold.run(growing, Cluster(1, 0.05 * fold.train.total, temper_prior=True)).path[-1]
    tree, (weight, table) = grown.tree, grown.model.components(grown.params)
    model = Hierarchy(tree.parents, tree.leaves, weights="full", temper_prior=True)
    state = state_of(model, fold.data, model.begun(weight, table, fold.data.summary.total))
    temperatures = Grid((12.0, 10.0, 8.0, 6.5, 5.0, 4.0))
    return fold.run(Annealer(temperatures, NO_RELAXATION, check_every=1), model, state)


def two_sided(fold: Fold, k: int) -> Fit:
    """As many clusters of columns as of rows: from two one-sided fits, heated."""
    annealer = Annealer(
        Heating(), NO_RELAXATION, start=OneSidedFits(), tol=1e-4, callbacks=(HeldoutRule(3),)
    )
    return fold.run(annealer, TwoSided(k, temper_prior=True))


COLUMNS = {
    "aspect": Column(
        cells((0.629, 0.85), (0.564, 0.83), (0.526, 0.79), (0.515, 0.78)),
        cells((0.607, 0.84), (0.545, 0.80), (0.513, 0.77), (0.489, 0.77)),
        aspect,
    ),
    "one-sided": Column(
        cells((0.704, 0.07), (0.660, 0.07), (0.769, 0.06), (0.968, 0.04)),
        cells((0.707, 0.09), (0.684, 0.09), (0.669, 0.08), (0.677, 0.10)),
        one_sided,
    ),
    "one-sided, leave-one-out": Column(
        cells((0.704, 0.07), (0.660, 0.07), (0.769, 0.06), (0.968, 0.04)),
        cells((0.678, 0.13), (0.637, 0.13), (0.599, 0.13), (0.585, 0.13)),
        one_sided_leave_one_out,
    ),
    "hierarchical": Column(
        cells((0.688, 0.14), (0.639, 0.12), (0.616, 0.11), (0.599, 0.10)),
        cells((0.649, 0.12), (0.622, 0.12), (0.591, 0.12), (0.564, 0.20)),
        hierarchical,
    ),
    # Separate programs were not run with 128 clusters.
    "two-sided": Column(
        cells((0.793, 0.60), (0.739, 0.53), (0.696, 0.48), (0.674, 0.45)),
        cells((0.757, 0.38), (0.705, 0.38), (0.667, 0.31)),
        two_sided,
    ),
}


# ---------------------------------------------------------------- what leaving out is worth

# Test perplexity of early-stopped aspects, K = 64, without and with it, by 1/T.
LEFT_OUT = {1.0: (440, 427), 0.9: (371, 350), 0.8: (318, 312)}


def leave_one_out_effect(fold: Fold) -> list[dict[str, Any]]:
    """Test perplexity of early-stopped aspects with the paper's prior, by 1/T."""
    rows = []
    for beta, (plain, left_out) in LEFT_OUT.items():
        annealer = Annealer(Fixed(1 / beta), NO_RELAXATION, start=Noisy(0.5), check_every=1)
        found = [
            fold.ratio(fold.run(annealer, model)) * fold.unigram
            for model in (Aspect(64), AspectLeaveOneOut(64))
        ]
        rows.append(
            {"K": 64, "1/T": beta, "plain": found[0], "leave-one-out": found[1]}
            | {"separate plain": plain, "separate leave-one-out": left_out}
        )
    return rows
