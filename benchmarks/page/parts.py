"""What the sections of the page of benchmarks share: results read, tables in Markdown.

Nothing here measures, and nothing outside the standard library is needed: the page is a function
of the files in `results/`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.registry import KNOWN, Benchmark

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"

# What stands in the place of "pass" or "FAIL" where there is no figure yet.
OPEN = "not measured"

Row = dict[str, Any]
Document = Mapping[str, Any]


class Table(NamedTuple):
    """Rows with the same keys, and the line above them."""

    title: str
    rows: Sequence[Row]


class Part(NamedTuple):
    """One result on the page: its file in results/ (without ending), words, tables.

    `run` is the benchmark and its arguments, where that is not the name of the result.
    """

    name: str
    says: str
    tables: Callable[[Document], Iterable[Table]]
    run: str = ""
    title: str = ""

    @property
    def heading(self) -> str:
        """The title, or the name as words."""
        return self.title or self.name.replace("_", " ").capitalize()

    @property
    def command(self) -> str:
        """What prints the figures."""
        return f"python benchmarks/run.py {self.run or self.name}"

    @property
    def benchmark(self) -> Benchmark:
        """What measured it."""
        return KNOWN[(self.run or self.name).split()[0]]

    def ran(self, document: Document) -> str:
        """What printed these figures: the command with the arguments that the run had."""
        given = document["machine"].get("arguments")
        if given is None:
            return self.command
        return " ".join([*self.command.split()[:3], *given])


class Section(NamedTuple):
    """One question of the page and the results that answer it."""

    title: str
    parts: tuple[Part, ...]


# ---------------------------------------------------------------- results


def load(name: str, folder: Path = RESULTS) -> Document | None:
    """The result of that name; None where there is none."""
    path = folder / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def targets(document: Document | None) -> list[Row]:
    """Rows of the targets of a result."""
    return list(document.get("targets", [])) if document else []


def missed(document: Document | None) -> list[Row]:
    """Rows of the targets that were not met."""
    return [row for row in targets(document) if row["met"] not in ("pass", OPEN)]


def unmeasured(document: Document | None) -> list[Row]:
    """Rows of the targets whose figures are still to be measured: neither met nor missed."""
    return [row for row in targets(document) if row["met"] == OPEN]


def origin(document: Document) -> str:
    """Line on machine, date, commit and load of a result."""
    info = document["machine"]
    load_before = info.get("load_before")
    busy = "" if load_before is None else f", load {load_before:.1f} before the run"
    commit = info["commit"].removesuffix(" with changes")
    more = " with uncommitted changes" if info["commit"].endswith("with changes") else ""
    threads = "one thread" if info["threads"] == 1 else f"{info['threads']} threads"
    note = f". {document['note']}" if document.get("note") else ""
    return f"{info['date'][:10]}, commit `{commit}`{more}, {info['cpu']}, {threads}{busy}{note}"


# ---------------------------------------------------------------- rows


def cell(value: Any) -> str:
    """A figure as it stands in a table: three digits (four next to one), thousands apart."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, float) and math.isinf(value):
        return "never" if value > 0 else "-∞"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if value and (abs(value) < 1e-4 or abs(value) >= 1e9):
            return f"{value:.1e}"
        if abs(value) >= 999.5:
            return f"{value:,.0f}"
        # Ratios next to one are told from it: that is where a target is met or missed.
        return f"{value:.4g}" if 0.995 <= value < 1.005 else f"{value:.3g}"
    return str(value).replace("|", "\\|")


def markdown(rows: Sequence[Row]) -> str:
    """Rows as a table of Markdown; columns in which nothing stands are left out."""
    keys = [key for key in rows[0] if any(row.get(key) not in (None, "") for row in rows)]
    numeric = {k for k in keys if all(isinstance(r.get(k), int | float | None) for r in rows)}
    lines = [
        "| " + " | ".join(keys) + " |",
        "| " + " | ".join("---:" if key in numeric else "---" for key in keys) + " |",
    ]
    lines += ["| " + " | ".join(cell(row.get(key)) for key in keys) + " |" for row in rows]
    return "\n".join(lines)


def pick(rows: Iterable[Row], *keys: str, **renamed: str) -> list[Row]:
    """Only these columns of the rows; `heading="key"` renames one."""
    wanted = {key: key for key in keys} | renamed
    return [{new: row.get(old) for new, old in wanted.items()} for row in rows]


def only(rows: Iterable[Row], **values: Any) -> list[Row]:
    """Rows with these values."""
    return [row for row in rows if all(row.get(key) == v for key, v in values.items())]


def mean(values: Iterable[float | None]) -> float | None:
    """Mean of what is there; None of nothing."""
    there = [float(value) for value in values if value is not None]
    return math.fsum(there) / len(there) if there else None


def spread(values: Iterable[float]) -> float | None:
    """Standard deviation; None of fewer than two."""
    there = [float(value) for value in values]
    centre = mean(there)
    if centre is None or len(there) < 2:
        return None
    return math.sqrt(math.fsum((value - centre) ** 2 for value in there) / (len(there) - 1))


def means(rows: Sequence[Row], by: Sequence[str], values: Sequence[str]) -> list[Row]:
    """Means of columns over the rows that are alike in `by`, in the order of their first row."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.get(key) for key in by), []).append(row)
    return [
        dict(zip(by, key, strict=True)) | {v: mean(row.get(v) for row in own) for v in values}
        for key, own in groups.items()
    ]


def pivot(rows: Sequence[Row], index: Sequence[str], across: str, value: str) -> list[Row]:
    """One row for each `index`, one column for each value of `across`."""
    heads = list(dict.fromkeys(row[across] for row in rows))
    found: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        key = tuple(row.get(name) for name in index)
        blank = dict(zip(index, key, strict=True)) | {f"{across} = {h}": None for h in heads}
        found.setdefault(key, blank)[f"{across} = {row[across]}"] = row.get(value)
    return list(found.values())
