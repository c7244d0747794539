"""What a fitted model of counts gives to other programs: probabilities, samples, tables.

Plain functions of a fitted estimator; `Exports` has them as methods.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from isotherm import _checks
from isotherm._types import Fields
from isotherm.anneal.fold import fold_in
from isotherm.data import frames
from isotherm.data.base import Array
from isotherm.data.counts import Counts, as_counts
from isotherm.data.split import RandomState, as_generator
from isotherm.errors import IsothermError

if TYPE_CHECKING:
    from isotherm.estimators.counts import CountEstimator
    from isotherm.estimators.tables import Columns

# Bytes of the largest dense table that is made.
LARGEST = 2_000_000_000


class Exports:
    """What estimators of counts hand out; not for direct use."""

    # Whether every count of a row has a component of its own, so that a row is a mixture of them;
    # else a row as a whole has one.
    _mixes: ClassVar[bool] = False

    def expected(self, X: object) -> Array:
        """Probability of every column in each row, P(y|x), (I, J): rows sum to one.

        Rows are folded in: P(y|x) is the sum over components of P(k|x) P(y|k), of a hierarchy over
        the nodes on the paths to its leaves. Times the row totals this is what the model expects of
        the counts. A dense table; one of more than 2 GB is refused: ask for some rows at a time.

        Parameters
        ----------
        X : counts (I, J)
        """
        return expected(_fitted(self), X)

    def sample(
        self, n_samples: int = 1, *, lengths: object = None, random_state: RandomState = None
    ) -> tuple[Counts, Array]:
        """Rows of counts drawn from the model, and what they were drawn from.

        For every row a training row that is not empty is drawn, and with it a length and weights of
        the components. Where each count of a row has a component of its own (`AspectModel` and the
        linked models) the counts are drawn from the mixture; else one component is drawn by the
        weights, and all counts from that. Links between rows are not drawn.

        Parameters
        ----------
        n_samples : int
        lengths : int or (n_samples,), optional
            Counts in each row; by default as many as in the training row that was drawn.
        random_state : int, Generator, RandomState or None

        Returns
        -------
        X : Counts, (n_samples, J)
        y : (n_samples, K) or (n_samples,)
            The weights of the mixtures; or the component of each row: a cluster, a leaf.
        """
        return sample(_fitted(self), n_samples, lengths, random_state)

    def to_pyldavis(self, X: object = None, *, names: object = None) -> Fields:
        """What `pyLDAvis.prepare(**model.to_pyldavis())` takes, as a dict of arrays.

        Columns that never occur are left out, and so are rows without counts.

        Parameters
        ----------
        X : counts (I, J), optional
            Rows to show; the training rows by default.
        names : sequence (J,), optional
            Names of the columns, as in `top_words`.
        """
        return to_pyldavis(_fitted(self), X, names)

    def to_frame(
        self,
        what: str = "topics",
        X: object = None,
        *,
        n_words: int = 10,
        names: object = None,
        row_names: object = None,
    ) -> Any:
        """What there is to know, as a data frame of pandas.

        Parameters
        ----------
        what : {"topics", "words", "documents", "tree", "components"}
            "topics": a line per topic with its share and its words. "words": a line per word of a
            topic, with its probability and its lift (how many times as often as in all rows).
            "documents": a line per row with its length, the topic with the largest weight, and the
            weights of all topics. "tree": a line per node of the tree of topics. "components": a
            line per column of the counts, with its probability in each topic.
        X : counts (I, J), optional
            Rows to tell of with "documents"; the training rows by default.
        n_words : int
            Words of each topic or node.
        names : sequence (J,), optional
            Names of the columns, as in `top_words`.
        row_names : sequence (I,), optional
            Names of the rows, with "documents", where X has none.
        """
        table = self._table(what, X, n_words, names, row_names)
        return frames.pandas_frame(table)

    def export(
        self,
        path: str | os.PathLike[str],
        what: str = "topics",
        X: object = None,
        *,
        format: str | None = None,
        n_words: int = 10,
        names: object = None,
        row_names: object = None,
    ) -> Path:
        """Path of the file with a table of `to_frame` that was written.

        An older file is replaced in one step. In CSV, text that a spreadsheet would take for a
        formula (it begins with =, +, -, @, a tab or a return) gets an apostrophe in front.

        Parameters
        ----------
        path : str or path
        what, X, n_words, names, row_names
            As in `to_frame`.
        format : {"csv", "json", "parquet"}, optional
            By default the ending of the path says it. JSON is a list of a mapping per line of the
            table; Parquet needs pyarrow.
        """
        from isotherm.io.tables import format_of, write_table

        wanted = format_of(path, format)
        table = self._table(what, X, n_words, names, row_names)
        return write_table(path, table, wanted)

    def _table(
        self, what: str, X: object, n_words: int, names: object, row_names: object
    ) -> Columns:
        from isotherm.estimators.tables import columns_of

        model = _fitted(self)
        return columns_of(model, what, X, n_words=n_words, names=names, row_names=row_names)


def expected(model: CountEstimator, X: object) -> Array:
    """P(y|x) of every row, (I, J); see `Exports.expected`."""
    counts = model._counts(X, reset=False)
    n_rows, n_columns = counts.shape
    size = 8 * n_rows * n_columns
    if size > LARGEST:
        raise IsothermError(
            f"a dense table of {n_rows} rows by {n_columns} columns takes {size / 1e9:.1f} GB, and "
            f"at most {LARGEST / 1e9:g} GB are made at once; give at most "
            f"{LARGEST // (8 * n_columns)} rows at a time, such as X[:1000], or multiply the parts "
            "that you need of transform(X) and components_",
            parameter="X",
        )
    weights, table = _mixture(model, counts)
    found = np.asarray(weights @ table)
    own = getattr(model, "own_weight_", 0.0)
    return _with_own_words(found, counts, own) if own else found


def _with_own_words(topics: Array, counts: Counts, own: float) -> Array:
    """P(y|x) of the next token of each row (I, J), which may repeat one that is given."""
    totals = counts.row_totals
    share = np.divide(own, totals, out=np.zeros_like(totals), where=totals > 0)
    topics *= 1.0 - own * (totals > 0)[:, None]
    return np.asarray(topics + sparse.diags_array(share) @ counts.matrix)


def _mixture(model: CountEstimator, counts: Counts) -> tuple[Array, Array]:
    """P(y|x) as weights (I, K) times distributions (K, J); of the nodes where rows weigh these."""
    if getattr(model, "weights", None) == "full":
        data = model._new_rows(counts)
        rows = data.gather(fold_in(model.model_, model.params_, data, model.temperature_))
        return model.model_.node_weights(model.params_, rows), model.node_components_
    return topic_weights(model, counts), model.components_


def topic_weights(model: CountEstimator, counts: Counts | None = None) -> Array:
    """Weights of the components in rows, (I, K): the training rows by default.

    Rows that belong to clusters have the mixtures of these.
    """
    weights = model.row_weights_ if counts is None else model.transform(counts)
    centers = getattr(model, "cluster_centers_", None)
    return np.asarray(weights if centers is None else weights @ centers)


def sample(
    model: CountEstimator, n_samples: int, lengths: object, random_state: RandomState
) -> tuple[Counts, Array]:
    """Rows drawn from a model, and what they were drawn from; see `Exports.sample`."""
    _checks.integer("n_samples", n_samples, 1)
    rng = as_generator(random_state)
    totals = getattr(model, "row_totals_", None)
    rows = np.arange(len(model.row_weights_)) if totals is None else np.flatnonzero(totals > 0)
    drawn = rng.choice(rows, n_samples)
    if lengths is not None:
        wanted = _lengths(lengths, n_samples)
    elif totals is not None:
        wanted = np.rint(totals[drawn])
    else:
        raise IsothermError(
            "the model is of a file from before lengths of rows were kept; give lengths=, one "
            "number or one for each row",
            parameter="lengths",
        )
    shares, table, origin = _origins(model, drawn, rng)
    counts = _tokens(shares, table, wanted, rng)
    own = getattr(model, "own_weight_", 0.0)
    counts = _repeated(counts, own, rng) if own else counts
    names = getattr(model, "feature_names_in_", None)
    return as_counts(counts, None, names, allow_empty=True), origin


def _lengths(given: object, n_samples: int) -> Array:
    """Counts in each row, (n,), refused unless whole numbers of at least 0."""
    try:
        lengths = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        lengths = np.array([[np.nan]])
    fine = lengths.shape in ((), (n_samples,)) and np.isfinite(lengths).all()
    if not fine or (lengths < 0).any() or (lengths != np.rint(lengths)).any():
        raise IsothermError(
            f"lengths={given!r:.60}; give a whole number of at least 0, or one for each of the "
            f"{n_samples} rows",
            parameter="lengths",
        )
    return np.broadcast_to(lengths, n_samples)


def _origins(
    model: CountEstimator, drawn: Array, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """Weights (n, K) and distributions (K, J) of rows to draw, and what to say of each row."""
    weights = model.row_weights_[drawn]
    if model._mixes:
        return weights, model.components_, weights
    if getattr(model, "weights", None) == "full":
        # The weights of the nodes of a row are known for the path to its own leaf.
        shares = np.zeros((len(drawn), model.tree_.n_nodes))
        labels = model.labels_[drawn]
        for place, (row, label) in enumerate(zip(drawn.tolist(), labels.tolist(), strict=True)):
            nodes = list(model.tree_.path(label))
            shares[place, nodes] = model.path_weights_[row, -len(nodes) :]
        return shares, model.node_components_, labels
    steps = np.cumsum(weights, axis=1)
    chosen = (steps < rng.random((len(drawn), 1)) * steps[:, -1:]).sum(axis=1)
    centers = getattr(model, "cluster_centers_", None)
    if centers is None:
        return np.eye(weights.shape[1])[chosen], model.components_, chosen
    return centers[chosen], model.components_, chosen


def _tokens(
    shares: Array, table: Array, lengths: Array, rng: np.random.Generator
) -> sparse.csr_array:
    """Counts (n, J) of rows with given lengths, from weights (n, K) of distributions (K, J)."""
    shares = shares / shares.sum(axis=1, keepdims=True)
    parts = rng.multinomial(lengths.astype(np.int64), shares)
    rows, columns = [], []
    for k in np.flatnonzero(parts.any(axis=0)):
        steps, last = np.cumsum(table[k]), np.flatnonzero(table[k])[-1]
        places = np.searchsorted(steps, rng.random(parts[:, k].sum()) * steps[-1], side="right")
        rows.append(np.repeat(np.arange(len(parts)), parts[:, k]))
        columns.append(np.minimum(places, last))
    found = [np.concatenate([np.zeros(0, np.intp), *some]) for some in (rows, columns)]
    shape = (len(parts), table.shape[1])
    return sparse.csr_array(sparse.coo_array((np.ones(len(found[0])), tuple(found)), shape=shape))


def _repeated(counts: sparse.csr_array, own: float, rng: np.random.Generator) -> sparse.csr_array:
    """Rows (n, J) some of whose tokens repeat others instead.

    The tokens of a row come one after the other, in an order of chance. Each but the first repeats
    with probability `own` one of those before it, all of them alike.
    """
    lengths = np.asarray(counts.sum(axis=1)).astype(np.int64)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    words = np.repeat(counts.indices, counts.data.astype(np.int64))
    words = words[np.lexsort((rng.random(len(words)), rows))]
    here = np.arange(len(words))
    first = np.repeat(np.cumsum(lengths) - lengths, lengths)
    before = first + (rng.random(len(words)) * (here - first)).astype(np.int64)
    source = np.where((rng.random(len(words)) < own) & (here > first), before, here)
    while (source != source[source]).any():  # a repeat of a repeat
        source = source[source]
    parts = np.ones(len(words)), (rows, words[source])
    return sparse.csr_array(sparse.coo_array(parts, shape=counts.shape))


def to_pyldavis(model: CountEstimator, X: object, names: object) -> Fields:
    """Arrays that `pyLDAvis.prepare` takes, by the names of its parameters."""
    own = model._column_names(names)
    if X is None:
        totals = getattr(model, "row_totals_", None)
        if totals is None:
            raise IsothermError(
                "the model is of a file from before lengths of rows were kept; give the counts "
                "that it was fitted to, to_pyldavis(X)",
                parameter="X",
            )
        weights, frequency = topic_weights(model), model.unigram_ * totals.sum()
    else:
        counts = model._counts(X, reset=False)
        totals, frequency = counts.row_totals, counts.column_totals
        weights = topic_weights(model, counts)
    columns, rows = np.flatnonzero(frequency > 0), np.flatnonzero(totals > 0)
    return {
        "topic_term_dists": _normalized(model.components_[:, columns]),
        "doc_topic_dists": _normalized(weights[rows]),
        "doc_lengths": totals[rows],
        "vocab": [str(name) for name in own[columns].tolist()],
        "term_frequency": frequency[columns],
    }


def _normalized(table: Array) -> Array:
    """Rows of a table that sum to one; one of zeros is uniform."""
    total = table.sum(axis=1, keepdims=True)
    uniform = np.full_like(table, 1.0 / table.shape[1])
    return np.asarray(np.divide(table, total, out=uniform, where=total > 0))


def _fitted(model: Exports) -> CountEstimator:
    """The estimator itself, once it is seen to be fitted."""
    check_is_fitted(model)
    return cast("CountEstimator", model)
