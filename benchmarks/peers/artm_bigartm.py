"""BigARTM: topics with its usual regularisers: sparse words, sparse documents, decorrelation."""

from __future__ import annotations

import logging
from typing import Any

import artm
import numpy as np
from _adapter import Job, job


def main(given: Job) -> None:
    counts, settings = given.counts, dict(given.settings)
    names = {j: str(j) for j in range(counts.shape[1])}
    dense = np.asarray(counts.T.todense(), np.float64)
    with given.timed():
        batches = artm.BatchVectorizer(
            data_format="bow_n_wd",
            n_wd=dense,
            vocabulary=names,
            target_folder=str(given.folder / "batches"),
        )
        model = artm.ARTM(
            num_topics=given.k,
            dictionary=batches.dictionary,
            num_processors=given.threads,
            seed=given.seed,
            cache_theta=True,
            regularizers=[
                artm.SmoothSparsePhiRegularizer(name="words", tau=settings["sparse_words"]),
                artm.SmoothSparseThetaRegularizer(name="rows", tau=settings["sparse_documents"]),
                artm.DecorrelatorPhiRegularizer(name="apart", tau=settings["decorrelation"]),
            ],
        )
        for step in range(1, settings["passes"] + 1):
            model.fit_offline(batches, num_collection_passes=1)
            if given.due(step, settings["passes"]):
                given.snapshot(lambda: table(model, counts.shape[1]))
    theta = model.get_theta()
    documents = np.zeros((counts.shape[0], given.k), np.float32)
    documents[theta.columns.astype(int)] = theta.to_numpy().T
    given.finish(*table(model, counts.shape[1]), documents)


def table(model: Any, n_columns: int) -> tuple[Any, Any]:
    phi = model.get_phi()
    words = [int(name[1] if isinstance(name, tuple) else name) for name in phi.index]
    topics = np.full((phi.shape[1], n_columns), 1e-12)
    topics[:, words] += phi.to_numpy().T
    theta = model.get_theta().to_numpy()
    return topics, theta.sum(axis=1) + 1e-12


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    main(job())
