"""Every estimator of counts takes them from the disk, on any kernels, or says what does not."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from isotherm import (
    LTM,
    PCP,
    TTMM,
    AspectModel,
    Counts,
    DocumentMixture,
    Engine,
    Fixed,
    Folds,
    HierarchicalClustering,
    IsothermError,
    Noisy,
    OneSidedClustering,
    Rows,
    Stepwise,
    StoredCounts,
    TwoSidedClustering,
)
from isotherm.placement.disk import streamed

SAME = 1e-9


@pytest.fixture(scope="module")
def counts() -> Counts:
    rng = np.random.default_rng(0)
    topics, weights = rng.dirichlet(np.full(80, 0.05), 4), rng.dirichlet(np.full(4, 0.1), 600)
    values = rng.poisson(40 * weights @ topics)
    values[7] = 0
    return Counts(values, column_names=[f"w{j}" for j in range(80)])


@pytest.fixture
def stored(counts: Counts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StoredCounts:
    monkeypatch.setattr(streamed, "LEAST", 500)
    return StoredCounts.write(tmp_path / "counts", counts, memory=0.6)


OTHERS: dict[str, Any] = {
    "two-sided": TwoSidedClustering(3, 3),
    "document": DocumentMixture(3),
    "document-shared": DocumentMixture(
        3, weights="shared", engine=Engine(holdout=Rows(train_weight=0.5))
    ),
    "hierarchy": HierarchicalClustering(3),
    "hierarchy-cluster": HierarchicalClustering(3, weights="cluster"),
    "pcp": PCP(3, 3),
    "ttmm": TTMM(3, 3),
}


@pytest.mark.filterwarnings("ignore:1 of 600 rows are empty")
@pytest.mark.parametrize("name", OTHERS)
def test_other_models_stream_as_well(stored: StoredCounts, counts: Counts, name: str) -> None:
    kind = OTHERS[name].set_params(random_state=0, engine__precision="float64", max_iter=15)
    inside, outside = clone(kind).fit(counts), clone(kind).fit(stored.with_memory(1.5))
    assert outside.free_energy_ == pytest.approx(inside.free_energy_, rel=SAME)
    assert outside.n_iter_ == inside.n_iter_
    np.testing.assert_allclose(outside.row_weights_, inside.row_weights_, atol=1e-5)
    found = outside.transform(stored.with_memory(1.5))
    np.testing.assert_allclose(found, inside.transform(counts), atol=1e-5)
    assert outside.peak_memory_ >= 0


@pytest.mark.filterwarnings("ignore:1 of 600 rows are empty")
def test_what_streams_only_in_part_says_so(stored: StoredCounts, counts: Counts) -> None:
    model = TTMM(3, 3, random_state=0, max_iter=3).fit(counts)
    shares = model.project(stored)
    np.testing.assert_allclose(shares, model.project(counts), atol=1e-5)
    with pytest.raises(IsothermError, match=r"densities of whole rows need.*X\.load"):
        model.perplexity(stored)
    documents = DocumentMixture(3, random_state=0, max_iter=3).fit(counts)
    assert documents.score_rows(stored) == pytest.approx(documents.score_rows(counts))
    with pytest.raises(IsothermError, match="folds need them in memory"):
        DocumentMixture(3, engine=Engine(holdout=Folds(2))).fit(stored)
    with pytest.raises(IsothermError, match=r"LTM needs counts in memory.*X\.load.*not linked"):
        LTM(3).fit(stored)


@pytest.mark.parametrize("kind", [AspectModel, OneSidedClustering])
def test_any_kernels_will_do(stored: StoredCounts, counts: Counts, kind: Any) -> None:
    pytest.importorskip("torch")
    settings: dict[str, Any] = {"random_state": 0, "max_iter": 3}
    settings |= {"schedule": Fixed(1.2), "start": Noisy(0.5), "validation_fraction": 0.0}
    double = Engine(precision="float64")
    by_batches = Engine(precision="float64", batches=Stepwise(200))
    inside = kind(3, engine=double, **settings).fit(counts)
    outside = kind(3, device="torch", engine=double, **settings).fit(stored)
    assert outside.free_energy_ == pytest.approx(inside.free_energy_, rel=SAME)
    np.testing.assert_allclose(outside.row_weights_, inside.row_weights_, atol=1e-5)
    steps = kind(3, device="torch", engine=by_batches, **settings).fit(stored)
    same = kind(3, engine=by_batches, **settings).fit(counts)
    assert steps.free_energy_ == pytest.approx(same.free_energy_, rel=SAME)


@pytest.mark.filterwarnings("ignore:2 of 601 rows are empty", "ignore:1 of 601 rows are empty")
def test_a_foreign_row_on_the_disk_sets_no_first_transition(
    counts: Counts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streamed, "LEAST", 500)
    wide = np.zeros((601, 100))
    wide[:600, :80] = counts.matrix.toarray()
    wide[600, 80:] = 1
    rows = StoredCounts.write(tmp_path / "counts", Counts(wide), memory=3.5)
    model = AspectModel(4, max_iter=1, random_state=0, engine=Engine(precision="float64"))
    one = clone(model).fit(rows)
    other = clone(model).fit(Counts(wide))
    # Of the islands it would be 2.
    assert one.first_critical_ == pytest.approx(other.first_critical_)
    assert one.first_critical_ < 1.99
