"""What the documentation says is so: examples run, links lead somewhere, names exist."""

import ast
import contextlib
import io
import pydoc
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import isotherm
from isotherm import evaluate
from isotherm.kernels.base import Kernels
from isotherm.models.base import Model
from isotherm.placement.base import Data
from support.docs import FENCE, ROOT, blocks, run_page

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    ROOT / "benchmarks" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
LINK = re.compile(r"\]\(([^)\s]+)\)")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


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
    levels, said = run(second).split("\n", 1)
    numbers = [int(number) for number in re.findall(r"Level\((\d+) components", levels)]
    assert said.startswith(f"AspectModel: {numbers[0]} components")
    assert numbers[0] < 10
    assert 35 <= numbers[-1] <= 40
    assert sorted(p.name for p in tmp_path.iterdir()) == ["docstrings.html", "path.svg"]


def test_the_tutorial_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = run_page(ROOT / "docs" / "tutorial.md")
    assert 10 < names["model"].n_components_ <= 20
    assert 1 < names["coarse"].n_components_ < 10
    assert names["few"].n_components_ == 10
    assert names["chosen"].heldout < 0.6 * names["hot"].heldout
    made = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert sorted(made) == ["map.svg", "numpy.html", "numpy.iso", "path.svg"]
    assert min(made.values()) > 10_000


@pytest.mark.parametrize("page", ["annealing-path.md", "editing.md", "exports.md", "maps.md"])
def test_guides_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(run_page(ROOT / "docs" / page)) > 8


def test_shares_at_one_are_read_as_the_guide_says() -> None:
    found = blocks(ROOT / "docs" / "choosing.md")
    (code,) = [code for _, code in found if "temperature_ = 1.0" in code]
    counts = np.repeat(np.kron(np.eye(2, dtype=int), np.full(4, 9)), [6, 2], axis=0)
    model = isotherm.AspectModel(2, n_jobs=1, random_state=0).fit(counts)
    names = {"model": model, "counts": counts}
    before = model.temperature_
    exec(compile(code, "choosing.md", "exec"), names)
    assert sorted(names["shares"]) == pytest.approx([0.25, 0.75], abs=0.01)
    assert model.temperature_ == before > 1.0


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


# The site ----------------------------------------------------------------------------------------

SITE = ROOT / "docs"
TOCTREE = re.compile(r"^```\{toctree\}\n(?::[^\n]*\n)*\n?(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = sorted((SITE / "examples").glob("*.py"))


def entries(page: Path) -> list[Path]:
    """Pages that the toctrees of a page name."""
    found = []
    for body in TOCTREE.findall(page.read_text(encoding="utf-8")):
        for line in body.splitlines():
            name = re.sub(r".*<(.*)>", r"\1", line.strip())
            found.append(page.parent / f"{name}.md")
    return found


def test_every_page_of_the_site_is_reached_from_its_first() -> None:
    seen, waiting = set(), [SITE / "index.md"]
    while waiting:
        page = waiting.pop()
        if page in seen or page == SITE / "auto_examples" / "index.md":  # made by the build
            continue
        seen.add(page)
        waiting += entries(page)
    pages = {page for page in SITE.rglob("*.md") if "auto_examples" not in page.parts}
    assert seen == pages


def test_pages_that_include_others_include_what_exists() -> None:
    for page in ("contributing", "changelog", "benchmark-scripts"):
        text = (SITE / f"{page}.md").read_text(encoding="utf-8")
        assert (SITE / re.findall(r"\{include\} (\S+)", text)[0]).is_file()


def test_the_reference_has_every_public_name_once() -> None:
    text = (SITE / "api" / "index.md").read_text(encoding="utf-8")
    listed = re.findall(r"^   ([\w.]+)$", text, re.MULTILINE)
    public = [*isotherm.__all__, *(f"evaluate.{name}" for name in evaluate.__all__)]
    assert len(listed) == len(set(listed))
    assert sorted(name for name in public if name not in listed) == []
    for name in listed:
        value = pydoc.locate(f"isotherm.{name}")
        assert value is not None, name
        assert value.__doc__, name


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_has_a_title_and_public_names_only(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    title, line, *_ = (ast.get_docstring(tree) or "").splitlines()
    assert path.stem.startswith("plot_")
    assert line == "=" * len(title)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("isotherm"):
            home = import_module(str(node.module))
            assert [alias.name for alias in node.names if alias.name.startswith("_")] == []
            for alias in node.names:
                assert hasattr(home, alias.name) or import_module(f"{node.module}.{alias.name}")


def test_every_example_has_its_place() -> None:
    text = (SITE / "_ext" / "gallery.py").read_text(encoding="utf-8")
    order = re.search(r'ORDER = """(.*?)"""', text, re.DOTALL)
    assert order
    assert sorted(f"plot_{name}" for name in order[1].split()) == [path.stem for path in EXAMPLES]


def test_figures_on_pages_come_from_examples() -> None:
    named = [
        name
        for page in SITE.glob("*.md")
        for name in re.findall(r"<!-- figure: (\w+) \d+ \| .+? -->", page.read_text("utf-8"))
    ]
    assert named
    assert set(named) <= {path.stem for path in EXAMPLES}


def test_every_formula_becomes_mathml(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("latex2mathml")
    monkeypatch.syspath_prepend(str(SITE / "_ext"))
    from formulas import TAG, mathml

    n_formulas = 0
    for page in SITE.rglob("*.md"):
        text = re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text(encoding="utf-8")))
        for display, inline in re.findall(r"\$\$(.+?)\$\$|\$([^$]+)\$", text, re.DOTALL):
            made = mathml(TAG.sub("", display or inline), display=bool(display))
            assert made.startswith("<math")
            n_formulas += 1
    assert n_formulas > 500
    # Names of functions stand apart from what they meet, but not inside an index.
    spaced = mathml(r"n \log x_\max", display=False)
    assert re.sub(r"</?m[a-z]+[^>]*>", "", spaced.replace("<mspace", " <mspace")) == "n log xmax"
    assert "<msub><mi>x</mi><mo>max</mo></msub>" in spaced
    with pytest.raises(ValueError, match=r"\\nonsense"):
        mathml(r"x + \nonsense{y}", display=False)
