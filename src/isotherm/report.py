"""A fit as one HTML page that needs nothing else: no network, no scripts, no other files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from isotherm import map_plots, plots
from isotherm._page import STYLE
from isotherm._tree_page import tree_section
from isotherm.data.base import Array
from isotherm.data.counts import Counts
from isotherm.errors import IsothermError
from isotherm.estimators.base import CountEstimator
from isotherm.files import PAGE_MARK, replacing
from isotherm.maps.corpus import CorpusMap

__all__ = ["write_report"]

# One entry per row, in whatever comes to hand.
Entries = Sequence[Any] | Array

N_WORDS, N_LIFT, N_TYPICAL = 10, 8, 3
SNIPPET = 220
# Labels beyond this many share one colour: nobody tells more of them apart in a narrow bar.
N_COLOURS = 7
OTHER = "all others"

# Colours of the figure -> those of the page, which change with light and dark.
COLOURS = {
    plots.INK: "currentColor",
    plots.FAINT: "var(--soft)",
    plots.BLUE: "var(--c0)",
    plots.GREEN: "var(--c2)",
    plots.RED: "var(--c5)",
}
RULE = re.compile(r"([^\w\s])\1{3,}")

HOW_TO_READ = (
    "Every topic is a distribution over words: bars behind the words show how probable they are "
    "within it, and the second line adds rarer words that are over-represented in it.",
    "The percentage is the topic's share of the whole collection; a document may belong to "
    "several topics, and those shown belong to it most, long ones before short ones.",
    "The figure shows the cooling from hot (one topic for everything) to cold (sharp topics): "
    "topics come apart at transitions, and the vertical line marks the temperature that was kept.",
)


class Shares(NamedTuple):
    """Labels, most frequent first, and the share of each in every topic, (K, L)."""

    names: tuple[str, ...]
    table: Array


class Content(NamedTuple):
    """What a page is made of besides the model: mass of each row (I,), texts and labels."""

    mass: Array
    names: Entries
    texts: Entries | None
    shares: Shares | None
    figures: list[tuple[str, str]]
    corpus_map: CorpusMap | None


def write_report(
    model: CountEstimator,
    path: str | os.PathLike[str],
    *,
    title: str = "Topics",
    labels: Entries | None = None,
    texts: Entries | None = None,
    names: Entries | None = None,
    counts: Counts | None = None,
    corpus_map: CorpusMap | None = None,
) -> Path:
    """Path of the HTML page that was written.

    The page is written beside its place first and then moved there: whoever looks sees the old
    page or the new one, never half of one.

    Parameters
    ----------
    model : fitted estimator
    path : path of the page
        Folders are made where they are missing; an older page is replaced.
    title : str
    labels : sequence of length I, optional
        Label of each training row; shown as shares of each topic.
    texts : sequence of length I, optional
        Text of each training row; the opening is shown.
    names : sequence of length I, optional
        Title of each training row; by default the row names of `counts`, or row numbers.
    counts : Counts, (I, J), optional
        What the model was fitted to: adds the number of tokens, and lets long rows count for more
        when labels are shared out and typical rows are chosen.
    corpus_map : CorpusMap, optional
        Map of the same rows by the model's topics, made by `map_corpus`; adds a figure.

    Returns
    -------
    pathlib.Path
    """
    plots.check_fitted(model)
    if hasattr(model, "cluster_centers_"):
        raise IsothermError(
            f"{type(model).__name__} gives rows to clusters and only those to topics; the page "
            "shows the rows of each topic: give a model such as AspectModel or OneSidedClustering"
        )
    n_rows = len(model.row_weights_)
    for what, values in (("labels", labels), ("texts", texts), ("names", names)):
        _check_length(what, values, n_rows)
    if counts is not None:
        _check_length("counts", range(counts.n_rows), n_rows)
    if corpus_map is not None:
        _check_length("corpus_map", corpus_map.names, n_rows)
    if names is None and counts is not None and counts.row_names is not None:
        names = counts.row_names.tolist()
    mass = np.ones(n_rows) if counts is None else counts.row_totals
    content = Content(
        mass,
        names if names is not None else [f"row {row}" for row in range(n_rows)],
        texts,
        None if labels is None else label_shares(model.row_weights_, mass, labels),
        _headline(model, counts),
        corpus_map,
    )
    return _write(Path(path), _page(model, title, content))


def label_shares(row_weights: Array, mass: Array, labels: Entries) -> Shares:
    """How the labels share each topic, by the mass (I,) of the rows that belong to it."""
    given = np.array([str(label) for label in labels])
    found, code = np.unique(given, return_inverse=True)
    total = np.bincount(code, weights=mass, minlength=len(found))
    order = np.argsort(-total, kind="stable")
    table = np.stack([mass[code == label] @ row_weights[code == label] for label in order], axis=1)
    names = [str(name) for name in found[order]]
    if len(names) > N_COLOURS:
        rest = table[:, N_COLOURS - 1 :].sum(axis=1, keepdims=True)
        table = np.hstack([table[:, : N_COLOURS - 1], rest])
        names = [*names[: N_COLOURS - 1], OTHER]
    whole = table.sum(axis=1, keepdims=True)
    return Shares(tuple(names), table / np.where(whole > 0, whole, 1.0))


def typical_rows(row_weights: Array, mass: Array, n_rows: int = N_TYPICAL) -> Array:
    """Rows that show best what each topic is about, (K, n_rows): pure ones, and long ones."""
    # Weights alone pick rows of two or three words, masses alone the longest row of them all.
    score = row_weights.astype(np.float64) ** 2 * np.sqrt(mass)[:, None]
    return np.argsort(-score, axis=0, kind="stable")[:n_rows].T


def _check_length(what: str, values: Entries | None, n_rows: int) -> None:
    if values is not None and len(values) != n_rows:
        raise IsothermError(
            f"{what} has {len(values)} entries; the model was fitted to {n_rows} rows, "
            "give one entry for each of them"
        )


def _headline(model: CountEstimator, counts: Counts | None) -> list[tuple[str, str]]:
    figures = [
        (f"{len(model.row_weights_):,}", "documents"),
        (f"{model.n_features_in_:,}", "words"),
        (f"{len(model.weights_)}", "topics"),
        (f"{model.temperature_:.3g}", "temperature"),
        (f"{model.n_iter_:,}", "sweeps"),
        (f"{sum(record.seconds for record in model.trace_):.1f}", "seconds"),
    ]
    if counts is not None:
        figures.insert(2, (f"{counts.total:,.0f}", "tokens"))
    return figures


def _page(model: CountEstimator, title: str, content: Content) -> str:
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        PAGE_MARK,
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        # Nothing may be loaded, whatever the texts contain.
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><main>",
        f"<h1>{escape(title)}</h1>",
        f'<p class="sub">{escape(type(model).__name__)} · cooling ended because '
        f"{escape(str(model.outcome_))}</p>",
        _figures(content.figures),
        f"<section><h2>How to read this page</h2><p>{escape(' '.join(HOW_TO_READ))}</p></section>",
        _map_section(content.corpus_map),
        tree_section(model, COLOURS),
        _path_section(model),
        _topics(model, content),
        "</main></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _map_section(corpus_map: CorpusMap | None) -> str:
    if corpus_map is None:
        return ""
    figure = plots.as_svg(map_plots.map_points(corpus_map), COLOURS)
    said = (
        "Every point is a document; documents of similar topics lie together. Words stand where a "
        "document of that topic alone would lie."
    )
    return f"<section><h2>The map</h2><p>{escape(said)}</p><figure>{figure}</figure></section>"


def _figures(figures: Iterable[tuple[str, str]]) -> str:
    cells = "".join(
        f"<div><dd>{escape(value)}</dd><dt>{escape(name)}</dt></div>" for value, name in figures
    )
    return f'<dl class="figures">{cells}</dl>'


def _path_section(model: CountEstimator) -> str:
    path = plots.path_of(model)
    drawing = plots.as_svg(plots.annealing_path(model), COLOURS)
    rows = "".join(
        f"<tr{_chosen(record.temperature == path.temperature)}><td>{record.temperature:.4g}</td>"
        f"<td>{_score(record.heldout)}</td><td>{record.n_effective}</td>"
        f"<td>{record.log_likelihood:,.0f}</td><td>{record.sweeps}</td></tr>"
        for record in path.trace
    )
    return (
        "<section><h2>Annealing path</h2>"
        '<figure role="img" aria-label="Held-out perplexity, distinct components and training '
        f'log-likelihood against temperature">{drawing}</figure>'
        "<details><summary>The same as a table</summary>"
        '<div class="wide"><table class="trace"><thead><tr><th>temperature</th>'
        "<th>held-out perplexity</th><th>distinct topics</th><th>log-likelihood</th>"
        f"<th>sweeps</th></tr></thead><tbody>{rows}</tbody></table></div></details></section>"
    )


def _chosen(chosen: bool) -> str:
    return ' class="chosen"' if chosen else ""


def _score(value: float) -> str:
    return f"{value:.1f}" if np.isfinite(value) else "–"


def _topics(model: CountEstimator, content: Content) -> str:
    words, lift = model.top_words(N_WORDS), model.top_words(N_WORDS + N_LIFT, by="lift")
    typical = typical_rows(model.row_weights_, content.mass)
    order = np.argsort(-model.weights_, kind="stable")
    largest = float(model.weights_.max())
    rows = [
        f'<tr id="topic-{k}"><td class="topic"><span class="number">{k}</span> '
        f"<b>{100 * model.weights_[k]:.1f} %</b>"
        f'<span class="meter"><i style="width:{100 * model.weights_[k] / largest:.1f}%"></i></span>'
        f"{_bar(content.shares, k)}</td>"
        f"<td>{_words(words[k], model.components_[k])}{_lift(lift[k], words[k])}</td>"
        f'<td class="rows">{_rows(typical[k], content)}</td></tr>'
        for k in order
    ]
    return (
        f"<section><h2>Topics</h2>{_legend(content.shares)}"
        '<table class="topics"><thead><tr><th>Topic</th><th>Words</th>'
        f"<th>Typical documents</th></tr></thead><tbody>{''.join(rows)}</tbody></table></section>"
    )


def _words(words: Sequence[str], probabilities: Array) -> str:
    values = np.sort(probabilities)[::-1][: len(words)]
    spans = " ".join(
        f'<span class="w" style="--p:{100 * value / values[0]:.0f}%" '
        f'title="probability {value:.4f}">{escape(word)}</span>'
        for word, value in zip(words, values, strict=True)
    )
    return f'<p class="words">{spans}</p>'


def _lift(words: Sequence[str], shown: Sequence[str]) -> str:
    more = [word for word in words if word not in shown][:N_LIFT]
    return f'<p class="lift"><em>also</em> {escape(", ".join(more))}</p>' if more else ""


def _legend(shares: Shares | None) -> str:
    if shares is None:
        return ""
    items = "".join(
        f'<li><i class="c{i}"></i>{escape(name)}</li>' for i, name in enumerate(shares.names)
    )
    return f'<ul class="legend">{items}</ul>'


def _bar(shares: Shares | None, topic: int) -> str:
    """Stacked bar of the labels, and the largest of them in words: colour alone says nothing."""
    if shares is None:
        return ""
    row = shares.table[topic]
    parts = "".join(
        f'<i class="c{i}" style="width:{100 * share:.1f}%" '
        f'title="{escape(name)} {100 * share:.0f} %"></i>'
        for i, (name, share) in enumerate(zip(shares.names, row, strict=True))
    )
    best = int(row.argmax())
    caption = f"{escape(shares.names[best])} {100 * row[best]:.0f} %"
    return f'<div class="bar">{parts}</div><small>{caption}</small>'


def _rows(rows: Array, content: Content) -> str:
    items = []
    for row in rows:
        text = "" if content.texts is None else _snippet(str(content.texts[row]))
        shown = f"<p>{escape(text)}</p>" if text else ""
        items.append(f"<li><b>{escape(_snippet(str(content.names[row])))}</b>{shown}</li>")
    return f"<ul>{''.join(items)}</ul>"


def _snippet(text: str) -> str:
    """The text on one line, without rules drawn in characters, cut at a word."""
    line = " ".join(RULE.sub(" ", text).split())
    if len(line) <= SNIPPET:
        return line
    return (line[:SNIPPET].rpartition(" ")[0] or line[:SNIPPET]) + " …"


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Half a surrogate pair has no UTF-8; a reference keeps the rest of the text readable.
    with replacing(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8", errors="xmlcharrefreplace")
    return path
