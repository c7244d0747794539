"""The spectrum of the documents: latent semantic indexing, averaged over numbers of dimensions.

One number of dimensions has to be tuned to each collection; the mean of cosines in spaces of
several is about as good as the best of them, and needs one decomposition.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import svds

from isotherm.data.base import Array
from isotherm.retrieval import formulas

# Numbers of dimensions that are averaged, where the collection has so many.
DIMENSIONS = (32, 48, 64, 96, 128, 192)
# At most one dimension for so many documents.
DOCUMENTS_EACH = 4
# Words of fewer documents connect nothing.
LEAST_DOCUMENTS = 2
# Larger collections have the directions of so many of their documents, drawn at random.
MOST_DOCUMENTS = 12_000
# Tables of fewer cells are decomposed as a whole.
DENSE = 40_000


class Spectrum(NamedTuple):
    """Directions of weighted words, and where the documents lie along them.

    `weights` (J,) of the words; `directions` (J, D), orthonormal, the strongest first; `places`
    (I, D) of the documents, products with the directions.
    """

    weights: Array
    directions: Array
    places: Array

    @classmethod
    def of(cls, counts: sparse.csr_array) -> Spectrum:
        """Spectrum of documents (I, J), of their sublinear tf-idf."""
        n_rows, n_columns = counts.shape
        in_documents = np.bincount(counts.indices, minlength=n_columns)
        weights = formulas.idf(in_documents, n_rows)
        weights = np.where(in_documents >= LEAST_DOCUMENTS, weights, 0.0)
        rows = unit_weighted(counts, weights)
        sample = rows
        if n_rows > MOST_DOCUMENTS:
            chosen = np.random.default_rng(0).choice(n_rows, MOST_DOCUMENTS, replace=False)
            sample = sparse.csr_array(rows[np.sort(chosen)])
        directions = _directions(sample, min(max(DIMENSIONS), max(1, n_rows // DOCUMENTS_EACH)))
        return cls(weights, directions, np.asarray(rows @ directions))

    @property
    def sizes(self) -> list[int]:
        """Numbers of dimensions that are averaged."""
        width = self.directions.shape[1]
        return [size for size in DIMENSIONS if size <= width] or ([width] if width else [])

    def placed(self, counts: sparse.csr_array) -> Array:
        """Where other documents lie, (N, D)."""
        return np.asarray(unit_weighted(counts, self.weights) @ self.directions)

    def added(self, counts: sparse.csr_array) -> Spectrum:
        """The same directions with more documents at the end."""
        return self._replace(places=np.concatenate([self.places, self.placed(counts)]))

    def alike(self, ours: Array) -> Array:
        """Mean over numbers of dimensions of the cosines of places (Q, D), (Q, I)."""
        return mean_cosines(ours, self.places, self.sizes)


def mean_cosines(ours: Array, theirs: Array, sizes: list[int]) -> Array:
    """Mean of the cosines of rows (Q, D) and (I, D) by their first dimensions, (Q, I)."""
    found = np.zeros((len(ours), len(theirs)))
    dot, first = np.zeros_like(found), 0
    for size in sizes:
        # What narrower spaces have in common is computed once.
        dot += ours[:, first:size] @ theirs[:, first:size].T
        first = size
        lengths = np.outer(
            np.linalg.norm(ours[:, :size], axis=1), np.linalg.norm(theirs[:, :size], axis=1)
        )
        found += np.divide(dot, lengths, out=np.zeros_like(dot), where=lengths > 1e-12)
    return found / max(len(sizes), 1)


def unit_weighted(counts: sparse.csr_array, weights: Array) -> sparse.csr_array:
    """log(1 + n) times the weights of the words, every row of length 1 or empty, (I, J)."""
    rows = counts.astype(np.float64)
    rows.data = np.log1p(rows.data)
    return formulas.unit_words(sparse.csr_array(rows * weights[None, :]))


def _directions(rows: sparse.csr_array, most: int) -> Array:
    """The strongest right singular vectors, (J, D); those of no strength are left out."""
    most = min(most, *rows.shape)
    if not rows.count_nonzero():
        return np.zeros((rows.shape[1], 0))
    if rows.shape[0] * rows.shape[1] <= DENSE or most >= min(rows.shape):
        _, strength, turned = np.linalg.svd(rows.toarray(), full_matrices=False)
        strength, turned = strength[:most], turned[:most]
    else:
        start = np.random.default_rng(0).standard_normal(min(rows.shape))
        _, strength, turned = svds(rows, k=most, v0=start)
    order = np.argsort(-strength, kind="stable")
    order = order[strength[order] > 1e-9 * strength.max()]
    return np.ascontiguousarray(turned[order].T)
