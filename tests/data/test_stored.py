"""Counts on the disk: what is written comes back, from any source, in any pieces."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from isotherm import Counts, IsothermError
from isotherm.data import _stored_file
from isotherm.data.split import hold_out_tokens
from isotherm.data.stored import StoredCounts, megabytes


def table(seed: int = 0, shape: tuple[int, int] = (60, 9), half: bool = False) -> Counts:
    rng = np.random.default_rng(seed)
    values = rng.poisson(0.7, shape).astype(float)
    values[3] = 0
    values[0, 0] = 1e9 + 1 / 3 if half else 5
    names = [f"r{i}" for i in range(shape[0])], [f"c{j}" for j in range(shape[1])]
    return Counts(values, *names)


def same(a: Counts, b: Counts) -> bool:
    parts = ("data", "indices", "indptr")
    return a.shape == b.shape and all(
        np.array_equal(getattr(a.matrix, p), getattr(b.matrix, p)) for p in parts
    )


def test_counts_come_back_with_names_and_totals(tmp_path: Path) -> None:
    counts = table()
    stored = StoredCounts.write(tmp_path / "a", counts)
    back = stored.load()
    assert same(back, counts)
    assert list(back.row_names) == list(counts.row_names)
    assert list(back.column_names) == list(counts.column_names)
    assert np.array_equal(stored.row_totals, counts.row_totals)
    assert np.array_equal(stored.column_totals, counts.column_totals)
    assert (stored.total, stored.nnz, len(stored)) == (counts.total, counts.nnz, counts.n_rows)
    assert stored.is_integral
    assert same(stored.rows(2, 7), counts.take_rows(slice(2, 7)))


def test_arrays_are_plain_files(tmp_path: Path) -> None:
    counts = table()
    StoredCounts.write(tmp_path / "a", counts)
    values = np.load(tmp_path / "a" / "values.npy", mmap_mode="r")
    assert values.dtype == np.float32
    assert np.array_equal(values, counts.matrix.data)


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("at_once", [1, 7, 10**6])
def test_a_file_is_streamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int, half: bool
) -> None:
    monkeypatch.setattr(_stored_file, "AT_ONCE", at_once)
    monkeypatch.setattr(_stored_file, "ROWS_AT_ONCE", 8)
    monkeypatch.setattr(Counts, "load", None)  # never as a whole
    counts = table(half=half)
    stored = StoredCounts.write(tmp_path / "a", counts.save(tmp_path / "a.counts"))
    back = stored.load()
    assert same(back, counts)
    assert back.matrix.dtype == counts.matrix.dtype
    assert list(back.column_names) == list(counts.column_names)
    assert stored.is_integral is not half


def test_blocks_are_taken_one_at_a_time_and_values_widen(tmp_path: Path) -> None:
    first, second = table(1), table(2, half=True)
    blocks = (one for one in (first.matrix, second, np.zeros((2, 9))))
    stored = StoredCounts.write(tmp_path / "a", blocks, column_names=first.column_names)
    whole = Counts(sparse.vstack([first.matrix, second.matrix, sparse.csr_array((2, 9))]))
    assert same(stored.load(), whole)
    assert stored.load().matrix.dtype == np.float64
    assert stored.row_names is None
    assert list(stored.column_names) == list(first.column_names)
    assert not stored.is_integral


@pytest.mark.parametrize("half", [False, True])
def test_rows_are_held_out_as_in_memory(tmp_path: Path, half: bool) -> None:
    counts = table(half=half)
    stored = StoredCounts.write(tmp_path / "a", counts)
    for mine, theirs in zip(stored.hold_out(0.4, 5), hold_out_tokens(counts, 0.4, 5), strict=True):
        parts = [mine.rows(lo, lo + 12).matrix for lo in range(0, 60, 12)]
        assert same(Counts(sparse.vstack(parts)), theirs)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = table().save(tmp_path / "a.counts")
    other = tmp_path / "b.counts"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(other, "w") as new:
        for name in old.namelist():
            data = bytearray(old.read(name))
            if name == "arrays/a0.npy":
                data[-1] ^= 1
            new.writestr(name, bytes(data))
    with pytest.raises(IsothermError, match="checksum"):
        StoredCounts.write(tmp_path / "b", other)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.counts", "b.counts"]


def test_what_cannot_be_stored_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IsothermError, match="3 columns, and those before it have 2"):
        StoredCounts.write(tmp_path / "a", [np.ones((2, 2)), np.ones((2, 3))])
    with pytest.raises(IsothermError, match="all 0"):
        StoredCounts.write(tmp_path / "a", [np.zeros((2, 2))])
    with pytest.raises(IsothermError, match="has 1 entries"):
        StoredCounts.write(tmp_path / "a", np.ones((2, 2)), column_names=["x"])
    with pytest.raises(IsothermError, match="Negative"):
        StoredCounts.write(tmp_path / "a", [-np.ones((2, 2))])
    assert list(tmp_path.iterdir()) == []
    StoredCounts.write(tmp_path / "a", np.ones((2, 2)))
    with pytest.raises(IsothermError, match="there already"):
        StoredCounts.write(tmp_path / "a", np.ones((2, 2)))


def test_what_is_no_folder_of_counts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IsothermError, match="no folder of counts"):
        StoredCounts(tmp_path)
    StoredCounts.write(tmp_path / "a", np.ones((2, 2)))
    np.save(tmp_path / "a" / "indices.npy", np.zeros(3, np.int32))
    with pytest.raises(IsothermError, match=r"indices\.npy: it has another length"):
        StoredCounts(tmp_path / "a")


@pytest.mark.parametrize(
    ("given", "found"), [(500, 500), ("500MB", 500), ("2 gb", 2000), ("1GiB", 1024), (0.5, 0.5)]
)
def test_budgets_are_understood(given: object, found: float) -> None:
    assert megabytes(given) == found


@pytest.mark.parametrize("given", [0, -1, "much", "5 miles", True, None, "nan"])
def test_other_budgets_are_refused(given: object) -> None:
    with pytest.raises(IsothermError, match="memory="):
        megabytes(given)
