"""Edits over real connections: who may ask for one, and what becomes of the site."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from isotherm import IsothermError
from isotherm.viewer.server.edits import KINDS, Change, Changed, Editing, new_token
from isotherm.viewer.server.limits import Limits
from isotherm.viewer.server.server import Site
from viewer.live import PARTS, Answer, Server, found, serving, site

TOKEN = "the-token-of-the-page"
MERGE = {"kind": "merge", "topics": [3, 1], "state": "s1"}


class Editor:
    """Remembers what it was asked for; each edit makes a site with another page."""

    def __init__(self) -> None:
        self.asked: list[Change] = []
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.go_on.set()

    def site(self) -> Site:
        number = len(self.asked)

        def search(query: str, n: int) -> dict[str, Any]:
            return {**found(query, n), "edits": number}

        return site(
            page=f"<!doctype html>page {number}".encode(),
            parts={**PARTS, "points": bytes([number])},
            search=search,
            editing=Editing(TOKEN, self.change),
        )

    def change(self, change: Change) -> Changed:
        self.begun.set()
        assert self.go_on.wait(10)
        if change.name == "refuse":
            raise IsothermError("topic 3 is called so")
        if change.name == "fail":
            raise RuntimeError("a secret of the server")
        if change.state == "old":
            return Changed(None, {"error": "reload"}, 409)
        self.asked.append(change)
        return Changed(self.site(), {"done": change.kind})


@pytest.fixture
def editor() -> Editor:
    return Editor()


@pytest.fixture
def server(editor: Editor) -> Iterator[Server]:
    with serving(editor.site()) as running:
        yield running


def ask(server: Server, change: Any, **headers: str | None) -> Answer:
    body = change if isinstance(change, bytes) else json.dumps(change).encode()
    return server.ask("POST", "/api/edit", body, **{"x_isotherm_token": TOKEN, **headers})


# What is answered ---------------------------------------------------------------------------------


def test_an_edit_puts_another_site_in_place(server: Server, editor: Editor) -> None:
    first = server.ask("GET", "/data/points.bin")
    assert server.search({"query": "a"}).json["edits"] == 0
    answer = ask(server, MERGE)
    assert (answer.status, answer.json) == (200, {"done": "merge"})
    assert answer.headers["cache-control"] == "no-store"
    assert editor.asked == [Change("merge", (3, 1), "", 2, "s1")]
    # Nothing of before is served or remembered.
    assert server.ask("GET", "/").body == b"<!doctype html>page 1"
    again = server.ask("GET", "/data/points.bin", if_none_match=first.headers["etag"])
    assert (again.status, again.body) == (200, b"\x01")
    assert server.search({"query": "a"}).json["edits"] == 1
    own = f"http://127.0.0.1:{server.port}"
    whole = {"kind": "rename", "topics": [0], "name": "Schiffe", "into": 3, "state": "s1"}
    assert ask(server, whole, origin=own, sec_fetch_site="same-origin").status == 200
    assert editor.asked[1:] == [Change("rename", (0,), "Schiffe", 3, "s1")]


def test_refusals_are_told_and_change_nothing(server: Server, editor: Editor) -> None:
    refused = ask(server, {**MERGE, "name": "refuse"})
    assert (refused.status, refused.json) == (400, {"error": "topic 3 is called so"})
    late = ask(server, {**MERGE, "state": "old"})
    assert (late.status, late.json) == (409, {"error": "reload"})
    failed = ask(server, {**MERGE, "name": "fail"})
    assert failed.status == 500
    assert "secret" not in failed.body.decode()
    assert server.ask("GET", "/").body == b"<!doctype html>page 0"
    assert ask(server, MERGE).status == 200  # the next one is served


def test_one_edit_at_a_time_while_others_are_served(server: Server, editor: Editor) -> None:
    editor.go_on.clear()
    answers: list[Answer] = []
    first = threading.Thread(target=lambda: answers.append(ask(server, MERGE)))
    first.start()
    try:
        assert editor.begun.wait(10)
        second = ask(server, MERGE)
        assert (second.status, second.json["error"]) == (
            409,
            "another edit is under way; wait until it is done",
        )
        assert server.ask("GET", "/").body == b"<!doctype html>page 0"
        assert server.search({"query": "a"}).json["edits"] == 0
    finally:
        editor.go_on.set()
        first.join(10)
    assert [answer.status for answer in answers] == [200]
    assert len(editor.asked) == 1


def test_a_search_that_was_under_way_is_not_remembered(editor: Editor) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(query: str, n: int) -> dict[str, Any]:
        begun.set()
        assert go_on.wait(10)
        return {**found(query, n), "edits": 0}

    with serving(editor.site()._replace(search=slow)) as server:
        answers: list[Answer] = []
        asking = threading.Thread(target=lambda: answers.append(server.search({"query": "a"})))
        asking.start()
        assert begun.wait(10)
        assert ask(server, MERGE).status == 200
        go_on.set()
        asking.join(10)
        assert answers[0].json["edits"] == 0
        assert server.search({"query": "a"}).json["edits"] == 1


# Who may ask --------------------------------------------------------------------------------------


@pytest.mark.parametrize("token", [None, "", "x", TOKEN[:-1], TOKEN + "x", "other", "é"])
def test_no_edit_without_the_token_of_the_page(
    token: str | None, server: Server, editor: Editor
) -> None:
    answer = ask(server, MERGE, x_isotherm_token=token)
    assert answer.status == 403
    assert "reload it" in answer.json["error"]
    assert TOKEN not in answer.body.decode()
    assert editor.asked == []


def test_two_tokens_are_none(server: Server, editor: Editor) -> None:
    body = json.dumps(MERGE).encode()
    head = (
        f"POST /api/edit HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        f"X-Isotherm-Token: {TOKEN}\r\nX-Isotherm-Token: x\r\n\r\n"
    )
    assert server.sent(head.encode() + body).status == 403
    assert editor.asked == []


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "127.0.0.1:1"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"content_type": "text/plain"},
        {"content_type": "application/x-www-form-urlencoded"},
        {"content_type": "multipart/form-data"},
        {"content_type": None},
    ],
)
def test_pages_of_other_sites_and_forms_edit_nothing(
    headers: dict[str, str | None], server: Server, editor: Editor
) -> None:
    answer = ask(server, MERGE, **headers)
    assert answer.status in (400, 403, 415)
    assert list(answer.json) == ["error"]
    assert editor.asked == []


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_no_other_method_edits(method: str, server: Server, editor: Editor) -> None:
    headers = {"x_isotherm_token": TOKEN}
    query = "/api/edit?kind=undo"
    for path in ("/api/edit", query):
        assert server.ask(method, path, **headers).status == 405
    assert server.ask("GET", "/?kind=undo", **headers).status == 200
    assert editor.asked == []


def test_a_site_that_is_looked_at_only_has_no_edits() -> None:
    with serving() as server:
        answer = ask(server, MERGE)
        assert (answer.status, answer.json) == (404, {"error": "there is nothing to edit here"})


# What may be asked --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "JSON"),
        (b"{", "JSON"),
        (b"\xff", "JSON"),
        (b"[" * 60_000, "JSON"),
        (b"[]", "object"),
        ({**MERGE, "path": "/etc/passwd"}, "object"),
        ({}, "one of rename, merge"),
        ({"kind": "fit"}, "one of rename, merge"),
        ({"kind": ["undo"]}, "one of rename, merge"),
        ({**MERGE, "topics": 3}, "integers"),
        ({**MERGE, "topics": ["3"]}, "integers"),
        ({**MERGE, "topics": [True]}, "integers"),
        ({**MERGE, "topics": [1.0]}, "integers"),
        ({**MERGE, "topics": [0] * 1001}, "integers"),
        ({**MERGE, "name": None}, "letters"),
        ({**MERGE, "name": "x" * 1001}, "letters"),
        ({**MERGE, "into": 1}, "2 to 100"),
        ({**MERGE, "into": 101}, "2 to 100"),
        ({**MERGE, "into": "2"}, "2 to 100"),
        ({**MERGE, "state": 1}, '"state" must be text of'),
    ],
)
def test_what_is_no_edit(body: Any, says: str, server: Server, editor: Editor) -> None:
    answer = ask(server, body)
    assert answer.status == 400
    assert says in answer.json["error"]
    assert editor.asked == []


def test_bodies_have_limits(editor: Editor) -> None:
    with serving(editor.site(), Limits(body=1000, body_seconds=0.4)) as server:
        assert ask(server, {**MERGE, "name": "x" * 1000}).status == 413
        head = (
            f"POST /api/edit HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            f"Content-Type: application/json\r\nX-Isotherm-Token: {TOKEN}\r\n"
            "Content-Length: 10\r\n\r\n"
        )
        assert server.sent(head.encode()).status == 408
    assert editor.asked == []


def test_tokens_cannot_be_guessed() -> None:
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert min(map(len, tokens)) >= 43
    assert KINDS == ("rename", "merge", "split", "drop", "pin", "undo")
