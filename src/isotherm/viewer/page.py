"""One HTML page of the modules beside it and the data it is given."""

from __future__ import annotations

import base64
import hashlib
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from html import escape
from importlib import resources
from importlib.resources.abc import Traversable

from isotherm.errors import IsothermError
from isotherm.viewer.container import well_formed

ENTRY = "app.js"
# Of rules that say different things the later one holds: the general ones come first.
SKELETON = "index.html"
STYLES = tuple(f"css/{name}.css" for name in ("style", "floats", "dock", "panels", "screens"))
# What the skeleton has in double braces.
FIELDS = ("csp", "title", "style", "points", "script", "parts")
MARK = re.compile(r"\{\{(\w+)\}\}")
# The part that the first picture is made of; the others come behind the script.
FIRST = "points"
SELF, NOBODY = "'self'", "'none'"

IMPORT = re.compile(
    r'^import\s*\{([^}]*)\}\s*from\s*"(\.{1,2}/(?:\.\./|[\w-]+/)*[\w-]+\.js)";[ \t]*$', re.MULTILINE
)
EXPORT = re.compile(r"^export\s+((?:async\s+)?function\*?|class|const)\s+([A-Za-z_$][\w$]*)", re.M)
EXPORT_LIST = re.compile(r"^export\s*\{([^}]*)\};[ \t]*$", re.MULTILINE)
LEFT = re.compile(r"^(import|export)\b.*$", re.MULTILINE)
DYNAMIC = re.compile(r"\bimport\s*[(.]")
COMMENT = re.compile(r"/\*.*?\*/|^\s*//.*?$", re.DOTALL | re.MULTILINE)
NAME = re.compile(r"([A-Za-z_$][\w$]*)(?:\s+as\s+([A-Za-z_$][\w$]*))?")


def page(parts: Iterable[tuple[str, bytes]] | None, title: str) -> str:
    """The page as text; see `pieces`."""
    return "".join(pieces(parts, title))


def pieces(parts: Iterable[tuple[str, bytes]] | None, title: str) -> Iterator[str]:
    """The page in pieces, to be written one after the other.

    Parameters
    ----------
    parts : iterable of (name, block), or None
        What `isotherm.viewer.container.pack` made, "points" first; none where a server has them.
    title : str
    """
    fields = MARK.split(_text(SKELETON))
    if sorted(fields[1::2]) != sorted(FIELDS):
        raise IsothermError(
            f"{SKELETON} has the marks {fields[1::2]}; each of {FIELDS} belongs once"
        )
    fixed = {
        "csp": policy(live=parts is None),
        "title": escape(well_formed(title)),
        "style": _style(),
        "script": linked(),
    }
    rest = iter(parts or ())
    yield fields[0]
    for mark, text in zip(fields[1::2], fields[2::2], strict=True):
        if mark == "points":
            yield from _first(rest)
        elif mark == "parts":
            for name, block in rest:
                yield from _block(name, block)
        else:
            yield fixed[mark]
        yield text


def policy(live: bool) -> str:
    """Content-Security-Policy of the page: its own script and style, and nothing else.

    Parameters
    ----------
    live : bool
        Whether the page may ask the server that it came from.
    """
    return (
        f"default-src {NOBODY}; script-src '{_digest(linked())}'; "
        f"style-src '{_digest(_style())}'; img-src data: blob:; "
        f"connect-src {SELF if live else NOBODY}; base-uri {NOBODY}; form-action {NOBODY}"
    )


@cache
def linked() -> str:
    """The script of the page: all modules that its entry needs, as one."""
    return link(dict(_modules(resources.files("isotherm.viewer") / "page")), ENTRY)


def _modules(folder: Traversable, path: str = "") -> Iterator[tuple[str, str]]:
    """Pairs (path from the first folder, source) of all modules in a folder and those in it."""
    for item in folder.iterdir():
        if item.is_dir():
            yield from _modules(item, f"{path}{item.name}/")
        elif item.name.endswith(".js"):
            yield path + item.name, item.read_text("utf-8")


def link(modules: Mapping[str, str], entry: str) -> str:
    """One classic script that does what the modules do, so that it can stand inside a page.

    Every module becomes a function that returns its exports, after those that it imports from.

    Parameters
    ----------
    modules : mapping of path to source
        Paths are those from the folder of the page, as "map/view.js". Imports have the one form
        ``import { a, b as c } from "./x.js";``, where the place may be ``"./y/x.js"`` or
        ``"../x.js"`` as well; exports are functions, classes, constants or ``export { a, b };``.
    entry : str
        The module that is run last.
    """
    exports: dict[str, list[str]] = {}
    wrapped: list[str] = []
    _visit(modules, entry, (), exports, wrapped)
    script = '"use strict";\n(() => {\n' + "".join(wrapped) + "})();\n"
    if re.search(r"</script|<!--", script, re.IGNORECASE):
        raise IsothermError("the script contains '</script' or '<!--', which would end it early")
    return script


def _visit(
    modules: Mapping[str, str],
    name: str,
    path: tuple[str, ...],
    exports: dict[str, list[str]],
    wrapped: list[str],
) -> None:
    if name in path:
        raise IsothermError(f"modules import each other: {' -> '.join([*path, name])}")
    if name in exports:
        return
    if name not in modules:
        whose = path[-1] if path else "the page"
        raise IsothermError(f"{whose} imports {name}, which is not there")
    source = modules[name]
    for found in IMPORT.finditer(source):
        other = _path(found[2], name)
        _visit(modules, other, (*path, name), exports, wrapped)
        for original, _ in _names(found[1], name):
            if original not in exports[other]:
                raise IsothermError(f"{name} imports {original}, which {other} does not export")
    body = IMPORT.sub(lambda found: _binding(found, name), source)
    names = [(found[2], found[2]) for found in EXPORT.finditer(body)]
    body = EXPORT.sub(lambda found: f"{found[1]} {found[2]}", body)
    for found in EXPORT_LIST.finditer(body):
        names += _names(found[1], name)
    body = EXPORT_LIST.sub("", body)
    code = COMMENT.sub("", body)
    left = LEFT.search(code) or DYNAMIC.search(code)
    if left:
        raise IsothermError(
            f"{name} has {left[0]!r}; imports and exports must have the forms of `link`"
        )
    given = [outer for _, outer in names]
    if len(set(given)) < len(given):
        raise IsothermError(f"{name} exports a name twice: {', '.join(sorted(given))}")
    exports[name] = given
    shown = ", ".join(inner if inner == outer else f"{outer}: {inner}" for inner, outer in names)
    wrapped.append(
        f"const {_variable(name)} = (() => {{\n{body.strip()}\nreturn {{ {shown} }};\n}})();\n"
    )


def _binding(found: re.Match[str], module: str) -> str:
    names = ", ".join(
        inner if inner == outer else f"{inner}: {outer}"
        for inner, outer in _names(found[1], module)
    )
    # As many lines as before, so that faults are reported where they are.
    variable = _variable(_path(found[2], module))
    return f"const {{ {names} }} = {variable};" + "\n" * found[0].count("\n")


def _path(place: str, module: str) -> str:
    """Path of what a module imports from a place."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(module), place))


def _names(listed: str, module: str) -> list[tuple[str, str]]:
    """Pairs (name, name after "as") of the list between braces."""
    names = []
    for item in filter(None, map(str.strip, listed.split(","))):
        found = NAME.fullmatch(item)
        if found is None:
            raise IsothermError(f"{module} has {item!r} in a list of names; it must be one name")
        names.append((found[1], found[2] or found[1]))
    return names


def _variable(name: str) -> str:
    # A folder shows as $, so that "a/b.js" and "a_b.js" differ.
    return "module_" + name.removesuffix(".js").replace("/", "$").replace("-", "_")


def _first(parts: Iterator[tuple[str, bytes]]) -> Iterator[str]:
    for name, block in parts:
        if name != FIRST:
            raise IsothermError(f"the first part is {name!r}; it must be {FIRST!r}")
        yield from _block(name, block)
        return


def _block(name: str, block: bytes) -> Iterator[str]:
    yield f'<script type="application/octet-stream" data-part="{escape(name)}">'
    yield base64.b64encode(block).decode("ascii")
    yield "</script>\n"


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


@cache
def _style() -> str:
    return "".join(map(_text, STYLES))


@cache
def _text(name: str) -> str:
    return (resources.files("isotherm.viewer") / "page" / name).read_text("utf-8")
