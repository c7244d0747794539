"""The default search next to tf-idf, BM25 and LSI, nobody tuned but LSI; part of `retrieval`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import svds

from benchmarks.harness import common
from benchmarks.harness.searches import MADE, TEST, Searched
from isotherm import AspectModel, SearchIndex
from isotherm.retrieval import formulas
from isotherm.retrieval.evaluate import Difference, average_precision, difference, ranking

SIZES = (32, 50, 64, 96, 128, 192, 256)
OURS, BARE, WORDS = "default", "default, no topics", "default, no feedback"
TF_IDF, BM25, LSI, AGAIN = "tf-idf", "BM25", "LSI, best size", "LSI + feedback"
RIVALS = (BM25, LSI)
# Best documents that stand for a longer query, and the weight of what is like them.
N_BEST, SHARE = 10, 0.5


def unit(rows: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(length > 0, length, 1.0)


def standard(scores: np.ndarray) -> np.ndarray:
    spread = scores.std(axis=1, keepdims=True)
    return (scores - scores.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1.0)


def log_weighted(counts: sparse.csr_array, weights: np.ndarray) -> sparse.csr_array:
    rows = counts.astype(np.float64)
    rows.data = 1.0 + np.log(rows.data)
    return sparse.csr_array(rows * weights[None, :])


def semantic(data: Searched) -> dict[str, np.ndarray]:
    """Scores by LSI of sublinear tf-idf for every size, their mean, and feedback by the latter."""
    counts = data.documents.matrix
    in_documents = np.bincount(counts.indices, minlength=counts.shape[1])
    idf = np.where(in_documents > 1, formulas.idf(in_documents, counts.shape[0]), 0.0)
    rows = formulas.unit_words(log_weighted(counts, idf))
    left, values, right = svds(rows, k=max(SIZES), random_state=common.SEED)
    order = np.argsort(-values)
    asked = log_weighted(data.queries, idf) @ right[order].T
    places = [unit(left[:, order[:size]] * values[order[:size]]) for size in SIZES]
    found = {
        f"LSI {size}": unit(asked[:, :size]) @ place.T
        for size, place in zip(SIZES, places, strict=True)
    }
    mean = standard(np.mean(list(found.values()), axis=0))
    best = np.argsort(-mean, axis=1, kind="stable")[:, :N_BEST]
    weight = np.maximum(np.take_along_axis(mean, best, axis=1), 0.0)
    starts = np.arange(0, best.size + 1, N_BEST)
    chosen = sparse.csr_array((weight.ravel(), best.ravel(), starts), shape=mean.shape)
    alike = sum(unit(chosen @ place) @ place.T for place in places)
    found["LSI, mean of sizes"] = mean
    found[AGAIN] = (1 - SHARE) * mean + SHARE * standard(np.asarray(alike))
    return found


def precisions(scores: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """Average precision of every query that has something to find, (Q,)."""
    able = relevant.any(axis=1)
    hits = np.take_along_axis(relevant[able], ranking(scores[able]), axis=1)
    return np.array([average_precision(one) for one in hits])


def all_scores(data: Searched, model: AspectModel) -> dict[str, np.ndarray]:
    """Average precision by every method, (Q,) each."""
    index = SearchIndex.of(model, data.documents)
    plain = {"method": "words", "interpolation": 0.0}
    scores = {
        OURS: index.rank(data.queries),
        WORDS: index.with_settings(index.settings._replace(feedback=0)).rank(data.queries),
        BARE: SearchIndex.of(None, data.documents).rank(data.queries),
        TF_IDF: SearchIndex.of(model, data.documents, **plain).rank(data.queries),
        BM25: SearchIndex.of(model, data.documents, weights="bm25", **plain).rank(data.queries),
        **semantic(data),
    }
    found = {name: precisions(one, data.relevant) for name, one in scores.items()}
    # Of its sizes the best, with the answers in sight.
    best = max((f"LSI {size}" for size in SIZES), key=lambda name: found[name].mean())
    return found | {LSI: found[best]}


def compared() -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[common.Target]]:
    """Mean average precision of all methods, differences to the default, and targets."""
    models: dict[str, AspectModel] = {}
    tables: dict[str, dict[str, np.ndarray]] = {}
    for name, load in (TEST | MADE).items():
        data = load()
        key = name.partition(", grades")[0]
        if key not in models:
            models[key] = AspectModel("auto", random_state=common.SEED).fit(data.documents)
        tables[name] = all_scores(data, models[key])
    rows = [
        {"method": method}
        | {name: f"{100 * found[method].mean():.1f}" for name, found in tables.items()}
        for method in next(iter(tables.values()))
    ]
    gaps, targets = [], []
    for name, found in tables.items():
        for rival in (TF_IDF, BM25, LSI, AGAIN):
            gap = difference(found[OURS], found[rival])
            gaps.append(_row(name, rival, gap))
            if rival in RIVALS:
                says = f"{name}: MAP of the default over {rival}, points"
                targets.append(common.Target(says, 100 * gap.mean, low=-1.0))
            elif rival == AGAIN and name in TEST:
                says = f"{name}: high end of 95 % of the default over {rival}"
                targets.append(common.Target(says, 100 * gap.high, low=0.0))
    for rival in RIVALS:
        mean = np.mean([found[OURS].mean() - found[rival].mean() for found in tables.values()])
        says = f"mean over collections: MAP over {rival}, points"
        targets.append(common.Target(says, 100 * float(mean), low=0.0))
    return rows, gaps, targets


def _row(name: str, rival: str, gap: Difference) -> dict[str, Any]:
    return {
        "collection": name,
        "rival": rival,
        "default - rival": f"{100 * gap.mean:+.1f}",
        "95 %": f"{100 * gap.low:+.1f} ... {100 * gap.high:+.1f}",
    }
