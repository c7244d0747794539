"""Tables for other programs, as files."""

import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from isotherm import AspectModel, Counts, IsothermError
from isotherm.io.tables import write_table

ODD = ["=1+1", "+plus", "-minus", "@at", "\ttab", 'quo"te, comma', "two\nlines", "日本", "a\ud800"]
COLUMNS: dict[str, Any] = {
    "word": ODD,
    "number": np.arange(9),
    "share": np.array([np.nan, *np.linspace(-1, 1, 8)]),
    "maybe": [None, *range(8)],
}


def test_csv_is_read_back_and_holds_no_formula(tmp_path: Path) -> None:
    path = write_table(tmp_path / "a.csv", COLUMNS, "csv")
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == list(COLUMNS)
    words = [row[0] for row in rows]
    assert words[:5] == [f"'{word}" for word in ODD[:5]]
    assert words[5:] == [*ODD[5:8], "a?"]
    # Numbers below 0 stay numbers.
    assert [float(row[2]) for row in rows[1:]] == COLUMNS["share"][1:].tolist()
    assert [row[3] for row in rows] == ["", *map(str, range(8))]
    frame = pd.read_csv(path)
    assert frame["share"].tolist()[1:] == COLUMNS["share"][1:].tolist()


def test_json_is_a_list_of_lines_without_what_json_lacks(tmp_path: Path) -> None:
    path = write_table(tmp_path / "a.json", COLUMNS, "json")
    found = json.loads(path.read_text(encoding="utf-8"))
    assert [one["word"] for one in found] == [*ODD[:8], "a?"]
    assert found[0] == {"word": "=1+1", "number": 0, "share": None, "maybe": None}
    assert "日本" in path.read_text(encoding="utf-8")
    assert json.loads(write_table(tmp_path / "b.json", {"x": []}, "json").read_text()) == []


def test_parquet_is_read_back(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = write_table(tmp_path / "a.parquet", COLUMNS, "parquet")
    frame = pd.read_parquet(path)
    assert frame["word"].tolist() == [*ODD[:8], "a?"]
    assert frame["number"].tolist() == list(range(9))
    assert frame["share"].tolist()[1:] == COLUMNS["share"][1:].tolist()
    assert frame["maybe"].isna().tolist() == [True, *[False] * 8]


@pytest.fixture(scope="module")
def model() -> AspectModel:
    counts = Counts(np.eye(4, 6) + 1, column_names=["=a", *"bcdef"])
    return AspectModel(2, random_state=0).fit(counts)


def test_a_model_exports_by_the_ending_or_the_format(model: AspectModel, tmp_path: Path) -> None:
    path = model.export(tmp_path / "words.csv", "words", n_words=2)
    frame = pd.read_csv(path)
    assert len(frame) == 4
    assert (
        frame["probability"].tolist() == model.to_frame("words", n_words=2)["probability"].tolist()
    )
    other = model.export(tmp_path / "table", "components", format="json")
    found = json.loads(other.read_text())
    assert [one["topic 1"] for one in found] == model.components_[1].tolist()
    assert found[0]["word"] == "=a"
    # An older file makes way.
    model.export(path, "topics")
    assert pd.read_csv(path)["topic"].tolist() == [0, 1]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["table", "words.csv"]


def test_unknown_formats_and_places_are_refused(model: AspectModel, tmp_path: Path) -> None:
    with pytest.raises(IsothermError, match="csv, json, parquet"):
        model.export(tmp_path / "a.xlsx")
    with pytest.raises(IsothermError, match="format='xls'; the formats of tables are csv"):
        model.export(tmp_path / "a.csv", format="xls")
    with pytest.raises(IsothermError, match="folder"):
        model.export(tmp_path / "missing" / "a.csv")
    assert list(tmp_path.iterdir()) == []


def test_parquet_without_pyarrow_leaves_nothing(
    model: AspectModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(IsothermError, match=r"isotherm\[parquet\], or write the table as .csv"):
        model.export(tmp_path / "a.parquet")
    assert list(tmp_path.iterdir()) == []
