"""Graphs of rows that are alike: what is a neighbour, what labels change, what is refused."""

import importlib
import inspect
import os
import pickle
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse

from isotherm import IsothermError, IsothermWarning, Neighbors, as_counts, neighbor_graph
from isotherm.data.counts import Counts
from isotherm.graph import neighbors
from isotherm.graph.neighbors import as_graph, isolated_rows, n_graph_components, with_labels
from support.strategies import counts_matrices

Table = NDArray[np.int64]


def planted(n_rows: int = 120, seed: int = 3) -> Counts:
    """Rows of six topics over 200 words; long enough that no two similarities are equal."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(200, 0.1), 6)
    return as_counts(np.array([rng.multinomial(150, topics[i % 6]) for i in range(n_rows)]))


def histograms(table: Table) -> NDArray[np.float64]:
    """Spec of the rows: counts times log(N/df), divided by their sums."""
    df = (table > 0).sum(axis=0)
    weighted = table * np.where(df > 0, np.log(len(table) / np.maximum(df, 1)), 0.0)
    sums = weighted.sum(axis=1, keepdims=True)
    return weighted / np.where(sums > 0, sums, 1)


def brute(table: Table, r: int) -> NDArray[np.float64]:
    rows = histograms(table)
    W = np.zeros((len(rows), len(rows)))
    for i, row in enumerate(rows):
        sums = np.minimum(row, rows).sum(axis=1)
        sums[i] = 0
        for j in sorted(np.flatnonzero(sums), key=lambda j: (-round(sums[j] * 2**40), j))[:r]:
            W[i, j] = W[j, i] = 1
    return W


def is_graph(W: sparse.csr_array) -> bool:
    dense = W.toarray()
    return (
        isinstance(W, sparse.csr_array)
        and W.dtype == np.float64
        and W.indices.dtype == W.indptr.dtype == np.int32
        and bool(W.has_canonical_format and (W.data > 0).all())
        and bool((dense == dense.T).all() and (dense.diagonal() == 0).all())
    )


# ---------------------------------------------------------------- neighbours


@given(counts_matrices(max_rows=9), st.integers(1, 10))
def test_graph_is_that_of_all_pairs(table: Table, r: int) -> None:
    W = Neighbors.of(as_counts(table), r).graph()
    assert is_graph(W)
    assert (W.toarray() == brute(table, r)).all()


@given(counts_matrices())
def test_similarity_is_one_minus_half_the_distance(table: Table) -> None:
    found = Neighbors.of(as_counts(table), len(table))
    indices, similarities = found.search(found.rows)
    rows = histograms(table)
    np.testing.assert_allclose(found.rows.toarray(), rows, rtol=1e-14, atol=1e-300)
    for i, j in np.argwhere(indices >= 0):
        distance = np.abs(rows[i] - rows[indices[i, j]]).sum()
        assert abs(similarities[i, j] - (1 - distance / 2)) <= 1e-12
    assert (similarities[indices < 0] == 0).all()


def test_word_in_every_row_weighs_nothing() -> None:
    found = Neighbors.of(as_counts([[5, 1, 0], [5, 0, 2], [5, 1, 1], [5, 0, 0]]), 2)
    np.testing.assert_allclose(found.idf, [0, np.log(2), np.log(2)])
    assert found.rows.toarray().tolist() == [[0, 1, 0], [0, 0, 1], [0, 0.5, 0.5], [0, 0, 0]]
    assert found.graph().toarray().tolist() == [
        [0, 0, 1, 0], [0, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]
    ]  # fmt: skip


def test_one_of_two_is_enough() -> None:
    # Row 2 is the best of 3, but 1 is the best of 2: the edge is there all the same.
    table = np.array([[4, 4, 0, 0, 0], [0, 4, 4, 0, 0], [0, 3, 4, 1, 0], [0, 0, 0, 1, 5]])
    W = neighbor_graph(table, 1).toarray()
    assert W[2].tolist() == [0, 1, 0, 1]
    assert W[3].tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("r", [119, 120, 10**9])
def test_more_neighbours_than_rows_are_all_rows(r: int) -> None:
    counts = planted()
    W = neighbor_graph(counts, r)
    shared = (counts.matrix > 0).astype(int) @ (counts.matrix > 0).astype(int).T
    assert W.nnz == shared.nnz - 120
    assert Neighbors.of(counts, r).search(Neighbors.of(counts).rows)[0].shape == (120, min(r, 120))


def test_one_row_has_no_neighbours() -> None:
    assert Neighbors.of(as_counts([[1, 2]])).graph().toarray().tolist() == [[0]]


def test_empty_rows_are_isolated() -> None:
    table = planted().matrix.toarray()
    table[[3, 60]] = 0
    W = neighbor_graph(table, 4)
    assert isolated_rows(W).tolist() == [3, 60]
    kept = np.delete(np.arange(120), [3, 60])
    assert n_graph_components(W) == 2 + n_graph_components(W[kept][:, kept])


def test_order_of_rows_and_columns_does_not_matter() -> None:
    counts, rng = planted(), np.random.default_rng(1)
    W = neighbor_graph(counts, 5)
    order = rng.permutation(120)
    turned = neighbor_graph(counts.take_rows(order), 5)
    assert (turned != W[order][:, order]).nnz == 0
    assert (neighbor_graph(counts.take_columns(rng.permutation(200)), 5) != W).nnz == 0


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("method", ["exact", "rare_words"])
def test_threads_do_not_matter(method: str, n_threads: int) -> None:
    counts = planted(700)
    W = neighbor_graph(counts, 5, method=method)
    assert (neighbor_graph(counts, 5, method=method, n_threads=n_threads) != W).nnz == 0


@pytest.mark.parametrize("method", ["exact", "rare_words"])
def test_new_rows_are_treated_one_by_one_with_the_weights_of_training(method: str) -> None:
    counts, new = planted(), planted(seed=3).take_rows(np.arange(30))
    new = as_counts(np.vstack([new.matrix.toarray(), np.zeros((1, 200))]))
    found = Neighbors.of(counts, 4, method=method)
    edges = found.of_new(new)
    assert edges.shape == (31, 120)
    assert edges.dtype == np.float64
    assert (edges.data == 1).all()
    assert (edges.sum(axis=1) == [4.0] * 30 + [0.0]).all()
    for i in range(31):
        alone = found.of_new(as_counts(new.matrix[[i]], allow_empty=True))
        assert (alone != edges[[i]]).nnz == 0
    # A training row is its own best neighbour when it comes as a new one.
    indices, similarities = found.search(found.weighted(new))
    assert indices[:30, 0].tolist() == list(range(30))
    assert (similarities[:30, 0] == 1).all()
    assert (indices[30] == -1).all()
    expected = np.minimum(found.rows.toarray()[0], found.rows.toarray()).sum(axis=1)
    np.testing.assert_allclose(similarities[0], expected[indices[0]], atol=1e-12)


def test_words_unseen_in_training_are_left_out() -> None:
    found = Neighbors.of(as_counts([[1, 0, 0], [0, 1, 0]]), 1)
    assert found.weighted(as_counts([[1, 0, 7]])).toarray().tolist() == [[1, 0, 0]]
    assert found.of_new(as_counts([[1, 0, 7]])).toarray().tolist() == [[1, 0]]


def test_histograms_can_do_without_weights() -> None:
    X = np.array([[0.5, 0.25, 0.25], [0.4, 0.3, 0.3], [0.1, 0.1, 0.8], [0.1, 0.2, 0.7]])
    W = neighbor_graph(X, 1, weighting="none")
    assert W.toarray().tolist() == [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    with pytest.warns(IsothermWarning, match='may need weighting="none"'):
        assert neighbor_graph(X, 1).nnz == 0


def test_huge_counts_do_not_overflow() -> None:
    table = np.eye(50)
    table[0, :2] = 8e307
    rows = Neighbors.of(as_counts(table)).rows.toarray()
    assert np.isfinite(rows).all()
    np.testing.assert_allclose(rows.sum(axis=1), 1)


def test_pickle_leaves_out_what_can_be_made_again() -> None:
    found = Neighbors.of(planted(), 4)
    before = pickle.dumps(found)
    W = found.graph()
    again = pickle.loads(pickle.dumps(found))
    assert len(pickle.dumps(found)) == len(before)
    assert (again.graph() != W).nnz == 0


# ---------------------------------------------------------------- approximate search


def recall(found: Neighbors, r: int) -> float:
    exact = Neighbors.of(planted(600), r)
    own = np.arange(600)
    a, b = exact._search(exact.rows, r, own)[0], found._search(found.rows, r, own)[0]
    return float(np.mean([len(set(x) & set(y)) / r for x, y in zip(a, b, strict=True)]))


def test_rare_words_find_most_neighbours() -> None:
    found = Neighbors.of(planted(600), 5, method="rare_words")
    additions = [(np.diff(p.indptr) ** 2.0).sum() for p in (found._rare_postings, found._postings)]
    assert 0.3 < additions[0] / additions[1] < 0.4
    dropped = np.diff(found._rare_postings.indptr) < np.diff(found._postings.indptr)
    in_rows = np.diff(found._postings.indptr)
    assert in_rows[dropped].min() >= in_rows[~dropped].max()
    assert 0.85 <= recall(found, 5) < 1


def test_similarities_of_candidates_are_those_of_all_words() -> None:
    exact, found = (Neighbors.of(planted(), 3, method=m) for m in ("exact", "rare_words"))
    indices, similarities = found.search(found.rows)
    dense = exact.rows.toarray()
    for i in range(120):
        expected = np.minimum(dense[i], dense[indices[i]]).sum(axis=1)
        np.testing.assert_allclose(similarities[i], expected, rtol=0, atol=1e-12)


def test_auto_is_exact_until_there_are_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert neighbors.EXACT_UP_TO == 100_000
    monkeypatch.setattr(neighbors, "EXACT_UP_TO", 120)
    assert Neighbors.of(planted(120)).method == "exact"
    assert Neighbors.of(planted(121)).method == "rare_words"


class NNDescent:
    """Stands in for the search of pynndescent: all pairs, now and then a candidate missing."""

    asked: ClassVar[list[dict[str, Any]]] = []

    def __init__(self, data: Any, **options: Any) -> None:
        self.asked.append(options)
        rows = data.toarray()
        gaps = np.abs(rows[:, None] - rows).sum(axis=2)
        found = np.argsort(gaps, axis=1)[:, : options["n_neighbors"]]
        found[::10, -1] = -1
        self.neighbor_graph = (found, np.sort(gaps, axis=1))


def test_candidates_of_descent_are_compared_by_all_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynndescent", SimpleNamespace(NNDescent=NNDescent))
    table = planted().matrix.toarray()
    table[7] = 0
    found, exact, rare = (
        Neighbors.of(as_counts(table), 5, method=method, n_threads=2, random_state=0)
        for method in ("descent", "exact", "rare_words")
    )
    W = found.graph()
    assert is_graph(W)
    assert isolated_rows(W).tolist() == [7]
    assert (exact.graph() != W).nnz == 0
    wanted = {"metric": "manhattan", "n_neighbors": 25, "random_state": found.seed, "n_jobs": 2}
    assert NNDescent.asked == [wanted]
    assert (found.of_new(planted(50)) != rare.of_new(planted(50))).nnz == 0
    few = Neighbors.of(as_counts(table[:9]), 20, method="descent", random_state=0).graph()
    assert (few != Neighbors.of(as_counts(table[:9]), 20).graph()).nnz == 0
    assert len(NNDescent.asked) == 1  # so few rows are all compared


def test_descent_is_what_it_is_taken_for() -> None:
    package = pytest.importorskip("pynndescent", reason="the extra `neighbors` is not installed")
    known = inspect.signature(package.NNDescent).parameters
    assert {"data", "metric", "n_neighbors", "random_state", "n_jobs"} <= set(known)
    assert isinstance(package.NNDescent.neighbor_graph, property)
    assert "manhattan" in importlib.import_module("pynndescent.sparse").sparse_named_distances


@pytest.mark.skipif("ISOTHERM_SLOW" not in os.environ, reason="compiles for long: ISOTHERM_SLOW=1")
def test_descent_finds_most_neighbours() -> None:
    found = Neighbors.of(planted(600), 5, method="descent", random_state=0)
    assert recall(found, 5) >= 0.85
    assert (found.graph() != found.graph()).nnz == 0


def test_descent_without_its_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynndescent", None)
    with pytest.raises(IsothermError, match=r"isotherm\[neighbors\], or use another method"):
        neighbor_graph(planted(), method="descent")


# ---------------------------------------------------------------- labels


def test_labels_add_and_remove_edges() -> None:
    W = np.zeros((5, 5))
    W[0, 1] = W[1, 0] = W[0, 4] = W[4, 0] = 1
    W[2, 3] = W[3, 2] = 0.5
    labelled = with_labels(W, [0, 1, 0, 0, -1])
    assert is_graph(labelled)
    assert labelled.toarray().tolist() == [
        [0, 0, 1, 1, 1],  # tied to its label, parted from row 1, row 4 as before
        [0, 0, 0, 0, 0],
        [1, 0, 0, 0.5, 0],  # an edge that was there keeps its weight
        [1, 0, 0.5, 0, 0],
        [1, 0, 0, 0, 0],
    ]


@pytest.mark.parametrize(
    "y",
    [
        np.array([7, 7, 3, -1], np.int8),
        [7.0, 7.0, 3.0, -1.0],
        ["a", "a", "b", None],
        ["a", "a", "b", float("nan")],
        pd.Series(["a", "a", "b", None]),
        pd.Series([4, 4, 1, None], index=[3, 2, 1, 0]),
        pd.Series([4, 4, 1, None], dtype="Int64"),
        pd.Series(["a", "a", "b", None], dtype="category"),
        np.array([0, 0, pd.Timestamp("2000-01-01"), pd.NaT], object),
        ["a", "a", "b", "-1"],
        np.array(["a", "a", "b", -1]),
        np.array(["a", "a", "b", -1], object),
        np.array([1, 1.0, np.int8(2), -1.0], object),
        [-2, -2, 5, -1],
    ],
    ids=str,
)
def test_labels_of_any_kind(y: object) -> None:
    W = with_labels(np.ones((4, 4)) - np.eye(4), y).toarray()
    assert W.tolist() == [[0, 1, 0, 1], [1, 0, 0, 1], [0, 0, 0, 1], [1, 1, 1, 0]]


@pytest.mark.parametrize("dtype", [bool, np.uint8])
def test_labels_without_a_sign_are_all_known(dtype: type) -> None:
    W = with_labels(np.ones((3, 3)), np.array([1, 1, 0], dtype)).toarray()
    assert W.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]


def test_unknown_labels_change_nothing() -> None:
    W = neighbor_graph(planted(), 4)
    assert (with_labels(W, np.full(120, -1)) != W).nnz == 0
    assert (neighbor_graph(planted(), 4, y=np.full(120, -1)) != W).nnz == 0


def test_graph_with_labels_in_one_call() -> None:
    y = np.where(np.arange(120) < 40, np.arange(120) % 6, -1)
    W = neighbor_graph(planted(), 4, y=y)
    assert (with_labels(neighbor_graph(planted(), 4), y) != W).nnz == 0
    assert (neighbor_graph(planted(), 4) != W).nnz > 0


@pytest.mark.parametrize("most", [1, 2, 3, 4, 5, 18, 19, 100])
@pytest.mark.parametrize("n", [19, 20])
def test_label_edges_are_limited(most: int, n: int) -> None:
    y = np.repeat([0, 1, -1], n)
    W = with_labels(sparse.csr_array((3 * n, 3 * n)), y, max_label_edges=most, random_state=1)
    assert is_graph(W)
    degrees = W.sum(axis=1)
    assert (degrees[2 * n :] == 0).all()
    assert W[:n, n:].nnz == 0
    allowed = min(most, n - 1)
    assert degrees.max() == allowed
    # An odd number of partners cannot be had by all of an odd number of rows.
    assert (degrees[: 2 * n] < allowed).sum() <= 2 * (allowed % 2) * (n % 2)
    if most > 1:
        assert n_graph_components(W) == 2 + n


def test_limited_label_edges_come_from_the_seed() -> None:
    y, nothing = np.zeros(50, int), sparse.csr_array((50, 50))
    draws = [with_labels(nothing, y, max_label_edges=4, random_state=s) for s in (0, 0, 1)]
    assert (draws[0] != draws[1]).nnz == 0
    assert (draws[0] != draws[2]).nnz > 0
    X = planted(50)
    calls = [neighbor_graph(X, 3, y=y, max_label_edges=4, random_state=s) for s in (0, 0, 1)]
    assert (calls[0] != calls[1]).nnz == 0
    assert (calls[0] != calls[2]).nnz > 0


def test_nothing_old_is_lost_where_label_edges_are_limited() -> None:
    y, W = np.arange(120) % 6, neighbor_graph(planted(), 4)
    labelled = with_labels(W, y, max_label_edges=2, random_state=0)
    coo = W.tocoo()
    same = y[coo.row] == y[coo.col]
    dense = labelled.toarray()
    assert (dense[coo.row[same], coo.col[same]] == 1).all()
    assert not dense[coo.row[~same], coo.col[~same]].any()


# ---------------------------------------------------------------- graphs of users


@pytest.mark.parametrize(
    "form",
    [np.array, sparse.csr_array, sparse.coo_matrix, sparse.csc_array, list, sparse.lil_array],
)
def test_a_graph_in_any_form(form: type) -> None:
    W = form(np.array([[9, 2, 0], [2, 0, 1], [0, 1, 0]]))
    found = as_graph(W, 3)
    assert is_graph(found)
    assert found.toarray().tolist() == [[0, 2, 0], [2, 0, 1], [0, 1, 0]]
    assert found.has_sorted_indices


def test_a_graph_is_not_changed_and_not_shared() -> None:
    W = sparse.csr_array(np.array([[1.0, 2.0], [2.0, 0.0]]))
    before = W.toarray()
    found = as_graph(W, 2)
    found.data[:] = 5
    assert (W.toarray() == before).all()


def test_edges_stored_twice_add_up() -> None:
    W = sparse.coo_array(([1.0, 2.0, 3.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    assert as_graph(W, 2).toarray().tolist() == [[0, 3], [3, 0]]


def test_an_asymmetric_graph_takes_the_larger_weight() -> None:
    with pytest.warns(IsothermWarning, match=r"not symmetric.*max\(W, W'\)") as caught:
        W = as_graph([[0, 2, 0], [1, 0, 0], [4, 0, 0]], 3)
    assert [warning.filename for warning in caught] == [__file__]
    assert W.toarray().tolist() == [[0, 2, 4], [2, 0, 0], [4, 0, 0]]


def test_labels_on_an_asymmetric_graph_warn_in_the_line_of_the_user() -> None:
    with pytest.warns(IsothermWarning, match="not symmetric") as caught:
        with_labels([[0, 2], [1, 0]], [0, 1])
    assert [warning.filename for warning in caught] == [__file__]


def test_rounding_is_not_asymmetry() -> None:
    W = as_graph([[0, 1], [1 + 1e-15, 0]], 2)
    assert W[0, 1] == W[1, 0] == 1 + 1e-15


def test_components_and_isolated_rows() -> None:
    W = as_graph([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]], 4)
    assert n_graph_components(W) == 3
    assert isolated_rows(W).tolist() == [2, 3]


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("W", "message"),
    [
        (np.zeros((3, 2)), r"shape \(3, 2\); it must be square .* each of the 3 rows"),
        (np.zeros((2, 2)), r"shape \(2, 2\); it must be square .* each of the 3 rows"),
        (np.zeros(3), r"shape \(3,\); it must be a matrix"),
        (np.diag([1, -1], 1) + 0, r"holds -1 at row 1, column 2; weights are finite numbers >= 0"),
        ([[0, np.nan, 0], [0] * 3, [0] * 3], "holds nan at row 0, column 1; .* drop that edge"),
        ([[0, 0, 0], [0] * 3, [0, np.inf, 0]], "holds inf at row 2, column 1"),
        ([["a"] * 3] * 3, "cannot be read as a matrix of numbers"),
        ([[0, 1], [1]], "cannot be read as a matrix of numbers"),
        (None, r"shape \(\); it must be a matrix"),
    ],
)
def test_bad_graphs_are_refused(W: object, message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        as_graph(W, 3)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(119, int), r"shape \(119,\); it must hold 120 labels, one per row. Put -1"),
        (np.zeros((120, 1), int), r"shape \(120, 1\); it must hold 120 labels"),
        (np.r_[np.inf, np.zeros(119)], "holds inf at row 0; labels are classes"),
        (np.r_[0, 0, 0.5, np.zeros(117)], "holds 0.5 at row 2; labels are classes"),
        (np.array([*"ab", 0.5, *"c" * 117], object), "holds 0.5 at row 2"),
        (np.array([0, float("inf"), *"c" * 118], object), "holds inf at row 1"),
        ([[0], [0, 1]] * 60, "cannot be read as a list of labels"),
        (np.zeros(120, complex), "dtype complex128; labels are integers, booleans or strings"),
    ],
)
def test_bad_labels_are_refused(y: object, message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        neighbor_graph(planted(), y=y)


def test_labels_of_the_wrong_length_do_not_fit_the_graph() -> None:
    with pytest.raises(IsothermError, match=r"shape \(3, 3\).* each of the 4 rows"):
        with_labels(np.zeros((3, 3)), [0, 0, 1, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors=0; it must be an integer of at least 1"),
        ({"n_neighbors": 2.5}, "n_neighbors=2.5; it must be an integer"),
        ({"n_neighbors": True}, "n_neighbors=True; it must be an integer"),
        ({"method": "best"}, "method='best'; it must be one of 'auto', 'exact', 'rare_words'"),
        ({"weighting": None}, "weighting=None; it must be one of 'idf', 'none'"),
        ({"n_threads": 0}, "n_threads=0; it must be an integer of at least 1"),
        ({"max_label_edges": 0}, "max_label_edges=0; it must be an integer of at least 1"),
    ],
)
def test_bad_settings_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        neighbor_graph(planted(), **options)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_bad_counts_are_refused(bad: float) -> None:
    with pytest.raises(IsothermError, match="counts are finite numbers"):
        neighbor_graph([[1, bad], [0, 1]])


def test_new_rows_of_other_columns_are_refused() -> None:
    with pytest.raises(IsothermError, match=r"has 3 columns, .* learnt from 200; give counts of"):
        Neighbors.of(planted()).of_new(as_counts([[1, 2, 3]]))


# ---------------------------------------------------------------- real data


def test_neighbours_of_postings_are_of_the_same_newsgroup(shared_data: Path) -> None:
    folder = shared_data / "20news"
    counts = as_counts(sparse.load_npz(folder / "counts.npz"))
    labels = np.loadtxt(folder / "labels.txt", dtype=int)
    found = Neighbors.of(counts)
    W = found.graph()
    assert len(isolated_rows(W)) == 1
    coo = W.tocoo()
    assert 10 * 18_845 <= W.nnz <= 20 * 18_845
    sample = np.arange(0, counts.n_rows, 5)
    indices, _ = found._search(found.rows[sample], 10, sample)
    assert (np.asarray(W[np.repeat(sample, 10), indices.ravel()])[indices.ravel() >= 0] == 1).all()
    same = (labels[indices] == labels[sample][:, None])[indices >= 0]
    assert same.mean() == pytest.approx(0.765, abs=0.01)
    assert (labels[coo.row] == labels[coo.col]).mean() > 0.7
