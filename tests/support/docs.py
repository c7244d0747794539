"""The examples of a page, and what they leave behind when they run."""

import contextlib
import io
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[str, str]]:
    return FENCE.findall(page.read_text(encoding="utf-8"))


def steps(page: Path) -> list[tuple[str, str | None, bool]]:
    """Examples of a page: code, what it prints where the page says so, and whether that varies."""
    found = list(FENCE.finditer(page.read_text(encoding="utf-8")))
    made: list[tuple[str, str | None, bool]] = []
    for i, match in enumerate(found):
        if match[1] != "python":
            continue
        after = found[i + 1] if i + 1 < len(found) and found[i + 1][1] == "text" else None
        between = match.string[match.end() : after.start()] if after else ""
        varies = between.strip() == "<!-- varies -->"
        made.append(
            (match[2], after[2] if after and (varies or not between.strip()) else None, varies)
        )
    return made


def run_page(page: Path) -> dict[str, Any]:
    """What the examples of a page leave behind, run one after the other; what they print is so."""
    names: dict[str, Any] = {"__name__": page.stem.replace("-", "_")}
    for code, said, varies in steps(page):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, page.name, "exec"), names)
        if said is not None and not varies:
            assert out.getvalue() == said
        elif said is not None:
            # Words and numbers are those of installed versions; what kind of answer it is, is not.
            assert kind(out.getvalue()) == kind(said)
    return names


def kind(answer: str) -> str:
    return re.sub(r"[\d.,]+", "#", answer.split()[0])
