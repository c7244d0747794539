"""Stages of an annealing run, each told in terms of the final topics that came of it."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isotherm.anneal.stages import MOST, Stage, Stages, telling
from isotherm.anneal.trace import Step
from isotherm.data.base import Array
from isotherm.data.counts import Counts
from isotherm.errors import IsothermError
from isotherm.maps.corpus import CorpusMap
from isotherm.maps.workflow import TRANSFORMS
from isotherm.models.base import leaders
from isotherm.tree import Tree
from isotherm.viewer.format import StageMeta, StageTopic
from isotherm.viewer.parts.contents import mean_of, name_of, splits_of, telling_words
from isotherm.viewer.parts.points import Place, codes, quantised_places

if TYPE_CHECKING:
    from isotherm._types import Params
    from isotherm.estimators.counts import CountEstimator
    from isotherm.estimators.gtm import GTM


# Documents are folded in at each stage while non-zeros x components, over all stages, are no more.
FOLD_WORK = 500_000_000
# Places of the documents are kept for each stage while documents x stages are no more.
MOVED = 500_000


class Moment(NamedTuple):
    """A solution on the way with C topics, and the final topics K that came of each.

    Attributes
    ----------
    temperature : float
    weights : (C,)
    table : (C, J)
    owner : (K,)
        Which of the C each final topic came of.
    model, params : model and parameters to fold documents in with; None where there are none
    groups : (C', ), or None
        Which of the C each component of the parameters belongs to: some may be one.
    """

    temperature: float
    weights: Array
    table: Array
    owner: Array
    model: Any = None
    params: Params | None = None
    groups: Array | None = None

    @property
    def n_topics(self) -> int:
        """Number of topics C."""
        return len(self.weights)


class Guide(NamedTuple):
    """A map that documents can be placed in: what it shows, and the GTM that places them."""

    number: int
    place: Place
    corpus: CorpusMap
    gtm: GTM


def stages_of(
    model: CountEstimator,
    given: Stages | Sequence[Stage] | None,
    counts: Counts | None,
    weights: Array,
    names: list[str],
    guides: Sequence[Guide],
) -> tuple[list[StageMeta], dict[str, Array]]:
    """What the page is told of the stages, hottest first, and their arrays by name.

    Parameters
    ----------
    model : fitted estimator
        One that grew has stages of its own, and so has one with a tree.
    given : Stages or sequence of Stage, optional
    counts : Counts (I, J), optional
        Without them documents have at each stage what their final topics add up to.
    weights : (I, K)
        Proportions of the final topics in each document.
    names : list of str (J,)
    guides : sequence of Guide
        Maps whose documents are placed at each stage.
    """
    found = candidates(model, given)
    if not found:
        return [], {}
    work = 0 if counts is None else counts.nnz * sum(one.n_topics for one in found)
    folds = counts is not None and work <= FOLD_WORK
    moves = guides if len(weights) * len(found) <= MOVED else ()
    metas, arrays = [], {}
    for s, candidate in enumerate(found):
        moment = candidate.build()
        shares = _folded(model, moment, counts) if folds else None
        if shares is None:
            shares = joined(weights, moment.owner, moment.n_topics)
        arrays[f"stage{s}.topic"] = codes(shares.argmax(axis=1), moment.n_topics)
        moved = []
        for guide in moves:
            places = _moved(model, moment, shares, counts, guide)
            if places is not None:
                arrays[f"stage{s}.map{guide.number}"] = places
                moved.append(guide.number)
        metas.append(stage_meta(model, moment, names, moved))
    return [*metas, stage_meta(model, _last(model), names, [])], arrays


class Candidate(NamedTuple):
    """A stage that may be shown; its tables are made when it is, since all of them are large."""

    temperature: float
    n_topics: int
    build: Callable[[], Moment]


def candidates(model: CountEstimator, given: Stages | Sequence[Stage] | None) -> list[Candidate]:
    """The stages that tell the story of a model, at most MOST with the final one, hottest first."""
    if given is not None:
        kept = given.kept if isinstance(given, Stages) else tuple(given)
        later = [
            Candidate(one.temperature, one.n_distinct, partial(_of_stage, model, one))
            for one in kept
        ]
        found = [*_hot(model), *later]
    elif _has_steps(model) and splits_of(model) is not None:
        found = [
            Candidate(step.temperature, step.n_components, partial(_of_step, model, step))
            for step in model.path_
            if step.params is not None
        ]
    else:
        found = list(_of_tree(model))
    way = [Candidate(model.temperature_, len(model.weights_), partial(_last, model))]
    # Backwards from the model itself: hotter, and with no more topics; a single one is the end.
    for one in sorted(found, key=lambda one: (one.temperature, -one.n_topics)):
        before = way[-1]
        fewer = one.n_topics <= before.n_topics != 1
        if one.temperature > before.temperature and fewer:
            way.append(one)
    way.reverse()
    numbers = [one.n_topics for one in way]
    shown = telling(numbers, [one.temperature for one in way], MOST)
    return [way[i] for i in shown[:-1]]


def _has_steps(model: CountEstimator) -> bool:
    """Whether solutions of the way to the model are known."""
    return any(step.params is not None for step in getattr(model, "path_", ()))


def joined(values: Array, groups: Array, number: int) -> Array:
    """Columns (I, K) added up in groups, (I, number)."""
    member = np.zeros((len(groups), number))
    member[np.arange(len(groups)), groups] = 1.0
    return np.asarray(values @ member)


def shared(moment: Moment, shares: Array, sizes: Array) -> Array:
    """Proportions of final topics (I, K): those of the stage shared out by their sizes (K,)."""
    total = np.bincount(moment.owner, weights=sizes, minlength=moment.n_topics)
    count = np.bincount(moment.owner, minlength=moment.n_topics)
    own = total[moment.owner]
    part = np.where(own > 0, sizes / np.where(own > 0, own, 1.0), 1.0 / count[moment.owner])
    found = shares[:, moment.owner] * part
    # What belonged to a topic that none of the final ones came of is shared by the others.
    whole = found.sum(axis=1, keepdims=True)
    return np.where(whole > 0, found / np.where(whole > 0, whole, 1.0), sizes / sizes.sum())


def _folded(model: CountEstimator, moment: Moment, counts: Counts | None) -> Array | None:
    """Proportions (I, C) of the topics of a stage in each document, at its temperature."""
    if moment.params is None or moment.groups is None:
        return None
    then = copy.copy(model)
    then.model_, then.params_ = moment.model, moment.params
    then.temperature_ = moment.temperature
    then.precision_ = _precision(moment.params)
    return joined(then.transform(counts), moment.groups, moment.n_topics)


def _precision(params: Params) -> str:
    tables = [one for one in params if getattr(one, "ndim", 0) > 1]
    return "float32" if any(one.dtype == np.float32 for one in tables) else "float64"


def _moved(
    model: CountEstimator, moment: Moment, shares: Array, counts: Counts | None, guide: Guide
) -> Array | None:
    """Places of the documents in a map at a stage, as `maps.workflow` places them at the end."""
    corpus = guide.corpus
    known = np.flatnonzero(~corpus.empty)
    if counts is None and corpus.transform == "log-likelihood":
        return None
    rows = counts.take_rows(known) if counts is not None else None
    mixed = shared(moment, shares[known], model.weights_)
    topics: Any = SimpleNamespace(components_=moment.table[moment.owner], unigram_=model.unigram_)
    # Only log-likelihoods look at the counts, and they were refused above without any.
    entered = TRANSFORMS[corpus.transform](mixed, rows, topics)  # type: ignore[arg-type]
    places = np.full((len(shares), corpus.coordinates.shape[1]), np.nan)
    if len(known):
        places[known] = guide.gtm.transform(entered)
    return quantised_places(guide.place, places)


def stage_meta(
    model: CountEstimator, moment: Moment, names: list[str], moved: list[int]
) -> StageMeta:
    """What the page is told of a stage; `moved` are the maps that have places of it."""
    topics: list[StageTopic] = []
    for c in range(moment.n_topics):
        words = telling_words(moment.table[c], model.unigram_, names)
        finals = np.flatnonzero(moment.owner == c)
        if not len(finals):
            # It joined others on the way: what it is most like is what came of it.
            finals = _alike(moment.table[c : c + 1], model.components_, model.unigram_).argmax(1)
        topics.append(
            {
                "name": name_of(words),
                "words": words,
                "size": float(moment.weights[c]),
                "finals": finals.tolist(),
            }
        )
    return {
        "temperature": float(moment.temperature),
        "n_topics": moment.n_topics,
        "topics": topics,
        "moved": moved,
    }


# Where stages come from --------------------------------------------------------------------------


def _last(model: CountEstimator) -> Moment:
    own = np.arange(len(model.weights_))
    return Moment(model.temperature_, model.weights_, model.components_, own)


def _hot(model: CountEstimator) -> Iterator[Candidate]:
    """Above its first critical temperature a model is one topic, the corpus as a whole."""
    first = float(model.first_critical_)
    if math.isfinite(first):
        own = np.zeros(len(model.weights_), np.int64)
        whole = Moment(first, np.ones(1), model.unigram_[None], own)
        yield Candidate(first, 1, lambda: whole)


def _of_stage(model: CountEstimator, stage: Stage) -> Moment:
    """A stage of a fit whose number of components is fixed: component k stays component k."""
    weight, table = stage.model.components(stage.params)
    if len(table) != model.components_.shape[1]:
        raise IsothermError(
            f"stages are of {len(table)} columns and the model of {model.components_.shape[1]}; "
            "give those of the fit of this model"
        )
    heads, groups = np.unique(leaders(weight, table), return_inverse=True)
    weight = np.asarray(weight, np.float64)
    sizes = np.bincount(groups, weights=weight, minlength=len(heads))
    # The mean of each group, weighed; the parts are nearly the same.
    share = weight / np.where(sizes[groups] > 0, sizes[groups], 1.0)
    member = np.zeros((len(groups), len(heads)))
    member[np.arange(len(groups)), groups] = share
    means = np.asarray(table @ member).T
    edited = any(one.reshapes for one in model.edits_)
    same = len(weight) == len(model.weights_) and not edited
    owner = groups if same else _nearest(model, means)
    temperature = stage.temperature
    return Moment(temperature, sizes, means, owner, stage.model, stage.params, groups)


def _of_step(model: CountEstimator, step: Step) -> Moment:
    """A step of a growing run."""
    weight, table = step.model.components(step.params)
    own, number = np.asarray(table.T, np.float64), np.arange(len(weight))
    owner = _nearest(model, own)
    weight = np.asarray(weight, np.float64)
    return Moment(step.temperature, weight, own, owner, step.model, step.params, number)


def _of_tree(model: CountEstimator) -> Iterator[Candidate]:
    """What a tree says by itself: at each number of branches, the mean of the topics below each."""
    tree = splits_of(model)
    if tree is None:
        return
    known = {t for t in tree.temperatures if math.isfinite(t)}
    hot = {float(model.first_critical_)} if model.first_critical_ > max(known, default=0) else set()
    for temperature in known | hot:
        parts = branches(tree, temperature)
        if len(parts) < tree.n_leaves:
            build = partial(_of_parts, model, temperature, parts)
            yield Candidate(temperature, len(parts), build)


def _of_parts(
    model: CountEstimator, temperature: float, parts: tuple[tuple[int, ...], ...]
) -> Moment:
    owner = np.zeros(len(model.weights_), np.int64)
    for c, part in enumerate(parts):
        owner[list(part)] = c
    sizes = np.array([model.weights_[list(part)].sum() for part in parts])
    return Moment(temperature, sizes, np.stack([mean_of(model, part) for part in parts]), owner)


def branches(tree: Tree, temperature: float) -> tuple[tuple[int, ...], ...]:
    """Components in the groups that they were in at a temperature, by where each node split."""
    found = []
    stack = [0]
    while stack:
        node = stack.pop()
        split = tree.temperatures[node]
        if math.isfinite(split) and split >= temperature:
            stack.extend(reversed(tree.children(node)))
        else:
            found.append(tree.components_below(node))
    return tuple(found)


def _nearest(model: CountEstimator, table: Array) -> Array:
    """Which row of a table (C, J) of an earlier stage each final topic is most like, (K,).

    The tree says it less well: topics that have split go on to change, and some join others again.
    """
    return np.asarray(_alike(model.components_, table, model.unigram_).argmax(axis=1))


def _alike(first: Array, second: Array, unigram: Array) -> Array:
    """How much each two topics deviate from the corpus in the same direction, (C, D).

    Just below its transition a topic is all but the corpus itself, and the way it leans is all
    that there is to tell it by: distances would say that it is near to everything.
    """
    one, two = (np.sqrt(table) - np.sqrt(unigram) for table in (first, second))
    one, two = (
        side / np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-12) for side in (one, two)
    )
    return np.asarray(one @ two.T)
