import json
import math
import re
import zipfile
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from isotherm import CorpusMap, Counts, IsothermError
from isotherm.anneal.trace import Record
from isotherm.format import archive, codec
from isotherm.io import registry
from isotherm.maps.corpus import Cooling


def record(temperature: float, heldout: float) -> Record:
    return Record(temperature, -1.5, -2.0, heldout, 1, 3, (1.25, math.inf), 7, 0.25, True)


@pytest.fixture
def plain() -> CorpusMap:
    rng = np.random.default_rng(0)
    places = rng.uniform(-1, 1, (4, 2))
    places[2] = np.nan
    return CorpusMap(
        coordinates=places,
        topic_weights=rng.dirichlet(np.ones(3), 4),
        tokens=np.array([3.0, 1.0, 0.0, 2.0]),
        names=("a", "Ω", "half \ud800 pair", ""),
        labels=("x", 3, None, 1.5),
        texts=("</script>", "line\nline", "日本", "\0"),
        top_words=(("p", "q"), ("r",), ()),
        topic_sizes=np.array([0.5, 0.3, 0.2]),
        topic_coordinates=rng.uniform(-1, 1, (3, 2)),
        nodes=rng.uniform(-1, 1, (6, 2)),
        magnification=rng.uniform(0, 1, 6),
        grid_shape=(2, 3),
        transform="sqrt",
        topics_cooling=Cooling(
            (record(2.0, math.nan), record(1.0, math.inf)), 1.9, 1.0, "components"
        ),
        map_cooling=Cooling((record(1.0, 4.0),), math.nan, 1.0, "nodes"),
    )


def changed(path: Path, change: dict[str, object], drop: str = "") -> Path:
    """The file with some fields of the map replaced, and one left out."""
    kind, content, arrays = archive.read(path)
    writer = codec.Writer(registry.known())
    taken = {name: f"b{i}" for i, name in enumerate(arrays)}  # names that the writer does not use
    writer.arrays = {taken[name]: array for name, array in arrays.items()}
    fields = json.loads(
        re.sub(r'"name": "(a\d+)"', lambda m: f'"name": "{taken[m[1]]}"', json.dumps(content))
    )["fields"]
    fields |= {name: writer.encode(value, name) for name, value in change.items()}
    fields.pop(drop, None)
    return archive.write(path, archive.Archive(kind, content | {"fields": fields}, writer.arrays))


def test_what_was_saved_is_loaded(plain: CorpusMap, tmp_path: Path) -> None:
    loaded = CorpusMap.load(plain.save(tmp_path / "map.iso"))
    for field in fields(CorpusMap):
        before, after = getattr(plain, field.name), getattr(loaded, field.name)
        assert type(before) is type(after)
        if isinstance(before, np.ndarray):
            assert before.dtype == after.dtype
            assert_array_equal(before, after)
        else:
            assert repr(before) == repr(after)  # NaN is not equal to itself
    assert repr(loaded) == repr(plain)


def test_labels_and_texts_may_be_missing(plain: CorpusMap, tmp_path: Path) -> None:
    bare = replace(plain, labels=None, texts=None)
    loaded = CorpusMap.load(bare.save(tmp_path / "map.iso"))
    assert loaded.labels is None
    assert loaded.texts is None
    assert repr(loaded) == "CorpusMap(4 documents (1 empty), 3 topics, 2-D map of 2 x 3 nodes)"
    assert repr(plain).endswith("3 labels)")


def test_name_is_taken_as_it_is_and_an_older_file_replaced(
    plain: CorpusMap, tmp_path: Path
) -> None:
    path = tmp_path / "atlas"
    path.write_text("old")
    assert plain.save(str(path)) == path
    assert [one.name for one in tmp_path.iterdir()] == ["atlas"]
    assert CorpusMap.load(path).names == plain.names


def test_a_failed_write_leaves_the_older_file(
    plain: CorpusMap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = plain.save(tmp_path / "map.iso")
    before, file = path.read_bytes(), path.stat().st_ino
    assert plain.save(path).stat().st_ino != file  # another file, not the old one written over

    def fail(file: object, array: object, **settings: object) -> None:
        file.write(b"half")  # type: ignore[attr-defined]
        raise OSError("the disk is full")

    monkeypatch.setattr(np.lib.format, "write_array", fail)
    with pytest.raises(OSError, match="disk is full"):
        replace(plain, names=("other",) * 4).save(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["map.iso"]


def test_missing_file_is_the_systems_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        CorpusMap.load(tmp_path / "none.npz")


@pytest.mark.parametrize("kind", ["text", "npy", "npz", "zip", "empty"])
def test_foreign_file_is_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "file.npz"
    if kind == "text":
        path.write_text("hello")
    elif kind == "npy":
        with path.open("wb") as file:
            np.save(file, np.ones(3))
    elif kind == "npz":
        np.savez(path, ones=np.ones(3))
    elif kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("meta", "hello")
    else:
        path.touch()
    with pytest.raises(IsothermError, match=r"file\.npz is no file of isotherm, or a damaged one"):
        CorpusMap.load(path)


def test_truncated_file_is_refused(plain: CorpusMap, tmp_path: Path) -> None:
    path = plain.save(tmp_path / "map.iso")
    whole = path.read_bytes()
    for size in np.linspace(0, len(whole) - 1, 25).astype(int):
        path.write_bytes(whole[:size])
        with pytest.raises(IsothermError, match="damaged"):
            CorpusMap.load(path)


def test_changed_bytes_never_raise_anything_else(plain: CorpusMap, tmp_path: Path) -> None:
    path = plain.save(tmp_path / "map.iso")
    whole = path.read_bytes()
    refused = 0
    for place in range(0, len(whole), 5):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x5A]) + whole[place + 1 :])
        try:
            CorpusMap.load(path)
        except IsothermError:
            refused += 1
    assert refused > len(whole) / 20


def test_a_map_of_before_the_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "map.npz"
    np.savez(path, meta=np.zeros(3, np.uint8), tokens=np.ones(3))
    with pytest.raises(IsothermError, match="early map; make the map again"):
        CorpusMap.load(path)


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    path = Counts([[1, 2]]).save(tmp_path / "counts.iso")
    with pytest.raises(IsothermError, match="holds 'counts', and 'map' was asked for"):
        CorpusMap.load(path)


@pytest.mark.parametrize(
    "change",
    [
        {"names": ("only one",)},
        {"names": 3},
        {"labels": (1,)},
        {"texts": ("a",)},
        {"top_words": (("a",),)},
        {"grid_shape": (3, 3)},
        {"surprise": 1},
        {"tokens": "text"},
        *(
            {name: np.ones(shape)}
            for name, shape in [
                ("coordinates", (4, 3)),
                ("coordinates", (4,)),
                ("topic_weights", (4, 2)),
                ("tokens", (3,)),
                ("topic_sizes", (2,)),
                ("topic_coordinates", (3, 3)),
                ("nodes", (5, 2)),
                ("magnification", (7,)),
            ]
        ),
        {"tokens": np.ones(4, int)},
        {"tokens": np.array(["a", "b", "c", "d"])},
    ],
    ids=str,
)
def test_parts_that_do_not_fit_are_refused(
    plain: CorpusMap, tmp_path: Path, change: dict[str, object]
) -> None:
    path = plain.save(tmp_path / "map.iso")
    assert CorpusMap.load(changed(path, {})).names == plain.names
    with pytest.raises(IsothermError, match="no file of isotherm, or a damaged one"):
        CorpusMap.load(changed(path, change))


def test_a_missing_part_is_refused(plain: CorpusMap, tmp_path: Path) -> None:
    path = plain.save(tmp_path / "map.iso")
    with pytest.raises(IsothermError, match="damaged"):
        CorpusMap.load(changed(path, {}, drop="map_cooling"))
