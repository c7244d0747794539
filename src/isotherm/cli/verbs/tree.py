"""`isotherm tree`: which topics of a run belong together, or how they came apart."""

from __future__ import annotations

import argparse
import json
import math
from typing import TYPE_CHECKING

from isotherm.cli import runs
from isotherm.cli.parser import Parser, add_run
from isotherm.errors import IsothermError

if TYPE_CHECKING:
    from isotherm.estimators.counts import CountEstimator
    from isotherm.tree import Tree


def add_arguments(parser: Parser) -> None:
    """What the verb takes besides its options; examples."""
    parser.example(
        "isotherm tree articles.run",
        "isotherm tree articles.run --splits",
        "isotherm tree articles.run --newick > tree.nwk",
    )
    add_run(parser)


def run(options: argparse.Namespace) -> None:
    """Show it."""
    from isotherm.estimators.tables import nodes

    model = runs.open_run(options.run).model
    tree = _tree(model, options)
    words, shares = nodes(model, options.words, tree)
    if options.newick:
        print(tree.to_newick([" ".join(words[leaf]) for leaf in tree.leaves]))
    elif options.json:
        entries = [
            {"words": said, "share": share} for said, share in zip(words, shares, strict=True)
        ]
        print(json.dumps(tree.to_dict(entries), ensure_ascii=False))
    else:
        print("\n".join(_lines(tree, words, shares)))


def _tree(model: CountEstimator, options: argparse.Namespace) -> Tree:
    """What was asked for; runs of older versions have a tree of splits alone."""
    splits = getattr(model, "tree_", None)
    tree: Tree | None = splits if options.splits else getattr(model, "topic_tree_", splits)
    if tree is None and options.splits:
        raise IsothermError(
            f"{options.run} has no splits: its topics did not come apart from one; fit with "
            "--topics auto, or leave --splits out"
        )
    if tree is None:
        raise IsothermError(
            f"{options.run} has no tree: a {type(model).__name__} does not tell which topics "
            "belong together; fit with --topics auto, or --model hierarchy"
        )
    return tree


def _lines(tree: Tree, words: list[list[str]], shares: list[float]) -> list[str]:
    """A line for each node; a loop, since a tree may be deeper than calls may nest."""
    found = []
    waiting = [(0, "", "")]
    while waiting:
        node, first, rest = waiting.pop()
        component, t = tree.component(node), tree.temperatures[node]
        if component is not None:
            name = f"[{component}] "
        elif tree.similarities:
            name = f"({tree.similarities[node]:.3g}) "
        else:
            name = "" if math.isnan(t) else f"(T {t:.3g}) "
        found.append(f"{first}{name}{' '.join(words[node])}  {100 * shares[node]:.1f} %")
        children = tree.children(node)
        for place, child in reversed(list(enumerate(children))):
            last = place == len(children) - 1
            branch, on = ("└─ ", "   ") if last else ("├─ ", "│  ")
            waiting.append((child, rest + branch, rest + on))
    return found
