"""Corpus -> annealed topics -> annealed map, as one call."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from isotherm.data.base import Array
from isotherm.data.counts import Counts, as_counts
from isotherm.data.split import RandomState
from isotherm.errors import IsothermError
from isotherm.estimators.aspect import AspectModel
from isotherm.estimators.counts import CountEstimator
from isotherm.estimators.gtm import GTM
from isotherm.estimators.projection import ProjectionEstimator
from isotherm.maps.corpus import COMPONENTS, NODES, Cooling, CorpusMap, Label

__all__ = ["MappedCorpus", "map_corpus"]

# One entry per row, in whatever comes to hand.
Entries = Sequence[object] | Array

N_TOPICS, N_DIMENSIONS, N_WORDS = 20, 2, 10
# Added to every proportion before its logarithm is taken.
FLOOR = 0.01
# Share of the corpus in every topic where words are judged by it: estimates contain zeros.
SMOOTHING = 0.1


class Kept(NamedTuple):
    """What a map keeps of the documents besides numbers."""

    names: tuple[str, ...]
    labels: tuple[Label, ...] | None
    texts: tuple[str, ...] | None


class MappedCorpus(NamedTuple):
    """A map as plain data, and the two fitted estimators that can place further documents."""

    map: CorpusMap
    topics: CountEstimator
    gtm: GTM

    def __repr__(self) -> str:
        return f"MappedCorpus({self.map!r}, {self.topics!r}, {self.gtm!r})"

    def _repr_html_(self) -> str:
        return self.map._repr_html_()

    def place(self, counts: object) -> Array:
        """Places of documents in the map, (I, L), each by itself; NaN where nothing is known.

        Parameters
        ----------
        counts : counts (I, J)
            Over the same columns as the corpus.
        """
        rows = as_counts(counts, allow_empty=True)
        return _places(self.topics, self.gtm, rows, self.map.transform)[0]


def map_corpus(
    counts: Counts,
    *,
    n_topics: int | None = None,
    n_dimensions: int | None = None,
    topics: CountEstimator | None = None,
    gtm: GTM | None = None,
    labels: Entries | None = None,
    texts: Entries | None = None,
    names: Entries | None = None,
    transform: str | None = None,
    random_state: RandomState = 0,
) -> MappedCorpus:
    """Map of a corpus by its topics, with the estimators that made it.

    Topics are annealed from the counts; a map is annealed from the proportions of the topics in
    each document (Choi 2012, ch. 4). An estimator that is fitted already is used as it is, one
    that is not is fitted here, in place.

    Parameters
    ----------
    counts : counts (I, J), sparse matrix, array or data frame
    n_topics : int, optional
        Number of topics of the default topic model; 20 unless told.
    n_dimensions : {1, 2, 3}, optional
        Dimensions of the default map; 2 unless told.
    topics : count estimator, optional
        `AspectModel(n_topics)` by default.
    gtm : GTM, optional
        `GTM(n_dimensions)` by default.
    labels, texts, names : sequence of length I, optional
        What to keep of each document; names are the row names of `counts`, or row numbers.
    transform : {"sqrt", "raw", "clr", "log-likelihood"}, optional
        How documents enter the map, see Notes: by default "sqrt" of `AspectModel`, and
        "log-likelihood" of models that give each document to one component.
    random_state : int, Generator, RandomState or None
        Seed of the default estimators; those that are given have their own.

    Returns
    -------
    MappedCorpus
        `map` (a `CorpusMap`), `topics` and `gtm`.

    Notes
    -----
    "raw" are the proportions P(k|x), "sqrt" their square roots, so that distances are Hellinger's,
    "clr" centred logarithms of P(k|x) + 0.01, and "log-likelihood" is the mean of log P(y|k) over
    the tokens of a document, centred over topics (with a tenth of the corpus in every topic).
    Measured by `benchmarks/maps/corpus_map.py`, square roots keep the neighbourhoods of the topics
    best, and log-likelihoods those of the words. In clusterings, where proportions are nearly 0 or
    1, only log-likelihoods tell the documents of one cluster apart.

    Examples
    --------
    >>> import numpy as np
    >>> from isotherm import map_corpus
    >>> blocks = np.kron(np.eye(3), np.full((200, 5), 6.0)) + 1.0
    >>> X = np.random.default_rng(0).poisson(blocks)
    >>> found = map_corpus(X, n_topics=3)
    >>> found.map
    CorpusMap(600 documents, 3 topics, 2-D map of 20 x 20 nodes)
    >>> bool(np.allclose(found.place(X[:2]), found.map.coordinates[:2]))
    True
    """
    rows = as_counts(counts)
    kept = _kept(rows, labels, texts, names)
    topics = _topic_model(topics, n_topics, random_state)
    gtm = _map_model(gtm, n_dimensions, random_state)
    way = _way(transform, topics)
    if _is_fitted(gtm) and not _is_fitted(topics):
        raise IsothermError(
            "gtm is fitted and topics are not: a map holds for the topics that it was made of; "
            "give those topics as well, or a GTM that is not fitted"
        )
    if not _is_fitted(topics):
        topics.fit(rows)
    return MappedCorpus(_plain(rows, topics, gtm, way, kept), topics, gtm)


def _plain(
    counts: Counts, topics: CountEstimator, gtm: GTM, transform: str, kept: Kept
) -> CorpusMap:
    """All there is to say of a corpus by fitted topics; the map is fitted if need be."""
    places, weights, tokens = _places(topics, gtm, counts, transform)
    return CorpusMap(
        coordinates=places,
        topic_weights=weights,
        tokens=tokens,
        names=kept.names,
        labels=kept.labels,
        texts=kept.texts,
        top_words=tuple(map(tuple, topics.top_words(N_WORDS))),
        topic_sizes=topics.weights_,
        topic_coordinates=_topic_places(topics, gtm, transform),
        nodes=gtm.nodes_,
        magnification=gtm.magnification(),
        grid_shape=gtm.grid_.shape,
        transform=transform,
        topics_cooling=_cooling(topics),
        map_cooling=_cooling(gtm),
    )


# How documents enter the map -----------------------------------------------------------------


def _raw(weights: Array, counts: Counts, topics: CountEstimator) -> Array:
    return weights


def _sqrt(weights: Array, counts: Counts, topics: CountEstimator) -> Array:
    """Euclidean distance is Hellinger's distance of the proportions."""
    return np.sqrt(weights)


def _clr(weights: Array, counts: Counts, topics: CountEstimator) -> Array:
    return _centred(np.log(weights + FLOOR))


def _log_likelihood(weights: Array, counts: Counts, topics: CountEstimator) -> Array:
    table = (1.0 - SMOOTHING) * topics.components_ + SMOOTHING * topics.unigram_
    known = topics.unigram_ > 0
    matrix = counts.matrix[:, known]
    total = np.asarray(matrix.sum(axis=1))[:, None]
    return _centred(np.asarray(matrix @ np.log(table[:, known]).T) / total)


def _centred(values: Array) -> Array:
    return np.asarray(values - values.mean(axis=1, keepdims=True))


TRANSFORMS: Mapping[str, Callable[[Array, Counts, CountEstimator], Array]] = {
    "sqrt": _sqrt,
    "raw": _raw,
    "clr": _clr,
    "log-likelihood": _log_likelihood,
}


def _places(
    topics: CountEstimator, gtm: GTM, counts: Counts, transform: str
) -> tuple[Array, Array, Array]:
    """Places (I, L), topic weights (I, K) and known tokens (I,); the map is fitted if need be.

    Weights are folded in, also those of the training rows: a document that comes again is placed
    where it was.
    """
    weights = topics.transform(counts)
    tokens = np.asarray(counts.matrix @ (topics.unigram_ > 0).astype(np.float64))
    spoken = np.flatnonzero(tokens > 0)
    places = np.full((counts.n_rows, gtm.n_components), np.nan)
    if not _is_fitted(gtm):
        if len(spoken) < 2:
            raise IsothermError(
                f"{len(spoken)} of {counts.n_rows} documents have tokens that the topics know; a "
                "map needs at least two"
            )
        gtm.fit(_entered(topics, counts, weights, spoken, transform))
    if len(spoken):
        places[spoken] = gtm.transform(_entered(topics, counts, weights, spoken, transform))
    return places, weights, tokens


def _entered(
    topics: CountEstimator, counts: Counts, weights: Array, rows: Array, transform: str
) -> Array:
    return TRANSFORMS[transform](weights[rows], counts.take_rows(rows), topics)


def _topic_places(topics: CountEstimator, gtm: GTM, transform: str) -> Array:
    """Places (K, L) of documents that are made of one topic each."""
    pure = np.eye(len(topics.weights_))
    return gtm.transform(TRANSFORMS[transform](pure, Counts(topics.components_), topics))


# What is given, and what is kept --------------------------------------------------------------


def _kept(
    counts: Counts, labels: Entries | None, texts: Entries | None, names: Entries | None
) -> Kept:
    n_rows = counts.n_rows
    for what, values in (("labels", labels), ("texts", texts), ("names", names)):
        if values is not None and len(values) != n_rows:
            raise IsothermError(
                f"{what} has {len(values)} entries for {n_rows} rows; give one for each row"
            )
    if names is None:
        names = counts.row_names
    return Kept(
        tuple(f"row {row}" for row in range(n_rows)) if names is None else tuple(map(str, names)),
        None if labels is None else tuple(map(_label, labels)),
        None if texts is None else tuple(map(str, texts)),
    )


def _label(value: object) -> Label:
    """A label as a plain value; NaN, which data frames put for nothing, as None."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) and not math.isfinite(plain):
        return None
    return plain if plain is None or isinstance(plain, str | int | float) else str(plain)


def _way(given: str | None, topics: CountEstimator) -> str:
    if given is None:
        return "sqrt" if isinstance(topics, AspectModel) else "log-likelihood"
    if given not in TRANSFORMS:
        allowed = ", ".join(map(repr, TRANSFORMS))
        raise IsothermError(
            f"transform={given!r}; it must be one of {allowed}, or None", parameter="transform"
        )
    return given


def _topic_model(given: object, n_topics: int | None, random_state: RandomState) -> CountEstimator:
    if given is None:
        n_topics = N_TOPICS if n_topics is None else n_topics
        if n_topics == 1:
            raise IsothermError(
                "n_topics=1; a single topic maps every document to one place", parameter="n_topics"
            )
        return AspectModel(n_topics, random_state=random_state)
    if not isinstance(given, CountEstimator):
        raise IsothermError(
            f"topics={given!r}; give an estimator for counts such as AspectModel(20), or none",
            parameter="topics",
        )
    if isinstance(given, ProjectionEstimator):
        raise IsothermError(
            f"topics={given!r}; its rows have clusters in place of topics: map `project(X)` with "
            "GTM, or give a model such as AspectModel(20)",
            parameter="topics",
        )
    _refuse_both("topics", "n_topics", n_topics)
    return given


def _map_model(given: object, n_dimensions: int | None, random_state: RandomState) -> GTM:
    if given is None:
        n_dimensions = N_DIMENSIONS if n_dimensions is None else n_dimensions
        return GTM(n_dimensions, random_state=random_state)
    if not isinstance(given, GTM):
        raise IsothermError(
            f"gtm={given!r}; give an estimator such as GTM(2), or none", parameter="gtm"
        )
    _refuse_both("gtm", "n_dimensions", n_dimensions)
    return given


def _refuse_both(name: str, number: str, value: int | None) -> None:
    if value is not None:
        raise IsothermError(
            f"{number}={value} and {name} are both given; {name} has its own number: leave "
            f"{number} out",
            parameter=number,
        )


def _is_fitted(estimator: CountEstimator | GTM) -> bool:
    return hasattr(estimator, "trace_")


def _cooling(estimator: CountEstimator | GTM) -> Cooling:
    parts = NODES if isinstance(estimator, GTM) else COMPONENTS
    marks = float(estimator.first_critical_), float(estimator.temperature_)
    return Cooling(tuple(estimator.trace_), *marks, parts)
