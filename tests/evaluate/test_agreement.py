"""Agreement of clusters with labels: known answers, and those of scikit-learn."""

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score

from isotherm.errors import IsothermError
from isotherm.evaluate import nmi


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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nmi([0, 1], [0, 1, 2]), r"labels have shape \(2,\), clusters \(3,\)"),
        (lambda: nmi([0, 1], [0, 1], "median"), "average='median'; it must be one of max"),
    ],
)
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        call()
