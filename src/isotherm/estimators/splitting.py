"""One topic of a fitted model as several: along what is known of it, or by annealing it alone."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isotherm import _nested
from isotherm._types import Array
from isotherm.anneal.engine import Annealer
from isotherm.anneal.growth.divide import Divider, Parted, with_shares
from isotherm.anneal.growth.linkage import joins_by_columns
from isotherm.anneal.schedule import Fixed
from isotherm.errors import IsothermError
from isotherm.estimators.edits import Before, edits_of, taken_back
from isotherm.estimators.holdout import Tokens
from isotherm.estimators.plan import Table
from isotherm.placement.base import Data

if TYPE_CHECKING:
    from isotherm.estimators.counts import CountEstimator

# Share of the tokens that say whether there was anything to tell apart.
HELD_OUT = 0.1


class Parts(NamedTuple):
    """What a topic is known to be made of: weights (C,), distributions (J, C) and names."""

    weight: Array
    table: Array
    names: tuple[str, ...] = ()


def known_parts(model: CountEstimator, topic: int) -> Parts | None:
    """The topics that a topic was merged from; None where it was not."""
    k = topic
    for edit in reversed(edits_of(model)):
        if edit.what == "split" and k in edit.into:
            return None  # what it is a part of may have been merged; it was not
        before: Before = model.before_edits_[-1]
        model = taken_back(model)
        came = [old for old, new in enumerate(before.into) if new == k]
        if len(came) > 1:
            weight, table = model.model_.components(model.params_)
            names = tuple(model.names_[old] for old in came)
            return Parts(weight[came], table[:, came], names)
        k = came[0]
    return None


def by_tree(model: CountEstimator, topic: int, into: int, data: Data) -> Parted:
    """The model with a topic in the parts that it is known to have."""
    parts = known_parts(model, topic)
    if parts is None:
        raise IsothermError(
            f"by='tree': topic {topic} is no join of known topics; split it by='annealing'",
            parameter="by",
        )
    if into > len(parts.weight):
        raise IsothermError(
            f"into={into}; topic {topic} is a join of {len(parts.weight)} topics: ask for no more, "
            "or split it by='annealing'",
            parameter="into",
        )
    parts = _grouped(parts, into)
    K = len(model.weights_)
    numbers = (topic, *range(K, K + into - 1))
    index = np.array([*range(K), *[topic] * (into - 1)])
    share = np.ones(len(index))
    total = float(parts.weight.sum())
    share[list(numbers)] = parts.weight / total if total > 0 else 1.0 / into
    params = with_shares(_nested.take(model.params_, index), share)
    distributions = params.word_topic.copy()
    distributions[:, list(numbers)] = parts.table
    whole = model.model_.sized(len(index))
    divider = Divider(_annealer(model), data, model.temperature_)
    found = divider.whole(whole, params._replace(word_topic=distributions), topic)
    return found._replace(parts=numbers)


def by_annealing(model: CountEstimator, topic: int, into: int, table: Table, data: Data) -> Parted:
    """The model with a topic in parts that come apart at its critical temperature."""
    annealer, temperature = _annealer(model), float(model.temperature_)
    fold = table.split(Tokens(), HELD_OUT)
    last = first = Divider(annealer, data, temperature)
    if fold is not None:
        first = Divider(annealer, fold.data, temperature, fold.heldout)
    # On the same tokens as its parts: what it knew of the others would speak for it.
    one = first.settled(first.whole(model.model_, model.params_, topic))
    found, why = first.apart(one, into)
    _check_apart(topic, len(found.parts), into, why)
    if fold is None:
        return found
    start = last.whole(found.model, found.state.params, topic)
    return last.settled(start._replace(parts=found.parts))


def _check_apart(topic: int, n_parts: int, into: int, why: str) -> None:
    """Refuse a topic that does not come apart, or not into so many parts."""
    if n_parts == into:
        return
    if n_parts == 1:
        raise IsothermError(f"topic {topic} has nothing to tell apart: {why}; leave it as it is")
    raise IsothermError(
        f"into={into}; topic {topic} comes apart into {n_parts} and no more ({why}): ask for "
        f"into={n_parts}",
        parameter="into",
    )


def _grouped(parts: Parts, into: int) -> Parts:
    """The parts, the most alike of them together until there are so many."""
    owner = list(range(len(parts.weight)))
    for join in joins_by_columns(parts.weight, parts.table)[: len(owner) - into]:
        owner = [join.kept if one == join.gone else one for one in owner]
    groups = [[i for i, one in enumerate(owner) if one == kept] for kept in sorted({*owner})]
    weight = np.array([parts.weight[group].sum() for group in groups])
    shares = [
        parts.weight[group] / total if total > 0 else np.full(len(group), 1.0 / len(group))
        for group, total in zip(groups, weight, strict=True)
    ]
    tables = [
        parts.table[:, group] @ share.astype(parts.table.dtype)
        for group, share in zip(groups, shares, strict=True)
    ]
    return Parts(weight, np.stack(tables, axis=1))


def _annealer(model: CountEstimator) -> Annealer:
    """The engine with the tolerance and the sweeps of an estimator, and without its callbacks."""
    annealer: Annealer = model._engine(Fixed(model.temperature_))
    return dataclasses.replace(annealer, callbacks=(), stepwise=None, record_critical=False)
