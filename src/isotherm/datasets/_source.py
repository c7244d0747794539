"""Docstrings of installed packages, read from their source files.

Files are parsed, never imported: nothing runs, and the outcome depends on the files alone.
"""

import ast
import importlib.util
import logging
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from isotherm.errors import IsothermError

STDLIB = "stdlib"
_log = logging.getLogger("isotherm")

# Folders that hold no documentation of their own package: tests, copies of other people's
# packages, build machinery.
_SKIPPED_FOLDERS = frozenset(
    "__check_build __pycache__ _build_utils _external _lib _pyinstaller _typing _utils _vendor "
    "dist-packages distutils ensurepip externals idlelib lib2to3 site-packages test tests testing "
    "turtledemo".split()
)
_SKIPPED_FILES = frozenset(("__config__.py", "conftest.py", "setup.py", "version.py"))


class Doc(NamedTuple):
    """One docstring: the package, the dotted name of the object, and the text."""

    package: str
    name: str
    text: str


def read_docs(package: str) -> list[Doc]:
    """Docstrings of the public objects of one installed package, ordered by name.

    Parameters
    ----------
    package : str
        Name of an installed top-level package, or ``"stdlib"`` for the standard library.

    Returns
    -------
    list of Doc
        Exact repetitions of a text are left out, the first in the order of names stays.
    """
    root = _root(package)
    docs: list[Doc] = []
    for path in _files(root):
        parts = path.relative_to(root).with_suffix("").parts
        parts = tuple(part for part in parts if part != "__init__")
        if _is_public(package, parts):
            module = ".".join((package, *(part.strip("_") for part in parts)))
            docs.extend(Doc(package, name, text) for name, text in _docs_in(path, module))
    docs.sort()
    seen: set[str] = set()
    unique = []
    for doc in docs:
        if doc.text not in seen:
            seen.add(doc.text)
            unique.append(doc)
    return unique


def _is_public(package: str, parts: tuple[str, ...]) -> bool:
    # numpy, scipy and scikit-learn keep public functions in private modules of their
    # subpackages, and numpy in numpy._core; elsewhere an underscore means what it says.
    watched = parts if package == STDLIB else parts[:1]
    return parts[:1] == ("_core",) or not any(part.startswith("_") for part in watched)


def _root(package: str) -> Path:
    if package == STDLIB:
        return Path(sysconfig.get_paths()["stdlib"])
    spec = importlib.util.find_spec(package) if package.isidentifier() else None
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    if not folders:
        raise IsothermError(
            f"package {package!r} was not found; give 'stdlib' or the name of an installed "
            "top-level package that is a folder of Python files"
        )
    return Path(folders[0])


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            if path.name not in _SKIPPED_FOLDERS and path.name.isidentifier():
                yield from _files(path)
        elif path.suffix == ".py" and path.name not in _SKIPPED_FILES:
            yield path


def _docs_in(path: Path, module: str) -> Iterator[tuple[str, str]]:
    source = path.read_bytes()
    if b'"""' not in source and b"'''" not in source:
        return  # parsing is the expensive part
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # other people's invalid escape sequences
            tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:  # a template, or a file for another Python
        _log.debug("no docstrings read from %s: %s", path, error)
        return
    text = ast.get_docstring(tree)
    if text:
        yield module, text
    yield from _members(tree.body, module)


def _members(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, str]]:
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name.startswith("_"):
                continue
            name = f"{prefix}.{node.name}"
            text = ast.get_docstring(node)
            if text:
                yield name, text
            if isinstance(node, ast.ClassDef):
                yield from _members(node.body, name)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield from _added(node.value, prefix)


def _added(call: ast.Call, prefix: str) -> Iterator[tuple[str, str]]:
    # numpy and scipy.special document compiled functions by add_newdoc(..., name, text) calls;
    # a method is given as a pair (name, text).
    if not isinstance(call.func, ast.Name) or call.func.id != "add_newdoc":
        return
    words: list[str] = []
    for argument in call.args:
        parts = argument.elts if isinstance(argument, ast.Tuple) else [argument]
        words.extend(
            part.value
            for part in parts
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        )
    names = [word for word in words[:-1] if "." not in word]  # the first may be a module
    if names and not any(name.startswith("_") for name in names):
        yield ".".join((prefix.removesuffix(".add_newdocs"), *names)), words[-1]
