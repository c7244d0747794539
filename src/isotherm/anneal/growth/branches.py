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
        parents, temperatures = list(self.parents), list(self.temperatures)
        children: list[list[int]] = [[] for _ in parents]
        for node, parent in enumerate(parents[1:], 1):
            children[parent].append(node)
        leaves = dict(enumerate(self.leaves))
        component_of = {node: k for k, node in leaves.items()}
        gone: set[int] = set()
        for component in components:
            node = leaves.pop(component)
            above = parents[node]
            other = sum(children[above]) - node
            # The parent takes the place of that half, with all that came of it.
            temperatures[above], children[above] = temperatures[other], children[other]
            for child in children[other]:
                parents[child] = above
            if other in component_of:
                component_of[above] = component_of[other]
                leaves[component_of[above]] = above
            gone |= {node, other}
        # Those behind the nodes that are gone move up.
        kept = [node for node in range(len(parents)) if node not in gone]
        number = {node: n for n, node in enumerate(kept)} | {-1: -1}
        return Branches(
            tuple(number[parents[node]] for node in kept),
            tuple(temperatures[node] for node in kept),
            tuple(number[leaves[k]] for k in sorted(leaves)),
        )
