"""A live server in a thread, and raw connections to it."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from isotherm.viewer.server.limits import Limits
from isotherm.viewer.server.server import Site, application, local_server


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        assert self.headers["content-type"] == "application/json"
        return json.loads(self.body)


def found(query: str, n: int) -> dict[str, Any]:
    """A search of the tests: says what it was asked."""
    hits = [{"document": i, "score": 1.0} for i in range(min(n, 3))]
    return {"known": query.split(), "unknown": [], "hits": hits, "topics": []}


def document(i: int) -> dict[str, Any]:
    return {"index": i, "title": f"document {i}", "text": "<img src=x onerror=alert(1)>"}


# The last is sent in pieces without a rest.
PARTS = {
    **{"points": bytes(range(256)) * 2000, "documents": b"d" * 10},
    **{"words": b"", "even": bytes(range(256)) * 512},
}


def site(**changes: Any) -> Site:
    policy = "default-src 'none'; connect-src 'self'"
    plain = Site(b"<!doctype html>page", policy, PARTS, 5, document, found)
    return plain._replace(**changes)


class Server(NamedTuple):
    port: int

    @contextmanager
    def connected(self, timeout: float = 10.0) -> Iterator[socket.socket]:
        with socket.create_connection(("127.0.0.1", self.port), timeout) as connection:
            yield connection

    def sent(self, raw: bytes) -> Answer:
        """Answer to bytes that are sent at once."""
        with self.connected() as connection:
            connection.sendall(raw)
            return read_answer(connection, head_only=raw.startswith(b"HEAD"))

    def ask(
        self, method: str, path: str, body: bytes | None = None, **headers: str | None
    ) -> Answer:
        """Answer to a request; headers are given with _ for -, None leaves one out."""
        given: dict[str, str | None] = {"host": f"127.0.0.1:{self.port}"}
        if body is not None:
            given |= {"content-type": "application/json", "content-length": str(len(body))}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"{method} {path} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in given.items() if value is not None]
        return self.sent("\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b""))

    def search(self, question: Any, **headers: str | None) -> Answer:
        return self.ask("POST", "/api/search", json.dumps(question).encode(), **headers)


def read_answer(connection: socket.socket, head_only: bool = False) -> Answer:
    """One answer; an end of the connection is an answer of status 0."""
    raw = b""
    while b"\r\n\r\n" not in raw:
        part = connection.recv(65536)
        if not part:
            return Answer(0, {}, raw)
        raw += part
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in lines}
    status = int(first.split()[1])
    none = head_only or status == 304
    size = 0 if none else int(headers.get("content-length", 1 << 40))  # else to the end
    content = bytearray(body)
    while len(content) < size:
        part = connection.recv(1 << 18)
        if not part:
            break
        content += part
    return Answer(status, headers, bytes(content))


def ended(connection: socket.socket, within: float) -> bool:
    """Whether the other side closes the connection in time."""
    connection.settimeout(within)
    try:
        while connection.recv(65536):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


@contextmanager
def serving(given: Site | None = None, limits: Limits | None = None) -> Iterator[Server]:
    """A server while the block lasts."""
    app = application(given or site(), limits)
    local = local_server(app, 0, limits)
    thread = threading.Thread(target=local.run)
    thread.start()
    try:
        yield Server(int(local.address.rpartition(":")[2].rstrip("/")))
    finally:
        local.stop()
        begin = time.monotonic()
        thread.join(10)
        assert not thread.is_alive(), f"no end after {time.monotonic() - begin:.1f} s"
