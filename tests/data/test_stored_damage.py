"""Folders of counts that were damaged: every one is refused by name, before a kernel sees it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from isotherm import AspectModel, Counts, IsothermError
from isotherm.data import _stored_check
from isotherm.data.stored import StoredCounts


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    values = np.random.default_rng(0).poisson(0.8, (40, 9)).astype(float)
    values[:, 0] += 1
    values[7] = 0
    values[8] = [0, 0, 0, 5, 0, 0, 0, 0, 0]  # a row that stays in order whatever its column is
    names = [f"r{i}" for i in range(40)], [f"c{j}" for j in range(9)]
    path = tmp_path_factory.mktemp("stored") / "whole"
    return StoredCounts.write(path, Counts(values, *names)).folder


def damaged(whole: Path, to: Path, name: str, change: Callable[[Any], Any], sums: str) -> Path:
    """A copy with one array changed; checksums are `kept`, made `right` again, or of `none`."""
    folder = Path(shutil.copytree(whole, to))
    path = folder / name
    about = json.loads((folder / "counts.json").read_text())
    if name.endswith(".npy"):
        old = np.load(path)
        new = change(old.copy())
        np.save(path, old if new is None else new)
        data = path.read_bytes()[_stored_check.HEADER :]
    elif name == "counts.json":
        about = change(about)
    else:
        path.write_text(json.dumps(change(json.loads(path.read_text()))))
        data = path.read_bytes()
    if sums == "none":
        del about["crc32"]
    elif sums == "right" and name != "counts.json":
        right = _stored_check.Sums()
        right.add(data)
        about["crc32"][name] = right.sums
    (folder / "counts.json").write_text(json.dumps(about))
    return folder


def put(at: Any, value: Any) -> Callable[[Any], Any]:
    def change(old: Any) -> Any:
        old[at] = value
        return old

    return change


CELLS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "a column far too large": ("indices.npy", put(5, 2**31 - 1)),
    "a column one too large": ("indices.npy", put(5, 9)),
    "a negative column": ("indices.npy", put(5, -1)),
    "all columns 0": ("indices.npy", lambda old: old * 0),
    "columns not in order": ("indices.npy", lambda old: old[::-1].copy()),
    "another type": ("indices.npy", lambda old: old.astype(np.int64)),
    "floats for columns": ("indices.npy", lambda old: old.astype(np.float32)),
    "too few columns": ("indices.npy", lambda old: old[:-1]),
    "two axes": ("indices.npy", lambda old: old[:, None]),
    "nan": ("values.npy", put(0, np.nan)),
    "infinity": ("values.npy", put(0, np.inf)),
    "a negative count": ("values.npy", put(0, -1)),
    "a count of 0": ("values.npy", put(0, 0)),
    "another count": ("values.npy", lambda old: old + 1),
    "half a count": ("values.npy", lambda old: old + np.float32(0.5)),
    "too many counts": ("values.npy", lambda old: np.append(old, old[:1])),
    "rows that go back": ("indptr.npy", put(4, 2**40)),
    "negative rows": ("indptr.npy", put(4, -5)),
    "rows that begin late": ("indptr.npy", put(0, 1)),
    "rows that end early": ("indptr.npy", lambda old: np.minimum(old, old[-1] - 1)),
    "one row less": ("indptr.npy", lambda old: old[1:]),
    "totals of nan": ("row_totals.npy", put(0, np.nan)),
    "other totals": ("row_totals.npy", lambda old: old[::-1].copy()),
    "negative totals": ("column_totals.npy", put(0, -1.0)),
    "large totals": ("column_totals.npy", lambda old: old * 2),
    "one total less": ("column_totals.npy", lambda old: old[1:]),
    "names that are none": ("column_names.json", lambda old: {"a": 1}),
    "too few names": ("column_names.json", lambda old: old[1:]),
    "names twice": ("column_names.json", lambda old: ["x"] * len(old)),
    "odd names": ("row_ids.json", lambda old: [[1]] * len(old)),
    "no shape": ("counts.json", lambda old: {k: v for k, v in old.items() if k != "shape"}),
    "a list": ("counts.json", lambda old: {**old, "shape": "ab"}),
    "a shape of text": ("counts.json", lambda old: {**old, "shape": ["40", "9"]}),
    "another shape": ("counts.json", lambda old: {**old, "shape": [40, 8]}),
    "more columns": ("counts.json", lambda old: {**old, "shape": [40, 2**31 - 1]}),
    "no total": ("counts.json", lambda old: {**old, "total": None}),
    "another total": ("counts.json", lambda old: {**old, "total": 1e9}),
    "a total of nan": ("counts.json", lambda old: {**old, "total": float("nan")}),
    "another number of cells": ("counts.json", lambda old: {**old, "nnz": -1}),
    "whole or not": ("counts.json", lambda old: {**old, "integral": "no"}),
    "a version of text": ("counts.json", lambda old: {**old, "version": "2"}),
    "a newer version": ("counts.json", lambda old: {**old, "version": 2}),
    "checksums of text": ("counts.json", lambda old: {**old, "crc32": {"indices.npy": "a"}}),
}


def used(folder: Path) -> None:
    stored = StoredCounts(folder)
    assert stored.load().n_columns == stored.n_columns


@pytest.mark.parametrize("sums", ["kept", "right", "none"])
@pytest.mark.parametrize("what", CELLS)
def test_damage_is_named(what: str, sums: str, whole: Path, tmp_path: Path) -> None:
    name, change = CELLS[what]
    if what == "checksums of text" and sums == "none":
        sums = "kept"
    folder = damaged(whole, tmp_path / "a", name, change, sums)
    with pytest.raises(IsothermError, match=r"take a copy that is whole") as raised:
        used(folder)
    assert str(folder) in str(raised.value)


@pytest.mark.parametrize("name", ["indptr.npy", "indices.npy", "values.npy", "row_totals.npy"])
def test_every_bit_has_a_checksum(name: str, whole: Path, tmp_path: Path) -> None:
    """Also where the cells are valid ones: a single column of a row, a count and its total."""
    data = bytearray((whole / name).read_bytes())
    folder = Path(shutil.copytree(whole, tmp_path / "a"))
    for at in range(_stored_check.HEADER, len(data), max(1, len(data) // 40)):
        changed = bytearray(data)
        changed[at] ^= 1
        (folder / name).write_bytes(changed)
        with pytest.raises(IsothermError, match=name.replace(".", r"\.")):
            used(folder)


@pytest.mark.parametrize("name", [*_stored_check.TYPES, "row_ids", "counts"])
def test_files_that_are_missing_or_cut_off(name: str, whole: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(whole, tmp_path / "a"))
    path = next(folder.glob(f"{name}.*"))
    data = path.read_bytes().rstrip(b"\n")
    for part in (b"", data[:50], data[:-1], data + b"0"):
        path.write_bytes(part)
        with pytest.raises(IsothermError, match=rf"({name}|no folder of counts)"):
            used(folder)
    path.unlink()
    with pytest.raises(IsothermError, match=rf"{name}\."):
        used(folder)


def test_a_fit_ends_in_an_error_and_not_in_the_kernels(whole: Path, tmp_path: Path) -> None:
    folder = damaged(whole, tmp_path / "a", "indices.npy", put(5, 2**31 - 1), "right")
    with pytest.raises(IsothermError, match=r"indices\.npy: columns are not all from 0 to 8"):
        AspectModel(2, random_state=0).fit(StoredCounts(folder))


def test_folders_without_checksums_are_read(whole: Path, tmp_path: Path) -> None:
    folder = damaged(whole, tmp_path / "a", "indices.npy", lambda old: old, "none")
    back, first = StoredCounts(folder).load(), StoredCounts(whole).load()
    assert (back.matrix != first.matrix).nnz == 0
    assert list(back.row_names) == list(first.row_names)


def test_parts_are_summed_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_stored_check, "PART", 64)
    X = sparse.random_array((50, 20), density=0.3, rng=np.random.default_rng(0))
    X.data[:] = 1.0
    stored = StoredCounts.write(tmp_path / "a", X)
    calls: list[int] = []
    crc32 = _stored_check.zlib.crc32
    monkeypatch.setattr(
        _stored_check.zlib, "crc32", lambda *data: calls.append(len(data[0])) or crc32(*data)
    )
    for one in (stored, stored.with_memory(3), *stored.hold_out(0.5, 0)):
        for first in range(0, 50, 7):
            one.rows(first, min(first + 7, 50))
    assert sum(calls) == 2 * stored.nnz  # cells, each once


def test_a_crafted_file_is_refused_while_it_is_streamed(tmp_path: Path) -> None:
    for name, value in (("indices", 2**30), ("data", -1.0), ("indptr", 10**6)):
        counts = Counts([[1, 2, 0], [0, 3, 4]])
        getattr(counts.matrix, name)[1] = value
        path = counts.save(tmp_path / f"{name}.counts")
        with pytest.raises(IsothermError, match=rf"{name}\.counts is no file of isotherm"):
            StoredCounts.write(tmp_path / "a", path)
        assert not (tmp_path / "a").exists()
