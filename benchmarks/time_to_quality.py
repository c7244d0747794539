"""Time to quality: seconds until isotherm predicts unseen documents as well as a peer does at last.

Every program is fitted to the same documents with the same number of topics and its usual settings,
on one thread and on two, and its topics are noted on the way. Afterwards all of them are scored by
completion of unseen documents, for every program alike; scoring costs nobody time. Ours is compared
where its curve first comes down to the level that the peer ends with. Compiling and imports are
not counted, for anyone; our snapshots are those at the end of each temperature.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NamedTuple

import _common as common
import _completion as completion
import _corpora as corpora
import _peers as peers

OURS = "isotherm"
MODELS = (
    OURS,
    "sklearn-nmf-kl",
    "sklearn-minibatch-nmf",
    "sklearn-lda",
    "gensim-lda",
    "bigartm-plain",
    "tomotopy-lda",
)
SNAPSHOTS = 10
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


def measure(name: str, models: Sequence[str], threads: int) -> tuple[list[Row], list[Row]]:
    """Curves of all models, and rows of ours against each peer, for one corpus."""
    given = corpora.documents(name)
    parts = completion.parts(given.counts, common.SEED)
    curves: dict[str, list[Point]] = {}
    rows: list[Row] = []
    for model in models:
        found = peers.fit(
            model, parts.train.matrix, given.k, common.SEED, threads=threads, snapshots=SNAPSHOTS
        )
        if found.error:
            print(f"{name}, {threads} threads, {model}: {found.error}", flush=True)
            rows.append(blank(name, threads, model) | {"note": found.error})
            continue
        curves[model] = curve(found, parts)
        last = curves[model][-1]
        print(
            f"{name}, {threads} threads, {model}: {last.perplexity:.1f} after {last.wall:.1f} s, "
            f"{last.cpu:.1f} CPU s",
            flush=True,
        )
        if model != OURS and OURS in curves:
            rows.append(compared(name, threads, model, curves))
    points = [
        {"corpus": name, "threads": threads, "model": model} | point._asdict()
        for model, own in curves.items()
        for point in own
    ]
    return points, rows


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", nargs="*", default=list(corpora.CORPORA))
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--threads", nargs="*", type=int, default=[1, 2])
    options = parser.parse_args()
    models = [OURS, *(model for model in options.models if model != OURS)]
    info = common.machine()
    common.print_machine(info)
    curves: list[Row] = []
    rows: list[Row] = []
    for name in options.corpora:
        for threads in options.threads:
            points, compared_rows = measure(name, models, threads)
            curves += points
            rows += compared_rows
    common.print_table(rows, "Seconds to the level that each peer ends with")
    targets = judge(rows)
    common.print_targets(targets)
    common.write_results(
        "time_to_quality",
        info,
        summary=rows,
        curves=curves,
        targets=[target.row() for target in targets],
    )


if __name__ == "__main__":
    main()
