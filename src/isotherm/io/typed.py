"""Whether a value is what an annotation says; annotations are those of our own types."""

from __future__ import annotations

import types
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np


@cache
def hints_of(kind: type[object]) -> dict[str, object]:
    """Annotations of the fields of a type."""
    try:
        return get_type_hints(kind)
    except NameError:
        # Names that only type checkers see, in a type that somebody else has registered.
        return {}


def fits(value: object, hint: object) -> bool:
    """Whether the value is of the type; numbers of numpy are numbers, a list may be a tuple."""
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(fits(value, one) for one in args)
    if origin is tuple:
        return _fits_tuple(value, args)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray | np.number)
    if hint is None or hint is type(None):
        return value is None
    if hint is float:
        return _number(value, (int, float, np.integer, np.floating))
    if hint is int:
        return _number(value, (int, np.integer))
    if hint is bool:
        return isinstance(value, bool | np.bool_)
    if isinstance(origin, type) and isinstance(value, dict) and len(args) == 2:
        return isinstance(value, origin) and all(
            fits(name, args[0]) and fits(one, args[1]) for name, one in value.items()
        )
    if isinstance(origin, type):
        return isinstance(value, origin)
    if isinstance(hint, type) and not getattr(hint, "_is_protocol", False):
        return isinstance(value, hint)
    return True


def _number(value: object, kinds: tuple[type[object], ...]) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)


def _fits_tuple(value: object, args: tuple[object, ...]) -> bool:
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if not isinstance(value, tuple | list):
        return False
    if len(args) == 2 and args[1] is Ellipsis:
        return all(fits(one, args[0]) for one in value)
    return len(value) == len(args) and all(map(fits, value, args))
