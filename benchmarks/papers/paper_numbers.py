"""Numbers of the papers that no other benchmark measures: sizes of data, temperatures, components.

`papers.py` sets them beside the papers'. Choi (2012): the first critical temperature of oil flow
(eq. 3.37), the temperature at which the annealing of documents is stopped by each of his four rules
(eq. 4.14), and topics of his model put into LDA. Hofmann & Puzicha (1998), Figure 5: what annealing
gains with fewer documents; Figure 6: how many times the components of an annealed fit must EM have,
stopped early, to predict as well.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from sklearn.decomposition import LatentDirichletAllocation

from benchmarks.harness import common, table2
from isotherm import Counts, DocumentMixture, Engine, Fixed, Rows
from isotherm.anneal.engine import Annealer
from isotherm.anneal.start import Noisy
from isotherm.evaluate import lda_document_bounds, row_perplexity
from isotherm.models.aspect import Aspect

ANNEALED = (16, 32)
EM = (16, 32, 64, 128, 256)
STOPPED = (20, 100)
SUBSAMPLED = (8, 4, 2, 1)
# Weights of training and of held-out documents in the total perplexity, by the thesis's letters.
RULES = {"A": (0.0, 1.0), "B": (0.5, 0.5), "C": (0.9, 0.1), "D": (1.0, 0.0)}


def data_rows() -> list[dict[str, Any]]:
    """Sizes of the collections as they are used here."""
    collections = {
        "cranfield": common.counts("cranfield").keep_columns(min_rows=5),
        "adjnoun": common.counts("adjnoun"),
        "ap": common.counts("ap"),
    }
    return [
        {"data": name, "documents": counts.n_rows, "words": counts.n_columns}
        | {"tokens": int(counts.total)}
        | {"zeros": 1.0 - counts.nnz / (counts.n_rows * counts.n_columns)}
        for name, counts in collections.items()
    ]


def critical_temperature(points: np.ndarray) -> float:
    """Largest eigenvalue of the covariance over the mean of all, Choi's eqs. 3.37 and 3.6."""
    spectrum = np.linalg.eigvalsh(np.cov(points, rowvar=False, bias=True))
    return float(spectrum[-1] / spectrum.mean())


def tenth(counts: Counts) -> tuple[Counts, Counts]:
    """Nine tenths of the documents, and the others, with words of the former alone."""
    order = np.random.default_rng(common.SEED).permutation(counts.n_rows)
    cut = counts.n_rows // 10
    train, test = counts.take_rows(np.sort(order[cut:])), counts.take_rows(np.sort(order[:cut]))
    known = train.column_totals > 0
    return train.take_columns(known), test.take_columns(known)


def stopping(train: Counts, test: Counts, K: int) -> list[dict[str, Any]]:
    """Where each rule stops, and how probable documents that were fitted and others are then."""
    rows = []
    for letter, (a, b) in RULES.items():
        rule = Rows(train_weight=a, test_weight=b, per_token=False)
        engine = Engine(holdout=rule)
        model = DocumentMixture(K, random_state=common.SEED, engine=engine).fit(train)
        rows.append(
            {"K": K, "rule": letter, "a": a, "b": b, "T": model.temperature_}
            | {"first critical": model.first_critical_}
            | {"fitted, nats a token": model.score_rows(train)}
            | {"unseen, nats a token": model.score_rows(test)}
        )
    return rows


def in_lda(train: Counts, test: Counts, K: int) -> dict[str, Any]:
    """Perplexity of unseen documents by the bound of LDA: topics of the mixture, and its own."""
    mixture = DocumentMixture(K, random_state=common.SEED).fit(train).components_
    allocation = LatentDirichletAllocation(K, max_iter=30, random_state=common.SEED)
    own = allocation.fit(train.matrix).components_
    tables = {"document mixture": mixture, "LDA": own / own.sum(axis=1, keepdims=True)}
    bounds = {name: lda_document_bounds(test, table, 1.0 / K) for name, table in tables.items()}
    return {"K": K} | {name: row_perplexity(test, bound) for name, bound in bounds.items()}


STOPPED_EARLY = Annealer(Fixed(1.0), table2.NO_RELAXATION, start=Noisy(0.5), check_every=1)


def components(fold: table2.Fold) -> list[dict[str, Any]]:
    """Least number of components with which EM, stopped early, is as good as an annealed fit."""
    early = {K: fold.ratio(fold.run(STOPPED_EARLY, Aspect(K))) for K in EM}
    rows = []
    for K in ANNEALED:
        level = fold.ratio(table2.aspect(fold, K))
        needed = next((one for one in EM if early[one] <= level), None)
        rows.append(
            {"K": K, "annealed": level, "EM, same K": early[K], f"EM, K = {EM[-1]}": early[EM[-1]]}
            | {"EM needs": needed, "times the components": needed / K if needed else float("inf")}
        )
    return rows


def by_sample(counts: Counts, K: int) -> list[dict[str, Any]]:
    """Perplexity of annealed fits over that of EM stopped early, with every so many documents."""
    rows = []
    for every in SUBSAMPLED:
        part = counts.take_rows(np.arange(0, counts.n_rows, every)).keep_columns(min_rows=2)
        fold = table2.fold_of(part, common.SEED)
        early, annealed = (
            fold.ratio(fold.run(STOPPED_EARLY, Aspect(K))),
            fold.ratio(table2.aspect(fold, K)),
        )
        rows.append(
            {"every": every, "documents": part.n_rows, "K": K, "EM": early, "annealed": annealed}
            | {"annealed / EM": annealed / early}
        )
    return rows


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    info = common.machine()
    common.print_machine(info)
    sizes = data_rows()
    common.print_table(sizes, "Collections")
    value = critical_temperature(common.vectors("oil-flow", "train.csv.gz"))
    critical = [{"data": "oil-flow", "first critical temperature": value}]
    common.print_table(critical, "Maps")
    press = common.counts("ap")
    train, test = tenth(press)
    stops = [row for K in STOPPED for row in stopping(train, test, K)]
    common.print_table(stops, "AP, document mixture: where each rule stops")
    allocations = [in_lda(train, test, K) for K in STOPPED]
    common.print_table(allocations, "AP: perplexity of unseen documents, topics put into LDA")
    needs = components(table2.fold_of(press.keep_columns(min_rows=2), common.SEED))
    common.print_table(needs, "AP: perplexity / unigram perplexity; components that EM needs")
    samples = by_sample(press, ANNEALED[-1])
    common.print_table(samples, "AP: the same with fewer documents")
    common.write_results(
        "paper_numbers",
        info,
        data=sizes,
        critical=critical,
        stopping=stops,
        allocations=allocations,
        components=needs,
        samples=samples,
    )


if __name__ == "__main__":
    main()
