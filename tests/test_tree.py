"""Trees: what they refuse, how they are walked, and how they are written down."""

import json
import math
import pickle

import numpy as np
import pytest

from isotherm.errors import IsothermError
from isotherm.tree import Tree, as_tree

NAN = math.nan
#        0
#     1     2
#    3 4   5 6
#         7 8
PARENTS = (-1, 0, 0, 1, 1, 2, 2, 5, 5)
LEAVES = (3, 7, 4, 6, 8)
TREE = Tree(PARENTS, LEAVES, (40.0, 20.0, 10.0, NAN, NAN, 9.6, NAN, NAN, NAN))


def test_walks() -> None:
    assert (TREE.n_nodes, TREE.n_leaves, TREE.depth) == (9, 5, 4)
    assert TREE.children(2) == (5, 6)
    assert TREE.children(3) == ()
    assert TREE.path(1) == (0, 2, 5, 7)
    assert TREE.path(2) == (0, 1, 4)
    assert TREE.descendants(2) == (5, 6, 7, 8)
    assert TREE.descendants(8) == ()
    assert TREE.components_below(2) == (1, 3, 4)
    assert TREE.components_below(7) == (1,)
    assert [TREE.level(node) for node in range(9)] == [0, 1, 1, 2, 2, 2, 2, 3, 3]
    assert TREE.component(7) == 1
    assert TREE.component(5) is None


def test_leaves_are_numbered_in_order_unless_told() -> None:
    assert Tree(PARENTS).leaves == (3, 4, 6, 7, 8)
    assert all(math.isnan(t) for t in Tree(PARENTS).temperatures)


def test_unknown_temperatures_are_equal() -> None:
    assert Tree(PARENTS, LEAVES) == Tree(PARENTS, LEAVES, (float("nan"),) * 9)
    assert pickle.loads(pickle.dumps(TREE)) == TREE
    assert hash(pickle.loads(pickle.dumps(TREE))) == hash(TREE)
    assert Tree(PARENTS, LEAVES) != TREE
    assert Tree(PARENTS, LEAVES) != Tree(PARENTS)
    assert TREE != "tree"


def test_numpy_integers_become_plain_ones() -> None:
    tree = Tree(np.array(PARENTS), np.array(LEAVES), np.array(TREE.temperatures))
    assert tree == TREE
    assert {type(x) for x in (*tree.parents, *tree.leaves)} == {int}


def test_families() -> None:
    assert Tree.chain(3) == Tree((-1, 0, 1), (2,))
    assert Tree.chain(1) == Tree((-1,), (0,))
    assert Tree.star(3) == Tree((-1, 0, 0, 0), (1, 2, 3))
    assert Tree.balanced(2).parents == (-1, 0, 0, 1, 1, 2, 2)
    assert Tree.balanced(1, 3) == Tree.star(3)
    assert Tree.balanced(0) == Tree.chain(1)
    assert Tree.balanced(2, 3).n_leaves == 9


def test_parents_in_any_order() -> None:
    # The root is node 3; leaves keep the order in which they were given.
    tree = Tree.from_parents([4, 3, 4, -1, 3])
    assert tree.parents == (-1, 0, 0, 2, 2)
    assert tree.leaves == (3, 1, 4)


def test_nested_lists_and_dictionaries() -> None:
    tree = Tree.from_nested([[2, 0], 1])
    assert tree == Tree((-1, 0, 1, 1, 0), (3, 4, 2))
    assert Tree.from_nested(TREE.to_dict()).to_dict(None) != {}
    again = Tree.from_nested(json.loads(TREE.to_json()))
    assert again.temperatures[0] == 40.0
    assert [len(again.path(k)) for k in range(5)] == [len(TREE.path(k)) for k in range(5)]
    assert again.to_newick() == TREE.to_newick()
    unnumbered = Tree.from_nested({"children": [{}, {"children": [{}, {}]}]})
    assert unnumbered == Tree((-1, 0, 0, 2, 2), (1, 3, 4))


def test_whatever_says_a_tree_is_one() -> None:
    assert as_tree(TREE) is TREE
    assert as_tree([-1, 0, 0]) == Tree.star(2)
    assert as_tree(np.array([1, -1])) == Tree.chain(2)
    assert as_tree([0, 1, 2]) == Tree.star(3)
    assert as_tree([[0, 1], 2]) == Tree.from_nested([[0, 1], 2])
    assert as_tree(TREE.to_dict()).n_leaves == 5


def test_plain_data() -> None:
    plain = TREE.to_dict([{"words": [str(node)]} for node in range(9)])
    assert plain["temperature"] == 40.0
    assert "component" not in plain
    left, right = plain["children"]
    assert left["children"][1] == {"node": 4, "component": 2, "words": ["4"]}
    assert right["children"][0]["temperature"] == 9.6
    assert Tree.star(2).to_dict()["temperature"] is None
    assert json.loads(Tree.star(2).to_json())["temperature"] is None


def test_newick() -> None:
    branch, twig = math.log(40 / 20), math.log(10 / 9.6)
    assert TREE.to_newick() == (
        f"((0:1,2:1):{branch:.6g},((1:1,4:1):{twig:.6g},3:1):{math.log(4):.6g});"
    )
    assert Tree.chain(1).to_newick() == "0;"
    rising = Tree((-1, 0, 1, 1), (), (1.0, 2.0, NAN, NAN))
    assert rising.to_newick() == "((0:1,1:1):0);"


def test_newick_quotes_names() -> None:
    names = ["plain.1", "two words", "it's", "a_b", ""]
    assert Tree.star(5).to_newick(names) == ("(plain.1:1,'two words':1,'it''s':1,'a_b':1,'':1);")


def test_close_splits_are_contracted() -> None:
    # 10 and 9.6 differ by 4 %: node 5 goes, its leaves become children of node 2.
    tree = TREE.contracted()
    assert tree.parents == (-1, 0, 0, 1, 1, 2, 2, 2)
    assert tree.leaves == (3, 6, 4, 5, 7)
    assert tree.temperatures[:3] == (40.0, 20.0, 10.0)
    assert TREE.contracted(0.04 - 1e-9) == TREE
    # Relative to the parent: 20 of 40 is half, not once the child.
    assert TREE.contracted(0.51).n_nodes == 7
    assert TREE.contracted(0.5).n_nodes == 8
    assert Tree.balanced(3).contracted(0.9) == Tree.balanced(3)


def test_contraction_passes_through_several_nodes() -> None:
    tree = Tree((-1, 0, 0, 2, 2, 4, 4), (), (10.0, NAN, 9.8, NAN, 9.6, NAN, NAN)).contracted()
    assert tree == Tree((-1, 0, 0, 0, 0), (1, 2, 3, 4), (10.0, NAN, NAN, NAN, NAN))


def test_deep_trees_need_no_recursion() -> None:
    deep = Tree.chain(5000)
    assert deep.depth == 5000
    assert deep.to_newick().count("(") == 4999
    assert Tree.from_nested(deep.to_dict()) == deep


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Tree(()), "a tree has one root, a node with parent -1; found 0 in 0 nodes"),
        (lambda: Tree((-1, -1)), "a tree has one root, a node with parent -1; found 2 in 2 nodes"),
        (lambda: Tree((1, 2, 0)), "one root, a node with parent -1; found 0 in 3 nodes"),
        (lambda: Tree((-1, 2, 1)), r"nodes \[1, 2\] form a cycle"),
        (lambda: Tree((-1, 5)), "node 1 has parent 5; with 2 nodes a parent is -1"),
        (lambda: Tree((-1, -3)), "node 1 has parent -3; with 2 nodes a parent is -1"),
        (lambda: Tree((1, -1)), "node 0 stands before its parent 1"),
        (lambda: Tree((-1, 0.5)), r"parents is \[-1, 0.5\]; it must be a list of integers"),
        (lambda: Tree((-1, 0, 0), (1,)), r"leaves are \[1\]; they must be the nodes without"),
        (lambda: Tree((-1, 0, 0), (1, 1)), r"leaves are \[1, 1\]; they must be the nodes"),
        (lambda: Tree((-1, 0, 0), (0, 1)), r"without children, \[1, 2\], each once"),
        (lambda: Tree((-1, 0), (), (1.0,)), "1 temperatures are given for 2 nodes"),
        (lambda: Tree((-1, 0), (), (1.0, 2.0)), "node 1 is a leaf with temperature 2.0"),
        (lambda: Tree((-1, 0), (), (0.0, NAN)), "node 0 has temperature 0.0; it must be above 0"),
        (lambda: Tree((-1, 0), (), (math.inf, NAN)), "node 0 has temperature inf"),
        (lambda: Tree.chain(0), "n_nodes is 0; it must be at least 1"),
        (lambda: Tree.star(0), "n_leaves is 0; it must be at least 1"),
        (lambda: Tree.balanced(-1), "n_levels is -1; it must be at least 0"),
        (lambda: Tree.balanced(1, 0), "branching is 0; it must be at least 1"),
        (lambda: Tree.from_nested([0, []]), r"\[\] is no part of a tree"),
        (lambda: Tree.from_nested([0, "x"]), "x is no part of a tree"),
        (lambda: Tree.from_nested([0, 2]), r"components \[0, 2\]; they must be 0 to 1, each once"),
        (lambda: Tree.from_nested([0, {}]), r"components \[0, None\]; they must be 0 to 1"),
        (lambda: as_tree(7), r"the tree is 7; give a Tree, the parent of each node \(\[-1, 0, 0\]"),
        (lambda: as_tree("tree"), "the tree is tree; give a Tree"),
        (lambda: TREE.path(5), "component is 5; the tree has components 0 to 4"),
        (lambda: TREE.path(-1), "component is -1; the tree has components 0 to 4"),
        (lambda: TREE.children(9), "node is 9; the tree has nodes 0 to 8"),
        (lambda: TREE.descendants(-1), "node is -1; the tree has nodes 0 to 8"),
        (lambda: TREE.contracted(1.0), "ratio is 1.0; it must be at least 0 and below 1"),
        (lambda: TREE.to_newick(["a"]), "1 names are given for 5 leaves"),
        (lambda: TREE.to_dict([{}]), "payload has 1 entries; one is needed for each of 9 nodes"),
    ],
)
def test_refusals(make: object, message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        make()


def test_cut_opens_the_hottest_branches_first() -> None:
    nan = math.nan
    tree = Tree((-1, 0, 0, 1, 1, 2, 2), (3, 5, 4, 6), (9.0, 3.0, 5.0, nan, nan, nan, nan))
    assert tree.cut(1) == ((0, 1, 2, 3),)
    assert tree.cut(2) == ((0, 2), (1, 3))
    assert tree.cut(3) == ((0, 2), (1,), (3,))
    assert tree.cut(4) == ((0,), (2,), (1,), (3,))


def test_cut_into_no_possible_number_is_refused() -> None:
    for n_groups in (0, 5):
        with pytest.raises(IsothermError, match=f"n_groups is {n_groups}; a tree with 4 leaves"):
            Tree.balanced(2).cut(n_groups)


def test_cut_of_wide_nodes_never_gives_more_groups_than_asked_for() -> None:
    tree = Tree.balanced(2, branching=3)
    for n_groups in range(1, 10):
        groups = tree.cut(n_groups)
        assert len(groups) == n_groups
        assert sorted(k for group in groups for k in group) == list(range(9))


# Trees built from below -----------------------------------------------------------------------


def alike() -> Tree:
    """Components 0 and 1 are alike, 2 and 3 less so, and the halves hardly."""
    nan = math.nan
    return Tree((-1, 0, 0, 1, 1, 2, 2), (5, 6, 3, 4), (), (0.5, 1.0, 4.0, nan, nan, nan, nan))


def test_the_least_alike_are_parted_first() -> None:
    tree = alike()
    assert tree.cut(2) == ((2, 3), (0, 1))
    assert tree.cut(3) == ((0, 1), (2,), (3,))
    assert math.isnan(tree.temperatures[0])


def test_similarities_go_along() -> None:
    tree = alike()
    plain = tree.to_dict()
    assert plain["similarity"] == 0.5
    assert "temperature" not in plain
    again = Tree.from_nested(json.loads(tree.to_json()))
    assert {frozenset(g) for g in again.cut(3)} == {frozenset(g) for g in tree.cut(3)}
    assert sorted(again.similarities[:2]) == [0.5, 1.0]
    assert tree != Tree(tree.parents, tree.leaves)
    assert tree == alike()
    assert hash(tree) == hash(alike())
    # As long as the logarithm of how much more alike what is below is.
    assert tree.to_newick() == "((2:1,3:1):0.693147,(0:1,1:1):2.07944);"
    # A node that is hardly more alike than its parent is taken out.
    flat = Tree(
        tree.parents, tree.leaves, (), (0.5, 0.51, 4.0, *tree.similarities[3:])
    ).contracted()
    assert flat.children(0) == (1, 2, 3)
    assert flat.similarities[:2] == (0.5, 4.0)
    assert len(flat.similarities) == flat.n_nodes


@pytest.mark.parametrize(
    ("values", "temperatures", "message"),
    [
        ((1.0,), (), "1 similarities are given for 3 nodes"),
        ((1.0, 2.0, math.nan), (), "node 1 is a leaf with similarity 2.0"),
        ((math.nan,) * 3, (), "node 0 has similarity nan"),
        ((-1.0, math.nan, math.nan), (), "node 0 has similarity -1.0"),
        ((1.0, math.nan, math.nan), (2.0, math.nan, math.nan), "give one of them"),
    ],
)
def test_similarities_without_sense_are_refused(
    values: tuple[float, ...], temperatures: tuple[float, ...], message: str
) -> None:
    with pytest.raises(IsothermError, match=message):
        Tree((-1, 0, 0), temperatures=temperatures, similarities=values)
