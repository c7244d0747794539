"""Quality at equal K: unseen documents, words, seeds and labels, for isotherm and its peers.

Every model is fitted to the same 80 % of the documents with the same number of topics, with its
usual settings, on one thread. Perplexity: completion of unseen documents (`harness/completion.py`),
from the topics alone. NPMI and diversity: of the ten most probable words of each topic, the first
by the training documents. Stability: mean cosine of matched topics over all pairs of seeds; for
some also over different nine tenths of the documents, which says what a fixed start cannot.
Agreement: the largest topic of each training document, by the model's own weights, against the
labels; AMI, ARI, homogeneity and completeness, and NMI over the larger entropy, which many more
topics than labels keep far below 1.

With own words: the same topics, and what repeats the given half besides
(`harness/own_words.py`), for every model alike; one row is of ours with topics that were fitted
that way.

First of all stands what needs no topics (`_no_topics.py`): the unigram distribution, and that with
the words of the given half, by the same protocol.

Fits are kept in results/fits: a run that is interrupted goes on, and a fit is made again only if
its settings, program or protocol have changed. Seeds come last, so that an unfinished run has some
of every model; `--kept` makes a table of that, with new fits of ours alone. With `--slow S` a peer
that takes more than S CPU seconds gets two seeds at most. A run of some corpora leaves the figures
of the others in the file, with the date and commit of their own run. `--revise` fits ours alone,
fills in agreement with labels, and adds what needs no topics; all other figures stay.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import common, completion, corpora, no_topics, own_words, peers
from benchmarks.page.parts import load, only
from isotherm.evaluate import (
    ami,
    ari,
    coherence,
    completeness,
    diversity,
    homogeneity,
    nmi,
    stability,
)

FITS = common.RESULTS / "fits"
# Those of `levels.py` alone find their number, or have no distributions over words.
ELSEWHERE = ("tomotopy-hdp", "sklearn-nmf-tfidf", "sklearn-kmeans-tfidf")
MODELS = [name for name in peers.PEERS if name not in ELSEWHERE]
OURS = "isotherm"
OWN_WORDS = "isotherm-own-words"  # ours, with topics that were fitted with own words
WITH_OWN = "perplexity with own words"
SPLIT = 0
FEW_SEEDS = 2
ALIKE = 3  # fits that are compared where ways or samples differ
N_WORDS = 10
AGREEMENT = {
    "AMI": ami,
    "ARI": ari,
    "homogeneity": homogeneity,
    "completeness": completeness,
    "NMI": nmi,
}
# Stabilities this close are the same to every eye.
TIE = 0.005

# Ways to make every seed give the same topics.
TRIED = {
    "the default: every seed holds out the same tokens": {},
    "every seed holds out other tokens": {"way": "other tokens"},
    "other tokens, begun along the spectrum of all": {"way": "start from all"},
    "other tokens, then cooled once more on all": {"way": "cool again"},
}
# Those that are the same, or nearly, for every seed, and one that is not: how alike are topics if
# a tenth of the documents is another?
SAMPLED = (OURS, "sklearn-nmf-kl", "sklearn-lsi", "sklearn-lda")

Row = dict[str, Any]


# ---------------------------------------------------------------- one fit


class Bench:
    """A corpus, split, and what is fitted to it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.given = corpora.documents(name)
        self.parts = completion.parts(self.given.counts, SPLIT)
        rows = self.parts.train_rows
        self.k = self.given.k
        self.labels = None if self.given.labels is None else self.given.labels[rows]
        texts = self.given.texts
        self.texts = None if texts is None else [texts[i] for i in rows]

    def fitted(self, model: str, seed: int, *, sample: int | None = None, **settings: Any) -> Row:
        """Row of one fit, from the file of an earlier run where nothing has changed.

        `sample` leaves out a tenth of the training documents, another for each number.
        """
        part = {} if sample is None else {"sample": sample}
        path = self.path(model, seed, **settings, **part)
        if not path.exists():
            row, table = self._fit(model, seed, sample, settings)
            if row["error"]:
                return row
            FITS.mkdir(parents=True, exist_ok=True)
            partial = path.with_name(f"partial-{path.name}")
            np.savez(partial, table=table.astype(np.float32), row=json.dumps(row))
            partial.rename(path)
        with np.load(path, allow_pickle=False) as found:
            return json.loads(str(found["row"])) | {"file": str(path)}

    def path(self, model: str, seed: int, **settings: Any) -> Path:
        """File in which a fit is kept, or would be."""
        digest = key(self.name, self.k, model, seed, settings)
        return FITS / f"{self.name}-{model}-{seed}-{digest}.npz"

    def _fit(
        self, model: str, seed: int, sample: int | None, settings: dict[str, Any]
    ) -> tuple[Row, Any]:
        train, rows = self.parts.train, np.arange(self.parts.train.n_rows)
        if sample is not None:
            rng = np.random.default_rng(sample)
            rows = np.sort(rng.permutation(rows)[: int(0.9 * len(rows))])
        texts = None if self.texts is None else [self.texts[i] for i in rows]
        found = peers.fit(model, train.matrix[rows], self.k, seed, texts=texts, **settings)
        row: Row = {"corpus": self.name, "model": model, "seed": seed, "error": found.error}
        if found.error:
            return row, None
        shown = np.maximum(found.shown, 0.0)
        row |= {"topics": found.n_topics, "wall s": found.wall, "cpu s": found.cpu}
        row |= {"perplexity": None, "pseudo": None, "share": None, WITH_OWN: None, "own": None}
        if np.isfinite(found.topics).all():
            row |= completion.score(found.topics, found.weights, self.parts)._asdict()
            repeated = own_words.score(found.topics, found.weights, self.parts)
            row |= {WITH_OWN: repeated.perplexity, "own": repeated.own}
        row["NPMI"] = coherence(shown, train, n_words=N_WORDS).mean
        row["diversity"] = diversity(shown, N_WORDS)
        row |= dict.fromkeys(AGREEMENT)
        if self.labels is not None:
            largest = found.documents.argmax(axis=1)
            row |= {name: of(self.labels[rows], largest) for name, of in AGREEMENT.items()}
        return row, shown


def key(corpus: str, k: int, model: str, seed: int, settings: dict[str, Any]) -> str:
    """Digest of all that a fit and its figures depend on."""
    peer, digest = peers.PEERS[model], hashlib.sha256()
    files = [Path(completion.__file__), Path(own_words.__file__), peers.ADAPTERS / peer.adapter]
    if peer.environment == peers.HERE:
        files += sorted((common.ROOT / "src" / "isotherm").rglob("*.py"))
    for path in files:
        digest.update(path.read_bytes())
    asked = [corpus, k, model, seed, SPLIT, peer.settings | settings, peers.version(model)]
    digest.update(json.dumps(asked, sort_keys=True).encode())
    return digest.hexdigest()[:12]


# ---------------------------------------------------------------- all fits


def rounds(
    benches: Sequence[Bench], models: Sequence[str], options: argparse.Namespace
) -> Iterator[list[Row]]:
    """All rows so far, after every seed."""
    rows: list[Row] = []
    most: dict[tuple[str, str], int] = {}
    for seed in range(options.seeds):
        pairs = [(bench, model) for bench in benches for model in models]
        todo = [one for one in pairs if seed < most.get((one[0].name, one[1]), options.seeds)]
        if options.kept and seed:  # of the first, what cannot be fitted says why
            todo = [one for one in todo if one[1] == OURS or one[0].path(one[1], seed).exists()]
        with ThreadPoolExecutor(options.jobs) as pool:
            for row in pool.map(lambda one, seed=seed: told(*one, seed), todo):
                rows.append(row)
                if row["error"] or (row["cpu s"] > options.slow and row["model"] != OURS):
                    most[row["corpus"], row["model"]] = 0 if row["error"] else FEW_SEEDS
        yield rows


def told(bench: Bench, model: str, seed: int) -> Row:
    """A row, and a line about it."""
    row = bench.fitted(model, seed)
    if row["error"]:
        print(f"{bench.name} {model} seed {seed}: {row['error']}", flush=True)
    else:
        level = row["perplexity"]
        shown = "-" if level is None else f"{level:.1f}"
        print(f"{bench.name} {model} seed {seed}: {shown}, {row['cpu s']:.1f} CPU s", flush=True)
    return row


def summary(rows: Sequence[Row], measured: dict[tuple[str, str], float | None]) -> list[Row]:
    """Means over seeds for every corpus and model; a model that did not run says why."""
    table = []
    for at in dict.fromkeys((row["corpus"], row["model"]) for row in rows):
        own = [row for row in rows if (row["corpus"], row["model"]) == at and not row["error"]]
        why = [row["error"] for row in rows if (row["corpus"], row["model"]) == at]
        line: Row = {"corpus": at[0], "model": peers.PEERS[at[1]].shown, "seeds": len(own)}
        line["topics"] = float(np.mean([row["topics"] for row in own])) if own else None
        for name in ("perplexity", WITH_OWN, "NPMI", "diversity", *AGREEMENT, "cpu s"):
            values = [row[name] for row in own if row.get(name) is not None]
            line[name] = float(np.mean(values)) if values else None
            if name == "perplexity":
                spread = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else None
                line["± s.e."] = None if spread is None else float(spread)
        line["stability"] = measured.get(at)
        line["note"] = next((text for text in why if text), "") if not own else ""
        table.append(line)
    return table


def stabilities(rows: Sequence[Row]) -> dict[tuple[str, str], float | None]:
    """Mean cosine of matched topics over pairs of seeds, for every corpus and model."""
    found: dict[tuple[str, str], float | None] = {}
    for at in dict.fromkeys((row["corpus"], row["model"]) for row in rows):
        files = [
            row["file"] for row in rows if (row["corpus"], row["model"]) == at and "file" in row
        ]
        tables = [np.load(path)["table"].astype(np.float64) for path in files]
        # A topic without words is like no other.
        tables = [np.where(t.any(axis=1, keepdims=True), t, 1.0) for t in tables]
        found[at] = stability(tables).mean if len(tables) > 1 else None
    return found


def judge(table: Sequence[Row], baselines: Sequence[Row] = ()) -> list[common.Target]:
    """Ours against what needs no topics and against the best of all peers, for every corpus.

    The best peer is not known before all that were fitted to any corpus were fitted to this one.
    """
    targets = []
    everyone = {row["model"] for row in table}
    shown, other_way = (peers.PEERS[name].shown for name in (OURS, OWN_WORDS))
    for name in dict.fromkeys(row["corpus"] for row in table):
        own = [row for row in table if row["corpus"] == name]
        others = [row for row in own if row["model"] not in (shown, other_way)]
        ours = next((row for row in own if row["model"] == shown), None)
        if ours is None:
            continue
        for row in baselines:
            if row["corpus"] == name and row["model"] == no_topics.REPEATS:
                ratio = ours["perplexity"] / row["perplexity"]
                targets.append(
                    common.Target(f"{name}: perplexity, ours / {row['model']}", ratio, high=1.0)
                )
        known = {row["model"] for row in own} == everyone
        levels = {row["model"]: row["perplexity"] for row in others if row["perplexity"]}
        if levels and ours["perplexity"]:
            best = min(levels, key=levels.__getitem__)
            ratio = ours["perplexity"] / levels[best]
            targets.append(
                _against(f"{name}: perplexity, ours / best peer's", best, ratio, known, high=1.0)
            )
        steady = {row["model"]: row["stability"] for row in others if row["stability"]}
        if steady and ours["stability"]:
            best = max(steady, key=steady.__getitem__)
            gap = ours["stability"] - steady[best]
            targets.append(
                _against(f"{name}: stability, ours - best peer's", best, gap, known, low=-TIE)
            )
    return targets


def _against(name: str, best: str, value: float, known: bool, **limits: float) -> common.Target:
    """A target against the best peer; open while that may be one that is not measured."""
    if known or common.Target(name, value, **limits).met is False:
        return common.Target(f"{name} ({best})", value, **limits)
    return common.Target(f"{name} (not all are measured)", None, **limits)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", nargs="*", default=list(corpora.CORPORA))
    parser.add_argument("--models", nargs="*", default=MODELS)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--slow", type=float, default=float("inf"), help="CPU s, then two seeds")
    parser.add_argument("--kept", action="store_true", help="of peers, past seed 0, kept fits")
    parser.add_argument("--jobs", type=int, default=2, help="fits at the same time")
    parser.add_argument("--revise", action="store_true", help="agreement of ours, and no topics")
    parser.add_argument("--samples", action=argparse.BooleanOptionalAction, default=True)
    options = parser.parse_args()
    info = common.machine()
    common.print_machine(info)
    benches = [Bench(name) for name in options.corpora]
    if options.revise:
        return revise(info, benches, options)
    settings = all_settings(options.models, load("quality") or {})
    ways = tried(benches, options.jobs) if OURS in options.models else []
    common.print_table(ways, "What was tried to make every seed give the same topics")
    bare = [line for bench in benches for line in baselines(bench)]
    common.print_table(bare, "Without topics")
    rows: list[Row] = []
    for rows in rounds(benches, options.models, options):
        write(info, rows, tried=ways, samples=[], baselines=bare, settings=settings)
    if options.samples:
        samples = sampled(benches, options.models, options.jobs)
        common.print_table(samples, "Nine tenths of the documents, another tenth left out")
        write(info, rows, tried=ways, samples=samples, baselines=bare, settings=settings)
    table = summary(rows, stabilities(rows))
    common.print_table(table, "Means over seeds")
    common.print_targets(judge(table, bare))


def baselines(bench: Bench) -> list[Row]:
    """What can be said of a corpus without any topic."""
    found = no_topics.score(bench.parts)
    return [{"corpus": bench.name, "model": name} | row for name, row in found.items()]


def revise(info: Row, benches: Sequence[Bench], options: argparse.Namespace) -> None:
    """Agreement of ours with labels and what needs no topics, beside all that is there already."""
    document = load("quality")
    if document is None:
        raise SystemExit("there is no result to revise; run without --revise")
    for bench in benches:
        if bench.labels is not None:
            _agree(bench, document)
    named = [bench.name for bench in benches]
    bare = [row for row in document.get("baselines", ()) if row["corpus"] not in named]
    bare += [line for bench in benches for line in baselines(bench)]
    bare.sort(key=lambda row: list(corpora.CORPORA).index(row["corpus"]))
    judged = common.print_targets(judge(document["summary"], bare))
    parts = {k: v for k, v in document.items() if k not in ("schema", "benchmark", "machine")}
    parts |= {"baselines": bare, "targets": judged}
    if any(bench.labels is not None for bench in benches):
        parts["revised"] = _origin(info)
    common.write_results("quality", document["machine"], **parts)


def _agree(bench: Bench, document: Any) -> None:
    """Fill in the agreement of ours with labels, seed by seed and in the mean."""
    own = {"corpus": bench.name, "model": OURS}
    rows = only(document["rows"], **own)
    for row in rows:
        again = bench.fitted(OURS, row["seed"])
        row |= {name: again[name] for name in AGREEMENT}
    for line in only(document["summary"], **own | {"model": peers.PEERS[OURS].shown}):
        line |= {name: float(np.mean([row[name] for row in rows])) for name in AGREEMENT}


def write(info: Row, rows: Sequence[Row], settings: Sequence[Row], **parts: Any) -> None:
    """Write the file of results as far as they go; other corpora stay as they are there."""
    parts["summary"] = summary(rows, stabilities(rows))
    parts["rows"] = [{k: v for k, v in row.items() if k != "file"} for row in rows]
    named = list(dict.fromkeys(row["corpus"] for row in rows))
    parts["runs"] = [{"corpus": name} | _origin(info) for name in named]
    whole = together(parts, load("quality") or {}, named)
    judged = [target.row() for target in judge(whole["summary"], whole["baselines"])]
    before = load("quality") or {}
    kept = {"revised": before["revised"]} if "revised" in before else {}
    common.write_results("quality", info, targets=judged, settings=settings, **whole, **kept)


def together(parts: dict[str, Any], before: Any, named: Sequence[str]) -> dict[str, Any]:
    """Lines of this run, and of an earlier one about corpora that this one was not asked for."""
    order = list(corpora.CORPORA)
    there = dict.fromkeys(row["corpus"] for row in before.get("summary", ()))
    found = {"runs": [{"corpus": name} | _origin(before["machine"]) for name in there]} | before
    return {
        part: sorted(
            [row for row in found.get(part, ()) if row["corpus"] not in named] + list(rows),
            key=lambda row: order.index(row["corpus"]),
        )
        for part, rows in parts.items()
    }


def _origin(info: Row) -> Row:
    return {"date": info["date"][:10], "commit": info["commit"].split()[0]}


def all_settings(models: Sequence[str], before: Any) -> list[Row]:
    """Versions and settings of this run, and of earlier ones for models that it leaves out."""
    there = {row["model"]: row for row in before.get("settings", ())}
    there |= {
        peers.PEERS[name].shown: {"model": peers.PEERS[name].shown}
        | {"version": peers.version(name)}
        | _flat(peers.PEERS[name].settings)
        for name in models
    }
    order = [peer.shown for peer in peers.PEERS.values()]
    return sorted(there.values(), key=lambda row: order.index(row["model"]))


def _flat(settings: dict[str, Any]) -> Row:
    return {"settings": ", ".join(f"{k} {v}" for k, v in settings.items()) or "defaults"}


def tried(benches: Sequence[Bench], jobs: int) -> list[Row]:
    """What was tried to make fits alike, over some seeds of every corpus."""
    lines = []
    for bench in benches:
        for way, settings in TRIED.items():
            calls = [{"seed": seed, **settings} for seed in range(ALIKE)]
            lines.append({"corpus": bench.name, "way": way} | _alike(bench, OURS, calls, jobs))
    return lines


def sampled(benches: Sequence[Bench], models: Sequence[str], jobs: int) -> list[Row]:
    """How alike topics of different nine tenths of the training documents are."""
    calls = [{"seed": 0, "sample": sample} for sample in range(ALIKE)]
    return [
        {"corpus": bench.name, "model": peers.PEERS[model].shown}
        | _alike(bench, model, calls, jobs)
        for bench in benches
        for model in SAMPLED
        if model in models
    ]


def _alike(bench: Bench, model: str, calls: Sequence[dict[str, Any]], jobs: int) -> Row:
    """Stability, perplexity and CPU seconds over some fits of a model."""
    with ThreadPoolExecutor(jobs) as pool:
        rows = list(pool.map(lambda call: bench.fitted(model, **call), calls))
    if any(row["error"] for row in rows):
        return {"fits": 0, "perplexity": None, "cpu s": None, "stability": None}
    line: Row = {"fits": len(rows)}
    for name in ("perplexity", "cpu s"):
        values = [row[name] for row in rows if row[name] is not None]
        line[name] = float(np.mean(values)) if values else None
    return line | {"stability": stabilities(rows)[bench.name, model]}


if __name__ == "__main__":
    main()
