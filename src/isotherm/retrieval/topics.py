"""Topics of fitted aspect models, as the arrays that a search needs, and documents folded in.

Several models count as one: m(y|x) is the mean of theirs. Their topics stand side by side, so that
theta P' with theta = P(a|x) / (number of models) is that mean, and nothing below knows how many
models there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from isotherm.anneal.fold import fold_in
from isotherm.data.base import Array
from isotherm.data.counts import Counts
from isotherm.errors import IsothermError
from isotherm.estimators.aspect import AspectModel
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.aspect import Aspect, AspectParams
from isotherm.placement.local import Local

# When the weights of a query or a new document are settled, and the most steps they may take.
FOLD_TOL, FOLD_SWEEPS = 1e-6, 50
# Fewer non-zeros than this are folded in by one thread: to call others takes longer.
FEW = 20_000


class TopicTable(NamedTuple):
    """What a search keeps of one aspect model.

    `word_topic` (J, K) P(y|a); `weight` (K,) P(a); `temperature` at which rows are folded in;
    `temper_prior` whether P(a) is tempered, too.
    """

    word_topic: Array
    weight: Array
    temperature: float
    temper_prior: bool


def table_of(model: object) -> TopicTable:
    """Topics of a fitted AspectModel."""
    if not isinstance(model, AspectModel):
        raise IsothermError(
            f"a search reads the topics of an AspectModel, not of {type(model).__name__}; "
            "fit AspectModel(n_components=128) to the documents"
        )
    if not hasattr(model, "params_"):
        raise IsothermError("the AspectModel is not fitted; call fit(counts) first")
    prior = bool(model.model_.temper_prior)
    word_topic = np.ascontiguousarray(model.components_.T)
    return TopicTable(word_topic, model.weights_, float(model.temperature_), prior)


def check_columns(model: AspectModel, counts: Counts) -> None:
    """Refuse documents over other columns than those of the fit."""
    names = getattr(model, "feature_names_in_", None)
    same = model.n_features_in_ == counts.n_columns
    if same and names is not None and counts.column_names is not None:
        same = list(names) == list(counts.column_names)
    if not same:
        raise IsothermError(
            f"the documents have {counts.n_columns} columns, the model was fitted to "
            f"{model.n_features_in_}, or their names differ; count the documents over the columns "
            "of the fit, in the same order"
        )


def fold(table: TopicTable, counts: Counts) -> Array:
    """P(a|x) of new rows (I, K): P(a) and P(y|a) stay, P(a|x) is fitted at their temperature.

    The limit does not depend on where P(a|x) begins, because the objective is concave for T >= 1;
    a row without known words has P(a).
    """
    # Only columns that occur matter, and a query has few of them. What no topic knows is dropped.
    used = np.unique(counts.matrix.indices)
    used = used[table.word_topic[used].any(axis=1)]
    if not len(used):
        return np.tile(table.weight, (counts.n_rows, 1))
    model = Aspect(len(table.weight), table.temper_prior)
    params = AspectParams(table.weight, table.weight, table.word_topic[used])
    threads = 1 if counts.nnz < FEW else None
    data = Local.place(counts.take_columns(used), Cpu("float64", threads))
    rows = fold_in(model, params, data, table.temperature, tol=FOLD_TOL, max_sweeps=FOLD_SWEEPS)
    return np.asarray(model.mixture(params, data.gather(rows)).weights, np.float64)


def weights_in(model: AspectModel, counts: Counts) -> Array:
    """P(a|x) of documents (I, K): those of the fit if it saw these rows, else folded in.

    Rows are taken for those of the fit if all sums of rows and of columns agree.
    """
    total = counts.total
    shape = (len(model.row_marginal_), len(model.unigram_))
    if (
        total > 0
        and counts.shape == shape
        and np.allclose(model.row_marginal_, counts.row_totals / total, rtol=1e-5, atol=0)
        and np.allclose(model.unigram_, counts.column_totals / total, rtol=1e-5, atol=0)
    ):
        return np.asarray(model.row_weights_, np.float64)
    return fold(table_of(model), counts)


def levels_of(model: AspectModel) -> list[AspectModel]:
    """The model at all of its levels, or just itself where it has none or was edited."""
    levels = () if getattr(model, "edits_", ()) else getattr(model, "levels_", ())
    return [model.at(level) for level in levels] or [model]


def side_by_side(parts: list[Array]) -> Array:
    """Weights theta (I, all K) of all models, divided by their number."""
    return np.concatenate(parts, axis=1) / len(parts)


def unit_rows(theta: Array, tables: tuple[TopicTable, ...]) -> Array:
    """Weights theta with the part of every model as a vector of length 1 / sqrt(number of models).

    A product of two such rows is the mean over models of the cosine of their topics.
    """
    parts = np.split(theta, np.cumsum([len(table.weight) for table in tables])[:-1], axis=1)
    lengths = [np.linalg.norm(part, axis=1, keepdims=True) for part in parts]
    scaled = [part / np.where(n > 0, n, 1.0) for part, n in zip(parts, lengths, strict=True)]
    return np.asarray(np.concatenate(scaled, axis=1) / np.sqrt(len(parts)))
