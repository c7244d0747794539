"""The live explorer of a run in a real browser: data, search and documents from the server."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn")

from isotherm import cli
from isotherm.cli import parser, runs
from isotherm.cli.verbs import view
from support.cli import write_stories

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of stories, the first of which would like to be code."""
    folder = tmp_path_factory.mktemp("live")
    source = write_stories(folder / "stories.jsonl")
    first, *rest = source.read_text().splitlines()
    changed = {**json.loads(first), "title": HOSTILE, "kind": HOSTILE}
    source.write_text("\n".join([json.dumps(changed), *rest]))
    found = folder / "stories.run"
    words = ["fit", str(source), "--topics", "4", "--labels", "kind", "-o", str(found), "--json"]
    assert cli.main(words) == 0
    return found


@pytest.fixture(scope="module")
def address(run: Path) -> Iterator[str]:
    options = parser.parsed("view", view.add_arguments, [str(run)])
    server = view._server(options, runs.open_run(run))
    thread = threading.Thread(target=server.run)
    thread.start()
    yield server.address
    server.stop()
    thread.join(10)


@pytest.fixture(scope="module")
def page(open_page: Any, address: str) -> Any:
    """The page, which had nothing to complain about."""
    found = open_page(address)
    found.wait_for_selector("body[data-complete], body[data-error]")
    assert found.evaluate("() => document.body.dataset.error") is None
    return found


def test_page_comes_with_its_data(page: Any) -> None:
    assert page.evaluate("() => isotherm.source.live")
    meta = page.evaluate("() => isotherm.data.meta")
    assert (meta["n_documents"], meta["n_topics"]) == (60, 4)
    assert [one["dimensions"] for one in meta["maps"]] == [3, 2]
    assert page.problems == []


def test_search_finds_what_the_command_finds(
    page: Any, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert cli.main(["search", str(run), "ship harbour storm", "-n", "50", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["documents"]
    found = page.evaluate("() => isotherm.source.search('ship harbour storm', 50)")
    ids = runs.open_run(run).documents.ids
    assert [ids[hit["document"]] for hit in found["hits"]] == [one["id"] for one in told]
    assert [hit["score"] for hit in found["hits"]] == [one["score"] for one in told]
    # What is typed is what is lit in the map.
    page.evaluate("() => isotherm.store.set({ tab: 'search' })")
    page.locator("#query").fill("ship harbour storm")
    page.locator("#query").press("Enter")
    lit = "() => [...(isotherm.store.state.matches?.documents ?? [])].slice(0, 50)"
    for _ in range(200):
        if page.evaluate(lit):
            break
        page.wait_for_timeout(25)
    assert page.evaluate(lit) == [hit["document"] for hit in found["hits"]]
    assert page.problems == []


def test_documents_are_fetched_and_stay_text(page: Any) -> None:
    found = page.evaluate("() => isotherm.source.document(0)")
    assert (found["id"], found["title"], found["whole"]) == ("d0", HOSTILE, True)
    assert found["text"].startswith("The ")
    page.evaluate("() => isotherm.store.set({ document: 0, tab: 'document' })")
    page.get_by_text(HOSTILE).locator("visible=true").first.wait_for()
    said = "() => document.body.innerText.replace(/\\s+/g, ' ')"
    for _ in range(200):
        if found["text"] in page.evaluate(said):
            break
        page.wait_for_timeout(25)
    assert found["text"] in page.evaluate(said)
    assert page.evaluate("() => document.querySelectorAll('img').length") == 0
    assert page.problems == []


def test_errors_of_the_server_are_told(page: Any) -> None:
    said = page.evaluate("() => isotherm.source.document(60).catch((error) => error.message)")
    assert said == "there is no such document; documents are numbered 0 to 59"
    page.problems.clear()  # the browser lists every 404


def test_topics_are_edited_from_the_page(open_page: Any, run: Path, tmp_path: Path) -> None:
    """By keyboard alone; what was edited is in the run, and the page shows it."""
    import shutil

    own = Path(shutil.copytree(run, tmp_path / "own.run"))
    options = parser.parsed("view", view.add_arguments, [str(own)])
    server = view._server(options, runs.open_run(own))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        page = open_page(server.address)
        page.wait_for_selector("body[data-complete]")
        page.locator(".topics-all .list").focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.locator("#edit-name").fill(HOSTILE)
        _until_new(page, lambda: page.keyboard.press("Enter"))
        topic = page.evaluate("() => isotherm.store.state.topic")
        assert page.locator(".topic-title h2").inner_text() == HOSTILE
        assert runs.open_run(own).model.names_[topic] == HOSTILE
        assert page.evaluate("() => document.querySelectorAll('img').length") == 0
        # A name that is taken: what is wrong is said, and the keyboard stays where it was.
        other = runs.open_run(own).model.names_[(topic + 1) % 4]
        page.locator("#edit-name").fill(other)
        page.keyboard.press("Enter")
        page.locator(".edit-message").wait_for()
        assert f"is called '{other}'" in page.locator(".edit-message").inner_text()
        assert page.evaluate("() => document.activeElement.id") == "edit-name"
        page.problems.clear()  # the browser lists every 400
        page.get_by_role("button", name="Merge", exact=True).focus()
        _until_new(page, lambda: page.keyboard.press("Enter"))
        assert page.evaluate("() => isotherm.data.topics.length") == 3
        assert len(runs.open_run(own).model.weights_) == 3
        page.get_by_role("button", name="Undo", exact=True).focus()
        _until_new(page, lambda: page.keyboard.press("Enter"))
        assert page.evaluate("() => isotherm.data.topics.length") == 4
        assert [one.what for one in runs.open_run(own).model.edits_] == ["rename"]
        assert page.problems == []
    finally:
        server.stop()
        thread.join(10)


def _until_new(page: Any, act: Any) -> None:
    """Does something, and waits for the page that comes of it."""
    page.evaluate("() => (document.body.dataset.old = '')")
    act()
    page.wait_for_selector("body[data-complete]:not([data-old])")


def test_no_other_page_can_ask(open_page: Any, address: str) -> None:
    """A page of another origin, even one of this computer, learns nothing."""
    other = open_page("about:blank")
    ask = (
        "([url, options]) => fetch(url, options)"
        ".then((answer) => answer.text(), (error) => error.name)"
    )
    assert other.evaluate(ask, [f"{address}api/documents/0", {}]) == "TypeError"
    plain = {"method": "POST", "mode": "no-cors", "body": '{"query": "ship"}'}
    assert other.evaluate(ask, [f"{address}api/search", plain]) in ("", "TypeError")
    for mode in ("cors", "no-cors"):
        edit = {**plain, "mode": mode, "body": '{"kind": "undo"}'}
        assert other.evaluate(ask, [f"{address}api/edit", edit]) in ("", "TypeError")
    frame = (
        "(url) => new Promise((done) => { const f = document.createElement('iframe');"
        " f.onload = () => { try { done(f.contentWindow.document.title) }"
        " catch (error) { done(error.name) } }; f.src = url; document.body.append(f); })"
    )
    assert other.evaluate(frame, address) == "SecurityError"
    assert all("data-ready" not in one.content() for one in other.frames[1:])
    other.problems.clear()
