"""Coherence: whether the top words of a topic occur together in a reference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from isotherm import _checks
from isotherm.data.base import Array
from isotherm.data.counts import Counts, as_counts
from isotherm.errors import IsothermError
from isotherm.evaluate.occurrence import documents_of_counts, found_in_texts
from isotherm.evaluate.top_words import top_columns, topic_table, word_lists

AUTO, DOCUMENT = "auto", "document"
# Tokens of the windows of Roeder, Both & Hinneburg 2015; None: whole documents.
WINDOWS = {"npmi": 10, "c_v": 110, "u_mass": None}
MEASURES = tuple(WINDOWS)
# What is added to joint probabilities (theirs), and to joint counts (Mimno et al.'s).
SMOOTHING = {"npmi": 1e-12, "c_v": 1e-12, "u_mass": 1.0}


class Coherence(NamedTuple):
    """Coherence of topics, and of what it was computed.

    Attributes
    ----------
    per_topic : (K,)
        NaN where fewer than two words of a topic are in the reference.
    mean : float
        Over the topics that have a value.
    measure : str
    window : int or None
        Tokens of the sliding windows; None: words met in whole documents.
    n_windows : int
        Windows, or documents that are not empty.
    missing : (K,)
        Top words of each topic that the reference does not hold; they are left out.
    """

    per_topic: Array
    mean: float
    measure: str
    window: int | None
    n_windows: int
    missing: Array


def coherence(
    topics: object,
    reference: Any,
    measure: str = "npmi",
    n_words: int = 10,
    *,
    window: int | str = AUTO,
    words: Sequence[str] | None = None,
    smoothing: float | None = None,
    tokenizer: Callable[[str], Iterable[str]] | None = None,
) -> Coherence:
    """How much the top words of each topic occur together; higher is better.

    With P the share of windows that hold one word, or both:

    - "npmi": mean over pairs of log[(P_ij + s) / (P_i P_j)] / -log(P_ij + s), from -1 to 1
      (Bouma 2009; Aletras & Stevenson 2013; Roeder, Both & Hinneburg 2015, WSDM);
    - "c_v": mean over words i of the cosine of v_i and sum_j v_j, where v_i holds the NPMI of i
      with every top word, itself included; mostly from 0 to 1 (Roeder et al. 2015);
    - "u_mass": mean over pairs i after j in the list of log[(D_ij + s) / D_j], D numbers of
      documents, at most log(1 + s) or so (Mimno et al. 2011, EMNLP, who take the sum).

    Parameters
    ----------
    topics : (K, J) array, fitted model, or list of lists of str
        Tables, or words in falling order; of a model the words that it shows.
    reference : Counts or table (I, J), or iterable of texts
        Where words are looked up. Counts know whole documents only; a text is a str or the list of
        its words.
    measure : {"npmi", "c_v", "u_mass"}
    n_words : int
        Words of each topic, at least 2.
    window : "auto", "document" or int
        Tokens of the windows over texts; "auto" is 10 for NPMI, 110 for C_v, whole documents for
        U_mass and for counts.
    words : sequence of str (J,), optional
        Names of the columns of a table of topics, needed for texts. Without them columns of topics
        are those of the counts.
    smoothing : float, optional
        The s above: 1e-12 for NPMI and C_v, 1 for U_mass.
    tokenizer : callable, optional
        From a str of the reference to its words, which must be those of the topics (stems, say);
        by default runs of two or more letters and digits, in lower case.
    """
    _checks.one_of("measure", measure, MEASURES)
    _checks.integer("n_words", n_words, 2)
    added = SMOOTHING[measure] if smoothing is None else smoothing
    _checks.number("smoothing", added, 0.0)
    counts = counted(reference)
    width = _width(window, measure, counts is not None)
    lists = _lists(topics, counts, n_words, words)
    terms = {term: v for v, term in enumerate(dict.fromkeys(t for row in lists for t in row))}
    where = (
        found_in_texts(reference, list(terms), width, tokenizer)
        if counts is None
        else documents_of_counts(counts, _columns(counts, list(terms)))
    )
    if not where.seen:
        raise IsothermError(
            f"none of the {len(terms)} top words ({', '.join(map(str, list(terms)[:3]))}, ...) is "
            "in the reference; both need words of the same form (case, stems)"
        )
    found, missing = np.full(len(lists), np.nan), np.zeros(len(lists), int)
    for k, row in enumerate(lists):
        joint = where.joint(np.array([terms[term] for term in row]))
        known = np.flatnonzero(joint.diagonal())
        missing[k] = len(row) - len(known)
        if len(known) > 1:
            found[k] = _FORMULAS[measure](joint[np.ix_(known, known)], where.total, float(added))
    mean = float(np.nanmean(found)) if not np.isnan(found).all() else float("nan")
    return Coherence(found, mean, measure, width, where.total, missing)


def npmi_table(joint: Array, total: int, smoothing: float) -> Array:
    """Normalised pointwise mutual information of each two words, (m, m)."""
    p = joint / total
    single = p.diagonal()
    both = np.minimum(p + smoothing, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log(both / np.outer(single, single)) / -np.log(both)
    found[both == 0] = -1.0  # the limit for words that never meet, without smoothing
    found[both == 1] = 1.0  # and for words that are everywhere
    return np.asarray(found)


def _npmi(joint: Array, total: int, smoothing: float) -> float:
    return float(npmi_table(joint, total, smoothing)[np.triu_indices(len(joint), 1)].mean())


def _c_v(joint: Array, total: int, smoothing: float) -> float:
    vectors = npmi_table(joint, total, smoothing)
    whole = vectors.sum(axis=0)
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(whole)
    cosines = np.divide(vectors @ whole, lengths, out=np.zeros(len(joint)), where=lengths > 0)
    return float(cosines.mean())


def _u_mass(joint: Array, total: int, smoothing: float) -> float:
    later, earlier = np.tril_indices(len(joint), -1)
    with np.errstate(divide="ignore"):
        logs = np.log((joint[later, earlier] + smoothing) / joint[earlier, earlier])
    return float(logs.mean())


_FORMULAS = {"npmi": _npmi, "c_v": _c_v, "u_mass": _u_mass}


def counted(reference: object) -> Counts | None:
    """The reference as counts, or None if it is texts."""
    if isinstance(reference, Counts):
        return reference
    if len(getattr(reference, "shape", ())) == 2:  # arrays, sparse ones and frames
        return as_counts(reference)
    if isinstance(reference, str) or not isinstance(reference, Iterable):
        raise IsothermError(
            f"reference={reference!r:.60}; give Counts, or a list of texts (str or lists of words)",
            parameter="reference",
        )
    return None


def _width(window: int | str, measure: str, counted: bool) -> int | None:
    if isinstance(window, str):
        _checks.one_of("window", window, (AUTO, DOCUMENT))
        return None if counted or window == DOCUMENT else WINDOWS[measure]
    _checks.integer("window", window, 2)
    if counted or measure == "u_mass":
        why = "counts do not know where in a document a word is" if counted else "U_mass has none"
        raise IsothermError(
            f"window={window}, but {why}; leave it out" + (", or give texts" if counted else "")
        )
    return window


def _lists(
    topics: object, counts: Counts | None, n_words: int, words: Sequence[str] | None
) -> list[list[Any]]:
    """Top words of each topic, or their columns where counts have the same columns as topics."""
    listed = word_lists(topics, n_words)
    if listed is not None:
        if counts is not None and counts.column_names is None:
            raise IsothermError("topics are words but the counts have no column_names; name them")
        return listed
    table = topic_table(topics, "topics")
    n_columns = table.shape[1]
    if words is not None and len(words) != n_columns:
        raise IsothermError(f"{len(words)} words for {n_columns} columns of topics; give as many")
    if words is None and counts is None:
        raise IsothermError("a table of topics has no words for texts; give them as words=")
    if words is None and counts is not None and counts.n_columns != n_columns:
        raise IsothermError(
            f"topics have {n_columns} columns, the counts {counts.n_columns}; give counts of the "
            "same columns, or words= and counts with column_names"
        )
    if words is not None and counts is not None and counts.column_names is None:
        raise IsothermError(
            "words= was given but the counts have no column_names; name them", parameter="words"
        )
    top = top_columns(topics, min(n_words, n_columns))
    return [[j if words is None else str(words[j]) for j in row.tolist()] for row in top]


def _columns(counts: Counts, terms: list[Any]) -> list[int]:
    if not isinstance(terms[0], str) or counts.column_names is None:
        return terms
    at = {str(name): j for j, name in enumerate(counts.column_names)}
    return [at.get(term, -1) for term in terms]
