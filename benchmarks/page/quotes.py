"""Do the guides say what the results say? Sentences with a measured figure, held to its file.

`quotes.toml` has each such sentence as a template, and which cells of which result fill it. A
sentence that its page does not have, word for word, is out of date: this prints what the page
should say, and with `--check` ends with 1. Nothing is measured here.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.page.papers import HOW
from benchmarks.page.parts import RESULTS, ROOT, Document, Row, load, only

QUOTES = ROOT / "benchmarks" / "page" / "quotes.toml"


class Cell(float):
    """A figure in a sentence; a dash where there is none."""

    def __format__(self, how: str) -> str:
        return "–" if self != self else super().__format__(how)


def quotes() -> list[Row]:
    """The sentences: page, template, and where their figures come from."""
    return tomllib.loads(QUOTES.read_text(encoding="utf-8"))["quote"]


def sentence(quote: Row, folder: Path = RESULTS) -> str:
    """What the page has to say."""
    found = [cell for item in quote["figures"] for cell in cells(item, folder)]
    return quote["says"].format(*found)


def cells(item: Row, folder: Path) -> Iterator[Cell]:
    """Figures of one item: of rows `where`, over those of rows `over`, scaled and shifted."""
    document = load(item["result"], folder)
    if document is None:
        raise FileNotFoundError(f"{item['result']}.json is not in {folder.name}")
    for value in item.get("values", [item.get("value")]):
        found = _cell(item, document, item.get("where", {}), value)
        if "over" in item:
            found /= _cell(item, document, item["over"], value)
        yield Cell(item.get("scale", 1.0) * found + item.get("plus", 0.0))


def _cell(item: Row, document: Document, where: Row, value: str | None) -> float:
    """The mean (or `how`) over the rows; of a part that is a number, that; NaN of nothing."""
    part: Any = document[item["part"]]
    if value is None:
        return float(part)
    rows = only(part, **where)
    if not rows:
        raise LookupError(f"{item['result']}.json, {item['part']}: no row has {where}")
    there = [float(row[value]) for row in rows if row.get(value) is not None]
    return float(HOW[item.get("how", "mean")](there)) if there else float("nan")


def outdated(folder: Path = RESULTS, root: Path = ROOT) -> list[tuple[str, str]]:
    """Page and sentence of all that is not there; line breaks do not count."""
    found = []
    for quote in quotes():
        said = sentence(quote, folder)
        text = (root / quote["page"]).read_text(encoding="utf-8")
        if " ".join(said.split()) not in " ".join(text.split()):
            found.append((quote["page"], said))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail if a sentence is out of date")
    options = parser.parse_args()
    old = outdated()
    for page, said in old:
        print(f"{page} should say: {said}")
    print(f"{len(quotes()) - len(old)} of {len(quotes())} sentences are as measured")
    if options.check and old:
        raise SystemExit("sentences are out of date: change the pages, or the templates")


if __name__ == "__main__":
    main()
