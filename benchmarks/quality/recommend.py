"""Which films would a user like: `SearchIndex.recommend` next to popularity, neighbours and SVD.

Ratings are made here: users have a few of the tastes, films have a taste each and a popularity that
falls by a power law, as in collections of ratings of films. A fifth of what each user has is held
out and looked for among all films that the user does not have otherwise.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import svds

from benchmarks.harness import common
from isotherm import AspectModel, Counts, SearchIndex
from isotherm.retrieval.evaluate import difference, ranked

OURS, POPULAR, NEAR, SVD = "recommend", "popularity", "item neighbours", "SVD, best of five"
SIZES = (8, 16, 32, 64, 128)


def planted(n_users: int, n_films: int, n_tastes: int, seed: int) -> sparse.csr_array:
    """Which films each user has, (users, films)."""
    rng = np.random.default_rng(seed)
    popularity = 1.0 / np.arange(1, n_films + 1) ** 0.7
    popularity = rng.permutation(popularity)
    taste = rng.integers(n_tastes, size=n_films)
    rows = []
    for user in range(n_users):
        # A background of what everybody sees, and a few tastes of one's own.
        share = rng.dirichlet(np.full(n_tastes, 0.1))
        chance = popularity * (0.3 / n_tastes + 0.7 * share[taste])
        size = min(int(rng.lognormal(3.6, 0.6)) + 10, n_films // 3)
        films = rng.choice(n_films, size, replace=False, p=chance / chance.sum())
        rows += [(user, film) for film in films]
    users, films = np.array(rows).T
    return sparse.csr_array((np.ones(len(rows)), (users, films)), shape=(n_users, n_films))


def split(ratings: sparse.csr_array, seed: int) -> tuple[sparse.csr_array, np.ndarray]:
    """What is known of each user, and what is held out (users, films)."""
    rng = np.random.default_rng(seed)
    out = rng.random(ratings.nnz) < 0.2
    known, held = ratings.copy(), ratings.copy()
    known.data[out] = 0.0
    held.data[~out] = 0.0
    known.eliminate_zeros()
    return known, held.toarray() > 0


def rivals(known: sparse.csr_array, held: np.ndarray) -> dict[str, np.ndarray]:
    """Scores of other methods; the SVD has its size chosen with the answers in sight."""
    dense = known.toarray()
    lengths = np.sqrt(np.maximum(dense.sum(axis=0), 1.0))
    columns = dense / lengths
    alike = columns.T @ columns
    np.fill_diagonal(alike, 0.0)
    left, values, right = svds(known, k=max(SIZES), random_state=common.SEED)
    order = np.argsort(-values)
    places = [
        (left[:, order[:size]] * values[order[:size]]) @ right[order[:size]] for size in SIZES
    ]
    quality = [ranked(hidden(one, known), held, 10).ndcg.mean() for one in places]
    return {
        POPULAR: np.tile(dense.sum(axis=0), (len(dense), 1)),
        NEAR: dense @ alike,
        SVD: places[int(np.argmax(quality))],
    }


def hidden(scores: np.ndarray, known: sparse.csr_array) -> np.ndarray:
    """Scores with what users have already at the end."""
    return np.where(known.toarray() > 0, -np.inf, scores)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=1500)
    parser.add_argument("--films", type=int, default=1000)
    parser.add_argument("--tastes", type=int, default=20)
    options = parser.parse_args()
    info = common.machine()
    common.print_machine(info)
    ratings = planted(options.users, options.films, options.tastes, common.SEED)
    known, held = split(ratings, common.SEED)
    counts = Counts(known, column_names=[f"film {j}" for j in range(options.films)])
    users = range(options.users)
    tried: dict[str, Any] = rivals(known, held)
    for name, model in (
        (OURS, AspectModel("auto", random_state=common.SEED).fit(counts)),
        (f"{OURS}, no topics", None),
    ):
        index = SearchIndex.of(model, counts, stem=False)
        tried[name] = index.recommendations(list(users))
    found = {name: ranked(hidden(scores, known), held, 10) for name, scores in tried.items()}
    rows = []
    for name, one in found.items():
        gap = difference(found[OURS].ndcg, one.ndcg)
        rows.append(
            {"method": name, "recall@10": f"{100 * one.recall.mean():.1f}"}
            | {"nDCG@10": f"{100 * one.ndcg.mean():.1f}"}
            | {"MAP": f"{100 * one.average_precision.mean():.1f}"}
            | {"nDCG, ours - this": f"{100 * gap.mean:+.1f}" if name != OURS else ""}
            | {"95 %": f"{100 * gap.low:+.1f} ... {100 * gap.high:+.1f}" if name != OURS else ""}
        )
    common.print_table(rows, "Held-out films of each user among all that it lacks, in %")
    targets = [
        common.Target(
            f"nDCG@10 over {name}, points",
            100 * difference(found[OURS].ndcg, found[name].ndcg).mean,
            low=0.0,
        )
        for name in (POPULAR, NEAR)
    ]
    judged = common.print_targets(targets)
    common.write_results("recommend", info, rows=rows, targets=judged)


if __name__ == "__main__":
    main()
