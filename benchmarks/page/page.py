"""The page docs/benchmarks.md, made from the results that are kept in results/, and nothing else.

A result that is missing is named on the page. To add a benchmark to it, add one `Part` to a section
of a file of this folder. `--check` writes nothing and fails if the page is not up to date.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.page import curves, glance, maps, papers, scale, topics
from benchmarks.page.parts import (
    RESULTS,
    ROOT,
    Document,
    Part,
    Row,
    Section,
    cell,
    load,
    markdown,
    missed,
    origin,
    targets,
    unmeasured,
)

PAGE = ROOT / "docs" / "benchmarks.md"
PLOTS = ROOT / "docs" / "benchmarks"
SECTIONS: tuple[Section, ...] = (
    *topics.SECTIONS,
    *maps.SECTIONS,
    *scale.SECTIONS,
)
# What the library is judged by first: misses of these stand in the first paragraph.
HEADLINE = ("quality", "time_to_quality", "topic_numbers", "growth", "kernels", "stability")
# Of these, every one in words; of the others the number.
SPELT_OUT = ("quality", "time_to_quality")

HOW = """\
Every figure below was printed by the command under its table, on the machine, date and commit that
stand there; the load says whether the machine did other things at the same time. One command makes
everything again, environments for the peers included:

    make benchmarks

`make bench BENCH="kernels stability"` runs some of it, `make bench-page` writes this page again
from the results in `benchmarks/results/`. What is measured and how is in
[benchmarks/README.md](../benchmarks/README.md)."""


def render(folder: Path = RESULTS) -> str:
    """The whole page."""
    blocks = ["# Benchmarks", *headline(folder), HOW, contents()]
    for section in SECTIONS:
        blocks.append(f"## {section.title}")
        for part in section.parts:
            blocks += [f"### {part.heading}"] if len(section.parts) > 1 else []
            blocks += part_blocks(part, folder)
    blocks += papers.blocks(folder)
    return "\n\n".join(blocks) + "\n"


def headline(folder: Path) -> list[str]:
    """What does not hold and what does, from the targets of the results that matter most."""
    found = {part.name: load(part.name, folder) for section in SECTIONS for part in section.parts}
    broken = {name: missed(found[name]) for name in HEADLINE if missed(found[name])}
    absent = [f"`{name}`" for name in HEADLINE if found[name] is None]
    total = sum(len(targets(found[name])) for name in HEADLINE)
    number = sum(map(len, broken.values()))
    yet = {name: unmeasured(found[name]) for name in HEADLINE if unmeasured(found[name])}
    still = sum(map(len, yet.values()))
    first = f"Of {total} targets of the questions asked first, {total - number - still} are met"
    first += f", {number} missed and {still} not measured yet." if still else "."
    if broken:
        where = "; ".join(_not_reached(name, rows) for name, rows in broken.items())
        first += f" isotherm does **not** reach {where}. The next table has them all."
    for name, rows in yet.items():
        what = "; ".join(row["target"] for row in rows)
        first += f" **Not measured yet**, *{name}*: {what}."
    if absent:
        first += f" **Not measured yet:** {', '.join(absent)}."
    told_by = ((name, found[name]) for name in HEADLINE)
    notes = [
        f"*{name}*: {document['note']}."
        for name, document in told_by
        if document and document.get("note")
    ]
    first = " ".join([first, *notes])
    holds = [f"- *{name}*: {line}" for name in HEADLINE if (line := _kept(found[name]))]
    rest = {n: len(missed(d)) for n, d in found.items() if n not in HEADLINE and missed(d)}
    blocks = [first, *_misses(broken), *glance.glance(folder)]
    if rest:
        where = ", ".join(f"{name} ({number})" for name, number in rest.items())
        blocks.append(f"Other targets that are missed, told in their sections: {where}.")
    return [*blocks, "What holds:", "\n".join(holds)] if holds else blocks


def _not_reached(name: str, rows: list[Row]) -> str:
    if name in SPELT_OUT:
        return f"*{name}*: " + "; ".join(map(told, rows))
    return f"{len(rows)} of *{name}*"


def _misses(broken: dict[str, list[Row]]) -> list[str]:
    rows = [
        {"not reached, by": name, "target": row["target"]}
        | {"wanted": row["wanted"], "measured": row["measured"]}
        for name, missing in broken.items()
        for row in missing
    ]
    return [markdown(rows)] if rows else []


def _kept(document: Document | None, most: int = 6) -> str:
    met = [told(row) for row in targets(document) if row["met"] == "pass"]
    more = [f"and {len(met) - most} more"] if len(met) > most else []
    return "; ".join(met[:most] + more)


def told(row: Row) -> str:
    """A target in words."""
    return f"{row['target']}: {judged(row)}"


def judged(row: Row) -> str:
    """A measured figure and what was wanted."""
    return f"{cell(row['measured'])} ({row['wanted']})" if row["wanted"] else cell(row["measured"])


def contents() -> str:
    """Links to the sections."""
    titles = [section.title for section in SECTIONS] + [papers.TITLE]
    return " · ".join(f"[{title}](#{_anchor(title)})" for title in titles)


def _anchor(title: str) -> str:
    kept = "".join(c for c in title.lower() if c.isalnum() or c in "- ")
    return kept.replace(" ", "-")


def part_blocks(part: Part, folder: Path) -> list[str]:
    """Words, tables, misses and origin of one result; or that it is missing."""
    document = load(part.name, folder)
    if document is None:
        needs = f" (needs {part.benchmark.needs})" if part.benchmark.needs else ""
        told = (
            f"**No result yet:** `{part.name}.json` is missing; `{part.command}` writes it{needs}."
        )
        return [part.says, told]
    blocks = [part.says]
    if part.name in pictures(folder):
        blocks.append(f"![{part.heading}](benchmarks/{part.name}.svg)")
    for table in part.tables(document):
        if table.rows:
            blocks += [f"*{table.title}*"] if table.title else []
            blocks.append(markdown(table.rows))
    fails = missed(document)
    yet = unmeasured(document)
    met = len(targets(document)) - len(fails) - len(yet)
    if fails:
        rows = [
            {"missed": row["target"], "wanted": row["wanted"], "measured": row["measured"]}
            for row in fails
        ]
        blocks += [f"*Targets: {met} met, {len(fails)} missed:*", markdown(rows)]
    elif met:
        blocks.append(f"*Targets: all {met} met.*" if not yet else f"*Targets: {met} met.*")
    if yet:
        names = "; ".join(row["target"] for row in yet)
        blocks.append(f"*Targets that are not measured yet: {names}.*")
    blocks.append(f"`{part.ran(document)}` — {origin(document)}")
    return blocks


def pictures(folder: Path = RESULTS) -> dict[str, str]:
    """Pictures (SVG) by name, for results that are there and have curves."""
    found = {name: load(name, folder) for name in curves.PICTURES}
    return {
        name: curves.PICTURES[name](document)
        for name, document in found.items()
        if document and document.get("curves")
    }


def outdated() -> list[Path]:
    """Files that are not what the results say."""
    wanted = {PAGE: render()} | {PLOTS / f"{n}.svg": svg for n, svg in pictures().items()}
    return [
        path
        for path, text in wanted.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail if the page is out of date")
    options = parser.parse_args()
    if options.check:
        if old := outdated():
            names = ", ".join(path.relative_to(ROOT).as_posix() for path in old)
            raise SystemExit(f"not what the results say: {names}; run: make bench-page")
        return
    for name, svg in pictures().items():
        PLOTS.mkdir(exist_ok=True)
        (PLOTS / f"{name}.svg").write_text(svg, encoding="utf-8")
    PAGE.write_text(render(), encoding="utf-8")
    print(f"written: {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
