"""Counts of any size: an answer or a clear refusal, at once."""

import time

import numpy as np
import pytest

from isotherm import (
    DTM,
    LTM,
    PCP,
    TTMM,
    AspectModel,
    DocumentMixture,
    HierarchicalClustering,
    IsothermError,
    IsothermWarning,
    LapPLSI,
    OneSidedClustering,
    TwoSidedClustering,
)
from isotherm.data.base import Array

COUNTS = np.random.default_rng(0).poisson(1.0, (12, 8)).astype(float) + np.eye(12, 8)
ESTIMATORS = {
    "aspect": AspectModel(2, random_state=0),
    "aspect-auto": AspectModel("auto", random_state=0),
    "aspect-left-out": AspectModel(2, leave_one_out=True, random_state=0),
    "clusters": OneSidedClustering(2, random_state=0),
    "clusters-auto": OneSidedClustering("auto", random_state=0),
    "documents": DocumentMixture(2, random_state=0),
    "two-sided": TwoSidedClustering(2, random_state=0),
    "tree": HierarchicalClustering(random_state=0),
    "laplacian": LapPLSI(2, random_state=0),
    "ltm": LTM(2, random_state=0),
    "dtm": DTM(2, random_state=0),
    "ttmm": TTMM(2, random_state=0),
    "pcp": PCP(2, random_state=0),
}


def mixed(value: float) -> Array:
    counts = COUNTS.copy()
    counts[0, 0] = value
    return counts


REFUSED = {
    "denormal": (5e-324 * COUNTS, "smallest count above 0 is .*multiply"),
    "nearly denormal": (1e-320 * COUNTS, "smallest count above 0 is"),
    "denormal in single precision": (1e-45 * COUNTS, "smallest count above 0 is"),
    "tiny": (1e-30 * COUNTS, "smallest count above 0 is"),
    "one tiny": (mixed(1e-320), "smallest count above 0 is"),
    "large": (1e30 * COUNTS, "add up to .*divide"),
    "beyond single precision": (1e37 * COUNTS, "add up to"),
    "larger still": (1e300 * COUNTS, "add up to"),
    "one large": (mixed(1e30), "add up to"),
    "infinite total": (np.full((12, 8), 1e308), "infinity"),
}


@pytest.mark.parametrize("size", REFUSED)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_counts_that_no_model_can_work_with_are_refused_at_once(name: str, size: str) -> None:
    counts, message = REFUSED[size]
    begin = time.perf_counter()
    with pytest.raises(IsothermError, match=message):
        ESTIMATORS[name].fit(counts)
    assert time.perf_counter() - begin < 2.0


@pytest.mark.parametrize("name", ["aspect", "clusters", "documents", "two-sided", "pcp"])
def test_a_row_that_is_much_larger_is_no_obstacle(name: str) -> None:
    counts = COUNTS.copy()
    counts[0] *= 1e9
    assert np.isfinite(ESTIMATORS[name].fit(counts).row_weights_).all()


@pytest.mark.parametrize("kind", [AspectModel, OneSidedClustering, DocumentMixture])
def test_large_counts_do_not_make_a_growing_fit_long(kind: type) -> None:
    counts = np.random.default_rng(0).poisson(1.0, (60, 30)) + np.eye(60, 30)
    begin = time.process_time()
    with pytest.warns(IsothermWarning, match="one component only|only 1 of 3 components"):
        model = kind("auto", random_state=0).fit(counts * (6e14 / counts.sum()))
    assert np.isfinite(model.row_weights_).all()
    assert time.process_time() - begin < 10.0
