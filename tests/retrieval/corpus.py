"""A small corpus with models, and the dense computation that scores are compared with."""

from functools import cache

import numpy as np
from scipy import sparse

from isotherm import AspectModel, Counts, Engine, Fixed, Noisy
from support.corpora import admixture

WORDS = [f"w{j}" for j in range(40)]


@cache
def documents() -> Counts:
    X, _ = admixture(60, 40, 4, length=30, seed=5)
    X[7] = 0
    X[:, 3] = 0  # a word of queries only
    X[:, 5] += X.sum(axis=1) > 0  # a word of every document but the empty one
    return Counts(X, [f"d{i}" for i in range(60)], WORDS)


@cache
def queries() -> sparse.csr_array:
    rng = np.random.default_rng(3)
    Q = rng.poisson(0.1, (9, 40)).astype(float)
    Q[:, 0] += 1
    Q[8] = 0
    return sparse.csr_array(Q)


@cache
def fitted(n_components: int = 4, temperature: float = 1.3, seed: int = 0) -> AspectModel:
    """A model that has settled as far as it will."""
    return AspectModel(
        n_components,
        schedule=Fixed(temperature),
        start=Noisy(1.0),
        validation_fraction=0,
        temper_prior=False,
        tol=0.0,
        max_iter=3000,
        engine=Engine(precision="float64"),
        random_state=seed,
    ).fit(documents())


def folded(model: AspectModel, rows: np.ndarray, start: np.ndarray, steps: int) -> np.ndarray:
    """P(a|q) by the letter of the formula, (Q, K)."""
    b = 1 / model.temperature_
    P, weight = model.components_.T, model.weights_
    theta = np.tile(start, (len(rows), 1))
    for _ in range(steps):
        joint = weight ** (1 - b) * (theta[:, None, :] * P[None]) ** b
        z = joint.sum(axis=2, keepdims=True)
        posterior = np.divide(joint, z, out=np.zeros_like(joint), where=z > 0)
        new = np.einsum("qj,qjk->qk", rows, posterior)
        total = new.sum(axis=1, keepdims=True)
        theta = np.where(total > 0, new / np.where(total > 0, total, 1), weight)
    return theta


def conditionals(rows: np.ndarray) -> np.ndarray:
    total = rows.sum(axis=1, keepdims=True)
    return np.divide(rows, total, out=np.zeros_like(rows, dtype=float), where=total > 0)


def cosine(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Cosines of the rows of B with those of A, (Q, I); 0 for zero vectors."""
    lengths = np.outer(np.linalg.norm(B, axis=1), np.linalg.norm(A, axis=1))
    return np.divide(B @ A.T, lengths, out=np.zeros_like(lengths), where=lengths > 0)


SUBJECTS = {
    "sea": "ship harbour sailor anchor wave",
    "money": "bank price market share bond",
    "farm": "wheat field cow tractor barn",
}


def stories(n_each: int = 40) -> Counts:
    rng = np.random.default_rng(0)
    pairs = [
        (f"{subject}{i}", word)
        for subject, words in SUBJECTS.items()
        for i in range(n_each)
        for word in rng.choice(words.split(), 3)
    ]
    return Counts.from_pairs(*zip(*pairs, strict=True))


def grown() -> AspectModel:
    return AspectModel(3, random_state=0).fit(stories())
