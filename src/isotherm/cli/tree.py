"""`isotherm tree`: how the topics of a run came apart as it was cooled."""

from __future__ import annotations

import argparse
import json
import math
from typing import Any

from isotherm.cli import runs
from isotherm.cli.arguments import Parser, add_run, at_least
from isotherm.errors import IsothermError


def add_arguments(parser: Parser) -> None:
    """The options of the verb."""
    parser.example("isotherm tree articles.run", "isotherm tree articles.run --newick > tree.nwk")
    add_run(parser)
    parser.add_argument(
        *("-n", "--words"), type=at_least(1), default=6, help="words of each (%(default)s)"
    )
    parser.add_argument("--newick", action="store_true", help="in Newick notation")


def run(options: argparse.Namespace) -> None:
    """Show it."""
    model = runs.opened(options.run).model
    if not hasattr(model, "tree_"):
        raise IsothermError(
            f"{options.run} has no tree: its topics did not come apart from one; fit with "
            "--topics auto, or --model hierarchy"
        )
    words, shares = _nodes(model, options.words)
    tree = model.tree_
    if options.newick:
        print(tree.to_newick([" ".join(words[leaf]) for leaf in tree.leaves]))
    elif options.json:
        entries = [
            {"words": said, "share": share} for said, share in zip(words, shares, strict=True)
        ]
        print(json.dumps(tree.to_dict(entries), ensure_ascii=False))
    else:
        print("\n".join(_lines(tree, words, shares)))


def _nodes(model: Any, n_words: int) -> tuple[list[list[str]], list[float]]:
    """Words and share of every node: of a hierarchy its own, else what sets a branch apart."""
    if hasattr(model, "node_words"):
        tokens = model.node_tokens_
        return model.node_words(n_words), (tokens / tokens.sum()).tolist()
    from isotherm.growth_plots import node_distributions, split_words

    weights, _ = node_distributions(model)
    return split_words(model, n_words), weights.tolist()


def _lines(tree: Any, words: list[list[str]], shares: list[float]) -> list[str]:
    """A line for each node; a loop, since a tree may be deeper than calls may nest."""
    found = []
    waiting = [(0, "", "")]
    while waiting:
        node, first, rest = waiting.pop()
        component, t = tree.component(node), tree.temperatures[node]
        if component is not None:
            name = f"[{component}] "
        else:
            name = "" if math.isnan(t) else f"(T {t:.3g}) "
        found.append(f"{first}{name}{' '.join(words[node])}  {100 * shares[node]:.1f} %")
        children = tree.children(node)
        for place, child in reversed(list(enumerate(children))):
            last = place == len(children) - 1
            branch, on = ("└─ ", "   ") if last else ("├─ ", "│  ")
            waiting.append((child, rest + branch, rest + on))
    return found
