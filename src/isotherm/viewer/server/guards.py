"""Who may ask the live server, and how much: plain ASGI, around the application.

A server on the loopback interface is within reach of every page that the same browser shows. A page
of another site can make it send requests there, also under a name of its own that it lets point to
127.0.0.1. So a request has to name this server in its Host header, has to come from this server's
own page as far as the browser says where it comes from, and is answered by headers that keep others
from reading, framing or guessing.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from isotherm.viewer.server.limits import Limits

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

NAMES = ("127.0.0.1", "localhost", "[::1]")
NOTHING = "default-src 'none'; frame-ancestors 'none'"
ALWAYS: Mapping[str, str] = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "x-frame-options": "DENY",
}
# Read and thrown away at most, so that a client that sends too much still hears why it is refused.
DRAINED = 1 << 20

log = logging.getLogger("isotherm")


class RequestError(Exception):
    """A request that is not served: status, reason, and what else the client should know."""

    def __init__(self, status: int, reason: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(reason)
        self.status, self.reason, self.headers = status, reason, dict(headers or {})


def guarded(app: App) -> App:
    """The application behind all checks; what it raises is told as JSON, without its traces."""

    async def served(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        answer = _Answer(send)
        try:
            check_host(scope)
            check_origin(scope)
            await app(scope, receive, answer.send)
        except RequestError as refusal:
            await answer.refuse(refusal)
        except Exception as error:  # whatever it is, the next request is served
            log.warning("a request to %s failed: %s", scope["path"][:80], type(error).__name__)
            log.debug("what failed", exc_info=error)
            await answer.refuse(
                RequestError(500, "the server failed to answer this; its log says why")
            )

    return served


class _Answer:
    """What is sent, with the headers that every answer has."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._started = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._started = True
            message = {**message, "headers": _with_rules(message["headers"])}
        await self._send(message)

    async def refuse(self, refusal: RequestError) -> None:
        if self._started:
            raise RuntimeError("the answer broke off")  # the connection is closed
        body = json.dumps({"error": refusal.reason}).encode()
        headers = {
            "content-type": "application/json",
            "content-length": str(len(body)),
            "cache-control": "no-store",
            **refusal.headers,
        }
        await self.send(start(refusal.status, headers))
        await self.send({"type": "http.response.body", "body": body})


def start(status: int, headers: Mapping[str, str]) -> Message:
    """The message that begins an answer."""
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    return {"type": "http.response.start", "status": status, "headers": pairs}


def _with_rules(headers: Headers) -> Headers:
    there = {name.lower() for name, _ in headers}
    rules = {**ALWAYS, "content-security-policy": NOTHING}
    more = [(name.encode(), value.encode()) for name, value in rules.items()]
    return [*headers, *(pair for pair in more if pair[0] not in there)]


# Who asks -----------------------------------------------------------------------------------------


def check_host(scope: Mapping[str, object]) -> None:
    """Refuse requests for any other name than those of this computer, or for another port."""
    given = values(scope, b"host")
    if len(given) != 1 or given[0].lower() not in _hosts(scope):
        raise RequestError(
            400, "this server answers to 127.0.0.1 and localhost only; open the address it printed"
        )


def check_origin(scope: Mapping[str, object]) -> None:
    """Refuse what a page of another site makes a browser send; a link to the page is no harm."""
    sites = values(scope, b"sec-fetch-site")
    dest = values(scope, b"sec-fetch-dest")
    opened = scope["method"] == "GET" and scope["path"] == "/" and dest == ["document"]
    elsewhere = any(site not in ("same-origin", "none") for site in sites)
    own = [f"http://{host}" for host in _hosts(scope)]
    foreign = any(origin.lower() not in own for origin in values(scope, b"origin"))
    if (elsewhere and not opened) or foreign:
        raise RequestError(403, "this request comes from a page of another site; open the explorer")


def values(scope: Mapping[str, Any], name: bytes) -> list[str]:
    """All values of a header."""
    return [value.decode("latin-1").strip() for key, value in scope["headers"] if key == name]


def _hosts(scope: Mapping[str, Any]) -> list[str]:
    port = scope["server"][1]
    return [f"{name}:{port}" for name in NAMES] + ([*NAMES] if port == 80 else [])


# How much -----------------------------------------------------------------------------------------


async def body_of(scope: Mapping[str, object], receive: Receive, limits: Limits) -> bytes:
    """The body of a request, if it is not too large and comes in time.

    Its size is what comes, not only what its head says; no more than the limit is kept.
    """
    close = {"connection": "close"}
    found = None
    try:
        if all(int(size) <= DRAINED for size in values(scope, b"content-length")):
            async with asyncio.timeout(limits.body_seconds):
                found = await _read(receive, limits.body)
    except TimeoutError:
        slow = f"the body of the request took more than {limits.body_seconds:g} s; send it at once"
        raise RequestError(408, slow, close) from None
    if found is None:
        reason = f"the body of the request has more than {limits.body:,} bytes; send less text"
        raise RequestError(413, reason, close)
    return found


async def _read(receive: Receive, most: int) -> bytes | None:
    """The body; None if it has more bytes, of which so many are read that an answer is heard."""
    kept, size, more = bytearray(), 0, True
    while more and size <= DRAINED:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RequestError(400, "the connection ended before the request did")
        part = message.get("body", b"")
        size += len(part)
        if size <= most:
            kept += part
        more = message.get("more_body", False)
    return bytes(kept) if size <= most else None
