"""Values in files: they come back as they were, and their files come and go with them."""

import gc
from pathlib import Path
from typing import NamedTuple

import numpy as np

from isotherm.placement.disk.cache import Held, Kept, Shelf


class Pair(NamedTuple):
    table: np.ndarray
    name: str


def test_values_come_back(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    value = Pair(np.arange(12.0).reshape(3, 4), "x"), np.arange(3, dtype=np.int32), ()
    kept = shelf.put(value)
    assert isinstance(kept, Kept)
    (table, name), numbers, empty = kept.open()
    assert np.array_equal(table, value[0].table)
    assert (name, empty, numbers.tolist()) == ("x", (), [0, 1, 2])
    assert kept.size == 12 * 8 + 3 * 4


def test_writing_to_what_came_back_changes_nothing_on_the_shelf(tmp_path: Path) -> None:
    kept = Shelf(tmp_path).put(np.zeros(5))
    kept.open()[:] = 1
    assert kept.open().tolist() == [0.0] * 5


def test_files_are_used_again_unless_somebody_looks(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    kept = shelf.put(np.full(1000, 1.0))
    path = kept.path
    del kept
    gc.collect()
    again = shelf.put(np.full(10, 2.0))
    assert again.path == path
    assert path.stat().st_size < 1000
    looking = again.open()
    del again
    gc.collect()
    other = shelf.put(np.full(10, 3.0))
    assert other.path != path
    assert looking.tolist() == [2.0] * 10


def test_room_in_memory_is_used_first_and_given_back(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, in_memory=100)
    first = shelf.put(np.zeros(10))
    assert isinstance(first, Held)
    assert isinstance(shelf.put(np.zeros(10)), Kept)
    del first
    gc.collect()
    assert isinstance(shelf.put(np.zeros(10)), Held)


def test_the_folder_goes_with_the_shelf(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    kept = shelf.put(np.zeros(10))
    assert len(list(tmp_path.iterdir())) == 1
    del shelf, kept
    gc.collect()
    assert list(tmp_path.iterdir()) == []
