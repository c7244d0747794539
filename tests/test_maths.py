"""The pages of mathematics hold what the code cites, name what exists, and use plain LaTeX."""

import ast
import importlib
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "isotherm"
FOLDER = ROOT / "docs" / "maths"
PAGES = sorted(FOLDER.glob("*.md"))

CHOI = ["annealing", "document-mixture", "evaluation", "gtm"]
HUH_FIENBERG = ["linked"]
HOFMANN_PUZICHA = [
    *("annealing", "aspect", "hierarchy", "leave-one-out", "one-sided"),
    *("retrieval", "segmentation", "two-sided"),
]
# The page of each model. Numbers that a model cites stand there.
PAGE_OF = {
    "aspect": "aspect",
    "cluster": "one-sided",
    "document": "document-mixture",
    "dtm": "linked",
    "gtm": "gtm",
    "gtm_curvature": "gtm",
    "hierarchy": "hierarchy",
    "lap_plsi": "linked",
    "lda": "clustering-projection",
    "leave_one_out": "leave-one-out",
    "linked": "linked",
    "ltm": "linked",
    "own_words": "own-words",
    "pcp": "clustering-projection",
    "projection": "clustering-projection",
    "row_mixture": "one-sided",
    "segments": "segmentation",
    "tied": "segmentation",
    "ttmm": "clustering-projection",
    "two_sided": "two-sided",
}
# Functions of a model, and the part of its page with their formulas.
STEPS = {"expect": "E-step", "maximize": "M-step"}
# Modules of `models` that are no models.
PARTS = {"__init__", "base", "dirichlet", "grid"}

CITED = re.compile(r"\b[Ee]qs?\.\s+(\d[\d.]*(?:(?:\s*,\s*|\s+and\s+|\s*-\s*)\d[\d.]*)*)")
TAG = re.compile(r"\\tag\{([^}]*)\}")
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$(.+?)\$", re.DOTALL)
# What converters to MathML know, and what a code host shows: nothing that Markdown would unescape.
COMMANDS = set(
    """
    alpha beta gamma delta epsilon eta theta kappa lambda mu nu pi rho sigma tau phi psi omega
    Gamma Delta Phi Psi
    frac sqrt sum prod int log exp max min left right mathrm mathbb hat bar tag quad
    ldots cos det le ge ne propto approx infty in to pm times cdot otimes mid top partial sim
    """.split()
)


class Citation(NamedTuple):
    """A number that a module cites."""

    module: str
    number: str


def numbers(text: str) -> list[str]:
    """The numbers of a list such as "1-3, 7 and 9"."""
    found: list[str] = []
    for part in re.split(r"\s*,\s*|\s+and\s+", text.strip().rstrip(".")):
        first, _, last = (piece.strip().rstrip(".") for piece in part.partition("-"))
        if last and "." not in first:
            found += map(str, range(int(first), int(last) + 1))
        else:
            found += [one for one in (first, last) if one]
    return found


def prose(path: Path) -> Iterator[str]:
    """Strings and comments of a module that cites anything, each on one line."""
    text = path.read_text(encoding="utf-8")
    if not re.search(r"\b[Ee]qs?\.\s", text):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield " ".join(node.value.split())
    with tokenize.open(path) as lines:
        found = list(tokenize.generate_tokens(lines.readline))
    yield " ".join(token.string.lstrip("# ") for token in found if token.type == tokenize.COMMENT)


def citations() -> list[Citation]:
    return [
        Citation(path.relative_to(SOURCES).with_suffix("").as_posix(), number)
        for path in sorted(SOURCES.rglob("*.py"))
        for text in prose(path)
        for listed in CITED.findall(text)
        for number in numbers(listed)
    ]


def text_of(page: str) -> str:
    return (FOLDER / f"{page}.md").read_text(encoding="utf-8")


def tags(page: str) -> list[str]:
    return TAG.findall(text_of(page))


def pages_for(citation: Citation) -> list[str]:
    """Where the number should be: on the page of the model, else on those of the paper."""
    folder, _, name = citation.module.rpartition("/")
    if folder == "models" and name in PAGE_OF:
        # What all models share is on the page of annealing.
        return [PAGE_OF[name], "annealing"]
    return CHOI if "." in citation.number else HOFMANN_PUZICHA


def test_lists_of_numbers() -> None:
    assert numbers("1-3, 7 and 9") == ["1", "2", "3", "7", "9"]
    assert numbers("4.14") == ["4.14"]
    assert CITED.findall("(eqs. 42-45, 48), by eq. 4.14. Then eq. 40.") == [
        "42-45, 48",
        "4.14.",
        "40.",
    ]


def test_every_number_that_the_code_cites_is_on_its_page() -> None:
    found = citations()
    assert len(found) > 60
    assert Citation("anneal/heldout", "4.14") in found
    missing = [c for c in found if not any(c.number in tags(page) for page in pages_for(c))]
    assert missing == []


def test_every_number_that_the_guides_cite_is_on_a_page() -> None:
    known = {tag for page in {*CHOI, *HOFMANN_PUZICHA} for tag in tags(page)}
    guides = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    found = {
        (guide.name, number)
        for guide in guides
        for listed in CITED.findall(" ".join(guide.read_text(encoding="utf-8").split()))
        for number in numbers(listed)
    }
    assert {("retrieval.md", "49"), ("retrieval.md", "50"), ("architecture.md", "48")} <= found
    assert [one for one in found if one[1] not in known] == []


def steps() -> Iterator[tuple[str, str, str]]:
    """Numbers that `expect` and `maximize` of a model cite: module, function, number."""
    for module in PAGE_OF:
        path = SOURCES / "models" / f"{module}.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name in STEPS:
                said = " ".join((ast.get_docstring(node) or "").split())
                for listed in CITED.findall(said):
                    yield from ((module, node.name, number) for number in numbers(listed))


def test_steps_cite_the_formulas_of_their_part_of_the_page() -> None:
    found = [one for one in steps() if f"## {STEPS[one[1]]}\n" in text_of(PAGE_OF[one[0]])]
    assert len(found) >= 12
    wrong = []
    for module, function, number in found:
        parts = text_of(PAGE_OF[module]).split("\n## ")
        own = [part for part in parts if part.startswith(STEPS[function])]
        if number not in TAG.findall("".join(own)):
            wrong.append((module, function, number))
    # The columns of two-sided clustering have their E-step where the rows have their M-step.
    assert wrong == [("two_sided", "maximize", "31")]


@pytest.mark.parametrize("page", [path.stem for path in PAGES])
def test_no_number_stands_twice_on_a_page(page: str) -> None:
    found = tags(page)
    assert sorted(set(found)) == sorted(found)


def test_papers_of_counts_number_nothing_twice_but_on_purpose() -> None:
    """A number of Hofmann & Puzicha means one formula, whatever the page."""
    found = [tag for page in HOFMANN_PUZICHA for tag in tags(page)]
    assert [tag for tag in {*found} if found.count(tag) > 1] == []
    assert sorted(map(int, (tag for tag in found if tag.isdigit()))) == list(range(1, 58))


def test_every_model_has_a_page_that_names_it() -> None:
    modules = {path.stem for path in (SOURCES / "models").glob("*.py")}
    assert modules - PARTS == set(PAGE_OF)
    unnamed = [m for m, page in PAGE_OF.items() if f"`models.{m}." not in text_of(page)]
    assert unnamed == []


def named(path: Path) -> list[str]:
    """Dotted names of the package: of a module within it, or public ones."""
    rooms = "anneal|data|estimators|evaluate|images|isotherm|kernels|maps|models|retrieval"
    return re.findall(rf"`((?:{rooms})\.[\w.]+)`", path.read_text(encoding="utf-8"))


def resolved(name: str) -> Any:
    """Whatever a dotted name within the package means."""
    parts = ["isotherm", *name.removeprefix("isotherm.").split(".")]
    for end in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        if end == 1 and parts[1] not in value.__all__:
            break
        for part in parts[end:]:
            fields = getattr(value, "__dataclass_fields__", {})
            value = fields[part] if part in fields else getattr(value, part)
        return value
    raise AssertionError(f"no module in {name}")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_functions_that_are_named_exist(path: Path) -> None:
    if path.stem != "index":
        assert len(named(path)) >= 4
    for name in named(path):
        resolved(name)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_tests_that_are_named_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    files = re.findall(r"`(tests/[\w/]+\.py)`", text)
    code = "\n".join((ROOT / name).read_text(encoding="utf-8") for name in files)
    names = re.findall(r"`(test_\w+)`", text)
    if path.stem != "index":
        assert len(names) >= 2
    assert [name for name in names if not re.search(rf"^def {name}\(", code, re.MULTILINE)] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_formulas_are_plain(path: Path) -> None:
    text = re.sub(r"`[^`\n]*`", "", path.read_text(encoding="utf-8"))
    assert text.count("$$") % 2 == 0
    assert text.count("$") % 2 == 0
    for display, inline in FORMULA.findall(text):
        formula = display or inline
        assert set(re.findall(r"\\([A-Za-z]+)", formula)) <= COMMANDS, formula
        assert not re.search(r"\\[^A-Za-z]", formula), formula
        assert formula.count("{") == formula.count("}"), formula
        assert formula.count(r"\left") == formula.count(r"\right"), formula
        assert "](" not in formula, formula  # would be taken for a link
        if inline:
            assert "\n" not in inline, formula
            assert inline == inline.strip(), formula
            assert not TAG.search(inline), formula
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert not [row for row in rows for _, m in FORMULA.findall(row) if "|" in m]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_pages_have_one_title_and_the_parts_that_the_index_promises(path: Path) -> None:
    headings = re.findall(r"^(#+) (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert [level for level, _ in headings].count("#") == 1
    assert headings[0][0] == "#"
    if path.stem != "index":
        assert {"In the code", "Checked by"} <= {title for _, title in headings}


def test_the_index_lists_every_page_twice() -> None:
    """Once for the site, once for those who read it on a code host."""
    text = text_of("index")
    others = [path.stem for path in PAGES if path.stem != "index"]
    tree = text.partition("```{toctree}")[2].partition("```")[0]
    assert sorted(re.findall(r"^[a-z-]+$", tree, re.MULTILINE)) == others
    assert sorted(re.findall(r"^\| \[([\w-]+)\]\(\1\.md\)", text, re.MULTILINE)) == others
