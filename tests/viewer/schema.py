"""The format of the parts as the page has it, and whether a part is as the format says.

Run as a script it writes the page's side, `page/data/format.js`, from `isotherm.viewer.format`.
"""

from __future__ import annotations

import re
import textwrap
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import (
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import isotherm.viewer
from isotherm.viewer import format
from isotherm.viewer.container import Part
from isotherm.viewer.format import PARTS, Values

WRITTEN = Path(isotherm.viewer.__file__).parent / "page" / "data" / "format.js"
CONSTANTS = ("MAGIC", "ALIGNMENT", "STEPS", "SHARE_STEPS", "NONE_8", "NONE_16", "NONE_32")
VIEWS = {"u1": "Uint8Array", "u2": "Uint16Array", "u4": "Uint32Array", "f4": "Float32Array"}
PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null"}
ALIASES = {"Words": format.Words, "Similar": format.Similar, "Column": format.Column}
HEAD = """\
/**
 * The parts that Python packs: their facts, arrays and strings, and the codes in them. Written by
 * `tests/viewer/schema.py` from `isotherm/viewer/format.py`; a test compares the two.
 */
"""


# What the page has -------------------------------------------------------------------------------


def written() -> str:
    """The text of `format.js`."""
    constants = [f"export const {name} = {literal(getattr(format, name))};" for name in CONSTANTS]
    return "\n".join([HEAD, *constants, "", "/**", *typedefs(), " */", ""])


def literal(value: str | int) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def typedefs() -> Iterator[str]:
    for one in vars(format).values():
        if is_typeddict(one):
            yield from record(one)
    for name, alias in ALIASES.items():
        yield f" * @typedef {{{typescript(alias, ())}}} {name}"
        yield " *"
    for name, part in PARTS.items():
        yield f" * @typedef {{{{ // arrays of the part `{name}`"
        for pattern, values in part.arrays.items():
            yield f" *   {key(pattern)}: {views(values)}, // ({shape(values)}) {values.about}"
        yield f" * }}}} {name.title()}Arrays"
        yield " *"
    yield " * @typedef {object} Parts the parts by name"
    for name, part in PARTS.items():
        found = f'import("./decode.js").Part<{part.meta.__name__}, {name.title()}Arrays>'
        yield f" * @property {{{found}}} {name}"


def record(one: type) -> Iterator[str]:
    said = (one.__doc__ or "").splitlines()[0]
    text = f"@typedef {{object}} {one.__name__} {said[0].lower()}{said[1:].rstrip('.')}"
    yield from textwrap.wrap(text, 100, initial_indent=" * ", subsequent_indent=" *   ")
    for name, hint in get_type_hints(one).items():
        yield f" * @property {{{typescript(hint)}}} {name}"
    yield " *"


def typescript(hint: Any, aliases: Iterable[str] = ALIASES) -> str:
    """A type of Python as TypeScript has it."""
    for name in aliases:
        if hint == ALIASES[name]:
            return name
    if hint in PLAIN:
        return PLAIN[hint]
    if is_typeddict(hint):
        return str(hint.__name__)
    kind, inner = get_origin(hint), get_args(hint)
    if kind is Literal:
        return "|".join(f'"{one}"' for one in inner)
    if kind in (Union, types.UnionType):
        return "|".join(dict.fromkeys(map(typescript, inner)))
    if kind is tuple:
        return f"[{', '.join(map(typescript, inner))}]"
    assert kind is list, hint
    item = typescript(inner[0])
    return f"({item})[]" if "|" in item and item[0] != "[" else f"{item}[]"


def key(pattern: str) -> str:
    numbered = re.sub(r"\{\w\}", "${number}", pattern)
    return f'"{pattern}"' if numbered == pattern else f"[name: `{numbered}`]"


def views(values: Values) -> str:
    return "|".join(VIEWS[kind] for kind in values.types)


def shape(values: Values) -> str:
    return ", ".join(values.shape)


# Whether a part is so ----------------------------------------------------------------------------


def faults(name: str, part: Part, sizes: dict[str, int]) -> list[str]:
    """What of a part is not as the format says; adds the sizes of axes that it meets."""
    expected = PARTS[name]
    found = list(wrong(part.meta, expected.meta, "meta"))
    for array, values in part.arrays.items():
        said = next((one for key, one in expected.arrays.items() if matches(array, key)), None)
        kind = f"{values.dtype.kind}{values.dtype.itemsize}"
        if said is None:
            found.append(f"array {array}")
        elif kind not in said.types or values.ndim != len(said.shape):
            found.append(f"array {array} is {kind} of {values.shape}")
        else:
            axes = zip(said.shape, values.shape, strict=True)
            found += [f"array {array}: {one}" for one in different(array, axes, sizes)]
    return found + [f"strings {key}" for key in part.strings if key not in expected.strings]


def matches(name: str, pattern: str) -> bool:
    return re.sub(r"(?<=map|age|umn)\d+", "{}", name) == re.sub(r"\{\w\}", "{}", pattern)


def different(name: str, axes: Iterable[tuple[str, int]], sizes: dict[str, int]) -> Iterator[str]:
    """Axes that have another size than in the arrays before."""
    of_map = re.search(r"map\d+", name)
    for axis, size in axes:
        key, size = (axis[0], size - 1) if axis == "J+1" else (axis, size)
        if key in "NL":
            key = f"{key} of {of_map[0] if of_map else name}"
        if key != "*" and sizes.setdefault(key, size) != size:
            yield f"{key} is {size}, and {sizes[key]} before"


def wrong(value: Any, hint: Any, where: str) -> Iterator[str]:
    """Places of a value of JSON that are not of a type."""
    kind, inner = get_origin(hint), get_args(hint)
    if kind in (Union, types.UnionType):
        if all(any(wrong(value, one, where)) for one in inner):
            yield f"{where}={value!r:.80}"
    elif is_typeddict(hint):
        hints = get_type_hints(hint)
        if not isinstance(value, dict) or value.keys() != hints.keys():
            yield f"{where} has {sorted(value) if isinstance(value, dict) else value!r}"
        else:
            for name, one in hints.items():
                yield from wrong(value[name], one, f"{where}.{name}")
    elif kind is list:
        for at, item in enumerate(value if isinstance(value, list) else [value]):
            yield from wrong(item, inner[0], f"{where}[{at}]")
    elif kind is tuple:
        if not isinstance(value, list | tuple) or len(value) != len(inner):
            yield f"{where}={value!r:.80}"
        else:
            for at, (item, one) in enumerate(zip(value, inner, strict=True)):
                yield from wrong(item, one, f"{where}[{at}]")
    elif kind is Literal:
        if value not in inner:
            yield f"{where}={value!r:.80}"
    elif not isinstance(value, int | float if hint is float else hint):
        yield f"{where}={value!r:.80}"


if __name__ == "__main__":
    WRITTEN.write_text(written(), encoding="utf-8")
