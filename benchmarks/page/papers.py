"""Every number of the five papers beside ours, from papers.toml and the results in results/.

Nothing is measured here. The table is printed, and stands at the end of docs/benchmarks.md.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from benchmarks.page.parts import (
    RESULTS,
    ROOT,
    Document,
    Row,
    cell,
    load,
    markdown,
    mean,
    only,
    spread,
)

TITLE = "The papers"
PAPERS = ROOT / "benchmarks" / "papers" / "papers.toml"
INTRO = """\
Each table and figure with a number in it, beside ours. Numbers of the papers and where ours come
from are in `benchmarks/papers/papers.toml`; ours are means over the runs of the results above,
whose date and commit stand there. "–" is a cell that the stored run does not have."""

HOW = {"mean": mean, "sd": spread, "max": max, "min": min}


def papers() -> list[dict[str, Any]]:
    """The papers and their items."""
    return tomllib.loads(PAPERS.read_text(encoding="utf-8"))["paper"]


def ours(item: Row, document: Document | None) -> list[Any]:
    """Our figures for an item, in the order of the paper's; None for what was not run."""
    rows = only((document or {}).get(item["part"], []), **item.get("where", {}))
    how = item.get("how", "mean")
    if "values" in item:
        found = [_figure(rows, value, how) for value in item["values"]]
        if "less" not in item or document is None:
            return found
        base = only(document[item["part"]], **item["less"])
        pairs = zip(found, (_figure(base, value, how) for value in item["values"]), strict=True)
        return [None if f is None or b is None else f - b for f, b in pairs]
    value = item["value"]
    if "by" not in item:
        return [_figure(rows, value, how)]
    groups = [only(rows, **{item["by"]: at}) for at in item["at"]]
    found = [_figure(group, value, how) for group in groups]
    if "relative_to" in item:
        base = (
            _figure(only(document[item["part"]], **item["relative_to"]), value, how)
            if document
            else None
        )
        found = [f / base if f is not None and base else None for f in found]
    return found


def _figure(rows: list[Row], value: str, how: str) -> float | None:
    there = [float(row[value]) for row in rows if row.get(value) is not None]
    return HOW[how](there) if there else None


def table(items: list[Row], folder: Path) -> list[Row]:
    """Rows of the table of one paper."""
    rows = []
    for item in items:
        paper = item["paper"]
        row = {"place": item["place"], "what": item["what"], "paper": _cells(paper)}
        if "missing" in item:
            row |= {"ours": "–", "difference": f"not reproduced: {item['missing']}"}
        else:
            document = load(item["result"], folder)
            said = item.get("difference", "as above")
            if document is None:
                said = f"not measured yet: `{item['result']}.json` is missing"
            row |= {"ours": _cells(ours(item, document)), "difference": said}
        rows.append(row)
    return rows


def _cells(values: Any) -> str:
    if isinstance(values, str):
        return values
    return " / ".join(cell(value) for value in values)


def blocks(folder: Path = RESULTS) -> list[str]:
    """The section of the page."""
    found = [f"## {TITLE}", INTRO]
    for paper in papers():
        found += [f"### {paper['name']}", markdown(table(paper["item"], folder))]
        found.append(f"Without a number: {paper['rest']}")
    found.append("`python benchmarks/run.py papers` prints this section.")
    return found


def main() -> None:
    print("\n\n".join(blocks()))


if __name__ == "__main__":
    main()
