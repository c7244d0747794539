"""Every command of docs/command-line.md and of the README runs."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from isotherm import cli, load_docstrings
from isotherm.images import files
from support.cli import write_stories
from support.corpora import two_waves
from support.endpoint import serving

ROOT = Path(__file__).parents[2]
# Where the page has a language model.
ADDRESS = "http://localhost:11434/v1"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    found = FENCE.findall(page.read_text(encoding="utf-8"))
    return [text for name, text in found if name == language]


def commands(texts: list[str]) -> list[list[str]]:
    lines = [line for text in texts for line in text.splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("isotherm ")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda url: True)
    monkeypatch.setattr("isotherm.viewer.server.serving.LocalServer.run", lambda server: None)
    return tmp_path


def test_commands_of_the_page_run(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("matplotlib", "skimage", "uvicorn"):
        pytest.importorskip(name)
    some = load_docstrings(["numba"])
    monkeypatch.setattr("isotherm.load_docstrings", lambda: some)
    page = ROOT / "docs" / "command-line.md"
    write_stories(folder / "articles.jsonl", 45)
    write_stories(folder / "others.jsonl", 9, seed=1)
    (folder / "queries.jsonl").write_text(json.dumps({"id": "q", "text": "ship"}))
    (folder / "qrels.txt").write_text("q 0 d0 1\n")
    pixels = np.uint8(np.clip(100 + 60 * two_waves(), 0, 255))
    files.write_image(folder / "photo.png", np.repeat(pixels[:, :, None], 3, axis=2))
    (config,) = blocks(page, "toml")
    (folder / "run.toml").write_text(config)
    found = commands(blocks(page, "sh"))
    assert {words[0] for words in found} == set(cli.VERBS)
    with serving() as service:
        for words in found:
            words = [service.url if word == ADDRESS else word for word in words]
            assert cli.main(words) == 0, (words, capsys.readouterr().err)
    headings = re.findall(r"^## (\w+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(headings) == sorted(cli.VERBS)
    topics = [
        json.loads((folder / f"{name}.run/run.json").read_text()) for name in ("four", "five")
    ]
    assert [one["topics"] for one in topics] == [4, 5]


def test_the_walk_of_the_readme_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.partition("\n## From the command line\n")[2].partition("\n## ")[0]
    found = commands([body for name, body in FENCE.findall(section) if name == "sh"])
    assert [words[0] for words in found] == ["count", "fit", "topics", "search", "map"]
    source = folder / found[0][1]
    source.parent.mkdir(parents=True, exist_ok=True)
    plain = write_stories(folder / "plain.jsonl", 45)
    import gzip

    source.write_bytes(gzip.compress(plain.read_bytes()))
    for words in found:
        words = ["ship" if "oil" in word else word for word in words]
        assert cli.main(words) == 0, (words, capsys.readouterr().err)
