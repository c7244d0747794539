"""Options from files."""

from pathlib import Path
from typing import Any

import pytest

from isotherm.cli import parser
from isotherm.cli.verbs import count, fit

FILE = """
[count]
min_df = 3
stop-words = "none"
lowercase = false
text_column = ["title", "text"]

[fit]
topics = 5
min_df = 4
model = "clusters"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "run.toml"
    path.write_text(FILE)
    return path


def test_the_command_line_wins(file: Path) -> None:
    words = ["a.jsonl", "--config", str(file)]
    found = parser.parsed("count", count.add_arguments, words)
    assert (found.min_df, found.stop_words, found.lowercase) == (3, "none", False)
    assert found.text_column == "title,text"
    assert found.given >= {"min_df", "stop_words", "lowercase", "source"}
    assert found.typed == {"source", "config"}
    words += ["--min-df", "7", "--lowercase"]
    found = parser.parsed("count", count.add_arguments, words)
    assert (found.min_df, found.stop_words, found.lowercase) == (7, "none", True)
    assert found.typed == {"source", "config", "min_df", "lowercase"}


def test_fit_reads_how_to_count_as_well(file: Path) -> None:
    found = parser.parsed("fit", fit.add_arguments, [f"--config={file}", "a.jsonl"])
    assert (found.topics, found.min_df, found.model) == (5, 4, "clusters")
    assert found.stop_words == "none"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[fit]\ntopcs = 3",
            "'topcs', which is no option of isotherm fit (did you mean 'topics'?)",
        ),
        ("[fitt]\ntopics = 3", "'fitt', which is no table of a verb (did you mean 'fit'?)"),
        ("topics = 3", "'topics', which is no table"),
        ("[fit]\ntopics = ", "no valid TOML"),
        ("[fit]\nconfig = 'x'", "'config', which is no option"),
        ("[fit]\ntopics = true", "topics in [fit]"),
        ("[fit]\nstrict = 'yes'", "give true or false"),
        ("[fit]\ntopics = {a = 1}", "give a number or text"),
    ],
)
def test_files_that_cannot_be_used(
    text: str, message: str, tmp_path: Path, stories: Path, fails: Any
) -> None:
    path = tmp_path / "run.toml"
    path.write_text(text)
    assert message in fails("fit", stories, "--config", path)


def test_a_bad_value_is_wrong_usage(tmp_path: Path, stories: Path, fails: Any) -> None:
    path = tmp_path / "run.toml"
    path.write_text("[fit]\ntopics = 'many'")
    said = fails("fit", stories, "--config", path, status=2)
    assert "'many' is not 'auto', 'predict' or" in said
    assert f"(on the command line or in {path})" in said
    assert "there is no file" in fails("fit", stories, "--config", tmp_path / "none.toml")


def test_what_is_required_may_stand_in_the_file(tmp_path: Path, grown: Path, say: Any) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "m.map"
    path = tmp_path / "run.toml"
    path.write_text(f"[map]\nout = '{out}'")
    say("map", grown, "--config", path)
    assert out.exists()
