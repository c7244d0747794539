"""Graphs of rows that are vectors, and weights of edges."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy import sparse

from isotherm import IsothermError, LapPLSI, neighbor_graph
from isotherm.graph import vectors
from support.corpora import one_topic_each

Table = NDArray[np.float64]

tables = st.tuples(st.integers(1, 9), st.integers(1, 4)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(-3, 3).map(float))
)


def cosines(table: Table) -> Table:
    """Cosines of all pairs, 0 of rows without a direction and of a row with itself."""
    sizes = np.sqrt((table**2).sum(axis=1, keepdims=True))
    unit = np.divide(table, sizes, out=np.zeros_like(table), where=sizes > 0)
    found = np.round(unit @ unit.T, 10)
    np.fill_diagonal(found, 0.0)
    return np.asarray(found)


def brute(table: Table, r: int) -> Table:
    alike = cosines(table)
    W = np.zeros_like(alike)
    for i, row in enumerate(alike):
        for j in sorted(np.flatnonzero(row > 0), key=lambda j: (-row[j], j))[:r]:
            W[i, j] = W[j, i] = 1
    return W


@given(tables, st.integers(1, 10))
def test_graph_is_that_of_all_pairs(table: Table, r: int) -> None:
    W = neighbor_graph(vectors=table, n_neighbors=r).toarray()
    np.testing.assert_array_equal(W, brute(table, r))


@given(tables)
def test_sparse_is_dense_and_length_does_not_matter(table: Table) -> None:
    W = neighbor_graph(vectors=table, n_neighbors=2).toarray()
    for form in (sparse.csr_matrix, sparse.coo_array, sparse.csc_array):
        assert (neighbor_graph(vectors=form(table), n_neighbors=2).toarray() == W).all()
    longer = table * np.arange(1, len(table) + 1)[:, None]
    for scale in (1e-280, 1.0, 1e280):
        assert (neighbor_graph(vectors=longer * scale, n_neighbors=2).toarray() == W).all()


def test_pieces_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.random.default_rng(0).normal(size=(40, 5))
    whole = neighbor_graph(vectors=table, n_neighbors=3)
    monkeypatch.setattr(vectors, "PIECE", 120)
    assert (neighbor_graph(vectors=table, n_neighbors=3) != whole).nnz == 0


def test_weights_of_edges() -> None:
    table = np.random.default_rng(1).normal(size=(30, 4))
    equal, similar, heat = (
        neighbor_graph(vectors=table, n_neighbors=3, weights=kind)
        for kind in ("equal", "similarity", "heat")
    )
    assert (equal.data == 1).all()
    for other in (similar, heat):
        assert (other.indices == equal.indices).all()
        assert (other.toarray() == other.toarray().T).all()
    i, j = equal.tocoo().coords
    np.testing.assert_allclose(similar.data, cosines(table)[i, j], atol=1e-9)
    away = 1.0 - similar.data
    np.testing.assert_allclose(heat.data, np.exp(-away / away.mean()), rtol=1e-9)


def test_weights_of_edges_of_counts_are_what_rows_share() -> None:
    X, _ = one_topic_each(40)
    similar = neighbor_graph(X, 4, weights="similarity")
    assert (similar.indices == neighbor_graph(X, 4).indices).all()
    df = (X > 0).sum(axis=0)
    rows = X * np.log(len(X) / np.maximum(df, 1))
    rows = rows / rows.sum(axis=1, keepdims=True)
    i, j = similar.tocoo().coords
    np.testing.assert_allclose(similar.data, np.minimum(rows[i], rows[j]).sum(axis=1), atol=1e-9)


@pytest.mark.parametrize("weights", ["equal", "similarity", "heat"])
def test_rows_that_are_the_same_are_tied_by_one(weights: str) -> None:
    table = np.repeat([[1.0, 2.0], [-2.0, 1.0]], 3, axis=0)
    W = neighbor_graph(vectors=table, n_neighbors=2, weights=weights).toarray()
    np.testing.assert_allclose(W, np.kron(np.eye(2), 1 - np.eye(3)), atol=1e-12)


def test_rows_without_a_direction_have_no_neighbours() -> None:
    table = np.array([[1.0, 0.0], [0.0, 0.0], [2.0, 0.1], [-1.0, -1.0]])
    W = neighbor_graph(vectors=table, n_neighbors=3).toarray()
    assert W.sum() == 2
    assert W[0, 2] == 1
    assert neighbor_graph(vectors=[[3.0]]).nnz == 0


def test_labels_come_on_top() -> None:
    table = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]])
    W = neighbor_graph(vectors=table, n_neighbors=1, weights="similarity", y=[0, 1, -1, 0])
    assert W[0, 1] == 0
    assert W[0, 3] == 1
    assert 0.9 < W[2, 3] < 1


def test_documents_are_tied_by_meaning() -> None:
    """Vectors that know the groups tie documents whose words do not."""
    X, groups = one_topic_each(60)
    blind = np.random.default_rng(0).permuted(X, axis=1)
    meaning = np.eye(3)[groups] + 0.01 * np.random.default_rng(1).normal(size=(60, 3))
    graph = neighbor_graph(vectors=meaning, n_neighbors=5)
    i, j = graph.tocoo().coords
    assert (groups[i] == groups[j]).all()

    def explained(W: object) -> float:
        """Share of the variance of the weights that is between groups."""
        model = LapPLSI(3, regularization=300.0, random_state=0, max_iter=20)
        weights = model.fit(blind, graph=W).row_weights_
        means = np.array([weights[groups == g].mean(axis=0) for g in groups])
        return float(means.var(axis=0).sum() / weights.var(axis=0).sum())

    assert explained(graph) > 0.5 > 0.2 > explained(None)


NAN = np.array([[1.0, 2.0], [3.0, np.nan]])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "given neither of X and vectors"),
        ({"X": [[1]], "vectors": [[1.0]]}, "given both of X and vectors"),
        ({"vectors": [1.0, 2.0]}, r"vectors have shape \(2,\); they must be a table \(N, D\)"),
        ({"vectors": np.zeros((2, 2, 2))}, r"vectors have shape \(2, 2, 2\)"),
        ({"vectors": np.zeros((3, 0))}, r"vectors have shape \(3, 0\)"),
        ({"vectors": np.zeros((0, 3))}, r"vectors have shape \(0, 3\)"),
        ({"vectors": NAN}, "vectors hold NaN or infinity in row 1"),
        ({"vectors": sparse.csr_array(NAN * np.inf)}, "vectors hold NaN or infinity in row 0"),
        ({"vectors": [["a", "b"]]}, "vectors cannot be read as a table of numbers"),
        ({"vectors": [[1.0], [1.0, 2.0]]}, "vectors cannot be read as a table of numbers"),
        ({"vectors": [[1.0]], "n_neighbors": 0}, "n_neighbors=0; it must be an integer"),
        ({"vectors": [[1.0]], "weights": "cosine"}, "weights='cosine'; it must be one of 'equal'"),
        ({"vectors": [[1.0]], "y": [0, 1]}, r"y has shape \(2,\).*1 labels, one per row"),
    ],
)
def test_bad_input_is_refused(given: Any, message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        neighbor_graph(**given)
