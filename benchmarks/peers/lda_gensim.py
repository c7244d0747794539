"""gensim: LDA by online variational Bayes; more than one thread is more than one process."""

from __future__ import annotations

from typing import Any

import numpy as np
from _adapter import Job, job
from gensim.matutils import Sparse2Corpus
from gensim.models import LdaModel, LdaMulticore
from gensim.models.callbacks import Metric


def main(given: Job) -> None:
    class Watch(Metric):
        """A snapshot after every pass; gensim asks for a value, and gets none of interest."""

        logger, title = "shell", "snapshot"

        def get_value(self, model: Any, **others: Any) -> float:
            given.snapshot(lambda: table(model))
            return 0.0

    corpus = Sparse2Corpus(given.counts, documents_columns=False)
    named: dict[str, Any] = dict(given.settings)
    kind = LdaModel
    if given.threads > 1:
        # It lets nobody look in.
        kind, named["workers"] = LdaMulticore, given.threads
    elif given.snapshots:
        named["callbacks"] = [Watch()]
    with given.timed():
        model = kind(
            corpus,
            num_topics=given.k,
            id2word={j: str(j) for j in range(given.counts.shape[1])},
            random_state=given.seed,
            eval_every=None,
            **named,
        )
    given.finish(*table(model), model.inference(list(corpus))[0])


def table(model: Any) -> tuple[Any, Any]:
    sums = model.state.get_lambda()
    return np.array(sums), np.array(sums.sum(axis=1))


if __name__ == "__main__":
    main(job())
