"""How many topics are there, and are they real? Ours next to programs that find or are told it.

The number: the default levels of `AspectModel("auto")`, whose topics documents mix, and of
`OneSidedClustering("auto")`, which has each document in one cluster, next to labels and to planted
numbers, with a hierarchical Dirichlet process and BERTopic, which nobody tells the number either. A
label is not a topic, so besides the number stands the agreement of the largest topic of each
document with its label, and the mean of `reproducibility_` over the topics of the default level;
told the number of labels, a level or cut of ours stands next to NMF and k-means of tf-idf and to
LDA. Labels are one to a document: clusters are judged by them. The rule of the default level was
made without a look at `docstrings`, `3of20` and `8of20`; the weighting of clusters was chosen
looking at all of these, and at eight more draws of newsgroups.

Real: every program is fitted to two halves of the documents with the same number of topics, that of
our default level; topics that are there are in both. Cosine of the tables from which each program's
words are read, and the share of the ten words of matched topics that are the same. These are other
halves than those by which a fit chooses its default level and has its `reproducibility_`.

Words: NPMI in the whole collection and diversity of the ten words that each program shows.

Cost: CPU seconds of a growing fit with levels, "auto", over those of one without, "predict", within
one run.

Everything runs on one thread. Rows are written after every collection. `--kept` fits a peer only
where the result has no row of it yet, and ours always; without it, all that is asked for is fitted.
A run of some collections leaves the rows of the others as they are; `--corpora planted` runs the
planted numbers alone.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.harness import common, labelled, peers
from benchmarks.harness.labelled import COLLECTIONS, Case
from benchmarks.page.parts import load, mean, only
from isotherm import AspectModel, Counts, OneSidedClustering
from isotherm.evaluate import (
    ami,
    ari,
    coherence,
    completeness,
    diversity,
    homogeneity,
    match_topics,
    top_columns,
)

# Topics that documents mix, and groups that each document is in one of.
TOPICS, CLUSTERS = "isotherm topics", "isotherm clusters"
OURS: dict[str, Callable[..., Any]] = {TOPICS: AspectModel, CLUSTERS: OneSidedClustering}
DEFAULT, CUT = "default level", "as many as labels"
# Peers that come to a number by themselves: what they are asked to begin with, and settings.
HDP = "tomotopy-hdp"
FREE: dict[str, tuple[int, dict[str, Any]]] = {HDP: (2, {"sweeps": 300}), "bertopic": (0, {})}
TOLD: dict[str, dict[str, Any]] = {
    "sklearn-nmf-tfidf": {},
    "sklearn-kmeans-tfidf": {},
    "tomotopy-lda": {"sweeps": 300},
}
NMF = "sklearn-nmf-tfidf"
PLANTED = (5, 10, 20)
OF_KNOWN = "planted"  # what planted numbers are called among the collections
N_WORDS, MORE = 10, 20  # words shown; the other number of topics at which words are compared
LIMIT = 900.0  # seconds of a peer
AGREEMENT = {"AMI": ami, "ARI": ari, "homogeneity": homogeneity, "completeness": completeness}
# Limits: error of the default number next to labels, on average and at most; cosine of topics of
# two halves, on average; cost of levels.
MEAN_ERROR, MOST_ERROR, MEAN_COSINE, MOST_COST = 0.6, 2.0, 0.9, 2.2
TABLES = ("numbers", "told", "halves", "words", "costs", "planted")
BY_NUMBER = ("halves", "words")  # tables that compare programs with the same number of topics

Row = dict[str, Any]


# ---------------------------------------------------------------- programs


class Answer(NamedTuple):
    """Topics of one program: words shown, the table (K, J) of them, and the largest of each row."""

    words: list[list[int]]
    table: np.ndarray
    largest: np.ndarray
    cpu: float
    error: str = ""

    @property
    def K(self) -> int:  # noqa: N802
        return len(self.table)


class Ours(NamedTuple):
    """A fit at its default level, how many components its levels have, and CPU seconds of all."""

    name: str
    model: Any
    levels: list[int]
    cpu: float


def fitted(name: str, number: int | str, counts: Counts) -> tuple[Any, float]:
    """A fit of ours, and its CPU seconds."""
    return timed(lambda: OURS[name](number, random_state=common.SEED, n_jobs=1).fit(counts))


def ours(name: str, counts: Counts) -> Ours:
    """A fit with levels."""
    model, cpu = fitted(name, "auto", counts)
    return Ours(name, model, [one.n_components for one in model.levels_], cpu)


def reproducible(model: Any) -> float | None:
    """Mean of the reproducibility of its topics, as far as it is known."""
    known = model.reproducibility_[np.isfinite(model.reproducibility_)]
    return float(known.mean()) if len(known) else None


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and its CPU seconds; threads of BLAS that wait count as busy."""
    with threadpool_limits(1, "blas"):
        begin = time.process_time()
        found = call()
        return found, time.process_time() - begin


def answer_of(model: Any, cpu: float) -> Answer:
    """What a model of ours shows."""
    numbers = range(model.n_features_in_)
    words = [[int(j) for j in row] for row in model.top_words(N_WORDS, names=numbers)]
    return Answer(words, model.components_, np.asarray(model.row_weights_).argmax(axis=1), cpu)


class Rivals:
    """Fits of peers to one case, each made once."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.fits: dict[tuple[Any, ...], Answer] = {}

    def fit(self, name: str, k: int, half: int | None = None, **settings: Any) -> Answer:
        """A peer on all documents, or on one half of them."""
        key = (name, k, half)
        if key not in self.fits:
            rows = np.arange(self.case.counts.n_rows) if half is None else halves(self.case)[half]
            own = None if self.case.texts is None else [self.case.texts[i] for i in rows]
            matrix = self.case.counts.matrix[rows]
            found = peers.fit(
                name, matrix, k, common.SEED, texts=own, timeout=LIMIT, **settings
            )  # fmt: skip
            self.fits[key] = shown_by(found)
            print(f"  {self.case.name}: {name}, K = {k}: {found.cpu:.1f} CPU s", flush=True)
        return self.fits[key]


def shown_by(fit: peers.PeerFit) -> Answer:
    """Topics of a peer, or why there are none."""
    if fit.error:
        return Answer([], np.zeros((0, 0)), np.zeros(0, int), float("nan"), fit.error)
    table = np.maximum(fit.shown, 0.0)
    empty = ~table.any(axis=1)
    table[empty] = 1e-12  # a topic without words is like no other
    words = [columns.tolist() for columns in top_columns(table, N_WORDS)]
    words = [[] if none else row for none, row in zip(empty, words, strict=True)]
    return Answer(words, table, np.asarray(fit.documents).argmax(axis=1), fit.cpu)


def halves(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the two halves of the documents, the same for every program."""
    mixed = np.random.default_rng(common.SEED).permutation(case.counts.n_rows)
    middle = len(mixed) // 2
    return np.sort(mixed[:middle]), np.sort(mixed[middle:])


# ---------------------------------------------------------------- measures


def agreement(case: Case, largest: np.ndarray) -> Row:
    """Of the largest topic of each labelled document with its label, by every measure."""
    if case.labels is None:
        return dict.fromkeys(AGREEMENT)
    scored = case.labels >= 0
    return {name: of(case.labels[scored], largest[scored]) for name, of in AGREEMENT.items()}


def numbered(case: Case, method: str, one: Answer, levels: Sequence[int] = ()) -> Row:
    """Row of a number: next to the labels, and how topics agree with them."""
    row: Row = {"data": case.name, "labels": case.n_groups or None, "method": method}
    if one.error:
        blank = dict.fromkeys(("K", "error", *AGREEMENT, "levels", "CPU seconds"))
        return row | blank | {"note": one.error}
    off = abs(one.K - case.n_groups) / case.n_groups if case.n_groups else None
    row |= {"K": one.K, "error": off} | agreement(case, one.largest)
    return row | {"levels": ", ".join(map(str, levels)), "CPU seconds": one.cpu, "note": ""}


def worded(case: Case, method: str, one: Answer) -> Row:
    """Row of words: do they occur together, and are they different?"""
    row: Row = {"data": case.name, "K": one.K or None, "method": method}
    lists = [[str(j) for j in words] for words in one.words if words]
    if not lists:
        return row | {"NPMI": None, "diversity": None}
    names = [str(j) for j in range(case.counts.n_columns)]
    named = Counts(case.counts.matrix, column_names=names)
    found = coherence(lists, named, n_words=N_WORDS).mean
    return row | {"NPMI": found, "diversity": diversity(lists, N_WORDS)}


def halved(case: Case, method: str, pair: Sequence[Answer]) -> Row:
    """Row of two halves: how alike are matched topics, and how many of their words?"""
    row: Row = {"data": case.name, "K": pair[0].K, "method": method}
    if pair[0].error or pair[1].error:
        return row | {"cosine": None, "same words": None}
    matching = match_topics(pair[0].table, pair[1].table)
    both = zip(matching.first, matching.second, strict=True)
    same = [len({*pair[0].words[a]} & {*pair[1].words[b]}) / N_WORDS for a, b in both]
    return row | {"cosine": matching.mean, "same words": float(np.mean(same))}


# ---------------------------------------------------------------- one case


class Sheet:
    """The rows so far, by table; those of an earlier run stand in until they are measured anew."""

    def __init__(self, before: Any, kept: bool) -> None:
        self.rows: dict[str, list[Row]] = {
            name: list((before or {}).get(name, ())) for name in TABLES
        }
        self.kept = kept

    def put(self, table: str, row: Row, *keys: str) -> None:
        """A row, in the place of those that are alike in these columns."""
        own = {key: row[key] for key in keys}
        rows = self.rows[table]
        at = next((i for i, old in enumerate(rows) if only([old], **own)), len(rows))
        rows[:] = [old for old in rows if not only([old], **own)]
        rows.insert(at, row)

    def forget(self, data: str, method: str) -> None:
        """Halves and words of a method go, with numbers of topics that an earlier fit came to."""
        for table in BY_NUMBER:
            rows = self.rows[table]
            rows[:] = [old for old in rows if not only([old], data=data, method=method)]

    def match(self, data: str, methods: Collection[str]) -> None:
        """So do those of peers that are told a number at which none of the methods is measured."""
        told = [title(name) for name in TOLD]
        for table in BY_NUMBER:
            rows = self.rows[table]
            own = [row for row in only(rows, data=data) if row["method"] in methods]
            numbers = {row["K"] for row in own}
            rows[:] = [
                old
                for old in rows
                if old["data"] != data or old["method"] not in told or old["K"] in numbers
            ]

    def peer(self, table: str, call: Callable[[], Row], *keys: str, **key: Any) -> None:
        """A row of a peer, measured unless it is there and to be kept."""
        if not (self.kept and only(self.rows[table], **key)):
            self.put(table, call(), *key, *keys)


def measure(sheet: Sheet, case: Case, options: argparse.Namespace) -> None:
    """All rows of a collection."""
    print(case.name, flush=True)
    rivals = Rivals(case)
    for method, (k, settings) in FREE.items():
        if method not in options.without:
            free(sheet, case, rivals, method, k, settings)
    for name in OURS:
        sheet.forget(case.name, name)
        measure_ours(sheet, case, rivals, name, options)
    sheet.match(case.name, OURS)


def measure_ours(
    sheet: Sheet, case: Case, rivals: Rivals, name: str, options: argparse.Namespace
) -> None:
    """All rows of a model of ours, and of peers that are told the same numbers."""
    own = ours(name, case.counts)
    default = answer_of(own.model, own.cpu)
    row = numbered(case, f"{name}, {DEFAULT}", default, own.levels)
    sheet.put("numbers", row | {"reproducibility": reproducible(own.model)}, "data", "method")
    plain = fitted(name, "predict", case.counts)[1]
    cost = {"data": case.name, "method": name, "with levels, CPU s": own.cpu}
    cost |= {"without, CPU s": plain, "ratio": own.cpu / plain, "load": os.getloadavg()[0]}
    sheet.put("costs", cost, "data", "method")
    told(sheet, case, rivals, own, options)
    words(sheet, case, rivals, own, default)
    reproduced(sheet, case, rivals, own, options)


def free(
    sheet: Sheet, case: Case, rivals: Rivals, name: str, k: int, settings: dict[str, Any]
) -> None:
    """A peer that comes to a number by itself."""
    shown = title(name)

    def fit() -> Answer:
        return rivals.fit(name, k, **settings)

    key = {"data": case.name, "method": shown}
    sheet.peer("numbers", lambda: numbered(case, shown, fit()), **key)
    sheet.peer("words", lambda: worded(case, shown, fit()), **key)


def told(sheet: Sheet, case: Case, rivals: Rivals, own: Ours, options: argparse.Namespace) -> None:
    """All that are told how many labels there are."""
    if not case.n_groups:
        return
    few, cpu = with_topics(own, case, case.n_groups)
    row = numbered(case, f"{own.name}, {CUT}", answer_of(few, own.cpu + cpu))
    sheet.put("told", row, "data", "method")
    for name, settings in TOLD.items():
        if name in options.without:
            continue

        def row(name: str = name, settings: dict[str, Any] = settings) -> Row:
            return numbered(case, title(name), rivals.fit(name, case.n_groups, **settings))

        sheet.peer("told", row, data=case.name, method=title(name))


def with_topics(own: Ours, case: Case, k: int) -> tuple[Any, float]:
    """The level with so many topics, or a cut to them, and its CPU seconds."""
    if k in own.levels:
        return own.model.at(k), 0.0
    if k > own.model.path_[-1].n_components:
        return fitted(own.name, k, case.counts)
    return timed(lambda: own.model.cut(k, case.counts))


def words(sheet: Sheet, case: Case, rivals: Rivals, own: Ours, default: Answer) -> None:
    """Words of ours next to those of NMF with as many topics."""
    sizes = dict.fromkeys(k for k in (default.K, case.n_groups, MORE) if k)
    for k in sizes:
        few = answer_of(with_topics(own, case, k)[0], 0.0)
        sheet.put("words", worded(case, own.name, few), "data", "K", "method")
        for name in (NMF,) if k != case.n_groups else TOLD:

            def row(name: str = name, k: int = k) -> Row:
                return worded(case, title(name), rivals.fit(name, k, **TOLD[name]))

            sheet.peer("words", row, data=case.name, K=k, method=title(name))


def reproduced(
    sheet: Sheet, case: Case, rivals: Rivals, own: Ours, options: argparse.Namespace
) -> None:
    """Topics of two halves of the documents, with the number of our default level."""
    k = own.model.n_components_
    fits = [fitted(own.name, k, case.counts.take_rows(rows)) for rows in halves(case)]
    pair = [answer_of(*one) for one in fits]
    sheet.put("halves", halved(case, own.name, pair), "data", "K", "method")
    for name, settings in TOLD.items():
        if name in options.without:
            continue

        def row(name: str = name, settings: dict[str, Any] = settings) -> Row:
            both = [rivals.fit(name, k, half, **settings) for half in (0, 1)]
            return halved(case, title(name), both)

        sheet.peer("halves", row, data=case.name, K=k, method=title(name))


def title(name: str) -> str:
    """What stands in tables for a peer: its name without the settings of other benchmarks."""
    return peers.PEERS[name].shown.split(",")[0]


# ---------------------------------------------------------------- planted numbers


def planted(sheet: Sheet, seeds: int, sizes: Sequence[int], without: Sequence[str]) -> None:
    """The numbers that ours and the Dirichlet process come to where they are known."""
    for draw, K, seed in itertools.product(labelled.PLANTED, sizes, range(seeds)):
        case = draw(K, seed)
        key = {"data": case.name, "planted": K, "seed": seed}
        own = ours(TOPICS, case.counts)
        row = numbered(case, f"{TOPICS}, {DEFAULT}", answer_of(own.model, own.cpu), own.levels)
        sheet.put("planted", key | row, *key, "method")
        if HDP not in without:
            rival_of_planted(sheet, case, key)


def rival_of_planted(sheet: Sheet, case: Case, key: Row) -> None:
    """The row of the Dirichlet process for a planted table."""
    start, settings = FREE[HDP]

    def row() -> Row:
        return key | numbered(case, title(HDP), Rivals(case).fit(HDP, start, **settings))

    sheet.peer("planted", row, **key, method=title(HDP))


def planted_table(rows: Sequence[Row]) -> list[Row]:
    """For every kind of documents and method: the numbers, and how many are right."""
    table = []
    for data, method in dict.fromkeys((row["data"], row["method"]) for row in rows):
        own = [row for row in only(rows, data=data, method=method) if row["K"]]
        entry: Row = {"documents": data, "method": method}
        for K in dict.fromkeys(row["planted"] for row in rows):
            entry[f"planted {K}"] = ", ".join(str(row["K"]) for row in only(own, planted=K))
        right = [row["K"] == row["planted"] for row in own]
        near = [abs(row["K"] - row["planted"]) <= 1 for row in own]
        entry |= {"exact": mean(right), "within one": mean(near)}
        table.append(entry | {name: mean(row[name] for row in own) for name in ("AMI", "error")})
    return table


# ---------------------------------------------------------------- judging


def judge(rows: dict[str, list[Row]]) -> list[common.Target]:
    """What the numbers, halves, words and costs should be."""
    targets = [
        common.Target(f"planted, {row['documents']}: share of numbers exact", row["exact"], low=1.0)
        for row in planted_table(rows["planted"])
        if row["method"].startswith(TOPICS)
    ]
    for name in OURS:
        targets += judge_ours(rows, name)
    # Labels are one to a document, and so are clusters.
    for table, what in (("numbers", DEFAULT), ("told", CUT)):
        targets += leads(rows[table], f"{CLUSTERS}, {what}", "AMI", f"AMI, {what} - best peer")
        targets += leads(rows[table], f"{CLUSTERS}, {what}", "ARI", f"ARI, {what} - best peer")
    for measure in ("NPMI", "diversity"):
        own = [r for r in rows["words"] if r["method"] in (TOPICS, title(NMF))]
        targets += leads(own, TOPICS, measure, f"{measure}, topics - NMF of tf-idf")
    return targets


def judge_ours(rows: dict[str, list[Row]], name: str) -> list[common.Target]:
    """What numbers, halves and costs of a model of ours should be."""
    targets = []
    own = only(rows["numbers"], method=f"{name}, {DEFAULT}")
    errors = [row["error"] for row in own if row["error"] is not None]
    if errors:
        what = f"{name}: error of the default number next to the labels"
        targets.append(common.Target(f"{what}, mean", mean(errors), high=MEAN_ERROR))
        targets.append(common.Target(f"{what}, most", max(errors), high=MOST_ERROR))
    cosines = [row["cosine"] for row in only(rows["halves"], method=name)]
    if cosines:
        what = f"{name}: halves, cosine at the default level, mean of the collections"
        targets.append(common.Target(what, mean(cosines), low=MEAN_COSINE))
    ratios = [row["ratio"] for row in only(rows["costs"], method=name)]
    if ratios:
        targets.append(common.Target(f"{name}: cost of levels, most", max(ratios), high=MOST_COST))
    return targets


def leads(rows: Sequence[Row], method: str, measure: str, name: str) -> list[common.Target]:
    """Ours less the best of the others, where both are measured on the same data, by number."""
    targets = []
    for own in only(rows, method=method):
        same = only(rows, data=own["data"])
        if "labels" not in own:  # of the same number of topics
            same = only(same, K=own["K"])
        others = [row for row in same if not row["method"].startswith(tuple(OURS))]
        rest = [row[measure] for row in others if row.get(measure) is not None]
        if rest and own.get(measure) is not None:
            of = own["data"] if "labels" in own else f"{own['data']}, K = {own['K']}"
            targets.append(common.Target(f"{of}: {name}", own[measure] - max(rest), low=0.0))
    return targets


def report(info: Row, sheet: Sheet) -> None:
    """What there is so far, with targets; written down, so that nothing is lost."""
    for rows in sheet.rows.values():  # a collection after the other, whatever was measured last
        seen = dict.fromkeys(row["data"] for row in rows)
        rows[:] = [row for data in seen for row in only(rows, data=data)]
    targets = judge(sheet.rows)
    common.write_results(
        "levels", info, summary=planted_table(sheet.rows["planted"]), **sheet.rows,
        targets=[target.row() for target in targets],
    )  # fmt: skip


def even(rows: Sequence[Row]) -> list[Row]:
    """Rows that all have the columns of any."""
    columns = dict.fromkeys(key for row in rows for key in row)
    return [{key: row.get(key) for key in columns} for row in rows]


def quick(sheet: Sheet) -> None:
    """Planted numbers of five topics without peers: half a minute, and no file."""
    planted(sheet, 1, PLANTED[:1], list(FREE))
    common.print_table(planted_table(sheet.rows["planted"]), "Planted numbers")
    common.print_targets(judge(sheet.rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = [OF_KNOWN, *COLLECTIONS]
    parser.add_argument("--corpora", nargs="*", default=parts, choices=parts)
    parser.add_argument("--seeds", type=int, default=3, help="tables for each planted number")
    parser.add_argument("--kept", action="store_true", help="of peers, rows of the last result")
    parser.add_argument("--without", nargs="*", default=[], help="peers to leave out")
    parser.add_argument("--quick", action="store_true", help="planted numbers alone, and no file")
    options = parser.parse_args()
    info = common.machine()
    common.print_machine(info)
    for name in OURS:
        fitted(name, "auto", labelled.mixed(3, 0).counts)  # compiles
    if options.quick:
        return quick(Sheet(None, kept=False))
    sheet = Sheet(load("levels"), options.kept)
    for name in options.corpora:
        if name == OF_KNOWN:
            planted(sheet, options.seeds, PLANTED, options.without)
        else:
            measure(sheet, COLLECTIONS[name](), options)
        report(info, sheet)
    common.print_table(planted_table(sheet.rows["planted"]), "Planted numbers")
    for table in TABLES[:-1]:
        common.print_table(even(sheet.rows[table]), table.capitalize())
    common.print_targets(judge(sheet.rows))


if __name__ == "__main__":
    main()
