"""What is no tree: the checks of `isotherm.tree`."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

from isotherm.errors import IsothermError


def check_parents(parents: tuple[int, ...]) -> None:
    """Refuse parents with a cycle, with several roots, or behind their children."""
    parents_first(parents)
    late = next((node for node, parent in enumerate(parents) if parent >= node), None)
    if late is not None:
        raise IsothermError(
            f"node {late} stands before its parent {parents[late]}; parents must stand before "
            "their children (Tree.from_parents puts them in order)"
        )


def parents_first(parents: tuple[int, ...]) -> list[int]:
    """Nodes in an order in which parents stand before their children, level by level."""
    roots = [node for node, parent in enumerate(parents) if parent == -1]
    if len(roots) != 1:
        raise IsothermError(
            f"a tree has one root, a node with parent -1; found {len(roots)} in "
            f"{len(parents)} nodes: {shown(roots)}"
        )
    wrong = [node for node, parent in enumerate(parents) if not -1 <= parent < len(parents)]
    if wrong:
        raise IsothermError(
            f"node {wrong[0]} has parent {parents[wrong[0]]}; with {len(parents)} nodes a parent "
            f"is -1 (the root) or 0 to {len(parents) - 1}"
        )
    below: list[list[int]] = [[] for _ in parents]
    for node, parent in enumerate(parents):
        if parent >= 0:
            below[parent].append(node)
    order = roots
    for node in order:
        order.extend(below[node])
    if len(order) < len(parents):
        lost = sorted(set(range(len(parents))) - set(order))
        raise IsothermError(
            f"nodes {shown(lost)} form a cycle: following their parents never leads to the root"
        )
    return order


def temperatures_of(given: Sequence[float], parents: tuple[int, ...]) -> tuple[float, ...]:
    """Temperatures (n_nodes,) as floats; nan everywhere if none are given."""
    values = tuple(float(t) for t in given) or (math.nan,) * len(parents)
    if len(values) != len(parents):
        raise IsothermError(
            f"{len(values)} temperatures are given for {len(parents)} nodes; give one for each, "
            "nan where none is known"
        )
    inner = set(parents)
    for node, t in enumerate(values):
        if math.isnan(t):
            continue
        if node not in inner:
            raise IsothermError(f"node {node} is a leaf with temperature {t}; leaves have nan")
        if not 0 < t < math.inf:
            raise IsothermError(
                f"node {node} has temperature {t}; it must be above 0 and finite, or nan"
            )
    return values


def similarities_of(
    given: Sequence[float], parents: tuple[int, ...], temperatures: tuple[float, ...]
) -> tuple[float, ...]:
    """Similarities (n_nodes,) as floats; none at all if none are given."""
    values = tuple(float(one) for one in given)
    if not values:
        return ()
    if len(values) != len(parents):
        raise IsothermError(
            f"{len(values)} similarities are given for {len(parents)} nodes; give one for each, "
            "nan for leaves"
        )
    if not all(math.isnan(t) for t in temperatures):
        raise IsothermError(
            "temperatures are given with similarities; a tree came apart as it was cooled or was "
            "built from below: give one of them"
        )
    inner = set(parents)
    for node, value in enumerate(values):
        if node not in inner and not math.isnan(value):
            raise IsothermError(f"node {node} is a leaf with similarity {value}; leaves have nan")
        if node in inner and not 0 <= value < math.inf:
            raise IsothermError(
                f"node {node} has similarity {value}; an inner node has a finite one of at least 0"
            )
    return values


def integers(name: str, values: Iterable[Any]) -> tuple[int, ...]:
    """Values as plain integers."""
    try:
        return tuple(operator.index(value) for value in values)
    except TypeError:
        raise IsothermError(f"{name} is {shown(values)}; it must be a list of integers") from None


def is_integer(value: Any) -> bool:
    """Whether a value is a whole number (true and false are not)."""
    return hasattr(value, "__index__") and not isinstance(value, bool)


def at_least(name: str, value: int, least: int) -> int:
    """The value itself, if it is large enough."""
    if value < least:
        raise IsothermError(f"{name} is {value}; it must be at least {least}")
    return value


def shown(value: Any) -> str:
    """A value for a message, cut short."""
    text = str(list(value) if isinstance(value, tuple) else value)
    return text if len(text) <= 60 else text[:57] + "..."
