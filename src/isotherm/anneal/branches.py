"""The tree of a growing run while it grows: components split, and fall together again."""

from __future__ import annotations

from typing import NamedTuple

from isotherm.tree import Tree

NAN = float("nan")


class Branches(NamedTuple):
    """Parent and split temperature of each node, and the node of each component.

    A parent stands before its children, and an inner node has two of them.
    """

    parents: tuple[int, ...] = (-1,)
    temperatures: tuple[float, ...] = (NAN,)
    leaves: tuple[int, ...] = (0,)

    @property
    def tree(self) -> Tree:
        """As a tree whose leaves are the components."""
        return Tree(self.parents, self.leaves, self.temperatures)

    def siblings(self) -> dict[int, int]:
        """The other half of each component, where that is a component still."""
        component_of = {node: k for k, node in enumerate(self.leaves)}
        pairs: dict[int, list[int]] = {}
        for node, parent in enumerate(self.parents):
            pairs.setdefault(parent, []).append(node)
        found = {}
        for halves in pairs.values():
            if len(halves) == 2 and all(node in component_of for node in halves):
                first, second = (component_of[node] for node in halves)
                found[first], found[second] = second, first
        return found

    def split(self, components: list[int], temperature: float) -> Branches:
        """Each of the components is two now; the new halves follow the last component."""
        parents, temperatures = list(self.parents), list(self.temperatures)
        leaves = list(self.leaves)
        for component in components:
            temperatures[leaves[component]] = temperature
            first = len(parents)
            parents += [leaves[component]] * 2
            temperatures += [NAN] * 2
            leaves[component] = first
            leaves.append(first + 1)
        return Branches(tuple(parents), tuple(temperatures), tuple(leaves))

    def without(self, components: list[int]) -> Branches:
        """Components taken out: the other half of each is what their parent was before."""
        branches = self
        for component in sorted(components, reverse=True):
            branches = branches._without(component)
        return branches

    def _without(self, component: int) -> Branches:
        node = self.leaves[component]
        above = self.parents[node]
        other = next(n for n, parent in enumerate(self.parents) if parent == above and n != node)
        parents, temperatures = list(self.parents), list(self.temperatures)
        temperatures[above] = temperatures[other]
        parents = [above if parent == other else parent for parent in parents]
        leaves = [above if leaf == other else leaf for leaf in self.leaves]
        del leaves[component]
        # The two nodes are gone; those behind them move up.
        number: dict[int, int] = {}
        for n in range(len(parents)):
            if n not in (node, other):
                number[n] = len(number)
        return Branches(
            tuple(number.get(parents[n], -1) for n in number),
            tuple(temperatures[n] for n in number),
            tuple(number[leaf] for leaf in leaves),
        )
