"""Top words: which they are, how many are different, how much they are a topic's own."""

from typing import Any

import numpy as np
import pytest

from isotherm import AspectModel
from isotherm.errors import IsothermError
from isotherm.evaluate import diversity, exclusivity, top_columns

TABLE = np.array([[0.4, 0.3, 0.2, 0.1, 0.0], [0.1, 0.1, 0.1, 0.3, 0.4], [0.0, 0.5, 0.5, 0.0, 0.0]])


def test_top_columns_in_falling_order() -> None:
    found = [row.tolist() for row in top_columns(TABLE, 4)]
    # Ties go to the lower index; the last topic has two words only.
    assert found == [[0, 1, 2, 3], [4, 3, 0, 1], [1, 2]]


def test_diversity() -> None:
    assert diversity(TABLE, 1) == 1.0
    assert diversity(TABLE, 2) == 5 / 6  # 0 1, 4 3, 1 2
    assert diversity(TABLE, 4) == 5 / 10
    assert diversity([["a", "b", "c"], ["a", "d", "b"]], 2) == 3 / 4
    assert diversity(np.tile(TABLE[:1], (7, 1)), 3) == pytest.approx(1 / 7)


def test_diversity_does_not_depend_on_order() -> None:
    rng = np.random.default_rng(0)
    table = rng.dirichlet(np.full(40, 0.1), 6)
    expected = diversity(table, 10)
    assert 10 / 60 < expected < 1
    assert diversity(table[::-1][:, rng.permutation(40)], 10) == expected


def test_exclusivity_by_hand() -> None:
    table = np.array([[0.6, 0.3, 0.1, 0.0], [0.1, 0.3, 0.2, 0.4]])
    # Shares of the first topic: 6/7, 1/2, 1/3, 0, ranks of both 4 3 2 1. Those of the second:
    # 1/7, 1/2, 2/3, 1, ranks 1 2 3 4, and 1 3 2 4 by frequency.
    found = exclusivity(table, 2, weight=0.5)
    second = np.mean([1.0, 1 / (0.5 / (2 / 4) + 0.5 / (3 / 4))])
    assert found == pytest.approx([(1 + 3 / 4) / 2, second])
    assert exclusivity(table, 2, weight=1.0)[1] == pytest.approx((1 + 2 / 4) / 2)
    assert exclusivity(table, 2, weight=0.0)[1] == pytest.approx((1 + 3 / 4) / 2)
    assert exclusivity(table, 2)[1] == pytest.approx((1 + 1 / (0.7 * 2 + 0.3 * 4 / 3)) / 2)


def test_exclusivity_of_ties_and_of_words_of_no_topic() -> None:
    same = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]])
    # Both words are first or second, in the mean (2 + 3) / 2 of 3.
    assert exclusivity(same, 2, weight=1.0) == pytest.approx([2.5 / 3, 2.5 / 3])


def test_exclusivity_does_not_depend_on_order_or_scale() -> None:
    rng = np.random.default_rng(1)
    table = rng.dirichlet(np.full(50, 0.2), 5)
    expected = exclusivity(table, 8)
    turned = table[::-1][:, rng.permutation(50)] * np.arange(1, 6)[:, None]
    assert exclusivity(turned, 8)[::-1] == pytest.approx(expected)
    # Topics that keep to their own words beat topics that are all alike.
    own = np.kron(np.eye(5), rng.dirichlet(np.full(10, 5.0)))
    shared = 0.01 * own + rng.dirichlet(np.full(50, 5.0))
    assert exclusivity(own, 5).min() > exclusivity(shared, 5).max()


@pytest.mark.parametrize("function", [diversity, exclusivity, top_columns])
@pytest.mark.parametrize(
    ("topics", "n_words", "message"),
    [
        (TABLE, 0, "n_words=0; it must be an integer of at least 1"),
        (TABLE, 6, "n_words=6, but topics have 5 columns; ask for fewer"),
        (TABLE[0], 2, r"components have shape \(5,\); give a row for each topic"),
        (np.zeros((0, 5)), 2, r"components have shape \(0, 5\)"),
        (-TABLE, 2, "components hold negative"),
        (np.where(TABLE > 0.4, np.inf, TABLE), 2, "components hold negative or infinite"),
        (TABLE * [[1], [0], [1]], 2, "or a topic without words"),
        ([[0.1, object()]], 2, "components cannot be read as numbers"),
        (AspectModel(3), 2, "AspectModel has no components_; fit it first"),
    ],
)
def test_bad_topics(function: Any, topics: Any, n_words: int, message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        function(topics, n_words)


def test_bad_weight() -> None:
    with pytest.raises(IsothermError, match=r"weight=1\.5; .* at most 1"):
        exclusivity(TABLE, weight=1.5)
