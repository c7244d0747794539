"""Editing a fitted model by hand: topics merged, split, dropped, pinned, and edits taken back.

Each method returns another model and leaves its own as it was. A mixin has the methods, and plain
functions do what they say.
"""

from __future__ import annotations

import copy
import dataclasses
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, ClassVar, Self, TypeVar, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from isotherm import _checks
from isotherm._types import Array, Fields, Params
from isotherm.anneal.fold import fold_in, row_marginal, row_weights
from isotherm.anneal.growth.held import held
from isotherm.anneal.growth.linkage import tree_by_columns, tree_by_rows
from isotherm.data import checks
from isotherm.errors import IsothermError
from isotherm.estimators.edits import Before, Edit, edits_of, recorded, taken_back
from isotherm.estimators.plan import Table
from isotherm.estimators.splitting import by_annealing, by_tree, known_parts
from isotherm.estimators.words import Prominence, prominence
from isotherm.kernels.cpu.dense import one_blas_thread
from isotherm.models.base import DEAD, expect
from isotherm.placement.base import Data
from isotherm.tree import Tree

if TYPE_CHECKING:
    from isotherm.estimators.counts import CountEstimator
    from isotherm.models.base import CountModel

ModelT = TypeVar("ModelT", bound="CountEstimator")

# Fields of parameters that add up over topics, and those that are distributions.
SUMS = ("weight", "row_mass", "tokens", "columns", "mass")
MEANS = ("word_topic",)
# What a fit says of topics that are others now.
OF_THE_FIT = ("tree_", "path_", "levels_", "reproducibility_", "node_reproducibility_")
WAYS = ("auto", "tree", "annealing")
# Letters of a name.
LONGEST = 80


class Editable:
    """What can be done by hand with a fitted model; not for direct use."""

    # Edits that make sense here.
    _edits: ClassVar[tuple[str, ...]] = ("rename",)

    # Edits so far, what takes them back, and topics that later ones leave alone: of the class, as
    # most models have none.
    edits_: tuple[Edit, ...] = ()
    before_edits_: tuple[Before, ...] = ()
    pinned_: tuple[int, ...] = ()

    def rename(self, topic: int | Mapping[int, str], name: str | None = None) -> Self:
        """The model with other names for some topics.

        Names stay when other topics are edited, and when a topic is merged that has one.

        Parameters
        ----------
        topic : int or dict
            The number of a topic, or several with their names, as `{3: "sports", 5: "weather"}`.
        name : str, optional
            With a number: what the topic is to be called; no other topic may be called so.

        Returns
        -------
        fitted estimator
            A copy; `undo` gives back this model.
        """
        return cast(Self, renamed(cast("CountEstimator", self), topic, name))

    def merge(self, topics: Iterable[int] | Iterable[Iterable[int]]) -> Self:
        """The model with some topics as one.

        Their weights, and those that rows give to them, add up; P(y|k) is their mean by weight. The
        merged topic has the lowest of their numbers, and topics behind those that are gone move up.
        No data are needed.

        Parameters
        ----------
        topics : sequence of int, or sequence of such sequences
            Two topics or more that become one, as `[3, 7]`; several groups at once, as
            `[[3, 7], [1, 2]]`.

        Returns
        -------
        fitted estimator
            A copy; `undo` gives back this model.
        """
        return cast(Self, merged(cast("CountEstimator", self), topics))

    def split(
        self,
        topic: int,
        X: object,
        into: int = 2,
        *,
        by: str = "auto",
        sample_weight: object = None,
    ) -> Self:
        """The model with a topic as several.

        A topic that was merged comes apart into what it was merged from. Any other is annealed by
        itself, from the temperature at which it becomes unstable down to that of the model, while
        P(y|k) of the others stays; the direction in which it comes apart is its critical one. Where
        its parts are one at that temperature, or predict words that are held out no better than the
        topic does, there is nothing to tell apart, which is refused. The first part has the number
        of the topic; the others follow the last topic.

        Parameters
        ----------
        topic : int
        X : counts (I, J)
            What the model was fitted to, or other rows: `row_weights_` are those of these rows.
        into : int
            Number of parts.
        by : {"auto", "tree", "annealing"}
            Along topics that it is a join of, by annealing, or the first where they are known.
        sample_weight : array-like (I,), optional

        Returns
        -------
        fitted estimator
            A copy; `undo` gives back this model.
        """
        return cast(Self, parted(cast("CountEstimator", self), topic, X, into, by, sample_weight))

    def drop(self, topic: int, X: object, sample_weight: object = None) -> Self:
        """The model without a topic, whose words go to the others.

        The rows of X are given to the other topics, at the temperature of the model, and these take
        in their words by one sweep; topics that are pinned stay as they are. A topic without weight
        goes without a sweep. Topics behind it move up.

        Parameters
        ----------
        topic : int
        X : counts (I, J)
            What the model was fitted to, or other rows: `row_weights_` are those of these rows.
        sample_weight : array-like (I,), optional

        Returns
        -------
        fitted estimator
            A copy; `undo` gives back this model.
        """
        return cast(Self, dropped(cast("CountEstimator", self), topic, X, sample_weight))

    def pin(self, topics: int | Iterable[int]) -> Self:
        """The model with topics that later edits leave as they are.

        When others are split or dropped, P(y|k) of a pinned topic stays the same to the bit (the
        weights that rows give to it may change). It is not merged, split or dropped itself; `undo`
        takes the pin out.

        Parameters
        ----------
        topics : int or sequence of int

        Returns
        -------
        fitted estimator
            A copy; `pinned_` are the numbers of the topics that stay.
        """
        return cast(Self, pinned(cast("CountEstimator", self), topics))

    def undo(self) -> Self:
        """The model before its last edit, to the bit."""
        check_is_fitted(self)
        if not edits_of(self):
            raise IsothermError(
                f"this {type(self).__name__} was not edited: there is nothing to take back"
            )
        return cast(Self, taken_back(cast("CountEstimator", self)))


# What is refused ----------------------------------------------------------------------------------


def check_edit(model: CountEstimator, what: str) -> None:
    """Refuse an edit that a model has no room for."""
    check_is_fitted(model)
    if what in model._edits:
        return
    can = ", ".join(model._edits)
    raise IsothermError(
        f"{what} of a {type(model).__name__}, whose topics are tied to what else the model has; "
        f"it can be edited by {can} alone: fit an AspectModel, a OneSidedClustering or a "
        "DocumentMixture to edit topics"
    )


def topic_of(model: CountEstimator, topic: object, name: str = "topic") -> int:
    """A number of a topic that the model has."""
    n_topics = len(model.weights_)
    whole = isinstance(topic, Integral) and not isinstance(topic, bool)
    if not whole or not 0 <= int(topic) < n_topics:  # type: ignore[call-overload]
        raise IsothermError(
            f"{name}={topic!r}; the model has topics 0 to {n_topics - 1}", parameter=name
        )
    return int(topic)  # type: ignore[call-overload, no-any-return]


def topics_of(model: CountEstimator, topics: object, name: str = "topics") -> tuple[int, ...]:
    """Numbers of different topics, as they were given."""
    given = list(topics) if isinstance(topics, Iterable) else [topics]
    numbers = tuple(topic_of(model, one, name) for one in given)
    twice = sorted({k for k in numbers if numbers.count(k) > 1})
    if twice or not numbers:
        what = f"topic {twice[0]} twice" if twice else "no topic"
        raise IsothermError(f"{name}={given!r} has {what}; name each once", parameter=name)
    return numbers


def check_free(model: CountEstimator, topics: Sequence[int], what: str) -> None:
    """Refuse to change topics that are pinned."""
    stay = [k for k in topics if k in model.pinned_]
    if stay:
        raise IsothermError(
            f"topic {stay[0]} is pinned and stays as it is; take the pin back by undo() before "
            f"you {what} it"
        )


# The edits ----------------------------------------------------------------------------------------


def renamed(model: ModelT, topic: object, name: object) -> ModelT:
    """The model with other names for some topics; see `Editable.rename`."""
    check_edit(model, "rename")
    given = topic if isinstance(topic, Mapping) else {topic: name}
    numbers = topics_of(model, given)
    names = list(model.names_)
    for k, one in zip(numbers, given.values(), strict=True):
        names[k] = _name(one)
    for k in numbers:
        others = [other for other, one in enumerate(names) if one == names[k] and other != k]
        if others:
            raise IsothermError(
                f"name={names[k]!r}; topic {others[0]} is called so: give topic {k} another name, "
                "or rename both",
                parameter="name",
            )
    other = copy.copy(model)
    other.names_ = tuple(names)
    return _recorded("rename", model, other, [(k, k) for k in numbers], _unmoved(model))


def merged(model: ModelT, topics: object) -> ModelT:
    """The model with each group of topics as one; see `Editable.merge`."""
    check_edit(model, "merge")
    groups = _groups(model, topics)
    check_free(model, [k for group in groups for k in group], "merge")
    K = len(model.weights_)
    owner = np.arange(K)
    for group in groups:
        owner[list(group)] = min(group)
    into = np.unique(owner, return_inverse=True)[1]
    params = _joined(model.params_, into)
    other = _reshaped(model, params, _summed(model.row_weights_, into), into)
    by_hand = _names_by_hand(model)
    for group in groups:
        heavy = sorted((k for k in group if model.names_[k] in by_hand), key=_lightness(model))
        _call(other, [int(into[group[0]])], [model.names_[k] for k in heavy[:1]])
    pairs = [(k, int(into[k])) for group in groups for k in group]
    return _recorded("merge", model, other, pairs, into)


def dropped(model: ModelT, topic: object, X: object, sample_weight: object = None) -> ModelT:
    """The model without a topic; see `Editable.drop`."""
    check_edit(model, "drop")
    k = topic_of(model, topic)
    check_free(model, [k], "drop")
    K = len(model.weights_)
    if K == 1:
        raise IsothermError(
            "topic=0 is the only topic of the model; its words have nowhere to go",
            parameter="topic",
        )
    stay = np.array([other for other in range(K) if other != k])
    into = np.full(K, -1)
    into[stay] = np.arange(K - 1)
    params = _taken(model.params_, stay)
    if model.weights_[k] <= DEAD:
        model._counts(X, reset=False)
        other = _reshaped(model, params, model.row_weights_[:, stay], into)
    else:
        other = _swept(model, _of_one(params), into, table_of(model, X, sample_weight))
    return _recorded("drop", model, other, [(k, -1)], into)


def parted(
    model: ModelT, topic: object, X: object, into: int, by: str, sample_weight: object
) -> ModelT:
    """The model with a topic as several; see `Editable.split`."""
    check_edit(model, "split")
    k = topic_of(model, topic)
    check_free(model, [k], "split")
    if model.model_.for_new_rows() is not model.model_:
        raise IsothermError(
            f"split of a {type(model).__name__} with leave_one_out=True; halves of a topic have no "
            "last posterior: fit without it to split topics"
        )
    _checks.integer("into", into, 2)
    _checks.one_of("by", by, WAYS)
    table = table_of(model, X, sample_weight)
    if by == "auto":
        by = "annealing" if known_parts(model, k) is None else "tree"
    data, stays = table.placed(), _unmoved(model)
    with one_blas_thread():
        if by == "tree":
            found = by_tree(model, k, into, data)
        else:
            found = by_annealing(model, k, into, table, data)
        whole, (params, rows, _), numbers = found
        weights = row_weights(whole, params, data, rows)
        seen = prominence(data, whole, params, rows)
        other = _reshaped(model, params, weights, stays, _of_rows(model, table, data, seen))
    known = known_parts(model, k) if by == "tree" else None
    _call(other, numbers, known.names if known and len(known.names) == into else ())
    return _recorded("split", model, other, [(k, number) for number in numbers], stays)


def pinned(model: ModelT, topics: object) -> ModelT:
    """The model with topics that stay; see `Editable.pin`."""
    check_edit(model, "pin")
    numbers = topics_of(model, topics)
    other = copy.copy(model)
    other.pinned_ = tuple(sorted({*model.pinned_, *numbers}))
    return _recorded("pin", model, other, [(k, k) for k in numbers], _unmoved(model))


def table_of(model: CountEstimator, X: object, sample_weight: object) -> Table:
    """Counts of the columns of the fit, as an edit sweeps them."""
    counts = model._counts(X, reset=False)
    return Table(counts, checks.row_weights(sample_weight, counts.row_totals), model._data)


# How they are done --------------------------------------------------------------------------------


def _groups(model: CountEstimator, topics: object) -> list[tuple[int, ...]]:
    """Groups of two topics or more, no topic in two of them."""
    given = list(topics) if isinstance(topics, Iterable) else [topics]
    nested = bool(given) and all(isinstance(one, Iterable) for one in given)
    groups = [topics_of(model, one) for one in (given if nested else [given])]
    topics_of(model, [k for group in groups for k in group])
    single = [group for group in groups if len(group) < 2]
    if single:
        raise IsothermError(
            f"topics={topics!r}; a single topic has nothing to merge with: give two or more, as "
            "[3, 7]",
            parameter="topics",
        )
    return groups


def _summed(values: Array, into: Array) -> Array:
    """Values (..., K) added up where topics are one now; those that are alone stay to the bit."""
    n = int(into.max()) + 1
    first = np.array([int(np.flatnonzero(into == new)[0]) for new in range(n)])
    total = np.take(values, first, axis=-1)
    for new in range(n):
        for k in np.flatnonzero(into == new)[1:]:
            total[..., new] += values[..., k]
    return np.asarray(total)


def _joined(params: Params, into: Array) -> Params:
    """Parameters with topics put together: sums added up, distributions averaged by weight."""
    weight = np.asarray(params.weight, np.float64)
    n = int(into.max()) + 1
    joined: dict[str, Array] = {
        name: _summed(getattr(params, name), into) for name in SUMS if hasattr(params, name)
    }
    for name in MEANS:
        table = getattr(params, name)
        means = np.empty((len(table), n), table.dtype)
        for new in range(n):
            group = np.flatnonzero(into == new)
            if len(group) == 1:
                means[:, new] = table[:, group[0]]
                continue
            share = weight[group]
            share = share / share.sum() if share.sum() > 0 else np.full(len(group), 1 / len(group))
            mean = table[:, group].astype(np.float64) @ share
            means[:, new] = mean / mean.sum()
        joined[name] = means
    if hasattr(params, "own"):  # the same of all
        joined["own"] = params.own[:n]
    if hasattr(params, "pseudo"):
        # Those of all topics stay the same, and fewer topics share them.
        joined["pseudo"] = params.pseudo * (len(into) / n)
    changed: Params = params._replace(**joined)
    return changed


def _taken(params: Params, stay: Array) -> Params:
    """Parameters of some topics alone."""
    names = [name for name in (*SUMS, *MEANS, "own") if hasattr(params, name)]
    taken = {name: np.take(getattr(params, name), stay, axis=-1) for name in names}
    changed: Params = params._replace(**taken)
    return changed


def _of_one(params: Params) -> Params:
    """Parameters whose weights sum to one."""
    total = float(params.weight.sum())
    sums = {name: getattr(params, name) for name in SUMS[:3] if hasattr(params, name)}
    if not total > 0:
        K = len(params.weight)
        sums = {name: np.full(K, 1.0 / K) for name in sums}
        total = 1.0
    changed: Params = params._replace(**{name: one / total for name, one in sums.items()})
    return changed


def sized(model: CountModel, n_components: int) -> CountModel:
    """A model of another number of components, which share its pseudo-counts."""
    changed: Fields = {"n_components": n_components}
    if hasattr(model, "pseudo_count"):
        changed["pseudo_count"] = model.pseudo_count * model.n_components / n_components
    # Whatever model it is, it is a frozen dataclass.
    return dataclasses.replace(model, **changed)  # type: ignore[type-var]


def _swept(model: ModelT, params: Params, into: Array, table: Table) -> ModelT:
    """The model after one sweep of its rows, which are given to its topics first."""
    data = table.placed()
    whole, temperature = sized(model.model_, int(into.max()) + 1), model.temperature_
    # Rows are new to the topics that are left: a model that leaves each row out is the plain one.
    plain = cast("CountModel", whole.for_new_rows())
    with one_blas_thread():
        rows = fold_in(whole, params, data, temperature)
        rows, stats, _ = data.sweep(expect, rows, plain, params, temperature)
        stay = tuple(int(into[k]) for k in model.pinned_)
        params, _ = held(whole, stay).maximize(stats, params, temperature, data.kernels)
        weights = row_weights(whole, params, data, rows)
        seen = prominence(data, whole, params, rows)
        return _reshaped(model, params, weights, into, _of_rows(model, table, data, seen))


def _of_rows(model: CountEstimator, table: Table, data: Data, seen: Prominence) -> Fields:
    """What a model says of its rows, of those of a table."""
    values: Fields = {"prominence_": seen.table, "prominence_rows_": seen.rows}
    values["prominence_overall_"] = seen.overall
    if "row_marginal_" in vars(model):
        values["row_marginal_"] = row_marginal(data)
    if "row_totals_" in vars(model):
        values["row_totals_"] = table.counts.row_totals
    return values


def _moved(model: CountEstimator, into: Array) -> Fields:
    """How prominent columns are in topics that were joined or left out, as far as is known."""
    if "prominence_" not in vars(model):
        return {}
    own = {name: vars(model)[name] for name in ("prominence_", "prominence_rows_")}
    return {name: np.ascontiguousarray(_summed(one.T, into).T) for name, one in own.items()}


def _reshaped(
    model: ModelT, params: Params, row_weights: Array, into: Array, of_rows: Fields | None = None
) -> ModelT:
    """A copy of the model with other topics; `into` (K,) says where each of its own went."""
    other = copy.copy(model)
    for name, value in (_moved(model, into) if of_rows is None else of_rows).items():
        setattr(other, name, value)
    for name in OF_THE_FIT:
        if name in vars(other):
            delattr(other, name)
    other._set_solution(sized(model.model_, len(params.weight)), params, row_weights)
    other.free_energy_ = float("nan")
    if "labels_" in vars(other):
        other.labels_ = row_weights.argmax(axis=1)
    if model.pinned_:
        other.pinned_ = tuple(sorted(int(into[k]) for k in model.pinned_))
    other.names_ = _carried(model, other, into)
    if "topic_tree_" in vars(other):
        other.topic_tree_ = _tree_of(other)
    other._come_home()
    return other


def _tree_of(model: CountEstimator) -> Tree:
    """The topics of a model joined as its fit has joined them."""
    if "row_marginal_" not in vars(model):
        return tree_by_columns(model.weights_, model.components_.T)
    heavy = model.row_weights_ * vars(model)["row_marginal_"][:, None]
    return tree_by_rows(model.row_weights_.T @ heavy)


def _recorded(
    what: str, model: ModelT, other: ModelT, pairs: Sequence[tuple[int, int]], into: Array
) -> ModelT:
    """The other model with what was done; pairs are topics before and after, -1 of what is gone."""
    before, after = model.names_, other.names_
    left = [(k, new) for k, new in pairs if new >= 0]
    edit = Edit(
        what,
        tuple(k for k, _ in pairs),
        tuple(before[k] for k, _ in pairs),
        tuple(new for _, new in left),
        tuple(after[new] for _, new in left),
    )
    return recorded(edit, model, other, into)


def _unmoved(model: CountEstimator) -> Array:
    """Every topic keeps its number, (K,)."""
    return np.arange(len(model.weights_))


# What they are called -----------------------------------------------------------------------------


def _name(given: object) -> str:
    """A name on one line."""
    name = " ".join(given.split()) if isinstance(given, str) else ""
    if not name or len(name) > LONGEST:
        raise IsothermError(
            f"name={reprlib.repr(given)}; it must be text of 1 to {LONGEST} letters",
            parameter="name",
        )
    return name


def _names_by_hand(model: CountEstimator) -> set[str]:
    """Names that were given by hand, whichever topics have them now."""
    return {name for one in edits_of(model) if one.what == "rename" for name in one.new_names}


def _lightness(model: CountEstimator) -> Callable[[int], float]:
    return lambda k: -float(model.weights_[k])


def _carried(model: CountEstimator, other: CountEstimator, into: Array) -> tuple[str, ...]:
    """Names of other topics: those that they had, by their words where they are new."""
    came = [np.flatnonzero(into == new) for new in range(len(other.weights_))]
    other._name_components()
    fresh = other.names_
    return tuple(
        model.names_[old[0]] if len(old) == 1 else fresh[new] for new, old in enumerate(came)
    )


def _call(model: CountEstimator, topics: Sequence[int], names: Sequence[str]) -> None:
    """Call some topics by names, or by their words where none are given; all names differ."""
    whole = list(model.names_)
    if not names:
        model._name_components()
        names = [model.names_[k] for k in topics]
    others = {name for k, name in enumerate(whole) if k not in topics}
    for k, name in zip(topics, names, strict=True):
        whole[k] = own = name
        number = 2
        while whole[k] in others:
            whole[k], number = f"{own} ({number})", number + 1
        others.add(whole[k])
    model.names_ = tuple(whole)
