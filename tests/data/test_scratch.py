"""Folders of running processes: held while they run, removed by the next one when they are gone."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from isotherm import AspectModel, Counts, StoredCounts
from isotherm.format import scratch
from isotherm.format.scratch import Scratch, removed_stale
from isotherm.placement.disk.cache import PREFIX, Shelf

pytestmark = pytest.mark.skipif(scratch.fcntl is None, reason="no locks")

KILLED = """
import os, signal, sys
from pathlib import Path
from isotherm.placement.disk.cache import Shelf
shelf = Shelf(Path(sys.argv[1]))
shelf.put(b"x" * 10)
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(folder: Path) -> Path:
    before = set(folder.iterdir())
    run = subprocess.run([sys.executable, "-c", KILLED, str(folder)], check=False)
    assert run.returncode == -9
    (left,) = set(folder.iterdir()) - before
    return left


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    left, running = killed(tmp_path), Shelf(tmp_path)
    assert not left.exists()
    again = Shelf(tmp_path)
    assert running.folder.exists()  # of a process that runs, even this one
    assert again.folder.exists()


def test_a_fit_after_a_killed_one_leaves_a_clean_folder(tmp_path: Path) -> None:
    X = np.random.default_rng(0).poisson(1.0, (60, 12)) + 1
    stored = StoredCounts.write(tmp_path / "counts", Counts(X))
    before = sorted(stored.folder.iterdir())
    killed(stored.folder)
    AspectModel(2, random_state=0, max_iter=3).fit(stored)
    assert sorted(stored.folder.iterdir()) == before


def test_folders_of_others_stay(tmp_path: Path) -> None:
    plain = tmp_path / f"{PREFIX}mine"  # without a lock: who knows whose it is
    plain.mkdir()
    other = tmp_path / "data"
    other.mkdir()
    (other / "lock").touch()
    (tmp_path / f"{PREFIX}link").symlink_to(other)
    held = Scratch(tmp_path, PREFIX)
    assert removed_stale(tmp_path, PREFIX) == []
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(
        [plain.name, "data", f"{PREFIX}link", held.folder.name]
    )
    held.remove()
    assert not held.folder.exists()


def test_a_released_folder_is_nobodys(tmp_path: Path) -> None:
    held = Scratch(tmp_path, PREFIX)
    held.release()
    assert list(held.folder.iterdir()) == []
    assert removed_stale(tmp_path, PREFIX) == []


def test_writing_counts_clears_what_a_killed_one_left(tmp_path: Path) -> None:
    left = Scratch(tmp_path, ".counts.part-")
    left._close()  # as if its process had ended
    stored = StoredCounts.write(tmp_path / "counts", Counts(np.eye(3)))
    assert [one.name for one in tmp_path.iterdir()] == ["counts"]
    assert stored.total == 3
    assert not (stored.folder / "lock").exists()
    plain = tmp_path / "plain"
    plain.mkdir()
    assert stored.folder.stat().st_mode == plain.stat().st_mode
