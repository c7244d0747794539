"""What `isotherm fit` says at the end: what was read, how many topics, why, and what to do next."""

from __future__ import annotations

import argparse
import math
import textwrap
from typing import TYPE_CHECKING

from isotherm.cli import console
from isotherm.cli.runs import READ, Run, topic_lines

if TYPE_CHECKING:
    from isotherm._types import Fields
    from isotherm.estimators.counts import CountEstimator

# Letters of a line.
WIDTH = 79


def levels(model: CountEstimator) -> Fields:
    """The levels of a model as JSON has them; nothing where it has none."""
    known = getattr(model, "levels_", ())
    if not known:
        return {}
    return {
        "levels": [
            {
                "topics": one.n_components,
                "found_again": one.n_found_again if one.is_known else None,
                "perplexity": _number(one.heldout),
            }
            for one in known
        ]
    }


def perplexities(run: Run, options: argparse.Namespace) -> Fields:
    """How well held-out words are predicted, with topics and without; nothing where none were."""
    from isotherm.estimators.holdout import Tokens
    from isotherm.evaluate.baselines import baselines

    model = run.model
    scores = [one.heldout for one in model.trace_ if one.temperature == model.temperature_]
    best = min(scores, default=math.nan)
    if math.isnan(best) or not isinstance(model._held_out, Tokens) or options.memory is not None:
        return {}
    without = baselines(run.counts)
    found = {"topics": best, "unigram": without.unigram, "own_words": without.own_words}
    return {"perplexity": {name: _number(value) for name, value in found.items()}}


def screen(run: Run, summary: Fields) -> str:
    """All of it as text, for a screen of 80 columns."""
    head = (
        f"{run.folder}: {console.plural(len(summary['topics']), 'topic')} of "
        f"{console.plural(run.about['documents'], 'document')} ({summary['model']}, "
        f"{summary['seconds']:.1f} s)"
    )
    lines = [head, *(f"read: {line}" for line in run.about.get(READ, ()))]
    counted = (
        f"counted: {console.plural(run.about['words'], 'different word')}, "
        f"{console.plural(run.about['tokens'], 'word')} in all"
    )
    lines.append(counted)
    if "memory" in summary:
        lines.append(
            "peak {peak_memory:.0f} MB of {memory:.0f} MB allowed".format(
                peak_memory=summary["peak_memory"], memory=summary["memory"]
            )
        )
    parts = ["\n".join(lines), *_levels(run, summary), topic_lines(summary["topics"], WIDTH)]
    parts += [*_quality(summary), _next(run, summary)]
    return "\n\n".join(parts)


def _levels(run: Run, summary: Fields) -> list[str]:
    """How many topics there are at which levels, and why this many."""
    rows = summary.get("levels")
    if not rows:
        return []
    chosen = len(summary["topics"])
    lines = ["topics  found again in the other half  perplexity"]
    for row in rows:
        mark = "=>" if row["topics"] == chosen else "  "
        again = "unknown" if row["found_again"] is None else str(row["found_again"])
        score = "" if row["perplexity"] is None else f"{row['perplexity']:.1f}"
        lines.append(f"{mark} {row['topics']:3d}  {again:>28}  {score:>10}")
    return ["\n".join([*lines, _why(run, rows, chosen)])]


def _why(run: Run, rows: list[Fields], chosen: int) -> str:
    """Why there are so many topics."""
    finest, first = rows[-1]["topics"], rows[0]
    again = first["found_again"]
    if again is None:
        said = f"{chosen} predict best; there was no time to compare halves of the documents."
    elif again == chosen:
        said = (
            f"{chosen} is the finest level at which all topics are found again when the documents "
            "are dealt into two halves."
        )
    else:
        said = (
            f"At no level are all topics found again when the documents are dealt into two halves; "
            f"at {chosen} the halves are most alike."
        )
    if finest > chosen:
        limit = int(run.settings["max_topics"])
        most = f", the most that --max-topics allows ({limit})" if finest >= 0.94 * limit else ""
        said += f" {finest} predict held-out words best{most}."
    return textwrap.fill(said, WIDTH)


def _quality(summary: Fields) -> list[str]:
    """How well held-out words are predicted, in a sentence or two."""
    known = summary.get("perplexity")
    if not known or None in known.values():
        return []
    said = (
        f"Perplexity of held-out words (lower is better): {known['topics']:.1f}; without topics "
        f"{known['unigram']:.1f}, and {known['own_words']:.1f} if each document repeats its own "
        "words."
    )
    return [textwrap.fill(said, WIDTH)]


def _next(run: Run, summary: Fields) -> str:
    """What to do next."""
    after = [f"isotherm topics {run.folder}", f"isotherm view {run.folder}"]
    finer = [row["topics"] for row in summary.get("levels", ())][1:2]
    after[1:1] = [f"isotherm topics {run.folder} --level {number}" for number in finer]
    if summary["model"] == "AspectModel":
        after.insert(-1, f'isotherm search {run.folder} "some words"')
    return "\n".join(f"next: {line}" for line in after)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else round(float(value), 1)
