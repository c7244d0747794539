"""What the documentation says is so: examples run, links lead somewhere, names exist."""

import contextlib
import io
import re
from pathlib import Path

import pytest

import isotherm
from isotherm.data.base import Data
from isotherm.kernels.base import Kernels
from isotherm.models.base import Model

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    ROOT / "benchmarks" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[tuple[str, str]]:
    return FENCE.findall(page.read_text(encoding="utf-8"))


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def run(code: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "README.md", "exec"), {})
    return out.getvalue()


@pytest.mark.parametrize("example", [0, 2])
def test_examples_of_the_readme_print_what_they_say(example: int) -> None:
    found = blocks(ROOT / "README.md")
    places = [i for i, (language, _) in enumerate(found) if language == "python"]
    assert len(places) == 3
    at = places[example]
    assert found[at + 1][0] == "text"
    assert run(found[at][1]) == found[at + 1][1]


def test_second_example_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [code for language, code in blocks(ROOT / "README.md") if language == "python"]
    second = found[1]
    small = isotherm.load_docstrings(["numpy"])
    monkeypatch.setattr(isotherm, "load_docstrings", lambda: small)
    monkeypatch.chdir(tmp_path)
    said = re.match(r"AspectModel: (\d+) components", run(second))
    assert said
    assert 35 <= int(said[1]) <= 40
    assert sorted(p.name for p in tmp_path.iterdir()) == ["docstrings.html", "path.svg"]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    broken = []
    for link in LINK.findall(text):
        if re.match(r"https?://", link):
            continue
        name, _, part = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists():
            broken.append(link)
        elif part:
            headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            if part not in map(anchor, headings):
                broken.append(link)
    assert broken == []


def test_every_public_name_is_documented() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    missing = [name for name in isotherm.__all__ if not re.search(rf"\b{name}\b", text)]
    assert missing == []


@pytest.mark.parametrize("contract", [Model, Kernels, Data], ids=lambda c: c.__name__)
def test_contracts_are_described_in_full(contract: type) -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    names = [name for name in vars(contract) if not name.startswith("_")]
    assert len(names) > 3
    undescribed = {"prepare", "dtype"}  # of no interest to a reader of the map
    assert [n for n in names if n not in undescribed and not re.search(rf"\b{n}\b", text)] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_code_that_is_named_exists(page: Path) -> None:
    """Names in code style that look like paths of the repository."""
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"`((?:src|tests|benchmarks|docs)/[\w./-]*)`", text)
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_benchmark_is_listed() -> None:
    folder = ROOT / "benchmarks"
    scripts = {path.name for path in folder.glob("*.py") if not path.name.startswith("_")}
    listed = re.findall(
        r"^\| `(\w+\.py)` \|", (folder / "README.md").read_text("utf-8"), re.MULTILINE
    )
    assert sorted(listed) == sorted(scripts)
