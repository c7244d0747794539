"""What the guide quotes of a first fit is what a first fit prints, on a screen of 80 columns."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from isotherm import cli

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
QUOTED = re.compile(r"^```text\n(isotherm fit .*?)^```$", re.MULTILINE | re.DOTALL)
WIDTH = 80
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
# Figures of other processors differ in their last digits.
NEARLY = 0.02


def quotes() -> list[tuple[str, list[str]]]:
    """Commands of the guide, each with the lines that it prints."""
    blocks = [block.rstrip().split("\n") for block in QUOTED.findall(PAGE.read_text("utf-8"))]
    return [(lines[0], lines[2:]) for lines in blocks]


def words_and_numbers(line: str) -> tuple[list[str], list[float]]:
    """The words of a line in any order, and its numbers; seconds are not compared."""
    line = re.sub(r", [\d.]+ s\)", ")", line)
    numbers = [float(one.replace(",", "")) for one in NUMBER.findall(line)]
    return sorted(NUMBER.sub("#", line).split()), numbers


def test_the_guide_quotes_two_fits_that_fit_a_narrow_screen() -> None:
    found = quotes()
    assert [command.split()[2] for command, _ in found] == ["ap.jsonl.gz", "docstrings.jsonl"]
    for _, lines in found:
        # The summary of what was counted is a line of the log, as long as it is.
        assert max(len(line) for line in lines[1:]) <= WIDTH
        assert [line.split(" ")[0] for line in lines[-4:]] == ["next:"] * 4


def test_a_first_fit_prints_what_the_guide_quotes(
    shared_data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command, expected = quotes()[0]
    shutil.copyfile(shared_data / "ap" / "text.jsonl.gz", tmp_path / "ap.jsonl.gz")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    assert cli.main(shlex.split(command)[1:]) == 0
    printed = capsys.readouterr().out.rstrip().split("\n")
    assert len(printed) == len(expected)
    for line, quoted in zip(printed, expected, strict=True):
        words, numbers = words_and_numbers(line)
        known, figures = words_and_numbers(quoted)
        assert words == known
        assert numbers == pytest.approx(figures, rel=NEARLY)
