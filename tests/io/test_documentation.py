"""The examples of docs/files.md, one after the other."""

import re
from pathlib import Path

import pytest

from isotherm.format import archive, codec

PAGE = Path(__file__).parents[2] / "docs" / "files.md"


def test_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert len(found) == 3
    names: dict[str, object] = {}
    for code in found:
        exec(compile(code, "files.md", "exec"), names)
    assert [one.name for one in tmp_path.iterdir()] == ["model.iso"]


def test_all_tags_and_kinds_are_described() -> None:
    text = PAGE.read_text("utf-8")
    for name in codec.Reader._TAGS:
        assert re.search(rf"^\| .*`{name}`", text, re.MULTILINE), name
    for name in archive.KINDS:
        assert f'`"{name}"`' in text
    assert f"| `version` | {archive.VERSION};" in text
