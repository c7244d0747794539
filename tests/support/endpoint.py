"""A service on this computer that answers as chat completions do, as a test says."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any, NamedTuple


class Reply(NamedTuple):
    """Status, content (as JSON unless it is bytes) and headers of an answer."""

    status: int = 200
    content: object = b""
    headers: Mapping[str, str] = MappingProxyType({})


class Request(NamedTuple):
    """What came: path, headers by their names in small letters, and body."""

    path: str
    headers: dict[str, str]
    body: Any


def chat(text: object) -> Reply:
    """The answer of a service that has something to say."""
    return Reply(content={"choices": [{"message": {"role": "assistant", "content": text}}]})


@dataclass
class Service:
    """A service: its address, what it was asked, and what it answers."""

    url: str
    answer: Callable[[Request], Reply] = lambda request: chat("A Name")
    requests: list[Request] = field(default_factory=list)

    def says(self, *replies: Reply | str) -> None:
        """Answer with one after the other, and with the last from then on."""
        left = [one if isinstance(one, Reply) else chat(one) for one in replies]
        self.answer = lambda request: left.pop(0) if len(left) > 1 else left[0]


@contextmanager
def serving() -> Iterator[Service]:
    """A service that runs as long as the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(self.path, headers, body)
            service.requests.append(request)
            status, content, more = service.answer(request)
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(data)), **more}.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(data)
            except ConnectionError:  # who asked has heard enough
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service = Service(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
