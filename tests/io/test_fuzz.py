"""Thousands of broken files: each is refused with the one exception, and nothing is left behind."""

import io
import json
import tempfile
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import isotherm
from isotherm import GTM, AspectModel, Counts, Exponential, IsothermError, SearchIndex
from isotherm.anneal import journal
from isotherm.anneal.trace import Outcome
from isotherm.format import archive, codec, values
from isotherm.io import checkpoint, registry
from isotherm.tree import Tree


@cache
def small() -> bytes:
    """A small file with most kinds of values in it."""
    model = AspectModel(
        2, schedule=Exponential(0.8, margin=0.9), random_state=np.random.default_rng(0), max_iter=5
    ).fit([[3, 1, 0], [2, 2, 0], [0, 1, 3]] * 3)
    model.trace_ = model.trace_[:1]
    model.tree_ = Tree((-1, 0, 0), temperatures=(2.0, np.nan, np.nan))
    model.table_ = np.arange(6.0).reshape(2, 3).T
    model.labelled_ = np.array(["a", "ü", ""], object)
    model.graph_ = Counts([[1, 0], [0, 2]]).matrix
    model.counts_ = Counts([[1, 0], [0, 2]], ["r", "s"])
    model.more_ = (1, [None, True, np.float32(0.1)], {"x": np.inf}, Outcome.FINISHED)
    out = io.BytesIO()
    writer = codec.Writer(registry.known())
    content = writer.encode(model, "it")
    with zipfile.ZipFile(out, "w") as file:
        said = {name: archive._write_array(file, name, a) for name, a in writer.arrays.items()}
        meta = {"format": "isotherm", "version": 1, "kind": "fit", "library": "", "created": ""}
        file.writestr("meta.json", json.dumps(meta | {"content": content, "arrays": said}))
    return out.getvalue()


def refused(data: bytes, path: Path, load: Any = isotherm.load) -> bool:
    """Whether the file is refused; anything but the one exception fails the test."""
    path.write_bytes(data)
    message = ""
    try:
        load(path)
    except IsothermError as error:
        message = str(error)
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    assert not message or str(path) in message
    return bool(message)


def test_the_whole_file_is_read(tmp_path: Path) -> None:
    assert not refused(small(), tmp_path / "model.iso")
    found = isotherm.load(tmp_path / "model.iso")
    assert found.tree_.leaves == (1, 2)
    assert found.more_[3] is Outcome.FINISHED


def test_every_shorter_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "counts.iso"
    data = Counts([[1, 2]], column_names=["a", "b"]).save(path).read_bytes()
    assert len(data) > 1500
    assert all(refused(data[:n], path, Counts.load) for n in range(len(data)))
    assert not refused(data, path, Counts.load)


def test_changed_bytes_are_refused_or_do_not_matter(tmp_path: Path) -> None:
    data, rng = small(), np.random.default_rng(0)
    intact = json.dumps(_said(small(), tmp_path))
    n_refused = 0
    for place in range(0, len(data), max(1, len(data) // 600)):
        broken = bytearray(data)
        broken[place] ^= int(rng.integers(1, 256))
        if refused(bytes(broken), tmp_path / "model.iso"):
            n_refused += 1
        else:
            # Only what no value depends on: times and attributes in the directory of the zip.
            assert json.dumps(_said(bytes(broken), tmp_path)) == intact
    assert n_refused > 400


def _said(data: bytes, folder: Path) -> Any:
    (folder / "model.iso").write_bytes(data)
    found = archive.read(folder / "model.iso")
    return [found.kind, found.content, {n: a.tolist() for n, a in found.arrays.items()}]


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300))
def test_any_bytes_are_refused(tmp_path: Path, data: bytes) -> None:
    assert refused(data, tmp_path / "model.iso")


# JSON that is valid but not what was written: every place, replaced by every odd value.
ODD: list[Any] = [
    *(None, True, 0, -1, 1.5, 10**30, "", "text", [], [1], {}, {"$": "tuple", "items": []}),
    {"$": "array", "name": "a0"},
    {"$": "object", "type": "Tree", "fields": {"parents": 3, "leaves": [], "temperatures": []}},
]


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield way
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*way, key))


def replaced(value: Any, way: tuple[Any, ...], new: Any) -> Any:
    if not way:
        return new
    other = dict(value) if isinstance(value, dict) else list(value)
    other[way[0]] = replaced(value[way[0]], way[1:], new)
    return other


def test_odd_values_in_every_place(tmp_path: Path) -> None:
    path = tmp_path / "model.iso"
    path.write_bytes(small())
    kind, content, arrays = archive.read(path)
    tried = n_refused = 0
    reader_of = registry.known()
    for way in places(content):
        for odd in ODD:
            tried += 1
            try:
                codec.Reader(reader_of, arrays).decode(replaced(content, way, odd))
            except (IsothermError, *archive.DAMAGE):
                n_refused += 1
    assert kind == "fit"
    assert tried > 1000
    assert n_refused > 1000


def test_odd_metadata_in_every_place(tmp_path: Path) -> None:
    path = tmp_path / "model.iso"
    path.write_bytes(small())
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    meta = json.loads(parts.pop("meta.json"))
    arrays = ("arrays", "a0"), ("arrays", "a1")
    ways = [way for way in places(meta) if len(way) <= 1 or way[:2] in arrays]
    for way in ways:
        for odd in ODD:
            out = io.BytesIO()
            with zipfile.ZipFile(out, "w") as file:
                for name, data in parts.items():
                    file.writestr(name, data)
                file.writestr("meta.json", json.dumps(replaced(meta, way, odd)))
            path.write_bytes(out.getvalue())
            try:
                isotherm.load(path)
            except IsothermError:
                continue
            assert way[:1] in [("library",), ("created",), ("version",)] or (
                # the odd value is what was there
                replaced(meta, way, odd) == meta
            )


@pytest.mark.parametrize("dtype", ["<f4", "<i8", "|b1", ">f8"])
def test_arrays_of_another_type_are_an_array_still(dtype: str, tmp_path: Path) -> None:
    """A consistent file with other numbers is another file, not a broken one."""
    path = tmp_path / "model.iso"
    path.write_bytes(small())
    kind, content, arrays = archive.read(path)
    others = {name: a.astype(dtype) for name, a in arrays.items()}
    archive.write(path, archive.Archive(kind, content, others))
    with pytest.raises(IsothermError):
        values.read(path, registry.known(), "fit")


# Files of every kind ------------------------------------------------------------------------------


@cache
def whole_files() -> dict[str, bytes]:
    """A file of every kind, each of another loader."""
    rng = np.random.default_rng(0)
    X = rng.poisson(1.0, (12, 6)) + np.eye(12, 6, dtype=int)
    model = AspectModel(2, random_state=0, max_iter=5, n_jobs=1).fit(X)
    places = rng.standard_normal((12, 2))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file")
        found = {}
        for name, thing in {
            "counts": Counts(X),
            "fit": model,
            "index": SearchIndex.of(model, Counts(X)),
            "map": GTM(n_nodes=4, n_basis=2, random_state=0, max_iter=5).fit(places),
        }.items():
            found[name] = isotherm.save(thing, path).read_bytes()
        file = checkpoint.File(path.with_name("run.ckpt"), 0.0)
        with journal.writing_to(file):
            AspectModel(2, random_state=0, max_iter=5, n_jobs=1).fit(X)
        found["checkpoint"] = file.path.read_bytes()
    return found


def damaged(data: bytes) -> list[bytes]:
    """Different forms of a file: cut off, changed, with a part missing, twice or of other bytes."""
    rng = np.random.default_rng(0)
    found = [data[:cut] for cut in np.linspace(0, len(data) - 1, 40).astype(int)]
    for _ in range(40):
        at, to = sorted(int(i) for i in rng.integers(0, len(data) + 1, 2))
        changed = bytearray(data)
        changed[int(rng.integers(len(data)))] ^= int(rng.integers(1, 256))
        found += [bytes(changed), data[:at] + data[to:], data[:to] + data[at:]]
        found.append(data[:at] + rng.bytes(int(rng.integers(1, 40))) + data[to:])
    return [bad for bad in dict.fromkeys(found) if bad != data]


LOADERS: dict[str, Any] = {
    "counts": Counts.load,
    "fit": AspectModel.load,
    "index": SearchIndex.load,
    "map": GTM.load,
    "checkpoint": lambda path: checkpoint.File(path, 1.0),
}


def test_bad_files_are_so_many() -> None:
    # `test_every_shorter_file_is_refused` tries 1500 others, and `test_odd_values` 1000.
    assert sum(len(damaged(data)) for data in whole_files().values()) > 900


@pytest.mark.parametrize("kind", LOADERS)
def test_damaged_files_of_every_kind(kind: str, tmp_path: Path) -> None:
    path, data = tmp_path / "file", whole_files()[kind]
    assert not refused(data, path, LOADERS[kind])
    forms = damaged(data)
    n_refused = sum(refused(bad, path, LOADERS[kind]) for bad in forms)
    # What is left are times and attributes in the directory of the zip.
    assert n_refused >= len(forms) - 20


@pytest.mark.parametrize("kind", LOADERS)
def test_whole_files_of_another_kind(kind: str, tmp_path: Path) -> None:
    for other, data in whole_files().items():
        assert refused(data, tmp_path / "file", LOADERS[kind]) == (other != kind)
