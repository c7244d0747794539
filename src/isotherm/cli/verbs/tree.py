"""`isotherm tree`: which topics of a run belong together, or how they came apart."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from isotherm.cli import console, runs
from isotherm.cli.parser import Parser, add_run
from isotherm.cli.runs import known_number
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
    from isotherm.estimators.outline import lines, mass_of, outline, said_of_nodes

    model = runs.at_level(options).model
    tree = _tree(model, options)
    if options.newick:
        print(tree.to_newick(list(model.names_)))
    elif options.json:
        print(json.dumps(tree.to_dict(_entries(model, tree, options.words)), ensure_ascii=False))
    else:
        said = said_of_nodes(model, tree, options.words)
        shown = outline(tree, mass_of(model, tree))
        print("\n".join(lines(shown, said, console.width())))


def _entries(model: CountEstimator, tree: Tree, n_words: int) -> list[dict[str, object]]:
    """What is said of every node besides where it is."""
    from isotherm.estimators.outline import node_reproducibility
    from isotherm.estimators.tables import nodes

    words, shares = nodes(model, n_words, tree)
    known = node_reproducibility(model, tree)
    entries: list[dict[str, object]] = []
    for node in range(tree.n_nodes):
        component = tree.component(node)
        entry: dict[str, object] = {} if component is None else {"name": model.names_[component]}
        entry |= {"words": words[node], "share": shares[node]}
        if known is not None:
            entry["reproducibility"] = known_number(known[node])
        entries.append(entry)
    return entries


def _tree(model: CountEstimator, options: argparse.Namespace) -> Tree:
    """What was asked for; runs of older versions have a tree of splits alone."""
    splits = getattr(model, "tree_", None)
    tree: Tree | None = splits if options.splits else getattr(model, "topic_tree_", splits)
    if tree is None and options.splits and any(one.reshapes for one in model.edits_):
        raise IsothermError(
            f"the topics of {options.run} were edited, and its splits are of the topics that the "
            f"fit had; isotherm edit {options.run} undo takes edits back, or leave --splits out"
        )
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
