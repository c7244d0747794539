"""Numbers of the papers that no other benchmark measures: sizes of data, temperatures, components.

`papers.py` sets them beside the papers'. Choi (2012): the first critical temperature of oil flow
(eq. 3.37) and the temperature at which the annealing of documents is stopped. Hofmann & Puzicha
(1998), Figure 6: how many times the components of an annealed fit must EM have, stopped early, to
predict as well.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import _common as common
import _table2 as table2
from isotherm import Counts, DocumentMixture, Fixed
from isotherm.anneal.engine import Annealer
from isotherm.anneal.start import Noisy
from isotherm.models.aspect import Aspect

ANNEALED = (16, 32)
EM = (16, 32, 64, 128, 256)
STOPPED = (20, 100)


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


def stopping(counts: Counts, sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """Temperature at which documents that were held out are predicted best."""
    rows = []
    for K in sizes:
        model = DocumentMixture(K, random_state=common.SEED).fit(counts)
        rows.append({"K": K, "T": model.temperature_, "first critical": model.first_critical_})
    return rows


def components(fold: table2.Fold) -> list[dict[str, Any]]:
    """Least number of components with which EM, stopped early, is as good as an annealed fit."""
    stopped = Annealer(Fixed(1.0), table2.NO_RELAXATION, start=Noisy(0.5), check_every=1)
    early = {K: fold.ratio(fold.run(stopped, Aspect(K))) for K in EM}
    rows = []
    for K in ANNEALED:
        level = fold.ratio(table2.aspect(fold, K))
        needed = next((one for one in EM if early[one] <= level), None)
        rows.append(
            {"K": K, "annealed": level, "EM, same K": early[K], f"EM, K = {EM[-1]}": early[EM[-1]]}
            | {"EM needs": needed, "times the components": needed / K if needed else float("inf")}
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
    stops = stopping(press, STOPPED)
    common.print_table(stops, "AP, document mixture: where it stops")
    needs = components(table2.fold_of(press.keep_columns(min_rows=2), common.SEED))
    common.print_table(needs, "AP: perplexity / unigram perplexity; components that EM needs")
    common.write_results(
        "paper_numbers", info, data=sizes, critical=critical, stopping=stops, components=needs
    )


if __name__ == "__main__":
    main()
