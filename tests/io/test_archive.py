"""The file format itself: what is written, and what is refused."""

import datetime
import hashlib
import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isotherm
from isotherm import Counts, IsothermError
from isotherm.format import archive

TABLE = np.arange(6.0).reshape(2, 3)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    arrays = {"a0": TABLE, "a1": np.asfortranarray(TABLE), "a2": np.array(7, np.uint8)}
    found = archive.Archive("map", {"some": [1, None, "ü"]}, arrays)
    return archive.write(tmp_path / "file.iso", found)


def parts_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def put(path: Path, parts: dict[str, bytes], how: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", how) as file:
        for name, data in parts.items():
            file.writestr(name, data)
    return path


def with_meta(path: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    parts = parts_of(path)
    meta = json.loads(parts["meta.json"])
    parts["meta.json"] = json.dumps(change(meta) or meta).encode()
    return put(path, parts)


def npy(array: np.ndarray[Any, Any], **settings: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, array, **settings)
    return out.getvalue()


def test_what_is_written_is_read(path: Path) -> None:
    kind, content, arrays = archive.read(path)
    assert (kind, content) == ("map", {"some": [1, None, "ü"]})
    assert list(arrays) == ["a0", "a1", "a2"]
    for array in arrays.values():
        assert array.flags.writeable
        assert array.flags.aligned
    assert arrays["a0"].flags.c_contiguous
    assert arrays["a1"].flags.f_contiguous
    assert np.array_equal(arrays["a1"], TABLE)
    assert arrays["a2"].shape == ()
    assert arrays["a2"] == 7


def test_the_format_is_what_the_documentation_says(path: Path) -> None:
    parts = parts_of(path)
    assert sorted(parts) == ["arrays/a0.npy", "arrays/a1.npy", "arrays/a2.npy", "meta.json"]
    assert parts["meta.json"].isascii()
    meta = json.loads(parts["meta.json"])
    assert list(meta) == ["format", "version", "kind", "library", "created", "content", "arrays"]
    assert (meta["format"], meta["version"]) == ("isotherm", archive.VERSION)
    assert meta["library"] == f"isotherm {isotherm.__version__}"
    assert meta["created"].endswith("+00:00")
    for name, said in meta["arrays"].items():
        data = parts[f"arrays/{name}.npy"]
        assert said["sha256"] == hashlib.sha256(data).hexdigest()
        array = np.load(io.BytesIO(data), allow_pickle=False)
        assert (said["dtype"], said["shape"]) == (array.dtype.str, list(array.shape))


def test_members_may_be_compressed(path: Path) -> None:
    before = archive.read(path)
    after = archive.read(put(path, parts_of(path), zipfile.ZIP_DEFLATED))
    assert after.content == before.content
    assert np.array_equal(after.arrays["a0"], TABLE)


@pytest.mark.parametrize("size", [0, 10**7])
def test_metadata_that_compress_well_can_be_read(size: int, tmp_path: Path) -> None:
    path = tmp_path / "file.iso"
    archive.write(path, archive.Archive("map", "x" * size, {}))
    assert archive.read(path).content == "x" * size


def test_many_shapes_and_types(tmp_path: Path) -> None:
    shapes = [(), (0,), (3,), (0, 4), (4, 0), (2, 3, 4)]
    types = ["?", "i1", "<u2", ">i4", "<i8", "<f2", ">f4", "<f8"]
    arrays = {
        f"a{i}{t}": np.ones(shape, kind)
        for i, shape in enumerate(shapes)
        for t, kind in enumerate(types)
    }
    path = archive.write(tmp_path / "file.iso", archive.Archive("map", None, arrays))
    found = archive.read(path).arrays
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype.newbyteorder("=")
        assert found[name].shape == array.shape
        assert (found[name] == array).all()


def test_a_newer_version_says_what_to_do(path: Path) -> None:
    with_meta(path, lambda meta: meta.update(version=3, library="isotherm 9.1", content=None))
    match = r"file\.iso has version 3 .* reads up to 1; install a newer isotherm .*isotherm 9\.1"
    with pytest.raises(IsothermError, match=match):
        archive.read(path)


def test_older_versions_are_brought_up_to_date(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def from_0(meta: dict[str, Any]) -> dict[str, Any]:
        return {**meta, "version": 1, "content": meta["contents"], "kind": "counts"}

    def older(meta: dict[str, Any]) -> None:
        meta.update(version=0, contents={"old": meta.pop("content")})

    with_meta(path, older)
    with pytest.raises(IsothermError, match="its version is '0'"):
        archive.read(path)
    monkeypatch.setitem(archive.MIGRATIONS, 0, from_0)
    kind, content, arrays = archive.read(path)
    assert (kind, content) == ("counts", {"old": {"some": [1, None, "ü"]}})
    assert np.array_equal(arrays["a0"], TABLE)
    # One after the other, if there are several.
    monkeypatch.setattr(archive, "VERSION", 2)
    monkeypatch.setitem(archive.MIGRATIONS, 1, lambda meta: {**meta, "kind": "index"})
    assert archive.read(path).kind == "index"


def test_kinds_may_be_asked_for(path: Path) -> None:
    assert archive.read(path, "fit", "map").kind == "map"
    with pytest.raises(IsothermError, match="holds 'map', and 'fit' or 'index' was asked for"):
        archive.read(path, "fit", "index")


def test_a_missing_file_is_the_systems_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        archive.read(tmp_path / "none.iso")


@pytest.mark.parametrize("name", ["", "none/file.iso"])
def test_places_that_cannot_be_written_to(name: str, tmp_path: Path) -> None:
    with pytest.raises(IsothermError, match="give the name of a file in a folder that exists"):
        Counts([[1]]).save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


# Files that are not what they should be ---------------------------------------------------------


def huge(path: Path, shape: tuple[int, ...], dtype: str = "<f8") -> Path:
    """An array whose header claims a shape that the file has no room for."""
    parts = parts_of(path)
    header = io.BytesIO()
    said = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, said)
    data = header.getvalue() + b"\0" * 48
    meta = json.loads(parts["meta.json"])
    meta["arrays"]["a0"] = {
        "sha256": hashlib.sha256(data).hexdigest(),
        "dtype": dtype,
        "shape": list(shape),
    }
    return put(path, parts | {"arrays/a0.npy": data, "meta.json": json.dumps(meta).encode()})


def changed(name: str) -> Callable[[Path], Path]:
    def change(path: Path) -> Path:
        parts = parts_of(path)
        data = bytearray(parts[name])
        data[-1] ^= 1
        return put(path, parts | {name: bytes(data)})

    return change


def objects(path: Path) -> Path:
    data = npy(np.array([{"a": 1}, print], object), allow_pickle=True)
    said = {"sha256": hashlib.sha256(data).hexdigest(), "dtype": "|O", "shape": [2]}
    with_meta(path, lambda meta: meta["arrays"].update(a0=said))
    return put(path, parts_of(path) | {"arrays/a0.npy": data})


def bomb(path: Path) -> Path:
    return put(path, parts_of(path) | {"arrays/a0.npy": bytes(10**7)}, zipfile.ZIP_DEFLATED)


def lying(path: Path) -> Path:
    """A size in the directory of the zip that is far beyond the file."""
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02")
    data[at + 20 : at + 28] = (2**31).to_bytes(4, "little") * 2
    path.write_bytes(data)
    return path


def twice(path: Path) -> Path:
    text = parts_of(path)["meta.json"]
    with zipfile.ZipFile(path, "a") as file, pytest.warns(UserWarning, match="Duplicate"):
        file.writestr("meta.json", text)
    return path


def renamed(old: str, new: str) -> Callable[[Path], Path]:
    def change(path: Path) -> Path:
        parts = {new if name == old else name: data for name, data in parts_of(path).items()}
        return put(path, parts)

    return change


def named(name: str) -> Callable[[Path], Path]:
    """An array of another name, in the zip and in the metadata."""

    def change(path: Path) -> Path:
        with_meta(path, lambda meta: meta["arrays"].update({name: meta["arrays"].pop("a0")}))
        return renamed("arrays/a0.npy", f"arrays/{name}.npy")(path)

    return change


def meta(**changes: Any) -> Callable[[Path], Path]:
    return lambda path: with_meta(path, lambda found: found.update(changes))


def array(**changes: Any) -> Callable[[Path], Path]:
    return lambda path: with_meta(path, lambda found: found["arrays"]["a0"].update(changes))


def text(data: bytes) -> Callable[[Path], Path]:
    return lambda path: put(path, parts_of(path) | {"meta.json": data})


BROKEN: dict[str, tuple[Callable[[Path], Path], str]] = {
    "data": (changed("arrays/a0.npy"), "checksum differs"),
    "checksum": (array(sha256="0" * 64), "checksum differs"),
    "type": (array(dtype="<f4"), "says otherwise"),
    "shape": (array(shape=[3, 2]), "says otherwise"),
    "no shape": (array(shape=None), "damaged"),
    "huge": (lambda path: huge(path, (10**12,)), "bytes that are not there"),
    "overflow": (lambda path: huge(path, (2**40, 2**40)), "bytes that are not there"),
    "negative": (lambda path: huge(path, (-1, -6)), "bytes that are not there"),
    "text array": (lambda path: huge(path, (1,), "<U12"), "says otherwise"),
    "objects": (objects, "damaged"),
    "bomb": (bomb, "bytes claim to hold"),
    "lying": (lying, "damaged"),
    "twice": (twice, "is in it twice"),
    "traversal": (named("../../evil"), "no name of an array"),
    "absolute": (named("/etc/passwd"), "no name of an array"),
    "long name": (named("a" * 65), "no name of an array"),
    "missing": (renamed("arrays/a0.npy", "arrays/b.npy"), "missing or does not belong"),
    "extra": (lambda path: put(path, parts_of(path) | {"more": b""}), "does not belong"),
    "other format": (meta(format="tar"), "does not say that this is a file of isotherm"),
    "version 0": (meta(version=0), "its version is '0'"),
    "version text": (meta(version="1"), "its version is '1'"),
    "version true": (meta(version=True), "its version is 'True'"),
    "kind": (meta(kind="other"), "its kind is 'other'"),
    "kind list": (meta(kind=[]), "damaged"),
    "arrays": (meta(arrays=[]), "not complete"),
    "empty json": (text(b""), "damaged"),
    "list": (text(b"[]"), "does not say"),
    "nan": (text(b'{"format": NaN}'), "NaN in meta.json"),
    "deep": (text(b"[" * 100_000), "damaged"),
    "long number": (text(b"1" * 10_000), "damaged"),
    "not text": (text(b"\xff\xfe{"), "damaged"),
    "no meta": (renamed("meta.json", "other.json"), "without meta.json"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_refused(name: str, path: Path) -> None:
    change, message = BROKEN[name]
    change(path)
    with pytest.raises(IsothermError, match=r"file\.iso is no file of isotherm, or a damaged one"):
        archive.read(path)
    with pytest.raises(IsothermError, match=message):
        archive.read(path)


def test_encrypted_members_are_refused(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(IsothermError, match="encrypted or compressed oddly"):
        archive.read(path)


def test_other_compression_is_refused(path: Path) -> None:
    put(path, parts_of(path), zipfile.ZIP_BZIP2)
    with pytest.raises(IsothermError, match="encrypted or compressed oddly"):
        archive.read(path)


def test_a_claim_is_seen_through_before_memory_is_taken(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*given: Any, **settings: Any) -> None:
        raise AssertionError(given)

    huge(path, (10**9, 10**9))
    monkeypatch.setattr(np, "empty", never)
    with pytest.raises(IsothermError, match="bytes that are not there"):
        archive.read(path)


# Disks ------------------------------------------------------------------------------------------

FULL = """
import resource, signal, sys
import numpy as np
from isotherm import Counts
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
try:
    Counts(np.eye(2000)).save("counts.iso")
except OSError as error:
    print(error.errno)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux")
def test_a_file_that_the_system_does_not_take_leaves_the_old_one(tmp_path: Path) -> None:
    path = Counts([[1, 2]]).save(tmp_path / "counts.iso")
    before = path.read_bytes()
    source = os.fspath(Path(isotherm.__file__).parents[1])
    run = subprocess.run(
        [sys.executable, "-c", FULL],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout.strip() == "27", run.stderr  # EFBIG
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["counts.iso"]


def test_a_full_disk_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = path.read_bytes()

    def full(file: Any, array: Any, **settings: Any) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full)
    with pytest.raises(OSError, match="No space left"):
        archive.write(path, archive.Archive("map", None, {"a": TABLE}))
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == ["file.iso"]


def test_how_a_file_came_to_be(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, written = archive.read_about(path, "map")
    assert found.kind == "map"
    assert written.version == 1
    assert written.library == archive.library()
    assert datetime.datetime.fromisoformat(written.created).tzinfo is datetime.UTC

    def odd(meta: dict[str, Any]) -> None:
        meta.update(version=0, library=None)
        del meta["created"]

    monkeypatch.setitem(archive.MIGRATIONS, 0, lambda meta: {**meta, "version": 1})
    with_meta(path, odd)
    assert archive.read_about(path)[1] == (0, "", "")
    with pytest.raises(IsothermError, match="'fit' was asked for"):
        archive.read_about(path, "fit")
