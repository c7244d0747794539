"""Time to quality: seconds until isotherm predicts unseen documents as well as a peer does at last.

Every program is fitted to the same documents with the same number of topics and its usual settings,
on one thread and on two, and its topics are noted on the way. Afterwards all of them are scored by
completion of unseen documents, for every program alike; scoring costs nobody time. Ours is compared
where its curve first comes down to the level that the peer ends with. Compiling and imports are
not counted, for anyone. Our snapshots are those of every third sweep, cooling included.

As many fits run at once as there are cores, ours among them, each on its own thread; fits on two
threads run alone. Programs without a setting for threads are not fitted again for two.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from benchmarks.harness import common, completion, corpora, peers

OURS = "isotherm"
MODELS = (
    OURS,
    "sklearn-nmf-kl",
    "sklearn-minibatch-nmf",
    "sklearn-lda",
    "gensim-lda",
    "bigartm-plain",
    "enstop-plsa",
    "tomotopy-lda",
)
RACED = ["cranfield", "ap", "reuters", "20news"]
# The others have no setting for it.
THREADED = (OURS, "sklearn-lda", "gensim-lda", "bigartm-plain", "tomotopy-lda")
SNAPSHOTS = 6
# The share of a peer's CPU seconds that ours may take to its level.
SHARE, SHARE_OF_TOMOTOPY = 0.2, 0.5

Row = dict[str, Any]


class Point(NamedTuple):
    """Perplexity of unseen documents after so many seconds."""

    wall: float
    cpu: float
    perplexity: float


def curve(found: peers.PeerFit, given: completion.Parts) -> list[Point]:
    """All snapshots of a fit and its end, scored."""
    steps = [*(found.curve or []), (found.wall, found.cpu, found.topics, found.weights)]
    return [
        Point(wall, cpu, completion.score(topics, weights, given).perplexity)
        for wall, cpu, topics, weights in steps
    ]


def reached(points: Sequence[Point], level: float) -> Point | None:
    """The first point that is at or below a level."""
    return next((point for point in points if point.perplexity <= level), None)


class Race:
    """All programs on one corpus, by the number of threads."""

    def __init__(self, name: str, models: Sequence[str], jobs: int) -> None:
        self.name, self.models, self.jobs = name, models, jobs
        self.given = corpora.documents(name)
        self.parts = completion.parts(self.given.counts, common.SEED)
        self.curves: dict[tuple[str, int], list[Point]] = {}
        self.errors: dict[tuple[str, int], str] = {}

    def run(self, threads: int) -> list[Row]:
        """Rows of ours against each peer on so many threads."""
        todo = [m for m in self.models if m in THREADED or (m, 1) not in self.curves]
        for model in set(self.models) - set(todo):
            self.curves[model, threads] = self.curves[model, 1]
        with ThreadPoolExecutor(max(self.jobs // threads, 1)) as pool:
            fits = list(pool.map(lambda model: self._fit(model, threads), todo))
        # Scored when all are done: nobody's clock runs meanwhile.
        for model, found in zip(todo, fits, strict=True):
            self._note(model, threads, found)
        return [self._row(model, threads) for model in self.models if model != OURS]

    def points(self) -> list[Row]:
        """All curves, point by point."""
        return [
            {"corpus": self.name, "threads": threads, "model": model} | point._asdict()
            for (model, threads), own in self.curves.items()
            for point in own
        ]

    def _fit(self, model: str, threads: int) -> peers.PeerFit:
        matrix, k = self.parts.train.matrix, self.given.k
        return peers.fit(
            model, matrix, k, common.SEED, threads=threads, snapshots=SNAPSHOTS
        )  # fmt: skip

    def _note(self, model: str, threads: int, found: peers.PeerFit) -> None:
        if found.error:
            self.errors[model, threads] = found.error
            print(f"{self.name}, {threads} threads, {model}: {found.error}", flush=True)
            return
        self.curves[model, threads] = curve(found, self.parts)
        last = self.curves[model, threads][-1]
        print(
            f"{self.name}, {threads} threads, {model}: {last.perplexity:.1f} after "
            f"{last.wall:.1f} s, {last.cpu:.1f} CPU s",
            flush=True,
        )

    def _row(self, model: str, threads: int) -> Row:
        for one in (OURS, model):
            if (one, threads) in self.errors:
                return blank(self.name, threads, model) | {"note": self.errors[one, threads]}
        own = {one: self.curves[one, threads] for one in (OURS, model)}
        return compared(self.name, threads, model, own)


def blank(name: str, threads: int, model: str) -> Row:
    keys = ("their perplexity", "their wall s", "their CPU s", "our wall s", "our CPU s")
    keys += ("wall ratio", "CPU ratio")
    shown = {"corpus": name, "threads": threads, "peer": peers.PEERS[model].shown}
    return shown | dict.fromkeys(keys) | {"note": ""}


def compared(name: str, threads: int, model: str, curves: dict[str, list[Point]]) -> Row:
    """Row of ours against a peer; ratios are ours over theirs."""
    last = curves[model][-1]
    ours = reached(curves[OURS], last.perplexity)
    row = blank(name, threads, model)
    row |= {"their perplexity": last.perplexity}
    row |= {"their wall s": last.wall, "their CPU s": last.cpu}
    if ours is None:
        return row | {"note": "ours does not come down to it"}
    row |= {"our wall s": ours.wall, "our CPU s": ours.cpu}
    return row | {"wall ratio": ours.wall / last.wall, "CPU ratio": ours.cpu / last.cpu}


def judge(rows: Sequence[Row]) -> list[common.Target]:
    """The worst CPU ratio for every corpus and number of threads; tomotopy by itself."""
    targets = []
    lda = peers.PEERS["tomotopy-lda"].shown
    for at in dict.fromkeys((row["corpus"], row["threads"]) for row in rows):
        own = [row for row in rows if (row["corpus"], row["threads"]) == at]
        own = [row for row in own if row["their perplexity"] is not None]
        for ours, share in (
            ([row for row in own if row["peer"] != lda], SHARE),
            ([row for row in own if row["peer"] == lda], SHARE_OF_TOMOTOPY),
        ):
            if not ours:
                continue
            worst = max(ours, key=ratio)
            threads = "one thread" if at[1] == 1 else f"{at[1]} threads"
            targets.append(
                common.Target(
                    f"{at[0]}, {threads}: our CPU seconds to the level of {worst['peer']}, / its",
                    ratio(worst),
                    high=share,
                )
            )
    return targets


def ratio(row: Row) -> float:
    return float("inf") if row["CPU ratio"] is None else float(row["CPU ratio"])


def others(corpora_now: Sequence[str]) -> tuple[list[Row], list[Row]]:
    """Curves and rows of the corpora that are not run now, from the file of the last run."""
    path = common.RESULTS / "time_to_quality.json"
    last = json.loads(path.read_text()) if path.exists() else {"curves": [], "summary": []}
    return (
        [row for row in last["curves"] if row["corpus"] not in corpora_now],
        [row for row in last["summary"] if row["corpus"] not in corpora_now],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", nargs="*", default=RACED)
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--threads", nargs="*", type=int, default=[1, 2])
    parser.add_argument("--jobs", type=int, default=2, help="threads in use at the same time")
    parser.add_argument("--add", action="store_true", help="keep other corpora of the last run")
    options = parser.parse_args()
    models = [OURS, *(model for model in options.models if model != OURS)]
    info = common.machine()
    common.print_machine(info)
    curves, rows = others(options.corpora) if options.add else ([], [])
    for name in options.corpora:
        race = Race(name, models, options.jobs)
        for threads in options.threads:
            rows += race.run(threads)
        curves += race.points()
        # After every corpus, so that a run that is cut short has left something.
        judged = [target.row() for target in judge(rows)]
        common.write_results("time_to_quality", info, summary=rows, curves=curves, targets=judged)
    common.print_table(rows, "Seconds to the level that each peer ends with")
    common.print_targets(judge(rows))


if __name__ == "__main__":
    main()
