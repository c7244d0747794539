"""Few labels, many documents: what do neighbours add to topics? (Huh & Fienberg 2010.)

20 newsgroups, 100 training postings of each, words in at least 20 postings of the collection. In
every draw 1, 3, 5 or 10 postings of a group show their label; features of all postings come from
each model, a linear support vector machine learns from the labelled ones and is tested on the rest.
C is the best of 1, 10, 100 in hindsight, for every column alike.

What the paper claims and this does not show: that DTM is ahead of Laplacian models at their best
lambda. From random starts, as in the paper, it is slightly behind LapPLSI maximised properly, by
about as much as the error. As they come, near annealed topics, all three gain. DTM is then ahead of
LapPLSI from random starts, or level with it; from the same start it is ahead at K = 20, and behind
at 60 and 100, where the best lambda is 1000. The merit of DTM is that it has no lambda to choose.
Nor is it neighbours alone that help: an annealed PLSA is close behind where K is 20 and few labels
are known, and principal components of tf-idf weights, which the paper did not try, where many are.
The tables that this prints have the figures.

`--collection yahoo-k1b` is Figure 2 of the paper, as far as the data go: all pages of six classes
that differ in size. `--strengths` compares the strength that LapPLSI chooses with fixed ones and
with DTM, on three collections.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.decomposition import NMF, PCA
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

from benchmarks.harness import common
from isotherm import DTM, LTM, AspectModel, Counts, Engine, LapPLSI
from isotherm.anneal.schedule import Fixed
from isotherm.anneal.start import Noisy
from isotherm.estimators.starts.linked import NearTopics, RandomRows
from isotherm.evaluate import Draw, accuracies, draw
from isotherm.graph.neighbors import Neighbors
from isotherm.kernels.cpu.backend import available_threads

N_ROWS, LABELS, SIZES, STRENGTHS = 100, (1, 3, 5, 10), (20, 60, 100), (1, 10, 100)
LAMBDAS = {"LapPLSI": (1, 10, 100, 300, 1000), "LTM": (1, 10, 100, 1000)}
# Rows of each class that are drawn; None is all rows, of classes that differ in size.
COLLECTIONS: dict[str, int | None] = {"20news": N_ROWS, "yahoo-k1b": None, "reuters": None}
# A word is in so many documents of the collection at least.
LEAST = {"20news": 20, "yahoo-k1b": 5, "reuters": 5}
RANDOM = ", random start"
# What `--strengths` compares, on all collections.
BRIEF = ("LapPLSI auto", *(f"LapPLSI {value}" for value in LAMBDAS["LapPLSI"]), "DTM")
# What the paper compares with, and what it does not.
RIVALS = ("pLSA", "LDA", "NMF", "PCA", "counts")
STRONGER = ("pLSA, annealed", "tf-idf", "NMF of tf-idf", "PCA of tf-idf")
# Accuracy that independent programs reached (3 or 4 draws; LDA, tf-idf: one), by size and labels.
EXPECTED: dict[tuple[str, int], dict[int, float]] = {
    ("LDA", 20): {1: 0.30, 5: 0.34, 10: 0.38},
    ("LDA", 60): {1: 0.23, 5: 0.26, 10: 0.31},
    ("pLSA", 20): {1: 0.233, 5: 0.376, 10: 0.420},
    ("pLSA", 60): {1: 0.206, 5: 0.335, 10: 0.376},
    ("LTM 10", 20): {1: 0.405, 5: 0.521, 10: 0.555},
    ("LTM 10", 60): {1: 0.461, 5: 0.594, 10: 0.623},
    ("LTM 100", 20): {1: 0.426, 5: 0.527, 10: 0.572},
    ("LTM 100", 60): {1: 0.470, 5: 0.589, 10: 0.637},
    ("LapPLSI 100", 20): {1: 0.432, 5: 0.566, 10: 0.597},
    ("LapPLSI 100", 60): {1: 0.495, 5: 0.641, 10: 0.675},
    ("DTM paper", 20): {1: 0.436, 5: 0.550, 10: 0.601},
    ("DTM paper", 60): {1: 0.496, 5: 0.633, 10: 0.671},
    ("DTM", 20): {1: 0.435, 5: 0.569, 10: 0.611},
    ("DTM", 60): {1: 0.480, 5: 0.631, 10: 0.674},
    ("tf-idf", 0): {1: 0.30, 5: 0.47, 10: 0.60},
}


class Score(NamedTuple):
    """Accuracies for each C of one model on one draw."""

    model: str
    K: int
    labels: int
    seed: int
    accuracy: tuple[float, ...]
    seconds: float
    directions: float | None = None


def directions(weights: np.ndarray) -> float:
    """In how many directions rows (n, K) differ: (sum e)^2 / sum e^2 of the variances e."""
    e = np.linalg.eigvalsh(np.cov(weights.T))
    return float(e.sum() ** 2 / (e**2).sum())


# ---------------------------------------------------------------- features


def plain(K: int, counts: Counts, seed: int) -> np.ndarray:
    """The aspect model by EM from a random start, as in the paper."""
    settings = {"schedule": Fixed(1.0), "start": Noisy(1.0), "validation_fraction": 0.0}
    model = AspectModel(K, engine=Engine(over_relax=False), random_state=seed, n_jobs=1, **settings)
    return model.fit(counts).row_weights_


def annealed(K: int, counts: Counts, seed: int) -> np.ndarray:
    """The aspect model as it comes."""
    return AspectModel(K, random_state=seed, n_jobs=1).fit(counts).row_weights_


def lda(K: int, counts: Counts, seed: int) -> np.ndarray:
    """Collapsed Gibbs sampling; hyper-parameters are learnt, as that package does by default."""
    import tomotopy

    model, matrix = tomotopy.LDAModel(k=K, seed=seed), counts.matrix
    names = np.char.mod("%d", np.arange(counts.n_columns))
    for i in range(counts.n_rows):
        part = slice(matrix.indptr[i], matrix.indptr[i + 1])
        model.add_doc(np.repeat(names[matrix.indices[part]], matrix.data[part].astype(int)))
    model.train(300, workers=1)
    return np.array([doc.get_topic_dist() for doc in model.docs])


def nmf(K: int, table: Any, seed: int) -> np.ndarray:
    """Weights of the factors of a table (n, J), rows of length one."""
    return normalize(NMF(K, init="nndsvda", max_iter=200, random_state=seed).fit_transform(table))


def pca(K: int, table: Any, seed: int) -> np.ndarray:
    """Principal components of a sparse table (n, J)."""
    return np.asarray(PCA(K, random_state=seed).fit_transform(table.toarray()))


def plain_words(counts: Counts) -> Any:
    """Counts, rows of length one."""
    return normalize(counts.matrix)


def weighted_words(counts: Counts) -> Any:
    """Counts x log(n / document frequency), rows of length one."""
    return TfidfTransformer().fit_transform(counts.matrix)


UNSUPERVISED: dict[str, Callable[[int, Counts, int], np.ndarray]] = {
    "pLSA": plain,
    "pLSA, annealed": annealed,
    "LDA": lda,
    "NMF": lambda K, counts, seed: nmf(K, plain_words(counts), seed),
    "PCA": lambda K, counts, seed: pca(K, plain_words(counts), seed),
    "NMF of tf-idf": lambda K, counts, seed: nmf(K, weighted_words(counts), seed),
    "PCA of tf-idf": lambda K, counts, seed: pca(K, weighted_words(counts), seed),
}


def graph_models(topics: AspectModel, seed: int) -> dict[str, Any]:
    """The models that know the graph, by name; first as they come, then from random starts.

    As they come each of them would make the same annealed start again; it is made once here.
    """
    K, near = len(topics.weights_), NearTopics.of(topics)
    models: dict[str, Any] = {"LapPLSI auto": LapPLSI(K, random_state=seed, n_jobs=1, start=near)}
    for ending, start in (("", near), (RANDOM, RandomRows())):
        own = {"random_state": seed, "n_jobs": 1, "start": start}
        models |= {
            f"{kind.__name__} {value}{ending}": kind(K, regularization=value, **own)
            for kind in (LapPLSI, LTM)
            for value in LAMBDAS[kind.__name__]
        }
        heat = None if ending else Fixed(topics.temperature_)
        models[f"DTM{ending}"] = DTM(K, schedule=heat, **own)
        models[f"DTM paper{ending}"] = DTM(K, step="paper", schedule=heat, **own)
    return models


# ---------------------------------------------------------------- one draw


def collection(name: str) -> tuple[Counts, np.ndarray]:
    """Counts and classes: training postings of the newsgroups, or all documents with one class."""
    file = {"reuters": "five-counts.npz"}.get(name, "counts.npz")
    whole = Counts(sparse.load_npz(common.data_file(f"{name}/{file}")))
    matrix = whole.keep_columns(min_rows=LEAST[name]).matrix
    folder = common.data_folder() / name
    labels = np.loadtxt(folder / file.replace("counts.npz", "labels.txt"), dtype=int)
    if name == "20news":
        own = np.array((folder / "split.txt").read_text().split()) == "train"
    elif name == "reuters":
        own = np.loadtxt(folder / "five-multilabels.txt", dtype=int).sum(axis=1) == 1
    else:
        own = np.ones(len(labels), bool)
    return Counts(sparse.csr_array(matrix[np.flatnonzero(own)])), labels[own]


class Task(NamedTuple):
    """A draw; `brief` leaves out the rivals, the random starts and LTM."""

    collection: str
    seed: int
    sizes: tuple[int, ...]
    labels: tuple[int, ...]
    brief: bool


def score_draw(task: Task) -> list[Score]:
    """All models on one draw."""
    seed, n_labels = task.seed, task.labels
    warnings.simplefilter("ignore")
    counts, groups = collection(task.collection)
    drawn = {n: draw(groups, COLLECTIONS[task.collection], n, seed) for n in n_labels}
    rows = Counts(sparse.csr_array(counts.matrix[drawn[n_labels[0]].rows]))
    links = Neighbors.of(rows, n_threads=1).graph()
    scores = [
        Score(name, 0, n, seed, tuple(accuracies(table, drawn[n], strengths=STRENGTHS)), 0.0)
        for name, table in (("counts", plain_words(rows)), ("tf-idf", weighted_words(rows)))
        for n in n_labels
    ]
    for K in task.sizes:
        if not task.brief:
            scores += _unsupervised(K, rows, drawn, seed)
        topics = AspectModel(K, random_state=seed, n_jobs=1).fit(rows)
        models = graph_models(topics, seed)
        if task.brief:
            models = {name: models[name] for name in BRIEF}
        for n in n_labels:
            scores += _supervised(models, K, Known(rows, links, drawn[n]), n, seed)
    return scores


class Known(NamedTuple):
    """Counts, links by content, and the labels that are shown."""

    rows: Counts
    links: Any
    drawn: Draw


def _unsupervised(K: int, rows: Counts, drawn: dict[int, Draw], seed: int) -> list[Score]:
    scores = []
    for name, make in UNSUPERVISED.items():
        begin = time.perf_counter()
        features = make(K, rows, seed)
        took = time.perf_counter() - begin
        for n, one in drawn.items():
            found = accuracies(features, one, strengths=STRENGTHS)
            scores.append(Score(name, K, n, seed, tuple(found), took))
    return scores


def _supervised(models: dict[str, Any], K: int, known: Known, n: int, seed: int) -> list[Score]:
    scores = []
    for name, model in models.items():
        begin = time.process_time()
        fitted = model.fit(known.rows, known.drawn.known, graph=known.links)
        took = time.process_time() - begin
        found = accuracies(fitted.row_weights_, known.drawn, strengths=STRENGTHS)
        wide = directions(fitted.row_weights_)
        scores.append(Score(name, K, n, seed, tuple(found), took, wide))
    return scores


# ---------------------------------------------------------------- reporting


def mean_directions(scores: Sequence[Score]) -> float:
    """Mean over draws."""
    return float(np.mean([score.directions for score in scores]))


def averages(scores: Sequence[Score], collection: str) -> list[dict[str, Any]]:
    """Mean and standard error over draws at the best C, for every model, size and labels."""
    expected = EXPECTED if collection == "20news" else {}
    rows = []
    for key in dict.fromkeys((s.model, s.K, s.labels) for s in scores):
        own = [s for s in scores if (s.model, s.K, s.labels) == key]
        found = np.array([s.accuracy for s in own])
        best = found[:, found.mean(axis=0).argmax()]
        error = best.std(ddof=1) / np.sqrt(len(best)) if len(best) > 1 else float("nan")
        rows.append(
            {"model": key[0], "K": key[1], "labels": key[2], "accuracy": float(best.mean())}
            | {"standard error": float(error), "draws": len(best)}
            | {"expected": expected.get((key[0].removesuffix(RANDOM), key[1]), {}).get(key[2])}
            | {"seconds": float(np.mean([s.seconds for s in own]))}
            | ({} if own[0].directions is None else {"directions": mean_directions(own)})
        )
    return rows


def print_size(rows: list[dict[str, Any]], K: int, n_labels: Sequence[int]) -> None:
    own = [row for row in rows if row["K"] in (0, K)]
    shown = []
    for name in dict.fromkeys(row["model"] for row in own):
        cells: dict[str, Any] = {"model": name}
        for n in n_labels:
            row = next(r for r in own if r["model"] == name and r["labels"] == n)
            cells[f"{n} labels"] = f"{row['accuracy']:.3f} ± {row['standard error']:.3f}"
            cells[f"expected, {n}"] = row["expected"]
        cells["seconds"] = row["seconds"]
        shown.append(cells)
    common.print_table(shown, f"K = {K}: accuracy on hidden labels, mean and standard error")


def lead(rows: list[dict[str, Any]], K: int, n: int, others: Sequence[str]) -> float:
    """How far the least of the graph models is ahead of the best of the others."""
    table = {r["model"]: r["accuracy"] for r in rows if r["K"] in (0, K) and r["labels"] == n}
    # Lambda in hindsight: the best of those tried, for each model.
    laplace, laplacian = (
        max(table[f"{name} {value}"] for value in LAMBDAS[name]) for name in ("LapPLSI", "LTM")
    )
    best = max(table[name] for name in others)
    return min(laplace, laplacian, table["DTM"]) - float(best)


def ahead(
    rows: list[dict[str, Any]], sizes: Sequence[int], n_labels: Sequence[int]
) -> list[common.Target]:
    """Targets: ahead of the rivals of the paper in every cell; in how many of all others, too."""
    cells = [(K, n) for K in sizes for n in n_labels]
    what = "K = {}, {} labels: least of three graph models - best of " + ", ".join(RIVALS)
    found = [common.Target(what.format(*at), lead(rows, *at, RIVALS), low=0.0) for at in cells]
    clear = sum(lead(rows, *at, (*RIVALS, *STRONGER)) > 0 for at in cells)
    what = "cells in which all three are ahead of " + ", ".join(STRONGER) + " as well"
    return [*found, common.Target(what, clear, low=len(cells))]


def against_laplace(
    rows: list[dict[str, Any]], scores: Sequence[Score], mine: str, theirs: str
) -> list[dict[str, Any]]:
    """DTM - LapPLSI at the best lambda of each size in hindsight, mean and error over draws."""
    found = []
    for K in dict.fromkeys(s.K for s in scores if s.model == "DTM"):
        names = [f"LapPLSI {value}{theirs}" for value in LAMBDAS["LapPLSI"]]
        means = {
            name: np.mean([r["accuracy"] for r in rows if (r["model"], r["K"]) == (name, K)])
            for name in names
        }
        rival = max(names, key=lambda name: means[name])
        for n in dict.fromkeys(s.labels for s in scores):
            gap = _of(scores, mine, K, n) - _of(scores, rival, K, n)
            error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else float("nan")
            row = {"model": mine, "K": K, "labels": n, "rival": rival}
            row |= {"difference": float(gap.mean())}
            found.append(row | {"standard error": float(error)})
    return found


def start_gains(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the annealed start adds to each graph model: least, mean and largest over labels."""
    cells = {(row["model"], row["K"], row["labels"]): row["accuracy"] for row in rows}
    gains: dict[tuple[str, int], list[float]] = {}
    for (name, K, n), accuracy in cells.items():
        if (name + RANDOM, K, n) in cells:
            gains.setdefault((name, K), []).append(accuracy - cells[name + RANDOM, K, n])
    return [
        {"model": name, "K": K, "least": min(own), "mean": float(np.mean(own)), "most": max(own)}
        for (name, K), own in gains.items()
    ]


def _of(scores: Sequence[Score], model: str, K: int, n: int) -> np.ndarray:
    """Accuracy of a model in each draw, at its best C, (draws,)."""
    table = np.array([s.accuracy for s in scores if (s.model, s.K, s.labels) == (model, K, n)])
    return table[:, table.mean(axis=0).argmax()]


def score_draws(tasks: Sequence[Task]) -> list[list[Score]]:
    """Scores of each task, one process to a core, each with one thread."""
    workers = available_threads()
    # Fits this small gain nothing from more threads.
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
    scores: list[list[Score]] = []
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        for task, part in zip(tasks, pool.map(score_draw, tasks), strict=True):
            scores.append(part)
            print(f"{task.collection}: draw {task.seed + 1}", flush=True)
    return scores


def compare_strengths(
    draws: int, sizes: Sequence[int], n_labels: Sequence[int], info: dict[str, Any]
) -> None:
    """LapPLSI with the strength it chooses and with fixed ones, and DTM, on all collections."""
    rows: list[dict[str, Any]] = []
    wanted = tuple(sizes), tuple(n_labels)
    tasks = [Task(name, seed, *wanted, True) for seed in range(draws) for name in COLLECTIONS]
    found = score_draws(tasks)
    for name in COLLECTIONS:
        parts = [part for task, part in zip(tasks, found, strict=True) if task.collection == name]
        own = [score for part in parts for score in part]
        rows += [{"collection": name, **row} for row in averages(own, name)]
    summary = strength_summary(rows)
    common.print_table(summary, "By collection and labels, means over numbers of topics")
    targets = [
        common.Target(
            "chosen - best fixed strength of each cell in hindsight, mean of all cells",
            float(np.mean([row["next to the best"] for row in summary])),
            low=-0.02,
        ),
        common.Target(
            "chosen - DTM, mean of all cells",
            float(np.mean([row["next to DTM"] for row in summary])),
            low=0.0,
        ),
    ]
    judged = common.print_targets(targets)
    common.write_results(
        "semi_supervised-strengths", info, table=rows, summary=summary, targets=judged
    )


def strength_summary(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Accuracies by collection and labels, means over K, and what the chosen strength gains."""
    found = []
    for name, n in dict.fromkeys((row["collection"], row["labels"]) for row in rows):
        own = [r for r in rows if (r["collection"], r["labels"]) == (name, n)]
        cells: dict[int, dict[str, float]] = {}
        for row in own:
            cells.setdefault(row["K"], {})[row["model"]] = row["accuracy"]
        plain = cells.pop(0)
        fixed = [[cell[f"LapPLSI {v}"] for v in LAMBDAS["LapPLSI"]] for cell in cells.values()]
        chosen = [cell["LapPLSI auto"] for cell in cells.values()]
        other = [cell["DTM"] for cell in cells.values()]
        found.append(
            {"collection": name, "labels": n, "tf-idf": plain["tf-idf"]}
            | {"DTM": float(np.mean(other)), "least of DTM": min(other)}
            | {f"LapPLSI {v}": float(np.mean(column)) for v, column in
               zip(LAMBDAS["LapPLSI"], np.transpose(fixed), strict=True)}
            | {"LapPLSI auto": float(np.mean(chosen)), "least of auto": min(chosen)}
            | {"best fixed": float(np.mean(np.max(fixed, axis=1)))}
            | {"next to the best": float(np.mean(np.subtract(chosen, np.max(fixed, axis=1))))}
            | {"next to DTM": float(np.mean(np.subtract(chosen, other)))}
        )  # fmt: skip
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--labels", type=int, nargs="*", default=list(LABELS))
    parser.add_argument("--collection", choices=list(COLLECTIONS), default="20news")
    parser.add_argument(
        "--strengths",
        action="store_true",
        help="only how the strength of LapPLSI is chosen, on all collections: a result of its own",
    )
    options = parser.parse_args()
    info = common.machine()
    common.print_machine(info)
    sizes, n_labels = tuple(options.sizes), tuple(options.labels)
    if options.strengths:
        compare_strengths(options.draws, sizes, n_labels, info)
        return
    where = options.collection
    tasks = [Task(where, seed, sizes, n_labels, False) for seed in range(options.draws)]
    scores = [score for part in score_draws(tasks) for score in part]
    rows = averages(scores, where)
    for K in sizes:
        print_size(rows, K, n_labels)
    targets = ahead(rows, sizes, n_labels)
    gaps = []
    for mine, theirs in (("DTM", ""), ("DTM", RANDOM), (f"DTM{RANDOM}", RANDOM)):
        own = against_laplace(rows, scores, mine, theirs)
        what = f"{mine} next to LapPLSI{theirs} at its best lambda in hindsight"
        common.print_table(own, what)
        mean = float(np.mean([row["difference"] for row in own]))
        targets.append(common.Target(f"{what}, mean of all cells", mean, low=-0.01))
        gaps += own
    starts = start_gains(rows)
    common.print_table(starts, "What the annealed start gains in accuracy, over labels")
    judged = common.print_targets(targets)
    common.write_results(
        "semi_supervised" if where == "20news" else f"semi_supervised-{where}",
        info,
        table=rows,
        gaps=gaps,
        starts=starts,
        scores=[s._asdict() for s in scores],
        targets=judged,
    )


if __name__ == "__main__":
    main()
