"""Fits from the disk go on after the process died: their row states are linked, not copied."""

import gc
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isotherm
from isotherm import (
    AspectModel,
    Counts,
    Engine,
    IsothermError,
    OneSidedClustering,
    Stepwise,
    StoredCounts,
)
from isotherm.models.aspect import AspectRows
from isotherm.placement.disk import exported, streamed
from isotherm.placement.disk.cache import Shelf
from isotherm.placement.disk.exported import Folder, Found
from support.corpora import admixture


class Stop(isotherm.Callback):
    """Ends a fit in the middle of a sweep."""

    def __init__(self, n: int) -> None:
        self.n = n

    def on_sweep(self, temperature: float, sweep: int, free_energy: float) -> None:
        self.n -= 1
        if not self.n:
            raise RuntimeError


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StoredCounts:
    monkeypatch.setattr(streamed, "LEAST", 500)
    counts = Counts(admixture(300, 40)[0])
    return StoredCounts.write(tmp_path / "counts", counts, memory=0.6)


@pytest.mark.parametrize("room", [0.0, 0.2])
@pytest.mark.parametrize(
    ("kind", "n"), [(AspectModel, 9), (AspectModel, 30), (OneSidedClustering, 5)]
)
def test_a_fit_goes_on_to_the_bit(
    stored: StoredCounts,
    tmp_path: Path,
    kind: Any,
    n: int,
    room: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streamed, "ROOM", room)
    settings: dict[str, Any] = {"random_state": 0, "max_iter": 6}
    double = Engine(precision="float64")
    whole = kind(3, engine=double, **settings).fit(stored)
    path, before = tmp_path / "run.ckpt", sorted(stored.folder.iterdir())
    with pytest.raises(RuntimeError), isotherm.checkpointing(path, every=0.0):
        kind(3, engine=replace(double, callbacks=[Stop(n)]), **settings).fit(stored)
    gc.collect()
    assert sorted(stored.folder.iterdir()) == before  # nothing but the links is left of the files
    rows = tmp_path / "run.ckpt.rows"
    assert rows.is_dir() == (room == 0.0)
    with isotherm.checkpointing(path, every=0.0):
        again = kind(3, engine=double, **settings).fit(stored)
    assert again.free_energy_ == whole.free_energy_
    assert again.n_iter_ == whole.n_iter_
    np.testing.assert_array_equal(again.row_weights_, whole.row_weights_)
    np.testing.assert_array_equal(again.components_, whole.components_)
    assert not path.exists()
    assert not rows.exists()


def test_batches_and_another_budget(
    stored: StoredCounts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streamed, "ROOM", 0.0)
    settings: dict[str, Any] = {"random_state": 0, "max_iter": 4}
    engine = Engine(precision="float64", batches=Stepwise(60))
    whole = AspectModel(3, engine=engine, **settings).fit(stored)
    path = tmp_path / "run.ckpt"
    with pytest.raises(RuntimeError), isotherm.checkpointing(path, every=0.0):
        AspectModel(3, engine=replace(engine, callbacks=[Stop(6)]), **settings).fit(stored)
    with (
        pytest.raises(IsothermError, match="what differs is data"),
        isotherm.checkpointing(path),
    ):
        AspectModel(3, engine=replace(engine, batches=None), **settings).fit(stored)
    with isotherm.checkpointing(path):
        again = AspectModel(3, engine=engine, **settings).fit(stored)
    np.testing.assert_array_equal(again.row_weights_, whole.row_weights_)


def state(shelf: Shelf, value: float) -> Any:
    return shelf.put(AspectRows(np.full((4, 3), value)))


def test_a_linked_file_is_never_written_again(tmp_path: Path) -> None:
    shelf, folder = Shelf(tmp_path), Folder(tmp_path / "rows")
    kept = state(shelf, 1.0)
    told = folder.fields(kept)
    assert folder.fields(kept)["file"] == told["file"]
    assert len(list(folder.path.iterdir())) == 1
    del kept
    gc.collect()
    others = [state(shelf, 2.0) for _ in range(3)]
    found = Folder(tmp_path / "rows").restored(told)
    np.testing.assert_array_equal(found.open().table, np.full((4, 3), 1.0))
    found.open().table[:] = 7.0
    np.testing.assert_array_equal(found.open().table, np.full((4, 3), 1.0))
    assert found.size == 4 * 3 * 8
    assert len(others) == 3


def test_files_that_no_checkpoint_names_go(tmp_path: Path) -> None:
    shelf, folder = Shelf(tmp_path), Folder(tmp_path / "rows")
    told = [folder.fields(state(shelf, value)) for value in (1.0, 2.0)]
    folder.keep_named()
    assert len(list(folder.path.iterdir())) == 2
    found = folder.restored(told[0])
    (folder.path / "notes.txt").touch()
    folder.keep_named()  # named by nobody, but one is in use
    assert sorted(one.name for one in folder.path.iterdir()) == sorted(
        [told[0]["file"], "notes.txt"]
    )
    assert folder.fields(found)["file"] == told[0]["file"]
    folder.remove()
    assert [one.name for one in folder.path.iterdir()] == ["notes.txt"]  # somebody else's
    (folder.path / "notes.txt").unlink()
    folder.remove()
    assert not folder.path.exists()


def test_disks_without_links_get_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*paths: Any) -> None:
        raise OSError

    monkeypatch.setattr(os, "link", refuse)
    folder = Folder(tmp_path / "rows")
    told = folder.fields(state(Shelf(tmp_path), 3.0))
    np.testing.assert_array_equal(folder.restored(told).open().table, np.full((4, 3), 3.0))


@pytest.mark.parametrize("name", ["../counts.bin", "x", 3, "0" * 32])
def test_names_of_other_files_are_refused(tmp_path: Path, name: Any) -> None:
    told = Folder(tmp_path / "rows").fields(state(Shelf(tmp_path), 3.0))
    with pytest.raises(ValueError, match="no name of a file of rows"):
        Folder(tmp_path / "rows").restored({**told, "file": name})


def test_files_that_are_too_short_are_refused(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "rows")
    told = folder.fields(state(Shelf(tmp_path), 3.0))
    with pytest.raises(ValueError, match="shorter than it should be"):
        folder.restored({**told, "n_rows": 5000})
    empty = AspectRows(np.empty((0, 0)))
    (tmp_path / "a").write_bytes(b"x")
    assert Found(tmp_path / "a", empty, 4, [0]).open().table.shape == (4, 0)
    assert exported.held_again({"value": 1}).open() == 1
