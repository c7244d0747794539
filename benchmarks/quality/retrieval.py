"""Search in Medline and Cranfield: the default next to tf-idf, BM25, LSI, and to the paper.

First the default, which nobody tunes, in seven collections: Medline and Cranfield, and five that
were made of labelled texts to choose its rules. Then the rows of Table 3 of Hofmann & Puzicha
(1998), those of Cranfield by the same protocol as separate programs: interpolated
precision, all 1837 judgements, means over random starts of EM at a fixed temperature. Last a
comparison on Cranfield in which every method chooses its settings on one half of the queries and is
measured on the other, both ways and for several halvings; intervals are over resampled queries.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import svds

from benchmarks.harness import common, search_defaults, searches
from isotherm import AspectModel, Counts, Engine, Fixed, SearchIndex
from isotherm.anneal.start import state_of
from isotherm.anneal.trace import State
from isotherm.retrieval import formulas
from isotherm.retrieval.evaluate import LEVELS, Evaluation, difference, evaluate
from isotherm.retrieval.trec import read_qrels, relevance

# Number of topics -> 1/T, where held-out perplexity is best (no query has a say in it).
COLD = {64: 0.80, 128: 0.77, 256: 0.74}
# What separate programs found: precision in % at the levels, and mean average precision.
SEPARATE = {
    "tf": (71.4, 46.9, 32.9, 19.1, 10.5, 34.6),
    "tf-idf": (75.8, 54.2, 39.1, 23.5, 13.5, 39.2),
    "PLSI 256, tf": (71.8, 48.7, 36.0, 22.7, 13.5, 37.0),
    "PLSI 256, tf-idf": (75.6, 53.9, 41.2, 27.0, 16.6, 41.2),
    "PLSI 64, tf-idf": (77.2, 53.9, 41.6, 26.9, 16.5, 41.6),
    "PLSI 128, T = 1, raw query, tf": (66.6, 43.8, 30.5, 18.8, 9.9, 32.3),
    "PLSI 128, T = 1, raw query, tf-idf": (76.3, 52.5, 39.3, 24.6, 14.0, 39.6),
}
PAPER = {
    "tf": "64.4 39.4 29.0 13.2 7.7",
    "tf-idf": "69.9 48.0 34.9 18.1 9.2",
    "PLSI 256, tf": "66.0 42.2 35.0 16.1 10.6",
    "PLSI 256, tf-idf": "70.5 48.8 36.9 22.2 14.1",
}
# Rows of the paper for Medline: topics, 1/T, interpolation, weights, and its figures.
MEDLINE = {
    "tf": (None, 0.0, "tf", "72.7 56.7 44.6 32.4 15.3"),
    "tf-idf": (None, 0.0, "tfidf", "71.4 64.4 49.7 37.4 17.8"),
    "PLSI 32, T = 1, tf": ((32, 1.0), 0.5, "tf", "76.3 62.0 49.6 37.1 21.1"),
    "PLSI 64, T = 1, tf": ((64, 1.0), 0.5, "tf", "70.6 60.3 48.1 34.9 20.6"),
    "PLSI 256, tf": ((256, 0.74), 0.7, "tf", "78.4 69.2 58.4 45.9 32.0"),
    "PLSI 256, tf-idf": ((256, 0.74), 0.7, "tfidf", "79.3 69.9 63.4 52.2 33.0"),
}
DAMPING = ((1.2, 0.75), (1.2, 0.9), (1.6, 0.9), (2.0, 0.75))
SHARES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
FEEDBACK = ((3, 0.3), (3, 0.5), (5, 0.3), (5, 0.5), (5, 0.65), (10, 0.3), (10, 0.5))
SIZES = (64, 96, 128, 160, 192, 256, 320)
OURS = "BM25 filled up + feedback"
TF_IDF, BM25, LSI, BEST_LSI = "tf-idf", "BM25", "LSI, tf-idf", "LSI, best weights"
MUST_BEAT = (TF_IDF, BM25, LSI, BEST_LSI)


class Collection(NamedTuple):
    """Documents, queries and judgements, all of them and those of grades 1 to 4."""

    documents: Counts
    queries: sparse.csr_array
    every: sparse.csr_array
    graded: sparse.csr_array


class Choice(NamedTuple):
    """A setting, and its quality for both readings of the judgements."""

    label: str
    every: Evaluation
    graded: Evaluation


def collection() -> Collection:
    """Cranfield; ends the benchmark where it is missing."""
    documents = common.counts("cranfield")
    folder = common.data_folder() / "cranfield"
    queries = sparse.csr_array(sparse.load_npz(folder / "query-counts.npz")).astype(np.float64)
    judged = read_qrels(folder / "qrels.tsv")
    names = range(1, queries.shape[0] + 1), range(1, documents.n_rows + 1)
    every, graded = relevance(judged, *names), relevance(judged, *names, grades=range(1, 5))
    return Collection(documents, queries, every, graded)


class Uniform:
    """Topics from uniform random numbers, normalised."""

    def state(self, model: Any, data: Any, rng: np.random.Generator) -> State:
        table = rng.random((len(data.summary.column_totals), model.n_components)) + 1e-9
        table = (table / table.sum(axis=0)).astype(data.kernels.dtype)
        return state_of(model, data, model.init(data.summary, table))


def fitted(documents: Counts, size: int, cold: float, seed: int) -> AspectModel:
    """EM from a random start at a fixed temperature."""
    return AspectModel(
        size,
        schedule=Fixed(1 / cold),
        start=Uniform(),
        validation_fraction=0,
        temper_prior=False,
        tol=0.0,
        max_iter=100,
        engine=Engine(over_relax=False),
        random_state=seed,
    ).fit(documents)


# ---------------------------------------------------------------- the rows of the paper


def figures(found: Evaluation) -> np.ndarray:
    """Precision at the levels and mean average precision in %, (6,)."""
    return 100 * np.append(found.mean_precision, found.mean_average_precision)


def table3(data: Collection, models: dict[int, list[AspectModel]], hot: list[AspectModel]) -> Any:
    """Rows of the first table and its targets."""

    def mean(group: list[AspectModel], **settings: Any) -> tuple[np.ndarray, float]:
        each = [
            figures(
                evaluate(
                    SearchIndex.of(model, data.documents, method="words", **settings).rank(
                        data.queries
                    ),
                    data.every,
                )
            )
            for model in group
        ]
        return np.mean(each, axis=0), float(np.std(each, axis=0).max())

    one = models[64][:1]
    measured = {
        "tf": mean(one, weights="tf", interpolation=0.0),
        "tf-idf": mean(one, interpolation=0.0),
        "PLSI 256, tf": mean(models[256], weights="tf"),
        "PLSI 256, tf-idf": mean(models[256]),
        "PLSI 64, tf-idf": mean(models[64]),
        "PLSI 128, T = 1, raw query, tf": mean(hot, weights="tf", query="raw"),
        "PLSI 128, T = 1, raw query, tf-idf": mean(hot, query="raw"),
    }
    rows, targets = [], []
    for name, (values, spread) in measured.items():
        off = float(np.abs(values - SEPARATE[name]).max())
        limit = 0.1 if name in ("tf", "tf-idf") else 2.0
        targets.append(common.Target(f"{name}: largest deviation, points", off, high=limit))
        rows.append(
            {"method": name}
            | {f"{100 * level:.0f} %": f"{v:.1f}" for level, v in zip(LEVELS, values, strict=False)}
            | {"MAP": f"{values[-1]:.1f}", "sd": f"{spread:.1f}", "off": f"{off:.1f}"}
            | {"paper": PAPER.get(name, "")}
        )
    return rows, targets


def table3_of_medline(seeds: range) -> tuple[Any, list[common.Target]]:
    """Rows of the paper for Medline; annealed topics must add at high recall as they do there."""
    data, rows, high = searches.smart("medline"), [], {}
    for name, (topics, share, weights, paper) in MEDLINE.items():
        size, cold = topics or (32, 1.0)
        models = [fitted(data.documents, size, cold, seed) for seed in (seeds if topics else [0])]
        indexes = [
            SearchIndex.of(m, data.documents, weights=weights, interpolation=share) for m in models
        ]
        each = [figures(evaluate(one.rank(data.queries), data.relevant)) for one in indexes]
        values, spread = np.mean(each, axis=0), float(np.std(each, axis=0).max())
        rows.append(
            {"method": name}
            | {f"{100 * level:.0f} %": f"{v:.1f}" for level, v in zip(LEVELS, values, strict=False)}
            | {"MAP": f"{values[-1]:.1f}", "sd": f"{spread:.1f}", "paper": paper}
        )
        high[name] = values[len(LEVELS) - 1]
    gained = high["PLSI 256, tf-idf"] - high["tf-idf"]
    return rows, [common.Target("Medline, gain of topics at 90 % recall, points", gained, low=5.0)]


# ---------------------------------------------------------------- every method at its best


def judged(data: Collection, label: str, scores: np.ndarray) -> Choice:
    """Quality of scores (Q, I)."""
    return Choice(label, evaluate(scores, data.every), evaluate(scores, data.graded))


def indexed(data: Collection, index: SearchIndex, grid: list[dict[str, Any]]) -> list[Choice]:
    """Quality of an index at every setting of a grid."""
    return [
        judged(
            data,
            " ".join(f"{key}={value}" for key, value in changes.items()),
            index.with_settings(index.settings._replace(**changes)).rank(data.queries),
        )
        for changes in grid
    ]


def weighted(data: Collection) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Documents and queries by weights of their words, documents of unit length."""
    counts, queries = data.documents.matrix.toarray(), data.queries.toarray()
    n_rows = len(counts)
    in_documents = (counts > 0).sum(axis=0)
    idf, bm25_idf = formulas.idf(in_documents, n_rows), formulas.bm25_idf(in_documents, n_rows)
    damping = formulas.Saturation.of(data.documents.row_totals, 2.0, 0.75)
    damped = damping(counts, damping.half[:, None])
    yield "tf-idf", unit(counts * idf), queries * idf
    yield "log", unit(np.log1p(counts) * idf), np.log1p(queries) * idf
    yield "bm25", unit(damped * bm25_idf), queries * bm25_idf


def unit(rows: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(length > 0, length, 1.0)


def semantic(data: Collection) -> dict[str, list[Choice]]:
    """LSI by tf-idf, by the best of three weights, and the latter with feedback in its space."""
    nothing = sparse.csr_array((data.documents.n_rows, 1))
    found: dict[str, list[Choice]] = {LSI: [], BEST_LSI: [], "LSI + feedback": []}
    for name, documents, queries in weighted(data):
        left, values, right = svds(documents, k=max(SIZES), random_state=common.SEED)
        order = np.argsort(-values)
        for size in SIZES:
            kept = order[:size]
            places = unit(left[:, kept] * values[kept])
            scores = np.maximum(unit(queries @ right[kept].T) @ places.T, 0.0)
            choice = judged(data, f"{name} K={size}", scores)
            found[BEST_LSI].append(choice)
            if name == "tf-idf":
                found[LSI].append(choice)
            for best, share in FEEDBACK:
                again = formulas.feedback(scores, places, nothing, best, share).scores
                label = f"{name} K={size} feedback={best} weight={share}"
                found["LSI + feedback"].append(judged(data, label, again))
    return found


def with_words(data: Collection, index: SearchIndex) -> list[Choice]:
    """BM25 with feedback by words: what the same step gains without topics."""
    *_, (_, places, _) = weighted(data)
    words, nothing, found = sparse.csr_array(places), np.zeros((len(places), 1)), []
    for k1, b in DAMPING:
        settings = index.settings._replace(weights="bm25", interpolation=0.0, k1=k1, b=b)
        scores = index.with_settings(settings).rank(data.queries)
        for best, share in FEEDBACK:
            again = formulas.feedback(scores, nothing, words, best, share).scores
            found.append(judged(data, f"k1={k1} b={b} feedback={best} weight={share}", again))
    return found


def methods(data: Collection, models: dict[int, list[AspectModel]]) -> dict[str, list[Choice]]:
    """Every method with all of its settings."""
    everything = [model for group in models.values() for model in group]
    one, all_ = (
        SearchIndex.of(m, data.documents, method="words") for m in (models[256][0], everything)
    )
    cosine = [{"interpolation": s, "query": q} for s in SHARES for q in ("smooth", "raw")]
    damping = [{"weights": "bm25", "k1": k1, "b": b} for k1, b in DAMPING]
    plain = [d | {"interpolation": 0.0} for d in damping]
    filled = [d | {"interpolation": s} for d in damping for s in SHARES]
    topics = [d | {"method": "topics"} for d in filled]
    again = [d | {"feedback": n, "feedback_weight": w} for d in filled for n, w in FEEDBACK]
    return {
        TF_IDF: indexed(data, one, [{"interpolation": 0.0}]),
        BM25: indexed(data, one, plain),
        **semantic(data),
        "BM25 + feedback by words": with_words(data, one),
        "PLSI-U, one model": indexed(data, one, cosine),
        f"PLSI-U, {len(everything)} models": indexed(data, all_, cosine),
        "BM25 + topics (PLSI-Q)": indexed(data, all_, topics),
        "BM25 filled up, one model": indexed(data, one, filled),
        "BM25 filled up": indexed(data, all_, filled),
        "BM25 filled up + feedback, one model": indexed(data, one, again),
        OURS: indexed(data, all_, again),
    }


# ---------------------------------------------------------------- chosen here, measured there


class Measured(NamedTuple):
    """What a method reaches on queries that had no say in its settings."""

    precision: np.ndarray  # (Q, L)
    average: np.ndarray  # (Q,)
    labels: list[str]


def held_out(choices: list[Choice], part: str, n_splits: int) -> Measured:
    """Means over halvings of the queries; each half is measured with the other's best setting."""
    found = [getattr(choice, part) for choice in choices]
    table = np.array([one.average_precision for one in found])
    precision = np.zeros_like(found[0].precision)
    average, labels = np.zeros(table.shape[1]), []
    for split in range(n_splits):
        order = np.random.default_rng(split).permutation(table.shape[1])
        halves = order[: len(order) // 2], order[len(order) // 2 :]
        for chosen_on, measured_on in (halves, halves[::-1]):
            best = int(np.argmax(table[:, chosen_on].mean(axis=1)))
            average[measured_on] += table[best, measured_on] / n_splits
            precision[measured_on] += found[best].precision[measured_on] / n_splits
            labels.append(choices[best].label)
    return Measured(precision, average, labels)


def compared(tried: dict[str, list[Choice]], part: str, n_splits: int) -> Any:
    """Rows of all methods with the difference of ours to each."""
    measured = {name: held_out(choices, part, n_splits) for name, choices in tried.items()}
    rows = []
    for name, one in measured.items():
        gap = difference(measured[OURS].average, one.average)
        rows.append(
            {"method": name}
            | {
                f"{100 * level:.0f} %": f"{100 * value:.1f}"
                for level, value in zip(LEVELS, one.precision.mean(axis=0), strict=True)
            }
            | {"MAP": f"{100 * one.average.mean():.1f}"}
            | {"ours - this": f"{100 * gap.mean:+.1f}" if name != OURS else ""}
            | {"95 %": f"{100 * gap.low:+.1f} ... {100 * gap.high:+.1f}" if name != OURS else ""}
            | {"most often chosen": max(set(one.labels), key=one.labels.count)}
        )
    return rows, measured


def targets_of(measured: dict[str, Measured]) -> list[common.Target]:
    """Ours must be better, and so must be nearly all resamples of the queries."""
    found = []
    for name in MUST_BEAT:
        gap = difference(measured[OURS].average, measured[name].average)
        found.append(common.Target(f"MAP over {name}, points", 100 * gap.mean, low=0.0))
        found.append(common.Target(f"MAP over {name}, low end of 95 %", 100 * gap.low, low=0.0))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=4, help="random starts for each size")
    parser.add_argument("--splits", type=int, default=10, help="halvings of the queries")
    options = parser.parse_args()
    info = common.machine()
    common.print_machine(info)
    defaults, gaps, targets = search_defaults.compared()
    common.print_table(defaults, "MAP in % of defaults; LSI, best size: with answers in sight")
    common.print_table(gaps, "The default less its rivals, points of MAP")
    data = collection()
    seeds = range(options.seeds)
    models = {
        size: [fitted(data.documents, size, cold, seed) for seed in seeds]
        for size, cold in COLD.items()
    }
    hot = [fitted(data.documents, 128, 1.0, seed) for seed in seeds]
    medline, more = table3_of_medline(seeds)
    common.print_table(medline, "Medline, precision in % next to the paper")
    targets += more
    table, more = table3(data, models, hot)
    targets += more
    common.print_table(
        table, f"Precision in %, means of {options.seeds} starts; off: from separate"
    )
    tried = methods(data, models)
    rows, measured = compared(tried, "every", options.splits)
    common.print_table(rows, "Settings chosen on the other half of the queries, all judgements")
    graded, _ = compared(tried, "graded", options.splits)
    common.print_table(graded, "The same, grades 1 to 4 relevant")
    targets += targets_of(measured)
    judged = common.print_targets(targets)
    common.write_results(
        "retrieval",
        info,
        defaults=defaults,
        gaps=gaps,
        medline=medline,
        table3=table,
        held_out=rows,
        graded=graded,
        targets=judged,
    )


if __name__ == "__main__":
    main()
