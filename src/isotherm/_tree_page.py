"""The tree of topics as part of a page: branches that open without any script."""

from __future__ import annotations

from html import escape
from typing import Any

from isotherm import growth_plots, plots
from isotherm.tree import Tree

# Branches this many levels from the root are open at first.
OPEN = 3


def tree_section(model: Any, colours: dict[str, str]) -> str:
    """The section of a page on how many components there are and which belong together."""
    if not hasattr(model, "path_"):
        return ""
    words = growth_plots.split_words(model)
    weights, _ = growth_plots.node_distributions(model)
    tree = growth_plots.topic_tree(model)
    said = (
        "The model began with one topic; topics split at their critical temperatures as it was "
        "cooled. A branch shows the words that set it apart from the branch above it."
    )
    if tree.similarities:
        meaning = model.similarity_meaning.format(components="topics", rows="documents")
        said += f" Similarities are {meaning}."
    figure = plots.as_svg(growth_plots.how_many(model), colours) if _scored(model) else ""
    drawing = f"<figure>{figure}</figure>" if figure else ""
    branches = _branches(tree, words, weights)
    return (
        f"<section><h2>How many topics, and which belong together</h2><p>{escape(said)}</p>"
        f'{drawing}<ul class="tree">{branches}</ul></section>'
    )


def _scored(model: Any) -> bool:
    return all(step.heldout == step.heldout for step in model.path_)


def _branches(tree: Tree, words: list[list[str]], weights: Any) -> str:
    """The whole tree as items of a list; a loop, since a tree may be deeper than calls may nest."""
    made: dict[int, str] = {}
    # Children stand behind their parent, so they are made before it.
    for node in reversed(range(tree.n_nodes)):
        below = "".join(made.pop(child) for child in tree.children(node))
        made[node] = _branch(tree, node, words, weights, below)
    return made[0]


def _branch(tree: Tree, node: int, words: list[list[str]], weights: Any, below: str) -> str:
    share = f"<small>{100 * weights[node]:.1f} %</small>"
    said = escape(" ".join(words[node]))
    component = tree.component(node)
    if component is not None:
        return f'<li class="leaf"><a href="#topic-{component}">{said}</a> {share}</li>'
    opened = " open" if tree.level(node) < OPEN else ""
    mark = f"split at T = {tree.temperatures[node]:.4g}"
    if tree.similarities:
        mark = f"similarity {tree.similarities[node]:.3g}"
    return (
        f"<li><details{opened}><summary>{said} {share} "
        f"<small>{mark}</small></summary><ul>{below}</ul></details></li>"
    )
