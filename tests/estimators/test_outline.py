"""Trees and topics as text: nothing is lost, and all of it has room."""

import numpy as np
import pytest

from isotherm import AspectModel, Counts, HierarchicalClustering
from isotherm.estimators.outline import (
    LINES,
    WIDTH,
    Node,
    found_again,
    lines,
    mass_of,
    node_reproducibility,
    other_words,
    outline,
    reproducibility,
    said_of_nodes,
)
from isotherm.tree import Tree

X = np.kron(np.eye(4, dtype=int), np.full((6, 3), 8)) + 1
WORDS = "ash elm oak cod eel ray ant bee fly jay owl tit".split()


def hierarchy() -> HierarchicalClustering:
    counts = Counts(X, column_names=WORDS)
    return HierarchicalClustering(tree=[[0, 1], [2, 3]], random_state=0, n_jobs=1).fit(counts)


def topics() -> AspectModel:
    return AspectModel(4, random_state=0, n_jobs=1).fit(Counts(X, column_names=WORDS))


def chain(n_leaves: int) -> Tree:
    """A tree in which every branch but one is a leaf."""
    nested: object = 0
    for k in range(1, n_leaves):
        nested = [nested, k]
    return Tree.from_nested(nested)


def said(tree: Tree) -> list[Node]:
    return [Node(f"node {n}: ", ["some", "words"], "  1.0 %") for n in range(tree.n_nodes)]


def test_every_node_has_a_line_below_its_parent() -> None:
    tree = Tree.from_nested([[0, 1], [2, [3, 4]]])
    found = outline(tree, [1.0] * tree.n_nodes)
    assert sorted(found.nodes) == list(range(tree.n_nodes))
    assert found.folded == [0] * tree.n_nodes
    written = lines(found, said(tree))
    assert written[0] == "node 0: some words  1.0 %"
    assert [line[:3] for line in written[1:]] == [
        "├─ ",
        "│  ",
        "│  ",
        "└─ ",
        "   ",
        "   ",
        "   ",
        "   ",
    ]


@pytest.mark.parametrize("most", [1, 2, 3, 4, 5, 9])
def test_the_largest_branches_are_shown_and_the_rest_is_counted(most: int) -> None:
    tree = Tree.from_nested([[0, 1], [2, [3, 4]]])
    mass = [0.0] * tree.n_nodes
    for k, weight in enumerate((0.05, 0.05, 0.1, 0.4, 0.4)):
        for node in tree.path(k):
            mass[node] += weight
    found = outline(tree, mass, most)
    assert len(found.nodes) <= most
    assert len(found.nodes) + sum(found.folded) == tree.n_nodes
    if most == 5:
        assert tree.leaves[2] in found.nodes
        assert tree.leaves[0] not in found.nodes
    written = lines(found, said(tree))
    assert sum("below)" in line for line in written) == sum(one > 0 for one in found.folded)


def test_deep_trees_have_room_too() -> None:
    tree = chain(80)
    written = lines(outline(tree, [1.0] * tree.n_nodes), said(tree), WIDTH)
    assert len(written) == tree.n_nodes
    assert max(map(len, written)) <= WIDTH
    assert all("node" in line and line.endswith("1.0 %") for line in written)


def test_words_without_room_are_left_out_and_names_are_not() -> None:
    tree = Tree.from_nested([0, 1])
    long = [Node("[0] a name: ", ["word"] * 30, "  1.0 %") for _ in range(3)]
    long[0] = Node("", ["word" * 30, "more"], "  1.0 %")
    written = lines(outline(tree, [1.0] * 3), long, 60)
    assert written[0] == f"{'word' * 30}  1.0 %"
    assert all(50 < len(line) <= 60 and "[0] a name: word" in line for line in written[1:])


def test_hierarchies_are_described_by_their_tree() -> None:
    model = hierarchy()
    head, *rest = model.describe(3).split("\n")
    assert head.startswith("HierarchicalClustering: 4 components")
    assert len(rest) == model.tree_.n_nodes
    assert [line[0] for line in rest[1:]] == ["├", "│", "│", "└", " ", " "]
    for k, leaf in enumerate(model.tree_.leaves):
        (line,) = [line for line in rest if f"[{k}] {model.names_[k]}: " in line]
        share = model.node_tokens_[leaf] / model.node_tokens_.sum()
        assert line.endswith(f"{100 * share:.1f} %")
    assert "<table" in model.describe()._repr_html_()


def test_large_hierarchies_are_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isotherm.estimators.outline.LINES", 5)
    model = hierarchy()
    *_, last = model.describe(3).split("\n")
    assert last.startswith("2 of 7 nodes are folded")
    assert LINES == 40


def test_models_renamed_by_hand_show_their_names() -> None:
    model = topics().rename(1, "fish and chips")
    assert "fish and chips" in model.describe(2)
    tree = model.topic_tree_
    assert said_of_nodes(model, tree, 3)[tree.leaves[1]].label == "[1] fish and chips: "
    assert sum(mass_of(model, tree)[leaf] for leaf in tree.leaves) == pytest.approx(1)


def test_a_description_says_how_reproducible_components_are() -> None:
    model = topics()
    before = model.describe(2)
    model.reproducibility_ = np.array([0.93, 0.2, np.nan, 0.8])
    said = model.describe(2).split("\n")[1:]
    by_number = {int(line.split()[0]): line for line in said}
    assert " 0.93  " in by_number[0]
    assert by_number[1].endswith("(only in this sample)")
    assert " 0.20  " in by_number[1]
    assert sum("only in" in line for line in said) == 1
    assert len({line.index(model.names_[k]) for k, line in by_number.items()}) == 1
    model.reproducibility_ = np.full(4, np.nan)
    assert model.describe(2) == before


def test_nodes_say_how_reproducible_they_are_in_the_tree_of_topics_alone() -> None:
    model = topics()
    tree = model.topic_tree_
    assert node_reproducibility(model, tree) is None
    model.node_reproducibility_ = np.linspace(0.5, 0.9, tree.n_nodes)
    assert said_of_nodes(model, tree, 2)[0].tail.endswith("0.50  only in this sample")
    assert said_of_nodes(model, tree, 2)[-1].tail.endswith("0.90")
    assert node_reproducibility(model, chain(4)) is None
    other = hierarchy()
    other.node_reproducibility_ = np.full(7, 0.8)
    assert all(line.endswith(" %  0.80") for line in other.describe(2).split("\n")[1:])
    model.reproducibility_ = np.ones(3)  # of another number of topics
    assert reproducibility(model) is None


def test_small_words_of_it() -> None:
    assert other_words("oil, gas price", ["oil", "gas", "rig", "price"]) == ["rig"]
    assert found_again(float("nan")) == ""
    assert found_again(0.8) == "  0.80"
