"""Words by how much they tell of a component, rather than by how frequent they are in it.

What a word tells of a component is read from the rows: is it prominent in the rows of the
component, and is it not in the others? Tables of counts alone cannot say so. There a word that two
rows repeat all the time looks like one that all rows have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isotherm import _nested
from isotherm._types import Params, RowStates
from isotherm.data.base import Array, Block
from isotherm.kernels.base import Kernels
from isotherm.models.base import CountModel
from isotherm.placement.base import Data, Expected
from isotherm.tree import Tree

if TYPE_CHECKING:
    from isotherm.estimators.counts import CountEstimator

# Tables with a smaller L1 distance, as a share of their sum, are taken for the same.
SAME = 0.02
# Rows of doubt in what is expected: what is in one row alone may be there by chance.
DOUBT = 0.5


class Prominence(NamedTuple):
    """How prominent columns are, from 0 in rows that do not have them to 1.

    `table` (K, J) are sums over the rows of components, `rows` (K,) the mass of these, `overall`
    (J,) means over all rows.
    """

    table: Array
    rows: Array
    overall: Array


class _Sums(NamedTuple):
    columns: Array
    mass: Array


def prominence(data: Data, model: CountModel, params: Params, rows: RowStates) -> Prominence:
    """How prominent each column is in the rows of each component; one sweep.

    In a row that is n / (n + e), where n is the count of the column and e what all counts let one
    expect of a row that long: a rare word is prominent wherever it is, a frequent one where a row
    has more of it than others. Rows count by the square of P(k|x): those that are about little else
    say most.
    """
    usual = data.summary.column_totals / max(float(data.summary.total), 1e-300)
    _, sums, _ = data.sweep(_block_sums, rows, model, params, usual)
    table = np.asarray(sums.columns.T, np.float32)
    mass = np.asarray(sums.mass, np.float64)
    overall = table[-1] / np.float32(max(mass[-1], 1e-300))
    return Prominence(np.ascontiguousarray(table[:-1]), mass[:-1], overall)


def _block_sums(
    k: Kernels, block: Block, rows: RowStates, model: CountModel, params: Params, usual: Array
) -> Expected:
    weights = model.mixture(params, rows).weights
    if weights.shape[1] != model.n_components:
        weights = rows.posterior  # in a hierarchy rows mix nodes, and belong to leaves
    weights = np.asarray(_nested.on_host(weights), np.float64)
    values = np.asarray(_nested.on_host(block.values), np.float64)
    expected = block.row_totals[block.row_of] * usual[block.indices]
    more = np.divide(values, values + expected, out=np.zeros_like(values), where=values > 0)
    member = np.column_stack([weights**2, np.ones(len(weights))])
    sums = k.transposed_times(block.with_values(more), member)
    return Expected((), _Sums(np.asarray(_nested.on_host(sums)), block.weight @ member), 0.0)


def told_by(model: CountEstimator) -> Array:
    """How much each word tells of each component of a fitted model, (K, J); see `scores`."""
    if not hasattr(model, "prominence_"):
        return telling(model.components_, model.background_, model.components_)
    seen = model.prominence_, model.prominence_rows_
    return scores(*seen, model.prominence_overall_, model.components_)


def told_of_nodes(model: CountEstimator, tree: Tree) -> Iterator[Array]:
    """How much each word tells of every node of a tree, (J,) each, parents before their children.

    The words of a node tell it from the rest of what is below the node above it, and from all rows
    as well: what is frequent everywhere tells nothing. Those of the root are the frequent ones; in
    a hierarchy, of the root alone.
    """
    own = getattr(model, "node_components_", None)
    for node, parent in enumerate(tree.parents):
        shown = mean_of(model.components_, model.weights_, tree.components_below(node))
        if parent < 0:
            yield shown if own is None else own[node]
            continue
        below, above = (list(tree.components_below(one)) for one in (node, parent))
        if not hasattr(model, "prominence_"):
            over = mean_of(model.components_, model.weights_, above)
            yield telling(shown[None], model.background_, shown[None], over)[0]
            continue
        table, rows = model.prominence_, model.prominence_rows_
        over = table[above].sum(axis=0) / max(rows[above].sum(), 1e-300)
        one = table[below].sum(axis=0)[None], rows[below].sum()[None]
        yield scores(*one, model.prominence_overall_, shown[None], over)[0]


def mean_of(table: Array, weights: Array, components: Sequence[int]) -> Array:
    """Mean of some components of a table (K, J), each weighed by its weight; (J,)."""
    index = list(components)
    weight = weights[index]
    total = float(weight.sum())
    share = weight / total if total > 0 else np.full(len(index), 1.0 / len(index))
    return np.asarray(share @ table[index])


def scores(
    table: Array, rows: Array, overall: Array, shown: Array, above: Array | None = None
) -> Array:
    """How much each word tells of each component, (K, J); at most 0 where it says nothing.

    (c - a) / sqrt(a + 1 / 2n), where c is how prominent the word is in the n rows of the component
    on average, and a in all rows: times sqrt(n), about how many standard deviations it is off, with
    half a row of doubt. With `above`, the least of that and of the same with rows of that kind: the
    word tells from both.

    Parameters
    ----------
    table : (K, J)
        Prominence in the rows of each component, summed.
    rows : (K,)
        The mass of these rows.
    overall : (J,)
        Prominence in all rows, its mean.
    shown : (K, J)
        What tells of components whose rows are all but as all rows are.
    above : (J,), optional
        Mean prominence in the rows that the components are to be told from.
    """
    mass = np.maximum(rows, 1e-300)[:, None]
    means, doubt = table.astype(np.float64) / mass, DOUBT / mass
    found = (means - overall) / np.sqrt(overall + doubt)
    if above is not None:
        apart = ~_near(means, above)
        least = np.minimum(found, (means - above) / np.sqrt(above + doubt))
        found[apart] = least[apart]
    found[~(means > 0)] = -np.inf
    same = _near(means, overall)
    found[same] = shown[same]
    return found


def telling(table: Array, background: Array, shown: Array, above: Array | None = None) -> Array:
    """How much each word tells of each component by distributions alone, (K, J).

    phi log(phi / p0) of phi = P(y|k) and the frequency p0 of the word anywhere: what the word adds
    to the Kullback-Leibler divergence of the component from all counts. For models of files from
    before there was `prominence`; `background`, `shown` and `above` are as `overall` and so on in
    `scores`.
    """
    found = table * _log_ratio(table, background)
    if above is not None:
        apart = ~_near(table, above)
        found[apart] = np.minimum(found, table * _log_ratio(table, above))[apart]
    same = _near(table, background)
    found[same] = shown[same]
    return found


def _log_ratio(table: Array, usual: Array) -> Array:
    """log(table / usual), (K, J); 0 where either is 0."""
    known = (table > 0) & (usual > 0)
    ratio = np.divide(table, usual, out=np.ones(table.shape), where=known)
    return np.asarray(np.log(ratio))


def _near(table: Array, usual: Array) -> Array:
    """Which rows of a table (K, J) are all but the usual ones, (K,) bool."""
    distance = np.abs(table - usual).sum(axis=1)
    return np.asarray(distance <= SAME * table.sum(axis=1))
