"""The live server as an ASGI application: the page, its data, documents and searches.

The one place that imports starlette. No request names a file: data are looked up by the names of
the parts, documents by their number, and everything is in memory. An edit, where a site can be
edited, puts another site in its place.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from isotherm.errors import IsothermError
from isotherm.viewer.server.edits import Editing, change_of, check_token
from isotherm.viewer.server.guards import (
    App,
    Receive,
    RequestError,
    Send,
    body_of,
    guarded,
    start,
    values,
)
from isotherm.viewer.server.limits import Limits
from isotherm.viewer.server.searches import Search, Searches

if TYPE_CHECKING:
    from starlette.requests import Request

    from isotherm.viewer.explorer import Explorer
    from isotherm.viewer.server.serving import LocalServer

__all__ = ["Site", "application", "local_server", "site_of"]

# Sent at a time: a client that reads slowly holds this much, and no copy of the whole.
CHUNK = 1 << 16
# More digits than any number of a document has.
DIGITS = 10
JSON = "application/json"
UNKNOWN = {404: "there is nothing at this address", 405: "this address takes other methods"}
MISSING = (
    "a live explorer needs starlette and uvicorn, which are not installed; "
    "pip install 'isotherm[serve]', or write a file with save_html"
)


class Site(NamedTuple):
    """All that is served.

    Attributes
    ----------
    page : bytes
        The page, without data.
    policy : str
        Its Content-Security-Policy.
    parts : mapping of str to bytes
        Data that the page asks for, compressed.
    n_documents : int
    document : callable
        Number of a document -> what there is to read of it, in values of JSON.
    search : callable, or None
        Text and most documents -> what was found; None where there is no search.
    editing : Editing, or None
        How its topics are changed; None where they are only looked at.
    """

    page: bytes
    policy: str
    parts: Mapping[str, bytes]
    n_documents: int
    document: Callable[[int], Mapping[str, object]]
    search: Search | None
    editing: Editing | None = None


def application(site: Site, limits: Limits | None = None) -> App:
    """The server of a site as an ASGI application, with all its guards.

    Parameters
    ----------
    site : Site
    limits : Limits, optional
    """
    try:
        from starlette.exceptions import HTTPException
        from starlette.routing import Route, Router
    except ImportError as error:
        raise IsothermError(MISSING) from error
    rooms = _Rooms(site, limits or Limits())
    router = Router(
        [
            Route("/", rooms.page),
            Route("/data/{name}.bin", rooms.part),
            Route("/api/documents/{number}", rooms.document),
            Route("/api/search", rooms.search, methods=["POST"]),
            Route("/api/edit", rooms.edit, methods=["POST"]),
        ],
        redirect_slashes=False,
    )

    async def routed(scope: MutableMapping[str, object], receive: Receive, send: Send) -> None:
        scope["app"] = routed  # without it, unknown addresses are answered as plain text
        try:
            await router(scope, receive, send)
        except HTTPException as error:
            raise RequestError(
                error.status_code, UNKNOWN[error.status_code], error.headers
            ) from None

    return guarded(routed)


def local_server(app: App, port: int = 0, limits: Limits | None = None) -> LocalServer:
    """A server of this computer alone; see `isotherm.viewer.server.serving`."""
    try:
        from isotherm.viewer.server.serving import LocalServer
    except ImportError as error:
        raise IsothermError(MISSING) from error
    return LocalServer(app, port, limits)


class Stored:
    """An answer that is sent in pieces of one object, which all clients share."""

    def __init__(self, body: bytes, kind: str, headers: Mapping[str, str] | None = None) -> None:
        self._body, self._kind = memoryview(body), kind
        # No time is given for which it holds: another run may be served at the same address.
        self._tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        self._headers = {"cache-control": "no-cache", "etag": self._tag, **(headers or {})}

    async def __call__(self, scope: Mapping[str, object], receive: Receive, send: Send) -> None:
        """Send it; only its mark to a client that has it already."""
        if self._tag in ", ".join(values(scope, b"if-none-match")).split(", "):
            await send(start(304, self._headers))
            await send({"type": "http.response.body", "body": b""})
            return
        await _pieces(self._body, self._kind, self._headers, scope, send)


class Fresh:
    """An answer to one question, which is not kept."""

    def __init__(self, body: bytes, status: int = 200) -> None:
        self._body, self._status = memoryview(body), status

    async def __call__(self, scope: Mapping[str, object], receive: Receive, send: Send) -> None:
        """Send it."""
        headers = {"cache-control": "no-store"}
        await _pieces(self._body, JSON, headers, scope, send, self._status)


async def _pieces(
    body: memoryview,
    kind: str,
    headers: Mapping[str, str],
    scope: Mapping[str, object],
    send: Send,
    status: int = 200,
) -> None:
    size = len(body)
    about = {"content-type": kind, "content-length": str(size)}
    await send(start(status, {**headers, **about}))
    for end in range(CHUNK, size + CHUNK, CHUNK) if size else range(1):
        part = b"" if scope["method"] == "HEAD" else body[max(end - CHUNK, 0) : end]
        await send({"type": "http.response.body", "body": part, "more_body": end < size})


class _Rooms:
    """What is answered under each address."""

    def __init__(self, site: Site, limits: Limits) -> None:
        self._limits = limits
        self._searches: Searches | None = None
        # Edits take time, and others are served meanwhile; there is one at a time.
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="isotherm-edit")
        self._edits = False
        self._serve(site)

    def _serve(self, site: Site) -> None:
        """Answer from a site from now on."""
        self._site = site
        policy = f"{site.policy}; frame-ancestors 'none'"
        self._page = Stored(
            site.page, "text/html; charset=utf-8", {"content-security-policy": policy}
        )
        self._parts = {
            name: Stored(part, "application/octet-stream") for name, part in site.parts.items()
        }
        if site.search is None:
            self._searches = None
        elif self._searches is None:
            self._searches = Searches(site.search, self._limits)
        else:
            self._searches.renew(site.search)

    async def page(self, request: Request) -> Stored:
        return self._page

    async def part(self, request: Request) -> Stored:
        name = request.path_params["name"]
        if name not in self._parts:
            raise RequestError(
                404, f"there are no data of that name; there are {', '.join(self._parts)}"
            )
        return self._parts[name]

    async def document(self, request: Request) -> Fresh:
        given, most = request.path_params["number"], self._site.n_documents
        # int() takes signs, spaces, digits of all scripts and any length of them.
        good = given.isascii() and given.isdecimal() and len(given) <= DIGITS
        if not good or int(given) >= most:
            raise RequestError(
                404, f"there is no such document; documents are numbered 0 to {most - 1}"
            )
        return Fresh(json.dumps(self._site.document(int(given))).encode())

    async def search(self, request: Request) -> Fresh:
        if self._searches is None:
            raise RequestError(
                404, "there is no search here: it needs the topics of the aspect model"
            )
        searches = self._searches
        query, n = _question(await self._json(request), self._limits.hits)
        return Fresh(await searches.answer(query, n))

    async def edit(self, request: Request) -> Fresh:
        editing = self._site.editing
        if editing is None:
            raise RequestError(404, "there is nothing to edit here")
        check_token(request.scope, editing.token)
        change = change_of(await self._json(request))
        if self._edits:
            raise RequestError(409, "another edit is under way; wait until it is done")
        self._edits = True
        try:
            loop = asyncio.get_running_loop()
            changed = await loop.run_in_executor(self._pool, editing.change, change)
        except IsothermError as error:
            raise RequestError(400, str(error)) from error
        finally:
            self._edits = False
        if changed.site is not None:
            self._serve(changed.site)
        return Fresh(json.dumps(changed.said).encode(), changed.status)

    async def _json(self, request: Request) -> bytes:
        """The body of a request, which says that it is JSON."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != JSON:
            # What a form of another site can send without asking is not taken.
            raise RequestError(415, f"the content type is {kind[:80]!r}; it must be {JSON}")
        return await body_of(request.scope, request.receive, self._limits)


def _question(body: bytes, most: int) -> tuple[str, int]:
    """Text and most documents of a search."""
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        raise RequestError(400, "the body is no valid JSON") from None
    if not isinstance(given, dict) or not isinstance(given.get("query"), str):
        raise RequestError(
            400, 'the body must be a JSON object with a text: {"query": "some words"}'
        )
    n = given.get("n", 50)
    if type(n) is not int or not 1 <= n <= most:
        raise RequestError(400, f'"n" must be an integer from 1 to {most}')
    return given["query"], n


def site_of(
    explorer: Explorer,
    document: Callable[[int], Mapping[str, object]] | None = None,
    search: Search | None = None,
    editing: Editing | None = None,
) -> Site:
    """The site of an explorer.

    Parameters
    ----------
    explorer : Explorer
    document : callable, optional
        What there is to read of a document, where it is more than the explorer knows.
    search : callable, optional
    editing : Editing, optional
        How its topics are changed.
    """
    from isotherm.viewer import page

    return Site(
        page.page(None, explorer.title).encode(),
        page.policy(live=True),
        explorer.parts(live=True),
        explorer.n_documents,
        document or explorer.document,
        search,
        editing,
    )
