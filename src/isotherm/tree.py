"""Trees whose leaves are components: what hierarchies are built on, written down and drawn from."""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from isotherm._markup import Part, page
from isotherm._types import Fields
from isotherm.errors import IsothermError

# Newick labels of these characters alone need no quotes (an underscore would be read as a blank).
_BARE = re.compile(r"[A-Za-z0-9.]+")


@dataclass(frozen=True, eq=False)
class Tree:
    """Rooted tree with K leaves, one for each component of a model.

    Parameters
    ----------
    parents : sequence of int, (n_nodes,)
        Parent of each node, -1 for the root. A parent stands before its children, so node 0 is
        the root.
    leaves : sequence of int, (K,), optional
        Node of each component: the nodes without children, in any order; by default in order.
    temperatures : sequence of float, (n_nodes,), optional
        Temperature at which each inner node split; nan for leaves and where it is unknown.
    similarities : sequence of float, (n_nodes,), optional
        Of a tree that was built from below: how alike the branches of each inner node are; nan for
        leaves. Such a tree has no temperatures.

    Examples
    --------
    >>> from isotherm.tree import Tree
    >>> tree = Tree.from_nested([[0, 1], 2])
    >>> tree.parents
    (-1, 0, 1, 1, 0)
    >>> tree.to_newick(["one", "two", "three"])
    '((one:1,two:1):1,three:1);'
    """

    parents: tuple[int, ...]
    leaves: tuple[int, ...] = ()
    temperatures: tuple[float, ...] = ()
    similarities: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what is no tree."""
        parents = _integers("parents", self.parents)
        _check_parents(parents)
        inner = set(parents)
        ends = tuple(node for node in range(len(parents)) if node not in inner)
        leaves = _integers("leaves", self.leaves) or ends
        if sorted(leaves) != list(ends):
            raise IsothermError(
                f"leaves are {_shown(leaves)}; they must be the nodes without children, "
                f"{_shown(ends)}, each once and in any order"
            )
        object.__setattr__(self, "parents", parents)
        object.__setattr__(self, "leaves", leaves)
        object.__setattr__(self, "temperatures", _temperatures_of(self.temperatures, parents))
        similarities = _similarities_of(self.similarities, parents, self.temperatures)
        object.__setattr__(self, "similarities", similarities)

    def __eq__(self, other: object) -> bool:
        """Same nodes, leaves, temperatures and similarities; one unknown equals another."""
        return isinstance(other, Tree) and self._key == other._key

    def __hash__(self) -> int:
        """Hash that goes with equality."""
        return hash(self._key)

    @classmethod
    def from_parents(cls, parents: Iterable[int]) -> Tree:
        """Tree from parents alone, in any order of the nodes; leaves are numbered as they stand."""
        given = _integers("parents", parents)
        order = _parents_first(given)
        place = {node: i for i, node in enumerate(order)}
        sorted_parents = tuple(place.get(given[node], -1) for node in order)
        ends = [node for node in range(len(given)) if node not in set(given)]
        return cls(sorted_parents, tuple(place[node] for node in ends))

    @classmethod
    def from_nested(cls, nested: object) -> Tree:
        """Tree from lists within lists, `[[0, 1], 2]`, or from what `to_dict` gives.

        A list is an inner node and an integer the component of a leaf. In dictionaries `children`,
        `component`, `temperature` and `similarity` are read; without a `component` leaves are
        numbered in order.
        """
        parents: list[int] = []
        temperatures: list[float] = []
        similarities: list[float] = []
        components: list[tuple[int | None, int]] = []
        stack: list[tuple[object, int]] = [(nested, -1)]
        while stack:
            item, parent = stack.pop()
            node = len(parents)
            children, component, temperature, similarity = _entry(item)
            parents.append(parent)
            temperatures.append(temperature)
            similarities.append(similarity)
            if not children:
                components.append((component, node))
            stack.extend((child, node) for child in reversed(children))
        named = [component for component, _ in components]
        known = () if all(math.isnan(one) for one in similarities) else tuple(similarities)
        if all(component is None for component in named):
            ends = tuple(node for _, node in components)
            return cls(tuple(parents), ends, tuple(temperatures), known)
        if sorted(-1 if k is None else k for k in named) != list(range(len(named))):
            raise IsothermError(
                f"the leaves have components {_shown(named)}; they must be 0 to "
                f"{len(named) - 1}, each once"
            )
        leaf_of = dict(components)
        leaves = tuple(leaf_of[k] for k in range(len(named)))
        return cls(tuple(parents), leaves, tuple(temperatures), known)

    @classmethod
    def chain(cls, n_nodes: int) -> Tree:
        """One leaf at the end of a chain of nodes."""
        return cls(tuple(range(-1, _at_least("n_nodes", n_nodes, 1) - 1)))

    @classmethod
    def star(cls, n_leaves: int) -> Tree:
        """A root and its leaves."""
        return cls((-1, *[0] * _at_least("n_leaves", n_leaves, 1)))

    @classmethod
    def balanced(cls, n_levels: int, branching: int = 2) -> Tree:
        """A root with `n_levels` generations below it: `branching ** n_levels` leaves."""
        parents, last = [-1], [0]
        for _ in range(_at_least("n_levels", n_levels, 0)):
            first = len(parents)
            parents += [node for node in last for _ in range(_at_least("branching", branching, 1))]
            last = list(range(first, len(parents)))
        return cls(tuple(parents))

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.parents)

    @property
    def n_leaves(self) -> int:
        """Number of leaves K."""
        return len(self.leaves)

    @property
    def depth(self) -> int:
        """Number of nodes on the longest path from the root to a leaf."""
        return max(len(self.path(k)) for k in range(self.n_leaves))

    def children(self, node: int) -> tuple[int, ...]:
        """Children of a node, in order."""
        return self._children[self._node(node)]

    def path(self, component: int) -> tuple[int, ...]:
        """Nodes from the root to the leaf of a component, both included."""
        if not 0 <= component < self.n_leaves:
            raise IsothermError(
                f"component is {component}; the tree has components 0 to {self.n_leaves - 1}"
            )
        return self._paths[component]

    def level(self, node: int) -> int:
        """Number of nodes above a node."""
        return self._levels[self._node(node)]

    def descendants(self, node: int) -> tuple[int, ...]:
        """All nodes below a node, without itself, in order."""
        below, found = {self._node(node)}, []
        for other in range(node + 1, self.n_nodes):
            if self.parents[other] in below:
                below.add(other)
                found.append(other)
        return tuple(found)

    def components_below(self, node: int) -> tuple[int, ...]:
        """Components of the leaves at or below a node, ascending."""
        below = {self._node(node), *self.descendants(node)}
        return tuple(k for k, leaf in enumerate(self.leaves) if leaf in below)

    def component(self, node: int) -> int | None:
        """Component of a leaf, None for an inner node."""
        return self._components.get(self._node(node))

    def cut(self, n_groups: int) -> tuple[tuple[int, ...], ...]:
        """Components in so many groups: the tree as it was when it had that many branches.

        From the root on, the branch that split at the highest temperature is opened first, or that
        whose branches are least alike (the one that stands first, where these are equal or
        unknown). Where that would be too many, the last branches of a node stay together.
        """
        if not 1 <= n_groups <= self.n_leaves:
            raise IsothermError(
                f"n_groups is {n_groups}; a tree with {self.n_leaves} leaves has 1 to "
                f"{self.n_leaves} groups"
            )
        # Larger values are opened first.
        values = tuple(-s for s in self.similarities) or self.temperatures
        known = [-math.inf if math.isnan(value) else value for value in values]
        groups: list[tuple[int, ...]] = [(0,)]
        while len(groups) < n_groups:
            inner = [group for group in groups if self._children[group[0]]]
            first = min(inner, key=lambda group: (-known[group[0]], group))
            groups.remove(first)
            below = self._children[first[0]]
            apart = min(len(below), n_groups - len(groups)) - 1
            groups += [*((child,) for child in below[:apart]), below[apart:]]
        return tuple(
            tuple(sorted(k for node in group for k in self.components_below(node)))
            for group in sorted(groups)
        )

    def contracted(self, ratio: float = 0.05) -> Tree:
        """Tree without the inner nodes that split at nearly the temperature of their parent.

        An inner node whose split temperature differs from its parent's by less than `ratio` times
        the parent's is taken out, and its children go to its parent: a node that parts into three
        shows as two binary splits close together. Where nodes have similarities these decide.
        """
        if not 0 <= ratio < 1:
            raise IsothermError(f"ratio is {ratio}; it must be at least 0 and below 1")
        place: list[int] = []
        parents: list[int] = []
        stays: list[int] = []
        values = self.similarities or self.temperatures
        for node, parent in enumerate(self.parents):
            above = math.nan if parent < 0 else values[parent]
            if abs(above - values[node]) < ratio * above:
                place.append(place[parent])
                continue
            parents.append(-1 if parent < 0 else place[parent])
            stays.append(node)
            place.append(len(parents) - 1)
        leaves = tuple(place[leaf] for leaf in self.leaves)
        temperatures = tuple(self.temperatures[node] for node in stays)
        similarities = tuple(self.similarities[node] for node in stays if self.similarities)
        return Tree(tuple(parents), leaves, temperatures, similarities)

    def to_dict(self, payload: Sequence[Mapping[str, object]] | None = None) -> Fields:
        """Nested plain data: every node with its number, its component or children, and payload.

        An inner node has `children` and its `temperature`, or its `similarity`.

        Parameters
        ----------
        payload : sequence of mappings, (n_nodes,), optional
            What else to say of each node.
        """
        if payload is not None and len(payload) != self.n_nodes:
            raise IsothermError(
                f"payload has {len(payload)} entries; one is needed for each of "
                f"{self.n_nodes} nodes"
            )
        entries: list[Fields] = []
        for node, parent in enumerate(self.parents):
            entry: Fields = {"node": node}
            component, t = self.component(node), self.temperatures[node]
            if component is None and self.similarities:
                entry["similarity"] = self.similarities[node]
            elif component is None:
                entry["temperature"] = None if math.isnan(t) else t
            else:
                entry["component"] = component
            if payload is not None:
                entry.update(payload[node])
            if component is None:
                entry["children"] = []
            entries.append(entry)
            if parent >= 0:
                entries[parent]["children"].append(entry)
        return entries[0]

    def to_json(self, payload: Sequence[Mapping[str, object]] | None = None) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(payload), allow_nan=False)

    def to_newick(self, names: Sequence[str] | None = None) -> str:
        """The tree in Newick notation, as programs that draw trees read it.

        The branch to an inner node is as long as the logarithm of its parent's split temperature
        over its own, or of its own similarity over its parent's; a branch with an unknown end, and
        that to a leaf, has length 1.

        Parameters
        ----------
        names : sequence of str, (K,), optional
            Names of the components; their numbers by default.
        """
        if names is not None and len(names) != self.n_leaves:
            raise IsothermError(
                f"{len(names)} names are given for {self.n_leaves} leaves; give one for each"
            )
        texts = [""] * self.n_nodes
        for node in range(self.n_nodes - 1, -1, -1):
            component = self.component(node)
            if component is None:
                text = "(" + ",".join(texts[child] for child in self.children(node)) + ")"
            else:
                text = _quoted(str(component if names is None else names[component]))
            texts[node] = text if node == 0 else f"{text}:{self._length(node):.6g}"
        return texts[0] + ";"

    def _repr_html_(self) -> str:
        """A line per node from the root on, each below its parent and further to the right."""
        rows: list[tuple[object, ...]] = []
        depth: list[int] = []
        stack = [0]
        while stack:
            node = stack.pop()
            component, t = self.component(node), self.temperatures[node]
            at = "" if math.isnan(t) else f"{t:.4g}"
            rows.append((f"node {node}", "" if component is None else component, at))
            depth.append(self._levels[node])
            stack += reversed(self.children(node))
        said = f"Tree of {self.n_nodes} nodes, {self.n_leaves} leaves"
        return page(said, Part(("node", "component", "split at T"), rows, "", depth))

    def _length(self, node: int) -> float:
        above, below = self.parents[node], node
        if self.similarities:
            values, above, below = self.similarities, below, above
        else:
            values = self.temperatures
        if not values[below] > 0:
            return 1.0
        ratio = values[above] / values[below]
        return 1.0 if math.isnan(ratio) else max(math.log(ratio), 0.0)

    def _node(self, node: int) -> int:
        if not 0 <= node < self.n_nodes:
            raise IsothermError(f"node is {node}; the tree has nodes 0 to {self.n_nodes - 1}")
        return node

    @cached_property
    def _key(self) -> tuple[object, ...]:
        values = (*self.temperatures, *self.similarities)
        known = tuple(None if math.isnan(value) else value for value in values)
        return self.parents, self.leaves, known

    @cached_property
    def _children(self) -> tuple[tuple[int, ...], ...]:
        found: list[list[int]] = [[] for _ in self.parents]
        for node, parent in enumerate(self.parents[1:], 1):
            found[parent].append(node)
        return tuple(tuple(nodes) for nodes in found)

    @cached_property
    def _paths(self) -> tuple[tuple[int, ...], ...]:
        return paths_of(self.parents, self.leaves)

    @cached_property
    def _levels(self) -> tuple[int, ...]:
        levels: list[int] = []
        for parent in self.parents:
            levels.append(0 if parent < 0 else levels[parent] + 1)
        return tuple(levels)

    @cached_property
    def _components(self) -> dict[int, int]:
        return {leaf: k for k, leaf in enumerate(self.leaves)}


def as_tree(value: object) -> Tree:
    """Tree from a Tree, from parents such as `[-1, 0, 0]`, or from nested lists or dictionaries."""
    if isinstance(value, Tree):
        return value
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise IsothermError(
            f"the tree is {_shown(value)}; give a Tree, the parent of each node ([-1, 0, 0]), "
            "or lists within lists ([[0, 1], 2])"
        )
    items = value if isinstance(value, Mapping) else list(value)
    if not isinstance(items, Mapping) and any(_is_integer(item) and item < 0 for item in items):
        return Tree.from_parents(items)
    return Tree.from_nested(items)


def paths_of(parents: Sequence[int], leaves: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Nodes from a root to each leaf, both included; K tuples."""
    found = []
    for leaf in leaves:
        path = [leaf]
        while parents[path[-1]] >= 0:
            path.append(parents[path[-1]])
        found.append(tuple(reversed(path)))
    return tuple(found)


def _entry(item: Any) -> tuple[list[object], int | None, float, float]:
    """Children, component, temperature and similarity of an item of lists or dictionaries."""
    if _is_integer(item):
        return [], operator.index(item), math.nan, math.nan
    if isinstance(item, Mapping):
        children, component = item.get("children") or [], item.get("component")
        known = [item.get("temperature"), item.get("similarity")]
        t, similarity = (math.nan if one is None else float(one) for one in known)
        if isinstance(children, list | tuple) and (component is None or _is_integer(component)):
            return list(children), component, t, similarity
    elif isinstance(item, list | tuple) and item:
        return list(item), None, math.nan, math.nan
    raise IsothermError(
        f"{_shown(item)} is no part of a tree; a list that is not empty is an inner node, an "
        "integer the component of a leaf, a dictionary has 'children' or 'component'"
    )


def _quoted(name: str) -> str:
    return name if _BARE.fullmatch(name) else "'" + name.replace("'", "''") + "'"


def _check_parents(parents: tuple[int, ...]) -> None:
    """Refuse parents with a cycle, with several roots, or behind their children."""
    _parents_first(parents)
    late = next((node for node, parent in enumerate(parents) if parent >= node), None)
    if late is not None:
        raise IsothermError(
            f"node {late} stands before its parent {parents[late]}; parents must stand before "
            "their children (Tree.from_parents puts them in order)"
        )


def _parents_first(parents: tuple[int, ...]) -> list[int]:
    """Nodes in an order in which parents stand before their children, level by level."""
    roots = [node for node, parent in enumerate(parents) if parent == -1]
    if len(roots) != 1:
        raise IsothermError(
            f"a tree has one root, a node with parent -1; found {len(roots)} in "
            f"{len(parents)} nodes: {_shown(roots)}"
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
            f"nodes {_shown(lost)} form a cycle: following their parents never leads to the root"
        )
    return order


def _temperatures_of(given: Sequence[float], parents: tuple[int, ...]) -> tuple[float, ...]:
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


def _similarities_of(
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


def _integers(name: str, values: Iterable[Any]) -> tuple[int, ...]:
    """Values as plain integers."""
    try:
        return tuple(operator.index(value) for value in values)
    except TypeError:
        raise IsothermError(f"{name} is {_shown(values)}; it must be a list of integers") from None


def _is_integer(value: object) -> bool:
    """Whether a value is a whole number (true and false are not)."""
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _at_least(name: str, value: int, least: int) -> int:
    """The value itself, if it is large enough."""
    if value < least:
        raise IsothermError(f"{name} is {value}; it must be at least {least}")
    return value


def _shown(value: object) -> str:
    """A value for a message, cut short."""
    text = str(list(value) if isinstance(value, tuple) else value)
    return text if len(text) <= 60 else text[:57] + "..."
