"""Damaged runs and files of all kinds: a result, or one line that says what is wrong."""

import gzip
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isotherm import Counts, IsothermError, cli, load
from isotherm.cli import documents
from isotherm.evaluate import evaluate_topics

ODD: list[Any] = [None, True, -1, 1.5, 10**30, "", "text", [], [1], {}, {"a": 1}]
MUTATIONS = 30


def mutations(seed: bytes, rng: np.random.Generator) -> Iterator[bytes]:
    """Cut off, flipped, with a part missing or twice, and foreign forms of a file."""
    yield from (b"", b"{}", b"[]", b"null", b"\x1f\x8b", b"PK\x03\x04", seed[::-1])
    for _ in range(MUTATIONS // 3):
        at, to = sorted(int(i) for i in rng.integers(0, len(seed) + 1, 2))
        flipped = bytearray(seed)
        flipped[int(rng.integers(len(seed)))] ^= int(rng.integers(1, 256))
        yield from (seed[:at], bytes(flipped), seed[:at] + seed[to:])


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield way
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*way, key))


def changed(value: Any, way: tuple[Any, ...], new: Any) -> Any:
    """The value with another in a place, or without that place."""
    if not way:
        return new
    other = dict(value) if isinstance(value, dict) else list(value)
    if len(way) == 1 and new is changed:
        del other[way[0]]
    else:
        other[way[0]] = changed(value[way[0]], way[1:], new)
    return other


def odd_json(seed: bytes) -> Iterator[bytes]:
    """JSON that is valid, with every place replaced by odd values, or missing."""
    value = json.loads(seed)
    for way in places(value):
        for odd in (*ODD, *([changed] if way else [])):
            yield json.dumps(changed(value, way, odd)).encode()


def tried(words: list[Any], capsys: pytest.CaptureFixture[str]) -> int:
    """Status of a command; an exception fails the test, and so do two lines of error."""
    status = cli.main([str(word) for word in words])
    said = capsys.readouterr().err
    assert status in (0, 1, 130)  # the last: a run that says it was interrupted
    assert sum("error: " in line for line in said.splitlines()) == (status == 1)
    assert "Traceback" not in said
    return int(status == 1)


@pytest.fixture
def run(grown: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(grown, tmp_path / "a.run"))


VERBS: dict[str, list[list[str]]] = {
    "model.iso": [["topics"], ["info"]],
    "counts.iso": [["search", "ship"], ["info"]],
    "documents.jsonl.gz": [["search", "ship"], ["eval"]],
    "run.json": [["topics"], ["search", "ship"], ["info"]],
}


@pytest.mark.parametrize("name", VERBS)
def test_damaged_files_of_a_run(name: str, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seed, before = (run / name).read_bytes(), sorted(path.name for path in run.iterdir())
    rng = np.random.default_rng(list(name.encode()))
    failed = 0
    for bad in mutations(seed, rng):
        (run / name).write_bytes(bad)
        for verb, *more in VERBS[name]:
            failed += tried([verb, run, *more], capsys)
    assert failed > MUTATIONS
    assert sorted(path.name for path in run.iterdir()) == before


def test_odd_descriptions_of_a_run(
    run: Path, stories: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = (run / "run.json").read_bytes()
    failed = 0
    for number, bad in enumerate(odd_json(seed)):
        (run / "run.json").write_bytes(bad)
        failed += tried(["topics", run], capsys)
        if number % 5 == 0:
            failed += tried(["fit", stories, "-o", run, "--resume", "--json"], capsys)
    assert failed > 100


def test_odd_lines_of_documents(run: Path) -> None:
    path, counts = run / "documents.jsonl.gz", Counts.load(run / "counts.iso")
    head, first, *rest = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    failed = 0
    for line, bad in ((i, bad) for i in (0, 1) for bad in odd_json((head, first)[i])):
        lines = [head, first, *rest]
        lines[line] = bad + b"\n"
        path.write_bytes(gzip.compress(b"".join(lines), 1))
        try:
            found = documents.read(path, counts)
        except IsothermError:
            failed += 1
        else:
            assert all(isinstance(title, str) for title in found.titles)
    assert failed > 40


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("qrels", b"q0 0 d0 1\nq0 0 d1 0\nq1 0 d2 1\n"),
        ("queries.jsonl", b'{"id": "q0", "text": "ship"}\n{"id": "q1", "text": "money"}\n'),
        ("config.toml", b'[eval]\nwords = 5\nlabels = "kind"\nweights = "tf"\n'),
    ],
)
def test_damaged_files_of_eval(
    name: str, seed: bytes, grown: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    model, counts = load(grown / "model.iso"), Counts.load(grown / "counts.iso")
    report = evaluate_topics(model, counts)
    monkeypatch.setattr("isotherm.evaluate.summary.evaluate_topics", lambda *given, **more: report)
    good = {
        "qrels": b"q0 0 d0 1\n",
        "queries.jsonl": b'{"id": "q0", "text": "ship"}\n',
        "config.toml": b"",
    }
    for one, text in good.items():
        (tmp_path / one).write_bytes(text)
    paths = {one: tmp_path / one for one in good}
    words = ["eval", grown, "--queries", paths["queries.jsonl"], "--qrels", paths["qrels"]]
    failed = 0
    for bad in mutations(seed, np.random.default_rng(list(name.encode()))):
        paths[name].write_bytes(bad)
        try:
            failed += tried([*words, "--config", paths["config.toml"]], capsys)
        except SystemExit:  # a value that the command line does not take either
            assert "error: " in capsys.readouterr().err
            failed += 1
    assert failed > 5
