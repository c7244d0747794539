"""`isotherm demo`: a topic model of the docstrings on this machine, and a page to explore it."""

from __future__ import annotations

import argparse
import os
import textwrap
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from isotherm.cli import console
from isotherm.cli.parser import Parser
from isotherm.cli.runs import is_archive
from isotherm.errors import IsothermError
from isotherm.format.atomic import is_own_page

if TYPE_CHECKING:
    from isotherm import AspectModel, Explorer
    from isotherm.data.base import Array
    from isotherm.datasets.docstrings import Docstrings
    from isotherm.estimators.levels import Level
    from isotherm.maps.workflow import MappedCorpus

PAGE, FLAT = "index.html", "map.iso"
TITLE = "What Python's docstrings are about"
# Labels beyond this many are one.
MOST_LABELS = 7
OTHER = "all others"
# Letters of a line of prose.
WIDTH = 79


class Shares(NamedTuple):
    """Labels, most frequent first, and the share of each in every topic, (K, L)."""

    names: tuple[str, ...]
    table: Array


def add_arguments(parser: Parser) -> None:
    """What the verb takes besides its options; examples."""
    parser.example("isotherm demo --topics 20 --out docstrings")


def run(options: argparse.Namespace) -> None:
    """Fit the model, show it, and write the page."""
    from isotherm import load_docstrings

    taken = None if options.force else _taken(options.out)
    if taken is not None:
        raise IsothermError(
            f"{taken} is there and not of isotherm; give another --out, or --force to replace it"
        )
    say = _silent if options.json else _say
    say("Reading the docstrings of the standard library, numpy, scipy and scikit-learn ...")
    corpus = load_docstrings()
    model = fitted(corpus, options.topics, options.seed, say, verbose=console.quiet(options))
    page = drawn(corpus, model, options.out, say)
    summary = {
        "topics": model.n_components_,
        "agreement": agreements(corpus, model),
        "page": str(page),
        "map": str(options.out / FLAT),
    }
    text = f"\nOpen {page} in a browser:\n  {page.resolve().as_uri()}"
    console.tell(options, summary, text)


def fitted(
    corpus: Docstrings,
    most_topics: int,
    seed: int,
    say: Callable[[str], None],
    *,
    verbose: bool | None,
) -> AspectModel:
    """The model fitted to the corpus, with up to so many topics; says what came out."""
    from isotherm import AspectModel

    counts = corpus.counts
    say(f"{counts.n_rows:,} documents, {counts.n_columns:,} words, {counts.total:,.0f} tokens")
    begin = time.perf_counter()
    model = AspectModel("auto", max_components=most_topics, random_state=seed, verbose=verbose).fit(
        counts
    )
    say(f"Found {model.n_components_} topics in {time.perf_counter() - begin:.1f} s\n")
    say(number_table(model) + "\n")
    say(path_table(model) + "\n")
    shares = label_shares(model.row_weights_, counts.row_totals, corpus.labels)
    say(topic_table(model, shares) + "\n")
    for name, agreement in agreements(corpus, model).items():
        say(f"Agreement of topics with {name} (AMI): {agreement:.3f}")
    return model


def agreements(corpus: Docstrings, model: AspectModel) -> dict[str, float]:
    """How well the topics agree with packages and their parts, by what they are."""
    from isotherm.evaluate import ami

    topics = model.row_weights_.argmax(axis=1)
    labels = {"packages": corpus.labels, "parts of packages": corpus.sublabels}
    return {f"{len(set(one))} {name}": float(ami(one, topics)) for name, one in labels.items()}


def drawn(corpus: Docstrings, model: AspectModel, out: Path, say: Callable[[str], None]) -> Path:
    """The page of the model in a folder; beside it its flat map, as data."""
    begin = time.perf_counter()
    maps = [_mapped(corpus, model, n_dimensions) for n_dimensions in (3, 2)]
    say(f"Drew two maps of the documents in {time.perf_counter() - begin:.1f} s")
    begin = time.perf_counter()
    page = explorer_of(corpus, maps).save_html(out / PAGE)
    maps[-1].map.save(out / FLAT)
    say(f"Wrote the page in {time.perf_counter() - begin:.1f} s")
    return page


def _taken(out: Path) -> Path | None:
    """What would be replaced although somebody else wrote it; None if nothing would be."""
    page, flat = out / PAGE, out / FLAT
    if os.path.lexists(page) and not is_own_page(page):
        return page
    return flat if os.path.lexists(flat) and not is_archive(flat) else None


def explorer_of(corpus: Docstrings, maps: Sequence[MappedCorpus]) -> Explorer:
    """The page of the corpus: what is asked of it is in the words of Python's documentation."""
    from isotherm import Explorer

    return Explorer.of(
        maps,
        counts=corpus.counts,
        title=TITLE,
        subtitle="Every point is a docstring",
        columns={"part": corpus.sublabels, "words counted": corpus.counts.row_totals},
        nouns={"row": "docstring", "rows": "docstrings"},
    )


def _mapped(corpus: Docstrings, model: AspectModel, n_dimensions: int) -> MappedCorpus:
    from isotherm import map_corpus

    return map_corpus(
        corpus.counts,
        n_dimensions=n_dimensions,
        topics=model,
        labels=corpus.labels,
        texts=corpus.texts,
        names=corpus.names,
    )


def number_table(model: AspectModel) -> str:
    """How many topics, and why: a line per level of the model, an arrow marks the chosen one."""
    from isotherm.anneal.growth.grow import Growth

    lines = ["How many topics?", "     topics  found again  held-out perplexity"]
    for level in model.levels_:
        mark = "=>" if level.n_components == model.n_components_ else "  "
        again = str(level.n_found_again) if level.is_known else "unknown"
        lines.append(f"  {mark} {level.n_components:6d}  {again:>11}  {level.heldout:19.1f}")
    lines += ["", *textwrap.wrap(_why(model.levels_), WIDTH)]
    if model.levels_[-1].n_components >= Growth(model.max_components).enough:
        lines.append("That is about the most allowed: more would predict them still better.")
    return "\n".join(lines)


def _why(levels: Sequence[Level]) -> str:
    """Why the first level is the one that is meant."""
    first, finest = levels[0], levels[-1]
    if not first.is_known:
        said = f"There was no time to tell which of {first.n_components} topics are found again"
    elif first.n_found_again == first.n_components:
        said = (
            f"{first.n_components} is the finest number whose topics are all found again when the "
            "documents are dealt into halves, each fitted by itself"
        )
    else:
        said = (
            f"Halves of the documents, each fitted by itself, agree best on {first.n_components} "
            f"topics, {first.n_found_again} of which are found again"
        )
    if finest is first:
        return f"{said}. That many predict held-out words best."
    return f"{said}. {finest.n_components} predict held-out words best."


def path_table(model: AspectModel) -> str:
    """The annealing path as text, a line per temperature; an arrow marks the chosen one."""
    from isotherm.anneal.trace import way

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
    import numpy as np

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
    """The topics as text, largest first: weight, dominating label and its share, name, words."""
    import numpy as np

    from isotherm.estimators.outline import other_words

    words = model.top_words(n_words)
    width = max(len(name) for name in shares.names)
    called = max(map(len, model.names_))
    lines = [f"topic  weight  {'label':<{width}}  share  {'name':<{called}}  words"]
    for k in np.argsort(-model.weights_, kind="stable"):
        best = int(shares.table[k].argmax())
        lines.append(
            f"{k:5d}  {100 * model.weights_[k]:4.1f} %  {shares.names[best]:<{width}}  "
            f"{100 * shares.table[k, best]:3.0f} %  {model.names_[k]:<{called}}  "
            f"{' '.join(other_words(model.names_[k], words[k]))}"
        )
    return "\n".join(lines)


def _say(text: str) -> None:
    # Progress goes to another stream: what is said before must be out first.
    print(text, flush=True)


def _silent(text: str) -> None:
    """Say nothing: the outcome alone is asked for."""
