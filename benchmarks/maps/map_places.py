"""Does the picture show the grid? Places of rows over the nodes of a map, and over its whole sheet.

One default fit for each data set; then its rows are placed by the posterior over the nodes (mean),
and by that over the sheet (`GTM.transform`: mean and mode), which needs no other fit.

"on a node": share of rows within .05 spacings of a node along every axis; a place at random is
there with probability .1, .01 or .001 in one, two or three dimensions. "on the edge": within .01 of
the outermost place along some axis. "shared": share of rows whose place, rounded to .001, is that
of another row; "equal rows": how many of them have an equal row in the data. Trustworthiness,
continuity and the accuracy of ten neighbors are those of `map_quality.py`, the first two over at
most 2,000 rows. "of the fit": CPU seconds of placing the rows as a share of those
of the fit.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.manifold import trustworthiness
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.harness import common, maps
from isotherm import GTM, AspectModel, load_docstrings

NEIGHBORS, ROWS = 10, 2_000
NEAR_NODE, NEAR_EDGE = 0.05, 0.01
NODES, MEAN, MODE = "mean over nodes", "mean over the sheet", "mode of the sheet"


class Case(NamedTuple):
    """Rows to map (I, D), their labels (or none), and the dimensions of the map."""

    rows: np.ndarray
    labels: np.ndarray
    dimensions: int


def oil(dimensions: int) -> Case:
    data = maps.oil_flow()
    return Case(data.train, data.labels, dimensions)


def digits(dimensions: int) -> Case:
    return Case(*load_digits(return_X_y=True), dimensions)


def molecules(dimensions: int) -> Case:
    return Case(maps.maccs().train, np.zeros(0, int), dimensions)


def news(dimensions: int) -> Case:
    """Stories of the Associated Press by 20 topics, as `map_corpus` enters them."""
    counts = common.counts("ap")
    topics = AspectModel(20, random_state=common.SEED).fit(counts)
    return Case(np.sqrt(topics.transform(counts)), np.zeros(0, int), dimensions)


def docstrings(dimensions: int) -> Case:
    """All docstrings by 39 topics."""
    corpus = load_docstrings()
    topics = AspectModel(39, random_state=common.SEED).fit(corpus.counts)
    rows = np.sqrt(topics.transform(corpus.counts))
    return Case(rows, np.unique(corpus.labels, return_inverse=True)[1], dimensions)


CASES: dict[str, tuple[Callable[[int], Case], int]] = {
    "oil": (oil, 2),
    "digits": (digits, 2),
    "molecules": (molecules, 2),
    "ap": (news, 2),
    "docstrings": (docstrings, 2),
    "oil, 1-D": (oil, 1),
    "digits, 3-D": (digits, 3),
}


def shared(table: np.ndarray) -> float:
    """Share of the rows that are equal to another one."""
    _, which, sizes = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    return float((sizes[which.ravel()] > 1).mean())


def judged(model: GTM, case: Case, places: np.ndarray) -> dict[str, Any]:
    steps = (places + 1.0) / 2.0 * (np.array(model.grid_.shape) - 1)
    edge = np.abs(places).max(axis=0) - NEAR_EDGE
    some = slice(None, None, -(-len(places) // ROWS))
    X, Z = case.rows[some], places[some]
    accuracy = None
    if len(case.labels):
        folds = StratifiedKFold(5, shuffle=True, random_state=common.SEED)
        told = KNeighborsClassifier(NEIGHBORS)
        accuracy = float(cross_val_score(told, places, case.labels, cv=folds).mean())
    return {
        "on a node": float((np.abs(steps - steps.round()) < NEAR_NODE).all(axis=1).mean()),
        "on the edge": float((np.abs(places) > edge).any(axis=1).mean()),
        "shared": shared(places.round(3)),
        "equal rows": shared(case.rows.round(9)),
        "trust": float(trustworthiness(X, Z, n_neighbors=NEIGHBORS)),
        "continuity": float(trustworthiness(Z, X, n_neighbors=NEIGHBORS)),
        "10-NN": accuracy,
    }


def measure(name: str) -> list[dict[str, Any]]:
    make, dimensions = CASES[name]
    case = make(dimensions)
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of maps that settle slowly
        model = GTM(dimensions, random_state=common.SEED).fit(case.rows)
    fit = time.process_time() - begin
    ways: dict[str, Callable[[], np.ndarray]] = {
        NODES: lambda: model.responsibilities(case.rows) @ model.nodes_,
        MEAN: lambda: model.set_params(projection="mean").transform(case.rows),
        MODE: lambda: model.set_params(projection="mode").transform(case.rows),
    }
    rows = []
    for way, place in ways.items():
        begin = time.process_time()
        places = place()
        seconds = time.process_time() - begin
        row = {"data": name, "rows": len(places), "places": way}
        row |= judged(model, case, places)
        rows.append(row | {"CPU s": seconds, "of the fit": seconds / fit})
    print(f"done: {name}", flush=True)
    return rows


def judge(rows: list[dict[str, Any]]) -> list[common.Target]:
    targets = []
    for name in dict.fromkeys(row["data"] for row in rows):
        by = {row["places"]: row for row in rows if row["data"] == name}
        mean, nodes = by[MEAN], by[NODES]
        fewer = mean["on a node"] / nodes["on a node"]
        targets += [
            common.Target(f"{name}: rows on a node, sheet / nodes", fewer, high=0.5),
            common.Target(f"{name}: rows on the edge", mean["on the edge"], high=0.02),
            common.Target(
                f"{name}: trust, sheet - nodes", mean["trust"] - nodes["trust"], low=-5e-3
            ),
            common.Target(f"{name}: places as a share of the fit", mean["of the fit"], high=0.1),
        ]
    return targets


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="*", choices=list(CASES), default=list(CASES))
    options = parser.parse_args()
    info = common.machine()
    common.print_machine(info)
    maps.warmed()
    rows = [row for name in options.data for row in measure(name)]
    decimals = (
        "on a node",
        "on the edge",
        "shared",
        "equal rows",
        "trust",
        "continuity",
        "of the fit",
    )
    common.print_table([row | {c: f"{row[c]:.4f}" for c in decimals} for row in rows], "Places")
    targets = judge(rows)
    common.print_targets(targets)
    marks = [target.row() for target in targets]
    common.write_results("map_places", info, rows=rows, targets=marks)


if __name__ == "__main__":
    main()
