"""Trees and tables of topics as text: who belongs together, how large, how reproducible, in words.

What a terminal shows of a model is made here, for `describe` and the command line alike.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isotherm._markup import Part
from isotherm.estimators.fitted import topic_tree
from isotherm.estimators.tables import nodes
from isotherm.estimators.trials import FOUND_AGAIN

if TYPE_CHECKING:
    from isotherm._types import Array
    from isotherm.estimators.counts import CountEstimator
    from isotherm.tree import Tree

# Topics that are less alike in halves of the rows than this may be of these rows alone.
SOLID = FOUND_AGAIN
ALONE = "only in this sample"
# Letters of the branches in front of a node, from which on they stand closer, and at most.
WIDE, DEEP = 24, 36


# Lines of a tree in a description, and letters of a line.
LINES, WIDTH = 40, 80


class Node(NamedTuple):
    """What is said of a node: a label, its words, and what stands behind them."""

    label: str
    words: list[str]
    tail: str


class Outline(NamedTuple):
    """The nodes of a tree that are shown, from top to bottom, and how many are below a folded one.

    `nodes` their numbers, `branches` what is drawn in front of each, `folded` nodes below it that
    are not shown.
    """

    nodes: list[int]
    branches: list[str]
    folded: list[int]


def outline(tree: Tree, mass: Sequence[float], most: int | None = None) -> Outline:
    """The nodes of a tree, those of most mass first where not all are to be shown.

    Parameters
    ----------
    tree : Tree
    mass : (n_nodes,)
        Of a node and all below it.
    most : int, optional
        Nodes shown.
    """
    opened = _opened(tree, mass, tree.n_nodes if most is None else most)
    below = _below(tree)
    shown, branches, folded = [], [], []
    waiting: list[tuple[int, tuple[bool, ...]]] = [(0, ())]
    while waiting:
        node, lasts = waiting.pop()
        shown.append(node)
        branches.append(_branch(lasts))
        children = tree.children(node) if node in opened else ()
        folded.append(0 if node in opened else below[node])
        for place, child in reversed(list(enumerate(children))):
            waiting.append((child, (*lasts, place == len(children) - 1)))
    return Outline(shown, branches, folded)


def lines(found: Outline, said: Sequence[Node], width: int | None = None) -> list[str]:
    """A line for each node that is shown; words that have no room in the width are left out.

    Parameters
    ----------
    found : Outline
    said : sequence of Node, (n_nodes,)
    width : int, optional
        Letters of a line.
    """
    written = []
    for node, branch, folded in zip(*found, strict=True):
        one = said[node]
        tail = one.tail + (f"  (+{folded} below)" if folded else "")
        words, head = list(one.words), branch + one.label
        while True:
            line = f"{head}{' '.join(words)}{tail}"
            if width is None or len(line) <= width or len(words) <= (not one.label.endswith(": ")):
                break
            words.pop()
        written.append(line)
    return written


def described(model: CountEstimator, n_words: int, names: object = None) -> tuple[str, Part]:
    """A line per component, the largest first, or the tree of a hierarchy: as text, as a table."""
    if hasattr(model, "node_components_"):
        return _tree_of(model, n_words, names)
    order = np.argsort(-model.weights_, kind="stable").tolist()
    called = model.names_ if names is None else model._names_by(model._column_names(names))
    words, known = model.top_words(n_words, names=names), reproducibility(model)
    width, heads = max(map(len, called)), ["component", "share", "name", "words"]
    rows = [[k, f"{100 * model.weights_[k]:.1f} %", called[k], " ".join(words[k])] for k in order]
    text = [f"{k:4d}  {share:>7}  {name:{width}}  {shown}" for k, share, name, shown in rows]
    if known is not None:
        heads.insert(2, "reproducible")
        for place, k in enumerate(order):
            value, warning = _number(known[k]), f"  ({ALONE})" if known[k] < SOLID else ""
            rows[place].insert(2, value)
            rows[place][-1] = f"{rows[place][-1]}{warning}"
            first, rest = text[place][:13], text[place][13:]
            text[place] = f"{first}  {value:4}{rest}{warning}"
    return "\n".join(text), Part(tuple(heads), rows)


def _tree_of(model: CountEstimator, n_words: int, names: object) -> tuple[str, Part]:
    """The tree of a hierarchy, folded where there is no room for all of it."""
    tree = topic_tree(model)
    said = said_of_nodes(model, tree, n_words, names)
    found = outline(tree, mass_of(model, tree), LINES)
    text = lines(found, said, WIDTH)
    hidden = tree.n_nodes - len(found.nodes)
    if hidden:
        text.append(
            f"{hidden} of {tree.n_nodes} nodes are folded; expand(node) shows what is below"
        )
    rows = [
        (said[node].label.rstrip(": "), " ".join(said[node].words), said[node].tail.strip())
        for node in found.nodes
    ]
    depth = [tree.level(node) for node in found.nodes]
    return "\n".join(text), Part(("node", "words", "share"), rows, "", depth)


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2f}"


def said_of_nodes(
    model: CountEstimator, tree: Tree, n_words: int, names: object = None
) -> list[Node]:
    """What is said of every node: of a leaf its number and name, of all words, share and more.

    Words that a name has are not said again.
    """
    words, shares = nodes(model, n_words, tree, names)
    called = model.names_ if names is None else model._names_by(model._column_names(names))
    known = node_reproducibility(model, tree)
    found = []
    for node in range(tree.n_nodes):
        component, own = tree.component(node), words[node]
        if component is None:
            label = _value(tree, node)
        else:
            label = f"[{component}] {called[component]}: "
            own = other_words(called[component], own)
        tail = f"  {100 * shares[node]:.1f} %"
        if known is not None:
            tail += found_again(known[node])
        found.append(Node(label, own, tail))
    return found


def reproducibility(model: CountEstimator) -> Array | None:
    """How reproducible each component is, (K,), NaN if unknown; None where nothing is known."""
    return _known(getattr(model, "reproducibility_", None), len(model.weights_))


def node_reproducibility(model: CountEstimator, tree: Tree) -> Array | None:
    """The same of every node of the tree of the topics, (n_nodes,); None for any other tree."""
    if tree != getattr(model, "topic_tree_", getattr(model, "tree_", None)):
        return None
    return _known(getattr(model, "node_reproducibility_", None), tree.n_nodes)


def found_again(value: float) -> str:
    """How reproducible something is, behind a line: a number, and a warning where it is low."""
    if math.isnan(value):
        return ""
    return f"  {value:.2f}" + (f"  {ALONE}" if value < SOLID else "")


def other_words(name: str, words: Sequence[str]) -> list[str]:
    """Words that a name does not say already."""
    said = set(name.replace(",", " ").split()) | {name}
    return [word for word in words if word not in said]


def mass_of(model: CountEstimator, tree: Tree) -> list[float]:
    """Share of the components at or below every node, (n_nodes,)."""
    return [
        float(model.weights_[list(tree.components_below(n))].sum()) for n in range(tree.n_nodes)
    ]


def _known(values: object, length: int) -> Array | None:
    if values is None:
        return None
    found = np.asarray(values, np.float64)
    return found if found.shape == (length,) and not np.isnan(found).all() else None


def _value(tree: Tree, node: int) -> str:
    """Where the branches of an inner node meet."""
    if tree.similarities:
        return f"({tree.similarities[node]:.3g}) "
    t = tree.temperatures[node]
    return "" if math.isnan(t) else f"(T {t:.3g}) "


def _opened(tree: Tree, mass: Sequence[float], most: int) -> set[int]:
    """Nodes whose children are shown: the largest first, as long as there is room."""
    opened: set[int] = set()
    shown, waiting = 1, [(-mass[0], 0)]
    while waiting:
        _, node = heapq.heappop(waiting)
        children = tree.children(node)
        if not children or shown + len(children) > most:
            continue
        opened.add(node)
        shown += len(children)
        for child in children:
            heapq.heappush(waiting, (-mass[child], child))
    return opened | {node for node in range(tree.n_nodes) if not tree.children(node)}


def _below(tree: Tree) -> list[int]:
    """Number of nodes below each."""
    found = [0] * tree.n_nodes
    for node in range(tree.n_nodes - 1, 0, -1):
        found[tree.parents[node]] += found[node] + 1
    return found


def _branch(lasts: tuple[bool, ...]) -> str:
    """What is drawn in front of a node; `lasts` says of each node on the path if it is the last."""
    if not lasts:
        return ""
    close = 3 * len(lasts) > WIDE
    on, skip = ("│", " ") if close else ("│  ", "   ")
    before = "".join(skip if last else on for last in lasts[:-1])
    here = ("└─ " if lasts[-1] else "├─ ") if not close else ("└ " if lasts[-1] else "├ ")
    if len(before) > DEEP:
        before = f"{len(lasts)}…" + before[-(DEEP - 4) :]
    return before + here
