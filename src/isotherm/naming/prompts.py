"""What a language model is asked about a topic: its telling words and its typical documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from isotherm import _checks
from isotherm.data.base import Array
from isotherm.errors import IsothermError
from isotherm.estimators.counts import CountEstimator
from isotherm.estimators.fitted import check_fitted, typical_rows
from isotherm.naming.answers import LONGEST, one_line, shortened

# Letters of a document that are sent.
OPENING = 100
TASK = (
    "You name the topics of a collection of documents. Answer with the name alone: two to five "
    f"words, at most {LONGEST} letters, in the language of the documents, as a heading that tells "
    "the topic from others. No quotation marks and no explanation."
)
HEAD = "Words that tell this topic from the others, the most telling first:"


class Prompt(NamedTuple):
    """What is asked about a topic: messages, as chat completions take them."""

    topic: int
    messages: tuple[dict[str, str], ...]


def prompts(
    model: CountEstimator,
    documents: Sequence[str] | None = None,
    *,
    row_totals: Array | None = None,
    topics: Sequence[int] | None = None,
    n_words: int = 15,
    n_documents: int = 5,
) -> list[Prompt]:
    """What is asked about the topics of a model, a prompt for each of them.

    Parameters
    ----------
    model : fitted estimator for counts
    documents : sequence of str (I,), optional
        Titles or texts of the rows of the fit; the first letters of those that show best what a
        topic is about are sent. Without them words alone are sent.
    row_totals : (I,), optional
        Lengths of the documents: of equally pure ones long ones are more typical.
    topics : sequence of int, optional
        All of them by default.
    n_words, n_documents : int
        Most of each that are sent of a topic; 0 documents to send none.

    Returns
    -------
    list of Prompt
        In the order of the topics.
    """
    check_fitted(model)
    _checks.integer("n_words", n_words, 1)
    _checks.integer("n_documents", n_documents, 0)
    asked = _asked(topics, len(model.weights_))
    words = model.top_words(n_words)
    lines = _documents(model, documents, row_totals, asked, n_documents)
    return [Prompt(k, _messages(words[k], lines.get(k, []))) for k in asked]


def _asked(topics: Sequence[int] | None, number: int) -> list[int]:
    """The topics that are asked about, each once."""
    if topics is None:
        return list(range(number))
    wrong = [k for k in topics if not _is_topic(k, number)]
    if wrong:
        raise IsothermError(
            f"topics={list(topics)!r}, of which {wrong[0]!r} is no topic; the model has topics 0 "
            f"to {number - 1}",
            parameter="topics",
        )
    return sorted(set(map(int, topics)))


def _is_topic(k: object, number: int) -> bool:
    whole = isinstance(k, int | np.integer) and not isinstance(k, bool)
    return whole and k in range(number)


def _documents(
    model: CountEstimator,
    documents: Sequence[str] | None,
    row_totals: Array | None,
    topics: Sequence[int],
    most: int,
) -> dict[int, list[str]]:
    """The beginnings of typical documents of topics."""
    shares = model.row_weights_
    # Rows of some models have clusters in place of topics.
    if documents is None or shares.shape[1] != len(model.weights_):
        return {}
    if len(documents) != len(shares):
        raise IsothermError(
            f"{len(documents)} documents for a model of {len(shares)} rows; give one for each row "
            "of the fit",
            parameter="documents",
        )
    totals = np.ones(len(shares)) if row_totals is None else np.asarray(row_totals)
    found = {}
    for k in topics:
        rows = typical_rows(shares[:, k], totals, most)
        lines = (shortened(one_line(str(documents[i])[: 8 * OPENING]), OPENING) for i in rows)
        # Copies and empty ones say nothing more.
        found[k] = [line for line in dict.fromkeys(lines) if line]
    return found


def _messages(words: Sequence[str], lines: Sequence[str]) -> tuple[dict[str, str], ...]:
    said = f"{HEAD}\n{', '.join(words)}"
    if lines:
        said += "\n\nDocuments that are mostly about it:\n" + "\n".join(f"- {one}" for one in lines)
    return (
        {"role": "system", "content": TASK},
        {"role": "user", "content": f"{said}\n\nName of the topic:"},
    )
