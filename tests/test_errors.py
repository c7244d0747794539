"""Errors say what they are about: not in their message alone, but as a value."""

import ast
import pickle
import re
from collections.abc import Iterator

import pytest

from isotherm import IsothermError
from support.source import SRC


def begins_with(message: ast.expr) -> str | None:
    """The parameter that a message begins with, as source: "min_df" of f"min_df={value}; ..."."""
    parts = message.values if isinstance(message, ast.JoinedStr) else [message]
    first, second = parts[0], parts[1] if len(parts) > 1 else None
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        match = re.match(r"([a-z_]\w*)=", first.value)
        return match and repr(match[1])
    # A name that is a value itself: f"{name}={value!r}; ..."
    is_value = isinstance(second, ast.Constant) and str(second.value).startswith("=")
    return ast.unparse(first.value) if isinstance(first, ast.FormattedValue) and is_value else None


def nameless(tree: ast.AST) -> Iterator[int]:
    """Lines with errors that begin with a parameter and do not carry it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "IsothermError" and node.args:
            name = begins_with(node.args[0])
            carried = [ast.unparse(one.value) for one in node.keywords if one.arg == "parameter"]
            if name is not None and carried != [name]:
                yield node.lineno


def test_an_error_that_begins_with_a_parameter_carries_it() -> None:
    files = list(SRC.rglob("*.py"))
    places = [
        f"{path.relative_to(SRC)}:{line}"
        for path in files
        for line in nameless(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert len(files) > 200
    assert places == []


@pytest.mark.parametrize(
    ("source", "is_fault"),
    [
        ("IsothermError('tol=3; use less')", True),
        ("IsothermError(f'tol={x}; use less')", True),
        ("IsothermError(f'{name}={x}; use less')", True),
        ("IsothermError('tol=3; use less', parameter='max_iter')", True),
        ("IsothermError('tol=3; use less', parameter='tol')", False),
        ("IsothermError(f'{name}={x}; use less', parameter=name)", False),
        ("IsothermError(f'{path} is no file')", False),
        ("IsothermError('the tol=3 of it')", False),
        ("IsothermError(message)", False),
    ],
)
def test_what_is_found(source: str, is_fault: bool) -> None:
    assert list(nameless(ast.parse(source))) == [1] * is_fault


def test_what_helps_in_python_alone_ends_the_message() -> None:
    error = IsothermError("torn.", parameter="errors", in_python=", or pass errors='report'")
    assert str(error) == "torn, or pass errors='report'."
    assert error.message == "torn."
    assert str(IsothermError("torn", in_python="; load it")) == "torn; load it"
    plain = IsothermError("torn.")
    assert (str(plain), plain.parameter, plain.also, plain.in_python) == ("torn.", None, (), "")


def test_errors_come_back_from_other_processes() -> None:
    error = IsothermError("torn.", parameter="errors", also=("keep",), in_python=", or not")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == "torn, or not."
    assert vars(again) == vars(error)
