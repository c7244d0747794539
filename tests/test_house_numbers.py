"""The numbers of the source: counted as they should be, within their limits, and in the docs."""

import ast
import re
from pathlib import Path

import pytest

from house_numbers import (
    BEGIN,
    CONTRACTS,
    END,
    MOST,
    PAGE,
    counted_anys,
    functions,
    measured,
    measures,
    n_arguments,
    overridden,
    replaced,
    signature_anys,
    tables,
    too_much,
)


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    root = tmp_path / "isotherm"
    for name in (*CONTRACTS, "estimators/base.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("class A:\n    def __init__(self): ...\n    def f(self): ...\n")
    return root


def test_no_number_is_above_its_limit() -> None:
    assert too_much(measured()) == []


@pytest.mark.parametrize(
    ("source", "measure"),
    [
        ("x: Any\n" * (MOST["`Any` as a type"] + 1), "`Any` as a type"),
        ("def f(x: Any): ...\n", "`Any` in signatures"),
        ("from isotherm.anneal import engine", "folders in a circle of imports"),
        (f"def f({', '.join(f'x{i}' for i in range(24))}): ...", "most parameters of a function"),
    ],
)
def test_what_exceeds_a_limit_is_named(planted: Path, source: str, measure: str) -> None:
    assert too_much(measured(planted)) == []
    (planted / "models/base.py").write_text(source)
    (planted / "anneal/engine.py").write_text("import isotherm.models.base")
    (faults,) = too_much(measured(planted))
    assert faults.startswith(measure)


def test_any_is_counted_in_every_spelling_and_not_where_it_is_imported() -> None:
    tree = ast.parse(
        "from typing import Any\n"
        "Task = Callable[..., Any]\n"
        "def f(x: Any, y: 'dict[Any, Any]') -> Any:\n"
        "    z: 'Any' = 'Any'\n"
    )
    assert counted_anys(tree) == 6
    assert signature_anys(tree) == 4


def test_parameters_are_counted_without_the_instance() -> None:
    tree = ast.parse(
        "class A:\n"
        "    def __init__(self, a, /, b, *, c): ...\n"
        "    def f(cls): ...\n"
        "def g(x, *rest): ...\n"
    )
    assert {name: n_arguments(node) for name, node in functions(tree)} == {
        "A.__init__": 3,
        "A.f": 0,
        "g": 1,
    }


def test_hooks_are_private_methods_that_a_subclass_has_again() -> None:
    above = ast.parse("class A:\n def _f(self): ...\n def g(self): ...\n def __len__(self): ...")
    below = ast.parse("class B(mixins.A): ...\nclass C(B):\n def _f(self): ...\n def g(self): ...")
    assert overridden([above, below]) == ["_f"]
    assert overridden([above]) == []


def test_tables_have_every_folder_and_every_measure() -> None:
    numbers = measured()
    rows = re.findall(r"^\| (.+?) \|", tables(numbers), re.MULTILINE)
    assert rows[0] == "folder"
    assert {f"`{folder.name}`" for folder in numbers.folders} <= set(rows)
    assert rows[rows.index("measure") + 2 :] == list(measures(numbers))
    assert set(MOST) <= set(rows)


def test_the_docs_have_both_tables() -> None:
    page = PAGE.read_text(encoding="utf-8")
    written = page.partition(BEGIN)[2].partition(END)[0]
    rows = re.findall(r"^\| (.+?) \|", written, re.MULTILINE)
    run = "run: python tests/house_numbers.py --write"
    assert {"folder", "`anneal`", "all"} <= set(rows), run
    assert rows[rows.index("measure") + 2 :] == list(measures(measured())), run


def test_only_what_is_between_the_markers_is_written() -> None:
    page = f"before\n{BEGIN}\nold\n{END}\nafter"
    assert replaced(page, "new") == f"before\n{BEGIN}\n\nnew\n\n{END}\nafter"
    with pytest.raises(ValueError, match="end"):
        replaced(f"a {BEGIN} b", "new")
