"""Thousands of altered files of every kind: each is refused with the one exception, or works.

    python tests/fuzz_files.py --files 5000 --seed 0

Whole files are made, altered (bytes flipped, cut off, parts swapped, values replaced with checksums
made right again, sizes that are crafted), loaded and used, in processes of their own: one that dies
is a failure, as is any other exception, more than half a minute of processor time, and memory
beyond four times what a file of that length may take (`isotherm.format.archive.allowance`).
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import io
import json
import pickle
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import isotherm
from isotherm import (
    CorpusMap,
    Counts,
    Engine,
    IsothermError,
    SearchIndex,
    Stages,
    StoredCounts,
    TimeLimit,
)
from isotherm.data import _stored_check
from isotherm.format import archive
from isotherm.io import checkpoint
from support.estimators import ESTIMATORS, V, X, data_of

SECONDS = 30
ROOM = 6 << 30  # what a process may take at all
WAYS = ("flip", "cut", "insert", "swap", "leaf", "leaf", "leaf", "array", "array", "craft")
NAMES = [f"word{j}" for j in range(X.shape[1])]


class Stop(BaseException):
    """What ends a fit whose checkpoint is wanted."""


class Stopping(isotherm.Callback):
    """Ends a fit after some sweeps."""

    def __init__(self, n: int) -> None:
        self.n = n

    def on_sweep(self, temperature: float, sweep: int, free_energy: float) -> None:
        self.n -= 1
        if not self.n:
            raise Stop


# Whole files -------------------------------------------------------------------------------------


def estimator_of(name: str) -> Any:
    return copy.deepcopy(ESTIMATORS[name]).set_params(random_state=0, max_iter=8, n_jobs=1)


def whole_files(folder: Path, names: Any = tuple(ESTIMATORS)) -> dict[str, Path]:
    """Files of every kind in a folder, by what they hold."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        counts = Counts(X, [f"row{i}" for i in range(len(X))], NAMES)
        found["counts"] = counts.save(folder / "counts")
        for name in names:
            model = estimator_of(name)
            fitted = model.fit(data_of(model) if data_of(model) is V else counts)
            found[f"fit {name}"] = fitted.save(folder / f"fit-{len(found)}")
        found["not fitted"] = (
            ESTIMATORS["aspect, given settings"]
            .__class__(
                3, schedule=isotherm.Exponential(0.8), start=isotherm.Noisy(0.1), random_state=0
            )
            .save(folder / "new")
        )
        stages = Stages()
        aspect = isotherm.AspectModel(
            3, random_state=0, max_iter=8, n_jobs=1, engine=Engine(callbacks=[stages])
        )
        aspect.fit(counts)
        found["stages"] = isotherm.save(stages, folder / "stages")
        found["index"] = SearchIndex.of(aspect.set_params(engine__callbacks=()), counts).save(
            folder / "idx"
        )
        gtm = isotherm.GTM(n_nodes=5, n_basis=3, n_init=1, random_state=0, max_iter=8)
        mapped = isotherm.map_corpus(counts, topics=aspect, gtm=gtm, labels=["a"] * len(X))
        found["mapped"] = isotherm.save(mapped, folder / "mapped")
        found["map"] = mapped.map.save(folder / "map")
        for name in ("aspect", "clusters that grew", "map"):
            if name in names:
                path = folder / f"run-{len(found)}.ckpt"
                try:
                    with isotherm.checkpointing(path, every=0.0):
                        resumed(name).set_params(engine__callbacks=[Stopping(6)]).fit(
                            data_of(resumed(name))
                        )
                except Stop:
                    pass
                found[f"checkpoint {name}"] = path
        found["stored"] = StoredCounts.write(folder / "stored", counts).folder
    return found


def resumed(name: str) -> Any:
    return estimator_of(name).set_params(engine__callbacks=())


# Alterations -------------------------------------------------------------------------------------

# Valid JSON that is not what was written.
ODD: list[Any] = [
    *(None, True, False, 0, -1, 2, 1.5, -0.5, 1e308, 10**30, "", "text", "float32", "exact"),
    *([], [1], [[]], {}, {"a": 1}, {"$": "tuple", "items": []}, {"$": "dict", "items": {}}),
    {"$": "tuple", "items": [1, 2]},
    *({"$": "float", "value": one} for one in ("nan", "inf", "-inf")),
    {"$": "array", "name": "a0"},
    {"$": "scalar", "dtype": "<f4", "value": -3},
    {"$": "enum", "type": "Outcome", "name": "STOPPED"},
    {"$": "object", "type": "model.Aspect", "fields": {"n_components": 3, "temper_prior": False}},
    {"$": "object", "type": "Fixed", "fields": {"temperature": -1.0}},
    {"$": "object", "type": "Tree", "fields": {"parents": 3, "leaves": [], "temperatures": []}},
]
TYPES = (
    *("Tree", "Aspect", "model.AspectLeaveOneOut", "model.Cluster", "model.LTM", "AspectParams"),
    *("ClusterParams", "PcpParams", "OneSidedClustering", "AspectModel", "Record", "State"),
)


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield way
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*way, key))


def any_place(value: Any, rng: np.random.Generator) -> tuple[Any, ...]:
    """A place; of those that differ by numbers alone, as records of a trace, as often as of one."""
    alike: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for way in places(value):
        alike.setdefault(tuple(0 if type(k) is int else k for k in way), []).append(way)
    some = [*alike.values()][int(rng.integers(len(alike)))]
    return some[int(rng.integers(len(some)))]


def at(value: Any, way: tuple[Any, ...]) -> Any:
    for key in way:
        value = value[key]
    return value


def replaced(value: Any, way: tuple[Any, ...], new: Any) -> Any:
    if not way:
        return new
    other = dict(value) if isinstance(value, dict) else list(value)
    other[way[0]] = replaced(value[way[0]], way[1:], new)
    return other


def odd_json(old: Any, rng: np.random.Generator) -> Any:
    """Another value in place of this one."""
    choices = list(ODD)
    if type(old) in (int, float):
        choices += [old + 1, -old, old * 1000, old / 2, old - 1, float(old)] * 3
    elif isinstance(old, str):
        choices += [*TYPES, old.upper(), old[:-1], *NAMES[:2]]
    elif isinstance(old, list) and old:
        choices += [old[1:], old[::-1], old * 2, old[:1], [None] * len(old)] * 3
    elif isinstance(old, dict) and old:
        gone = list(old)[int(rng.integers(len(old)))]
        choices += [{k: v for k, v in old.items() if k != gone}, {**old, "more_": 1}] * 6
    return choices[int(rng.integers(len(choices)))]


def odd_array(old: Any, rng: np.random.Generator) -> Any:
    """Another array in place of this one."""
    flat = old.ravel()
    choices: list[Callable[[], Any]] = [
        lambda: old[:-1] if old.ndim else old.reshape(1),
        lambda: np.concatenate([flat, flat]),
        lambda: flat[:0],
        lambda: flat.reshape(-1, 1),
        lambda: old.T.copy(),
        lambda: old[..., None],
        lambda: -old if old.dtype.kind != "b" else old,
        lambda: old * 0,
        lambda: np.array(3.0),
        *(lambda t=t: old.astype(t) for t in ("<f4", "<i8", "|b1", ">f8", "<i2", "|u1", "<f2")),
    ]
    values = (np.nan, np.inf, -1, 2, 1e30, 2**31 - 1, -(2**31))
    choices += [lambda value=value: one_changed(old, value, rng) for value in values]
    with np.errstate(all="ignore"):
        return np.asarray(choices[int(rng.integers(len(choices)))]())


def one_changed(old: Any, value: Any, rng: np.random.Generator) -> Any:
    new = old.copy()
    if new.size:
        kind = np.iinfo(old.dtype) if old.dtype.kind in "iu" else None
        if kind is not None:
            value = max(kind.min, min(kind.max, int(np.nan_to_num(value))))
        new.reshape(-1)[int(rng.integers(new.size))] = value
    return new


def npy(array: Any) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(array), allow_pickle=False)
    return out.getvalue()


def parts_of(data: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    return json.loads(parts.pop("meta.json")), parts


def packed(meta: Any, parts: dict[str, bytes], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    """The file with all checksums made right."""
    described = meta.get("arrays") if isinstance(meta, dict) else None
    for name in described if isinstance(described, dict) else ():
        said, data = meta["arrays"][name], parts.get(f"arrays/{name}.npy")
        if data is not None and isinstance(said, dict):
            said["sha256"] = hashlib.sha256(data).hexdigest()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", how) as file:
        for name, data in parts.items():
            file.writestr(name, data)
        file.writestr("meta.json", json.dumps(meta))
    return out.getvalue()


def altered(data: bytes, rng: np.random.Generator, way: str) -> bytes:
    """One altered form of a file."""
    cut = int(rng.integers(len(data)))
    if way == "flip":
        changed = bytearray(data)
        for _ in range(int(rng.integers(1, 4))):
            changed[int(rng.integers(len(data)))] ^= int(rng.integers(1, 256))
        return bytes(changed)
    if way == "cut":
        return data[:cut] if rng.random() < 0.5 else data[cut:]
    if way == "insert":
        return data[:cut] + rng.bytes(int(rng.integers(1, 40))) + data[cut:]
    meta, parts = parts_of(data)
    names = [*parts]
    if way == "swap" and names:
        one, two = (names[int(rng.integers(len(names)))] for _ in range(2))
        parts[one], parts[two] = parts[two], parts[one]
        if rng.random() < 0.3:
            parts.pop(one)
        elif rng.random() < 0.5:
            for name in (one, two):
                short, array = name[7:-4], np.load(io.BytesIO(parts[name]))
                said = {"dtype": array.dtype.str, "shape": list(array.shape)}
                meta["arrays"][short] = {**meta["arrays"][short], **said}
        return packed(meta, parts)
    if way == "array" and names:
        name = names[int(rng.integers(len(names)))]
        array = odd_array(np.load(io.BytesIO(parts[name])), rng)
        parts[name] = npy(array)
        said = {"dtype": array.dtype.str, "shape": list(array.shape)}
        meta["arrays"][name[7:-4]] = {**meta["arrays"][name[7:-4]], **said}
        return packed(meta, parts)
    if way == "craft":
        return crafted(meta, parts, rng)
    place = any_place(meta, rng) if rng.random() < 0.1 else ("content",)
    if place == ("content",):
        place = (*place, *any_place(meta["content"], rng))
    return packed(replaced(meta, place, odd_json(at(meta, place), rng)), parts)


def crafted(meta: Any, parts: dict[str, bytes], rng: np.random.Generator) -> bytes:
    """A small file that claims much: text of zero length, nested lists, references, sizes."""
    n = int(10 ** rng.uniform(3, 6))

    def array(name: str, value: Any) -> dict[str, Any]:
        parts[f"arrays/{name}.npy"] = npy(value)
        meta["arrays"][name] = {"dtype": value.dtype.str, "shape": list(value.shape)}
        return {"$": "array", "name": name}

    text = {
        "$": "strings",
        "bytes": array("x0", np.zeros(0, np.uint8)),
        "offsets": array("x1", np.zeros(n + 1, np.int64)),
        "shape": [n],
        "dtype": ["<U1024", "O"][int(rng.integers(2))],
    }
    deep: Any = []
    for _ in range(min(n, 900)):
        deep = [deep]
    ones = np.ones(1000)
    table = {"$": "csr", "shape": [1000, 1], "data": array("x2", ones)}
    table["indices"] = array("x3", np.zeros(1000, np.int32))
    table["indptr"] = array("x4", np.arange(1001, dtype=np.int32))
    short = {**text, "offsets": array("x5", np.zeros(1001, np.int64)), "shape": [1000]}
    forms: list[Any] = [text, [[]] * n, deep, [table] * (n // 20), [short] * (n // 20), [{}] * n]
    forms += [["x"] * n, [text] * 50, [table["data"]] * (n // 10), [[[]] * 100] * (n // 100)]
    form = forms[int(rng.integers(len(forms)))]
    ways = [("content", *one) for one in places(meta["content"])]
    place = ways[int(rng.integers(len(ways)))]
    data = bytearray(packed(replaced(meta, place, form), parts))
    if rng.random() < 0.2:  # and lies about the length of its first member
        data[22:26] = int(rng.integers(2**31)).to_bytes(4, "little")
        where = data.find(b"PK\x01\x02")
        data[where + 24 : where + 28] = data[22:26]
    return bytes(data)


def alter_folder(whole: Path, to: Path, rng: np.random.Generator) -> None:
    """An altered copy of a folder of stored counts, with checksums made right again or not."""
    shutil.copytree(whole, to)
    files = sorted(one for one in to.iterdir() if one.is_file())
    path = files[int(rng.integers(len(files)))]
    data, way = path.read_bytes(), int(rng.integers(4))
    if way == 0:
        path.write_bytes(altered(data, rng, ["flip", "cut", "insert"][int(rng.integers(3))]))
    elif way == 1:
        path.unlink()
    elif path.suffix == ".npy":
        path.write_bytes(npy(odd_array(np.load(path), rng)))
    else:
        value = json.loads(data)
        ways = list(places(value))
        place = ways[int(rng.integers(len(ways)))]
        path.write_text(json.dumps(replaced(value, place, odd_json(at(value, place), rng))))
    about = to / "counts.json"
    if way == 3 and path != about and path.exists():
        said, sums = json.loads(about.read_text()), _stored_check.Sums()
        data = path.read_bytes()
        sums.add(data[_stored_check.HEADER :] if path.suffix == ".npy" else data)
        said["crc32"][path.name] = sums.sums
        about.write_text(json.dumps(said))


# Use ---------------------------------------------------------------------------------------------


def attempts(name: str, path: Path) -> Iterator[Callable[[], Any]]:
    """What is done with a file: loading it, then whatever the thing that it holds can do."""
    held: list[Any] = []
    if name.startswith("checkpoint "):
        yield lambda: held.append(checkpoint.File(path, 1e9))
        yield lambda: resume(name.removeprefix("checkpoint "), path)
        return
    load = StoredCounts if name == "stored" else isotherm.load
    yield lambda: held.append(load(path))
    if not held:
        return
    thing = held[0]
    if isinstance(thing, Counts | StoredCounts):
        yield lambda: [thing.total, thing.row_totals, thing.column_totals, repr(thing), len(thing)]
        yield lambda: [thing.row_names, thing.column_names]
        yield lambda: isotherm.AspectModel(2, max_iter=2, random_state=0, n_jobs=1).fit(thing)
        if isinstance(thing, StoredCounts):
            yield thing.load
    elif isinstance(thing, SearchIndex):
        yield lambda: thing.query("word1 word2")
        yield lambda: thing.rank(X[:3])
        yield lambda: [thing.add(X[:2]), repr(thing), len(thing)]
    elif isinstance(thing, Stages):
        yield lambda: [stage.model.components(stage.params) for stage in thing.kept if stage.params]
        yield lambda: thing.on_begin()
    elif isinstance(thing, CorpusMap):
        yield lambda: [repr(thing), thing.empty, thing.topics_cooling.trace]
        yield lambda: isotherm.Explorer.of(thing)
    elif hasattr(thing, "map"):
        yield lambda: thing.place(X[:3])
        yield lambda: repr(thing.map)
        for estimator in (thing.topics, thing.gtm):
            yield from estimator_attempts(estimator, V[:, :3])
    else:
        yield from estimator_attempts(thing, V)


def estimator_attempts(model: Any, vectors: Any) -> Iterator[Callable[[], Any]]:
    data = vectors if type(model).__name__ == "GTM" else X
    if not any(name.endswith("_") for name in vars(model)):
        try:
            model.set_params(engine__callbacks=[TimeLimit(1.0)])
        except IsothermError:
            return
        n = model.n_components
        if not isinstance(n, int) or n < 50:  # a fit with many more takes its time
            yield lambda: model.fit(data)
        return
    yield lambda: repr(model)
    yield lambda: model.transform(data[:5])
    yield lambda: model.score(data[:5])
    for name in ("perplexity", "predict", "project", "score_samples", "responsibilities"):
        if hasattr(model, name):
            yield lambda name=name: getattr(model, name)(data[:5])
    for name in ("top_words", "describe", "magnification", "node_words", "to_json", "to_newick"):
        if hasattr(model, name):
            yield lambda name=name: getattr(model, name)()
    for name in ("top_rows", "top_columns", "sample", "get_feature_names_out"):
        if hasattr(model, name):
            yield lambda name=name: getattr(model, name)()
    for name in ("cut", "path", "get_indices", "word_spread"):
        if hasattr(model, name):
            given = (2, X) if name == "cut" else (1,)
            yield lambda name=name, given=given: getattr(model, name)(*given)
    yield lambda: [model.trace_[-1].temperature, model.outcome_]


def resume(name: str, path: Path) -> None:
    with isotherm.checkpointing(path, every=1e9):
        resumed(name).set_params(engine__callbacks=[TimeLimit(2.0)]).fit(data_of(resumed(name)))


def peak(reset: bool = False) -> int:
    """Most memory of this process since the last reset, in bytes."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    what = "VmRSS" if reset else "VmHWM"
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(what))


def too_slow(*_: Any) -> None:
    raise Stop


def examine(name: str, path: Path) -> list[str]:
    """What went wrong, if anything: where exceptions came from, memory, time."""
    found = []
    # Of the processor: what else a machine does is no failure.
    signal.signal(signal.SIGPROF, too_slow)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    size = path.stat().st_size if path.is_file() else sum(f.stat().st_size for f in path.iterdir())
    try:
        for number, attempt in enumerate(attempts(name, path)):
            before = peak(reset=True)
            try:
                attempt()
            except IsothermError as error:
                if not number and str(path) not in str(error):
                    found.append(f"{name}: {error} does not name the file")
            except Exception as error:
                last = traceback.extract_tb(error.__traceback__)
                mine = [one for one in last if "isotherm/" in one.filename] or last
                where = f"{Path(mine[-1].filename).name}:{mine[-1].lineno} {mine[-1].name}"
                what = "loading" if not number else "use"
                found.append(f"{name}: {what}: {type(error).__name__}: {error} ({where})"[:300])
            if not number and peak() - before > 4 * archive.allowance(size):
                found.append(f"{name}: {(peak() - before) >> 20} MB for a file of {size} bytes")
    except Stop:
        found.append(f"{name}: more than {SECONDS} seconds")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return found


# Processes ---------------------------------------------------------------------------------------


def one_of_many(seed: int, number: int, wholes: dict[str, Path], folder: Path) -> tuple[str, Path]:
    """An altered file, always the same for its seed and number."""
    rng = np.random.default_rng([seed, number])
    name = [*wholes][number % len(wholes)]
    path = folder / "file"
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    shutil.rmtree(folder / "file.rows", ignore_errors=True)
    if name == "stored":
        alter_folder(wholes[name], path, rng)
    else:
        way = WAYS[int(rng.integers(len(WAYS)))]
        path.write_bytes(altered(wholes[name].read_bytes(), rng, way))
    return name, path


def work(seed: int, first: int, last: int, wholes: dict[str, Path]) -> None:
    """Examine some files, and say of each that it begins and what was wrong."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
    with tempfile.TemporaryDirectory() as folder:
        for number in range(first, last):
            name, path = one_of_many(seed, number, wholes, Path(folder))
            print(json.dumps([number, "begin"]), flush=True)
            print(json.dumps([number, examine(name, path)]), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first file")
    parser.add_argument("--whole", type=Path, help="folder of whole files, made if it is missing")
    parser.add_argument("--work", nargs=2, type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        wholes = pickle.loads((given.whole / "wholes.pickle").read_bytes())
        work(given.seed, *given.work, wholes)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        whole = given.whole or Path(folder)
        if not (whole / "wholes.pickle").exists():
            whole.mkdir(exist_ok=True)
            (whole / "wholes.pickle").write_bytes(pickle.dumps(whole_files(whole)))
        return report(given.seed, given.first, given.first + given.files, whole)


def report(seed: int, first: int, last: int, whole: Path) -> int:
    """Run processes until all files were examined; 1 if anything was wrong."""
    wrong: Counter[str] = Counter()
    examples: dict[str, int] = {}
    at = first
    while at < last:
        command = [sys.executable, __file__, "--seed", str(seed), "--whole", str(whole)]
        end = min(at + 500, last)
        done = subprocess.run(
            [*command, "--work", str(at), str(end)], capture_output=True, text=True, check=False
        )
        said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
        if not said:
            sys.exit(f"no file was examined:\n{done.stderr[-2000:]}")
        for number, found in said:
            for one in found if isinstance(found, list) else ():
                wrong[one] += 1
                examples.setdefault(one, number)
                print(f"file {number}: {one}", flush=True)
        at = end
        if done.returncode:
            number = said[-1][0]
            wrong[f"process died ({done.returncode}): {done.stderr[-300:]}"] += 1
            examples.setdefault([*wrong][-1], number)
            at = number + 1
        print(f"{at - first} files, {sum(wrong.values())} failures", flush=True)
    for one, n in wrong.most_common():
        print(f"{n:5d}  (file {examples[one]})  {one}")
    print(f"{last - first} altered files of seed {seed}: {sum(wrong.values())} failures")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
