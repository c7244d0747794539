"""All that can be said of a fit in one call: `evaluate_topics` and its `EvaluationReport`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isotherm import _checks
from isotherm._markup import Part, page
from isotherm.data.base import Array
from isotherm.data.counts import Counts, as_counts
from isotherm.errors import IsothermError
from isotherm.estimators.counts import CountEstimator
from isotherm.evaluate.agreement import (
    accuracy,
    ami,
    ari,
    completeness,
    homogeneity,
    nmi,
    purity,
)
from isotherm.evaluate.matching import Stability, stability
from isotherm.evaluate.top_words import diversity, exclusivity, top_columns, topic_table
from isotherm.evaluate.word_coherence import MEASURES, Coherence, coherence, counted
from isotherm.models.base import CountModel, Model


@dataclass(frozen=True, eq=False)
class EvaluationReport:
    """What was computed of a fit; `str()` is a page of text, `as_dict()` is for JSON.

    Attributes
    ----------
    model : str
        Class of the model, or "table".
    n_topics, n_words : int
        Topics, and top words of each that were looked at.
    perplexity : float or None
        By document completion, of the rows that `perplexity_of` names.
    perplexity_of : {"heldout", "X"} or None
    coherence : mapping of measure to Coherence
    diversity : float
    exclusivity : (K,)
    agreement : mapping of measure to float
        With labels: "ami", "ari", "homogeneity", "completeness", "nmi_max", "nmi_mean", "purity",
        "accuracy".
    stability : Stability or None
        Against other fits.
    top_words : tuple of tuples of str
    skipped : mapping of measure to why it is not there
    """

    model: str
    n_topics: int
    n_words: int
    perplexity: float | None
    perplexity_of: str | None
    coherence: Mapping[str, Coherence]
    diversity: float
    exclusivity: Array
    agreement: Mapping[str, float]
    stability: Stability | None
    top_words: tuple[tuple[str, ...], ...]
    skipped: Mapping[str, str]

    def as_dict(self) -> dict[str, object]:
        """The report in plain numbers, strings, lists and dicts; None for what is no number."""
        stable = self.stability
        return {
            "model": self.model,
            "n_topics": self.n_topics,
            "n_words": self.n_words,
            "perplexity": _plain(self.perplexity),
            "perplexity_of": self.perplexity_of,
            "coherence": {
                name: {key: _plain(value) for key, value in found._asdict().items()}
                for name, found in self.coherence.items()
            },
            "diversity": self.diversity,
            "exclusivity": {
                "mean": float(self.exclusivity.mean()),
                "per_topic": _plain(self.exclusivity),
            },
            "agreement": dict(self.agreement),
            "stability": stable and {key: _plain(v) for key, v in stable._asdict().items()},
            "top_words": [list(words) for words in self.top_words],
            "skipped": dict(self.skipped),
        }

    def _repr_html_(self) -> str:
        measures = [*self._lines(), *((name, "–", why) for name, why in self.skipped.items())]
        own = [found.per_topic for found in self.coherence.values()]
        rows = [
            (k, *(f"{c[k]:.3f}" for c in (*own, self.exclusivity)), " ".join(words))
            for k, words in enumerate(self.top_words)
        ]
        return page(
            f"{self.model}: {self.n_topics} topics, {self.n_words} top words of each",
            Part(("measure", "value", "what it is"), measures),
            Part(("topic", *self.coherence, "excl", "words"), rows),
        )

    def __str__(self) -> str:
        """The report as text: a line per measure, then a line per topic."""
        lines = [f"{self.model}: {self.n_topics} topics, {self.n_words} top words of each", ""]
        lines += [f"{name:<16}{value:>10}  {note}".rstrip() for name, value, note in self._lines()]
        lines += [f"{name:<16}{'-':>10}  {why}" for name, why in self.skipped.items()]
        heads = [*self.coherence, "excl"]
        columns = [*(found.per_topic for found in self.coherence.values()), self.exclusivity]
        lines += ["", "topic" + "".join(f"{head:>8}" for head in heads) + "  words"]
        for k, words in enumerate(self.top_words):
            row = "".join(f"{column[k]:8.3f}" for column in columns)
            lines.append(f"{k:5d}{row}  {' '.join(words)}")
        return "\n".join(lines)

    def _lines(self) -> list[tuple[str, str, str]]:
        """Name, value and explanation of each measure."""
        lines = []
        if self.perplexity is not None:
            which = "unseen rows" if self.perplexity_of == "heldout" else "the rows given"
            note = f"completion of {which}, per token; lower is better"
            lines.append(("perplexity", f"{self.perplexity:.1f}", note))
        for name, found in self.coherence.items():
            where = "documents" if found.window is None else f"windows of {found.window} tokens"
            note = f"coherence in {found.n_windows} {where}"
            if missing := int(found.missing.sum()):
                note += f"; {missing} top words are not there"
            lines.append((name, f"{found.mean:.3f}", note))
        lines.append(("diversity", f"{self.diversity:.3f}", "different words among the top words"))
        lines.append(("exclusivity", f"{self.exclusivity.mean():.3f}", "FREX of the top words"))
        lines += [(name, f"{value:.3f}", "with labels") for name, value in self.agreement.items()]
        if self.stability is not None:
            note = f"similarity of matched topics, {len(self.stability.pairs)} fits"
            lines.append(("stability", f"{self.stability.mean:.3f}", note))
        return lines


def evaluate_topics(
    model: CountModel,
    X: object,
    *,
    heldout: object = None,
    reference: object = None,
    labels: object = None,
    fits: Sequence[object] = (),
    n_words: int = 10,
    measures: Sequence[str] = MEASURES,
    words: Sequence[str] | None = None,
    tokenizer: Callable[[str], Iterable[str]] | None = None,
) -> EvaluationReport:
    """Every measure of topics that can be computed from what is given.

    Parameters
    ----------
    model : fitted model, or (K, J) array
        With `components_`. Perplexity needs a model of counts of this library; agreement needs
        `predict` or `transform`.
    X : Counts or table (I, J)
        Rows for coherence (by whole documents), for agreement, and, without `heldout`, for
        perplexity; that flatters the model if it was fitted to them.
    heldout : counts (I', J), optional
        Rows that the model never saw, for perplexity.
    reference : Counts or texts, optional
        Where coherence looks words up instead; texts give the sliding windows of NPMI and C_v.
    labels : (I,), optional
        Of the rows of X, for agreement with the most probable component of each row. Rows whose
        label is missing (None or NaN) are left out.
    fits : sequence of models or (K, J) arrays
        Other fits, for stability.
    n_words : int
        Top words of each topic, at least 2.
    measures : sequence of {"npmi", "c_v", "u_mass"}
        Of coherence.
    words : sequence of str (J,), optional
        Names of the columns; by default those of X or of the model.
    tokenizer : callable, optional
        From a text of the reference to its words.
    """
    _checks.integer("n_words", n_words, 2)
    for measure in measures:
        _checks.one_of("measures", measure, MEASURES)
    table = topic_table(model, "topics")
    counts = as_counts(X)
    if counts.n_columns != table.shape[1]:
        raise IsothermError(
            f"X has {counts.n_columns} columns, the topics {table.shape[1]}; both need the same"
        )
    names = _names(model, counts, words)
    skipped: dict[str, str] = {}
    perplexity, of = _perplexity(model, X, heldout, skipped)
    agreement = _agreement(model, X, labels, counts.n_rows, skipped)
    if not len(fits):
        skipped["stability"] = "needs other fits (fits=)"
    n_words = min(n_words, table.shape[1])
    where, named = _reference(counts, reference, names)
    found = {
        name: coherence(model, where, name, n_words, words=named, tokenizer=tokenizer)
        for name in measures
    }
    shown = np.arange(table.shape[1]) if names is None else names
    return EvaluationReport(
        model=type(model).__name__ if hasattr(model, "components_") else "table",
        n_topics=len(table),
        n_words=n_words,
        perplexity=perplexity,
        perplexity_of=of,
        coherence=found,
        diversity=diversity(model, n_words),
        exclusivity=exclusivity(table, n_words),
        agreement=agreement,
        stability=stability([table, *fits]) if len(fits) else None,
        top_words=tuple(tuple(str(shown[j]) for j in row) for row in top_columns(model, n_words)),
        skipped=skipped,
    )


def _names(
    model: Model, counts: Counts, words: Sequence[str] | Array | None
) -> Sequence[str] | Array | None:
    """Names of the columns, or None."""
    names = words
    if names is None:
        names = counts.column_names
    if names is None:
        names = getattr(model, "feature_names_in_", None)
    if names is not None and len(names) != counts.n_columns:
        raise IsothermError(f"{len(names)} words for {counts.n_columns} columns; give as many")
    return names


def _reference(counts: Counts, reference: Any, names: object) -> tuple[Any, Any]:
    """Where words are looked up, and the names to look them up by, if not by column."""
    if reference is None:
        return counts, None
    table = counted(reference)
    if table is None:
        return list(reference), names  # a generator can be read once only
    return table, None if table.column_names is None else names


def _perplexity(
    model: object, X: object, heldout: object, skipped: dict[str, str]
) -> tuple[float | None, str | None]:
    if not isinstance(model, CountEstimator):
        skipped["perplexity"] = "needs a fitted model of counts, which can fold rows in"
        return None, None
    # Of every model the same quantity, also of those whose own default is another one.
    found = CountEstimator.perplexity(model, X if heldout is None else heldout)
    return found, "X" if heldout is None else "heldout"


def _agreement(
    model: Any, X: object, labels: object, n_rows: int, skipped: dict[str, str]
) -> dict[str, float]:
    if labels is None:
        skipped["agreement"] = "needs labels of the rows (labels=)"
        return {}
    if not (hasattr(model, "predict") or hasattr(model, "transform")):
        skipped["agreement"] = "needs a model that predicts or transforms rows"
        return {}
    given, known = _labels(labels, n_rows)
    if not known.any():
        skipped["agreement"] = "needs labels, and no row has one"
        return {}
    own = model.predict(X) if hasattr(model, "predict") else model.transform(X).argmax(axis=1)
    given, own = given[known], np.asarray(own)[known]
    return {
        "ami": ami(given, own),
        "ari": ari(given, own),
        "homogeneity": homogeneity(given, own),
        "completeness": completeness(given, own),
        "nmi_max": nmi(given, own),
        "nmi_mean": nmi(given, own, "mean"),
        "purity": purity(given, own),
        "accuracy": accuracy(given, own),
    }


def _labels(labels: object, n_rows: int) -> tuple[Array, Array]:
    """Labels (I,), and which of them are there (I,)."""
    given = np.asarray(labels)
    if given.shape != (n_rows,):
        raise IsothermError(f"labels have shape {given.shape}; give one for each of {n_rows} rows")
    if given.dtype.kind == "U" and not isinstance(labels, np.ndarray):
        # Next to strings, numpy makes strings of what is missing.
        given = np.asarray(labels, dtype=object)
    if given.dtype.kind not in "fO":
        return given, np.ones(n_rows, bool)
    known = np.array([one is not None and one == one for one in given.tolist()])
    if given.dtype == object:  # strings and numbers side by side are told apart by their names
        given = np.array([str(one) for one in given.tolist()])
    return given, known


def _plain(value: object) -> object:
    if isinstance(value, np.ndarray):
        return [_plain(one) for one in value.tolist()]
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
