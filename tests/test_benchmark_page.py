"""The page of benchmarks is what the results kept in git say, and hides nothing."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from benchmarks.page import page, papers, quotes

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"


def machine(**changed: Any) -> dict[str, Any]:
    info = {"date": "2026-01-02T03:04:05+00:00", "cpu": "a chip", "threads": 2}
    return info | {"load_before": 0.25, "commit": "abc123 with changes"} | changed


def write(folder: Path, name: str, **parts: Any) -> None:
    document = {"schema": 1, "benchmark": name, "machine": machine(), **parts}
    (folder / f"{name}.json").write_text(json.dumps(document))


def target(name: str, measured: float, met: str) -> dict[str, Any]:
    return {"target": name, "wanted": ">= 6", "measured": measured, "met": met}


def kernels(folder: Path, measured: float, met: str) -> None:
    row = {"corpus": "c", "K": 16, "threads": 2, "T=1 s": 0.5, "NMF s": 4.5, "x NMF": measured}
    write(folder, "kernels", rows=[row], memory=[], targets=[target("x NMF", measured, met)])


def test_the_page_is_what_the_results_say() -> None:
    assert page.outdated() == [], "run: make bench-page"
    assert page.PAGE.read_text(encoding="utf-8") == page.render()


def test_a_missing_result_is_named(tmp_path: Path) -> None:
    text = page.render(tmp_path)
    parts = [part for section in page.SECTIONS for part in section.parts]
    assert len(parts) > 20
    for part in parts:
        said = f"**No result yet:** `{part.name}.json` is missing; `{part.command}` writes it"
        assert said in text
    first = text.split("\n\n")[1]
    assert "**Not measured yet:** `quality`, `time_to_quality`" in first


def test_a_missed_target_stands_in_the_first_paragraph(tmp_path: Path) -> None:
    kernels(tmp_path, 5.25, "FAIL")
    blocks = page.render(tmp_path).split("\n\n")
    assert blocks[1].startswith("Of 1 targets of the questions asked first, 0 are met.")
    assert "does **not** reach 1 of *kernels*. The next table has them all." in blocks[1]
    assert "| kernels | x NMF | >= 6 | 5.25 |" in blocks[2]
    assert "| x NMF | >= 6 | 5.25 |" in "\n".join(blocks)


def test_what_is_promised_first_is_told_in_words(tmp_path: Path) -> None:
    parts = {"summary": [], "settings": [], "tried": [], "samples": []}
    write(tmp_path, "quality", **parts, targets=[target("perplexity", 1.25, "FAIL")])
    blocks = page.render(tmp_path).split("\n\n")
    assert "does **not** reach *quality*: perplexity: 1.25 (>= 6)." in blocks[1]


def test_a_run_is_told_with_its_arguments(tmp_path: Path) -> None:
    kernels(tmp_path, 9.0, "pass")
    assert "`python benchmarks/run.py kernels` — 2026" in page.render(tmp_path)
    info = machine(arguments=["--quick"])
    path = tmp_path / "kernels.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"machine": info}))
    assert "`python benchmarks/run.py kernels --quick` — 2026" in page.render(tmp_path)


def test_a_target_that_is_met_is_no_miss(tmp_path: Path) -> None:
    kernels(tmp_path, 9.0, "pass")
    blocks = page.render(tmp_path).split("\n\n")
    assert "does **not** reach" not in blocks[1]
    assert "- *kernels*: x NMF: 9 (>= 6)" in blocks
    assert "*Targets: all 1 met.*" in blocks


def test_what_is_not_measured_yet_is_no_target_that_is_met(tmp_path: Path) -> None:
    yet = {"target": "AMI", "wanted": ">= 0", "measured": None, "met": "not measured"}
    rows = [target("x", 9.0, "pass"), target("z", 1.0, "FAIL"), yet]
    write(tmp_path, "kernels", rows=[{"threads": 1}], memory=[], targets=rows)
    text = page.render(tmp_path)
    first = text.split("\n\n")[1]
    assert first.startswith("Of 3 targets of the questions asked first, 1 are met, 1 missed and 1 ")
    assert "**Not measured yet**, *kernels*: AMI." in first
    assert "*Targets: 1 met, 1 missed:*" in text
    assert "*Targets that are not measured yet: AMI.*" in text


def test_what_needs_no_topics_stands_first(tmp_path: Path) -> None:
    keys = ("corpus", "model", "perplexity", "stability", "cpu s", "AMI", "NMI")
    rows = [("ap", "isotherm AspectModel", 200.0, 0.5, 1.0, 0.5, 0.4)]
    rows += [("ap", "P", 300.0, 0.25, 4.0, None, 0.3)]
    summary = [dict(zip(keys, row, strict=True)) for row in rows]
    bare = [{"corpus": "ap", "model": "no topics", "perplexity": 100.0, "chosen": "g = 0.3"}]
    write(tmp_path, "quality", summary=summary, baselines=bare, settings=[], tried=[], samples=[])
    text = page.render(tmp_path)
    glance = text[text.index("**At a glance**") :].split("\n\n")[1].splitlines()
    assert glance[2:4] == ["| no topics | 0.5 | – | – |", "| isotherm AspectModel | 1 | 0.5 | – |"]
    table = text[text.index("*ap, means over seeds*") :].split("\n\n")[1].splitlines()
    assert [line.split(" | ")[0] for line in table[2:]] == [
        *("| no topics", "| isotherm AspectModel", "| P"),
    ]
    assert "NMI" not in table[0]
    assert "| ap | isotherm AspectModel | 0.5 | 0.4 |" in text
    assert "| ap | P | – | 0.3 |" in text


def test_a_miss_elsewhere_is_counted(tmp_path: Path) -> None:
    write(tmp_path, "ingestion", rows=[], targets=[target("x", 1.0, "FAIL")] * 2)
    text = page.render(tmp_path)
    assert "Other targets that are missed, told in their sections: ingestion (2)." in text
    assert "*Targets: 0 met, 2 missed:*" in text


def test_under_a_table_stand_date_commit_machine_and_load(tmp_path: Path) -> None:
    kernels(tmp_path, 9.0, "pass")
    assert (
        "`python benchmarks/run.py kernels` — 2026-01-02, commit `abc123` with uncommitted "
        "changes, a chip, 2 threads, load 0.2 before the run"
    ) in page.render(tmp_path)


def test_peers_stand_beside_ours_at_the_top(tmp_path: Path) -> None:
    assert "At a glance" not in page.render(tmp_path)
    keys = ("corpus", "model", "perplexity", "stability", "cpu s")
    rows = [("ap", "isotherm AspectModel", 200.0, 0.5, 1.0), ("ap", "P", 300.0, 0.25, 4.0)]
    rows += [("news", "isotherm AspectModel", 50.0, 1.0, 2.0), ("news", "P", 40.0, None, 9.0)]
    # Not raced: one that never predicts better, one that once does.
    rows += [("ap", "Q", 220.0, 0.5, 8.0), ("news", "Q", 60.0, 0.5, 5.0)]
    rows += [("ap", "R", 220.0, 0.5, 8.0), ("news", "R", 40.0, 0.5, 5.0)]
    summary = [dict(zip(keys, row, strict=True)) for row in rows]
    write(tmp_path, "quality", summary=summary, settings=[], tried=[], samples=[])
    races = [{"peer": "P", "threads": 1, "CPU ratio": ratio} for ratio in (0.1, 0.3, None)]
    write(tmp_path, "time_to_quality", summary=races, curves=[])
    text = page.render(tmp_path)
    table = text[text.index("**At a glance**") :].split("\n\n")[1].splitlines()
    names = "| model | perplexity, ap | perplexity, news | stability | "
    names += "CPU, ours / theirs, to equal perplexity |"
    assert table[0] == names
    assert table[2:] == [
        "| isotherm AspectModel | 1 | 1 | 0.75 | – |",
        "| P | 1.5 | 0.8 | 0.25 | 0.3 |",
        "| Q | 1.1 | 1.2 | 0.5 | ≤ 0.4 |",
        "| R | 1.1 | 0.8 | 0.5 | – |",
    ]


def test_curves_become_a_picture(tmp_path: Path) -> None:
    assert page.pictures(tmp_path) == {}
    keys = ("corpus", "threads", "model", "wall", "cpu", "perplexity")
    rows = [("ap", 1, "ours", 1.0, 1.0, 900.0), ("ap", 1, "ours", 2.0, 10.0, 500.0)]
    rows += [("ap", 1, "a < b", 1.0, 100.0, 600.0), ("ap", 2, "ours", 1.0, 5.0, 1.0)]
    curves = [dict(zip(keys, row, strict=True)) for row in rows]
    write(tmp_path, "time_to_quality", summary=[], curves=curves, targets=[])
    svg = page.pictures(tmp_path)["time_to_quality"]
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert "a &lt; b" in svg
    assert svg.count("<circle") == 2
    assert "![Time to quality](benchmarks/time_to_quality.svg)" in page.render(tmp_path)


def test_every_part_names_a_benchmark() -> None:
    for section in page.SECTIONS:
        for part in section.parts:
            assert part.command.split()[2] == part.benchmark.name
            assert part.benchmark.module.startswith("benchmarks."), part.command


def test_every_result_kept_is_on_the_page() -> None:
    shown = {part.name for section in page.SECTIONS for part in section.parts}
    table = {"cranfield", "adjective_noun", "paper_numbers"}  # in the section of the papers
    kept = {path.stem for path in page.RESULTS.glob("*.json")}
    aside = {"peers", "tried", "corpus-map-OneSidedClustering"}
    assert kept <= shown | table | aside


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (1234567, "1,234,567"),
        (1234.5, "1,234"),
        (0.12345, "0.123"),
        (1.00389, "1.004"),
        (1.0, "1"),
        (1e-9, "1.0e-09"),
        (True, "yes"),
        ("a|b", "a\\|b"),
        (0.0, "0"),
        (-33228.4, "-33,228"),
    ],
)
def test_cells(value: Any, said: str) -> None:
    assert page.cell(value) == said


def test_columns_without_a_figure_are_left_out() -> None:
    rows = [{"a": 1, "b": None, "c": "x"}, {"a": 2.5, "b": None, "c": "y"}]
    assert page.markdown(rows) == "| a | c |\n| ---: | --- |\n| 1 | x |\n| 2.5 | y |"


def test_papers_have_a_figure_or_a_reason() -> None:
    items = [item for paper in papers.papers() for item in paper["item"]]
    assert len(papers.papers()) == 5
    assert len(items) > 40
    for item in items:
        assert ("missing" in item) != ("result" in item), item["what"]
        if "at" in item and not isinstance(item["paper"], str):
            assert len(item["at"]) == len(item["paper"]), item["what"]


def test_our_figures_of_a_paper() -> None:
    rows = [
        {"model": "a", "K": 2, "p": 4.0},
        {"model": "a", "K": 2, "p": 6.0},
        {"model": "a", "K": 3, "p": 2.0},
        {"model": "b", "K": 2, "p": 9.0},
    ]
    item = {"part": "rows", "where": {"model": "a"}, "value": "p", "by": "K", "at": [2, 3, 4]}
    found = {"rows": rows}
    assert papers.ours(item, found) == [5.0, 2.0, None]
    assert papers.ours(item | {"how": "max"}, found) == [6.0, 2.0, None]
    relative = item | {"relative_to": {"model": "b"}}
    assert papers.ours(relative, found) == [pytest.approx(5 / 9), pytest.approx(2 / 9), None]
    several = {"part": "rows", "where": {"K": 3}, "values": ["p", "q"]}
    assert papers.ours(several, found) == [2.0, None]
    assert papers.ours(several | {"less": {"model": "b"}}, found) == [-7.0, None]
    assert papers.ours(item, None) == [None, None, None]


def test_scripts_named_in_the_documentation_exist() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    named = {
        (page.name, script)
        for page in pages
        if page.name != "benchmarks.md"
        for script in re.findall(r"benchmarks/([\w/]+\.py)", page.read_text(encoding="utf-8"))
    }
    assert len(named) > 3
    assert [one for one in named if not (BENCHMARKS / one[1]).exists()] == []


def test_the_guides_say_what_the_results_say() -> None:
    assert quotes.outdated() == [], "run: python benchmarks/run.py quotes"


def test_a_guide_that_says_something_else_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"model": "DTM", "times": 2.04}, {"model": "aspect", "times": 4.0}]
    write(tmp_path, "speed", sweeps=rows, ratio=0.5)
    item = {"result": "speed", "part": "sweeps", "where": {"model": "DTM"}, "value": "times"}
    percent = item | {"over": {"model": "aspect"}, "scale": -100, "plus": 100}
    quote = {"page": "guide.md", "says": "takes {:.1f} times, {:.0f} % less, {:.1f}, {:.1f}"}
    figures = [item, percent, {"result": "speed", "part": "ratio"}, item | {"value": "absent"}]
    monkeypatch.setattr(quotes, "quotes", lambda: [quote | {"figures": figures}])
    guide = tmp_path / "guide.md"
    guide.write_text("A sweep takes 2.0 times,\n49 % less, 0.5, – and so on.", encoding="utf-8")
    assert quotes.outdated(tmp_path, tmp_path) == []
    guide.write_text("A sweep takes 1.7 times, 49 % less, 0.5, –.", encoding="utf-8")
    said = "takes 2.0 times, 49 % less, 0.5, –"
    assert quotes.outdated(tmp_path, tmp_path) == [("guide.md", said)]


def test_a_quote_of_rows_that_are_gone_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, "speed", sweeps=[{"model": "DTM", "times": 2.0}])
    item = {"result": "speed", "part": "sweeps", "where": {"model": "gone"}, "value": "times"}
    with pytest.raises(LookupError, match=r"speed\.json, sweeps: no row has .*gone"):
        list(quotes.cells(item, tmp_path))
    with pytest.raises(FileNotFoundError, match=r"other\.json is not in"):
        list(quotes.cells(item | {"result": "other"}, tmp_path))
