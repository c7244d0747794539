"""Links between rows: what they hold, and how rows are coloured."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from isotherm.data.base import blocks_of
from isotherm.data.counts import Counts
from isotherm.data.linked import LinkedBlock, Links
from isotherm.errors import IsothermError


def symmetric(n: int, fill: float, seed: int) -> sparse.csr_array:
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) < fill, 1) * rng.uniform(0.1, 2.0, (n, n))
    return sparse.csr_array(upper + upper.T)


@given(st.integers(1, 30), st.floats(0.0, 1.0), st.integers(0, 100))
def test_rows_of_one_colour_are_not_linked(n: int, fill: float, seed: int) -> None:
    W = symmetric(n, fill, seed)
    order, starts = Links.of(W).colours
    assert sorted(order) == list(range(n))
    assert starts[0] == 0
    assert starts[-1] == n
    assert np.all(np.diff(starts) > 0)
    dense = W.toarray()
    for first, last in itertools.pairwise(starts):
        same = order[first:last]
        assert not dense[np.ix_(same, same)].any()
    # No more colours than neighbours of the busiest row, and itself.
    assert len(starts) - 1 <= (dense > 0).sum(axis=1).max() + 1


def test_links_of_a_matrix() -> None:
    W = symmetric(9, 0.4, 0)
    links = Links.of(W)
    np.testing.assert_array_equal(links.matrix.toarray(), W.toarray())
    np.testing.assert_allclose(links.row_totals, W.sum(axis=1))
    assert links.values.dtype == np.float64
    np.testing.assert_array_equal(Links.of(W.toarray()).indices, links.indices)
    stored_zero = W.copy()
    stored_zero.data[0] = 0.0
    assert Links.of(stored_zero).nnz == links.nnz - 1


def test_block_with_links() -> None:
    (block,) = blocks_of(Counts(np.arange(1, 13).reshape(4, 3)), np.array([0, 4]))
    links = Links.of(symmetric(4, 0.9, 1))
    whole = LinkedBlock.of(block, links)
    assert whole.links is links
    np.testing.assert_array_equal(whole.row_totals, block.row_totals)
    part = whole.take(np.array([2, 0]))
    assert not isinstance(part, LinkedBlock)
    np.testing.assert_array_equal(part.row_totals, block.row_totals[[2, 0]])
    other = whole.with_values(np.ones(12))
    assert isinstance(other, LinkedBlock)
    assert other.links is links


def test_links_of_new_rows_lead_to_anchors() -> None:
    (block,) = blocks_of(Counts(np.ones((2, 3))), np.array([0, 2]))
    anchors = np.full((5, 2), 0.5)
    links = Links.of(np.eye(2, 5))
    assert LinkedBlock.of(block, links, anchors).anchors is anchors
    with pytest.raises(IsothermError, match=r"2 x 5 for a block of 2 rows; they must be 2 x 2"):
        LinkedBlock.of(block, links)
    with pytest.raises(IsothermError, match=r"2 x 5 for a block of 2 rows; they must be 2 x 4"):
        LinkedBlock.of(block, links, anchors[:4])
