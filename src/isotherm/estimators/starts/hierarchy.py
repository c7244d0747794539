"""Where a hierarchy begins: clusters that grew into a tree, or clusters put on a given one."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import pdist

from isotherm.anneal.callbacks import Callback, GenerationRule, HeldoutRule, time_is_up
from isotherm.anneal.engine import Annealer
from isotherm.anneal.growth.grow import Growth
from isotherm.anneal.growth.prune import without_copies
from isotherm.anneal.heldout import Heldout
from isotherm.anneal.schedule import Exponential
from isotherm.anneal.start import Noisy, Spectral, state_of
from isotherm.anneal.trace import Fit, Outcome
from isotherm.data.base import Array
from isotherm.data.counts import Counts, as_counts
from isotherm.data.split import hold_out_tokens
from isotherm.models.cluster import Cluster
from isotherm.placement.base import Data
from isotherm.tree import Tree

# Cooling of a growing run, and the relative rise of the held-out score that ends any.
RATE, MUCH = 0.95, 0.1
NEVER = 1 << 30
# A tempered prior must lower the held-out score by this share.
CLEARLY = 0.01


class Clusters(NamedTuple):
    """Tree with a cluster for each leaf: `weight` (K,), `table` (J, K), and the run they are from.

    `temperature` is where the clusters were found, `fit` the run.
    """

    tree: Tree
    weight: Array
    table: Array
    temperature: float
    fit: Fit

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped the run."""
        return self.fit.outcome is Outcome.INTERRUPTED


class Reached(Callback):
    """Stop a growing run that has so many components."""

    def __init__(self, n_components: int) -> None:
        self.n_components = n_components

    def on_temperature(self, fit: Fit) -> bool:
        """Whether there are enough."""
        return fit.trace[-1].n_components >= self.n_components


def grown(
    n_components: int | None,
    max_components: int,
    engine: Annealer,
    data: Data,
    heldout: Heldout | None,
    rng: np.random.Generator,
    temper_prior: bool | str,
    patience: int,
) -> Clusters:
    """Clusters that split at their critical temperatures, and the tree of their splits.

    Parameters
    ----------
    n_components : int, optional
        Grow to so many if the data let it; None as many as predict best, at most
        `max_components`.
    max_components : int
    engine : Annealer
        Settings of the sweeps, and callbacks.
    data, heldout, rng
    temper_prior : bool or "auto"
        "auto" tempers P(c) only if that predicts clearly better.
    patience : int
        Generations of splits without improvement before the growth stops.
    """
    limit = n_components or max_components
    rules: list[Callback] = [Reached(limit)]
    if heldout is not None:
        wait = NEVER if n_components else patience
        much = MUCH if n_components else GenerationRule.much
        rules.append(GenerationRule(wait, much=much, limit=limit))
    annealer = dataclasses.replace(
        engine,
        schedule=Exponential(RATE, end=1.0, margin=1.0),
        start=Noisy(),
        growth=Growth(limit),
        callbacks=[*engine.callbacks, *rules],
    )
    priors = (False, True) if temper_prior == "auto" else (bool(temper_prior),)
    if heldout is None:
        priors = priors[-1:]
    fits = []
    for prior in priors:
        fits.append(annealer.run(Cluster(1, temper_prior=prior), data, rng, heldout=heldout))
        broken_off = fits[-1].outcome is Outcome.INTERRUPTED or time_is_up(engine.callbacks)
        if broken_off:
            break
    plain, other = fits[0], fits[-1]
    fit = other if _lowest(other) < (1.0 - CLEARLY) * _lowest(plain) else plain
    fit = dataclasses.replace(fit, outcome=other.outcome)
    model, params, temperature, tree = fit.model, fit.state.params, fit.temperature, fit.tree
    if n_components:
        # The most that it came to: a hierarchy gains from leaves that clusters alone do not.
        step = max(fit.path, key=lambda step: step.n_components)
        model, params, temperature, tree = step.model, step.params, step.temperature, step.tree
        state = state_of(model, data, params)
        fit = dataclasses.replace(fit, model=model, state=state, temperature=temperature, tree=tree)
    if broken_off:
        fit = without_copies(annealer, fit, data)
        model, params, temperature, tree = fit.model, fit.state.params, fit.temperature, fit.tree
    weight, table = model.components(params)
    assert tree is not None
    return Clusters(tree, weight, table, temperature, fit)


def _lowest(fit: Fit) -> float:
    return min(record.heldout for record in fit.trace)


def put_on(
    tree: Tree,
    engine: Annealer,
    data: Data,
    heldout: Heldout | None,
    rng: np.random.Generator,
    temper_prior: bool | str,
    patience: int,
) -> Clusters:
    """Annealed clusters, put on the leaves of a given tree so that like ones are neighbours."""
    K = tree.n_leaves
    rules: list[Callback] = [] if heldout is None else [HeldoutRule(patience)]
    annealer = dataclasses.replace(
        engine,
        schedule=Exponential(0.93, end=1.0, margin=0.6),
        start=Spectral(size=1.0),
        callbacks=[*engine.callbacks, *rules],
    )
    fit = annealer.run(
        Cluster(K, temper_prior=temper_prior is not False), data, rng, heldout=heldout
    )
    weight, table = fit.model.components(fit.state.params)
    # Leaves as a walk through the tree meets them get the clusters in an order of likeness.
    walk = np.argsort([_address(tree, leaf) for leaf in tree.leaves], kind="stable")
    order = np.empty(K, np.intp)
    order[walk] = _in_order(table)
    return Clusters(tree, weight[order], table[:, order], fit.temperature, fit)


def in_two(counts: Counts, fraction: float, seed: int) -> Counts:
    """Counts (I, 2J): the tokens of every row less some of them, and these in further columns."""
    rest, extra = hold_out_tokens(counts, fraction, seed)
    both = sparse.csr_array(sparse.hstack([rest.matrix, extra.matrix]))
    return as_counts(both, allow_empty=True)


def _address(tree: Tree, leaf: int) -> int:
    """Place of a leaf in a walk that visits every branch as a whole."""
    order: dict[int, int] = {}
    stack = [0]
    while stack:
        node = stack.pop()
        order[node] = len(order)
        stack.extend(reversed(tree.children(node)))
    return order[leaf]


def _in_order(table: Array) -> Array:
    """Components (J, K) in an order in which neighbours are alike, by Hellinger distance."""
    if table.shape[1] < 3:
        return np.arange(table.shape[1])
    distance = pdist(np.sqrt(table.T.astype(np.float64)))
    joined: Array = linkage(distance, "average", optimal_ordering=True)
    return np.asarray(leaves_list(joined))
