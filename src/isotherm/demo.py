"""A topic model of the docstrings on this machine: `python -m isotherm.demo`.

Prints the topics and the annealing path, and writes a page to explore them in a browser.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from isotherm import AspectModel, Explorer, load_docstrings, map_corpus
from isotherm.anneal.growth.grow import Growth
from isotherm.anneal.trace import way
from isotherm.cli.runs import is_archive
from isotherm.data.base import Array
from isotherm.datasets.docstrings import Docstrings
from isotherm.evaluate import ami
from isotherm.format.atomic import is_own_page
from isotherm.maps.workflow import MappedCorpus

PAGE, FLAT = "index.html", "map.iso"
TITLE = "What Python's docstrings are about"
# Docstrings repeat themselves so much that held-out words would support hundreds of topics: more
# than a page can show.
MOST_TOPICS = 40
# Labels beyond this many are one.
MOST_LABELS = 7
OTHER = "all others"


class Shares(NamedTuple):
    """Labels, most frequent first, and the share of each in every topic, (K, L)."""

    names: tuple[str, ...]
    table: Array


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status of the demonstration with the given command line."""
    parser = argparse.ArgumentParser(prog="python -m isotherm.demo", description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path("demo-report"), help="folder of the page (%(default)s)"
    )
    parser.add_argument(
        "--topics", type=_at_least_two, default=MOST_TOPICS, help="most topics (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the fit (%(default)s)")
    parser.add_argument("--force", action="store_true", help="replace what is there already")
    options = parser.parse_args(arguments)
    taken = None if options.force else _taken(options.out)
    if taken is not None:
        parser.error(f"{taken} is there and not of isotherm; give another --out, or --force")
    _say("Reading the docstrings of the standard library, numpy, scipy and scikit-learn ...")
    corpus = load_docstrings()
    demonstrate(corpus, options.out, most_topics=options.topics, seed=options.seed)
    return 0


def demonstrate(
    corpus: Docstrings, out: Path, *, most_topics: int = MOST_TOPICS, seed: int = 0
) -> AspectModel:
    """The model fitted to the corpus; prints what came out and writes the page.

    The page is `out / "index.html"`; its flat map, as data, is `out / "map.iso"`.

    Parameters
    ----------
    corpus : Docstrings
    out : path of a folder
    most_topics : int
        The number of topics is found, up to this.
    seed : int
    """
    counts = corpus.counts
    _say(f"{counts.n_rows:,} documents, {counts.n_columns:,} words, {counts.total:,.0f} tokens")
    begin = time.perf_counter()
    model = AspectModel("auto", max_components=most_topics, random_state=seed, verbose=True).fit(
        counts
    )
    _say(f"Grew {model.n_components_} topics in {time.perf_counter() - begin:.1f} s\n")
    _say(number_table(model) + "\n")
    _say(path_table(model) + "\n")
    shares = label_shares(model.row_weights_, counts.row_totals, corpus.labels)
    _say(topic_table(model, shares) + "\n")
    topics = model.row_weights_.argmax(axis=1)
    for name, labels in (("packages", corpus.labels), ("parts of packages", corpus.sublabels)):
        agreement = ami(labels, topics)
        _say(f"Agreement of topics with {len(set(labels))} {name} (AMI): {agreement:.3f}")
    begin = time.perf_counter()
    maps = [_mapped(corpus, model, n_dimensions) for n_dimensions in (3, 2)]
    _say(f"Drew two maps of the documents in {time.perf_counter() - begin:.1f} s")
    begin = time.perf_counter()
    page = explorer_of(corpus, maps).save_html(out / PAGE)
    maps[-1].map.save(out / FLAT)
    _say(f"Wrote the page in {time.perf_counter() - begin:.1f} s")
    _say(f"\nOpen {page} in a browser:\n  {page.resolve().as_uri()}")
    return model


def _taken(out: Path) -> Path | None:
    """What would be replaced although somebody else wrote it; None if nothing would be."""
    page, flat = out / PAGE, out / FLAT
    if os.path.lexists(page) and not is_own_page(page):
        return page
    return flat if os.path.lexists(flat) and not is_archive(flat) else None


def explorer_of(corpus: Docstrings, maps: Sequence[MappedCorpus]) -> Explorer:
    """The page of the corpus: what is asked of it is in the words of Python's documentation."""
    return Explorer.of(
        maps,
        counts=corpus.counts,
        title=TITLE,
        subtitle="Every point is a docstring",
        columns={"part": corpus.sublabels, "words counted": corpus.counts.row_totals},
        nouns={"row": "docstring", "rows": "docstrings"},
    )


def _mapped(corpus: Docstrings, model: AspectModel, n_dimensions: int) -> MappedCorpus:
    return map_corpus(
        corpus.counts,
        n_dimensions=n_dimensions,
        topics=model,
        labels=corpus.labels,
        texts=corpus.texts,
        names=corpus.names,
    )


def number_table(model: AspectModel) -> str:
    """How many topics: a line per number that the run came through; an arrow marks the chosen."""
    lines = ["How many topics?", "     topics  held-out perplexity"]
    for step in model.path_:
        mark = "=>" if step.n_components == model.n_components_ else "  "
        lines.append(f"  {mark} {step.n_components:6d}  {step.heldout:19.1f}")
    if model.n_components_ >= Growth(model.max_components).enough:
        lines.append("  about the most allowed: more would predict held-out words still better")
    return "\n".join(lines)


def path_table(model: AspectModel) -> str:
    """The annealing path as text, a line per temperature; an arrow marks the chosen one."""
    lines = [
        f"First critical temperature: {model.first_critical_:.4f}",
        "     temperature  held-out perplexity  distinct topics  sweeps",
    ]
    for record in way(model.trace_):
        mark = "->" if record.temperature == model.temperature_ else "  "
        lines.append(
            f"  {mark} {record.temperature:11.4f}  {record.heldout:19.1f}  "
            f"{record.n_effective:15d}  {record.sweeps:6d}"
        )
    return "\n".join(lines)


def label_shares(row_weights: Array, mass: Array, labels: Sequence[str] | Array) -> Shares:
    """How the labels share each topic, by the mass (I,) of the rows that belong to it."""
    given = np.array([str(label) for label in labels])
    found, code = np.unique(given, return_inverse=True)
    total = np.bincount(code, weights=mass, minlength=len(found))
    order = np.argsort(-total, kind="stable")
    table = np.stack([mass[code == label] @ row_weights[code == label] for label in order], axis=1)
    names = [str(name) for name in found[order]]
    if len(names) > MOST_LABELS:
        rest = table[:, MOST_LABELS - 1 :].sum(axis=1, keepdims=True)
        table = np.hstack([table[:, : MOST_LABELS - 1], rest])
        names = [*names[: MOST_LABELS - 1], OTHER]
    whole = table.sum(axis=1, keepdims=True)
    return Shares(tuple(names), table / np.where(whole > 0, whole, 1.0))


def topic_table(model: AspectModel, shares: Shares, n_words: int = 8) -> str:
    """The topics as text, largest first: weight, dominating label and its share, words."""
    words = model.top_words(n_words)
    width = max(len(name) for name in shares.names)
    lines = [f"topic  weight  {'label':<{width}}  share  words"]
    for k in np.argsort(-model.weights_, kind="stable"):
        best = int(shares.table[k].argmax())
        lines.append(
            f"{k:5d}  {100 * model.weights_[k]:4.1f} %  {shares.names[best]:<{width}}  "
            f"{100 * shares.table[k, best]:3.0f} %  {' '.join(words[k])}"
        )
    return "\n".join(lines)


def _at_least_two(text: str) -> int:
    if not text.isdigit() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of topics; give 2 or more")
    return int(text)


def _say(text: str) -> None:
    # Progress goes to another stream: what is said before must be out first.
    print(text, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
