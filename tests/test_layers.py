"""Who imports whom, and a few limits on size: the shape of the library as a test."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.source import SRC, Import, circle, imports, inside, module_name, room, room_edges

TESTS = Path(__file__).parent

# Lowest first. A folder, or a module beside the folders, imports from its own line and the lines
# before it. "" is `isotherm` itself.
LAYERS = (
    ("errors", "_types", "_checks", "_markup", "_nested", "tree", "format"),
    ("data",),
    ("kernels",),
    ("placement", "graph"),
    ("models",),
    ("anneal",),
    ("estimators",),
    ("datasets", "evaluate", "images", "io", "maps", "naming", "retrieval", "text"),
    ("plots", "viewer"),
    ("cli", "", "__main__"),
)
# From this line on, a function may import from above: `model.save(...)`, `result.save_html(...)`.
CONVENIENCE = "estimators"

# Package from outside -> the only places that may import it.
ONLY_IN = {
    "Stemmer": ("text.stem",),
    "anywidget": ("viewer.widget",),
    "dask": ("placement.cluster",),
    "distributed": ("placement.cluster",),
    "h11": ("viewer.server.serving",),
    "matplotlib": ("plots",),
    "narwhals": ("data.frames",),
    "numba": ("kernels",),
    "pandas": ("data.frames",),
    "polars": (),
    "pyarrow": ("text.arrow",),
    "pynndescent": ("graph.labels",),
    "skimage": ("images.files",),
    "sklearn": ("estimators", "datasets", "evaluate.few_labels", "text.word_counts"),
    "starlette": ("viewer.server.server",),
    "threadpoolctl": ("kernels",),
    "torch": ("kernels",),
    "triton": ("kernels",),
    "traitlets": ("viewer.widget",),
    "uvicorn": ("viewer.server.serving",),
}

MAY_PRINT = ("cli",)
# What passes on whatever names it is given: scikit-learn's own method, and the check of old names.
MAY_TAKE_ANY = (("estimators.base", "set_params"), ("estimators.base", "checked"))
MAX_MODULE = 600
MAX_FUNCTION = 80
MAX_BODY = 50  # without signature, docstring, comments and empty lines


def layer(module: str) -> int | None:
    ranks = [rank for rank, line in enumerate(LAYERS) if room(module) in line]
    return ranks[0] if ranks else None


def import_faults(module: str, found: Import) -> Iterator[str]:
    if not found.internal:
        package = found.module.partition(".")[0]
        allowed = ONLY_IN.get(package)
        if allowed is not None and not any(inside(module, place) for place in allowed):
            yield f"imports {package}, which only {list(allowed)} may"
        return
    mine, theirs = layer(module), layer(found.module)
    shown = "isotherm." + found.module if found.module else "isotherm itself"
    if theirs is None:
        yield f"imports {shown}, which has no line in LAYERS"
    elif mine is not None and theirs > mine and (found.eager or mine < layer(CONVENIENCE)):
        yield f"imports {shown}, which is in a higher layer"
    concrete = inside(found.module, "models") and not inside(found.module, "models.base")
    if inside(module, "anneal") and concrete:
        yield f"imports {shown}; the engine knows models.base only, no concrete model"


def function_faults(
    node: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]
) -> Iterator[str]:
    end = node.end_lineno or node.lineno
    total = end - node.lineno + 1
    documented = ast.get_docstring(node) is not None
    body = node.body[1:] if documented else node.body
    rest = [line.strip() for line in lines[body[0].lineno - 1 : end]] if body else []
    code = sum(1 for line in rest if line and not line.startswith("#"))
    if total > MAX_FUNCTION:
        yield f"{node.name} has {total} lines, more than {MAX_FUNCTION}"
    if code > MAX_BODY:
        yield f"the body of {node.name} has {code} lines, more than {MAX_BODY}"


def node_faults(module: str, node: ast.AST, lines: list[str]) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom) and node.level:
        yield "is a relative import"
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from function_faults(node, lines)
    takes = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    if takes and node.args.kwarg and (module, getattr(node, "name", "")) not in MAY_TAKE_ANY:
        yield f"takes **{node.args.kwarg.arg}; name the arguments"
    prints = isinstance(node, ast.Name) and node.id == "print"
    if prints and not any(inside(module, place) for place in MAY_PRINT):
        yield "prints; use logging.getLogger('isotherm')"


def faults(root: Path) -> list[str]:
    """All that breaks the rules in a source tree, as "file:line: what"."""
    found = []
    for path in sorted(root.rglob("*.py")):
        module = module_name(path, root)
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        tree = ast.parse(text)
        hits: list[tuple[int, str]] = []
        if layer(module) is None:
            hits.append((1, "has no line in LAYERS"))
        if len(lines) > MAX_MODULE:
            hits.append((MAX_MODULE + 1, f"the module has more than {MAX_MODULE} lines"))
        for item in imports(tree, root):
            hits.extend((item.line, what) for what in import_faults(module, item))
        for node in ast.walk(tree):
            line = getattr(node, "lineno", 1)
            hits.extend((line, what) for what in node_faults(module, node, lines))
        name = path.relative_to(root.parent).as_posix()
        found.extend(f"{name}:{line}: {what}" for line, what in sorted(hits))
    return found


def test_no_folder_loads_itself_in_a_circle() -> None:
    assert circle(room_edges(SRC)) == []


def test_a_circle_of_folders_is_seen(tmp_path: Path) -> None:
    for name, source in (
        ("text/a.py", "from isotherm.maps import b"),
        ("maps/b.py", "from isotherm.retrieval import c"),
        ("retrieval/c.py", "from isotherm.text import a"),
        ("images/d.py", "from isotherm.text import a"),
        ("io/e.py", "def save():\n    from isotherm.images import d"),
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(source, encoding="utf-8")
    assert circle(room_edges(tmp_path)) == ["images", "maps", "retrieval", "text"]
    (tmp_path / "retrieval/c.py").write_text("def f():\n    from isotherm.text import a")
    assert circle(room_edges(tmp_path)) == []


def test_library_keeps_its_shape() -> None:
    assert (SRC / "__init__.py").exists()
    found = faults(SRC)
    assert not found, "\n" + "\n".join(found)


def misplaced(tests: Path) -> list[str]:
    """Imports of one package of tests from another, as "file:line: what"."""
    packages = {path.name for path in tests.iterdir() if path.is_dir()} - {"support"}
    names = packages - sys.stdlib_module_names  # `import io` is not tests/io
    faults = []
    for path in sorted(tests.rglob("*.py")):
        mine = path.relative_to(tests).parts[0]
        for item in imports(ast.parse(path.read_text(encoding="utf-8")), SRC):
            theirs = item.module.partition(".")[0]
            if not item.internal and theirs in names - {mine}:
                place = path.relative_to(tests).as_posix()
                faults.append(f"{place}:{item.line}: imports {item.module}; move it to support")
    return faults


def test_no_package_of_tests_imports_another() -> None:
    assert misplaced(TESTS) == []


def test_an_import_from_another_package_of_tests_is_seen(tmp_path: Path) -> None:
    for name, source in (
        ("models/steps.py", "from support.corpora import TOY\nimport io"),
        ("models/test_a.py", "from models.steps import sweep"),
        ("anneal/test_b.py", "import numpy\nfrom models.steps import sweep"),
        ("support/corpora.py", "from anneal import test_b"),
        ("io/test_c.py", "from support.corpora import TOY"),
        ("test_d.py", "from models import steps"),
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(source, encoding="utf-8")
    assert [fault.partition(" ")[0] for fault in misplaced(tmp_path)] == [
        "anneal/test_b.py:2:",
        "support/corpora.py:1:",
        "test_d.py:1:",
    ]


PLANTED = [
    ("data/counts.py", "from isotherm.kernels import cpu", "higher layer"),
    ("data/counts.py", "from isotherm.placement.local import Local", "higher layer"),
    ("data/counts.py", "def f():\n    import isotherm.models.aspect", "higher layer"),
    ("models/aspect.py", "from isotherm import Annealer", "isotherm itself"),
    ("models/aspect.py", "import sklearn.base", "imports sklearn"),
    ("anneal/engine.py", "from isotherm.models.aspect import Aspect", "no concrete model"),
    ("anneal/engine.py", "from isotherm.models import aspect", "no concrete model"),
    ("anneal/engine.py", "from sklearn.base import clone", "imports sklearn"),
    ("errors.py", "import matplotlib.pyplot as plt", "imports matplotlib"),
    ("data/counts.py", "import narwhals", "imports narwhals"),
    ("data/counts.py", "from isotherm.surprise import x", "no line in LAYERS"),
    ("surprise.py", "x = 1", "no line in LAYERS"),
    ("_nested.py", "from . import errors", "relative import"),
    ("_nested.py", "def f(**options): ...", "takes **options"),
    ("_nested.py", "f = lambda **o: o", "takes **o"),
    ("_nested.py", "print('hello')", "prints"),
    ("_nested.py", "\n" * 600 + "x = 1", "more than 600 lines"),
    ("_nested.py", "def f():\n" + "    x = 1\n" * 51, "body of f has 51 lines"),
    ("_nested.py", 'def f():\n    """' + "a\n" * 90 + '"""\n    x = 1', "f has 93 lines"),
]

ALLOWED = [
    (
        "anneal/engine.py",
        "from isotherm.models.base import Model\nfrom isotherm.models import base",
    ),
    ("placement/local.py", "from isotherm.kernels import cpu\nimport isotherm.data.counts"),
    ("estimators/aspect.py", "def save(self):\n    import isotherm.io"),
    ("estimators/aspect.py", "import sklearn.base\nfrom isotherm.models.aspect import Aspect"),
    ("cli/verbs/demo.py", "import isotherm\nfrom isotherm import Annealer\nprint(isotherm)"),
    ("__init__.py", "from isotherm.estimators.aspect import AspectModel"),
    ("_nested.py", "def f():\n" + "    x = 1\n" * 50 + "\n    # why\n" * 5),
]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "isotherm"
    for name in ("data/counts", "kernels/cpu", "models/base", "models/aspect", "anneal/engine"):
        path = root / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return root


@pytest.mark.parametrize(("name", "source", "message"), PLANTED)
def test_planted_fault_is_found(tree: Path, name: str, source: str, message: str) -> None:
    (tree / name).write_text(source, encoding="utf-8")
    found = faults(tree)
    assert len(found) == 1
    assert message in found[0]
    place, line, _ = found[0].split(":", 2)
    assert place == f"isotherm/{name}"
    assert 1 <= int(line) <= source.count("\n") + 1


@pytest.mark.parametrize(("name", "source"), ALLOWED)
def test_allowed_source_passes(tree: Path, name: str, source: str) -> None:
    path = tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source, encoding="utf-8")
    assert faults(tree) == []
