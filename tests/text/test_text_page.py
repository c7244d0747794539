"""The examples of docs/text.md print what they say."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from isotherm.text.kinds import BAGS, DOCUMENTS

PAGE = Path(__file__).parents[2] / "docs" / "text.md"
PAIR = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_examples_print_what_they_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    pairs = PAIR.findall(text)
    assert len(pairs) == text.count("```python") == 16
    names: dict[str, object] = {}
    for code, expected in pairs:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, "text.md", "exec"), names)
        assert out.getvalue() == expected


@pytest.mark.parametrize("kind", [*DOCUMENTS, *BAGS])
def test_every_format_is_described(kind: str) -> None:
    assert f'"{kind}"' in PAGE.read_text(encoding="utf-8")
