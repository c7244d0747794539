"""tomotopy: LDA with optimised pseudo-counts of the documents, and HDP; Gibbs sampling."""

from __future__ import annotations

from typing import Any

import numpy as np
import tomotopy
from _adapter import Job, job


def main(given: Job) -> None:
    sweeps, n_columns = given.settings["sweeps"], given.counts.shape[1]
    kind = {"lda": tomotopy.LDAModel, "hdp": tomotopy.HDPModel}[given.model]
    name = {"lda": "k", "hdp": "initial_k"}[given.model]
    words = texts(given)

    def found() -> tuple[Any, Any]:
        return table(model, n_columns)

    with given.timed():
        # Seed 0 would be drawn from the clock.
        model = kind(**{name: given.k}, seed=given.seed + 1)
        for text in words:
            model.add_doc(text)
        step = max(sweeps // given.snapshots, 1) if given.snapshots else sweeps
        for done in range(0, sweeps, step):
            model.train(min(step, sweeps - done), workers=given.threads)
            given.snapshot(found)
    topics, weights = found()
    given.finish(topics, weights, documents(model, given))


def texts(given: Job) -> list[list[str]]:
    """Documents as tokens: the number of a column stands for its word."""
    counts, names = given.counts, np.array([str(j) for j in range(given.counts.shape[1])])
    rows = [slice(*counts.indptr[i : i + 2]) for i in range(counts.shape[0])]
    return [np.repeat(names[counts.indices[at]], counts.data[at]).tolist() for at in rows]


def live(model: Any) -> list[int]:
    """Topics in use; HDP has others that no token is left in."""
    alive = getattr(model, "is_live_topic", lambda topic: True)
    return [topic for topic in range(model.k) if alive(topic)]


def table(model: Any, n_columns: int) -> tuple[Any, Any]:
    kept = live(model)
    # A word that only unseen documents have gets what rounding leaves.
    topics = np.full((len(kept), n_columns), 1e-12)
    columns = [int(word) for word in model.used_vocabs]
    for row, topic in enumerate(kept):
        topics[row, columns] = model.get_topic_word_dist(topic)
    return topics, np.asarray(model.get_count_by_topics(), float)[kept]


def documents(model: Any, given: Job) -> Any:
    """Topic weights (I, K); documents without tokens were not added and stay at zero."""
    kept = live(model)
    weights = np.zeros((given.counts.shape[0], len(kept)))
    filled = np.flatnonzero(np.diff(given.counts.indptr))
    for row, doc in zip(filled, model.docs):  # noqa: B905 (older interpreters)
        weights[row] = np.asarray(doc.get_topic_dist())[kept]
    return weights


if __name__ == "__main__":
    main(job())
