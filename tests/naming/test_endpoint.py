"""What is sent to a service, what is taken from it, and what is said when it does not answer."""

import socket
import ssl
import threading
import time
import urllib.error
from collections.abc import Iterator
from typing import Any

import pytest

from isotherm import IsothermError, IsothermWarning
from isotherm.naming import Endpoint
from isotherm.naming import endpoint as module
from support.endpoint import Reply, Service, chat, serving

ASKED = [{"role": "user", "content": "Ein Name für “Schiffe”?"}]
KEY = "sk-not-a-real-key-0123456789"


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("SOME_KEY", f" {KEY}\n")
    return "SOME_KEY"


def quick(url: str, **settings: Any) -> Endpoint:
    """An endpoint that does not wait between tries."""
    return Endpoint(url, sleep=lambda seconds: None, **settings)


def fails(endpoint: Endpoint) -> IsothermError:
    with pytest.raises(IsothermError) as caught:
        endpoint.complete(ASKED)
    assert KEY not in str(caught.value)
    return caught.value


# What is sent -------------------------------------------------------------------------------------


def test_messages_are_sent_and_nothing_besides(service: Service) -> None:
    assert quick(service.url).complete(ASKED) == "A Name"
    (request,) = service.requests
    assert request.path == "/v1/chat/completions"
    assert request.body == {"messages": ASKED}
    assert "authorization" not in request.headers
    assert request.headers["content-type"] == "application/json"


def test_model_and_key_are_sent_if_they_are_named(service: Service, key: str) -> None:
    endpoint = quick(service.url, language_model="small", key_env=key)
    endpoint.complete(ASKED)
    (request,) = service.requests
    assert request.body == {"model": "small", "messages": ASKED}
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in repr(endpoint)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://a:1/v1", "http://a:1/v1/chat/completions"),
        ("https://a/v1/", "https://a/v1/chat/completions"),
        ("https://a", "https://a/chat/completions"),
        ("https://a/v1/chat/completions", "https://a/v1/chat/completions"),
        ("https://a/v1/chat/completions/", "https://a/v1/chat/completions"),
        ("https://a/b?version=2", "https://a/b/chat/completions?version=2"),
        ("http://[::1]:80/v1", "http://[::1]:80/v1/chat/completions"),
    ],
)
def test_address_of_requests(url: str, address: str) -> None:
    assert Endpoint(url).address == address


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("localhost:11434", "no address of http or https"),
        ("file:///etc/passwd", "no address of http or https"),
        ("ftp://host/v1", "no address of http or https"),
        ("http://", "no address of http or https"),
        ("http://a b/v1", "which is no address"),
        ("http://a/v1\r\nX: y", "which is no address"),
        ("http://a:port/v1", "which is no address"),
        ("http://[::1/v1", "which is no address"),
        ("http://a/v1#part", "after '#'"),
        (7, "which is no address"),
    ],
)
def test_what_is_no_address_is_refused(url: Any, message: str) -> None:
    with pytest.raises(IsothermError, match=message) as caught:
        Endpoint(url)
    assert "http://localhost:11434/v1" in str(caught.value)
    assert caught.value.parameter == "url"


def test_a_key_in_the_address_is_refused_and_not_shown() -> None:
    with pytest.raises(IsothermError, match="name or a password") as caught:
        Endpoint(f"https://me:{KEY}@host/v1")
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("value", [None, "", "  ", "a\nb", "schlüssel"])
def test_a_key_that_is_none_is_refused(
    value: str | None, monkeypatch: pytest.MonkeyPatch, service: Service
) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("SOME_KEY", value)
    with pytest.raises(IsothermError, match="SOME_KEY") as caught:
        quick(service.url, key_env="SOME_KEY")
    assert caught.value.parameter == "key_env"
    assert service.requests == []


def test_a_key_that_travels_in_the_open_is_warned_of(key: str) -> None:
    with pytest.warns(IsothermWarning, match="travels to a.example unencrypted"):
        Endpoint("http://a.example/v1", key_env=key)
    assert Endpoint("http://127.0.0.1/v1", key_env=key).key_env == key  # warnings are errors here


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), "long", True])
def test_a_timeout_is_a_number_above_0(timeout: Any) -> None:
    with pytest.raises(IsothermError, match="timeout="):
        Endpoint("http://a/v1", timeout=timeout)


# What comes back ----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [None, 3, ["a"], {"text": "a"}])
def test_an_answer_without_text_is_none(service: Service, text: object) -> None:
    service.says(chat(text))
    assert quick(service.url).complete(ASKED) is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<!doctype html>\n<p>Hello", "answered '<!doctype html> <p>Hello', which is not JSON"),
        (b"", "answered '', which is not JSON"),
        (b"\xff\xfe\x00", "which is not JSON"),
        (b"[" * 100_000, "which is not JSON"),
        ({"answer": "A Name"}, "which has no choices with a message"),
        ({"choices": []}, "which has no choices with a message"),
        ({"choices": [{"text": "A Name"}]}, "which has no choices with a message"),
        ({"choices": [{"message": "A Name"}]}, "which has no choices with a message"),
        ([], "which has no choices with a message"),
        (None, "which has no choices with a message"),
    ],
)
def test_an_answer_that_is_none(service: Service, content: object, message: str) -> None:
    service.says(Reply(200, content))
    error = fails(quick(service.url))
    assert message in str(error)
    assert service.url in str(error)
    assert "give the address" in str(error)
    assert len(service.requests) == 1


def test_an_answer_that_never_ends_is_left(service: Service) -> None:
    service.says(Reply(200, b" " * (module.MOST_BYTES + 1)))
    assert "more than 1,048,576 bytes" in str(fails(quick(service.url)))


def test_what_is_shown_of_an_answer_does_no_harm(service: Service, key: str) -> None:
    service.says(Reply(400, f"\x1b[31m\u202e{KEY} is wrong\r\n".encode() + b"x" * 5000))
    said = str(fails(quick(service.url, key_env=key)))
    assert "... is wrong x" in said
    assert said.isprintable()
    assert len(said) < 400


# Busy, refused, elsewhere -------------------------------------------------------------------------


def waits_of(service: Service, *replies: Reply | str) -> tuple[list[float], str | None]:
    """Seconds between tries, and the answer of the last."""
    waited: list[float] = []
    service.says(*replies)
    return waited, Endpoint(service.url, sleep=waited.append).complete(ASKED)


def test_a_busy_service_is_asked_again(service: Service) -> None:
    assert waits_of(service, Reply(429), Reply(503), "Late") == ([1.0, 2.0], "Late")
    assert len(service.requests) == 3


def test_a_service_may_say_when_to_ask_again(service: Service) -> None:
    later = [Reply(429, headers={"Retry-After": text}) for text in ("7", "86400", "Wed, 21 Oct")]
    assert waits_of(service, *later, "Late") == ([7.0, 30.0, 4.0], "Late")


def test_a_service_that_stays_busy_is_left(service: Service) -> None:
    service.says(Reply(500, {"error": {"message": "out of memory"}}))
    said = str(fails(quick(service.url)))
    assert "asked 4 times and answered 500 Internal Server Error: out of memory" in said
    assert len(service.requests) == 4


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key(service: Service, key: str, status: int) -> None:
    service.says(Reply(status, {"error": {"message": f"Incorrect API key: {KEY}"}}))
    error = fails(quick(service.url, key_env=key))
    assert "whose key is that of SOME_KEY" in str(error)
    assert "Incorrect API key: ..." in str(error)
    assert error.parameter == "key_env"
    service.says(Reply(status, b""))
    assert "without a key" in str(fails(quick(service.url)))
    assert len(service.requests) == 2


@pytest.mark.parametrize(
    ("status", "content", "message"),
    [
        (404, {"error": "no model 'big'"}, "404 Not Found: no model 'big'; give the address"),
        (405, b"", "405 Method Not Allowed; give the address"),
        (400, {"error": {"message": "no model"}}, "language_model='big' (400 Bad Request: no mo"),
        (422, {"detail": [1]}, "language_model='big' (422 Unprocessable Entity: {\"detail\": [1]}"),
        (418, b"tea", "tea"),
        (304, b"", "304 Not Modified"),
    ],
)
def test_other_answers(service: Service, status: int, content: object, message: str) -> None:
    service.says(Reply(status, content))
    said = str(fails(quick(service.url, language_model="big"))).replace("Content", "Entity")
    assert message in said
    assert len(service.requests) == 1


def test_redirects_within_the_host_are_followed(service: Service) -> None:
    def answer(request: Any) -> Reply:
        moved = Reply(308, headers={"Location": "/v2/chat/completions"})
        return moved if request.path.startswith("/v1") else chat("Moved")

    service.answer = answer
    assert quick(service.url, language_model="m").complete(ASKED) == "Moved"
    first, second = service.requests
    assert (second.path, second.body) == ("/v2/chat/completions", first.body)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_to_another_host_are_not(service: Service, key: str, status: int) -> None:
    with serving() as other:
        service.says(Reply(status, headers={"Location": f"{other.url}/chat/completions?a=b"}))
        error = fails(quick(service.url, key_env=key))
        assert f"another address ({other.url}/chat/completions)" in str(error)
        assert other.requests == []


@pytest.mark.parametrize(
    "target", ["file:///etc/passwd", "ftp://127.0.0.1/a", "//elsewhere/v1", "http://127.0.0.1:x/"]
)
def test_redirects_to_anything_else_are_not(service: Service, target: str) -> None:
    service.says(Reply(302, headers={"Location": target}))
    assert "was not followed" in str(fails(quick(service.url)))


def test_redirects_in_a_circle_end(service: Service) -> None:
    service.says(Reply(307, headers={"Location": "/v1/chat/completions"}))
    assert "more than 3 times" in str(fails(quick(service.url)))
    assert len(service.requests) == 4


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("http://a/x", "http://a/y", True),
        ("http://a/x", "http://a:80/y", True),
        ("http://a/x", "https://a/y", True),
        ("https://a/x", "http://a/y", False),
        ("http://a/x", "http://a:8080/y", False),
        ("http://a:8080/x", "https://a/y", False),
        ("http://a/x", "http://b.a/y", False),
        ("http://a/x", "http://me@a/y", False),
    ],
)
def test_what_counts_as_the_same_host(one: str, other: str, same: bool) -> None:
    assert module._same_host(one, other) is same


# No answer ----------------------------------------------------------------------------------------


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A port where somebody listens and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def test_nobody_listens(silent: socket.socket) -> None:
    port = silent.getsockname()[1]
    silent.close()
    said = str(fails(quick(f"http://127.0.0.1:{port}/v1")))
    assert f"http://127.0.0.1:{port}/v1/chat/completions cannot be reached" in said
    assert "refused" in said
    assert "start the service there" in said


def test_nobody_answers_in_time(silent: socket.socket) -> None:
    error = fails(quick(f"http://127.0.0.1:{silent.getsockname()[1]}/v1", timeout=0.05))
    assert "did not answer within timeout=0.05 seconds" in str(error)
    assert error.parameter == "timeout"


def test_an_answer_drop_by_drop_is_too_late(silent: socket.socket) -> None:
    """Each drop comes in time, and all of them together do not."""

    def drip() -> None:
        connection, _ = silent.accept()
        with connection:
            connection.recv(1 << 16)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            try:
                while True:
                    connection.sendall(b" ")
                    time.sleep(0.01)
            except OSError:
                return

    thread = threading.Thread(target=drip)
    thread.start()
    error = fails(quick(f"http://127.0.0.1:{silent.getsockname()[1]}/v1", timeout=0.2))
    thread.join()
    assert error.parameter == "timeout"


@pytest.mark.parametrize("start", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Le"])
def test_an_answer_that_breaks_off(silent: socket.socket, start: bytes) -> None:
    def hang_up() -> None:
        connection, _ = silent.accept()
        with connection:
            connection.recv(1 << 16)
            connection.sendall(start)

    thread = threading.Thread(target=hang_up)
    thread.start()
    said = str(fails(quick(f"http://127.0.0.1:{silent.getsockname()[1]}/v1")))
    thread.join()
    assert "127.0.0.1" in said


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        (socket.gaierror(-2, "Name or service not known"), "the name of the host is unknown"),
        (ssl.SSLError(1, "certificate verify failed"), "certificate verify failed"),
        (TimeoutError(), "did not answer within"),
        (OSError(113, "No route to host"), "No route to host"),
    ],
)
def test_what_else_may_be_in_the_way(
    reason: OSError, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Opener:
        def open(self, *_: object, timeout: float) -> None:
            raise urllib.error.URLError(reason)

    monkeypatch.setattr(module, "_opener", lambda address: Opener())
    assert message in str(fails(quick("https://a.example/v1")))


def test_no_proxy_stands_between_this_computer_and_itself(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert quick(service.url).complete(ASKED) == "A Name"
