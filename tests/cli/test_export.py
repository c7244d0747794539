"""`isotherm export`: what a run knows, as files."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from isotherm import load
from isotherm.cli.options import TABLES
from isotherm.estimators.tables import WHAT
from isotherm.io.tables import FORMATS


def test_the_options_are_those_of_the_library(grown: Path, tmp_path: Path, fails: Any) -> None:
    assert TABLES == WHAT
    for name in FORMATS:
        assert name in fails("export", grown, "-o", tmp_path / "a.xls")
    said = fails("export", grown, "-o", tmp_path / "a.csv", "--what", "topic", status=2)
    assert all(f"'{what}'" in said for what in WHAT)


@pytest.mark.parametrize("what", WHAT)
def test_tables_of_a_run(what: str, grown: Path, tmp_path: Path, say: Any) -> None:
    out = tmp_path / "table.csv"
    found = say("export", grown, "--what", what, "-n", "4", "-o", out, "--json")
    with out.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert (found["lines"], found["columns"]) == (len(rows), head)
    model = load(grown / "model.iso")
    if what == "documents":
        assert [row[0] for row in rows] == [f"d{i}" for i in range(60)]
    if what == "topics":
        assert [row[head.index("words")].split() for row in rows] == model.top_words(4)


def test_files_are_replaced_by_force_alone(
    grown: Path, tmp_path: Path, say: Any, fails: Any
) -> None:
    out = tmp_path / "table"
    out.write_text("mine")
    words = ("export", grown, "-o", out, "--format", "json")
    assert "--force" in fails(*words)
    assert out.read_text() == "mine"
    assert say(*words, "--force").startswith(f"{out}: topics, ")
    n_topics = len(load(grown / "model.iso").weights_)
    assert len(json.loads(out.read_text())) == n_topics
