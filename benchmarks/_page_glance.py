"""The table at the top of the page: every peer next to ours, in a line each."""

from __future__ import annotations

from pathlib import Path

from _page import Row, load, markdown, mean

OURS = "isotherm AspectModel"
SAYS = (
    "**At a glance**, means over seeds: perplexity of unseen documents over ours (above one: ours "
    "predicts better), cosine of matched topics over seeds (one: every seed gives the same; what "
    "other documents would give is in [Quality at equal K](#quality-at-equal-k)), and CPU seconds "
    "of ours over those of the peer until ours predicts as well as the peer does at its end, the "
    "worst over corpora and threads."
)


def glance(folder: Path) -> list[str]:
    """Words and table; nothing without results."""
    quality, races = load("quality", folder), load("time_to_quality", folder)
    if not quality or not quality.get("summary"):
        return []
    summary = quality["summary"]
    raced = races.get("summary", []) if races else []
    corpora = list(dict.fromkeys(row["corpus"] for row in summary))
    level = {row["corpus"]: row["perplexity"] for row in summary if row["model"] == OURS}
    rows = [
        _line([row for row in summary if row["model"] == name], name, corpora, level, raced)
        for name in dict.fromkeys(row["model"] for row in summary)
    ]
    return [SAYS, markdown(rows)]


def _line(
    own: list[Row],
    name: str,
    corpora: list[str],
    level: dict[str, float | None],
    raced: list[Row],
) -> Row:
    line: Row = {"model": name}
    reached = {row["corpus"]: row["perplexity"] for row in own}
    for corpus in corpora:
        theirs, ours = reached.get(corpus), level.get(corpus)
        line[f"perplexity, {corpus}"] = theirs / ours if theirs and ours else None
    line["stability"] = mean(row["stability"] for row in own)
    ratios = [row["CPU ratio"] for row in raced if row["peer"] == name]
    there = [ratio for ratio in ratios if ratio is not None]
    return line | {"CPU, ours / theirs, to equal perplexity": max(there) if there else None}
