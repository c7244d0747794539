"""Topics matched between fits: known answers, and what must not matter."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from isotherm.errors import IsothermError
from isotherm.evaluate import match_topics, similarities, stability

RNG = np.random.default_rng(0)
FIRST, SECOND = RNG.dirichlet(np.full(20, 0.3), 4), RNG.dirichlet(np.full(20, 0.3), 4)


def test_similarities_by_hand() -> None:
    one, two = np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[0.5, 0.5]])
    assert similarities(one, two)[:, 0] == pytest.approx([np.sqrt(0.5), 1.0])
    found = similarities(one, two, "hellinger")[:, 0]
    assert found == pytest.approx([1 - np.sqrt(1 - np.sqrt(0.5)), 1.0], abs=1e-7)
    for kind in ("cosine", "hellinger"):
        assert similarities([[1.0, 0.0]], [[0.0, 1.0]], kind).item() == 0.0
        assert similarities(3 * one, 7 * two, kind) == pytest.approx(similarities(one, two, kind))


@pytest.mark.parametrize("kind", ["cosine", "hellinger"])
def test_matching_is_the_best_of_all(kind: str) -> None:
    table = similarities(FIRST, SECOND, kind)
    best = max(permutations(range(4)), key=lambda order: table[range(4), order].sum())
    found = match_topics(FIRST, SECOND, kind)
    assert found.first.tolist() == [0, 1, 2, 3]
    assert tuple(found.second) == best
    assert found.similarity == pytest.approx(table[range(4), best])
    assert found.mean == pytest.approx(found.similarity.mean())
    greedy = table.max(axis=1).mean()
    assert found.mean < greedy  # here two topics want the same partner


@pytest.mark.parametrize("kind", ["cosine", "hellinger"])
def test_order_of_topics_and_words_does_not_matter(kind: str) -> None:
    words, topics = RNG.permutation(20), np.array([2, 0, 3, 1])
    found = match_topics(FIRST, FIRST[topics], kind)
    assert found.second.tolist() == np.argsort(topics).tolist()
    assert found.mean == pytest.approx(1.0, abs=1e-7)
    other = match_topics(FIRST[:, words], SECOND[topics][:, words], kind)
    assert other.mean == pytest.approx(match_topics(FIRST, SECOND, kind).mean)


def test_topics_without_partner_count_nothing() -> None:
    for pair in ((FIRST, FIRST[1:]), (FIRST[1:], FIRST)):
        found = match_topics(*pair)
        assert len(found.similarity) == 3
        assert found.mean == pytest.approx(3 / 4)


def test_stability() -> None:
    model = type("Model", (), {"components_": SECOND})()
    found = stability([FIRST, FIRST[::-1], model])
    between = match_topics(FIRST, SECOND)
    expected = np.array([[1, 1, between.mean], [1, 1, between.mean], [between.mean] * 2 + [1]])
    assert found.pairs == pytest.approx(expected)
    assert found.mean == pytest.approx((1 + 2 * between.mean) / 3)
    assert found.per_topic == pytest.approx((1 + between.similarity) / 2)
    assert stability([FIRST, FIRST[1:]]).per_topic == pytest.approx([0, 1, 1, 1])
    assert stability([FIRST, SECOND], "hellinger").mean == pytest.approx(
        match_topics(FIRST, SECOND, "hellinger").mean
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stability([FIRST]), "1 fit was given; stability compares two or more"),
        (lambda: stability([FIRST, -SECOND]), "topics of fit 1 hold negative"),
        (lambda: match_topics(FIRST, SECOND[:, 1:]), "topics have 20 and 19 columns"),
        (lambda: match_topics(FIRST, SECOND, "jaccard"), "similarity='jaccard'; .*'hellinger'"),
    ],
)
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        call()
