"""Agreement of clusters with labels: known answers, and those of scikit-learn."""

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import (
    adjusted_mutual_info_score,
    adjusted_rand_score,
    completeness_score,
    homogeneity_score,
    normalized_mutual_info_score,
)

from isotherm.errors import IsothermError
from isotherm.evaluate import accuracy, ami, ari, completeness, homogeneity, nmi, purity

MEASURES = [nmi, ami, ari, homogeneity, completeness, purity, accuracy]


def test_nmi_facts() -> None:
    assert nmi([0, 0, 1, 1], [0, 0, 1, 2]) == pytest.approx(2 / 3)
    assert nmi(["b", "b", "a", "a"], [5, 5, 9, 9]) == pytest.approx(1.0)
    assert nmi([1, 1, 1], [0, 0, 0]) == 1.0
    assert nmi([1, 1, 1], [0, 1, 0]) == nmi([0, 1, 0], [1, 1, 1]) == 0.0


@pytest.mark.parametrize(
    ("average", "name"),
    [("max", "max"), ("mean", "arithmetic"), ("min", "min"), ("sqrt", "geometric")],
)
def test_nmi_is_that_of_scikit_learn(average: str, name: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        labels = rng.integers(0, 4, 60)
        clusters = np.where(rng.random(60) < 0.5, labels + 1, rng.integers(0, 7, 60))
        expected = normalized_mutual_info_score(labels, clusters, average_method=name)
        assert nmi(labels, clusters, average) == pytest.approx(expected, abs=1e-12)
        assert nmi(clusters * 7 - 3, labels, average) == pytest.approx(expected, abs=1e-12)


def noisy(seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, 60)
    return labels, np.where(rng.random(60) < 0.5, labels + 1, rng.integers(0, 7, 60))


def test_facts_by_hand() -> None:
    labels = [0, 0, 0, 1, 1, 1, 1, 2]
    clusters = [0, 0, 1, 1, 1, 2, 2, 2]
    # Rows of the table are labels: 2 1 0, 0 2 2, 0 0 1.
    assert purity(labels, clusters) == (2 + 2 + 2) / 8
    assert accuracy(labels, clusters) == (2 + 2 + 1) / 8
    # 3 pairs together in both, 9 by labels, 7 by clusters, of 28.
    assert ari(labels, clusters) == pytest.approx((3 - 9 * 7 / 28) / (8 - 9 * 7 / 28))


def test_more_clusters_than_labels() -> None:
    labels, clusters = [0, 0, 0, 1], [0, 1, 2, 3]
    assert purity(labels, clusters) == 1.0
    assert accuracy(labels, clusters) == 0.5
    assert ari(labels, clusters) == 0.0
    assert purity(clusters, labels) == 0.5


def test_ari_of_the_extremes() -> None:
    assert ari([1, 1, 1], ["a", "a", "a"]) == 1.0
    assert ari([0, 1, 2], [5, 3, 4]) == 1.0
    assert ari([0, 0, 0], [0, 1, 2]) == 0.0
    assert ari([0], [7]) == 1.0
    assert ari([0, 0, 1, 1], [0, 1, 0, 1]) == pytest.approx(-0.5)


@pytest.mark.parametrize("seed", range(5))
def test_ari_is_that_of_scikit_learn(seed: int) -> None:
    assert ari(*noisy(seed)) == pytest.approx(adjusted_rand_score(*noisy(seed)), abs=1e-12)


@pytest.mark.parametrize(
    ("measure", "reference"),
    [
        (ami, adjusted_mutual_info_score),
        (homogeneity, homogeneity_score),
        (completeness, completeness_score),
    ],
)
@pytest.mark.parametrize("seed", range(5))
def test_information_is_that_of_scikit_learn(measure: Any, reference: Any, seed: int) -> None:
    labels, clusters = noisy(seed)
    for first, second in ((labels, clusters), (clusters, labels), (labels, np.arange(60))):
        assert measure(first, second) == pytest.approx(reference(first, second), abs=1e-10)


def test_ami_and_homogeneity_of_the_extremes() -> None:
    for measure in (ami, homogeneity, completeness):
        assert measure([1, 1, 1], ["a", "a", "a"]) == measure([0, 1, 2], [5, 3, 4]) == 1.0
        assert measure([0, 0, 1, 1, 1], [7, 7, 3, 3, 3]) == pytest.approx(1.0)
    assert ami([0, 0, 1], [0, 0, 0]) == ami([0, 0, 0], [0, 0, 1]) == 0.0
    assert homogeneity([0, 1, 1], [0, 0, 0]) == completeness([0, 0, 0], [0, 1, 1]) == 0.0
    assert homogeneity([0, 0, 0], [0, 1, 1]) == completeness([0, 1, 1], [0, 0, 0]) == 1.0


def test_pure_topics_that_are_many_are_homogeneous_but_have_a_low_nmi() -> None:
    labels = np.repeat(np.arange(5), 200)
    topics = 10 * labels + np.arange(1000) % 10  # ten pure topics to a label
    assert homogeneity(labels, topics) == pytest.approx(1.0)
    assert nmi(labels, topics) == pytest.approx(np.log(5) / np.log(50))
    rng = np.random.default_rng(0)
    assert (
        abs(ami(labels, rng.integers(0, 50, 1000))) < 0.02 < nmi(labels, rng.integers(0, 50, 1000))
    )


@pytest.mark.parametrize("measure", MEASURES)
def test_names_and_order_do_not_matter(measure: Any) -> None:
    labels, clusters = noisy(0)
    order = np.random.default_rng(1).permutation(60)
    names = np.array(list("gfedcba"))
    found = measure(labels, clusters)
    assert 0 < found < 1
    assert measure(-labels[order], names[clusters[order] % 7]) == pytest.approx(found)
    assert measure(labels, labels * 3 - 5) == 1.0


@pytest.mark.parametrize("measure", MEASURES)
def test_a_label_for_each_of_many_rows(measure: Any) -> None:
    rows = np.arange(1000) if measure is accuracy else np.arange(200_000)
    assert measure(rows, rows[::-1]) == pytest.approx(1.0)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(
    ("labels", "clusters", "message"),
    [
        ([0, 1], [0, 1, 2], r"labels have shape \(2,\), clusters \(3,\)"),
        ([], [], r"labels have shape \(0,\)"),
        ([[0, 1]], [[0, 1]], r"labels have shape \(1, 2\)"),
        ([0.0, np.nan], [0, 1], "labels hold NaN"),
        ([0, 1], np.array([0, "b"], object), "clusters cannot be told apart .* strings alone"),
    ],
)
def test_bad_labels(measure: Any, labels: Any, clusters: Any, message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        measure(labels, clusters)


def test_too_many_to_match() -> None:
    with pytest.raises(IsothermError, match="10000 labels and 10000 clusters are too many"):
        accuracy(np.arange(10_000), np.arange(10_000))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nmi([0, 1], [0, 1], "median"), "average='median'; it must be one of max"),
    ],
)
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        call()
