"""The live server, over real connections: what it answers, and what it refuses."""

import json
import logging
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from isotherm import IsothermError
from isotherm.viewer.server.limits import Limits
from isotherm.viewer.server.server import application, local_server
from isotherm.viewer.server.serving import LocalServer
from viewer.live import (
    PARTS,
    Server,
    document,
    ended,
    found,
    read_answer,
    serving,
    site,
)

# Short waits, so that tests of slow clients are quick.
QUICK = Limits(head_seconds=0.4, body_seconds=0.4, stall_seconds=0.4)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


# What it answers ----------------------------------------------------------------------------------


def test_page_data_documents_and_searches(server: Server) -> None:
    page = server.ask("GET", "/")
    assert (page.status, page.body) == (200, site().page)
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    for name, content in PARTS.items():
        part = server.ask("GET", f"/data/{name}.bin")
        assert (part.status, part.body) == (200, content)
        assert part.headers["content-type"] == "application/octet-stream"
        assert "content-encoding" not in part.headers
    assert server.ask("GET", "/api/documents/4").json == document(4)
    assert server.search({"query": "sea ship", "n": 2}).json == found("sea ship", 2)
    assert len(server.search({"query": "sea"}).json["hits"]) == 3
    head = server.ask("HEAD", "/data/points.bin")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == str(len(PARTS["points"]))


def test_every_answer_has_the_headers_that_protect(server: Server) -> None:
    answers = {
        200: server.ask("GET", "/data/words.bin"),
        400: server.ask("GET", "/", host="evil.example"),
        403: server.ask("GET", "/", origin="http://evil.example"),
        404: server.ask("GET", "/nothing"),
        405: server.ask("DELETE", "/"),
        415: server.search({"query": "a"}, content_type="text/plain"),
    }
    for status, answer in answers.items():
        assert answer.status == status
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        policy = answer.headers["content-security-policy"]
        assert policy == "default-src 'none'; frame-ancestors 'none'"
        assert "access-control-allow-origin" not in answer.headers
        assert "server" not in answer.headers
        if status != 200:
            assert list(answer.json) == ["error"]
    page = server.ask("GET", "/").headers["content-security-policy"]
    assert page == f"{site().policy}; frame-ancestors 'none'"
    assert sorted(answers[405].headers["allow"].split(", ")) == ["GET", "HEAD"]


def test_what_a_client_has_is_not_sent_again(server: Server) -> None:
    first = server.ask("GET", "/data/points.bin")
    tag = first.headers["etag"]
    assert first.headers["cache-control"] == "no-cache"
    again = server.ask("GET", "/data/points.bin", if_none_match=f'"other", {tag}')
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    assert server.ask("GET", "/data/points.bin", if_none_match='"other"').status == 200
    assert server.ask("GET", "/data/documents.bin").headers["etag"] != tag
    assert server.search({"query": "a"}).headers["cache-control"] == "no-store"


# Who may ask --------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_names_of_this_computer(server: Server, host: str) -> None:
    assert server.ask("GET", "/", host=f"{host}:{server.port}").status == 200
    assert server.ask("GET", "/", host=host).status == 400
    assert server.ask("GET", "/", host=f"{host}:{server.port % 65535 + 1}").status == 400


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:{port}", "127.0.0.1.evil.example:{port}", "0.0.0.0:{port}"),
        *("127.0.0.1:{port}@evil.example", "evil@127.0.0.1:{port}", "localhost:{port}:80"),
        *("127.1:{port}", ""),
    ],
)
def test_other_names(server: Server, host: str) -> None:
    given = host.format(port=server.port)
    assert server.ask("GET", "/data/points.bin", host=given).status == 400
    assert server.search({"query": "a"}, host=given).status == 400


def test_no_name_and_two_names(server: Server) -> None:
    assert server.sent(b"GET / HTTP/1.0\r\n\r\n").status == 400
    line = f"Host: 127.0.0.1:{server.port}\r\n".encode()
    assert server.sent(b"GET / HTTP/1.1\r\n" + line + b"\r\n").status == 200
    assert server.sent(b"GET / HTTP/1.1\r\n" + line + b"Host: evil\r\n\r\n").status == 400
    target = b"GET http://evil.example/ HTTP/1.1\r\n"
    assert server.sent(target + line + b"\r\n").status == 404


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1"]
)
def test_pages_of_other_sites(server: Server, origin: str) -> None:
    given = origin.format(port=server.port)
    assert server.search({"query": "a"}, origin=given).status == 403
    assert server.ask("GET", "/api/documents/0", origin=given).status == 403


def test_the_page_itself_may_ask(server: Server) -> None:
    own = f"http://127.0.0.1:{server.port}"
    assert server.search({"query": "a"}, origin=own, sec_fetch_site="same-origin").status == 200


def test_where_the_browser_says_a_request_comes_from(server: Server) -> None:
    for site_ in ("cross-site", "same-site"):  # another port of this computer is the same site
        assert server.ask("GET", "/data/points.bin", sec_fetch_site=site_).status == 403
        assert server.ask("GET", "/", sec_fetch_site=site_, sec_fetch_dest="iframe").status == 403
        # A link to the page may be anywhere.
        assert server.ask("GET", "/", sec_fetch_site=site_, sec_fetch_dest="document").status == 200
        path, rest = "/api/documents/0", {"sec_fetch_site": site_, "sec_fetch_dest": "document"}
        assert server.ask("GET", path, **rest).status == 403
    assert server.ask("GET", "/data/points.bin", sec_fetch_site="none").status == 200


# What may be asked --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        *("/data/../x", "/data/..%2f..%2fetc%2fpasswd.bin", "/data/%2e%2e/x.bin", "//etc/passwd"),
        *("/data/points", "/data/.bin", "/data/points.bin/", "/data/POINTS.bin", "/data/"),
        *("/data/points%00.bin", "/etc/passwd", "/api/documents/", "/api/search/", "/index.html"),
        *("/%", "/data/..%5cx.bin"),
    ],
)
def test_no_path_opens_a_file(server: Server, path: str) -> None:
    answer = server.ask("GET", path)
    assert answer.status == 404
    assert "error" in answer.json


@pytest.mark.parametrize(
    "number", ["5", "-1", "+1", "1.0", "1e0", "0x1", "٣", "%D9%A3", "1%20", "9" * 5000, "1/..", "a"]
)
def test_documents_are_numbers_that_exist(server: Server, number: str) -> None:
    path = f"/api/documents/{number}"
    if not number.isascii():
        assert server.sent(f"GET {path} HTTP/1.1\r\n\r\n".encode()).status == 400
        return
    assert server.ask("GET", path).status == 404


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "JSON"),
        (b"{", "JSON"),
        (b"\xff\xfe", "JSON"),
        (b"[" * 60_000, "JSON"),
        (b'{"query": "a", "n": ' + b"9" * 5000 + b"}", "JSON"),
        (b"[]", "object"),
        (b"{}", "object"),
        (b'{"query": 3}', "object"),
        (b'{"query": null}', "object"),
        (b'{"query": "a", "n": 0}', "1 to 200"),
        (b'{"query": "a", "n": 201}', "1 to 200"),
        (b'{"query": "a", "n": 1000000000000}', "1 to 200"),
        (b'{"query": "a", "n": true}', "1 to 200"),
        (b'{"query": "a", "n": 3.0}', "1 to 200"),
        (b'{"query": "a", "n": NaN}', "1 to 200"),
        (b'{"query": "a", "n": null}', "1 to 200"),
    ],
)
def test_bad_questions(server: Server, body: bytes, says: str) -> None:
    answer = server.ask("POST", "/api/search", body)
    assert answer.status == 400
    assert says in answer.json["error"]


def test_texts_of_all_kinds(server: Server) -> None:
    for query in ("", "naïve 東京 😀", "<script>alert(1)</script>", "\x00", "x" * 60_000):
        assert server.search({"query": query}).json == found(query, 50)
    # Half of a pair is no text, but no reason to fail.
    half = server.ask("POST", "/api/search", b'{"query": "\\ud800 a"}')
    assert half.json["known"] == ["\ud800", "a"]


def test_large_bodies(server: Server) -> None:
    most = Limits().body
    frame = len(json.dumps({"query": ""}))
    assert server.search({"query": "x" * (most - frame)}).status == 200
    answer = server.search({"query": "x" * (most - frame + 1)})
    assert (answer.status, answer.headers["connection"]) == (413, "close")
    assert "65,536 bytes" in answer.json["error"]
    # One that is announced, however large, is not waited for.
    assert server.ask("POST", "/api/search", b"{}", content_length="10000000000").status == 413


def drip(connection: socket.socket, parts: Iterable[bytes], pause: float = 0.0) -> None:
    for part in parts:
        connection.sendall(part)
        time.sleep(pause)


def chunked(server: Server, connection: socket.socket) -> None:
    lines = ["POST /api/search HTTP/1.1", f"Host: 127.0.0.1:{server.port}"]
    lines += ["Content-Type: application/json", "Transfer-Encoding: chunked", "", ""]
    connection.sendall("\r\n".join(lines).encode())


def test_large_bodies_of_unknown_length(server: Server) -> None:
    with server.connected() as connection:
        chunked(server, connection)
        connection.sendall(b'f\r\n{"query": "sea"\r\n1\r\n}\r\n0\r\n\r\n')
        assert read_answer(connection).json == found("sea", 50)
    with server.connected() as connection:
        chunked(server, connection)
        piece = b"1000\r\n" + b"x" * 4096 + b"\r\n"
        connection.sendall(piece * 17 + b"0\r\n\r\n")
        assert read_answer(connection).status == 413
        assert ended(connection, 2)
    with server.connected() as connection:
        chunked(server, connection)
        left = iter([piece] * 100_000)  # 400 MB, of which 1 MB is read
        with pytest.raises(ConnectionError):
            drip(connection, left)
        assert len(list(left)) > 90_000  # the system may hold more


def test_broken_requests(server: Server) -> None:
    for raw in (
        b"nonsense\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
    ):
        with server.connected() as connection:
            connection.sendall(raw)
            assert connection.recv(100).startswith(b"HTTP/1.1 400 ")
    with server.connected() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nCookie: " + b"x" * 20_000)
        assert read_answer(connection).status == 400
    assert server.ask("GET", "/").status == 200


# Slow clients -------------------------------------------------------------------------------------


def test_heads_that_do_not_end() -> None:
    with serving(limits=QUICK) as server, server.connected() as silent:
        with server.connected() as connection:
            begin = time.monotonic()
            with pytest.raises(ConnectionError):
                drip(connection, [b"GET / HTTP/1.1\r\n", *[b"X-A: b\r\n"] * 100], 0.05)
            assert 0.3 < time.monotonic() - begin < 3
        assert ended(silent, 3)
        # The second request of a connection as well.
        with server.connected() as connection:
            line = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n".encode()
            connection.sendall(line + b"\r\n")
            assert read_answer(connection).status == 200
            connection.sendall(line)
            assert ended(connection, 3)


def test_bodies_that_do_not_come() -> None:
    with serving(limits=QUICK) as server, server.connected() as connection:
        chunked(server, connection)
        connection.sendall(b"5\r\n12345\r\n")
        begin = time.monotonic()
        answer = read_answer(connection)
        assert (answer.status, answer.headers["connection"]) == (408, "close")
        assert time.monotonic() - begin < 3
        assert ended(connection, 2)
        # Where nobody reads the body, the answer does not wait for it, and ends the connection.
        with server.connected() as other:
            lines = [
                "GET / HTTP/1.1",
                f"Host: 127.0.0.1:{server.port}",
                "Content-Length: 9",
                "",
                "",
            ]
            other.sendall("\r\n".join(lines).encode())
            assert read_answer(other).status == 200
            assert ended(other, 2)


def test_clients_that_do_not_read() -> None:
    big = bytes(64 << 20)
    parts = {**PARTS, "points": big}
    with serving(site(parts=parts), QUICK) as server, server.connected() as stalled:
        line = f"GET /data/points.bin HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n"
        stalled.sendall(line.encode())
        time.sleep(1.5)
        # The system has taken a part of it.
        assert len(read_answer(stalled).body) < len(big) // 2
        assert server.ask("GET", "/data/documents.bin").body == PARTS["documents"]


def test_a_connection_is_used_again(server: Server) -> None:
    lines = [
        f"GET /data/{name}.bin HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode()
        for name in PARTS
    ]
    with server.connected() as connection:
        for line, content in zip(lines, PARTS.values(), strict=True):
            connection.sendall(line)
            assert read_answer(connection).body == content
        # All at once, too.
        connection.sendall(b"".join(lines))
        raw, size = b"", sum(map(len, PARTS.values()))
        while raw.count(b"HTTP/1.1 200 OK") < len(PARTS) or len(raw) < size:
            raw += connection.recv(1 << 18)
        assert raw.count(b"HTTP/1.1 200 OK") == len(PARTS)


# Searches -----------------------------------------------------------------------------------------


def test_searches_are_bounded_and_remembered() -> None:
    gate, calls = threading.Event(), []

    def slow(query: str, n: int) -> dict[str, Any]:
        calls.append(query)
        gate.wait(10)
        return found(query, n)

    limits = Limits(searches=1, waiting=2)
    with serving(site(search=slow), limits) as server:
        answers: list[Any] = []
        threads = [
            threading.Thread(target=lambda q=q: answers.append(server.search({"query": q})))
            for q in ("a", "b")
        ]
        for thread in threads:
            thread.start()
        while not calls:
            time.sleep(0.01)
        time.sleep(0.2)
        refused = server.search({"query": "c"})
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        # Everything else is served meanwhile.
        assert server.ask("GET", "/api/documents/0").status == 200
        gate.set()
        for thread in threads:
            thread.join(10)
        assert [one.status for one in answers] == [200, 200]
        assert server.search({"query": "c"}).status == 200
        assert server.search({"query": "a"}).json == found("a", 50)
        assert server.search({"query": "a", "n": 1}).json == found("a", 1)
        assert sorted(calls) == ["a", "a", "b", "c"]


def test_few_bytes_of_answers_are_remembered() -> None:
    import asyncio

    from isotherm.viewer.server.searches import Searches

    calls = []

    def search(query: str, n: int) -> dict[str, Any]:
        calls.append(query)
        return {"x": "y" * 100}

    async def asked() -> Searches:
        searches = Searches(search, Limits(remembered=400))
        for query in ("a", "b", "c", "a", "d", "a", "c", "b"):
            await searches.answer(query, 1)
            assert searches.remembered <= 400
        searches.close()
        return searches

    # In a thread: where a browser is driven, this one has a loop of its own.
    with ThreadPoolExecutor(1) as thread:
        kept = thread.submit(lambda: asyncio.run(asked())).result()
    # Three fit; when d came, b had not been asked for the longest time.
    assert calls == ["a", "b", "c", "d", "b"]
    assert kept.remembered == 3 * (4 + 109)


def test_failures_are_told_without_their_traces(caplog: pytest.LogCaptureFixture) -> None:
    def fails(query: str, n: int) -> dict[str, Any]:
        if query == "known":
            raise IsothermError("give other words")
        raise ZeroDivisionError("secret")

    def broken(i: int) -> dict[str, Any]:
        raise OSError("/secret/path")

    with serving(site(search=fails, document=broken)) as server:
        answer = server.search({"query": "known"})
        assert (answer.status, answer.json) == (400, {"error": "give other words"})
        for answer in (server.search({"query": "a"}), server.ask("GET", "/api/documents/0")):
            assert answer.status == 500
            assert b"secret" not in answer.body
        assert server.ask("GET", "/").status == 200
    assert [one.getMessage() for one in caplog.records if one.levelname == "WARNING"] == [
        "a request to /api/search failed: ZeroDivisionError",
        "a request to /api/documents/0 failed: OSError",
    ]


def test_without_a_search() -> None:
    with serving(site(search=None)) as server:
        answer = server.search({"query": "a"})
        assert answer.status == 404
        assert "aspect model" in answer.json["error"]


# Where it listens ---------------------------------------------------------------------------------


def test_only_this_computer_is_served() -> None:
    local = local_server(application(site()))
    assert local.address.startswith("http://127.0.0.1:")
    taken = int(local.address.rpartition(":")[2].rstrip("/"))
    with pytest.raises(IsothermError, match=f"port {taken} of 127.0.0.1 cannot be had"):
        local_server(application(site()), taken)
    with pytest.raises(IsothermError, match="port 70000"):
        local_server(application(site()), 70000)
    local.close()
    again = local_server(application(site()), taken)
    assert again.address == local.address
    again.stop()
    thread = threading.Thread(target=again.run)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "starlette.routing", None)
    monkeypatch.setitem(sys.modules, "isotherm.viewer.server.serving", None)
    with pytest.raises(IsothermError, match=r"isotherm\[serve\]"):
        application(site())
    with pytest.raises(IsothermError, match=r"isotherm\[serve\]"):
        local_server(None)  # type: ignore[arg-type]


def test_browsers_that_leave_are_not_reported(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    server = LocalServer(_nothing_to_serve)
    log = logging.getLogger("asyncio")

    def departing(sockets: Any) -> None:
        log.warning("socket.send() raised exception.")
        log.warning("something else")

    monkeypatch.setattr(server._server, "run", departing)
    server.run()
    assert caplog.messages == ["something else"]
    log.warning("socket.send() raised exception.")
    assert len(caplog.messages) == 2


async def _nothing_to_serve(scope: Any, receive: Any, send: Any) -> None:
    """An application that is never called."""
