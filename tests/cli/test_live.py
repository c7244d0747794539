"""The live page of a run: edits are kept with the run, and the page shows them."""

import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn")

from isotherm import cli, load
from isotherm.cli import live, parser, runs
from isotherm.cli.live import ELSEWHERE, LiveRun
from isotherm.cli.verbs import view
from isotherm.viewer.container import unpack
from isotherm.viewer.server.edits import Change, Changed
from isotherm.viewer.server.server import Site


@pytest.fixture(scope="module")
def fitted(stories: Path) -> Path:
    """A run of four topics with its maps."""
    run = stories.with_name("for-the-page.run")
    words = ["fit", str(stories), "--topics", "4", "-o", str(run), "--labels", "kind", "--json"]
    assert cli.main(words) == 0
    page = str(stories.with_name("for-the-page.html"))
    assert cli.main(["map", str(run), "-o", page, "--json"]) == 0
    return run


@pytest.fixture
def run(fitted: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(fitted, tmp_path / "a.run"))


def opened(run: Path) -> LiveRun:
    options = parser.parsed("view", view.add_arguments, [str(run)])
    return LiveRun(runs.open_run(run), options)


def told(site: Site) -> dict[str, Any]:
    """What the page is told."""
    return dict(unpack(site.parts["points"]).meta)


def asked(of: LiveRun, kind: str, *topics: int, **more: Any) -> Changed:
    state = told(of.site())["editing"]["state"]
    given = {"name": "", "into": 2, "state": state, **more}
    return of.change(Change(kind, topics, **given))


def changed(of: LiveRun, kind: str, *topics: int, **more: Any) -> dict[str, Any]:
    """What the page is told after an edit."""
    found = asked(of, kind, *topics, **more)
    assert (found.status, found.said.get("error")) == (200, None)
    assert found.site is not None
    return told(found.site)


def test_the_page_is_told_what_it_may_do(run: Path) -> None:
    meta = told(opened(run).site())
    editing = meta["editing"]
    assert editing["kinds"] == ["rename", "merge", "split", "drop", "pin", "undo"]
    assert (editing["pinned"], editing["last"]) == ([], None)
    assert told(opened(run).site())["editing"]["token"] != editing["token"]
    assert len(editing["token"]) > 40


def test_edits_are_kept_with_the_run_and_shown(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = opened(run)
    maps: list[int] = []
    real = live.maps_of
    monkeypatch.setattr(live, "maps_of", lambda *given: maps.append(1) or real(*given))
    meta = changed(page, "rename", 1, name=" The\tsea ")
    assert meta["topics"][1]["name"] == "The sea"
    assert load(run / runs.MODEL).names_[1] == "The sea"
    assert meta["editing"]["last"].endswith("to 1 (The sea)")
    meta = changed(page, "pin", 3)
    assert meta["editing"]["pinned"] == [3]
    assert maps == []  # the topics are the same
    meta = changed(page, "merge", 1, 0)
    assert meta["topics"][0]["name"] == "The sea"
    assert (meta["n_topics"], len(meta["topics"]), maps) == (3, 3, [1])
    assert changed(page, "split", 0)["n_topics"] == 4
    assert changed(page, "drop", 0)["n_topics"] == 3
    assert len(load(run / runs.MODEL).edits_) == 5
    maps.clear()
    assert changed(page, "undo")["n_topics"] == 4
    assert maps == []  # it was shown a moment ago
    for _ in range(4):
        meta = changed(page, "undo")
    assert meta["editing"]["last"] is None
    assert meta["topics"][1]["name"] != "The sea"
    assert runs.read(run).about["edits"] == 0


def test_searches_are_those_of_the_edited_topics(run: Path) -> None:
    page = opened(run)
    site = asked(page, "merge", 0, 1).site
    assert site is not None
    assert site.search is not None
    hits = site.search("ship harbour", 5)["hits"]
    assert isinstance(hits, list)
    assert all(k < 3 for hit in hits for k, _ in hit["topics"])
    topics: Any = site.document(0)["topics"]
    assert {k for k, _ in topics} <= {0, 1, 2}


def test_refusals_leave_the_run_alone(run: Path) -> None:
    page = opened(run)
    before = (run / runs.MODEL).read_bytes()
    for kind, topics, message in (
        ("drop", (9,), "there is no topic 9"),
        ("drop", (-1,), "there is no topic -1"),
        ("merge", (1,), "merge of 1 topics; it is of 2"),
        ("undo", (1,), "undo of 1 topics; it is of 0"),
        ("undo", (), "has no edits"),
        ("merge", (0, 1, 2, 3), "a page needs two topics at least"),
        ("rename", (0,), "it must be text of 1 to 80 letters"),
    ):
        with pytest.raises(ValueError, match=message):
            asked(page, kind, *topics)
    with runs.holding(run), pytest.raises(ValueError, match="another process is at work"):
        asked(page, "pin", 0)
    assert (run / runs.MODEL).read_bytes() == before


def test_topics_that_were_edited_elsewhere(run: Path) -> None:
    page = opened(run)
    state = told(page.site())["editing"]["state"]
    # By the command line: numbers of the page may be those of other topics by now.
    assert cli.main(["edit", str(run), "merge", "0", "1", "--json"]) == 0
    late = asked(page, "drop", 3, state=state)
    assert (late.status, late.said) == (409, {"error": ELSEWHERE})
    assert late.site is not None
    assert told(late.site)["n_topics"] == 3  # what a reload shows
    # By another window.
    changed(page, "rename", 0, name="first")
    late = asked(page, "drop", 0, state=told(late.site)["editing"]["state"])
    assert (late.status, late.site) == (409, None)
    assert len(load(run / runs.MODEL).edits_) == 2


def test_a_full_disk_and_a_page_that_cannot_be_made(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = opened(run)

    def full(*given: Any, **options: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("isotherm.format.archive._write_array", full)
        found = asked(page, "merge", 0, 1)
    assert (found.status, found.site) == (500, None)
    assert found.said["error"] == "it was not kept: No space left on device"
    assert load(run / runs.MODEL).edits_ == ()
    with monkeypatch.context() as patch:
        patch.setattr(live, "maps_of", full)
        found = asked(page, "merge", 0, 1)
    assert "it was kept, but this page cannot show it" in str(found.said["error"])
    assert len(load(run / runs.MODEL).edits_) == 1


def test_models_that_take_names_alone(stories: Path, tmp_path: Path) -> None:
    run = tmp_path / "two.run"
    words = ["fit", str(stories), "--model", "two-sided", "--topics", "2", "-o", str(run)]
    assert cli.main([*words, "--json"]) == 0
    assert told(opened(run).site())["editing"]["kinds"] == ["rename", "undo"]


def test_a_file_has_no_edits(run: Path, tmp_path: Path) -> None:
    import base64
    import re

    page = tmp_path / "page.html"
    assert cli.main(["view", str(run), "-o", str(page), "--no-open", "--json"]) == 0
    (points,) = re.findall(r'data-part="points">([^<]*)<', page.read_text(encoding="utf-8"))
    assert unpack(base64.b64decode(points)).meta["editing"] is None
