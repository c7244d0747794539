"""Files that are whole but altered: each is refused with the one exception, or can be used.

A few hundred of them; `python tests/fuzz_files.py` tries thousands, of every estimator.
"""

import io
import json
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fuzz_files
import isotherm
from isotherm import Counts, IsothermError
from isotherm.format import archive, codec
from isotherm.io import registry


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    names = ("aspect", "map", "hierarchy", "themes", "two-sided")
    return fuzz_files.whole_files(tmp_path_factory.mktemp("whole"), names)


@pytest.mark.parametrize("part", range(4))
def test_altered_files_are_refused_or_work(
    part: int, whole: dict[str, Path], tmp_path: Path
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(part * 40, part * 40 + 40):
            name, path = fuzz_files.one_of_many(7, number, whole, tmp_path)
            assert not fuzz_files.examine(name, path), number


def test_the_files_themselves_are_fine(whole: dict[str, Path], tmp_path: Path) -> None:
    for name, path in whole.items():
        used = path
        if path.is_file():  # a checkpoint goes with its use
            used = tmp_path / "file"
            used.write_bytes(path.read_bytes())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            next(fuzz_files.attempts(name, used))()
            assert not fuzz_files.examine(name, used), name


def altered(path: Path, to: Path, place: str, new: Any) -> Path:
    """The file with one place changed, and all checksums right; `new` may be a function."""
    meta, parts = fuzz_files.parts_of(path.read_bytes())
    way = ("content", "fields", *place.split("."))
    old = fuzz_files.at(meta, way)
    if isinstance(old, dict) and old.get("$") == "array" and not isinstance(new, dict):
        name = f"arrays/{old['name']}.npy"
        array = np.asarray(new(np.load(io.BytesIO(parts[name]))))
        parts[name] = fuzz_files.npy(array)
        said = {"dtype": array.dtype.str, "shape": list(array.shape), "sha256": ""}
        meta["arrays"][old["name"]] = said
    else:
        meta = fuzz_files.replaced(meta, way, new(old) if callable(new) else new)
    to.write_bytes(fuzz_files.packed(meta, parts))
    return to


def lost(old: Any) -> Any:
    new = old.copy()
    new.flat[0] = np.nan
    return new


def at_zero(table: Any) -> Any:
    return {**table, "fields": {**table["fields"], "temperature": 0.0}}


FITTED = "fitted.items."
PLACES: dict[str, tuple[str, str, Any]] = {
    "a table of another width": ("fit aspect", FITTED + "components_", lambda old: old[:, 1:]),
    "a table turned": ("fit aspect", FITTED + "components_", lambda old: old.T.copy()),
    "a table with nan": ("fit aspect", FITTED + "components_", lost),
    "negative weights": ("fit aspect", FITTED + "weights_", lambda old: -old),
    "weights of text": ("fit aspect", FITTED + "weights_", {"$": "tuple", "items": ["a"]}),
    "other parameters": (
        "fit aspect",
        FITTED + "params_.fields.word_topic",
        lambda old: old[:, :-1],
    ),
    "another model": ("fit aspect", FITTED + "model_.type", "model.AspectLeaveOneOut"),
    "more components": ("fit aspect", FITTED + "model_.fields.n_components", 10**30),
    "half a component": ("fit aspect", FITTED + "model_.fields.n_components", 2.5),
    "no model": ("fit aspect", FITTED + "model_", None),
    "a temperature below 0": ("fit aspect", FITTED + "temperature_", -1.0),
    "a temperature of 0": ("fit aspect", FITTED + "temperature_", 0.0),
    "topics at 0": ("index", "tables.items", lambda old: [at_zero(one) for one in old]),
    "no trace": ("fit aspect", FITTED + "trace_.items", []),
    "a trace of numbers": ("fit aspect", FITTED + "trace_.items", [1, 2]),
    "a record of text": ("fit aspect", FITTED + "trace_.items", lambda old: ["text", *old]),
    "columns of text": ("fit aspect", FITTED + "n_features_in_", "15"),
    "no columns": ("fit aspect", FITTED + "n_features_in_", 0),
    "another precision": ("fit aspect", FITTED + "precision_", "float16"),
    "threads of text": ("fit aspect", "params.items.n_jobs", "many"),
    "a place for a device": ("fit aspect", "params.items.device", 3),
    "too few names": (
        *("fit aspect", FITTED + "feature_names_in_", {"$": "tuple", "items": ["a", "b"]}),
    ),
    "too few names of rows": (
        *("fit two-sided", FITTED + "row_names_", {"$": "tuple", "items": ["a", "b"]}),
    ),
    "something less": (
        "fit aspect",
        FITTED[:-1],
        lambda old: {k: v for k, v in old.items() if k != "unigram_"},
    ),
    "a grid of other nodes": ("fit map", FITTED + "grid_.fields.shape.items", [10**6, 10**6]),
    "a grid without nodes": ("fit map", FITTED + "model_.fields.grid.fields.shape.items", [0, 3]),
    "no scale": ("fit map", FITTED + "scale_", 0.0),
    "centres of other vectors": ("fit map", FITTED + "centres_", lambda old: old[:, :1]),
    "a tree of other leaves": ("fit hierarchy", FITTED + "tree_.fields.parents.items", [-1, 0, 1]),
    "a tree without end": (
        "fit hierarchy",
        FITTED + "model_.fields.parents.items",
        lambda old: [old[-1] + 1, *old[1:]],
    ),
    "a table of half precision": (
        *("fit hierarchy", FITTED + "params_.fields.word_node", lambda old: old.astype(np.float16)),
    ),
    "clusters without weight": ("fit themes", FITTED + "cluster_weights_", lambda old: old * 0),
    "theta of other topics": ("index", "theta", lambda old: old[:, 1:]),
    "theta with nan": ("index", "theta", lost),
    "settings of text": ("index", "settings.fields.interpolation", "half"),
    "stages of numbers": ("stages", "kept.items", [1]),
    "no stages": ("stages", "limit", "12"),
    "another way in": ("map", "transform", 3),
    "nodes with nan": ("map", "nodes", lost),
    "names that are numbers": ("map", "names.items", lambda old: [1] * len(old)),
    "cooling of text": ("map", "map_cooling", "text"),
}


@pytest.mark.parametrize("what", PLACES)
def test_parts_that_do_not_fit_are_refused(
    what: str, whole: dict[str, Path], tmp_path: Path
) -> None:
    name, place, new = PLACES[what]
    path = altered(whole[name], tmp_path / "file.iso", place, new)
    with pytest.raises(IsothermError, match=r"file\.iso is no file of isotherm, or a damaged one"):
        isotherm.load(path)


def run(path: Path, change: Callable[[Any], None]) -> None:
    """Go on with a checkpoint in which the entry of the first run is changed."""
    meta, parts = fuzz_files.parts_of(path.read_bytes())
    change(meta["content"]["items"]["runs"]["items"]["0"]["fields"])
    path.write_bytes(fuzz_files.packed(meta, parts))
    fuzz_files.resume("aspect", path)


ENTRIES: dict[str, Callable[[Any], Any]] = {
    "marks": lambda entry: entry["marks"]["items"].update(data=[1]),
    "no marks": lambda entry: entry.update(marks=None),
    "runs": lambda entry: entry.update(n_runs="one"),
    "random numbers": lambda entry: entry["rng"]["items"].update(state=3),
    "another generator": lambda entry: entry["rng"]["items"].update(bit_generator="MT19937"),
    "a state of text": lambda entry: entry.update(state="here"),
    "a temperature": lambda entry: entry["state"]["fields"].update(temperature="hot"),
    "a temperature of 0": lambda entry: entry["state"]["fields"].update(temperature=0.0),
    "rows": lambda entry: entry["state"]["fields"]["state"]["fields"]["rows"].update(items=[1.0]),
    "no state": lambda entry: entry["state"]["fields"].update(state=None),
    "over-relaxation": lambda entry: entry["state"]["fields"].update(relaxation=[1.0, None]),
    "best of all": lambda entry: entry["state"]["fields"]["best"]["fields"].update(solution=1),
    "no rows": lambda entry: entry["state"]["fields"]["state"]["fields"]["rows"].update(items=[]),
    "sweeps": lambda entry: entry["state"]["fields"].update(sweep=None),
}


@pytest.mark.parametrize("what", ENTRIES)
def test_checkpoints_that_do_not_fit_are_refused(
    what: str, whole: dict[str, Path], tmp_path: Path
) -> None:
    path = tmp_path / "run.ckpt"
    path.write_bytes(whole["checkpoint aspect"].read_bytes())
    with pytest.raises(IsothermError, match=r"run\.ckpt is"):
        run(path, ENTRIES[what])


def test_checkpoints_of_other_columns_are_refused(whole: dict[str, Path], tmp_path: Path) -> None:
    """All states of a run share a table at first, so that they agree with one another."""
    path = tmp_path / "run.ckpt"
    meta, parts = fuzz_files.parts_of(whole["checkpoint map"].read_bytes())
    run = meta["content"]["items"]["runs"]["items"]["0"]["fields"]["state"]["fields"]
    name = run["state"]["fields"]["params"]["fields"]["weight"]["name"]
    table = np.load(io.BytesIO(parts[f"arrays/{name}.npy"]))[:-1]  # stored as (D, M)
    parts[f"arrays/{name}.npy"] = fuzz_files.npy(table)
    meta["arrays"][name]["shape"] = list(table.shape)
    path.write_bytes(fuzz_files.packed(meta, parts))
    with pytest.raises(IsothermError, match=r"run\.ckpt is .* damaged one \(GtmParams\.weight"):
        fuzz_files.resume("map", path)


def test_files_of_computers_that_order_bytes_otherwise_are_read(
    whole: dict[str, Path], tmp_path: Path
) -> None:
    meta, parts = fuzz_files.parts_of(whole["fit hierarchy"].read_bytes())
    for name, said in meta["arrays"].items():
        array = np.load(io.BytesIO(parts[f"arrays/{name}.npy"]))
        array = array.astype(array.dtype.newbyteorder(">"))
        parts[f"arrays/{name}.npy"], said["dtype"] = fuzz_files.npy(array), array.dtype.str
    path = tmp_path / "file.iso"
    path.write_bytes(fuzz_files.packed(meta, parts))
    ours, theirs = isotherm.load(whole["fit hierarchy"]), isotherm.load(path)
    assert theirs.components_.dtype.isnative
    np.testing.assert_array_equal(theirs.components_, ours.components_)
    counts = Counts(fuzz_files.X, None, fuzz_files.NAMES)
    assert theirs.score(counts) == ours.score(counts)


# Files that claim much --------------------------------------------------------------------------


def claiming(path: Path, content: Any, arrays: dict[str, Any]) -> Path:
    parts = {f"arrays/{name}.npy": fuzz_files.npy(array) for name, array in arrays.items()}
    said = {
        name: {"dtype": array.dtype.str, "shape": list(array.shape)}
        for name, array in arrays.items()
    }
    meta = {"format": "isotherm", "version": 1, "kind": "fit", "library": "", "created": ""}
    path.write_bytes(fuzz_files.packed({**meta, "content": content, "arrays": said}, parts))
    return path


def reference(name: str) -> dict[str, Any]:
    return {"$": "array", "name": name}


def text(n: int, dtype: str) -> tuple[Any, dict[str, Any]]:
    arrays = {"a": np.zeros(0, np.uint8), "b": np.zeros(n + 1, np.int64)}
    said = {"bytes": reference("a"), "offsets": reference("b"), "shape": [n], "dtype": dtype}
    return {"$": "strings", **said}, arrays


def table() -> tuple[Any, dict[str, Any]]:
    arrays = {"d": np.ones(5000), "i": np.zeros(5000, np.int32), "p": np.arange(5001)}
    said = {"data": reference("d"), "indices": reference("i"), "indptr": reference("p")}
    return [{"$": "csr", "shape": [5000, 1], **said}] * 20_000, arrays


CLAIMS: dict[str, Callable[[], tuple[Any, dict[str, Any]]]] = {
    "wide text": lambda: text(100_000, "<U1024"),
    "much text": lambda: text(500_000, "O"),
    "lists": lambda: ([[]] * 700_000, {}),
    "numbers": lambda: ([1] * 1_000_000, {}),
    "objects": lambda: ([{}] * 700_000, {}),
    "references": table,
}


@pytest.mark.parametrize("what", CLAIMS)
def test_small_files_that_claim_much_are_refused(what: str, tmp_path: Path) -> None:
    path = claiming(tmp_path / "file.iso", *CLAIMS[what]())
    size = path.stat().st_size
    before = fuzz_files.peak(reset=True)
    with pytest.raises(IsothermError, match=r"file\.iso .* claim"):
        isotherm.load(path)
    assert fuzz_files.peak() - before < archive.allowance(size)


def test_lists_within_lists_have_an_end(tmp_path: Path) -> None:
    deep: Any = 1
    for _ in range(archive.DEEPEST - 2):
        deep = [deep]
    fine = archive.write(tmp_path / "fine.iso", archive.Archive("map", deep, {}))
    assert archive.read(fine).content == deep
    with pytest.raises(IsothermError, match="flatten it"):
        archive.write(tmp_path / "file.iso", archive.Archive("map", [[[deep]]], {}))
    path = claiming(tmp_path / "file.iso", [[[deep]]], {})
    with pytest.raises(IsothermError, match="nested 202 deep"):
        isotherm.load(path)


@pytest.mark.parametrize(
    ("value", "values", "depth"),
    [
        (1, 1, 0),
        ([], 2, 1),
        ({"a": [1, {"b": None}]}, 7, 3),
        (["[[,,{", '"[', "\\", '\\"[', "ü[", "\\\\"], 7, 1),
        ({'",[': '",['}, 3, 1),
    ],
)
def test_values_are_counted_before_they_are_made(
    value: Any, values: int, depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = json.dumps(value).encode()
    for chunk in (4, 8, 12, 1 << 20):
        monkeypatch.setattr(archive, "CHUNK", chunk)
        assert archive.weighed(data) == (values, depth)
    assert archive.parsed(data, 10_000) == value
    with pytest.raises(ValueError, match="too many for its length"):
        archive.parsed(data, 128 * values)


def test_metadata_in_another_encoding_are_refused(tmp_path: Path) -> None:
    """Quotes and commas would be counted wrongly."""
    path = Counts(np.eye(2)).save(tmp_path / "file.iso")
    meta, parts = fuzz_files.parts_of(path.read_bytes())
    with zipfile.ZipFile(path, "w") as file:
        for name, data in parts.items():
            file.writestr(name, data)
        file.writestr("meta.json", json.dumps(meta).encode("utf-16"))
    with pytest.raises(IsothermError, match="utf-8"):
        isotherm.load(path)


def test_many_labels_can_be_written_and_read(tmp_path: Path) -> None:
    labels = ["a label that is always the same"] * 200_000
    path = archive.write(tmp_path / "file.iso", archive.Archive("map", labels, {}))
    assert archive.read(path).content == labels


def test_wide_text_that_could_not_be_read_is_not_written() -> None:
    wide = np.zeros(10_000, "<U1000")
    with pytest.raises(IsothermError, match="dtype=object"):
        codec.Writer(registry.known()).encode(wide, "it")
