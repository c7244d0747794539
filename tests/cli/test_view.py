"""The verbs that show a run: map and view, and what they keep in its folder."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isotherm import CorpusMap, cli, load
from isotherm.cli import explorer, runs
from isotherm.cli.documents import Documents
from isotherm.cli.verbs import view
from isotherm.viewer.container import unpack
from isotherm.viewer.parts.points import around


@pytest.fixture(scope="module")
def two_sided(stories: Path) -> Path:
    run = stories.with_name("two-sided.run")
    words = ["fit", str(stories), "--model", "two-sided", "--topics", "2", "-o", str(run)]
    assert cli.main([*words, "--json"]) == 0
    return run


@pytest.fixture(scope="module")
def four(stories: Path) -> Path:
    """A run of four topics, which fill three dimensions."""
    run = stories.with_name("four-topics.run")
    words = ["fit", str(stories), "--topics", "4", "-o", str(run), "--labels", "kind", "--json"]
    assert cli.main(words) == 0
    return run


@pytest.fixture
def copied(grown: Path, tmp_path: Path) -> Path:
    """A run of its own, without maps."""
    run = tmp_path / "copied.run"
    shutil.copytree(grown, run, ignore=shutil.ignore_patterns("map*"))
    return run


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a browser was to open; there is none."""
    found: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda url: found.append(url) or False)
    return found


def parts_of(page: Path) -> dict[str, Any]:
    """Parts of a page, by name."""
    import base64

    blocks = re.findall(r'data-part="(\w+)">([^<]*)<', page.read_text(encoding="utf-8"))
    return {name: unpack(base64.b64decode(text)) for name, text in blocks}


# map ----------------------------------------------------------------------------------------------


def test_maps_as_picture_and_file(grown: Path, tmp_path: Path, say: Any, fails: Any) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "m.map"
    found = say("map", grown, "-o", out, "--json")
    assert (found["documents"], found["nodes"]) == (60, [20, 20])
    corpus_map = CorpusMap.load(out)
    assert corpus_map.names[0] == "sea story 0"
    assert corpus_map.labels == ("sea", "money", "sport") * 20
    assert corpus_map.texts is not None
    assert corpus_map.texts[0].startswith("The ")
    assert "--force" in fails("map", grown, "-o", out)
    other = tmp_path / "titles.map"
    say("map", grown, "-o", other, "--labels", "title")
    assert CorpusMap.load(other).labels == corpus_map.names
    assert np.array_equal(CorpusMap.load(other).coordinates, corpus_map.coordinates)
    for name, begin in (("m.svg", b"<?xml"), ("m.PNG", b"\x89PNG")):
        assert say("map", grown, "-o", tmp_path / name).startswith(f"{tmp_path / name}: 60 docu")
        assert (tmp_path / name).read_bytes().startswith(begin)
    assert "ends in '.doc'" in fails("map", grown, "-o", tmp_path / "m.doc")
    assert "no field 'year'" in fails("map", grown, "-o", tmp_path / "n.svg", "--labels", "year")


@pytest.mark.parametrize("option", ["-o", "--html"])
def test_maps_as_a_page(option: str, four: Path, tmp_path: Path, say: Any, fails: Any) -> None:
    page = tmp_path / "m.html"
    said = say("map", four, option, page)
    assert "60 documents, 8 x 8 x 8 and 20 x 20 nodes" in said
    parts = parts_of(page)
    assert list(parts) == ["points", "documents", "words", "texts", "index"]
    meta = parts["points"].meta
    assert [one["dimensions"] for one in meta["maps"]] == [3, 2]
    assert (meta["n_documents"], meta["live"]) == (60, False)
    assert (meta["title"], meta["subtitle"]) == ("four-topics", "stories.jsonl")
    # Titles are one for each, and no column to colour by.
    assert [one["name"] for one in meta["columns"]] == ["kind"]
    assert parts["documents"].strings["titles"][4] == "money story 4"
    low, high = around((20, 20))
    places = low + parts["points"].arrays["map1.places"] / 65534 * (high - low)
    assert np.allclose(places, kept_map(four, 2).coordinates, atol=1e-4)
    assert "--force" in fails("map", four, option, page)
    say("map", four, option, page, "--dimensions", "2", "--labels", "title", "--force")
    meta = parts_of(page)["points"].meta
    assert [one["dimensions"] for one in meta["maps"]] == [2]
    assert [one["name"] for one in meta["columns"]] == ["title", "kind"]


# What is kept -------------------------------------------------------------------------------------


def kept_map(run: Path, dimensions: int) -> CorpusMap:
    (path,) = run.glob(f"map{dimensions}.*.map")
    return CorpusMap.load(path)


def test_maps_are_made_once(
    copied: Path, tmp_path: Path, say: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "m.map"
    say("map", copied, "-o", out)
    first = kept_map(copied, 2).coordinates
    assert sorted(path.suffix for path in copied.glob("map*")) == [".gtm", ".map"]
    made: list[int] = []
    real = explorer._make
    monkeypatch.setattr(explorer, "_make", lambda *given: made.append(given[1]) or real(*given))
    say("map", copied, "-o", out, "--force")
    assert made == []
    assert np.array_equal(CorpusMap.load(out).coordinates, first)
    # Other seeds are made each time, and do not replace what is kept.
    say("map", copied, "-o", out, "--force", "--seed", "3")
    assert made == [2]
    assert np.array_equal(kept_map(copied, 2).coordinates, first)
    # A file that cannot be read is made anew, and so is a map of another model.
    (path,) = copied.glob("map2.*.map")
    path.write_bytes(b"nonsense")
    say("map", copied, "-o", out, "--force")
    assert made == [2, 2]
    assert np.array_equal(kept_map(copied, 2).coordinates, first)
    load(copied / runs.MODEL).rename(0, "another name").save(copied / runs.MODEL)
    say("map", copied, "-o", out, "--force")
    assert made == [2, 2]  # the topics are the same
    load(copied / runs.MODEL).merge([0, 1]).save(copied / runs.MODEL)
    say("map", copied, "-o", out, "--force")
    assert made == [2, 2, 2]
    (again,) = copied.glob("map2.*.map")
    assert again.name != path.name
    assert len(list(copied.glob("map2.*"))) == 2


def test_maps_of_a_run_that_may_not_be_written_to(
    copied: Path, tmp_path: Path, say: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Any, path: Path) -> Path:
        raise PermissionError(13, "Permission denied", str(path))

    from isotherm import GTM

    monkeypatch.setattr(GTM, "save", refuse)
    say("map", copied, "--html", tmp_path / "m.html")
    assert "the map is not kept: Permission denied" in say.err
    assert list(copied.glob("map*")) == []


def test_stages_of_a_fit_with_a_given_number_of_topics(
    stories: Path, grown: Path, tmp_path: Path, say: Any
) -> None:
    run = tmp_path / "three.run"
    say("fit", stories, "--topics", "3", "-o", run, "--json")
    stages = load(run / explorer.STAGES)
    assert stages.kept
    assert load(run / "model.iso").engine is None  # what watched is no part of it
    assert not (grown / explorer.STAGES).exists()
    assert explorer.stages_of(runs.open_run(grown)) is None
    page = tmp_path / "three.html"
    say("map", run, "--html", page, "--dimensions", "2")
    temperatures = [one["temperature"] for one in parts_of(page)["points"].meta["stages"]]
    assert temperatures == sorted(temperatures, reverse=True)


# Columns ------------------------------------------------------------------------------------------


def test_fields_that_are_columns() -> None:
    days = [f"20{i % 30:02d}-01-{i % 28 + 1:02d}" for i in range(60)]
    fields = {
        "url": [f"a{i}" for i in range(60)],
        "year": [str(1900 + i) for i in range(60)],
        "grade": [str(i % 3) for i in range(60)],
        "length": [i / 2 for i in range(59)] + [float("nan")],
        "same": ["x"] * 60,
        "day": days,
        "wrong day": [*days[:-1], "2020-02-30"],
        "kind": ["", *["a", "b"] * 29, None],
        "tags": [["t", str(i % 2)] for i in range(60)],
    }
    rows = [dict(zip(fields, values, strict=True)) for values in zip(*fields.values(), strict=True)]
    del rows[7]["grade"]
    docs = Documents(("",) * 60, ("",) * 60, tuple(rows), None)
    found = explorer.columns_of(docs, None)
    assert list(found) == ["year", "grade", "length", "day", "kind", "tags"]
    assert found["year"] == [1900.0 + i for i in range(60)]
    assert found["grade"][6:9] == ["0", None, "2"]
    assert found["day"].dtype == "datetime64[D]"
    assert str(found["day"][1]) == "2001-01-02"
    assert (found["kind"][0], found["kind"][1], found["kind"][59]) == (None, "a", None)
    assert found["tags"][0] == "['t', '0']"
    # The one that was asked for comes first, whatever it is.
    assert list(explorer.columns_of(docs, "url"))[:2] == ["url", "year"]
    assert explorer.columns_of(Documents(("a",), ("a",), ({},), None), None) == {}


# view ---------------------------------------------------------------------------------------------


def test_view_writes_a_file(grown: Path, tmp_path: Path, say: Any, fails: Any, opened: Any) -> None:
    page = tmp_path / "page.html"
    page.write_text("old")
    assert say("view", grown, "--no-open", "-o", page, "--force") == f"{page}\n"
    assert parts_of(page)["points"].meta["n_documents"] == 60
    assert opened == []
    assert say("view", grown, "-o", page, "--json") == {"page": str(page), "opened": False}
    assert opened == [page.resolve().as_uri()]
    assert "no browser could be started" in say.err
    assert "ends in '.png'" in fails("view", grown, "-o", tmp_path / "page.png")


def test_view_without_what_serves(
    grown: Path, say: Any, opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    beside = grown.with_name("stories.html")
    assert say("view", grown, "--json") == {"page": str(beside), "opened": False}
    assert say.err.splitlines()[0] == (
        "isotherm: note: a live page needs pip install 'isotherm[serve]'; "
        f"this one is the file {beside}"
    )
    assert opened == [beside.resolve().as_uri()]


def ask(address: str, question: Any = None) -> Any:
    body = None if question is None else json.dumps(question).encode()
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.loads(answer.read())


def test_view_serves_what_the_other_verbs_tell(grown: Path, say: Any, opened: Any) -> None:
    pytest.importorskip("uvicorn")
    found = runs.open_run(grown)
    server = view._server(namespace(grown), found)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        query = "The ship in the harbour zeppelin"
        live = ask(f"{server.address}api/search", {"query": query, "n": 5})
        told = say("search", grown, query, "-n", "5", "--json")
        assert [found.documents.ids[hit["document"]] for hit in live["hits"]] == [
            one["id"] for one in told["documents"]
        ]
        assert [hit["score"] for hit in live["hits"]] == [one["score"] for one in told["documents"]]
        assert dict(live["hits"][0]["words"]) == told["documents"][0]["words"]
        assert live["hits"][0]["through_topics"] == told["documents"][0]["through_topics"]
        assert (live["known"], live["unknown"]) == (["ship", "harbour"], ["zeppelin"])
        sea = int(np.argmax(load(grown / "model.iso").components_[:, found.words.index("ship")]))
        assert live["topics"][0][0] == sea
        assert live["topics"][0][1] > 0.9
        nothing = {
            **{"known": [], "unknown": ["zeppelin"], "stopped": []},
            **{"hits": [], "topics": []},
        }
        assert ask(f"{server.address}api/search", {"query": "zeppelin"}) == nothing
        document = ask(f"{server.address}api/documents/4")
        assert (document["id"], document["title"]) == ("d4", "money story 4")
        assert document["text"] == found.documents.texts[4]
        assert document["fields"] == {"title": "money story 4", "kind": "money"}
        with urllib.request.urlopen(f"{server.address}data/points.bin", timeout=10) as answer:
            meta = unpack(answer.read()).meta
        assert meta["live"]
        assert meta["parts"] == ["points", "documents", "words"]
    finally:
        server.stop()
        thread.join(10)


def namespace(run: Path) -> Any:
    from isotherm.cli import parser

    return parser.parsed("view", view.add_arguments, [str(run)])


def test_view_of_a_model_that_cannot_be_searched(two_sided: Path) -> None:
    pytest.importorskip("uvicorn")
    found = runs.open_run(two_sided)
    page = explorer.explorer_of(found, explorer.maps_of(found, namespace(two_sided)))
    assert explorer.site_of(found, page).search is None
    # Two topics have no third dimension.
    assert [one["dimensions"] for one in page.points.meta["maps"]] == [2]


def test_view_until_it_is_interrupted(grown: Path) -> None:
    pytest.importorskip("uvicorn")
    words = [sys.executable, "-m", "isotherm", "view", str(grown), "--no-open", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        try:
            told = json.loads(run.stdout.readline())
            assert told["opened"] is False
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", told["address"])
            assert ask(f"{told['address']}api/documents/0")["id"] == "d0"
            os.kill(run.pid, signal.SIGINT)
            assert run.wait(30) == 0
            assert run.stderr.read() == ""
        finally:
            run.kill()


def test_view_at_a_port_that_is_taken(grown: Path, fails: Any) -> None:
    import socket

    pytest.importorskip("uvicorn")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert f"port {port} of 127.0.0.1" in fails("view", grown, "--no-open", "--port", str(port))
    assert "'-1' is no integer" in fails("view", grown, "--port=-1", status=2)


@pytest.mark.parametrize("model", ["pcp", "ttmm"])
def test_clusters_over_topics_are_not_drawn(
    model: str, stories: Path, tmp_path: Path, say: Any, fails: Any
) -> None:
    run = tmp_path / "a.run"
    say("fit", stories, "--model", model, "--topics", "2", "--clusters", "3", "-o", run)
    assert load(run / "model.iso").n_clusters == 3
    assert "have clusters" in fails("view", run, "--no-open")
    assert "have clusters" in fails("map", run, "-o", tmp_path / "m.map")
    assert [path.name for path in tmp_path.iterdir()] == ["a.run"]


def test_a_single_topic_makes_no_map(stories: Path, tmp_path: Path, say: Any, fails: Any) -> None:
    run = tmp_path / "one.run"
    say("fit", stories, "--topics", "1", "-o", run, "--json")
    assert "single topic" in fails("view", run, "--no-open")
