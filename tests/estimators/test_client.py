"""`client=` of every estimator: the fit of one process, or a refusal that says why."""

from typing import Any

import numpy as np
import pytest

from isotherm import (
    DTM,
    GTM,
    LTM,
    PCP,
    TTMM,
    AspectModel,
    Counts,
    DocumentMixture,
    Fixed,
    HierarchicalClustering,
    IsothermError,
    LapPLSI,
    Noisy,
    OneSidedClustering,
    TwoSidedClustering,
)
from isotherm.estimators.starts.projection import ClustersAndTopics
from isotherm.estimators.starts.two_sided import OneSidedFits

pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::RuntimeWarning")

FEW: dict[str, Any] = {"random_state": 0, "max_iter": 2, "schedule": Fixed(1.0)}
PLAIN: dict[str, Any] = {**FEW, "start": Noisy(), "validation_fraction": 0.0}
BRIEF: dict[str, Any] = {**FEW, "start": ClustersAndTopics(rate=0.3, sweeps=2, tol=0.1)}
SIDES: dict[str, Any] = {**FEW, "start": OneSidedFits(first=(0.9,), last=0.5, rate=0.5, tol=0.1)}
TREE: dict[str, Any] = {**FEW, "tree": [[0, 1], 2], "n_components": 3, "tol": 0.1}
FITTED = {
    "aspect": AspectModel(3, **PLAIN),
    "aspect-own-words": AspectModel(3, own_words=True, random_state=0, max_iter=2, start=Noisy()),
    "one-sided-leave-one-out": OneSidedClustering(3, leave_one_out=True, **PLAIN),
    "one-sided-held-out": OneSidedClustering(3, random_state=0, max_iter=2, start=Noisy()),
    "document": DocumentMixture(3, **PLAIN),
    "two-sided": TwoSidedClustering(2, 2, **SIDES),
    "hierarchy": HierarchicalClustering(**TREE),
    "hierarchy-full": HierarchicalClustering(weights="full", **TREE),
    "pcp": PCP(3, 2, **BRIEF),
    "ttmm": TTMM(3, 2, **BRIEF),
}


@pytest.fixture(scope="module")
def counts() -> Counts:
    rng = np.random.default_rng(0)
    topics, weights = rng.dirichlet(np.full(24, 0.1), 3), rng.dirichlet(np.full(3, 0.1), 60)
    return Counts(rng.poisson(30 * weights @ topics) + (np.arange(24) == 0))


@pytest.mark.parametrize("name", FITTED)
def test_workers_fit_what_one_process_does(name: str, counts: Counts, client: Any) -> None:
    model = FITTED[name]
    weight = 1.0 + np.arange(counts.n_rows) % 2
    model.fit(counts, sample_weight=weight)
    energy, rows = model.free_energy_, model.row_weights_
    model.fit(counts, sample_weight=weight, client=client)
    assert model.free_energy_ == pytest.approx(energy, rel=1e-9)
    np.testing.assert_allclose(model.row_weights_, rows, atol=1e-8)
    # What comes after a fit happens here.
    assert model.transform(counts.take_rows(slice(0, 5))).shape == (5, rows.shape[1])


@pytest.mark.parametrize("kind", [LapPLSI, LTM, DTM])
def test_linked_rows_stay_in_one_process(kind: Any, counts: Counts) -> None:
    match = f"client= with {kind.__name__}, whose rows are linked .* one process; leave client out"
    with pytest.raises(IsothermError, match=match):
        kind(2).fit(counts, client=object())


def test_vectors_stay_in_one_process() -> None:
    with pytest.raises(IsothermError, match="client= with GTM, whose data are vectors"):
        GTM().fit(np.eye(4), client=object())


def test_a_cluster_for_every_document_needs_one_process(counts: Counts, client: Any) -> None:
    with pytest.raises(IsothermError, match="give a number of clusters"):
        PCP(n_clusters="documents", inference="factorized", **FEW).fit(counts, client=client)
