"""What the benchmark of shares of topics makes of small tables and of measurements."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from benchmarks.harness.labelled import Case
from benchmarks.page import topics as pages
from benchmarks.quality import shares
from benchmarks.quality.shares import COLD, TEMPERED, UNTEMPERED, Planted
from isotherm import Counts

TOPICS = np.kron(np.eye(2), np.full(4, 0.25))
SIZES = (40, 40)


def documents(*sizes: int) -> tuple[Counts, np.ndarray]:
    """Documents of one of two topics, so many of each, and their topics."""
    labels = np.repeat([0, 1], sizes)
    rows = np.random.default_rng(0).multinomial(30, TOPICS[labels])
    return Counts(sparse.csr_array(rows)), labels


def test_shares_at_one_are_those_of_the_same_topics() -> None:
    counts, _ = documents(60, 20)
    found = shares.ways(counts, 2)
    assert list(found) == [TEMPERED, UNTEMPERED, COLD]
    assert found[COLD].model.temperature_ == 1.0
    assert found[COLD].model.components_ is found[TEMPERED].model.components_
    assert found[TEMPERED].model.temperature_ > 1.0
    for one in found.values():
        assert sorted(one.shares) == pytest.approx([0.25, 0.75], abs=0.01)


def test_rows_of_a_collection_have_every_measure() -> None:
    counts, labels = documents(*SIZES)
    rows = shares.measured(Case("text", counts, labels, 2), 2, 0)
    assert [row["method"] for row in rows] == [TEMPERED, UNTEMPERED, COLD]
    assert all((row["AMI"], row["ARI"]) == (1.0, 1.0) for row in rows)
    assert [row["moved"] is None for row in rows] == [True, True, False]
    assert rows[0]["ratio"] == pytest.approx(rows[0]["largest, %"] / rows[0]["smallest, %"])
    assert all(row["perplexity"] < 8 for row in rows)
    bare = shares.measured(Case("text", counts), 2, 0)
    assert bare[0]["AMI"] is None


def test_topics_of_two_halves_are_alike() -> None:
    counts, _ = documents(*SIZES)
    rows = shares.halved(Case("text", counts), 2, 0)
    assert [row["method"] for row in rows] == [TEMPERED, UNTEMPERED, COLD]
    assert rows[0]["cosine"] > 0.98
    assert rows[2]["cosine"] == rows[0]["cosine"]


def test_planted_shares_are_those_of_the_tokens() -> None:
    rng = np.random.default_rng(0)
    found = shares.drawn("x", TOPICS, np.eye(2), np.array([30.0, 10.0]), rng)
    assert found.shares == pytest.approx([0.75, 0.25])
    assert found.counts.row_totals == pytest.approx([30, 10])
    six = shares.main_topics(0, shares.SHARES, "six")
    assert six.topics.shape == (6, shares.COLUMNS)
    assert six.counts.n_rows == shares.DOCUMENTS
    assert six.shares.sum() == pytest.approx(1.0)
    assert six.shares.argmax() == 0


def test_shares_that_are_found_are_no_way_off() -> None:
    counts, labels = documents(60, 20)
    true = np.bincount(labels) / len(labels)
    rows = shares.recovered(Planted("x", counts, TOPICS, true), 0)
    assert all(row["total variation"] < 0.01 for row in rows)
    assert all(row["topics found"] == 1.0 for row in rows)
    assert rows[0]["true largest, %"] == pytest.approx(75)
    swapped = shares.recovered(Planted("x", counts, TOPICS, true[::-1]), 0)
    assert swapped[0]["total variation"] == pytest.approx(0.5, abs=0.01)


def row(method: str, **more: Any) -> dict[str, Any]:
    own = {"data": "text", "K": shares.MANY, "method": method, "perplexity": 90.0, "moved": None}
    return own | {"smallest, %": 2.0, "largest, %": 4.0, "cosine": 0.7, **more}


ROWS = [row(TEMPERED), row(UNTEMPERED, perplexity=100.0), row(COLD, moved=0.1)]
HALVES = [row(TEMPERED), row(UNTEMPERED, cosine=0.8), row(COLD)]
PLANTED = [row(way, **{"total variation": off}) for way, off in ((TEMPERED, 0.1), (UNTEMPERED, 0))]


def test_what_speaks_against_tempering_is_a_miss() -> None:
    targets = shares.judge(ROWS, HALVES, PLANTED)
    values = [target.value for target in targets]
    assert values == pytest.approx([0.9, -0.1, 0.1, 0.1])
    assert [target.met for target in targets] == [True, False, False, False]


def test_the_page_has_both_tables() -> None:
    first, second = pages.shares({"rows": ROWS, "halves": HALVES, "planted": PLANTED})
    assert [r["halves, cosine"] for r in first.rows] == [0.7, 0.8, 0.7]
    assert [r["total variation"] for r in second.rows] == [0.1, 0.0]
