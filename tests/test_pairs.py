"""From a table of pairs to clusters of both sides."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isotherm import Counts, IsothermError, PairClusters, cluster_pairs

COLOURS, SOUNDS = ("red", "white", "blue"), ("loud", "low", "shrill")
THINGS, NOISES = ("wine", "rose", "shirt", "door"), ("noise", "voice", "cry", "sound")
PAIRS = [(a, b, 5) for a in COLOURS for b in THINGS] + [(a, b, 5) for a in SOUNDS for b in NOISES]
RARE = [*PAIRS, ("blue", "noise", 1), ("odd", "thing", 1)]


@pytest.fixture(scope="module")
def found() -> PairClusters:
    return cluster_pairs(RARE, 2, min_count=3, random_state=0)


def test_clusters_of_both_sides(found: PairClusters) -> None:
    c, d = found.cluster_of("red", "left"), found.cluster_of("wine", "right")
    assert set(found.members(c, "left")) == set(COLOURS)
    assert set(found.members(1 - c, "left")) == set(SOUNDS)
    assert set(found.members(d, "right")) == set(THINGS)
    assert set(found.members(1 - d, "right")) == set(NOISES)
    assert found.model.association_[c, d] > 1.5 > 0.5 > found.model.association_[c, 1 - d]


def test_names_and_labels_belong_together(found: PairClusters) -> None:
    assert found.names("left") == sorted((*COLOURS, *SOUNDS))
    assert found.names("right") == sorted((*THINGS, *NOISES))
    for side in ("left", "right"):
        assert len(found.labels(side)) == len(found.names(side))
        for name, label in zip(found.names(side), found.labels(side), strict=True):
            assert name in found.members(label, side)
    assert "odd" not in found.names("left")
    assert len(found.members(0, "left", 2)) == 2


def test_the_most_frequent_member_comes_first() -> None:
    pairs = [*PAIRS, ("white", "wine", 9)]
    found = cluster_pairs(pairs, 2, random_state=0)
    assert found.members(found.cluster_of("red", "left"), "left")[0] == "white"
    assert found.members(found.cluster_of("rose", "right"), "right", 1) == ["wine"]


def test_describe_names_the_sides(found: PairClusters) -> None:
    lines = found.describe(3).splitlines()
    assert [lines[i] for i in (1, 4)] == ["left:", "right:"]
    assert set(lines[2].split()[-3:]) in (set(COLOURS), set(SOUNDS))
    assert repr(found) == (
        "PairClusters(2 x 2 clusters of Counts(6 rows x 8 columns, 25 non-zeros, total 121))"
    )


def test_hard_clusters() -> None:
    found = cluster_pairs(PAIRS, (2, 2), hard=True, random_state=0)
    assert found.model.temperature_ == 0.0
    assert set(np.unique(found.model.column_weights_)) == {0.0, 1.0}
    assert found.model.mutual_information_ == pytest.approx(np.log(2))


def test_numbers_of_clusters_may_differ(found: PairClusters) -> None:
    assert cluster_pairs(PAIRS, (2, 3), random_state=0).model.association_.shape == (2, 3)


def test_counts_without_names_are_numbered() -> None:
    table = np.kron(np.eye(2, dtype=int), np.full((3, 4), 5))
    found = cluster_pairs(Counts(table), 2, random_state=0)
    assert found.names("right") == [str(j) for j in range(8)]
    assert set(found.members(found.cluster_of("0", "left"), "left")) == {"0", "1", "2"}


def test_labels_of_small_counts_stay() -> None:
    scaled = [(a, b, 0.1 * n) for a, b, n in RARE]
    found = cluster_pairs(scaled, 2, hard=True, random_state=0)
    assert set(found.names("left")) == {a for a, _, _ in RARE}
    assert found.counts.total == pytest.approx(sum(n for _, _, n in scaled))


def test_files_and_named_columns(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    lines = ["noun,adjective,n", *(f"{b},{a},{n}" for a, b, n in PAIRS)]
    path.write_text("\n".join(lines), encoding="utf-8")
    found = cluster_pairs(path, 2, left="adjective", right="noun", count="n", random_state=0)
    assert set(found.members(found.cluster_of("red", "left"), "left")) == set(COLOURS)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_clusters": 0}, "n_clusters=0; it must be an integer of at least 1"),
        ({"n_clusters": (2, 0)}, "n_clusters=0; it must be"),
        ({"n_clusters": (2, 2, 2)}, r"n_clusters=\(2, 2, 2\); give one number for both"),
        ({"n_clusters": 2.5}, "n_clusters=2.5; it must be"),
        ({"min_count": -1}, "min_count=-1; it must be a number of at least 0"),
        ({"min_count": 100}, "min_count=100 leaves nothing"),
        ({"hard": 1}, "hard=1; it must be True or False"),
        ({"random_state": -3}, "random_state=-3 is no seed"),
    ],
    ids=str,
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        cluster_pairs(PAIRS, **settings)


def test_questions_that_make_no_sense_are_refused(found: PairClusters) -> None:
    with pytest.raises(IsothermError, match="side='middle'; it must be one of 'left', 'right'"):
        found.names("middle")
    with pytest.raises(IsothermError, match="'odd' is not on the left side; it may be rarer"):
        found.cluster_of("odd", "left")
    for c in (-1, 2):
        with pytest.raises(IsothermError, match=f"cluster={c}; there are 2 clusters"):
            found.members(c, "right")


def test_adjectives_and_nouns(shared_data: Path) -> None:
    path = shared_data / "adjnoun" / "pairs.tsv.gz"
    found = cluster_pairs(path, 8, min_count=10, random_state=0)
    assert found.model.mutual_information_ > 0.3
    # Words of one field stand together.
    same = [("social", "political"), ("old", "young"), ("recent", "early")]
    assert sum(found.cluster_of(a, "left") == found.cluster_of(b, "left") for a, b in same) >= 2
