"""scikit-learn: NMF by Kullback-Leibler, MiniBatchNMF, LDA; of tf-idf LSI, NMF and k-means."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from _adapter import Job, job
from sklearn.cluster import KMeans
from sklearn.decomposition import (
    NMF,
    LatentDirichletAllocation,
    MiniBatchNMF,
    TruncatedSVD,
    _nmf,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer


def nmf(given: Job) -> None:
    """Snapshots are taken where H is updated: there is no other place to look in from."""
    update, state = _nmf._multiplicative_update_h, {"step": 0}
    of = given.settings["max_iter"]

    def watched(X: Any, W: Any, H: Any, *rest: Any, **named: Any) -> Any:
        H = update(X, W, H, *rest, **named)
        state["step"] += 1
        if given.due(state["step"], of):
            given.snapshot(lambda: factors(W, H))
        return H

    _nmf._multiplicative_update_h = watched
    with given.timed():
        model = NMF(given.k, random_state=given.seed, **given.settings)
        documents = model.fit_transform(given.counts.astype(np.float32))
    given.finish(*factors(documents, model.components_), documents * scale(model.components_))


def minibatch(given: Job) -> None:
    class Watched(MiniBatchNMF):
        step = 0

        def _minibatch_step(self, X: Any, W: Any, H: Any, update_H: bool) -> Any:
            out = super()._minibatch_step(X, W, H, update_H)
            Watched.step += 1
            n_steps = self._n_steps if hasattr(self, "_n_steps") else 1
            if update_H and given.due(Watched.step, n_steps):
                given.snapshot(lambda: (H + 1e-12, np.ones(len(H))))
            return out

    batch = given.settings.get("batch_size", 1024)
    Watched._n_steps = given.settings["max_iter"] * -(-given.counts.shape[0] // batch)
    with given.timed():
        model = Watched(given.k, random_state=given.seed, **given.settings)
        documents = model.fit_transform(given.counts.astype(np.float32))
    given.finish(*factors(documents, model.components_), documents * scale(model.components_))


def lda(given: Job) -> None:
    class Watched(LatentDirichletAllocation):
        def _em_step(self, *rest: Any, **named: Any) -> Any:
            out = super()._em_step(*rest, **named)
            given.snapshot(lambda: (self.components_, self.components_.sum(axis=1)))
            return out

    with given.timed():
        model = Watched(
            given.k, random_state=given.seed, n_jobs=given.threads, **given.settings
        ).fit(given.counts)
    documents = model.transform(given.counts)
    given.finish(model.components_, model.components_.sum(axis=1), documents)


def lsi(given: Job) -> None:
    """Loadings have signs: a table to read words from, not one of distributions."""
    with given.timed():
        weighted = TfidfTransformer(sublinear_tf=True).fit_transform(given.counts)
        model = TruncatedSVD(given.k, random_state=given.seed, **given.settings)
        documents = model.fit_transform(weighted)
    signs = np.where(np.abs(model.components_).max(1) > model.components_.max(1), -1.0, 1.0)
    shown = model.components_ * signs[:, None]
    topics = np.full(shown.shape, np.nan)
    given.finish(topics, np.square(model.singular_values_), documents * signs, shown)


def nmf_tfidf(given: Job) -> None:
    """Topics are directions of tf-idf: what is shown is read from them as they are."""
    with given.timed():
        weighted = TfidfTransformer(sublinear_tf=True).fit_transform(given.counts)
        model = NMF(given.k, random_state=given.seed, **given.settings)
        documents = model.fit_transform(weighted)
    topics, weights = factors(documents, model.components_)
    given.finish(topics, weights, documents * scale(model.components_), model.components_)


def kmeans_tfidf(given: Job) -> None:
    """Topics are the words of the documents of each cluster, shown are the means of tf-idf."""
    with given.timed():
        weighted = TfidfTransformer(sublinear_tf=True).fit_transform(given.counts)
        model = KMeans(given.k, random_state=given.seed, **given.settings)
        labels = model.fit_predict(weighted)
    members = np.eye(given.k)[labels]
    topics = np.asarray(given.counts.T @ members).T
    given.finish(topics + 1e-12, topics.sum(axis=1) + 1e-12, members, model.cluster_centers_)


def scale(components: Any) -> Any:
    return components.sum(axis=1)


def factors(W: Any, H: Any) -> tuple[Any, Any]:
    """Topics and weights of W H; no zero, or an unseen word would cost everything."""
    return H + 1e-12, (W * scale(H)).sum(axis=0) + 1e-12


MODELS = {
    "nmf": nmf,
    "minibatch-nmf": minibatch,
    "lda": lda,
    "lsi": lsi,
    "nmf-tfidf": nmf_tfidf,
    "kmeans-tfidf": kmeans_tfidf,
}

if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)  # of the iterations it has by default
    asked = job()
    MODELS[asked.model](asked)
