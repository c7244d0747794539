"""The public names, and what importing the package costs."""

import __future__

import ast
import inspect
import subprocess
import sys
from types import ModuleType

import pytest

import isotherm
from isotherm.io.registry import ESTIMATORS
from support.source import SRC, module_name

REFERENCES = {ast.Name: "id", ast.Attribute: "attr", ast.alias: "name", ast.Constant: "value"}
LAZY = ("numba", "matplotlib", "pandas", "polars", "skimage", "tqdm", "torch", "dask")


def visible() -> set[str]:
    names = {name for name in dir(isotherm) if not name.startswith("_")}
    values = {name: getattr(isotherm, name) for name in names}
    return {
        name
        for name, value in values.items()
        if not isinstance(value, ModuleType | __future__._Feature)
    }


def test_all_lists_what_is_visible() -> None:
    listed = [name for name in isotherm.__all__ if name != "__version__"]
    assert len(set(listed)) == len(listed)
    assert {n for n in listed if not isinstance(getattr(isotherm, n), ModuleType)} == visible()


def test_type_checkers_see_each_name_at_home() -> None:
    tree = ast.parse(inspect.getsource(isotherm))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = [
        (alias.name, alias.asname, node.module)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    assert sorted(seen) == sorted((name, name, home) for name, home in isotherm._HOME.items())


def names_in(source: str) -> set[str]:
    """Names that code refers to, as such, after a dot, in an import or as a whole string."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        for kind, part in REFERENCES.items():
            if isinstance(node, kind):
                names.add(getattr(node, part))
    return names


def test_a_new_estimator_has_few_lists_to_be_in() -> None:
    estimators = {kind.__name__ for kind in ESTIMATORS}
    lists = {
        module_name(path, SRC)
        for path in SRC.rglob("*.py")
        if 2 * len(names_in(path.read_text("utf-8")) & estimators) > len(estimators)
    }
    assert estimators <= set(isotherm.__all__)
    # The last is of those that the command line offers.
    assert lists == {"", "io.estimators", "cli.models"}


def test_star_import_gives_the_listed_names() -> None:
    names: dict[str, object] = {}
    exec("from isotherm import *", names)
    assert names.keys() - {"__builtins__"} == set(isotherm.__all__)


@pytest.mark.parametrize("name", sorted(isotherm.__all__) or ["__version__"])
def test_public_name_is_documented(name: str) -> None:
    value = getattr(isotherm, name)
    if not (inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value)):
        assert name.startswith("__")
        return
    # dataclasses make up a docstring that repeats the signature
    assert value.__doc__
    assert not value.__doc__.startswith(f"{name}(")


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        isotherm.no_such_name  # noqa: B018 (the access is the test)


def test_import_is_light() -> None:
    code = f"import sys, isotherm; print(*sorted(set(sys.modules) & set({LAZY!r})))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
