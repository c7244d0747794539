"""How good is the map, and is it the same map tomorrow? GTM next to PCA, t-SNE, UMAP and ugtm.

Every method has its default settings and sees the data as they are; ugtm, which standardises
columns when left to itself, is shown and compared both ways. Trustworthiness: are neighbours
in the map neighbours in the data (10 neighbours); continuity: the same with the two exchanged;
"10-NN": accuracy of labels told by ten neighbours in the map, five folds. Disparity (Procrustes, 0
is the same map; turns, reflections and scale do not count) is the mean over pairs of seeds; it is 0
where nothing is random (PCA; EM and ugtm, which begin at the principal components; t-SNE, which
does so by default; our default, whose runs are the same for every seed), and methods with random
starts are shown for comparison. "resampled" asks more: the mean over pairs of maps of random nine
tenths of the rows, each with a seed of its own, compared on the rows that both have.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from scipy.spatial import procrustes
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE, trustworthiness
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import scale

from benchmarks.harness import common, maps
from isotherm import GTM, Fixed

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import umap
except ImportError:  # said in the output
    umap = None

NEIGHBOURS = 10
OURS, RIVAL, SCALED = "DA-GTM", "ugtm", "ugtm, standardised"
EM_RANDOM, TSNE_RANDOM = "EM-GTM, random start", "t-SNE, random start"
DA_RANDOM = "DA-GTM, one random sheet"
RANDOM = (TSNE_RANDOM, "UMAP", EM_RANDOM, DA_RANDOM)
PARTS, SHARE = 3, 0.9
QUALITY = ("trust", "continuity", "10-NN")


def digits() -> maps.Vectors:
    """Scikit-learn's handwritten digits, 1,797 x 64."""
    X, labels = load_digits(return_X_y=True)
    return maps.Vectors("digits", X, X[:0], labels)


DATA = {"oil": maps.oil_flow, "digits": digits}


def methods() -> dict[str, Callable[[np.ndarray, int], np.ndarray]]:
    """Maps (I, 2) of rows (I, D) from a seed."""
    found: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
        "PCA": lambda X, seed: PCA(2, random_state=seed).fit_transform(X),
        "t-SNE": lambda X, seed: TSNE(random_state=seed).fit_transform(X),
        TSNE_RANDOM: lambda X, seed: TSNE(init="random", random_state=seed).fit_transform(X),
    }
    if umap is not None:
        found["UMAP"] = umap_map
    if maps.ugtm is not None:
        found[RIVAL] = lambda X, seed: maps.rival_map(X, 200, random_state=seed).matMeans
        found[SCALED] = lambda X, seed: maps.rival_map(scale(X), 200, random_state=seed).matMeans
    em = {"schedule": Fixed(1.0)}
    return found | {
        EM_RANDOM: lambda X, seed: GTM(**em, start="sheet", random_state=seed).fit_transform(X),
        "EM-GTM": lambda X, seed: GTM(**em, random_state=seed).fit_transform(X),
        DA_RANDOM: lambda X, seed: GTM(start="sheet", n_init=1, random_state=seed).fit_transform(X),
        OURS: lambda X, seed: GTM(random_state=seed).fit_transform(X),
    }


def umap_map(X: np.ndarray, seed: int) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a seed costs its threads, and it says so every time
        return umap.UMAP(random_state=seed).fit_transform(X)


def quality(X: np.ndarray, labels: np.ndarray, Z: np.ndarray) -> dict[str, float]:
    folds = StratifiedKFold(5, shuffle=True, random_state=common.SEED)
    told = cross_val_score(KNeighborsClassifier(NEIGHBOURS), Z, labels, cv=folds)
    values = (
        trustworthiness(X, Z, n_neighbors=NEIGHBOURS),
        trustworthiness(Z, X, n_neighbors=NEIGHBOURS),
        float(told.mean()),
    )
    return dict(zip(QUALITY, map(float, values), strict=True))


def disparity(places: list[np.ndarray]) -> float:
    """Mean over pairs of maps (I, 2)."""
    return float(np.mean([procrustes(one, other)[2] for one, other in combinations(places, 2)]))


def resampled(X: np.ndarray, method: Callable[[np.ndarray, int], np.ndarray]) -> float:
    """Mean disparity of maps of parts of the rows, on the rows that two parts share."""
    rng = np.random.default_rng(common.SEED)
    kept = [np.sort(rng.choice(len(X), int(SHARE * len(X)), False)) for _ in range(PARTS)]
    places = [np.full((len(X), 2), np.nan) for _ in kept]
    for seed, (rows, Z) in enumerate(zip(kept, places, strict=True)):
        Z[rows] = method(X[rows], seed)
    both = [(a, b, ~np.isnan(a + b).any(axis=1)) for a, b in combinations(places, 2)]
    return float(np.mean([procrustes(a[rows], b[rows])[2] for a, b, rows in both]))


def measure(data: maps.Vectors, seeds: int) -> list[dict[str, Any]]:
    rows = []
    for name, method in methods().items():
        places, seconds, found = [], [], []
        for seed in range(seeds if name in RANDOM else 2):
            begin = time.perf_counter()
            Z = np.asarray(method(data.train, seed), np.float64)
            seconds.append(time.perf_counter() - begin)
            places.append(Z)
            found.append(quality(data.train, data.labels, Z))
        rows.append(
            {"data": data.name, "method": name}
            | {column: float(np.mean([f[column] for f in found])) for column in QUALITY}
            | {"disparity": disparity(places), "resampled": resampled(data.train, method)}
            | {"random": "yes" if name in RANDOM else "no"}
            # The first fit may compile.
            | {"seconds": float(np.median(seconds))}
        )
        print(f"done: {data.name}, {name}", flush=True)
    return rows


def judge(rows: list[dict[str, Any]]) -> list[common.Target]:
    targets = []
    for data in dict.fromkeys(row["data"] for row in rows):
        by = {row["method"]: row for row in rows if row["data"] == data}
        # Nobody is below 0, so that first means as good as any, up to rounding.
        rest = min(row["disparity"] for name, row in by.items() if name != OURS)
        name = f"{data}: disparity between seeds, {OURS} - best of all others"
        targets.append(common.Target(name, by[OURS]["disparity"] - rest, high=1e-9))
        for rival in (RIVAL, SCALED):
            if rival not in by:
                continue
            targets += [
                common.Target(
                    f"{data}: {column}, {OURS} - {rival}",
                    by[OURS][column] - by[rival][column],
                    low=0.0,
                )
                for column in QUALITY
            ]
        if RIVAL not in by:
            print(f"NOTE: nothing measured for the targets next to {RIVAL}")
    return targets


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--data", nargs="*", choices=list(DATA), default=list(DATA))
    options = parser.parse_args()
    if options.seeds < 2:
        parser.error("--seeds must be at least 2: maps are compared in pairs")
    info = common.machine()
    common.print_machine(info)
    maps.note_missing(ugtm=maps.ugtm, umap_learn=umap)
    maps.warmed()
    rows = []
    for name in options.data:
        rows += measure(DATA[name](), options.seeds)
    shown = [row | {column: f"{row[column]:.4f}" for column in QUALITY} for row in rows]
    common.print_table(shown, f"Maps in two dimensions, {options.seeds} seeds")
    print("random: whether the seed decides anything; two fits of the others show that it does not")
    targets = judge(rows)
    common.print_targets(targets)
    marks = [target.row() for target in targets]
    common.write_results("map_quality", info, rows=rows, targets=marks)


if __name__ == "__main__":
    main()
