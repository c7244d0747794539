"""Estimators that sweep by batches of rows: the same attributes, rows in their own order."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

import isotherm
from isotherm import (
    AspectModel,
    Counts,
    DocumentMixture,
    Engine,
    IsothermError,
    OneSidedClustering,
    Stepwise,
    StoredCounts,
)
from isotherm.placement.disk import streamed
from support.corpora import admixture, one_topic_each

KINDS = (AspectModel, OneSidedClustering, DocumentMixture)
STEPS = Stepwise(batch=60)


def planted() -> tuple[Counts, Any]:
    X, labels = one_topic_each(300, 40, length=50)
    order = np.argsort(labels, kind="stable")  # sorted by topic: the worst order for batches
    return Counts(X[order]), labels[order]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_keep_their_places_and_topics_are_found(kind: Any) -> None:
    counts, labels = planted()
    model = kind(3, engine=Engine(batches=STEPS), random_state=0).fit(counts)
    assert adjusted_rand_score(labels, model.row_weights_.argmax(axis=1)) > 0.95
    assert all(record.passes == 1 for record in model.trace_)
    plain = kind(3, random_state=0).fit(counts)
    assert model.free_energy_ <= plain.free_energy_ + 2e-3 * abs(plain.free_energy_)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0, rtol=1e-9)


def test_one_measuring_sweep_is_enough_where_full_sweeps_are_wasteful() -> None:
    counts, labels = planted()
    steps = Stepwise(batch=30, passes=2, full_sweeps=1)
    model = OneSidedClustering(
        3, temper_prior=True, engine=Engine(batches=steps), random_state=0
    ).fit(counts)
    assert adjusted_rand_score(labels, model.labels_) > 0.95
    assert [record.sweeps for record in model.trace_] == [2, *[1] * (len(model.trace_) - 1)]
    # Passes and sweeps of the cooling, then those on all counts.
    assert model.n_iter_ == sum(record.sweeps + 2 for record in model.trace_) + 4


@pytest.mark.parametrize("kind", [AspectModel, OneSidedClustering])
@pytest.mark.parametrize("settings", [{}, {"full_sweeps": 1}], ids=str)
def test_counts_from_the_disk_have_the_same_batches(
    kind: Any, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streamed, "LEAST", 500)
    counts = Counts(admixture(600, 60, length=40)[0])
    weight = 1.0 + np.arange(600) % 2
    stored = StoredCounts.write(tmp_path / "counts", counts, memory=0.7)
    steps = Stepwise(batch=200, **settings)
    inside = kind(3, engine=Engine(batches=steps, precision="float64"), random_state=0).fit(
        counts, None, weight
    )
    energy, rows = inside.free_energy_, inside.row_weights_
    assert len(streamed.budgeted(stored, inside._kernels(), 3, 200).blocks) > 3
    outside = clone(inside).fit(stored, None, weight)
    assert outside.free_energy_ == pytest.approx(energy, rel=1e-9)
    assert outside.n_iter_ == inside.n_iter_
    np.testing.assert_allclose(outside.row_weights_, rows, atol=1e-5)


def test_growing_goes_by_batches_as_well() -> None:
    counts, labels = planted()
    model = OneSidedClustering(
        "auto", engine=Engine(batches=STEPS), random_state=0, max_components=6
    ).fit(counts)
    assert model.n_components_ == 3
    assert adjusted_rand_score(labels, model.labels_) > 0.95
    cut = model.cut(2, counts)
    assert cut.row_weights_.shape == (300, 2)


def test_the_setting_is_a_parameter_like_any_other(tmp_path: Path) -> None:
    model = AspectModel(2, engine=Engine(batches=Stepwise(30, passes=3)), random_state=0)
    assert clone(model).get_params()["engine__batches"] == Stepwise(30, passes=3)
    model.fit(Counts(admixture(60, 12)[0]))
    found = isotherm.load(model.save(tmp_path / "model.iso"))
    assert found.engine.batches == Stepwise(30, passes=3)
    assert found.trace_ == model.trace_


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("given", [2000, True, {"batch": 10}], ids=str)
def test_what_is_no_stepwise_is_refused(kind: Any, given: Any) -> None:
    with pytest.raises(IsothermError, match="it must be a Stepwise, such as"):
        kind(2, engine=Engine(batches=given)).fit([[1, 2], [3, 1]])


@pytest.mark.parametrize("kind", [AspectModel, OneSidedClustering])
def test_leave_one_out_goes_without(kind: Any) -> None:
    with pytest.raises(IsothermError, match="leave_one_out=True with batches"):
        kind(2, engine=Engine(batches=STEPS), leave_one_out=True).fit([[1, 2], [3, 1]])


def test_workers_go_without() -> None:
    with pytest.raises(IsothermError, match="with a client; workers sweep all of their rows"):
        AspectModel(2, engine=Engine(batches=STEPS)).fit([[1, 2], [3, 1]], client=object())


def test_a_fit_is_resumed_in_the_middle_of_a_pass(tmp_path: Path) -> None:
    counts = Counts(admixture(120, 20)[0])
    settings: dict[str, Any] = {"random_state": 0}

    class Stop(isotherm.Callback):
        n = 0

        def on_pass(self, temperature: float, number: int) -> None:
            self.n += 1
            if self.n == 3:
                raise RuntimeError

    steps = Stepwise(20, passes=2)
    settings["engine"] = Engine(batches=steps)
    whole = AspectModel(3, **settings).fit(counts)
    path = tmp_path / "run.ckpt"
    with pytest.raises(RuntimeError), isotherm.checkpointing(path, every=0.0):
        AspectModel(3, random_state=0, engine=Engine(batches=steps, callbacks=[Stop()])).fit(counts)
    assert path.exists()
    with isotherm.checkpointing(path):
        again = AspectModel(3, **settings).fit(counts)
    assert again.free_energy_ == whole.free_energy_
    np.testing.assert_array_equal(again.row_weights_, whole.row_weights_)
    np.testing.assert_array_equal(again.components_, whole.components_)
