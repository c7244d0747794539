"""Wrong sites of a mosaic of 16 Brodatz textures (Hofmann & Puzicha 1998, section 4.4).

The first table takes the procedure apart, from random starts of EM to multiscale EM with a Potts
prior, without pseudo-counts and with one start each; the last rows are the call `segment`. Labels
are matched to the true ones as well as they can be. Windows and smoothing were once chosen with the
labels of this mosaic; the second table has other mosaics of the same textures, from other parts of
the photographs in another order.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import common
from isotherm import Counts, Exponential, Fixed, segment
from isotherm.anneal.engine import Annealer
from isotherm.anneal.multiscale import check_levels, grid_levels, multiscale
from isotherm.anneal.start import state_of
from isotherm.evaluate import accuracy
from isotherm.images.features import texture_counts
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.cluster import Cluster
from isotherm.models.segments import Segments
from isotherm.models.tied import Tied, pooled
from isotherm.placement.local import Local

K, STEP, GAMMA = 16, 8, 8.0
KERNELS = Cpu()
SETTLE = Annealer(Fixed(1.0))
# Per cent of wrong sites from three starts of an independent program, and in the paper.
REFERENCE = {
    "supervised bound": "4.9",
    "random EM": "16-23",
    "one level, annealed": "9-16",
    "multiscale": "8.4-9.0",
    "multiscale + Potts": "6.6-7.0",
    "segment": "paper: 4.7",
}


class Mosaic(NamedTuple):
    """Pixels (H, W), the true label of each site (I,), and the counts of the sites."""

    image: np.ndarray
    truth: np.ndarray
    counts: Counts


class Outcome(NamedTuple):
    """Labels of the sites (I,), and posteriors that were computed."""

    labels: np.ndarray
    site_updates: int


def mosaic(image: np.ndarray, labels: np.ndarray) -> Mosaic:
    sites = labels[STEP // 2 :: STEP, STEP // 2 :: STEP].ravel().astype(int)
    return Mosaic(image, sites, texture_counts(image.astype(float), STEP))


def other_mosaic(crops: np.ndarray, seed: int) -> Mosaic:
    """The 16 textures in another order, each from a random place of its photograph."""
    rng = np.random.default_rng(seed)
    order, corners = rng.permutation(K), rng.integers(0, 129, (K, 2))
    tiles = [crops[c, y : y + 128, x : x + 128] for c, (y, x) in zip(order, corners, strict=True)]
    image = np.block([tiles[4 * i : 4 * i + 4] for i in range(4)])
    return mosaic(image, np.kron(order.reshape(4, 4), np.ones((128, 128), int)))


def wrong(labels: np.ndarray, truth: np.ndarray) -> float:
    """Per cent of wrong sites after the best matching of labels."""
    return 100 * (1 - accuracy(truth, labels))


def supervised(given: Mosaic, seed: int) -> Outcome:
    """Every texture's distribution from the true labels; then the most probable one."""
    model, data = Cluster(K, fixed_weights=True), Local.place(given.counts, KERNELS)
    table = given.counts.matrix.T @ np.eye(K)[given.truth]
    params = model.init(data.summary, (table / table.sum(axis=0)).astype(np.float32))
    once = Annealer(Fixed(1.0), max_sweeps=1).run(
        model, data, np.random.default_rng(0), state=state_of(model, data, params)
    )
    return _outcome(once.state, given, 1)


def random_em(given: Mosaic, seed: int) -> Outcome:
    """EM from the distributions of random sites, mixed with that of all."""
    model, data = Cluster(K, fixed_weights=True), Local.place(given.counts, KERNELS)
    rng = np.random.default_rng(seed)
    sites = given.counts.matrix[rng.choice(len(given.truth), K, replace=False)].toarray()
    marginal = data.summary.column_totals / data.summary.total
    table = (sites / sites.sum(axis=1, keepdims=True) + marginal).T / 2
    begin = state_of(model, data, model.init(data.summary, table.astype(np.float32)))
    fit = Annealer(Fixed(1.0), max_sweeps=500).run(model, data, rng, state=begin)
    return _outcome(fit.state, given, fit.n_sweeps)


def one_level(given: Mosaic, seed: int) -> Outcome:
    model, data = Cluster(K, fixed_weights=True), Local.place(given.counts, KERNELS)
    annealer = Annealer(Exponential(0.9, end=1.0), max_sweeps=50)
    fit = annealer.run(model, data, np.random.default_rng(seed))
    return _outcome(fit.state, given, fit.n_sweeps)


def coarse_to_fine(given: Mosaic, seed: int, smoothing: float | None = None) -> Outcome:
    side, depth = int(np.sqrt(given.counts.n_rows)), 4
    ladder = check_levels(grid_levels((side, side), depth), given.counts.n_rows)
    found = multiscale(
        Tied(K, fixed_weights=True),
        lambda block_of: Local.place(pooled(given.counts, block_of), KERNELS),
        ladder,
        Annealer(Exponential(0.9, end=4.0 ** (depth - 1)), max_sweeps=50),
        SETTLE,
        np.random.default_rng(seed),
    )
    state, updates = found.fit.state, found.site_updates
    if smoothing is not None:
        model = Segments(K, shape=(side, side), gamma=smoothing)
        data = Local.place(given.counts, KERNELS)
        params = state.params._replace(word_topic=state.params.word_topic[:-1])
        begin = state_of(model, data, params)._replace(rows=state.rows)
        smooth = Annealer(Fixed(1.0), tol=1e-6)
        fit = smooth.run(model, data, np.random.default_rng(seed), state=begin)
        state, updates = fit.state, updates + fit.n_sweeps * given.counts.n_rows
    return Outcome(state.rows[0].posterior.argmax(axis=1), updates)


def smoothed(given: Mosaic, seed: int) -> Outcome:
    return coarse_to_fine(given, seed, GAMMA)


def whole_call(given: Mosaic, seed: int, smoothing: float = GAMMA) -> Outcome:
    found = segment(given.image, K, step=STEP, smoothing=smoothing, random_state=seed)
    return Outcome(found.site_labels.ravel(), found.site_updates)


def rough_call(given: Mosaic, seed: int) -> Outcome:
    return whole_call(given, seed, 0.0)


METHODS: dict[str, Callable[[Mosaic, int], Outcome]] = {
    "supervised bound": supervised,
    "random EM": random_em,
    "one level, annealed": one_level,
    "multiscale": coarse_to_fine,
    "multiscale + Potts": smoothed,
    "segment, smoothing=0": rough_call,
    "segment": whole_call,
}


def _outcome(state: Any, given: Mosaic, sweeps: int) -> Outcome:
    return Outcome(state.rows[0].posterior.argmax(axis=1), sweeps * given.counts.n_rows)


def measure(name: str, given: Mosaic, seed: int) -> dict[str, Any]:
    begin = time.perf_counter()
    found = METHODS[name](given, seed)
    return {
        "method": name,
        "seed": seed,
        "wrong": wrong(found.labels, given.truth),
        "updates": found.site_updates,
        "seconds": time.perf_counter() - begin,
    }


def summary(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    errors = [row["wrong"] for row in rows]
    return {
        "method": name,
        "wrong %": float(np.mean(errors)),
        "lowest": min(errors),
        "highest": max(errors),
        "reference %": REFERENCE.get(name, "-"),
        "site updates": round(float(np.mean([row["updates"] for row in rows]))),
        "seconds": float(np.mean([row["seconds"] for row in rows])),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--others", type=int, default=6, help="number of other mosaics")
    options = parser.parse_args()
    path = common.data_file("brodatz/mosaic16.npz")
    info = common.machine()
    common.print_machine(info)
    stored = np.load(path)
    given = mosaic(stored["image"], stored["labels"])
    whole_call(given, 0)  # compiles
    rows = {
        name: [
            measure(name, given, seed)
            for seed in range(1 if name == "supervised bound" else options.seeds)
        ]
        for name in METHODS
    }
    table = {name: summary(name, own) for name, own in rows.items()}
    common.print_table(list(table.values()), f"Mosaic of 16 textures, {options.seeds} seeds")
    others = []
    for number in range(options.others):
        one = other_mosaic(stored["crops"], number + 1)
        kept = {name: measure(name, one, 0) for name in ("supervised bound", *METHODS)}
        others.append({"mosaic": number + 1} | {name: row["wrong"] for name, row in kept.items()})
    common.print_table(others, "Other mosaics of these textures, one seed, wrong %")
    saved = table["one level, annealed"]["site updates"]
    targets = [
        common.Target(
            "multiscale + Potts, wrong %", table["multiscale + Potts"]["wrong %"], high=7
        ),
        common.Target("segment, worst seed, wrong %", table["segment"]["highest"], high=7),
        common.Target(
            "site updates, one level / multiscale",
            saved / table["multiscale"]["site updates"],
            low=6,
        ),
        common.Target(
            "site updates, one level / segment", saved / table["segment"]["site updates"], low=6
        ),
        common.Target("segment, seconds", table["segment"]["seconds"], high=10),
    ]
    judged = common.print_targets(targets)
    common.write_results(
        "segmentation",
        info,
        rows=[row for own in rows.values() for row in own],
        others=others,
        targets=judged,
    )


if __name__ == "__main__":
    main()
