"""HierarchicalClustering: trees grown and given, what it shows of them, what it refuses."""

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from isotherm import Counts, Fixed, HierarchicalClustering, IsothermError, OneSidedClustering, Tree
from isotherm.estimators.starts.hierarchy import _in_order, in_two

Array = NDArray[Any]
N_COLUMNS = 70


def planted(n_rows: int = 160, tokens: int = 100, seed: int = 0) -> tuple[Counts, Array, Array]:
    """Rows of four leaves on a balanced tree; every node has ten columns of its own."""
    rng, tree = np.random.default_rng(seed), Tree.balanced(2)
    nodes = np.zeros((N_COLUMNS, 7))
    for a in range(7):
        nodes[10 * a : 10 * a + 10, a] = rng.dirichlet(np.full(10, 2.0))
    labels = np.arange(n_rows) % 4
    mixes = [nodes[:, list(tree.path(c))].mean(axis=1) for c in range(4)]
    counts = np.array([rng.multinomial(tokens, mixes[c] / mixes[c].sum()) for c in labels])
    names = np.array([f"node{j // 10}word{j % 10}" for j in range(N_COLUMNS)], dtype=object)
    return Counts(counts.astype(float), column_names=names), labels, nodes


X, LABELS, NODES = planted()


def fitted(**settings: Any) -> HierarchicalClustering:
    return HierarchicalClustering(random_state=0, verbose=False).set_params(**settings).fit(X)


@pytest.fixture(scope="module")
def model() -> HierarchicalClustering:
    return fitted()


@pytest.fixture(scope="module", params=["uniform", "cluster", "full"])
def any_model(request: pytest.FixtureRequest) -> HierarchicalClustering:
    # Weights of the rows' own explain either of two siblings: told apart only when cold.
    cold = Fixed(3.0) if request.param == "full" else None
    return fitted(tree=Tree.balanced(2), weights=request.param, schedule=cold)


def test_the_planted_tree_grows(model: HierarchicalClustering) -> None:
    assert model.tree_.n_leaves == model.n_components_ == 4
    assert adjusted_rand_score(LABELS, model.labels_) == 1.0
    # Leaves 0 and 1 are siblings, and so are 2 and 3.
    leaf = {c: model.tree_.leaves[model.labels_[c == LABELS][0]] for c in range(4)}
    parents = model.tree_.parents
    assert parents[leaf[0]] == parents[leaf[1]] != parents[leaf[2]] == parents[leaf[3]]
    assert model.tree_.temperatures[0] > 0


def test_nodes_have_the_words_that_were_planted(model: HierarchicalClustering) -> None:
    words = model.node_words(6)
    assert {word[:5] for word in words[0]} == {"node0"}
    for node in range(1, 7):
        assert len({word[:5] for word in words[node][:4]}) == 1
    assert model.node_components_.sum(axis=1) == pytest.approx(np.ones(7))
    assert model.node_tokens_.sum() == pytest.approx(X.total)
    lifted = model.node_words(3, by="lift")
    assert [len(w) for w in lifted] == [3] * 7


def test_shapes_and_sums(any_model: HierarchicalClustering) -> None:
    K, D = any_model.tree_.n_leaves, any_model.tree_.depth
    assert any_model.components_.shape == (K, N_COLUMNS)
    assert any_model.components_.sum(axis=1) == pytest.approx(np.ones(K))
    assert any_model.row_weights_.shape == (X.n_rows, K)
    assert any_model.row_weights_.sum(axis=1) == pytest.approx(np.ones(X.n_rows))
    assert any_model.path_weights_.shape == (X.n_rows, D)
    assert any_model.path_weights_.sum(axis=1) == pytest.approx(np.ones(X.n_rows))
    assert any_model.unigram_ == pytest.approx(X.column_totals / X.total)
    assert adjusted_rand_score(LABELS, any_model.labels_) == 1.0
    assert (any_model.predict(X) == any_model.labels_).all()
    assert any_model.transform(X).shape == (X.n_rows, K)
    assert any_model.first_critical_ > any_model.temperature_
    assert len(any_model.growth_trace_) > 2
    sweeps = sum(r.sweeps for r in (*any_model.trace_, *any_model.growth_trace_))
    # On all counts at most as many sweeps as were best on those kept: less the last if worse.
    chosen = next(r for r in any_model.trace_ if r.temperature == any_model.temperature_)
    assert chosen.sweeps > 1
    most = sweeps + chosen.sweeps - (not chosen.converged)
    assert sweeps < any_model.n_iter_ <= most
    if any_model.weights == "full":
        assert any_model.n_iter_ == most


def test_own_weights_differ_from_row_to_row(any_model: HierarchicalClustering) -> None:
    one_leaf = any_model.path_weights_[any_model.labels_ == 0]
    assert (np.ptp(one_leaf, axis=0).max() > 0.05) == (any_model.weights == "full")
    if any_model.weights == "uniform":
        assert one_leaf == pytest.approx(np.full(one_leaf.shape, 1 / 3))


def test_prediction_beats_that_of_clusters() -> None:
    counts = planted(80, 25, seed=3)[0].matrix.toarray().astype(int)
    held = np.random.default_rng(0).binomial(counts, 0.3)
    kept = counts - held
    tree = HierarchicalClustering(4, random_state=0, verbose=False).fit(kept)
    flat = OneSidedClustering(4, random_state=0, verbose=False, pseudo_count=0.0).fit(kept)
    assert tree.perplexity(kept, held) < flat.perplexity(kept, held)


def test_word_spread(model: HierarchicalClustering) -> None:
    general, special = model.word_spread("node0word1"), model.word_spread("node3word1")
    assert general.shape == (7,)
    assert general.sum() == pytest.approx(1.0)
    assert general.argmax() == 0
    leaf = model.tree_.leaves[model.labels_[LABELS == 0][0]]
    assert special.argmax() == leaf
    column = list(X.column_names).index("node3word1")
    assert model.word_spread(column) == pytest.approx(special)
    tokens = model.node_tokens_ * model.node_components_[:, column]
    assert special == pytest.approx(tokens / tokens.sum())


def test_path_of_a_row(any_model: HierarchicalClustering) -> None:
    path = any_model.path(5)
    assert [node for node, _ in path] == list(any_model.tree_.path(any_model.labels_[5]))
    assert sum(weight for _, weight in path) == pytest.approx(1.0)
    assert [w for _, w in path] == any_model.path_weights_[5].tolist()


def test_expand(model: HierarchicalClustering) -> None:
    root = model.expand()
    assert root["node"] == 0
    assert root["parent"] is None
    assert root["temperature"] == model.tree_.temperatures[0]
    assert root["rows"] == list(range(X.n_rows))
    assert root["n_rows"] == X.n_rows
    assert root["words"] == model.node_words(10)[0]
    assert sum(child["n_rows"] for child in root["children"]) == X.n_rows
    leaf = model.expand(model.tree_.leaves[2], n_words=3)
    assert leaf["component"] == 2
    assert leaf["children"] == []
    assert leaf["temperature"] is None
    assert leaf["rows"] == np.flatnonzero(model.labels_ == 2).tolist()
    assert len(leaf["words"]) == 3
    assert json.loads(json.dumps(root)) == root


def test_files(model: HierarchicalClustering) -> None:
    plain = json.loads(model.to_json(2))
    assert plain["words"] == model.node_words(2)[0]
    assert plain["share"] == pytest.approx(model.node_tokens_[0] / X.total)
    assert [child["node"] for child in plain["children"]] == list(model.tree_.children(0))
    assert Tree.from_nested(plain).n_leaves == 4
    newick = model.to_newick(1)
    assert newick.count("(") == 3
    assert all(word in newick for leaf in model.tree_.leaves for word in model.node_words(1)[leaf])


def test_a_given_tree_is_kept() -> None:
    for given in (Tree.balanced(2), [[0, 1], [2, 3]], [-1, 0, 0, 1, 1, 2, 2]):
        model = fitted(tree=given)
        assert (model.tree_.n_nodes, model.tree_.n_leaves, model.tree_.depth) == (7, 4, 3)
        assert adjusted_rand_score(LABELS, model.labels_) == 1.0
    # Like clusters were put next to each other.
    leaf = {c: model.tree_.leaves[model.labels_[c == LABELS][0]] for c in range(4)}
    assert model.tree_.parents[leaf[0]] == model.tree_.parents[leaf[1]]


def test_like_clusters_stand_next_to_each_other() -> None:
    table = np.array([[8, 1, 7, 1], [1, 8, 1, 7], [1, 1, 2, 2.0]])
    order = _in_order(table / table.sum(axis=0)).tolist()
    assert {frozenset(order[:2]), frozenset(order[2:])} == {frozenset((0, 2)), frozenset((1, 3))}
    assert _in_order(table[:, :2]).tolist() == [0, 1]


def test_a_number_of_leaves_is_reached_and_not_passed() -> None:
    assert fitted(n_components=3).n_components_ == 3
    assert fitted(n_components=1).tree_ == Tree.chain(1)
    assert fitted(max_components=2).n_components_ == 2


def test_without_validation() -> None:
    model = fitted(validation_fraction=0.0, n_components=4, weights="full", temper_prior=True)
    assert len(model.trace_) == 1
    assert model.trace_[0].sweeps <= 10
    assert model.temperature_ == model.growth_trace_[-1].temperature


def test_a_schedule_of_the_user() -> None:
    model = fitted(tree=[0, 1], schedule=Fixed(2.5))
    assert model.temperature_ == 2.5
    assert [r.temperature for r in model.trace_] == [2.5]


def test_same_seed_same_model() -> None:
    settings = {"tree": Tree.balanced(2), "weights": "full"}
    one, other = fitted(n_jobs=1, **settings), fitted(n_jobs=2, **settings)
    np.testing.assert_array_equal(one.node_components_, other.node_components_)
    np.testing.assert_array_equal(one.transform(X), other.transform(X))


def test_rows_of_weight_two() -> None:
    weight = np.where(np.arange(X.n_rows) % 2 == 0, 2.0, 1.0)
    twice = np.repeat(X.matrix.toarray(), weight.astype(int), axis=0)
    settings = {"tree": [0, 1], "random_state": 0, "verbose": False}
    one = HierarchicalClustering(**settings).fit(X.matrix, sample_weight=weight)
    other = HierarchicalClustering(**settings).fit(twice)
    assert one.node_components_ == pytest.approx(other.node_components_, abs=1e-6)


def test_tokens_in_two() -> None:
    both = in_two(X, 0.25, 1)
    assert both.shape == (X.n_rows, 2 * N_COLUMNS)
    left, right = both.matrix.toarray()[:, :N_COLUMNS], both.matrix.toarray()[:, N_COLUMNS:]
    assert (left + right == X.matrix.toarray()).all()
    assert right.sum() == pytest.approx(0.25 * X.total, rel=0.1)


def test_weights_of_clusters_may_come_from_the_same_tokens() -> None:
    drifting = fitted(tree=Tree.balanced(2), weights="cluster", weights_fraction=0.0)
    assert not drifting.model_.held_out
    assert drifting.path_weights_.shape == (X.n_rows, 3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tree": [-1, -1]}, "a tree has one root, a node with parent -1; found 2"),
        ({"tree": [-1, 2, 1]}, r"nodes \[1, 2\] form a cycle"),
        ({"tree": 7}, "the tree is 7; give a Tree"),
        ({"tree": [[0, 1], 2], "n_components": 4}, "n_components=4 with a tree of 3 leaves"),
        ({"n_components": 0}, "n_components=0; it must be an integer of at least 1"),
        ({"n_components": "many"}, "n_components='many'; it must be an integer of at least 1"),
        ({"max_components": 0}, "max_components=0; it must be an integer of at least 1"),
        ({"weights": "some"}, "weights='some'; it must be one of 'uniform', 'cluster', 'full'"),
        ({"weights_fraction": 0.95}, "weights_fraction=0.95; it must be a number of at least 0"),
        ({"aspect_temperature": -1}, "aspect_temperature is -1; it must be a number above 0"),
        ({"temper_prior": "yes"}, "temper_prior='yes'; it must be one of True, False, 'auto'"),
        ({"validation_fraction": 2}, "validation_fraction=2; it must be a number"),
        ({"engine__patience": 0}, "patience=0; it must be an integer of at least 1"),
        ({"tol": -1.0}, "tol=-1.0; it must be a number"),
    ],
)
def test_bad_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        fitted(**settings)


def test_bad_questions(model: HierarchicalClustering) -> None:
    with pytest.raises(
        IsothermError, match=r"word is 'node0wort1', which .* near it are node0word1"
    ):
        model.word_spread("node0wort1")
    with pytest.raises(IsothermError, match="'qqqqq', which the counts do not have; no column is"):
        model.word_spread("qqqqq")
    with pytest.raises(IsothermError, match="word is 70; give a column name or the number of a co"):
        model.word_spread(70)
    with pytest.raises(IsothermError, match="row is 160; the model was fitted to rows 0 to 159"):
        model.path(160)
    with pytest.raises(IsothermError, match="row is -1; the model was fitted to rows 0 to 159"):
        model.path(-1)
    with pytest.raises(IsothermError, match="node is 7; the tree has nodes 0 to 6"):
        model.expand(7)
    with pytest.raises(IsothermError, match="n_words=0; it must be an integer of at least 1"):
        model.node_words(0)
    with pytest.raises(IsothermError, match="by='size'; it must be one of 'telling', 'prob"):
        model.node_words(by="size")
    nameless = HierarchicalClustering(tree=[0, 1], random_state=0, verbose=False).fit(X.matrix)
    with pytest.raises(IsothermError, match="word is 'flow'; give the number of a column, 0 to 69"):
        nameless.word_spread("flow")
