"""Fits that go on after the process died, and end as if nothing had happened."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isotherm import (
    GTM,
    AspectModel,
    Callback,
    Engine,
    Exponential,
    HeldoutRule,
    IsothermError,
    IsothermWarning,
    TwoSidedClustering,
    checkpointing,
    map_corpus,
    segment,
)
from isotherm.anneal import journal
from isotherm.anneal.trace import Fit
from isotherm.format import archive
from isotherm.io import checkpoint
from support.crashes import MORE, Crash, Crashing
from support.estimators import ESTIMATORS, FEW, X, assert_same, assert_same_fit, fitted


def test_runs_within_a_run_are_not_kept_once_they_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, kept = tmp_path / "run.ckpt", []
    with monkeypatch.context() as patch:
        counter = Crashing(patch)
        fitted(ESTIMATORS["two-sided"], path)
    for at in (3, counter.n_notes - 2):
        with monkeypatch.context() as patch:
            Crashing(patch, at=at)
            with pytest.raises(Crash):
                fitted(ESTIMATORS["two-sided"], path)
        kept.append(checkpoint.File(path, 1.0).entries)
        path.unlink()
    # First one of the runs that find a start, within the run of the model itself; then that run
    # and the one that settles on all counts.
    assert list(kept[0]) == [1]
    assert list(kept[1]) == [0, 7]
    assert kept[1][0].n_runs == 7


@pytest.mark.parametrize("name", ["aspect", "two kinds of growth"])
def test_a_journal_changes_nothing(name: str, tmp_path: Path) -> None:
    estimator = {**ESTIMATORS, **MORE}[name]
    assert_same_fit(fitted(estimator, tmp_path / "run.ckpt"), fitted(estimator, None))


def test_a_fit_may_crash_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    estimator, path = TwoSidedClustering(3), tmp_path / "run.ckpt"
    whole = fitted(estimator, None)
    for _ in range(500):
        with monkeypatch.context() as patch:
            Crashing(patch, at=3)
            try:
                again = fitted(estimator, path)
                break
            except Crash:
                continue
    assert_same_fit(again, whole)


def test_several_fits_in_one_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.ckpt"

    def mapped(every: float = 1e9) -> Any:
        with checkpointing(path, every=every):
            topics = AspectModel(3, random_state=0, **FEW)
            gtm = GTM(n_nodes=5, n_basis=3, n_init=1, random_state=0)
            return map_corpus(X, topics=topics, gtm=gtm)

    with monkeypatch.context() as patch:
        counter = Crashing(patch)
        whole = mapped()
    for share in (0.3, 0.9):
        with monkeypatch.context() as patch:
            Crashing(patch, at=int(share * counter.n_notes))
            with pytest.raises(Crash):
                mapped()
        again = mapped()
        assert np.array_equal(again.map.coordinates, whole.map.coordinates, equal_nan=True)
        assert_same_fit(again.gtm, whole.gtm)


def test_segments_through_levels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    y, x = np.mgrid[:128, :128]
    image = np.where(x < 64, np.sin(x), np.sin(y)) + 0.1 * np.sin(x * y)
    path = tmp_path / "run.ckpt"

    def segmented() -> Any:
        with checkpointing(path):
            return segment(image, 3, random_state=0, n_init=3)

    with monkeypatch.context() as patch:
        counter = Crashing(patch)
        whole = segmented()
    for share in (0.1, 0.5, 0.95):
        with monkeypatch.context() as patch:
            Crashing(patch, at=int(share * counter.n_notes))
            with pytest.raises(Crash):
                segmented()
        again = segmented()
        assert np.array_equal(again.labels, whole.labels)
        assert_same(again.fit.state, whole.fit.state)


# What is refused --------------------------------------------------------------------------------


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkpoint in the middle of a fit of `AspectModel(3)` to X."""
    path = tmp_path / "run.ckpt"
    with monkeypatch.context() as patch:
        Crashing(patch, at=20)
        with pytest.raises(Crash):
            fitted(AspectModel(3), path)
    return path


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"n_components": 4}, "model"),
        ({"tol": 1e-3}, "settings"),
        ({"engine__patience": 9}, "settings"),
        ({"engine__callbacks": [HeldoutRule(3)]}, "settings"),
        ({"schedule": Exponential(0.8)}, "settings"),
        ({"engine__precision": "float32"}, "data, held-out data"),
        ({"validation_fraction": 0.3}, "data, held-out data"),
        ({"random_state": 1}, "random numbers"),
    ],
)
def test_other_settings_are_refused(settings: dict[str, Any], what: str, begun: Path) -> None:
    before = begun.read_bytes()
    model = AspectModel(3, random_state=0, **FEW).set_params(**settings)
    match = rf"checkpoint of another fit: of its run 0, what differs is {what};.*or remove the file"
    with pytest.raises(IsothermError, match=match), checkpointing(begun, every=0):
        model.fit(X)
    assert begun.read_bytes() == before


def test_other_data_are_refused(begun: Path) -> None:
    other = X.copy()
    other[3, 4] += 1
    with pytest.raises(IsothermError, match="what differs is data"), checkpointing(begun):
        AspectModel(3, random_state=0, **FEW).fit(other)
    weight = np.ones(len(X))
    weight[0] = 2.0
    with pytest.raises(IsothermError, match="what differs is data"), checkpointing(begun):
        AspectModel(3, random_state=0, **FEW).fit(X, sample_weight=weight)


def test_another_version_is_refused(begun: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isotherm.__version__", "0.0.7")
    with pytest.raises(IsothermError, match=r"library.*go on with the version that began"):
        fitted(AspectModel(3), begun)


def test_threads_do_not_matter(begun: Path) -> None:
    again = fitted(AspectModel(3, n_jobs=1), begun)
    assert np.array_equal(again.components_, fitted(AspectModel(3), None).components_)


def test_random_numbers_must_be_fixed(tmp_path: Path) -> None:
    with (
        pytest.raises(IsothermError, match="random_state=None with checkpoints"),
        checkpointing(tmp_path / "run.ckpt"),
    ):
        AspectModel(3).fit(X)


@pytest.mark.parametrize("every", [-1, "soon", None, float("nan")])
def test_bad_intervals_are_refused(every: Any, tmp_path: Path) -> None:
    with (
        pytest.raises(IsothermError, match="number of seconds"),
        checkpointing(tmp_path / "run.ckpt", every=every),
    ):
        pass


def test_blocks_within_blocks_are_refused(tmp_path: Path) -> None:
    with (
        checkpointing(tmp_path / "run.ckpt"),
        pytest.raises(IsothermError, match="leave the inner one out"),
        checkpointing(tmp_path / "other.ckpt"),
    ):
        pass
    assert journal.current() is journal.NOTHING


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = AspectModel().save(tmp_path / "model.iso")
    with (
        pytest.raises(IsothermError, match="holds 'fit', and 'checkpoint' was asked for"),
        checkpointing(path),
    ):
        pass
    assert isinstance(AspectModel.load(path), AspectModel)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(IsothermError, match="is no folder"),
        checkpointing(tmp_path / "none" / "run.ckpt"),
    ):
        pass


def test_a_damaged_checkpoint_is_refused(begun: Path) -> None:
    begun.write_bytes(begun.read_bytes()[:-100])
    with pytest.raises(IsothermError, match="damaged"), checkpointing(begun):
        pass
    kind, content, arrays = "checkpoint", {"$": "dict", "items": {"runs": [1]}}, {}
    archive.write(begun, archive.Archive(kind, content, arrays))
    with pytest.raises(IsothermError, match="damaged"), checkpointing(begun):
        pass


# Interrupts, errors, full disks -----------------------------------------------------------------


class Stop(Callback):
    """Ctrl-C after so many sweeps."""

    def __init__(self, at: int) -> None:
        self.left = at

    def on_sweep(self, temperature: float, sweep: int, free_energy: float) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("at", [15, 30])
def test_an_interrupted_fit_can_be_gone_on_with(at: int, tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    model = AspectModel(3, random_state=0, **FEW, engine=Engine(callbacks=[Stop(at)]))
    with (
        pytest.warns(IsothermWarning, match=r"run\.ckpt is kept; run the same fit again"),
        checkpointing(path),
    ):
        model.fit(X)
    assert model.outcome_.startswith("interrupted")
    assert path.exists()
    whole = fitted(AspectModel(3), None)
    assert_same_fit(fitted(AspectModel(3), path), whole)
    assert not path.exists()


def test_an_error_leaves_the_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"

    def fails() -> None:
        with checkpointing(path):
            AspectModel(3, random_state=0, **FEW).fit(X)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    heard: list[Fit] = []

    class Listen(Callback):
        def on_temperature(self, fit: Fit) -> bool:
            heard.append(fit)
            return False

    with checkpointing(path):
        model = AspectModel(3, random_state=0, **FEW, engine=Engine(callbacks=[Listen()])).fit(X)
    assert heard == []  # all runs were read from the file
    assert_same_fit(model.set_params(engine=None), fitted(AspectModel(3), None))


def test_a_full_disk_does_not_end_the_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: Any, **settings: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full)
    monkeypatch.setattr(checkpoint, "SHARE", np.inf)
    path = tmp_path / "run.ckpt"
    with pytest.warns(IsothermWarning) as warned, checkpointing(path, every=0):
        model = AspectModel(2, random_state=0).fit(X)
    # Said once, though it was tried at every sweep.
    assert [str(one.message) for one in warned] == [
        f"no checkpoint was written to {path}: No space left on device; the fit goes on and tries "
        "again, make room"
    ]
    assert hasattr(model, "components_")
    assert list(tmp_path.iterdir()) == []


def test_writing_is_rationed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, writes = [0.0], []

    def slow(*given: Any) -> None:
        writes.append(now[0])
        now[0] += 5.0

    monkeypatch.setattr(checkpoint.values, "write", slow)
    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: now[0])

    class Tick(Callback):
        def on_sweep(self, temperature: float, sweep: int, free_energy: float) -> None:
            now[0] += 1.0

    with checkpointing(tmp_path / "run.ckpt", every=7):
        AspectModel(3, random_state=0, **FEW, engine=Engine(callbacks=[Tick()])).fit(X)
    assert writes[0] == 7.0
    assert all(later - sooner == 55.0 for sooner, later in itertools.pairwise(writes))
