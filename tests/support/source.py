"""What the source says about itself: imports, folders, and which folders load which."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SRC = Path(__file__).parents[2] / "src" / "isotherm"


class Import(NamedTuple):
    line: int
    module: str  # dotted; inside the library without "isotherm."
    internal: bool
    eager: bool  # when the module is loaded, not when a function is called


def inside(module: str, place: str) -> bool:
    return module == place or module.startswith(place + ".")


def room(module: str) -> str:
    """The folder that a module is in, or the module itself beside the folders."""
    return module.partition(".")[0]


def module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def lazy_nodes(tree: ast.AST) -> set[ast.AST]:
    """All nodes that run when a function is called, or never, but for a type checker."""
    return {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
        for inner in ast.walk(node)
    }


def imports(tree: ast.AST, root: Path) -> Iterator[Import]:
    lazy = lazy_nodes(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        eager = node not in lazy
        for name in names:
            if not inside(name, "isotherm"):
                yield Import(node.lineno, name, internal=False, eager=eager)
                continue
            module = name.removeprefix("isotherm").removeprefix(".")
            target = root.joinpath(*module.split("."))
            if isinstance(node, ast.ImportFrom) and not (
                target.is_dir() or target.with_suffix(".py").exists()
            ):
                module = module.rpartition(".")[0]  # a name defined in a module
            yield Import(node.lineno, module, internal=True, eager=eager)


def room_edges(root: Path) -> dict[str, set[str]]:
    """For each folder the folders that loading it loads."""
    edges: dict[str, set[str]] = {}
    for path in sorted(root.rglob("*.py")):
        mine = room(module_name(path, root))
        below = edges.setdefault(mine, set())
        tree = ast.parse(path.read_text(encoding="utf-8"))
        eager = [item for item in imports(tree, root) if item.internal and item.eager]
        below.update(room(item.module) for item in eager if room(item.module) != mine)
    return edges


def circle(edges: dict[str, set[str]]) -> list[str]:
    """Folders that load each other in a circle; none if there is no circle."""
    left = dict(edges)
    while free := [one for one, below in left.items() if not below & left.keys()]:
        for one in free:
            del left[one]
    return sorted(left)
