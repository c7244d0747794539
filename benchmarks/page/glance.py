"""The table at the top of the page: every peer next to ours, in a line each."""

from __future__ import annotations

from pathlib import Path

from benchmarks.page.parts import Row, cell, load, markdown, mean

OURS = "isotherm AspectModel"
SEEN = ("perplexity", "stability", "cpu s")
SAYS = (
    "**At a glance**, means over seeds: perplexity of unseen documents over ours (above one: ours "
    "predicts better), cosine of matched topics over seeds (one: every seed gives the same; what "
    "other documents would give is in [Quality at equal K](#quality-at-equal-k)), and CPU seconds "
    "of ours over those of the peer until ours predicts as well as the peer does at its end, the "
    "worst over corpora and threads; ≤ stands where a peer was not raced: whole fits, of which "
    "ours predict better. First, what needs no topics."
)


def glance(folder: Path) -> list[str]:
    """Words and table; nothing without results."""
    quality, races = load("quality", folder), load("time_to_quality", folder)
    if not quality or not quality.get("summary"):
        return []
    bare = [dict.fromkeys(SEEN) | row for row in quality.get("baselines", ())]
    summary = [*bare, *quality["summary"]]
    raced = races.get("summary", []) if races else []
    corpora = list(dict.fromkeys(row["corpus"] for row in summary))
    level = {row["corpus"]: row for row in summary if row["model"] == OURS}
    rows = [
        _line([row for row in summary if row["model"] == name], name, corpora, level, raced)
        for name in dict.fromkeys(row["model"] for row in summary)
    ]
    return [SAYS, markdown(rows)]


def _line(
    own: list[Row],
    name: str,
    corpora: list[str],
    level: dict[str, Row],
    raced: list[Row],
) -> Row:
    line: Row = {"model": name}
    reached = {row["corpus"]: row["perplexity"] for row in own}
    for corpus in corpora:
        theirs, ours = reached.get(corpus), level.get(corpus, {}).get("perplexity")
        line[f"perplexity, {corpus}"] = theirs / ours if theirs and ours else None
    line["stability"] = mean(row["stability"] for row in own)
    ratios = [row["CPU ratio"] for row in raced if row["peer"] == name]
    there = [ratio for ratio in ratios if ratio is not None]
    worst = max(there) if there else _bound(own, level)
    return line | {"CPU, ours / theirs, to equal perplexity": worst}


def _bound(own: list[Row], level: dict[str, Row]) -> str | None:
    """The worst ratio of CPU seconds of whole fits, where ours always end at least as low."""
    pairs = [
        (level[row["corpus"]], row)
        for row in own
        if row["model"] != OURS and row["perplexity"] and row["cpu s"] and row["corpus"] in level
    ]
    if not pairs or any(ours["perplexity"] > theirs["perplexity"] for ours, theirs in pairs):
        return None
    return f"≤ {cell(max(ours['cpu s'] / theirs['cpu s'] for ours, theirs in pairs))}"
