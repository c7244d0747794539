"""The size and shape of the library in numbers: `python tests/house_numbers.py [--write]`.

Prints a Markdown table of each folder and one of the whole, read from the source without running
it. `--write` puts both into docs/architecture.md, between two markers.
"""

import argparse
import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from support.source import SRC, circle, module_name, room, room_edges

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
BEGIN, END = "<!-- numbers: begin -->", "<!-- numbers: end -->"
# Contracts whose signatures are counted by themselves: what others read first.
CONTRACTS = ("models/base.py", "anneal/engine.py", "placement/base.py")

# No more than this; lowered as the numbers fall. tests/test_layers.py limits lines.
MOST = {
    "folders in a circle of imports": 0,
    "`Any` as a type": 301,
    "`Any` in signatures": 0,
    "most parameters of a function": 23,
    "most parameters of a constructor": 18,
    "hooks of estimators": 12,
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Longest(NamedTuple):
    """The greatest of many, and what has it."""

    number: int
    name: str


class Folder(NamedTuple):
    """A folder of the library, or a module beside the folders."""

    name: str
    files: int
    lines: int
    loads: list[str]  # the folders that loading it loads


class Numbers(NamedTuple):
    """All that is counted."""

    folders: list[Folder]
    circle: list[str]  # folders that load each other in a circle
    anys: int
    contract_anys: int  # in the signatures of CONTRACTS
    module: Longest  # lines
    function: Longest  # lines, with signature and docstring
    arguments: Longest  # of functions and methods
    parameters: Longest  # of constructors
    hooks: list[str]  # private methods of estimators that a subclass overrides

    @property
    def edges(self) -> int:
        return sum(len(folder.loads) for folder in self.folders)


def counted_anys(tree: ast.AST) -> int:
    """How often `Any` is written as a type, quoted annotations included, imports not."""
    names = sum(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.AnnAssign):
            written = node.annotation
        elif isinstance(node, Function):
            written = node.returns
        else:
            continue
        for part in ast.walk(written) if written else ():
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                names += counted_anys(ast.parse(part.value, mode="eval"))
    return names


def signature_anys(tree: ast.AST) -> int:
    """How often `Any` is written in the parameters and results of functions."""
    written: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, Function):
            written.append(node.args)
            written.extend([node.returns] if node.returns else [])
    return sum(counted_anys(part) for part in written)


def functions(tree: ast.AST, inside: str = "") -> Iterator[tuple[str, Function]]:
    """Every function with its name, after those of the classes and functions it is in."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Function | ast.ClassDef):
            name = f"{inside}{node.name}"
            if isinstance(node, Function):
                yield name, node
            yield from functions(node, f"{name}.")
        else:
            yield from functions(node, inside)


def n_arguments(node: Function) -> int:
    """Parameters of a function without the instance or class it is called on."""
    names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def base_names(node: ast.ClassDef) -> list[str]:
    plain = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
    return [ast.unparse(base).rpartition(".")[2] for base in plain]


def overridden(trees: list[ast.Module]) -> list[str]:
    """Private methods that a class has and one of its subclasses has again."""
    classes = {node.name: node for t in trees for node in t.body if isinstance(node, ast.ClassDef)}
    own = {
        name: {f.name for f in node.body if isinstance(f, Function) and f.name.startswith("_")}
        for name, node in classes.items()
    }

    def inherited(name: str) -> set[str]:
        above = [base for base in base_names(classes[name]) if base in classes]
        return set().union(*(own[base] | inherited(base) for base in above))

    hooks = set().union(*(own[name] & inherited(name) for name in classes))
    return sorted(name for name in hooks if not name.startswith("__"))


def measured(root: Path = SRC) -> Numbers:
    """The numbers of a source tree."""
    paths = sorted(root.rglob("*.py"))
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    lines = {path: len(text.splitlines()) for path, text in texts.items()}
    edges = room_edges(root)

    def folder(name: str) -> Folder:
        inside = [path for path in paths if room(module_name(path, root)) == name]
        shown = name or root.name
        loads = sorted(other or root.name for other in edges[name])
        return Folder(shown, len(inside), sum(lines[path] for path in inside), loads)

    every = [
        (f"{module_name(path, root)}.{name}", node)
        for path, tree in trees.items()
        for name, node in functions(tree)
    ]
    made = [(name, node) for name, node in every if node.name == "__init__"]
    called = [(name, node) for name, node in every if node.name != "__init__"]
    return Numbers(
        folders=[folder(name) for name in edges],
        circle=circle(edges),
        anys=sum(counted_anys(tree) for tree in trees.values()),
        contract_anys=sum(signature_anys(trees[root / name]) for name in CONTRACTS),
        module=max(Longest(lines[path], module_name(path, root)) for path in paths),
        function=max(
            Longest((node.end_lineno or 0) - node.lineno + 1, name) for name, node in every
        ),
        arguments=max(Longest(n_arguments(node), name) for name, node in called),
        parameters=max(Longest(n_arguments(node), name) for name, node in made),
        hooks=overridden([trees[path] for path in paths if path.parent.name == "estimators"]),
    )


def measures(numbers: Numbers) -> dict[str, Longest]:
    """The second table: each measure with its number and what has it."""
    return {
        "folders in a circle of imports": Longest(len(numbers.circle), quoted(numbers.circle)),
        "`Any` as a type": Longest(numbers.anys, "in all files"),
        "`Any` in signatures": Longest(numbers.contract_anys, f"of {quoted(CONTRACTS)}"),
        "lines of the longest module": shown(numbers.module),
        "lines of the longest function": shown(numbers.function),
        "most parameters of a function": shown(numbers.arguments),
        "most parameters of a constructor": shown(numbers.parameters),
        "hooks of estimators": Longest(len(numbers.hooks), quoted(numbers.hooks)),
    }


def quoted(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def shown(longest: Longest) -> Longest:
    return longest._replace(name=f"`{longest.name}`")


def tables(numbers: Numbers) -> str:
    """Both tables as Markdown."""
    rows = ["| folder | files | lines | loads |", "| --- | ---: | ---: | --- |"]
    for folder in sorted(numbers.folders, key=lambda folder: (-folder.lines, folder.name)):
        loads = quoted(folder.loads) or "nothing"
        rows.append(f"| `{folder.name}` | {folder.files} | {folder.lines} | {loads} |")
    files = sum(folder.files for folder in numbers.folders)
    lines = sum(folder.lines for folder in numbers.folders)
    rows.append(f"| all | {files} | {lines} | {numbers.edges} edges |")
    rows += ["", "| measure | number | most | which |", "| --- | ---: | ---: | --- |"]
    for measure, (number, which) in measures(numbers).items():
        rows.append(f"| {measure} | {number} | {MOST.get(measure, '')} | {which} |")
    return re.sub(r"(?<=\|) +(?=\|)", " ", "\n".join(rows))


def too_much(numbers: Numbers) -> list[str]:
    """The measures above their limit."""
    return [
        f"{measure}: {longest.number}, at most {MOST[measure]}; {longest.name}"
        for measure, longest in measures(numbers).items()
        if longest.number > MOST.get(measure, longest.number)
    ]


def replaced(page: str, written: str) -> str:
    """A page with something else between the markers; ValueError where it lacks them."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE.name} lacks the line {END if begin else BEGIN}")
    return f"{before}{BEGIN}\n\n{written}\n\n{END}{after}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.name}")
    chosen = parser.parse_args()
    written = tables(measured())
    print(written)
    if chosen.write:
        PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), written), encoding="utf-8")


if __name__ == "__main__":
    main()
